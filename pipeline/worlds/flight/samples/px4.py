"""The PX4 logs of the sample flights: with the estimator's positions, or with the receiver's alone.

NED frame, body axes forward, right, down, as PX4 logs them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.core.schema import Origin
from pipeline.worlds.flight.samples.city import to_enu, to_wgs84
from pipeline.worlds.flight.samples.pilot import Pose
from pipeline.worlds.flight.samples.plans import FlightPlan
from pipeline.worlds.flight.samples.ulog import Topic, ulog_bytes

BOOTED_US: Final = 48_123_456  # time since boot at the beginning of the log
_INFORMATION: Final = {"sys_name": "PX4", "ver_hw": "PX4_SITL", "sys_toolchain": "GNU GCC"}
_HZ: Final = {"attitude": 20, "position": 10, "gps": 5, "gps_alone": 10, "gimbal": 5}
_VELOCITY_NOISE: Final = 0.2  # of a receiver's position noise, metres per second for each metre
_NO_FIX, _FIX_3D = 1, 3
# Roll and pitch held against the horizon, yaw with the vehicle: MAVLink's GIMBAL_DEVICE_FLAGS.
_GIMBAL_FLAGS: Final = 4 | 8 | 32


def with_estimator(plan: FlightPlan, pose: Pose) -> tuple[bytes, Origin]:
    """A log with local, global and receiver's positions, and the origin that its first position gives."""
    at = _sampled(plan, pose, "position")
    t_us, place = _stamps(at), to_wgs84(at.xyz_m)
    origin = _origin(place[0])
    x, y, z = _ned(to_enu(at.xyz_m, origin))
    vx, vy, vz = _ned(at.velocity_mps)
    same, sure = np.ones(len(t_us)), np.ones(len(t_us), dtype=bool)
    floats = {"x": x, "y": y, "z": z, "vx": vx, "vy": vy, "vz": vz, "heading": _wrapped(at)}
    local = {
        "ref_timestamp": ("uint64_t", np.full(len(t_us), BOOTED_US)),
        "ref_lat": ("double", same * place[0, 0]),
        "ref_lon": ("double", same * place[0, 1]),
        **{name: ("float", values) for name, values in floats.items()},
        "ref_alt": ("float", same * place[0, 2]),
        **dict.fromkeys(("xy_valid", "z_valid", "v_xy_valid", "v_z_valid", "xy_global", "z_global"), ("bool", sure)),
    }
    world = {"lat": ("double", place[:, 0]), "lon": ("double", place[:, 1]), "alt": ("float", place[:, 2])}
    receiver = _sampled(plan, pose, "gps")
    place_gps = to_wgs84(receiver.xyz_m)
    has_fix = receiver.t_s >= plan.no_fix_s
    gps = {
        "latitude_deg": ("double", np.where(has_fix, place_gps[:, 0], 0.0)),
        "longitude_deg": ("double", np.where(has_fix, place_gps[:, 1], 0.0)),
        "altitude_msl_m": ("double", np.where(has_fix, place_gps[:, 2], 0.0)),
        "fix_type": ("uint8_t", np.where(has_fix, _FIX_3D, _NO_FIX)),
        "satellites_used": ("uint8_t", np.where(has_fix, 14, 2)),
    }
    topics = [
        Topic("vehicle_local_position", t_us, local),
        Topic("vehicle_global_position", t_us, world),
        Topic("vehicle_gps_position", _stamps(receiver), gps),
        *_attitudes(plan, pose),
    ]
    return ulog_bytes(topics, _INFORMATION), origin


def with_receiver(plan: FlightPlan, pose: Pose) -> tuple[bytes, Origin]:
    """A log with the receiver's positions alone, in integers as of older versions."""
    at = _sampled(plan, pose, "gps_alone")
    noise = rng_for("sample flight", plan.id, "noise").normal(0.0, 1.0, (len(at.t_s), 6))
    place = to_wgs84(at.xyz_m + plan.noise_m * noise[:, :3])
    north, east, down = _ned(at.velocity_mps + plan.noise_m * _VELOCITY_NOISE * noise[:, 3:])
    has_fix = at.t_s >= plan.no_fix_s
    lat, lon, alt = np.rint(place * [1e7, 1e7, 1e3]).astype(np.int64).T
    gps = {
        "time_utc_usec": ("uint64_t", np.zeros(len(at.t_s), dtype=np.int64)),
        "lat": ("int32_t", np.where(has_fix, lat, 0)),
        "lon": ("int32_t", np.where(has_fix, lon, 0)),
        "alt": ("int32_t", np.where(has_fix, alt, 0)),
        "vel_n_m_s": ("float", np.where(has_fix, north, 0.0)),
        "vel_e_m_s": ("float", np.where(has_fix, east, 0.0)),
        "vel_d_m_s": ("float", np.where(has_fix, down, 0.0)),
        "fix_type": ("uint8_t", np.where(has_fix, _FIX_3D, _NO_FIX)),
        "vel_ned_valid": ("bool", has_fix),
        "satellites_used": ("uint8_t", np.where(has_fix, 12, 3)),
    }
    first = int(np.argmax(has_fix))
    topics = [Topic("vehicle_gps_position", _stamps(at), gps), *_attitudes(plan, pose)]
    return ulog_bytes(topics, _INFORMATION), _origin(np.array([lat[first], lon[first], alt[first]]) / [1e7, 1e7, 1e3])


def _attitudes(plan: FlightPlan, pose: Pose) -> list[Topic]:
    body, gimbal = _sampled(plan, pose, "attitude"), _sampled(plan, pose, "gimbal")
    half, zero = np.radians(gimbal.pitch_deg) / 2, np.zeros(len(gimbal.t_s))
    camera: dict[str, tuple[str, Any]] = {
        "q": ("float", np.stack([np.cos(half), zero, np.sin(half), zero], axis=1)),
        "device_flags": ("uint16_t", np.full(len(zero), _GIMBAL_FLAGS)),
    }
    return [
        Topic("vehicle_attitude", _stamps(body), {"q": ("float", body.quat_ned_wxyz())}),
        Topic("gimbal_device_attitude_status", _stamps(gimbal), camera),
    ]


def _sampled(plan: FlightPlan, pose: Pose, topic: str) -> Pose:
    """The flight at the times of a topic's samples, less those that were lost; the first is always there."""
    rate = _HZ[topic]
    t = np.arange(int(pose.t_s[-1] * rate + 1e-6) + 1) / rate
    kept = rng_for("sample flight", plan.id, "dropped", topic).random(len(t)) >= plan.dropped
    kept[0] = True
    return pose.at(t[kept])


def _stamps(pose: Pose) -> npt.NDArray[np.int64]:
    return BOOTED_US + np.rint(pose.t_s * 1e6).astype(np.int64)


def _ned(enu: FloatArray) -> FloatArray:
    """North, east and down (3, N) of vectors (N, 3) east, north, up."""
    return np.stack([enu[:, 1], enu[:, 0], -enu[:, 2]])


def _wrapped(pose: Pose) -> FloatArray:
    """Headings (N,) in radians from -pi to pi."""
    return np.radians((pose.heading_deg + 180.0) % 360.0 - 180.0)


def _origin(place: FloatArray) -> Origin:
    lat, lon, alt = map(float, place)
    return Origin(lat_deg=lat, lon_deg=lon, alt_m=alt)
