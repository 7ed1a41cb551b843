"""Which cells of a grid have their middles in polygons, by the edges that each row of middles crosses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray

_POLYGONS: Final = 4096  # at a time; bounds memory to about 100 MB


def covered(
    polygons: Sequence[shapely.Geometry], corner: FloatArray, cell_m: float, shape: tuple[int, int]
) -> BoolArray:
    """Which cells (rows, columns) of a grid lie in any of some polygons, holes left out.

    Args:
        polygons: polygons or multipolygons.
        corner: (2,) where the first cell of the first row begins; rows go along y.
        cell_m: side of a cell.
        shape: rows and columns.
    """
    rows, columns = shape
    change = np.zeros((rows, columns + 1), dtype=np.int32)
    for begin in range(0, len(polygons), _POLYGONS):
        row, start, end = _spans(polygons[begin : begin + _POLYGONS], corner, cell_m, shape)
        np.add.at(change, (row, start), 1)
        np.add.at(change, (row, end), -1)
    np.cumsum(change, axis=1, out=change)
    inside: BoolArray = change[:, :columns] > 0
    return inside


def _spans(
    polygons: Sequence[shapely.Geometry], corner: FloatArray, cell_m: float, shape: tuple[int, int]
) -> tuple[IntArray, IntArray, IntArray]:
    """Row, first column and column after the last of every stretch of middles within one polygon."""
    rows, columns = shape
    parts, of_part = shapely.get_parts(np.array(polygons, dtype=object), return_index=True)
    rings, of_ring = shapely.get_rings(parts, return_index=True)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    places = (points - corner) / cell_m - 0.5  # in cells, from the middle of the first
    same = ring[1:] == ring[:-1]
    (x0, y0), (x1, y1) = places[:-1][same].T, places[1:][same].T
    owner = of_part[of_ring[ring[:-1][same]]]
    # Rows whose middles lie at or above the lower end, and below the upper one.
    first = np.clip(np.ceil(np.minimum(y0, y1)), 0, rows).astype(np.intp)
    after = np.clip(np.ceil(np.maximum(y0, y1)), 0, rows).astype(np.intp)
    count = after - first
    edge = np.repeat(np.arange(len(count)), count)
    row = first[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
    x = x0[edge] + (row - y0[edge]) / (y1 - y0)[edge] * (x1 - x0)[edge]
    order = np.lexsort((x, row, owner[edge]))
    crossed = np.clip(np.ceil(x[order]), 0, columns).astype(np.intp).reshape(-1, 2)  # in and out, in turn
    return row[order][::2], crossed[:, 0], crossed[:, 1]
