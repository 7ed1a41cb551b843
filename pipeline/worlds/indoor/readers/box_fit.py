"""Boxes fitted to the vertices of an instance: upright ones, or Open3D's minimal ones in any orientation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, get_args

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import OrientedBox

BoxFit = Literal["gravity", "minimal"]
# Rectangles whose areas agree to this are equally good, and the one turned least from the axes is taken: or the
# rounding of the last digit would choose among the sides of a square.
_SAME_AREA: Final = 1e-9
_OUTSIDE_M: Final = 1e-6  # a point this far outside a box is in it


def fit_gravity(points: FloatArray) -> OrientedBox:
    """Upright box of points (N, 3), N >= 1: the rectangle of least area on the floor plane, times the height.

    Axes: the longer side on the floor, the shorter one, up; right-handed. A side may be 0 where all points lie in a
    plane or on a line.
    """
    low, high = points[:, 2].min(), points[:, 2].max()
    direction, minimum, maximum = smallest_rectangle(points[:, :2])
    along, across = np.array([direction[0], direction[1]]), np.array([-direction[1], direction[0]])
    size, middle = maximum - minimum, (maximum + minimum) / 2
    if size[1] > size[0]:
        along, across = across, -along
        size, middle = size[::-1], np.array([middle[1], -middle[0]])
    center = middle[0] * along + middle[1] * across
    return _box(
        np.array([center[0], center[1], (low + high) / 2]),
        np.array([size[0], size[1], high - low]),
        np.array([[along[0], along[1], 0.0], [across[0], across[1], 0.0], [0.0, 0.0, 1.0]]),
    )


def fit_minimal(points: FloatArray) -> OrientedBox:
    """Open3D's minimal box of points (N, 3), N >= 1; `fit_gravity` where they lie in a plane and have none.

    The plain method is the one that VSI-Bench used. It tries every triangle of the convex hull, and one without area
    among them makes it give a box of no size; then the method for tensors is asked.
    """
    import open3d as o3d  # takes half a second, which who fits upright boxes need not wait for

    plain, tensors = o3d.geometry.OrientedBoundingBox, o3d.t.geometry.OrientedBoundingBox
    cloud = np.ascontiguousarray(points)
    attempts: tuple[Callable[[], Any], ...] = (
        lambda: plain.create_from_points_minimal(o3d.utility.Vector3dVector(cloud)),
        lambda: tensors.create_from_points(
            o3d.core.Tensor.from_numpy(cloud), method=o3d.t.geometry.MINIMAL_APPROX
        ).to_legacy(),
    )
    for attempt in attempts:
        try:
            found = attempt()
        except RuntimeError:  # no convex hull: fewer than four points, or all in a plane
            continue
        axes = np.array(found.R).T
        axes[2] *= np.sign(np.linalg.det(axes))
        box = _box(np.asarray(found.center), np.asarray(found.extent), axes)
        if _holds(box, cloud):
            return box
    return fit_gravity(points)


def _holds(box: OrientedBox, points: FloatArray) -> bool:
    offset = np.abs((points - np.array(box.center)) @ np.array(box.axes).T)
    return bool((offset <= np.array(box.lengths) / 2 + _OUTSIDE_M).all())


BOX_FITS: Final[dict[str, Callable[[FloatArray], OrientedBox]]] = {"gravity": fit_gravity, "minimal": fit_minimal}
BOX_METHODS: Final[dict[str, str]] = {
    "gravity": "fitted: upright, least area on the floor plane",
    "minimal": "fitted: Open3D minimal oriented bounding box",
}
if set(BOX_FITS) != set(get_args(BoxFit)):
    raise AssertionError("every kind of fit has a function")


def smallest_rectangle(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The enclosing rectangle of least area of points (N, 2).

    One of its sides lies on an edge of the convex hull (the theorem behind rotating calipers); all edges are tried at
    once. Gives the unit direction of its first side, in the first quadrant, and the lowest and highest coordinates
    (2,) along this direction and the one 90 degrees counter-clockwise of it.
    """
    corners = _hull(points)
    edges = np.roll(corners, -1, axis=0) - corners
    length = np.hypot(edges[:, 0], edges[:, 1])
    edges = edges[length > 0] / length[length > 0, None]
    if not len(edges):
        edges = np.array([[1.0, 0.0]])
    # A rectangle has four directions; the one in [0, 90) degrees stands for it.
    for _ in range(3):
        turn = ~((edges[:, 0] > 0) & (edges[:, 1] >= 0))
        edges[turn] = np.stack([-edges[turn, 1], edges[turn, 0]], axis=1)
    # Products of two are written out instead of using matmul, whose rounding differs between processors.
    along = corners[:, 0] * edges[:, :1] + corners[:, 1] * edges[:, 1:]
    across = corners[:, 1] * edges[:, :1] - corners[:, 0] * edges[:, 1:]
    low = np.stack([along.min(1), across.min(1)], axis=1)
    high = np.stack([along.max(1), across.max(1)], axis=1)
    area = (high - low).prod(axis=1)
    good = np.flatnonzero(area <= area.min() * (1 + _SAME_AREA) + _SAME_AREA**2)
    best = good[np.argmin(edges[good, 1])]
    return edges[best], low[best], high[best]


def _hull(points: FloatArray) -> FloatArray:
    """Corners (H, 2) of the convex hull in order; both ends where the points are on a line."""
    if len(points) > 2:
        try:
            hull: FloatArray = points[ConvexHull(points).vertices]
        except QhullError:  # on a line, or nearly: Qhull sees no area
            pass
        else:
            return hull
    middle = points.mean(axis=0)
    offset = points - middle
    spread = offset[np.argmax((offset**2).sum(axis=1))]
    along = (offset * spread).sum(axis=1)
    return points[[int(along.argmin()), int(along.argmax())]]


def _box(center: FloatArray, lengths: FloatArray, axes: FloatArray) -> OrientedBox:
    a, b, c = (tuple(map(float, row)) for row in axes)
    return OrientedBox.model_validate(
        {"center": tuple(map(float, center)), "lengths": tuple(map(float, lengths)), "axes": (a, b, c)}
    )
