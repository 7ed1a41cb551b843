"""Boxes fitted to the vertices of an instance: upright ones, or minimal ones in any orientation by one of two rules.

Open3D has had two rules for its "minimal" box, and the boxes that VSI-Bench released come from the older one (Open3D
0.18 and before): their sides fall on its axes as its own do. The newer one (since 0.19, after Jylänki) finds smaller
boxes, whose sides differ from the older ones' by about a centimetre in the middle, and by ten at worst.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, get_args

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import OrientedBox

BoxFit = Literal["gravity", "minimal", "minimal_jylanki"]
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
    """The minimal box of Open3D up to 0.18 for points (N, 3), N >= 1; `fit_gravity` where they lie in a plane.

    Over all triangles of the convex hull, the smallest box of which one side lies in the triangle and one edge runs
    along the triangle's first edge. Axes: that edge, across it in the triangle, the triangle's normal; right-handed.
    Triangles and their first edges are those that Qhull gives with its option Qt, as in Open3D. Unlike there,
    triangles without area are left out: they have no normal.
    """
    from scipy.spatial import ConvexHull, QhullError  # takes half a second

    if len(points) < 4:
        return fit_gravity(points)
    try:
        hull = ConvexHull(points)  # always with Qt
    except QhullError:  # all in a plane, or nearly
        return fit_gravity(points)
    corners = points[hull.vertices]
    a, b, c = (points[hull.simplices[:, i]] for i in range(3))
    along, normal = b - a, np.cross(b - a, c - a)
    # Scipy turns a triangle by swapping its first two corners, so that the edge stays and its direction may not.
    outward = np.einsum("ti,ti->t", normal, a - corners.mean(axis=0)) < 0
    normal[outward], along[outward] = -normal[outward], -along[outward]
    good = (normal**2).sum(axis=1) > 0
    axes = np.stack([along[good], np.cross(normal[good], along[good]), normal[good]], axis=1)
    axes /= np.sqrt((axes**2).sum(axis=2))[..., None]
    # Products of three are written out instead of using matmul, whose rounding differs between processors.
    x, y, z = corners.T
    local = axes[..., :1] * x + axes[..., 1:2] * y + axes[..., 2:] * z  # (T, 3, corners)
    low, high = local.min(axis=2), local.max(axis=2)
    best = int(np.argmin((high - low).prod(axis=1)))
    middle, rows = (low[best] + high[best]) / 2, axes[best]
    center = middle[0] * rows[0] + middle[1] * rows[1] + middle[2] * rows[2]
    return _box(center, high[best] - low[best], rows)


def fit_minimal_jylanki(points: FloatArray) -> OrientedBox:
    """Open3D's minimal box since 0.19 for points (N, 3), N >= 1; `fit_gravity` where they lie in a plane.

    Jylänki, "An Exact Algorithm for Finding Minimum Oriented Bounding Boxes" (2015). The plain method gives a box of
    no size where a triangle of the hull has no area; then the method for tensors is asked.
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


BOX_FITS: Final[dict[str, Callable[[FloatArray], OrientedBox]]] = {
    "gravity": fit_gravity,
    "minimal": fit_minimal,
    "minimal_jylanki": fit_minimal_jylanki,
}
BOX_METHODS: Final[dict[str, str]] = {
    "gravity": "fitted: upright, least area on the floor plane",
    "minimal": "fitted: minimal over the triangles of the convex hull (Open3D up to 0.18)",
    "minimal_jylanki": "fitted: minimal after Jylanki (Open3D since 0.19)",
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
    from scipy.spatial import ConvexHull, QhullError  # takes half a second

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
