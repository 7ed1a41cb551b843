"""The logs of the sample flights that are text: three dialects of DJI's subtitles, and AirSim's recording.

What they look like was taken from real files; see the readers of these formats.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Origin
from pipeline.sampling.encode import lines_bytes
from pipeline.worlds.flight.samples.city import to_enu, to_wgs84
from pipeline.worlds.flight.samples.pilot import Pose
from pipeline.worlds.flight.samples.plans import FlightPlan

DEGREE_DECIMALS: Final = 6
_CUES_HZ: Final = {"dji_gimbal": 10, "dji_repeated": 50, "dji_rtk": 5}
_FIX_HZ: Final = 7  # of the flight with repeated fixes
_AIRSIM_HZ: Final = 10
_AIRSIM_START_MS: Final = 1_726_962_106_112
_AIRSIM_COLUMNS: Final = "TimeStamp\tPOS_X\tPOS_Y\tPOS_Z\tQ_W\tQ_X\tQ_Y\tQ_Z\tImageFile"
_EXPOSURE: Final = "[iso: 100] [shutter: 1/800.0] [fnum: 2.8] [ev: 0]"


def subtitles(plan: FlightPlan, pose: Pose) -> tuple[bytes, Origin]:
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


def _bracketed(at: Pose, place: FloatArray, t: FloatArray, step_ms: int, log: str) -> Iterable[str]:
    """Cues of the Mavic 3 and later; one of the two has the gimbal in it."""
    yaw = (at.heading_deg + 180.0) % 360.0 - 180.0
    rows = np.column_stack([t, place, at.xyz_m[:, 2], yaw, at.pitch_deg])
    for i, (time, lat, lon, alt, height, nose, pitch) in enumerate(rows.tolist()):
        gimbal = f" [gb_yaw: {nose:.1f} gb_pitch: {pitch:.1f} gb_roll: 0.0]" if log == "dji_gimbal" else ""
        yield (
            f'<font size="28">FrameCnt: {i + 1}, DiffTime: {step_ms}ms\n'
            f"2024-05-14 {_clock(time + 37230.0, '.')}\n"
            f"{_EXPOSURE} [ct: 5500] [color_md : default] [focal_len: 24.00] [latitude: {lat:.6f}] "
            f"[longitude: {lon:.6f}] [rel_alt: {height:.3f} abs_alt: {alt:.3f}]{gimbal} </font>"
        )


def _rtk(at: Pose, place: FloatArray) -> Iterable[str]:
    """Cues of the Phantom 4 RTK: longitude first, then the number of satellites."""
    flown = np.hypot(*(at.xyz_m - at.xyz_m[0])[:, :2].T)
    speed = np.hypot(*at.velocity_mps[:, :2].T)
    yaw = (at.heading_deg + 180.0) % 360.0 - 180.0
    rows = np.column_stack(
        [place[:, :2], flown, at.xyz_m[:, 2], speed, at.velocity_mps[:, 2], at.lean_deg, yaw, at.pitch_deg]
    )
    lat0, lon0 = place[0, :2].tolist()
    for lat, lon, far, height, level, climb, nose_up, right_down, nose, pitch in rows.tolist():
        yield (
            f"F/5.6, SS 400, ISO 100, EV 0, GPS ({lon:.6f}, {lat:.6f}, 17), HOME ({lon0:.6f}, {lat0:.6f}, 0.00m), "
            f"D {far:.2f}m, H {height:.2f}m, H.S {level:.2f}m/s, V.S {climb:.2f}m/s, "
            f"F.PRY ({nose_up:.1f}°, {right_down:.1f}°, {nose:.1f}°), G.PRY ({pitch:.1f}°, 0.0°, {nose:.1f}°)"
        )


def recording(plan: FlightPlan, pose: Pose) -> tuple[bytes, Origin]:
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
