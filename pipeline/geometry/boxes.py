"""Oriented boxes, batched: corners and the exact closest-point distance.

A batch of N boxes is a `Boxes` of arrays. Axes are rows: a local point p lies at ``center + p @ axes``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray

_SIGNS: Final = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=np.float64)
# Edge e runs along local axis e // 4; its midpoint is _EDGE_MIDPOINTS[e] times the half lengths.
_EDGE_MIDPOINTS: Final = np.array(
    [np.insert(s, axis, 0.0) for axis in range(3) for s in ([-1, -1], [-1, 1], [1, -1], [1, 1])], dtype=np.float64
)
_SEPARATION_EPS: Final = 1e-12  # metres; below it two boxes touch
_PARALLEL_SIN2: Final = 1e-14  # squared sine below which two edges count as parallel: vertices then decide
_CHUNK: Final = 2048  # pairs at a time; bounds memory to about 30 MB


class Boxes(NamedTuple):
    """N oriented boxes: centers (N, 3), half lengths (N, 3), axes (N, 3, 3) with one unit axis per row; metres."""

    center: FloatArray
    half: FloatArray
    axes: FloatArray

    def take(self, index: IntArray | BoolArray | slice) -> Boxes:
        """The boxes at the given positions."""
        return Boxes(self.center[index], self.half[index], self.axes[index])

    def corners(self) -> FloatArray:
        """Corners (N, 8, 3) in world coordinates."""
        local = _SIGNS[None] * self.half[:, None, :]
        return self.center[:, None, :] + _rotate(local, self.axes)


def stack(center: npt.ArrayLike, lengths: npt.ArrayLike, axes: npt.ArrayLike) -> Boxes:
    """Boxes from centers (N, 3), full side lengths (N, 3) and axes (N, 3, 3) or (N, 9), rows = axes."""
    return Boxes(
        np.asarray(center, dtype=np.float64).reshape(-1, 3),
        np.asarray(lengths, dtype=np.float64).reshape(-1, 3) / 2,
        np.asarray(axes, dtype=np.float64).reshape(-1, 3, 3),
    )


def closest_distance_m(a: Boxes, b: Boxes) -> FloatArray:
    """Exact closest-point distance (N,) between a[i] and b[i]; 0 where they touch or overlap.

    Two disjoint convex polyhedra are closest either at a corner of one and some point of the other, or at the
    interiors of two edges. The first is a point-to-box distance in closed form (8 + 8 of them), the second a
    segment-to-segment distance (12 x 12). Overlap is found with the separating-axis test. Thin boxes, sides of
    length 0 included, need no special case.
    """
    out = np.empty(len(a.center))
    for start in range(0, len(out), _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = _distance_chunk(a.take(part), b.take(part))
    return out


def plan_distance_m(a: Boxes, b: Boxes) -> FloatArray:
    """Distance (N,) between a[i] and b[i] as seen from above; 0 where their outlines touch or overlap."""
    import shapely  # takes a tenth of a second

    outlines = [shapely.convex_hull(shapely.multipoints(boxes.corners()[:, :, :2])) for boxes in (a, b)]
    return np.asarray(shapely.distance(*outlines), dtype=np.float64)


def horizontal_side_m(boxes: Boxes) -> FloatArray:
    """The longer (N,) of the two sides of each box that are not its most upright one."""
    upright = np.abs(boxes.axes[:, :, 2]).argmax(1)
    lying = np.arange(3)[None] != upright[:, None]
    return np.where(lying, 2 * boxes.half, 0.0).max(1)


def closest_points(a: Boxes, b: Boxes) -> tuple[FloatArray, FloatArray]:
    """Points (N, 3) of a[i] and b[i] that are as far apart as `closest_distance_m` says, for boxes that do not overlap.

    Of several such pairs, as between parallel sides, one. Takes 30 kB per pair.
    """
    corners_a, corners_b = a.corners(), b.corners()
    s, t = _edge_places(a, b)
    mid_a, mid_b = _edge_midpoints(a), _edge_midpoints(b)
    dir_a, dir_b = np.repeat(a.axes, 4, axis=1), np.repeat(b.axes, 4, axis=1)
    edge_a = mid_a[:, :, None] + s[..., None] * dir_a[:, :, None]
    edge_b = mid_b[:, None] + t[..., None] * dir_b[:, None]
    on_a = np.concatenate([corners_a, _nearest_in(corners_b, a), edge_a.reshape(len(s), -1, 3)], axis=1)
    on_b = np.concatenate([_nearest_in(corners_a, b), corners_b, edge_b.reshape(len(s), -1, 3)], axis=1)
    best = _inner(on_a - on_b, on_a - on_b).argmin(1)
    rows = np.arange(len(best))
    return on_a[rows, best], on_b[rows, best]


def _nearest_in(points: FloatArray, boxes: Boxes) -> FloatArray:
    """The point of box n nearest to each point (N, P, 3)."""
    half = boxes.half[:, None, :]
    local = np.clip(_to_local(points - boxes.center[:, None, :], boxes.axes), -half, half)
    return boxes.center[:, None, :] + _rotate(local, boxes.axes)


def point_distance_m(points: FloatArray, boxes: Boxes) -> FloatArray:
    """Distance (N, P) of points (N, P, 3) to box n; 0 inside."""
    local = _to_local(points - boxes.center[:, None, :], boxes.axes)
    outside = np.maximum(np.abs(local) - boxes.half[:, None, :], 0.0)
    return np.sqrt((outside**2).sum(-1))


def _distance_chunk(a: Boxes, b: Boxes) -> FloatArray:
    distance = np.minimum(point_distance_m(a.corners(), b).min(1), point_distance_m(b.corners(), a).min(1))
    open_pairs = np.flatnonzero(distance > _SEPARATION_EPS)
    if len(open_pairs):
        a, b = a.take(open_pairs), b.take(open_pairs)
        closest = np.minimum(distance[open_pairs], _edge_distance_m(a, b))
        distance[open_pairs] = np.where(_separated(a, b), closest, 0.0)
    distance[distance <= _SEPARATION_EPS] = 0.0
    return distance


def _edge_distance_m(a: Boxes, b: Boxes) -> FloatArray:
    """Smallest distance (N,) over the 144 pairs of edges; every value is attained by two real points."""
    s, t = _edge_places(a, b)
    offset = _edge_midpoints(a)[:, :, None, :] - _edge_midpoints(b)[:, None, :, :]
    dir_a, dir_b = np.repeat(a.axes, 4, axis=1), np.repeat(b.axes, 4, axis=1)  # (N, 12, 3) unit
    gap = offset + s[..., None] * dir_a[:, :, None, :] - t[..., None] * dir_b[:, None, :, :]
    return np.sqrt(_inner(gap, gap).reshape(len(gap), -1).min(1))


def _edge_places(a: Boxes, b: Boxes) -> tuple[FloatArray, FloatArray]:
    """Where the 12 x 12 edges are closest: metres (N, 12, 12) from the middle of a's edge, and of b's."""
    mid_a = _edge_midpoints(a)[:, :, None, :]  # (N, 12, 1, 3)
    mid_b = _edge_midpoints(b)[:, None, :, :]
    offset = mid_a - mid_b
    dir_a, dir_b = np.repeat(a.axes, 4, axis=1), np.repeat(b.axes, 4, axis=1)  # (N, 12, 3) unit
    half_a, half_b = np.repeat(a.half, 4, axis=1)[:, :, None], np.repeat(b.half, 4, axis=1)[:, None, :]
    cosine = _inner(dir_a[:, :, None, :], dir_b[:, None, :, :])
    along_a, along_b = _inner(dir_a[:, :, None, :], offset), _inner(dir_b[:, None, :, :], offset)
    sin2 = 1.0 - cosine**2
    parallel = sin2 < _PARALLEL_SIN2
    s = np.clip((cosine * along_b - along_a) / np.where(parallel, np.inf, sin2), -half_a, half_a)
    t = np.clip(along_b + s * cosine, -half_b, half_b)
    s = np.clip(t * cosine - along_a, -half_a, half_a)
    return s, t


def _separated(a: Boxes, b: Boxes) -> BoolArray:
    """Separating-axis test (N,): True where a plane lies between the boxes."""
    offset = b.center - a.center
    cosines = np.abs(np.einsum("nik,njk->nij", a.axes, b.axes))
    on_a = np.abs(np.einsum("nik,nk->ni", a.axes, offset)) - a.half - np.einsum("nij,nj->ni", cosines, b.half)
    on_b = np.abs(np.einsum("njk,nk->nj", b.axes, offset)) - b.half - np.einsum("nij,ni->nj", cosines, a.half)
    normal = np.cross(a.axes[:, :, None, :], b.axes[:, None, :, :])
    length = np.sqrt(_inner(normal, normal))
    normal = normal / np.where(length < np.sqrt(_PARALLEL_SIN2), np.inf, length)[..., None]
    reach_a = np.einsum("nijk,nlk->nijl", normal, a.axes)
    reach_b = np.einsum("nijk,nlk->nijl", normal, b.axes)
    on_edges = (
        np.abs(np.einsum("nijk,nk->nij", normal, offset))
        - np.einsum("nijl,nl->nij", np.abs(reach_a), a.half)
        - np.einsum("nijl,nl->nij", np.abs(reach_b), b.half)
    )
    gap = np.maximum(np.maximum(on_a.max(1), on_b.max(1)), on_edges.reshape(len(offset), -1).max(1))
    return np.asarray(gap > _SEPARATION_EPS)


def _edge_midpoints(boxes: Boxes) -> FloatArray:
    return boxes.center[:, None, :] + _rotate(_EDGE_MIDPOINTS[None] * boxes.half[:, None, :], boxes.axes)


# Sums of three products are written out instead of using matmul: BLAS kernels round differently from one
# processor to the next, and releases are to be equal to the byte.
def _inner(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(x[..., 0] * y[..., 0] + x[..., 1] * y[..., 1] + x[..., 2] * y[..., 2])


def _rotate(local: FloatArray, axes: FloatArray) -> FloatArray:
    """Local (N, P, 3) to world directions: ``local @ axes``."""
    return np.asarray(
        local[..., 0:1] * axes[:, None, 0] + local[..., 1:2] * axes[:, None, 1] + local[..., 2:3] * axes[:, None, 2]
    )


def _to_local(world: FloatArray, axes: FloatArray) -> FloatArray:
    """World directions (N, P, 3) to local coordinates: ``world @ axes.T``."""
    return np.asarray(
        world[..., 0:1] * axes[:, None, :, 0]
        + world[..., 1:2] * axes[:, None, :, 1]
        + world[..., 2:3] * axes[:, None, :, 2]
    )
