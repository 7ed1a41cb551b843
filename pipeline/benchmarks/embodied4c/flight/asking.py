"""Cases of a flight: where they stand, and which landmarks they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.benchmarks.embodied4c.spans import LENGTHS, from_s
from pipeline.benchmarks.embodied4c.wording import worded


def case(
    view: FlightExam, kind: str, second: int, operands: Iterable[str] = (), /, *places: int, **fields: str
) -> ExamCase:
    """A case of a kind at a second of the video, about places that its video shows."""
    identity = (kind, f"{second:.2f}", *operands)
    text = worded(kind, (view.scene.id, *identity), **fields)
    begins_s = from_s(kind, second, view.rules, fields.get("seconds"))
    one = ExamCase(*identity, until_s=float(second), from_s=begins_s, wording=text)
    one.flags = list(view.flags)
    if LENGTHS.get(kind) == "shown_s":
        one.require("clip_too_short", second, ">=", view.rules.shown_s, "s")
    for place in places:
        label = view.flight.places[place].label
        one.require("not_seen_yet", float(view.flight.seen_by(place, second, begins_s or 0.0)), ">=", 1, "times", label)
    return one


def named(view: FlightExam) -> Iterator[tuple[int, int, int, float]]:
    """Second, sample, place, and the distance over ground from the drone to its footprint."""
    for second, index in view.moments:
        for row, place in enumerate(view.flight.pool):
            yield second, index, place, float(view.flight.distance_m[row, index])


def steady(view: FlightExam, one: ExamCase, index: int) -> None:
    """That the nose is known and stays for a moment."""
    swing = view.flight.heading_swing_deg(index) + view.flight.heading_error_deg
    one.require("nose_swings", swing, "<=", view.rules.swing_max_deg, "deg")


def label_of(view: FlightExam, place: int) -> str:
    """How a place is spoken of."""
    return view.flight.places[place].label


def bare(label: str) -> tuple[str, ...]:
    """A label without its article."""
    return (label.removeprefix("the "),) if label.startswith("the ") else ()
