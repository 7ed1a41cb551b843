"""What stands in the sample rooms: the boxy parts of each kind of furniture and its usual size.

Local axes of a piece: x to its right, y to its back, z up. A part spans shares of the piece's box: x0, x1, y0, y1,
z0, z1. The parts of every piece touch all six sides of its box, so that the box is known by construction.
"""

from __future__ import annotations

from typing import Final, NamedTuple

Part = tuple[float, float, float, float, float, float]

_LEG: Final = 0.09
_BIN_WALL: Final = 0.12


def _legs(top: float) -> tuple[Part, ...]:
    ends = ((0.0, _LEG), (1.0 - _LEG, 1.0))
    return tuple((*x, *y, 0.0, top) for x in ends for y in ends)


def _open_box(bottom: float) -> tuple[Part, ...]:
    """Four walls and a bottom of height ``bottom``."""
    w = _BIN_WALL
    return (
        (0, 1, 0, 1, 0, bottom),
        (0, w, 0, 1, bottom, 1),
        (1 - w, 1, 0, 1, bottom, 1),
        (w, 1 - w, 0, w, bottom, 1),
        (w, 1 - w, 1 - w, 1, bottom, 1),
    )


BLOCK: Final[tuple[Part, ...]] = ((0, 1, 0, 1, 0, 1),)
TABLE: Final = (*_legs(0.93), (0, 1, 0, 1, 0.93, 1))
CHAIR: Final = (*_legs(0.47), (0, 1, 0, 1, 0.47, 0.54), (0, 1, 0.9, 1, 0.54, 1))
SOFA: Final[tuple[Part, ...]] = (
    (0, 1, 0, 1, 0, 0.5),
    (0, 1, 0.72, 1, 0.5, 1),
    (0, 0.1, 0, 0.72, 0.5, 0.75),
    (0.9, 1, 0, 0.72, 0.5, 0.75),
)
BED: Final[tuple[Part, ...]] = ((0, 1, 0, 0.95, 0.1, 0.55), *_legs(0.1), (0, 1, 0.95, 1, 0.1, 1))
LAMP: Final[tuple[Part, ...]] = ((0, 1, 0, 1, 0, 0.06), (0.44, 0.56, 0.44, 0.56, 0.06, 0.6), (0, 1, 0, 1, 0.6, 1))
PLANT: Final[tuple[Part, ...]] = ((0.1, 0.9, 0.1, 0.9, 0, 0.35), (0, 1, 0, 1, 0.35, 1))
SCREEN: Final[tuple[Part, ...]] = ((0, 1, 0, 1, 0, 0.05), (0.42, 0.58, 0.3, 0.7, 0.05, 0.25), (0, 1, 0, 1, 0.25, 1))
LAPTOP: Final[tuple[Part, ...]] = ((0, 1, 0, 1, 0, 0.1), (0, 1, 0.9, 1, 0.1, 1))
SHELF: Final[tuple[Part, ...]] = (
    (0, 0.05, 0, 1, 0, 1),
    (0.95, 1, 0, 1, 0, 1),
    (0.05, 0.95, 0.94, 1, 0, 1),
    *((0.05, 0.95, 0, 0.94, z, z + 0.02) for z in (0.0, 0.245, 0.49, 0.735, 0.98)),
)
BIN: Final = _open_box(0.08)
BASIN: Final = _open_box(0.45)
TOILET: Final[tuple[Part, ...]] = ((0, 1, 0, 1, 0, 0.52), (0, 1, 0.7, 1, 0.52, 1))


class Kind(NamedTuple):
    """A kind of furniture: its parts and its usual width, depth and height in metres."""

    parts: tuple[Part, ...]
    width: float
    depth: float
    height: float


# By label, as the datasets spell them (ScanNet raw categories, ScanNet++ labels, the 17 classes of ARKitScenes).
KINDS: Final[dict[str, Kind]] = {
    "backpack": Kind(BLOCK, 0.34, 0.25, 0.48),
    "basket": Kind(BIN, 0.42, 0.32, 0.3),
    "bathtub": Kind(BASIN, 1.65, 0.75, 0.56),
    "bed": Kind(BED, 1.6, 2.0, 0.95),
    "bookshelf": Kind(SHELF, 0.9, 0.32, 1.85),
    "cabinet": Kind(BLOCK, 0.9, 0.48, 0.88),
    "ceiling lamp": Kind(BLOCK, 0.55, 0.55, 0.1),
    "chair": Kind(CHAIR, 0.48, 0.5, 0.88),
    "clock": Kind(BLOCK, 0.32, 0.05, 0.32),
    "computer tower": Kind(BLOCK, 0.2, 0.45, 0.45),
    "couch": Kind(SOFA, 2.0, 0.9, 0.82),
    "desk": Kind(TABLE, 1.4, 0.7, 0.74),
    "dishwasher": Kind(BLOCK, 0.6, 0.6, 0.84),
    "door": Kind(BLOCK, 0.9, 0.06, 2.05),
    "dresser": Kind(BLOCK, 1.1, 0.48, 0.85),
    "fireplace": Kind(BLOCK, 1.2, 0.4, 1.1),
    "heater": Kind(BLOCK, 1.1, 0.12, 0.6),
    "kettle": Kind(BLOCK, 0.2, 0.2, 0.26),
    "keyboard": Kind(BLOCK, 0.46, 0.16, 0.035),
    "lamp": Kind(LAMP, 0.32, 0.32, 0.5),
    "laptop": Kind(LAPTOP, 0.35, 0.25, 0.23),
    "microwave": Kind(BLOCK, 0.48, 0.36, 0.29),
    "monitor": Kind(SCREEN, 0.58, 0.14, 0.44),
    "mouse": Kind(BLOCK, 0.07, 0.12, 0.04),
    "nightstand": Kind(BLOCK, 0.45, 0.4, 0.52),
    "office chair": Kind(CHAIR, 0.56, 0.56, 0.95),
    "oven": Kind(BLOCK, 0.6, 0.56, 0.6),
    "pillow": Kind(BLOCK, 0.52, 0.36, 0.14),
    "plant": Kind(PLANT, 0.42, 0.42, 0.95),
    "printer": Kind(BLOCK, 0.45, 0.38, 0.3),
    "radiator": Kind(BLOCK, 1.0, 0.12, 0.6),
    "recycling bin": Kind(BIN, 0.34, 0.34, 0.52),
    "refrigerator": Kind(BLOCK, 0.65, 0.66, 1.7),
    "shelf": Kind(SHELF, 0.8, 0.3, 1.5),
    "shoes": Kind(BLOCK, 0.26, 0.3, 0.1),
    "sink": Kind(BASIN, 0.55, 0.45, 0.22),
    "sofa": Kind(SOFA, 1.95, 0.9, 0.82),
    "stool": Kind(TABLE, 0.38, 0.38, 0.5),
    "stove": Kind(BLOCK, 0.6, 0.62, 0.9),
    "suitcase": Kind(BLOCK, 0.45, 0.28, 0.65),
    "table": Kind(TABLE, 1.45, 0.85, 0.75),
    "table lamp": Kind(LAMP, 0.3, 0.3, 0.48),
    "telephone": Kind(BLOCK, 0.22, 0.2, 0.09),
    "toilet": Kind(TOILET, 0.38, 0.68, 0.78),
    "trash can": Kind(BIN, 0.3, 0.3, 0.38),
    "tv": Kind(BLOCK, 1.15, 0.1, 0.68),
    "tv_monitor": Kind(BLOCK, 1.1, 0.1, 0.65),
    "washer": Kind(BLOCK, 0.6, 0.56, 0.86),
    "whiteboard": Kind(BLOCK, 1.5, 0.05, 1.0),
    "window": Kind(BLOCK, 1.2, 0.06, 1.1),
}
