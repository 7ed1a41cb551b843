"""Steps through a city."""

from __future__ import annotations

import pytest

from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.walk import Walkway
from tests.worlds.city.cities import city, house

START = (45.0, 10.0, 5.0, 0.0, 0.0, 0.0)


@pytest.fixture
def walk() -> Walkway:
    return Walkway(FreeSpace(city(house("h", 40, 40, 10, 10))), START)


def test_moves_follow_the_nose(walk: Walkway) -> None:
    for action in ("forward", "turn right", "turn right", "turn right", "forward", "left", "right", "back"):
        assert walk.act(action) is None
    places = [pose[:2] for pose in walk.steps]
    assert places == [(45, 10), (45, 20), (45, 20), (45, 20), (45, 20), (55, 20), (55, 30), (55, 20), (45, 20)]
    assert walk.pose[5] == 90.0
    assert walk.length_m == 50.0


def test_walls_and_the_end_of_the_map_stop_a_move(walk: Walkway) -> None:
    assert walk.act("forward") is None
    assert walk.act("forward") is None
    stopped = walk.act("forward")
    assert stopped is not None
    assert "after 9.5 m" in stopped  # 40 less the body's half metre, as far as was looked
    assert len(walk.steps) == 3
    for _ in range(3):
        walk.act("back")
    assert walk.pose[1] == 0.0
    assert walk.act("back") is not None


def test_heights_are_those_of_the_city(walk: Walkway) -> None:
    assert walk.act("rise") is None
    assert walk.pose[2] == 9.0
    assert walk.act("rise") == "agents move at 5, 9 m"
    assert walk.act("sink") is None


def test_the_camera_tilts_so_far(walk: Walkway) -> None:
    assert [walk.act("look up") for _ in range(3)] == [None, None, "the camera tilts by 60 degrees at most"]
    assert walk.pose[4] == 60.0
    assert walk.act("look down") is None
