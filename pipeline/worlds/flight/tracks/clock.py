"""The clock of a log made straight: what ran backwards or leapt becomes a break, and time goes on from there."""

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, runs
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding

_DECIMALS = 3


def about(finding: Finding, t_s: FloatArray, marked: BoolArray) -> Finding:
    """The finding with `Finding.stretches`: of each run of marked samples, from the sample before to the one after.

    Args:
        finding: as found, about the whole log.
        t_s: (N,) never falling.
        marked: (N,).
    """
    begin, end = runs(marked).T
    low, high = t_s[np.maximum(begin - 1, 0)], t_s[np.minimum(end, len(t_s) - 1)]
    pairs = zip(low.round(_DECIMALS).tolist(), high.round(_DECIMALS).tolist(), strict=True)
    return finding.model_copy(update={"stretches": tuple(pairs)})


GAP_S: Final = 5.0  # longer without a fix: a new part
LEAP_S: Final = 6 * 3600.0  # no drone stays away from its log for longer; a clock that was set does
_LATEST_S: Final = 1e11  # the year 5138; later times are broken numbers


class StraightenedClock(NamedTuple):
    """A straightened clock.

    Attributes:
        samples: (M,) index of those of the log whose time is known and no stray.
        t_s: (M,) never falling, from 0.
        breaks: (M,) True where the clock jumped back or leapt before this sample.
        run: (M,) how often the clock had jumped back.
        findings: what was wrong with it.
    """

    samples: IntArray
    t_s: FloatArray
    breaks: BoolArray
    run: IntArray
    findings: tuple[Finding, ...]


def straighten(clock_s: FloatArray) -> StraightenedClock:
    """The times (N,) of a log, in the order of its file, as times that never fall.

    After a jump back, or a leap forward of more than `LEAP_S` (a clock set from 0 or 1970 to the day), time goes on
    one usual step after the last sample before it: how long it really was is not known.
    """
    index, strays = timed(clock_s)
    t = clock_s[index]
    step = np.diff(t)
    usual = step[(step > 0) & (step <= GAP_S)]
    usual_s = float(np.median(usual)) if len(usual) else 1.0
    back, leap = step < 0, step > LEAP_S
    breaks = np.concatenate([[False], back | leap])[: len(t)]
    shift = np.cumsum(np.where(breaks[1:], usual_s - step, 0.0)) if len(t) else step
    t_s = np.maximum.accumulate(np.round(t - t[:1] + np.concatenate([[0.0], shift])[: len(t)], 6))
    run = np.concatenate([[0], np.cumsum(back)])[: len(t)].astype(np.intp)
    found = []
    if n := len(clock_s) - len(t) - strays:
        message = f"{n} of {len(clock_s)} samples have no time and were left out"
        found.append(note("untimed", "log", message, "none needed", n, 0))
    if strays:
        message = f"{strays} samples alone out of time were left out"
        found.append(note("stray_times", "log", message, "none needed", strays, 0))
    goes_on = "a new part begins at each, and time goes on from the end of the part before"
    if back.any():
        worst = float(-step.min())
        message = f"the clock jumps back {int(back.sum())} times, by up to {worst:.3f} s; {goes_on}"
        remedy = "if several flights were joined, give each its own file; check the offset to the video of later parts"
        found.append(about(doubt("clock_jump", "log", message, remedy, worst, 0.0, "s"), t_s, _after_jump(back)))
    if leap.any():
        worst = float(step.max())
        message = (
            f"the clock leaps forward {int(leap.sum())} times, by up to {worst:.0f} s, as when it is set from 0 to the "
            f"day; {goes_on}"
        )
        remedy = "check the offset to the video, or cut the log at the leap"
        found.append(about(doubt("epoch_leap", "log", message, remedy, worst, LEAP_S, "s"), t_s, _after_jump(leap)))
    return StraightenedClock(index, t_s, breaks, run, tuple(found))


def timed(clock_s: FloatArray) -> tuple[IntArray, int]:
    """Samples that have a time and are no stray, and the number of strays.

    A stray is a sample alone out of time between two that follow on each other.
    """
    with np.errstate(invalid="ignore"):
        index = np.flatnonzero(np.abs(clock_s) <= _LATEST_S)
    t = clock_s[index]
    stray = np.zeros(len(t), dtype=bool)
    if len(t) > 2:
        before, this, after = t[:-2], t[1:-1], t[2:]
        stray[1:-1] = (after >= before) & (after - before <= GAP_S) & ((this < before) | (this > after))
    stray[1:] &= ~stray[:-1]  # of two that disagree with each other, the first
    return index[~stray], int(stray.sum())


def _after_jump(jumps: BoolArray) -> BoolArray:
    """The samples (M,) after the first of some jumps (M - 1,): it is not known when they were."""
    return np.concatenate([[False], np.cumsum(jumps) > 0])
