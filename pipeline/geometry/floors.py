"""The floor as a robot sees it: where it may be, and what it meets when it goes straight on."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, chunks
from pipeline.geometry.boxes import Boxes

CELL_M: Final = 0.05
BODY_HEIGHT_M: Final = (0.1, 1.5)  # above the floor: a rug below and a lamp above are not in the way
_PARALLEL: Final = 1e-12

Outlines = Sequence[Sequence[tuple[float, float]]]


class FreeFloor(NamedTuple):
    """A grid of the floor: ``clearance_m[row, column]`` is the distance to the nearest place that is not floor.

    The cell (0, 0) is centred at ``origin`` (x, y); rows run along y.
    """

    clearance_m: FloatArray
    origin: FloatArray

    def at(self, points: FloatArray) -> FloatArray:
        """Clearance (...,) at points (..., 2); 0 outside the grid."""
        index = np.round((points - self.origin) / CELL_M).astype(np.intp)
        rows, columns = self.clearance_m.shape
        inside = (index >= 0).all(-1) & (index[..., 0] < columns) & (index[..., 1] < rows)
        x, y = np.where(inside, index[..., 0], 0), np.where(inside, index[..., 1], 0)
        return np.where(inside, self.clearance_m[y, x], 0.0)


class FloorGrid(NamedTuple):
    """Cells (rows, columns) of `CELL_M` on which one can walk; (0, 0) is centred at ``origin`` (x, y), rows along y."""

    walkable: BoolArray
    origin: FloatArray


GAP_CELLS: Final = 3  # between scanned floor, 15 cm: what is narrower was scanned, if thinly
BOX_SLACK_M: Final = 0.1  # what reaches out of its box by no more is the box's own, which is checked as such


def seen_floor(points: FloatArray, floor_m: float, floor_known: bool) -> FloorGrid:
    """The cells where points (N, 3) of a surface show floor, and nothing above it at the height of the body.

    Where ``floor_known``, only what stands on the floor counts: the rest is floor, scanned or not.
    """
    from scipy.ndimage import binary_closing  # takes half a second

    height = points[:, 2] - floor_m
    origin = points[:, :2].min(0) - GAP_CELLS * CELL_M
    cell = np.round((points[:, :2] - origin) / CELL_M).astype(np.intp)
    shape = tuple((cell.max(0) + 1 + GAP_CELLS)[::-1])
    below, amid = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    low, high = BODY_HEIGHT_M
    for grid, at in ((below, np.abs(height) <= low), (amid, (height > low) & (height < high))):
        grid[cell[at, 1], cell[at, 0]] = True
    floor = True if floor_known else binary_closing(below, np.ones((GAP_CELLS, GAP_CELLS), dtype=bool))
    return FloorGrid(np.asarray(floor & ~amid), origin)


def body_clearance(seen: FloorGrid, boxes: Boxes) -> FreeFloor:
    """Clearance from what cannot be walked on; boxes are checked by themselves, so what they cover counts as floor."""
    from scipy.ndimage import distance_transform_edt

    rows, columns = np.indices(seen.walkable.shape)
    place = np.stack([columns.ravel(), rows.ravel()], axis=1) * CELL_M + seen.origin
    plan = footprints(boxes, BOX_SLACK_M)
    plan = plan._replace(obstacle=np.ones(len(plan.center), dtype=bool))
    covered = np.concatenate([_within(place[part], plan) for part in chunks(len(place), 3 * len(plan.center), _CELLS)])
    free = seen.walkable | covered.reshape(seen.walkable.shape)
    return FreeFloor(np.asarray(distance_transform_edt(free) * CELL_M), seen.origin)


def free_floor(outlines: Outlines) -> FreeFloor:
    """Rasterises closed outlines (even-odd rule, holes included) and measures the clearance of every cell."""
    from scipy.ndimage import distance_transform_edt  # takes half a second

    rings = [np.asarray(ring, dtype=np.float64) for ring in outlines]
    start = np.concatenate(rings)
    end = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    origin = start.min(0) - 2 * CELL_M
    columns, rows = np.ceil((start.max(0) - origin) / CELL_M).astype(int) + 3
    y = origin[1] + np.arange(rows) * CELL_M
    # Every edge toggles all cells to the right of where it crosses a row.
    low, high = np.minimum(start[:, 1], end[:, 1]), np.maximum(start[:, 1], end[:, 1])
    row, edge = np.nonzero((y[:, None] >= low) & (y[:, None] < high))
    slope = (end[edge, 0] - start[edge, 0]) / (end[edge, 1] - start[edge, 1])
    x = start[edge, 0] + (y[row] - start[edge, 1]) * slope
    toggles = np.zeros((rows, columns + 1), dtype=np.int64)
    np.add.at(toggles, (row, np.clip(np.ceil((x - origin[0]) / CELL_M).astype(int), 0, columns)), 1)
    inside = (np.cumsum(toggles, axis=1)[:, :columns] % 2).astype(bool)
    clearance = distance_transform_edt(inside) * CELL_M
    return FreeFloor(np.asarray(clearance, dtype=np.float64), origin)


class Footprints(NamedTuple):
    """Floor plan of N boxes, grown by a body radius: a point p is within n where |normal · (p - centre)| <= reach.

    A box of any orientation projects to a polygon with sides along its three projected axes: ``normals`` (N, 3, 2)
    are the unit normals of these (zero for an upright axis) and ``reach`` (N, 3) the half widths across them.
    ``obstacle`` (N,) tells which boxes are at the height of the body, ``bottom_m`` (N,) how high above the floor they
    begin.
    """

    center: FloatArray
    normals: FloatArray
    reach: FloatArray
    obstacle: BoolArray
    bottom_m: FloatArray

    def crossings_m(
        self, origin: FloatArray, direction: FloatArray, only: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Where rays (M, 2) enter and leave the footprints, metres; inf and -inf where they miss.

        Gives (M, N) each, or (M,) each for one footprint a ray, ``only`` (M,).
        """
        center, normals, reach = (
            (a[None] if only is None else a[only][:, None]) for a in (self.center, self.normals, self.reach)
        )
        offset = ((origin[:, None] - center)[:, :, None] * normals).sum(-1)
        speed = (direction[:, None, None] * normals).sum(-1)
        still = np.abs(speed) < _PARALLEL
        pace = np.where(still, np.nan, speed)
        one, other = (-reach - offset) / pace, (reach - offset) / pace
        near, far = np.minimum(one, other), np.maximum(one, other)
        outside = still & (np.abs(offset) > reach)
        near = np.where(still, np.where(outside, np.inf, -np.inf), near).max(-1)
        far = np.where(still, np.inf, far).min(-1)
        hit = near <= far
        enter, leave = np.where(hit, near, np.inf), np.where(hit, far, -np.inf)
        return (enter, leave) if only is None else (enter[:, 0], leave[:, 0])


def footprints(boxes: Boxes, radius_m: float) -> Footprints:
    """Floor plan of boxes, grown by ``radius_m``; the floor is at the lowest point of any box."""
    generators = boxes.axes[:, :, :2] * boxes.half[:, :, None]
    length = np.hypot(boxes.axes[:, :, 0], boxes.axes[:, :, 1])
    across = np.stack([-boxes.axes[:, :, 1], boxes.axes[:, :, 0]], axis=-1)
    normals = np.where(length[..., None] > 1e-6, across / np.maximum(length, 1e-6)[..., None], 0.0)
    reach = np.abs(np.einsum("nkc,njc->nkj", normals, generators)).sum(-1) + radius_m
    half_height = np.abs(boxes.axes[:, :, 2] * boxes.half).sum(1)
    bottom, top = boxes.center[:, 2] - half_height, boxes.center[:, 2] + half_height
    floor = bottom.min(initial=np.inf)
    obstacle = (top > floor + BODY_HEIGHT_M[0]) & (bottom < floor + BODY_HEIGHT_M[1])
    return Footprints(boxes.center[:, :2], normals, reach, obstacle, bottom - floor)


# Metres from the footprint. One stands at the first; where furniture keeps one off (a telephone amid a table), at the
# first of the others that has a place, and further away one is no longer beside the object.
REACH_M: Final = (0.3, 0.45, 0.6, 0.8, 1.0)
PLACES: Final = 72  # on a ring, one every 5 degrees seen from the centre; a multiple of 4, see `_headings`
TOUCH_M: Final = 1e-6  # a body may touch; without it rounding would decide in rooms built on a grid
_CELLS: Final = 1 << 18  # pairs of places and sides at a time; bounds memory to about 30 MB


class StandablePositions(NamedTuple):
    """Places beside n objects: ``place`` (n, P, 2) in metres, and whether one can be ``free`` (n, P) there."""

    place: FloatArray
    free: BoolArray


def standing_places(boxes: Boxes, which: IntArray, radius_m: float, floor: Outlines | None) -> StandablePositions:
    """Where a body of ``radius_m`` may stand beside the boxes ``which`` (n,).

    With the outlines of the ``floor`` a place is free where the body is on it and clear of every box at its height.
    Without them all of the nearest ring is free.
    """
    around = _ring(boxes, which, REACH_M[0])
    if floor is None:
        return StandablePositions(around, np.ones(around.shape[:2], dtype=bool))
    solid = footprints(boxes, radius_m)
    free = _fits(around, solid, floor, radius_m)
    for reach_m in REACH_M[1:]:
        crowded = np.flatnonzero(~free.any(1))
        if not len(crowded):
            break
        around[crowded] = _ring(boxes, which[crowded], reach_m)
        free[crowded] = _fits(around[crowded], solid, floor, radius_m)
    return StandablePositions(around, free)


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
    sides = max(sum(map(len, floor)), 3 * len(solid.center))
    parts = [flat[part] for part in chunks(len(flat), sides, _CELLS)]
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
    length2 = np.maximum(side[:, 0] ** 2 + side[:, 1] ** 2, np.finfo(float).tiny)  # a side may have no length
    along = (offset_x * side[:, 0] + offset_y * side[:, 1]) / length2
    along = np.clip(along, 0.0, 1.0)
    gap2 = (offset_x - along * side[:, 0]) ** 2 + (offset_y - along * side[:, 1]) ** 2
    # A line to the right of the place crosses a side whose ends lie on both sides of its height.
    straddles = (offset_y < 0) != (offset_y < side[:, 1])
    turn = offset_x * side[:, 1] - offset_y * side[:, 0]
    crossed = straddles & (turn * np.sign(side[:, 1]) < 0)
    inside = crossed.sum(1) % 2 == 1
    return np.where(inside, np.sqrt(gap2.min(1)), 0.0)
