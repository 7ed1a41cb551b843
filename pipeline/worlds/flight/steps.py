"""Movements in words, and movements that did not happen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from pipeline.worlds.flight.facts import Action

Actions = frozenset[Action]  # all that happens at once
Form = Literal["plain", "third", "ing"]

_GIMBAL: Final = {"gimbal up": "camera up", "gimbal down": "camera down"}
_THIRD: Final = {"ascend": "ascends", "descend": "descends", "fly": "flies", "turn": "turns", "hover": "hovers"}
_ING: Final = {"ascend": "ascending", "descend": "descending", "fly": "flying", "turn": "turning", "hover": "hovering"}
# Flying first, tilting the camera last: "fly forward while descending".
_ORDER: Final[tuple[Action, ...]] = (
    "fly forward",
    "fly backward",
    "fly left",
    "fly right",
    "turn left",
    "turn right",
    "ascend",
    "descend",
    "hover",
    "gimbal up",
    "gimbal down",
)
VERTICAL: Final[Actions] = frozenset(("ascend", "descend", "hover"))
TILTS: Final[Actions] = frozenset(("gimbal up", "gimbal down"))
ALL: Final[Actions] = frozenset(get_args(Action))
_MIRROR: Final[dict[Action, Action]] = {
    "fly left": "fly right",
    "fly right": "fly left",
    "turn left": "turn right",
    "turn right": "turn left",
}
_FLIP: Final[dict[Action, Action]] = {"ascend": "descend", "descend": "ascend"}
# Offered after what the flight itself suggests; the combinations are those of the released options.
_COMMON: Final[tuple[tuple[Action, ...], ...]] = (
    ("fly forward",),
    ("turn left",),
    ("turn right",),
    ("ascend",),
    ("descend",),
    ("fly forward", "ascend"),
    ("fly forward", "descend"),
    ("hover",),
    ("fly left",),
    ("fly right",),
    ("gimbal up",),
    ("gimbal down",),
)
_OFFERED: Final = 8  # wrong movements to draw from


@dataclass(frozen=True)
class Step:
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

    def says(self, form: Form) -> str:
        """See `phrase`."""
        return phrase(self.actions, form)


def phrase(actions: Iterable[Action], form: Form) -> str:
    """Movements in words: "fly forward while descending", "flies …", "flying …"; equal for equal sets."""
    first, *others = sorted(actions, key=_ORDER.index)
    words = _verb(first, form)
    return f"{words} while {' and '.join(_verb(other, 'ing') for other in others)}" if others else words


def _verb(action: Action, form: Form) -> str:
    if action in _GIMBAL:
        return {"plain": "tilt", "third": "tilts", "ing": "tilting"}[form] + f" the {_GIMBAL[action]}"
    verb, _, way = action.partition(" ")
    conjugated = {"plain": verb, "third": _THIRD[verb], "ing": _ING[verb]}[form]
    return f"{conjugated} {way}" if way else conjugated


def mirrored(actions: Actions) -> Actions:
    """Left for right."""
    return frozenset(_MIRROR.get(action, action) for action in actions)


def flipped(actions: Actions) -> Actions:
    """Up for down."""
    return frozenset(_FLIP.get(action, action) for action in actions)


def overlap(a: Actions, b: Actions) -> bool:
    """Whether one says no more than a part of the other, so that both may be called right."""
    return a <= b or b <= a


def others(truth: Actions, flown: Sequence[Actions], known: Actions, barred: Sequence[Actions] = ()) -> list[Actions]:
    """Movements that are wrong where ``truth`` is right, the likeliest first.

    Args:
        truth: the right one.
        flown: movements of the flight, in order.
        known: actions that the log can tell; of others it is not known that they did not happen.
        barred: movements that may be called right as well.
    """
    found: dict[Actions, None] = {}
    common = (frozenset(actions) for actions in _COMMON)
    for actions in (mirrored(truth), flipped(truth), flipped(mirrored(truth)), *flown, *common):
        if actions <= known and not any(overlap(actions, other) for other in (truth, *barred)):
            found.setdefault(actions)
    return list(found)[:_OFFERED]
