"""From the frames of autopilots (NED, body FRD) to those of tracks (ENU, body FLU). Quaternions are wxyz.

MAVLink's MOUNT_STATUS does not say whether a gimbal's pitch is one against the horizon or against the drone's body.
ArduPilot's servo mounts report the angle between body and camera: a camera that is held level then seems to pitch up
whenever the body pitches down. So `against_horizon` compares the two while the body pitches.
"""

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Series

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


OPPOSED: Final = -0.9  # correlation with the body's pitch from which the angle is one against the body
SLOPE: Final = (-1.3, -0.7)  # degrees per degree of the body's pitch, likewise
BODY_MOVES_DEG: Final = 1.0  # standard deviation of the body's pitch; less shows nothing
BODY_LEVEL_DEG: Final = 5.0  # as far as the body pitches the two frames differ: less is below every margin
LEVEL_SHARE: Final = 0.95  # of the samples that keep within it
ENOUGH: Final = 20  # samples


class Gimbal(NamedTuple):
    """Pitch of the camera against the horizon, degrees, and what was found out about its frame."""

    pitch: Series
    findings: tuple[Finding, ...]


def against_horizon(t_s: FloatArray, angle_deg: FloatArray, body_t_s: FloatArray, body_deg: FloatArray) -> Gimbal:
    """The pitch of the camera against the horizon, from an angle in a frame that the log does not name.

    Where the angle opposes the pitch of the body, the body's pitch is added to it. Where it does not, but the body
    pitches so far that the frame matters, the angles are left out (NaN) and a doubt says so.

    Args:
        t_s: (M,) times of the angles.
        angle_deg: (M,) as logged, up positive; NaN where unknown.
        body_t_s: (K,) times of the body's pitch, on the same clock; may be empty.
        body_deg: (K,) pitch of the body, degrees, nose up positive.
    """
    as_logged, unknown = Series(t_s, angle_deg), Series(t_s, np.full(len(t_s), np.nan))
    known = np.isfinite(body_deg) & np.isfinite(body_t_s)
    order = np.argsort(body_t_s[known], kind="stable")
    if not known.any():
        message = "the log has no attitude, and does not say whether its gimbal angle is one against the horizon"
        return Gimbal(unknown, (_frame_doubt(message, None, None, None),))
    body = np.interp(t_s, body_t_s[known][order], body_deg[known][order])
    both = np.isfinite(angle_deg) & np.isfinite(t_s)
    reach_deg = float(np.quantile(np.abs(body[both]), LEVEL_SHARE)) if both.any() else 0.0
    if reach_deg <= BODY_LEVEL_DEG:
        return Gimbal(as_logged, ())
    correlation, slope = _fit(body[both], angle_deg[both])
    if correlation <= OPPOSED and SLOPE[0] <= slope <= SLOPE[1]:
        message = (
            f"the gimbal's angle opposes the body's pitch (correlation {correlation:.3f}): it is one against the body, "
            "and the body's pitch was added to it"
        )
        found = note("gimbal_in_body", "log", message, "none needed", correlation, OPPOSED)
        return Gimbal(Series(t_s, angle_deg + body), (found,))
    message = (
        f"the body pitches by {reach_deg:.0f}° and the gimbal's angle does not show whether it is one against the "
        f"body or the horizon (correlation {correlation:.3f})"
    )
    return Gimbal(unknown, (_frame_doubt(message, reach_deg, BODY_LEVEL_DEG, "deg"),))


def _frame_doubt(message: str, measured: float | None, limit: float | None, unit: str | None) -> Finding:
    remedy = "log GIMBAL_DEVICE_ATTITUDE_STATUS, or give the pitch of a fixed camera in flight.yaml"
    return doubt("gimbal_frame", "log", message, remedy, measured, limit, unit)


def _fit(body_deg: FloatArray, angle_deg: FloatArray) -> tuple[float, float]:
    """Correlation of two angles (M,), and the slope of the second on the first; 0 where they show none."""
    spread = float(np.std(body_deg))
    if len(body_deg) < ENOUGH or spread < BODY_MOVES_DEG or float(np.std(angle_deg)) == 0.0:
        return 0.0, 0.0
    shared = float(np.mean((body_deg - body_deg.mean()) * (angle_deg - angle_deg.mean())))
    return round(shared / (spread * float(np.std(angle_deg))), 6), shared / spread**2
