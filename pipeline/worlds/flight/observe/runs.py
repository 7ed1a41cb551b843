"""Each way of moving by itself: when its rate is above a threshold, and the moments at which that changes.

A run ends where its rate passes half of its level, which is the middle of the ramp whatever the smoothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.worlds.flight.facts import Action
from pipeline.worlds.flight.observe.motion import (
    COURSE_ERROR_DEG,
    START_ERRORS,
    Fit,
    Fits,
    FlightPath,
    MotionConfig,
    Needs,
)

Kind = Literal["along", "across", "over", "climb", "turn", "gimbal"]

# Kind of movement -> action where its rate is positive and where it is negative.
ACTIONS: Final[dict[Kind, tuple[Action, Action]]] = {
    "along": ("fly forward", "fly backward"),
    "across": ("fly left", "fly right"),
    "over": ("fly horizontally", "fly horizontally"),  # the heading not known
    "climb": ("ascend", "descend"),
    "turn": ("turn right", "turn left"),
    "gimbal": ("gimbal up", "gimbal down"),
}
_RAMP_S: Final = 3.0  # the level a rate rises to is looked for within so long of its start
_LEVEL: Final = 0.8  # quantile that stands for that level: less than a peak of noise, more than the ramp


@dataclass(frozen=True, eq=False)
class Channel:
    """One way of moving: its rate (G,) per second, fitted over a window, what that comes to (G,), and what it needs."""

    kind: Kind
    rate: FloatArray
    total: FloatArray
    needs: Needs
    window_s: float


@dataclass(frozen=True)
class Run:
    """A stretch in which a rate keeps its sign: the middles of its two ramps, and where these begin and are over."""

    channel: Channel
    sign: int
    start_s: float
    end_s: float
    rise_s: float
    fade_s: float

    @property
    def action(self) -> Action:
        """What it is called."""
        return ACTIONS[self.channel.kind][0 if self.sign > 0 else 1]


@dataclass(frozen=True)
class Change:
    """One moment of change, from the ends of some runs: (number, 0 for its start and 1 for its end) of each."""

    time_s: float
    weight: float
    window_s: float
    ends: tuple[tuple[int, int], ...]

    def joined(self, other: Change) -> Change:
        """Both as one, at their weighted mean."""
        weight = self.weight + other.weight
        time_s = (self.time_s * self.weight + other.time_s * other.weight) / weight
        return Change(time_s, weight, max(self.window_s, other.window_s), self.ends + other.ends)


def channels(path: FlightPath, fits: Fits, config: MotionConfig, step_m: tuple[float, float]) -> list[Channel]:
    """The ways of moving that the path can tell of.

    Args:
        path: of one part.
        fits: of its rates.
        config: thresholds, which are raised above noise and steps.
        step_m: quantisation of the log over ground and in height, 0 for none.
    """
    found = [_channel("climb", path.climb, path.level_m, config.climb, fits.climb, step_m[1])]
    if path.turn_error is not None:  # flown nose first
        along = path.speed if path.turned_unseen is None else np.where(path.turned_unseen, 0.0, path.speed)
        found.append(_channel("along", along, summed(path, along), config.move, fits.move, step_m[0]))
        fit = Fit(path.turn_error, fits.move.window_s)
        found.append(_channel("turn", np.nan_to_num(path.turn), path.turned_deg, config.turn, fit, COURSE_ERROR_DEG))
    elif np.isnan(path.heading_deg).any():
        found.append(_channel("over", path.speed, summed(path, path.speed), config.move, fits.move, step_m[0]))
    else:
        nose = np.radians(path.heading_deg)
        east, north = path.velocity[:, 0], path.velocity[:, 1]
        along = east * np.sin(nose) + north * np.cos(nose)
        across = north * np.sin(nose) - east * np.cos(nose)
        found += [
            _channel("along", along, summed(path, along), config.move, fits.move, step_m[0]),
            _channel("across", across, summed(path, across), config.move, fits.move, step_m[0]),
            _channel("turn", path.turn, path.heading_deg, config.turn, fits.turn),
        ]
    if not np.isnan(path.gimbal_deg).any():
        found.append(_channel("gimbal", path.tilt, path.gimbal_deg, config.gimbal, fits.gimbal))
    return found


def summed(path: FlightPath, rate: FloatArray) -> FloatArray:
    """What a rate (G,) comes to since the start of the path."""
    from scipy.integrate import cumulative_trapezoid  # takes half a second

    return np.asarray(cumulative_trapezoid(rate, path.t_s, initial=0.0))


def _channel(kind: Kind, rate: FloatArray, total: FloatArray, needs: Needs, fit: Fit, step: float = 0.0) -> Channel:
    """A channel with its needs above noise; a change of two steps of the log proves a movement of one."""
    start = START_ERRORS * fit.error
    raised = Needs(start=max(needs.start, start), stop=max(needs.stop, start / 2), least=max(needs.least, 2 * step))
    return Channel(kind, rate, total, raised, fit.window_s)


def runs_of(path: FlightPath, channel: Channel) -> list[Run]:
    """Runs of a rate above its stop threshold that reach its start threshold and come to enough."""
    from scipy import ndimage  # takes half a second

    found = []
    for sign in (1, -1):
        rate = sign * channel.rate
        labels, count = ndimage.label(rate > channel.needs.stop)
        if count == 0:
            continue
        numbers = np.arange(1, count + 1)
        peaks = ndimage.maximum(rate, labels, numbers)
        for number, stretch in enumerate(ndimage.find_objects(labels)):
            lo, hi = stretch[0].start, stretch[0].stop - 1
            if peaks[number] < channel.needs.start or lo == hi:
                continue
            start, end = _half_way(path.t_s, rate, lo, hi, 1), _half_way(path.t_s, rate, hi, lo, -1)
            if start >= end:  # a slow ramp to a late peak
                start, end = float(path.t_s[lo]), float(path.t_s[hi])
            rise, fade = _nothing(path.t_s, rate, lo, -1), _nothing(path.t_s, rate, hi, 1)
            before, after = np.interp([rise, fade], path.t_s, channel.total)
            if sign * (after - before) >= channel.needs.least:
                found.append(Run(channel, sign, start, end, rise, fade))
    return found


def _half_way(t_s: FloatArray, rate: FloatArray, edge: int, far: int, way: int) -> float:
    """When the rate passes half of its level beyond ``edge``, going ``way`` (1 forwards, -1 backwards in time)."""
    before = edge - way
    if not 0 <= before < len(rate):
        return float(t_s[edge])  # the part begins or ends in mid-movement
    reach = min(abs(far - edge), round(_RAMP_S / (t_s[1] - t_s[0])))
    inwards = edge + way * np.arange(reach + 1)
    half = float(np.quantile(rate[inwards], _LEVEL)) / 2
    if rate[before] >= half:
        return float(t_s[edge])
    above = int(inwards[np.argmax(rate[inwards] >= half)])
    below = above - way
    share = (half - rate[below]) / (rate[above] - rate[below])
    return float(t_s[below] + share * (t_s[above] - t_s[below]))


def _nothing(t_s: FloatArray, rate: FloatArray, edge: int, way: int) -> float:
    """When the rate is at nothing beyond ``edge``: where it passes 0 before the next moment, else at that moment."""
    beyond = edge + way
    if not 0 <= beyond < len(rate):
        return float(t_s[edge])
    share = rate[edge] / (rate[edge] - min(rate[beyond], 0.0))
    return float(t_s[edge] + share * (t_s[beyond] - t_s[edge]))


def snapped(runs: list[Run], within_s: float) -> list[Run]:
    """The runs with their changes drawn together where they mean one change; no run loses its length.

    Changes mean one where they lie within ``within_s``, or within half of the window that blurred either. The nearest
    are joined first. Where they were blurred differently, the sharper ones say when it was.
    """
    ends = sorted((time, i, k) for i, r in enumerate(runs) for k, time in enumerate((r.start_s, r.end_s)))
    groups = [Change(time, runs[i].channel.window_s ** -2, runs[i].channel.window_s, ((i, k),)) for time, i, k in ends]

    def slack(a: Change, b: Change) -> float:
        """By how much two neighbours are near enough to be one; negative where they are not."""
        if {i for i, _ in a.ends} & {i for i, _ in b.ends}:  # both ends of one run
            return -np.inf
        return max(within_s, max(a.window_s, b.window_s) / 2) - (b.time_s - a.time_s)

    slacks = [slack(a, b) for a, b in pairwise(groups)]
    while slacks and (most := max(slacks)) > 0:
        k = slacks.index(most)
        groups[k : k + 2] = [groups[k].joined(groups[k + 1])]
        slacks.pop(k)
        for j in (k - 1, k):
            if 0 <= j < len(slacks):
                slacks[j] = slack(groups[j], groups[j + 1])
    times = {end: group.time_s for group in groups for end in group.ends}
    return [replace(r, start_s=times[i, 0], end_s=times[i, 1]) for i, r in enumerate(runs)]
