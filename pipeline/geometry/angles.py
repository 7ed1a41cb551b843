"""Bearings on the floor plane, wrap-safe. Degrees, counter-clockwise from the facing direction, in [0, 360)."""

from collections.abc import Sequence

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray, nearest_index


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


def wrapped_deg(angle_deg: FloatArray | float) -> FloatArray:
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


def rate(times_s: FloatArray, values: FloatArray, window_s: float, *, until: bool = False) -> FloatArray:
    """Change per second (..., T, k) of values (..., T, k) at times (T,), strictly increasing.

    From the sample nearest to half a window before each time to that nearest to half a window after it; at the ends
    of the log from what there is. NaN where one of the two is not known, or where they are one.

    Args:
        times_s: (T,).
        values: of which the change is measured.
        window_s: over which it is measured.
        until: the window ends at each time: the change is that which a film shows that ends there.
    """
    if not len(times_s):
        return np.empty_like(values)
    before, after, lasted = _window(times_s, window_s, until)
    return np.asarray((values[..., after, :] - values[..., before, :]) / lasted[:, None])


def turn_rate_dps(times_s: FloatArray, yaw_deg: FloatArray, window_s: float, *, until: bool = False) -> FloatArray:
    """Degrees per second (..., T) of angles (..., T), counter-clockwise positive. Times and NaN as in `rate`."""
    if not len(times_s):
        return np.empty_like(yaw_deg)
    before, after, lasted = _window(times_s, window_s, until)
    return np.asarray(wrapped_deg(yaw_deg[..., after] - yaw_deg[..., before]) / lasted)


def _window(times_s: FloatArray, window_s: float, until: bool) -> tuple[IntArray, IntArray, FloatArray]:
    """Indices (T,) of where the window of each time begins and ends, and how long it is; NaN where it is empty."""
    before = nearest_index(times_s, times_s - (window_s if until else window_s / 2))
    after = np.arange(len(times_s)) if until else nearest_index(times_s, times_s + window_s / 2)
    lasted = times_s[after] - times_s[before]
    return before, after, np.where(lasted > 0, lasted, np.nan)
