"""Twins: questions asked of frames that do not show what they ask about, so that it cannot be told.

Who answers them as if it were seen makes it up. The frames are of the same video, as many as the smallest usual budget,
and the picture of none has the thing in it, hidden or not: poses alone say so, whatever stands in front of it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.core.identity import question_ids
from pipeline.core.tables import TWINS
from pipeline.core.templates import load_table
from pipeline.questions.arrays import ArrayTask, ArrayView
from pipeline.questions.choices import LETTERS
from pipeline.questions.rules import make_rejection

TWIN_FRAMES: Final = 16
WORDS: Final[Mapping[str, str]] = load_table("twins")


_TOLD: Final = re.compile(
    r"\b(cannot|can ?not|can't|can’t|could not|couldn't|impossible to|unable to)( \w+)? (be )?"
    r"(told?|tell|answer(ed)?|determin(e|ed)|see|seen|say|said|know|known)\b|\bnot (shown|visible|seen)\b",
    re.IGNORECASE,
)


def says_no_answer(reply: str) -> bool:
    """Whether a reply says, in these or in like words, that there is no answer."""
    return _TOLD.search(reply) is not None


def twins_of(asked: Iterable[Mapping[str, Any]], tasks: Mapping[str, Any], view: ArrayView) -> pa.Table:
    """The twin of each question of a scene (`TWINS`), or why it has none.

    Args:
        asked: rows of `tables.QUESTIONS` that have frame budgets.
        tasks: by name.
        view: of the scene.
    """
    rows = [_twin(row, tasks[row["task"]], view) for row in asked]
    return pa.Table.from_pylist(rows, schema=TWINS)


def _twin(row: Mapping[str, Any], task: ArrayTask[Any], view: ArrayView) -> dict[str, Any]:
    operands = tuple(row["operands"])
    hidden, free = task.twin_frames(view, operands)
    common = {name: row[name] for name in ("scene", "task", "operands")} | {
        "id": question_ids(row["scene"], row["task"], "twin", [operands])[0],
        "of": row["id"],
        "hidden": hidden,
    }
    if len(free) < TWIN_FRAMES:
        refused = make_rejection("evidence_fills_the_video", len(free), TWIN_FRAMES, "frames")
        return common | refused.model_dump()
    at = np.linspace(0, len(free) - 1, TWIN_FRAMES, dtype=np.intp)
    options, how = row["options"], "say"
    truth = WORDS["answer"]
    if options is not None:
        letter, how = LETTERS[len(options)], "choose"
        options, truth = [*options, f"{letter}. {truth}"], letter
    return common | {
        "text": f"{row['text'].strip()} {WORDS[how]}",
        "options": options,
        "ground_truth": truth,
        "frames": free[at].tolist(),
    }
