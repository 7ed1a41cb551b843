"""Bearings on the floor plane, wrap-safe. Degrees, counter-clockwise from the facing direction, in [0, 360)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.core.arrays import FloatArray


def leftward_deg(origin: FloatArray, facing: FloatArray, target: FloatArray) -> FloatArray:
    """Bearing of ``target`` for someone at ``origin`` who looks at ``facing``; 90 is to the left.

    All inputs (..., 2) or (..., 3), metres, z ignored; the shapes broadcast. Undefined (0) where two points
    coincide on the floor plane: callers reject those by distance first.
    """
    ahead = facing[..., :2] - origin[..., :2]
    there = target[..., :2] - origin[..., :2]
    cross = ahead[..., 0] * there[..., 1] - ahead[..., 1] * there[..., 0]
    dot = ahead[..., 0] * there[..., 0] + ahead[..., 1] * there[..., 1]
    angle = np.degrees(np.arctan2(cross, dot)) % 360.0
    return np.where(angle == 360.0, 0.0, angle)  # -1e-17 % 360 rounds up to 360


def margin_deg(bearings: FloatArray, edges: Sequence[float]) -> FloatArray:
    """Angle to the nearest sector edge, on either side of it: (...,) in [0, 180]."""
    gaps = (bearings[..., None] - np.asarray(edges, dtype=np.float64) + 180.0) % 360.0 - 180.0
    return np.asarray(np.abs(gaps).min(-1))


def margin_below_deg(bearings: FloatArray, edges: Sequence[float]) -> FloatArray:
    """Angle up to the next sector edge, counter-clockwise: (...,) in [0, 360). Blind to the edge just passed."""
    return np.asarray(((np.asarray(edges, dtype=np.float64) - bearings[..., None]) % 360.0).min(-1))
