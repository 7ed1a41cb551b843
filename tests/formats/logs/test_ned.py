"""Frames: hand-computed attitudes, and SciPy's rotations as the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pipeline.formats.logs.frames import (
    PX4_EARTH_RADIUS_M,
    enu_from_ned,
    flu_to_enu,
    heading_deg_of,
    lat_lon_deg,
    pitch_deg,
    quaternion,
)
from pipeline.worlds.flight.tracks.assemble import heading_of

HALF = np.sqrt(0.5)
ANGLES = st.floats(-np.pi, np.pi)


def test_north_east_down_becomes_east_north_up() -> None:
    np.testing.assert_array_equal(enu_from_ned(np.array([[1.0, 2.0, 3.0]])), [[2.0, 1.0, -3.0]])


@pytest.mark.parametrize(
    ("frd_to_ned", "expected"),
    [
        ([1, 0, 0, 0], [HALF, 0, 0, HALF]),  # level, facing north: a quarter turn left of east
        ([HALF, 0, 0, HALF], [1, 0, 0, 0]),  # level, facing east
        ([HALF, 0, HALF, 0], [0.5, 0.5, -0.5, 0.5]),  # nose straight up
    ],
)
def test_attitude_by_hand(frd_to_ned: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(flu_to_enu(np.array([frd_to_ned], dtype=float)), [expected], atol=1e-12)


@given(ANGLES, st.floats(-1.5, 1.5), ANGLES)
def test_attitude_agrees_with_rotation_matrices(roll: float, pitch: float, yaw: float) -> None:
    q = quaternion(*np.array([[roll], [pitch], [yaw]]))
    ned_R_frd = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    enu_R_ned = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    expected = enu_R_ned @ ned_R_frd @ np.diag([1.0, -1.0, -1.0])
    found = Rotation.from_quat(flu_to_enu(q)[0], scalar_first=True).as_matrix()
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert pitch_deg(q)[0] == pytest.approx(np.degrees(pitch), abs=1e-5)
    turn = (heading_of(flu_to_enu(q))[0] - np.degrees(yaw) + 180) % 360 - 180
    assert turn == pytest.approx(0, abs=1e-6)


def test_what_is_no_rotation_is_unknown() -> None:
    broken = np.array([[0.0, 0, 0, 0], [2, 0, 0, 0], [np.nan, 0, 0, 1], [1.005, 0, 0, 0]])
    known = np.isfinite(flu_to_enu(broken)).all(1)
    assert known.tolist() == [False, False, False, True]
    assert np.linalg.norm(flu_to_enu(broken)[3]) == pytest.approx(1)
    assert np.isfinite(pitch_deg(broken)).tolist() == [False, False, False, True]


@pytest.mark.parametrize(("yaw", "expected"), [(0, 0), (np.pi / 2, 90), (-np.pi / 2, 270), (np.pi, 180), (-1e-17, 0)])
def test_compass(yaw: float, expected: float) -> None:
    assert heading_deg_of(np.array([yaw]))[0] == pytest.approx(expected)
    assert 0 <= heading_deg_of(np.array([yaw]))[0] < 360


def test_px4_projection_by_hand() -> None:
    ned = np.array([[0.0, 0.0], [PX4_EARTH_RADIUS_M * 0.001, 0.0], [0.0, PX4_EARTH_RADIUS_M * 0.001]])
    found = lat_lon_deg(ned, np.zeros(3), np.full(3, 179.99))
    degrees = np.degrees(0.001)
    np.testing.assert_allclose(found, [[0, 179.99], [degrees, 179.99], [0, 179.99 + degrees - 360]], atol=1e-9)


@given(st.floats(-80, 80), st.floats(-5000, 5000), st.floats(-5000, 5000))
def test_px4_projection_is_undone(lat: float, north: float, east: float) -> None:
    """PX4's own formula (src/lib/geo/geo.cpp, MapProjection::project) takes the place back to where it was."""
    found_lat, found_lon = np.radians(lat_lon_deg(np.array([[north, east]]), np.array([lat]), np.array([8.5]))[0])
    ref_lat, ref_lon = np.radians([lat, 8.5])
    cosine = np.sin(ref_lat) * np.sin(found_lat) + np.cos(ref_lat) * np.cos(found_lat) * np.cos(found_lon - ref_lon)
    angle = np.arccos(np.clip(cosine, -1, 1))
    k = angle / np.sin(angle) if angle > 0 else 1.0
    x = np.cos(ref_lat) * np.sin(found_lat) - np.sin(ref_lat) * np.cos(found_lat) * np.cos(found_lon - ref_lon)
    y = np.cos(found_lat) * np.sin(found_lon - ref_lon)
    # The arc cosine knows small angles to 1e-8 only, which is all that is lost here.
    np.testing.assert_allclose(np.array([x, y]) * k * PX4_EARTH_RADIUS_M, [north, east], atol=0.2, rtol=1e-6)
