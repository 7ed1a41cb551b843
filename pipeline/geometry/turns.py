"""Unit quaternions (..., 4), w first, and turns about the vertical; angles in degrees, counter-clockwise."""

from __future__ import annotations

import numpy as np

from pipeline.core.arrays import FloatArray


def matrices(quat_wxyz: FloatArray) -> FloatArray:
    """Rotations (..., 3, 3) of quaternions (..., 4), which are brought to length 1 first."""
    w, x, y, z = np.moveaxis(quat_wxyz / np.sqrt((quat_wxyz**2).sum(-1, keepdims=True)), -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rotated(rotation: FloatArray, vector: FloatArray) -> FloatArray:
    """Vectors (..., 3) turned by rotations (..., 3, 3); written out, for BLAS rounds as the processor has it."""
    v = vector[..., None, :]
    return np.asarray(rotation[..., 0] * v[..., 0] + rotation[..., 1] * v[..., 1] + rotation[..., 2] * v[..., 2])


def yaw_deg(forward: FloatArray) -> FloatArray:
    """Direction over ground (...,) of vectors (..., 2 or 3), from x, in [-180, 180)."""
    return wrapped_deg(np.degrees(np.arctan2(forward[..., 1], forward[..., 0])))


def wrapped_deg(angle_deg: FloatArray) -> FloatArray:
    """Angles in [-180, 180)."""
    turned = (np.asarray(angle_deg, dtype=np.float64) + 180.0) % 360.0 - 180.0
    return np.where(turned == 180.0, -180.0, turned)  # -180 - 1e-14 rounds up to 180


def turned_about_z(vector: FloatArray, angle_deg: FloatArray) -> FloatArray:
    """Vectors (..., 2 or 3) turned by angles (...,) about the vertical."""
    cos, sin = np.cos(np.radians(angle_deg)), np.sin(np.radians(angle_deg))
    x, y = vector[..., 0], vector[..., 1]
    flat = np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)
    rest = np.broadcast_to(vector[..., 2:], (*flat.shape[:-1], vector.shape[-1] - 2))
    return np.concatenate([flat, rest], axis=-1)
