"""Free space: by hand, and with shapely's distances as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.worlds.city.facts import CityThing
from pipeline.worlds.city.occluders import Occluders
from pipeline.worlds.city.paths import FreeSpace
from tests.worlds.city.cities import city, house, point


@pytest.mark.parametrize(
    ("x", "y", "z", "free"),
    [
        (39.4, 45, 5, True),  # 0.6 m before the wall
        (39.6, 45, 5, False),  # 0.4 m: the body touches it
        (45, 45, 5, False),
        (45, 45, 10.4, False),  # on the roof, but not over it by the body
        (45, 45, 10.6, True),
        (39.6, 39.6, 5, True),  # 0.57 m from the corner, though 0.4 m from both walls' lines
        (39.7, 39.7, 5, False),
        (20, 20, 0.4, False),  # in the ground
        (20, 20, 0.6, True),
        (-0.1, 20, 5, False),  # off the map
        (0.1, 20, 5, True),
    ],
)
def test_about_a_house(x: float, y: float, z: float, free: bool) -> None:
    space = FreeSpace(city(house("h", 40, 40, 10, 10)), body_m=0.5)
    assert space.free(np.array([[x, y, z]])).tolist() == [free]


def test_the_grid_about_a_house() -> None:
    slab = FreeSpace(city(house("h", 40, 40, 10, 10)), body_m=0.5).slab(5.0)
    assert slab.free.shape == (100, 100)
    # Middles at 39.5 and 50.5 touch by the radius exactly, but for those at the corners: 12 x 12 cells less 4.
    assert (~slab.free).sum() == 140
    assert not slab.free[39:51, 40:50].any()
    assert slab.free[39, 39]
    assert slab.cells(np.array([[40.2, 41.9]])).tolist() == [[41, 40]]
    assert slab.middles(np.array([[41, 40]])).tolist() == [[40.5, 41.5, 5.0]]


def test_a_house_of_unknown_height_is_in_the_way_at_every_height() -> None:
    space = FreeSpace(city(house("low", 10, 10, 5, 5, 4.0), house("unknown", 40, 40, 10, 10, None)))
    assert (
        space.free(np.array([[12, 12, 9], [45, 45, 9], [45, 45, 100], [45, 45, 250]])).tolist() == [True] + [False] * 3
    )


def test_small_things_stand_in_the_way_where_they_are() -> None:
    space = FreeSpace(city(point("t", "tree", 20, 20), point("c", "car", 40, 40), point("p", "signboard", 60, 60)))
    at = np.array([[20, 20, 5], [21.8, 20, 1], [21.8, 20, 5], [20, 20, 9], [40, 40, 5], [40, 40, 1]])
    # A crown from 2 to 7 m, a trunk below; a car of 1.5 m; a signboard that faces nowhere stands nowhere.
    assert space.free(at).tolist() == [False, True, False, True, True, False]
    assert space.free(np.array([[60, 60, 3.5]])).all()


def test_without_a_map_nothing_is_free() -> None:
    bare = city().model_copy(update={"bounds": None})
    assert not FreeSpace(bare).free(np.array([[1.0, 1, 5]])).any()
    assert FreeSpace(bare).slab(5.0).free.size == 0


@st.composite
def houses(draw: st.DrawFn) -> list[CityThing]:
    whole = st.integers(0, 28)
    sides = st.integers(1, 12)
    heights = st.one_of(st.none(), st.floats(1, 12))
    return [
        house(f"h{i}", draw(whole), draw(whole), draw(sides), draw(sides), draw(heights))
        for i in range(draw(st.integers(0, 5)))
    ]


@settings(max_examples=30, deadline=None)
@given(houses(), st.sampled_from([2.0, 5.0, 9.0]), st.sampled_from([0.3, 0.8]))
def test_points_and_grid_are_as_shapely_says(things: list[CityThing], z: float, body: float) -> None:
    here = city(*things, size_m=30.0)
    space, slab = FreeSpace(here, body), FreeSpace(here, body).slab(z)
    rows, columns = np.indices(slab.free.shape).reshape(2, -1)
    points = slab.middles(np.column_stack([rows, columns]))
    expected = np.ones(len(points), dtype=bool)
    sure = np.ones(len(points), dtype=bool)
    for prism in Occluders(here).prisms:
        if prism.base_m - body < z < prism.top_m + body:
            away = shapely.distance(shapely.Polygon(prism.ring), shapely.points(points[:, :2]))
            expected &= away > body
            sure &= np.abs(away - body) > 2e-3  # corners of the grid are rounded by chords
    assert np.array_equal(slab.free.ravel()[sure], expected[sure])
    assert np.array_equal(space.free(points)[sure], expected[sure])
