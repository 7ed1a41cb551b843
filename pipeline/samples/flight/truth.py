"""The planted truth of a sample flight: what a reader, an observer or a question must find, known by construction.

Times are the log's: 0 is its first sample, and the video begins at ``video_offset_s``. Frame: ENU metres about
``origin``, the first good fix as the log has it, noise and rounding included; for AirSim, whose log is local, it is
the WGS84 place of the log's zero.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from pydantic import Field

from pipeline.core.schema import Model, Origin, Vec3
from pipeline.samples.flight.city import PLACES, Block, to_enu
from pipeline.samples.flight.pilot import FlightPlan, PilotPose, ends_s
from pipeline.worlds.flight.facts import Action, FlightCamera

POSE_HZ: Final = 5
SHOWN_HZ: Final = 2
DECIMALS: Final = 4

Corners = tuple[tuple[float, float], ...]
Shown = list[list[tuple[float, int]]]  # of each place, (time, pixels)


class PlantedMove(Model):
    """One planted movement; what was measured between its start and its end on the true flight."""

    start_s: float
    end_s: float
    actions: tuple[Action, ...] = Field(description="the main one first")
    distance_m: float = Field(description="over ground, along the path")
    climb_m: float
    turn_deg: float = Field(description="of the nose, clockwise positive")
    gimbal_deg: float = Field(description="upwards positive")


class PlantedStep(Model):
    """A step of the route that the pilot was given, and when it was flown."""

    text: str
    start_s: float
    end_s: float


class PlantedPoses(Model):
    """The true flight at `POSE_HZ`; lists of one length."""

    t_s: tuple[float, ...]
    enu_m: tuple[Vec3, ...]
    heading_deg: tuple[float, ...] = Field(description="of the nose and the camera, clockwise from north, [0, 360)")
    pitch_deg: tuple[float, ...] = Field(description="of the camera: 0 level, -90 down")


class Solid(Model):
    """An upright box: footprint, counter-clockwise, and heights."""

    corners: Corners
    base_m: float
    top_m: float

    @property
    def center(self) -> tuple[float, float]:
        """Middle of the footprint."""
        x, y = zip(*self.corners, strict=True)
        return sum(x) / len(x), sum(y) / len(y)


class PlantedLandmark(Model):
    """A named place, and when the camera shows it."""

    name: str
    said: str | None = Field(default=None, description="what is seen of it alone; None: something else looks the same")
    kind: str
    is_point: bool = Field(description="whether the list of landmarks has its middle alone")
    solid: Solid
    color: tuple[int, int, int] = Field(description="of its roof, from nearby")
    shown: tuple[tuple[float, int], ...] = Field(
        description="(time of the log, pixels) of every examined frame that shows any of it, by the ids of the renderer"
    )


class FlightTruth(Model):
    """One sample flight."""

    id: str
    log: str = Field(description="name of the log file")
    log_format: str
    origin: Origin
    camera: FlightCamera
    has_heading: bool = Field(description="whether the log records where the nose points")
    has_buildings: bool = Field(description="whether the flight's folder has the buildings")
    goal: str
    route: tuple[PlantedStep, ...]
    duration_s: float = Field(description="of the log")
    video_offset_s: float
    frames: int
    fps: int
    noise_m: float
    dropped: float
    gap_s: tuple[float, float] | None
    no_fix_s: float = Field(description="time from the beginning without a fix of the receiver")
    moves: tuple[PlantedMove, ...]
    poses: PlantedPoses
    landmarks: tuple[PlantedLandmark, ...]
    buildings: tuple[Solid, ...] = Field(description="all of the city, those with a name included, but for the park")
    examined_s: tuple[float, ...] = Field(description="times of the log of the frames in which pixels were counted")


def planted_moves(plan: FlightPlan, pose: PilotPose) -> tuple[PlantedMove, ...]:
    """The moves of a plan as they were flown."""
    ends = ends_s(plan.moves)
    starts = np.concatenate([[0.0], ends[:-1]])
    path = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(pose.xyz_m[:, :2], axis=0).T))])
    known = np.column_stack([path, pose.xyz_m[:, 2], pose.heading_deg, pose.pitch_deg])
    change = np.stack([np.interp(ends, pose.t_s, c) - np.interp(starts, pose.t_s, c) for c in known.T], axis=1)
    return tuple(
        PlantedMove(start_s=start, end_s=end, actions=move.actions, distance_m=a, climb_m=b, turn_deg=c, gimbal_deg=d)
        for move, start, end, (a, b, c, d) in zip(
            plan.moves, starts.tolist(), ends.tolist(), (change.round(DECIMALS) + 0.0).tolist(), strict=True
        )
    )


def planted_route(plan: FlightPlan) -> tuple[PlantedStep, ...]:
    """The steps of the route; each lasts until the next begins."""
    ends = ends_s(plan.moves).tolist()
    begun = [(move.step, end - move.seconds) for move, end in zip(plan.moves, ends, strict=True) if move.step]
    until = [start for _, start in begun[1:]] + ends[-1:]
    return tuple(
        PlantedStep(text=text, start_s=round(start, 3), end_s=round(end, 3))
        for (text, start), end in zip(begun, until, strict=True)
    )


def poses_of(pose: PilotPose, origin: Origin) -> PlantedPoses:
    """The flight at `POSE_HZ`."""
    at = pose.at(np.arange(int(pose.t_s[-1] * POSE_HZ + 1e-6) + 1) / POSE_HZ)
    return PlantedPoses.model_validate(
        {
            "t_s": at.t_s.round(3).tolist(),
            "enu_m": (to_enu(at.xyz_m, origin).round(DECIMALS) + 0.0).tolist(),
            "heading_deg": (at.heading_deg.round(DECIMALS) % 360.0).tolist(),
            "pitch_deg": (at.pitch_deg.round(DECIMALS) + 0.0).tolist(),
        }
    )


def solid_of(block: Block, origin: Origin) -> Solid:
    """A block in the flight's frame."""
    corners = block.corners()
    foot, roof = (to_enu(np.column_stack([corners, np.full(4, z)]), origin) for z in (block.low[2], block.high[2]))
    base_m, top_m = (round(float(points[:, 2].mean()), DECIMALS) for points in (foot, roof))
    return Solid(corners=tuple((x, y) for x, y in foot[:, :2].round(DECIMALS).tolist()), base_m=base_m, top_m=top_m)


def planted_landmarks(blocks: tuple[Block, ...], origin: Origin, shown: Shown) -> tuple[PlantedLandmark, ...]:
    """The city's places with what was counted of each."""
    return tuple(
        PlantedLandmark(
            name=place.name,
            said=place.said,
            kind=place.kind,
            is_point=place.is_point,
            solid=solid_of(block, origin),
            color=place.color,
            shown=tuple(seen),
        )
        for place, block, seen in zip(PLACES, blocks, shown, strict=False)
    )
