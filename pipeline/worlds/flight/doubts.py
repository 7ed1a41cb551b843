"""What the doubts about a flight cost: facts for the whole of it, or everything for a stretch of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.schema import Finding

# What an answer may rest on. "seconds": that durations are those of the flight.
Need = Literal["steps", "seconds", "places", "height", "heading", "views", "goal", "route", "goal or route"]

# What a finding casts doubt on. A doubt that is not listed may be about the clock or the positions: on everything.
TOUCHES: Final[dict[str, frozenset[Need]]] = {
    "altitude_reference": frozenset(("height",)),
    "damaged_bytes": frozenset(),  # what was lost is a gap of the track, or an attitude that is not known
    "damaged_lines": frozenset(),  # likewise
    "gimbal_frame": frozenset(),  # the angles were left out
    "ground_differs": frozenset(("height", "views")),
    "heading_of_gimbal": frozenset(),  # left and right are those of the picture: a viewer knows no other
    "landmark_too_far": frozenset(("places",)),
    "no_altitude": frozenset(("height", "steps")),
    "no_clock": frozenset(("steps", "seconds")),
    "no_origin": frozenset(("places",)),
    "no_unit": frozenset(("height",)),  # the column was left out
    "nothing_near": frozenset(("places",)),
    "picture_shape_differs": frozenset(("views", "places")),
    "position_reset": frozenset(("places", "views", "height")),  # parts are not joined: their movements stand
    "quantised": frozenset(("places", "views")),  # no movement below the step is claimed
    "reset": frozenset(("places", "views", "height")),
    "route_by_compass": frozenset(("route", "goal or route")),
    "route_names_unseen": frozenset(("route", "goal or route")),
    "step_clock": frozenset(("seconds",)),
    "video_beyond_log": frozenset(),  # `FlightView.untracked_s` says how much
}


NOTES_THAT_COUNT: Final = frozenset(("step_clock",))  # notes, but ones that `TOUCHES` speaks of


def doubted_stretches(findings: Iterable[Finding], video_offset_s: float) -> FloatArray:
    """Start and end (k, 2), seconds of the video, of the stretches that doubts are about: nothing is asked of them."""
    found = [stretch for f in findings if f.severity == "doubt" for stretch in f.stretches or ()]
    return np.array(found, dtype=np.float64).reshape(-1, 2) - video_offset_s


def within_any(t_s: FloatArray, stretches: FloatArray) -> BoolArray:
    """Which times (N,) lie in one of some stretches (k, 2), their ends included."""
    inside = (t_s[:, None] >= stretches[:, 0]) & (t_s[:, None] <= stretches[:, 1])
    return np.asarray(inside.any(1))


def overlaps_any(start_s: float, end_s: float, stretches: FloatArray) -> bool:
    """Whether an interval has a moment in common with one of some stretches (k, 2)."""
    return bool(((stretches[:, 0] < end_s) & (stretches[:, 1] > start_s)).any())


def without(spans: FloatArray, stretches: FloatArray) -> FloatArray:
    """Intervals (m, 2) in order, less some stretches (k, 2): what is left of each, in order of time."""
    for low, high in stretches.tolist():
        before = np.column_stack([spans[:, 0], np.minimum(spans[:, 1], low)])
        after = np.column_stack([np.maximum(spans[:, 0], high), spans[:, 1]])
        spans = np.concatenate([before, after])
        spans = spans[spans[:, 1] > spans[:, 0]]
        spans = spans[np.argsort(spans[:, 0], kind="stable")]
    return spans
