"""CT of flights: how many landmarks were shown or are near, of those that the question lists; how often it turned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pipeline.benchmarks.embodied4c.asking import number
from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.flight.asking import case, label_of
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.core.identity import digest
from pipeline.worlds.flight.facts import Action

RADII_M: Final = (25, 50, 75, 100, 150, 200)
NEAR_SHARE: Final = 0.1  # of a radius: what is nearer to it may be within or not
NEAR_M: Final = 3.0
LISTED_MIN: Final = 3
AGAIN_S: Final = 1.0  # between two movements that are counted as two
MOVES: Final[dict[str, Action]] = {
    "turned left": "turn left",
    "turned right": "turn right",
    "climbed": "ascend",
    "descended": "descend",
}


def shown(view: FlightExam) -> Iterator[ExamCase]:
    """How many of the landmarks that are asked about the video has shown so far."""
    flight = view.flight
    if not flight.seen_known or len(flight.pool) < LISTED_MIN:
        return
    for second, _ in view.moments:
        one = case(view, "air_ct_shown", second, things=_listed(view, second))
        seen = [flight.seen_by(place, second) for place in flight.pool]
        doubtful = [flight.maybe_seen_by(place, second) for place in flight.pool]
        one.require("shown_in_doubt", sum(doubtful) - sum(seen), "<=", 0, "landmarks")
        one.traits = (str(len(flight.pool)),)
        yield number(one, float(sum(seen)), "", 0)


def near(view: FlightExam) -> Iterator[ExamCase]:
    """How many of them are within a radius over ground."""
    flight = view.flight
    if len(flight.pool) < LISTED_MIN:
        return
    for second, index in view.moments:
        gaps = flight.distance_m[:, index]
        for radius in RADII_M:
            fields = {"things": _listed(view, second), "radius": str(radius)}
            one = case(view, "air_ct_near", second, (str(radius),), *flight.pool, **fields)
            margin = float(abs(gaps - radius).min())
            one.require("near_radius", margin, ">=", max(NEAR_M, NEAR_SHARE * radius), "m")
            for place, gap in zip(flight.pool, gaps.tolist(), strict=True):
                one.fact("distance", label_of(view, place), gap, "m")
            one.traits = (str(len(flight.pool)), str(radius))
            yield number(one, float((gaps <= radius).sum()), "", 0)


def moves(view: FlightExam) -> Iterator[ExamCase]:
    """How many times the drone turned to a side, climbed or descended since the video began."""
    flight = view.flight
    for second, _ in view.moments:
        begun = [step for step in flight.steps if step.start_s <= second - 1.0]
        soon = [step for step in flight.steps if second - 1.0 < step.start_s <= second + 0.5]
        for said, action in MOVES.items():
            counted = [step for step in begun if action in step.actions]
            if not counted:
                continue
            one = case(view, "air_ct_moves", second, (said,), moved=said)
            one.require("movements_unknown", sum(not step.known for step in begun), "<=", 0, "movements")
            one.require("track_with_gaps", view.whole_since(second), "<=", 0, "s")
            one.require("barely_a_movement", min(step.margin for step in counted), ">=", 1.3, "ratio")
            one.require("a_movement_begins", len(soon), "<=", 0, "movements")
            breaks = [after.start_s - before.end_s for before, after in pairwise(counted)]
            one.require("runs_into_the_next", min(breaks, default=AGAIN_S), ">=", AGAIN_S, "s")
            yield number(one, float(len(counted)), "", 0)


def _listed(view: FlightExam, second: int) -> str:
    """The landmarks that are asked about, in an order that tells nothing."""
    names = (label_of(view, place) for place in view.flight.pool)
    return ", ".join(sorted(names, key=lambda name: digest(view.scene.id, str(second), name)))
