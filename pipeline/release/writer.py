"""The release folder: configurations of the splits, a dataset card, and checksums written last."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel

from pipeline.benchmarks.benchmark import Benchmark, SceneRecords
from pipeline.blind.text_only import TextOnly
from pipeline.blind.totals import ModelTotals
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY, sha256_of_file, translate_os_errors, write_atomically
from pipeline.core.identity import SHARD_BYTES, by_lot, digest, digest_of, shards_for
from pipeline.core.parquet import TableFile, read_table, shard_name, table_bytes
from pipeline.core.schema import AnyScene
from pipeline.core.tables import (
    BUDGETS,
    CHECKSUMS,
    DEBIASED,
    FRAMES,
    GUESSED,
    MAPS,
    ONE_PER_SCENE,
    QUESTIONS,
    REJECTIONS,
    SAMPLED,
    TINY,
    TINY_PER_TASK,
    TWIN,
    TWINS,
    UNCHECKED,
    VIDEO_FILES,
    VIDEOS_TABLE,
    WITHOUT_VIDEO,
    asked_in,
    budget_folder,
    budget_of,
    picture_file,
    rejected_in,
    unchecked_in,
)
from pipeline.release.card import OVERVIEW_FILE, dataset_card
from pipeline.release.media import (
    VIDEO_FOLDER,
    Media,
    MediaTable,
    link_or_copy,
    media_table,
    place_media,
)
from pipeline.release.metadata import CROISSANT_FILE, CroissantPart, croissant
from pipeline.release.tables import (
    FIXES,
    HELD,
    SCHEMA_METADATA,
    UNCHECKED_PROVENANCE,
    accepted,
    asked_in_budget,
    budgets_table,
    columns_of,
    fixes_table,
    provenance_table,
    removed_blind,
    review_table,
    split_by_verdict,
    twin_tables,
)
from pipeline.release.terms import TERMS_FILE, licences
from pipeline.review.reviewed import Reviewed

ZSTD_LEVEL: Final = 9
BATCH_ROWS: Final = 20_000  # taken apart at once
_COUNTED: Final = ["task", "reason"]
SHARD_ROWS: Final = 100_000  # questions of a shard, on average at most; the hub's pages and loaders like such files
REJECTIONS_PER_ROW: Final = 10  # that take the place of a question
ROW_BYTES: Final = SHARD_BYTES / SHARD_ROWS  # that do
TRIED: Final = 100  # questions for the picture of the card, until one fits
# A release's picture as PNG, from its title, a line about it, some of its questions, the number of each answer by task,
# and what draws one of the questions with its words.
Overview = Callable[[str, str, pa.Table, Mapping[str, Counter[str]], Callable[[int], bytes | None]], bytes]


class Released(BaseModel):
    """Summary of a release: what was written, and the counts that the final table shows."""

    files: dict[str, str]  # path within the release -> SHA-256
    questions: dict[str, int]  # task -> number
    rejections: dict[str, dict[str, int]]  # task -> reason -> number
    answers: dict[str, dict[str, int]]  # task -> answer -> number, multiple choice only
    letters: dict[str, dict[str, int]]
    flags: dict[str, int]
    findings: list[list[str]]  # scene, name, severity, message, remedy; without the last in older releases
    splits: dict[str, list[int]] = {}  # of a benchmark that has any -> questions, groups, groups of other splits too
    blind: list[TextOnly]
    models: list[ModelTotals]
    silent: dict[str, dict[str, int]] = {}  # scene of which nothing is asked -> reason -> number
    # Frame budget -> task -> reason why questions have no answer in it ("": they have one) -> number.
    budgets: dict[str, dict[str, dict[str, int]]] = {}

    @property
    def held(self) -> dict[str, int]:
        """Number of questions that are held back, by their configuration."""
        return {name: sum(row.get(reason, 0) for row in self.rejections.values()) for reason, name in HELD.items()}


@dataclass(frozen=True)
class Blind:
    """The results of asking without the videos.

    Attributes:
        replies: every reply, or None where nobody was asked.
        filtered: per question, why it is removed (`blind.filtering.FILTERED`); None where nothing was looked at.
        pruned: per question that stays, the round in which it leaves `debiased`; None where nothing was pruned.
        summary: what it all comes to per task, from the selected questions.
        models: what the replies of each model come to.
    """

    replies: pa.Table | None = None
    filtered: pa.Table | None = None
    pruned: pa.Table | None = None
    summary: Callable[[pa.Table], list[TextOnly]] = lambda asked: []
    models: tuple[ModelTotals, ...] = ()


@dataclass(frozen=True)
class ReleaseInputs:
    """The inputs of a release, or those of one shard of its scenes.

    Attributes:
        selected: one table per scene (`questions.selection.SELECTED`), in the order of the scenes' ids; one is held
            at a time, since the rejections of a thousand scans would fill the memory.
        scenes: the scenes.
        settings: the part of the configuration that a release depends on; its digest goes into the provenance.
        benchmark: whose columns, card and pictures it has.
        blind: what stages `blind`, `filter` and `prune` found.
        reviewed: what stage `review` found.
        whole: the scenes with their bulky facts too, one after the other.
        pictures: those of questions that other stages drew, one table per scene (`tables.PICTURES`).
        frames: the evenly spaced frames of all scenes' videos (`tables.FRAMES`).
        videos: the delivered ones (`tables.VIDEO_FILES`).
        twins: those of the selected questions, and why others have none (`tables.TWINS`).
        media: those that another stage wrote as files.
        overview: draws the picture of the card.
        key: of a shard: digest of the results, the settings and the code behind it, but for verdicts on its questions.
    """

    selected: Callable[[], Iterable[pa.Table]]
    scenes: Sequence[AnyScene]
    settings: dict[str, Any]
    benchmark: Benchmark[Any, Any]
    blind: Blind = field(default_factory=Blind)
    reviewed: Reviewed = field(default_factory=Reviewed)
    whole: Callable[[], Iterable[AnyScene]] = lambda: ()
    pictures: Callable[[], Iterable[pa.Table]] = lambda: ()
    frames: Callable[[], pa.Table] = FRAMES.empty_table
    twins: Callable[[], pa.Table] = TWINS.empty_table
    videos: Callable[[], pa.Table] = VIDEO_FILES.empty_table
    media: Callable[[], Iterable[Media]] = lambda: ()
    overview: Overview | None = None
    key: str = ""

    @property
    def split(self) -> str:
        """The name of the full split."""
        return str(self.settings["export"]["split"])

    @property
    def title(self) -> str:
        """The title of the release."""
        return str(self.settings["export"]["pretty_name"])


def write_release(
    folder: Path,
    whole: ReleaseInputs,
    part: Callable[[int, int], ReleaseInputs],
    shards: Path,
    most: int = SHARD_ROWS,
) -> tuple[bytes, dict[str, str]]:
    """Writes all files of a release into an empty folder; gives the summary (`Released` as JSON) and their SHA-256.

    One with more than ``most`` questions or ten times as many rejections, or more than `ROW_BYTES` times ``most`` bytes
    of either, is written in shards of the scenes (`identity.shard_of`), one held at a time: a table that is still
    larger has a file for each shard, all others have one file. Rows go by shard, then by id. The number of shards, a
    power of two, follows from these sums alone.

    Args:
        folder: of the release.
        whole: of all scenes.
        part: of the scenes of one shard, by its number and how many there are.
        shards: folder of the shards, beside the release: of an earlier call those are taken whose inputs are the same,
            and others are removed in the end.
        most: questions of a shard.
    """
    release, used = _Release(folder, whole, most), set[Path]()
    load = release.add(whole, 0, 1)
    if load > most:
        of = shards_for(load / most)
        for number in range(of):
            inputs = part(number, of)
            place = shards / f"{number:05d}-of-{of:05d}.{inputs.key}"
            if not _is_made(place, inputs):
                _make(place, inputs, number, of)
            release.take(place, number, of)
            used.add(place)
    told = release.finish()
    for old in [one for one in shards.glob("*-of-*.*") if one not in used]:
        shutil.rmtree(old, ignore_errors=True)
    return told


def _load(asked: pa.Table, rejected: pa.Table) -> FloatArray:
    """How many rows of a shard the questions and the rejections come to, by their number and by their bytes."""
    tables = ((asked, 1), (rejected, REJECTIONS_PER_ROW))
    return np.array([size for own, n in tables for size in (own.num_rows / n, own.nbytes / ROW_BYTES)])


def _make(place: Path, inputs: ReleaseInputs, number: int, of: int) -> None:
    """Writes a shard, which is there whole or not at all."""
    made = place.with_name(f"{TEMPORARY}{place.name}")
    with translate_os_errors(place.parent):
        shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)  # it is damaged, or of other replies
        made.mkdir(parents=True)
    shard = _Release(made, inputs, 0)
    shard.add(inputs, number, of)
    shard.save()
    with translate_os_errors(place.parent):
        made.rename(place)


def _is_made(place: Path, inputs: ReleaseInputs) -> bool:
    """Whether a shard is there, whole and of the same verdicts on its questions."""
    try:
        state = json.loads((place / _STATE).read_bytes())
        if any(sha256_of_file(place / name) != sha256 for name, sha256 in state["sums"].items()):
            return False
        return bool(state["verdicts"] == _verdicts(inputs, _state_table(place, "offered")["id"]))
    except (OSError, ValueError, LookupError):  # of one that is damaged
        return False


def _first(asked: pa.Table) -> pa.Table:
    """Some questions in an order that depends on nothing but their ids, for the picture of the card."""
    return asked.take(pa.array(by_lot(asked["id"].to_pylist(), "overview", TRIED), pa.int64()))


def _verdicts(inputs: ReleaseInputs, ids: pa.ChunkedArray) -> str:
    """Digest of what stages of the whole build say of some questions."""
    ids, blind = ids.combine_chunks(), inputs.blind
    tables = [removed_blind(blind.filtered), blind.pruned, blind.replies]
    told = [None if own is None else digest_of(table_bytes(own.filter(pc.is_in(own["id"], ids)))) for own in tables]
    known = set(ids.to_pylist()) if inputs.reviewed.stands else set()
    return digest_of([told, [stand.model_dump_json() for stand in inputs.reviewed.stands if stand.id in known]])


_STATE: Final = "shard.json"
_STATE_TABLES: Final = ("first", "tiniest", "offered")


def _state_table(place: Path, name: str) -> pa.Table:
    return read_table((place / f"{name}.parquet").read_bytes())


class _ReleaseTable:
    """A table of a release: a file for each shard, and one file in the end where they have few rows."""

    def __init__(self, folder: Path, name: tuple[str, str], schema: pa.Schema) -> None:
        self.name, self.schema = name, schema
        self.sums: dict[int, str] = {}
        self.num_rows = self.nbytes = 0
        self._folder, self._of = folder, 1

    def add(self, rows: pa.Table, number: int, of: int) -> None:
        """Writes the rows of a shard."""
        raw, self._of = table_bytes(rows, ZSTD_LEVEL, SCHEMA_METADATA), of
        write_atomically(self._folder / self._file(number), raw)
        self.count(number, of, _sha256(raw), rows.num_rows, rows.nbytes)

    def count(self, number: int, of: int, sha256: str, num_rows: int, nbytes: int) -> None:
        """Counts the rows of a shard, whose file is there."""
        self.sums[number], self._of = sha256, of
        self.num_rows, self.nbytes = self.num_rows + num_rows, self.nbytes + nbytes

    def finish(self, most: int) -> CroissantPart:
        """Makes one file of few rows; of more, adds files without rows where a shard has none."""
        rows, nbytes = self.num_rows, self.nbytes
        if self._of > 1 and max(rows, nbytes / ROW_BYTES) <= most:
            table, files = pa.concat_tables(self.shards()), [self._file(number) for number in self.sums]
            self.sums = {}
            self.add(table, 0, 1)
            for file in files:
                (self._folder / file).unlink()
        for number in {*range(self._of)} - self.sums.keys():
            self.add(self.schema.empty_table(), number, self._of)
        return CroissantPart(*self.name, self.schema, rows, nbytes, self._of)

    def shards(self) -> Iterator[pa.Table]:
        """All rows, a shard after the other."""
        return (
            read_table((self._folder / self._file(number)).read_bytes()).replace_schema_metadata()
            for number in sorted(self.sums)
        )

    def files(self) -> dict[str, str]:
        """File -> its SHA-256."""
        return {self._file(number): sha256 for number, sha256 in self.sums.items()}

    def _file(self, number: int) -> str:
        return f"{self.name[0]}/{shard_name(self.name[1], number, self._of)}"


class _Release:
    """A release while it is written: what its shards come to, and the SHA-256 of the files that are there."""

    def __init__(self, folder: Path, whole: ReleaseInputs, most: int) -> None:
        self.folder, self.whole, self.most = folder, whole, most
        self.sums: dict[str, str] = {}
        self._pictures: set[str] = set()  # and other files that go with questions
        self._tables: dict[tuple[str, str], _ReleaseTable] = {}
        self._rejected: list[tuple[int, int]] = []  # rows and bytes of each shard
        self._counts: dict[str, Any] = {}
        self._remarks: Counter[tuple[Any, ...]] = Counter()
        self._states: Counter[str] = Counter()
        self._answers: dict[str, Counter[str]] = {}
        self._first = QUESTIONS.empty_table()  # for the picture of the card
        self._tiniest = QUESTIONS.empty_table()
        self._offered: list[pa.Table] = []  # for what is guessed
        self._records: dict[str, bytes] = {}  # files about the scenes
        self._joined: set[str] = set()

    def add(self, inputs: ReleaseInputs, number: int, of: int) -> float:
        """Adds a shard, unless it is the only one and has over `most` rows; gives their number (`_load`)."""
        name = f"rejected/{shard_name(inputs.split, number, of)}"
        with TableFile(self.folder / name, REJECTIONS, ZSTD_LEVEL, SCHEMA_METADATA) as rejected:
            found, load = _sort_out(inputs, rejected, self.most if of == 1 else math.inf)
            if found is None:
                return load
            rejected.publish()
        self._rejected.append((rejected.num_rows, rejected.nbytes))
        self.sums[name] = rejected.sha256
        if of > 1 and inputs.blind.replies is not None:
            mine = pc.is_in(inputs.blind.replies["id"], found.offered["id"].combine_chunks())
            inputs = replace(inputs, blind=replace(inputs.blind, replies=inputs.blind.replies.filter(mine)))
        records = _scene_records(found.kept, inputs)
        tables = _tables(found, inputs, records)
        for key, table in tables.items():
            self._tables[key] = _ReleaseTable(self.folder, key, table.schema)
            if key != ("data", TINY):
                self._tables[key].add(table, number, of)
        self._count(found, tables, inputs)
        shown = pa.concat_tables([found.kept, *found.held.values()])
        kept = set(shown["id"].to_pylist())
        drawn = (
            (row["file"], row["picture"])
            for table in inputs.pictures()
            for row in table.to_pylist()
            if row["id"] in kept
        )
        for file, raw in chain(inputs.benchmark.pictures(shown, inputs.whole).items(), drawn):
            self._pictures.add(file)
            self._write(file, raw)
        self._records = dict(records.files if records else {})
        for file, raw in self._records.items():
            self._write(file, raw)
        placed = place_media(self.folder, inputs.media(), kept)
        self.sums |= placed
        self._pictures |= placed.keys()
        return load

    def _count(self, found: _SortedOut, tables: Mapping[tuple[str, str], pa.Table], inputs: ReleaseInputs) -> None:
        asked, benchmark, reviewed = found.kept, inputs.benchmark, inputs.reviewed.stands
        self._counts = _counts(found, tables, inputs)
        self._remarks = benchmark.card.counts(asked)
        for row in asked.group_by(["task", "answer"]).aggregate([([], "count_all")]).to_pylist():
            self._answers.setdefault(row["task"], Counter())[row["answer"]] = row["count_all"]
        states = {stand.id: stand.state for stand in reviewed}
        judged = asked["id"].filter(pc.is_in(asked["id"], pa.array(states, pa.int64()))).to_pylist()
        self._states = Counter({"waiting": asked.num_rows - len(judged)}) + Counter(states[i] for i in judged)
        self._first = _first(asked)
        self._tiniest = _tiny(_turns(asked, benchmark.families, by_group=benchmark.tiny is not None), benchmark.tiny)
        self._offered = [found.offered.select(["id"] if inputs.blind.filtered is None else GUESSED)]

    def take(self, place: Path, number: int, of: int) -> None:
        """Adds a shard that lies in a folder (`save`)."""
        told, benchmark = json.loads((place / _STATE).read_bytes()), self.whole.benchmark
        for folder, split, rows, nbytes in told["tables"]:
            file, key = f"{folder}/{shard_name(split, number, of)}", (folder, split)
            if key == ("data", TINY):
                self._tables.setdefault(key, _ReleaseTable(self.folder, key, benchmark.columns.schema))
                continue
            if key not in self._tables:
                schema = pq.read_schema(place / file).remove_metadata()
                self._tables[key] = _ReleaseTable(self.folder, key, schema)
            link_or_copy(place / file, self.folder / file)
            self._tables[key].count(number, of, told["sums"].pop(file), rows, nbytes)
        for name in told["records"]:
            told["sums"].pop(name)
            self._write(name, (place / name).read_bytes(), more=True)
        for name in told["sums"]:
            link_or_copy(place / name, self.folder / name)
        self.sums |= told["sums"]
        self._rejected.append(told["rejected"])
        self._pictures |= {*told["pictures"]}
        self._counts = _added(self._counts, told["counts"])
        self._remarks += Counter({tuple(key): n for *key, n in told["remarks"]})
        self._states += Counter(told["states"])
        for task, answers in told["answers"].items():
            self._answers.setdefault(task, Counter()).update(answers)
        first, tiniest, offered = (_state_table(place, name) for name in _STATE_TABLES)
        self._first = _first(pa.concat_tables([self._first, first]))
        tiniest = pa.concat_tables([self._tiniest, tiniest]) if self._tiniest.num_rows else tiniest
        self._tiniest = _tiny(tiniest, benchmark.tiny)
        self._offered.append(offered)

    def save(self) -> None:
        """Writes what a shard comes to beside its files."""
        for name, table in zip(_STATE_TABLES, (self._first, self._tiniest, self._offered[0]), strict=True):
            write_atomically(self.folder / f"{name}.parquet", table_bytes(table))
        told = {
            "sums": self.sums | {name: one for own in self._tables.values() for name, one in own.files().items()},
            "tables": [[*own.name, own.num_rows, own.nbytes] for own in self._tables.values()],
            "rejected": self._rejected[0],
            "pictures": sorted(self._pictures),
            "records": sorted(self._records),
            "counts": self._counts,
            "remarks": [[*key, n] for key, n in self._remarks.items()],
            "states": self._states,
            "answers": self._answers,
            "verdicts": _verdicts(self.whole, self._offered[0]["id"]),
        }
        write_atomically(self.folder / _STATE, json.dumps(told).encode())

    def _write(self, name: str, raw: bytes, *, more: bool = False) -> None:
        """Writes a file, or adds to it what a later shard has of it."""
        if not more or name not in self.sums:
            if self.sums.get(name) != (digest := _sha256(raw)):
                write_atomically(self.folder / name, raw)
                self.sums[name] = digest
            return
        is_object = name.endswith(".json")  # else lines
        with translate_os_errors(self.folder), (self.folder / name).open("r+b") as file:
            file.seek(-1 if is_object else 0, os.SEEK_END)
            file.write(b", " + raw[1:] if is_object else raw)
        self._joined.add(name)

    def finish(self) -> tuple[bytes, dict[str, str]]:
        """Writes what is made of all shards."""
        inputs, folder = self.whole, self.folder
        _refuse_repeated([own["id"] for own in self._offered])
        tiny, pruned = self._tiniest.select(QUESTIONS.names), _pruned(self._tiniest, inputs.blind)
        self._tables["data", TINY].add(inputs.benchmark.columns.table(tiny, pruned), 0, 1)
        parts = [table.finish(self.most) for table in self._tables.values()]
        for table in self._tables.values():
            self.sums |= table.files()
        self._harness()
        rows, nbytes = (sum(own) for own in zip(*self._rejected, strict=True))
        parts.append(CroissantPart("rejected", inputs.split, REJECTIONS, rows, nbytes, len(self._rejected)))
        folders = {Path(name).parts[0] for name in self.sums if not name.startswith("rejected/")}
        if inputs.overview is not None:
            told = _line(self._counts, inputs.scenes)
            self._write(OVERVIEW_FILE, inputs.overview(inputs.title, told, self._first, self._answers, self._captioned))
        of_folders = (*inputs.benchmark.card.shown, VIDEO_FOLDER)
        tabled = [media_table(folder, name, inputs.split, self.sums) for name in of_folders]
        images = [one for one in tabled if one is not None]
        summary = self._summary()
        for name, raw in self._texts(parts, summary, folders, images).items():
            self._write(name, raw)
        self.sums |= {name: sha256_of_file(folder / name) for name in self._joined}
        columns = partial(columns_of, inputs.benchmark)
        described = croissant(inputs.settings["export"], inputs.benchmark.card, parts, columns, self.sums)
        self._write(CROISSANT_FILE, described)
        self.sums |= {file: sha256 for one in images for file, sha256 in one.files.items()}
        write_atomically(folder / CHECKSUMS, checksums(self.sums))
        summary["files"] = dict(sorted(self.sums.items()))
        return json.dumps(summary, sort_keys=True, indent=1).encode(), self.sums

    def _harness(self) -> None:
        """Files with which public harnesses ask the questions."""
        present = frozenset(self._pictures)
        for (part, split), table in self._tables.items():
            if part not in {"data", TWIN} and budget_of(part) is None:
                continue
            label, heads = split if part == "data" else part, dict[str, Any]()
            for number, rows in enumerate(table.shards()):
                for name, raw in self.whole.benchmark.harness_files(label, rows, present, heads).items():
                    self._write(name, raw, more=number > 0 and name.endswith(".jsonl"))

    def _captioned(self, question: int) -> bytes | None:
        """The benchmark's own picture of a question with its words, if it draws any."""
        name = picture_file(self.whole.benchmark.card.captioned, question)
        return (self.folder / name).read_bytes() if name in self._pictures else None

    def _summary(self) -> dict[str, Any]:
        """All of `Released` but the files."""
        scenes, blind = self.whole.scenes, self.whole.blind
        guessed = [] if blind.filtered is None else blind.summary(pa.concat_tables(self._offered))
        return self._counts | {
            "findings": [[s.id, f.name, f.severity, f.message, f.remedy] for s in scenes for f in s.findings],
            "blind": [row.model_dump() for row in guessed],
            "models": [row.model_dump() for row in blind.models],
        }

    def _texts(
        self,
        parts: Sequence[CroissantPart],
        summary: dict[str, Any],
        folders: Collection[str],
        images: Sequence[MediaTable],
    ) -> dict[str, bytes]:
        """The card, the terms, and the table of what is guessed where there is one."""
        inputs, benchmark = self.whole, self.whole.benchmark
        scenes, settings = inputs.scenes, inputs.settings
        remarked = benchmark.card.remarks(self._remarks)
        card = dataset_card(
            parts, summary, scenes, settings, remarked, self._states, inputs.reviewed, benchmark, folders, images
        )
        files = {"README.md": card, TERMS_FILE: licences(scenes, settings, benchmark, folders)}
        if summary["blind"]:
            files[WITHOUT_VIDEO] = json.dumps(summary["blind"], indent=1)
        return {name: text.encode() for name, text in files.items()}


class _SortedOut(NamedTuple):
    """The selected questions of a shard: all but unchecked ones, those that stay by id, and numbers of rejections.

    ``held`` has those that are held back, by configuration (`tables.HELD`) and id; they are counted among the
    rejections, by task and reason. ``silent`` has the scenes of which no question stays, with the number of their
    rejections by reason.
    """

    offered: pa.Table
    kept: pa.Table
    held: dict[str, pa.Table]
    reasons: Counter[tuple[str, str]]
    silent: dict[str, dict[str, int]]


def _sort_out(inputs: ReleaseInputs, rejected: TableFile, most: float) -> tuple[_SortedOut | None, float]:
    """Takes the tables of some scenes apart, and says how many rows they have; the rejections go to their file.

    None where there are more than ``most``, which are counted alone. Raises StoreError for a repeated id.
    """
    offered, kept, reasons = [QUESTIONS.empty_table()], [QUESTIONS.empty_table()], Counter[tuple[str, str]]()
    back: dict[str, list[pa.Table]] = {name: [] for name in HELD.values()}
    silent: dict[str, dict[str, int]] = {}
    removed, load = removed_blind(inputs.blind.filtered), np.zeros(4)
    for table in _batches(inputs.selected()):
        asked, refused = asked_in(table), rejected_in(table)
        load += _load(asked, refused)
        if load.max() > most:
            continue
        stays, dropped = split_by_verdict(asked, refused, removed)
        offered.append(asked)
        kept.append(stays)
        rejected.append(dropped)
        for reason, name in HELD.items():
            ids = dropped.filter(pc.equal(dropped["reason"], reason))["id"].combine_chunks()
            back[name].append(asked.filter(pc.is_in(asked["id"], ids)))
        reasons.update(_reasons(dropped))
        silent |= _silent(dropped, stays)
    if load.max() > most:
        return None, float(load.max())
    rejected.finish()
    everything = pa.concat_tables(offered)
    _refuse_repeated([everything["id"]])
    offers = everything.filter(pc.invert(unchecked_in(everything)))
    held = {name: pa.concat_tables([QUESTIONS.empty_table(), *own]).sort_by("id") for name, own in back.items()}
    stay = pa.concat_tables(kept).sort_by("id").combine_chunks()
    return _SortedOut(offers, stay, held, reasons, silent), float(load.max())


def _refuse_repeated(ids: Sequence[pa.ChunkedArray]) -> None:
    every = np.sort(np.concatenate([own.to_numpy() for own in ids]))
    repeated = every[1:][every[1:] == every[:-1]]
    if len(repeated):
        raise StoreError(f"two questions share the id {repeated[0]}")


def _batches(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of some ten thousand: what Arrow does for a table costs as much as for many rows."""
    waiting, n = list[pa.Table](), 0
    for table in tables:
        waiting.append(table)
        n += table.num_rows
        if n >= BATCH_ROWS:
            yield pa.concat_tables(waiting)
            waiting, n = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _line(counts: Mapping[str, Any], scenes: Sequence[AnyScene]) -> str:
    """The release on one line."""
    asked, dropped = sum(counts["questions"].values()), sum(sum(own.values()) for own in counts["rejections"].values())
    about = f"{len(scenes):,} scene" + "s" * (len(scenes) != 1)
    return f"{asked:,} questions about {about}; {dropped:,} candidates rejected, each with its reason"


def release_is_whole(folder: Path, summary: bytes) -> bool:
    """Whether every file of the release is there with the bytes that the summary names."""
    return changed_file(folder, Released.model_validate_json(summary).files) is None


def changed_file(folder: Path, files: dict[str, str]) -> str | None:
    """The first file of a release that is missing or has another SHA-256 than it is to have; None: all is whole."""
    for name, sha256 in files.items():
        try:
            if sha256_of_file(folder / name) != sha256:
                return name
        except OSError:
            return name
    try:
        return None if (folder / CHECKSUMS).read_bytes() == checksums(files) else CHECKSUMS
    except OSError:
        return CHECKSUMS


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def checksums(sums: dict[str, str]) -> bytes:
    """The checksums as text that ``sha256sum --check`` reads."""
    return "".join(f"{s}  {name}\n" for name, s in sorted(sums.items())).encode()


def _turns(asked: pa.Table, families: Mapping[str, str], *, by_group: bool) -> pa.Table:
    """Questions, with the task or family of tasks of each and its turns: in its group of a scene, and in its scene."""
    told: Counter[tuple[str, ...]] = Counter()
    turns: list[tuple[str, int, int]] = []
    groups = asked["group"].to_pylist() if by_group else [None] * len(asked)
    tasks, scenes = asked["task"].to_pylist(), asked["scene"].to_pylist()
    for task, scene, group in zip(tasks, scenes, groups, strict=True):  # sorted by id
        family = families.get(task, task)
        turns.append((family, told[family, scene, group or ""], told[family, scene]))
        told.update([(family, scene, group or ""), (family, scene)])
    for number, (name, kind) in enumerate(_TURNS.items()):
        asked = asked.append_column(name, pa.array([turn[number] for turn in turns], kind))
    return asked


_TURNS: Final = {"family": pa.string(), "turn": pa.int64(), "turn_in_scene": pa.int64()}


def _tiny(asked: pa.Table, quotas: Mapping[str, int] | None = None) -> pa.Table:
    """`TINY_PER_TASK` questions of each task or family of tasks, or its quota, spread over the scenes and groups.

    Of each scene the first by id, which is a digest, then the second ones: nobody chose them. With quotas, of each
    group of a scene likewise. ``asked``: those of `_turns`; the best of some are among the best of more.
    """
    turns: dict[str, list[tuple[int, int, int, int]]] = {}
    for place, (family, *turn) in enumerate(zip(*(asked[name].to_pylist() for name in [*_TURNS, "id"]), strict=True)):
        turns.setdefault(family, []).append((*turn, place))
    wanted = {family: (quotas or {}).get(family, TINY_PER_TASK) for family in turns}
    chosen = sorted(place for family, own in turns.items() for *_, place in sorted(own)[: wanted[family]])
    return asked.take(pa.array(chosen, pa.int64()))


def _one_per_group(asked: pa.Table) -> pa.Table:
    """One question of each scene, or of each group of a scene that has groups: of a task drawn by lot, the first by id.

    Which one it is depends on nothing but the questions of its group.
    """
    first: dict[tuple[str, str], tuple[bytes, int]] = {}
    for place, row in enumerate(asked.select(["scene", "group", "task"]).to_pylist()):  # sorted by id
        group = (row["scene"], row["group"] or "")
        turn = (digest("one of a group", *group, row["task"]), place)
        first[group] = min(first.get(group, turn), turn)
    return asked.take(pa.array(sorted(place for _, place in first.values()), pa.int64()))


def _scene_records(asked: pa.Table, inputs: ReleaseInputs) -> SceneRecords | None:
    """What the benchmark has to say of the scenes themselves."""
    benchmark = inputs.benchmark
    if benchmark.scene_records is None:
        return None
    return benchmark.scene_records(inputs.whole(), benchmark.rules.model_validate(inputs.settings["rules"]), asked)


def _tables(
    sorted_out: _SortedOut, inputs: ReleaseInputs, records: SceneRecords | None
) -> dict[tuple[str, str], pa.Table]:
    """All tables but the rejections, by folder and split."""
    asked, held = sorted_out.kept, sorted_out.held
    scenes, blind, split = inputs.scenes, inputs.blind, inputs.split
    pruned = _pruned(asked, blind)
    public, own = inputs.benchmark.columns.table, inputs.benchmark.columns.splits
    tables = {("data", split): public(asked, pruned)}
    stays = asked.filter(pc.invert(pc.is_in(asked["id"], pa.array(sorted(pruned), pa.int64()))))
    if blind.pruned is not None:
        tables["data", DEBIASED] = public(stays, pruned)
    tables["data", ONE_PER_SCENE] = public(_one_per_group(stays), pruned)
    tables["data", TINY] = public(asked.slice(0, 0), ())  # chosen among those of all shards
    if own is not None:
        whole = tables["data", split]
        tables |= {(own.folder, name): whole.filter(pc.equal(whole[own.column], name)) for name in own.names}
    if (found := budgets_table(asked)).num_rows:
        tables[BUDGETS, split] = found
        for budget in sorted(set(found["budget"].to_pylist()), reverse=True):
            tables[budget_folder(budget), split] = public(asked_in_budget(asked, found, budget), pruned)
    if (frames := inputs.frames()).num_rows:
        tables[SAMPLED, split] = frames.sort_by([(name, "ascending") for name in ("scene", "budget", "k")])
    if (videos := inputs.videos()).num_rows:
        tables[VIDEOS_TABLE, split] = videos
    tables |= {(name, split): table for name, table in twin_tables(asked, inputs.twins(), public).items()}
    if records is not None and records.maps.num_rows:
        tables[MAPS, split] = public(records.maps, set()).append_column("of", records.maps["of"])
    tables["provenance", split] = provenance_table(asked, scenes, inputs.settings, blind.pruned)
    if held[UNCHECKED].num_rows:
        tables[UNCHECKED_PROVENANCE, split] = provenance_table(held[UNCHECKED], scenes, inputs.settings)
    if any(scene.fixes for scene in scenes):
        tables[FIXES, split] = fixes_table(scenes)
    if blind.replies is not None:
        tables["blind", split] = blind.replies.drop_columns("message")  # a server's words; they stay in the build
    tables |= {(name, split): public(own, set()) for name, own in held.items() if own.num_rows}
    if inputs.reviewed.stands:
        judged = pa.concat_tables([asked, held[UNCHECKED]]).sort_by("id")
        tables["accepted", split] = public(accepted(judged, inputs.reviewed), pruned)
        tables["review", split] = review_table(judged, inputs.reviewed)
    return tables


def _pruned(asked: pa.Table, blind: Blind) -> set[int]:
    """Ids of the questions that pruning took."""
    if blind.pruned is None:
        return set()
    gone = blind.pruned["id"].filter(pc.is_valid(blind.pruned["removed_in_round"]))
    return set(gone.filter(pc.is_in(gone, asked["id"].combine_chunks())).to_pylist())


def _counts(
    sorted_out: _SortedOut, tables: Mapping[tuple[str, str], pa.Table], inputs: ReleaseInputs
) -> dict[str, Any]:
    """What `Released` counts, of the questions of a shard."""
    rows = sorted_out.kept.select(["task", "answer", "choice", "flags", "ground_truth", "options"]).to_pandas()
    chosen = rows[rows["options"].notna()]
    rejections: dict[str, dict[str, int]] = {}
    for (task, reason), n in sorted(sorted_out.reasons.items()):
        rejections.setdefault(task, {})[reason] = n
    return {
        "questions": _numbers(rows["task"]),
        "rejections": rejections,
        "answers": {task: _numbers(part["answer"]) for task, part in chosen.groupby("task")},
        "letters": {task: _numbers(part["ground_truth"]) for task, part in chosen.groupby("task")},
        "flags": dict(sorted(Counter(f for flags in rows["flags"].dropna() for f in flags).items())),
        "silent": sorted_out.silent,
        "budgets": _in_budgets(tables.get((BUDGETS, inputs.split))),
        "splits": _splits(tables, inputs.benchmark),
    }


def _added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of counts by the same names, which are sorted; numbers of frames, the highest first."""
    if not one:
        return dict(other)
    found: dict[str, Any] = {}
    for name in sorted({*one, *other}, key=lambda name: (-int(name) if name.isdecimal() else 0, name)):
        a, b = one.get(name), other.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found[name] = _added(a, b)
        elif isinstance(a, list) and isinstance(b, list):
            found[name] = [x + y for x, y in zip(a, b, strict=True)]
        else:
            found[name] = a + b if isinstance(a, int) and isinstance(b, int) else b if a is None else a
    return found


def _reasons(rejected: pa.Table) -> dict[tuple[str, str], int]:
    """Number of rejections by task and reason. Counted by Arrow: they are by far the most rows."""
    counted = rejected.group_by(_COUNTED).aggregate([([], "count_all")])
    return {(row["task"], row["reason"]): row["count_all"] for row in counted.to_pylist()}


def _in_budgets(found: pa.Table | None) -> dict[str, dict[str, dict[str, int]]]:
    """Number of questions by frame budget, task and reason why they have no answer there ("": they have one)."""
    counted: dict[str, dict[str, dict[str, int]]] = {}
    if found is None:
        return counted
    groups = found.group_by(["budget", "task", "reason"]).aggregate([([], "count_all")]).to_pylist()
    for row in sorted(groups, key=lambda row: (-row["budget"], row["task"], row["reason"] or "")):
        own = counted.setdefault(str(row["budget"]), {}).setdefault(row["task"], {})
        own[row["reason"] or ""] = row["count_all"]
    return counted


def _silent(rejected: pa.Table, kept: pa.Table) -> dict[str, dict[str, int]]:
    """Number of rejections by reason, the most frequent first, of each scene of which nothing is asked."""
    bare = rejected.filter(pc.invert(pc.is_in(rejected["scene"], kept["scene"].combine_chunks().unique())))
    found: dict[str, dict[str, int]] = {}
    counted = bare.group_by(["scene", "reason"]).aggregate([([], "count_all")]).to_pylist()
    for row in sorted(counted, key=lambda row: (row["scene"], -row["count_all"], row["reason"])):
        found.setdefault(row["scene"], {})[row["reason"]] = row["count_all"]
    return found


def _splits(tables: Mapping[tuple[str, str], pa.Table], benchmark: Benchmark[Any, Any]) -> dict[str, list[int]]:
    """Questions and groups of each split of a benchmark that is divided, and groups that other splits have too."""
    splits = benchmark.columns.splits
    if splits is None:
        return {}
    groups = {name: tables[splits.folder, name][splits.group].to_pylist() for name in splits.names}
    found = {}
    for name, own in groups.items():
        elsewhere = {group for other, those in groups.items() if other != name for group in those}
        found[name] = [len(own), len(set(own)), len(set(own) & elsewhere)]
    return found


def _numbers(column: Any) -> dict[str, int]:
    return {str(k): int(n) for k, n in sorted(column.value_counts().items())}
