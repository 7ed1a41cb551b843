"""Devices, lamps, plants, and what hangs on walls."""

from __future__ import annotations

from typing import Final

from pipeline.sampling.shapes import Profile
from pipeline.worlds.indoor.samples.furniture.part import BALL, Kind, Part, Parts, block, turned
from pipeline.worlds.indoor.samples.furniture.resting import legs

_SHADE: Final[Profile] = ((0.0, 0.0), (1.0, 0.0), (0.6, 1.0), (0.0, 1.0))
_VASE: Final[Profile] = ((0.0, 0.0), (0.8, 0.0), (1.0, 0.3), (0.3, 0.8), (0.3, 1.0), (0.0, 1.0))
_DOME: Final[Profile] = ((0.0, 0.0), (1.0, 0.0), (0.95, 0.4), (0.75, 0.75), (0.4, 0.95), (0.0, 1.0))


def _screen(x0: float, x1: float, y: float, z0: float, z1: float) -> Parts:
    """A lit screen with two windows and a bar on it, facing the front."""
    w, h = x1 - x0, z1 - z0
    return (
        block((x0, x1, y - 0.03, y, z0, z1), "screen"),
        block((x0, x1, y - 0.045, y - 0.03, z0, z0 + 0.07 * h), "grey"),
        block((x0 + 0.07 * w, x0 + 0.5 * w, y - 0.05, y - 0.03, z0 + 0.3 * h, z0 + 0.88 * h), "white"),
        block((x0 + 0.56 * w, x0 + 0.93 * w, y - 0.05, y - 0.03, z0 + 0.18 * h, z0 + 0.7 * h), "lit"),
    )


_MONITOR: Final[Parts] = (
    block((0.14, 0.86, 0, 1, 0, 0.035), "dark"),
    block((0.45, 0.55, 0.56, 0.8, 0.035, 0.42), "dark"),
    block((0, 1, 0.32, 0.58, 0.2, 1), "black"),
    *_screen(0.03, 0.97, 0.32, 0.25, 0.96),
)
_TV: Final[Parts] = (
    block((0, 1, 0.3, 0.8, 0.07, 1), "black"),
    block((0.015, 0.985, 0.25, 0.3, 0.1, 0.975), "night"),
    block((0.6, 0.72, 0.24, 0.25, 0.1, 0.975), "screen", (0.72, 0.84, 0.24, 0.25)),
    block((0.76, 0.8, 0.24, 0.25, 0.1, 0.975), "screen", (0.88, 0.92, 0.24, 0.25)),
    *(block((x, x + 0.06, 0, 1, 0, 0.07), "dark", (x + 0.02, x + 0.04, 0.4, 0.7)) for x in (0.0, 0.94)),
)
_LAPTOP: Final[Parts] = (
    block((0, 1, 0, 0.86, 0, 0.07), "silver"),
    block((0.06, 0.94, 0.36, 0.76, 0.07, 0.085), "black"),
    block((0.34, 0.66, 0.06, 0.28, 0.07, 0.08), "grey"),
    block((0, 1, 0.8, 0.84, 0.07, 1), "dark", (0, 1, 0.96, 1.0)),
    block((0.04, 0.96, 0.785, 0.795, 0.14, 0.94), "lit", (0.04, 0.96, 0.925, 0.935)),
    block((0.1, 0.55, 0.78, 0.79, 0.3, 0.8), "white", (0.1, 0.55, 0.865, 0.875)),
)
_KEYBOARD: Final[Parts] = (
    block((0, 1, 0, 1, 0, 0.5), "main"),
    *(
        block(((i + 0.12) / 15.5 + 0.01, (i + 0.95) / 15.5 + 0.01, y, y + 0.14, 0.5, 1), "second")
        for y in (0.26, 0.44, 0.62, 0.81)
        for i in range(15)
    ),
    block((0.26, 0.62, 0.07, 0.21, 0.5, 1), "second"),
    *(block((x, x + 0.1, 0.07, 0.21, 0.5, 1), "second") for x in (0.02, 0.14, 0.65, 0.77, 0.88)),
)
_MOUSE: Final[Parts] = (
    turned((0, 1, 0, 1, 0, 1), "main", _DOME, squareness=0.3),
    block((0.45, 0.55, 0.62, 0.8, 0.5, 0.96), "second"),
)
_PRINTER: Final[Parts] = (
    block((0, 1, 0.14, 0.96, 0.0, 0.62), "main"),
    block((0.03, 0.97, 0.18, 0.94, 0.62, 0.74), "second"),
    block((0.15, 0.85, 0.0, 0.3, 0.08, 0.13), "second"),
    block((0.2, 0.8, 0.02, 0.3, 0.13, 0.15), "white"),
    block((0.12, 0.88, 0.13, 0.15, 0.16, 0.34), "black"),
    block((0.2, 0.8, 0.7, 0.76, 0.7, 1), "white", (0.2, 0.8, 0.95, 1.0)),
    *(block((x, x + 0.05, 0.12, 0.14, 0.48, 0.54), "lit") for x in (0.7, 0.78, 0.86)),
)
_TOWER: Final[Parts] = (
    *legs(0.2, 0.1, 0.0, 0.03, "dark"),
    block((0, 1, 0.04, 1, 0.03, 1), "main"),
    block((0.06, 0.94, 0.02, 0.04, 0.05, 0.97), "dark"),
    *(block((0.12, 0.88, 0.0, 0.02, z, z + 0.06), "steel") for z in (0.84, 0.74)),
    turned((0.36, 0.64, 0.0, 0.02, 0.58, 0.7), "lit", axis="y"),
    *(block((0.16, 0.84, 0.01, 0.02, z, z + 0.02), "grey") for z in (0.14, 0.2, 0.26, 0.32, 0.38)),
)
_TELEPHONE: Final[Parts] = (
    block((0, 1, 0, 1, 0, 0.3), "main", (0, 1, 0.1, 1)),
    block((0.36, 0.98, 0.14, 0.98, 0.3, 0.5), "main", (0.36, 0.98, 0.5, 0.98)),
    *(block((x, x + 0.12, y, y + 0.12, 0.36, 0.5), "white") for x in (0.46, 0.62, 0.78) for y in (0.3, 0.46, 0.62)),
    block((0.46, 0.9, 0.8, 0.94, 0.48, 0.56), "lit"),
    block((0.06, 0.26, 0.1, 1, 0.66, 0.9), "second"),
    *(turned((0.02, 0.3, y, y + 0.26, 0.3, 1), "second") for y in (0.1, 0.72)),
)
_LAMP: Final[Parts] = (
    turned((0.2, 0.8, 0.2, 0.8, 0, 0.06), "main"),
    turned((0.44, 0.56, 0.44, 0.56, 0.06, 0.56), "main"),
    block((0, 1, 0, 1, 0.5, 1), "glow", (0.2, 0.8, 0.2, 0.8)),
    block((0, 1, 0, 1, 0.48, 0.5), "second"),
)
_TABLE_LAMP: Final[Parts] = (
    turned((0.22, 0.78, 0.22, 0.78, 0, 0.46), "second", _VASE),
    turned((0.45, 0.55, 0.45, 0.55, 0.4, 0.6), "main"),
    turned((0, 1, 0, 1, 0.5, 1), "glow", _SHADE),
)
_CEILING_LAMP: Final[Parts] = (
    block((0, 1, 0, 1, 0.35, 1), "steel"),
    block((0.06, 0.94, 0.06, 0.94, 0.0, 0.35), "glow"),
    *(block((x, x + 0.03, 0.03, 0.97, 0.1, 0.35), "steel") for x in (0.0, 0.97)),
)


def _leaves() -> Parts:
    """Tufts in three greens round a stem; some reach the sides of the box, one its top."""
    tufts = (
        *((0.0, 0.56, 0.18, 0.78, 0.4, 0.72), (0.44, 1.0, 0.22, 0.8, 0.44, 0.78)),
        *((0.2, 0.76, 0.0, 0.54, 0.46, 0.8), (0.24, 0.8, 0.46, 1.0, 0.42, 0.76)),
        *((0.14, 0.6, 0.3, 0.86, 0.66, 0.95), (0.36, 0.86, 0.14, 0.66, 0.7, 1.0)),
    )
    return tuple(turned(span, f"leaf {1 + i % 3}", BALL) for i, span in enumerate(tufts))


_PLANT: Final[Parts] = (
    block((0.06, 0.94, 0.06, 0.94, 0, 0.26), "main", (0.02, 0.98, 0.02, 0.98)),
    block((0, 1, 0, 1, 0.26, 0.31), "main"),
    block((0.07, 0.93, 0.07, 0.93, 0.31, 0.318), "soil"),
    turned((0.46, 0.54, 0.46, 0.54, 0.3, 0.6), "bark"),
    *_leaves(),
)


def _shoe(x0: float, x1: float) -> tuple[Part, ...]:
    w = x1 - x0
    return (
        turned((x0, x1, 0, 1, 0, 0.22), "white", squareness=0.4),
        turned((x0 + 0.04 * w, x1 - 0.04 * w, 0.03, 0.62, 0.2, 0.6), "main", BALL, squareness=0.3),
        block((x0 + 0.06 * w, x1 - 0.06 * w, 0.45, 0.98, 0.22, 1), "main", (x0 + 0.14 * w, x1 - 0.14 * w, 0.58, 0.97)),
        block((x0 + 0.26 * w, x1 - 0.26 * w, 0.63, 0.92, 0.92, 1.0), "black"),
        *(block((x0 + 0.2 * w, x1 - 0.2 * w, y, y + 0.04, 0.55, 0.66), "white") for y in (0.28, 0.36, 0.44)),
    )


_CLOCK: Final[Parts] = (
    turned((0, 1, 0.2, 1, 0, 1), "main", axis="y"),
    turned((0.07, 0.93, 0.1, 0.2, 0.07, 0.93), "white", axis="y"),
    *(block((x - 0.015, x + 0.015, 0.04, 0.1, z - 0.04, z + 0.04), "black") for x, z in ((0.5, 0.84), (0.5, 0.16))),
    *(block((x - 0.04, x + 0.04, 0.04, 0.1, z - 0.015, z + 0.015), "black") for x, z in ((0.84, 0.5), (0.16, 0.5))),
    *(
        block((x - 0.02, x + 0.02, 0.05, 0.1, z - 0.02, z + 0.02), "black")
        for a, b in ((0.17, 0.294), (0.294, 0.17))
        for x in (0.5 - a, 0.5 + a)
        for z in (0.5 - b, 0.5 + b)
    ),
    block((0.485, 0.515, 0.0, 0.06, 0.46, 0.78), "black"),
    block((0.46, 0.7, 0.02, 0.07, 0.485, 0.515), "red"),
)
_DOOR: Final[Parts] = (
    *(block((x, x + 0.06, 0, 1, 0, 1), "second") for x in (0.0, 0.94)),
    block((0.06, 0.94, 0, 1, 0.965, 1), "second"),
    block((0.06, 0.94, 0.35, 0.8, 0.003, 0.962), "main"),
    *(
        block((x, x + 0.32, 0.25, 0.35, z0, z1), "second")
        for x in (0.13, 0.54)
        for z0, z1 in ((0.08, 0.4), (0.54, 0.9))
    ),
    block((0.83, 0.89, 0.25, 0.35, 0.43, 0.52), "steel"),
    block((0.7, 0.87, 0.02, 0.18, 0.47, 0.485), "steel"),
    block((0.85, 0.88, 0.1, 0.3, 0.465, 0.49), "steel"),
)
_WINDOW: Final[Parts] = (
    *(block((x, x + 0.06, 0, 1, 0, 1), "white") for x in (0.0, 0.94)),
    block((0.06, 0.94, 0, 1, 0.95, 1), "white"),
    block((0.0, 1.0, 0, 1, 0, 0.06), "white"),
    block((0.475, 0.525, 0.1, 0.9, 0.06, 0.95), "white"),
    block((0.06, 0.94, 0.15, 0.85, 0.66, 0.7), "white"),
    block((0.06, 0.94, 0.5, 0.6, 0.3, 0.95), "sky"),
    block((0.06, 0.94, 0.5, 0.6, 0.06, 0.3), "tree"),
    block((0.62, 0.75, 0.45, 0.5, 0.3, 0.5), "leaf 1"),
    block((0.14, 0.32, 0.45, 0.5, 0.3, 0.42), "leaf 2"),
)
_WHITEBOARD: Final[Parts] = (
    *(block((x, x + 0.02, 0, 1, 0.08, 1), "steel") for x in (0.0, 0.98)),
    *(block((0.02, 0.98, 0, 1, z, z + 0.03), "steel") for z in (0.08, 0.97)),
    block((0.02, 0.98, 0.5, 0.9, 0.11, 0.97), "white"),
    block((0.2, 0.8, 0, 1, 0, 0.03), "steel"),
    block((0.45, 0.55, 0.5, 0.9, 0.03, 0.08), "steel"),
    *(
        block((x, x + 0.09, 0.1, 0.3, 0.03, 0.055), color)
        for x, color in ((0.26, "red"), (0.4, "blue"), (0.66, "black"))
    ),
    *(block((0.1, x, 0.47, 0.5, z, z + 0.018), "blue") for x, z in ((0.42, 0.82), (0.36, 0.74), (0.45, 0.66))),
    *(
        block((x, x + 0.06, 0.47, 0.5, 0.3, h), color)
        for x, h, color in ((0.6, 0.5, "red"), (0.7, 0.66, "green"), (0.8, 0.58, "blue"))
    ),
    block((0.57, 0.9, 0.47, 0.5, 0.28, 0.3), "black"),
)
_DARK_OR_LIGHT: Final = (("black", "grey"), ("white", "grey"))

SMALL: Final[dict[str, Kind]] = {
    "ceiling lamp": Kind(_CEILING_LAMP, (0.55, 0.55, 0.1)),
    "clock": Kind(_CLOCK, (0.32, 0.05, 0.32), (("black", "white"), ("walnut", "white"))),
    "computer tower": Kind(_TOWER, (0.2, 0.45, 0.45), (("black", "dark"), ("silver", "dark"))),
    "door": Kind(_DOOR, (0.9, 0.06, 2.05), (("oak", "walnut"), ("walnut", "oak"), ("cherry", "walnut"))),
    "keyboard": Kind(_KEYBOARD, (0.46, 0.16, 0.035), (("black", "grey light"), ("silver", "dark"))),
    "lamp": Kind(_LAMP, (0.32, 0.32, 0.5), (("steel", "cream"), ("walnut", "cream"))),
    "laptop": Kind(_LAPTOP, (0.35, 0.25, 0.23)),
    "monitor": Kind(_MONITOR, (0.58, 0.14, 0.44)),
    "mouse": Kind(_MOUSE, (0.07, 0.12, 0.04), _DARK_OR_LIGHT),
    "plant": Kind(_PLANT, (0.42, 0.42, 0.95), (("terracotta", "soil"), ("white", "soil"))),
    "printer": Kind(_PRINTER, (0.45, 0.38, 0.3), (("grey light", "dark"), ("white", "grey"))),
    "shoes": Kind((*_shoe(0.0, 0.44), *_shoe(0.56, 1.0)), (0.26, 0.3, 0.1), (("red", "white"), ("blue", "white"))),
    "table lamp": Kind(_TABLE_LAMP, (0.3, 0.3, 0.48), (("steel", "terracotta"), ("steel", "navy"))),
    "telephone": Kind(_TELEPHONE, (0.22, 0.2, 0.09), (("dark", "black"), ("red", "dark"))),
    "tv": Kind(_TV, (1.15, 0.1, 0.68)),
    "tv_monitor": Kind(_TV, (1.1, 0.1, 0.65)),
    "whiteboard": Kind(_WHITEBOARD, (1.5, 0.05, 1.0)),
    "window": Kind(_WINDOW, (1.2, 0.06, 1.1)),
}
