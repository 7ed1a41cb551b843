"""Movements in words, and movements that did not happen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, get_args

from pipeline.worlds.flight.facts import Action

Actions = frozenset[Action]  # all that happens at once
Form = Literal["plain", "third", "ing"]

_GIMBAL: Final = {"gimbal up": "camera up", "gimbal down": "camera down"}
_THIRD: Final = {"fly": "flies"}  # else with an s
# Flying first, tilting the camera last: "fly forward while descending".
_ORDER: Final[tuple[Action, ...]] = (
    "fly forward",
    "fly backward",
    "fly left",
    "fly right",
    "fly horizontally",
    "turn left",
    "turn right",
    "ascend",
    "descend",
    "hover",
    "stay in place",
    "gimbal up",
    "gimbal down",
)
# What is said where the heading is not known, and what else may be said of the same.
_SPECIAL: Final[dict[Action, Actions]] = {
    "fly horizontally": frozenset(("fly forward", "fly backward", "fly left", "fly right")),
    "stay in place": frozenset(("hover", "turn left", "turn right")),
}
GENERAL: Final[Actions] = frozenset(_SPECIAL)
NOTHING: Final[Actions] = frozenset()
CLIMBS: Final[Actions] = frozenset(("ascend", "descend"))
TILTS: Final[Actions] = frozenset(("gimbal up", "gimbal down"))
ALL: Final[Actions] = frozenset(get_args(Action))
_LEAVING: Final[Actions] = CLIMBS | _SPECIAL["fly horizontally"] | frozenset(("fly horizontally",))
RESTS: Final[Actions] = frozenset(("hover", "stay in place"))


def _swaps(*pairs: tuple[Action, Action]) -> dict[Action, Action]:
    return {a: b for pair in pairs for a, b in (pair, pair[::-1])}


def _swapped(other: Mapping[Action, Action], actions: Actions) -> Actions:
    return frozenset(other.get(action, action) for action in actions)


_SIDES: Final[tuple[Action, Action]] = ("fly left", "fly right")
_AHEAD: Final[Actions] = frozenset(("fly forward", "fly backward"))
_STILL: Final = _swaps(("fly horizontally", "stay in place"))
# Left for right; up for down; then of flying alone forward for backward and left for right.
mirrored: Final = partial(_swapped, _swaps(_SIDES, ("turn left", "turn right")))
flipped: Final = partial(_swapped, _swaps(("ascend", "descend")))
opposed: Final = partial(_swapped, _swaps(_SIDES, ("fly forward", "fly backward")))
# Forward for left and backward for right, of flying: with `opposed`, each of the four ways for each.
quartered: Final = partial(_swapped, _swaps(("fly forward", "fly left"), ("fly backward", "fly right")))


@dataclass(frozen=True)
class CaptionStep:
    """One movement of a flight. Seconds from the start of the video.

    Attributes:
        actions: all that happens in it.
        start_s: begin.
        end_s: end.
        margin: least ratio of what was measured to what its actions need.
        part: part of the track it begins in.
        known: whether the log can tell its actions (turning needs a heading).
    """

    actions: Actions
    start_s: float
    end_s: float
    margin: float
    part: int
    known: bool

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.end_s - self.start_s

    def within_s(self, from_s: float, until_s: float) -> float:
        """How much of it lies between two times."""
        return max(0.0, min(self.end_s, until_s) - max(self.start_s, from_s))

    def says(self, form: Form) -> str:
        """See `phrase`."""
        return phrase(self.actions, form)


# What a question of few movements offers: what the released options offer most, and where the heading is not known.
SEVEN: Final[tuple[Action, ...]] = ("ascend", "descend", "fly forward", *_SIDES, "turn left", "turn right")
FOUR: Final[tuple[Action, ...]] = ("ascend", "descend", "fly horizontally", "stay in place")


def phrase(actions: Iterable[Action], form: Form) -> str:
    """Movements in words: "fly forward while descending", "flies forward and to the right"; equal for equal sets."""
    first, *others = sorted(actions, key=_ORDER.index)
    words = _verb(first, form)
    if first in _AHEAD and others and others[0] in _SIDES:  # a diagonal is one movement
        words += f" and to the {others.pop(0).partition(' ')[2]}"
    return f"{words} while {' and '.join(_verb(other, 'ing') for other in others)}" if others else words


def _verb(action: Action, form: Form) -> str:
    if action in _GIMBAL:
        return {"plain": "tilt", "third": "tilts", "ing": "tilting"}[form] + f" the {_GIMBAL[action]}"
    verb, _, way = action.partition(" ")
    conjugated = {"plain": verb, "third": _THIRD.get(verb, f"{verb}s"), "ing": f"{verb}ing"}[form]
    return f"{conjugated} {way}" if way else conjugated


def stilled(actions: Actions) -> Actions:
    """Flying for staying and staying for flying, where the heading is not known and nothing else is done."""
    return _swapped(_STILL, actions) if len(actions) == 1 else actions


def covers(general: Actions, special: Actions) -> bool:
    """Whether what is said of one movement may be said of the other too, though it may be less than all of it.

    "Fly horizontally" may be said of flying left; "stay in place" of hovering, and of turning unless it flies as well.
    """
    return all(
        action in special
        or bool(_SPECIAL.get(action, NOTHING) & special and not (action == "stay in place" and special & _LEAVING))
        for action in general
    )


def overlap(a: Actions, b: Actions) -> bool:
    """Whether one says no more than a part of the other, so that both may be called right."""
    return covers(a, b) or covers(b, a)
