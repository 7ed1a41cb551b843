"""The camera that films the sample rooms: pinhole lenses, a hand-held walk through given views, and transforms.

Camera axes: OpenCV (x right, y down, z forward). Whole pixel coordinates are the centres of pixels. Transforms
(4, 4) are written out: BLAS and LAPACK round differently from processor to processor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for

EYE_HEIGHT_M: Final = 1.45
WALK_M_S: Final = 0.4
TURN_DEG_S: Final = 18.0
# A hand is never still: amplitude and frequency of the sway.
_SWAY_M: Final = 0.015
_SWAY_DEG: Final = 1.2
_SWAY_HZ: Final = 0.37

# Clockwise turn of a stored frame that makes it upright, by where the sky is in it (ARKitScenes).
TURN_BY_SKY: Final = {"Up": 0, "Left": 90, "Down": 180, "Right": 270}


class CameraView(NamedTuple):
    """Where the camera stands, plan frame, and where it looks: yaw counter-clockwise from +x, pitch up, degrees."""

    x: float
    y: float
    yaw_deg: float
    pitch_deg: float = -10.0


@dataclass(frozen=True)
class Lens:
    """A pinhole camera; sizes and focal lengths in pixels."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    def halved(self) -> Lens:
        """The lens of the image that keeps every second pixel, beginning with the first."""
        return Lens(self.width // 2, self.height // 2, self.fx / 2, self.fy / 2, self.cx / 2, self.cy / 2)

    def matrix(self) -> FloatArray:
        """Intrinsics (3, 3)."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])


def film(views: tuple[CameraView, ...], fps: int, turn_deg: int, who: str) -> FloatArray:
    """Poses plan_T_camera (N, 4, 4) of a recording at ``fps`` frames per second.

    The camera goes from view to view, slowing down at each. Frames need a clockwise turn of ``turn_deg`` to be
    upright. ``who`` names the recording: every hand sways in its own way.
    """
    keys = np.array(views, dtype=np.float64)
    step = np.abs(np.diff(keys, axis=0))
    seconds = np.maximum(np.hypot(step[:, 0], step[:, 1]) / WALK_M_S, step[:, 2:].max(1) / TURN_DEG_S)
    ends = np.concatenate([[0.0], np.cumsum(seconds)])
    time = np.arange(math.floor(ends[-1] * fps) + 1) / fps
    part = np.clip(np.searchsorted(ends, time, side="right") - 1, 0, len(seconds) - 1)
    share = np.clip((time - ends[part]) / seconds[part], 0.0, 1.0)
    share = (share * share * (3.0 - 2.0 * share))[:, None]
    x, y, yaw, pitch = ((1.0 - share) * keys[part] + share * keys[part + 1]).T
    phases = rng_for("sample camera", who).uniform(0.0, 2 * math.pi, 4)
    up, left, nod, roll = (
        np.sin(2 * math.pi * _SWAY_HZ * factor * time + phase)
        for factor, phase in zip((3.0, 1.0, 1.7, 0.8), phases, strict=True)
    )
    position = np.stack([x, y, EYE_HEIGHT_M + _SWAY_M * up], axis=1)
    angles = np.stack([yaw + _SWAY_DEG * left, pitch + _SWAY_DEG * nod, turn_deg + _SWAY_DEG * roll], axis=1)
    return _poses(position.round(6), np.radians(angles.round(4)))


def _poses(position: FloatArray, angles: FloatArray) -> FloatArray:
    """Poses (N, 4, 4) from positions (N, 3) and yaw, pitch, roll (N, 3), radians."""
    (cy, cp, cr), (sy, sp, sr) = np.cos(angles).T, np.sin(angles).T
    zero = np.zeros_like(cy)
    forward = np.stack([cy * cp, sy * cp, sp], axis=1)
    right = np.stack([sy, -cy, zero], axis=1)
    down = np.stack([cy * sp, sy * sp, -cp], axis=1)
    poses = np.tile(np.eye(4), (len(position), 1, 1))
    poses[:, :3, 0] = cr[:, None] * right + sr[:, None] * down
    poses[:, :3, 1] = cr[:, None] * down - sr[:, None] * right
    poses[:, :3, 2] = forward
    poses[:, :3, 3] = position
    return poses


def moved(transform: FloatArray, points: FloatArray) -> FloatArray:
    """Points (N, 3) under a transform (4, 4)."""
    r, t = transform[:3, :3], transform[:3, 3]
    return np.asarray(points[:, 0:1] * r[:, 0] + points[:, 1:2] * r[:, 1] + points[:, 2:3] * r[:, 2] + t)


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Products (..., 4, 4) of transforms; the leading shapes broadcast."""
    out = left[..., :, 0, None] * right[..., None, 0, :]
    for k in (1, 2, 3):
        out = out + left[..., :, k, None] * right[..., None, k, :]
    return np.asarray(out)


def inverse(transform: FloatArray) -> FloatArray:
    """Inverse (..., 4, 4), by cofactors: exact also where rounding has left the rotation a little askew."""
    r, t = transform[..., :3, :3], transform[..., :3, 3]
    rows = [np.cross(r[..., (i + 1) % 3], r[..., (i + 2) % 3]) for i in range(3)]
    adjugate = np.stack(rows, axis=-2)
    determinant = (r[..., 0] * rows[0]).sum(-1)
    out = np.zeros_like(transform)
    out[..., :3, :3] = adjugate / determinant[..., None, None]
    out[..., :3, 3] = -(out[..., :3, :3] * t[..., None, :]).sum(-1)
    out[..., 3, 3] = 1.0
    return out


def rigid(rotation: FloatArray, shift: FloatArray | tuple[float, float, float] = (0.0, 0.0, 0.0)) -> FloatArray:
    """The transform of a rotation (3, 3) and a shift (3,)."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation, shift
    return out
