"""What a release holds: the selected questions sorted out, the rows of its tables, and the counts of its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.benchmark import Benchmark, SceneRecords
from pipeline.blind.totals import ModelTotals, TextOnly
from pipeline.core.arrays import IntArray
from pipeline.core.errors import StoreError
from pipeline.core.identity import SHARD_BYTES, digest, digest_of, random_order
from pipeline.core.parquet import table_bytes
from pipeline.core.schema import AnyScene
from pipeline.core.tables import (
    BUDGETS,
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
    TWINS,
    UNCHECKED,
    VIDEO_FILES,
    VIDEOS_TABLE,
    budget_folder,
    rejected_in,
    selected_questions,
    texts,
    unchecked_in,
)
from pipeline.release.media import MediaFile
from pipeline.release.released import HELD
from pipeline.release.tables import (
    BY_SCENE,
    FIXES,
    UNCHECKED_PROVENANCE,
    accepted,
    budgets_table,
    fixes_table,
    provenance_table,
    questions_in_budget,
    removed_blind,
    review_table,
    sources_table,
    split_by_verdict,
    twin_tables,
)
from pipeline.review.reviewed import Reviewed

ZSTD_LEVEL: Final = 3  # 9 takes half as long again, and saves a percent of rejections
BATCH_ROWS: Final = 20_000  # taken apart at once
COUNTED: Final = pa.schema([*texts("scene", "task", "reason"), pa.field("n", pa.int64())])  # of rejections
PIECES: Final = 64  # of a full shard: some ten scans each, so that a change costs little more than its own scenes
SHARD_ROWS: Final = 100_000  # questions of a shard, on average at most; the hub's pages and loaders like such files
REJECTIONS_PER_ROW: Final = 10  # that take the place of a question
ROW_BYTES: Final = SHARD_BYTES / SHARD_ROWS  # that do
TRIED: Final = 100  # questions for the picture of the card, until one fits
# A release's picture as PNG, from its title, a line about it, some of its questions, the number of each answer by task,
# and what draws one of the questions with its words.
Overview = Callable[[str, str, pa.Table, Mapping[str, Counter[str]], Callable[[int], bytes | None]], bytes]


@dataclass(frozen=True)
class BlindResults:
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
        scenes: the scenes without their bulky facts, one after the other.
        settings: the part of the configuration that a release depends on; its digest goes into the provenance.
        benchmark: whose columns, card and pictures it has.
        blind: what stages `blind`, `filter` and `prune` found.
        reviewed: what stage `review` found.
        whole_scenes: the scenes with their bulky facts too, one after the other.
        pictures: those of questions that other stages drew, one table per scene (`tables.PICTURES`).
        frames: the evenly spaced frames of all scenes' videos (`tables.FRAMES`).
        videos: the delivered ones (`tables.VIDEO_FILES`).
        twins: those of the selected questions, and why others have none (`tables.TWINS`).
        media: those that another stage wrote as files.
        overview: draws the picture of the card.
        load: of all scenes (`load_of`).
        key: of a shard or piece: digest of the results, the settings and the code behind it, but for verdicts on its
            questions.
        pieces: of a shard, those of the scenes of each of so many pieces that has any, in order.
    """

    selected: Callable[[], Iterable[pa.Table]]
    scenes: Callable[[], Iterable[AnyScene]]
    settings: dict[str, Any]
    benchmark: Benchmark[Any, Any]
    blind: BlindResults = field(default_factory=BlindResults)
    reviewed: Reviewed = field(default_factory=Reviewed)
    whole_scenes: Callable[[], Iterable[AnyScene]] = lambda: ()
    pictures: Callable[[], Iterable[pa.Table]] = lambda: ()
    frames: Callable[[], pa.Table] = FRAMES.empty_table
    twins: Callable[[], pa.Table] = TWINS.empty_table
    videos: Callable[[], pa.Table] = VIDEO_FILES.empty_table
    media: Callable[[], Iterable[MediaFile]] = lambda: ()
    overview: Overview | None = None
    load: float = 0.0
    key: str = ""
    pieces: Callable[[int], Iterable[ReleaseInputs]] = lambda number: ()

    @property
    def split(self) -> str:
        """The name of the full split."""
        return str(self.settings["export"]["split"])

    @property
    def title(self) -> str:
        """The title of the release."""
        return str(self.settings["export"]["pretty_name"])


EVERY: Final = ""  # among what scenes can lack: they themselves


@dataclass
class SceneTotals:
    """What scenes come to, in a shard or in a release.

    Attributes:
        datasets: number of scenes.
        readers: name and version.
        worlds: world -> number of scenes that have each part of `World.known`, and `EVERY`.
        findings: scene, name, severity, message and remedy of each.
        fixes: id, scene, change, why, and by whom and when, of each correction.
    """

    datasets: Counter[str] = field(default_factory=Counter)
    readers: set[tuple[str, int]] = field(default_factory=set)
    worlds: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[list[Any]] = field(default_factory=list)
    fixes: list[list[str]] = field(default_factory=list)

    def count(self, scene: AnyScene, known: Mapping[str, bool]) -> None:
        """Adds a scene of which this is known."""
        self.datasets[scene.dataset] += 1
        self.readers.add((scene.source.reader, scene.source.reader_version))
        self.worlds.setdefault(scene.facts.world, Counter()).update(
            {EVERY: 1} | {name: int(has) for name, has in known.items()}
        )
        self.findings += [[scene.id, f.name, f.severity, f.message, f.remedy] for f in scene.findings]
        self.fixes += [[f.id, scene.id, f.change, f.why, f"{f.who}, {f.date}"] for f in scene.fixes]

    def add(self, totals: Mapping[str, Any]) -> None:
        """Adds those of other scenes (`told`)."""
        self.datasets.update(totals["datasets"])
        self.readers.update((name, version) for name, version in totals["readers"])
        for world, counts in totals["worlds"].items():
            self.worlds.setdefault(world, Counter()).update(counts)
        self.findings = sorted(self.findings + totals["findings"], key=lambda row: row[0])
        self.fixes = sorted(self.fixes + totals["fixes"], key=lambda row: row[1])

    def as_json(self) -> dict[str, Any]:
        """All of it as JSON-like values."""
        return vars(self) | {"readers": sorted(self.readers)}


class SortedOut(NamedTuple):
    """The selected questions of a shard: all but unchecked ones, those that stay by id, and numbers of rejections.

    ``held`` has those that are held back, by configuration (`released.HELD`) and id; they are counted among the
    rejections, by task and reason. ``unasked_scenes`` has the scenes of which no question stays, with the number of
    their rejections by reason.
    """

    offered: pa.Table
    kept: pa.Table
    held: dict[str, pa.Table]
    reasons: Counter[tuple[str, str]]
    unasked_scenes: dict[str, dict[str, int]]


class Piece(NamedTuple):
    """What some scenes come to before any verdict on their questions.

    Attributes:
        asked: their questions (`tables.QUESTIONS`).
        counted: the numbers of their rejections (`COUNTED`).
        frames, twins, videos: see `ReleaseInputs`.
        sources: where they are from (`release.tables.SOURCES`).
        fixes: their corrections (`release.tables.CORRECTIONS`).
        rejected: their rejections, by scene and id, as Parquet files, one after the other.
        totals: what they come to (`SceneTotals.as_json`).
        records: what the benchmark has to say of them.
    """

    asked: pa.Table
    counted: pa.Table
    frames: pa.Table
    twins: pa.Table
    videos: pa.Table
    sources: pa.Table
    fixes: pa.Table
    rejected: tuple[bytes, ...]
    totals: dict[str, Any]
    records: SceneRecords | None


PIECE_TABLES: Final = Piece._fields[: Piece._fields.index("rejected")]


def piece_of(inputs: ReleaseInputs) -> Piece:
    """Takes the results of some scenes apart."""
    selected, scenes, totals = [*inputs.selected()], [*inputs.scenes()], SceneTotals()
    asked = pa.concat_tables([QUESTIONS.empty_table(), *map(selected_questions, _batches(selected))])
    rejected = pa.concat_tables([REJECTIONS.empty_table(), *map(rejected_in, _batches(selected))]).sort_by(BY_SCENE)
    records, benchmark = None, inputs.benchmark
    worlds = {world.name: world for world in benchmark.worlds}
    for scene in scenes:
        totals.count(scene, worlds[scene.facts.world].known(scene))
    if benchmark.scene_records is not None:
        rules = benchmark.rules.model_validate(inputs.settings["rules"])
        records = benchmark.scene_records(inputs.whole_scenes(), rules, asked)
    tables = asked, _counted(rejected), inputs.frames(), inputs.twins(), inputs.videos()
    about = sources_table(scenes), fixes_table(scenes), (table_bytes(rejected, ZSTD_LEVEL),)
    return Piece(*tables, *about, totals.as_json(), records)


def joined_pieces(pieces: Sequence[Piece]) -> Piece:
    """All scenes of some pieces as one piece."""
    tables = {name: pa.concat_tables([getattr(piece, name) for piece in pieces]) for name in PIECE_TABLES}
    totals, files = SceneTotals(), dict[str, bytes]()
    for piece in pieces:
        totals.add(piece.totals)
    of_pieces = [piece.records for piece in pieces if piece.records is not None]
    for name, raw in chain.from_iterable(one.files.items() for one in of_pieces):
        files[name] = joined_texts(name, files[name], raw) if name in files else raw
    records = SceneRecords(pa.concat_tables([one.maps for one in of_pieces]), files) if of_pieces else None
    rejected = tuple(chain.from_iterable(piece.rejected for piece in pieces))
    return Piece(**tables, rejected=rejected, totals=totals.as_json(), records=records)


def sort_out(piece: Piece, filtered: pa.Table | None) -> tuple[SortedOut, pa.Table]:
    """Applies the verdicts to the questions of some scenes; gives the rejections that these are, too.

    Raises StoreError for a repeated id.
    """
    asked = piece.asked
    refuse_repeated([asked["id"]])
    offered = asked.select([*GUESSED, "flags"]).filter(pc.invert(unchecked_in(asked)))
    stays, dropped = split_by_verdict(asked, removed_blind(filtered))
    held = {}
    for reason, name in HELD.items():
        ids = dropped.filter(pc.equal(dropped["reason"], reason))["id"].combine_chunks()
        held[name] = asked.filter(pc.is_in(asked["id"], ids)).sort_by("id")
    stays = stays.sort_by("id").combine_chunks()
    counted = pa.concat_tables([piece.counted, _counted(dropped)])
    return SortedOut(offered, stays, held, _reasons(counted), _silent(counted, stays)), dropped


def joined_texts(name: str, first: bytes, second: bytes) -> bytes:
    """A JSON object, or lines, with what a later piece or shard has of the same file."""
    return first[:-1] + b", " + second[1:] if name.endswith(".json") else first + second


def load_of(sizes: Iterable[IntArray]) -> float:
    """How many rows of a shard some questions and rejections come to, by their number and by their bytes.

    Args:
        sizes: (4,), of each scene (`tables.sizes_in`).
    """
    each = np.array([1, ROW_BYTES, REJECTIONS_PER_ROW, REJECTIONS_PER_ROW * ROW_BYTES])
    return float((sum(sizes, np.zeros(4)) / each).max())


def refuse_repeated(ids: Sequence[pa.ChunkedArray]) -> None:
    """Raises StoreError where an id comes twice."""
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


def release_tables(sorted_out: SortedOut, piece: Piece, inputs: ReleaseInputs) -> dict[tuple[str, str], pa.Table]:
    """All tables but the rejections, by folder and split, of some scenes whose questions are sorted out."""
    asked, held = sorted_out.kept, sorted_out.held
    blind, split = inputs.blind, inputs.split
    pruned = pruned_ids(asked, blind)
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
            tables[budget_folder(budget), split] = public(questions_in_budget(asked, found, budget), pruned)
    if piece.frames.num_rows:
        tables[SAMPLED, split] = piece.frames.sort_by([(name, "ascending") for name in ("scene", "budget", "k")])
    if piece.videos.num_rows:
        tables[VIDEOS_TABLE, split] = piece.videos.sort_by("file")
    tables |= {(name, split): table for name, table in twin_tables(asked, piece.twins, public).items()}
    if piece.records is not None:
        maps = piece.records.maps.sort_by("id")
        maps = maps.filter(pc.or_(pc.is_null(maps["of"]), pc.is_in(maps["of"], asked["id"].combine_chunks())))
        tables |= {(MAPS, split): public(maps, set()).append_column("of", maps["of"])} if maps.num_rows else {}
    sources, fixes = piece.sources, piece.fixes
    tables["provenance", split] = provenance_table(asked, sources, fixes, inputs.settings, blind.pruned)
    if held[UNCHECKED].num_rows:
        tables[UNCHECKED_PROVENANCE, split] = provenance_table(held[UNCHECKED], sources, fixes, inputs.settings)
    if fixes.num_rows:
        tables[FIXES, split] = fixes.sort_by("id")
    if blind.replies is not None:
        tables["blind", split] = blind.replies.drop_columns("message")  # a server's words; they stay in the build
    tables |= {(name, split): public(own, set()) for name, own in held.items() if own.num_rows}
    if inputs.reviewed.stands:
        judged = pa.concat_tables([asked, held[UNCHECKED]]).sort_by("id")
        tables["accepted", split] = public(accepted(judged, inputs.reviewed), pruned)
        tables["review", split] = review_table(judged, inputs.reviewed)
    return tables


def pruned_ids(asked: pa.Table, blind: BlindResults) -> set[int]:
    """Ids of the questions that pruning took."""
    if blind.pruned is None:
        return set()
    gone = blind.pruned["id"].filter(pc.is_valid(blind.pruned["removed_in_round"]))
    return set(gone.filter(pc.is_in(gone, asked["id"].combine_chunks())).to_pylist())


def example_questions(asked: pa.Table) -> pa.Table:
    """Some questions in an order that depends on nothing but their ids, for the picture of the card."""
    return asked.take(pa.array(random_order(asked["id"].to_pylist(), "overview", TRIED), pa.int64()))


_TURNS: Final = {"family": pa.string(), "turn": pa.int64(), "turn_in_scene": pa.int64()}


def with_turns(asked: pa.Table, families: Mapping[str, str], *, by_group: bool) -> pa.Table:
    """Questions, with the task or family of tasks of each and its turns: in its group of a scene, and in its scene."""
    turns_taken: Counter[tuple[str, ...]] = Counter()
    turns: list[tuple[str, int, int]] = []
    groups = asked["group"].to_pylist() if by_group else [None] * len(asked)
    tasks, scenes = asked["task"].to_pylist(), asked["scene"].to_pylist()
    for task, scene, group in zip(tasks, scenes, groups, strict=True):  # sorted by id
        family = families.get(task, task)
        turns.append((family, turns_taken[family, scene, group or ""], turns_taken[family, scene]))
        turns_taken.update([(family, scene, group or ""), (family, scene)])
    for number, (name, kind) in enumerate(_TURNS.items()):
        asked = asked.append_column(name, pa.array([turn[number] for turn in turns], kind))
    return asked


def tiny_questions(asked: pa.Table, quotas: Mapping[str, int] | None = None) -> pa.Table:
    """`TINY_PER_TASK` questions of each task or family of tasks, or its quota, spread over the scenes and groups.

    Of each scene the first by id, which is a digest, then the second ones: nobody chose them. With quotas, of each
    group of a scene likewise. ``asked``: those of `with_turns`; the best of some are among the best of more.
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


def verdicts_digest(inputs: ReleaseInputs, ids: pa.ChunkedArray) -> str:
    """Digest of what stages of the whole build say of some questions."""
    ids, blind = ids.combine_chunks(), inputs.blind
    tables = [removed_blind(blind.filtered), blind.pruned, blind.replies]
    digests = [None if own is None else digest_of(table_bytes(own.filter(pc.is_in(own["id"], ids)))) for own in tables]
    known = set(ids.to_pylist()) if inputs.reviewed.stands else set()
    return digest_of([digests, [stand.model_dump_json() for stand in inputs.reviewed.stands if stand.id in known]])


def counts_of(
    sorted_out: SortedOut, tables: Mapping[tuple[str, str], pa.Table], inputs: ReleaseInputs
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
        "silent": sorted_out.unasked_scenes,
        "budgets": _in_budgets(tables.get((BUDGETS, inputs.split))),
        "splits": _splits(tables, inputs.benchmark),
    }


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of counts by the same names, which are sorted; numbers of frames, the highest first."""
    if not one:
        return dict(other)
    found: dict[str, Any] = {}
    for name in sorted({*one, *other}, key=lambda name: (-int(name) if name.isdecimal() else 0, name)):
        a, b = one.get(name), other.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found[name] = added(a, b)
        elif isinstance(a, list) and isinstance(b, list):
            found[name] = [x + y for x, y in zip(a, b, strict=True)]
        else:
            found[name] = a + b if isinstance(a, int) and isinstance(b, int) else b if a is None else a
    return found


def _counted(rejected: pa.Table) -> pa.Table:
    """Numbers of rejections (`COUNTED`). Counted by Arrow: they are by far the most rows."""
    counted = rejected.group_by(COUNTED.names[:3], use_threads=False).aggregate([([], "count_all")])
    return counted.rename_columns(COUNTED.names)


def _sums(counted: pa.Table, *by: str) -> list[dict[str, Any]]:
    return counted.group_by([*by], use_threads=False).aggregate([("n", "sum")]).to_pylist()


def _reasons(counted: pa.Table) -> Counter[tuple[str, str]]:
    """Number of rejections by task and reason."""
    return Counter({(row["task"], row["reason"]): row["n_sum"] for row in _sums(counted, "task", "reason")})


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


def _silent(counted: pa.Table, kept: pa.Table) -> dict[str, dict[str, int]]:
    """Number of rejections by reason, the most frequent first, of each scene of which nothing is asked."""
    bare = counted.filter(pc.invert(pc.is_in(counted["scene"], kept["scene"].combine_chunks().unique())))
    found: dict[str, dict[str, int]] = {}
    rows = _sums(bare, "scene", "reason")
    for row in sorted(rows, key=lambda row: (row["scene"], -row["n_sum"], row["reason"])):
        found.setdefault(row["scene"], {})[row["reason"]] = row["n_sum"]
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
