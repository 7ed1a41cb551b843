"""Lines of sight among buildings: whether anything known stands between an eye and a point.

Buildings are upright prisms with simple footprints, convex or not. Where a top is not known the prism is as high as it
may be, which is for ever where nothing bounds it; where a foot is not known it reaches down for ever. A line that may
meet one is not proved clear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, chunks
from pipeline.geometry.tracks import Buildings, footprints

_CHUNK: Final = 1 << 20  # pairs of lines and prisms at a time, of which a few in a hundred may meet
_BUNDLE: Final = 16  # lines that are compared with prisms together, first
_SLACK_M: Final = 1e-3  # by which a prism must be off a line, so as not to be looked at
_OWN_SHARE: Final = 0.5  # of a footprint that a building must cover to be the thing itself


@dataclass(frozen=True)
class Walls:
    """The walls of B prisms in one list, those of a prism next to one another.

    ``start`` and ``end`` (W, 2) of each wall's foot line, ``first`` (B,) each prism's first wall and ``count`` (B,)
    how many it has; ``base_m`` and ``top_m`` (B,), infinite where not known.
    """

    start: FloatArray
    end: FloatArray
    first: IntArray
    count: IntArray
    base_m: FloatArray
    top_m: FloatArray

    @cached_property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """Middle (B, 2) of each footprint's box, and half of its sides."""
        low, high = np.minimum.reduceat(self.start, self.first), np.maximum.reduceat(self.start, self.first)
        return (low + high) / 2, (high - low) / 2

    def of(self, prisms: IntArray) -> Walls:
        """Those of some prisms (b,)."""
        count = self.count[prisms]
        first = np.cumsum(count) - count
        wall = np.arange(count.sum()) + np.repeat(self.first[prisms] - first, count)
        return Walls(self.start[wall], self.end[wall], first, count, self.base_m[prisms], self.top_m[prisms])


def walls(buildings: Buildings) -> Walls:
    """The walls of some buildings."""
    outlines, most = buildings.outlines, np.inf if buildings.most_m is None else buildings.most_m
    sizes = np.array([len(o) for o in outlines], dtype=np.intp)
    return Walls(
        start=np.concatenate([np.empty((0, 2)), *outlines]),
        end=np.concatenate([np.empty((0, 2)), *(np.roll(o, -1, axis=0) for o in outlines)]),
        first=np.cumsum(sizes) - sizes,
        count=sizes,
        base_m=np.where(np.isnan(buildings.base_m), -np.inf, buildings.base_m),
        top_m=np.where(np.isnan(buildings.top_m), most, buildings.top_m),
    )


def is_clear(eyes_m: FloatArray, targets_m: FloatArray, among: Walls) -> BoolArray:
    """Whether the lines (N,) from eyes (N, 3) to targets (N, 3) meet no prism; touching one counts as meeting it.

    False where a coordinate is not known. A line meets a prism where it crosses one of its walls between foot and top,
    or passes the height of its top or foot above the footprint; a line that lies wholly inside is not asked about.
    """
    clear: BoolArray = np.isfinite(np.concatenate([eyes_m, targets_m], axis=1)).all(1)
    known = np.flatnonzero(clear)
    if len(among.first) == 0:
        return clear
    for part in chunks(len(known), len(among.first), _CHUNK):
        lines = known[part]
        clear[lines] = ~_meets(eyes_m[lines], targets_m[lines], among)
    return clear


def _meets(eyes_m: FloatArray, targets_m: FloatArray, among: Walls) -> BoolArray:
    """Whether each line (N,) meets any of the prisms."""
    line, prism = _near_pairs(eyes_m, targets_m, among)  # (P,)
    met = np.zeros(len(eyes_m), dtype=bool)
    if not len(line):
        return met
    count = among.count[prism]
    begin = np.cumsum(count) - count
    wall = np.arange(count.sum()) + np.repeat(among.first[prism] - begin, count)  # (W,) of all pairs
    start, end = among.start[wall], among.end[wall]
    eye, ray = eyes_m[line], targets_m[line] - eyes_m[line]
    eye_x, eye_y, eye_z, dx, dy, dz = (np.repeat(own, count) for own in (*eye.T, *ray.T))
    (wall_x, wall_y), off_x, off_y = (end - start).T, start[:, 0] - eye_x, start[:, 1] - eye_y
    cross = dx * wall_y - dy * wall_x
    with np.errstate(divide="ignore", invalid="ignore"):  # parallel: nan or infinite, which passes no comparison
        along_line = (off_x * wall_y - off_y * wall_x) / cross
        along_wall = (off_x * dy - off_y * dx) / cross
        height = eye_z + along_line * dz
    crossed = (along_line >= 0) & (along_line <= 1) & (along_wall >= 0) & (along_wall <= 1)
    high = (height < np.repeat(among.base_m[prism], count)) | (height > np.repeat(among.top_m[prism], count))
    meets = np.logical_or.reduceat(crossed & ~high, begin)
    for level_m in (among.top_m[prism], among.base_m[prism]):
        meets |= _through(eye, ray, level_m, np.stack([start, end]), count)
    met[line[meets]] = True
    return met


def _through(eye: FloatArray, ray: FloatArray, level_m: FloatArray, walls_of: FloatArray, count: IntArray) -> BoolArray:
    """Whether each line (P,) passes a height ``level_m`` (P,) above a footprint, of ``count`` (P,) walls (2, W, 2)."""
    start, end = walls_of
    with np.errstate(divide="ignore", invalid="ignore"):  # level lines and infinite heights: as above
        share = (level_m - eye[:, 2]) / ray[:, 2]
        x, y = (np.repeat(eye[:, i] + share * ray[:, i], count) for i in (0, 1))
        edge_x = start[:, 0] + (y - start[:, 1]) / (end[:, 1] - start[:, 1]) * (end[:, 0] - start[:, 0])
        crossed = ((start[:, 1] > y) != (end[:, 1] > y)) & (x < edge_x)
    inside = np.add.reduceat(crossed, np.cumsum(count) - count, dtype=np.intp) % 2 == 1
    return np.asarray(inside & (share >= 0) & (share <= 1))


def _near_pairs(eyes_m: FloatArray, targets_m: FloatArray, among: Walls) -> tuple[IntArray, IntArray]:
    """The pairs (P,) of lines and prisms that may meet, by boxes of the prisms and the heights of both.

    First for bundles of lines that follow one another, and run side by side where a camera moves: all of a bundle lies
    within the distance by which its ends spread from one line in its middle.
    """
    bundle = np.arange(0, len(eyes_m), _BUNDLE)
    ends = np.stack([eyes_m, targets_m])  # (2, N, 3)
    low, high = np.minimum.reduceat(ends, bundle, axis=1), np.maximum.reduceat(ends, bundle, axis=1)
    middle = (low + high) / 2
    east, north, _ = np.moveaxis(high - middle, 2, 0)
    spread = np.hypot(east, north).max(0)
    levels = low[..., 2].min(0)[:, None], high[..., 2].max(0)[:, None]
    of, prism = np.nonzero(_may_meet(middle[:, :, None, :2], levels, spread[:, None, None], among))
    line = (bundle[of][:, None] + np.arange(_BUNDLE)).ravel()
    there = line < len(eyes_m)
    line, prism = line[there], np.repeat(prism, _BUNDLE)[there]
    heights = ends[:, line, 2]
    may = _may_meet(ends[:, line, :2], (heights.min(0), heights.max(0)), 0.0, among, prism)
    return line[may], prism[may]


def _may_meet(
    ends: FloatArray,
    levels: tuple[FloatArray, FloatArray],
    spread_m: FloatArray | float,
    among: Walls,
    prism: IntArray | slice = slice(None),
) -> BoolArray:
    """Whether no axis and no normal parts lines from the boxes of prisms, with `_SLACK_M` to spare.

    Args:
        ends: (2, ..., 2) of each line, over ground.
        levels: lowest and highest height of each (...,).
        spread_m: how far from a line those run that it stands for.
        among: the prisms.
        prism: those that are looked at (...,).
    """
    middle, half = (one[prism] for one in among.box)
    x, y = np.moveaxis(ends.mean(0) - middle, -1, 0)
    dx, dy = np.moveaxis((ends[1] - ends[0]) / 2, -1, 0)
    wide, deep = np.moveaxis(half + spread_m + _SLACK_M, -1, 0)
    near = (np.abs(x) <= np.abs(dx) + wide) & (np.abs(y) <= np.abs(dy) + deep)
    near &= np.abs(x * dy - y * dx) <= np.abs(dx) * deep + np.abs(dy) * wide
    return np.asarray(
        near & (among.top_m[prism] >= levels[0] - _SLACK_M) & (among.base_m[prism] <= levels[1] + _SLACK_M)
    )


def own_buildings(buildings: Buildings, center_m: FloatArray, outline_m: FloatArray | None) -> BoolArray:
    """Which buildings (B,) are the thing itself: they hold its centre (2,), or cover half of its footprint (k, 2)."""
    if len(buildings.outlines) == 0:
        return np.zeros(0, dtype=bool)
    shapes = buildings.footprints
    own = shapely.intersects(shapes, shapely.Point(center_m))
    if outline_m is not None:
        (thing,) = footprints((outline_m,))
        near = np.flatnonzero(shapely.intersects(shapes, thing))
        covered = shapely.area(shapely.intersection(shapes[near], thing))
        own[near] |= (covered > 0) & (covered >= _OWN_SHARE * thing.area)
    return np.asarray(own)
