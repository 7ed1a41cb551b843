"""Flights with planted movements: a small simulator that knows nothing of how movements are found.

A flight is a list of phases. Each commands body velocities (forward, left, up in m/s), a yaw rate (degrees per second,
clockwise) and a gimbal rate; from one phase to the next the rates ramp over 0.5 to 1 s, as multirotors do. The planted
change is the middle of its ramp.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import cumulative_trapezoid

from pipeline.geometry.tracks import FlightTrack

STEP_S = 0.005


@dataclass(frozen=True)
class Phase:
    seconds: float
    forward: float = 0.0
    left: float = 0.0
    up: float = 0.0
    yaw: float = 0.0
    tilt: float = 0.0

    @property
    def rates(self) -> tuple[float, ...]:
        return (self.forward, self.left, self.up, self.yaw, self.tilt)

    @property
    def actions(self) -> frozenset[str]:
        names = (
            ("fly forward", "fly backward"),
            ("fly left", "fly right"),
            ("ascend", "descend"),
            ("turn right", "turn left"),
            ("gimbal up", "gimbal down"),
        )
        said = {pair[0 if rate > 0 else 1] for pair, rate in zip(names, self.rates, strict=True) if rate}
        return frozenset(said or {"hover"})


@dataclass(frozen=True)
class Planted:
    """What a phase really is; neighbours with the same actions are one."""

    start_s: float
    end_s: float
    actions: frozenset[str]
    climb_m: float
    turn_deg: float


def fly(phases: list[Phase], ramp_s: list[float], heading_deg: float = 0.0) -> tuple[FlightTrack, list[Planted]]:
    """A finely sampled track, and what was planted. ``ramp_s``: from each phase to the next, one less than phases."""
    bounds = np.cumsum([p.seconds for p in phases])
    t = np.arange(0, bounds[-1] + STEP_S / 2, STEP_S)
    command = np.array([p.rates for p in phases])
    rates = np.tile(command[0], (len(t), 1))
    for bound, ramp, before, after in zip(bounds[:-1], ramp_s, command[:-1], command[1:], strict=True):
        lo, hi = np.searchsorted(t, [bound - ramp / 2, bound + ramp / 2])
        rates[lo:hi] += ((t[lo:hi] - bound) / ramp + 0.5)[:, None] * (after - before)
        rates[hi:] = after
    heading = heading_deg + cumulative_trapezoid(rates[:, 3], t, initial=0)
    a = np.radians(heading)
    east = rates[:, 0] * np.sin(a) - rates[:, 1] * np.cos(a)
    north = rates[:, 0] * np.cos(a) + rates[:, 1] * np.sin(a)
    enu = np.stack([cumulative_trapezoid(v, t, initial=0) for v in (east, north, rates[:, 2])], axis=1)
    gimbal = -20 + cumulative_trapezoid(rates[:, 4], t, initial=0)
    n = len(t)
    track = FlightTrack(
        t_s=t,
        enu_m=enu,
        lat_lon_deg=np.full((n, 2), np.nan),
        height_m=enu[:, 2].copy(),
        speed_mps=np.hypot(np.hypot(rates[:, 0], rates[:, 1]), rates[:, 2]),
        quat_wxyz=np.full((n, 4), np.nan),
        heading_deg=heading % 360,
        gimbal_pitch_deg=gimbal,
        part=np.zeros(n, dtype=np.intp),
    )
    planted: list[Planted] = []
    bounds = np.array([0.0, *bounds])
    for k, (phase, start, end) in enumerate(zip(phases, bounds[:-1], bounds[1:], strict=True)):
        climb, turn = (_came_to(t, rates[:, c], list(command[:, c]), bounds, k) for c in (2, 3))
        same = planted and planted[-1].actions == phase.actions
        last = planted.pop() if same else Planted(float(start), 0.0, phase.actions, 0.0, 0.0)
        planted.append(replace(last, end_s=float(end), climb_m=last.climb_m + climb, turn_deg=last.turn_deg + turn))
    return track, planted


def _came_to(t, rate, commands: list[float], bounds, k: int) -> float:
    """What the rate commanded in phase k came to: with its whole ramps, cut where a neighbour goes on the same way."""
    if commands[k] == 0:
        return 0.0
    lo, hi = np.searchsorted(t, bounds[k : k + 2])
    reach = round(0.6 / STEP_S)  # half of the longest ramp, and a little
    first, last = max(lo - reach, 0), min(hi + reach, len(t) - 1)
    idle = first + np.flatnonzero(rate[first : last + 1] * np.sign(commands[k]) <= 0)
    middle = (lo + hi) // 2
    if k > 0 and commands[k - 1] * commands[k] <= 0:
        lo = max((*idle[idle < middle], first))
    if k + 1 < len(commands) and commands[k + 1] * commands[k] <= 0:
        hi = min((*idle[idle > middle], last))
    return float(np.trapezoid(rate[lo : hi + 1], t[lo : hi + 1]))


def logged(
    track: FlightTrack,
    rate_hz: float,
    rng: np.random.Generator,
    over_ground_m: float = 0.0,
    height_m: float = 0.0,
    dropped: float = 0.0,
) -> FlightTrack:
    """The track as a log has it: at its own rate and phase, with white noise, some samples missing."""
    t = np.arange(rng.uniform(0, 0.5) / rate_hz, track.t_s[-1], 1 / rate_hz)
    t = t[rng.uniform(size=len(t)) >= dropped]
    index = np.round(t / STEP_S).astype(int)
    noise = rng.normal(size=(len(t), 3)) * (over_ground_m, over_ground_m, height_m)
    enu = track.enu_m[index] + noise
    return replace(
        track,
        t_s=track.t_s[index],
        enu_m=enu,
        height_m=enu[:, 2].copy(),
        speed_mps=track.speed_mps[index],
        lat_lon_deg=track.lat_lon_deg[index],
        quat_wxyz=track.quat_wxyz[index],
        heading_deg=track.heading_deg[index],
        gimbal_pitch_deg=track.gimbal_pitch_deg[index],
        part=track.part[index],
    )


def random_phases(rng: np.random.Generator, count: int, least_s: float = 3.0) -> list[Phase]:
    """Phases as drones are flown: one movement, or two or three at once; hovers between some of them."""
    found = [Phase(rng.uniform(3, 6))]
    while len(found) < count:
        speed, climb = rng.uniform(2, 10), rng.uniform(1, 3) * rng.choice([-1, 1])
        yaw, tilt = rng.uniform(15, 60) * rng.choice([-1, 1]), rng.uniform(8, 25) * rng.choice([-1, 1])
        seconds = rng.uniform(least_s, 12)
        turn_s = max(least_s, rng.uniform(30, 180) / abs(yaw))
        phase = (
            Phase(seconds, forward=speed),
            Phase(seconds, forward=speed, up=climb),
            Phase(seconds, up=climb),
            Phase(turn_s, yaw=yaw),
            Phase(turn_s, forward=speed, yaw=yaw / 2),
            Phase(seconds, left=speed * rng.choice([-1, 1])),
            Phase(seconds, forward=-speed),
            Phase(least_s, tilt=tilt),
            Phase(least_s, forward=speed, tilt=tilt),
            Phase(turn_s, up=climb, yaw=yaw),
            Phase(rng.uniform(3, 8)),
        )[rng.integers(11)]
        if phase.actions != found[-1].actions:
            found.append(phase)
    return found if found[-1].actions == {"hover"} else [*found, Phase(4.0)]
