"""Question answering accuracy (QAA): a model marks each reply from 1 to 5 (section 4.1, figure 8).

The prompt is the paper's; of its examples it shows one, the second is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pipeline.core.arrays import FloatArray
from pipeline.llm.base import Request, user
from pipeline.llm.prompts import load_prompt
from pipeline.questions import judging
from pipeline.questions.scoring_protocol import Answer, Ask

PROMPT: Final = "judge_cityeqa"
LOWEST, HIGHEST = 1, 5
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"mark": {"type": "integer", "minimum": LOWEST, "maximum": HIGHEST}},
    "required": ["mark"],
    "additionalProperties": False,
}


def judged(answers: Sequence[Answer], ask: Ask) -> tuple[FloatArray, dict[str, str], list[str]]:
    """Marks (n,) in [1, 5], and what else `judging.judged` gives."""
    return judging.judged(answers, ask, request, lambda value: float(value["mark"]), lowest=float(LOWEST))


def request(answer: Answer) -> Request:
    """What the judge is asked about one answer."""
    prompt = load_prompt(PROMPT)
    question = answer.question
    text = prompt.render(question=question.question, answer=question.ground_truth, response=answer.reply)
    return Request((user(text),), SCHEMA, prompt=prompt.version)
