"""The public columns of Embodied4C. The paper released none: these are ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.embodied4c.kinds import (
    ACCEPTED,
    CAPABILITY,
    DOMAIN,
    DRIVING,
    MODALITY,
    SENSORS,
    SHOWN,
    SUB,
    of_flags,
)
from pipeline.core.video_spec import video_file
from pipeline.questions.published import Columns

VALUE: Final = "answer"  # the fact that holds a numeric answer before it was rounded, with its unit
SCHEMA: Final = pa.schema(
    [
        pa.field("question_id", pa.int64()),
        pa.field("log", pa.string()),
        pa.field("domain", pa.string()),
        pa.field("capability", pa.string()),
        pa.field("sub_capability", pa.string()),
        pa.field("question", pa.string()),
        pa.field("answer", pa.string()),
        pa.field("accepted", pa.list_(pa.string())),
        pa.field("value", pa.float64()),
        pa.field("unit", pa.string()),
        pa.field("decimals", pa.int32()),
        pa.field("from_s", pa.float64()),
        pa.field("until_s", pa.float64()),
        pa.field("sensors", pa.list_(pa.string())),
        pa.field("modality", pa.string()),
        pa.field("video", pa.string()),
        pa.field("picture", pa.string()),
    ]
)


def sub_of(task: str) -> str:
    """The sub-capability of a task, whose name may go on: "M/T speed" is of M/T."""
    return task.partition(" ")[0]


def picture_of(question: int) -> str:
    """The file of a question's picture below a release."""
    return f"pictures/{question}.png"


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The released table (`SCHEMA`) of questions (`core.tables.QUESTIONS`)."""
    return pa.Table.from_pylist([_public(row) for row in asked.to_pylist()], schema=SCHEMA)


def _public(row: Mapping[str, Any]) -> dict[str, Any]:
    sub = next(iter(of_flags(row["flags"], SUB)), sub_of(row["task"]))
    unit = next((fact["unit"] for fact in row["evidence"] or () if fact["name"] == VALUE), None)
    numeric = unit is not None
    domain = next(iter(of_flags(row["flags"], DOMAIN)), None)
    modality = next(iter(of_flags(row["flags"], MODALITY)), None)
    return {
        "question_id": row["id"],
        "log": row["scene"],
        "domain": domain,
        "capability": CAPABILITY[sub],
        "sub_capability": sub,
        "question": row["text"],
        "answer": row["answer"],
        "accepted": of_flags(row["flags"], ACCEPTED),
        "value": float(row["answer"]) if numeric else None,
        "unit": unit,
        "decimals": len(row["answer"].partition(".")[2]) if numeric else None,
        "from_s": row["from_s"],
        "until_s": row["until_s"],
        "sensors": of_flags(row["flags"], SENSORS),
        "modality": modality,
        "video": video_file(row["scene"], row["until_s"], row["from_s"]) if modality in SHOWN else None,
        "picture": picture_of(row["id"]) if domain == DRIVING and row["until_s"] is not None else None,
    }


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row; None for a row with other columns."""
    if "question_id" not in raw or "sub_capability" not in raw:
        return None
    return {
        "id": raw["question_id"],
        "dataset": raw.get("domain"),
        "scene_name": raw.get("log"),
        "question_type": raw.get("sub_capability"),
        "question": raw.get("question"),
        "options": None,
        "ground_truth": raw.get("answer"),
    }


SAID: Final = {
    "question_id": "of the question; the key of all other tables",
    "log": "the log that it is about",
    "domain": "embodiment: driving, aerial or manipulation",
    "capability": "SEM, SPA, TEM, PHY, or GEN for what is not about the log",
    "sub_capability": "one of the 18 of Embodied4C, or GEN",
    "question": "its text; a numeric one names its reference points and its unit",
    "answer": "the number, rounded as asked, or a few words",
    "accepted": "other answers in words that are as right",
    "value": "the number; null where the answer is in words",
    "unit": "of the number",
    "decimals": "that it is rounded to",
    "from_s": "second of the log at which its video begins; null: at its start",
    "until_s": "second of the log that the question stands at; null: its end",
    "sensors": "cameras whose pictures the log has; none where it has none",
    "modality": "RGB; drawn: no camera took pictures, and the video is drawn from the log; state: there is no video",
    "video": "path of its video, `from_s` to `until_s`, below the build's folder of videos; null where there is none",
    "picture": "of a question about a drive, a map of what was measured, with the answer: not for who is asked",
}
COLUMNS: Final = Columns(SCHEMA, table, row, SAID)
