"""The goal and the route that a pilot was given, in words of what is seen: no video shows what a place is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.worlds.flight.facts import Flight, Landmark

_EDGE: Final = r"(?<!\w)(?:the )?{}(?!\w)"
UNSEEN, BY_COMPASS = "route_names_unseen", "route_by_compass"  # doubts about a route: it cannot be told
STEP_MAX: Final = 200  # characters; schema.Name
# Directions that no picture shows: "north", "southwest", "north-east", "eastwards", "western".
COMPASS: Final = re.compile(
    r"\b(?:(?:north|south)(?:[- ]?(?:east|west))?|east|west)(?:wards?|ern|erly)?\b", re.IGNORECASE
)


class Spoken(NamedTuple):
    """Goal and route as questions may say them, and what of the route they may not."""

    goal: str | None
    route: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def spoken(flight: Flight, landmarks: Sequence[Landmark]) -> Spoken:
    """Goal and route with the names of landmarks replaced by their labels.

    A route is doubted where a step still has the name of a landmark that has no label, or a point of the compass; a
    name that two landmarks have is of neither. A goal that is no landmark stays as it is: it is asked about nowhere.

    Args:
        flight: what the pilot was given.
        landmarks: the flight's, with their labels.
    """
    names: dict[str, str | None] = {}
    for mark in landmarks:
        if mark.name:
            name = " ".join(mark.name.casefold().split())
            names[name] = None if name in names else mark.label
    ordered = sorted(names, key=lambda name: (-len(name), name))
    route = tuple(_replaced(step, ordered, names) for step in flight.route)
    goal = names.get(" ".join(flight.goal.casefold().split())) if flight.goal else None
    unseen = sum(any(_says(step, name) for name in ordered if names[name] is None) for step in route)
    unseen += sum(len(step) > STEP_MAX for step in route)
    compass = sum(bool(COMPASS.search(step)) for step in route)
    findings = []
    if unseen:
        message = f"{unseen} of {len(route)} steps of the route name a landmark of which the map tells no unique look"
        remedy = "say in the route what is seen, or give the landmark a colour, a roof, a height or a sign"
        findings.append(doubt(UNSEEN, "route", message, remedy, float(unseen), 0.0, "steps"))
    if compass:
        message = f"{compass} of {len(route)} steps of the route go by the compass, which no picture shows"
        remedy = "give directions as left and right, or by what is seen"
        findings.append(doubt(BY_COMPASS, "route", message, remedy, float(compass), 0.0, "steps"))
    kept = tuple(new if len(new) <= STEP_MAX else old for new, old in zip(route, flight.route, strict=True))
    return Spoken(goal or flight.goal, kept, tuple(findings))


def _replaced(step: str, ordered: Sequence[str], names: dict[str, str | None]) -> str:
    """A step with every name that stands for one look replaced by it; a label is not looked through for names."""
    chosen = [name for name in ordered if names[name]]
    if not chosen:
        return step
    pattern = "|".join(f"(?P<n{i}>{_EDGE.format(re.escape(name))})" for i, name in enumerate(chosen))
    return re.sub(pattern, lambda found: str(names[chosen[int(str(found.lastgroup)[1:])]]), step, flags=re.IGNORECASE)


def _says(step: str, name: str) -> bool:
    return re.search(_EDGE.format(re.escape(name)), step, re.IGNORECASE) is not None
