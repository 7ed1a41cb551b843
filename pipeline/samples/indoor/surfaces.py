"""Textures of surfaces: plain colours and small pictures that repeat, in one picture of all of them.

Light falls from above and from one side, less of it in corners and close to furniture.

Integers and elementary arithmetic only, random numbers by name: the picture is the same on every machine.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely
from shapely.geometry.base import BaseGeometry

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.core.templates import load_table
from pipeline.geometry.boxes import Boxes
from pipeline.samples.common.shapes import ColorArray

Shades = npt.NDArray[np.float64]

TILE: Final = 256  # texels; a picture repeats after so many in both directions
_V, _U = np.indices((TILE, TILE))  # row and column of each texel
_APRON: Final = 24  # texels that a picture is continued by, so that no face needs to begin anew in its midst
_WIDTH: Final = TILE + _APRON

_PLAN: Final = load_table("samples/indoor_surfaces")
GLOWING: Final = frozenset(_PLAN["glowing"])  # as bright in the shade


class Surface(NamedTuple):
    """Where a surface lies in the picture: column, row, and how large its texels are (0: one texel is all of it)."""

    column: int
    row: int
    texel_m: float


def _planks(rng: np.random.Generator, across: int, along: int) -> Shades:
    """Boards of so many texels, each in a shade of its own, every row of them shifted, with grain."""
    shift = rng.integers(0, TILE, TILE // across)[_V // across]
    board = ((_U + shift) % TILE) // along
    out = 1.0 + rng.integers(-9, 7, (TILE // across, TILE // along))[_V // across, board] / 100.0
    out += rng.integers(-2, 3, (TILE // 4, TILE // 64))[_V // 4, ((_U + shift) % TILE) // 64] / 100.0
    out[(_V % across == 0) | ((_U + shift) % along == 0)] *= 0.76
    return out


def _tiles(rng: np.random.Generator, size: int, grout: int) -> Shades:
    """Square tiles in shades of their own, with lighter or darker joints."""
    out = 1.0 + rng.integers(-5, 3, (TILE // size, TILE // size))[_V // size, _U // size] / 100.0
    out[(_V % size < grout) | (_U % size < grout)] = 0.82
    return out


def _grain(rng: np.random.Generator) -> Shades:
    """Streaks along u, as sawn wood has them."""
    fine = rng.integers(-4, 5, (TILE, 4)).repeat(TILE // 4, axis=1) / 100.0
    broad = rng.integers(-5, 6, (TILE // 8, 2)).repeat(8, axis=0).repeat(TILE // 2, axis=1) / 100.0
    return 1.0 + fine + broad


def _paper(rng: np.random.Generator) -> Shades:
    """Wallpaper: broad stripes and a small diamond here and there, over a skirting board."""
    out = np.where(_U % 32 < 16, 1.0, 0.955)
    far = np.abs(_U % 32 - 8) + np.abs((_V + 32 * (_U // 32 % 2)) % 64 - 32)
    out[(far < 5) & (far > 1)] = 0.84
    return out


def _painted(rng: np.random.Generator) -> Shades:
    """Tiles to a man's shoulder, paint in stripes above."""
    out = np.where((_V % 12 < 1) | (_U % 16 < 1), 0.86, 1.0)
    out -= rng.integers(0, 5, (22, 16))[_V // 12, _U // 16] / 100.0
    out[_V >= 120] = np.where(_U % 32 < 16, 0.98, 0.93)[_V >= 120]
    out[(_V >= 114) & (_V < 120)] = 0.6
    return out


def _bricks(rng: np.random.Generator) -> Shades:
    row = _V // 8
    along = _U + 10 * (row % 2)
    out = 1.0 + rng.integers(-12, 9, (TILE // 8, TILE // 20 + 2))[row, along // 20] / 100.0
    out[(_V % 8 == 0) | (along % 20 == 0)] = 1.35
    return out


def _woven(rng: np.random.Generator) -> Shades:
    over = (_U // 6 + _V // 4) % 2 == 0
    out = np.where(over, 1.0, 0.8)
    out[_V % 4 == 0] = 0.66
    return out


def _carpet(rng: np.random.Generator) -> Shades:
    out = 1.0 + rng.integers(-4, 5, (TILE // 2, TILE // 2)).repeat(2, axis=0).repeat(2, axis=1) / 100.0
    out[(_U // 64 + _V // 64) % 2 == 0] -= 0.07
    return out


_SKIRTING_TEXELS: Final = 7
SHADES: Final[dict[str, Callable[..., Shades]]] = {
    "planks": _planks, "tiles": _tiles, "grain": _grain, "paper": _paper, "painted": _painted, "bricks": _bricks,
    "woven": _woven, "carpet": _carpet,
}  # fmt: skip


@lru_cache(maxsize=1)
def surfaces() -> tuple[dict[str, Surface], ColorArray]:
    """All surfaces by name, and the picture (H, 280, 3) that holds them."""
    palette = np.zeros((1, _WIDTH, 3), dtype=np.uint8)
    found = {}
    for column, (name, color) in enumerate(_PLAN["plain"].items()):
        palette[0, column] = color
        found[name] = Surface(column, 0, 0.0)
    bands, row = [palette], 1
    for name, look in _PLAN["pictures"].items():
        shades, *sizes = look["shades"]
        band = np.array(look["color"]) * SHADES[shades](rng_for("sample surface", name), *sizes)[..., None]
        if name.endswith("wall"):
            band[: _SKIRTING_TEXELS - 1], band[_SKIRTING_TEXELS - 1] = (232, 230, 224), (150, 144, 136)
        image = np.clip(band, 0, 255).astype(np.uint8)
        bands.append(np.pad(image, ((0, _APRON), (0, _APRON), (0, 0)), mode="wrap"))
        found[name] = Surface(0, row, look["texel_m"])
        row += _WIDTH
    return found, np.concatenate(bands)


def texels_of(surface: Surface, corners: FloatArray, normals: FloatArray, size_m: FloatArray) -> FloatArray:
    """Column and row (F, 3, 2) of the corners (F, 3, 3) of faces: the picture lies on the plane that is nearest.

    ``size_m`` (3,): of the part, whose longer side the grain follows; zeros for what stands upright in the world.
    """
    out = np.broadcast_to([surface.column + 0.5, surface.row + 0.5], (*corners.shape[:2], 2)).copy()
    if not surface.texel_m:
        return out
    steepest = np.abs(normals.sum(1)).argmax(1)
    for axis, (a, b) in enumerate(((1, 2), (0, 2), (0, 1))):
        if size_m[a] < size_m[b]:
            a, b = b, a  # noqa: PLW2901 - the grain's direction
        chosen = steepest == axis
        uv = corners[chosen][..., [a, b]] / surface.texel_m
        uv -= np.floor(uv.min(1, keepdims=True) / TILE + 1e-9) * TILE
        out[chosen] = np.maximum(uv, 0.0) + np.array([surface.column, surface.row])
    return out


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
    """Share of the light that remains at a share of a thing's height above its lower side."""
    return 1.0 - _FOOT * np.maximum(1.0 - height / 0.6, 0.0) ** 2


def contact_shading(points: FloatArray, boxes: Boxes) -> FloatArray:
    """Share of the light that remains at points (N, 3) of floor, walls and ceiling beside boxes."""
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
    """Share of the light that remains at points (N, 3) close to where walls, floor and ceiling meet."""
    sideways = np.asarray(shapely.distance(shapely.points(points[:, :2]), floor.boundary))
    upright = np.minimum(points[:, 2], height_m - points[:, 2])
    off = np.where(sideways > 1e-6, sideways, np.abs(upright))
    near = np.maximum(1.0 - off / _CORNER_M, 0.0)
    return 1.0 - _CORNER * near * near
