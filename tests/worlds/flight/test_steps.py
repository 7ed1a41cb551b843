"""Movements in words, and which of them may be said of another."""

from __future__ import annotations

import pytest

from pipeline.worlds.flight.steps import covers, opposed, phrase, quartered, stilled


@pytest.mark.parametrize(
    ("general", "special", "holds"),
    [
        ({"fly horizontally"}, {"fly left"}, True),
        ({"fly left"}, {"fly horizontally"}, False),
        ({"fly horizontally", "ascend"}, {"fly left", "turn left", "ascend"}, True),
        ({"fly horizontally"}, {"ascend"}, False),
        ({"stay in place"}, {"hover"}, True),
        ({"stay in place"}, {"turn left", "gimbal up"}, True),
        ({"stay in place"}, {"turn left", "fly forward"}, False),
        ({"stay in place"}, {"turn left", "ascend"}, False),
        ({"ascend"}, {"ascend", "turn left"}, True),
    ],
)
def test_what_may_be_said_of_a_movement(general, special, holds):
    assert covers(frozenset(general), frozenset(special)) is holds


def test_the_four_ways_of_flying_come_of_one_another():
    ways = {frozenset({f"fly {way}"}) for way in ("forward", "backward", "left", "right")}
    for way in ways:
        assert {way, opposed(way), quartered(way), quartered(opposed(way))} == ways
        assert quartered(opposed(way)) == opposed(quartered(way))


def test_without_a_heading_the_words_are_those_of_the_others():
    assert phrase({"ascend", "fly horizontally"}, "third") == "flies horizontally while ascending"
    assert phrase({"stay in place"}, "ing") == "staying in place"
    assert stilled(frozenset({"stay in place"})) == {"fly horizontally"}
    assert stilled(frozenset({"fly horizontally", "ascend"})) == {"fly horizontally", "ascend"}
