"""The public columns of VSI-Bench."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa

from pipeline.questions.published import REQUIRED, Columns

# The columns of the released VSI-Bench, as its scorers expect them.
SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("dataset", pa.string()),
        pa.field("scene_name", pa.string()),
        pa.field("question_type", pa.string()),
        pa.field("question", pa.string()),
        pa.field("options", pa.list_(pa.string())),
        pa.field("ground_truth", pa.string()),
        pa.field("pruned", pa.bool_()),
    ]
)


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released VSI-Bench (`SCHEMA`). ``pruned``: ids of questions that are not in `debiased`."""
    scenes = [s.split("/", 1) for s in asked["scene"].to_pylist()]
    columns = {
        "id": asked["id"],
        "dataset": pa.array([dataset for dataset, _ in scenes], pa.string()),
        "scene_name": pa.array([name for _, name in scenes], pa.string()),
        "question_type": asked["task"],
        "question": asked["text"],
        "options": asked["options"],
        "ground_truth": asked["ground_truth"],
        "pruned": pa.array([i in pruned for i in asked["id"].to_pylist()], pa.bool_()),
    }
    return pa.table(columns, schema=SCHEMA)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The row unchanged: the shared form has these columns."""
    return raw if set(REQUIRED) <= set(raw) else None


SAID: Final = {
    "id": "of the question; the key of all other tables",
    "dataset": "that the scan comes from",
    "scene_name": "of the scan in its dataset",
    "question_type": "one of the ten of VSI-Bench",
    "question": "its text",
    "options": '"A. …" in order; empty where the answer is a number',
    "ground_truth": "the right letter, or the number as text",
    "pruned": "whether bias pruning took it out of `debiased`",
}
COLUMNS: Final = Columns(SCHEMA, table, row, SAID)
