"""Upright rectangles on the ground, held against shapely's polygons."""

from __future__ import annotations

import numpy as np
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.geometry.footprints import Rectangles, distance_to_m, gap_m

Numbers = tuple[float, float, float, float, float]
ONE = st.tuples(
    st.floats(-5, 5),
    st.floats(-5, 5),
    st.floats(0, 3),
    st.floats(0, 1),
    st.sampled_from((0.0, 90.0, 45.0, -180.0, 33.3)),
)


def rectangles(*of: Numbers) -> Rectangles:
    table = np.array(of)
    return Rectangles(table[:, :2], table[:, 2:4], table[:, 4])


def test_corners_go_round_from_the_left_front() -> None:
    (corners,) = rectangles((10.0, 5.0, 2.0, 1.0, 90.0)).corners().round(12).tolist()
    assert corners == [[9.0, 7.0], [9.0, 3.0], [11.0, 3.0], [11.0, 7.0]]


def test_gaps_by_hand() -> None:
    car = rectangles((0.0, 0.0, 2.0, 1.0, 0.0))
    others = rectangles(
        (10.0, 0.0, 2.0, 1.0, 0.0),  # ahead
        (0.0, 10.0, 2.0, 1.0, 90.0),  # to the left, across
        (5.0, 5.0, 2.0, 1.0, 0.0),  # from corner to corner
        (0.0, 0.0, 0.5, 0.5, 45.0),  # within
        (0.0, 0.0, 0.1, 9.0, 0.0),  # a cross: no corner lies in the other
        (4.0, 0.0, 2.0, 1.0, 0.0),  # touching
    )
    assert gap_m(car, others).round(12).tolist() == [6.0, 7.0, round(float(np.hypot(1, 3)), 12), 0.0, 0.0, 0.0]
    unknown = rectangles((np.nan, 0.0, 2.0, 1.0, 0.0), (9.0, 0.0, np.nan, 1.0, 0.0), (9.0, 0.0, 2.0, 1.0, np.nan))
    assert np.isnan(gap_m(car, unknown)).all()
    assert distance_to_m(car, np.array([[[5.0, 0.0], [0.0, 0.5], [0.0, -3.0]]])).tolist() == [[3.0, 0.0, 2.0]]


@settings(max_examples=40)
@given(ONE, ONE)
def test_gaps_are_those_of_shapely(first: Numbers, second: Numbers) -> None:
    a, b = rectangles(first), rectangles(second)
    polygons = [shapely.MultiPoint(one.corners()[0]).convex_hull for one in (a, b)]
    assert abs(gap_m(a, b)[0] - shapely.distance(*polygons)) < 1e-9
    assert gap_m(a, b) == gap_m(b, a)
