"""The release folder: configurations of the splits, a dataset card, and checksums written last."""

import hashlib
import json
import os
import shutil
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.benchmarks.benchmark import SceneRecords
from pipeline.core.files import TEMPORARY, new_folder, sha256_of_file, sync_files, translate_os_errors, write_atomically
from pipeline.core.identity import digest_of, shards_for
from pipeline.core.parquet import TableFile, arrow_bytes, read_table, shard_name, table_bytes
from pipeline.core.tables import (
    CHECKSUMS,
    GUESSED,
    QUESTIONS,
    REJECTIONS,
    TINY,
    TWIN,
    WITHOUT_VIDEO,
    budget_of,
    picture_file,
)
from pipeline.release.card import OVERVIEW_FILE, dataset_card
from pipeline.release.contents import (
    PIECE_TABLES,
    PIECES,
    ROW_BYTES,
    SHARD_ROWS,
    ZSTD_LEVEL,
    Piece,
    ReleaseInputs,
    SceneTotals,
    added,
    counts_of,
    example_questions,
    joined_pieces,
    piece_of,
    pruned_ids,
    refuse_repeated,
    release_tables,
    sort_out,
    tiny_questions,
    verdicts_digest,
    with_turns,
)
from pipeline.release.media import VIDEO_FOLDER, MediaTable, link_or_copy, media_table, place_media
from pipeline.release.metadata import CROISSANT_FILE, CroissantPart, croissant
from pipeline.release.released import checksums
from pipeline.release.tables import SCHEMA_METADATA, columns_of
from pipeline.release.terms import TERMS_FILE, licences
from pipeline.review.reviewed import Reviewed
from pipeline.review.verdicts import STATES

_TINY: Final = ("data", TINY)
_STATE: Final = "shard.json"
_PIECES: Final = "pieces"  # folder of the shards'
_FILES: Final = "files/"  # folder of a piece
_REJECTED: Final = "rejected/"  # likewise


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
    larger has a file for each shard, all others have one file. Rows go by shard, then by id; rejections by shard,
    piece, scene and id, and behind them those by verdicts. The number of shards, a power of two, follows from these
    sums alone. Of a shard that changed, only those `PIECES` are made again whose scenes did.

    Args:
        folder: of the release.
        whole: of all scenes.
        part: of the scenes of one shard, by its number and how many there are.
        shards: folder of the shards, beside the release: of an earlier call those are taken whose inputs are the same,
            and others are removed in the end.
        most: questions of a shard.
    """
    release, used = _Release(folder, whole, most), set[Path]()
    of = shards_for(whole.load / most)
    pieces = _KeptPieces(shards / _PIECES, min(PIECES, shards_for(PIECES * whole.load / most)))
    if of == 1:
        shard = _write_shard(folder, part(0, 1), 0, 1, pieces)
        pieces.used |= {*shard.summary["pieces"]}
        release.take(folder, shard, 0, 1)
    else:
        for number in range(of):
            inputs = part(number, of)
            place = shards / f"{number:05d}-of-{of:05d}.{inputs.key}"
            shard = _load_kept(place, inputs) or _make(place, inputs, number, of, pieces)
            pieces.used |= {*shard.summary["pieces"]}
            release.take(place, shard, number, of)
            used.add(place)
    written = release.finish()
    pieces.remove_others()
    for old in [one for one in shards.glob("*-of-*.*") if one not in used]:
        shutil.rmtree(old, ignore_errors=True)
    return written


class _Shard(NamedTuple):
    """What a shard comes to, whose files lie in a folder: as JSON, and some of its questions."""

    summary: dict[str, Any]
    first: pa.Table  # for the picture of the card
    tiniest: pa.Table
    offered: pa.Table  # for what is guessed


class _KeptPieces:
    """The pieces of shards in a folder: archives, named by inputs and content, that are there whole or not at all.

    Attributes:
        per: how many a shard has, of those without scenes too.
        used: the names of those that are needed.
    """

    def __init__(self, folder: Path, per: int) -> None:
        self._folder, self.per = folder, per
        self._there = {path.name.partition(".")[0]: path for path in folder.glob("*.*.zip")}
        self.used = set[str]()

    def take(self, inputs: ReleaseInputs) -> tuple[str, Piece]:
        """A piece, which is made unless it is there, and its name."""
        path = self._there.get(inputs.key)
        if path is None or (found := _read_piece(path)) is None:
            found = piece_of(inputs)
            raw = _piece_bytes(found)
            path = self._folder / f"{inputs.key}.{digest_of(raw)}.zip"
            write_atomically(path, raw, sync=False)
        return path.name, found

    def remove_others(self) -> None:
        """Removes what no shard was made of, and what a killed process left."""
        for path in [one for one in self._folder.glob("*") if one.name not in self.used]:
            path.unlink(missing_ok=True)


def _piece_bytes(piece: Piece) -> bytes:
    tables = ((name, getattr(piece, name)) for name in PIECE_TABLES)
    members = {name: arrow_bytes(table) for name, table in tables}
    members |= {f"{_REJECTED}{k}": raw for k, raw in enumerate(piece.rejected)}
    members["totals"] = json.dumps(piece.totals).encode()
    if piece.records is not None:
        members["maps"] = arrow_bytes(piece.records.maps)
        members |= {f"{_FILES}{name}": raw for name, raw in piece.records.files.items()}
    archive = BytesIO()
    with ZipFile(archive, "w") as file:
        for name, raw in members.items():
            file.writestr(ZipInfo(name), raw)
    return archive.getvalue()


def _read_piece(path: Path) -> Piece | None:
    """A piece that is there; None: it is damaged."""
    try:
        raw = path.read_bytes()
        if digest_of(raw) != path.name.split(".")[1]:  # damaged
            return None
        with ZipFile(BytesIO(raw)) as file:
            members = {name: file.read(name) for name in file.namelist()}
        tables = {name: read_table(members[name]) for name in PIECE_TABLES}
        totals = json.loads(members["totals"])
        rejected = tuple(raw for name, raw in members.items() if name.startswith(_REJECTED))
        files = {name.removeprefix(_FILES): own for name, own in members.items() if name.startswith(_FILES)}
        records = SceneRecords(read_table(members["maps"]), files) if "maps" in members else None
        return Piece(**tables, rejected=rejected, totals=totals, records=records)
    except (OSError, BadZipFile, ValueError, LookupError):
        return None


def _make(place: Path, inputs: ReleaseInputs, number: int, of: int, pieces: _KeptPieces) -> _Shard:
    """Writes a shard, which is there whole or not at all."""
    made = place.with_name(f"{TEMPORARY}{place.name}")
    shutil.rmtree(place, ignore_errors=True)  # it is damaged, or of other replies
    with new_folder(made):
        shard = _write_shard(made, inputs, number, of, pieces)
        for name, table in zip(_Shard._fields[1:], shard[1:], strict=True):
            write_atomically(made / f"{name}.parquet", table_bytes(table))
        state = shard.summary | {"verdicts": verdicts_digest(inputs, shard.offered["id"])}
        write_atomically(made / _STATE, json.dumps(state).encode())
        with translate_os_errors(place.parent):
            made.rename(place)
    return shard


def _load_kept(place: Path, inputs: ReleaseInputs) -> _Shard | None:
    """A shard that is there, if it is whole and of the same verdicts on its questions."""
    try:
        state = json.loads((place / _STATE).read_bytes())
        if any(sha256_of_file(place / name) != sha256 for name, sha256 in state["sums"].items()):
            return None
        shard = _Shard(state, *(read_table((place / f"{name}.parquet").read_bytes()) for name in _Shard._fields[1:]))
        return shard if state["verdicts"] == verdicts_digest(inputs, shard.offered["id"]) else None
    except (OSError, ValueError, LookupError):  # of one that is damaged
        return None


def _write_shard(folder: Path, inputs: ReleaseInputs, number: int, of: int, pieces: _KeptPieces) -> _Shard:
    """Writes the files of a shard."""
    name = f"rejected/{shard_name(inputs.split, number, of)}"
    names, made_of = zip(*map(pieces.take, [*inputs.pieces(pieces.per)] or [inputs]), strict=True)
    piece = joined_pieces(made_of)
    found, dropped = sort_out(piece, inputs.blind.filtered)
    with TableFile(folder / name, REJECTIONS, ZSTD_LEVEL, SCHEMA_METADATA) as rejected:
        for table in chain(map(read_table, piece.rejected), [dropped]):
            rejected.append(table)
        rejected.finish()
        rejected.publish()
    if of > 1 and inputs.blind.replies is not None:
        mine = pc.is_in(inputs.blind.replies["id"], found.offered["id"].combine_chunks())
        inputs = replace(inputs, blind=replace(inputs.blind, replies=inputs.blind.replies.filter(mine)))
    asked, benchmark = found.kept, inputs.benchmark
    tables = release_tables(found, piece, inputs)
    written = [_ReleaseTable(folder, key, table.schema) for key, table in tables.items()]
    for own in written:
        if own.name != _TINY:  # it is chosen among those of all shards
            own.add(tables[own.name], number, of)
    shown = pa.concat_tables([asked, *found.held.values()])
    kept = set(shown["id"].to_pylist())
    drawn = (
        (row["file"], row["picture"]) for table in inputs.pictures() for row in table.to_pylist() if row["id"] in kept
    )
    pictures: dict[str, str] = {}
    for file, raw in chain(benchmark.pictures(shown, inputs.whole_scenes).items(), drawn):
        _write(folder, pictures, file, raw)
    of_scenes: dict[str, str] = {}
    for file, raw in (piece.records.files if piece.records else {}).items():
        _write(folder, of_scenes, file, raw)
    pictures |= place_media(folder, inputs.media(), kept)
    summary = {
        "sums": dict(ChainMap({name: rejected.sha256}, pictures, of_scenes, *(own.files() for own in written))),
        "tables": [[*own.name, own.num_rows, own.nbytes] for own in written],
        "rejected": [rejected.num_rows, rejected.nbytes],
        "pieces": names,
        "pictures": sorted(pictures),
        "records": sorted(of_scenes),
        "scenes": piece.totals,
        "counts": counts_of(found, tables, inputs),
        "remarks": [[*key, n] for key, n in benchmark.card.counts(asked).items()],
        "states": _states_of(asked, inputs.reviewed),
        "answers": _answers_of(asked),
    }
    turns = with_turns(asked, benchmark.families, by_group=benchmark.tiny is not None)
    offered = found.offered.select(["id"] if inputs.blind.filtered is None else GUESSED)
    return _Shard(summary, example_questions(asked), tiny_questions(turns, benchmark.tiny), offered)


def _states_of(asked: pa.Table, reviewed: Reviewed) -> dict[str, int]:
    """Number of questions by what reviewers have made of them."""
    states = {stand.id: stand.state for stand in reviewed.stands}
    judged = asked["id"].filter(pc.is_in(asked["id"], pa.array(states, pa.int64()))).to_pylist()
    return Counter({"waiting": asked.num_rows - len(judged)}) + Counter(states[i] for i in judged)


def _answers_of(asked: pa.Table) -> dict[str, dict[str, int]]:
    """Number of questions by task and answer."""
    found: dict[str, dict[str, int]] = {}
    for row in asked.group_by(["task", "answer"]).aggregate([([], "count_all")]).to_pylist():
        found.setdefault(row["task"], {})[row["answer"]] = row["count_all"]
    return found


def _write(folder: Path, sums: dict[str, str], name: str, raw: bytes) -> None:
    """Writes a file, unless it is there."""
    if sums.get(name) != (digest := _sha256(raw)):
        write_atomically(folder / name, raw, sync=False)  # see `_Release.finish`
        sums[name] = digest


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
        parts = {*range(self._of)}
        if self._of > 1 and max(self.num_rows, self.nbytes / ROW_BYTES) <= most:
            files = [self._folder / self._file(number) for number in self.sums]
            self._of, parts = 1, {0}
            with TableFile(self._folder / self._file(0), self.schema, ZSTD_LEVEL, SCHEMA_METADATA) as joined:
                for file in files:
                    joined.append(_rows_of(file))
                joined.finish()
                joined.publish()
            self.sums = {0: joined.sha256}
            for file in files:
                file.unlink()
        for number in parts - self.sums.keys():
            self.add(self.schema.empty_table(), number, self._of)
        return CroissantPart(*self.name, self.schema, self.num_rows, self.nbytes, self._of)

    def shards(self) -> Iterator[pa.Table]:
        """All rows, a shard after the other."""
        return (_rows_of(self._folder / self._file(number)) for number in sorted(self.sums))

    def files(self) -> dict[str, str]:
        """File -> its SHA-256."""
        return {self._file(number): sha256 for number, sha256 in self.sums.items()}

    def _file(self, number: int) -> str:
        return f"{self.name[0]}/{shard_name(self.name[1], number, self._of)}"


def _rows_of(file: Path) -> pa.Table:
    return read_table(file.read_bytes()).replace_schema_metadata()


class _Release:
    """A release while it is written: what its shards come to, and the SHA-256 of the files that are there."""

    def __init__(self, folder: Path, whole: ReleaseInputs, most: int) -> None:
        self.folder, self.whole, self.most = folder, whole, most
        self.sums: dict[str, str] = {}
        self._pictures: set[str] = set()  # and other files that go with questions
        self._tables: dict[tuple[str, str], _ReleaseTable] = {}
        self._rejected: list[tuple[int, int]] = []  # rows and bytes of each shard
        self._scenes = SceneTotals()
        self._counts: dict[str, Any] = {}
        self._remarks: Counter[tuple[Any, ...]] = Counter()
        self._states: Counter[str] = Counter()
        self._answers: dict[str, Counter[str]] = {}
        self._first: list[pa.Table] = []
        self._tiniest: list[pa.Table] = []
        self._offered: list[pa.Table] = []
        self._joined: set[str] = set()

    def take(self, place: Path, shard: _Shard, number: int, of: int) -> None:
        """Adds a shard whose files lie in a folder, which may be the release's own."""
        summary, sums = shard.summary, dict(shard.summary["sums"])
        if place != self.folder:
            for name in summary["records"]:
                self._write(name, (place / name).read_bytes(), more=True)
                del sums[name]
            for name in sums:
                link_or_copy(place / name, self.folder / name)
        for folder, split, rows, nbytes in summary["tables"]:
            file, key = f"{folder}/{shard_name(split, number, of)}", (folder, split)
            if key == _TINY:
                self._tables.setdefault(key, _ReleaseTable(self.folder, key, self.whole.benchmark.columns.schema))
                continue
            if key not in self._tables:
                schema = pq.read_schema(place / file).remove_metadata()
                self._tables[key] = _ReleaseTable(self.folder, key, schema)
            self._tables[key].count(number, of, sums.pop(file), rows, nbytes)
        self.sums |= sums
        self._rejected.append(summary["rejected"])
        self._pictures |= {*summary["pictures"]}
        self._scenes.add(summary["scenes"])
        self._counts = added(self._counts, summary["counts"])
        self._remarks += Counter({tuple(key): n for *key, n in summary["remarks"]})
        self._states += Counter(summary["states"])
        for task, answers in summary["answers"].items():
            self._answers.setdefault(task, Counter()).update(answers)
        self._first.append(shard.first)
        self._tiniest.append(shard.tiniest)
        self._offered.append(shard.offered)

    def _write(self, name: str, raw: bytes, *, more: bool = False) -> None:
        """Writes a file, or adds to it what a later shard has of it."""
        if not more or name not in self.sums:
            _write(self.folder, self.sums, name, raw)
            return
        is_object = name.endswith(".json")  # else lines
        with translate_os_errors(self.folder), (self.folder / name).open("r+b") as file:
            file.seek(-1 if is_object else 0, os.SEEK_END)
            file.write(b", " + raw[1:] if is_object else raw)
        self._joined.add(name)

    def finish(self) -> tuple[bytes, dict[str, str]]:
        """Writes what is made of all shards."""
        inputs, folder = self.whole, self.folder
        refuse_repeated([own["id"] for own in self._offered])
        tiny = tiny_questions(pa.concat_tables(self._tiniest), inputs.benchmark.tiny).select(QUESTIONS.names)
        self._tables[_TINY].add(inputs.benchmark.columns.table(tiny, pruned_ids(tiny, inputs.blind)), 0, 1)
        self._harness()
        parts = [table.finish(self.most) for table in self._tables.values()]
        for table in self._tables.values():
            self.sums |= table.files()
        rows, nbytes = (sum(own) for own in zip(*self._rejected, strict=True))
        parts.append(CroissantPart("rejected", inputs.split, REJECTIONS, rows, nbytes, len(self._rejected)))
        folders = {Path(name).parts[0] for name in self.sums if not name.startswith("rejected/")}
        if inputs.overview is not None:
            title_line = _line(self._counts, self._scenes.datasets.total())
            asked = example_questions(pa.concat_tables(self._first))
            self._write(OVERVIEW_FILE, inputs.overview(inputs.title, title_line, asked, self._answers, self._captioned))
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
        sync_files(folder / name for name in self.sums)
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
            for rows in table.shards():
                for name, raw in self.whole.benchmark.harness_files(label, rows, present, heads).items():
                    self._write(name, raw, more=name.endswith(".jsonl"))

    def _captioned(self, question: int) -> bytes | None:
        """The benchmark's own picture of a question with its words, if it draws any."""
        name = picture_file(self.whole.benchmark.card.captioned, question)
        return (self.folder / name).read_bytes() if name in self._pictures else None

    def _summary(self) -> dict[str, Any]:
        """All of `Released` but the files."""
        blind, judged = self.whole.blind, bool(self.whole.reviewed.stands)
        guessed = [] if blind.filtered is None else blind.summary(pa.concat_tables(self._offered))
        return self._counts | {
            "findings": self._scenes.findings,
            "blind": [row.model_dump() for row in guessed],
            "models": [row.model_dump() for row in blind.models],
            "reviewed": {state: self._states[state] for state in STATES if judged and self._states[state]},
        }

    def _texts(
        self,
        parts: Sequence[CroissantPart],
        summary: dict[str, Any],
        folders: Collection[str],
        images: Sequence[MediaTable],
    ) -> dict[str, bytes]:
        """The card, the terms, and the table of what is guessed where there is one."""
        inputs, benchmark, scenes = self.whole, self.whole.benchmark, self._scenes
        settings = inputs.settings
        remarked = benchmark.card.remarks(self._remarks)
        card = dataset_card(
            parts, summary, scenes, settings, remarked, self._states, inputs.reviewed, benchmark, folders, images
        )
        files = {"README.md": card, TERMS_FILE: licences(scenes.datasets, settings, benchmark, folders)}
        if summary["blind"]:
            files[WITHOUT_VIDEO] = json.dumps(summary["blind"], indent=1)
        return {name: text.encode() for name, text in files.items()}


def _line(counts: Mapping[str, Any], scenes: int) -> str:
    """The release on one line."""
    asked, dropped = sum(counts["questions"].values()), sum(sum(own.values()) for own in counts["rejections"].values())
    about = f"{scenes:,} scene" + "s" * (scenes != 1)
    return f"{asked:,} questions about {about}; {dropped:,} candidates rejected, each with its reason"


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
