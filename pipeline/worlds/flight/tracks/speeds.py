"""Speeds of a track: as logged, else from its positions; and whether the two agree."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log
from pipeline.worlds.flight.tracks.fixes import Fixes, bounded

FASTEST_MPS: Final = 1000.0  # larger velocities are broken numbers
SPEED_ERROR_MPS: Final = 0.5  # a step of the coordinates within the window looks no faster
SPEED_WINDOW_S: Final = (1.0, 10.0)
MOVES_MPS: Final = 2.0  # slower, noise hides the ratio of two speeds
RATIO_OFF: Final = 0.2  # by which the ratio of two speeds may differ from 1
ENOUGH: Final = 5  # samples that move


def speeds(log: Log, fixes: Fixes, step_m: float, found: list[Finding]) -> FloatArray:
    """Speeds (N,) over ground and upwards together, m/s: of the logged velocities, else of the positions.

    Args:
        log: whose ``velocity_mps`` counts, and whose ``speed_mps`` is compared alone.
        fixes: (N,) the samples of the track.
        step_m: quantisation of the coordinates, 0 for none.
        found: gets a note where logged speeds are not those of the positions.
    """
    derived = derived_speeds(fixes, step_m)
    if log.speed_mps is not None:
        found += _compared(bounded(log.speed_mps[fixes.index], FASTEST_MPS), derived)
    if log.velocity_mps is None:
        return derived
    logged = np.sqrt((bounded(log.velocity_mps[fixes.index], FASTEST_MPS) ** 2).sum(1))
    return np.where(np.isfinite(logged), logged, derived)


def derived_speeds(fixes: Fixes, step_m: float) -> FloatArray:
    """Speeds (N,) over a window within the part, long enough that a step of the coordinates does not look fast.

    NaN where the part holds less than a quarter of the window.
    """
    t, window = fixes.t_s, float(np.clip(step_m / SPEED_ERROR_MPS, *SPEED_WINDOW_S))
    starts = np.flatnonzero(np.concatenate([[True], np.diff(fixes.part) > 0]))
    ends = np.concatenate([starts[1:], [len(t)]]) - 1
    low = np.maximum(t - window / 2, t[starts][fixes.part])
    high = np.minimum(t + window / 2, t[ends][fixes.part])
    move = [np.interp(high, t, axis) - np.interp(low, t, axis) for axis in fixes.enu_m.T]
    enough = high - low >= window / 4
    return np.where(enough, np.sqrt(sum(m * m for m in move)) / np.where(enough, high - low, 1.0), np.nan)


def _compared(logged_mps: FloatArray, derived_mps: FloatArray) -> list[Finding]:
    """A note where a column of speeds (N,) says another thing than the positions."""
    moves = np.isfinite(logged_mps) & (derived_mps > MOVES_MPS)
    if moves.sum() < ENOUGH:
        return []
    ratio = float(np.median(logged_mps[moves] / derived_mps[moves]))
    if abs(ratio - 1.0) <= RATIO_OFF:
        return []
    message = f"the logged speed is {ratio:.2f} times that of the positions, which is used"
    return [
        note("speed_differs", "log", message, "none needed: no answer rests on the logged speed", ratio, 1.0, "ratio")
    ]
