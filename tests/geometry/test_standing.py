"""Places beside an object: on the ring around it, and free where a body fits. Shapely is the oracle."""

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from pipeline.geometry.boxes import Boxes, stack
from pipeline.geometry.floors import (
    CELL_M,
    PLACES,
    REACH_M,
    FloorGrid,
    FreeFloor,
    body_clearance,
    clearance_m,
    footprints,
    free_floor,
    seen_floor,
    standing_places,
)
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
    assert local[[0, 18, 36, 54]] == pytest.approx(np.array([[1.3, 0], [0, 1.1], [-1.3, 0], [0, -1.1]])), (
        "counter-clockwise"
    )


def test_clearance_of_the_floor_reaches_to_all_four_walls() -> None:
    beside_walls = np.array([[0.3, 2.0], [3.7, 2.0], [2.0, 0.3], [2.0, 3.7], [4.1, 2.0], [2.0, -0.1]])
    found = free_floor(ROOM).at(beside_walls)
    assert found == pytest.approx([0.3] * 4 + [0.0] * 2, abs=1.5 * CELL_M)
    assert (found[4:] == 0).all()


def test_clearance_from_a_slanting_wall() -> None:
    """Walls at x = 1, y = 1 and x + y = 6."""
    slanting = free_floor([[(1.0, 1.0), (5.0, 1.0), (1.0, 5.0)]])
    places = np.array([[2.0, 2.0], [2.8, 2.8], [1.5, 4.0], [4.0, 1.5], [3.2, 3.2], [4.0, 4.0], [0.8, 4.0]])
    gap = np.sqrt(2.0) * np.array([2.0, 0.4, 0.5, 0.5]) / 2
    assert slanting.at(places) == pytest.approx([1.0, *gap[1:], 0.0, 0.0, 0.0], abs=1.5 * CELL_M)
    assert (slanting.at(places)[4:] == 0).all()


def test_beyond_the_grid_there_is_no_floor() -> None:
    """Three rows along y of two columns along x."""
    grid = FreeFloor(np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([10.0, 20.0]))
    inside = np.array([[10.0, 20], [10.05, 20], [10, 20.1], [10.06, 20.09]])
    outside = np.array([[9.95, 20], [10.1, 20], [99, 20], [10, 19.95], [10, 20.15], [10, 99]])
    assert grid.at(inside).tolist() == [1, 2, 5, 6]
    assert not grid.at(outside).any()


@pytest.mark.parametrize("floor_known", [False, True])
def test_what_a_scan_shows_of_the_floor(floor_known: bool) -> None:
    """Columns 4 and 5 are thinly scanned and count as floor, 9 to 11 are a gap; three cells of margin are around.

    Above column 1 stands something at breast height, above 2 hangs a lamp, on 3 lies a rug.
    """
    seen = [0, 1, 2, 3, 6, 7, 8, 12, 13, 14]
    floor = [[0.05 * x, 0.05 * y, 2.0] for x in seen for y in range(6)]
    things = [[0.05, 0.1, 3.0], [0.1, 0.1, 3.6], [0.15, 0.1, 2.05]]
    grid = seen_floor(np.array([*floor, *things]), 2.0, floor_known)
    assert grid.origin == pytest.approx([-0.15, -0.15])
    expected = np.full((6 + 6, 15 + 6), floor_known)
    expected[3:9, 3:12] = expected[3:9, 15:18] = True
    expected[3 + 2, 3 + 1] = False
    assert grid.walkable.tolist() == expected.tolist()


def test_the_heights_of_a_body_end_where_they_say() -> None:
    """At 0.1 m it is floor, and at 1.5 m out of the way."""
    heights = [0.0, -0.1, -0.2, 0.1, 0.2, 1.4, 1.5]
    points = np.array([[0.5 * n, 0.0, z] for n, z in enumerate(heights)])
    assert seen_floor(points, 0.0, True).walkable[3, 3::10].tolist() == [True] * 4 + [False] * 2 + [True]
    steps = 0.05 * np.array([[x, y, 0] for x in range(3) for y in range(3)])
    wide = (points + steps[:, None]).reshape(-1, 3)
    assert seen_floor(wide, 0.0, False).walkable[4, 4::10].tolist() == [True, True, False, True] + [False] * 3


def test_under_a_box_counts_as_floor_and_ten_centimetres_about_it() -> None:
    """A thing 20 cm wide amid a floor that nobody saw: 19 cm from its middle, and the next cells at 20 cm are out."""
    dark = FloorGrid(np.zeros((21, 31), dtype=bool), np.array([0.0, 1.0]))
    free = body_clearance(dark, boxes((1.0, 1.5, 0.2, 0.2, 0)))
    across = np.array([[1.0 + 0.05 * n, 1.5] for n in range(-5, 6)])
    assert free.at(across) == pytest.approx([0, 0, 0.05, 0.1, 0.15, 0.2, 0.15, 0.1, 0.05, 0, 0])
    assert free.at(across[:, ::-1] + [-0.5, 0.5]) == pytest.approx(free.at(across))
    assert (free.clearance_m > 0).sum() == 7 * 7


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


def test_rays_enter_and_leave_floor_plans_by_hand() -> None:
    """From the middle of the first of three, along x: 1.2 m ahead and behind, then into the third, past the second."""
    plans = footprints(boxes((0, 0, 2, 2, 0), (5, 5, 1, 1, 0), (5, 0, 2, 1, 90)), RADIUS_M)
    from_m, along = np.zeros((2, 2)), np.array([[1.0, 0.0], [0.0, 1.0]])
    enter, leave = plans.crossings_m(from_m, along)
    np.testing.assert_allclose(enter, [[-1.2, np.inf, 5 - 0.7], [-1.2, np.inf, np.inf]])
    np.testing.assert_allclose(leave, [[1.2, -np.inf, 5 + 0.7], [1.2, -np.inf, -np.inf]])
    for index in range(3):
        one = plans.crossings_m(from_m, along, np.full(2, index))
        np.testing.assert_array_equal(one, (enter[:, index], leave[:, index]))
