"""How long stages take and how much they write: as builds on this machine told, else by a dated table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from flows.cli.builds import questions_in
from flows.orchestration.saved_build import read_saved_build
from pipeline.core.errors import ConfigError
from pipeline.engine.manifest import MANIFEST_FILE, Entry, read_manifest
from pipeline.stages.registry import STAGES

READING: Final = ("unify",)
COUNTING: Final = ("unify", "observe", "generate")
TABLE: Final = Path(__file__).with_name("rates.yaml")


class Rate(NamedTuple):
    """What a stage takes for one scene of a reader, or for one question of a build.

    Attributes:
        seconds: of one process.
        bytes: that it leaves on disk, videos included.
        here: measured by a build on this machine; else by the table.
    """

    seconds: float
    bytes: float
    here: bool


@dataclass(frozen=True)
class Rates:
    """Rates by stage: of scenes for each reader, and of questions for the stages of the whole build."""

    scenes: Mapping[tuple[str, str], Rate]
    questions: Mapping[str, Rate]


def rates(benchmark: str, readers: Mapping[str, Collection[str]], folder: Path) -> Rates:
    """The rates for a benchmark and its readers, each with its datasets.

    Builds that count are the one in ``folder``, and those beside it that read the same format.
    """
    table = _table()
    scenes = {(stage, name): _listed(rate) for name in readers for stage, rate in table["scenes"].get(name, {}).items()}
    asked = {stage: _listed(rate) for stage, rate in table["questions"].get(benchmark, {}).items()}
    for path in sorted(folder.parent.glob(f"*/{MANIFEST_FILE}"), key=lambda path: path.parent == folder):
        roots: Collection[str] = ()
        with suppress(ConfigError):
            kept = read_saved_build(path.parent)
            if path.parent != folder and kept.configured.get("benchmark") != benchmark:
                continue
            roots = kept.roots
        of = {reader: datasets for reader, datasets in readers.items() if reader in roots or path.parent == folder}
        _measure(path.parent, of, scenes, asked)
    return Rates(scenes, asked)


def seconds_for(reader: str, stages: Sequence[str]) -> float:
    """What stages take for a scene of a reader, by the table."""
    known = _table()["scenes"][reader]
    return float(sum(known[stage][0] for stage in stages))


def _measure(
    folder: Path,
    readers: Mapping[str, Collection[str]],
    scenes: dict[tuple[str, str], Rate],
    asked: dict[str, Rate],
) -> None:
    """Lays what one build told over the rates."""
    found: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for (stage, unit), entry in read_manifest(folder).items():
        if entry.output and entry.seconds:
            dataset = unit.partition("/")[0]
            for reader in (reader for reader, datasets in readers.items() if dataset in datasets):
                found[stage, reader].append(entry)
            if STAGES[stage].unit == "build" and (questions := questions_in(folder)):
                asked[stage] = Rate(entry.seconds / questions, _left(folder, stage, [entry]) / questions, here=True)
    for (stage, reader), entries in found.items():
        seconds = sum(entry.seconds for entry in entries) / len(entries)
        scenes[stage, reader] = Rate(seconds, _left(folder, stage, entries) / len(entries), here=True)


def _left(folder: Path, stage: str, entries: Sequence[Entry]) -> float:
    """Bytes of the results of a stage, and of what it wrote beside the store for these units."""
    sizes = _sizes(entry.output.path for entry in entries if entry.output)
    units = {entry.unit for entry in entries}
    for name in STAGES[stage].folders:
        if next(other for other in STAGES.values() if name in other.folders).name != stage:
            continue  # counted with the first stage that writes there
        if STAGES[stage].unit == "build":
            kept = max(1, len(list((folder / name).glob("*"))))  # of the last builds, too
            sizes.append(sum(_sizes(p for p in (folder / name).rglob("*") if p.is_file())) // kept)
        else:
            sizes += [size for unit in units for size in _sizes((folder / name).glob(f"{unit}.*"))]
            sizes += [size for unit in units for size in _sizes((folder / name / unit).glob("*"))]
    return float(sum(sizes))


def _sizes(paths: Iterable[Path]) -> list[int]:
    sizes = []
    for path in paths:
        with suppress(OSError):
            sizes.append(path.stat().st_size)
    return sizes


def _listed(rate: Sequence[float]) -> Rate:
    seconds, size = rate
    return Rate(seconds, size, here=False)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return table


def table_as_of() -> str:
    """The month in which the table's rates were measured."""
    return str(_table()["as_of"])
