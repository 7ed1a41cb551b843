"""Questions and the rows of result files, brought together; what does not fit is refused or counted by name."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import Answer
from pipeline.scoring.predictions import PredictionRow, Predictions, unicode

NAMED: Final = 5  # ids in a message
# What can be wrong with a row, and what becomes of it.
LEFT_OUT: Final[Mapping[str, str]] = {
    "unknown_id": "no such question: not scored",
    "not_a_text": "a reply that is neither text nor number counts as no answer",
    "bad_steps": "a trajectory that is no list of poses of six numbers is not measured",
}
COUNTED: Final[Mapping[str, str]] = {
    "unanswered": "questions without a reply earn nothing",
    "said_twice": "the same reply twice counts once",
    "cut_off": "replies that fill a cell of .xlsx have lost their end; let VLMEvalKit write PRED_FORMAT=tsv",
}


@dataclass(frozen=True)
class Answered:
    """Every question with what was said to it.

    Attributes:
        answers: in the order of the questions.
        found: name of what is unusual (`LEFT_OUT`, `COUNTED`) -> the ids.
    """

    answers: tuple[Answer, ...]
    found: Mapping[str, Sequence[str]]


def answered(questions: Sequence[Published], predictions: Predictions, of: Path) -> Answered:
    """Each question with its reply.

    Raises ConfigError where no row is about any of the questions, where a question has two different replies, and
    where the file's truths are not those of the questions. ``of``: the questions' file, for what is said of it.
    """
    ids = [str(question.id) for question in questions]
    known = set(ids)
    if len(known) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise ConfigError(f"{of}: two questions have the id {twice}; give one of them another")
    found: dict[str, list[str]] = defaultdict(list)
    rows: dict[str, PredictionRow] = {}
    for row in predictions.rows:
        name = row.id if row.id is not None else _at(row, questions, of)
        if name not in known:
            found["unknown_id"].append(name)
        elif name not in rows:
            rows[name] = row
        elif (row.reply, row.steps) == (rows[name].reply, rows[name].steps):
            found["said_twice"].append(name)
        else:
            raise ConfigError(f"{row.where}: question {name} has another reply in {rows[name].where}; delete one")
    if not rows:
        some = ", ".join(found["unknown_id"][:NAMED])
        raise ConfigError(f"none of the ids ({some}, …) is in {of}: give the release or file that was asked")
    answers = tuple(_answer(question, rows.get(name), found) for name, question in zip(ids, questions, strict=True))
    return Answered(answers, dict(found))


def _at(row: PredictionRow, questions: Sequence[Published], of: Path) -> str:
    """The id of the question at a row's place, if its truth is that of the row."""
    if row.place is None or row.place >= len(questions):
        raise ConfigError(f"{row.where}: there is no row {row.place} in {of}: give the release or file that was asked")
    question = questions[row.place]
    if row.truth != question.ground_truth:
        raise ConfigError(
            f"{row.where}: its truth is {row.truth!r}, and that of row {row.place} in {of} is "
            f"{question.ground_truth!r}: give the release or file that was asked"
        )
    return str(question.id)


def _answer(question: Published, row: PredictionRow | None, found: dict[str, list[str]]) -> Answer:
    reply = None if row is None else row.reply
    if row is not None and row.is_cut:
        found["cut_off"].append(str(question.id))
    if reply is not None and not _is_text_or_number(reply):
        found["not_a_text"].append(str(question.id))
        reply = None
    elif reply is None or (isinstance(reply, str) and not reply.strip()):
        found["unanswered"].append(str(question.id))
        reply = None
    return Answer(question, None if reply is None else _text(reply), _steps(row, question, found))


def _is_text_or_number(reply: Any) -> bool:
    if isinstance(reply, float):
        return math.isfinite(reply)
    return isinstance(reply, str | int) and not isinstance(reply, bool)


def _text(reply: str | float) -> str:
    """A spreadsheet's 4.0 is the 4 that was written."""
    return unicode(int(reply) if isinstance(reply, float) and reply.is_integer() else reply)


def _steps(row: PredictionRow | None, question: Published, found: dict[str, list[str]]) -> FloatArray | None:
    if row is None or row.steps is None:
        return None
    if not _are_poses(row.steps):
        found["bad_steps"].append(str(question.id))
        return None
    return np.array(row.steps, dtype=np.float64)


def _are_poses(steps: Any) -> bool:
    return (
        isinstance(steps, list)
        and len(steps) > 0
        and all(isinstance(pose, list) and len(pose) == 6 for pose in steps)
        and all(type(x) in {int, float} and math.isfinite(x) for pose in steps for x in pose)
    )
