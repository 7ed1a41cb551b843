"""A log as it was written becomes a track: nothing invented, nothing joined that was not flown, every doubt said.

In this order: the clock is made straight (`clock`), positions that are none are refused (`fixes`), the rest is laid
out in ENU about the first good fix, parts are told apart, repeats and strays are dropped, and attitude, heading and
camera are brought to the times of the positions.

Where a log has local positions and WGS84 ones, the local ones, an estimator's, are the smoother: the path is theirs,
and WGS84 places its zero. Only where the two part by more than `DISAGREE_M` is the path that of WGS84.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding, Origin
from pipeline.formats.logs.log import Clock, Log, Series, last_known
from pipeline.geometry.tracks import FlightGeometry, FlightTrack
from pipeline.worlds.flight.tracks.clock import GAP_S, about, straighten, timed
from pipeline.worlds.flight.tracks.consistency import (
    RATIO_MAX,
    REMEDY,
    UNLIKE,
    below_zero,
    heading_mirrored,
    height_scale,
    leans_elsewhere,
    too_fast,
    velocity_axes,
)
from pipeline.worlds.flight.tracks.fixes import (
    HIGHEST_M,
    PositionFixes,
    RefusedSamples,
    bounded,
    distinct,
    leaps,
    place,
    quantum_m,
    refuse,
    strays,
    zeroed,
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
class AssembledTrack:
    """A track, where its frame has its zero (None: local positions alone), and all that was found in the log.

    Attributes:
        from_takeoff: whether heights count from the place of take-off.
        in_air: whether the log itself has the vehicle in the air at its first position.
    """

    track: FlightTrack
    origin: Origin | None
    findings: tuple[Finding, ...]
    from_takeoff: bool = True
    in_air: bool = False

    @property
    def ground_m(self) -> float:
        """See `FlightGeometry.ground_m`."""
        return FlightGeometry(self.track, from_takeoff=self.from_takeoff).ground_m


def assemble(path: Path, log: Log) -> AssembledTrack:
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
    clock_s = log.t_s[fixes.index]
    heights = {k: bounded(SampleBrackets(v, clock_s, fixes.run).scalar(), HIGHEST_M) for k, v in log.heights.items()}
    if log.lat_lon_alt is not None:
        heights["WGS84"] = bounded(log.lat_lon_alt[fixes.index, 2], HIGHEST_M)
    found += check_heights(fixes, height, heights)
    found += (*height_scale(log, fixes, height, heights), *below_zero(log, fixes))
    if log.velocity_mps is not None:
        stated = bounded(log.velocity_mps[fixes.index], FASTEST_MPS)
        move, lasted_s = moves_about(fixes, step_m)
        found += velocity_axes(stated, move / lasted_s[:, None])
    found += (*heading_mirrored(fixes, heading, step_m), *leans_elsewhere(fixes, quat), *too_fast(fixes))
    track = FlightTrack(
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
    return AssembledTrack(track, origin, tuple(found), _from_takeoff(log, fixes, height), _stands(log, fixes) == 0.0)


def _pose(log: Log, fixes: PositionFixes, found: list[Finding]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Attitude (N, 4), heading (N,) and pitch of the camera (N,) at the times of the fixes; NaN where unknown."""
    clock_s, n = log.t_s[fixes.index], len(fixes.index)
    quat = SampleBrackets(log.attitude, clock_s, fixes.run).quaternion() if log.attitude else np.full((n, 4), np.nan)
    tilt_deg = np.degrees(np.arccos(np.clip(1.0 - 2.0 * (quat[:, 1] ** 2 + quat[:, 2] ** 2), -1.0, 1.0)))
    known = np.isfinite(tilt_deg)
    leans_deg = float(np.median(tilt_deg[known])) if known.any() else 0.0
    if leans_deg > LEANS_DEG:
        message = f"half of the time or more the drone is tilted by {leans_deg:.0f} degrees: its attitude was left out"
        remedy = "are its quaternions written in another order, or about other axes?"
        found.append(doubt("attitude_leans", "log", message, remedy, leans_deg, LEANS_DEG, "deg"))
        quat = np.full((n, 4), np.nan)
    heading = SampleBrackets(log.heading, clock_s, fixes.run).angle_deg() if log.heading else heading_of(quat)
    gimbal = SampleBrackets(log.gimbal_pitch, clock_s, fixes.run).scalar() if log.gimbal_pitch else np.full(n, np.nan)
    beyond = np.abs(np.nan_to_num(gimbal)) > GIMBAL_MAX_DEG
    if (share := float(beyond.mean())) > MANY:
        message = (
            f"at {share:.1%} of the positions the gimbal points beyond {GIMBAL_MAX_DEG:g} degrees: it was left out"
        )
        remedy = "are its angles in another unit, as tenths of degrees, or of another axis?"
        found.append(doubt("gimbal_frame", "log", message, remedy, share, MANY, "share"))
        beyond = np.ones(n, dtype=bool)
    middle_deg = float(np.median(aims)) if len(aims := gimbal[np.isfinite(gimbal)]) else 0.0
    if middle_deg > AIMS_UP_DEG and float((aims < 0).mean()) < MANY and not beyond.all():
        message = f"the gimbal never looks down, and {middle_deg:.0f} degrees up in the middle: it was left out"
        remedy = "are its angles counted downwards? 0 is level, -90 down"
        found.append(doubt("gimbal_frame", "log", message, remedy, round(middle_deg, 1), AIMS_UP_DEG, "deg"))
        beyond = np.ones(n, dtype=bool)
    gimbal = np.where(beyond, np.nan, gimbal)
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


def _good_fixes(path: Path, log: Log, found: list[Finding]) -> tuple[PositionFixes, bool]:
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
    fixes = PositionFixes(index, straight.t_s[good], straight.run[good], broken[good], enu_m, lat_lon_alt, level_m)
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


def _parted(fixes: PositionFixes, found: list[Finding]) -> PositionFixes:
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


def _without_repeats(fixes: PositionFixes, step_m: float, found: list[Finding]) -> PositionFixes:
    keep, rate_hz = distinct(fixes.enu_m, fixes.t_s, fixes.part, step_m)
    share = 1.0 - float(keep.mean())
    if share:
        rate = f"; the real rate is about {rate_hz:.1f} Hz" if np.isfinite(rate_hz) else ""
        message = f"{share:.1%} of the positions repeat the one before and were left out{rate}"
        found.append(note("repeated_fixes", "log", message, "none needed", share, 0.0, "share"))
    return fixes.take(keep)


def _without_strays(fixes: PositionFixes, step_m: float, found: list[Finding]) -> PositionFixes:
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


REACH_S: Final = 1.0  # a value farther than this from a position says nothing about it
_NEARLY_ONE: Final = 0.9995  # cosine of half the angle above which slerp is a straight line
_LARGEST: Final = 1e6  # larger angles and quaternions are broken numbers
GIMBAL_MAX_DEG: Final = 130.0  # up or down; DJI's reach 120
AIMS_UP_DEG: Final = 5.0  # in the median, of a camera that never looks down
LEANS_DEG: Final = 60.0  # from upright in the median: no drone that carries a camera flies so
_UPRIGHT: Final = 1e-3  # horizontal share of a nose that points at the sky


class SampleBrackets:
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
        self.right = np.clip(np.searchsorted(axis, wanted), 1, len(axis) - 1) if len(axis) > 1 else run * 0
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


AIRBORNE_M: Final = 1.0  # above or below take-off; a barometer on the ground drifts by less
APART_M: Final = 10.0  # between two heights; the vertical error of a receiver seldom reaches it
SETTLED_S: Final = 5.0  # at the start, over which the levels that the heights count from are compared


def height_above_takeoff(log: Log, fixes: PositionFixes, local: bool, found: list[Finding]) -> FloatArray:
    """Height (N,) above take-off: as logged, else above the first fix."""
    if log.height_m is not None and _states_height(log):
        return bounded(log.height_m[fixes.index], HIGHEST_M)
    level = fixes.enu_m[:, 2] if local else fixes.lat_lon_alt[:, 2]
    if log.ellipsoidal and log.lat_lon_alt is not None and not local:
        level = bounded(log.lat_lon_alt[fixes.index, 2], HIGHEST_M)
    message = "the log has no height above take-off; heights are above its first position"
    if np.isfinite(level).any():
        stands = _stands(log, fixes)
        remedy = "state begins_on_ground: true in flight.yaml if it does: else the camera's height is not known"
        if np.isfinite(stands):
            message += f", where the log has the drone {'on the ground' if stands else 'in the air'}"
            remedy = "none needed" if stands else remedy
        found.append(note("height_from_first_fix", "log", message, remedy))
    return level - level[0]


def _states_height(log: Log) -> bool:
    return log.height_m is not None and bool(np.isfinite(log.height_m).any())


def _from_takeoff(log: Log, fixes: PositionFixes, height_m: FloatArray) -> bool:
    """Whether heights (N,) count from the place of take-off, by what the log itself says.

    A height above the first position does if the vehicle stands there, a stated one unless it is 0 where the vehicle
    flies: its home was then set in the air.
    """
    stands = _stands(log, fixes)
    if not _states_height(log):
        return stands == 1.0
    return stands != 0.0 or not bool(np.abs(height_m[0]) < AIRBORNE_M)


def _stands(log: Log, fixes: PositionFixes) -> float:
    """1 where the log has the vehicle on the ground at the first fix, 0 in the air, NaN where it does not say."""
    if log.on_ground is None or not len(log.on_ground.t_s):
        return float("nan")
    return float(last_known(log.t_s[fixes.index[:1]], log.on_ground.t_s, log.on_ground.value)[0])


def begun_on_ground(assembled: AssembledTrack) -> AssembledTrack:
    """The same track, where somebody knows that the log begins on the ground: its heights are above take-off."""
    found = tuple(f for f in assembled.findings if f.name != "height_from_first_fix")
    return replace(assembled, findings=found, from_takeoff=True)


def check_heights(fixes: PositionFixes, height_m: FloatArray, heights: dict[str, FloatArray]) -> list[Finding]:
    """A doubt about the stretches in which the height parts from another one by more than `APART_M`.

    Each other height counts from a level of its own: only how it changes from the beginning of the log is compared.

    Args:
        fixes: (N,) the samples of the track.
        height_m: (N,) above take-off.
        heights: of the log's `Log.heights`, (N,) at the same samples.
    """
    apart: dict[str, FloatArray] = {}
    for name, other_m in heights.items():
        off_m = height_m - other_m
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


FASTEST_MPS: Final = 1000.0  # larger velocities are broken numbers
SPEED_ERROR_MPS: Final = 0.5  # a step of the coordinates within the window looks no faster
SPEED_WINDOW_S: Final = (1.0, 10.0)
MOVES_MPS: Final = 2.0  # slower, noise hides the ratio of two speeds
RATIO_OFF: Final = 0.03  # by which the ratio of two speeds may differ from 1; a receiver's is good to 0.1 m/s
ENOUGH: Final = 5  # samples that move


def speeds(log: Log, fixes: PositionFixes, step_m: float) -> FloatArray:
    """Speeds (N,) over ground and upwards together, m/s: of the logged velocities, else of the positions.

    Args:
        log: whose ``velocity_mps`` counts unless it is of another scale; its ``speed_mps`` is compared alone.
        fixes: (N,) the samples of the track.
        step_m: quantisation of the coordinates, 0 for none.
    """
    derived = derived_speeds(fixes, step_m)
    if log.velocity_mps is None:
        return derived
    logged = np.sqrt((bounded(log.velocity_mps[fixes.index], FASTEST_MPS) ** 2).sum(1))
    moves = np.isfinite(logged) & (derived + np.nan_to_num(logged) > 2 * MOVES_MPS)
    if moves.sum() >= ENOUGH and moves.mean() > MANY:
        moved, stated_speed = float(np.median(derived[moves])), float(np.median(logged[moves]))
        if not stated_speed / RATIO_MAX <= moved <= stated_speed * RATIO_MAX:
            return derived
    return np.where(np.isfinite(logged), logged, derived)


def stated_speeds(log: Log, fixes: PositionFixes, step_m: float, found: list[Finding]) -> FloatArray | None:
    """The log's own speeds (N,) over ground, NaN where unknown; None: it states none.

    Args:
        log: with ``velocity_mps``, or else ``speed_mps``.
        fixes: (N,) the samples of the track.
        step_m: quantisation of the coordinates, 0 for none.
        found: gets a note where they are not those of the positions.
    """
    if log.velocity_mps is not None:
        stated = np.hypot(*bounded(log.velocity_mps[fixes.index, :2], FASTEST_MPS).T)
    elif log.speed_mps is not None:
        stated = bounded(log.speed_mps[fixes.index], FASTEST_MPS)
    else:
        return None
    placed = derived_speeds(fixes, step_m, axes=2)
    moves = np.isfinite(stated) & (placed + np.nan_to_num(stated) > 2 * MOVES_MPS)
    if moves.sum() >= ENOUGH:
        moved, stated_speed = float(np.median(placed[moves])), float(np.median(stated[moves]))
        ratio = moved / stated_speed if stated_speed > 0 else np.inf
        message = f"the positions move at {moved:.2f} m/s where the log states {stated_speed:.2f} m/s"
        if not 1.0 / UNLIKE <= ratio <= UNLIKE and moves.mean() > MANY:  # noise of a few samples is no scale
            limit = round(stated_speed * UNLIKE, 3)
            found.append(doubt("speed_differs", "log", message, REMEDY, round(moved, 3), limit, "m/s"))
        elif abs(ratio - 1.0) > RATIO_OFF and np.isfinite(ratio):
            remedy = "none needed: distances are those of the positions, and a speed is asked where both agree"
            found.append(note("speed_differs", "log", message, remedy, ratio, 1.0, "ratio"))
    return stated


def derived_speeds(fixes: PositionFixes, step_m: float, axes: int = 3) -> FloatArray:
    """Speeds (N,) of the moves of `moves_about`, over ground and upwards together, or with two ``axes`` over ground."""
    move, lasted_s = moves_about(fixes, step_m)
    return np.asarray(np.sqrt((move[:, :axes] ** 2).sum(1)) / lasted_s)


def moves_about(fixes: PositionFixes, step_m: float) -> tuple[FloatArray, FloatArray]:
    """Moves (N, 3) over a window within the part, long enough that a step of the coordinates does not look fast.

    And how long these lasted (N,), NaN where the part holds less than a quarter of the window.
    """
    t, window = fixes.t_s, float(np.clip(step_m / SPEED_ERROR_MPS, *SPEED_WINDOW_S))
    starts = np.flatnonzero(np.concatenate([[True], np.diff(fixes.part) > 0]))
    ends = np.concatenate([starts[1:], [len(t)]]) - 1
    low = np.maximum(t - window / 2, t[starts][fixes.part])
    high = np.minimum(t + window / 2, t[ends][fixes.part])
    move = np.stack([np.interp(high, t, axis) - np.interp(low, t, axis) for axis in fixes.enu_m.T], axis=-1)
    return move, np.where(high - low >= window / 4, high - low, np.nan)
