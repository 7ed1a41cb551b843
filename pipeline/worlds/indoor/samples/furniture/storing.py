"""What keeps other things: cupboards, shelves, bins, bags."""

from __future__ import annotations

from typing import Final

from pipeline.sampling.shapes import Profile
from pipeline.worlds.indoor.samples.furniture.part import Kind, Part, Parts, block, cushion, fronts, turned
from pipeline.worlds.indoor.samples.furniture.resting import legs

_BUCKET: Final[Profile] = ((0.0, 0.0), (0.8, 0.0), (1.0, 0.93), (1.0, 1.0), (0.92, 1.0), (0.74, 0.1), (0.0, 0.1))
_SPINES: Final = ("rust", "navy", "cream", "moss", "dark", "ochre", "steel", "cherry")

_CABINET: Final[Parts] = (
    block((0.02, 0.98, 0.12, 0.98, 0.0, 0.07), "dark"),
    block((0, 1, 0.08, 1, 0.07, 0.96), "main"),
    block((0, 1, 0.02, 1, 0.96, 1), "second"),
    *(block((x, x + 0.465, 0.04, 0.08, 0.1, 0.94), "main") for x in (0.025, 0.51)),
    *(block((x, x + 0.385, 0.03, 0.04, 0.16, 0.88), "second") for x in (0.065, 0.55)),
    *(block((x, x + 0.02, 0.0, 0.04, 0.56, 0.76), "steel") for x in (0.455, 0.525)),
)
_DRESSER: Final[Parts] = (
    *legs(0.06, 0.12, 0.0, 0.1, "main"),
    block((0, 1, 0.08, 1, 0.1, 0.96), "main"),
    block((0, 1, 0, 1, 0.96, 1), "main"),
    *fronts(2, 3, (0.01, 0.99, 0.0, 0.08, 0.12, 0.95), "second", "black"),
)
_NIGHTSTAND: Final[Parts] = (
    *legs(0.1, 0.12, 0.0, 0.22, "main"),
    block((0, 1, 0.1, 1, 0.22, 0.94), "main"),
    block((0, 1, 0, 1, 0.94, 1), "main"),
    *fronts(1, 2, (0.02, 0.98, 0.0, 0.1, 0.24, 0.93), "second", "black"),
)


def _books(boards: tuple[float, ...], gap: float) -> Parts:
    """Books on every board, standing, one here and there missing."""
    found: list[Part] = []
    for row, z in enumerate(boards):
        x, number = 0.07, 3 * row
        while x < 0.9:
            number += 1
            width = 0.035 + 0.012 * (number * 7 % 4)
            height = gap * (0.62 + 0.08 * (number * 5 % 5))
            if number % 9 != 5:
                deep = 0.1 + 0.05 * (number * 3 % 3)
                span = (x, min(x + width, 0.94) - 0.004, deep, 0.9, z, z + height)
                found.append(block(span, _SPINES[number * 5 % len(_SPINES)]))
            x += width
    return tuple(found)


_BOARDS: Final = (0.02, 0.265, 0.51, 0.755)
_BOOKSHELF: Final[Parts] = (
    block((0, 0.05, 0, 1, 0, 1), "main"),
    block((0.95, 1, 0, 1, 0, 1), "main"),
    block((0.05, 0.95, 0.94, 1, 0, 1), "second"),
    *(block((0.05, 0.95, 0, 0.94, z, z + 0.02), "main") for z in (0.0, 0.245, 0.49, 0.735, 0.98)),
    *_books(_BOARDS, 0.22),
)
_SHELF: Final[Parts] = (
    *legs(0.05, 0.12, 0.0, 1.0, "steel"),
    *(block((0, 1, 0, 1, z, z + 0.022), "main") for z in (0.06, 0.36, 0.66, 0.95)),
    block((0.12, 0.42, 0.15, 0.85, 0.082, 0.26), "cardboard"),
    block((0.5, 0.88, 0.12, 0.88, 0.382, 0.54), "cardboard"),
    turned((0.14, 0.36, 0.2, 0.8, 0.382, 0.52), "ochre"),
    turned((0.6, 0.8, 0.2, 0.8, 0.682, 0.82), "moss"),
    block((0.1, 0.45, 0.15, 0.85, 0.682, 0.8), "cream"),
)
_TRASH_CAN: Final[Parts] = (
    turned((0, 1, 0, 1, 0, 1), "main", _BUCKET, squareness=0.7),
    turned((0.13, 0.87, 0.13, 0.87, 0.5, 0.74), "bag", squareness=0.7),
    cushion((0.2, 0.6, 0.22, 0.6, 0.72, 0.97), "white"),
    cushion((0.48, 0.82, 0.45, 0.8, 0.72, 0.93), "cream"),
)
_RECYCLING_BIN: Final[Parts] = (
    block((0.08, 0.92, 0.1, 0.92, 0, 0.82), "blue", (0.02, 0.98, 0.03, 0.98)),
    block((0, 1, 0, 1, 0.82, 0.9), "blue light"),
    block((0.05, 0.95, 0.05, 0.95, 0.9, 1), "blue light", (0.15, 0.85, 0.15, 0.85)),
    block((0.3, 0.7, 0.02, 0.5, 0.3, 0.36), "white"),
    block((0.3, 0.36, 0.02, 0.5, 0.3, 0.62), "white"),
    block((0.64, 0.7, 0.02, 0.5, 0.3, 0.62), "white"),
    block((0.3, 0.7, 0.02, 0.5, 0.56, 0.62), "white"),
)
_BASKET: Final[Parts] = (
    turned((0, 1, 0, 1, 0, 0.8), "wicker", _BUCKET, squareness=0.6),
    cushion((0.08, 0.92, 0.08, 0.92, 0.35, 0.85), "main"),
    *(block((x, x + 0.05, y, y + 0.07, 0.7, 1), "wicker") for x in (0.0, 0.95) for y in (0.3, 0.63)),
    *(block((x, x + 0.05, 0.37, 0.63, 0.9, 1), "wicker") for x in (0.0, 0.95)),
)
_BACKPACK: Final[Parts] = (
    block((0, 1, 0.25, 0.95, 0, 0.55), "main"),
    turned((0, 1, 0.25, 0.95, 0.1, 0.93), "main", axis="y", squareness=0.45),
    turned((0.12, 0.88, 0.0, 0.5, 0.06, 0.5), "second", axis="y", squareness=0.6),
    block((0.2, 0.8, 0.235, 0.26, 0.66, 0.69), "black"),
    block((0.2, 0.8, 0.0, 0.03, 0.4, 0.43), "black"),
    *(block((x, x + 0.14, 0.93, 1, 0.1, 0.85), "second") for x in (0.12, 0.74)),
    *(block((x, x + 0.06, 0.55, 0.7, 0.88, 1), "black") for x in (0.36, 0.58)),
    block((0.36, 0.64, 0.55, 0.7, 0.96, 1), "black"),
)
_SUITCASE: Final[Parts] = (
    turned((0, 1, 0.08, 0.92, 0.06, 0.86), "main", axis="y", squareness=0.8),
    *(block((x, x + 0.06, 0.0, 1.0, 0.14, 0.78), "second") for x in (0.2, 0.47, 0.74)),
    *(turned((x, x + 0.14, y, y + 0.2, 0, 0.08), "black") for x in (0.05, 0.81) for y in (0.1, 0.7)),
    *(block((x, x + 0.04, 0.7, 0.78, 0.84, 1), "steel") for x in (0.3, 0.66)),
    block((0.3, 0.7, 0.68, 0.8, 0.95, 1), "black"),
)

STORING: Final[dict[str, Kind]] = {
    "backpack": Kind(_BACKPACK, (0.34, 0.25, 0.48), (("rust", "dark"), ("navy", "ochre"), ("moss", "ochre"))),
    "basket": Kind(_BASKET, (0.42, 0.32, 0.3), (("white", "white"), ("blue light", "white"))),
    "bookshelf": Kind(_BOOKSHELF, (0.9, 0.32, 1.85), (("walnut", "dark"), ("oak", "walnut"), ("white", "grey"))),
    "cabinet": Kind(_CABINET, (0.9, 0.48, 0.88), (("white", "cream"), ("oak", "walnut"), ("moss", "oak"))),
    "dresser": Kind(_DRESSER, (1.1, 0.48, 0.85), (("walnut", "cherry"), ("oak", "cream"))),
    "nightstand": Kind(_NIGHTSTAND, (0.45, 0.4, 0.52), (("walnut", "cherry"), ("oak", "cream"))),
    "recycling bin": Kind(_RECYCLING_BIN, (0.34, 0.34, 0.52)),
    "shelf": Kind(_SHELF, (0.8, 0.3, 1.5), (("grey light", "steel"), ("oak", "steel"))),
    "suitcase": Kind(_SUITCASE, (0.45, 0.28, 0.65), (("navy", "dark"), ("rust", "dark"))),
    "trash can": Kind(_TRASH_CAN, (0.3, 0.3, 0.38), (("dark", "dark"), ("steel", "steel"))),
}
