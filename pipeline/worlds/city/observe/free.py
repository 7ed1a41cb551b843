"""Where an agent can be: free space between the solids of a city, exactly at points and on a grid of 1 m.

Footprints are grown by the agent's body on all sides. A building of unknown height is in the way at every height.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.raster import covered
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.solids import Solids

CELL_M: Final = 1.0
BODY_M: Final = 0.5  # radius of the agent's body, where none is asked for
_TOUCH_M: Final = 1e-6  # so that what touches exactly is in the way on all sides alike
_QUARTER: Final = 16  # edges of a rounded corner: off by less than a millimetre


class Slab(NamedTuple):
    """Free space at one height.

    Attributes:
        z_m: the height.
        free: (rows, columns), row 0 in the south, column 0 in the west; a cell is free where its middle is.
        corner: (2,) south-west corner of the grid.
    """

    z_m: float
    free: BoolArray
    corner: FloatArray

    def cells(self, points: FloatArray) -> IntArray:
        """Row and column (n, 2) of points (n, 2 or 3); they may lie beyond the grid."""
        return np.floor((points[:, :2] - self.corner)[:, ::-1] / CELL_M).astype(np.intp)

    def middles(self, cells: IntArray) -> FloatArray:
        """Middles (n, 3) of cells (n, 2)."""
        xy = self.corner + (cells[:, ::-1] + 0.5) * CELL_M
        return np.column_stack([xy, np.full(len(cells), self.z_m)])

    def is_free(self, points: FloatArray) -> BoolArray:
        """Whether the cells of points (n, 2 or 3) are free; those beyond the grid are not."""
        cells = self.cells(points)
        inside = np.all((cells >= 0) & (cells < self.free.shape), axis=1)
        row, column = np.where(inside[:, None], cells, 0).T
        free: BoolArray = self.free[row, column]
        return free & inside


class FreeSpace:
    """Free space of a city for a body of a radius.

    Args:
        city: with a map; without one nothing is free.
        body_m: radius of the body: it keeps so far from walls, roofs and the ground.
        solids: of the city, where they were made already.
    """

    def __init__(self, city: City, body_m: float = BODY_M, solids: Solids | None = None) -> None:
        self.city, self.body_m = city, body_m
        self._solids = solids or Solids(city)
        self._bounds = shapely.Polygon(city.bounds) if city.bounds else shapely.Polygon()
        self._tree = shapely.STRtree(self._solids.polygons)
        self.slab = lru_cache(maxsize=4)(self._slab)

    def free(self, points: FloatArray) -> BoolArray:
        """Whether a body can be at points (n, 3): within the bounds, over the ground, and touching nothing solid."""
        shapes = shapely.points(points[:, :2])
        shapely.prepare(self._bounds)
        out = shapely.covers(self._bounds, shapes) & (points[:, 2] >= self.body_m)
        point, prism = self._tree.query(shapes, predicate="dwithin", distance=self.body_m)
        z = points[point, 2]
        hit = (z > self._solids.base_m[prism] - self.body_m) & (z < self._solids.top_m[prism] + self.body_m)
        out[point[hit]] = False
        return np.asarray(out, dtype=bool)

    def _slab(self, z_m: float) -> Slab:
        """The grid at a height. Kept for the last four heights."""
        if self._bounds.is_empty:
            return Slab(z_m, np.zeros((0, 0), dtype=bool), np.zeros(2))
        west, south, east, north = self._bounds.bounds
        corner = np.floor(np.array([west, south]) / CELL_M) * CELL_M
        columns, rows = np.ceil((np.array([east, north]) - corner) / CELL_M).astype(int).tolist()
        if z_m < self.body_m:
            return Slab(z_m, np.zeros((rows, columns), dtype=bool), corner)
        solids = self._solids
        there = (z_m > solids.base_m - self.body_m) & (z_m < solids.top_m + self.body_m)
        grown = shapely.buffer(solids.polygons[there], self.body_m + _TOUCH_M, quad_segs=_QUARTER)
        free = covered([self._bounds], corner, CELL_M, (rows, columns))
        free &= ~covered(grown, corner, CELL_M, (rows, columns))
        return Slab(z_m, free, corner)
