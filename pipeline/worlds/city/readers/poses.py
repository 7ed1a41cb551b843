"""Poses as files have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pipeline.worlds.city.facts import Pose

NAMES: Final = ("x", "y", "z", "roll", "pitch", "yaw")
_TURN_TOLERANCE: Final = 2e-3  # radians, within which an angle is a quarter turn


def pose_of(raw: object) -> Pose | str:
    """A pose of six numbers, its yaw in [0, 360); or what is wrong with it."""
    if not isinstance(raw, list | tuple):
        return f"is {type(raw).__name__}, not a list of six numbers"
    if len(raw) != len(NAMES):
        return f"has {len(raw)} numbers, not six ({', '.join(NAMES)})"
    for name, value in zip(NAMES, raw, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"has no finite number as its {name}"
    x, y, z, roll, pitch, yaw = (float(value) for value in raw)
    if abs(roll) > 180 or abs(pitch) > 90:
        return "has a roll beyond 180 or a pitch beyond 90 degrees"
    if not -360 <= yaw <= 360:
        return "has a yaw beyond 360 degrees"
    return x, y, z, roll, pitch, yaw % 360.0


def in_radians(yaws: Sequence[float]) -> bool:
    """Whether yaws, as they stand in a file, look like radians: none above 2 pi, and one is a quarter turn of them."""
    turned = [abs(yaw) for yaw in yaws if yaw]
    quarters = [abs(yaw - math.pi / 2 * round(yaw / (math.pi / 2))) <= _TURN_TOLERANCE for yaw in turned if yaw >= 1]
    return bool(turned) and max(turned) <= 2 * math.pi + _TURN_TOLERANCE and any(quarters)
