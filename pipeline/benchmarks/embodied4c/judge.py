"""Eq. 1: a model scores a free-form answer from 0 to 100 against the reference (section 3.4.1, prompt of table 5).

The prompt is the paper's, but that the score is asked for as JSON, and that it names the other accepted answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.marking import forms_of
from pipeline.core.arrays import FloatArray
from pipeline.llm.base import Request, user
from pipeline.llm.failures import ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.structured import structured
from pipeline.questions.scored import Answer, Ask, is_too_long

PROMPT: Final = "judge_embodied4c"
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 100}},
    "required": ["score"],
    "additionalProperties": False,
}


def judged(answers: Sequence[Answer], ask: Ask) -> tuple[FloatArray, dict[str, str], list[str]]:
    """Scores (n,) in [0, 100], the judge's words per question, and the questions that it did not judge (NaN).

    Who says nothing, or more than anybody reads, has 0 without the judge.
    """
    asked = [n for n, a in enumerate(answers) if a.reply is not None and not is_too_long(a.reply)]
    marks = np.zeros(len(answers))
    words: dict[str, str] = {}
    failed: list[str] = []
    for n, reply in zip(asked, ask([request(answers[n]) for n in asked]), strict=True):
        name = str(answers[n].question.id)
        if isinstance(reply, ModelError):
            marks[n] = np.nan
            failed.append(f"{name} ({reply.kind})")
        else:
            marks[n], words[name] = float(structured(reply)["score"]), reply.text
    return marks, words, failed


def request(answer: Answer) -> Request:
    """What the judge is asked about one answer."""
    prompt, question = load_prompt(PROMPT), answer.question
    _, *accepted = forms_of(question.rest, question.ground_truth)
    text = prompt.render(
        question=question.question, answer=question.ground_truth, accepted=accepted, response=answer.reply
    )
    return Request((user(text),), SCHEMA, prompt=prompt.version)
