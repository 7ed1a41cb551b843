"""The cameras of an RLBench demonstration.

CoppeliaSim's cameras look along z with x to the left and y up, and have focal lengths below 0; here they have OpenCV's
axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Mat3
from pipeline.formats.images import size_of
from pipeline.worlds.arm.facts import Camera

CAMERAS: Final = ("front", "overhead", "left_shoulder", "right_shoulder", "wrist")
_STILL_M: Final = 1e-4
_UNIT: Final = 1e-3
_FLIP: Final = np.diag([-1.0, -1.0, 1.0])


def cameras_of(rows: Sequence[Mapping[str, Any]], folder: Path) -> tuple[Camera, ...]:
    """Those of which the log knows the pose or has pictures."""
    told = [row["misc"] if isinstance(row.get("misc"), dict) else {} for row in rows]
    found = []
    for name in CAMERAS:
        poses = [_matrix(misc.get(f"{name}_camera_extrinsics"), (4, 4)) for misc in told]
        sound = [pose for pose in poses if pose is not None and _is_rotation(pose[:3, :3])]
        lens = _matrix(told[0].get(f"{name}_camera_intrinsics"), (3, 3)) if told else None
        pictures = folder / f"{name}_rgb"
        size = size_of(pictures / "0.png") if (pictures / "0.png").is_file() else None
        if not sound and size is None:
            continue
        places = np.array([pose[:3, 3] for pose in sound])
        rotation = None if not sound else sound[0][:3, :3] @ _FLIP
        pinhole = lens is not None and lens[0, 0] != 0 and lens[1, 1] != 0
        found.append(
            Camera(
                name=name,
                width=size[0] if size else None,
                height=size[1] if size else None,
                focal_px=(abs(float(lens[0, 0])), abs(float(lens[1, 1]))) if lens is not None and pinhole else None,
                centre_px=(float(lens[0, 2]), float(lens[1, 2])) if lens is not None and pinhole else None,
                place_m=tuple(places[0].tolist()) if sound else None,
                world_from_camera=None if rotation is None else _rows(rotation),
                moves=bool((np.ptp(places, axis=0) > _STILL_M).any()) if sound else None,
                pictures=size is not None,
            )
        )
    return tuple(found)


def _matrix(value: Any, shape: tuple[int, int]) -> FloatArray | None:
    if not isinstance(value, np.ndarray) or value.shape != shape or not np.isfinite(value).all():
        return None
    return value.astype(np.float64)


def _rows(rotation: FloatArray) -> Mat3:
    first, second, third = ((x, y, z) for x, y, z in (rotation + 0.0).tolist())  # no -0.0
    return first, second, third


def _is_rotation(matrix: FloatArray) -> bool:
    return bool(np.abs(matrix).max() < 2 and np.abs(matrix @ matrix.T - np.eye(3)).max() < _UNIT)
