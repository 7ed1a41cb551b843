"""The sample flights: where each begins, what its pilot does, and how its log was kept.

Together they hold every movement that is looked for, and the usual faults of logs: noise, lost samples, a gap, a log
that begins before the video, a receiver without a fix, repeated fixes, no heading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pipeline.worlds.flight.facts import Camera
from pipeline.worlds.flight.samples.pilot import Move, lasting

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
    moves: tuple[Move, ...]
    goal: str
    camera: Camera
    video_offset_s: float = 0.0
    noise_m: float = 0.0
    dropped: float = 0.0
    gap_s: tuple[float, float] | None = None
    no_fix_s: float = 0.0
    has_buildings: bool = True


def _camera(fov_deg: float, pitch_deg: float | None = None) -> Camera:
    # x264 gives other bytes from run to run unless the width is a multiple of 128 (its macroblock tree reads past the
    # end of a row of blocks).
    return Camera(horizontal_fov_deg=fov_deg, width=384, height=216, pitch_deg=pitch_deg)


PLANS: Final = (
    FlightPlan(
        "city_hall",
        "px4",
        start_xy=(-20.0, 144.0),
        heading_deg=90.0,
        goal="City Hall",
        camera=_camera(84.0),
        video_offset_s=2.5,
        no_fix_s=0.6,
        moves=(
            Move(4.0),
            Move(lasting(24, 4.0), up=4.0, step="take off and climb to 24 metres"),
            Move(lasting(20, 10.0, "tilt"), tilt=-10.0, step="tilt the camera down"),
            Move(lasting(116, 10.0), forward=10.0, step="fly forward along the street between the houses"),
            Move(lasting(90, 30.0, "turn"), turn=-30.0, step="turn left"),
            Move(lasting(48, 6.0), forward=6.0, step="fly forward to the next crossing"),
            Move(lasting(63, 30.0, "turn"), turn=30.0, step="turn right"),
            Move(4.0, step="hover"),
            Move(lasting(27, 18.0, "turn"), turn=18.0, step="turn right towards the yellow building"),
            Move(6.0, forward=10.0, step="fly forward towards the yellow building"),
            Move(4.0, forward=10.0, up=-2.5, step="fly forward while descending"),
            Move(3.0, forward=10.0, step="fly forward to the yellow building"),
            Move(3.0, step="hover beside the yellow building"),
            Move(lasting(90, 30.0, "turn"), turn=-30.0, step="turn left, away from it"),
            Move(4.0, step="hover before the green building"),
        ),
    ),
    FlightPlan(
        "water_tower",
        "px4_gps",
        start_xy=(48.0, -16.0),
        heading_deg=0.0,
        goal="Water Tower",
        camera=_camera(78.0),
        noise_m=0.5,
        dropped=0.1,
        no_fix_s=2.0,
        moves=(
            Move(4.0),
            Move(lasting(40, 5.0), up=5.0, step="take off and climb to 40 metres"),
            Move(lasting(120, 10.0), forward=10.0, step="fly forward over the houses"),
            Move(lasting(28, 4.0), left=-4.0, step="fly right"),
            Move(lasting(120, 40.0, "turn"), turn=-40.0, step="turn left"),
            Move(lasting(24, 4.0), forward=-4.0, step="fly backward"),
            Move(lasting(100, 25.0, "turn"), turn=25.0, step="turn right towards the blue tower"),
            Move(4.0, step="hover"),
            Move(lasting(24, 12.0, "tilt"), tilt=-12.0, step="tilt the camera down"),
            Move(lasting(27, 18.0, "turn"), turn=18.0, step="turn right, past the blue tower"),
            Move(4.0, step="hover once more"),
        ),
    ),
    FlightPlan(
        "central_park",
        "dji_gimbal",
        start_xy=(228.0, 122.0),
        heading_deg=250.0,
        goal="Saint Anna Church",
        camera=_camera(73.7),
        moves=(
            Move(3.0),
            Move(lasting(36, 5.0), up=5.0, step="take off from the park and climb to 36 metres"),
            Move(lasting(60, 30.0, "tilt"), tilt=-30.0, step="look down"),
            Move(3.0, step="hover"),
            Move(lasting(45, 15.0, "tilt"), tilt=15.0, step="look up again"),
            Move(5.0, forward=6.0, step="fly forward"),
            Move(8.1, forward=6.0, turn=-20.0, step="fly a curve to the left"),
            Move(8.0, forward=6.0, step="fly forward to the red church"),
            Move(lasting(20, 4.0), left=4.0, step="fly left"),
        ),
    ),
    FlightPlan(
        "market_hall",
        "dji_repeated",
        start_xy=(192.0, 130.0),
        heading_deg=0.0,
        goal="Market Hall",
        camera=_camera(80.0, -25.0),
        has_buildings=False,
        moves=(
            Move(3.0),
            Move(lasting(32, 5.0), up=5.0, step="take off and climb to 32 metres"),
            Move(lasting(75, 7.0), forward=7.0, step="fly to the green building"),
            Move(lasting(90, 30.0, "turn"), turn=30.0, step="turn"),
            Move(lasting(40, 5.0), forward=5.0, step="fly along the green building"),
            Move(5.0, step="hover"),
            Move(lasting(12, 2.0), up=-2.0, step="descend"),
        ),
    ),
    FlightPlan(
        "old_quarter",
        "airsim",
        start_xy=(336.0, 20.0),
        heading_deg=0.0,
        goal="Grand Hotel",
        camera=_camera(90.0, -12.0),
        gap_s=(13.0, 20.0),
        moves=(
            Move(3.0),
            Move(lasting(15, 3.0), up=3.0, step="take off and climb to 15 metres"),
            Move(lasting(124, 10.0), forward=10.0, step="fly forward along the street"),
            Move(lasting(90, 30.0, "turn"), turn=-30.0, step="turn left"),
            Move(lasting(20, 4.0), up=4.0, step="climb by 20 metres"),
            Move(6.0, forward=6.0, step="fly forward"),
            Move(6.0, forward=6.0, up=1.5, step="fly forward while climbing"),
            Move(5.0, forward=6.0, step="fly forward"),
            Move(lasting(30, 20.0, "turn"), turn=-20.0, step="turn left towards the purple building"),
            Move(4.0, step="hover"),
        ),
    ),
    FlightPlan(
        "central_station",
        "dji_rtk",
        start_xy=(288.0, 112.0),
        heading_deg=180.0,
        goal="Central Station",
        camera=_camera(76.0),
        moves=(
            Move(3.0),
            Move(lasting(32, 4.0), up=4.0, step="take off and climb to 32 metres"),
            Move(lasting(60, 25.0, "turn"), turn=-25.0, step="turn left"),
            Move(lasting(15, 10.0, "tilt"), tilt=-10.0, step="tilt the camera down"),
            Move(8.0, forward=5.0, step="fly forward over the houses"),
            Move(8.0, forward=5.0, turn=-15.0, step="fly a curve to the left, to the brown building"),
            Move(lasting(10, 2.0), up=2.0, step="climb"),
            Move(lasting(18, 3.0), forward=-3.0, step="fly backward"),
            Move(3.0, step="hover"),
            Move(lasting(25, 15.0, "turn"), turn=15.0, step="turn right"),
            Move(4.0, step="hover once more"),
        ),
    ),
)
