"""The poses of a task, as evidence and as released."""

from __future__ import annotations

from typing import Final

AXES: Final = ("x", "y", "z", "roll", "pitch", "yaw")
UNITS: Final = ("m", "m", "m", "deg", "deg", "deg")
POSES: Final = ("observation_pose", "target_pose", "initial_pose")
