"""The hull of a few points: the corners that Qhull finds, and none of what stands out by nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from pipeline.geometry.areas import NEAR_M, hull


@pytest.mark.parametrize("seed", range(30))
def test_corners_are_those_of_qhull_counter_clockwise(seed: int) -> None:
    points = np.random.default_rng(seed).uniform(-5, 5, (8, 2))
    expected = [tuple(corner) for corner in points[ConvexHull(points).vertices].tolist()]
    found = hull(points)
    start = expected.index(found[0])
    assert found == expected[start:] + expected[:start]


def test_a_square_with_points_on_its_sides_within_it_and_twice() -> None:
    square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
    more = [(1.0, 0.0), (1.0, 1.0), (2.0, 2.0 + 1e-12), (1.0, -1e-9)]
    found = hull(np.array([*more, *square]))
    assert np.allclose(found, square)
    assert len(found) == 4


@pytest.mark.parametrize("points", [[(1.0, 1.0)] * 3, [(0.0, 0.0), (1.0, 1.0), (3.0, 3.0)]])
def test_what_has_no_area_has_fewer_than_three_corners(points: list[tuple[float, float]]) -> None:
    assert len(hull(np.array(points))) < 3


@pytest.mark.parametrize(("out", "corners"), [(0.5, 3), (1.5, 4)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_corner_stands_out_by_metres_whatever_the_length_of_its_line(out: float, corners: int, turned: bool) -> None:
    """A line of 4 m from (3, 100) to (7, 100), or from (100, 7) to (100, 3), and what stands out of its middle."""
    points = np.array([(3.0, 100.0), (7.0, 100.0), (5.0, 103.0), (5.0, 100.0 - out * NEAR_M)])
    assert len(hull(points[:, ::-1] if turned else points)) == corners
