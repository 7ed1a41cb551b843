"""What heats, cools, cooks and washes, and what has water in it."""

from __future__ import annotations

from typing import Final

from pipeline.sampling.shapes import Profile
from pipeline.worlds.indoor.samples.furniture.part import Kind, Parts, block, turned

_RING: Final[Profile] = ((0.7, 0.0), (1.0, 0.0), (1.0, 1.0), (0.7, 1.0), (0.7, 0.0))
# Towards the viewer is down for what lies on its back: the lathe's axis y points away from the front.
_KNOB: Final[Profile] = ((0.0, 0.0), (0.8, 0.0), (1.0, 0.5), (1.0, 1.0), (0.0, 1.0))
_BOWL: Final[Profile] = ((0.0, 0.0), (0.6, 0.0), (0.97, 0.75), (1.0, 1.0), (0.86, 1.0), (0.6, 0.4), (0.0, 0.34))
_TUB: Final[Profile] = ((0.0, 0.0), (0.96, 0.0), (1.0, 0.95), (1.0, 1.0), (0.88, 1.0), (0.78, 0.3), (0.0, 0.26))
_JUG: Final[Profile] = ((0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (0.72, 0.9), (0.5, 1.0), (0.0, 1.0))

_REFRIGERATOR: Final[Parts] = (
    block((0.05, 0.95, 0.14, 0.98, 0.0, 0.03), "black"),
    block((0, 1, 0.14, 1, 0.03, 1), "main"),
    block((0.01, 0.99, 0.11, 0.14, 0.04, 0.995), "black"),
    block((0, 1, 0.04, 0.11, 0.03, 0.645), "main"),
    block((0, 1, 0.04, 0.11, 0.665, 1), "main"),
    block((0.07, 0.11, 0.0, 0.02, 0.36, 0.62), "second"),
    block((0.07, 0.11, 0.0, 0.02, 0.69, 0.86), "second"),
    *(block((0.07, 0.11, 0.02, 0.04, z, z + 0.02), "second") for z in (0.36, 0.6, 0.69, 0.84)),
)
_STOVE: Final[Parts] = (
    block((0.02, 0.98, 0.12, 0.98, 0, 0.05), "black"),
    block((0, 1, 0.09, 1, 0.05, 0.88), "main"),
    block((0, 1, 0.04, 1, 0.88, 0.9), "black"),
    block((0, 1, 0.94, 1, 0.9, 1), "main"),
    *(turned((x, x + 0.3, y, y + 0.3, 0.9, 0.915), "ember", _RING) for x in (0.13, 0.57) for y in (0.14, 0.56)),
    *(turned((x + 0.1, x + 0.2, y + 0.1, y + 0.2, 0.9, 0.912), "ember") for x in (0.13, 0.57) for y in (0.14, 0.56)),
    block((0.04, 0.96, 0.05, 0.09, 0.1, 0.72), "main"),
    block((0.14, 0.86, 0.04, 0.05, 0.2, 0.56), "black"),
    block((0.1, 0.9, 0.0, 0.02, 0.63, 0.66), "steel"),
    *(block((x, x + 0.03, 0.02, 0.05, 0.63, 0.66), "steel") for x in (0.12, 0.85)),
    *(turned((x, x + 0.1, 0.03, 0.09, 0.76, 0.84), "black", _KNOB, "y") for x in (0.1, 0.31, 0.59, 0.8)),
)
_OVEN: Final[Parts] = (
    block((0, 1, 0.1, 1, 0, 1), "main"),
    block((0.02, 0.98, 0.06, 0.1, 0.02, 0.72), "dark"),
    block((0.12, 0.88, 0.05, 0.06, 0.12, 0.56), "black"),
    *(block((0.16, 0.84, 0.045, 0.05, z, z + 0.012), "steel") for z in (0.24, 0.4)),
    block((0.1, 0.9, 0.0, 0.025, 0.63, 0.67), "steel"),
    *(block((x, x + 0.03, 0.025, 0.06, 0.63, 0.67), "steel") for x in (0.12, 0.85)),
    block((0.02, 0.98, 0.08, 0.1, 0.75, 0.98), "dark"),
    block((0.36, 0.64, 0.07, 0.08, 0.82, 0.92), "lit"),
    *(turned((x, x + 0.13, 0.03, 0.08, 0.8, 0.93), "steel", _KNOB, "y") for x in (0.1, 0.77)),
)
_DISHWASHER: Final[Parts] = (
    block((0.04, 0.96, 0.14, 0.98, 0, 0.1), "black"),
    block((0, 1, 0.08, 1, 0.1, 0.96), "main"),
    block((0, 1, 0.02, 1, 0.96, 1), "second"),
    block((0.02, 0.98, 0.04, 0.08, 0.12, 0.8), "main"),
    block((0.02, 0.98, 0.04, 0.08, 0.82, 0.95), "dark"),
    *(block((x, x + 0.04, 0.03, 0.04, 0.87, 0.9), "lit") for x in (0.6, 0.68, 0.76, 0.84)),
    block((0.12, 0.88, 0.0, 0.02, 0.73, 0.76), "second"),
    *(block((x, x + 0.03, 0.02, 0.04, 0.73, 0.76), "second") for x in (0.14, 0.83)),
)
_WASHER: Final[Parts] = (
    block((0.03, 0.97, 0.1, 0.97, 0, 0.03), "black"),
    block((0, 1, 0.06, 1, 0.03, 1), "main"),
    turned((0.14, 0.86, 0.0, 0.06, 0.14, 0.66), "steel", _RING, "y"),
    turned((0.25, 0.75, 0.02, 0.06, 0.22, 0.58), "glass", axis="y"),
    block((0.03, 0.36, 0.04, 0.06, 0.78, 0.95), "grey light"),
    block((0.55, 0.78, 0.05, 0.06, 0.83, 0.92), "lit"),
    turned((0.4, 0.52, 0.02, 0.06, 0.8, 0.93), "steel", _KNOB, "y"),
)
_MICROWAVE: Final[Parts] = (
    block((0, 1, 0.08, 1, 0.04, 1), "main"),
    *(block((x, x + 0.08, y, y + 0.1, 0, 0.04), "black") for x in (0.06, 0.86) for y in (0.12, 0.85)),
    block((0.02, 0.72, 0.04, 0.08, 0.08, 0.96), "dark"),
    block((0.1, 0.6, 0.03, 0.04, 0.22, 0.82), "glass"),
    block((0.66, 0.69, 0.0, 0.04, 0.2, 0.84), "steel"),
    block((0.75, 0.98, 0.05, 0.08, 0.08, 0.96), "grey"),
    block((0.78, 0.95, 0.04, 0.05, 0.76, 0.9), "lit"),
    *(
        block((x, x + 0.04, 0.035, 0.05, z, z + 0.08), "white")
        for x in (0.785, 0.845, 0.905)
        for z in (0.18, 0.32, 0.46, 0.6)
    ),
)
_KETTLE: Final[Parts] = (
    turned((0.14, 0.86, 0, 1, 0, 0.08), "black"),
    turned((0.16, 0.84, 0.02, 0.98, 0.08, 0.9), "main", _JUG),
    turned((0.4, 0.6, 0.4, 0.6, 0.88, 1), "black"),
    block((0.16, 0.34, 0.4, 0.6, 0.52, 0.82), "main", (0.0, 0.14, 0.44, 0.56)),
    block((0.66, 1, 0.42, 0.58, 0.78, 0.86), "black"),
    block((0.92, 1, 0.42, 0.58, 0.3, 0.86), "black"),
    block((0.8, 1, 0.42, 0.58, 0.24, 0.32), "black"),
)
_RADIATOR: Final[Parts] = (
    *(turned((x / 12, (x + 0.8) / 12, 0.0, 0.9, 0.06, 1), "main", squareness=0.5) for x in range(12)),
    *(block((0.0, 1.0, 0.35, 0.55, z, z + 0.1), "main") for z in (0.1, 0.8)),
    *(block((x, x + 0.04, 0.4, 1.0, 0, 0.2), "steel") for x in (0.02, 0.94)),
    turned((0.94, 1.0, 0.0, 0.6, 0.7, 0.84), "black", axis="y"),
)
_FIREPLACE: Final[Parts] = (
    block((0, 1, 0, 1, 0, 0.06), "stone"),
    block((0.05, 0.27, 0.2, 1, 0.06, 0.9), "brick"),
    block((0.73, 0.95, 0.2, 1, 0.06, 0.9), "brick"),
    block((0.27, 0.73, 0.2, 1, 0.62, 0.9), "brick"),
    block((0.27, 0.73, 0.9, 1, 0.06, 0.62), "black"),
    block((0.0, 1.0, 0.05, 1, 0.9, 1), "oak"),
    *(
        turned((0.32, 0.68, y, y + 0.2, z, z + 0.08), "bark", axis="x")
        for y, z in ((0.3, 0.06), (0.6, 0.06), (0.45, 0.13))
    ),
    *(
        block((x, x + 0.09, 0.45, 0.65, 0.2, h), "fire", (x + 0.035, x + 0.055, 0.52, 0.58))
        for x, h in ((0.35, 0.36), (0.42, 0.44), (0.49, 0.5), (0.56, 0.4))
    ),
)
_SINK: Final[Parts] = (
    turned((0, 1, 0, 0.94, 0, 0.75), "porcelain", _BOWL, squareness=0.55),
    block((0, 1, 0.8, 1, 0.5, 0.78), "porcelain"),
    turned((0.45, 0.55, 0.84, 0.96, 0.75, 1), "steel"),
    block((0.465, 0.535, 0.5, 0.9, 0.93, 1), "steel"),
    *(turned((x, x + 0.08, 0.85, 0.95, 0.77, 0.88), "steel") for x in (0.28, 0.64)),
    turned((0.45, 0.55, 0.4, 0.52, 0.25, 0.29), "steel"),
)
_BATHTUB: Final[Parts] = (
    turned((0, 1, 0, 1, 0, 0.9), "porcelain", _TUB, squareness=0.8),
    turned((0.05, 0.95, 0.1, 0.9, 0.3, 0.55), "water", squareness=0.7),
    block((0.015, 0.035, 0.44, 0.56, 0.88, 1), "steel"),
    block((0.015, 0.14, 0.47, 0.53, 0.96, 1), "steel"),
    *(turned((0.01, 0.04, y, y + 0.07, 0.88, 0.96), "steel") for y in (0.3, 0.63)),
)
_TOILET: Final[Parts] = (
    turned(
        (0.0, 1.0, 0.0, 0.72, 0.0, 0.5),
        "porcelain",
        ((0.0, 0.0), (0.6, 0.0), (0.55, 0.35), (1.0, 0.85), (1.0, 1.0), (0.78, 1.0), (0.6, 0.6), (0.0, 0.5)),
    ),
    block((0.2, 0.8, 0.4, 0.95, 0.0, 0.46), "porcelain"),
    turned((0.0, 1.0, 0.0, 0.72, 0.5, 0.54), "white", ((0.66, 0.0), (1.0, 0.0), (1.0, 1.0), (0.66, 1.0), (0.66, 0.0))),
    turned((0.04, 0.96, 0.64, 0.7, 0.53, 0.97), "white", axis="y"),
    block((0.03, 0.97, 0.72, 1, 0.44, 0.93), "porcelain"),
    block((0, 1, 0.7, 1, 0.93, 0.98), "porcelain"),
    turned((0.42, 0.58, 0.8, 0.92, 0.98, 1), "steel"),
)
_WHITE_OR_STEEL: Final = (("white", "steel"), ("silver", "dark"))

APPLIANCES: Final[dict[str, Kind]] = {
    "bathtub": Kind(_BATHTUB, (1.65, 0.75, 0.56)),
    "dishwasher": Kind(_DISHWASHER, (0.6, 0.6, 0.84), _WHITE_OR_STEEL),
    "fireplace": Kind(_FIREPLACE, (1.2, 0.4, 1.1)),
    "heater": Kind(_RADIATOR, (1.1, 0.12, 0.6), (("white", "steel"), ("cream", "steel"))),
    "kettle": Kind(_KETTLE, (0.2, 0.2, 0.26), (("silver", "black"), ("red", "black"))),
    "microwave": Kind(_MICROWAVE, (0.48, 0.36, 0.29), _WHITE_OR_STEEL),
    "oven": Kind(_OVEN, (0.6, 0.56, 0.6), (("silver", "dark"), ("white", "dark"))),
    "radiator": Kind(_RADIATOR, (1.0, 0.12, 0.6), (("white", "steel"), ("cream", "steel"))),
    "refrigerator": Kind(
        _REFRIGERATOR, (0.65, 0.66, 1.7), (("white", "steel"), ("silver", "dark"), ("cream", "steel"))
    ),
    "sink": Kind(_SINK, (0.55, 0.45, 0.22)),
    "stove": Kind(_STOVE, (0.6, 0.62, 0.9), _WHITE_OR_STEEL),
    "toilet": Kind(_TOILET, (0.38, 0.68, 0.78)),
    "washer": Kind(_WASHER, (0.6, 0.56, 0.86), (("white", "steel"),)),
}
