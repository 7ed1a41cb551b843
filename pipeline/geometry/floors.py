"""The floor as a robot sees it: where it may be, and what it meets when it goes straight on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
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
        pace = np.where(still, 1.0, speed)
        one, other = (-reach - offset) / pace, (reach - offset) / pace
        near, far = np.minimum(one, other), np.maximum(one, other)
        outside = still & (np.abs(offset) > reach)
        near = np.where(still, np.where(outside, np.inf, -np.inf), near).max(-1)
        far = np.where(still, np.where(outside, -np.inf, np.inf), far).min(-1)
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
