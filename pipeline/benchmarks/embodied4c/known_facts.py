"""The facts of a log at the moments of questions (surroundings and motion), as told to the writing model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.drive.refs import refs
from pipeline.benchmarks.embodied4c.drive.view import KMH, DriveExam
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.benchmarks.embodied4c.kinds import AERIAL, DRIVING, MANIPULATION
from pipeline.core.templates import load_table
from pipeline.geometry.colours import WORDS
from pipeline.questions.model_authoring import quoted
from pipeline.worlds.arm.view import CLOSED_MAX, OPEN_MIN
from pipeline.worlds.drive.facts import CATEGORIES, FURNITURE, RIDERS, TWO_WHEELED

TOLD: Final = 8  # things at a moment
# Kinds that logs of drives annotate whole, by what people say for them; what is no kind of a log, it does not tell.
_ON_ROADS: Final = CATEGORIES - FURNITURE - {"object", "vehicle", "large vehicle", "wheeled device", "animal"}
_ALSO: Final[Mapping[str, frozenset[str]]] = {
    "van": frozenset({"car"}),
    "trailer": frozenset({"truck"}),
    **{ridden: RIDERS | TWO_WHEELED | {"pedestrian"} for ridden in TWO_WHEELED | RIDERS},
}
_SEEN_FROM_THE_AIR: Final = frozenset(load_table("embodied4c/absent")["from_the_air"])
_ON_TABLES: Final = frozenset(load_table("embodied4c/absent")["on_tables"])


@dataclass(frozen=True)
class Moment:
    """What a log says at one time.

    Attributes:
        second: of the log.
        lines: for who writes; names from files are `quoted`.
        absent: words for things that are not there then; what a log does not list whole is in none.
        states: what is so ("standing": True), and what is not; what is not known is missing.
    """

    second: float
    lines: tuple[str, ...]
    absent: frozenset[str]
    states: Mapping[str, bool]


def moments(view: Exam) -> list[Moment]:
    """Those of a log, in order of time."""
    of: dict[str, Callable[[Any], list[Moment]]] = {DRIVING: _drive, AERIAL: _flight, MANIPULATION: _arm}
    return of[view.domain](view)


def _absent(every: Collection[str], there: Collection[str]) -> frozenset[str]:
    also = {word for kind in there for word in _ALSO.get(kind, ())}
    return frozenset(every) - frozenset(there) - also


def _drive(view: DriveExam) -> list[Moment]:
    found = []
    for number, index in enumerate(view.moments.tolist()):
        there = view.there[:, number] & (view.near_m[:, number] <= view.rules.spoken_m)
        speed = float(view.ego_short_mps[index])
        told = [] if np.isnan(speed) else [f"our speed: {speed * KMH:.0f} km/h"]
        named = [ref for ref in refs(view, number) if ref.holds]
        told += [f"{ref.words}: {ref.gap_m:.0f} m away" for ref in named[:TOLD]]
        absent = _absent(_ON_ROADS, set(view.categories[there].tolist()))
        found.append(Moment(view.second(number), tuple(told), absent, _moving(view.rules, speed)))
    return found


def _flight(view: FlightExam) -> list[Moment]:
    flight = view.flight
    names = [flight.places[place] for place in flight.pool]
    sorts = {flight.flight.landmarks[one.index].sort for one in names} - {None}
    said = " ".join([*(str(one.label) for one in names), *(str(sort) for sort in sorts)]).casefold()
    absent = frozenset(word for word in _SEEN_FROM_THE_AIR if word not in said) if names else frozenset()
    found = []
    for second, index in view.moments:
        up = float(view.velocity_mps[index, 2])
        told = [f"height above the take-off: {float(flight.height_m[index]):.0f} m"]
        told += [f"landmark: {quoted(str(one.label))}" for one in names[:TOLD]]
        states = _moving(view.rules, float(view.speed_mps[index]))
        if abs(up) >= view.rules.climbing_mps or abs(up) <= view.rules.level_mps:
            states |= {"climbing": up >= view.rules.climbing_mps, "sinking": up <= -view.rules.climbing_mps}
            if abs(up) >= view.rules.climbing_mps:
                states |= {"moving": True, "standing": False}
        found.append(Moment(float(second), tuple(told), absent, states))
    return found


def _arm(view: ArmExam) -> list[Moment]:
    facts = view.facts
    items = [quoted(f"{item.attributes.get('colour', '')} {item.category}".strip()) for item in facts.items]
    said = " ".join(items).casefold()
    words = [word for word in (*_ON_TABLES, *WORDS) if facts.items_complete and word not in said]
    told = [f"the robot was told to: {quoted(text)}" for text in facts.instructions[:1]]
    told += [f"on the table: {item}" for item in items[:TOLD]]
    found = []
    for index in view.moments:
        opening = float(view.opening[index])
        states = {}
        if opening >= OPEN_MIN or opening <= CLOSED_MAX:
            states = {"open": opening >= OPEN_MIN, "closed": opening <= CLOSED_MAX}
        own = [f"the gripper is {'open' if states['open'] else 'closed'}"] if states else []
        second = float(view.times_s[index])
        found.append(Moment(second, (*told, *own), frozenset(_ON_TABLES & {*words}), states))
    return found


def _moving(rules: Any, speed: float) -> dict[str, bool]:
    """Whether who goes so fast stands or moves; nothing where it is between or not known."""
    if not (speed <= rules.still_mps or speed >= rules.moving_mps):
        return {}
    return {"standing": speed <= rules.still_mps, "moving": speed >= rules.moving_mps}
