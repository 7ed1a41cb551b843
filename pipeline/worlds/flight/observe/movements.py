"""Movement segments of a flight: what it does from when to when, and by what margin.

Each way of moving is looked at by itself: a run lasts while its rate is above a threshold, and ends where the rate
passes half of its level, which is the middle of the ramp whatever the smoothing. The ends of the runs, drawn together
where they mean one change, cut the flight into pieces; a piece with what runs through it is a segment.

Without a heading, nothing is said of forward, sideways or turning: a drone then flies horizontally, or it stays in
place, whether it turns there or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.worlds.flight.facts import Action, Segment
from pipeline.worlds.flight.observe.motion import (
    COURSE_ERROR_DEG,
    START_ERRORS,
    FlightPath,
    MotionConfig,
    MotionThresholds,
    RateFit,
    RateFits,
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
class MotionChannel:
    """One way of moving: its rate (G,) per second, fitted over a window, what that comes to (G,), and what it needs."""

    kind: Kind
    rate: FloatArray
    total: FloatArray
    needs: MotionThresholds
    window_s: float


@dataclass(frozen=True)
class RateRun:
    """A stretch in which a rate keeps its sign: the middles of its two ramps, and where these begin and are over."""

    channel: MotionChannel
    sign: int
    start_s: float
    end_s: float
    rise_s: float
    fade_s: float

    @property
    def action(self) -> Action:
        """Its name."""
        return ACTIONS[self.channel.kind][0 if self.sign > 0 else 1]


@dataclass(frozen=True)
class LevelChange:
    """One moment of change, from the ends of some runs: (number, 0 for its start and 1 for its end) of each."""

    time_s: float
    weight: float
    window_s: float
    ends: tuple[tuple[int, int], ...]

    def joined(self, other: LevelChange) -> LevelChange:
        """Both as one, at their weighted mean."""
        weight = self.weight + other.weight
        time_s = (self.time_s * self.weight + other.time_s * other.weight) / weight
        return LevelChange(time_s, weight, max(self.window_s, other.window_s), self.ends + other.ends)


def channels(
    path: FlightPath, fits: RateFits, config: MotionConfig, step_m: tuple[float, float]
) -> list[MotionChannel]:
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
        fit = RateFit(path.turn_error, fits.move.window_s)
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
    """The integral of a rate (G,) since the start of the path."""
    from scipy.integrate import cumulative_trapezoid  # takes half a second

    return np.asarray(cumulative_trapezoid(rate, path.t_s, initial=0.0))


def _channel(
    kind: Kind, rate: FloatArray, total: FloatArray, needs: MotionThresholds, fit: RateFit, step: float = 0.0
) -> MotionChannel:
    """A channel with its needs above noise; a change of two steps of the log proves a movement of one."""
    start = START_ERRORS * fit.error
    raised = MotionThresholds(
        start=max(needs.start, start), stop=max(needs.stop, start / 2), least=max(needs.least, 2 * step)
    )
    return MotionChannel(kind, rate, total, raised, fit.window_s)


def runs_of(path: FlightPath, channel: MotionChannel) -> list[RateRun]:
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
            rise, fade = _zero_crossing_s(path.t_s, rate, lo, -1), _zero_crossing_s(path.t_s, rate, hi, 1)
            before, after = np.interp([rise, fade], path.t_s, channel.total)
            if sign * (after - before) >= channel.needs.least:
                found.append(RateRun(channel, sign, start, end, rise, fade))
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


def _zero_crossing_s(t_s: FloatArray, rate: FloatArray, edge: int, way: int) -> float:
    """When the rate is at nothing beyond ``edge``: where it passes 0 before the next moment, else at that moment."""
    beyond = edge + way
    if not 0 <= beyond < len(rate):
        return float(t_s[edge])
    share = rate[edge] / (rate[edge] - min(rate[beyond], 0.0))
    return float(t_s[edge] + share * (t_s[beyond] - t_s[edge]))


def snapped(runs: list[RateRun], within_s: float) -> list[RateRun]:
    """The runs with their changes drawn together where they mean one change; no run loses its length.

    Changes mean one where they lie within ``within_s``, or within half of the window that blurred either. The nearest
    are joined first. Where they were blurred differently, the sharper ones say when it was.
    """
    ends = sorted((time, i, k) for i, r in enumerate(runs) for k, time in enumerate((r.start_s, r.end_s)))
    groups = [
        LevelChange(time, runs[i].channel.window_s ** -2, runs[i].channel.window_s, ((i, k),)) for time, i, k in ends
    ]

    def slack(a: LevelChange, b: LevelChange) -> float:
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


_ORDER: Final[dict[Kind, int]] = {"along": 0, "across": 0, "over": 0, "climb": 0, "turn": 1, "gimbal": 2}
_WAYS: Final[tuple[Kind, ...]] = ("along", "across", "over")
HOVER_SWING_DEG: Final = 10.0  # nose and camera of a hovering drone stay within this
_SHORTER_S: Final = 1e-6  # times are sums of steps
_REST: Final = 1.25  # times as long as a movement takes a rest that is told: a drone slows down to go another way
_PAUSE: Final = 0.1  # of a movement: a rest that is no longer changes how long that took by less than anybody tells
_STEADY: Final = 0.01  # of what a hover may stray: less is as good as nothing


@dataclass(frozen=True)
class MotionPiece:
    """A stretch between two changes, and the runs that go through the whole of it."""

    start_s: float
    end_s: float
    runs: tuple[RateRun, ...]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end_s - self.start_s

    @property
    def names(self) -> frozenset[Action]:
        """Its actions."""
        return frozenset(run.action for run in self.runs)


@dataclass(frozen=True)
class MeasuredMotion:
    """One action within a piece: metres or degrees, and the least ratio of what it has to what it needs."""

    kind: Kind
    action: Action
    amount: float
    ratio: float


def segments(
    path: FlightPath, fits: RateFits, config: MotionConfig, step_m: tuple[float, float] = (0.0, 0.0)
) -> list[Segment]:
    """The movement segments of one part, in order; they do not overlap.

    Stretches that are neither a movement nor a hover have none: too slow for the one, too far for the other.

    Args:
        path: of one part.
        fits: of its rates.
        config: thresholds.
        step_m: quantisation of the log over ground and in height, 0 for none.
    """
    if len(path) < 3:
        return []
    runs = [run for channel in channels(path, fits, config, step_m) for run in runs_of(path, channel)]
    runs = snapped(runs, config.min_segment_s)
    pieces = _pieces(runs, float(path.t_s[0]), float(path.t_s[-1]))
    pieces = _merged_pieces(path, _joined([_reduced(path, piece, config) for piece in pieces]), config)
    can_hover = max(step_m) <= config.hover_radius_m
    rise, fade = np.array([r.rise_s for r in runs]), np.array([r.fade_s for r in runs])
    found: list[Segment | None] = []
    for piece in pieces:
        near = [runs[i] for i in np.flatnonzero((fade >= piece.start_s) & (rise <= piece.end_s))]
        if piece.runs:  # the main action is first: ways over ground and up by their metres, turns, then tilts
            measured = sorted(_measured(path, piece, config), key=lambda m: (_ORDER[m.kind], -m.amount))
            actions = tuple(m.action for m in measured)
            found.append(_segment(path, piece, near, actions, min(m.ratio for m in measured)))
        elif can_hover:
            found.append(_hover(path, piece, near, config))
    return [segment for segment in found if segment is not None]


def _pieces(runs: list[RateRun], first_s: float, last_s: float) -> list[MotionPiece]:
    """The time from ``first_s`` to ``last_s``, cut at every change."""
    times = sorted({first_s, last_s, *(r.start_s for r in runs), *(r.end_s for r in runs)})
    waiting = sorted(runs, key=lambda r: r.start_s, reverse=True)
    going: list[RateRun] = []
    found = []
    for start, end in pairwise(times):
        going = [r for r in going if r.end_s > start]
        while waiting and waiting[-1].start_s <= start:
            going.append(waiting.pop())
        found.append(MotionPiece(start, end, tuple(going)))
    return found


def _reach(piece: MotionPiece, runs: list[RateRun], *kinds: Kind) -> tuple[float, float]:
    """From when to when the movements of some kinds are measured in a piece.

    A run that begins or ends with the piece is measured with its whole ramp. Where the piece has no such run, the ramps
    of those before and after it are left to them.
    """
    own = [r for r in piece.runs if r.channel.kind in kinds]
    if own:
        starts = [r.rise_s if r.start_s >= piece.start_s else piece.start_s for r in own]
        ends = [r.fade_s if r.end_s <= piece.end_s else piece.end_s for r in own]
        return min(starts), max(ends)
    others = [r for r in runs if r.channel.kind in kinds]
    start = max((r.fade_s for r in others if r.end_s <= piece.start_s), default=piece.start_s)
    end = min((r.rise_s for r in others if r.start_s >= piece.end_s), default=piece.end_s)
    start = max(start, piece.start_s)
    return start, max(start, min(end, piece.end_s))


def _change(path: FlightPath, values: FloatArray, start_s: float, end_s: float) -> float:
    before, after = np.interp([start_s, end_s], path.t_s, values)
    return float(after - before)


def _measured(path: FlightPath, piece: MotionPiece, config: MotionConfig) -> list[MeasuredMotion]:
    """The actions of a piece."""
    found = []
    for action, run in {run.action: run for run in piece.runs}.items():
        channel = run.channel
        start, end = _reach(piece, [], channel.kind)
        amount = run.sign * _change(path, channel.total, start, end)
        lo, hi = np.searchsorted(path.t_s, [start, end])
        peak = float((run.sign * channel.rate[lo : hi + 1]).max())
        ratio = min(amount / channel.needs.least, peak / channel.needs.start, piece.seconds / config.min_movement_s)
        found.append(MeasuredMotion(channel.kind, action, amount, ratio))
    return found


def _reduced(path: FlightPath, piece: MotionPiece, config: MotionConfig) -> MotionPiece:
    """The piece without runs that do not come to enough within it, and without mere drift beside its way or turn."""
    enough = {
        m.kind: m
        for m in _measured(path, piece, config)
        if m.ratio >= 1 and m.amount >= _threshold(path, piece, m.kind, config)
    }
    ways = [enough[k].amount for k in ("along", "across") if k in enough]
    kept = {k for k, m in enough.items() if k not in ("along", "across") or m.amount >= config.lesser_share * max(ways)}
    if "turn" in kept and math.hypot(*ways) < _beside_turn_m(path, piece, enough["turn"], config):
        kept -= {"along", "across"}
    return replace(piece, runs=tuple(r for r in piece.runs if r.channel.kind in kept))


def _beside_turn_m(path: FlightPath, piece: MotionPiece, turn: MeasuredMotion, config: MotionConfig) -> float:
    """The least way that is noticed beside a turn from as high as the drone is; 0 where its height is not known.

    Of what is seen of the ground below, the way moves it by an angle of about way / height, the turn by its own.
    """
    height_m = path.within(piece.start_s, piece.end_s).height_m
    if not len(height_m) or np.isnan(height_m).any():
        return 0.0
    return config.beside_turn_share * math.radians(turn.amount) * max(0.0, float(np.median(height_m)))


def _threshold(path: FlightPath, piece: MotionPiece, kind: Kind, config: MotionConfig) -> float:
    """The least amount of a movement that is noticed from as high as the drone is; 0 for turns, and unknown heights."""
    height_m = path.within(piece.start_s, piece.end_s).height_m
    if kind not in (*_WAYS, "climb") or not len(height_m) or np.isnan(height_m).any():
        return 0.0
    share = config.noticed_share * (2 if kind == "climb" else 1)  # a tenth higher, all is a tenth smaller
    return share * max(0.0, float(np.median(height_m)))


def _merged_pieces(path: FlightPath, pieces: list[MotionPiece], config: MotionConfig) -> list[MotionPiece]:
    """The pieces as people tell them: a brief one is part of the neighbour that is most like it, or else the longer.

    What strikes, however brief it is, stays: a turn to another way, a jump.
    """
    strikes: dict[tuple[float, float], bool] = {}
    found = list(pieces)
    while True:
        brief = []
        for n, piece in enumerate(found):
            least_s = config.told_min_s * (1 if piece.runs else _REST)
            if piece.seconds < least_s - _SHORTER_S and _neighbours(found, n) and (piece.runs or _is_pause(found, n)):
                span = piece.start_s, piece.end_s
                if span not in strikes:
                    strikes[span] = _strikes(path, piece, config)
                brief += [] if strikes[span] else [n]
        if not brief:
            return found
        n = min(brief, key=lambda n: (found[n].seconds, found[n].start_s))
        into = max(_neighbours(found, n), key=lambda m: (len(found[m].names & found[n].names), found[m].seconds, -m))
        first, last = sorted((n, into))
        found[first : last + 1] = [MotionPiece(found[first].start_s, found[last].end_s, found[into].runs)]
        found = _joined(found)


def _neighbours(pieces: list[MotionPiece], n: int) -> list[int]:
    """Those beside a piece in which something is done."""
    return [m for m in (n - 1, n + 1) if 0 <= m < len(pieces) and pieces[m].runs]


def _is_pause(pieces: list[MotionPiece], n: int) -> bool:
    """Whether a rest is part of what is done about it: the same before and after, or something much longer."""
    if not 0 < n < len(pieces) - 1:
        return False
    before, after = pieces[n - 1], pieces[n + 1]
    longest = max(before.seconds, after.seconds)
    return before.names == after.names or bool(before.runs and after.runs and pieces[n].seconds <= _PAUSE * longest)


def _strikes(path: FlightPath, piece: MotionPiece, config: MotionConfig) -> bool:
    """Whether a movement is told however brief it is."""
    least = {"turn": config.striking_deg, "gimbal": config.striking_deg}
    return any(
        m.amount >= max(least.get(m.kind, config.striking_m), 2 * _threshold(path, piece, m.kind, config))
        for m in _measured(path, piece, config)
    )


def _joined(pieces: list[MotionPiece]) -> list[MotionPiece]:
    """Neighbours with the same actions as one."""
    found: list[MotionPiece] = []
    for piece in pieces:
        if found and found[-1].names == piece.names:
            runs = dict.fromkeys((*found[-1].runs, *piece.runs))
            found[-1] = MotionPiece(found[-1].start_s, piece.end_s, tuple(runs))
        else:
            found.append(piece)
    return found


def _hover(path: FlightPath, piece: MotionPiece, runs: list[RateRun], config: MotionConfig) -> Segment | None:
    """A rest, if the piece is long enough and nothing strays in it once the ramps at its ends are over."""
    start, end = _reach(piece, runs, *ACTIONS)
    still = path.within(start, end)
    if piece.seconds < max(config.min_hover_s, _REST * config.told_min_s) or len(still) == 0:
        return None
    offset = still.enu_m[:, :2] - np.median(still.enu_m[:, :2], axis=0)
    strays = [
        float(np.hypot(offset[:, 0], offset[:, 1]).max()) / config.hover_radius_m,
        float(np.abs(still.level_m - np.median(still.level_m)).max()) / config.climb.least,
        *(float(np.ptp(angle)) / HOVER_SWING_DEG for angle in (still.heading_deg, still.gimbal_deg)),
    ]
    largest = max(s for s in strays if not np.isnan(s))
    if largest > 1:
        return None
    ratio = min(piece.seconds / config.min_hover_s, 1 / max(largest, _STEADY))
    rest: Action = "stay in place" if np.isnan(still.heading_deg).any() else "hover"
    return _segment(path, piece, runs, (rest,), ratio)


def _segment(
    path: FlightPath, piece: MotionPiece, runs: list[RateRun], actions: tuple[Action, ...], margin: float
) -> Segment:
    flies = any(r.channel.kind in _WAYS for r in piece.runs)
    start, end = _reach(piece, runs, *_WAYS)
    if flies:
        metres = _change(path, summed(path, path.speed), start, end)
    else:  # the way along a path that is mere noise would grow with time
        east, north = (_change(path, path.enu_m[:, axis], start, end) for axis in (0, 1))
        metres = float(np.hypot(east, north))
    # Of a drone that is flown nose first it is not known how it turns where it stays.
    is_known = flies or path.turn_error is None
    turned = _change(path, path.turned_deg, *_reach(piece, runs, "turn")) if is_known else np.nan
    tilted = _change(path, path.gimbal_deg, *_reach(piece, runs, "gimbal"))
    return Segment(
        start_s=round(piece.start_s, 3),
        end_s=round(piece.end_s, 3),
        actions=actions,
        distance_m=round(metres, 3) + 0.0,
        climb_m=round(_change(path, path.level_m, *_reach(piece, runs, "climb")), 3) + 0.0,  # no -0.0
        turn_deg=None if np.isnan(turned) else round(turned, 2) + 0.0,
        gimbal_deg=None if np.isnan(tilted) else round(tilted, 2) + 0.0,
        margin=round(margin, 3),
    )
