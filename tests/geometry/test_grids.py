from fractions import Fraction

import numpy as np
import open3d as o3d
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

from pipeline.core.schema import Scene
from pipeline.geometry.boxes import Boxes, closest_distance_m, stack
from pipeline.geometry.grids import GRID_STEP_M, SampledBoxes, fused_multiply_add, grid_cloud

# Far from overflow and underflow, as the docstring asks.
numbers = st.floats(-1e30, 1e30, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-30)


def exact(x: float, y: float, z: float) -> float:
    """X * y + z, rounded once: Fraction to float is correctly rounded."""
    return float(Fraction(x) * Fraction(y) + Fraction(z))


@given(numbers, numbers, numbers)
def test_fused_multiply_add_rounds_once(x: float, y: float, z: float) -> None:
    assert fused_multiply_add(np.array([x]), np.array([y]), np.array([z]))[0] == exact(x, y, z)


@given(numbers, numbers, st.integers(-3, 3))
def test_fused_multiply_add_where_almost_all_cancels(x: float, y: float, steps: int) -> None:
    z = -(x * y)
    for _ in range(abs(steps)):
        z = float(np.nextafter(z, np.inf * np.sign(steps)))
    assert fused_multiply_add(np.array([x]), np.array([y]), np.array([z]))[0] == exact(x, y, z)


@given(st.integers(1, 2**27), st.integers(1, 2**27), st.integers(40, 130), st.sampled_from([-1, 1]))
def test_fused_multiply_add_at_ties(m: int, n: int, shift: int, sign: int) -> None:
    """A product of few bits far below or far above the summand: the sum lies on, or a hair beside, a midpoint."""
    x, y, z = float(m), float(n), float(sign * 2**shift + (2 ** (shift - 52) if shift > 52 else 0))
    assert fused_multiply_add(np.array([x]), np.array([y]), np.array([z]))[0] == exact(x, y, z)
    assert fused_multiply_add(np.array([x]), np.array([-y]), np.array([z]))[0] == exact(x, -y, z)


@given(st.integers(2**51, 2**52 - 1), st.integers(-60, 60), st.sampled_from([-1.0, 1.0]))
def test_fused_multiply_add_a_hair_beside_a_midpoint(half_mantissa: int, exponent: int, sign: float) -> None:
    """The product is half a unit in the last place of an odd summand, but for 2**-104 of itself.

    Rounded in two steps, that hair is lost first and the tie then goes to the even neighbour.
    """
    z = float(2 * half_mantissa + 1) * 2.0**exponent
    x, y = sign * 2.0 ** (exponent - 1) * (1 + 2.0**-52), 1 - 2.0**-52
    assert z + sign * 2.0 ** (exponent - 1) != z
    assert exact(x, y, z) == z
    assert fused_multiply_add(np.array([x]), np.array([y]), np.array([z]))[0] == z


def test_fused_multiply_add_on_many_numbers_of_a_scan() -> None:
    """Coordinates of grid points and axes: where rounding twice would differ is common enough to be seen."""
    rng = np.random.default_rng(5)
    x, y, z = rng.uniform(-3, 3, 20_000), rng.uniform(-1, 1, 20_000), rng.uniform(-3, 3, 20_000)
    fused = fused_multiply_add(x, y, z)
    assert fused.tolist() == [exact(*map(float, v)) for v in zip(x, y, z, strict=True)]
    assert (fused != x * y + z).mean() > 0.05


def test_fused_multiply_add_broadcasts() -> None:
    found = fused_multiply_add(np.array([[1.0], [2.0]]), np.array([3.0, 4.0]), np.zeros((2, 2)))
    assert found.tolist() == [[3.0, 4.0], [6.0, 8.0]]


def uncropped_cloud(center: np.ndarray, lengths: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The benchmark's points before the crop, point by point, with fused products in exact arithmetic."""
    counts = [max(1, int(np.ceil(length / 0.05))) for length in lengths]
    i, j, k = (np.linspace(-length / 2, length / 2, n) for length, n in zip(lengths, counts, strict=True))
    local = np.array([(x, y, z) for x in i for y in j for z in k])
    local = local[~(np.abs(local) <= lengths / 4).all(axis=1)]
    turned = local[:, :1] * axes[0]
    for row in (1, 2):
        turned = np.vectorize(exact, otypes=[float])(local[:, row : row + 1], axes[row], turned)
    return turned + center


def open3d_crop(points: np.ndarray, center: np.ndarray, lengths: np.ndarray, axes: np.ndarray) -> np.ndarray:
    box = o3d.geometry.OrientedBoundingBox(center, axes.T, lengths)
    kept = box.get_point_indices_within_bounding_box(o3d.utility.Vector3dVector(points))
    return points[np.asarray(kept, dtype=int)] if len(kept) else points


def assert_same_as_open3d(center: np.ndarray, lengths: np.ndarray, axes: np.ndarray) -> int:
    """Checks one cloud to the last bit; gives the number of points that the crop dropped."""
    points = uncropped_cloud(center, lengths, axes)
    expected = open3d_crop(points, center, lengths, axes)
    found = grid_cloud(center, lengths, axes)
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()
    return len(points) - len(expected)


@pytest.mark.slow
def test_cloud_equals_open3d_crop_on_random_boxes() -> None:
    rng = np.random.default_rng(8)
    dropped = 0
    for number in range(60):
        lengths = rng.uniform(0.01, 0.6, 3)
        axes = Rotation.random(rng=rng).as_matrix()
        if number % 3 == 0:
            axes = Rotation.from_euler("z", rng.uniform(0, 360), degrees=True).as_matrix()
        dropped += assert_same_as_open3d(rng.uniform(-4, 4, 3), lengths, axes)
    assert dropped > 1000  # the crop is no formality


@pytest.mark.long
@pytest.mark.real_data
def test_cloud_equals_open3d_crop_on_real_boxes(real_scenes: list[Scene]) -> None:
    boxes = [o.box for scene in real_scenes for o in scene.facts.objects if np.prod(o.box.lengths) < 0.2]
    chosen = np.random.default_rng(9).choice(len(boxes), 60, replace=False)
    for box in (boxes[i] for i in chosen):
        assert_same_as_open3d(*(np.array(part) for part in (box.center, box.lengths, box.axes)))


@pytest.mark.slow
@pytest.mark.real_data
def test_crop_equals_open3d_on_large_real_boxes(real_scenes: list[Scene]) -> None:
    """The products are taken from the code here, since exact ones are slow; they are tested above."""
    boxes = [o.box for scene in real_scenes for o in scene.facts.objects if np.prod(o.box.lengths) >= 0.2]
    chosen = np.random.default_rng(10).choice(len(boxes), 80, replace=False)
    for box in (boxes[i] for i in chosen):
        center, lengths, axes = (np.array(part) for part in (box.center, box.lengths, box.axes))
        counts = np.maximum(1, np.ceil(lengths / GRID_STEP_M).astype(int))
        sides = [np.linspace(-n / 2, n / 2, k) for n, k in zip(lengths, counts, strict=True)]
        local = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 3)
        local = local[~(np.abs(local) <= lengths / 4).all(1)]
        turned = local[:, :1] * axes[0]
        for row in (1, 2):
            turned = fused_multiply_add(local[:, row : row + 1], axes[row], turned)
        points = turned + center
        assert grid_cloud(center, lengths, axes).tobytes() == open3d_crop(points, center, lengths, axes).tobytes()


def test_grid_of_a_straight_box() -> None:
    """10 x 5 x 20 cm at the origin: 2 x 1 x 4 points, ends included; a side of one step has its lower end alone."""
    cloud = grid_cloud(np.zeros(3), np.array([0.1, 0.05, 0.2]), np.eye(3))
    expected = {(x, -0.025, z) for x in (-0.05, 0.05) for z in np.linspace(-0.1, 0.1, 4)}
    assert {tuple(p) for p in cloud} == expected
    assert len(cloud) == 8


def test_inner_half_is_taken_out() -> None:
    cloud = grid_cloud(np.zeros(3), np.full(3, 0.25), np.eye(3))  # 5 points a side, 62.5 mm apart
    assert len(cloud) == 5**3 - 3**3
    assert np.abs(cloud).max(axis=1).min() > 0.25 / 4


def sampled(boxes: Boxes) -> tuple[SampledBoxes, list[np.ndarray]]:
    clouds = [grid_cloud(c, h * 2, a) for c, h, a in zip(boxes.center, boxes.half, boxes.axes, strict=True)]
    return SampledBoxes(boxes), clouds


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 0.6, 2.0]))
def test_sampled_distance_equals_brute_force(seed: int, spread_m: float) -> None:
    rng = np.random.default_rng(seed)
    boxes = stack(
        rng.uniform(-spread_m, spread_m, (5, 3)),
        rng.uniform(0.01, 0.5, (5, 3)),
        Rotation.random(5, rng=rng).as_matrix(),
    )
    grids, clouds = sampled(boxes)
    first, second = np.triu_indices(5, k=1)
    found = grids.distance_m(first, second)
    brute = [cdist(clouds[i], clouds[j]).min() for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, brute, rtol=1e-12, atol=1e-12)
    assert grids.distance_m(second, first).tolist() == found.tolist()
    assert (found >= closest_distance_m(boxes.take(first), boxes.take(second)) - 1e-9).all()


def test_sampled_distance_of_parallel_faces() -> None:
    """Cubes of 30 cm side by side, 50 cm apart: the face points face one another."""
    boxes = stack([[0, 0, 0], [0.8, 0, 0]], [[0.3] * 3] * 2, [np.eye(3)] * 2)
    assert SampledBoxes(boxes).distance_m(np.array([0]), np.array([1])) == pytest.approx(0.5, abs=0.07)


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 0.049))
def test_the_same_small_box_twice_is_at_no_distance(seed: int, side_m: float) -> None:
    """Two categories on one small object: its only grid point lies on the box's own face, or beside it by rounding."""
    rng = np.random.default_rng(seed)
    axes, center = Rotation.random(rng=rng).as_matrix(), rng.uniform(-5, 5, 3)
    boxes = stack([center] * 2, [[side_m] * 3] * 2, [axes] * 2)
    assert SampledBoxes(boxes).distance_m(np.array([0]), np.array([1])).tolist() == [0.0]


def test_a_box_without_any_extent_is_a_point() -> None:
    boxes = stack([[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]], [np.eye(3)] * 2)
    assert SampledBoxes(boxes).distance_m(np.array([0]), np.array([1])).tolist() == [1.0]


def test_no_pairs() -> None:
    nothing = np.empty(0, dtype=np.intp)
    assert SampledBoxes(stack([], [], [])).distance_m(nothing, nothing).shape == (0,)


@pytest.mark.slow
@pytest.mark.real_data
def test_sampled_distance_exceeds_the_exact_one_by_little_on_real_boxes(real_scenes: list[Scene]) -> None:
    excess = []
    for scene in real_scenes[::8]:
        parts = [o.box for o in scene.facts.objects][:12]
        boxes = stack([b.center for b in parts], [b.lengths for b in parts], [b.axes for b in parts])
        first, second = np.triu_indices(len(parts), k=1)
        exact_m = closest_distance_m(boxes.take(first), boxes.take(second))
        sampled_m = SampledBoxes(boxes).distance_m(first, second)
        apart = exact_m > 0.2  # what absolute distance asks about
        excess.append((sampled_m - exact_m)[apart])
        assert (sampled_m >= exact_m - 1e-9).all()
    every = np.concatenate(excess)
    assert every.max() < 0.3
    assert 0.02 < every.mean() < 0.06
