"""How well a place on a road stands for its city: ERGeoBench, equation 8, P = 0.7 S_d + 0.3 S_l.

The paper gives neither term. Ours: S_d falls from 1 at the centre to 0 at the radius, evenly; S_l is a table of the
classes of roads, from the arteries that it favours to backstreets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray

WEIGHT_CENTRE: Final = 0.7  # w_d
WEIGHT_CLASS: Final = 0.3  # w_l
# S_l by ``highway``: https://wiki.openstreetmap.org/wiki/Key:highway, in its order of importance.
CLASSES: Final[dict[str, float]] = {
    "motorway": 1.0,
    "trunk": 1.0,
    "primary": 0.9,
    "secondary": 0.75,
    "tertiary": 0.6,
    "unclassified": 0.45,
    "residential": 0.35,
    "living_street": 0.3,
    "pedestrian": 0.25,
    "service": 0.15,
}
_LINK: Final = "_link"  # a slip road: it stands for less than the road that it leads to
LINK: Final = 0.5


def class_score(classes: Sequence[str]) -> float | None:
    """S_l of a road, the highest of its classes; None where it is none of those, a path for example."""
    found = [CLASSES[kind] for kind in classes if kind in CLASSES]
    found += [
        LINK * CLASSES[kind.removesuffix(_LINK)]
        for kind in classes
        if kind.endswith(_LINK) and kind.removesuffix(_LINK) in CLASSES
    ]
    return max(found, default=None)


def centre_score(away_m: FloatArray, radius_m: float) -> FloatArray:
    """S_d of places by their distances from the centre."""
    return np.asarray(np.clip(1.0 - away_m / radius_m, 0.0, 1.0))


def road_score(centre: FloatArray, road_class: FloatArray) -> FloatArray:
    """P_r of places by S_d and S_l."""
    return np.asarray(WEIGHT_CENTRE * centre + WEIGHT_CLASS * road_class)
