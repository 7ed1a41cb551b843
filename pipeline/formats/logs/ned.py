"""From the frames of autopilots (NED, body FRD) to those of tracks (ENU, body FLU). Quaternions are wxyz."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray

# A rotation has a quaternion of length 1; float32 keeps that to 1e-6, and what is further off is no attitude.
UNIT_TOLERANCE: Final = 0.01
# PX4 projects on a sphere of this radius (azimuthal equidistant, src/lib/geo/geo.h), not on the ellipsoid.
PX4_EARTH_RADIUS_M: Final = 6_371_000.0


def enu_from_ned(vectors: FloatArray) -> FloatArray:
    """North, east, down (..., 3) as east, north, up; positions and velocities alike."""
    return vectors[..., [1, 0, 2]] * np.array([1.0, 1.0, -1.0])


def flu_to_enu(frd_to_ned: FloatArray) -> FloatArray:
    """Attitudes (N, 4), body FRD to NED, as body FLU to ENU; NaN where the length is not 1.

    The product of three quaternions written out: half a turn about the north-east diagonal (NED to ENU), the attitude,
    half a turn about the nose (FLU to FRD). The unit quaternion, level and facing north, becomes a quarter turn.
    """
    w, x, y, z = np.moveaxis(unit(frd_to_ned), -1, 0)
    return np.sqrt(0.5) * np.stack([w + z, x + y, x - y, w - z], axis=-1)


def unit(quaternions: FloatArray) -> FloatArray:
    """Quaternions (N, 4) of length exactly 1; NaN where the length is off by more than `UNIT_TOLERANCE`."""
    length = np.sqrt((quaternions**2).sum(-1, keepdims=True))
    return np.where(np.abs(length - 1.0) <= UNIT_TOLERANCE, quaternions, np.nan) / np.where(length > 0, length, 1.0)


def quaternion(roll: FloatArray, pitch: FloatArray, yaw: FloatArray) -> FloatArray:
    """Body FRD to NED (N, 4) from radians (N,): yaw about down, then pitch nose up, then roll to the right."""
    half = 0.5 * np.stack([roll, pitch, yaw])
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    return np.stack(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ],
        axis=-1,
    )


def pitch_deg(frd_to_ned: FloatArray) -> FloatArray:
    """Elevation (N,) of the x axis of quaternions (N, 4): 0 level, -90 straight down, in [-90, 90]."""
    w, x, y, z = np.moveaxis(unit(frd_to_ned), -1, 0)
    return np.degrees(np.arcsin(np.clip(2.0 * (w * y - x * z), -1.0, 1.0)))


def lat_lon_deg(ned_m: FloatArray, ref_lat_deg: FloatArray, ref_lon_deg: FloatArray) -> FloatArray:
    """WGS84 degrees (N, 2) of PX4's local positions (N, 2 or 3) about their references (N,).

    Inverse of PX4's own projection of latitudes and longitudes: an ellipsoid instead of its sphere would shift a place
    by up to 0.5% of its distance.
    """
    north, east = ned_m[:, 0] / PX4_EARTH_RADIUS_M, ned_m[:, 1] / PX4_EARTH_RADIUS_M
    angle = np.hypot(north, east)
    shrink = np.sinc(angle / np.pi)  # sin(angle) / angle
    lat, lon = np.radians(ref_lat_deg), np.radians(ref_lon_deg)
    found_lat = np.arcsin(np.clip(np.cos(angle) * np.sin(lat) + north * shrink * np.cos(lat), -1.0, 1.0))
    found_lon = lon + np.arctan2(east * shrink, np.cos(lat) * np.cos(angle) - north * shrink * np.sin(lat))
    return np.stack([np.degrees(found_lat), (np.degrees(found_lon) + 180.0) % 360.0 - 180.0], axis=-1)


def heading_deg_of(yaw_rad: FloatArray) -> FloatArray:
    """Heading in degrees, [0, 360), of yaws (N,) in NED: both clockwise from north; NaN where one is not finite."""
    degrees = np.degrees(yaw_rad) % 360.0
    return np.where(degrees == 360.0, 0.0, degrees)  # -1e-17 % 360 rounds up to 360
