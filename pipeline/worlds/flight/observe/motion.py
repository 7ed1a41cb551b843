"""The path of a flight, resampled evenly and smoothed, and what it takes to call something a movement.

To smooth, a straight line is fitted to the samples around each moment. Its window is as short as the noise of the log
allows: a clean log keeps its corners, a noisy one is smoothed until the rate is known well enough. The window is
symmetric, so the moment at which a rate crosses half of its new level is not shifted by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from pydantic import Field, model_validator

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.schema import Limits, Metres, Model, Seconds, Share
from pipeline.geometry.bearings import compass_deg
from pipeline.geometry.tracks import FlightTrack
from pipeline.worlds.flight.observe.descriptions import DescriptionConfig

START_ERRORS: Final = 4.0  # a movement starts at no less than so many standard errors of its rate
COURSE_ERROR_DEG: Final = 15.0  # nose and course of a drone flown nose first: wind, and pilots who slide a little
COURSE_SPEED: Final = 2.0  # m/s: slower, the course says little of the nose
_BRIDGED_S: Final = 2.0  # without a value that others around it have; longer, it is unknown in the whole part
_EPS_S: Final = 1e-6  # log times are exact to the microsecond


class MotionThresholds(Model):
    """The thresholds of a kind of movement. Rates per second, in metres or degrees.

    A movement begins where its rate rises above ``start`` and lasts while it stays above ``stop``, so that a rate near
    one threshold does not flicker.
    """

    start: float = Field(le=1000, gt=0, description="speed from which on it is moving, m/s or degrees/s")
    stop: float = Field(le=1000, gt=0, description="speed below which it no longer is")
    least: float = Field(le=1000, gt=0, description="metres or degrees that it must come to")

    @model_validator(mode="after")
    def _in_order(self) -> MotionThresholds:
        if self.stop > self.start:
            raise ValueError(f"stop ({self.stop}) must not be above start ({self.start})")
        return self


class MotionConfig(Limits):
    """Thresholds of the movements and of the views.

    The least amounts are half of the smallest actions of the simulators behind the released questions (AerialVLN: 5 m
    forward, 2 m vertically, 15 degrees; OpenFly: 3 m, 30 degrees), so that each of their actions passes with a margin
    of 2. The thresholds of speed lie above what hovering drones drift: makers state 1.5 m horizontally and 0.5 m
    vertically under satellite positioning (DJI Phantom 4 and Mavic 3 specifications), over some seconds.
    """

    rate_hz: float = Field(default=5.0, gt=0, le=50, description="at which the track is sampled")
    move: MotionThresholds = MotionThresholds(start=0.8, stop=0.4, least=1.5)
    climb: MotionThresholds = MotionThresholds(start=0.5, stop=0.25, least=1.0)
    turn: MotionThresholds = MotionThresholds(start=6.0, stop=3.0, least=7.5)
    gimbal: MotionThresholds = MotionThresholds(start=4.0, stop=2.0, least=7.5)
    min_segment_s: Seconds = Field(default=1.2, gt=0, description="changes closer than this are one change")
    min_movement_s: Seconds = Field(default=0.5, gt=0, description="a quick turn of 30° lasts as long")
    min_hover_s: Seconds = Field(
        default=2.0, gt=0, description="shorter rests are part of going over to another movement"
    )
    told_min_s: Seconds = Field(
        default=2.0, description="a shorter movement is part of its neighbour, unless it strikes"
    )
    noticed_share: Share = Field(
        default=0.05,
        description="of the height: who flies less far, or climbs less than twice that, seems to stay",
    )
    beside_turn_share: Share = Field(
        default=0.1,
        description="of a turn, in radians: a way over ground that is less than this, as a share of the height, is not "
        "noticed beside it",
    )
    striking_m: Metres = Field(default=4.5, gt=0, description="over ground or up, of a brief movement that counts")
    striking_deg: float = Field(default=15.0, gt=0, le=360, description="turned, likewise: an action of AerialVLN")
    hover_radius_m: Metres = Field(default=2.0, gt=0, description="1.5 m of drift, as stated by makers, and noise")
    lesser_share: Share = Field(
        default=0.4142,
        gt=0,
        description="tan 22.5°: from here on, sideways flight is named beside forward flight",
    )
    move_error: float = Field(
        default=0.3, le=1000, gt=0, description="m/s that noise may leave in a speed; sets the window"
    )
    climb_error: float = Field(default=0.2, le=1000, gt=0, description="m/s, likewise")
    angle_error: float = Field(default=1.5, le=1000, gt=0, description="degrees per second, likewise")
    longest_window_s: Seconds = Field(default=5.0, gt=0, description="beyond it, thresholds rise instead")
    view_range_m: Metres = Field(
        default=300.0, gt=0, description="beyond it what is no larger than a house is too small to be noticed"
    )
    view_sizes: float = Field(
        default=15.0, gt=0, le=1000, description="times its greatest measure, from where larger things are noticed too"
    )
    view_share: Share = Field(
        default=0.0125,
        gt=0,
        description="of the picture's width that the clear part of a landmark takes at least: 8 pixels across in a "
        "video 640 wide, as many as it takes to recognise a thing (Johnson, 1958)",
    )
    letter_min_px: float = Field(
        default=5.0, gt=0, le=1000, description="a letter of a sign that can be read, in a video at most 640 wide"
    )
    relief_m: Metres = Field(default=10.0, description="how much the ground may rise or fall from take-off")
    min_view_s: Seconds = Field(default=1.0, gt=0, description="a shorter glance is not noticed")
    describe: DescriptionConfig = DescriptionConfig()


@dataclass(frozen=True)
class RateFit:
    """How well a rate of change is known: its standard error, per second, and the window it was fitted over."""

    error: float
    window_s: float


@dataclass(frozen=True)
class RateFits:
    """How well each rate of a log is known."""

    move: RateFit
    climb: RateFit
    turn: RateFit
    gimbal: RateFit


@dataclass(frozen=True)
class FlightPath:
    """One part of a flight at even times, smoothed. Unknown values are NaN; angles are unwrapped.

    Attributes:
        number: of the part.
        t_s: (G,) seconds from the start of the video.
        enu_m: (G, 3).
        velocity: (G, 3) m/s.
        height_m: (G,) above take-off.
        climb: (G,) m/s, of the height where the log has one, else of z.
        heading_deg: (G,) of the nose.
        turn: (G,) degrees per second, clockwise positive.
        gimbal_deg: (G,) pitch of the camera.
        tilt: (G,) degrees per second, upwards positive.
        stated: (G,) m/s over ground, as the log itself states it, smoothed as the positions are.
        turn_error: how well the turn is known where the heading is the course; None where the log has a heading.
        turned_unseen: (G,) where the heading is the course: in moments between which it turned, and nobody knows how.
    """

    number: int
    t_s: FloatArray
    enu_m: FloatArray
    velocity: FloatArray
    height_m: FloatArray
    climb: FloatArray
    heading_deg: FloatArray
    turn: FloatArray
    gimbal_deg: FloatArray
    tilt: FloatArray
    stated: FloatArray
    turn_error: float | None = None
    turned_unseen: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.t_s)

    @property
    def speed(self) -> FloatArray:
        """Over ground (G,), m/s."""
        return np.hypot(self.velocity[:, 0], self.velocity[:, 1])

    @property
    def level_m(self) -> FloatArray:
        """The heights (G,) that climbs are measured on: above take-off where the log has them, else z."""
        return self.enu_m[:, 2] if np.isnan(self.height_m).any() else self.height_m

    @property
    def turned_deg(self) -> FloatArray:
        """How the nose has turned (G,), deg: its heading, or what is known of its turns where this is the course."""
        if self.turn_error is None:
            return self.heading_deg
        return np.concatenate([[0.0], np.cumsum(np.nan_to_num(self.turn[1:]) * np.diff(self.t_s))])

    def within(self, start_s: float, end_s: float) -> FlightPath:
        """The moments from ``start_s`` to ``end_s``."""
        kept = slice(*np.searchsorted(self.t_s, [start_s - _EPS_S, end_s + _EPS_S]))
        arrays: dict[str, Any] = {n: value[kept] for n, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **arrays)


def paths(
    track: FlightTrack,
    config: MotionConfig,
    offset_s: float = 0.0,
    step_m: tuple[float, float] = (0.0, 0.0),
    nose_first: bool = False,
) -> tuple[list[FlightPath], RateFits]:
    """The parts of a track at even times, and how well their rates are known.

    Args:
        track: as read.
        config: rate and windows.
        offset_s: log time at which the video starts, from which the path counts its seconds.
        step_m: quantisation of the log over ground and in height, 0 for none.
        nose_first: where the log has no heading at all, it is the course (`by_course`).
    """
    known = np.isfinite(track.enu_m).all(1) & np.isfinite(track.t_s)
    if not known.all():  # only the samples that have a place
        track = replace(track, **{name: value[known] for name, value in vars(track).items() if value is not None})
    if len(track) == 0:
        return [], RateFits(*[RateFit(0.0, 0.0)] * 4)
    noise, fits = _noise_and_fits(track, config, step_m)
    keep = np.ones(len(track), dtype=bool)
    borders = np.append(np.flatnonzero(_starts(track.part)), len(track))
    slices = [slice(int(begin), int(end)) for begin, end in pairwise(borders)]
    for part in slices:
        for axes, sigma in ((slice(0, 2), noise[0]), (slice(2, 3), noise[1])):
            keep[part] &= despiked(track.t_s[part], track.enu_m[part, axes], sigma)
    found = [_path(track, part, keep[part], offset_s, config.rate_hz, fits) for part in slices]
    found = [path for path in found if len(path)]
    if nose_first and not np.isfinite(track.heading_deg).any():
        found = [by_course(path, fits.move, config) for path in found]
    return found, fits


def by_course(path: FlightPath, fit: RateFit, config: MotionConfig) -> FlightPath:
    """A path of a drone that is flown nose first: its heading is its course, where it is fast enough to have one.

    Fast enough is faster than `COURSE_SPEED`, and than where the error of the velocity might turn the course by
    `COURSE_ERROR_DEG`. Of a slow stretch it is not known how the drone turned in it; a change of course over less than
    `_BRIDGED_S` is a turn, unless it is near a half turn, which may go either way. The window of the rate is as long as
    the noise of the course asks for.
    """
    rate_hz = config.rate_hz
    unseen = np.zeros(len(path), dtype=bool)
    fast = path.speed >= max(COURSE_SPEED, 2.0 * fit.error / np.tan(np.radians(COURSE_ERROR_DEG)))
    heading, turn = np.full((2, len(path)), np.nan)
    if fast.sum() < 2:
        return replace(path, heading_deg=heading, turn=turn, turn_error=0.0, turned_unseen=unseen)
    at = np.flatnonzero(fast)
    course = np.unwrap(compass_deg(path.velocity[at]), period=360.0)
    course_error = np.degrees(fit.error / np.median(path.speed[at])) * np.sqrt(2.0)  # of a difference of two
    width = float(np.clip(START_ERRORS * course_error / config.turn.start, fit.window_s, config.longest_window_s))
    change, wait = np.abs(np.diff(course)), np.diff(at)
    breaks = (wait > _BRIDGED_S * rate_hz) | ((wait > 1) & (change > 180.0 - 2 * COURSE_ERROR_DEG))
    for k in np.flatnonzero(breaks & (change > 2 * COURSE_ERROR_DEG)):
        unseen[at[k] + 1 : at[k + 1]] = True
    for run in np.split(np.arange(len(at)), np.flatnonzero(breaks) + 1):
        inside = np.arange(at[run[0]], at[run[-1]] + 1)
        known, rate = fitted(np.interp(inside, at[run], course[run])[:, None], rate_hz, width)
        heading[inside], turn[inside] = known[:, 0], rate[:, 0]
    return replace(path, heading_deg=heading, turn=turn, turn_error=float(course_error / width), turned_unseen=unseen)


def _noise_and_fits(
    track: FlightTrack, config: MotionConfig, step_m: tuple[float, float]
) -> tuple[list[float], RateFits]:
    """White noise over ground, in height, of heading and of gimbal; and how well their rates are known."""
    starts = _starts(track.part)
    level = np.where(np.isnan(track.height_m), track.enu_m[:, 2], track.height_m)
    measured = (
        (track.enu_m[:, :2], config.move_error, config.move, step_m[0]),
        (np.stack([track.enu_m[:, 2], level], axis=1), config.climb_error, config.climb, step_m[1]),
        (_unwrapped(track.heading_deg)[:, None], config.angle_error, config.turn, 0.0),
        (track.gimbal_pitch_deg[:, None], config.angle_error, config.gimbal, 0.0),
    )
    between = np.diff(track.t_s)[~starts[1:]]
    interval = float(np.median(between)) if len(between) else 1.0
    noise, fits = [], []
    for values, target, needs, step in measured:
        known = np.isfinite(values).all(1)
        sigma = white_noise(track.t_s[known], values[known], _starts(track.part[known]))
        width = max(window_s(sigma, interval, target, config.longest_window_s), 3 / config.rate_hz)
        # One step of the log makes a slope of up to 1.5 steps per window, which must stay below the start threshold.
        width = max(width, min(1.5 * step / needs.start, config.longest_window_s))
        noise.append(sigma)
        fits.append(RateFit(max(rate_error(sigma, interval, width), 1.5 * step / width / START_ERRORS), width))
    return noise, RateFits(*fits)


def _starts(part: IntArray) -> BoolArray:
    """Where (N,) a part begins."""
    return np.diff(part, prepend=-1) != 0


def _path(
    track: FlightTrack, part: slice, keep: BoolArray, offset_s: float, rate_hz: float, fits: RateFits
) -> FlightPath:
    """One part of a track at even times."""
    t_s, enu = track.t_s[part] - offset_s, track.enu_m[part]
    first, last = np.ceil((t_s[0] - _EPS_S) * rate_hz), np.floor((t_s[-1] + _EPS_S) * rate_hz)
    grid = np.arange(first, last + 1) / rate_hz + 0.0  # no -0.0

    def even(values: FloatArray, kept: BoolArray, fit: RateFit) -> tuple[FloatArray, FloatArray]:
        """Values (G, k) and rates; NaN throughout where they are not known for long."""
        known = kept & np.isfinite(values).all(1)
        longest = np.diff(t_s[known], prepend=t_s[0], append=t_s[-1]).max()
        if len(grid) == 0 or not known.any() or ((known != kept).any() and longest > _BRIDGED_S):
            unknown = np.full((len(grid), values.shape[1]), np.nan)
            return unknown, unknown
        return fitted(resampled(t_s[known], values[known], grid), rate_hz, fit.window_s)

    over_ground, velocity = even(enu[:, :2], keep, fits.move)
    up, rise = even(enu[:, 2:], keep, fits.climb)
    height, climb = even(track.height_m[part, None], keep, fits.climb)
    everything = np.ones(len(keep), dtype=bool)
    nose, turn = even(_unwrapped(track.heading_deg[part])[:, None], everything, fits.turn)
    gimbal, tilt = even(track.gimbal_pitch_deg[part, None], everything, fits.gimbal)
    stated = np.full(len(t_s), np.nan) if track.stated_mps is None else track.stated_mps[part]
    logged, _ = even(stated[:, None], everything, fits.move)
    return FlightPath(
        number=int(track.part[part.start]),
        t_s=grid,
        enu_m=np.column_stack([over_ground, up]),
        velocity=np.column_stack([velocity, rise]),
        height_m=height[:, 0],
        climb=(rise if np.isnan(climb).any() else climb)[:, 0],
        heading_deg=nose[:, 0],
        turn=turn[:, 0],
        gimbal_deg=gimbal[:, 0],
        tilt=tilt[:, 0],
        stated=logged[:, 0],
    )


def _unwrapped(degrees: FloatArray) -> FloatArray:
    """Angles (N,) without leaps at 360, NaN where they are not known."""
    out = degrees.copy()
    known = np.isfinite(degrees)
    out[known] = np.unwrap(degrees[known], period=360.0)
    return out


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
