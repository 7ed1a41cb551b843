"""The three configurations of a release as Arrow tables, sorted by id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def asked_and_rejected(selected: Iterable[pa.Table]) -> tuple[pa.Table, pa.Table]:
    """The questions and the rejections of all scenes, sorted by id. Of the given tables one is held at a time."""
    parts = [(asked_in(table), rejected_in(table)) for table in selected]
    asked, rejected = (pa.concat_tables(tables) for tables in zip(*parts, strict=True))
    return _sorted(asked), _sorted(rejected)


def default_table(asked: pa.Table) -> pa.Table:
    """The public columns (`DEFAULT`). ``pruned`` is False: nothing has been pruned."""
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
    return pa.table(columns, schema=DEFAULT)


def provenance_table(asked: pa.Table, scenes: Sequence[Scene], settings: dict[str, Any]) -> pa.Table:
    """Everything that an answer came from, by id: operands, evidence, template, rules, source."""
    asked = asked.drop_columns(["text", "options", "ground_truth"])
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


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([("id", "ascending"), ("scene", "ascending")]).combine_chunks()
