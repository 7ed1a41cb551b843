"""The closest-point distance against two independent solvers, each certified from below by a separating plane."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pytest
import quadprog
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from pipeline.core.arrays import FloatArray
from pipeline.geometry import boxes as module
from pipeline.geometry.boxes import (
    Boxes,
    closest_distance_m,
    closest_points,
    horizontal_side_m,
    point_distance_m,
    stack,
)

TOLERANCE_M = 1e-6
PROXIMAL_WEIGHT = 1e-4
PROXIMAL_STEPS = 60


class Bounds(NamedTuple):
    """The distance lies in [lower, upper]: upper is attained by two points, lower by two parallel planes."""

    lower: float
    upper: float


def _problem(a: Boxes, b: Boxes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrix (3, 6), offset (3,) and bounds (6,): the gap is ``matrix @ x + offset`` for local coordinates |x| <= h."""
    matrix = np.concatenate([a.axes[0].T, -b.axes[0].T], axis=1)
    return matrix, a.center[0] - b.center[0], np.concatenate([a.half[0], b.half[0]])


def _certified(a: Boxes, b: Boxes, x: np.ndarray) -> Bounds:
    matrix, offset, half = _problem(a, b)
    gap = matrix @ np.clip(x, -half, half) + offset
    upper = float(np.linalg.norm(gap))
    if upper == 0.0:
        return Bounds(0.0, 0.0)
    normal = gap / upper
    lower = normal @ offset - np.abs(normal @ matrix) @ half
    return Bounds(max(0.0, float(lower)), upper)


def by_quadratic_programming(a: Boxes, b: Boxes) -> Bounds:
    """Quadprog wants a positive definite matrix and this one has rank 3: proximal steps lead to the exact minimum.

    Coordinates in half sides, so that thin sides are no bad scaling.
    """
    matrix, offset, half = _problem(a, b)
    matrix = matrix * half
    quadratic = matrix.T @ matrix + PROXIMAL_WEIGHT * np.eye(6)
    limits = np.concatenate([np.eye(6), -np.eye(6)], axis=1)
    x = np.zeros(6)
    for _ in range(PROXIMAL_STEPS):
        before = x
        linear = -matrix.T @ offset + PROXIMAL_WEIGHT * x
        x = quadprog.solve_qp(quadratic, linear, limits, -np.ones(12))[0]
        if np.abs(x - before).max() < 1e-13:
            break
    return _certified(a, b, x * half)


def by_least_squares(a: Boxes, b: Boxes) -> Bounds:
    """Bounded-variable least squares; a side of length 0 is no variable."""
    matrix, offset, half = _problem(a, b)
    x, free = np.zeros(6), half > 0
    if free.any():
        x[free] = lsq_linear(matrix[:, free], -offset, (-half[free], half[free]), method="bvls", tol=1e-15).x
    return _certified(a, b, x)


def distance_m(a: Boxes, b: Boxes) -> float:
    return float(closest_distance_m(a, b)[0])


def check_against_oracles(a: Boxes, b: Boxes) -> FloatArray:
    """Distances (N,) of pairs of boxes, every one within what both oracles know of it."""
    found = closest_distance_m(a, b)
    for i in range(len(found)):
        pair = a.take(slice(i, i + 1)), b.take(slice(i, i + 1))
        bounds = [oracle(*pair) for oracle in (by_quadratic_programming, by_least_squares)]
        lower, upper = max(0.0, *(known.lower for known in bounds)), min(known.upper for known in bounds)
        if upper > TOLERANCE_M:
            assert upper - lower < TOLERANCE_M / 2, "the oracles did not find the minimum"
        assert lower - TOLERANCE_M < found[i] < upper + TOLERANCE_M
    # Below 1e-12 is touching, on either side of it.
    np.testing.assert_allclose(closest_distance_m(b, a), found, rtol=0, atol=2e-12)
    return found


def joined(boxes: Iterable[Boxes]) -> Boxes:
    return Boxes(*map(np.concatenate, zip(*boxes, strict=True)))


def box(center: Sequence[float], lengths: Sequence[float], rotation: Rotation | None = None) -> Boxes:
    axes = np.eye(3) if rotation is None else rotation.as_matrix().T
    return stack([center], [lengths], [axes])


def moved(boxes: Boxes, rotation: np.ndarray, shift: np.ndarray) -> Boxes:
    return Boxes(boxes.center @ rotation.T + shift, boxes.half, boxes.axes @ rotation.T)


def random_boxes(rng: np.random.Generator, n: int, spread_m: float = 1.5) -> Boxes:
    axes = Rotation.random(n, rng=rng).as_matrix()
    return stack(rng.uniform(-spread_m, spread_m, (n, 3)), rng.uniform(0.02, 2.0, (n, 3)), axes)


EDGE_UP = Rotation.from_euler("x", 45, degrees=True)  # a beam along x whose edge points up
CORNER_X = Rotation.align_vectors([[1.0, 0.0, 0.0]], [[1.0, 1.0, 1.0]])[0]  # a cube whose corner points along x
ROOT2, ROOT3 = np.sqrt(2.0), np.sqrt(3.0)

# Two boxes and their distance; None where only the oracles know it.
CONSTRUCTED = {
    "parallel faces": (box((0, 0, 0), (1, 1, 1)), box((3, 0.2, 0.3), (2, 1, 1)), 1.5),
    "parallel faces, equal": (box((0, 0, 0), (1, 1, 1)), box((0, 0, 1.25), (1, 1, 1)), 0.25),
    "edges of parallel boxes": (box((0, 0, 0), (2, 2, 2)), box((5, 6, 0), (2, 2, 2)), 5.0),
    "corners of parallel boxes": (box((0, 0, 0), (2, 2, 2)), box((3, 4, 4), (2, 2, 2)), 3.0),
    "face and corner": (box((0, 0, 0), (2, 2, 2)), box((-3, 0, 0), (1, 1, 1), CORNER_X), 2.0 - ROOT3 / 2),
    "face and edge": (box((0, 0, 0), (4, 4, 2)), box((0, 0, 3), (2, 1, 1), EDGE_UP), 2.0 - ROOT2 / 2),
    "crossing edges": (
        box((0, 0, 0), (4, 1, 1), EDGE_UP),
        box((0, 0, 2), (4, 1, 1), Rotation.from_euler("z", 90, degrees=True) * EDGE_UP),
        2.0 - ROOT2,
    ),
    "corner and corner": (box((4, 0, 0), (1, 1, 1), CORNER_X.inv()), box((-1, 0, 0), (1, 1, 1), CORNER_X), None),
    "tip to tip": (box((3, 0, 0), (1, 1, 1), CORNER_X), box((0, 0, 0), (1, 1, 1), CORNER_X), 3.0 - ROOT3),
    "touching face": (box((0, 0, 0), (1, 1, 1)), box((1, 0.3, 0), (1, 1, 1)), 0.0),
    "touching edge": (box((0, 0, 0), (1, 1, 1)), box((1, 1, 0), (1, 1, 1)), 0.0),
    "touching corner": (box((0, 0, 0), (1, 1, 1)), box((1, 1, 1), (1, 1, 1)), 0.0),
    "touching crossed edges": (
        box((0, 0, 0), (4, 1, 1), EDGE_UP),
        box((0, 0, ROOT2), (4, 1, 1), Rotation.from_euler("z", 90, degrees=True) * EDGE_UP),
        0.0,
    ),
    "containment": (box((0, 0, 0), (3, 3, 3)), box((0.1, 0.2, 0.3), (1, 1, 1), CORNER_X), 0.0),
    "same box": (box((1, 2, 3), (1, 2, 3), CORNER_X), box((1, 2, 3), (1, 2, 3), CORNER_X), 0.0),
    "overlap at a corner": (box((0, 0, 0), (1, 1, 1)), box((0.9, 0.9, 0.9), (1, 1, 1)), 0.0),
    "rod through a plate": (box((0, 0, 0), (4, 4, 0.1)), box((0, 0, 0), (0.2, 0.2, 6)), 0.0),
    "crossed plates": (box((0, 0, 0), (4, 4, 0.1)), box((0, 0, 0), (0.1, 3, 4)), 0.0),
    "crossed beams": (box((0, 0, 0), (6, 0.4, 0.4)), box((0, 0, 0.1), (0.4, 6, 0.4)), 0.0),
    "crossed beams, edges overlapping": (
        box((0, 0, 0), (4, 1, 1), EDGE_UP),
        box((0, 0, ROOT2 - 1e-3), (4, 1, 1), Rotation.from_euler("z", 90, degrees=True) * EDGE_UP),
        0.0,
    ),
    "sheet beside a box": (box((0, 0, 0), (2, 2, 0)), box((0, 0, 1), (1, 1, 1)), 0.5),
    "sheet through a box": (box((0, 0, 0), (2, 2, 0)), box((0, 0, 0.2), (1, 1, 1)), 0.0),
    "crossing sheets": (box((0, 0, 0), (2, 2, 0)), box((0, 0, 0.3), (2, 0, 2)), 0.0),
    "parallel sheets": (box((0, 0, 0), (2, 2, 0)), box((0.5, 0.5, 0.7), (2, 2, 0)), 0.7),
    "crossing segments": (box((0, 0, 0), (2, 0, 0)), box((0.3, 0.2, 0.4), (0, 2, 0)), 0.4),
    "parallel segments": (box((0, 0, 0), (2, 0, 0)), box((0.5, 0.3, 0.4), (2, 0, 0)), 0.5),
    "segments in a row": (box((0, 0, 0), (2, 0, 0)), box((4, 0, 0), (2, 0, 0)), 2.0),
    "segment through a box": (box((0, 0, 0), (4, 0, 0)), box((0, 0, 0), (1, 1, 1), CORNER_X), 0.0),
    "segment beside a sheet": (box((0, 0, 0), (2, 2, 0)), box((3, 0, 1), (2, 0, 0)), ROOT2),
    "two points": (box((1, 2, 3), (0, 0, 0)), box((4, 6, 3), (0, 0, 0)), 5.0),
    "same point": (box((1, 2, 3), (0, 0, 0)), box((1, 2, 3), (0, 0, 0)), 0.0),
    "point and box": (box((0, 0, 2), (0, 0, 0)), box((0, 0, 0), (1, 1, 1)), 1.5),
    "point in a box": (box((0.1, 0.2, 0.3), (0, 0, 0)), box((0, 0, 0), (1, 1, 1), CORNER_X), 0.0),
    "point and segment": (box((3, 1, 0), (0, 0, 0)), box((0, 0, 0), (4, 0, 0)), ROOT2),
    "far from the origin": (box((5000, -7000, 3), (1, 1, 1)), box((5003, -7000, 3), (1, 1, 1)), 2.0),
    "tiny and huge": (box((0, 0, 0), (50, 50, 50)), box((25.003, 1, 1), (0.002, 0.002, 0.002)), 0.002),
}


def test_the_longer_side_of_a_slender_thing_that_stands() -> None:
    """A lamp on its side: its first axis is the upright one."""
    on_its_side = [[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]
    lamps = stack(np.zeros((2, 3)), [[0.2, 0.3, 1.8], [1.8, 0.2, 0.3]], [np.eye(3), on_its_side])
    assert horizontal_side_m(lamps).tolist() == [0.3, 0.3]


@pytest.mark.parametrize("turn", [None, (20.0, 50.0, -70.0), (0.0, 0.0, 33.0)], ids=["straight", "turned", "yawed"])
@pytest.mark.parametrize("name", CONSTRUCTED)
def test_constructed_pairs(name: str, turn: tuple[float, float, float] | None) -> None:
    a, b, expected = CONSTRUCTED[name]
    if turn is not None:
        rotation = Rotation.from_euler("xyz", turn, degrees=True).as_matrix()
        shift = np.array([0.3, -2.0, 1.0])
        a, b = moved(a, rotation, shift), moved(b, rotation, shift)
    (found,) = check_against_oracles(a, b)
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("exponent", range(3, 10))
@pytest.mark.parametrize("about", [(0.0, 0.0, 1.0), (0.3, 1.0, 0.2)], ids=["crossing", "tilted"])
@pytest.mark.parametrize("height_m", [1.5, ROOT2 + 1e-3, ROOT2 - 1e-3])
def test_nearly_parallel_edges(exponent: int, about: tuple[float, float, float], height_m: float) -> None:
    """Two beams edge to edge, 10**-exponent rad from parallel: the minimum is inside both edges, or anywhere."""
    tilt = Rotation.from_rotvec(np.array(about) / np.linalg.norm(about) * 10.0**-exponent)
    world = Rotation.from_euler("xyz", (10.0, 40.0, -25.0), degrees=True)
    a = box((0, 0, 0), (4, 1, 1), world * EDGE_UP)
    b = box(world.apply((0.7, 0.0, height_m)), (3, 1, 1), world * tilt * EDGE_UP)
    check_against_oracles(a, b)


@pytest.mark.parametrize("exponent", range(3, 10))
def test_nearly_parallel_segments_cross_where_they_cross(exponent: int) -> None:
    angle = 10.0**-exponent
    b = box((0.5, 0, 0.25), (2, 0, 0), Rotation.from_rotvec((0, 0, angle)))
    assert distance_m(box((0, 0, 0), (4, 0, 0)), b) == pytest.approx(0.25, abs=TOLERANCE_M)


@pytest.mark.slow
def test_random_boxes_against_both_oracles() -> None:
    rng = np.random.default_rng(20240601)
    a, b = random_boxes(rng, 2000), random_boxes(rng, 2000)
    found = check_against_oracles(a, b)
    assert 200 < (found == 0.0).sum() < 1800  # both outcomes are common


@pytest.mark.long
def test_random_thin_boxes_against_both_oracles() -> None:
    rng, pairs = np.random.default_rng(7), []
    for _ in range(1000):
        a, b = random_boxes(rng, 1, 0.7), random_boxes(rng, 1, 0.7)
        for half in (a.half, b.half):
            half[0, rng.integers(0, 3, 2)] *= rng.choice([0.0, 1e-9, 1e-4], 2)
        pairs.append((a, b))
    check_against_oracles(*map(joined, zip(*pairs, strict=True)))


@pytest.mark.slow
def test_random_boxes_on_a_lattice_against_both_oracles() -> None:
    """Faces, edges and corners touch or line up in every way, and after turning they nearly do."""
    rng, pairs = np.random.default_rng(11), []
    for number in range(600):
        a, b = (box(rng.integers(-2, 3, 3) * 0.5, rng.integers(0, 4, 3) * 0.5) for _ in range(2))
        if number % 2:
            rotation = Rotation.random(rng=rng).as_matrix()
            a, b = moved(a, rotation, np.ones(3)), moved(b, rotation, np.ones(3))
        pairs.append((a, b))
    check_against_oracles(*map(joined, zip(*pairs, strict=True)))


@pytest.mark.slow
def test_random_nearly_parallel_boxes_against_both_oracles() -> None:
    rng, pairs = np.random.default_rng(12), []
    for _ in range(600):
        world, tilt = Rotation.random(rng=rng), rng.normal(size=3) * 10.0 ** -rng.uniform(3, 9)
        a = box(rng.uniform(-1, 1, 3), rng.uniform(0.01, 4, 3), world)
        b = box(rng.uniform(-1, 1, 3), rng.uniform(0.01, 4, 3), world * Rotation.from_rotvec(tilt))
        pairs.append((a, b))
    check_against_oracles(*map(joined, zip(*pairs, strict=True)))


def test_overlap_without_any_corner_inside() -> None:
    """Random rods through random plates: the corner distances are all positive, and yet the boxes overlap."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        rotation = Rotation.random(rng=rng)
        a = box((0, 0, 0), (3, 3, 0.05), rotation)
        through = rotation.apply(rng.uniform(-1.0, 1.0, 3) * [1, 1, 0])
        b = box(through, (0.1, 0.1, 4), rotation * Rotation.from_rotvec(rng.uniform(-0.5, 0.5, 3)))
        assert point_distance_m(a.corners(), b).min() > 0.1
        assert point_distance_m(b.corners(), a).min() > 0.1
        assert distance_m(a, b) == 0.0


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@given(seeds, st.sampled_from([0.5, 1.5, 4.0]))
def test_symmetric_and_unchanged_by_rigid_motion(seed: int, spread_m: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_boxes(rng, 8, spread_m), random_boxes(rng, 8, spread_m)
    found = closest_distance_m(a, b)
    np.testing.assert_allclose(closest_distance_m(b, a), found, rtol=0, atol=2e-12)
    rotation, shift = Rotation.random(rng=rng).as_matrix(), rng.uniform(-20, 20, 3)
    np.testing.assert_allclose(
        closest_distance_m(moved(a, rotation, shift), moved(b, rotation, shift)), found, rtol=0, atol=1e-9
    )
    mirror = np.diag([-1.0, 1.0, 1.0])
    np.testing.assert_allclose(
        closest_distance_m(moved(a, mirror, shift), moved(b, mirror, shift)), found, rtol=0, atol=1e-9
    )


@pytest.mark.slow
@given(seeds, st.permutations(range(3)), st.tuples(*[st.sampled_from([-1.0, 1.0])] * 3))
def test_order_and_sign_of_the_axes_mean_nothing(seed: int, order: list[int], signs: tuple[float, ...]) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_boxes(rng, 8), random_boxes(rng, 8)
    again = Boxes(a.center, a.half[:, order], a.axes[:, order] * np.array(signs)[None, :, None])
    np.testing.assert_allclose(closest_distance_m(again, b), closest_distance_m(a, b), rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.sort(again.corners(), axis=1), np.sort(a.corners(), axis=1), rtol=0, atol=1e-12)


@given(seeds, st.floats(0.0, 3.0))
def test_moving_apart_by_x_changes_the_distance_by_no_more(seed: int, step_m: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_boxes(rng, 8), random_boxes(rng, 8)
    direction = rng.normal(size=3)
    further = b._replace(center=b.center + step_m * direction / np.linalg.norm(direction))
    change = np.abs(closest_distance_m(a, further) - closest_distance_m(a, b))
    assert change.max() <= step_m + 1e-9


@pytest.mark.parametrize("n", [0, 1, module._CHUNK - 1, module._CHUNK, module._CHUNK + 1, 2 * module._CHUNK + 3])
def test_batches_equal_single_calls(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = random_boxes(rng, n), random_boxes(rng, n)
    together = closest_distance_m(a, b)
    assert together.shape == (n,)
    looked_at = {0, 1, module._CHUNK - 1, module._CHUNK, n - 1, *rng.integers(0, max(n, 1), 40).tolist()}
    for i in sorted(k for k in looked_at if 0 <= k < n):
        one = slice(i, i + 1)
        assert closest_distance_m(a.take(one), b.take(one)).tobytes() == together[one].tobytes()


def test_corners_and_points_of_a_turned_box() -> None:
    """2 x 4 x 6 m, turned by 90 degrees about z: its 2 m lie along y, its 4 m along x."""
    turned = stack([[10, 20, 30]], [[2, 4, 6]], [[0, 1, 0, -1, 0, 0, 0, 0, 1]])
    corners = {tuple(c) for c in turned.corners()[0]}
    assert corners == {(x, y, z) for x in (8, 12) for y in (19, 21) for z in (27, 33)}
    points = np.array(
        [[[10, 20, 30], [12, 21, 33], [13, 20, 30], [10, 23, 30], [15, 25, 30], [10, 20, 20]]], dtype=float
    )
    assert point_distance_m(points, turned).tolist() == [[0, 0, 1, 2, 5, 7]]


def test_nan_is_not_hidden() -> None:
    a, b = box((np.nan, 0, 0), (1, 1, 1)), box((3, 0, 0), (1, 1, 1))
    assert np.isnan(distance_m(a, b))


def test_the_closest_points_of_two_boxes_by_hand() -> None:
    """A corner before a side, also the other way round, and two edges that cross: each pair has but one answer."""
    half_turn = np.array([[0.5**0.5, 0.5**0.5, 0.0], [-(0.5**0.5), 0.5**0.5, 0.0], [0.0, 0.0, 1.0]])
    tilted = np.array([[1.0, 0.0, 0.0], [0.0, 0.5**0.5, 0.5**0.5], [0.0, -(0.5**0.5), 0.5**0.5]])
    upright = np.array([[0.5**0.5, 0.0, 0.5**0.5], [0.0, 1.0, 0.0], [-(0.5**0.5), 0.0, 0.5**0.5]])
    side = 2.0 * 0.5**0.5  # of a cube whose edges lie 1 m off its centre
    # A flat square with a corner at x = 1, and a cube that begins at x = 4.
    a = stack([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]], [[side, side, 0.0], [2.0, 2.0, 2.0]], [half_turn, np.eye(3)])
    b = a.take(np.array([1, 0]))
    on_a, on_b = closest_points(a, b)
    assert on_a == pytest.approx(np.array([[1.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
    assert on_b == pytest.approx(np.array([[4.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    # An edge along x on top of the one, 1 m over its centre, and an edge along y under the other, 1 m below its centre.
    low, high = (
        stack([[0.5, 2.0, 0.0]], [[8.0, side, side]], [tilted]),
        stack([[2, 0, 5.0]], [[side, 8, side]], [upright]),
    )
    on_a, on_b = closest_points(low, high)
    assert on_a == pytest.approx(np.array([[2.0, 2.0, 1.0]]))
    assert on_b == pytest.approx(np.array([[2.0, 2.0, 4.0]]))
    assert closest_distance_m(low, high) == pytest.approx([3.0])


def test_any_edge_of_one_box_may_be_the_nearest_to_any_edge_of_another() -> None:
    """Two cubes whose edges cross at a right angle, 0.5 m apart; the edges lie 1.4 m off the middles of the cubes."""
    edges = [(axis, s, t) for axis in range(3) for s in (-1, 1) for t in (-1, 1)]
    centers, turns = [], []
    for axis, s, t in edges:
        along, outwards = np.eye(3)[axis], np.insert(np.array([s, t]) / 2**0.5, axis, 0.0)
        for other, s2, t2 in edges:  # of the second cube, whose axes are chosen so that this edge lies before the first
            sides = s2 * (along - outwards) / 2**0.5, -t2 * (along + outwards) / 2**0.5
            turns.append(np.insert(np.array(sides), other, np.cross(along, outwards), axis=0))
            centers.append(outwards * (2 * 2**0.5 + 0.5))
    first, second = (
        stack(np.zeros((144, 3)), np.full((144, 3), 2.0), np.tile(np.eye(3), (144, 1, 1))),
        stack(centers, np.full((144, 3), 2.0), turns),
    )
    assert closest_distance_m(first, second) == pytest.approx(np.full(144, 0.5))
    assert closest_distance_m(second, first) == pytest.approx(np.full(144, 0.5))


def test_the_closest_point_of_a_turned_box_by_hand() -> None:
    """A quarter of a turn to the left: what lies 0.5 m along its second axis lies 0.5 m west of its center."""
    turned = stack([[0.0, 0.0, 0.0]], [[4.0, 2.0, 2.0]], [[[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    grain = stack([[-0.5, 3.0, 0.25]], [[1e-9, 1e-9, 1e-9]], [np.eye(3)])
    on_turned, on_grain = closest_points(turned, grain)
    np.testing.assert_allclose(on_turned, [[-0.5, 2.0, 0.25]], atol=1e-6)
    np.testing.assert_allclose(on_grain, [[-0.5, 3.0, 0.25]], atol=1e-6)
