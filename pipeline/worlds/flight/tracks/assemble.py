"""A log as it was written becomes a track: nothing invented, nothing joined that was not flown, every doubt said.

In this order: the clock is made straight (`clock`), positions that are none are refused (`fixes`), the rest is laid
out in ENU about the first good fix, parts are told apart, repeats and strays are dropped, and attitude, heading and
camera are brought to the times of the positions (`series`).

Where a log has local positions and WGS84 ones, the local ones, an estimator's, are the smoother: the path is theirs,
and WGS84 places its zero. Only where the two part by more than `DISAGREE_M` is the path that of WGS84.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding, Origin
from pipeline.formats.logs.log import Clock, Log
from pipeline.geometry.tracks import Track
from pipeline.worlds.flight.tracks.clock import GAP_S, about, straighten
from pipeline.worlds.flight.tracks.fixes import (
    Fixes,
    RefusedSamples,
    distinct,
    leaps,
    place,
    quantum_m,
    refuse,
    strays,
    zeroed,
)
from pipeline.worlds.flight.tracks.series import (
    Bracket,
    check_heights,
    heading_of,
    height_above_takeoff,
    speeds,
    stated_speeds,
)

QUANTISED_M: Final = 0.5  # coarser coordinates are worth a word
COARSE_M: Final = 5.0  # coarser coordinates put movements in doubt
MANY: Final = 0.1  # share of refused fixes above which the log is in doubt

_CLOCKS: Final[dict[Clock, Finding]] = {
    "local": note(
        "local_clock",
        "log",
        "the times are local times of an unknown zone; seconds from the start hold unless the zone changed",
        "none needed",
    ),
    "step": note("step_clock", "log", "the times count steps, not seconds", "take no duration or speed from this log"),
    "none": doubt(
        "no_clock", "log", "the log has no times; samples are counted", "take no duration or speed from this log"
    ),
}


@dataclass(frozen=True)
class Assembled:
    """A track, where its frame has its zero (None: local positions alone), and all that was found in the log."""

    track: Track
    origin: Origin | None
    findings: tuple[Finding, ...]


def assemble(path: Path, log: Log) -> Assembled:
    """The track of a log; ``path`` is named in errors. Raises RawDataError `no_fix` without a usable position."""
    found: list[Finding] = []
    fixes, local = _good_fixes(path, log, found)
    step_m = 0.0 if local else quantum_m(fixes.lat_lon_alt[:, :2])
    if step_m >= QUANTISED_M:
        say = doubt if step_m >= COARSE_M else note
        message = f"the coordinates come in steps of {step_m:.2g} m; no movement below that is claimed"
        remedy = "use the drone's own flight log, if there is one"
        found.append(say("quantised", "log", message, remedy, step_m, QUANTISED_M, "m"))
    if log.label is None:  # else every sample stands for a step that was taken, also on the spot
        fixes = _without_repeats(fixes, step_m, found)
    fixes = _without_strays(fixes, step_m, found)
    fixes, origin = zeroed(fixes, local)
    quat, heading, gimbal = _pose(log, fixes, found)
    height = height_above_takeoff(log, fixes, local, found)
    found += check_heights(log, fixes, height)
    track = Track(
        t_s=fixes.t_s,
        enu_m=fixes.enu_m,
        lat_lon_deg=fixes.lat_lon_alt[:, :2],
        height_m=height,
        speed_mps=speeds(log, fixes, step_m),
        quat_wxyz=quat,
        heading_deg=heading,
        gimbal_pitch_deg=gimbal,
        part=fixes.part,
        stated_mps=stated_speeds(log, fixes, step_m, found),
        label=None if log.label is None else log.label[fixes.index],
    )
    return Assembled(track, origin, tuple(found))


def _pose(log: Log, fixes: Fixes, found: list[Finding]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Attitude (N, 4), heading (N,) and pitch of the camera (N,) at the times of the fixes; NaN where unknown."""
    clock_s, n = log.t_s[fixes.index], len(fixes.index)
    quat = Bracket(log.attitude, clock_s, fixes.run).quaternion() if log.attitude else np.full((n, 4), np.nan)
    heading = Bracket(log.heading, clock_s, fixes.run).angle_deg() if log.heading else heading_of(quat)
    gimbal = Bracket(log.gimbal_pitch, clock_s, fixes.run).scalar() if log.gimbal_pitch else np.full(n, np.nan)
    for what, values, then, remedy in (
        (
            "heading",
            heading,
            "it is said that it flies and stays, but not which way, nor where it turns",
            "none needed",
        ),
        (
            "gimbal",
            gimbal,
            "nothing is asked about what the camera sees",
            "state pitch_deg of a fixed camera in flight.yaml",
        ),
    ):
        share = float(np.isnan(values).mean())
        if share == 1.0:
            found.append(note(f"no_{what}", "log", f"the log has no {what}: {then}", remedy))
        elif share:
            message = f"no {what} within 1 s of {share:.1%} of the positions"
            found.append(note(f"{what}_gaps", "log", message, "none needed", share, 0.0, "share"))
    return quat, heading, gimbal


def _good_fixes(path: Path, log: Log, found: list[Finding]) -> tuple[Fixes, bool]:
    """The usable positions, in parts, and whether their path is that of the log's local positions."""
    straight = straighten(log.t_s)
    for finding in log.findings:  # of the reader; its marks mean stretches of the track
        marked = log.marks.get(finding.name)
        found.append(finding if marked is None else about(finding, straight.t_s, marked[straight.samples]))
    found += [*([_CLOCKS[log.clock]] if log.clock in _CLOCKS else []), *straight.findings]
    refused = refuse(log, straight.samples)
    if refused.which.all():
        raise _no_fix(path, log, refused.counted or "no sample has a time")
    found += _refused_fixes(refused, straight.t_s)
    # The breaks before each: one before a sample that is not good is one before the next good one.
    broken = np.cumsum(straight.breaks, dtype=np.intp)
    if log.begins is not None:
        broken = broken + np.cumsum(log.begins)[straight.samples]
    good = ~refused.which
    index = straight.samples[good]
    enu_m, lat_lon_alt, level_m, local = place(log, index, found)
    fixes = Fixes(index, straight.t_s[good], straight.run[good], broken[good], enu_m, lat_lon_alt, level_m)
    # Those that were placed, without those that bear the time of the one before.
    again = np.concatenate([[False], np.diff(fixes.t_s) == 0])
    if repeated := int(again.sum()):
        message = f"{repeated} positions bear the time of the one before and were left out"
        found.append(note("repeated_times", "log", message, "none needed", repeated, 0))
    fixes = fixes.take(np.asarray(np.isfinite(fixes.enu_m).all(1)) & ~again)
    if not len(fixes.index):
        raise _no_fix(path, log, "none has an altitude")
    return _parted(fixes, found), local


def _refused_fixes(refused: RefusedSamples, t_s: FloatArray) -> list[Finding]:
    """How many positions were refused. Only between usable ones do they cast doubt: before and after, nothing is flown.

    Args:
        refused: which, and why.
        t_s: (N,) times.
    """
    n, refused_n = len(refused.which), int(refused.which.sum())
    if not refused_n:
        return []
    good = np.flatnonzero(~refused.which)
    inside = refused.which.copy()
    inside[: good[0]] = inside[good[-1] + 1 :] = False
    flown = int(good[-1] - good[0]) + 1
    many = bool(inside.sum() > MANY * flown)
    share = float(inside.sum()) / flown if many else refused_n / n
    message = f"{refused_n} of {n} positions ({refused_n / n:.1%}) were refused: {refused.counted}"
    if not inside.any():
        message += "; all of them before the first usable one or after the last"
    finding = (doubt if many else note)(
        "refused_fixes", "log", message, "none needed if the rest will do", share, MANY, "share"
    )
    return [about(finding, t_s, inside) if many else finding]


def _parted(fixes: Fixes, found: list[Finding]) -> Fixes:
    """The fixes with parts numbered from 0: a new one begins at each break and after each gap."""
    wait = np.diff(fixes.t_s)
    begins, gap = np.diff(fixes.part) > 0, wait > GAP_S
    if gap.any():
        message = (
            f"{int(gap.sum())} gaps of more than {GAP_S:g} s without a position, the longest {wait.max():.1f} s; "
            "a new part begins after each"
        )
        remedy = "none needed; no movement is seen in a gap"
        found.append(note("gap", "log", message, remedy, float(wait.max()), GAP_S, "s"))
    return replace(fixes, part=np.concatenate([[0], np.cumsum(begins | gap)]).astype(np.intp))


def _no_fix(path: Path, log: Log, why: str) -> RawDataError:
    message = f"none of {len(log.t_s)} positions is usable ({why})"
    return RawDataError(path, "no_fix", message, "give a log of this flight that has positions", log.name or None)


def _without_repeats(fixes: Fixes, step_m: float, found: list[Finding]) -> Fixes:
    keep, rate_hz = distinct(fixes.enu_m, fixes.t_s, fixes.part, step_m)
    share = 1.0 - float(keep.mean())
    if share:
        rate = f"; the real rate is about {rate_hz:.1f} Hz" if np.isfinite(rate_hz) else ""
        message = f"{share:.1%} of the positions repeat the one before and were left out{rate}"
        found.append(note("repeated_fixes", "log", message, "none needed", share, 0.0, "share"))
    return fixes.take(keep)


def _without_strays(fixes: Fixes, step_m: float, found: list[Finding]) -> Fixes:
    """Strays dropped; a leap that stays is a reset of the position, and a new part begins."""
    stray = strays(fixes.enu_m, fixes.t_s, fixes.part, step_m)
    if stray.any():
        message = f"{int(stray.sum())} positions alone far from those before and after, or far above, were left out"
        found.append(note("stray_fixes", "log", message, "none needed", int(stray.sum()), 0))
        fixes = fixes.take(~stray)
    leap = leaps(fixes.enu_m, fixes.t_s, fixes.part, step_m)
    if leap.any():
        jump = float(np.sqrt((np.diff(fixes.enu_m, axis=0)[leap] ** 2).sum(1)).max())
        message = f"the position leaps {int(leap.sum())} times, by up to {jump:.0f} m; a new part begins at each"
        remedy = "none needed; if a leap was flown, its samples are missing from the log"
        found.append(doubt("reset", "log", message, remedy, jump, None, "m"))
    begins = np.concatenate([[False], (np.diff(fixes.part) > 0) | leap | (np.diff(fixes.t_s) > GAP_S)])
    return replace(fixes, part=np.cumsum(begins).astype(np.intp))
