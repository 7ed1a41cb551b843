"""A second model answers what was written, with what it is about and without, and examines it.

What it gets wrong with the video or picture goes; so does what it finds several right options in, and what it says does
not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from pipeline.core.identity import rng_for
from pipeline.llm.base import Request, user
from pipeline.llm.prompts import load_prompt
from pipeline.llm.shown import Shown
from pipeline.metrics.letters import find_letter
from pipeline.questions.asking import (
    Ask,
    listed,
    record,
    reply_to,
    take,
)
from pipeline.questions.rules import Measure, rule

SECOND, SECOND_ALL = "second", "second_all"
LETTERS: Final = "ABCDEFGH"


class Written(Protocol):
    """A question that a model wrote."""

    @property
    def question(self) -> str:
        """Its text."""
        ...

    @property
    def answer(self) -> str:
        """The right option."""
        ...

    @property
    def wrong(self) -> tuple[str, ...]:
        """The others."""
        ...


@dataclass(frozen=True)
class Second:
    """A second model.

    Attributes:
        ask: it, through its cache.
        shown: what the question is about, as it is shown it; None: it sees nothing.
        steps: its prompts are ``author_<step>``: to answer, and to examine.
    """

    ask: Ask
    shown: Shown | None
    steps: tuple[str, str] = (SECOND, SECOND_ALL)


def answered(item: Written, purpose: str, second: Second) -> tuple[Measure, ...]:
    """Whether the second model answers right: without the video, which is told only, and with it, which must hold.

    Of what it has right with the video it is asked for all that may be called right, and whether the question holds.

    Args:
        item: what passed all checks.
        purpose: what the order of its options is drawn for.
        second: the model. One that is shown nothing is asked without the video alone, and nothing must hold.

    Raises:
        RefusedError: `second_<kind of failure>`, `second_all_<kind of failure>`.
    """
    options = (item.answer, *item.wrong)
    order = rng_for(purpose, item.question, "second").permutation(len(options)).tolist()
    lines = [f"{LETTERS[place]}. {options[n]}" for place, n in enumerate(order)]
    right = LETTERS[order.index(0)]

    def is_right(shown: Shown | None) -> int:
        prompt = load_prompt(f"author_{second.steps[0]}")
        text = prompt.render(shown=shown, text=item.question, options=lines, letters=list(LETTERS[: len(lines)]))
        request = Request((user(text, *(shown.parts if shown else ())),), prompt=prompt.version)
        read = find_letter(reply_to(second.steps[0], second.ask, request), len(lines), [options[n] for n in order])
        return int(read.value == right)

    blind = Measure("second_model_without_video", is_right(None), "right answers", item.answer)
    if second.shown is None:
        return (blind,)
    agrees = rule("second_model_disagrees", is_right(second.shown), ">=", 1, "right answers")
    if not agrees.holds:
        return (blind, agrees)
    offered = list(LETTERS[: len(lines)])
    schema = record(right=listed({"enum": offered}, 0, len(offered)), holds={"type": "boolean"})
    found = take(second.steps[1], second.ask, schema, second.shown, text=item.question, options=lines, letters=offered)
    more = len({*found["right"]} - {right})
    return (
        blind,
        agrees,
        rule("second_model_finds_several_right", more, "<=", 0, "wrong options"),
        rule("second_model_doubts_question", float(found["holds"]), ">=", 1, "questions that hold"),
    )
