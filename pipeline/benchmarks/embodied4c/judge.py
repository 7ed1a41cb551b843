"""Eq. 1: a model scores a free-form answer from 0 to 100 against the reference (section 3.4.1, prompt of table 5).

The prompt is the paper's, but that the score is asked for as JSON, and that it names the other accepted answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pipeline.benchmarks.embodied4c.marking import forms_of
from pipeline.core.arrays import FloatArray
from pipeline.llm.base import Request, user
from pipeline.llm.prompts import load_prompt
from pipeline.questions import scoring_protocol
from pipeline.questions.scoring_protocol import Answer, Ask

PROMPT: Final = "judge_embodied4c"
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 100}},
    "required": ["score"],
    "additionalProperties": False,
}


def judged(answers: Sequence[Answer], ask: Ask) -> tuple[FloatArray, dict[str, str], list[str]]:
    """Scores (n,) in [0, 100], and what else `judging.judged` gives."""
    return scoring_protocol.judged(answers, ask, request, lambda value: float(value["score"]), lowest=0.0)


def request(answer: Answer) -> Request:
    """What the judge is asked about one answer."""
    prompt, question = load_prompt(PROMPT), answer.question
    _, *accepted = forms_of(question.rest, question.ground_truth)
    text = prompt.render(
        question=question.question, answer=question.ground_truth, accepted=accepted, response=answer.reply
    )
    return Request((user(text),), SCHEMA, prompt=prompt.version)
