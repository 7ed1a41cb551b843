"""Poses of KITTI's left grey camera, from its GPS and IMU (``oxts``) and the calibration.

Geiger et al., "Vision meets Robotics: The KITTI Dataset" (IJRR 2013), section IV, and the raw data's devkit
(convertOxtsToPose.m): a Mercator projection at the first latitude, x east, y north, z up.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt
from pipeline.geometry.angles import rotated
from pipeline.reading.files import SceneFiles
from pipeline.worlds.drive.readers.tracking import PLACE_MAX_M, within

EARTH_M: Final = 6_378_137.0
# Of 30: latitude, longitude, altitude, roll, pitch, yaw, velocities north, east, ahead, left, up.
OXTS_FIELDS: Final = 11
ORTHONORMAL_TOLERANCE: Final = 1e-3
_HIGHEST: Final = np.array([89.0, 180.0, 9000.0])  # latitude, longitude, metres above the sea; no road is as high
# OpenCV's axes (x right, y down, z ahead) into ours (x ahead, y left, z up), one row for each of ours.
BODY_FROM_CAMERA: Final = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
_KEYS: Final = {
    "R0_rect": "rectify",
    "R_rect": "rectify",
    "Tr_velo_to_cam": "camera_from_lidar",
    "Tr_velo_cam": "camera_from_lidar",
    "Tr_imu_to_velo": "lidar_from_imu",
    "Tr_imu_velo": "lidar_from_imu",
}


@dataclass(frozen=True)
class Calibration:
    """Projections (3, 4) of the rectified cameras by name ("P0" …), and the camera's pose in the IMU's axes.

    Attributes:
        imu_from_camera: (3, 4) of the rectified left grey camera; None: the file does not say.
    """

    projections: dict[str, FloatArray]
    imu_from_camera: FloatArray | None


@dataclass(frozen=True)
class CameraPoses:
    """The left grey camera over N frames, NaN where it is not known.

    Attributes:
        place_m: (N, 3), about the first one.
        axes: (N, 3, 3) ours (ahead, left, up) as columns.
        velocity_mps: (N, 3).
    """

    place_m: FloatArray
    axes: FloatArray
    velocity_mps: FloatArray


def read_calibration(files: SceneFiles, path: Path, findings: Findings) -> Calibration:
    """The calibration of a sequence; what in it cannot be used is a doubt about "calibration"."""
    found: dict[str, FloatArray] = {}
    for number, line in enumerate(files.text(path).splitlines(), start=1):
        key, *rest = line.replace(":", " ").split() or [""]
        values = _numbers(rest)
        if not key:
            continue
        if values is None or values.size not in {9, 12} or not (np.abs(values) <= PLACE_MAX_M).all():
            message = f"line {number} of {path.name} ({key}) holds {len(rest)} fields, not 9 or 12 plausible numbers"
            remedy = "fetch the calibration again"
            findings.add(doubt("bad_calibration", "calibration", message, remedy, len(rest), 12, "fields"))
        else:
            found[_KEYS.get(key, key)] = values.reshape(3, -1)
    projections = {key: table for key, table in found.items() if key.startswith("P") and table.shape == (3, 4)}
    return Calibration(projections, _imu_from_camera(found))


def read_oxts(files: SceneFiles, path: Path, calibration: Calibration, findings: Findings) -> CameraPoses | None:
    """Where the camera was; None, with a doubt, where the calibration does not say how it is mounted."""
    mounted = calibration.imu_from_camera
    if mounted is None:
        message = f"{path.name} says how the car moved, and no calibration how the camera is mounted on it"
        remedy = "add calib/*.txt with R_rect, Tr_velo_cam and Tr_imu_velo"
        findings.add(doubt("no_calibration", "ego", message, remedy))
        return None
    lines = files.text(path).splitlines()
    rows = np.full((len(lines), OXTS_FIELDS), np.nan)
    for number, line in enumerate(lines):
        values = _numbers(line.split()[:OXTS_FIELDS])
        if values is not None and len(values) == OXTS_FIELDS:
            rows[number] = values
    sound = np.isfinite(rows).all(1) & (np.abs(rows[:, :3]) <= _HIGHEST).all(1)
    if not sound.all():
        bad = int((~sound).sum())
        message = f"{bad} of {len(sound)} lines of {path.name} have no {OXTS_FIELDS} plausible numbers"
        findings.add(doubt("unusable_pose", "log", message, "fetch oxts again", bad, 0, "poses"))
    if not sound.any():
        return None
    rows[~sound] = np.nan
    lat, lon, up, roll, pitch, yaw, north_mps, east_mps, _, _, up_mps = rows.T
    scale = np.cos(np.radians(lat[sound][0]))
    east = scale * EARTH_M * np.radians(lon)
    north = scale * EARTH_M * np.log(np.tan(np.radians(90 + lat) / 2))
    imu = _turns(roll, pitch, yaw)
    place = rotated(imu, np.broadcast_to(mounted[:, 3], (len(rows), 3))) + np.stack([east, north, up], axis=-1)
    ahead_left_up = mounted[:, :3] @ BODY_FROM_CAMERA.T
    axes = np.stack([rotated(imu, np.broadcast_to(axis, (len(rows), 3))) for axis in ahead_left_up.T], axis=-1)
    velocity = np.stack([east_mps, north_mps, up_mps], axis=-1)
    return CameraPoses(within(place - place[sound][0], PLACE_MAX_M), axes, velocity)


def _imu_from_camera(found: dict[str, FloatArray]) -> FloatArray | None:
    names = ("rectify", "camera_from_lidar", "lidar_from_imu")
    if any(name not in found for name in names):
        return None
    whole = [np.eye(4) for _ in names]
    for matrix, table in zip(whole, (found[name] for name in names), strict=True):
        matrix[:3, : table.shape[1]] = table
        turn = matrix[:3, :3]
        if np.abs(turn @ turn.T - np.eye(3)).max() > ORTHONORMAL_TOLERANCE or np.linalg.det(turn) < 0:
            return None
    return np.asarray(np.linalg.inv(whole[0] @ whole[1] @ whole[2])[:3])


def _turns(roll: FloatArray, pitch: FloatArray, yaw: FloatArray) -> FloatArray:
    """Rotations (N, 3, 3) of the IMU (x ahead, y left, z up): first roll, then pitch, then yaw; radians."""
    (sr, sp, sy), (cr, cp, cy) = np.sin([roll, pitch, yaw]), np.cos([roll, pitch, yaw])
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _numbers(words: list[str]) -> FloatArray | None:
    try:
        return np.array(words, dtype=np.float64)
    except ValueError:
        return None
