from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.arrays import nearest_index
from pipeline.geometry.angles import (
    _window,
    leftward_deg,
    margin_below_deg,
    margin_deg,
    matrices,
    rate,
    rotated,
    turn_rate_dps,
    turned_about_z,
    wrapped_deg,
    yaw_deg,
)

HALVES = (0.0, 135.0, 225.0)
QUADRANTS = (0.0, 90.0, 180.0, 270.0)
BOUNDARY_BEARINGS = [0.0, 1.0, 89.0, 90.0, 91.0, 134.0, 136.0, 179.0, 180.0, 181.0, 269.0, 271.0, 359.0]


def _towards(bearing: float, facing: float, distance_m: float = 2.0) -> np.ndarray:
    turned = np.radians(bearing + facing)
    return np.array([distance_m * np.cos(turned), distance_m * np.sin(turned)])


@pytest.mark.parametrize("facing", [0.0, 37.0, 90.0, 180.0, 270.0, 333.3])
@pytest.mark.parametrize("bearing", BOUNDARY_BEARINGS)
def test_bearing_is_counter_clockwise_from_the_facing_direction(bearing: float, facing: float) -> None:
    origin = np.array([3.0, -2.0])
    found = leftward_deg(origin, origin + _towards(0.0, facing), origin + _towards(bearing, facing))
    assert abs((found - bearing + 180.0) % 360.0 - 180.0) < 1e-9
    assert 0.0 <= found < 360.0


@pytest.mark.parametrize(
    ("target", "bearing"),
    [((1, 0), 0.0), ((1, 1), 45.0), ((0, 1), 90.0), ((-1, 0), 180.0), ((0, -1), 270.0), ((1, -1), 315.0)],
)
def test_left_is_ninety_degrees(target: tuple[float, float], bearing: float) -> None:
    found = leftward_deg(np.zeros(2), np.array([1.0, 0.0]), np.array(target, dtype=float))
    assert found == bearing


def test_a_third_of_a_circle_about_the_diagonal_takes_each_axis_to_the_next() -> None:
    third = matrices(np.array([[2.0, 2, 2, 2], [1, 0, 0, 0]]))  # of any length
    assert third[0].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert third[1].tolist() == np.eye(3).tolist()
    assert rotated(third, np.array([2.0, 3, 5])).tolist() == [[5, 2, 3], [2, 3, 5]]


def test_a_turn_about_no_axis_of_symmetry() -> None:
    found = matrices(np.array([1.0, 2, 3, 4]))  # its square is 30: all entries are fifteenths
    assert (15 * found).tolist() == pytest.approx(np.array([[-10, 2, 11], [10, -5, 10], [5, 14, 2]]))
    assert (15 * rotated(found, np.array([2.0, -3, 5]))).tolist() == pytest.approx([29, 85, -22])


def test_height_does_not_count() -> None:
    origin, facing, target = np.array([0.0, 0.0, 9.0]), np.array([1.0, 0.0, -4.0]), np.array([0.0, 1.0, 77.0])
    assert leftward_deg(origin, facing, target) == 90.0


@pytest.mark.parametrize("y", [-1e-17, -1e-300, -5e-324, -0.0, 0.0])
def test_just_right_of_ahead_wraps_to_zero_and_never_to_360(y: float) -> None:
    assert leftward_deg(np.zeros(2), np.array([1.0, 0.0]), np.array([1.0, y])) == 0.0


def test_a_visible_turn_to_the_right_stays_below_360() -> None:
    found = leftward_deg(np.zeros(2), np.array([1.0, 0.0]), np.array([1.0, -1e-12]))
    assert 359.9999 < found < 360.0


def test_shapes_broadcast() -> None:
    here, there = np.zeros((5, 1, 3)), np.ones((5, 1, 3))
    assert leftward_deg(here, there, np.ones((5, 8, 3))).shape == (5, 8)


@pytest.mark.parametrize(
    ("bearing", "edges", "margin"),
    [
        (89.0, QUADRANTS, 1.0),
        (91.0, QUADRANTS, 1.0),
        (359.0, QUADRANTS, 1.0),
        (1.0, QUADRANTS, 1.0),
        (179.0, QUADRANTS, 1.0),
        (181.0, QUADRANTS, 1.0),
        (269.0, QUADRANTS, 1.0),
        (271.0, QUADRANTS, 1.0),
        (0.0, QUADRANTS, 0.0),
        (360.0, QUADRANTS, 0.0),
        (90.0, QUADRANTS, 0.0),
        (45.0, QUADRANTS, 45.0),
        (134.0, HALVES, 1.0),
        (136.0, HALVES, 1.0),
        (224.0, HALVES, 1.0),
        (226.0, HALVES, 1.0),
        (180.0, HALVES, 45.0),
        (359.0, HALVES, 1.0),
        (1.0, HALVES, 1.0),
        (90.0, HALVES, 45.0),
        (292.5, HALVES, 67.5),
        (40.0, (30.0, 100.0), 10.0),
        (330.0, (30.0, 100.0), 60.0),
        (260.0, (30.0, 100.0), 130.0),
        (181.0, (0.0,), 179.0),
        (180.0, (0.0,), 180.0),
    ],
)
def test_margin_is_the_angle_to_the_nearest_edge_on_either_side(
    bearing: float, edges: tuple[float, ...], margin: float
) -> None:
    assert margin_deg(np.array([bearing]), edges).tolist() == [margin]


@pytest.mark.parametrize(
    ("bearing", "margin"),
    [
        *(
            (89.0, 1.0),
            (91.0, 89.0),
            (359.0, 1.0),
            (1.0, 89.0),
            (179.0, 1.0),
            (181.0, 89.0),
            (269.0, 1.0),
            (271.0, 89.0),
        ),
        *((0.0, 0.0), (360.0, 0.0), (90.0, 0.0), (180.0, 0.0), (270.0, 0.0)),
    ],
)
def test_margin_below_sees_the_next_edge_alone(bearing: float, margin: float) -> None:
    assert margin_below_deg(np.array([bearing]), QUADRANTS).tolist() == [margin]


@pytest.mark.parametrize("margin", [margin_deg, margin_below_deg])
def test_margins_of_a_table_are_those_of_its_entries(margin: Callable[..., np.ndarray]) -> None:
    table = np.arange(0.0, 360, 15).reshape(2, 3, 4)
    for edges in (HALVES, QUADRANTS):
        assert margin(table, edges).ravel().tolist() == [float(margin(entry, edges)) for entry in table.ravel()]


def test_margin_below_of_edges_that_are_not_their_mirror_image() -> None:
    found = margin_below_deg(np.array([40.0, 330.0, 99.0, 101.0, 20.0]), (30.0, 100.0))
    assert found.tolist() == [60, 60, 1, 289, 10]


@pytest.mark.parametrize(
    ("x", "y", "yaw"),
    [(2, 0, 0), (3, 4, 53.13010235415598), (-3, 4, 126.86989764584402), (-1, -1, -135), (0, -5, -90), (-2, 0, -180)],
)
def test_directions_over_ground_run_from_x_and_end_before_180(x: float, y: float, yaw: float) -> None:
    assert yaw_deg(np.array([[x, y, 9.0]])).tolist() == pytest.approx([yaw])
    assert yaw_deg(np.array([x, y], dtype=float)) == pytest.approx(yaw)


@pytest.mark.parametrize(
    ("angle", "wrapped"),
    [(0, 0), (179.5, 179.5), (180, -180), (181, -179), (-180, -180), (-180.5, 179.5), (270, -90), (725, 5)],
)
def test_angles_are_wrapped_below_180(angle: float, wrapped: float) -> None:
    assert wrapped_deg(np.array([angle, angle - 360.0])).tolist() == [wrapped] * 2


def test_just_below_minus_180_is_minus_180() -> None:
    assert wrapped_deg(np.array([np.nextafter(-180, -181), -180 - 1e-14])).tolist() == [-180, -180]


degrees = st.floats(0.0, 360.0, exclude_max=True, allow_nan=False)


@given(degrees, st.sampled_from([HALVES, QUADRANTS]))
def test_margin_is_symmetric_and_wraps(bearing: float, edges: tuple[float, ...]) -> None:
    """Both sets of edges are their own mirror image."""
    here = margin_deg(np.array([bearing]), edges)
    for same in (-bearing, bearing + 360.0, bearing - 720.0):
        assert margin_deg(np.array([same]), edges) == pytest.approx(here, abs=1e-9)
    nearest = min(min((bearing - e) % 360.0, (e - bearing) % 360.0) for e in edges)
    assert here == pytest.approx(nearest, abs=1e-9)


@given(degrees)
def test_two_sided_margin_is_the_smaller_of_both_one_sided_ones(bearing: float) -> None:
    up = margin_below_deg(np.array([bearing]), QUADRANTS)[0]
    down = margin_below_deg(np.array([-bearing % 360.0]), QUADRANTS)[0]
    assert margin_deg(np.array([bearing]), QUADRANTS)[0] == pytest.approx(min(up, down), abs=1e-9)
    assert 0.0 <= up < 90.0 + 1e-9


@pytest.mark.slow
@given(degrees, degrees, st.floats(-50, 50), st.floats(-50, 50), st.floats(0.3, 5.0))
def test_turning_and_moving_the_world_changes_no_bearing(
    bearing: float, turn: float, x: float, y: float, distance_m: float
) -> None:
    origin = np.array([x, y])
    found = leftward_deg(origin, origin + _towards(0.0, turn), origin + _towards(bearing, turn, distance_m))
    assert abs((found - bearing + 180.0) % 360.0 - 180.0) < 1e-6
    mirrored = leftward_deg(
        origin * [-1, 1],
        (origin + _towards(0.0, turn)) * [-1, 1],
        (origin + _towards(bearing, turn, distance_m)) * [-1, 1],
    )
    assert abs((found + mirrored + 180.0) % 360.0 - 180.0) < 1e-6


# ---- how fast sampled values change


TIMES_S = np.arange(31) / 10


def test_even_and_growing_speeds_are_exact() -> None:
    moved = np.stack([4 * TIMES_S, TIMES_S**2], axis=-1)
    found = rate(TIMES_S, moved, 1.0)
    assert np.allclose(found[:, 0], 4)
    assert np.allclose(found[5:-5, 1], 2 * TIMES_S[5:-5])  # a central difference of a parabola is its slope
    assert found[0, 1] == pytest.approx(0.5)  # from 0 s to 0.5 s: there is nothing before


def test_what_is_not_known_makes_no_speed() -> None:
    moved = 4 * TIMES_S[:, None]
    moved[10] = np.nan
    assert np.flatnonzero(np.isnan(rate(TIMES_S, moved, 1.0)[:, 0])).tolist() == [5, 15]
    assert np.isnan(rate(TIMES_S[:1], moved[:1], 1.0)).all()
    assert rate(TIMES_S[:0], moved[:0], 1.0).shape == (0, 1)


def test_windows_of_uneven_times_by_hand() -> None:
    """Each half of a second of four about a time ends at the sample that is nearest, the earlier one of two."""
    times_s = np.array([10.0, 11, 14, 15, 19, 20])
    assert nearest_index(times_s, np.array([9.0, 10.4, 10.5, 10.6, 12.5, 12.6, 17, 30])).tolist() == [
        0,
        0,
        0,
        1,
        1,
        2,
        3,
        5,
    ]
    assert nearest_index(times_s[:1], np.array([9.0, 12.0])).tolist() == [0, 0]
    values = np.array([[0.0, 1], [2, 1], [9, 5], [1, 5], [7, 1], [3, 0]])
    before, after, lasted = _window(times_s, 4.0, False)
    assert (before.tolist(), after.tolist(), lasted.tolist()) == (
        [0, 0, 1, 2, 3, 4], [1, 2, 3, 3, 5, 5], [1, 4, 4, 1, 5, 1],
    )  # fmt: skip
    assert rate(times_s, values, 4.0).tolist() == [[2, 0], [2.25, 1], [-0.25, 1], [-8, 0], [0.4, -1], [-4, -1]]
    before, after, lasted = _window(times_s, 4.0, True)
    assert (before.tolist(), after.tolist()) == ([0, 0, 0, 1, 3, 3], [0, 1, 2, 3, 4, 5])
    assert lasted[1:].tolist() == [1, 4, 4, 4, 5]
    assert np.isnan(lasted[0])
    turned = turn_rate_dps(times_s, np.array([170.0, -170, 0, 0, -170, 170]), 4.0, until=True)
    assert turned[1:].tolist() == [20, -42.5, 42.5, -42.5, 34]


def test_turns_go_the_short_way_round() -> None:
    yaw_deg = (175 + 30 * TIMES_S + 180) % 360 - 180
    assert np.allclose(turn_rate_dps(TIMES_S, yaw_deg, 0.4), 30)
    assert np.allclose(turn_rate_dps(TIMES_S, np.stack([yaw_deg, -yaw_deg]), 0.4), [[30], [-30]])


def test_vectors_turn_over_ground_and_keep_their_height() -> None:
    turned = turned_about_z(np.array([[2.0, 0.0, 7.0], [0.0, 2.0, -7.0]]), np.array([90.0, -90.0]))
    np.testing.assert_allclose(turned, [[0, 2, 7], [2, 0, -7]], atol=1e-12)
    np.testing.assert_allclose(turned_about_z(np.array([2.0, 0.0]), np.array(180.0)), [-2, 0], atol=1e-12)
