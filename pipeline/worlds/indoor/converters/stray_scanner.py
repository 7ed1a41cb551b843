"""Stray Scanner (iPhone with LiDAR): ``rgb.mp4``, ``depth/``, ``confidence/``, ``camera_matrix.csv``, ``odometry.csv``.

After the app's own docs/format.md and StrayVisualizer: depth in millimetres at 256 x 192, the matrix for the colour
picture of 1920 x 1440, poses camera-to-world with OpenCV's camera axes in ARKit's world (y up, metres), quaternions
with the scalar last. Columns are found by their names: newer apps append some, the oldest had no time and frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.formats.scene_folder import SceneDocument
from pipeline.worlds.indoor.converters.capture import UP_AXES, Capture, CapturedFrame, write_capture
from pipeline.worlds.indoor.converters.rgbd import depth_array, depth_png, mask_confidence
from pipeline.worlds.indoor.converters.texts import folders_of, numbers_from, numbers_of, quaternion_poses, table_of

NATIVE: Final = (1920, 1440)  # of the colour picture that the matrix is for
POSE: Final = ("x", "y", "z", "qx", "qy", "qz", "qw")
OLD: Final = ("timestamp", "frame", *POSE)
FPS: Final = 60.0  # where there are no times
SURE: Final = 2  # of 0, 1, 2


class StrayScanner:
    """Recordings of Stray Scanner."""

    name = "stray_scanner"
    about = "rgb.mp4, depth/, confidence/, camera_matrix.csv, odometry.csv (Stray Scanner on a phone with LiDAR)"
    real: str | None = None

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`."""
        return [f for f in folders_of(source) if all((f / n).is_file() for n in ("odometry.csv", "camera_matrix.csv"))]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        clock, number, pose = _odometry(place / "odometry.csv")
        matrix = numbers_of(place / "camera_matrix.csv", 9).reshape(3, 3)
        lens = (float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2]))
        film = place / "rgb.mp4"
        if not film.is_file():
            raise RawDataError(film, "missing_file", "there is no such file", "copy the whole recording")

        def depth(i: int) -> FloatArray | None:
            name = f"{number[i]:06d}"
            found = depth_png(place / "depth" / f"{name}.png", 1000.0)
            found = depth_array(place / "depth" / f"{name}.npy") if found is None else found
            return mask_confidence(found, place / "confidence" / f"{name}.png", SURE)

        shots = [CapturedFrame(float(t - clock[0]), pose[i], lens, number=int(number[i])) for i, t in enumerate(clock)]
        capture = Capture(
            place=place,
            made_by=f"scan2qa convert {self.name}",
            shots=shots,
            size=NATIVE,
            up=np.array(UP_AXES["y"]),
            film=film,
            depth_m=depth,
        )
        return write_capture(capture, folder)


def _odometry(path: Path) -> tuple[FloatArray, np.ndarray, FloatArray]:
    """Times, numbers of frames and poses (N, 4, 4), in the order of the frames. Raises RawDataError."""
    header, rows = table_of(path)
    if not set(POSE) <= set(header):
        if len(header) == len(POSE):  # the oldest app: no header, no time, no frame
            header, rows = list(POSE), [header, *rows]
        else:
            message = f"its columns are {', '.join(header)[:200]}; needed are {', '.join(POSE)}"
            raise RawDataError(path, "wrong_columns", message, "copy the whole recording again")
    ragged = next((n for n, row in enumerate(rows, start=2) if len(row) < len(header)), None)
    if ragged is not None or not rows:
        message = f"line {ragged} is cut" if rows else "there are no rows"
        raise RawDataError(path, "wrong_shape", message, "copy the whole recording again")
    columns = {
        name: numbers_from(path, [row[header.index(name)] for row in rows], len(rows), name)
        for name in OLD
        if name in header
    }
    count = np.arange(len(rows), dtype=float)
    number = columns.get("frame", count)
    clock = columns.get("timestamp", count / FPS)
    if not np.isfinite([number, clock]).all() or (number < 0).any() or (number > 1e7).any():
        raise RawDataError(path, "not_finite", "a time or number of a frame is none", "copy the recording again")
    position = np.stack([columns[n] for n in POSE[:3]], axis=1)
    quaternion = np.stack([columns[n] for n in POSE[3:]], axis=1)
    pose = quaternion_poses(position, quaternion, path)
    order = np.argsort(number, kind="stable")
    return clock[order], number[order].astype(int), pose[order]
