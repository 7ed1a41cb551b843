"""Fitted boxes: hand-computed ones, properties of the world, and Open3D and brute force as oracles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings
from pipeline.core.schema import OrientedBox
from pipeline.formats.ply import PlyMesh
from pipeline.geometry.floors import CELL_M, free_floor
from pipeline.worlds.indoor.readers.box_fit import (
    BOX_FITS,
    BOX_METHODS,
    fit_gravity,
    fit_minimal,
    fit_minimal_jylanki,
    smallest_rectangle,
)
from pipeline.worlds.indoor.readers.meshes import HOLES_MAX, measure_room

# Of the six points below, by Open3D 0.18.0 and 0.20.0.
OLDER = (4.4721359549995805, 3.1304951684997064, 1.5)
NEWER = (1.2696220874, 4.0099873543, 3.0405590534)
SEEDS = st.integers(0, 2**32 - 1)


def turned(points: FloatArray, yaw_deg: float) -> FloatArray:
    c, s = np.cos(np.radians(yaw_deg)), np.sin(np.radians(yaw_deg))
    return points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def solid(lengths: tuple[float, float, float], seed: int = 0) -> FloatArray:
    """Corners of a box about the origin and points within."""
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    inner = np.random.default_rng(seed).uniform(-1, 1, (50, 3))
    return np.concatenate([signs, inner]) * np.array(lengths) / 2


def holds(box: OrientedBox, points: FloatArray, slack: float = 1e-9) -> bool:
    local = (points - np.array(box.center)) @ np.array(box.axes).T
    return bool((np.abs(local) <= np.array(box.lengths) / 2 + slack).all())


def volume(box: OrientedBox) -> float:
    return float(np.prod(box.lengths))


@pytest.mark.parametrize("yaw_deg", [0.0, 1.0, 30.0, 45.0, 89.0, 90.0, 91.0, 179.0, -37.0])
@pytest.mark.parametrize("fit", sorted(BOX_FITS))
def test_a_turned_box_is_found_again(fit: str, yaw_deg: float) -> None:
    lengths = (1.6, 0.7, 0.9)
    box = BOX_FITS[fit](turned(solid(lengths), yaw_deg) + np.array([2.0, -3.0, 0.5]))
    assert sorted(box.lengths) == pytest.approx(sorted(lengths), abs=1e-6)
    assert box.center == pytest.approx((2.0, -3.0, 0.5), abs=1e-6)
    longest = np.array(box.axes[int(np.argmax(box.lengths))])
    expected = turned(np.array([[1.0, 0.0, 0.0]]), yaw_deg)[0]
    assert abs(float(longest @ expected)) == pytest.approx(1.0, abs=1e-6)


def test_axes_of_upright_boxes_are_long_short_up() -> None:
    box = fit_gravity(turned(solid((0.4, 1.5, 3.0)), 20.0))
    assert box.lengths == pytest.approx((1.5, 0.4, 3.0))
    assert box.axes[2] == (0.0, 0.0, 1.0)
    assert np.linalg.det(np.array(box.axes)) == pytest.approx(1.0)


@given(SEEDS)
def test_upright_box_is_the_smallest_of_all_turns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(3, 60)), 3)) * [1.0, 0.5, 2.0]
    box = fit_gravity(points)
    assert holds(box, points)
    angle = np.radians(np.arange(0.0, 90.0, 0.25))
    along = np.outer(np.cos(angle), points[:, 0]) + np.outer(np.sin(angle), points[:, 1])
    across = np.outer(np.cos(angle), points[:, 1]) - np.outer(np.sin(angle), points[:, 0])
    brute = (np.ptp(along, axis=1) * np.ptp(across, axis=1)).min()
    assert box.lengths[0] * box.lengths[1] <= brute * (1 + 1e-9)
    assert box.lengths[0] * box.lengths[1] >= 0.97 * brute  # a quarter of a degree off at most


@given(SEEDS, st.floats(-180, 180))
def test_turning_and_moving_the_points_turns_and_moves_the_box(seed: int, yaw_deg: float) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (30, 3)) * [2.0, 0.6, 0.8]
    here, there = fit_gravity(points), fit_gravity(turned(points, yaw_deg) + np.array([3.0, 4.0, 5.0]))
    assert there.lengths == pytest.approx(here.lengths, abs=1e-9)
    np.testing.assert_allclose(there.center, turned(np.array([here.center]), yaw_deg)[0] + [3, 4, 5], atol=1e-9)


@pytest.mark.slow
@given(SEEDS)
def test_minimal_boxes_hold_all_and_the_newer_ones_are_no_larger_than_any(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(40, 3)) * [1.0, 0.5, 0.3]
    box = fit_minimal(points)
    assert holds(box, points, 1e-6)
    assert np.linalg.det(np.array(box.axes)) == pytest.approx(1.0)
    newer = fit_minimal_jylanki(points)
    assert holds(newer, points, 1e-6)
    assert volume(newer) <= min(volume(box), volume(fit_gravity(points))) * (1 + 1e-6)


def older_rule(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Open3D 0.18, OrientedBoundingBox::CreateFromPointsMinimal, as it stands there: sides in order, and centre."""
    hull = ConvexHull(points)
    best, found = np.inf, (np.zeros(3), np.zeros(3))
    for a, b, c in points[hull.simplices]:
        u, v = b - a, c - a
        w = np.cross(u, v)
        v = np.cross(w, u)
        turn = np.stack([side / np.linalg.norm(side) for side in (u, v, w)], axis=1)
        local = (points[hull.vertices] - a) @ np.linalg.inv(turn).T
        sides = np.ptp(local, axis=0)
        if sides.prod() < best:
            best, found = sides.prod(), (sides, turn @ (local.min(0) + local.max(0)) / 2 + a)
    return found


@pytest.mark.slow
@given(SEEDS)
def test_minimal_boxes_are_those_of_the_older_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(8, 60)), 3)) * [1.0, 0.5, 0.3]
    box = fit_minimal(points)
    sides, center = older_rule(points)
    np.testing.assert_allclose(box.lengths, sides, atol=1e-9)
    np.testing.assert_allclose(box.center, center, atol=1e-9)


def test_the_two_rules_for_minimal_boxes_differ() -> None:
    """Figures of Open3D 0.18.0 and 0.20.0 for these points: the newer box is smaller, its order of axes another."""
    points = np.array([[0, 0, 0], [4, 0, 0], [0, 2, 0], [0, 0, 1], [3, 2, 1.5], [1, 3, 0.5]], dtype=float)
    older, newer = fit_minimal(points), fit_minimal_jylanki(points)
    assert older.lengths == pytest.approx(OLDER, abs=1e-9)
    assert newer.lengths == pytest.approx(NEWER, abs=1e-8)
    assert volume(newer) < volume(older)


def test_triangles_without_area_are_passed_over() -> None:
    points = np.array([[x, y, z] for x in (0, 1, 2) for y in (0, 1) for z in (0, 1)], dtype=float)
    assert sorted(fit_minimal(points).lengths) == pytest.approx([1.0, 1.0, 2.0])


def test_a_leaning_board_shows_the_difference() -> None:
    c, s = np.cos(np.radians(20.0)), np.sin(np.radians(20.0))
    lean = np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]])
    points = solid((1.0, 0.05, 2.0)) @ lean
    assert sorted(fit_minimal(points).lengths) == pytest.approx([0.05, 1.0, 2.0], abs=1e-6)
    assert sorted(fit_gravity(points).lengths)[0] == pytest.approx(2.0 * s + 0.05 * c)


@pytest.mark.parametrize("fit", sorted(BOX_FITS))
@pytest.mark.parametrize(
    ("points", "lengths"),
    [
        ([[1.0, 2.0, 3.0]], (0.0, 0.0, 0.0)),
        ([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]], (0.0, 0.0, 5.0)),
        ([[0.0, 0.0, z] for z in (0.0, 1.0, 2.0)], (0.0, 0.0, 2.0)),
        ([[x, 2 * x, z] for x in (0.0, 0.5, 1.0) for z in (0.0, 1.0)], (0.0, 1.0, 5**0.5)),
        ([[1.0, 2.0, 3.0]] * 5, (0.0, 0.0, 0.0)),
        ([[x, y, 1.0] for x in (0.0, 2.0) for y in (0.0, 1.0)], (0.0, 1.0, 2.0)),
    ],
)
def test_flat_things_have_boxes_without_volume(
    fit: str, points: list[list[float]], lengths: tuple[float, float, float]
) -> None:
    box = BOX_FITS[fit](np.array(points))
    assert sorted(box.lengths) == pytest.approx(lengths, abs=1e-9)
    assert holds(box, np.array(points))


def test_a_square_takes_the_direction_nearest_to_the_axes() -> None:
    corners = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]])
    direction, low, high = smallest_rectangle(corners)
    np.testing.assert_array_equal(direction, [1.0, 0.0])
    np.testing.assert_array_equal((low, high), ([0.0, 0.0], [1.0, 1.0]))


def test_the_order_of_the_points_changes_nothing() -> None:
    points = np.random.default_rng(5).normal(size=(200, 3))
    shuffled = np.random.default_rng(6).permutation(points)
    assert fit_gravity(points) == fit_gravity(shuffled)


def test_every_fit_has_a_name_for_the_provenance() -> None:
    assert set(BOX_FITS) == set(BOX_METHODS)


def floor(hole_m: float = 0.0) -> np.ndarray:
    """Vertices of a floor of 4 x 4 m, every 5 cm, with a square hole amid it, and four lamps above."""
    x, y = np.meshgrid(np.linspace(0, 4, 81), np.linspace(0, 4, 81))
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    inside = (np.abs(points[:, :2] - 2) < hole_m / 2).all(axis=1)
    lamps = [[x, y, 2.5] for x in (0.0, 4.0) for y in (0.0, 4.0)]
    return np.concatenate([points[~inside], lamps])


def mesh_of(vertices: np.ndarray) -> PlyMesh:
    return PlyMesh(vertices, np.empty((0, 3), dtype=np.int32))


def test_area_outline_and_centre() -> None:
    findings = Findings()
    room = measure_room(mesh_of(floor()), findings)
    assert room.area_m2 == pytest.approx(16.0)
    assert room.center == pytest.approx((2.0, 2.0, 1.25))
    (ring,) = room.floor
    assert ring[0] == ring[-1]
    assert (min(ring), max(ring)) == ((0.0, 0.0), (4.0, 4.0))
    assert (room.area_failure, findings.items) == (None, [])


def test_the_centre_is_that_of_the_minimal_box_not_of_the_extent() -> None:
    """A room on a right triangle of legs 4 and 3 m, 2 m high, turned by 30 degrees: the box has the legs as sides."""
    c, s = np.cos(np.radians(30.0)), np.sin(np.radians(30.0))
    turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    corners = np.array([[x, y, z] for x, y in ((0, 0), (4, 0), (0, 3)) for z in (0, 2)], dtype=float)
    room = measure_room(mesh_of(corners @ turn), Findings())
    assert room.center == pytest.approx(np.array([2.0, 1.5, 1.0]) @ turn)


@pytest.mark.parametrize(("hole_m", "doubtful"), [(1.9, False), (2.2, True)])  # 23 % and 30 % of the floor
def test_a_floor_with_much_left_out_is_doubtful(hole_m: float, doubtful: bool) -> None:
    findings = Findings()
    room = measure_room(mesh_of(floor(hole_m)), findings)
    assert room.area_m2 == pytest.approx(16.0)  # as the package alphashape has it: holes are filled
    assert [(f.name, f.severity, f.subject, f.limit) for f in findings.items] == (
        [("incomplete_floor", "doubt", "room", HOLES_MAX)] if doubtful else []
    )


def test_a_wall_between_two_rooms_is_in_no_outline_and_no_way_leads_through_it() -> None:
    """Rooms of 2 x 4 m with 10 cm of wall between them, and a doorway of 1 m in it that was scanned like the rooms."""
    ground = floor()[:-4]
    x, y = ground.T[:2]
    rooms = ground[(np.abs(x - 2) >= 0.049) | (y < 1)]
    face = np.array(
        [[x, y, z] for x in (1.95, 2.05) for y in np.arange(1, 4.01, 0.05) for z in np.arange(0.05, 2, 0.05)]
    )
    room = measure_room(mesh_of(np.concatenate([rooms, face])), Findings())
    assert room.floor is not None
    assert room.seen_floor is not None
    assert len(room.floor) == 1
    assert free_floor(room.floor).at(np.array([2.0, 2.5])) > 1  # m, as if no wall stood there
    walkable, origin = room.seen_floor.grid()
    for y, is_free in ((2.5, False), (0.5, True)):
        (first, row), (last, _) = np.round((np.array([[1.0, y], [3.0, y]]) - origin) / CELL_M).astype(int)
        assert walkable[row, first:last].all() == is_free


def test_a_room_without_area_says_why() -> None:
    findings = Findings()
    wall = np.array([[x, 0.0, z] for x in np.linspace(0, 3, 31) for z in (0.0, 1.0)])
    room = measure_room(mesh_of(wall), findings)
    assert room.area_m2 is None
    assert room.area_failure == "points_collinear: 31"
    assert room.center == pytest.approx((1.5, 0.0, 0.5))
    assert [(f.name, f.severity, f.subject, f.measured) for f in findings.items] == [
        ("room_not_measured", "doubt", "room", 31.0)
    ]


def test_points_on_a_line_span_it_whichever_comes_first() -> None:
    """The first is the middle of all, and the sum of what the others are off it is 0."""
    line = np.array([[1.5, -1.5], [0, 0], [1, -1], [2, -2], [3, -3]])
    _, low, high = smallest_rectangle(line)
    assert sorted(high - low) == pytest.approx([0.0, 3 * 2**0.5])
