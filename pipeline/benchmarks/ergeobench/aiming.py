"""Where things lie in a perspective view, and how to turn a camera so that they lie somewhere.

A view looks along (yaw, pitch) without roll. In it x runs to the right and y up, both in halves of the picture: the
edges are at -1 and 1. Angles in degrees, yaw clockwise.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.benchmarks.ergeobench.images import FOV_DEG, SIZE, Shot
from pipeline.core.arrays import FloatArray

_STEPS: Final = 9  # points along each side of an object's box, whose edges are curved in a view


def wrapped(degrees: FloatArray | float) -> FloatArray:
    """Angles (...,) in [-180, 180)."""
    return np.asarray((np.asarray(degrees, dtype=np.float64) + 180.0) % 360.0 - 180.0)


def half_tangents(fov_deg: float) -> tuple[float, float]:
    """Tangents of the half angles of view across and down, for pictures of `SIZE`."""
    across = float(np.tan(np.radians(fov_deg) / 2))
    return across, across * SIZE[1] / SIZE[0]


def projected(yaw_deg: FloatArray, pitch_deg: FloatArray, shot: Shot) -> tuple[FloatArray, FloatArray]:
    """X and y (...,) of directions in a view; NaN behind the camera."""
    yaw, pitch = np.radians(wrapped(yaw_deg - shot.yaw_deg)), np.radians(pitch_deg)
    right, ahead, up = np.cos(pitch) * np.sin(yaw), np.cos(pitch) * np.cos(yaw), np.sin(pitch)
    tilt = np.radians(shot.pitch_deg)
    forward = ahead * np.cos(tilt) + up * np.sin(tilt)
    above = up * np.cos(tilt) - ahead * np.sin(tilt)
    across, down = half_tangents(shot.fov_deg)
    there = np.where(forward > 1e-6, forward, np.nan)
    return right / there / across, above / there / down


def extents(
    yaw_deg: FloatArray, width_deg: FloatArray, low_deg: FloatArray, high_deg: FloatArray, shot: Shot
) -> FloatArray:
    """Leftmost and rightmost x, lowest and highest y (n, 4) of boxes of yaws and pitches (n,); NaN: partly behind."""
    along = np.linspace(-0.5, 0.5, _STEPS)
    yaws = yaw_deg[:, None, None] + width_deg[:, None, None] * along[:, None]
    pitches = (low_deg + high_deg)[:, None, None] / 2 + (high_deg - low_deg)[:, None, None] * along
    x, y = projected(yaws, pitches, shot)
    return np.stack([x.min((1, 2)), x.max((1, 2)), y.min((1, 2)), y.max((1, 2))], axis=-1)


def half_width_deg(shot: Shot) -> float:
    """Yaw from a view's middle to the farthest that it shows, at any height: in tilted views a corner."""
    across, down = half_tangents(shot.fov_deg)
    tilt = abs(np.radians(shot.pitch_deg))
    ahead = np.cos(tilt) - down * np.sin(tilt)
    return 180.0 if ahead <= 0 else float(np.degrees(np.arctan2(across, ahead)))


def aimed(yaw_deg: float, pitch_deg: float, x: float, y: float) -> Shot | None:
    """The view of `FOV_DEG` in which a direction lies at (x, y); None where no tilt brings it there."""
    across, down = half_tangents(FOV_DEG)
    right, up = x * across, y * down
    length = float(np.sqrt(1 + right**2 + up**2))
    radius = float(np.hypot(up, 1.0)) / length  # of the part that tilting moves
    height = float(np.sin(np.radians(pitch_deg)))
    if abs(height) > radius:
        return None
    tilt = float(np.arcsin(height / radius) - np.arctan2(up, 1.0))
    ahead = (np.cos(tilt) - up * np.sin(tilt)) / length
    turn = float(np.degrees(np.arctan2(right / length, ahead)))
    return view(yaw_deg - turn, float(np.degrees(tilt)))


def view(yaw_deg: float, pitch_deg: float = 0.0) -> Shot:
    """A view of `FOV_DEG`, to hundredths of a degree: what is told of it is then all of it."""
    yaw = round(float(wrapped(yaw_deg)), 2)
    return Shot("view", -180.0 if yaw == 180.0 else yaw, round(pitch_deg, 2) + 0.0, FOV_DEG)
