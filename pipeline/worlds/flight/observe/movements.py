"""Movement segments of a flight: what it does from when to when, and by what margin.

The ends of the runs of each way of moving, drawn together where they mean one change, cut the flight into pieces; a
piece with what runs through it is a segment.

Without a heading, nothing is said of forward, sideways or turning: a drone then flies horizontally, or it stays in
place, whether it turns there or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.worlds.flight.facts import Action, Segment
from pipeline.worlds.flight.observe.motion import Fits, FlightPath, MotionConfig
from pipeline.worlds.flight.observe.runs import ACTIONS, Kind, Run, channels, runs_of, snapped, summed

_ORDER: Final[dict[Kind, int]] = {"along": 0, "across": 0, "over": 0, "climb": 0, "turn": 1, "gimbal": 2}
_WAYS: Final[tuple[Kind, ...]] = ("along", "across", "over")
HOVER_SWING_DEG: Final = 10.0  # nose and camera of a hovering drone stay within this
_STEADY: Final = 0.01  # of what a hover may stray: less is as good as nothing


@dataclass(frozen=True)
class Piece:
    """A stretch between two changes, and the runs that go through the whole of it."""

    start_s: float
    end_s: float
    runs: tuple[Run, ...]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end_s - self.start_s

    @property
    def names(self) -> frozenset[Action]:
        """Its actions."""
        return frozenset(run.action for run in self.runs)


@dataclass(frozen=True)
class Measured:
    """One action within a piece: metres or degrees, and the least ratio of what it has to what it needs."""

    kind: Kind
    action: Action
    amount: float
    ratio: float


def segments(
    path: FlightPath, fits: Fits, config: MotionConfig, step_m: tuple[float, float] = (0.0, 0.0)
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
    pieces = _joined([_reduced(path, piece, config) for piece in pieces])
    can_hover = max(step_m) <= config.hover_radius_m
    rise, fade = np.array([r.rise_s for r in runs]), np.array([r.fade_s for r in runs])
    found: list[Segment | None] = []
    for piece in pieces:
        near = [runs[i] for i in np.flatnonzero((fade >= piece.start_s) & (rise <= piece.end_s))]
        if piece.runs:
            found.append(_movement(path, piece, near, config))
        elif can_hover:
            found.append(_hover(path, piece, near, config))
    return [segment for segment in found if segment is not None]


def _pieces(runs: list[Run], first_s: float, last_s: float) -> list[Piece]:
    """The time from ``first_s`` to ``last_s``, cut at every change."""
    times = sorted({first_s, last_s, *(r.start_s for r in runs), *(r.end_s for r in runs)})
    waiting = sorted(runs, key=lambda r: r.start_s, reverse=True)
    going: list[Run] = []
    found = []
    for start, end in pairwise(times):
        going = [r for r in going if r.end_s > start]
        while waiting and waiting[-1].start_s <= start:
            going.append(waiting.pop())
        found.append(Piece(start, end, tuple(going)))
    return found


def _reach(piece: Piece, runs: list[Run], *kinds: Kind) -> tuple[float, float]:
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


def _measured(path: FlightPath, piece: Piece, config: MotionConfig) -> list[Measured]:
    """The actions of a piece."""
    found = []
    for action, run in {run.action: run for run in piece.runs}.items():
        channel = run.channel
        start, end = _reach(piece, [], channel.kind)
        amount = run.sign * _change(path, channel.total, start, end)
        lo, hi = np.searchsorted(path.t_s, [start, end])
        peak = float((run.sign * channel.rate[lo : hi + 1]).max())
        ratio = min(amount / channel.needs.least, peak / channel.needs.start, piece.seconds / config.min_movement_s)
        found.append(Measured(channel.kind, action, amount, ratio))
    return found


def _reduced(path: FlightPath, piece: Piece, config: MotionConfig) -> Piece:
    """The piece without runs that do not come to enough within it, and without mere drift beside the way it flies."""
    enough = {m.kind: m for m in _measured(path, piece, config) if m.ratio >= 1}
    ways = [enough[k].amount for k in ("along", "across") if k in enough]
    kept = {k for k, m in enough.items() if k not in ("along", "across") or m.amount >= config.lesser_share * max(ways)}
    return replace(piece, runs=tuple(r for r in piece.runs if r.channel.kind in kept))


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Neighbours with the same actions as one."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].names == piece.names:
            runs = dict.fromkeys((*found[-1].runs, *piece.runs))
            found[-1] = Piece(found[-1].start_s, piece.end_s, tuple(runs))
        else:
            found.append(piece)
    return found


def _movement(path: FlightPath, piece: Piece, runs: list[Run], config: MotionConfig) -> Segment:
    """The segment of a piece. The main action is first: ways over ground and up by their metres, turns, then tilts."""
    measured = sorted(_measured(path, piece, config), key=lambda m: (_ORDER[m.kind], -m.amount))
    return _segment(path, piece, runs, tuple(m.action for m in measured), min(m.ratio for m in measured))


def _hover(path: FlightPath, piece: Piece, runs: list[Run], config: MotionConfig) -> Segment | None:
    """A rest, if the piece is long enough and nothing strays in it once the ramps at its ends are over."""
    start, end = _reach(piece, runs, *ACTIONS)
    still = path.within(start, end)
    if piece.seconds < config.min_hover_s or len(still) == 0:
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


def _segment(path: FlightPath, piece: Piece, runs: list[Run], actions: tuple[Action, ...], margin: float) -> Segment:
    flies = any(r.channel.kind in _WAYS for r in piece.runs)
    start, end = _reach(piece, runs, *_WAYS)
    if flies:
        metres = _change(path, summed(path, path.speed), start, end)
    else:  # the way along a path that is mere noise would grow with time
        east, north = (_change(path, path.enu_m[:, axis], start, end) for axis in (0, 1))
        metres = float(np.hypot(east, north))
    # Of a drone that is flown nose first it is not known how it turns where it stays.
    told = flies or path.turn_error is None
    turned = _change(path, path.turned_deg, *_reach(piece, runs, "turn")) if told else np.nan
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
