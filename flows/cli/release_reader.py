"""Reads the release of a build: its newest release, and the scenes behind it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from flows.cli.review import benchmark_of
from flows.orchestration.saved_build import read_saved_build
from pipeline.benchmarks.benchmark import Benchmark, PictureMark
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.groups import grouped
from pipeline.core.parquet import files_of, read_files, released_files
from pipeline.core.schema import AnyScene
from pipeline.core.spatial import TopDownMap
from pipeline.core.tables import CHECKSUMS, PART_SPLITS, check_files, check_version, sums_of
from pipeline.engine.manifest import MANIFEST_FILE, released_manifest
from pipeline.engine.rerun import last_scenes
from pipeline.engine.stage import STORE
from pipeline.engine.store import Result, Store
from pipeline.questions.published import read_rows
from pipeline.release.comparison import LoadedRelease, read_release
from pipeline.release.history import RELEASES, candidate, history
from pipeline.release.released import Released, changed_file
from pipeline.review.reviewed import Reviewed
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pipeline.scoring.score import Split

_OF_QUESTION: Final = re.compile(
    r"[^/]+/(?:.+/)?(\d+)(?:\D[^/]*)?\.(?:png|svg)"
)  # a picture that goes with a question, by its id


@dataclass(frozen=True)
class ReleaseReader:
    """A release that is whole.

    Attributes:
        folder: of the build; of the release itself where it lies alone.
        release: its folder.
        title: what it is called.
        outputs: the last results of the build: stage -> unit -> result; empty where the release lies alone.
        released: what it counted; None where the release lies alone.
    """

    folder: Path
    release: Path
    benchmark: Benchmark[Any, Any]
    title: str
    outputs: Mapping[str, Mapping[str, Result]]
    released: Released | None

    @cached_property
    def store(self) -> Store:
        """The store of results."""
        return Store(self.folder / STORE)

    @cached_property
    def read(self) -> LoadedRelease:
        """The questions as they stand in the release."""
        return read_release(self.release, self.benchmark.all_columns)

    @cached_property
    def files(self) -> list[str]:
        """All files of the release, below it."""
        return sorted(sums_of(self.release))

    def rows(
        self, table: str, columns: Sequence[str] | None = None, where: pc.Expression | None = None
    ) -> list[dict[str, Any]]:
        """Rows of a table of the release, all or some; none where it has no such table."""
        files = released_files(self.release / table)
        found: list[dict[str, Any]] = read_files(files, columns, where).to_pylist() if files else []
        return found

    def of(self, table: str, ids: Collection[int]) -> list[dict[str, Any]]:
        """Rows of a table of the release that have one of some ids."""
        return self.rows(table, where=pc.field("id").isin(pa.array(sorted(ids), pa.int64())))

    def scenes(self, units: Iterable[str]) -> Iterator[AnyScene]:
        """Some scenes as questions were made from them, one at a time in memory; those that are not kept are not."""
        results = last_scenes(self.outputs)
        return (read_scene(self.store.get(results[unit])) for unit in sorted(set(units)) if unit in results)

    def reviewed(self) -> Reviewed:
        """The outcome of human review; empty where nobody reviewed."""
        results = self.outputs.get("review", {}).values()
        return next((Reviewed.model_validate_json(self.store.get(result)) for result in results), Reviewed())

    @cached_property
    def pictures(self) -> dict[int, list[str]]:
        """The pictures of the release that go with questions, by question: files below the release."""
        found: dict[int, list[str]] = {}
        for name in self.files:
            told = _OF_QUESTION.fullmatch(name)
            if told:
                found.setdefault(int(told[1]), []).append(name)
        for number, shown in self._listed():
            found.setdefault(number, []).extend(shown)
        return found

    def marks(self, rows: Iterable[Mapping[str, Any]]) -> dict[tuple[int, str], Sequence[PictureMark]]:
        """What questions (rows of the provenance) mean in their pictures: by question and file; none without scenes."""
        views = self.benchmark.views
        found: dict[tuple[int, str], Sequence[PictureMark]] = {}
        if views is None or views.marks is None:
            return found
        by_scene = grouped(rows, itemgetter("scene"))
        rules = next(iter(self.benchmark.profiles.values()))  # places do not depend on limits
        for scene in self.scenes(by_scene):
            view = self.benchmark.view(scene, rules)
            for row in by_scene[scene.id]:
                found |= {(row["id"], file): marks for file, marks in views.marks(view, row).items()}
        return found

    def _listed(self) -> Iterator[tuple[int, list[str]]]:
        """Pictures that the public table itself names, in a column of lists of files."""
        paths = full_split(self.release)
        schema, known = pq.read_schema(paths[0]), set(self.files)
        lists, key = [f.name for f in schema if f.type == pa.list_(pa.string())], schema.names[0]
        for row in read_files(paths, [key, *lists]).to_pylist() if lists else ():
            shown = [file for name in lists for file in row[name] or () if file in known]
            if shown:
                yield int(row[key]), shown


def sketch_of(scene: AnyScene) -> TopDownMap:
    """A scene from above."""
    return WORLDS[scene.facts.world].top_down_map(scene)


def open_build(folder: Path) -> ReleaseReader:
    """The newest release of a build, or a release that lies alone (a copy of one).

    Raises ConfigError without one, or for one of another version; StoreError for a changed file.
    """
    if not (folder / MANIFEST_FILE).exists() and (folder / CHECKSUMS).exists():
        return _alone(folder)
    outputs, kept = released_manifest(folder).results(), history(folder)
    if candidate(folder) and not kept:
        raise ConfigError(f"{folder} holds no release yet, and a candidate waits: scan2qa release {quote(str(folder))}")
    if not kept:
        raise ConfigError(f"{folder} holds no release yet: build first, then look at it")
    release = folder / RELEASES / kept[-1].name
    if not outputs.get("export"):
        found = f"{folder / MANIFEST_FILE}: is missing, damaged, or of another version of scan2qa"
        raise ConfigError(f"{found}; build again, or give the release alone: {release}")
    released = _released(Store(folder / STORE), outputs["export"], release)
    benchmark = BENCHMARKS[benchmark_of(folder)]
    title = read_saved_build(folder).configured["export"]["pretty_name"] or benchmark.title
    return ReleaseReader(folder, release, benchmark, title, outputs, released)


def full_split(release: Path) -> list[Path]:
    """The files of all questions. Raises ConfigError where there is none."""
    paths = [p for p in released_files(release / "data") if p.name.partition("-")[0] not in PART_SPLITS]
    if not paths:
        raise ConfigError(f"{release}: has no questions (data/); copy the release again")
    return paths


def _alone(folder: Path) -> ReleaseReader:
    sums = sums_of(folder)
    check_files(folder, sums, sums)
    name = name_of_release(folder)
    return ReleaseReader(folder, folder, BENCHMARKS[name], f"{BENCHMARKS[name].title}: {folder.name}", {}, None)


def name_of_release(folder: Path) -> str:
    """The benchmark of a release. Raises ConfigError for a folder that is none, and for columns of none known."""
    sums_of(folder)
    path = full_split(folder)[0]
    check_version(path)
    name = _name_of(path, BENCHMARKS)
    if name is None:
        raise ConfigError(f"{path}: has the columns of no known benchmark; use the scan2qa that made it")
    return name


def split_for(name: str, release: Path, split: str | None) -> Split:
    """A split of a release, as `split_of`. Raises ConfigError also where the release is of another benchmark."""
    from pipeline.scoring.score import split_of  # with pandas, which takes a third of a second

    found = split_of(release, split)
    refuse_other(name, files_of(found.questions)[0], release)
    return found


def refuse_other(name: str, table: Path, where: Path, remedy: str = "") -> None:
    """Raises ConfigError, naming ``where``, for a table with the columns of a benchmark other than ``name``."""
    other = _name_of(table, (name, *BENCHMARKS))
    if other not in {None, name}:
        raise ConfigError(
            f"{where} holds questions of {other}, not of {name}: {remedy or f'write {other} in place of {name}'}"
        )


def _name_of(table: Path, names: Iterable[str]) -> str | None:
    """The benchmark that has the columns of a table's first row; None: none of these, or its reader refuses it."""
    own: Any
    try:
        is_parquet = table.suffix == ".parquet"
        own = dict.fromkeys(pq.read_schema(table).names) if is_parquet else next(iter(read_rows(table)), None)
    except (OSError, pa.ArrowException, ConfigError):
        return None
    known = (name for name in names if any(c.row(own) is not None for c in BENCHMARKS[name].all_columns))
    return next(known, None) if isinstance(own, dict) else None


def _released(store: Store, exported: Mapping[str, Result], release: Path) -> Released:
    """The counts of the release, checked against its files. Raises StoreError where a file was changed."""
    try:
        released = Released.model_validate_json(store.get(next(iter(exported.values()))))
    except ValidationError as error:
        raise ConfigError(f"{release}: made by another version; build again, then look at it") from error
    changed = changed_file(release, released.files)
    if changed is not None:
        raise StoreError(f"{release / changed}: missing or changed since it was released; build again")
    return released
