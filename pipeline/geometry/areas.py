"""Room size: the two-dimensional alpha shape of a point cloud, its area and its outlines.

The area is that of the package `alphashape`, which VSI-Bench's public generator used: Delaunay triangles whose
circumradius is below 1 / alpha, and **everything they enclose**. The package polygonizes the edges of those triangles
and joins the faces, which fills the holes; so a gap in the scan amid the floor counts as floor. `AlphaShape.holes_m2`
tells how much of the area is of that kind, and the outlines show where it lies.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray

ROOM_ALPHA_PER_M: Final = 5.0  # VSI-Bench's public generator of room_size; circles of 0.2 m
Failure = Literal["points_not_finite", "points_too_few", "points_collinear", "no_triangle_small_enough"]

# The raster of `without_inner_points`, in cells: any two cells of a block are closer than the radius less the slack,
# so that ground with a point in every block of 0.6 radii counts as closed.
_RADIUS_CELLS: Final = 5
_BLOCK_CELLS: Final = 3
_SLACK_CELLS: Final = 1.5  # two points lie up to sqrt(2) cells nearer or farther than the centres of their cells
_FLAT_INPUT: Final = ("QH6154", "QH6013")  # Qhull: "initial simplex is flat", "input is less than 2-dimensional"


@dataclass(frozen=True)
class AlphaShape:
    """An alpha shape, or why there is none.

    Attributes:
        area_m2: area with the holes filled in, as the package `alphashape` has it; None if there is no shape.
        holes_m2: the part of ``area_m2`` that no triangle covers; None if there is no shape.
        outlines: closed rings (K + 1, 2), the last point equal to the first. Outer ones counter-clockwise, holes
            clockwise; no ring meets a point twice, but rings may touch one another in points. Outer rings come
            first; each starts at its lowest point (by x, then y), and rings are in the order of these.
        points: (P, 2) distinct points, in order of x, then y, without those that `without_inner_points` drops.
        triangles: (T, 3) indices into ``points``, counter-clockwise; together they are the shape without its holes.
        failure: why there is no shape; None if there is one.
        measured: what the failure is about: number of points that are not finite, of distinct points, of collinear
            points, or the smallest circumradius in metres; None if there is a shape.
    """

    area_m2: float | None
    holes_m2: float | None
    outlines: tuple[FloatArray, ...] = ()
    points: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    triangles: IntArray = field(default_factory=lambda: np.empty((0, 3), dtype=np.intp))
    failure: Failure | None = None
    measured: float | None = None


def room_area(points: npt.ArrayLike, alpha: float = ROOM_ALPHA_PER_M, voxel_m: float | None = None) -> AlphaShape:
    """Alpha shape of a scan on the floor plane.

    By default every point counts, which makes the area independent of how the scan lies in its frame. (Points that
    cannot matter are left out by a grid of our own, see `without_inner_points`, without touching the result.)

    Args:
        points: (N, 3) metres, z up.
        alpha: per metre; triangles with a circumradius below 1 / alpha are kept, 0 gives the convex hull.
        voxel_m: thins the cloud first, to the mean of the points in each occupied cell of this size on the floor
            plane. The mean favours no side of the cell, as the first or the last point would; even so the room loses
            about half a cell all around, and its area depends on how it lies to the grid.

    Raises:
        ValueError: for another shape of ``points``, and for an ``alpha`` or ``voxel_m`` out of range.
    """
    cloud = _as_points(points, 3)
    if voxel_m is not None and not 0 < voxel_m < np.inf:
        raise ValueError(f"voxel_m is {voxel_m}; give a size in metres, or None to use every point")
    bad = _not_finite(cloud)  # a vertex without a height is as broken as one without a place
    if bad:
        return _failed("points_not_finite", bad)
    floor = cloud[:, :2]
    return alpha_shape(floor if voxel_m is None else _voxel_means(floor, voxel_m), alpha)


def alpha_shape(points: npt.ArrayLike, alpha: float) -> AlphaShape:
    """Alpha shape of points on the plane; the same to the byte for any order of the points, duplicates or not.

    Three points get no treatment of their own, while the package returns their convex hull whatever the alpha.

    Args:
        points: (N, 2) metres.
        alpha: per metre, as in `room_area`.

    Raises:
        ValueError: for another shape of ``points``, and for an ``alpha`` that is negative or not finite.
    """
    from scipy.spatial import Delaunay, QhullError  # takes half a second

    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha is {alpha}; give 1 / radius in metres, or 0 for the convex hull")
    cloud = _as_points(points, 2)
    bad = _not_finite(cloud)
    if bad:
        return _failed("points_not_finite", bad)
    distinct = _sorted_distinct(cloud)
    if len(distinct) < 3:
        return _failed("points_too_few", len(distinct))
    radius_m = 1.0 / alpha if alpha else np.inf
    survivors = without_inner_points(distinct, radius_m)
    try:
        mesh = Delaunay(survivors)
    except QhullError as error:
        if not str(error).startswith(_FLAT_INPUT):
            raise
        return _failed("points_collinear", len(distinct))
    radii = _circumradius_m(survivors[mesh.simplices])
    kept = radii < radius_m
    if not kept.any():
        return _failed("no_triangle_small_enough", float(radii.min()))
    return _shape(survivors, mesh.simplices.astype(np.intp), mesh.neighbors.astype(np.intp), kept)


def without_inner_points(points: FloatArray, radius_m: float) -> FloatArray:
    """The points (N, 2) less those that cannot change the shape of circles of ``radius_m``; the order stays.

    What the shape leaves out is the union of the empty circles of that radius. A point may go if no such circle could
    contain it even if only the *anchors*, one point in each occupied block, were there: then the empty circles are the
    same with and without it. This is decided on a raster, with distances rounded to the safe side: the centres of
    circles empty of anchors, and the cells farther than a radius from all of these (a morphological closing).
    """
    from scipy.ndimage import distance_transform_edt  # takes half a second

    if np.isinf(radius_m):
        return points
    cell_m = radius_m / _RADIUS_CELLS
    low = points.min(0)
    border = _RADIUS_CELLS + _BLOCK_CELLS  # the ground around the points is empty, and circles lie on it
    size = (points.max(0) - low) / cell_m + 2 * border + 1
    if size.prod() > len(points) * _BLOCK_CELLS**2:  # less than a point per block: hardly any could go
        return points
    cells = ((points - low) / cell_m).astype(np.intp) + border
    columns, rows = size.astype(np.intp)
    blocks = cells // _BLOCK_CELLS
    anchors = np.unique(blocks[:, 0] * rows + blocks[:, 1], return_index=True)[1]
    bare = np.ones((columns, rows), dtype=bool)
    bare[cells[anchors, 0], cells[anchors, 1]] = False
    closed = distance_transform_edt(bare) < _RADIUS_CELLS - _SLACK_CELLS  # no empty circle is centred here
    inner = distance_transform_edt(closed) >= _RADIUS_CELLS + _SLACK_CELLS
    stays = ~inner[cells[:, 0], cells[:, 1]]
    stays[anchors] = True
    return points[stays]


def _shape(points: FloatArray, triangles: IntArray, neighbors: IntArray, kept: BoolArray) -> AlphaShape:
    """The shape of the kept triangles; ``neighbors[t, k]`` lies opposite to corner k of triangle t, -1 for none."""
    beyond = neighbors.ravel()
    # Half-edge 3 t + k runs along triangle t, from corner k + 1 to corner k + 2.
    tail, head = np.roll(triangles, -1, 1).ravel(), np.roll(triangles, -2, 1).ravel()
    edges = np.flatnonzero(np.repeat(kept, 3) & ~(kept[beyond] & (beyond >= 0)))
    edges = edges[np.lexsort((head[edges], tail[edges]))]  # an order that depends on where the edges lie alone
    outside = _reaches_outside(neighbors, kept)
    start = points[tail[edges]] - points[0]
    end = points[head[edges]] - points[0]
    swept = (start[:, 0] * end[:, 1] - start[:, 1] * end[:, 0]) / 2
    covered_m2 = float(swept.sum())
    area_m2 = float(swept[outside[beyond[edges]]].sum())
    following = _following(triangles, beyond, tail, head, edges)
    return AlphaShape(
        area_m2=area_m2,
        holes_m2=max(area_m2 - covered_m2, 0.0),
        outlines=_outlines(points, tail[edges], _split_at_touching(following, head[edges]), swept),
        points=points,
        triangles=triangles[kept],
    )


def _reaches_outside(neighbors: IntArray, kept: BoolArray) -> BoolArray:
    """Whether each triangle (T,) is connected to the outside without crossing a kept one; last entry: the outside."""
    from scipy.sparse import coo_array  # takes half a second
    from scipy.sparse.csgraph import connected_components

    count = len(kept)
    first, second = np.repeat(np.arange(count), 3), np.where(neighbors < 0, count, neighbors).ravel()
    free = ~np.append(kept, False)
    passable = free[first] & free[second]
    links = (np.ones(passable.sum(), dtype=bool), (first[passable], second[passable]))
    labels = connected_components(coo_array(links, shape=(count + 1, count + 1)))[1]
    return np.asarray(labels == labels[count])


def _following(triangles: IntArray, beyond: IntArray, tail: IntArray, head: IntArray, edges: IntArray) -> IntArray:
    """For each boundary half-edge the position in ``edges`` of the next one, around the kept triangles at its head."""
    half_edges = np.arange(len(tail))
    ahead = half_edges - half_edges % 3 + (half_edges + 1) % 3
    # The twin in the triangle beyond lies opposite to the corner that is not on the edge.
    corners = triangles[beyond]
    twin = 3 * beyond + ((corners != tail[:, None]) & (corners != head[:, None])).argmax(1)
    position = np.full(len(tail), -1)
    position[edges] = np.arange(len(edges))
    turn = np.where(position >= 0, half_edges, ahead[np.where(beyond < 0, half_edges, twin)])
    following = turn[ahead[edges]]
    # The stride doubles each time. It ends: turning is one-to-one and starts where no half-edge inside turns to, so
    # that it cannot go in a circle.
    while (position[following] < 0).any():
        turn = turn[turn]
        following = turn[ahead[edges]]
    return position[following]


def _split_at_touching(following: IntArray, head: IntArray) -> IntArray:
    """Successors (E,) such that no ring meets a point twice.

    Where a ring comes to a point several times, each visit goes on as the one before it did, which cuts the ring into
    one ring per visit. Visits to two points never alternate, since a boundary does not cross itself, so all points can
    be treated at once.
    """
    ring, rank = _rings(following)
    order = np.lexsort((rank, head, ring))
    first = np.append(True, (np.diff(ring[order]) != 0) | (np.diff(head[order]) != 0))
    starts = np.flatnonzero(first)
    before = np.arange(len(order)) - 1
    before[starts] = np.append(starts[1:], len(order)) - 1
    split = np.empty_like(following)
    split[order] = following[order[before]]
    return split


def _rings(following: IntArray) -> tuple[IntArray, IntArray]:
    """For each edge (E,) the lowest edge of its ring, and the number of steps to it from there."""
    lowest, jump = np.arange(len(following)), following
    for _ in range(len(following).bit_length()):
        lowest, jump = np.minimum(lowest, lowest[jump]), jump[jump]
    last = following == lowest
    jump = np.where(last, np.arange(len(following)), following)
    remaining = np.where(last, 0, 1)
    for _ in range(len(following).bit_length()):
        remaining, jump = remaining + remaining[jump], jump[jump]
    return lowest, remaining[lowest] - remaining


def _outlines(points: FloatArray, tail: IntArray, following: IntArray, swept: FloatArray) -> tuple[FloatArray, ...]:
    ring, rank = _rings(following)
    area = np.bincount(ring, swept, minlength=len(ring))
    order = np.lexsort((rank, ring, area[ring] < 0))
    starts = np.flatnonzero(rank[order] == 0)
    rings = np.split(points[tail[order]], starts[1:])
    return tuple(np.concatenate([ring, ring[:1]]) for ring in rings)


def _circumradius_m(corners: FloatArray) -> FloatArray:
    """Radius (T,) of the circle through the corners (T, 3, 2); infinite where they are on a line."""
    sides = corners[:, [1, 2, 0]] - corners
    lengths = np.sqrt((sides**2).sum(-1))
    double_area = np.abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0])
    with np.errstate(divide="ignore"):
        return np.asarray(lengths.prod(1) / (2 * double_area))


def _voxel_means(points: FloatArray, voxel_m: float) -> FloatArray:
    """Mean (M, 2) of the distinct points in each occupied cell; the grid starts at the lowest coordinates."""
    distinct = _sorted_distinct(points)
    if not len(distinct):
        return distinct
    cells = np.floor((distinct - distinct.min(0)) / voxel_m)
    order = np.lexsort(cells.T)
    starts = np.flatnonzero(np.append(True, (np.diff(cells[order], axis=0) != 0).any(1)))
    return np.asarray(np.add.reduceat(distinct[order], starts) / np.diff(np.append(starts, len(order)))[:, None])


def _sorted_distinct(points: FloatArray) -> FloatArray:
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))] + 0.0  # -0.0 becomes 0.0, and two zeros are one point
    return ordered[np.append(True, (np.diff(ordered, axis=0) != 0).any(1))[: len(ordered)]]


def _as_points(points: npt.ArrayLike, dimensions: int) -> FloatArray:
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.ndim != 2 or cloud.shape[1] != dimensions:
        raise ValueError(f"points have the shape {cloud.shape}; give (N, {dimensions})")
    return cloud


def _not_finite(points: FloatArray) -> int:
    return int((~np.isfinite(points)).any(1).sum())


def _failed(failure: Failure, measured: float) -> AlphaShape:
    return AlphaShape(area_m2=None, holes_m2=None, failure=failure, measured=float(measured))
