"""Landmarks by their names: those that a picture introduces, and why the others are not."""

from __future__ import annotations

from pipeline.worlds.flight.facts import Flight, Landmark, Shot, Sighting
from pipeline.worlds.flight.places import by_name
from tests.benchmarks.urbanvideo.flights import flight, mark, motion


def shown(*marks: tuple[Landmark, Shot | None], **more: object) -> Flight:
    """A flight of 10 s that shows landmarks from its start to its end, best in these pictures."""
    span = ((0.0, 10.0),)
    views = tuple(Sighting(landmark=i, intervals=span, possible=span, shot=s) for i, (_, s) in enumerate(marks))
    moved = motion([("fly forward", 10, 100)]).model_copy(update={"views": views})
    return flight(moved, [m for m, _ in marks], **more).facts  # type: ignore[arg-type]


def large(second: float = 5.0, side: float = 0.3) -> Shot:
    return Shot(second=second, box=(0.5, 0.5, 0.5 + side, 0.6))


def test_names_with_a_picture_are_labels_and_the_others_say_why() -> None:
    facts = shown(
        (mark("the red mill", 0, 100, name="Saint Anna"), large()),
        (mark("the inn", 0, 100, name="Far Inn"), Shot(second=5.0, box=(0.5, 0.5, 0.55, 0.58))),
        (mark("the barn", 0, 100, name="Twin"), large()),
        (mark("the shed", 0, 100, name="twin"), large()),
        (mark("the house", 0, 100, name=None), large()),
        (mark("the park", 0, 100, name="Hidden Park"), None),
        (mark("the end", 0, 100, name="Beyond the End"), large(second=10.0)),
        goal="the red mill",
        route=("Fly to the red mill", "Turn left at the inn"),
    )
    named = by_name(facts, 10.0, 0.1)
    assert [m.label for m in named.landmarks] == ["Saint Anna", None, None, None, None, None, None]
    assert [
        m.unnameable_reason and (m.unnameable_reason.reason, m.unnameable_reason.measured) for m in named.landmarks
    ] == [
        None,
        ("too_small_in_picture", 0.08),
        ("name_not_unique", 2),
        ("name_not_unique", 2),
        ("no_name", None),
        ("no_good_picture", 0),
        ("no_good_picture", 0),
    ]
    assert (named.goal, named.route) == ("Saint Anna", ("Fly to Saint Anna", "Turn left at the inn"))
