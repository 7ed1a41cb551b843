"""Position fixes of a log: tells them from repeats and strays, and converts them to ENU metres."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding, Origin
from pipeline.formats.logs.log import Log
from pipeline.geometry.geodesy import METRES_PER_DEGREE, offsets_m, to_enu
from pipeline.worlds.flight.tracks.clock import GAP_S

FARTHEST_M: Final = 100_000.0  # from the middle of the log; no drone that films flies farther
STILL_S: Final = 1.0  # no receiver repeats a fix for longer while it moves
STILL_MPS: Final = 0.5  # what crosses a step of coarse coordinates more slowly counts as still
STILL_STEP_S: Final = 0.2  # kept of a stillness, for the turns made in it: 5 Hz, as movements are looked at
FASTEST_MPS: Final = 150.0  # over ground; faster is a reset of the position
FASTEST_CLIMB_MPS: Final = 50.0
SLACK_M: Final = 10.0  # a receiver's noise, on top of the speeds
CLIMB_SLACK_M: Final = 5.0  # from one fix to the next, upwards; it drifts by more, but not at once
HARDEST_MPS2: Final = 40.0  # four times gravity: no drone that films
_LARGEST_M: Final = 1e9  # larger local positions are broken numbers
_LATE: Final = 1.5  # usual waits for a fix
_NULL_ISLAND_DEG: Final = 1e-3
_AWAY_FROM_ZERO_DEG: Final = 0.01
_DECIMALS: Final = 6  # of degrees: 0.1 m; finer steps are not looked for


@dataclass(frozen=True)
class PositionFixes:
    """The usable positions of a log, all arrays (N, …).

    Attributes:
        index: of each in the log.
        t_s: track time.
        run: how often the log's clock had jumped back before it.
        part: number of its part.
        enu_m: (N, 3).
        lat_lon_alt: (N, 3), NaN where unknown.
        level_m: the altitudes or heights that the path is laid out by.
    """

    index: IntArray
    t_s: FloatArray
    run: IntArray
    part: IntArray
    enu_m: FloatArray
    lat_lon_alt: FloatArray
    level_m: FloatArray

    def take(self, keep: BoolArray) -> PositionFixes:
        """Some of them, by a mask (N,)."""
        return PositionFixes(**{field.name: getattr(self, field.name)[keep] for field in fields(self)})


class RefusedSamples(NamedTuple):
    """Fixes that cannot be used: (N,) which, and how many for each reason."""

    which: BoolArray
    reasons: dict[str, int]

    @property
    def counted(self) -> str:
        """The reasons in words."""
        return ", ".join(f"{count} × {reason}" for reason, count in self.reasons.items())


def refuse(log: Log, index: IntArray) -> RefusedSamples:
    """Looks at the samples ``index`` (N,) of a log for positions that are none."""
    reasons: dict[str, BoolArray] = {}
    if log.usable is not None:
        reasons["the log says there is no fix"] = ~log.usable[index]
    reasons |= {reason: which[index] for reason, which in log.refused.items()}
    if log.enu_m is not None:
        place, metres = log.enu_m[index], log.enu_m[index]  # its WGS84 positions may be absent
        reasons["no position"] = np.asarray(np.isnan(bounded(place, _LARGEST_M)).any(1))
    elif log.lat_lon_alt is not None:
        place = log.lat_lon_alt[index, :2]
        real = is_place(place)
        metres = np.full_like(place, np.nan)
        if real.any():
            about = np.array([np.median(place[real, 0]), place[real][0, 1]])  # a first fix may lie anywhere
            metres[real] = offsets_m(place[real], about)
        reasons["no position"] = np.asarray(np.isnan(place).any(1))
        reasons["zero"] = _is_zero(place)
        reasons["outside WGS84"] = ~np.isnan(place).any(1) & ~in_range(place)
    else:
        raise ValueError("a log has local or WGS84 positions, or both")
    which = np.zeros(len(index), dtype=bool)
    counts = {}
    for reason, found in reasons.items():
        counts[reason] = int((found & ~which).sum())
        which |= found
    if not which.all():
        with np.errstate(invalid="ignore"):
            middle = np.median(metres[~which], axis=0)
            far = ~which & (np.abs(metres - middle) > FARTHEST_M).any(1)
        counts["farther than 100 km from the middle of the log"] = int(far.sum())
        which |= far
    return RefusedSamples(which, {reason: n for reason, n in counts.items() if n})


def bounded(values: FloatArray, limit: float) -> FloatArray:
    """The values, NaN for those that are larger than any real one: broken numbers, and infinities."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(values) <= limit, values, np.nan)


def in_range(lat_lon_deg: FloatArray) -> BoolArray:
    """Whether degrees (N, 2) can be a place on WGS84."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(lat_lon_deg) <= (90.0, 180.0)).all(1))


def is_place(lat_lon_deg: FloatArray) -> BoolArray:
    """Whether degrees (N, 2) are a place that was measured: in range, and not zero."""
    return in_range(lat_lon_deg) & ~_is_zero(lat_lon_deg)


def _is_zero(place: FloatArray) -> BoolArray:
    """Null island, or one coordinate exactly 0 in a log that lies elsewhere."""
    with np.errstate(invalid="ignore"):
        zero = (np.abs(place) < _NULL_ISLAND_DEG).all(1)
    for column in place.T:
        others = column[np.isfinite(column) & (column != 0)]
        if len(others) and abs(np.median(others)) > _AWAY_FROM_ZERO_DEG:
            zero |= column == 0
    return np.asarray(zero)


def quantum_m(lat_lon_deg: FloatArray) -> float:
    """Step of the coordinates (N, 2) in metres: of their decimals, or of float32; 0 where it is below 0.1 m."""
    scaled = {decimals: lat_lon_deg * 10.0**decimals for decimals in range(3, _DECIMALS)}
    steps = [10.0**-decimals for decimals, all_ in scaled.items() if (np.abs(all_ - np.round(all_)) < 1e-3).all()]
    if not steps and (lat_lon_deg.astype(np.float32) == lat_lon_deg).all():
        steps = [float(np.spacing(np.abs(lat_lon_deg).max().astype(np.float32)))]
    return max(steps, default=0.0) * METRES_PER_DEGREE


def distinct(enu_m: FloatArray, t_s: FloatArray, part: IntArray, step_m: float) -> tuple[BoolArray, float]:
    """Which samples (N,) to keep of a log that repeats its fixes, and the rate of the real ones in Hz (or NaN).

    Of a run of equal positions the first is kept: the rest was written between two fixes. A run longer than the
    drone needs to cross a step of the coordinates is stillness; of it the last is kept too, and one every
    `STILL_STEP_S`, so that turns on the spot are not lost. The last of a part is kept if the next fix was overdue.
    """
    first = np.ones(len(t_s), dtype=bool)
    first[1:] = (np.diff(enu_m, axis=0) != 0).any(1) | (np.diff(part) > 0)
    starts = np.flatnonzero(first)
    run = np.cumsum(first) - 1
    ends = np.concatenate([starts[1:], [len(t_s)]]) - 1
    last = np.concatenate([np.diff(part[starts]) > 0, [True]])  # run of its part
    lasts_s = t_s[ends] - t_s[starts]
    until_next_s = np.where(last, lasts_s, np.append(np.diff(t_s[starts]), 0.0))
    # Even if it may have crossed a step: what was logged leaves no gap.
    still = (lasts_s > max(STILL_S, step_m / STILL_MPS)) | (until_next_s > GAP_S)
    tick = np.floor((t_s - t_s[starts][run]) / STILL_STEP_S + 1e-9)
    keep = first.copy()
    keep[1:] |= still[run[1:]] & (np.diff(tick) > 0)
    keep[ends[still]] = True
    pace = until_next_s[~still & ~last]
    pace_s = float(np.median(pace)) if len(pace) else 0.0
    keep[ends[last & (lasts_s > _LATE * pace_s)]] = True
    return keep, 1.0 / pace_s if pace_s > 0 else float("nan")


def leaps(enu_m: FloatArray, t_s: FloatArray, part: IntArray, step_m: float, lag: int = 1) -> BoolArray:
    """Whether sample i + lag is too far from sample i of its part to be flown to: (N - lag,)."""
    move = np.abs(enu_m[lag:] - enu_m[:-lag])
    wait = t_s[lag:] - t_s[:-lag]
    over_ground = np.hypot(move[:, 0], move[:, 1]) > SLACK_M + 3.0 * step_m + FASTEST_MPS * wait
    upwards = move[:, 2] > SLACK_M + FASTEST_CLIMB_MPS * wait
    jump = _jumps(enu_m, t_s, part, step_m) if lag == 1 else False
    return np.asarray((over_ground | upwards | jump) & (part[lag:] == part[:-lag]))


def _jumps(enu_m: FloatArray, t_s: FloatArray, part: IntArray, step_m: float) -> BoolArray:
    """Steps (N - 1,) that nothing flies: off by metres from the speeds before and after, at `HARDEST_MPS2` or more.

    So a receiver moves that changes its kind of fix, or the level of its altitudes, in flight. To come by ``off``
    metres beyond what either speed brings and to have those speeds again takes an acceleration of 4 off / wait².
    """
    wait = np.maximum(np.diff(t_s), 1e-6)
    speed, joined = np.diff(enu_m, axis=0) / wait[:, None], np.diff(part) == 0
    known = np.stack([np.append(False, joined[:-1]), np.append(joined[1:], False)])[:, :, None]
    before, after = np.roll(speed, 1, axis=0), np.roll(speed, -1, axis=0)
    before, after = np.where(known[0], before, after), np.where(known[1], after, before)
    off = np.full((len(wait), 2), 0.0)
    for k, axes in enumerate((slice(0, 2), slice(2, 3))):
        change, own = after[:, axes] - before[:, axes], speed[:, axes] - before[:, axes]
        share = np.clip((own * change).sum(1) / np.maximum((change**2).sum(1), 1e-9), 0.0, 1.0)
        off[:, k] = np.sqrt(((own - share[:, None] * change) ** 2).sum(1)) * wait
    least_m = (SLACK_M + 3.0 * step_m, CLIMB_SLACK_M)
    return np.asarray(
        ((off > least_m) & (4.0 * off > HARDEST_MPS2 * wait[:, None] ** 2)).any(1) & known[:, :, 0].any(0)
    )


def strays(enu_m: FloatArray, t_s: FloatArray, part: IntArray, step_m: float) -> BoolArray:
    """Samples (N,) alone far from the one before and the one after, which agree with each other."""
    stray = np.zeros(len(t_s), dtype=bool)
    if len(t_s) < 3:
        return stray
    leap, beyond = leaps(enu_m, t_s, part, step_m), leaps(enu_m, t_s, part, step_m, lag=2)
    stray[1:-1] = leap[:-1] & leap[1:] & ~beyond
    stray[0] = leap[0] and not leap[1]
    stray[-1] = leap[-1] and not leap[-2]
    return stray


DISAGREE_M: Final = 20.0  # a receiver's noise at its worst, and a local frame's drift over a flight
HIGHEST_M: Final = 50_000.0  # larger altitudes and heights are broken numbers


def place(log: Log, index: IntArray, found: list[Finding]) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    """The samples ``index`` (N,) of a log in ENU: its local positions, unless those of WGS84 contradict them.

    Returns:
        ENU (N, 3) about any zero, rows of NaN where it could not be placed; WGS84 (N, 3), NaN where unknown; the
        altitudes or heights (N,) that the path is laid out by; and whether ENU is the log's own local frame. Altitudes
        above the ellipsoid lay out the path, but are no altitude above mean sea level: those are then unknown.
    """
    known_place = np.full((len(index), 3), np.nan)
    if log.lat_lon_alt is not None:
        logged = log.lat_lon_alt[index]
        known = is_place(logged[:, :2])
        known_place[known] = logged[known]
    if log.enu_m is not None:
        enu_m, known = log.enu_m[index], np.isfinite(known_place[:, 0])
        apart = _apart_m(enu_m[known, :2], known_place[known, :2])
        if apart <= DISAGREE_M:
            return enu_m, known_place, enu_m[:, 2], True
        message = f"local and WGS84 positions part by {apart:.0f} m; the path is that of WGS84"
        remedy = "see whether the estimator was reset in flight"
        found.append(doubt("positions_disagree", "log", message, remedy, apart, DISAGREE_M, "m"))
    level, above_sea = _levels(log, index, known_place[:, 2], found)
    if not above_sea or log.ellipsoidal:
        known_place[:, 2] = np.nan
    return _laid_out(known_place, level), known_place, level, False


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
        message, remedy = (
            f"{missing} of {n} positions have no altitude and were left out",
            "none needed if the rest will do",
        )
        found.append(note("refused_altitudes", "log", message, remedy, missing / n, 0.0, "share"))
    return level, above_sea


def _laid_out(place: FloatArray, level_m: FloatArray) -> FloatArray:
    """ENU (N, 3) of WGS84 positions about the first that has a level."""
    at = np.column_stack([place[:, :2], level_m])
    known = np.isfinite(at).all(1)
    if not known.any():
        return np.full_like(at, np.nan)
    lat, lon, alt = map(float, at[np.argmax(known)])
    return to_enu(at, Origin(lat_deg=lat, lon_deg=lon, alt_m=alt))


def zeroed(fixes: PositionFixes, local: bool) -> tuple[PositionFixes, Origin | None]:
    """ENU about the first fix that is left and that WGS84 places; without WGS84 about the first that is left."""
    placed = np.isfinite(fixes.lat_lon_alt[:, 0])
    first = int(np.argmax(placed))
    enu_m = fixes.enu_m - fixes.enu_m[first] if local else _laid_out(fixes.lat_lon_alt, fixes.level_m)
    if not placed.any():
        return replace(fixes, enu_m=enu_m), None
    lat, lon, alt = map(float, fixes.lat_lon_alt[first])
    return replace(fixes, enu_m=enu_m), Origin(lat_deg=lat, lon_deg=lon, alt_m=alt if np.isfinite(alt) else None)
