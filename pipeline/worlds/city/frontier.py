"""Frontier-based exploration (CityEQA, appendix A.3): a map of what depth has shown, and a way to where it ends."""

from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.worlds.city.facts import Pose
from pipeline.worlds.city.paths import CELL_M, Paths, Slab
from pipeline.worlds.city.visibility import pixel_rays

SIDE_M: Final = 400.0  # of the map about the start (section 4.1)
SHOWN_M: Final = 30.0  # ours: depth farther off leaves the map unknown, since nothing small can be recognised there
UNKNOWN, FREE, SOLID = -1, 0, 1
_BESIDE: Final = ((0, 1), (1, 0), (0, -1), (-1, 0))  # rows and columns


class FrontierMap:
    """What an agent knows of the height at which it moves.

    Args:
        start: the middle of the map.

    Attributes:
        cells: (rows, columns) of 1 m, row 0 in the south: `UNKNOWN`, `FREE` or `SOLID`.
    """

    def __init__(self, start: Pose) -> None:
        count = round(SIDE_M / CELL_M)
        self.cells = np.full((count, count), UNKNOWN, dtype=np.int8)
        self._slab = Slab(start[2], self.cells == FREE, np.floor(np.array(start[:2])) - SIDE_M / 2)

    def add(self, pose: Pose, depth_m: npt.NDArray[np.float32]) -> None:
        """Enters what a level view shows at the agent's height.

        Args:
            pose: of the camera.
            depth_m: (height, width), metres along the camera's axis, infinite where nothing is hit; its middle row
                counts.
        """
        height, width = depth_m.shape
        rays = pixel_rays(np.array(pose), width, height)[:, 3:5].reshape(height, width, 2)[height // 2]
        depth = depth_m[height // 2]
        length = np.linalg.norm(rays, axis=1)
        away = np.minimum(depth * length, SHOWN_M)
        # Half a cell short of what is hit: the cell of that is solid.
        share = np.arange(0.0, SHOWN_M, CELL_M / 2)
        open_ = share[:, None] < away - CELL_M / 2
        points = np.array(pose[:2]) + share[:, None, None] * (rays / length[:, None])
        self._enter(points[open_], FREE)
        hit = depth * length <= SHOWN_M
        self._enter(np.array(pose[:2]) + rays[hit] * depth[hit, None], SOLID)
        self._enter(np.array([pose[:2]]), FREE)

    def block(self, point: FloatArray) -> None:
        """Enters that a place (2 or 3,) cannot be gone to."""
        self._enter(point[None], SOLID)

    def _enter(self, points: FloatArray, what: int) -> None:
        row, column = self._slab.cells(points).T
        inside = (row >= 0) & (column >= 0) & (row < len(self.cells)) & (column < len(self.cells))
        row, column = row[inside], column[inside]
        if what == FREE:  # what was solid once stays so
            unknown = self.cells[row, column] == UNKNOWN
            row, column = row[unknown], column[unknown]
        self.cells[row, column] = what

    def frontiers(self) -> IntArray:
        """Rows and columns (n, 2) of free cells beside unknown ones."""
        return np.argwhere((self.cells == FREE) & self._beside(self.cells == UNKNOWN))

    def way(self, pose: Pose, rng: np.random.Generator) -> tuple[FloatArray, float] | None:
        """Middles (k, 3) of the cells beyond the own one to a frontier that is drawn, and the yaw to look beyond it.

        None: none can be reached.

        Ways keep a cell away from what is solid, where the agent does not stand beside it already.
        """
        solid = self.cells == SOLID
        open_ = (self.cells == FREE) & ~(solid | self._beside(solid))
        here = self._slab.cells(np.array([pose[:2]]))[0]
        open_[tuple(here)] = True
        paths = Paths(self._slab._replace(free=open_), SIDE_M / 2)
        ends = self.frontiers()
        middles = self._slab.middles(ends)
        can = np.flatnonzero(np.isfinite(paths.lengths(np.array(pose[:3]), middles)))
        n = int(rng.choice(can)) if len(can) else -1
        path = paths.path(np.array(pose[:3]), middles[n]) if len(can) else None
        if path is None:
            return None
        unknown = np.array([side for side in _BESIDE if self._is_unknown(ends[n] + side)])
        row, column = unknown.mean(axis=0) if unknown.sum(axis=0).any() else unknown[0]
        return path[1:], float(np.degrees(np.arctan2(column, row)) % 360.0)

    def _is_unknown(self, cell: IntArray) -> bool:
        inside = (cell >= 0).all() and (cell < len(self.cells)).all()
        return bool(inside and self.cells[tuple(cell)] == UNKNOWN)

    def _beside(self, which: np.ndarray) -> np.ndarray:
        """Cells with one of some cells on one of four sides."""
        padded = np.pad(which, 1)
        rows, columns = which.shape
        return np.any([padded[1 + r : 1 + r + rows, 1 + c : 1 + c + columns] for r, c in _BESIDE], axis=0)
