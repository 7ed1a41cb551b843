"""Free space for an agent between the solids of a city, exactly at points and on a grid of 1 m, and shortest paths.

Footprints are grown by the agent's body on all sides. A building of unknown height is in the way at every height.

Shortest paths go over that grid: eight neighbours, lengths in metres, by SciPy's Dijkstra. A diagonal step needs both
cells beside it free too: nobody slips between two walls that touch at a corner.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.grids import covered
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.occluders import Occluders

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

    def __init__(self, city: City, body_m: float = BODY_M, solids: Occluders | None = None) -> None:
        self.city, self.body_m = city, body_m
        self._solids = solids or Occluders(city)
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


REACH_M: Final = 300.0  # of a path; one that is longer is as good as none
_TREES: Final = 8  # kept at least: the ways of a task have a few ends in common
_TREE_BYTES: Final = 2**24  # and as many more as this holds
_NEAR_M: Final = 50.0  # within less no path is looked for first
_STEPS: Final = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))  # in order of nodes


class _Nodes(NamedTuple):
    """The free cells of a part of the grid.

    Attributes:
        corner: (2,) its first row and column in the grid.
        node: (rows, columns) number of each free cell, -1 for the others.
        cell: (N,) cell of each node, counted row by row in that part.
    """

    corner: IntArray
    node: npt.NDArray[np.int32]
    cell: npt.NDArray[np.int32]


_NODE_BYTES: Final = 20  # of a tree: a length, the node before, its cell, and a node of each cell


class _Tree(NamedTuple):
    """Lengths (N,) of the shortest paths from one node, and the node (N,) before each on its path.

    It holds no graph: several trees are kept, and graphs are ten times as large.
    """

    nodes: _Nodes
    length_m: FloatArray
    before: IntArray


class Paths:
    """Shortest paths at one height.

    Args:
        slab: the free grid.
        reach_m: longest path that is looked for.
    """

    def __init__(self, slab: Slab, reach_m: float = REACH_M) -> None:
        self.slab, self.reach_m = slab, reach_m
        self._margin = int(np.ceil(reach_m / CELL_M))  # cells that a path leads away from its start, at most
        nodes = min(int(np.count_nonzero(slab.free)), (2 * self._margin + 1) ** 2)
        self._tree = lru_cache(maxsize=max(_TREES, _TREE_BYTES // (_NODE_BYTES * max(nodes, 1))))(self._make_tree)

    def lengths(self, start: FloatArray, goals: FloatArray) -> FloatArray:
        """Lengths (n,) of the shortest paths from a point (2 or 3,) to points (n, 2 or 3).

        Infinite where one of both is not free, or none of them is within reach. The way from a point to the middle of
        its cell is not counted.
        """
        tree = self._from(start)
        if tree is None or not len(goals):
            return np.full(len(goals), np.inf)
        node = self._number(tree.nodes, self.slab.cells(goals))
        return np.where(node < 0, np.inf, tree.length_m[node])

    def path(self, start: FloatArray, goal: FloatArray) -> FloatArray | None:
        """Middles (k, 3) of the cells on a shortest path, both ends included; None: there is none within reach.

        It is looked for within half the reach first, where a quarter of the cells lie: most paths are short.
        """
        near = self._shorter
        if near and np.hypot(*(goal - start)[:2]) <= near.reach_m and (found := near.path(start, goal)) is not None:
            return found
        tree = self._from(start)
        if tree is None:
            return None
        node = int(self._number(tree.nodes, self.slab.cells(goal[None]))[0])
        if node < 0 or not np.isfinite(tree.length_m[node]):
            return None
        steps = [node]
        while (node := int(tree.before[node])) >= 0:
            steps.append(node)
        row_column = np.divmod(tree.nodes.cell[steps[::-1]], tree.nodes.node.shape[1])
        return self.slab.middles(np.stack(row_column, axis=1) + tree.nodes.corner)

    @cached_property
    def _shorter(self) -> Paths | None:
        """Paths of half the length; None: these are short."""
        return Paths(self.slab, self.reach_m / 2) if self.reach_m >= 2 * _NEAR_M else None

    def _from(self, start: FloatArray) -> _Tree | None:
        if not self.slab.is_free(start[None])[0]:
            return None
        row, column = self.slab.cells(start[None])[0].tolist()
        return self._tree(row, column)

    def _number(self, nodes: _Nodes, cells: IntArray) -> IntArray:
        """Nodes (n,) of cells (n, 2) of the grid; -1 where they are not free or not in that part of the grid."""
        inner = cells - nodes.corner
        inside = np.all((inner >= 0) & (inner < nodes.node.shape), axis=1)
        row, column = np.where(inside[:, None], inner, 0).T
        return np.asarray(np.where(inside, nodes.node[row, column], -1))

    def _make_tree(self, row: int, column: int) -> _Tree:
        from scipy.sparse.csgraph import dijkstra  # takes a moment, which builds of other benchmarks need not spend

        cell = np.array([row, column])
        low, high = np.maximum(cell - self._margin, 0), cell + self._margin + 1
        free = self.slab.free[low[0] : high[0], low[1] : high[1]]
        node = np.full(free.shape, -1, dtype=np.int32)
        node[free] = np.arange(np.count_nonzero(free), dtype=np.int32)
        nodes = _Nodes(low, node, np.flatnonzero(free).astype(np.int32))
        start = int(self._number(nodes, cell[None])[0])
        length, before = dijkstra(_graph(node), indices=start, return_predecessors=True, limit=self.reach_m)
        return _Tree(nodes, length, before)


def _graph(node: npt.NDArray[np.int32]) -> Any:
    """Matrix (N, N) of the lengths of steps between free cells that touch; its rows are in order from the start."""
    from scipy.sparse import csr_array

    padded = np.pad(node, 1, constant_values=-1)
    rows, columns = node.shape
    free = node >= 0

    def beside(down: int, right: int) -> npt.NDArray[np.int32]:
        """The node (N,) next to each; -1: none is free there."""
        return padded[1 + down : 1 + down + rows, 1 + right : 1 + right + columns][free]

    at = {step: beside(*step) for step in _STEPS}
    for down, right in _STEPS:
        if down and right:
            at[down, right][(at[down, 0] < 0) | (at[0, right] < 0)] = -1
    near = np.stack([at[step] for step in _STEPS], axis=1)
    steps = near >= 0
    length = np.broadcast_to(CELL_M * np.hypot(*np.array(_STEPS).T), near.shape)[steps]
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(steps, axis=1))]).astype(np.int32)
    return csr_array((length, near[steps], starts), shape=(len(near), len(near)))
