"""Where a person may stand beside an object: places on a ring around its footprint where the body fits."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.boxes import Boxes
from pipeline.geometry.floors import Footprints, Outlines, footprints

# Metres from the footprint. One stands at the first; where furniture keeps one off (a telephone amid a table), at the
# first of the others that has a place, and further away one is no longer beside the object.
REACH_M: Final = (0.3, 0.45, 0.6, 0.8, 1.0)
PLACES: Final = 72  # on a ring, one every 5 degrees seen from the centre; a multiple of 4, see `_headings`
TOUCH_M: Final = 1e-6  # a body may touch; without it rounding would decide in rooms built on a grid
_CELLS: Final = 1 << 18  # pairs of places and sides at a time; bounds memory to about 30 MB


class Standing(NamedTuple):
    """Places beside n objects: ``place`` (n, P, 2) in metres, and whether one can be ``free`` (n, P) there."""

    place: FloatArray
    free: BoolArray


def standing_places(boxes: Boxes, which: IntArray, radius_m: float, floor: Outlines | None) -> Standing:
    """Where a body of ``radius_m`` may stand beside the boxes ``which`` (n,).

    With the outlines of the ``floor`` a place is free where the body is on it and clear of every box at its height.
    Without them all of the nearest ring is free.
    """
    around = _ring(boxes, which, REACH_M[0])
    if floor is None:
        return Standing(around, np.ones(around.shape[:2], dtype=bool))
    solid = footprints(boxes, radius_m)
    free = _fits(around, solid, floor, radius_m)
    for reach_m in REACH_M[1:]:
        crowded = np.flatnonzero(~free.any(1))
        if not len(crowded):
            break
        around[crowded] = _ring(boxes, which[crowded], reach_m)
        free[crowded] = _fits(around[crowded], solid, floor, radius_m)
    return Standing(around, free)


def _ring(boxes: Boxes, which: IntArray, reach_m: float) -> FloatArray:
    """Places (n, PLACES, 2) at ``reach_m`` from the sides of each footprint; its corners are mitred, not rounded."""
    plan = footprints(boxes, reach_m)
    heading = _headings(boxes.axes[which]).reshape(-1, 2)
    at = np.repeat(which, PLACES)
    leave = plan.crossings_m(plan.center[at], heading, at)[1]
    return (plan.center[at] + heading * leave[:, None]).reshape(-1, PLACES, 2)


def _headings(axes: FloatArray) -> FloatArray:
    """Unit directions (n, PLACES, 2), the first along the most level axis of each box (n, 3, 3).

    They turn with the box, whichever of two level axes is the first: these stand at a right angle.
    """
    most_level = np.hypot(axes[..., 0], axes[..., 1]).round(9).argmax(1)  # the first of two that are level
    ahead = axes[np.arange(len(axes)), most_level, :2]
    turn = np.arctan2(ahead[:, 1], ahead[:, 0])[:, None] + np.arange(PLACES) * (2 * np.pi / PLACES)
    return np.stack([np.cos(turn), np.sin(turn)], axis=-1)


def _fits(places: FloatArray, solid: Footprints, floor: Outlines, radius_m: float) -> BoolArray:
    """Whether a body fits at places (n, P, 2)."""
    flat = places.reshape(-1, 2)
    step = max(1, _CELLS // max(sum(map(len, floor)), 3 * len(solid.center)))
    parts = [flat[i : i + step] for i in range(0, len(flat), step)]
    fits = [(clearance_m(part, floor) > radius_m - TOUCH_M) & ~_within(part, solid) for part in parts]
    return np.concatenate([np.empty(0, dtype=bool), *fits]).reshape(places.shape[:2])


def _within(places: FloatArray, solid: Footprints) -> BoolArray:
    """Whether places (n, 2) are within any footprint at the height of the body."""
    there = solid.obstacle
    offset = ((places[:, None] - solid.center[there])[:, :, None] * solid.normals[there]).sum(-1)
    return np.asarray((np.abs(offset) < solid.reach[there] - TOUCH_M).all(-1).any(1))


def clearance_m(places: FloatArray, outlines: Outlines) -> FloatArray:
    """Exact distance (n,) of places (n, 2) to the nearest outline; 0 outside (even-odd rule, holes included)."""
    rings = [np.asarray(ring, dtype=np.float64) for ring in outlines]
    start = np.concatenate(rings)
    side = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings]) - start
    offset_x, offset_y = (places[:, axis, None] - start[:, axis] for axis in (0, 1))
    length2 = side[:, 0] ** 2 + side[:, 1] ** 2
    along = (offset_x * side[:, 0] + offset_y * side[:, 1]) / np.where(length2 > 0, length2, 1.0)
    along = np.clip(along, 0.0, 1.0)
    gap2 = (offset_x - along * side[:, 0]) ** 2 + (offset_y - along * side[:, 1]) ** 2
    # A line to the right of the place crosses a side whose ends lie on both sides of its height.
    straddles = (offset_y < 0) != (offset_y < side[:, 1])
    turn = offset_x * side[:, 1] - offset_y * side[:, 0]
    crossed = straddles & (turn * np.sign(side[:, 1]) < 0)
    inside = crossed.sum(1) % 2 == 1
    return np.where(inside, np.sqrt(gap2.min(1)), 0.0)
