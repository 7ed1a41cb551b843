"""What people sit, lie and eat on."""

from __future__ import annotations

from typing import Final

from pipeline.worlds.indoor.samples.furniture.part import Kind, Parts, block, cushion, fronts, turned

_CORNERS: Final = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))


def legs(thick_x: float, thick_y: float, z0: float, z1: float, color: str, splay: float = 0.0) -> Parts:
    """Four legs whose feet stand in the corners, and whose upper ends lie ``splay`` further in."""
    found = []
    for right, back in _CORNERS:
        x0, y0 = right * (1 - thick_x), back * (1 - thick_y)
        x_up, y_up = x0 + splay * (1 - 2 * right), y0 + splay * (1 - 2 * back)
        top = (x_up, x_up + thick_x, y_up, y_up + thick_y)
        found.append(block((x0, x0 + thick_x, y0, y0 + thick_y, z0, z1), color, top))
    return tuple(found)


_CHAIR: Final[Parts] = (
    *legs(0.1, 0.1, 0.0, 0.46, "main"),
    block((0, 1, 0, 1, 0.46, 0.5), "main"),
    block((0.05, 0.95, 0.04, 0.88, 0.5, 0.535), "second"),
    block((0, 0.09, 0.9, 1, 0.5, 1), "main"),
    block((0.91, 1, 0.9, 1, 0.5, 1), "main"),
    block((0.09, 0.91, 0.91, 0.99, 0.86, 0.98), "main"),
    block((0.09, 0.91, 0.91, 0.99, 0.6, 0.66), "main"),
    *(block((x, x + 0.08, 0.925, 0.975, 0.66, 0.86), "main") for x in (0.25, 0.46, 0.67)),
    block((0.1, 0.9, 0.03, 0.07, 0.4, 0.46), "main"),
)
_OFFICE_CHAIR: Final[Parts] = (
    block((0.06, 0.94, 0.46, 0.54, 0.055, 0.1), "black"),
    block((0.46, 0.54, 0.06, 0.94, 0.055, 0.1), "black"),
    *(turned((x, x + 0.12, 0.44, 0.56, 0, 0.06), "dark") for x in (0.0, 0.88)),
    *(turned((0.44, 0.56, y, y + 0.12, 0, 0.06), "dark") for y in (0.0, 0.88)),
    turned((0.45, 0.55, 0.45, 0.55, 0.1, 0.42), "steel"),
    turned((0.06, 0.94, 0.02, 0.92, 0.42, 0.52), "main", squareness=0.6),
    block((0.44, 0.56, 0.9, 0.96, 0.44, 0.66), "black"),
    block((0.13, 0.87, 0.84, 0.93, 0.6, 1), "main", (0.2, 0.8, 0.91, 1.0)),
    *(block((x, x + 0.05, 0.42, 0.52, 0.45, 0.66), "black") for x in (0.01, 0.94)),
    *(block((x, x + 0.09, 0.25, 0.68, 0.66, 0.69), "black") for x in (0.0, 0.91)),
)
_STOOL: Final[Parts] = (
    *legs(0.11, 0.11, 0.0, 0.88, "main", splay=0.2),
    block((0.1, 0.9, 0.13, 0.18, 0.3, 0.36), "main"),
    block((0.1, 0.9, 0.82, 0.87, 0.3, 0.36), "main"),
    turned((0.0, 1.0, 0.0, 1.0, 0.88, 1), "second"),
)


def _sofa(seats: int) -> Parts:
    width = 0.76 / seats
    lefts = [0.12 + i * width for i in range(seats)]
    return (
        *legs(0.05, 0.1, 0.0, 0.1, "dark"),
        block((0.01, 0.99, 0.05, 0.98, 0.1, 0.4), "main"),
        turned((0, 0.12, 0, 1, 0.1, 0.7), "main", axis="y", squareness=0.65),
        turned((0.88, 1, 0, 1, 0.1, 0.7), "main", axis="y", squareness=0.65),
        block((0.1, 0.9, 0.72, 0.9, 0.4, 1), "main", (0.1, 0.9, 0.82, 1.0)),
        *(turned((x + 0.005, x + width - 0.005, 0.01, 0.76, 0.4, 0.56), "second", squareness=0.75) for x in lefts),
        *(
            block(
                (x + 0.01, x + width - 0.01, 0.6, 0.76, 0.56, 0.95), "second", (x + 0.03, x + width - 0.03, 0.72, 0.86)
            )
            for x in lefts
        ),
    )


_PILLOWS: Final[Parts] = (
    cushion((0.07, 0.47, 0.7, 0.93, 0.55, 0.7), "white"),
    cushion((0.53, 0.93, 0.7, 0.93, 0.55, 0.7), "white"),
)
_BED: Final[Parts] = (
    *legs(0.06, 0.05, 0.0, 0.12, "main"),
    block((0, 1, 0.0, 0.96, 0.12, 0.3), "main"),
    block((0.02, 0.98, 0.02, 0.95, 0.3, 0.55), "white", (0.035, 0.965, 0.035, 0.94)),
    block((0.003, 0.997, 0.004, 0.58, 0.26, 0.57), "second", (0.025, 0.975, 0.03, 0.58)),
    block((0.001, 0.999, 0.58, 0.67, 0.28, 0.58), "white", (0.025, 0.975, 0.58, 0.67)),
    block((0, 1, 0.95, 1, 0.12, 0.94), "main"),
    block((0, 1, 0.94, 1, 0.94, 1), "main"),
    block((0.06, 0.94, 0.935, 0.95, 0.62, 0.88), "second"),
)
_TABLE: Final[Parts] = (
    *legs(0.07, 0.11, 0.0, 0.94, "main"),
    block((0, 1, 0, 1, 0.94, 1), "main"),
    *(block((0.05, 0.95, y, y + 0.03, 0.82, 0.94), "main") for y in (0.04, 0.93)),
    *(block((x, x + 0.02, 0.06, 0.94, 0.82, 0.94), "main") for x in (0.03, 0.95)),
)
_DESK: Final[Parts] = (
    block((0, 1, 0, 1, 0.95, 1), "main"),
    block((0.02, 0.3, 0.08, 0.96, 0.0, 0.95), "second"),
    *fronts(1, 3, (0.02, 0.3, 0.02, 0.08, 0.06, 0.93), "second", "steel"),
    block((0.95, 0.99, 0.03, 0.97, 0.0, 0.95), "second"),
    block((0.3, 0.95, 0.86, 0.89, 0.35, 0.95), "second"),
)
_SOFA_COLORS: Final = (("moss", "moss light"), ("navy", "navy light"), ("rust", "rust light"), ("grey", "grey light"))
_TABLE_COLORS: Final = (("oak", "oak"), ("walnut", "walnut"))

RESTING: Final[dict[str, Kind]] = {
    "bed": Kind(
        _BED,
        (1.6, 2.0, 0.95),
        (("oak", "navy light"), ("walnut", "rust light"), ("walnut", "moss light")),
        ("pillow", _PILLOWS),
    ),
    "chair": Kind(_CHAIR, (0.48, 0.5, 0.88), (("oak", "navy"), ("walnut", "rust"), ("cherry", "cream"))),
    "couch": Kind(_sofa(3), (2.0, 0.9, 0.82), _SOFA_COLORS),
    "desk": Kind(_DESK, (1.4, 0.7, 0.74), (("oak", "white"), ("walnut", "cream"))),
    "office chair": Kind(_OFFICE_CHAIR, (0.56, 0.56, 0.95), (("navy", "navy"), ("dark", "dark"), ("rust", "rust"))),
    "pillow": Kind(
        (cushion((0, 1, 0, 1, 0, 1), "main"),), (0.52, 0.36, 0.14), (("white", "white"), ("cream", "cream"))
    ),
    "sofa": Kind(_sofa(2), (1.95, 0.9, 0.82), _SOFA_COLORS),
    "stool": Kind(_STOOL, (0.38, 0.38, 0.5), (("oak", "rust"), ("walnut", "cream"), ("dark", "oak"))),
    "table": Kind(_TABLE, (1.45, 0.85, 0.75), _TABLE_COLORS),
}
