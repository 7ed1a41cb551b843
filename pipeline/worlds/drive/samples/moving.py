"""How something moves: along a path of straights and arcs, with speeds that change evenly, from lane to lane.

All in closed form, so that the truth of a sample follows from no difference of samples. Metres, seconds, radians,
counter-clockwise; x ahead of a path's start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.core.arrays import FloatArray


@dataclass(frozen=True)
class Path:
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
class Pace:
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
class Shift:
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
class Motion:
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


def move(path: Path, pace: Pace, shifts: tuple[Shift, ...], times_s: FloatArray) -> Motion:
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
    return Motion(
        place_m=middle + left * aside[:, None],
        yaw_deg=(np.degrees(looks) + 180.0) % 360.0 - 180.0,
        velocity_mps=velocity,
        acceleration_mps2=acceleration,
    )
