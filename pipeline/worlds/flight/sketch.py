"""A flight from above: its track and the landmarks beside it."""

from __future__ import annotations

from typing import Final

from pipeline.core.sketch import Point, Sketch, Thing
from pipeline.worlds.flight.facts import FlightScene, Landmark

PATH_POINTS: Final = 400  # of a long flight, evenly spaced: more would not be seen
_DIGITS: Final = 2  # centimetres


def sketch(scene: FlightScene) -> Sketch:
    """The flight as a map: east to the right, north up."""
    facts = scene.facts
    motion = facts.motion
    seen = {
        view.landmark: min(start for start, _ in view.intervals)
        for view in (motion.views or () if motion else ())
        if view.intervals
    }
    things = tuple(
        Thing(label=mark.label or mark.name or "", outline=_outline(mark), seen_s=seen.get(number))
        for number, mark in enumerate(facts.landmarks)
    )
    if motion is None:
        return Sketch(things=things)
    step = max(1, -(-len(motion.t_s) // PATH_POINTS))
    points = [(t, x, y) for t, (x, y, _) in zip(motion.t_s, motion.enu_m, strict=True) if t >= 0]
    thinned = [*points[:-1:step], *points[-1:]]
    path = tuple((round(t, _DIGITS), round(x, _DIGITS), round(y, _DIGITS)) for t, x, y in thinned)
    return Sketch(things=things, path=path)


def _outline(mark: Landmark) -> tuple[Point, ...]:
    outline = mark.outline or (mark.center,)
    return tuple((round(x, _DIGITS), round(y, _DIGITS)) for x, y in outline)
