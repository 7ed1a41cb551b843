"""A log as it was written becomes a track: nothing invented, nothing joined that was not flown, every doubt said.

In this order: the clock is made straight (`clock`), positions that are none are refused (`fixes`), the rest is laid
out in ENU about the first good fix, parts are told apart, repeats and strays are dropped, and attitude, heading and
camera are brought to the times of the positions (`series`).

Where a log has local positions and WGS84 ones, the local ones, an estimator's, are the smoother: the path is theirs,
and WGS84 places its zero. Only where the two part by more than `DISAGREE_M` is the path that of WGS84.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding, Origin
from pipeline.formats.logs.log import Clock, Log
from pipeline.geometry.geodesy import offsets_m, to_enu
from pipeline.geometry.tracks import Track
from pipeline.worlds.flight.tracks.clock import GAP_S, straighten
from pipeline.worlds.flight.tracks.fixes import bounded, distinct, is_place, leaps, quantum_m, refuse, strays
from pipeline.worlds.flight.tracks.series import Bracket, heading_of

DISAGREE_M: Final = 20.0  # a receiver's noise at its worst, and a local frame's drift over a flight
QUANTISED_M: Final = 0.5  # coarser coordinates are worth a word
COARSE_M: Final = 5.0  # coarser coordinates put movements in doubt
MANY: Final = 0.1  # share of refused fixes above which the log is in doubt
HIGHEST_M: Final = 50_000.0  # larger altitudes and heights are broken numbers
FASTEST_MPS: Final = 1000.0  # larger velocities are
SPEED_ERROR_MPS: Final = 0.5  # a step of the coordinates within the window looks no faster
SPEED_WINDOW_S: Final = (1.0, 10.0)

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


@dataclass(frozen=True)
class _Fixes:
    """What is kept of a log: (N,) index into it, track time, runs of its clock, part; positions."""

    index: IntArray
    t_s: FloatArray
    run: IntArray
    part: IntArray
    enu_m: FloatArray  # (N, 3)
    lat_lon_alt: FloatArray  # (N, 3), NaN where unknown
    level_m: FloatArray  # the altitudes that the path is laid out by

    def take(self, keep: BoolArray) -> _Fixes:
        return _Fixes(**{field.name: getattr(self, field.name)[keep] for field in fields(self)})


def assemble(path: Path, log: Log) -> Assembled:
    """The track of a log; ``path`` is named in errors. Raises RawDataError `no_fix` without a usable position."""
    found = [*log.findings, *([_CLOCKS[log.clock]] if log.clock in _CLOCKS else [])]
    fixes, local = _good_fixes(path, log, found)
    step_m = 0.0 if local else quantum_m(fixes.lat_lon_alt[:, :2])
    found += _coarse(step_m)
    if log.label is None:  # else every sample stands for a step that was taken, also on the spot
        fixes = _without_repeats(fixes, step_m, found)
    fixes = _without_strays(fixes, step_m, found)
    fixes, origin = _zeroed(fixes, local)

    clock_s, n = log.t_s[fixes.index], len(fixes.index)
    quat = Bracket(log.attitude, clock_s, fixes.run).quaternion() if log.attitude else np.full((n, 4), np.nan)
    heading = Bracket(log.heading, clock_s, fixes.run).angle_deg() if log.heading else heading_of(quat)
    gimbal = Bracket(log.gimbal_pitch, clock_s, fixes.run).scalar() if log.gimbal_pitch else np.full(n, np.nan)
    found += _unknown("heading", heading, "of its course alone is spoken, and of no turn")
    found += _unknown("gimbal", gimbal, "what the camera sees needs the pitch of a fixed camera in flight.yaml")
    height = _heights(log, fixes, local, found)
    speed = _speeds(fixes, step_m)
    if log.velocity_mps is not None:
        logged = np.sqrt((bounded(log.velocity_mps[fixes.index], FASTEST_MPS) ** 2).sum(1))
        speed = np.where(np.isfinite(logged), logged, speed)
    label = None if log.label is None else log.label[fixes.index]
    place = fixes.lat_lon_alt[:, :2]
    track = Track(fixes.t_s, fixes.enu_m, place, height, speed, quat, heading, gimbal, fixes.part, label)
    return Assembled(track, origin, tuple(found))


def _good_fixes(path: Path, log: Log, found: list[Finding]) -> tuple[_Fixes, bool]:
    """The usable positions, in parts, and whether their path is that of the log's local positions."""
    straight = straighten(log.t_s)
    found += straight.findings
    refused = refuse(log, straight.samples)
    good = ~refused.which
    n, n_refused = len(good), int(refused.which.sum())
    reasons = ", ".join(f"{count} × {reason}" for reason, count in refused.reasons.items())
    if not good.any():
        raise _no_fix(path, log, reasons or "no sample has a time")
    if n_refused:
        say = doubt if n_refused > MANY * n else note
        message = f"{n_refused} of {n} positions ({n_refused / n:.1%}) were refused: {reasons}"
        found.append(
            say("refused_fixes", "log", message, "none needed if the rest will do", n_refused / n, MANY, "share")
        )
    # A break before a refused sample is one before the next good one.
    broken = np.cumsum(straight.breaks, dtype=np.intp)
    if log.begins is not None:
        broken = broken + np.cumsum(log.begins)[straight.samples]
    index, t_s, run, broken = straight.samples[good], straight.t_s[good], straight.run[good], broken[good]
    enu_m, place, level, local = _place(log, index, found)
    keep = np.asarray(np.isfinite(enu_m).all(1))
    again = np.concatenate([[False], np.diff(t_s) == 0])
    repeated = int(again.sum())
    if repeated:
        message = f"{repeated} positions bear the time of the one before and were left out"
        found.append(note("repeated_times", "log", message, "none needed", repeated, 0))
    fixes = _Fixes(index, t_s, run, broken, enu_m, place, level).take(keep & ~again)
    if not len(fixes.index):
        raise _no_fix(path, log, "none has an altitude")
    wait = np.diff(fixes.t_s)
    begins, gap = np.diff(fixes.part) > 0, wait > GAP_S
    if gap.any():
        message = (
            f"{int(gap.sum())} gaps of more than {GAP_S:g} s without a position, the longest {wait.max():.1f} s; "
            "a new part begins after each"
        )
        found.append(
            note("gap", "log", message, "none needed; no movement is seen in a gap", float(wait.max()), GAP_S, "s")
        )
    part = np.concatenate([[0], np.cumsum(begins | gap)]).astype(np.intp)
    return replace(fixes, part=part), local


def _no_fix(path: Path, log: Log, why: str) -> RawDataError:
    message = f"none of {len(log.t_s)} positions is usable ({why})"
    return RawDataError(path, "no_fix", message, "give a log of this flight that has positions", log.name or None)


def _place(log: Log, index: IntArray, found: list[Finding]) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    """ENU (N, 3), WGS84 (N, 3), level (N,) and whether ENU is the log's own; rows of NaN could not be placed."""
    place = np.full((len(index), 3), np.nan)
    if log.lat_lon_alt is not None:
        logged = log.lat_lon_alt[index]
        known = is_place(logged[:, :2])
        place[known] = logged[known]
    if log.enu_m is not None:
        enu_m, known = log.enu_m[index], np.isfinite(place[:, 0])
        apart = _apart_m(enu_m[known, :2], place[known, :2])
        if apart <= DISAGREE_M:
            return enu_m, place, enu_m[:, 2], True
        message = f"local and WGS84 positions part by {apart:.0f} m; the path is that of WGS84"
        remedy = "see whether the estimator was reset in flight"
        found.append(doubt("positions_disagree", "log", message, remedy, apart, DISAGREE_M, "m"))
    level, above_sea = _levels(log, index, place[:, 2], found)
    if not above_sea:
        place[:, 2] = np.nan
    return _laid_out(place, level), place, level, False


def _apart_m(local_m: FloatArray, lat_lon_deg: FloatArray) -> float:
    """How far two paths (N, 2) part over ground once they begin at one point: the distance that 95% keep below."""
    if not len(local_m):
        return 0.0
    gap = offsets_m(lat_lon_deg, lat_lon_deg[0]) - (local_m - local_m[0])
    return float(np.quantile(np.hypot(gap[:, 0], gap[:, 1]), 0.95))


def _levels(log: Log, index: IntArray, altitude: FloatArray, found: list[Finding]) -> tuple[FloatArray, bool]:
    """The better known of altitude and height above take-off (N,), and whether it is the altitude; 0 without either."""
    n = len(index)
    altitude = bounded(altitude, HIGHEST_M)
    if not np.nan_to_num(altitude).any():  # all of it 0 is none
        altitude = np.full(n, np.nan)
    height = np.full(n, np.nan) if log.height_m is None else bounded(log.height_m[index], HIGHEST_M)
    above_sea = bool(np.isfinite(altitude).sum() >= max(1, np.isfinite(height).sum()))
    level = altitude if above_sea else height
    missing = int((~np.isfinite(level)).sum())
    if missing == n:
        remedy = "take no height from this log"
        found.append(doubt("no_altitude", "log", "the log has no altitudes; the path is laid out flat", remedy))
        return np.zeros(n), False
    if missing:
        message = f"{missing} of {n} positions have no altitude and were left out"
        found.append(
            note("refused_altitudes", "log", message, "none needed if the rest will do", missing / n, 0.0, "share")
        )
    return level, above_sea


def _laid_out(place: FloatArray, level_m: FloatArray) -> FloatArray:
    """ENU (N, 3) of WGS84 positions about the first that has a level."""
    at = np.column_stack([place[:, :2], level_m])
    known = np.isfinite(at).all(1)
    if not known.any():
        return np.full_like(at, np.nan)
    lat, lon, alt = map(float, at[np.argmax(known)])
    return to_enu(at, Origin(lat_deg=lat, lon_deg=lon, alt_m=alt))


def _coarse(step_m: float) -> list[Finding]:
    if step_m < QUANTISED_M:
        return []
    say = doubt if step_m >= COARSE_M else note
    message = f"the coordinates come in steps of {step_m:.2g} m; no movement below that is claimed"
    return [
        say("quantised", "log", message, "use the drone's own flight log, if there is one", step_m, QUANTISED_M, "m")
    ]


def _without_repeats(fixes: _Fixes, step_m: float, found: list[Finding]) -> _Fixes:
    keep, rate_hz = distinct(fixes.enu_m, fixes.t_s, fixes.part, step_m)
    share = 1.0 - float(keep.mean())
    if share:
        rate = f"; the real rate is about {rate_hz:.1f} Hz" if np.isfinite(rate_hz) else ""
        message = f"{share:.1%} of the positions repeat the one before and were left out{rate}"
        found.append(note("repeated_fixes", "log", message, "none needed", share, 0.0, "share"))
    return fixes.take(keep)


def _without_strays(fixes: _Fixes, step_m: float, found: list[Finding]) -> _Fixes:
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


def _zeroed(fixes: _Fixes, local: bool) -> tuple[_Fixes, Origin | None]:
    """ENU about the first fix that is left and that WGS84 places; without WGS84 about the first that is left."""
    placed = np.isfinite(fixes.lat_lon_alt[:, 0])
    first = int(np.argmax(placed))
    enu_m = fixes.enu_m - fixes.enu_m[first] if local else _laid_out(fixes.lat_lon_alt, fixes.level_m)
    if not placed.any():
        return replace(fixes, enu_m=enu_m), None
    lat, lon, alt = map(float, fixes.lat_lon_alt[first])
    return replace(fixes, enu_m=enu_m), Origin(lat_deg=lat, lon_deg=lon, alt_m=alt if np.isfinite(alt) else None)


def _heights(log: Log, fixes: _Fixes, local: bool, found: list[Finding]) -> FloatArray:
    """Height above take-off: as logged, else above the first fix."""
    if log.height_m is not None and np.isfinite(log.height_m).any():
        return bounded(log.height_m[fixes.index], HIGHEST_M)
    level = fixes.enu_m[:, 2] if local else fixes.lat_lon_alt[:, 2]
    message = "the log has no height above take-off; heights are above its first position"
    if np.isfinite(level).any():
        found.append(note("height_from_first_fix", "log", message, "none needed if the log begins on the ground"))
    return level - level[0]


def _speeds(fixes: _Fixes, step_m: float) -> FloatArray:
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


def _unknown(what: str, values: FloatArray, then: str) -> list[Finding]:
    share = float(np.isnan(values).mean())
    if share == 1.0:
        return [note(f"no_{what}", "log", f"the log has no {what}: {then}", "none needed")]
    if share:
        message = f"no {what} within 1 s of {share:.1%} of the positions"
        return [note(f"{what}_gaps", "log", message, "none needed", share, 0.0, "share")]
    return []
