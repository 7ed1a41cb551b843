"""The public columns of CityEQA: those of the release, and ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.cityeqa.answers import ANSWER_TYPES
from pipeline.benchmarks.cityeqa.tasks.poses import AXES, POSES
from pipeline.core.identity import digest_of
from pipeline.questions.published import Columns, Splits

# Moves and turns of the oracle, up to which a task is easy, and up to which it is medium. Ours; people needed 9 in the
# mean, the paper's agent 24 of at most 50 (CityEQA, table 2).
EASY_STEPS: Final = 12
MEDIUM_STEPS: Final = 25
TRAIN: Final = 0.7
VALIDATION: Final = 0.1
_POSE: Final = pa.list_(pa.float64())
SCHEMA: Final = pa.schema(
    [
        pa.field("question_id", pa.int64()),
        pa.field("question", pa.string()),
        pa.field("answer", pa.string()),
        pa.field("category", pa.string()),
        pa.field("observation_pose", _POSE),
        pa.field("target_pose", _POSE),
        pa.field("initial_pose", _POSE),
        pa.field("city", pa.string()),
        pa.field("group", pa.string()),
        pa.field("split", pa.string()),
        pa.field("answer_type", pa.string()),
        pa.field("hops", pa.int32()),
        pa.field("difficulty", pa.string()),
        pa.field("oracle_steps", pa.int32()),
        pa.field("path_m", pa.float64()),
        pa.field("landmarks", pa.list_(pa.string())),
        pa.field("oracle_x", pa.list_(pa.float64())),
        pa.field("oracle_y", pa.list_(pa.float64())),
    ]
)


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The released table (`SCHEMA`) of questions (`core.tables.QUESTIONS`)."""
    return pa.Table.from_pylist([_public(row) for row in asked.to_pylist()], schema=SCHEMA)


def _public(row: Mapping[str, Any]) -> dict[str, Any]:
    facts = {(fact["name"], fact["subject"]): fact["value"] for fact in row["evidence"] or ()}
    steps = round(facts["oracle_steps", "all"])
    return {
        "question_id": row["id"],
        "question": row["text"],
        "answer": row["answer"],
        "category": row["task"],
        **{name: [facts[name, axis] for axis in AXES] for name in POSES},
        "city": row["scene"].partition("/")[2],
        "group": f"{row['scene'].partition('/')[2]}/{row['group']}",
        "split": split_of(f"{row['scene']}#{row['group']}"),
        "answer_type": next((flag for flag in row["flags"] or () if flag in ANSWER_TYPES), None),
        "hops": round(facts["hops", "chain"]),
        "difficulty": "easy" if steps <= EASY_STEPS else "medium" if steps <= MEDIUM_STEPS else "hard",
        "oracle_steps": steps,
        "path_m": facts["path", "shortest"],
        "landmarks": row["operands"][-1].split(" > ")[:-1],
        "oracle_x": [x for x, _ in way_of(row["evidence"] or ())],
        "oracle_y": [y for _, y in way_of(row["evidence"] or ())],
    }


def way_of(evidence: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """Where the oracle stood, x and y."""
    x, y = ([f["value"] for f in evidence if f["name"] == name] for name in ("oracle_x", "oracle_y"))
    return [list(stop) for stop in zip(x, y, strict=True)]


def split_of(group: str) -> str:
    """The split of a group: a hash deals out seven tenths for training, one for validation and two for the test."""
    share = int(digest_of(group)[:8], 16) / 2**32
    return "train" if share < TRAIN else "validation" if share < TRAIN + VALIDATION else "test"


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row; None for a row with other columns."""
    if "question_id" not in raw or "initial_pose" not in raw:
        return None
    return {
        "id": raw["question_id"],
        "scene_name": raw.get("city") or "EmbodiedCity",
        "question_type": raw.get("category"),
        "question": raw.get("question"),
        "options": None,
        "ground_truth": raw.get("answer"),
    }


SAID: Final = {
    "question_id": "of the question; the key of all other tables",
    "question": "its text: how to get there, then what is asked",
    "answer": "in words",
    "category": "one of the six of CityEQA",
    "observation_pose": "where the answer can be seen: x, y, z in metres, roll, pitch, yaw in degrees",
    "target_pose": "of the thing that is asked about, in the same numbers",
    "initial_pose": "where the agent starts, in the same numbers",
    "city": "whose frame the poses are in",
    "group": "the thing asked about: no split has a part of a group",
    "split": "train, validation or test, by group",
    "answer_type": "yes/no, number, closed or open text",
    "hops": "landmarks and target that the wording leads past",
    "difficulty": "easy, medium or hard, by the oracle's steps",
    "oracle_steps": "moves of 10 m and turns of 30 degrees of an agent that sees all it passes",
    "path_m": "shortest path from the start to where the answer can be seen",
    "landmarks": "ids of the landmarks of the wording, in order",
    "oracle_x": "where the oracle stood, metres east",
    "oracle_y": "and north",
}
SPLITS: Final = Splits(
    "by_target",
    "split",
    ("train", "validation", "test"),
    "group",
    "the tasks of `default` for training, validation and test, by target: tasks of one target give one another away.",
)
COLUMNS: Final = Columns(SCHEMA, table, row, SAID, SPLITS)
