"""How light falls in a sample room: from above and from one side, less of it in corners and close to furniture."""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from pipeline.core.arrays import FloatArray
from pipeline.geometry.boxes import Boxes

_AMBIENT: Final = 0.60
_FROM_ABOVE: Final = 0.20
_FROM_ASIDE: Final = 0.20
_TOWARD_LIGHT: Final = (-0.48, -0.8, 0.36)  # unit length: walls and the sides of things differ in brightness
_CONTACT_M: Final = 0.22  # how far a thing darkens the floor or the wall that it stands at
_CONTACT: Final = 0.34
_CORNER_M: Final = 0.5
_CORNER: Final = 0.12
_FOOT: Final = 0.22  # of a thing's height above its lower side: how much darker its foot is


def facing(normals: FloatArray) -> FloatArray:
    """Light (...) on surfaces with these unit normals (..., 3), nothing in the way."""
    x, y, z = (normals[..., k] for k in range(3))
    aside = x * _TOWARD_LIGHT[0] + y * _TOWARD_LIGHT[1] + z * _TOWARD_LIGHT[2]
    return np.asarray(_AMBIENT + _FROM_ABOVE * (0.5 + 0.5 * z) + _FROM_ASIDE * (0.5 + 0.5 * aside))


def toward_foot(height: FloatArray) -> FloatArray:
    """What is left of the light at a share of a thing's height above its lower side."""
    return 1.0 - _FOOT * np.maximum(1.0 - height / 0.6, 0.0) ** 2


def beside_things(points: FloatArray, boxes: Boxes) -> FloatArray:
    """What is left of the light at points (N, 3) of floor, walls and ceiling beside boxes."""
    nearest = np.full(len(points), np.inf)
    for center, half, axes in zip(boxes.center, boxes.half, boxes.axes, strict=True):
        away = points - center
        off = [
            np.maximum(np.abs(away[:, 0] * a[0] + away[:, 1] * a[1] + away[:, 2] * a[2]) - h, 0.0)
            for a, h in zip(axes, half, strict=True)
        ]
        nearest = np.minimum(nearest, off[0] * off[0] + off[1] * off[1] + off[2] * off[2])
    near = np.maximum(1.0 - np.sqrt(nearest) / _CONTACT_M, 0.0)
    return 1.0 - _CONTACT * near * near


def in_corners(points: FloatArray, floor: BaseGeometry, height_m: float) -> FloatArray:
    """What is left of the light at points (N, 3) close to where walls, floor and ceiling meet."""
    sideways = np.asarray(shapely.distance(shapely.points(points[:, :2]), floor.boundary))
    upright = np.minimum(points[:, 2], height_m - points[:, 2])
    off = np.where(sideways > 1e-6, sideways, np.abs(upright))
    near = np.maximum(1.0 - off / _CORNER_M, 0.0)
    return 1.0 - _CORNER * near * near
