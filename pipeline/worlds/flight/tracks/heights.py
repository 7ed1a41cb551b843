"""The height above take-off: as logged, and held against what else measured it."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log
from pipeline.worlds.flight.tracks.fixes import Fixes, bounded
from pipeline.worlds.flight.tracks.layout import HIGHEST_M
from pipeline.worlds.flight.tracks.series import Bracket
from pipeline.worlds.flight.tracks.stretches import about

APART_M: Final = 10.0  # between two heights; the vertical error of a receiver seldom reaches it
SETTLED_S: Final = 5.0  # at the start, over which the levels that the heights count from are compared


def height_above_takeoff(log: Log, fixes: Fixes, local: bool, found: list[Finding]) -> FloatArray:
    """Height (N,) above take-off: as logged, else above the first fix."""
    if log.height_m is not None and np.isfinite(log.height_m).any():
        return bounded(log.height_m[fixes.index], HIGHEST_M)
    level = fixes.enu_m[:, 2] if local else fixes.lat_lon_alt[:, 2]
    message = "the log has no height above take-off; heights are above its first position"
    if np.isfinite(level).any():
        found.append(note("height_from_first_fix", "log", message, "none needed if the log begins on the ground"))
    return level - level[0]


def check_heights(log: Log, fixes: Fixes, height_m: FloatArray) -> list[Finding]:
    """A doubt about the stretches in which the height parts from another one by more than `APART_M`.

    Each other height counts from a level of its own: only how it changes from the beginning of the log is compared.

    Args:
        log: with `Log.heights`.
        fixes: (N,) the samples of the track.
        height_m: (N,) above take-off.
    """
    clock_s = log.t_s[fixes.index]
    apart: dict[str, FloatArray] = {}
    for name, series in log.heights.items():
        off_m = height_m - bounded(Bracket(series, clock_s, fixes.run).scalar(), HIGHEST_M)
        known = np.flatnonzero(np.isfinite(off_m))
        if len(known):
            settled = known[fixes.t_s[known] <= fixes.t_s[known[0]] + SETTLED_S]
            apart[name] = np.abs(off_m - np.median(off_m[settled]))
    wrong = {name: off_m > APART_M for name, off_m in apart.items() if (off_m > APART_M).any()}
    if not wrong:
        return []
    which: BoolArray = np.logical_or.reduce(list(wrong.values()))
    worst = max(float(np.nanmax(apart[name])) for name in wrong)
    message = f"the height parts by up to {worst:.1f} m from that of {' and of '.join(wrong)}"
    remedy = "compare with the height that the controller showed; a barometer drifts with the weather and in wind"
    finding = doubt("heights_disagree", "log", message, remedy, worst, APART_M, "m")
    return [about(finding, fixes.t_s, which)]
