"""Cells in polygons: by hand, and as shapely says, point by point."""

from __future__ import annotations

import numpy as np
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.geometry.grids import covered

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
