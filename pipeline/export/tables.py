"""The three configurations of a release as Arrow tables, sorted by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from pipeline.schema import SCHEMA_VERSION, Scene
from pipeline.store import digest_of
from pipeline.tables import asked_in, rejected_in

SCHEMA_METADATA: Final = {"scan2qa_schema_version": str(SCHEMA_VERSION)}
# The columns of the released VSI-Bench, as its scorers expect them.
DEFAULT: Final = pa.schema(
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


def default_table(selected: Sequence[pa.Table]) -> tuple[pa.Table, list[int]]:
    """The public columns (`DEFAULT`), and the ids in order. ``pruned`` is False: nothing has been pruned."""
    asked = _sorted(pa.concat_tables([asked_in(t) for t in selected]))
    scenes = [s.split("/", 1) for s in asked["scene"].to_pylist()]
    columns = {
        "id": asked["id"],
        "dataset": pa.array([dataset for dataset, _ in scenes], pa.string()),
        "scene_name": pa.array([name for _, name in scenes], pa.string()),
        "question_type": asked["task"],
        "question": asked["text"],
        "options": asked["options"],
        "ground_truth": asked["ground_truth"],
        "pruned": pa.repeat(pa.scalar(False), asked.num_rows),
    }
    return pa.table(columns, schema=DEFAULT), asked["id"].to_pylist()


def provenance_table(selected: Sequence[pa.Table], scenes: Sequence[Scene], settings: dict[str, Any]) -> pa.Table:
    """Everything that an answer came from, by id: operands, evidence, template, rules, source."""
    asked = _sorted(pa.concat_tables([asked_in(t) for t in selected])).drop_columns(["text", "options", "ground_truth"])
    sources = {scene.id: scene.source for scene in scenes}
    rows = [sources[scene] for scene in asked["scene"].to_pylist()]
    n = asked.num_rows
    for name, values in (
        ("profile", pa.repeat(settings["generate"]["profile"], n)),
        ("rules", pa.repeat(digest_of(settings["rules"]), n)),
        ("config", pa.repeat(digest_of(settings), n)),
        ("reader", pa.array([source.reader for source in rows], pa.string())),
        ("reader_version", pa.array([source.reader_version for source in rows], pa.int32())),
        ("source_files", pa.array([list(source.files) for source in rows], pa.list_(pa.string()))),
        ("source_sha256", pa.array([source.sha256 for source in rows], pa.string())),
    ):
        asked = asked.append_column(name, values)
    return asked


def rejected_table(selected: Sequence[pa.Table]) -> pa.Table:
    """Every dropped candidate with reason, measured value, limit and unit."""
    return _sorted(pa.concat_tables([rejected_in(t) for t in selected]))


def _sorted(table: pa.Table) -> pa.Table:
    return table.combine_chunks().sort_by([("id", "ascending"), ("scene", "ascending")])
