"""An agent's way through a city, step by step: moves of 10 metres, turns of 30 degrees, and where it may not go."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.worlds.city.facts import Pose
from pipeline.worlds.city.paths import FreeSpace

MOVE_M: Final = 10.0  # CityEQA: of the Navigator and the Explorer
_SIDES: Final = ("forward", "right", "back", "left")
_QUARTER: Final = 3  # turns from one side to the next
TURN_DEG: Final = 90.0 / _QUARTER
_SAMPLE_M: Final = 0.25  # between the places of a move that are looked at
PITCH_MAX_DEG: Final = 60.0
_PLACES_MAX: Final = 5_000  # that are reached before a way is given up

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

_Cell = tuple[int, int]  # metres from the start, rounded


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

    def act(self, action: str, move_m: float = MOVE_M) -> str | None:
        """Does one of `ACTIONS`, which is a step; or says what is in the way, and then nothing is done.

        Args:
            action: what to do.
            move_m: how far moves go.
        """
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
            ahead, aside = (move_m / MOVE_M * part for part in MOVES[action])
            s, c = np.sin(np.radians(yaw)), np.cos(np.radians(yaw))
            to = np.array([x + ahead * s + aside * c, y + ahead * c - aside * s, z])
        open_m = self._open_m(np.array([x, y, z]), to)
        if open_m is not None:
            return f"something is in the way after {open_m:.1f} m"
        east, north, height = (round(float(value), 3) for value in to)
        self.steps.append((east, north, height, roll, pitch, yaw))
        return None

    def follow(self, path: FloatArray, yaw_deg: float) -> FloatArray | None:
        """Goes along points (k, 3) as far as `MOVE_M` and what is solid allow, in one step; returns what is in the way.

        At the end of the path it turns to a yaw, else to where it goes.
        """
        so_far = np.cumsum(np.linalg.norm(np.diff(path, axis=0, prepend=[self.pose[:3]]), axis=1))
        free = self._space.free(path)
        count = int(np.argmin(np.append((so_far <= MOVE_M) & free, False)))
        x, y, z = self.pose[:3] if count == 0 else path[count - 1].tolist()
        if count < len(path):
            ahead = path[count] - np.array([x, y, z])
            yaw_deg = float(np.degrees(np.arctan2(*ahead[:2])) % 360.0)
        self.steps.append((x, y, z, self.pose[3], 0.0, round(yaw_deg, 1)))
        return None if count == len(path) or free[count] else path[count]

    def way_to(self, goal: Pose, within_m: float) -> list[str] | None:
        """Actions that lead to within a distance of a pose and turn to its yaw; None: there is no way.

        Moves go in the twelve directions of the turns, by as few as there can be (A*); climbs come first.
        """
        climbs = self._climbs(goal[2])
        start = np.array([*self.pose[:2], goal[2]])
        if climbs is None or self._open_m(np.array(self.pose[:3]), start) is not None:
            return None
        yaw0 = self.pose[5]
        bearings = yaw0 + TURN_DEG * np.arange(_QUARTER * len(_SIDES))
        moves = MOVE_M * np.stack([np.sin(np.radians(bearings)), np.cos(np.radians(bearings))], axis=1)
        target = np.array(goal[:2])
        best: dict[_Cell, tuple[int, _Cell | None, int]] = {(0, 0): (0, None, 0)}
        places = {(0, 0): start[:2]}
        waiting = [(0.0, 0, (0, 0))]
        while waiting:
            _, done, here = heapq.heappop(waiting)
            at = places[here]
            if np.linalg.norm(at - target) <= within_m:
                return climbs + _actions(_directions(best, here), yaw0, goal[5])
            if done > best[here][0] or len(best) > _PLACES_MAX:
                continue
            for way in np.flatnonzero(self._are_free(at, moves, goal[2])).tolist():
                to = at + moves[way]
                key = (round(float(to[0] - start[0])), round(float(to[1] - start[1])))
                if key not in best or done + 1 < best[key][0]:
                    best[key], places[key] = (done + 1, here, way), to
                    left = float(np.linalg.norm(to - target)) / MOVE_M
                    heapq.heappush(waiting, (done + 1 + left, done + 1, key))
        return None

    def _climbs(self, z: float) -> list[str] | None:
        levels = sorted({*self._space.city.slabs_m, self.pose[2]})
        if z not in levels:
            return None
        count = levels.index(z) - levels.index(self.pose[2])
        return ["rise" if count > 0 else "sink"] * abs(count)

    def _are_free(self, at: FloatArray, moves: FloatArray, z: float) -> npt.NDArray[np.bool_]:
        """Whether each of some moves (n, 2) from a place (2,) touches nothing."""
        share = np.linspace(0.0, 1.0, int(np.ceil(MOVE_M / _SAMPLE_M)) + 1)[:, None]
        points = (at + share * moves[:, None]).reshape(-1, 2)
        free = self._space.free(np.column_stack([points, np.full(len(points), z)]))
        return np.asarray(free.reshape(len(moves), -1).all(axis=1))

    def _open_m(self, start: FloatArray, end: FloatArray) -> float | None:
        """How far it is free from a place to another; None: all the way."""
        length = float(np.linalg.norm(end - start))
        share = np.linspace(0.0, 1.0, max(2, int(np.ceil(length / _SAMPLE_M)) + 1))
        free = self._space.free(start + share[:, None] * (end - start))
        return None if free.all() else float(share[int(np.argmin(free))] * length)


def _directions(best: Mapping[_Cell, tuple[int, _Cell | None, int]], end: _Cell) -> list[int]:
    """The directions of the moves that lead to a place, in order."""
    found = []
    at: _Cell | None = end
    while at is not None and best[at][1] is not None:
        found.append(best[at][2])
        at = best[at][1]
    return found[::-1]


def _actions(directions: Sequence[int], yaw_deg: float, last_deg: float) -> list[str]:
    """Moves in directions, counted in turns from a yaw, as ahead, back or aside of where one looks, with few turns."""
    looks, out = 0, []
    for direction in directions:
        turn = (direction - looks + _QUARTER // 2) % _QUARTER - _QUARTER // 2  # to the nearest of the four sides
        out += ["turn right" if turn > 0 else "turn left"] * abs(turn)
        looks += turn
        out.append(_SIDES[(direction - looks) // _QUARTER % len(_SIDES)])
    rest = round(((last_deg - yaw_deg - looks * TURN_DEG + 180) % 360 - 180) / TURN_DEG)
    return out + ["turn right" if rest > 0 else "turn left"] * abs(rest)
