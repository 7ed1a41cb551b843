"""An arm of two links that turn about the vertical, on a lift: where its gripper is, and how to get there."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray

UPPER_M: Final = 0.36
FORE_M: Final = 0.32
REACH_M: Final = UPPER_M + FORE_M
LOW: Final = (-2.8, -0.1, 0.0)  # shoulder and elbow in radians, lift in metres
HIGH: Final = (2.8, 2.9, 0.45)
RATE_MAX: Final = (2.0, 2.5, 0.5)


def tip_m(joints: FloatArray) -> FloatArray:
    """The gripper's point (N, 3) of shoulder, elbow and lift (N, 3); the foot of the arm is at (0, 0, 0)."""
    shoulder, both = joints[:, 0], joints[:, 0] + joints[:, 1]
    x = UPPER_M * np.cos(shoulder) + FORE_M * np.cos(both)
    y = UPPER_M * np.sin(shoulder) + FORE_M * np.sin(both)
    return np.stack([x, y, joints[:, 2]], axis=-1)


def joints_at(point_m: FloatArray) -> FloatArray:
    """Shoulder, elbow and lift (N, 3) for points (N, 3), the elbow bent to the left. NaN out of reach."""
    x, y, z = point_m.T
    with np.errstate(invalid="ignore"):
        elbow = np.arccos((x * x + y * y - UPPER_M**2 - FORE_M**2) / (2 * UPPER_M * FORE_M))
    shoulder = np.arctan2(y, x) - np.arctan2(FORE_M * np.sin(elbow), UPPER_M + FORE_M * np.cos(elbow))
    return np.stack([shoulder, elbow, z], axis=-1)


def turn_xyzw(joints: FloatArray) -> FloatArray:
    """How the gripper is turned (N, 4): it points down, its first axis along the second link."""
    half = (joints[:, 0] + joints[:, 1]) / 2
    zero = np.zeros(len(joints))
    return np.stack([np.cos(half), np.sin(half), zero, zero], axis=-1)
