"""A sample drive as a sequence of KITTI's tracking benchmark: labels in the camera's frame, calibration, oxts."""

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.samples.drive.argoverse2 import axle_of, seen_from, times_of
from pipeline.samples.drive.plan import AXLE_M, DrivePlan, Mover
from pipeline.worlds.drive.readers.kitti_poses import EARTH_M

ORIGIN: Final = (49.0, 8.4)  # latitude and longitude of where we start
CAMERA_M: Final = (AXLE_M + 0.3, 0.0, 1.65)  # from the rear axle's middle on the ground, where the IMU is
FOCAL_PX: Final = 721.5377
CENTRE_PX: Final = (609.5593, 172.854)
SIZE_PX: Final = (1242, 375)
REACH_M: Final = 80.0
NEAR_M: Final = 1.0  # what reaches closer to the picture's plane is not labelled
_LIDAR_M: Final = (1.0, 0.0, 1.0)
_WORDS: Final = {"pedestrian": "Pedestrian", "cyclist": "Cyclist", "motorcyclist": "Cyclist"} | {
    word: word.capitalize() for word in ("car", "van", "truck")
}
_CORNERS: Final = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (0.0, 1.0)])


def write_log(folder: Path, plan: DrivePlan) -> None:
    """Writes ``label_02``, ``calib`` and ``oxts`` of a drive, each as ``NAME.txt``."""
    times_s = times_of(plan)
    axle_m, yaw_deg = axle_of(plan, times_s)
    lines = []
    for track, mover in enumerate(plan.others):
        lines += _labels(track, mover, times_s, axle_m, yaw_deg)
    parts = {
        "label_02": [line for _, _, line in sorted(lines)],
        "calib": _calibration(),
        "oxts": _oxts(plan, times_s, axle_m, yaw_deg),
    }
    for part, texts in parts.items():
        write_atomically(folder / part / f"{plan.name}.txt", "".join(f"{text}\n" for text in texts).encode())


def _labels(
    track: int, mover: Mover, times_s: FloatArray, axle_m: FloatArray, yaw_deg: FloatArray
) -> list[tuple[int, int, str]]:
    """The lines of one track, with frame and track, wherever the camera sees it."""
    local, turned_deg = seen_from(mover, times_s, axle_m, yaw_deg)
    length, width, height = mover.size_m
    lines = []
    for frame, ((x, y), turn_deg) in enumerate(zip(local.tolist(), turned_deg.tolist(), strict=True)):
        cos, sin = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
        flat = _CORNERS[:, :2] * (length, width) @ np.array([[cos, sin], [-sin, cos]])
        # The camera's axes: right, down, ahead.
        down = CAMERA_M[2] - _CORNERS[:, 2] * height
        seen = np.stack([-(flat[:, 1] + y), down, flat[:, 0] + x - CAMERA_M[0]], axis=-1)
        if np.hypot(x, y) > REACH_M or seen[:, 2].min() < NEAR_M:
            continue
        pixels = seen[:, :2] / seen[:, 2:] * FOCAL_PX + CENTRE_PX
        box = np.concatenate([pixels.min(0), pixels.max(0)])
        shown = np.clip(box, 0, (*SIZE_PX, *SIZE_PX))
        area, whole = np.prod(shown[2:] - shown[:2]), np.prod(box[2:] - box[:2])
        if area <= 0:
            continue
        truncated = 0 if area >= 0.99 * whole else 1 if area >= 0.5 * whole else 2
        right, ahead = -y, x - CAMERA_M[0]
        turn = (-np.radians(turn_deg) - np.pi / 2 + np.pi) % (2 * np.pi) - np.pi
        alpha = (turn - np.arctan2(right, ahead) + np.pi) % (2 * np.pi) - np.pi
        numbers = [alpha, *shown, height, width, length, right, CAMERA_M[2], ahead, turn]
        fields = " ".join(f"{number + 0.0:.6f}" for number in numbers)
        word = _WORDS.get(mover.category, "Misc")
        lines.append((frame, track, f"{frame} {track} {word} {truncated} 0 {fields}"))
    return lines


def _calibration() -> list[str]:
    """As the benchmark has it: the left grey camera is the rectified one, the colour one 6 cm to its left."""
    project = np.array([[FOCAL_PX, 0, CENTRE_PX[0], 0], [0, FOCAL_PX, CENTRE_PX[1], 0], [0, 0, 1, 0]])
    colour = project.copy()
    colour[0, 3] = 0.06 * FOCAL_PX
    turn = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])  # ahead, left, up into right, down, ahead
    from_lidar = np.array(CAMERA_M) - _LIDAR_M
    lidar = np.column_stack([turn, -turn @ from_lidar])
    imu = np.column_stack([np.eye(3), -np.array(_LIDAR_M)])
    tables = {"P0:": project, "P2:": colour, "R_rect": np.eye(3), "Tr_velo_cam": lidar, "Tr_imu_velo": imu}
    return [f"{key} {' '.join(f'{number + 0.0:.9e}' for number in table.ravel())}" for key, table in tables.items()]


def _oxts(plan: DrivePlan, times_s: FloatArray, axle_m: FloatArray, yaw_deg: FloatArray) -> list[str]:
    """Of the 30 numbers of a line those up to the velocities; zeros for the rest."""
    velocity = plan.ego.at(times_s).velocity_mps
    scale = np.cos(np.radians(ORIGIN[0]))
    axle_m = axle_m - axle_m[0]
    lon = ORIGIN[1] + np.degrees(axle_m[:, 0] / (scale * EARTH_M))
    north = np.log(np.tan(np.radians(90 + ORIGIN[0]) / 2)) + axle_m[:, 1] / (scale * EARTH_M)
    lat = np.degrees(2 * np.arctan(np.exp(north))) - 90
    lines = []
    for row, yaw in enumerate(np.radians(yaw_deg)):
        east_mps, north_mps = velocity[row]
        numbers = [lat[row], lon[row], 0.0, 0.0, 0.0, yaw, north_mps, east_mps, 0.0, 0.0, 0.0, *[0.0] * 19]
        lines.append(" ".join(f"{number + 0.0:.11f}" for number in numbers))
    return lines
