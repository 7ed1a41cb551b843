"""Bearings, elevations, picture coordinates and distances: hand-computed, and properties of the world."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.geometry.bearings import (
    compass_deg,
    distance_m,
    in_picture,
    picture_xy,
    relative_bearing_deg,
    turn_between_deg,
)
from pipeline.geometry.views import PinholeView, pixels_of, turned_deg

ORIGIN = np.zeros(3)
coordinate = st.floats(-500, 500).map(lambda x: round(x, 3))
angle = st.floats(0, 359.999)


@pytest.mark.parametrize(
    ("vector", "expected"), [((0, 1), 0), ((1, 0), 90), ((0, -1), 180), ((-1, 0), 270), ((1, 1), 45), ((-1, 1), 315)]
)
def test_the_compass_runs_clockwise_from_north(vector, expected):
    assert compass_deg(np.array(vector, float)) == pytest.approx(expected)


def test_the_compass_does_not_reach_360_nor_point_anywhere_without_a_vector():
    assert compass_deg(np.array([-1e-300, 1.0])) == 0
    assert np.isnan(compass_deg(np.zeros(2)))


@pytest.mark.parametrize(
    ("before", "after", "turn"),
    [(350, 10, 20), (10, 350, -20), (0, 180, 180), (180, 0, 180), (0, 181, -179), (0, 179, 179), (359, 359, 0)],
)
def test_a_turn_is_the_shortest_and_half_a_circle_is_to_the_right(before, after, turn):
    assert turn_between_deg(np.array(float(before)), np.array(float(after))) == turn


@pytest.mark.parametrize(
    ("heading", "target", "expected"),
    [(0, (0, 5, 0), 0), (0, (5, 0, 0), 90), (0, (-5, 0, 0), -90), (90, (0, 5, 0), -90), (350, (0, 5, 9), 10)],
)
def test_right_of_the_nose_is_positive(heading, target, expected):
    found = relative_bearing_deg(ORIGIN, np.array(float(heading)), np.array(target, float))
    assert found == pytest.approx(expected)


def test_straight_below_has_no_bearing():
    assert np.isnan(relative_bearing_deg(np.array([1.0, 2, 30]), np.array(0.0), np.array([1.0, 2])))


@given(coordinate, coordinate, angle, angle)
def test_turning_the_world_changes_no_relative_bearing(x, y, heading, turn):
    if np.hypot(x, y) < 0.1:
        return
    a = np.radians(turn)
    turned = np.array([x * np.cos(a) + y * np.sin(a), y * np.cos(a) - x * np.sin(a)])  # clockwise
    before = relative_bearing_deg(ORIGIN, np.array(heading), np.array([x, y]))
    after = relative_bearing_deg(ORIGIN, np.array((heading + turn) % 360), turned)
    assert abs(turn_between_deg(before, after)) < 1e-6


@given(coordinate, coordinate, st.floats(1, 359))
def test_a_mirror_swaps_left_and_right(x, y, heading):
    if abs(x) < 0.1:
        return
    here = relative_bearing_deg(ORIGIN, np.array(heading), np.array([x, y]))
    there = relative_bearing_deg(ORIGIN, np.array(360 - heading), np.array([-x, y]))
    assert abs(turn_between_deg(here, -there)) < 1e-6


def test_poses_against_targets_broadcast():
    poses, targets = np.zeros((4, 1, 3)), np.ones((3, 3))
    assert relative_bearing_deg(poses, np.zeros((4, 1)), targets).shape == (4, 3)
    assert distance_m(poses, targets).shape == (4, 3)
    assert in_picture(poses, np.zeros((4, 1)), np.zeros((4, 1)), targets, 80, 1.5).shape == (4, 3, 2)


def test_distance_is_over_ground_where_a_height_is_missing():
    assert distance_m(np.array([1.0, 2, 3]), np.array([3.0, 5, 9])) == pytest.approx(7)
    assert distance_m(np.array([0.0, 0, 50]), np.array([3.0, 4])) == pytest.approx(5)


def at(target, heading=0.0, pitch=0.0, fov=90.0, aspect=2.0):
    return in_picture(ORIGIN, np.array(heading), np.array(pitch), np.array(target, float), fov, aspect)


def test_the_middle_of_the_picture_is_where_the_camera_looks():
    assert at((0, 10, 0)) == pytest.approx((0, 0))
    assert at((10, 0, -10), heading=90, pitch=-45) == pytest.approx((0, 0), abs=1e-9)
    assert at((0, 0, -10), heading=123, pitch=-90) == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ((5, 10, 0), (0.5, 0)),  # 90 degrees wide: the edge is as far aside as ahead
        ((-5, 10, 0), (-0.5, 0)),
        ((0, 10, 2.5), (0, 0.5)),  # twice as wide as high: the upper edge is at half of that
        ((0, 10, -2.5), (0, -0.5)),
        ((9.999, 10, 0), (0.9999, 0)),
        ((0, 10, 4.999), (0, 0.9998)),
    ],
)
def test_right_and_up_are_positive(target, expected):
    assert at(target) == pytest.approx(expected)


def test_looking_down_north_is_up():
    assert at((0, 3, -10), pitch=-90) == pytest.approx((0, 0.6))
    assert at((3, 0, -10), pitch=-90) == pytest.approx((0.3, 0), abs=1e-9)


@pytest.mark.parametrize("target", [(10.01, 10, 0), (0, 10, 5.01), (0, -10, 0), (0, 0, 0), (np.nan, 10, 0)])
def test_outside_and_behind_is_nothing(target):
    assert np.isnan(at(target)).all()


def test_beyond_the_edge_has_coordinates_but_behind_has_none():
    beyond = picture_xy(ORIGIN, np.array(0.0), np.array(0.0), np.array([20.0, 10, 0]), 90, 2)
    assert beyond == pytest.approx((2, 0))
    assert np.isnan(picture_xy(ORIGIN, np.array(0.0), np.array(0.0), np.array([0.0, -1, 0]), 90, 2)).all()


@given(angle, st.floats(-90, 90), st.floats(10, 150), st.integers(1, 900), st.integers(1, 900), st.integers(0, 99))
def test_a_drone_sees_what_a_view_of_the_sphere_around_it_shows(
    heading: float, pitch: float, fov: float, width: int, height: int, seed: int
) -> None:
    drone, away = np.random.default_rng(seed).uniform(-50, 50, (2, 40, 3))
    view = PinholeView(yaw_deg=turned_deg(heading), pitch_deg=pitch, fov_deg=fov, width=width, height=height)
    rise = np.degrees(np.arctan2(away[:, 2], np.hypot(away[:, 0], away[:, 1])))
    column, row = pixels_of(view, compass_deg(away), rise)
    expected = np.stack([2 * column + 1 - width, height - 1 - 2 * row], axis=1) / [width, height]
    found = picture_xy(drone, np.array(heading), np.array(pitch), drone + away, fov, width / height)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_an_unknown_pitch_or_height_puts_nothing_in_the_picture():
    assert np.isnan(at((0, 10, 0), pitch=np.nan)).all()
    assert np.isnan(at((0, 10, np.nan))).all()
