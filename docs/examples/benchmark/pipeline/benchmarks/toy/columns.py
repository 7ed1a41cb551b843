"""The public columns of the toy benchmark."""

from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa

from pipeline.questions.published import Columns

SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("scene_name", pa.string()),
        pa.field("question_type", pa.string()),
        pa.field("question", pa.string()),
        pa.field("options", pa.list_(pa.string())),
        pa.field("ground_truth", pa.string()),
    ]
)


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The released table (`SCHEMA`) of questions (`core.tables.QUESTIONS`)."""
    names = [scene.partition("/")[2] for scene in asked["scene"].to_pylist()]
    columns = [asked["id"], names, *(asked[name] for name in ("task", "text", "options", "ground_truth"))]
    return pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """A released row in the shared form, which has the same names; None for a row with other columns."""
    return raw if set(raw) == set(SCHEMA.names) else None


SAID: Final = {
    "id": "of the question; the key of all other tables",
    "scene_name": "of the scan",
    "question_type": "one of two",
    "question": "its text",
    "options": '"A. …" in order',
    "ground_truth": "the right letter",
}
COLUMNS: Final = Columns(SCHEMA, table, row, SAID)
