"""Replies that a judge model marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.llm.base import Request
from pipeline.llm.failures import ModelError
from pipeline.llm.structured import structured
from pipeline.questions.scoring_protocol import Answer, Ask, is_too_long


def judged(
    answers: Sequence[Answer],
    ask: Ask,
    request: Callable[[Answer], Request],
    mark: Callable[[Any], float],
    lowest: float,
) -> tuple[FloatArray, dict[str, str], list[str]]:
    """Marks (n,), the judge's words per question, and the questions that it did not judge (NaN).

    Who says nothing, or more than anybody reads, has the lowest mark without the judge.

    Args:
        answers: n of them.
        ask: asks the judge.
        request: what it is asked about one answer.
        mark: what its reply, a JSON value, is worth.
        lowest: the lowest mark.
    """
    asked = [n for n, a in enumerate(answers) if a.reply is not None and not is_too_long(a.reply)]
    marks = np.full(len(answers), lowest, dtype=np.float64)
    words: dict[str, str] = {}
    failed: list[str] = []
    for n, reply in zip(asked, ask([request(answers[n]) for n in asked]), strict=True):
        name = str(answers[n].question.id)
        if isinstance(reply, ModelError):
            marks[n] = np.nan
            failed.append(f"{name} ({reply.kind})")
        else:
            marks[n], words[name] = mark(structured(reply)), reply.text
    return marks, words, failed
