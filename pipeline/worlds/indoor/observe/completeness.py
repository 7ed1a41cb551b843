"""How much of the floor that the camera was carried over is missing from the mesh.

VSI-Bench (section 3.1) leaves out scenes "with a high ratio of incomplete 3D mesh reconstruction": what the video shows
there has no annotation.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.geometry.floors import CELL_M, free_floor
from pipeline.worlds.indoor.facts import Room

REACH_M: Final = 0.5  # to both sides of the path: about what a person who carries a camera walks over


class Unscanned(NamedTuple):
    """Floor below the camera's path that the mesh lacks: its area, and that against the floor's."""

    area_m2: float
    share: float


def unscanned_below(room: Room, positions: FloatArray) -> Unscanned | None:
    """Measures what lies within `REACH_M` of camera positions (N, 3) and is no floor; None without floor or path."""
    from scipy.ndimage import distance_transform_edt  # takes half a second

    path = positions[np.isfinite(positions).all(1), :2]
    if room.floor is None or room.area_m2 is None or not len(path):
        return None
    floor = free_floor(room.floor)
    low = path.min(0) - REACH_M
    columns, rows = np.ceil((path.max(0) + REACH_M - low) / CELL_M).astype(int) + 1
    walked = np.zeros((rows, columns), dtype=bool)
    column, row = np.round((path - low) / CELL_M).astype(int).T
    walked[row, column] = True
    below = distance_transform_edt(~walked) * CELL_M <= REACH_M
    y, x = np.nonzero(below)
    missing = floor.at(low + np.stack([x, y], axis=1) * CELL_M) == 0
    area = float(missing.sum()) * CELL_M**2
    return Unscanned(area, area / room.area_m2)
