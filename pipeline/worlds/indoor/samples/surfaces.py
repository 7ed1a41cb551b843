"""What surfaces look like: plain colours and small pictures that repeat, in one picture of all of them.

Integers and elementary arithmetic only, random numbers by name: the picture is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.sampling.meshes import ColorArray

Color = tuple[int, int, int]
Shades = npt.NDArray[np.float64]

TILE: Final = 256  # texels; a picture repeats after so many in both directions
_APRON: Final = 24  # texels that a picture is continued by, so that no face needs to begin anew in its midst
_WIDTH: Final = TILE + _APRON

PLAIN: Final[dict[str, Color]] = {
    "bag": (205, 208, 205),
    "bark": (98, 72, 52),
    "black": (34, 35, 38),
    "blue": (44, 96, 176),
    "blue light": (92, 146, 214),
    "cardboard": (190, 152, 108),
    "cream": (232, 220, 192),
    "dark": (66, 68, 74),
    "ember": (196, 62, 40),
    "fire": (250, 168, 48),
    "glass": (70, 88, 104),
    "glow": (255, 244, 208),
    "green": (66, 132, 72),
    "grey": (122, 126, 130),
    "grey light": (196, 198, 198),
    "leaf 1": (62, 122, 60),
    "leaf 2": (88, 150, 74),
    "leaf 3": (110, 168, 84),
    "lit": (116, 186, 240),
    "moss": (82, 108, 78),
    "moss light": (112, 138, 102),
    "navy": (56, 76, 124),
    "navy light": (86, 110, 164),
    "night": (26, 34, 56),
    "ochre": (206, 158, 62),
    "porcelain": (242, 242, 238),
    "red": (190, 50, 46),
    "rust": (160, 78, 56),
    "rust light": (190, 108, 82),
    "screen": (34, 60, 108),
    "silver": (184, 188, 192),
    "sky": (158, 206, 240),
    "soil": (74, 54, 40),
    "steel": (148, 152, 158),
    "stone": (150, 144, 136),
    "terracotta": (188, 104, 74),
    "tree": (92, 138, 84),
    "water": (172, 214, 228),
    "white": (236, 235, 230),
}
GLOWING: Final = frozenset({"fire", "glow", "lit", "night", "screen", "sky"})  # as bright in the shade


class Surface(NamedTuple):
    """Where a surface lies in the picture: column, row, and how large its texels are (0: one texel is all of it)."""

    column: int
    row: int
    texel_m: float


def _planks(across: int, along: int) -> Callable[[np.random.Generator], Shades]:
    """Boards of so many texels, each in a shade of its own, every row of them shifted, with grain."""

    def shades(rng: np.random.Generator) -> Shades:
        v, u = np.indices((TILE, TILE))
        shift = rng.integers(0, TILE, TILE // across)[v // across]
        board = ((u + shift) % TILE) // along
        out = 1.0 + rng.integers(-9, 7, (TILE // across, TILE // along))[v // across, board] / 100.0
        out += rng.integers(-2, 3, (TILE // 4, TILE // 64))[v // 4, ((u + shift) % TILE) // 64] / 100.0
        out[(v % across == 0) | ((u + shift) % along == 0)] *= 0.76
        return out

    return shades


def _tiles(size: int, grout: int) -> Callable[[np.random.Generator], Shades]:
    """Square tiles in shades of their own, with lighter or darker joints."""

    def shades(rng: np.random.Generator) -> Shades:
        v, u = np.indices((TILE, TILE))
        out = 1.0 + rng.integers(-5, 3, (TILE // size, TILE // size))[v // size, u // size] / 100.0
        out[(v % size < grout) | (u % size < grout)] = 0.82
        return out

    return shades


def _grain(rng: np.random.Generator) -> Shades:
    """Streaks along u, as sawn wood has them."""
    fine = rng.integers(-4, 5, (TILE, 4)).repeat(TILE // 4, axis=1) / 100.0
    broad = rng.integers(-5, 6, (TILE // 8, 2)).repeat(8, axis=0).repeat(TILE // 2, axis=1) / 100.0
    return 1.0 + fine + broad


def _paper(rng: np.random.Generator) -> Shades:
    """Wallpaper: broad stripes and a small diamond here and there, over a skirting board."""
    v, u = np.indices((TILE, TILE))
    out = np.where(u % 32 < 16, 1.0, 0.955)
    far = np.abs(u % 32 - 8) + np.abs((v + 32 * (u // 32 % 2)) % 64 - 32)
    out[(far < 5) & (far > 1)] = 0.84
    return out


def _painted(rng: np.random.Generator) -> Shades:
    """Tiles to a man's shoulder, paint in stripes above."""
    v, u = np.indices((TILE, TILE))
    out = np.where((v % 12 < 1) | (u % 16 < 1), 0.86, 1.0)
    out -= rng.integers(0, 5, (22, 16))[v // 12, u // 16] / 100.0
    out[v >= 120] = np.where(u % 32 < 16, 0.98, 0.93)[v >= 120]
    out[(v >= 114) & (v < 120)] = 0.6
    return out


def _bricks(rng: np.random.Generator) -> Shades:
    v, u = np.indices((TILE, TILE))
    row = v // 8
    along = u + 10 * (row % 2)
    out = 1.0 + rng.integers(-12, 9, (TILE // 8, TILE // 20 + 2))[row, along // 20] / 100.0
    out[(v % 8 == 0) | (along % 20 == 0)] = 1.35
    return out


def _woven(rng: np.random.Generator) -> Shades:
    v, u = np.indices((TILE, TILE))
    over = (u // 6 + v // 4) % 2 == 0
    out = np.where(over, 1.0, 0.8)
    out[v % 4 == 0] = 0.66
    return out


def _carpet(rng: np.random.Generator) -> Shades:
    v, u = np.indices((TILE, TILE))
    out = 1.0 + rng.integers(-4, 5, (TILE // 2, TILE // 2)).repeat(2, axis=0).repeat(2, axis=1) / 100.0
    out[(u // 64 + v // 64) % 2 == 0] -= 0.07
    return out


_SKIRTING_TEXELS: Final = 7
# Name: texel in metres, colour, shades; walls are wide enough that they repeat above no ceiling.
PICTURES: Final[dict[str, tuple[float, Color, Callable[[np.random.Generator], Shades]]]] = {
    "oak": (0.005, (196, 154, 104), _grain),
    "walnut": (0.005, (120, 84, 58), _grain),
    "cherry": (0.005, (152, 88, 60), _grain),
    "brick": (0.0125, (158, 84, 66), _bricks),
    "wicker": (0.005, (186, 148, 98), _woven),
    "oak floor": (0.0075, (188, 146, 100), _planks(16, 128)),
    "walnut floor": (0.0075, (142, 104, 74), _planks(16, 128)),
    "stone floor": (0.01, (178, 172, 164), _tiles(32, 1)),
    "carpet": (0.0125, (134, 136, 148), _carpet),
    "cream wall": (0.0125, (228, 220, 202), _paper),
    "green wall": (0.0125, (198, 212, 194), _paper),
    "blue wall": (0.0125, (194, 208, 222), _paper),
    "rose wall": (0.0125, (226, 206, 198), _paper),
    "tiled wall": (0.0125, (222, 228, 228), _painted),
    "ceiling": (0.0125, (242, 241, 236), _tiles(64, 1)),
}


@lru_cache(maxsize=1)
def surfaces() -> tuple[dict[str, Surface], ColorArray]:
    """All surfaces by name, and the picture (H, 280, 3) that holds them."""
    palette = np.zeros((1, _WIDTH, 3), dtype=np.uint8)
    found = {}
    for column, (name, color) in enumerate(PLAIN.items()):
        palette[0, column] = color
        found[name] = Surface(column, 0, 0.0)
    bands, row = [palette], 1
    for name, (texel_m, color, shades) in PICTURES.items():
        band = np.array(color) * shades(rng_for("sample surface", name))[..., None]
        if name.endswith("wall"):
            band[: _SKIRTING_TEXELS - 1], band[_SKIRTING_TEXELS - 1] = (232, 230, 224), (150, 144, 136)
        image = np.clip(band, 0, 255).astype(np.uint8)
        bands.append(np.pad(image, ((0, _APRON), (0, _APRON), (0, 0)), mode="wrap"))
        found[name] = Surface(0, row, texel_m)
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
