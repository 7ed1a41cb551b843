"""The public columns of UrbanVideo-Bench."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.core.templates import load_table
from pipeline.core.video_spec import video_file
from pipeline.questions.harness import ABOUT, FOLDER
from pipeline.questions.published import Columns

_FIRST_OPTION: Final = re.compile(r"\s*A[.:)]\s")
# Column of the released UrbanVideo-Bench -> its type, and what it holds.
_TABLE: Final[dict[str, tuple[str, str]]] = load_table("urbanvideo/columns")
SCHEMA: Final = pa.schema([(name, pa.type_for_alias(kind)) for name, (kind, _) in _TABLE.items()])


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released UrbanVideo-Bench (`SCHEMA`): the options stand in the question's text.

    ``video_id`` is the video's path below the build's folder of videos; where the question is about a part of it, that
    of a clip of this part, whose name does not say which (`video_file`).
    """
    films = asked.select(["scene", "until_s", "from_s"]).to_pylist()
    texts = zip(asked["text"].to_pylist(), asked["options"].to_pylist(), strict=True)
    columns = {
        "Question_id": asked["id"],
        "video_id": pa.array([video_file(**film) for film in films], pa.string()),
        "question_category": asked["task"],
        "question": pa.array(["\n".join([text, *(options or ())]) for text, options in texts], pa.string()),
        "answer": asked["ground_truth"],
    }
    return pa.table(columns, schema=SCHEMA)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row, whose options are lines of the question's text."""
    if "Question_id" not in raw:
        return None
    lines = str(raw.get("question", "")).splitlines()
    first = next((n for n, line in enumerate(lines) if _FIRST_OPTION.match(line)), len(lines))
    options = [line.strip() for line in lines[first:] if line.strip()]
    return {
        "id": raw["Question_id"],
        "scene_name": raw.get("video_id"),
        "question_type": raw.get("question_category"),
        "question": "\n".join(lines[:first]).removesuffix("Choices:").strip(),
        "options": options or None,
        "ground_truth": raw.get("answer"),
    }


COLUMNS: Final = Columns(SCHEMA, table, row, {name: said for name, (_, said) in _TABLE.items()})


_WORDS: Final = load_table("urbanvideo/card")
CARD: Final = Card(
    module=__name__,
    chosen=frozenset({"answer_too_frequent", "answer_too_rare"}),
    **_WORDS | {"parts": {**_WORDS["parts"], FOLDER: ABOUT}},
)
