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
import numpy.typing as npt
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, chunks
from pipeline.geometry.tracks import Buildings

_CHUNK: Final = 1 << 18  # line-wall pairs at a time; bounds memory to about 50 MB
_SLACK_M: Final = 1e-3  # by which a prism must be off a line, so as not to be looked at
_OWN_SHARE: Final = 0.5  # of a footprint that a building must cover to be the thing itself


@dataclass(frozen=True)
class Walls:
    """The walls of B prisms in one list, those of a prism next to one another.

    ``start`` and ``end`` (W, 2) of each wall's foot line, ``owner`` (W,) its prism, ``first`` (B,) each prism's first
    wall; ``base_m`` and ``top_m`` (B,), infinite where not known.
    """

    start: FloatArray
    end: FloatArray
    owner: IntArray
    first: IntArray
    base_m: FloatArray
    top_m: FloatArray

    @cached_property
    def middle_and_half(self) -> tuple[FloatArray, FloatArray]:
        """Middle (B, 2) of each footprint's box, and half of its sides."""
        low, high = np.minimum.reduceat(self.start, self.first), np.maximum.reduceat(self.start, self.first)
        return (low + high) / 2, (high - low) / 2

    def of(self, prisms: IntArray) -> Walls:
        """Those of some prisms (b,), ascending."""
        sizes = np.diff(self.first, append=len(self.owner))[prisms]
        first = np.cumsum(sizes) - sizes
        wall = np.repeat(self.first[prisms] - first, sizes) + np.arange(sizes.sum())
        owner = np.repeat(np.arange(len(prisms)), sizes)
        return Walls(self.start[wall], self.end[wall], owner, first, self.base_m[prisms], self.top_m[prisms])


def walls(buildings: Buildings) -> Walls:
    """The walls of some buildings."""
    outlines, most = buildings.outlines, np.inf if buildings.most_m is None else buildings.most_m
    sizes = np.array([len(o) for o in outlines], dtype=np.intp)
    return Walls(
        start=np.concatenate([np.empty((0, 2)), *outlines]),
        end=np.concatenate([np.empty((0, 2)), *(np.roll(o, -1, axis=0) for o in outlines)]),
        owner=np.repeat(np.arange(len(outlines)), sizes),
        first=np.cumsum(sizes) - sizes,
        base_m=np.where(np.isnan(buildings.base_m), -np.inf, buildings.base_m),
        top_m=np.where(np.isnan(buildings.top_m), most, buildings.top_m),
    )


def take(buildings: Buildings, index: IntArray) -> Buildings:
    """The buildings at the given positions."""
    most = None if buildings.most_m is None else buildings.most_m[index]
    return Buildings(tuple(buildings.outlines[i] for i in index), buildings.base_m[index], buildings.top_m[index], most)


def bounds(buildings: Buildings) -> FloatArray:
    """Extent of each footprint (B, 4): least east and north, most east and north."""
    extent = [np.concatenate([o.min(0), o.max(0)]) for o in buildings.outlines]
    return np.array(extent, dtype=np.float64).reshape(-1, 4)


def is_clear(eyes_m: FloatArray, targets_m: FloatArray, among: Walls) -> BoolArray:
    """Whether the lines (N,) from eyes (N, 3) to targets (N, 3) meet no prism; touching one counts as meeting it.

    False where a coordinate is not known. A line meets a prism where it crosses one of its walls between foot and top,
    or passes the height of its top or foot above the footprint; a line that lies wholly inside is not asked about.
    """
    clear: BoolArray = np.isfinite(np.concatenate([eyes_m, targets_m], axis=1)).all(1)
    if len(among.owner) == 0:
        return clear
    for part in chunks(len(clear), len(among.owner), _CHUNK):
        near = _near(eyes_m[part], targets_m[part], among)
        if len(near):
            clear[part] &= ~_meets(eyes_m[part], targets_m[part], among.of(near))
    return clear


def _near(eyes_m: FloatArray, targets_m: FloatArray, among: Walls) -> IntArray:
    """The prisms (b,) that any of the lines (N,) may meet: no axis, nor the lines' normals, tells their boxes apart."""
    middle, half = among.middle_and_half
    half = half + _SLACK_M
    x, y = ((eyes_m[:, i, None] + targets_m[:, i, None]) / 2 - middle[:, i] for i in (0, 1))  # (N, B)
    dx, dy = (np.abs(targets_m[:, i, None] - eyes_m[:, i, None]) / 2 for i in (0, 1))
    near = (np.abs(x) <= dx + half[:, 0]) & (np.abs(y) <= dy + half[:, 1])
    ray_x, ray_y = ((targets_m[:, i, None] - eyes_m[:, i, None]) / 2 for i in (0, 1))
    near &= np.abs(x * ray_y - y * ray_x) <= dx * half[:, 1] + dy * half[:, 0]
    low, high = (which(eyes_m[:, 2, None], targets_m[:, 2, None]) for which in (np.minimum, np.maximum))
    near &= (among.top_m >= low - _SLACK_M) & (among.base_m <= high + _SLACK_M)
    return np.flatnonzero(near.any(0))


def _meets(eyes_m: FloatArray, targets_m: FloatArray, among: Walls) -> BoolArray:
    """Whether each line (N,) meets any of the prisms."""
    ray = targets_m - eyes_m
    dx, dy, dz = (ray[:, i, None] for i in range(3))
    wall_x, wall_y = (among.end - among.start).T
    off_x, off_y = among.start[:, 0] - eyes_m[:, 0, None], among.start[:, 1] - eyes_m[:, 1, None]  # (N, W)
    cross = dx * wall_y - dy * wall_x
    with np.errstate(divide="ignore", invalid="ignore"):  # parallel: nan or infinite, which passes no comparison
        along_line = (off_x * wall_y - off_y * wall_x) / cross
        along_wall = (off_x * dy - off_y * dx) / cross
        height = eyes_m[:, 2, None] + along_line * dz
    crossed = (along_line >= 0) & (along_line <= 1) & (along_wall >= 0) & (along_wall <= 1)
    high = (height < among.base_m[among.owner]) | (height > among.top_m[among.owner])
    meets = (crossed & ~high).any(1)
    return np.asarray(meets | _through(eyes_m, ray, among, among.top_m) | _through(eyes_m, ray, among, among.base_m))


def _through(eyes_m: FloatArray, ray: FloatArray, among: Walls, level_m: FloatArray) -> BoolArray:
    """Whether each line (N,) passes the height ``level_m`` (B,) of a prism above its footprint."""
    start, end = among.start, among.end
    with np.errstate(divide="ignore", invalid="ignore"):  # level lines and infinite heights: as above
        share = (level_m - eyes_m[:, 2, None]) / ray[:, 2, None]  # (N, B)
        x, y = ((eyes_m[:, i, None] + share * ray[:, i, None])[:, among.owner] for i in (0, 1))
        edge_x = start[:, 0] + (y - start[:, 1]) / (end[:, 1] - start[:, 1]) * (end[:, 0] - start[:, 0])
        crossed = ((start[:, 1] > y) != (end[:, 1] > y)) & (x < edge_x)
    inside = np.add.reduceat(crossed, among.first, axis=1, dtype=np.intp) % 2 == 1
    return np.asarray((inside & (share >= 0) & (share <= 1)).any(1))


def own_buildings(buildings: Buildings, center_m: FloatArray, outline_m: FloatArray | None) -> BoolArray:
    """Which buildings (B,) are the thing itself: they hold its centre (2,), or cover half of its footprint (k, 2)."""
    if len(buildings.outlines) == 0:
        return np.zeros(0, dtype=bool)
    shapes = _shapes(buildings.outlines)
    own = shapely.intersects(shapes, shapely.Point(center_m))
    if outline_m is not None:
        (thing,) = _shapes((outline_m,))
        covered = shapely.area(shapely.intersection(shapes, thing))
        own |= (covered > 0) & (covered >= _OWN_SHARE * thing.area)
    return np.asarray(own)


def _shapes(outlines: tuple[FloatArray, ...]) -> npt.NDArray[np.object_]:
    """Valid polygons (B,), whatever the outlines do; empty where there are fewer than three corners."""
    polygons = [shapely.Polygon(o) if len(o) >= 3 else shapely.Polygon() for o in outlines]
    return np.asarray(shapely.make_valid(polygons))
