"""What a sample drive is made of.

The road frame: metres along the road (u) and to its left (v); turned and moved into the drive's frame, so that nothing
lies along an axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.worlds.drive.facts import Lamp, LightColour
from pipeline.worlds.drive.samples.moving import Motion, Pace, Path, Shift, move

LANE_M: Final = 3.5

Size = tuple[float, float, float]
SIZES: Final[dict[str, Size]] = {
    "car": (4.4, 1.8, 1.5),
    "van": (5.4, 2.0, 2.2),
    "truck": (8.0, 2.5, 3.4),
    "bus": (12.0, 2.6, 3.2),
    "motorcyclist": (2.2, 0.8, 1.6),
    "cyclist": (1.8, 0.6, 1.7),
    "pedestrian": (0.6, 0.6, 1.75),
    "traffic cone": (0.35, 0.35, 0.7),
    "bollard": (0.3, 0.3, 1.0),
}
EGO_SIZE: Final[Size] = (4.8, 1.9, 1.5)
MOTORED: Final = frozenset({"car", "van", "truck", "bus", "motorcyclist"})
BRAKE_MPS2: Final = 0.5  # who slows down by less takes the foot off the pedal
AXLE_M: Final = 1.4  # from the rear axle forward to the middle of our car


@dataclass(frozen=True)
class Mover:
    """Somebody or something, our own car included.

    Attributes:
        id: its name in the log.
        category: common word.
        path: of the middle of its box.
        blinks: start and end in seconds, and the lamp, of what it signals.
        colour: as sRGB, or None of what has none declared.
    """

    id: str
    category: str
    path: Path
    pace: Pace
    size_m: Size
    shifts: tuple[Shift, ...] = ()
    blinks: tuple[tuple[float, float, Lamp], ...] = ()
    colour: str | None = None

    def at(self, times_s: FloatArray) -> Motion:
        """Where it is at some times (N,)."""
        return move(self.path, self.pace, self.shifts, times_s)

    def lit(self, times_s: FloatArray) -> dict[Lamp, BoolArray]:
        """Which lamps it has lit at some times (N,); none of what has no motor.

        Brake lamps while it slows down, and while it waits where it has driven or will.
        """
        motion = self.at(times_s)
        still = np.hypot(motion.velocity_mps[:, 0], motion.velocity_mps[:, 1]) == 0
        moves = bool(self.pace.speed_mps or self.pace.legs)
        found: dict[Lamp, BoolArray] = {"brake": (motion.acceleration_mps2 < -BRAKE_MPS2) | (still & moves)}
        for start_s, end_s, lamp in self.blinks:
            found[lamp] = found.get(lamp, np.zeros(len(times_s), dtype=bool)) | (
                (times_s >= start_s) & (times_s < end_s)
            )
        return found if self.category in MOTORED else {}


@dataclass(frozen=True)
class Road:
    """A lane of the map, as its middle line in the road frame, 3.5 m wide."""

    id: int
    line: tuple[tuple[float, float], ...]
    kind: str = "VEHICLE"
    intersection: bool = False
    left_mark: str = "NONE"
    right_mark: str = "NONE"
    successors: tuple[int, ...] = ()
    left: int | None = None
    right: int | None = None


@dataclass(frozen=True)
class Light:
    """A traffic light in the road frame, and what it shows from which second on."""

    id: int
    u: float
    v: float
    colours: tuple[tuple[float, LightColour], ...]


@dataclass(frozen=True)
class Event:
    """What happens: planted truth."""

    what: str
    who: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Plan:
    """One drive.

    Attributes:
        name: of its log.
        origin_m: of the road frame in the drive's.
        yaw_deg: of the road.
        lasts_s: seconds.
        ego: our car; its path is that of the middle of its box.
        crossings: u of the near and far edge, v of both ends.
        hits: second, and who hits whom.
    """

    name: str
    origin_m: tuple[float, float]
    yaw_deg: float
    lasts_s: float
    ego: Mover
    others: tuple[Mover, ...]
    roads: tuple[Road, ...]
    lights: tuple[Light, ...] = ()
    crossings: tuple[tuple[float, float, float, float], ...] = ()
    events: tuple[Event, ...] = ()
    hits: tuple[tuple[float, str, str], ...] = ()

    def placed(self, u: float, v: float) -> tuple[float, float]:
        """A point of the road frame in the drive's."""
        return placed(self.origin_m, self.yaw_deg, u, v)


def placed(origin_m: tuple[float, float], yaw_deg: float, u: float, v: float) -> tuple[float, float]:
    """A point of a road frame, ``u`` along it and ``v`` to its left, in the drive's."""
    cos, sin = float(np.cos(np.radians(yaw_deg))), float(np.sin(np.radians(yaw_deg)))
    return origin_m[0] + cos * u - sin * v, origin_m[1] + sin * u + cos * v
