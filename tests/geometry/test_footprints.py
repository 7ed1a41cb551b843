"""Upright rectangles on the ground, held against shapely's polygons."""

import numpy as np
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.geometry.footprints import Rectangles, distance_to_m, gap_m
from pipeline.geometry.grids import covered

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


# ---- cells in polygons: by hand, and as shapely says, point by point


CORNER = np.array([-3.0, 2.0])
SHAPE = (14, 17)


def by_shapely(polygons: list[shapely.Polygon]) -> np.ndarray:
    rows, columns = SHAPE
    x, y = np.meshgrid(CORNER[0] + np.arange(columns) + 0.5, CORNER[1] + np.arange(rows) + 0.5)
    return np.any([shapely.contains_xy(polygon, x, y) for polygon in polygons], axis=0)


def test_a_square_with_a_hole() -> None:
    ring = shapely.Polygon([(0, 3), (4, 3), (4, 7), (0, 7)], [[(1, 4), (3, 4), (3, 6), (1, 6)]])
    found = covered([ring], CORNER, 1.0, SHAPE)
    assert found.sum() == 16 - 4
    assert found[1, 3:7].all()
    assert found[2, 3:7].tolist() == [True, False, False, True]


def test_what_reaches_beyond_the_grid_is_cut_off() -> None:
    assert covered([shapely.box(-50, -50, 50, 50)], CORNER, 1.0, SHAPE).all()
    assert not covered([shapely.box(30, 3, 50, 9), shapely.box(-9, 3, -4, 9)], CORNER, 1.0, SHAPE).any()
    assert not covered([], CORNER, 1.0, SHAPE).any()


numbers = st.integers(-60, 180).map(lambda tenths: tenths / 10 + 0.013)  # never the middle of a cell
triangles = st.lists(st.tuples(numbers, numbers), min_size=3, max_size=6).map(shapely.MultiPoint)


@settings(max_examples=60, deadline=None)
@given(st.lists(triangles, min_size=1, max_size=4))
def test_as_shapely_says(clouds: list[shapely.MultiPoint]) -> None:
    polygons = [hull for cloud in clouds if (hull := cloud.convex_hull).geom_type == "Polygon"]
    polygons += [polygon.buffer(0.7) for polygon in polygons[:1]]
    if polygons:
        assert np.array_equal(covered(polygons, CORNER, 1.0, SHAPE), by_shapely(polygons))
