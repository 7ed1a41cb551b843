"""A second model answers what was written, with what it is about and without, and examines it.

What it gets wrong with the video or picture goes; so does what it finds several right options in, and what it says does
not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
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
GUESSES: Final = 2  # orders of the options in which who wrote an item guesses
ANSWERED: Final = 3  # calls of `answered`: without the video, with it, and for all that may be called right


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
    seen = _Offered(item, purpose)
    blind = Measure("second_model_without_video", seen.is_picked(second, None), "right answers", item.answer)
    if second.shown is None:
        return (blind,)
    agrees = rule("second_model_disagrees", seen.is_picked(second, second.shown), ">=", 1, "right answers")
    if not agrees.holds:
        return (blind, agrees)
    schema = record(right=listed({"enum": seen.letters}, 0, len(seen.letters)), holds={"type": "boolean"})
    fields = {"text": item.question, "options": seen.lines, "letters": seen.letters}
    found = take(second.steps[1], second.ask, schema, second.shown, **fields)
    more = len({*found["right"]} - {seen.right})
    return (
        blind,
        agrees,
        rule("second_model_finds_several_right", more, "<=", 0, "wrong options"),
        rule("second_model_doubts_question", float(found["holds"]), ">=", 1, "questions that hold"),
    )


def guessed(item: Written, purpose: str, model: Second) -> Measure:
    """That a model which is shown nothing does not find the answer: not in each of `GUESSES` orders of the options.

    Who guesses with four options is right in two orders once in sixteen times. After a wrong guess it is asked no more.
    Raises RefusedError.
    """
    right = 0
    while right < GUESSES and _Offered(item, purpose, turn=right).is_picked(model, None):
        right += 1
    return rule("answered_unseen", right, "<=", GUESSES - 1, "right guesses")


def proven(
    item: Written, purpose: str, writer: Second, second: Second | None, told_by: int = 0, unit: str = "facts"
) -> Iterator[Measure]:
    """What models make of an open question: who wrote it must not know its answer unseen, and a second one must agree.

    Args:
        item: what passed all rules.
        purpose: what the order of its options is drawn for.
        writer: the model that wrote it; what it is shown does not matter.
        second: the other, with what the question is about; None: there is none.
        told_by: how many facts say its answer; without any, and without a second model, nothing proves it.
        unit: of these facts.

    Raises:
        RefusedError: `<step>_<kind of failure>`.
    """
    yield guessed(item, purpose, writer)
    yield rule("nothing_proves_it", told_by + (second is not None), ">=", 1, f"{unit} and models")
    if second is not None:
        yield from answered(item, purpose, second)


def calls_of_writer(items: int) -> int:
    """How often the model that wrote so many items is asked about them at most."""
    return GUESSES * items


def calls_of_second(items: int, *, sees: bool = True) -> int:
    """How often the second model is asked about so many items at most: one that sees nothing guesses alone."""
    return (ANSWERED if sees else 1) * items


class _Offered:
    """An item's options in an order that is drawn for a purpose; another turn gives each another letter."""

    def __init__(self, item: Written, purpose: str, turn: int = 0) -> None:
        options = (item.answer, *item.wrong)
        n = len(options)
        drawn = rng_for(purpose, item.question, "second").permutation(n).tolist()
        order = [drawn[(place + turn * (n // 2)) % n] for place in range(n)]
        self.item, self.texts = item, [options[k] for k in order]
        self.letters = list(LETTERS[:n])
        self.lines = [f"{letter}. {text}" for letter, text in zip(self.letters, self.texts, strict=True)]
        self.right = LETTERS[order.index(0)]

    def is_picked(self, model: Second, shown: Shown | None) -> int:
        """1 where the model, shown something or nothing, names the right letter."""
        prompt = load_prompt(f"author_{model.steps[0]}")
        text = prompt.render(shown=shown, text=self.item.question, options=self.lines, letters=self.letters)
        request = Request((user(text, *(shown.parts if shown else ())),), prompt=prompt.version)
        read = find_letter(reply_to(model.steps[0], model.ask, request), len(self.lines), self.texts)
        return int(read.value == self.right)
