"""Floor that is missing from the mesh where the camera was carried, on hand-drawn floors."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.worlds.indoor.facts import Room
from pipeline.worlds.indoor.observe.visibility import REACH_M, unscanned_below

SQUARE = ((0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0))
# A gap across the room, from wall to wall but for half a metre at each end.
GAP = ((0.5, 4.0), (0.5, 6.0), (9.5, 6.0), (9.5, 4.0))
WHOLE = Room(area_m2=100.0, floor=(SQUARE,))
BROKEN = Room(area_m2=82.0, floor=(SQUARE, GAP))


def straight(x0: float, y0: float, x1: float, y1: float) -> np.ndarray:
    share = np.linspace(0, 1, 400)[:, None]
    return np.hstack([np.array([[x0, y0]]) * (1 - share) + np.array([[x1, y1]]) * share, np.full((400, 1), 1.5)])


def test_a_path_over_scanned_floor_misses_nothing() -> None:
    found = unscanned_below(WHOLE, straight(1, 1, 9, 9))
    assert found is not None
    assert found.area_m2 == 0


def test_a_path_across_a_gap_misses_a_strip_of_it() -> None:
    # 2 m long and twice the reach wide; the raster of 5 cm adds at most a cell on every side.
    found = unscanned_below(BROKEN, straight(5, 2, 5, 8))
    assert found is not None
    assert found.area_m2 == pytest.approx(2.0 * 2 * REACH_M, rel=0.1)
    assert found.share == pytest.approx(found.area_m2 / 82.0)


def test_a_gap_beside_the_path_does_not_count() -> None:
    found = unscanned_below(BROKEN, straight(1, 3.4, 9, 3.4))
    assert found is not None
    assert found.area_m2 == 0


def test_a_walk_out_of_the_scan_counts() -> None:
    # 5 m beyond the wall, with a half circle of the reach at its end; the raster adds up to half a cell on every side.
    found = unscanned_below(WHOLE, straight(5, 5, 15, 5))
    assert found is not None
    assert found.area_m2 == pytest.approx(5 * 2 * REACH_M + np.pi * REACH_M**2 / 2, abs=0.05 * 12)


def test_standing_still_counts_once() -> None:
    found = unscanned_below(BROKEN, np.tile([[5.0, 5.0, 1.5]], (500, 1)))
    assert found is not None
    assert found.area_m2 == pytest.approx(np.pi * REACH_M**2, rel=0.05)


def test_broken_poses_are_left_out() -> None:
    path = straight(1, 1, 9, 9)
    path[10:20] = np.inf
    assert unscanned_below(WHOLE, path) == unscanned_below(WHOLE, straight(1, 1, 9, 9))


@pytest.mark.parametrize(
    ("room", "path"),
    [
        (Room(), straight(1, 1, 9, 9)),
        (Room(area_m2=100.0), straight(1, 1, 9, 9)),
        (WHOLE, np.empty((0, 3))),
        (WHOLE, np.full((3, 3), np.nan)),
    ],
)
def test_without_floor_or_path_nothing_is_claimed(room: Room, path: np.ndarray) -> None:
    assert unscanned_below(room, path) is None
