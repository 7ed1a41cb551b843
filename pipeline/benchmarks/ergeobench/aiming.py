"""Where things lie in a perspective view, and how to turn a camera so that they lie somewhere.

A view looks along (yaw, pitch) without roll. In it x runs to the right and y up, both in halves of the picture: the
edges are at -1 and 1. Angles in degrees, yaw clockwise.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pipeline.benchmarks.ergeobench.images import FOV_DEG
from pipeline.core.arrays import FloatArray
from pipeline.geometry.views import View, turned_deg

AHEAD_MIN: Final = 1e-6  # of a unit vector: what is less ahead is behind or beside the camera
_STEPS: Final = 9  # points along each side of an object's box, whose edges are curved in a view


def wrapped(degrees: FloatArray | float) -> FloatArray:
    """Angles (...,) in [-180, 180)."""
    return np.asarray((np.asarray(degrees, dtype=np.float64) + 180.0) % 360.0 - 180.0)


def half_tangents(view: View) -> tuple[float, float]:
    """Tangents of the half angles of view across and down."""
    return view.width / 2 / view.focal_px, view.height / 2 / view.focal_px


def outlines(yaw_deg: FloatArray, width_deg: FloatArray, low_deg: FloatArray, high_deg: FloatArray) -> FloatArray:
    """Unit vectors (n, k, 3) to points along the sides of boxes of yaws and pitches (n,): right, ahead, up at yaw 0."""
    along = np.linspace(-0.5, 0.5, _STEPS)
    ends = np.full(_STEPS, 0.5)
    across, rise = np.concatenate([along, along, -ends, ends]), np.concatenate([-ends, ends, along, along])
    yaw = np.radians(yaw_deg[:, None] + width_deg[:, None] * across)
    pitch = np.radians((low_deg + high_deg)[:, None] / 2 + (high_deg - low_deg)[:, None] * rise)
    level = np.cos(pitch)
    return np.stack([level * np.sin(yaw), level * np.cos(yaw), np.sin(pitch)], axis=-1)


def extents(outline: FloatArray, view: View) -> FloatArray:
    """Leftmost and rightmost x, lowest and highest y (n, 4) of `outlines` (n, k, 3); NaN: partly behind the camera."""
    yaw, tilt = math.radians(view.yaw_deg), math.radians(view.pitch_deg)
    right, ahead, up = np.moveaxis(outline, -1, 0)
    level = ahead * math.cos(yaw) + right * math.sin(yaw)
    forward = level * math.cos(tilt) + up * math.sin(tilt)
    across, down = half_tangents(view)
    there = np.where(forward > AHEAD_MIN, forward, np.nan)
    x = (right * math.cos(yaw) - ahead * math.sin(yaw)) / (there * across)
    y = (up * math.cos(tilt) - level * math.sin(tilt)) / (there * down)
    return np.stack([x.min(1), x.max(1), y.min(1), y.max(1)], axis=-1)


def half_width_deg(view: View) -> float:
    """Yaw from a view's middle to the farthest that it shows, at any height: in tilted views a corner."""
    across, down = half_tangents(view)
    tilt = abs(math.radians(view.pitch_deg))
    ahead = math.cos(tilt) - down * math.sin(tilt)
    return 180.0 if ahead <= 0 else math.degrees(math.atan2(across, ahead))


def aimed(yaw_deg: float, pitch_deg: float, x: float, y: float) -> View | None:
    """The view of `FOV_DEG` in which a direction lies at (x, y); None where no tilt brings it there."""
    across, down = half_tangents(looking(0.0))
    right, up = x * across, y * down
    length = math.sqrt(1 + right**2 + up**2)
    radius = math.hypot(up, 1.0) / length  # of the part that tilting moves
    height = math.sin(math.radians(pitch_deg))
    if abs(height) > radius:
        return None
    tilt = math.asin(height / radius) - math.atan2(up, 1.0)
    ahead = (math.cos(tilt) - up * math.sin(tilt)) / length
    turn = math.degrees(math.atan2(right / length, ahead))
    return looking(yaw_deg - turn, math.degrees(tilt))


def looking(yaw_deg: float, pitch_deg: float = 0.0) -> View:
    """A view of `FOV_DEG`, to hundredths of a degree: what is told of it is then all of it."""
    return View(yaw_deg=turned_deg(round(turned_deg(yaw_deg), 2)), pitch_deg=round(pitch_deg, 2) + 0.0, fov_deg=FOV_DEG)
