"""Places beside an object: on the ring around it, and free where a body fits. Shapely is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from pipeline.geometry.boxes import Boxes, stack
from pipeline.geometry.floors import CELL_M, PLACES, REACH_M, clearance_m, free_floor, standing_places
from tests.conftest import yaw_axes

RADIUS_M = 0.2
ROOM = (((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)),)
PILLAR = ((1.0, 1.0), (1.0, 1.5), (1.5, 1.5), (1.5, 1.0))  # a hole in the floor


def boxes(*placed: tuple[float, float, float, float, float]) -> Boxes:
    """Boxes 1 m high on the floor: x, y, length, width, yaw in degrees."""
    x, y, length, width, yaw = map(np.array, zip(*placed, strict=True))
    center = np.stack([x, y, np.full(len(x), 0.5)], axis=1)
    lengths = np.stack([length, width, np.ones(len(x))], axis=1)
    return stack(center, lengths, np.stack([yaw_axes(degrees) for degrees in yaw]))


def outline(all_boxes: Boxes, index: int) -> shapely.Polygon:
    return shapely.MultiPoint(all_boxes.corners()[index, :, :2]).convex_hull


@pytest.mark.parametrize("yaw", [0.0, 30.0, 217.0])
def test_places_are_30_cm_from_every_side(yaw: float) -> None:
    bed = boxes((1.0, 2.0, 2.0, 1.6, yaw))
    beside = standing_places(bed, np.array([0]), RADIUS_M, None)
    assert beside.place.shape == (1, PLACES, 2)
    assert beside.free.all()
    local = (beside.place[0] - [1.0, 2.0]) @ yaw_axes(yaw)[:2, :2].T
    np.testing.assert_allclose(np.abs(local / [1.3, 1.1]).max(1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(local).max(0), [1.3, 1.1], atol=1e-12)  # all four sides have some


def test_clearance_of_the_floor_reaches_to_all_four_walls() -> None:
    beside_walls = np.array([[0.3, 2.0], [3.7, 2.0], [2.0, 0.3], [2.0, 3.7], [4.1, 2.0], [2.0, -0.1]])
    found = free_floor(ROOM).at(beside_walls)
    assert found == pytest.approx([0.3] * 4 + [0.0] * 2, abs=1.5 * CELL_M)
    assert (found[4:] == 0).all()


def test_a_place_is_free_on_the_floor_and_clear_of_furniture() -> None:
    room = boxes((0.5, 2.0, 1.0, 1.0, 0), (2.0, 2.0, 1.0, 1.0, 45))  # the first stands at the wall
    beside = standing_places(room, np.array([0, 1]), RADIUS_M, ROOM)
    inner = shapely.Polygon(ROOM[0]).buffer(-RADIUS_M, join_style="mitre")
    for number in (0, 1):
        clear = shapely.difference(inner, outline(room, 1 - number).buffer(RADIUS_M, join_style="mitre"))
        expected = shapely.intersects_xy(clear, *beside.place[number].T)
        assert beside.free[number].tolist() == expected.tolist()
    assert 0 < beside.free[0].sum() < PLACES


def test_what_hangs_high_or_lies_flat_is_in_nobodys_way() -> None:
    chair, over = boxes((2.0, 2.0, 0.4, 0.4, 0)), boxes((2.5, 2.0, 1.0, 1.0, 0))
    lamp, rug = over._replace(center=over.center + np.array([0, 0, 2.0])), over._replace(half=over.half * [1, 1, 0.02])
    rug = rug._replace(center=rug.center - np.array([0, 0, 0.49]))
    for other, free in ((lamp, True), (rug, True), (over, False)):
        both = Boxes(*(np.concatenate(columns) for columns in zip(chair, other, strict=True)))
        assert standing_places(both, np.array([0]), RADIUS_M, ROOM).free.all() == free


def test_beside_a_telephone_one_stands_at_the_edge_of_the_table() -> None:
    room = boxes((2.0, 2.0, 0.2, 0.2, 0), (2.0, 2.0, 1.4, 0.9, 0))
    beside = standing_places(room, np.array([0]), RADIUS_M, ROOM)
    free = beside.place[0][beside.free[0]]
    reach = np.abs(free - 2.0).max(1) - 0.1
    np.testing.assert_allclose(reach, 0.6, atol=1e-9)  # the table's edge and the body keep one 0.55 m off
    assert set(np.abs(free[:, 1] - 2.0).round(6)) == {0.7}  # at the long sides alone


def test_amid_a_wide_table_there_is_nowhere_to_stand() -> None:
    room = boxes((2.0, 2.0, 0.2, 0.2, 0), (2.0, 2.0, 2.6, 2.6, 0))
    assert max(REACH_M) < 1.3 + RADIUS_M - 0.1
    assert not standing_places(room, np.array([0]), RADIUS_M, ROOM).free.any()


@pytest.mark.slow
@given(st.integers(0, 10_000), st.floats(-180, 180))
def test_places_turn_with_the_room(seed: int, yaw: float) -> None:
    rng = np.random.default_rng(seed)
    placed = [(*rng.uniform(0.5, 3.5, 2), *rng.uniform(0.1, 1.5, 2), rng.uniform(0, 360)) for _ in range(4)]
    here = boxes(*placed)
    turn = yaw_axes(yaw)
    there = Boxes(here.center @ turn, here.half, here.axes @ turn)
    floor = [np.array(ring) for ring in (*ROOM, PILLAR)]
    turned = [ring @ turn[:2, :2] for ring in floor]
    one, other = (standing_places(b, np.arange(4), RADIUS_M, f) for b, f in ((here, floor), (there, turned)))
    np.testing.assert_allclose(one.place @ turn[:2, :2], other.place, atol=1e-9)
    assert one.free.tolist() == other.free.tolist()


@given(st.integers(0, 10_000))
def test_clearance_is_the_distance_to_the_nearest_outline(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 12))
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * rng.uniform(1.0, 3.0, 12)[:, None] + 1.2
    floor = shapely.Polygon(ring, [PILLAR])
    if not floor.is_valid or not shapely.Polygon(ring).contains(shapely.Polygon(PILLAR)):
        return
    points = rng.uniform(-2.5, 5.0, (200, 2))
    inside = shapely.contains_xy(floor, *points.T)
    expected = np.where(inside, shapely.distance(floor.boundary, shapely.points(points)), 0.0)
    np.testing.assert_allclose(clearance_m(points, (ring, PILLAR)), expected, atol=1e-9)
