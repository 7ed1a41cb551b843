"""Answers to VSI-Bench's questions from the released metadata alone, by other means than the project's own.

Closest points of boxes by bounded least squares, grids by Open3D's own crop, directions by complex numbers, decimals by
exact fractions. Nothing is imported from `pipeline`.
"""

import cmath
import math
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import open3d as o3d
import shapely
import yaml
from scipy.optimize import lsq_linear

STEP_M = 0.05  # of the released benchmark's grids
RING_M, PLACES = 0.3, 24  # where one stands beside an object
SECTORS = {
    "easy": (("left", 0, 135), ("right", -135, 0)),
    "medium": (("left", 0, 135), ("right", -135, 0), ("back", 135, 225)),
    "hard": (("front-left", 0, 90), ("back-left", 90, 180), ("back-right", -180, -90), ("front-right", -90, 0)),
}


class Box(NamedTuple):
    """Centre, side lengths and axes (rows)."""

    center: np.ndarray
    lengths: np.ndarray
    axes: np.ndarray

    @property
    def floor(self) -> complex:
        """Where its centre is on the floor."""
        return complex(self.center[0], self.center[1])


TABLES = Path(__file__).resolve().parents[2] / "templates" / "tables"
SIZES = yaml.safe_load((TABLES / "indoor" / "sizes.yaml").read_text())


class OracleScene:
    """One scene of the released metadata."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.counts = {name: int(n) for name, n in raw["object_counts"].items()}
        self.area = raw["room_size"]
        self.boxes = {
            name: [Box(*(np.array(b[k], dtype=float) for k in ("centroid", "axesLengths")), _axes(b)) for b in members]
            for name, members in raw["object_bbox"].items()
        }
        self.exact_m = lru_cache(None)(self._exact_m)
        self.grid_m = lru_cache(None)(self._grid_m)
        self._cloud = lru_cache(None)(self._make_cloud)
        self._blocked = lru_cache(None)(self._make_blocked)

    def answers(self, task: str, operands: list[str], grids: bool) -> list[str]:
        """Every right answer, best first: more than one where two options are right."""
        if task == "object_counting":
            return [str(self.counts[operands[0]])]
        if task.startswith("object_size"):
            longest_m = self.boxes[operands[0]][0].lengths.max()  # doubled annotations (printers of ScanNet) are alike
            if task == "object_size_comparison":
                longest = "longer" if longest_m > SIZES["typical"][operands[0]][3] else "shorter"
            else:
                longest = _decimal(100 * longest_m, 0)
            return [longest]
        if task == "room_size_estimation":
            return [_decimal(self.area, 1)]
        if task == "object_abs_distance":
            return [_decimal(self._nearest(operands[0], operands[1], grids), 1)]
        if task == "object_rel_distance":
            away = {name: self._nearest(operands[0], name, grids) for name in operands[1:]}
            best = min(away.values())
            return sorted((name for name in away if away[name] <= best + 0.05), key=away.__getitem__)
        return self._directions(task.rsplit("_", 1)[1], *(self.boxes[name][0].floor for name in operands))

    def _directions(self, level: str, here: complex, ahead: complex, asked: complex) -> list[str]:
        turn = math.degrees(cmath.phase((asked - here) / (ahead - here)))
        found = []
        for name, low, high in SECTORS[level]:
            if any(low <= turn + lap <= high for lap in (0, 360)):
                found.append(name)
        return found

    def around(self, level: str, operands: list[str]) -> set[str]:
        """The answers from all places 0.3 m beside the standing object where no other one, grown by 0.2 m, is."""
        here, ahead, asked = (self.boxes[name][0] for name in operands)
        ring, blocked = _outline(here).buffer(RING_M).exterior, self._blocked(operands[0])
        points = [ring.interpolate(share, normalized=True) for share in np.arange(PLACES) / PLACES]
        free = [complex(point.x, point.y) for point in points if not blocked.contains(point)]
        return {answer for place in free for answer in self._directions(level, place, ahead.floor, asked.floor)[:1]}

    def _make_blocked(self, standing: str) -> shapely.Geometry:
        boxes = [(name, box) for name, members in self.boxes.items() for box in members]
        ground = min(_span(box)[0] for _, box in boxes)
        low, high = ground + 0.05, ground + 1.8  # of a body
        others = [box for name, box in boxes if name != standing and _span(box)[0] < high and _span(box)[1] > low]
        return shapely.union_all([_outline(box).buffer(0.2) for box in others])

    def _nearest(self, one: str, other: str, grids: bool) -> float:
        measure = self.grid_m if grids else self.exact_m
        return min(
            measure(*sorted(((one, i), (other, j))))
            for i in range(len(self.boxes[one]))
            for j in range(len(self.boxes[other]))
        )

    def _exact_m(self, one: tuple[str, int], other: tuple[str, int]) -> float:
        a, b = (self.boxes[name][i] for name, i in (one, other))
        matrix = np.hstack([a.axes.T, -b.axes.T])
        half = np.concatenate([a.lengths, b.lengths]) / 2
        fit = lsq_linear(matrix, b.center - a.center, (-half - 1e-12, half + 1e-12), method="bvls", tol=1e-14)
        return float(np.sqrt(2 * fit.cost))

    def _grid_m(self, one: tuple[str, int], other: tuple[str, int]) -> float:
        near = self._cloud(one).compute_point_cloud_distance(self._cloud(other))
        return float(np.min(np.asarray(near)))

    def _make_cloud(self, which: tuple[str, int]) -> o3d.geometry.PointCloud:
        box = self.boxes[which[0]][which[1]]
        sides = [np.linspace(-n / 2, n / 2, max(1, math.ceil(n / STEP_M))) for n in box.lengths]
        local = np.array(np.meshgrid(*sides, indexing="ij")).reshape(3, -1).T
        outer = ~(np.abs(local) <= box.lengths / 4).all(1)
        local = local[outer] if outer.any() else local
        cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(local @ box.axes + box.center))
        cropped = cloud.crop(o3d.geometry.OrientedBoundingBox(box.center, box.axes.T, box.lengths))
        return cropped if len(cropped.points) else cloud


def _axes(raw: dict[str, Any]) -> np.ndarray:
    return np.array(raw["normalizedAxes"], dtype=float).reshape(3, 3)


def _corners(box: Box) -> np.ndarray:
    signs = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T
    return (signs * box.lengths) @ box.axes + box.center


def _outline(box: Box) -> shapely.Polygon:
    return shapely.MultiPoint(_corners(box)[:, :2]).convex_hull


def _span(box: Box) -> tuple[float, float]:
    z = _corners(box)[:, 2]
    return float(z.min()), float(z.max())


def _decimal(value: float, places: int) -> str:
    """Of the very double, halves to even, as Python's round has it."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN))
