"""Distances between sampled boxes, as the released VSI-Bench computed them (profile `official` only).

The benchmark took points on a 5 cm grid in each box, removed the inner half, cropped the rest to the box with
Open3D's ``OrientedBoundingBox`` and took the smallest distance between two such clouds. Which face points survive
the crop is decided by rounding in the last bit, so the rounding is reproduced too: the rotation there was a BLAS
product with fused multiply-adds (97% of the released values come out equal without them, 99.7% with them).
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.boxes import Boxes, point_distance_m

GRID_STEP_M: Final = 0.05
_SPLITTER: Final = 134217729.0  # 2**27 + 1, Veltkamp
_ROUNDING_M: Final = 1e-9  # far above what rounding moves a point, far below what changes an answer


class SampledBoxes:
    """Grid points of N boxes, made when first asked for and kept.

    A box whose points are all lost in the crop keeps the uncropped ones: the released answers about such boxes
    (small computer mice) agree with those to 0.1 m.
    """

    def __init__(self, boxes: Boxes) -> None:

        self._boxes = boxes
        self._clouds: dict[int, FloatArray] = {}
        self._trees: dict[int, Any] = {}

    def cloud(self, index: int) -> FloatArray:
        """Points (P, 3) of one box in world coordinates, metres."""
        if index not in self._clouds:
            b = self._boxes
            self._clouds[index] = grid_cloud(b.center[index], b.half[index] * 2, b.axes[index])
        return self._clouds[index]

    def distance_m(self, first: IntArray, second: IntArray) -> FloatArray:
        """Smallest distance (N,) between the clouds of boxes first[i] and second[i]."""
        sizes = np.zeros(len(self._boxes.center), dtype=np.intp)
        for index in np.unique([first, second]).tolist():
            sizes[index] = len(self.cloud(index))
        few = np.where(sizes[first] > sizes[second], second, first)  # the points of the smaller cloud are looked up
        many = np.where(few == first, second, first)
        found = np.empty(len(first), dtype=np.float64)
        for box in np.unique(many).tolist():
            pairs = np.flatnonzero(many == box)
            found[pairs] = self._distances_to(box, few[pairs])
        return found

    def closest_points(self, first: int, second: int) -> tuple[FloatArray, FloatArray]:
        """The points (3,) of two boxes' clouds that are closest."""
        away, near = self._tree(second).query(self.cloud(first))
        best = int(away.argmin())
        return self.cloud(first)[best], self.cloud(second)[near[best]]

    def _tree(self, index: int) -> Any:
        from scipy.spatial import cKDTree  # takes half a second

        if index not in self._trees:
            # Balancing takes longer than it saves for the few points that are looked up.
            self._trees[index] = cKDTree(self.cloud(index), balanced_tree=False, compact_nodes=False)
        return self._trees[index]

    def _distances_to(self, box: int, others: IntArray) -> FloatArray:
        """Smallest distance (K,) between the cloud of a box and those of some others."""
        points, tree = np.concatenate([self.cloud(other) for other in others.tolist()]), self._tree(box)
        sizes = np.array([len(self.cloud(other)) for other in others.tolist()])
        owner, starts = np.repeat(np.arange(len(others)), sizes), np.cumsum(sizes) - sizes
        # Only points that are nearly as close to the box as their cloud's best one can be its closest.
        reach = point_distance_m(points[None], self._boxes.take(slice(box, box + 1)))[0]
        best = np.flatnonzero(reach == np.minimum.reduceat(reach, starts)[owner])
        _, of_each = np.unique(owner[best], return_index=True)
        upper = tree.query(points[best[of_each]])[0]
        near = reach <= upper[owner] + _ROUNDING_M
        away = tree.query(points[near])[0]
        _, begins = np.unique(owner[near], return_index=True)
        return np.asarray(np.minimum.reduceat(away, begins))


def grid_cloud(center: FloatArray, lengths: FloatArray, axes: FloatArray) -> FloatArray:
    """Grid points (P, 3) of one box after the removal of the inner half and Open3D's crop; metres, world frame.

    Args:
        center: (3,).
        lengths: (3,) full sides.
        axes: (3, 3), one unit axis per row.
    """
    # ceil(side / step) points a side, both ends included; a side under one step has the lower end only.
    sides = [np.linspace(-length / 2, length / 2, max(1, int(np.ceil(length / GRID_STEP_M)))) for length in lengths]
    x, y, z = (np.abs(side) <= length / 4 for side, length in zip(sides, lengths, strict=True))
    outer = ~(x[:, None, None] & y[:, None] & z).ravel()
    rotated = _rotate_fused(sides, axes)
    world = (rotated[outer] if outer.any() else rotated) + center  # a box without any extent is its center
    kept = world[_are_within(world - center, lengths, axes)]
    return kept if len(kept) else world


def _are_within(offset: FloatArray, lengths: FloatArray, axes: FloatArray) -> np.ndarray:
    """Open3D's GetPointIndicesWithinBoundingBox: |offset · axis| <= length / 2, sums from left to right."""
    inside = np.ones(len(offset), dtype=bool)
    for axis, length in zip(axes, lengths, strict=True):
        along = (offset[:, 0] * axis[0] + offset[:, 1] * axis[1]) + offset[:, 2] * axis[2]
        inside &= np.abs(along) <= length / 2
    return inside


def _rotate_fused(sides: Sequence[FloatArray], axes: FloatArray) -> FloatArray:
    """All points of a grid with these three sides, ``@ axes`` (P, 3): rounded as by chains of fused multiply-adds.

    Sums along an axis are the same for all points that differ along later ones, and are formed once.
    """
    total = sides[0][:, None] * axes[0]
    for side, axis in zip(sides[1:], axes[1:], strict=True):
        total = fused_multiply_add(side[:, None], axis, total[..., None, :])
    return total.reshape(-1, 3)


def fused_multiply_add(x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """X * y + z rounded once, of arrays that broadcast (numpy has no fma).

    Exact products and sums by Dekker and Knuth, last step rounded to odd: Boldo and Melquiond, "Emulation of a FMA
    and correctly rounded sums: proved algorithms using rounding to odd", 2008. No overflow or underflow allowed.
    """
    high, low = _two_product(x, y)
    sum_high, sum_low = _two_sum(z, low)
    total, error = _two_sum(high, sum_high)
    tail, lost = _two_sum(sum_low, error)
    even = (tail.view(np.int64) & 1) == 0
    inexact = (lost != 0) & even
    tail[inexact] = np.nextafter(tail[inexact], np.copysign(np.inf, lost[inexact]))
    return np.asarray(total + tail)


def _two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    product = a * b
    a_high, b_high = _split(a), _split(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: FloatArray) -> FloatArray:
    scaled = a * _SPLITTER
    return np.asarray(scaled - (scaled - a))


_POLYGONS: Final = 4096  # at a time; bounds memory to about 100 MB


def covered(
    polygons: Sequence[shapely.Geometry], corner: FloatArray, cell_m: float, shape: tuple[int, int]
) -> BoolArray:
    """Which cells (rows, columns) of a grid lie in any of some polygons, holes left out.

    Args:
        polygons: polygons or multipolygons.
        corner: (2,) where the first cell of the first row begins; rows go along y.
        cell_m: side of a cell.
        shape: rows and columns.
    """
    rows, columns = shape
    change = np.zeros((rows, columns + 1), dtype=np.int32)
    for begin in range(0, len(polygons), _POLYGONS):
        row, start, end = _spans(polygons[begin : begin + _POLYGONS], corner, cell_m, shape)
        np.add.at(change, (row, start), 1)
        np.add.at(change, (row, end), -1)
    np.cumsum(change, axis=1, out=change)
    inside: BoolArray = change[:, :columns] > 0
    return inside


def _spans(
    polygons: Sequence[shapely.Geometry], corner: FloatArray, cell_m: float, shape: tuple[int, int]
) -> tuple[IntArray, IntArray, IntArray]:
    """Row, first column and column after the last of every stretch of middles within one polygon."""
    rows, columns = shape
    parts, of_part = shapely.get_parts(np.array(polygons, dtype=object), return_index=True)
    rings, of_ring = shapely.get_rings(parts, return_index=True)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    places = (points - corner) / cell_m - 0.5  # in cells, from the middle of the first
    same = ring[1:] == ring[:-1]
    (x0, y0), (x1, y1) = places[:-1][same].T, places[1:][same].T
    owner = of_part[of_ring[ring[:-1][same]]]
    # Rows whose middles lie at or above the lower end, and below the upper one.
    first = np.clip(np.ceil(np.minimum(y0, y1)), 0, rows).astype(np.intp)
    after = np.clip(np.ceil(np.maximum(y0, y1)), 0, rows).astype(np.intp)
    count = after - first
    edge = np.repeat(np.arange(len(count)), count)
    row = first[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
    x = x0[edge] + (row - y0[edge]) / (y1 - y0)[edge] * (x1 - x0)[edge]
    order = np.lexsort((x, row, owner[edge]))
    crossed = np.clip(np.ceil(x[order]), 0, columns).astype(np.intp).reshape(-1, 2)  # in and out, in turn
    return row[order][::2], crossed[:, 0], crossed[:, 1]
