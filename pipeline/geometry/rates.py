"""How fast sampled values change: central differences over a stretch of time, for noise is divided by its length."""

from __future__ import annotations

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.geometry.turns import wrapped_deg


def rate(times_s: FloatArray, values: FloatArray, window_s: float) -> FloatArray:
    """Change per second (..., T, k) of values (..., T, k) at times (T,), strictly increasing.

    From the sample nearest to half a window before each time to that nearest to half a window after it; at the ends
    of the log from what there is. NaN where one of the two is not known, or where they are one.
    """
    if not len(times_s):
        return np.empty_like(values)
    before, after = _around(times_s, window_s)
    lasted = times_s[after] - times_s[before]
    change = values[..., after, :] - values[..., before, :]
    return np.asarray(change / np.where(lasted > 0, lasted, np.nan)[:, None])


def turn_rate_dps(times_s: FloatArray, yaw_deg: FloatArray, window_s: float) -> FloatArray:
    """Degrees per second (..., T) of angles (..., T), counter-clockwise positive. NaN as in `rate`."""
    if not len(times_s):
        return np.empty_like(yaw_deg)
    before, after = _around(times_s, window_s)
    lasted = times_s[after] - times_s[before]
    change = wrapped_deg(yaw_deg[..., after] - yaw_deg[..., before])
    return np.asarray(change / np.where(lasted > 0, lasted, np.nan))


def _around(times_s: FloatArray, window_s: float) -> tuple[IntArray, IntArray]:
    half = window_s / 2
    return _nearest(times_s, times_s - half), _nearest(times_s, times_s + half)


def _nearest(times_s: FloatArray, wanted_s: FloatArray) -> IntArray:
    """Indices (N,) of the times (T,) nearest to others (N,), the earlier one of two."""
    after = np.clip(np.searchsorted(times_s, wanted_s), 1, max(1, len(times_s) - 1))
    before = after - 1
    after = np.minimum(after, len(times_s) - 1)
    return np.where(times_s[after] - wanted_s < wanted_s - times_s[before], after, before)
