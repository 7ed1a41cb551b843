"""The tables that stages hand to one another, as Arrow schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

CHECKSUMS: Final = "checksums.sha256"  # of a release, written last
WITHOUT_VIDEO: Final = "without_video.json"  # of a release: the blind table (`TextOnly` per task), for programs
DEBIASED: Final = "debiased"  # the split of a release that bias pruning left
TINY: Final = "tiny"  # the one of a few questions per task, for quick trials
PART_SPLITS: Final = (DEBIASED, TINY)  # beside the full one, whose questions they repeat
EVIDENCE: Final = pa.struct(
    [
        pa.field("name", pa.string()),
        pa.field("subject", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("relation", pa.string()),  # of the value to the limit, where a rule bounds it
        pa.field("limit", pa.float64()),
        pa.field("unit", pa.string()),
    ]
)
CANDIDATES: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("scene", pa.string()),
        pa.field("task", pa.string()),
        pa.field("role", pa.string()),  # set where a category was refused before any operands were formed
        pa.field("operands", pa.list_(pa.string())),
        pa.field("group", pa.string()),  # questions of one may give away one another's answers; null: those of a scene
        pa.field("answer", pa.string()),
        pa.field("wrong", pa.list_(pa.string())),  # wrong options; null: they follow from the operands
        pa.field("wording", pa.string()),  # the text where it is not the template's alone; null: it is
        pa.field("from_s", pa.float64()),  # second of the video at which the question begins; null: with it
        pa.field("until_s", pa.float64()),  # second of the video at which the question ends; null: it is of all of it
        pa.field("visible_in", pa.list_(pa.int32())),  # frame budgets that show all it speaks of; null: not examined
        pa.field("evidence", pa.list_(EVIDENCE)),
        pa.field("proof", pa.string()),  # a model's own words of why its answer is right; null: the evidence proves it
        pa.field("flags", pa.list_(pa.string())),
        pa.field("reason", pa.string()),  # null: a question
        pa.field("measured", pa.float64()),
        pa.field("limit", pa.float64()),
        pa.field("unit", pa.string()),
    ]
)
QUESTIONS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("scene", pa.string()),
        pa.field("task", pa.string()),
        pa.field("task_version", pa.int32()),
        pa.field("template", pa.string()),
        pa.field("template_version", pa.int32()),
        pa.field("operands", pa.list_(pa.string())),
        pa.field("group", pa.string()),  # questions of one may give away one another's answers; null: those of a scene
        pa.field("text", pa.string()),
        pa.field("options", pa.list_(pa.string())),
        pa.field("ground_truth", pa.string()),
        pa.field("answer", pa.string()),
        pa.field("choices", pa.list_(pa.string())),
        pa.field("choice", pa.string()),
        pa.field("from_s", pa.float64()),
        pa.field("until_s", pa.float64()),
        pa.field("visible_in", pa.list_(pa.int32())),
        pa.field("evidence", pa.list_(EVIDENCE)),
        pa.field("proof", pa.string()),
        pa.field("flags", pa.list_(pa.string())),
    ]
)
PICTURES: Final = pa.schema(
    [
        pa.field("id", pa.int64()),  # of the question
        pa.field("file", pa.string()),  # below the release
        pa.field("picture", pa.binary()),
    ]
)
_REASONS: Final = [CANDIDATES.field(name) for name in ("role", "reason", "measured", "limit", "unit")]
SELECTED: Final = pa.schema([*QUESTIONS, *_REASONS])  # a row with a reason is a rejection and has no text
REJECTIONS: Final = pa.schema(
    [SELECTED.field(n) for n in ("id", "scene", "task", "role", "operands", "reason", "measured", "limit", "unit")]
)


def asked_in(selected: pa.Table) -> pa.Table:
    """The questions (`QUESTIONS`) among selected rows."""
    return selected.filter(pc.is_null(selected["reason"])).select(QUESTIONS.names)


def all_asked(selected: Iterable[pa.Table]) -> pa.Table:
    """The questions (`QUESTIONS`) of the selected rows of all scenes, in their order."""
    return pa.concat_tables([QUESTIONS.empty_table(), *map(asked_in, selected)])


def pictures_in(drawn: Iterable[pa.Table]) -> dict[int, bytes]:
    """The pictures of questions (`PICTURES`) of all scenes, by the questions' ids."""
    return {row["id"]: row["picture"] for table in drawn for row in table.select(["id", "picture"]).to_pylist()}


def rejected_in(selected: pa.Table) -> pa.Table:
    """The rejections (`REJECTIONS`) among selected rows."""
    return selected.filter(pc.is_valid(selected["reason"])).select(REJECTIONS.names)
