"""Attitudes, headings and camera angles brought to the times of the positions."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.formats.logs.log import Series
from pipeline.worlds.flight.tracks.clock import timed
from pipeline.worlds.flight.tracks.fixes import bounded

REACH_S: Final = 1.0  # a value farther than this from a position says nothing about it
_NEARLY_ONE: Final = 0.9995  # cosine of half the angle above which slerp is a straight line
_LARGEST: Final = 1e6  # larger angles and quaternions are broken numbers
_UPRIGHT: Final = 1e-3  # horizontal share of a nose that points at the sky


class Bracket:
    """Where times lie between the samples of a series.

    Args:
        series: values with their own times on the log's clock, in the order of the file.
        clock_s: (N,) times on the same clock.
        run: (N,) how often that clock had jumped back; a series' own jumps are matched with them by number.
    """

    def __init__(self, series: Series, clock_s: FloatArray, run: IntArray) -> None:
        index, _ = timed(series.t_s)
        t, value = series.t_s[index], series.value[index]
        value = value[:, None] if value.ndim == 1 else value
        own_run = np.concatenate([[0], np.cumsum(np.diff(t) < 0)])[: len(t)]
        known = np.isfinite(bounded(value, _LARGEST)).all(1)
        t, self.value, own_run = t[known], value[known], own_run[known]
        self.empty = not len(t)
        if self.empty:
            self.reached = np.zeros(len(clock_s), dtype=bool)
            return
        # One axis for all runs: each later run is shifted past the one before.
        low = min(t.min(), clock_s.min())
        span = max(t.max(), clock_s.max()) - low + 10.0 * REACH_S
        axis, wanted = t - low + own_run * span, clock_s - low + run * span
        self.right = np.clip(np.searchsorted(axis, wanted), 1, max(len(axis) - 1, 1)) if len(axis) > 1 else run * 0
        self.left = np.maximum(self.right - 1, 0)
        width = axis[self.right] - axis[self.left]
        weight = np.clip((wanted - axis[self.left]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
        # Between samples that lie far apart the nearer one holds.
        self.weight = np.where(width > 2 * REACH_S, np.round(weight), weight)
        nearest = np.minimum(np.abs(wanted - axis[self.left]), np.abs(wanted - axis[self.right]))
        self.reached = nearest <= REACH_S

    def scalar(self) -> FloatArray:
        """Values (N,), interpolated; NaN out of reach."""
        if self.empty:
            return np.full(len(self.reached), np.nan)
        a, b = self.value[self.left, 0], self.value[self.right, 0]
        return np.where(self.reached, a + (b - a) * self.weight, np.nan)

    def angle_deg(self) -> FloatArray:
        """Values (N,) in [0, 360), interpolated the shorter way round; NaN out of reach."""
        if self.empty:
            return np.full(len(self.reached), np.nan)
        a, b = self.value[self.left, 0], self.value[self.right, 0]
        turn = (b - a + 180.0) % 360.0 - 180.0
        angle = (a + turn * self.weight) % 360.0
        return np.where(self.reached, np.where(angle == 360.0, 0.0, angle), np.nan)

    def quaternion(self) -> FloatArray:
        """Unit quaternions (N, 4), slerp; NaN out of reach or where a logged one has no length."""
        if self.empty:
            return np.full((len(self.reached), 4), np.nan)
        a, b = _unit(self.value[self.left]), _unit(self.value[self.right])
        cosine = (a * b).sum(1)
        b = np.where(cosine[:, None] < 0, -b, b)
        half = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
        sine = np.sin(half)
        close = np.abs(cosine) > _NEARLY_ONE
        safe = np.where(close, 1.0, sine)
        w = self.weight
        from_a = np.where(close, 1.0 - w, np.sin((1.0 - w) * half) / safe)
        from_b = np.where(close, w, np.sin(w * half) / safe)
        mixed = _unit(from_a[:, None] * a + from_b[:, None] * b)
        return np.where(self.reached[:, None], mixed, np.nan)


def heading_of(quat_wxyz: FloatArray) -> FloatArray:
    """Compass angle (N,) of the nose in [0, 360) of attitudes (N, 4), body FLU to ENU; NaN where it points up."""
    w, x, y, z = quat_wxyz.T
    east, north = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    heading = np.degrees(np.arctan2(east, north)) % 360.0
    return np.where(np.hypot(east, north) > _UPRIGHT, np.where(heading == 360.0, 0.0, heading), np.nan)


def _unit(q: FloatArray) -> FloatArray:
    length = np.sqrt((q * q).sum(1, keepdims=True))
    return np.where(length > 0, q / np.where(length > 0, length, 1.0), np.nan)
