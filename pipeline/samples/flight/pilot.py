"""The simulated pilot: planted moves become a smooth flight, known at every moment.

City frame (ENU metres); headings are compass degrees, clockwise from north. A rate changes along a ramp. The ramp lies
within the move that has the greater rate, so that a movement never leaves the span of time that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.formats.logs.frames import quaternion
from pipeline.samples.flight.city import sample_data
from pipeline.worlds.flight.facts import Action, FlightCamera

STEP_S: Final = 0.005  # of the integration; every ramp begins and ends on a step
RAMP_S: Final = {"forward": 0.8, "left": 0.8, "up": 0.8, "turn": 0.6, "tilt": 0.5}
_ACTIONS: Final[dict[str, tuple[Action, Action]]] = {  # of a rate above and below 0, the main one first
    "forward": ("fly forward", "fly backward"),
    "left": ("fly left", "fly right"),
    "up": ("ascend", "descend"),
    "turn": ("turn right", "turn left"),
    "tilt": ("gimbal up", "gimbal down"),
}
_GRAVITY_M_S2: Final = 9.81
_DRAG_PER_S: Final = 0.12  # a multirotor leans into its own wind
_LEAN_S: Final = 0.4  # over which leaning is smoothed


@dataclass(frozen=True)
class PilotMove:
    """One movement, or several at once.

    Attributes:
        seconds: how long it lasts, ramps included; a multiple of 0.1.
        forward, left, up: m/s.
        turn: of the nose, degrees per second, clockwise positive.
        tilt: of the camera, degrees per second, upwards positive.
        step: the step of the pilot's route that begins with it; "" if it belongs to the step before.
    """

    seconds: float
    forward: float = 0.0
    left: float = 0.0
    up: float = 0.0
    turn: float = 0.0
    tilt: float = 0.0
    step: str = ""

    @property
    def actions(self) -> tuple[Action, ...]:
        """All that happens in it."""
        rates = ((pair, getattr(self, name)) for name, pair in _ACTIONS.items())
        return tuple(pair[rate < 0] for pair, rate in rates if rate) or ("hover",)


def lasting(total: float, rate: float, ramp: str = "forward") -> float:
    """Seconds, in tenths, that a move from rest to rest needs for metres or degrees ``total`` at ``rate``."""
    return round(total / rate + RAMP_S[ramp], 1)


@dataclass(frozen=True)
class PilotPose:
    """The drone at times (N,).

    Attributes:
        t_s: (N,) from the beginning of the log.
        xyz_m: (N, 3) city frame.
        velocity_mps: (N, 3) city frame.
        heading_deg: (N,) of the nose, not wrapped.
        lean_deg: (N, 2) nose up, right side down.
        pitch_deg: (N,) of the camera: 0 level, -90 down.
    """

    t_s: FloatArray
    xyz_m: FloatArray
    velocity_mps: FloatArray
    heading_deg: FloatArray
    lean_deg: FloatArray
    pitch_deg: FloatArray

    def at(self, t_s: FloatArray) -> PilotPose:
        """The same flight at other times within it."""

        def between(values: FloatArray) -> FloatArray:
            columns = values.reshape(len(self.t_s), -1).T
            return np.stack([np.interp(t_s, self.t_s, column) for column in columns], -1).reshape(-1, *values.shape[1:])

        others = (self.xyz_m, self.velocity_mps, self.heading_deg, self.lean_deg, self.pitch_deg)
        return PilotPose(t_s, *map(between, others))

    def quat_ned_wxyz(self) -> FloatArray:
        """Attitude (N, 4): body axes forward, right, down to north, east, down."""
        pitch, roll = np.radians(self.lean_deg.T)
        return quaternion(roll, pitch, np.radians(self.heading_deg))


def fly(moves: tuple[PilotMove, ...], start_xy: tuple[float, float], heading_deg: float, pitch_deg: float) -> PilotPose:
    """The flight of these moves from the ground, in steps of `STEP_S`."""
    ends = ends_s(moves)
    t = np.arange(round(ends[-1] / STEP_S) + 1) * STEP_S
    forward, left, up, turn, tilt = (
        _rate(np.array([getattr(move, name) for move in moves], dtype=np.float64), ends, RAMP_S[name], t)
        for name in RAMP_S
    )
    heading = heading_deg + _integral(turn)
    north, east = np.cos(np.radians(heading)), np.sin(np.radians(heading))
    velocity = np.stack([forward * east - left * north, forward * north + left * east, up], axis=1)
    start = np.array([*start_xy, 0.0])
    xyz = start + np.stack([_integral(axis) for axis in velocity.T], axis=1)
    spin = np.radians(turn)
    ahead = np.gradient(forward, STEP_S) + spin * left + _DRAG_PER_S * forward
    right = -np.gradient(left, STEP_S) + spin * forward - _DRAG_PER_S * left
    lean = np.degrees(np.arctan2(np.stack([-_smooth(ahead), _smooth(right)], axis=1), _GRAVITY_M_S2))
    return PilotPose(t, xyz, velocity, heading, lean, pitch_deg + _integral(tilt))


def ends_s(moves: tuple[PilotMove, ...]) -> FloatArray:
    """When each move ends (M,), from the beginning of the flight."""
    return np.cumsum([move.seconds for move in moves]).round(3)


def _rate(rates: FloatArray, ends: FloatArray, ramp_s: float, t: FloatArray) -> FloatArray:
    """The rate (N,) over time: constant within a move but for its ramps."""
    around = np.concatenate([[0.0], rates, [0.0]])
    a, b = around[:-1], around[1:]
    shared = np.where(a * b > 0, np.sign(a) * np.minimum(np.abs(a), np.abs(b)), 0.0)  # at the borders of the moves
    starts = np.concatenate([[0.0], ends[:-1]])
    times = np.stack([starts, starts + ramp_s, ends - ramp_s, ends], axis=1)
    values = np.stack([shared[:-1], rates, rates, shared[1:]], axis=1)
    return np.asarray(np.interp(t, times.ravel(), values.ravel()))


def _integral(rate: FloatArray) -> FloatArray:
    """The integral (N,) from 0, by trapezoids: exact for what is linear between steps."""
    return np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) * (STEP_S / 2))])


def _smooth(values: FloatArray) -> FloatArray:
    """The running mean over `_LEAN_S`."""
    half = round(_LEAN_S / STEP_S / 2)
    total = np.concatenate([[0.0], np.cumsum(np.pad(values, half, mode="edge"))])
    return cast(FloatArray, (total[2 * half + 1 :] - total[: -2 * half - 1]) / (2 * half + 1))


LogKind = Literal["px4", "px4_gps", "dji_gimbal", "dji_repeated", "dji_rtk", "airsim"]


@dataclass(frozen=True)
class FlightPlan:
    """One sample flight.

    Attributes:
        id: name of its folder.
        log: how its log is written.
        start_xy: where it takes off, city frame.
        heading_deg: of the nose at take-off, compass.
        moves: what is flown.
        goal: the place to which the pilot was sent.
        camera: ``pitch_deg`` is set if it does not tilt.
        video_offset_s: time of the log at the start of the video.
        noise_m: standard deviation of every logged coordinate.
        dropped: share of the samples that are lost.
        gap_s: start and end of a time without samples.
        no_fix_s: time from the beginning during which the receiver has no fix; an estimator has its position before.
        has_buildings: whether the folder has the footprints of the buildings.
    """

    id: str
    log: LogKind
    start_xy: tuple[float, float]
    heading_deg: float
    moves: tuple[PilotMove, ...]
    goal: str
    camera: FlightCamera
    video_offset_s: float = 0.0
    noise_m: float = 0.0
    dropped: float = 0.0
    gap_s: tuple[float, float] | None = None
    no_fix_s: float = 0.0
    has_buildings: bool = True


def _move(entry: dict[str, Any]) -> PilotMove:
    """A move of the data, which may say what it comes to in the place of how long it lasts."""
    if "over" in entry:
        ramp = next(name for name in RAMP_S if name in entry)
        entry["seconds"] = lasting(entry.pop("over"), abs(entry[ramp]), ramp)
    return PilotMove(**entry)


PLANS: Final = tuple(
    FlightPlan(**entry | {"moves": tuple(map(_move, entry["moves"])), "camera": FlightCamera(**entry["camera"])})
    for entry in sample_data("flights")["flights"]
)
