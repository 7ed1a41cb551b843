"""The plan of a sample drive and its motion in closed form, so that no truth comes from differences of samples.

Paths are straights and arcs, speeds change evenly. Metres, seconds, radians, counter-clockwise. The road frame: metres
along the road (u) and to its left (v); turned and moved into the drive's frame, so that nothing lies along an axis.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final

import numpy as np
import yaml
from pydantic import TypeAdapter

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.templates import load_table
from pipeline.worlds.drive.facts import Lamp, LightColour


@dataclass(frozen=True)
class LanePath:
    """Where a lane's middle runs.

    Attributes:
        start_m: its first point, drive's frame.
        yaw_deg: its first direction.
        bends: length in metres and turn in degrees of each piece, to the left positive; the last one goes on for ever.
    """

    start_m: tuple[float, float]
    yaw_deg: float
    bends: tuple[tuple[float, float], ...] = ((1e9, 0.0),)

    def at(self, along_m: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (N, 2) and directions (N,) after so many metres (N,)."""
        place = np.empty((len(along_m), 2))
        yaw = np.empty(len(along_m))
        begin, heading, x, y = 0.0, np.radians(self.yaw_deg), *self.start_m
        for number, (length_m, turn_deg) in enumerate(self.bends):
            first, last = number == 0, number == len(self.bends) - 1
            here = (first | (along_m >= begin)) & (last | (along_m < begin + length_m))
            ends = [*(along_m[here] - begin), length_m]
            arc = np.array(ends)
            curvature = np.radians(turn_deg) / length_m
            turned = heading + arc * curvature
            if curvature:
                x_m = x + (np.sin(turned) - np.sin(heading)) / curvature
                y_m = y - (np.cos(turned) - np.cos(heading)) / curvature
            else:
                x_m, y_m = x + arc * np.cos(heading), y + arc * np.sin(heading)
            place[here], yaw[here] = np.stack([x_m[:-1], y_m[:-1]], axis=-1), turned[:-1]
            begin, heading, x, y = begin + length_m, float(turned[-1]), float(x_m[-1]), float(y_m[-1])
        return place, yaw


@dataclass(frozen=True)
class SpeedProfile:
    """How far along its path something is.

    Attributes:
        along_m: at time 0.
        speed_mps: at time 0.
        legs: seconds and acceleration of each stretch; after the last one the speed stays.
    """

    along_m: float
    speed_mps: float = 0.0
    legs: tuple[tuple[float, float], ...] = ()

    def at(self, times_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Metres along the path, speed and acceleration, (N,) each. A speed that would turn negative ends at 0."""
        along, speed, acceleration = (np.empty(len(times_s)) for _ in range(3))
        begin, s, v = 0.0, self.along_m, self.speed_mps
        for seconds, gain in (*self.legs, (np.inf, 0.0)):
            here = (times_s >= begin) & (times_s < begin + seconds)
            lasted = times_s[here] - begin
            stops = -v / gain if gain < 0 else np.inf
            moved = np.minimum(lasted, stops)
            along[here] = s + v * moved + gain * moved**2 / 2
            speed[here] = v + gain * moved
            acceleration[here] = np.where(lasted < stops, gain, 0.0)
            if np.isfinite(seconds):
                moved_s = min(seconds, stops)
                s, v = s + v * moved_s + gain * moved_s**2 / 2, v + gain * moved_s
                begin += seconds
        return along, speed, acceleration


@dataclass(frozen=True)
class LaneChange:
    """A change of lane: so many metres to the left, from one time to another, as half a cosine."""

    start_s: float
    end_s: float
    left_m: float

    def at(self, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Metres to the left and their change per second, (N,) each."""
        lasts = self.end_s - self.start_s
        share = np.clip((times_s - self.start_s) / lasts, 0.0, 1.0)
        left = self.left_m * (1 - np.cos(np.pi * share)) / 2
        return left, np.asarray(self.left_m * np.pi / lasts * np.sin(np.pi * share) / 2)


@dataclass(frozen=True)
class PlannedMotion:
    """Everything of one mover at N times.

    Attributes:
        place_m: (N, 2).
        yaw_deg: (N,) in which it looks.
        velocity_mps: (N, 2).
        acceleration_mps2: (N,) along its path.
    """

    place_m: FloatArray
    yaw_deg: FloatArray
    velocity_mps: FloatArray
    acceleration_mps2: FloatArray


def move(path: LanePath, pace: SpeedProfile, shifts: tuple[LaneChange, ...], times_s: FloatArray) -> PlannedMotion:
    """Where something is at some times (N,), which way it looks, how fast it is."""
    along, speed, acceleration = pace.at(times_s)
    middle, yaw = path.at(along)
    ahead = np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
    left = np.stack([-np.sin(yaw), np.cos(yaw)], axis=-1)
    aside, drift = np.zeros(len(times_s)), np.zeros(len(times_s))
    for shift in shifts:
        more, faster = shift.at(times_s)
        aside, drift = aside + more, drift + faster
    velocity = ahead * speed[:, None] + left * drift[:, None]
    looks = np.where(speed > 0, yaw + np.arctan2(drift, np.maximum(speed, 1e-9)), yaw)
    return PlannedMotion(
        place_m=middle + left * aside[:, None],
        yaw_deg=(np.degrees(looks) + 180.0) % 360.0 - 180.0,
        velocity_mps=velocity,
        acceleration_mps2=acceleration,
    )


LANE_M: Final = 3.5

Size = tuple[float, float, float]
SIZES: Final[dict[str, Size]] = {kind: tuple(size) for kind, size in load_table("samples/drive")["sizes"].items()}
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
    path: LanePath
    pace: SpeedProfile
    size_m: Size
    shifts: tuple[LaneChange, ...] = ()
    blinks: tuple[tuple[float, float, Lamp], ...] = ()
    colour: str | None = None

    def at(self, times_s: FloatArray) -> PlannedMotion:
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
class PlannedRoad:
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
class PlannedEvent:
    """An event of a drive: planted truth."""

    what: str
    who: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class DrivePlan:
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
    roads: tuple[PlannedRoad, ...]
    lights: tuple[Light, ...] = ()
    crossings: tuple[tuple[float, float, float, float], ...] = ()
    events: tuple[PlannedEvent, ...] = ()
    hits: tuple[tuple[float, str, str], ...] = ()

    def placed(self, u: float, v: float) -> tuple[float, float]:
        """A point of the road frame in the drive's."""
        return placed(self.origin_m, self.yaw_deg, u, v)


def placed(origin_m: tuple[float, float], yaw_deg: float, u: float, v: float) -> tuple[float, float]:
    """A point of a road frame, ``u`` along it and ``v`` to its left, in the drive's."""
    cos, sin = float(np.cos(np.radians(yaw_deg))), float(np.sin(np.radians(yaw_deg)))
    return origin_m[0] + cos * u - sin * v, origin_m[1] + sin * u + cos * v


def _mover(name: str, plan: Mapping[str, Any], category: str, at: tuple[float, float], **said: Any) -> Mover:
    """A mover as ``plan.yaml`` has it; ``stretch`` makes it longer than usual."""
    length, width, height = EGO_SIZE if name == "ego" else SIZES[category]
    size = (round(length * said.pop("stretch", 1.0), 2), width, height)
    yaw_deg = plan["yaw_deg"] + said.pop("turn_deg", 0.0)
    path = {"start_m": placed(plan["origin_m"], plan["yaw_deg"], *at), "yaw_deg": yaw_deg}
    path |= {"bends": said.pop("bends")} if "bends" in said else {}
    pace = {"along_m": 0.0, "speed_mps": said.pop("speed_mps", 0.0), "legs": said.pop("legs", ())}
    return _MOVER.validate_python(
        {"id": name, "category": category, "path": path, "pace": pace, "size_m": size, **said}
    )


def _plans() -> dict[str, DrivePlan]:
    raw = yaml.load(FilePath(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    plans = {}
    for name, plan in raw.items():
        ego, *others = (_mover(who, plan, **fields) for who, fields in plan.pop("movers").items())
        plans[name] = TypeAdapter(DrivePlan).validate_python({"name": name, "ego": ego, "others": others, **plan})
    return plans


_MOVER: Final = TypeAdapter(Mover)
PLANS: Final = _plans()
"""An overtaking on a straight road, a junction with a light, a car ahead that brakes (``plan.yaml``)."""
