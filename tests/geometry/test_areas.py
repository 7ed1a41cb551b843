import os
import warnings
from collections.abc import Set
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from pipeline.geometry import areas
from pipeline.geometry.areas import ROOM_ALPHA_PER_M, AlphaShape, alpha_shape, room_area, without_inner_points

REAL_DATA = Path(os.environ.get("SCAN2QA_REAL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
TIE = 1e-9  # relative; a circumradius so close to 1 / alpha falls on either side by rounding

Cloud = tuple[np.ndarray, float]


@pytest.fixture(scope="module")
def real_cloud() -> np.ndarray:
    """The real scan (40684, 3), metres, z up, not axis-aligned."""
    file = REAL_DATA / "scannet" / "scene0000_00.bin"
    return np.fromfile(file, "<f4").reshape(-1, 6)[:, :3]


def package_area(points: np.ndarray, alpha: float) -> float:
    from alphashape import alphashape  # it takes a second

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # it builds numpy matrices
        warnings.simplefilter("ignore", DeprecationWarning)  # it calls logging.warn about flat triangles
        return float(alphashape(points, alpha).area)


def lattice(columns: int, rows: int, without: Set[tuple[int, int]] = frozenset()) -> np.ndarray:
    return np.array([(i, j) for i in range(columns) for j in range(rows) if (i, j) not in without], dtype=float)


def signed_area(ring: np.ndarray) -> float:
    x, y = (ring - ring[0]).T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)


def covered(shape: AlphaShape) -> shapely.Geometry:
    return shapely.union_all(shapely.polygons(shape.points[shape.triangles]))


def assert_sound(shape: AlphaShape) -> None:
    """Outlines, triangles and areas tell of the same shape, and the rings are in order."""
    assert shape.failure is None
    assert shape.measured is None
    corners = shape.points[shape.triangles]
    triangles_m2 = sum(signed_area(np.vstack([c, c[:1]])) for c in corners)
    signed = [signed_area(ring) for ring in shape.outlines]
    assert sum(signed) == pytest.approx(triangles_m2, rel=1e-9)
    assert shape.area_m2 - shape.holes_m2 == pytest.approx(triangles_m2, rel=1e-9)
    assert [s < 0 for s in signed] == sorted(s < 0 for s in signed)
    for ring in shape.outlines:
        assert ring[0].tolist() == ring[-1].tolist() == min(ring.tolist())
        assert shapely.is_simple(shapely.linearrings(ring))
    for holes in (False, True):
        starts = [ring[:2].tolist() for ring, s in zip(shape.outlines, signed, strict=True) if (s < 0) == holes]
        assert starts == sorted(starts)
    odd = shapely.Polygon()
    for ring in shape.outlines:
        odd = odd.symmetric_difference(shapely.Polygon(ring))
    assert odd.symmetric_difference(covered(shape)).area < 1e-9 * triangles_m2


# Shapes with areas found by hand. On a unit lattice the triangles of one cell have a circumradius of 0.7071.


def test_four_corners_make_a_square_when_the_circle_fits_and_nothing_when_it_does_not() -> None:
    corners = [[1, 1], [0, 0], [1, 0], [0, 1]]
    square = alpha_shape(corners, 1.41)
    assert square.area_m2 == 1.0
    assert square.holes_m2 == 0.0
    assert [ring.tolist() for ring in square.outlines] == [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
    assert square.triangles.shape == (2, 3)
    nothing = alpha_shape(corners, 1.42)
    assert nothing.failure == "no_triangle_small_enough"
    assert nothing.measured == pytest.approx(np.sqrt(0.5))


def test_l_shape_keeps_its_corner_but_for_half_a_cell() -> None:
    points = lattice(21, 21, {(i, j) for i in range(11, 21) for j in range(11, 21)}) / 10
    shape = alpha_shape(points, 10.0)
    assert shape.area_m2 == pytest.approx(3.0 + 0.005, rel=1e-12)
    assert len(shape.outlines) == 1
    assert len(shape.outlines[0]) == 80  # 80 points around, less the one in the inner corner, plus the closing one
    assert alpha_shape(points, 0.0).area_m2 == pytest.approx(4.0 - 0.5, rel=1e-12)
    assert_sound(shape)


def test_a_hole_is_in_the_area_and_in_the_outlines() -> None:
    points = lattice(7, 7, {(i, j) for i in (2, 3, 4) for j in (2, 3, 4)})
    shape = alpha_shape(points, 1.0)
    assert shape.area_m2 == package_area(points, 1.0) == 36.0
    assert shape.holes_m2 == 16.0 - 4 * 0.5
    outer, hole = shape.outlines
    assert signed_area(outer) == 36.0
    assert signed_area(hole) == -14.0
    assert hole.tolist()[:3] == [[1, 2], [1, 3], [1, 4]]  # clockwise from the lowest point
    assert_sound(shape)


def test_an_island_in_a_hole_is_covered_already() -> None:
    around = lattice(9, 9, {(i, j) for i in range(2, 7) for j in range(2, 7)})
    points = np.vstack([around, [[3.5, 3.5], [4.5, 3.5], [4.5, 4.5], [3.5, 4.5]]])
    shape = alpha_shape(points, 1.0)
    assert shape.area_m2 == package_area(points, 1.0) == 64.0
    assert shape.holes_m2 == 36.0 - 4 * 0.5 - 1.0
    assert [signed_area(ring) for ring in shape.outlines] == [64.0, 1.0, -34.0]
    assert_sound(shape)


def test_two_rooms_apart_are_two_outlines() -> None:
    points = np.vstack([lattice(4, 3) + np.array([10, 0]), lattice(3, 3)])
    shape = alpha_shape(points, 1.0)
    assert shape.area_m2 == 6.0 + 4.0
    assert [ring[0].tolist() for ring in shape.outlines] == [[0, 0], [10, 0]]
    assert [signed_area(ring) for ring in shape.outlines] == [4.0, 6.0]
    assert_sound(shape)


def test_two_rooms_that_touch_in_a_point_are_two_outlines() -> None:
    shape = alpha_shape([[-1, -0.5], [-1, 0.5], [0, 0], [1, -0.5], [1, 0.5]], 1.0)
    assert shape.area_m2 == 1.0
    assert shape.holes_m2 == 0.0
    assert [ring.tolist() for ring in shape.outlines] == [
        [[-1, -0.5], [0, 0], [-1, 0.5], [-1, -0.5]],
        [[0, 0], [1, -0.5], [1, 0.5], [0, 0]],
    ]
    assert_sound(shape)


def test_a_hole_that_touches_the_outside_in_a_point_is_a_ring_of_its_own() -> None:
    points = lattice(5, 5, {(2, 2), (2, 0)})
    shape = alpha_shape(points, 1.25)
    assert shape.area_m2 == package_area(points, 1.25) == 15.0
    assert shape.holes_m2 == 2.0
    outer, hole = shape.outlines
    assert hole.tolist() == [[1, 2], [2, 3], [3, 2], [2, 1], [1, 2]]
    assert [2, 1] in outer.tolist()
    assert_sound(shape)


def test_two_rooms_that_touch_twice_enclose_a_hole() -> None:
    points = lattice(5, 5, {(2, 2), (2, 0), (2, 4)})
    shape = alpha_shape(points, 1.25)
    assert shape.area_m2 == package_area(points, 1.25) == 14.0
    assert shape.holes_m2 == 2.0
    assert [signed_area(ring) for ring in shape.outlines] == [6.0, 6.0]
    assert_sound(shape)


@pytest.mark.parametrize("turn_deg", range(0, 90, 7))
def test_a_turned_lattice_keeps_its_area(turn_deg: int) -> None:
    """The package loses it: its flat triangles at the hull have any circumradius, and the area may come out as 0."""
    cosine, sine = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
    shape = alpha_shape(lattice(9, 9) @ np.array([[cosine, sine], [-sine, cosine]]), 1.0)
    assert shape.area_m2 == pytest.approx(64.0, rel=1e-12)
    assert shape.holes_m2 == pytest.approx(0.0, abs=1e-12)
    assert len(shape.outlines) == 1


def test_what_lies_behind_a_kept_triangle_is_no_outside() -> None:
    """A kept triangle between the outside, a free one that reaches it, and one that touches nothing else."""
    neighbors = np.array([[-1, 1, 2], [0, 0, 0], [0, -1, -1]])
    assert areas._reaches_outside(neighbors, np.array([True, False, False])).tolist() == [False, False, True, True]
    assert areas._reaches_outside(neighbors, np.array([False, False, True])).tolist() == [True, True, False, True]


# Random clouds: the package is the oracle.


@st.composite
def clouds(draw: st.DrawFn, most: int = 150) -> Cloud:
    """Points with gaps, clusters and repeats, and an alpha from coarse to so fine that most falls apart."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["even", "clusters", "rings", "holes", "lattice"]))
    count = draw(st.integers(4, most))
    if kind == "lattice":
        points = rng.integers(0, 9, (count, 2)).astype(float)
    elif kind == "clusters":
        points = rng.uniform(-1, 1, (4, 2))[rng.integers(0, 4, count)] + rng.normal(0, 0.15, (count, 2))
    elif kind == "rings":
        turn, radius = rng.uniform(0, 2 * np.pi, count), rng.choice([0.4, 0.7, 1.0], count) + rng.normal(0, 0.03, count)
        points = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
    else:
        points = rng.uniform(-1, 1, (count, 2))
        if kind == "holes":
            points = points[np.hypot(*(points - rng.uniform(-0.5, 0.5, 2)).T) > 0.4]
    if draw(st.booleans()):
        points = np.vstack([points, points[: count // 3]])
    assume(len(np.unique(points, axis=0)) > 3)
    points = points * draw(st.sampled_from([1.0, 0.01, 30.0])) + draw(st.sampled_from([0.0, 7.5]))
    spacing = np.sqrt(np.ptp(points, axis=0).max() ** 2 / count)
    return points, draw(st.floats(0.02, 2.0)) / spacing


def assume_no_tie(points: np.ndarray, alpha: float) -> None:
    distinct = np.unique(points, axis=0)
    radii = areas._circumradius_m(distinct[Delaunay(distinct).simplices])
    assume(bool((np.abs(radii * alpha - 1) > TIE).all()))


@pytest.mark.slow
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(clouds())
def test_area_equals_that_of_the_package(cloud: Cloud) -> None:
    points, alpha = cloud
    assume(np.linalg.matrix_rank(points - points[0]) == 2)
    assume_no_tie(points, alpha)
    shape = alpha_shape(points, alpha)
    assert (shape.area_m2 or 0.0) == pytest.approx(package_area(points, alpha), rel=1e-6)
    if shape.failure is None:
        assert_sound(shape)
    else:
        assert shape.failure == "no_triangle_small_enough"


@settings(max_examples=50)
@given(clouds())
def test_alpha_zero_is_the_convex_hull(cloud: Cloud) -> None:
    points, _ = cloud
    assume(np.linalg.matrix_rank(points - points[0]) == 2)
    shape = alpha_shape(points, 0.0)
    assert shape.area_m2 == pytest.approx(package_area(points, 0.0), rel=1e-6)
    assert shape.holes_m2 == pytest.approx(0.0, abs=1e-9 * (shape.area_m2 or 1.0))
    assert len(shape.outlines) == 1


def to_bytes(shape: AlphaShape) -> bytes:
    numbers = np.array([shape.area_m2, shape.holes_m2, shape.measured], dtype=float)
    return b"|".join(part.tobytes() for part in (numbers, *shape.outlines, shape.points, shape.triangles))


@pytest.mark.slow
@settings(max_examples=100)
@given(clouds(400), st.integers(0, 2**32 - 1))
def test_the_order_of_the_points_does_not_count(cloud: Cloud, seed: int) -> None:
    points, alpha = cloud
    shuffled = np.random.default_rng(seed).permutation(points)
    assert to_bytes(alpha_shape(shuffled, alpha)) == to_bytes(alpha_shape(points, alpha))


def test_minus_zero_is_zero() -> None:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    minus = np.where(corners == 0.0, -0.0, corners)
    for points in (minus, np.vstack([minus, corners]), np.vstack([corners, minus])):
        assert to_bytes(alpha_shape(points, 1.0)) == to_bytes(alpha_shape(corners, 1.0))


@pytest.mark.slow
@settings(max_examples=100)
@given(clouds(400), st.floats(0, 360), st.floats(-50, 50), st.booleans(), st.floats(0.1, 10))
def test_the_place_of_the_room_does_not_count(
    cloud: Cloud, turn_deg: float, shift: float, mirrored: bool, scale: float
) -> None:
    points, alpha = cloud
    assume(len(np.unique(points[:, 0])) == len(np.unique(points, axis=0)))  # not the lattice: all its cells are ties
    assume_no_tie(points, alpha)
    cosine, sine = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
    moved = points @ np.array([[cosine, sine], [-sine, cosine]]) * [1, -1 if mirrored else 1] * scale + shift
    before, after = alpha_shape(points, alpha), alpha_shape(moved, alpha / scale)
    assert after.failure == before.failure
    if before.area_m2 is not None:
        assert after.area_m2 == pytest.approx(before.area_m2 * scale**2, rel=1e-9)
        assert sorted(map(len, after.outlines)) == sorted(map(len, before.outlines))


# What is left out before the triangulation.


@pytest.mark.slow
@settings(max_examples=100)
@given(clouds(3000))
def test_leaving_out_inner_points_changes_nothing(cloud: Cloud) -> None:
    points, alpha = cloud
    assume_no_tie(points, alpha)
    thinned = alpha_shape(points, alpha)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(areas, "without_inner_points", lambda points, radius_m: points)
        full = alpha_shape(points, alpha)
    assert len(full.points) == len(np.unique(points, axis=0)) or full.failure
    assert (thinned.area_m2, thinned.failure) == (full.area_m2, full.failure)
    assert [ring.tobytes() for ring in thinned.outlines] == [ring.tobytes() for ring in full.outlines]


def test_a_dense_cloud_loses_most_of_its_points_and_keeps_its_order() -> None:
    points = np.random.default_rng(3).uniform(0, 8, (30_000, 2))
    left = without_inner_points(points, 0.5)
    assert len(left) < len(points) / 3
    places = {tuple(p): i for i, p in enumerate(points.tolist())}
    kept = [places[tuple(p)] for p in left.tolist()]
    assert kept == sorted(kept)


@pytest.mark.parametrize(("count", "thinned"), [(80, False), (81, True)])
def test_points_are_left_out_from_a_point_for_nine_cells_on(count: int, thinned: bool) -> None:
    """Cells are a fifth of the radius wide, and the raster ends eight cells and one beside the points."""
    points = np.concatenate([np.array([[0.0, 0], [10, 10]]), lattice(9, 9)[1:-1] * 1.25])[:count]
    left = without_inner_points(points, 5.0)
    assert (len(left) < count) is thinned
    # No circle without a point that is left holds one that is gone.
    gone = points[~(points[:, None] == left).all(-1).any(1)]
    centres = np.stack(np.meshgrid(np.arange(-5, 15, 0.25), np.arange(-5, 15, 0.25)), axis=-1).reshape(-1, 2)
    empty = centres[np.hypot(*(centres[:, None] - left).T).min(0) >= 5.0]
    assert (np.hypot(*(empty[:, None] - gone).T) > 5.0).all()


@pytest.mark.parametrize("radius_m", [np.inf, 1e-6])
def test_nothing_is_left_out_without_a_radius_or_where_the_raster_would_be_huge(radius_m: float) -> None:
    points = np.random.default_rng(3).uniform(0, 8, (100, 2))
    assert without_inner_points(points, radius_m) is points


# Rooms.


def test_height_does_not_count() -> None:
    floor = lattice(11, 21) / 10
    rng = np.random.default_rng(0)
    shapes = [room_area(np.column_stack([floor, rng.uniform(0, 3, len(floor))])) for _ in range(2)]
    assert to_bytes(shapes[0]) == to_bytes(shapes[1]) == to_bytes(alpha_shape(floor, ROOM_ALPHA_PER_M))
    assert shapes[0].area_m2 == pytest.approx(2.0, rel=1e-12)


def test_walls_above_one_another_are_one_point() -> None:
    corner = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 0, 2]], dtype=float)
    assert room_area(corner).failure == "points_too_few"


def test_voxels_keep_the_mean_of_their_distinct_points() -> None:
    points = [[0.0, 0.0, 9], [0.2, 0.4, 9], [0.2, 0.4, 1], [1.0, 0.0, 0], [1.75, 0.5, 0], [0.0, 1.5, 0]]
    shape = room_area(points, alpha=0.0, voxel_m=1.0)
    assert shape.points.tolist() == [[0.0, 1.5], [0.1, 0.2], [1.375, 0.25]]


def test_voxels_do_not_depend_on_the_order() -> None:
    points = np.random.default_rng(1).uniform(0, 4, (5000, 3))
    shapes = [room_area(points[order], voxel_m=0.1) for order in (np.arange(5000), np.arange(5000)[::-1])]
    assert to_bytes(shapes[0]) == to_bytes(shapes[1])
    assert shapes[0].area_m2 == pytest.approx(3.9**2, rel=0.02)


# Bad input.


@pytest.mark.parametrize(
    ("points", "failure", "measured"),
    [
        ([[0, 0], [1, 0], [np.nan, 1], [np.inf, np.nan]], "points_not_finite", 2),
        (np.empty((0, 2)), "points_too_few", 0),
        ([[1, 2]], "points_too_few", 1),
        ([[1, 2], [3, 4], [1, 2], [3, 4], [1, 2]], "points_too_few", 2),
        ([[0, 0], [1, 1], [2, 2]], "points_collinear", 3),
        ([[0, 0], [0.1, 0.3], [0.2, 0.6], [0.7, 2.1], [0.7, 2.1]], "points_collinear", 4),
        ([[5, y] for y in range(100)], "points_collinear", 100),
        ([[0, 0], [3, 0], [0, 4]], "no_triangle_small_enough", 2.5),
        ([[0, 0], [3, 0], [0, 4], [3, 4], [9, 2]], "no_triangle_small_enough", 2.5),
    ],
)
def test_what_has_no_area_says_why(points: list[list[float]], failure: str, measured: float) -> None:
    shape = alpha_shape(points, 1.0)
    assert (shape.failure, shape.measured) == (failure, measured)
    assert (shape.area_m2, shape.holes_m2, shape.outlines) == (None, None, ())
    assert shape.points.shape == (0, 2)
    assert shape.triangles.shape == (0, 3)
    room = room_area(np.column_stack([np.asarray(points), np.zeros(len(points))]), 1.0)
    assert (room.failure, room.measured) == (failure, measured)


@pytest.mark.parametrize("voxel_m", [None, 0.1])
def test_a_vertex_without_a_height_fails_the_room(voxel_m: float | None) -> None:
    shape = room_area([[0, 0, 0], [1, 0, 0], [0, 1, np.nan]], voxel_m=voxel_m)
    assert (shape.failure, shape.measured) == ("points_not_finite", 1)


def test_an_empty_cloud_in_voxels_has_too_few_points() -> None:
    assert room_area(np.empty((0, 3)), voxel_m=0.1).failure == "points_too_few"


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf])
def test_alpha_out_of_range_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha is"):
        alpha_shape([[0, 0], [1, 0], [0, 1]], alpha)


@pytest.mark.parametrize("voxel_m", [0.0, -0.1, np.nan, np.inf])
def test_voxel_size_out_of_range_is_refused(voxel_m: float) -> None:
    with pytest.raises(ValueError, match="voxel_m is"):
        room_area([[0, 0, 0]], voxel_m=voxel_m)


def test_the_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"give \(N, 2\)"):
        alpha_shape([[0, 0, 0]], 1.0)
    with pytest.raises(ValueError, match=r"give \(N, 3\)"):
        room_area([[0, 0]])
    with pytest.raises(ValueError, match=r"give \(N, 2\)"):
        alpha_shape([1.0, 2.0], 1.0)


# The real scan.


@pytest.mark.long
@pytest.mark.real_data
def test_area_of_the_real_scan_equals_that_of_the_package(real_cloud: np.ndarray) -> None:
    cloud = real_cloud[::3]  # of all points the package would take a quarter of a minute
    shape = room_area(cloud)
    assert shape.area_m2 == pytest.approx(package_area(cloud[:, :2].astype(float), ROOM_ALPHA_PER_M), rel=1e-6)
    assert_sound(shape)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0, 10.0])
def test_area_of_a_part_of_the_real_scan_equals_that_of_the_package(real_cloud: np.ndarray, alpha: float) -> None:
    part = real_cloud[::7]
    assert room_area(part, alpha).area_m2 == pytest.approx(package_area(part[:, :2].astype(float), alpha), rel=1e-6)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("alpha", "area_m2", "holes_m2", "rings"),
    [
        (0.0, 48.451, 0.0, 1),
        (1.0, 47.466, 0.0, 1),
        (2.0, 47.362, 0.0, 1),
        (5.0, 47.218, 0.598, 3),
        (10.0, 46.938, 3.062, 77),
    ],
)
def test_the_real_scan_shrinks_as_alpha_grows(
    real_cloud: np.ndarray, alpha: float, area_m2: float, holes_m2: float, rings: int
) -> None:
    shape = room_area(real_cloud, alpha)
    assert shape.area_m2 == pytest.approx(area_m2, abs=0.001)
    assert shape.holes_m2 == pytest.approx(holes_m2, abs=0.001)
    assert len(shape.outlines) == rings


@pytest.mark.slow
@pytest.mark.real_data
def test_turning_the_real_scan_changes_its_area_only_if_voxels_are_asked_for(real_cloud: np.ndarray) -> None:
    cosine, sine = np.cos(0.5), np.sin(0.5)
    turned = real_cloud.astype(float) @ np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]])
    assert room_area(turned).area_m2 == pytest.approx(room_area(real_cloud).area_m2, rel=1e-9)
    thinned, turned_thinned = room_area(real_cloud, voxel_m=0.05).area_m2, room_area(turned, voxel_m=0.05).area_m2
    assert 0.001 < abs(thinned - turned_thinned) < 0.5
