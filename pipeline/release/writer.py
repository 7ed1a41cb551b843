"""The release folder: configurations of the splits, a dataset card, and checksums written last."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from pipeline.benchmarks.benchmark import Benchmark, SceneRecords
from pipeline.blind.text_only import TextOnly
from pipeline.blind.totals import ModelTotals
from pipeline.core.errors import StoreError
from pipeline.core.files import sha256_of_file, write_atomically
from pipeline.core.identity import digest
from pipeline.core.parquet import TableFile, shard_name, table_bytes
from pipeline.core.schema import AnyScene
from pipeline.core.tables import (
    BUDGETS,
    CHECKSUMS,
    DEBIASED,
    FRAMES,
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
# A release's picture as PNG, from its title, a line about it, its questions, and what draws one of them with its words.
Overview = Callable[[str, str, pa.Table, Callable[[int], bytes | None]], bytes]


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
    """The inputs of a release.

    Attributes:
        selected: one table per scene (`questions.selection.SELECTED`), in the order of the scenes' ids; one is held
            at a time, since the rejections of a thousand scans would fill the memory.
        scenes: the scenes of the release.
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
    """

    selected: Iterable[pa.Table]
    scenes: Sequence[AnyScene]
    settings: dict[str, Any]
    benchmark: Benchmark[Any, Any]
    blind: Blind = field(default_factory=Blind)
    reviewed: Reviewed = field(default_factory=Reviewed)
    whole: Callable[[], Iterable[AnyScene]] = lambda: ()
    pictures: Iterable[pa.Table] = ()
    frames: pa.Table = field(default_factory=FRAMES.empty_table)
    twins: pa.Table = field(default_factory=TWINS.empty_table)
    videos: pa.Table = field(default_factory=VIDEO_FILES.empty_table)
    media: Iterable[Media] = ()
    overview: Overview | None = None

    @property
    def split(self) -> str:
        """The name of the full split."""
        return str(self.settings["export"]["split"])

    @property
    def title(self) -> str:
        """The title of the release."""
        return str(self.settings["export"]["pretty_name"])


def write_release(folder: Path, inputs: ReleaseInputs) -> tuple[bytes, dict[str, str]]:
    """Writes all files of a release into an empty folder; gives the summary (`Released` as JSON) and their SHA-256."""
    rejections = _name("rejected", inputs.split)
    with TableFile(folder / rejections, REJECTIONS, ZSTD_LEVEL, SCHEMA_METADATA) as rejected:
        sorted_out = _sort_out(inputs.selected, removed_blind(inputs.blind.filtered), rejected)
        records = _scene_records(sorted_out.kept, inputs)
        tables = _tables(sorted_out, inputs, records)
        summary = _summary(sorted_out, tables, inputs)
        parts = [CroissantPart(*key, table.schema, table.num_rows, table.nbytes) for key, table in tables.items()]
        parts.append(CroissantPart("rejected", inputs.split, REJECTIONS, rejected.num_rows, rejected.nbytes))
        files = {_name(*key): table_bytes(table, ZSTD_LEVEL, SCHEMA_METADATA) for key, table in tables.items()}
        shown = pa.concat_tables([sorted_out.kept, *sorted_out.held.values()])
        files |= _question_files(shown, tables, inputs) | dict(records.files if records else {})
        placed = place_media(folder, inputs.media, set(shown["id"].to_pylist()))
        folders = {Path(name).parts[0] for name in (*files, *placed)}
        if inputs.overview is not None:
            captioned = partial(_captioned, inputs.benchmark, files)
            files[OVERVIEW_FILE] = inputs.overview(
                inputs.title, _line(sorted_out, inputs.scenes), sorted_out.kept, captioned
            )
        pictures = files | dict.fromkeys(placed)
        of_folders = (*inputs.benchmark.card.shown, VIDEO_FOLDER)
        tabled = [media_table(folder, name, inputs.split, pictures) for name in of_folders]
        images = [one for one in tabled if one is not None]
        placed |= {one.file: one.sha256 for one in images}
        files |= _texts(sorted_out.kept, parts, summary, folders, inputs, images)
        rejected.publish()
    sums = {name: _sha256(raw) for name, raw in files.items()} | {rejections: rejected.sha256}
    files[CROISSANT_FILE] = croissant(
        inputs.settings["export"], inputs.benchmark.card, parts, partial(columns_of, inputs.benchmark), sums
    )
    for name, raw in files.items():
        write_atomically(folder / name, raw)
    sums |= placed | {CROISSANT_FILE: _sha256(files[CROISSANT_FILE])}
    write_atomically(folder / CHECKSUMS, checksums(sums))
    return json.dumps(summary | {"files": dict(sorted(sums.items()))}, sort_keys=True, indent=1).encode(), sums


def _question_files(
    shown: pa.Table, tables: Mapping[tuple[str, str], pa.Table], inputs: ReleaseInputs
) -> dict[str, bytes]:
    """Pictures of questions, and files with which public harnesses ask them."""
    files, kept = dict(inputs.benchmark.pictures(shown, inputs.whole)), set(shown["id"].to_pylist())
    files |= {r["file"]: r["picture"] for table in inputs.pictures for r in table.to_pylist() if r["id"] in kept}
    pictures = frozenset(files)
    for (part, split), table in tables.items():
        if part in {"data", TWIN} or budget_of(part) is not None:
            files |= inputs.benchmark.harness_files(split if part == "data" else part, table, pictures)
    return files


def _texts(
    asked: pa.Table,
    parts: Sequence[CroissantPart],
    summary: dict[str, Any],
    folders: Collection[str],
    inputs: ReleaseInputs,
    images: Sequence[MediaTable],
) -> dict[str, bytes]:
    """The card, the terms, and the table of what is guessed where there is one."""
    scenes, settings, benchmark = inputs.scenes, inputs.settings, inputs.benchmark
    card = dataset_card(parts, summary, scenes, settings, asked, inputs.reviewed, benchmark, folders, images)
    files = {"README.md": card, TERMS_FILE: licences(scenes, settings, benchmark, folders)}
    if summary["blind"]:
        files[WITHOUT_VIDEO] = json.dumps(summary["blind"], indent=1)
    return {name: text.encode() for name, text in files.items()}


class _SortedOut(NamedTuple):
    """The selected questions: all but unchecked ones, those that stay by id, and numbers of rejections.

    ``held`` has those that are held back, by configuration (`tables.HELD`) and id; they are counted among the
    rejections, by task and reason. ``silent`` has the scenes of which no question stays, with the number of their
    rejections by reason.
    """

    offered: pa.Table
    kept: pa.Table
    held: dict[str, pa.Table]
    reasons: Counter[tuple[str, str]]
    silent: dict[str, dict[str, int]]


def _sort_out(selected: Iterable[pa.Table], removed: pa.Table | None, rejected: TableFile) -> _SortedOut:
    """Takes the tables of all scenes apart; the rejections go to their file. Raises StoreError for a repeated id."""
    offered, kept, reasons = [QUESTIONS.empty_table()], [QUESTIONS.empty_table()], Counter[tuple[str, str]]()
    back: dict[str, list[pa.Table]] = {name: [] for name in HELD.values()}
    silent: dict[str, dict[str, int]] = {}
    for table in _batches(selected):
        asked = asked_in(table)
        stays, dropped = split_by_verdict(asked, rejected_in(table), removed)
        offered.append(asked)
        kept.append(stays)
        rejected.append(dropped)
        for reason, name in HELD.items():
            ids = dropped.filter(pc.equal(dropped["reason"], reason))["id"].combine_chunks()
            back[name].append(asked.filter(pc.is_in(asked["id"], ids)))
        reasons.update(_reasons(dropped))
        silent |= _silent(dropped, stays)
    rejected.finish()
    everything = pa.concat_tables(offered)
    repeated = [i for i, n in Counter(everything["id"].to_pylist()).items() if n > 1]
    if repeated:
        raise StoreError(f"two questions share the id {repeated[0]}")
    offers = everything.filter(pc.invert(unchecked_in(everything)))
    held = {name: pa.concat_tables([QUESTIONS.empty_table(), *own]).sort_by("id") for name, own in back.items()}
    return _SortedOut(offers, pa.concat_tables(kept).sort_by("id").combine_chunks(), held, reasons, silent)


def _batches(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of some ten thousand: what Arrow does for a table costs as much as for many rows."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(part.num_rows for part in waiting) >= BATCH_ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _captioned(benchmark: Benchmark[Any, Any], files: Mapping[str, bytes], question: int) -> bytes | None:
    """The benchmark's own picture of a question with its words, if it draws any."""
    return files.get(picture_file(benchmark.card.captioned, question))


def _line(sorted_out: _SortedOut, scenes: Sequence[AnyScene]) -> str:
    """The release on one line."""
    asked, dropped = sorted_out.kept.num_rows, sum(sorted_out.reasons.values())
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


def _name(folder: str, split: str) -> str:
    return f"{folder}/{shard_name(split)}"


def _tiny(asked: pa.Table, families: Mapping[str, str], quotas: Mapping[str, int] | None = None) -> pa.Table:
    """`TINY_PER_TASK` questions of each task or family of tasks, or its quota, spread over the scenes and groups.

    Of each scene the first by id, which is a digest, then the second ones: nobody chose them. With quotas, of each
    group of a scene likewise.
    """
    told: Counter[tuple[str, ...]] = Counter()
    turns: dict[str, list[tuple[int, int, int]]] = {}
    groups = asked["group"].to_pylist() if quotas else [None] * len(asked)
    tasks, scenes = asked["task"].to_pylist(), asked["scene"].to_pylist()
    for place, (task, scene, group) in enumerate(zip(tasks, scenes, groups, strict=True)):  # sorted by id
        family = families.get(task, task)
        turn = told[family, scene, group or ""], told[family, scene]
        turns.setdefault(family, []).append((*turn, place))
        told.update([(family, scene, group or ""), (family, scene)])
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
    gone = blind.pruned.filter(pc.is_valid(blind.pruned["removed_in_round"])) if blind.pruned is not None else None
    pruned = set(gone["id"].to_pylist()) if gone is not None else set()
    public, own = inputs.benchmark.columns.table, inputs.benchmark.columns.splits
    tables = {("data", split): public(asked, pruned)}
    stays = asked.filter(pc.invert(pc.is_in(asked["id"], pa.array(sorted(pruned), pa.int64()))))
    if blind.pruned is not None:
        tables["data", DEBIASED] = public(stays, pruned)
    tables["data", ONE_PER_SCENE] = public(_one_per_group(stays), pruned)
    tables["data", TINY] = public(_tiny(asked, inputs.benchmark.families, inputs.benchmark.tiny), pruned)
    if own is not None:
        whole = tables["data", split]
        tables |= {(own.folder, name): whole.filter(pc.equal(whole[own.column], name)) for name in own.names}
    if (found := budgets_table(asked)).num_rows:
        tables[BUDGETS, split] = found
        for budget in sorted(set(found["budget"].to_pylist()), reverse=True):
            tables[budget_folder(budget), split] = public(asked_in_budget(asked, found, budget), pruned)
    if inputs.frames.num_rows:
        tables[SAMPLED, split] = inputs.frames.sort_by([(name, "ascending") for name in ("scene", "budget", "k")])
    if inputs.videos.num_rows:
        tables[VIDEOS_TABLE, split] = inputs.videos
    tables |= {(name, split): table for name, table in twin_tables(asked, inputs.twins, public).items()}
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


def _summary(
    sorted_out: _SortedOut, tables: Mapping[tuple[str, str], pa.Table], inputs: ReleaseInputs
) -> dict[str, Any]:
    """All of `Released` but the files."""
    rows = sorted_out.kept.select(["task", "answer", "choice", "flags", "ground_truth", "options"]).to_pandas()
    chosen = rows[rows["options"].notna()]
    rejections: dict[str, dict[str, int]] = {}
    for (task, reason), n in sorted(sorted_out.reasons.items()):
        rejections.setdefault(task, {})[reason] = n
    return {
        "questions": _counts(rows["task"]),
        "rejections": rejections,
        "answers": {task: _counts(part["answer"]) for task, part in chosen.groupby("task")},
        "letters": {task: _counts(part["ground_truth"]) for task, part in chosen.groupby("task")},
        "flags": dict(sorted(Counter(f for flags in rows["flags"].dropna() for f in flags).items())),
        "findings": [[s.id, f.name, f.severity, f.message, f.remedy] for s in inputs.scenes for f in s.findings],
        "blind": [row.model_dump() for row in inputs.blind.summary(sorted_out.offered)],
        "models": [row.model_dump() for row in inputs.blind.models],
        "silent": sorted_out.silent,
        "budgets": _in_budgets(tables.get((BUDGETS, inputs.split))),
        "splits": _splits(tables, inputs.benchmark),
    }


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


def _counts(column: Any) -> dict[str, int]:
    return {str(k): int(n) for k, n in sorted(column.value_counts().items())}
