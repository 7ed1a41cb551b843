"""Upright rectangles on the ground: which way they look, what lies in them, how near they come to one another.

A rectangle has a middle (..., 2), half its length and width (..., 2), and a yaw (...,) in degrees, counter-clockwise
from x. All inputs broadcast over their leading dimensions; what is not known (NaN) stays NaN.
"""

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.geometry.angles import turned_about_z

_SIGNS: Final = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


class Rectangles(NamedTuple):
    """Middle (..., 2), half of length and width (..., 2), metres; yaw (...,), degrees."""

    middle: FloatArray
    half: FloatArray
    yaw_deg: FloatArray

    def corners(self) -> FloatArray:
        """Corners (..., 4, 2), counter-clockwise from the left front one."""
        local = _SIGNS * self.half[..., None, :]
        return self.middle[..., None, :] + turned_about_z(local, self.yaw_deg[..., None])

    def local(self, points: FloatArray) -> FloatArray:
        """Points (..., k, 2) as (ahead, left) of the middles, (..., k, 2)."""
        return turned_about_z(points - self.middle[..., None, :], -self.yaw_deg[..., None])


def distance_to_m(rectangles: Rectangles, points: FloatArray) -> FloatArray:
    """Distance (..., k) of points (..., k, 2) to rectangles; 0 inside."""
    beyond = np.maximum(np.abs(rectangles.local(points)) - rectangles.half[..., None, :], 0.0)
    return np.hypot(beyond[..., 0], beyond[..., 1])


def gap_m(a: Rectangles, b: Rectangles) -> FloatArray:
    """Distance (...,) between the nearest points of two rectangles; 0 where they touch or overlap.

    Of two convex shapes apart from one another, a corner of one is among the two nearest points.
    """
    apart = np.minimum(distance_to_m(b, a.corners()).min(-1), distance_to_m(a, b.corners()).min(-1))
    separated = _reach(a, b) | _reach(b, a)
    return np.where(np.isnan(apart) | separated, apart, 0.0)


def _reach(a: Rectangles, b: Rectangles) -> BoolArray:
    """Whether a line along a side of ``a`` keeps it apart from ``b`` (separating axis)."""
    corners = a.local(b.corners())
    return np.asarray(((corners.min(-2) > a.half) | (corners.max(-2) < -a.half)).any(-1))
