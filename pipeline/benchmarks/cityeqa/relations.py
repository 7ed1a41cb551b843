"""Where things of a city lie of one another: distances and compass bearings between the nearest points of footprints.

A bearing holds *surely* where it lies within 45 degrees less a margin of an axis, and *possibly* within 45 degrees
plus that margin, or where two things touch and have no bearing at all. A wording that leads somewhere surely, and
nowhere else even possibly, leads to one place.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.worlds.city.facts import City

QUARTER_DEG: Final = 45.0  # half of what a direction covers
TOUCHING_M: Final = 1.0  # nearer, the nearest points tell no direction


class Pairs(NamedTuple):
    """Relations of n pairs.

    Attributes:
        one: (n,) index of what it is seen from: a thing, or a point.
        other: (n,) index of the thing that lies there.
        distance_m: (n,) between the nearest points.
        bearing_deg: (n,) compass bearing from the one's nearest point to the other's.
    """

    one: IntArray
    other: IntArray
    distance_m: FloatArray
    bearing_deg: FloatArray

    def off_axis_deg(self, direction: int) -> FloatArray:
        """Angle (n,) between the bearing and a direction: 0 north, 1 east, 2 south, 3 west."""
        return np.abs((self.bearing_deg - 90.0 * direction + 180) % 360 - 180)

    def holds(
        self, direction: int, margin_deg: float, reach_m: float, near_m: float = 0.0
    ) -> tuple[BoolArray, BoolArray]:
        """Whether the other lies surely (n,), and whether it lies possibly, in a direction within a reach.

        Args:
            direction: 0 north, 1 east, 2 south, 3 west.
            margin_deg: by which a sure bearing keeps from the diagonals, and a possible one may pass them.
            reach_m: how far it may be; possibly a tenth farther.
            near_m: how far it must be to be there surely.
        """
        off = self.off_axis_deg(direction)
        apart = self.distance_m >= TOUCHING_M
        sure = apart & (off <= QUARTER_DEG - margin_deg) & (self.distance_m <= reach_m) & (self.distance_m >= near_m)
        maybe = (~apart | (off <= QUARTER_DEG + margin_deg)) & (self.distance_m <= 1.1 * reach_m)
        return sure, maybe


def footprints(city: City) -> np.ndarray:
    """(T,) shapely geometries of a city's things: polygons, or points."""
    return np.array(
        [shapely.Point(t.center) if t.outline is None else shapely.Polygon(t.outline) for t in city.things],
        dtype=object,
    )


class Relations:
    """All pairs of things within a reach, and of points and things.

    Args:
        shapes: (T,) footprints.
        anchors: (A,) indices of the things that others are seen from.
        reach_m: of the pairs.
    """

    def __init__(self, shapes: np.ndarray, anchors: IntArray, reach_m: float) -> None:
        self.shapes, self.reach_m = shapes, reach_m
        self.tree = shapely.STRtree(shapes)
        self.pairs = self._pairs(shapes[anchors], reach_m, anchors)

    def of_points(self, points: FloatArray, reach_m: float, among: IntArray | None = None) -> Pairs:
        """Pairs of points (n, 2) and all things within a reach of them, or those of some (k,)."""
        of = shapely.points(points[:, :2])
        if among is None:
            return self._pairs(of, reach_m)
        one, other = shapely.STRtree(self.shapes[among]).query(of, predicate="dwithin", distance=1.1 * reach_m)
        return _pairs_of(one, among[other], shapely.shortest_line(of[one], self.shapes[among[other]]))

    def between(self, one: int, others: IntArray) -> Pairs:
        """The pairs (n,) of a thing and others (n,), however far apart."""
        lines = np.asarray(shapely.shortest_line(self.shapes[one], self.shapes[others]), dtype=object)
        return _pairs_of(np.full(len(others), one, dtype=np.intp), others, lines)

    def _pairs(self, of: np.ndarray, reach_m: float, names: IntArray | None = None) -> Pairs:
        one, other = self.tree.query(of, predicate="dwithin", distance=1.1 * reach_m)
        named = one if names is None else names[one]
        if names is not None:
            apart = named != other
            one, other, named = one[apart], other[apart], named[apart]
        return _pairs_of(named, other, shapely.shortest_line(of[one], self.shapes[other]))


def _pairs_of(one: IntArray, other: IntArray, lines: np.ndarray) -> Pairs:
    """Pairs by the shortest lines (n,) between them."""
    ends = shapely.get_coordinates(lines).reshape(-1, 4)
    east, north = (ends[:, 2:] - ends[:, :2]).T
    return Pairs(one, other, np.hypot(east, north), np.degrees(np.arctan2(east, north)) % 360)
