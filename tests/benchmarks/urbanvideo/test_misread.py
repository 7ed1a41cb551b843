"""What the options alone tell: not which of them is right."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.captions import CaptionPassage, Misreading, misread, misreadings
from pipeline.benchmarks.urbanvideo.tasks.maps import Drawing
from pipeline.questions.choices import draw_options
from pipeline.worlds.flight.steps import ALL, flipped, mirrored, overlap
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import flight, motion, random_flight, row, rows

CAPTIONS, MAPS = "Trajectory Captioning", "Cognitive Map"
Parts = Mapping[Any, Any]  # place -> what an option says there


def clauses(option: str) -> Parts:
    return dict(enumerate(option.removeprefix("It ").removesuffix(".").split(", then ")))


def signs(option: str) -> Parts:
    lines = option.split(" / ")
    return {sign: (r, c) for r, line in enumerate(lines) for c, sign in enumerate(line) if sign not in ".*"}


PARTS = {CAPTIONS: clauses, MAPS: signs}


def asked(task: str, flights: int) -> list[dict[str, Any]]:
    return [r for seed in range(flights) for r in rows(random_flight(seed), task) if r["reason"] is None]


def voted(told: Sequence[Parts]) -> list[int]:
    """The options that agree most with the others, place by place."""
    votes = [sum(parts[place] == other[place] for other in told for place in parts) for parts in told]
    return [i for i, count in enumerate(votes) if count == max(votes)]


@pytest.mark.long
@pytest.mark.parametrize("task", PARTS)
def test_the_majority_is_not_right(task: str) -> None:
    """Of the options as they are drawn: it was right 34 and 45 times of 100 where only the right one was misread."""
    right = []
    for found in asked(task, 300):
        offered = draw_options(found["id"], found["answer"], (found["answer"], *found["wrong"]), 5)
        guesses = voted([PARTS[task](option) for option in offered])
        right.append((offered.index(found["answer"]) in guesses) / len(guesses))
    assert len(right) > 90
    assert np.mean(right) < 0.25


def flip(bit: int) -> Callable[[int], int]:
    return lambda n: n ^ bit


def test_any_reading_has_all_others_for_its_misreadings() -> None:
    ways = [Misreading(flip(bit)) for bit in (1, 2, 4, 8)]
    for right in range(8):
        found = misreadings(right, ways, lambda n: True, lambda a, b: a == b)
        assert {right, *found} == set(range(8)), right


def test_any_caption_has_all_others_for_its_misreadings() -> None:
    compared = 0
    for seed in range(40):
        legs = [CaptionPassage(step.actions, None) for step in FlightView(random_flight(seed), UrbanRules()).steps]
        for right in (tuple(legs[i : i + 4]) for i in range(len(legs) - 3)):
            kinds = [leg.actions | mirrored(leg.actions) | flipped(leg.actions) for leg in right]
            if any(overlap(a, b) for a, b in combinations(kinds, 2)):
                continue  # then what is possible in one order is not so in another
            found = {right, *misread(right, ALL, grounded=False)}
            assert len(found) in {4, 8}
            for other in found:
                assert {other, *misread(other, ALL, grounded=False)} == found
            compared += 1
    assert compared > 20


def test_ways_that_give_nothing_possible_or_nothing_new_are_left_out() -> None:
    ways = [Misreading(flip(bit)) for bit in (1, 16, 3, 1, 2)]  # 3 and 1 before 2: 2 gives nothing new
    found = misreadings(0, ways, lambda n: n < 16, lambda a, b: a == b)
    assert set(found) == {1, 2, 3}
    exchanges = [Misreading(flip(1 << i), frozenset((i, i + 1))) for i in range(3)]
    assert set(misreadings(0, exchanges, lambda n: True, lambda a, b: a == b)) == {1, 4, 5}


@pytest.mark.parametrize(("height", "grounded"), [(1.9, True), (2.1, False)])
def test_on_the_ground_a_drone_ascends_first(height: float, grounded: bool) -> None:
    moves = [("ascend", 5, 20), ("turn left", 5, 90), ("descend", 5, 10), ("fly right", 5, 40)]
    found = row(flight(motion(moves, start=(0, 0, height))), CAPTIONS, "over the flight so far", "0:20")
    first = {clauses(option)[0] for option in (found["answer"], *found["wrong"])}
    assert first == ({"ascends"} if grounded else {"ascends", "descends"})


def test_on_the_ground_the_camera_may_be_tilted_first() -> None:
    moves = [("ascend", 5, 20), ("gimbal down", 5, 30), ("hover", 5, 0), ("gimbal up", 5, 20)]
    found = row(flight(motion(moves, start=(0, 0, 0))), CAPTIONS, "over the flight so far", "0:20")
    assert {clauses(option)[0] for option in (found["answer"], *found["wrong"])} == {
        "ascends",
        "tilts the camera down",
    }  # and not up: from level nobody tilts it up first


def test_a_movement_is_not_split_in_two() -> None:
    moves = [("fly forward", 5, 40), ("turn left", 5, 90), ("fly forward", 5, 40), ("ascend", 5, 10)]
    found = row(flight(motion(moves)), CAPTIONS, "over the flight so far", "0:20")
    assert len(found["wrong"]) == 7
    for option in found["wrong"]:
        assert all(a != b for a, b in pairwise(clauses(option).values())), option


def drawing(*spots: tuple[int, int]) -> Drawing:
    """Landmarks, and a path of two cells."""
    cells = np.array(spots)
    return Drawing(cells[-2:], cells[:-2])


@pytest.mark.parametrize(
    ("spots", "shift"),
    [
        (((0, 0), (4, 4), (2, 2), (3, 2)), 0),
        (((2, 1), (6, 5), (4, 3), (5, 3)), 0),  # moved as a whole
        (((0, 3), (4, 4), (2, 2), (3, 2)), 1.5),  # one landmark by three cells
        (((4, 4), (0, 0), (2, 2), (3, 2)), 4),  # two exchanged
        (((0, 0), (4, 4), (2, 4), (3, 4)), 1),  # the path by two cells
    ],
)
def test_a_map_that_is_moved_is_the_same(spots: tuple[tuple[int, int], ...], shift: float) -> None:
    assert drawing(*spots).shift(drawing((0, 0), (4, 4), (2, 2), (3, 2))) == shift


def wrong_ways(found: Mapping[str, Any]) -> set[tuple[bool, frozenset[str]]]:
    """Of each wrong map whether it is mirrored, and which landmarks stand in another's place."""
    right, labels = signs(found["answer"]), found["operands"][1:]
    ways = set()
    for option in found["wrong"]:
        flip = re.sub(r"\d", "#", option) != re.sub(r"\d", "#", found["answer"])
        told = signs(" / ".join(line[::-1] for line in option.split(" / ")) if flip else option)
        assert {*told.values()} == {*right.values()}
        ways.add((flip, frozenset(label for n, label in enumerate(labels, 1) if told[str(n)] != right[str(n)])))
    return ways


@pytest.mark.slow
def test_all_maps_of_a_flight_are_wrong_in_the_same_ways() -> None:
    """Of maps that were each wrong in ways of their own the right ones agreed: 41% could be told from two or more."""
    maps = defaultdict(list)
    for found in asked(MAPS, 25):
        maps[found["scene"]].append(wrong_ways(found))
    assert all(ways == others[0] for others in maps.values() for ways in others)
    assert sum(len(others) > 1 for others in maps.values()) >= 15
    assert {len(others[0]) for others in maps.values()} == {3, 4}


@pytest.mark.slow
def test_wrong_maps_are_off_however_they_are_laid_over_the_right_one() -> None:
    shifts = np.stack(np.meshgrid(*[np.arange(-7, 7.25, 0.25)] * 2), axis=-1).reshape(-1, 1, 2)
    for found in asked(MAPS, 15):
        options = [signs(option) for option in (found["answer"], *found["wrong"])]
        for other in options[1:]:
            off = np.array([np.subtract(other[sign], options[0][sign]) for sign in other])
            assert np.abs(off + shifts).max((1, 2)).min() >= 2
