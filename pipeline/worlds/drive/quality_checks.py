"""Impossible values in a drive of any format: tracks that jump, overlapping vehicles, a second ego car."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.geometry.footprints import Rectangles
from pipeline.worlds.drive.facts import VEHICLES, Drive, DriveScene
from pipeline.worlds.drive.view import EGO, DriveView

JUMP_M: Final = 2.0  # ours: beyond what the speed about it explains; boxes of annotators waver by a tenth of it
SPEED_MAX_MPS: Final = 100.0  # no road vehicle of a log is faster
SPEED_STEPS: Final = 7  # of a track, of which the median is the speed about one of them
GAP_MAX_S: Final = 1.0  # after a longer one a track may be anywhere
OVERLAP_S: Final = 0.2  # between the times at which overlaps are looked for
OVERLAPS_MIN: Final = 2  # such times, for one alone may be a box that wavers
DOUBLE_M: Final = 0.1  # between the middles of two things of one kind: no two stand as near
SAME_SHARE: Final = 0.5  # of the times of an actor, from which on it is our own car
SAME_M: Final = 1.0  # of our own car without a box, from its point
_PAIRS: Final = 1 << 21  # at a time: bounds memory to about 100 MB


def examine(scene: DriveScene) -> tuple[Finding, ...]:
    """The doubts about tracks of a scene; about part of a track where the rest of it can stand."""
    view = DriveView(scene)
    return (*_jumps(view), *_overlaps(view), *_doubles(view))


def _jumps(view: DriveView) -> Iterator[Finding]:
    tracks = [(EGO, view.ego_m)] if view.ego_moves else []
    for name, place_m in [*tracks, *zip(view.ids.tolist(), view.place_m, strict=True)]:
        known = np.flatnonzero(~np.isnan(place_m).any(1))
        beyond_m = beyond(view.times_s[known], place_m[known])
        at = np.flatnonzero(beyond_m > JUMP_M)
        if len(at):
            most = float(beyond_m.max())
            message = f"{name} jumps {len(at)} times, by {most:.1f} m more than its speed explains at most"
            times = [(float(view.times_s[known[i]]), float(view.times_s[known[i + 1]])) for i in at.tolist()]
            found = doubt("track_jumps", name, message, "is this one track?", round(most, 3), JUMP_M, "m")
            yield found.model_copy(update={"stretches": tuple(times)})


def beyond(times_s: FloatArray, place_m: FloatArray) -> FloatArray:
    """By how much each step (N - 1,) of a track (N, 3) is longer than the speed of the steps about it explains.

    Of a step that takes longer than a second, by how much it is longer than anything that drives goes meanwhile.
    """
    if len(times_s) < 2:
        return np.zeros(0)
    lasted = np.diff(times_s)
    gone = np.sqrt((np.diff(place_m, axis=0) ** 2).sum(1))
    around = SPEED_STEPS // 2
    padded = np.concatenate([np.full(around, np.nan), gone / lasted, np.full(around, np.nan)])
    usual = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, SPEED_STEPS), axis=1)
    usual = np.where(lasted > GAP_MAX_S, SPEED_MAX_MPS, np.minimum(usual, SPEED_MAX_MPS))
    return np.asarray(gone - usual * lasted)


def _overlaps(view: DriveView) -> Iterator[Finding]:
    """Vehicles that stand in one another, and what stands where our own car is."""
    rows = np.flatnonzero(np.isin(view.categories.astype(str), sorted(VEHICLES)))
    times = _every(view.times_s, OVERLAP_S)
    if not len(rows):
        return
    inside = {row: np.zeros(len(times), dtype=bool) for row in rows.tolist()}
    others: dict[int, int] = {}
    step = max(1, _PAIRS // len(rows) ** 2)
    for begin in range(0, len(times), step):
        part = times[begin : begin + step]
        at, first, second = _within(view, rows, part)
        for time, a, b in zip(at.tolist(), rows[first].tolist(), rows[second].tolist(), strict=True):
            inside[a][begin + time] = inside[b][begin + time] = True
            others[a], others[b] = b, a
    ours = _ours(view, rows, times)
    for index, row in enumerate(rows.tolist()):
        name = str(view.ids[row])
        seen, same = int(view.present[row, times].sum()), int(ours[index].sum())
        if same >= OVERLAPS_MIN and same >= SAME_SHARE * seen:
            message = f"{name} is where our own car is, at {same} of {seen} times"
            remedy = "take our own car out of the tracks"
            yield doubt("second_ego", name, message, remedy, round(same / seen, 3), SAME_SHARE, "share of times")
            continue
        both = inside[row] | ours[index]
        if both.sum() >= OVERLAPS_MIN:
            other = str(view.ids[others[row]]) if inside[row].any() else "our own car"
            yield _overlap(view, row, other, both, times)


def _doubles(view: DriveView) -> Iterator[Finding]:
    """Things of one kind, other than vehicles, that stand at one point: one thing with two tracks."""
    times = _every(view.times_s, OVERLAP_S)
    for category in sorted(set(view.categories.tolist()) - VEHICLES):
        rows = np.flatnonzero(view.categories == category)
        place = view.place_m[rows][:, times]
        for n, row in enumerate(rows.tolist()):
            away = np.sqrt(((place - place[n]) ** 2).sum(2))
            away[n] = np.nan
            both = (away <= DOUBLE_M).any(0)
            if both.sum() >= OVERLAPS_MIN:
                other = str(view.ids[rows[int((away <= DOUBLE_M).sum(1).argmax())]])
                yield _overlap(view, row, other, both, times)


def _overlap(view: DriveView, row: int, other: str, both: BoolArray, times: IntArray) -> Finding:
    name, count, seen = str(view.ids[row]), int(both.sum()), int(view.present[row, times].sum())
    message = f"{name} and {other} are in one another at {count} of {seen} times"
    found = doubt("boxes_overlap", name, message, "annotate them again", count, OVERLAPS_MIN - 1, "times")
    return found.model_copy(update={"stretches": _stretches(view.times_s[times], both)})


def _within(view: DriveView, rows: IntArray, times: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Where the middle of a vehicle is in the box of another: which time, which one, in which other, (k,) each.

    All are places among ``times`` and ``rows``.
    """
    place, size = view.place_m[rows][:, times].swapaxes(0, 1), view.size_m[rows]
    reach = np.hypot(size[:, 0], size[:, 1]) / 2
    x, y = place[..., 0], place[..., 1]
    near = (x[:, :, None] - x[:, None]) ** 2 + (y[:, :, None] - y[:, None]) ** 2 <= reach**2
    near[:, np.arange(len(rows)), np.arange(len(rows))] = False
    at, inner, outer = np.nonzero(near)
    boxes = Rectangles(place[at, outer, :2], size[outer, :2] / 2, view.yaw_deg[rows][:, times][outer, at])
    inside = (np.abs(boxes.local(place[at, inner, None, :2])[:, 0]) <= boxes.half).all(-1)
    level = np.abs(place[at, inner, 2] - place[at, outer, 2]) <= (size[inner, 2] + size[outer, 2]) / 2
    found = inside & level
    return at[found], inner[found], outer[found]


def _ours(view: DriveView, rows: IntArray, times: IntArray) -> BoolArray:
    """At which times the middle of a vehicle is in our own car's box, or at its point; (rows, times)."""
    relative = view.relative_m[rows][:, times][..., :2]
    facts: Drive = view.facts
    if facts.ego is None:
        return np.zeros(relative.shape[:2], dtype=bool)
    if facts.ego.box is None:
        return np.asarray(np.hypot(relative[..., 0], relative[..., 1]) <= SAME_M)
    middle, size = np.array(facts.ego.box.middle_m[:2]), np.array(facts.ego.box.size_m[:2])
    return np.asarray((np.abs(relative - middle) <= size / 2).all(-1))


def _every(times_s: FloatArray, step_s: float) -> IntArray:
    """The first index in each so many seconds."""
    _, first = np.unique((times_s / step_s + 1e-6).astype(np.int64), return_index=True)
    return np.asarray(first)


def _stretches(times_s: FloatArray, inside: BoolArray) -> tuple[tuple[float, float], ...]:
    """Start and end of each run of times, widened to the times before and after it, at which it was not yet so."""
    edges = np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8))
    starts, stops = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
    last = len(times_s) - 1
    return tuple(
        (float(times_s[max(start - 1, 0)]), float(times_s[min(stop, last)]))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    )
