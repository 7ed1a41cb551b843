"""The tables of a release: provenance, rejections and corrections, and what every column of them holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.fixes import SCENE
from pipeline.core.identity import digest_of
from pipeline.core.schema import SCHEMA_VERSION, AnyScene
from pipeline.core.tables import REJECTIONS

SCHEMA_METADATA: Final = {"scan2qa_schema_version": str(SCHEMA_VERSION)}
FIXES: Final = "fixes"  # configuration of a release in which people corrected something
CORRECTIONS: Final = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("scene", pa.string()),
        pa.field("subjects", pa.list_(pa.string())),  # as operands name them; "" for all of the scene
        pa.field("change", pa.string()),
        pa.field("why", pa.string()),
        pa.field("who", pa.string()),
        pa.field("date", pa.string()),
    ]
)
# Of stage `prune`; null where it did not run.
_STRESS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("bias_score", pa.float64()),
        pa.field("chance", pa.float64()),
        pa.field("removed_in_round", pa.int32()),
    ]
)


def split_by_verdict(asked: pa.Table, rejected: pa.Table, removed: pa.Table | None) -> tuple[pa.Table, pa.Table]:
    """The questions that stay, and the rejections by scene and id; ``removed`` is that of `removed_blind`."""
    if removed is not None:
        place = pc.index_in(asked["id"], removed["id"].combine_chunks())
        dropped = asked.filter(pc.is_valid(place)).select(["id", "scene", "task", "operands"])
        reasons = removed.drop_columns("id").take(pc.drop_null(place))
        for name in reasons.column_names:
            dropped = dropped.append_column(name, reasons[name])
        dropped = dropped.append_column("role", pa.nulls(dropped.num_rows, pa.string()))
        rejected = pa.concat_tables([rejected, dropped.select(REJECTIONS.names)])
        asked = asked.filter(pc.is_null(place))
    return asked, rejected.sort_by([("scene", "ascending"), ("id", "ascending")])


def removed_blind(filtered: pa.Table | None) -> pa.Table | None:
    """Why stage `filter` removes questions, by id: as the columns of a rejection."""
    if filtered is None:
        return None
    return filtered.filter(pc.is_valid(filtered["reason"])).select(["id", "reason", "measured", "limit", "unit"])


def provenance_table(
    asked: pa.Table, scenes: Sequence[AnyScene], settings: dict[str, Any], pruned: pa.Table | None = None
) -> pa.Table:
    """Everything that an answer came from, by id: operands, evidence, template, rules, source, result of pruning."""
    asked = asked.drop_columns(["text", "options", "ground_truth"])
    sources = {scene.id: scene.source for scene in scenes}
    rows = [sources[scene] for scene in asked["scene"].to_pylist()]
    n = asked.num_rows
    stress = _STRESS.empty_table() if pruned is None else pruned.select(_STRESS.names)
    found = stress.take(pc.index_in(asked["id"], stress["id"].combine_chunks()))
    for name, values in (
        *((name, found[name]) for name in _STRESS.names if name != "id"),
        ("profile", pa.repeat(settings["generate"]["profile"], n)),
        ("rules", pa.repeat(digest_of(settings["rules"]), n)),
        ("config", pa.repeat(digest_of(settings), n)),
        ("fixes", _fixes_of(asked, scenes)),
        ("reader", pa.array([source.reader for source in rows], pa.string())),
        ("reader_version", pa.array([source.reader_version for source in rows], pa.int32())),
        ("source_files", pa.array([list(source.files) for source in rows], pa.list_(pa.string()))),
        ("source_sha256", pa.array([source.sha256 for source in rows], pa.string())),
    ):
        asked = asked.append_column(name, values)
    return asked


def fixes_table(scenes: Sequence[AnyScene]) -> pa.Table:
    """All corrections, by id (`CORRECTIONS`)."""
    rows = [{"scene": scene.id} | fix.model_dump(mode="json") for scene in scenes for fix in scene.fixes]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: str(row["id"])), schema=CORRECTIONS)


def _fixes_of(asked: pa.Table, scenes: Sequence[AnyScene]) -> pa.Array:
    """Per question the ids of the corrections that it rests on: of what it names, or of its scene as a whole."""
    fixes = {scene.id: [(fix.id, set(fix.subjects)) for fix in scene.fixes] for scene in scenes if scene.fixes}
    found = [
        [name for name, subjects in fixes.get(scene, ()) if subjects & {SCENE, *operands}]
        for scene, operands in zip(asked["scene"].to_pylist(), asked["operands"].to_pylist(), strict=True)
    ]
    return pa.array(found, pa.list_(pa.string()))


PUBLIC: Final = ("data", "accepted")  # folders with the benchmark's own columns
# Those are said by their benchmark (`Columns.said`).
SAID: Final[Mapping[str, str]] = {
    # provenance
    "id": "of the question, as in `default`; of a correction, its name",
    "scene": 'of the question: "dataset/name"',
    "task": "type of question",
    "task_version": "version of the code that made it",
    "template": "its wording, as a file of scan2qa's templates",
    "template_version": "of this wording",
    "operands": "what it speaks of, in the order of the task",
    "group": "questions of one group may give away one another's answers",
    "answer": "in words or as a number, whatever its letter; in `blind`, what was read from the reply",
    "choices": "four options of a numeric question, for evaluations that need letters",
    "choice": "letter of the right one of `choices`",
    "from_s": "second of the video at which the question begins; empty: with the video",
    "until_s": "second of the video at which the question ends; empty: with the video",
    "visible_in": "budgets of evenly sampled frames (16, 32, 64) that show all it speaks of; empty: not examined",
    "evidence": "the numbers behind the answer: name, subject, value, and where a rule bounds it relation, limit, unit",
    "proof": "why the answer is right, in the words of the model that wrote it; empty: the evidence proves it",
    "flags": "remarks",
    "bias_score": "how surely a forest answers it without the video, where stage prune ran",
    "chance": "of being right by luck",
    "removed_in_round": "round in which bias pruning took it out of `debiased`; empty: it stays",
    "profile": "of the ambiguity rules",
    "rules": "digest of the rules and their limits",
    "config": "digest of the whole configuration",
    "fixes": "corrections of metadata that the question rests on",
    "reader": "which reader read the scene",
    "reader_version": "of this reader",
    "source_files": "files that the scene was read from, relative to its root",
    "source_sha256": "digest of the raw data of the scene",
    # rejected
    "role": "set where a thing was refused in a role before any operands were formed",
    "reason": "why the candidate was dropped",
    "measured": "what was measured; empty: nothing is measured for this reason",
    "limit": "what it was held against",
    "unit": "of both",
    # blind
    "model": "who was asked without the video",
    "form": "letter, number or cloze",
    "rotation": "the option that was shown first; 0: in the order as released",
    "request": "digest of what was asked; rows that share it were asked once",
    "reply": "word for word; empty: failed",
    "finish": "why the reply ended, in the server's word",
    "scores": "cloze: of each option, in order",
    "unread": "why no answer could be read",
    "score": "0 or 1; of a number its mean relative accuracy",
    "right": "whether the answer is right",
    "input_tokens": "read by the model; empty: its server does not tell",
    "output_tokens": "written by the model",
    "failure": "kind of failure; empty: there is a reply",
    # review
    "state": "where the question stands after review",
    "reviewers": "how many people judged it",
    "reasons": "what they said is wrong with it",
    # fixes
    "subjects": 'what the correction is about, as operands name it; "" for all of the scene',
    "change": "what it changed",
    "why": "why",
    "who": "who made it",
    "date": "when",
}


def said_of(benchmark: Benchmark[Any, Any], folder: str) -> Mapping[str, str]:
    """Column -> what it holds, of the tables in a folder of a benchmark's release."""
    splits = benchmark.columns.splits
    return benchmark.columns.said if folder in PUBLIC or (splits and folder == splits.folder) else SAID
