"""Evenly timed, smoothed values and their rates of change, from uneven and noisy samples.

A straight line is fitted to the samples around each moment. Its window is as short as the noise of the log allows: a
clean log keeps its corners, a noisy one is smoothed until the rate is known well enough. The window is symmetric, so
the moment at which a rate crosses half of its new level is not shifted by it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray

MAX_ACCELERATION: Final = 20.0  # m/s²: twice gravity, beyond what camera drones do; more is a spike of the receiver
SPIKE_SIGMAS: Final = 8.0  # far outside noise; smaller errors are left to the fit
_MAD_TO_SIGMA: Final = 1.4826  # of a normal distribution
_MIN_SAMPLES: Final = 3  # in a window; also what a rate needs
_FASTER: Final = 1.2  # times as many samples as moments, from which samples are averaged
_MIN_INTERVALS: Final = 1.4  # a window spans so many intervals of the log: between two samples a rate is constant


def white_noise(t_s: FloatArray, values: FloatArray, starts: BoolArray) -> float:
    """Standard deviation of the white noise in ``values`` (N, k), the largest over k; 0 where too few samples tell.

    From third differences, which steady flight, ramps and wide curves leave near zero: their variance is 20 times that
    of the noise (1 + 9 + 9 + 1). Only runs of four evenly timed samples of one part count.

    Args:
        t_s: (N,) seconds, increasing within a part.
        values: (N, k); not wrapped.
        starts: (N,) True where a part begins.
    """
    step = np.diff(t_s)
    if len(step) < _MIN_SAMPLES:
        return 0.0
    usual = float(np.median(step[~starts[1:]])) if (~starts[1:]).any() else 0.0
    even = (np.abs(step - usual) <= 0.25 * usual) & ~starts[1:]
    runs = even[:-2] & even[1:-1] & even[2:]
    if not runs.any():
        return 0.0
    third = np.abs(np.diff(values, n=3, axis=0)[runs])
    return float(_MAD_TO_SIGMA * np.median(third, axis=0).max() / np.sqrt(20.0))


def despiked(t_s: FloatArray, positions: FloatArray, sigma: float) -> BoolArray:
    """Which samples (N,) of one part to keep: without those that leap off the line between their two neighbours.

    ``positions`` (N, k), metres. A leap is further than `SPIKE_SIGMAS` of noise and than `MAX_ACCELERATION` could carry
    a drone off the line and back.
    """
    keep = np.ones(len(t_s), dtype=bool)
    if len(t_s) < _MIN_SAMPLES:
        return keep
    span = t_s[2:] - t_s[:-2]
    share = ((t_s[1:-1] - t_s[:-2]) / span)[:, None]
    off = np.abs(positions[1:-1] - (positions[:-2] * (1 - share) + positions[2:] * share)).max(1)
    # A spike pulls its neighbours' lines too, by half: only the largest of three in a row is one.
    around = np.pad(off, 1)
    largest = (off > around[:-2]) & (off >= around[2:])
    keep[1:-1] = ~(largest & (off > SPIKE_SIGMAS * sigma + MAX_ACCELERATION * span**2 / 8))
    return keep


def resampled(t_s: FloatArray, values: FloatArray, grid_s: FloatArray) -> FloatArray:
    """Values (G, k) at evenly spaced times (G,) within the samples (N, k) of one part.

    Where the log is faster than the grid, the samples about each moment are averaged first, with their times, so that
    noise does not alias. Between the averages, and from the outer ones to the ends, it is linear.
    """
    if len(grid_s) > 1 and len(t_s) > _FASTER * len(grid_s):
        step = grid_s[1] - grid_s[0]
        _, bins = np.unique(np.round((t_s - grid_s[0]) / step), return_inverse=True)
        count = np.bincount(bins)
        t_s = np.bincount(bins, t_s) / count
        values = np.stack([np.bincount(bins, column) / count for column in values.T], axis=1)
        ends = np.array([[0, 1], [-1, -2]])  # the outermost average on either side and the next
        slope = np.diff(values[ends], axis=1)[:, 0] / np.diff(t_s[ends], axis=1)
        outer = values[ends[:, 0]] + slope * (grid_s[ends[:, 0]] - t_s[ends[:, 0]])[:, None]
        order = np.argsort(np.r_[grid_s[0], t_s, grid_s[-1]], kind="stable")
        t_s = np.r_[grid_s[0], t_s, grid_s[-1]][order]
        values = np.vstack([outer[:1], values, outer[1:]])[order]
    return np.stack([np.interp(grid_s, t_s, column) for column in values.T], axis=1)


def window_s(sigma: float, interval_s: float, target: float, longest_s: float) -> float:
    """Window of the fit in seconds, over which noise leaves an error of ``target`` in the rate of change.

    The slope of a line through n even samples of noise ``sigma`` over W seconds has the standard error
    ``sigma * sqrt(12 / n) / W``, with n = W / ``interval_s``.
    """
    needed = float(np.cbrt(12.0 * sigma**2 * interval_s / target**2))
    return max(min(needed, longest_s), _MIN_INTERVALS * interval_s)


def rate_error(sigma: float, interval_s: float, width_s: float) -> float:
    """Standard error of a rate of change fitted over ``width_s`` (see `window_s`)."""
    return float(sigma * np.sqrt(12.0 * interval_s / width_s**3))


def fitted(values: FloatArray, rate_hz: float, width_s: float) -> tuple[FloatArray, FloatArray]:
    """Smoothed values and rates of change per second, both (G, k), of evenly spaced values (G, k) of one part.

    A parabola gives the value, a straight line its rate; at the ends, those of the last full window. Fewer than three
    values have no rate: NaN.
    """
    from scipy.signal import savgol_filter  # takes a second, which builds of scans need not spend

    if len(values) < _MIN_SAMPLES:
        return values, np.full(values.shape, np.nan)
    width = max(_MIN_SAMPLES, 2 * round((width_s * rate_hz - 1) / 2) + 1)
    width = min(width, len(values) - 1 + len(values) % 2)
    smooth = savgol_filter(values, width, 2, axis=0, mode="interp")
    rate = savgol_filter(values, width, 1, deriv=1, delta=1 / rate_hz, axis=0, mode="interp")
    return smooth, rate
