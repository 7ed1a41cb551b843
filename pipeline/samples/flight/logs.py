"""The logs of the sample flights: PX4's ULog, three dialects of DJI's subtitles, and AirSim's recording.

The text formats look as in real files; see their readers. ULog: docs.px4.io, "ULog File Format", version 1; NED frame,
body axes forward, right, down, with the estimator's positions or the receiver's alone.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.core.schema import Origin
from pipeline.geometry.angles import wrapped_deg
from pipeline.samples.common.encode import lines_bytes
from pipeline.samples.flight.city import to_enu, to_wgs84
from pipeline.samples.flight.pilot import FlightPlan, PilotPose

_MAGIC: Final = b"ULog\x01\x12\x35\x01"
_NO_FLAGS: Final = bytes(8 + 8 + 3 * 8)  # compatible, incompatible, offsets of appended data
_DTYPES: Final = {"uint64_t": "<u8", "int32_t": "<i4", "uint16_t": "<u2", "uint8_t": "u1", "bool": "?"} | {
    "double": "<f8",
    "float": "<f4",
}


@dataclass(frozen=True)
class LogTopic:
    """Messages of one kind.

    Attributes:
        name: of the topic and of its format.
        t_us: (N,) microseconds since boot, ascending.
        fields: type and values (N,) or (N, k) by name, the greater types first, so that no padding is needed.
    """

    name: str
    t_us: npt.NDArray[np.int64]
    fields: Mapping[str, tuple[str, Any]]


def ulog_bytes(topics: Sequence[LogTopic], information: Mapping[str, str]) -> bytes:
    """A whole file: definitions, then the data of all topics by time."""
    times = np.concatenate([topic.t_us for topic in topics])
    head = [_MAGIC + struct.pack("<Q", int(times.min())), _message(b"B", _NO_FLAGS)]
    for key, text in information.items():
        named = f"char[{len(text.encode())}] {key}".encode()
        head.append(_message(b"I", bytes([len(named)]) + named + text.encode()))
    head += [_message(b"F", _definition(topic).encode()) for topic in topics]
    head += [_message(b"A", struct.pack("<BH", 0, i) + topic.name.encode()) for i, topic in enumerate(topics)]
    rows = [row for i, topic in enumerate(topics) for row in _data(i, topic)]
    return b"".join([*head, *(rows[i] for i in np.argsort(times, kind="stable"))])


def _message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<H", len(body)) + kind + body


def _definition(topic: LogTopic) -> str:
    named = {"timestamp": ("uint64_t", topic.t_us)} | dict(topic.fields)
    parts = []
    for name, (kind, values) in named.items():
        width = np.shape(values)[1:]
        parts.append(f"{kind}[{width[0]}] {name};" if width else f"{kind} {name};")
    return f"{topic.name}:{''.join(parts)}"


def _data(number: int, topic: LogTopic) -> list[bytes]:
    """The data messages of a topic."""
    fields = {name: (_DTYPES[kind], np.shape(values)[1:], values) for name, (kind, values) in topic.fields.items()}
    layout = [("size", "<u2"), ("kind", "S1"), ("number", "<u2"), ("timestamp", "<u8")]
    table = np.zeros(len(topic.t_us), [*layout, *((name, kind, width) for name, (kind, width, _) in fields.items())])
    table["size"], table["kind"], table["number"] = table.dtype.itemsize - 3, b"D", number
    table["timestamp"] = topic.t_us
    for name, (_, _, values) in fields.items():
        table[name] = values
    raw, size = table.tobytes(), table.dtype.itemsize
    return [raw[i : i + size] for i in range(0, len(raw), size)]


BOOTED_US: Final = 48_123_456  # time since boot at the beginning of the log
_INFORMATION: Final = {"sys_name": "PX4", "ver_hw": "PX4_SITL", "sys_toolchain": "GNU GCC"}
_HZ: Final = {"attitude": 20, "position": 10, "gps": 5, "gps_alone": 10, "gimbal": 5, "landed": 1}
_VELOCITY_NOISE: Final = 0.2  # of a receiver's position noise, metres per second for each metre
_GPS_PLACE: Final = ("latitude_deg", "longitude_deg", "altitude_msl_m")
_NO_FIX, _FIX_3D = 1, 3
_LANDED_M: Final = 0.05  # above take-off
# Roll and pitch held against the horizon, yaw with the vehicle: MAVLink's GIMBAL_DEVICE_FLAGS.
_GIMBAL_FLAGS: Final = 4 | 8 | 32
_STEADY: Final = 9  # decimals of degrees and metres: processors differ in the last digits of a float


def with_estimator(plan: FlightPlan, pose: PilotPose) -> tuple[bytes, Origin]:
    """A log with local, global and receiver's positions, and the origin that its first position gives."""
    at = _sampled(plan, pose, "position")
    t_us, place = _stamps(at), to_wgs84(at.xyz_m).round(_STEADY)
    origin = _origin(place[0])
    x, y, z = _ned(to_enu(at.xyz_m, origin).round(_STEADY))
    vx, vy, vz = _ned(at.velocity_mps)
    same, sure = np.ones(len(t_us)), np.ones(len(t_us), dtype=bool)
    floats = {"x": x, "y": y, "z": z, "vx": vx, "vy": vy, "vz": vz, "heading": np.radians(wrapped_deg(at.heading_deg))}
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
    place_gps = to_wgs84(receiver.xyz_m).round(_STEADY)
    has_fix = receiver.t_s >= plan.no_fix_s
    gps = {
        **{name: ("double", np.where(has_fix, axis, 0.0)) for name, axis in zip(_GPS_PLACE, place_gps.T, strict=True)},
        "fix_type": ("uint8_t", np.where(has_fix, _FIX_3D, _NO_FIX)),
        "satellites_used": ("uint8_t", np.where(has_fix, 14, 2)),
    }
    topics = [
        LogTopic("vehicle_local_position", t_us, local),
        LogTopic("vehicle_global_position", t_us, world),
        LogTopic("vehicle_gps_position", _stamps(receiver), gps),
        *_attitudes(plan, pose),
    ]
    return ulog_bytes(topics, _INFORMATION), origin


def with_receiver(plan: FlightPlan, pose: PilotPose) -> tuple[bytes, Origin]:
    """A log with the receiver's positions alone, in integers as of older versions."""
    at = _sampled(plan, pose, "gps_alone")
    noise = rng_for("sample flight", plan.id, "noise").normal(0.0, 1.0, (len(at.t_s), 6))
    place = to_wgs84(at.xyz_m + plan.noise_m * noise[:, :3])
    velocity = _ned(at.velocity_mps + plan.noise_m * _VELOCITY_NOISE * noise[:, 3:])
    has_fix = at.t_s >= plan.no_fix_s
    lat, lon, alt = np.rint(place * [1e7, 1e7, 1e3]).astype(np.int64).T
    gps = {
        "time_utc_usec": ("uint64_t", np.zeros(len(at.t_s), dtype=np.int64)),
        **{name: ("int32_t", np.where(has_fix, v, 0)) for name, v in {"lat": lat, "lon": lon, "alt": alt}.items()},
        **{f"vel_{axis}_m_s": ("float", np.where(has_fix, v, 0.0)) for axis, v in zip("ned", velocity, strict=True)},
        "fix_type": ("uint8_t", np.where(has_fix, _FIX_3D, _NO_FIX)),
        "vel_ned_valid": ("bool", has_fix),
        "satellites_used": ("uint8_t", np.where(has_fix, 12, 3)),
    }
    first = int(np.argmax(has_fix))
    topics = [LogTopic("vehicle_gps_position", _stamps(at), gps), *_attitudes(plan, pose)]
    return ulog_bytes(topics, _INFORMATION), _origin(np.array([lat[first], lon[first], alt[first]]) / [1e7, 1e7, 1e3])


def _attitudes(plan: FlightPlan, pose: PilotPose) -> list[LogTopic]:
    body, gimbal = _sampled(plan, pose, "attitude"), _sampled(plan, pose, "gimbal")
    half, zero = np.radians(gimbal.pitch_deg) / 2, np.zeros(len(gimbal.t_s))
    camera: dict[str, tuple[str, Any]] = {
        "q": ("float", np.stack([np.cos(half), zero, np.sin(half), zero], axis=1)),
        "device_flags": ("uint16_t", np.full(len(zero), _GIMBAL_FLAGS)),
    }
    standing = _sampled(plan, pose, "landed")
    return [
        LogTopic("vehicle_land_detected", _stamps(standing), {"landed": ("bool", standing.xyz_m[:, 2] < _LANDED_M)}),
        LogTopic("vehicle_attitude", _stamps(body), {"q": ("float", body.quat_ned_wxyz())}),
        LogTopic("gimbal_device_attitude_status", _stamps(gimbal), camera),
    ]


def _sampled(plan: FlightPlan, pose: PilotPose, topic: str) -> PilotPose:
    """The flight at the times of a topic's samples, less those that were lost; the first is always there."""
    rate = _HZ[topic]
    t = np.arange(int(pose.t_s[-1] * rate + 1e-6) + 1) / rate
    kept = rng_for("sample flight", plan.id, "dropped", topic).random(len(t)) >= plan.dropped
    kept[0] = True
    return pose.at(t[kept])


def _stamps(pose: PilotPose) -> npt.NDArray[np.int64]:
    return BOOTED_US + np.rint(pose.t_s * 1e6).astype(np.int64)


def _ned(enu: FloatArray) -> FloatArray:
    """North, east and down (3, N) of vectors (N, 3) east, north, up."""
    return np.stack([enu[:, 1], enu[:, 0], -enu[:, 2]])


def _origin(place: FloatArray) -> Origin:
    lat, lon, alt = map(float, place)
    return Origin(lat_deg=lat, lon_deg=lon, alt_m=alt)


DEGREE_DECIMALS: Final = 6
_CUES_HZ: Final = {"dji_gimbal": 10, "dji_repeated": 50, "dji_rtk": 5}
_FIX_HZ: Final = 7  # of the flight with repeated fixes
_AIRSIM_HZ: Final = 10
_AIRSIM_START_MS: Final = 1_726_962_106_112
_AIRSIM_COLUMNS: Final = "TimeStamp\tPOS_X\tPOS_Y\tPOS_Z\tQ_W\tQ_X\tQ_Y\tQ_Z\tImageFile"
_EXPOSURE: Final = "[iso: 100] [shutter: 1/800.0] [fnum: 2.8] [ev: 0]"


def subtitles(plan: FlightPlan, pose: PilotPose) -> tuple[bytes, Origin]:
    """A DJI subtitle file, and the origin that its first fix gives."""
    rate = _CUES_HZ[plan.log]
    t = np.arange(int(pose.t_s[-1] * rate + 1e-6)) / rate
    at = pose.at(np.floor(t * _FIX_HZ + 1e-9) / _FIX_HZ if plan.log == "dji_repeated" else t)
    place = to_wgs84(at.xyz_m).round(DEGREE_DECIMALS)
    cues = _rtk(at, place) if plan.log == "dji_rtk" else _bracketed(at, place, t, 1000 // rate, plan.log)
    blocks = (
        f"{i + 1}\n{_clock(time, ',')} --> {_clock(time + 1 / rate, ',')}\n{cue}\n"
        for i, (time, cue) in enumerate(zip(t.tolist(), cues, strict=True))
    )
    lat, lon, alt = place[0].tolist()
    # The dialect without altitudes has heights above take-off only.
    return lines_bytes(blocks), Origin(lat_deg=lat, lon_deg=lon, alt_m=None if plan.log == "dji_rtk" else alt)


def _bracketed(at: PilotPose, place: FloatArray, t: FloatArray, step_ms: int, log: str) -> Iterable[str]:
    """Cues of the Mavic 3 and later; one of the two has the gimbal in it."""
    rows = np.column_stack([t, place, at.xyz_m[:, 2], wrapped_deg(at.heading_deg), at.pitch_deg])
    for i, (time, lat, lon, alt, height, nose, pitch) in enumerate(rows.tolist()):
        gimbal = f" [gb_yaw: {nose:.1f} gb_pitch: {pitch:.1f} gb_roll: 0.0]" if log == "dji_gimbal" else ""
        yield (
            f'<font size="28">FrameCnt: {i + 1}, DiffTime: {step_ms}ms\n'
            f"2024-05-14 {_clock(time + 37230.0, '.')}\n"
            f"{_EXPOSURE} [ct: 5500] [color_md : default] [focal_len: 24.00] [latitude: {lat:.6f}] "
            f"[longitude: {lon:.6f}] [rel_alt: {height:.3f} abs_alt: {alt:.3f}]{gimbal} </font>"
        )


def _rtk(at: PilotPose, place: FloatArray) -> Iterable[str]:
    """Cues of the Phantom 4 RTK: longitude first, then the number of satellites."""
    flown = np.hypot(*(at.xyz_m - at.xyz_m[0])[:, :2].T)
    speed, heading = np.hypot(*at.velocity_mps[:, :2].T), wrapped_deg(at.heading_deg)
    rows = np.column_stack(
        [place[:, :2], flown, at.xyz_m[:, 2], speed, at.velocity_mps[:, 2], at.lean_deg, heading, at.pitch_deg]
    )
    lat0, lon0 = place[0, :2].tolist()
    for lat, lon, far, height, level, climb, nose_up, right_down, nose, pitch in rows.tolist():
        yield (
            f"F/5.6, SS 400, ISO 100, EV 0, GPS ({lon:.6f}, {lat:.6f}, 17), HOME ({lon0:.6f}, {lat0:.6f}, 0.00m), "
            f"D {far:.2f}m, H {height:.2f}m, H.S {level:.2f}m/s, V.S {climb:.2f}m/s, "
            f"F.PRY ({nose_up:.1f}°, {right_down:.1f}°, {nose:.1f}°), G.PRY ({pitch:.1f}°, 0.0°, {nose:.1f}°)"
        )


def recording(plan: FlightPlan, pose: PilotPose) -> tuple[bytes, Origin]:
    """AirSim's recording, and where the zero of its local frame lies: on the ground where the drone began."""
    t = np.arange(int(pose.t_s[-1] * _AIRSIM_HZ + 1e-6) + 1) / _AIRSIM_HZ
    if plan.gap_s is not None:
        t = t[(t < plan.gap_s[0]) | (t > plan.gap_s[1])]
    at = pose.at(t)
    lat, lon, alt = to_wgs84(at.xyz_m[:1])[0].round(9).tolist()
    zero = Origin(lat_deg=lat, lon_deg=lon, alt_m=alt)
    (east, north, up), quat = to_enu(at.xyz_m, zero).T, at.quat_ned_wxyz()
    stamps = _AIRSIM_START_MS + np.rint(t * 1000).astype(np.int64)
    rows = np.column_stack([north, east, -up, quat])
    lines = [
        "\t".join([str(stamp), *(f"{value + 0.0:g}" for value in row), f"img_PX4__0_{stamp}000000.png"])
        for stamp, row in zip(stamps.tolist(), rows.round(7).tolist(), strict=True)
    ]
    return lines_bytes([_AIRSIM_COLUMNS, *lines]), zero


def _clock(seconds: float, point: str) -> str:
    """Hours, minutes, seconds and thousandths."""
    ms = round(seconds * 1000)
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}{point}{ms % 1000:03d}"
