"""Question answering accuracy (QAA): a model marks each reply from 1 to 5 (section 4.1, figure 8).

The prompt is the paper's; of its examples it shows one, the second is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.llm.base import Reply, Request, user
from pipeline.llm.failures import ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.structured import structured
from pipeline.questions.scored import Answer, Ask, is_too_long

PROMPT: Final = "judge_cityeqa"
LOWEST, HIGHEST = 1, 5
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"mark": {"type": "integer", "minimum": LOWEST, "maximum": HIGHEST}},
    "required": ["mark"],
    "additionalProperties": False,
}


def judged(answers: Sequence[Answer], ask: Ask) -> tuple[FloatArray, dict[str, str], list[str]]:
    """Marks (n,) in [1, 5], the judge's words per question, and the questions that it did not judge (NaN).

    Who says nothing, or more than anybody reads, has the lowest mark without the judge.
    """
    asked = [n for n, a in enumerate(answers) if a.reply is not None and not is_too_long(a.reply)]
    marks = np.full(len(answers), float(LOWEST))
    words: dict[str, str] = {}
    failed: list[str] = []
    for n, reply in zip(asked, ask([request(answers[n]) for n in asked]), strict=True):
        name = str(answers[n].question.id)
        if isinstance(reply, ModelError):
            marks[n] = np.nan
            failed.append(f"{name} ({reply.kind})")
        else:
            marks[n], words[name] = _mark(reply), reply.text
    return marks, words, failed


def request(answer: Answer) -> Request:
    """What the judge is asked about one answer."""
    prompt = load_prompt(PROMPT)
    question = answer.question
    text = prompt.render(question=question.question, answer=question.ground_truth, response=answer.reply)
    return Request((user(text),), SCHEMA, prompt=prompt.version)


def _mark(reply: Reply) -> float:
    return float(structured(reply)["mark"])
