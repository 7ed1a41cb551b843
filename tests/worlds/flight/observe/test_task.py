"""Goal and route in words of what is seen."""

from __future__ import annotations

import pytest

from pipeline.worlds.flight.facts import Flight, Landmark
from pipeline.worlds.flight.observe.flight import COMPASS, spoken

MARKS = (
    Landmark(name="Grand Hotel", label="the purple building", center=(0, 0), radius_m=1),
    Landmark(name="Grand Hotel\nGarden", label="the park", center=(0, 0), radius_m=1),
    Landmark(name="Shop", label=None, center=(0, 0), radius_m=1),
    Landmark(name="Inn", label="the red building", center=(0, 0), radius_m=1),
    Landmark(name="Inn", label="the blue building", center=(9, 0), radius_m=1),
    Landmark(name=None, label="the building", center=(0, 0), radius_m=1),
)


def told(goal: str | None, *route: str) -> tuple[str | None, tuple[str, ...], list[tuple[str, float | None]]]:
    found = spoken(Flight(log="made", origin=None, goal=goal, route=route), MARKS)
    return found.goal, found.route, [(f.name, f.measured) for f in found.findings]


def test_names_become_what_is_seen() -> None:
    route = ("fly to the Grand Hotel", "pass Grand Hotel Garden and the grand hotel", "hover")
    seen = ("fly to the purple building", "pass the park and the purple building", "hover")
    assert told("grand  hotel", *route) == ("the purple building", seen, [])


def test_names_without_a_look_put_the_route_in_doubt() -> None:
    assert told("Shop", "fly to the shop", "go on") == (
        "Shop",
        ("fly to the shop", "go on"),
        [("route_names_unseen", 1)],
    )
    assert told("Inn", "leave the Inn")[::2] == ("Inn", [("route_names_unseen", 1)]), "of two inns"
    assert told(None, "go shopping", "see the inner yard")[2] == []


def test_directions_of_the_compass_put_the_route_in_doubt() -> None:
    assert told(None, "fly north", "turn left", "go south-west")[2] == [("route_by_compass", 2)]
    assert told("the westernmost rest", "rest at the lowest nest")[2] == []


@pytest.mark.parametrize("words", ["North", "to the northeast", "eastwards", "the western wall", "south east"])
def test_points_of_the_compass(words: str) -> None:
    assert COMPASS.search(words)


def test_a_step_that_would_be_too_long_stays_and_is_in_doubt() -> None:
    step = "pass Grand Hotel " + "x" * 180
    assert told(None, step)[1:] == ((step,), [("route_names_unseen", 1)])
