"""An agent's way through a city, step by step: moves of 10 metres, turns of 30 degrees, and where it may not go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.worlds.city.facts import Pose
from pipeline.worlds.city.paths import FreeSpace

MOVE_M: Final = 10.0  # CityEQA: of the Navigator and the Explorer
TURN_DEG: Final = 30.0
_SAMPLE_M: Final = 0.25  # between the places of a move that are looked at
PITCH_MAX_DEG: Final = 60.0

# What an agent can do: metres ahead and to the right; degrees of yaw, clockwise, and of pitch, upwards.
MOVES: Final[Mapping[str, tuple[float, float]]] = {
    "forward": (MOVE_M, 0.0),
    "back": (-MOVE_M, 0.0),
    "right": (0.0, MOVE_M),
    "left": (0.0, -MOVE_M),
}
TURNS: Final[Mapping[str, tuple[float, float]]] = {
    "turn right": (TURN_DEG, 0.0),
    "turn left": (-TURN_DEG, 0.0),
    "look up": (0.0, TURN_DEG),
    "look down": (0.0, -TURN_DEG),
}
CLIMBS: Final[Mapping[str, int]] = {"rise": 1, "sink": -1}  # by a slab
ACTIONS: Final = (*MOVES, *TURNS, *CLIMBS)


class Walkway:
    """A way that begins at a pose.

    Args:
        space: of the city.
        start: the first pose.

    Attributes:
        steps: all poses so far, the start first.
    """

    def __init__(self, space: FreeSpace, start: Pose) -> None:
        self._space = space
        self.steps: list[Pose] = [start]

    @property
    def pose(self) -> Pose:
        """Where the agent is."""
        return self.steps[-1]

    @property
    def length_m(self) -> float:
        """Length of the way."""
        return float(np.linalg.norm(np.diff(np.array(self.steps)[:, :3], axis=0), axis=1).sum())

    def act(self, action: str) -> str | None:
        """Does one of `ACTIONS`, which is a step; or says what is in the way, and then nothing is done."""
        x, y, z, roll, pitch, yaw = self.pose
        if action in TURNS:
            right, up = TURNS[action]
            if abs(pitch + up) > PITCH_MAX_DEG:
                return f"the camera tilts by {PITCH_MAX_DEG:g} degrees at most"
            self.steps.append((x, y, z, roll, pitch + up, (yaw + right) % 360.0))
            return None
        if action in CLIMBS:
            levels = sorted({*self._space.city.slabs_m, z})
            place = levels.index(z) + CLIMBS[action]
            if not 0 <= place < len(levels):
                return f"agents move at {', '.join(f'{level:g}' for level in levels)} m"
            to = np.array([x, y, levels[place]])
        else:
            ahead, aside = MOVES[action]
            s, c = np.sin(np.radians(yaw)), np.cos(np.radians(yaw))
            to = np.array([x + ahead * s + aside * c, y + ahead * c - aside * s, z])
        open_m = self._open_m(np.array([x, y, z]), to)
        if open_m is not None:
            return f"something is in the way after {open_m:.1f} m"
        east, north, height = (round(float(value), 3) for value in to)
        self.steps.append((east, north, height, roll, pitch, yaw))
        return None

    def _open_m(self, start: FloatArray, end: FloatArray) -> float | None:
        """How far it is free from a place to another; None: all the way."""
        length = float(np.linalg.norm(end - start))
        share = np.linspace(0.0, 1.0, max(2, int(np.ceil(length / _SAMPLE_M)) + 1))
        free = self._space.free(start + share[:, None] * (end - start))
        return None if free.all() else float(share[int(np.argmin(free))] * length)
