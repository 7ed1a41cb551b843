"""The steps of a route in words: ours written, ours and those of people read."""

from __future__ import annotations

import re
from typing import Final

from pipeline.core.templates import Operands

BLANK: Final = "[please fill in]"
FORWARD: Final = "Go forward until the "
_STEP: Final = re.compile(r"(?:^|\s+)\d+\.\s+")
# The released routes also say "until passing the", "untli the", "until a", or how far.
_FORWARD: Final = re.compile(
    r"go forward(?: (?:until|untli))?(?: (?:passing|past))?(?: (?:the|a))? (.+)", re.IGNORECASE
)


def written(facing: str, passed: tuple[str, ...]) -> str:
    """The way as numbered steps, with a blank for every turn; none where the first object passed is the faced one."""
    steps = [step for name in passed for step in (BLANK, FORWARD + name)]
    if passed[0] == facing:
        steps = steps[1:]
    return " ".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def read(fields: Operands) -> tuple[str, ...] | None:
    """Start, faced object and the objects passed, of a question's fields; None where the steps are no such route.

    Routes that people wrote name things in their own words ("the sofa with two blankets"); these are given in lower
    case, without the article, and it is for the scene to know them or not. Who goes straight on at the start is taken
    to face what is met first, and a turn at the very end to be towards the destination.
    """
    start, facing, destination = (str(fields[key]) for key in ("start", "facing", "destination"))
    text = str(fields["steps"]).strip()
    ours = tuple(step.removeprefix(FORWARD) for step in _STEP.split(text) if step.startswith(FORWARD))
    if ours and ours[-1] == destination and written(facing, ours) == text:
        return (start, facing, *ours)
    steps = [step.strip(" .") for step in _STEP.split(text) if step.strip()]
    passed: list[str] = []
    turned = False
    for number, step in enumerate(steps):
        way = _FORWARD.fullmatch(step)
        if way and (turned or number == 0):
            passed.append(_plain(way[1]))
        elif way or turned or step.lower() != BLANK:
            return None
        turned = not way
    if turned:
        passed.append(_plain(destination))
    straight_on = bool(steps) and steps[0].lower() != BLANK
    return (_plain(start), passed[0] if straight_on else _plain(facing), *passed) if passed else None


def _plain(name: str) -> str:
    return name.strip(" .,").lower().removeprefix("the ")
