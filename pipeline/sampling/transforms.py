"""Transforms (4, 4), written out: BLAS and LAPACK round differently from processor to processor."""

from __future__ import annotations

import numpy as np

from pipeline.core.arrays import FloatArray


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
