"""Relations of things of a city: distances and compass bearings between the nearest points of footprints.

A bearing holds *surely* where it lies within 45 degrees less a margin of an axis, and *possibly* within 45 degrees
plus that margin, or where two things touch and have no bearing at all. A wording that leads somewhere surely, and
nowhere else even possibly, leads to one place.

About streets a thing lies in front of another, behind it, across the street or on the same side of it. A front is where
a shop or a sign faces, or the side towards the street that a thing surely lies on (`worlds.city.street_frontage`). Of
what has no sure street or front all of this may be so of whatever is near: a wording that says it leads nowhere surely.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.wording import ACROSS, BEHIND, FRONT, SAME_SIDE
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.worlds.city.street_frontage import StreetFrontage, StreetLines

QUARTER_DEG: Final = 45.0  # half of what a direction covers
TOUCHING_M: Final = 1.0  # nearer, the nearest points tell no direction
FARTHER: Final = 1.5  # times a reach: no text says it, so a reader may look so much farther


class Pairs(NamedTuple):
    """Relations of n pairs.

    Attributes:
        one: (n,) index of what it is seen from: a thing, or a point.
        other: (n,) index of the thing that lies there.
        distance_m: (n,) between the nearest points.
        bearing_deg: (n,) compass bearing from the one's nearest point to the other's.
        error_m: (n,) how far both together may stand from their places on the map.
    """

    one: IntArray
    other: IntArray
    distance_m: FloatArray
    bearing_deg: FloatArray
    error_m: FloatArray

    @property
    def spread_deg(self) -> FloatArray:
        """By how much (n,) the bearing may be another where the things stand elsewhere; 180 where by any angle."""
        share = self.error_m / np.maximum(self.distance_m, 1e-9)
        return np.where(share < 1, np.degrees(np.arcsin(np.minimum(share, 1.0))), 180.0)

    def of(self, places: IntArray) -> Pairs:
        """The pairs of points that lie at some places (n,), which those of here are about."""
        order = np.argsort(self.one, kind="stable")
        one = self.one[order]
        first = np.searchsorted(one, places)
        count = np.searchsorted(one, places, side="right") - first
        rows = order[np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())]
        point = np.repeat(np.arange(len(places)), count)
        return Pairs(point, self.other[rows], self.distance_m[rows], self.bearing_deg[rows], self.error_m[rows])

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
            reach_m: how far it may be; possibly `FARTHER` times as far.
            near_m: how far it must be to be there surely.
        """
        off, spread = self.off_axis_deg(direction), self.spread_deg
        least, most = self.distance_m - self.error_m, self.distance_m + self.error_m
        apart = self.distance_m >= TOUCHING_M
        sure = apart & (off + spread <= QUARTER_DEG - margin_deg) & (most <= reach_m) & (least >= near_m)
        maybe = (~apart | (off - spread <= QUARTER_DEG + margin_deg)) & (least <= FARTHER * reach_m)
        return sure, maybe


class Relations:
    """All pairs of things within a reach, and of points and things.

    Args:
        shapes: (T,) footprints.
        anchors: (A,) indices of the things that others are seen from.
        reach_m: of the pairs.
        error_m: (T,) how far each thing may stand from its place on the map.
    """

    def __init__(self, shapes: np.ndarray, anchors: IntArray, reach_m: float, error_m: FloatArray) -> None:
        self.shapes, self.reach_m, self.error_m = shapes, reach_m, error_m
        self.slack_m = 2 * float(error_m.max(initial=0.0))
        self.tree = shapely.STRtree(shapes)
        self.pairs = self._pairs(shapes[anchors], reach_m, anchors)

    def of_points(self, points: FloatArray, reach_m: float, among: IntArray | None = None) -> Pairs:
        """Pairs of points (n, 2) and all things within a reach of them, or those of some (k,)."""
        if among is None:  # of tasks, of which many begin at one place
            places, place = np.unique(points[:, :2], axis=0, return_inverse=True)
            return self._pairs(shapely.points(places), reach_m).of(place)
        of = shapely.points(points[:, :2])
        far = FARTHER * reach_m + self.slack_m
        one, other = shapely.STRtree(self.shapes[among]).query(of, predicate="dwithin", distance=far)
        lines = shapely.shortest_line(of[one], self.shapes[among[other]])
        return _pairs_of(one, among[other], lines, self.error_m[among[other]])

    def between(self, one: int, others: IntArray) -> Pairs:
        """The pairs (n,) of a thing and others (n,), however far apart."""
        lines = np.asarray(shapely.shortest_line(self.shapes[one], self.shapes[others]), dtype=object)
        error = self.error_m[one] + self.error_m[others]
        return _pairs_of(np.full(len(others), one, dtype=np.intp), others, lines, error)

    def _pairs(self, of: np.ndarray, reach_m: float, names: IntArray | None = None) -> Pairs:
        one, other = self.tree.query(of, predicate="dwithin", distance=FARTHER * reach_m + self.slack_m)
        named = one if names is None else names[one]
        if names is not None:
            apart = named != other
            one, other, named = one[apart], other[apart], named[apart]
        error = self.error_m[other] + (0.0 if names is None else self.error_m[named])
        return _pairs_of(named, other, shapely.shortest_line(of[one], self.shapes[other]), error)


def _pairs_of(one: IntArray, other: IntArray, lines: np.ndarray, error_m: FloatArray) -> Pairs:
    """Pairs by the shortest lines (n,) between them."""
    ends = shapely.get_coordinates(lines).reshape(-1, 4)
    east, north = (ends[:, 2:] - ends[:, :2]).T
    return Pairs(one, other, np.hypot(east, north), np.degrees(np.arctan2(east, north)) % 360, error_m)


ALONG_M: Final = 15.0  # what is across the street surely is so much farther along it at most
ALONG_FAR_M: Final = 35.0  # and possibly so much
REACHES_M: Final = {FRONT: 15.0, BEHIND: 25.0}  # what is surely in front; what may be is twice as far


class Streetwise:
    """The relations of things about streets.

    Args:
        shapes: (T,) footprints.
        lines: the streets.
        fronts: what lies on them.
        margin_deg: by which a sure bearing keeps from the diagonals about a front, and a possible one may pass them.
        reach_m: how far what is across the street or on the same side may be; possibly `FARTHER` times as far.
    """

    def __init__(
        self, shapes: np.ndarray, lines: StreetLines, fronts: StreetFrontage, margin_deg: float, reach_m: float
    ) -> None:
        self.shapes, self.lines, self.fronts = shapes, lines, fronts
        self.margin_deg, self.reach_m = margin_deg, reach_m

    def holds(self, relation: str, pairs: Pairs) -> tuple[BoolArray, BoolArray]:
        """Whether the other of each pair surely (n,) is so to the one, and whether it possibly is."""
        if relation in (FRONT, BEHIND):
            return self._before_or_behind(relation, pairs)
        return self._across_or_beside(relation, pairs)

    def off_front_deg(self, one: IntArray, bearing_deg: FloatArray) -> FloatArray:
        """Angle (n,) between bearings and the fronts of things; NaN where these are not sure."""
        return np.abs((bearing_deg - self.fronts.front_deg[one] + 180) % 360 - 180)

    def _before_or_behind(self, relation: str, pairs: Pairs) -> tuple[BoolArray, BoolArray]:
        off = self.off_front_deg(pairs.one, pairs.bearing_deg)
        if relation == BEHIND:
            off = 180.0 - off
        reach = REACHES_M[relation]
        apart, known = pairs.distance_m >= TOUCHING_M, np.isfinite(off)
        least, most = pairs.distance_m - pairs.error_m, pairs.distance_m + pairs.error_m
        spread = pairs.spread_deg
        sure = apart & known & (most <= reach)
        sure[sure] = (off + spread)[sure] <= QUARTER_DEG - self.margin_deg
        if relation == FRONT:  # what is on the other side of the street is across it
            sure[sure] = ~self._crossed(pairs, np.flatnonzero(sure))
        maybe = least <= 2 * reach
        doubtful = maybe & known & apart
        maybe[doubtful] = (off - spread)[doubtful] <= QUARTER_DEG + self.margin_deg
        return sure, maybe

    def _across_or_beside(self, relation: str, pairs: Pairs) -> tuple[BoolArray, BoolArray]:
        f = self.fronts
        a, b = pairs.one, pairs.other
        near = pairs.distance_m - pairs.error_m <= FARTHER * self.reach_m
        known = (f.line[a] >= 0) & (f.line[b] >= 0) & (f.side[a] != 0) & (f.side[b] != 0)
        one_street = known & (f.line[a] == f.line[b])
        # Pieces of one street that the map does not join, as both ways of an avenue, may be one; so may nameless ones.
        pieces = known & ~one_street & (self._name(f.line[a]) == self._name(f.line[b]))
        sides = f.side[a] * f.side[b]
        wanted = one_street & (sides == (1 if relation == SAME_SIDE else -1))
        sure = wanted & (pairs.distance_m + pairs.error_m <= self.reach_m) & (pairs.distance_m >= TOUCHING_M)
        maybe = near & f.maybe[a] & f.maybe[b] & (~known | wanted | pieces)
        if relation == ACROSS:
            own = np.flatnonzero(maybe & wanted)
            along = self._along_m(pairs, own)
            maybe[own] &= along - pairs.error_m[own] <= ALONG_FAR_M
            sure[own] &= along + pairs.error_m[own] <= ALONG_M
            sure[sure] = self._crossed(pairs, np.flatnonzero(sure))
        return sure, maybe

    def _name(self, line: IntArray) -> IntArray:
        names = np.append(self.lines.name, -1)  # the last, of no line
        return np.asarray(names[line])

    def _along_m(self, pairs: Pairs, chosen: IntArray) -> FloatArray:
        """How much farther along their street the others of some pairs (k,) are, between the nearest points."""
        ends = shapely.get_coordinates(self._shortest_lines(pairs, chosen)).reshape(-1, 4)
        line = self.lines.shapes[self.fronts.line[pairs.one[chosen]]]
        at = [shapely.line_locate_point(line, shapely.points(end)) for end in (ends[:, :2], ends[:, 2:])]
        return np.abs(at[1] - at[0])

    def _crossed(self, pairs: Pairs, chosen: IntArray) -> BoolArray:
        """Whether the shortest lines of some pairs (k,) cross any street."""
        if not len(self.lines.shapes) or not len(chosen):
            return np.zeros(len(chosen), dtype=bool)
        between = self._shortest_lines(pairs, chosen)
        hit, _ = shapely.STRtree(self.lines.shapes).query(between, predicate="intersects")
        return np.isin(np.arange(len(chosen)), hit)

    def _shortest_lines(self, pairs: Pairs, chosen: IntArray) -> np.ndarray:
        return np.asarray(shapely.shortest_line(self.shapes[pairs.one[chosen]], self.shapes[pairs.other[chosen]]))
