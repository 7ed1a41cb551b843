"""What is true of a flight made by hand, in the form in which the sample flights' planted truth is judged."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise

from pipeline.core.schema import Origin
from pipeline.samples.flight.write import (
    FlightTruth,
    PlantedLandmark,
    PlantedMove,
    PlantedPoses,
    PlantedStep,
    Solid,
)
from pipeline.worlds.flight.facts import FlightMotion, FlightScene, Landmark, Sighting

CORNERS = 16  # of the polygon that stands for a round landmark: within 2% of its radius
MANY_PIXELS, TALL = 1000, 100_000  # what is in view is well in view; the picture cuts nothing off above or below


def truth_of_made(scene: FlightScene) -> FlightTruth:
    """The truth of a flight whose movements, poses and views are all known, whose route names every movement.

    Raises AssertionError for a flight without one of these.
    """
    flight = scene.facts
    motion = flight.motion
    assert len(flight.route) == len(motion.segments)
    return FlightTruth(
        id=scene.name,
        log="log.bin",
        log_format=flight.log,
        origin=Origin(lat_deg=0.0, lon_deg=0.0, alt_m=None),
        camera=flight.camera.model_copy(update={"height": TALL}),
        has_heading=True,
        has_buildings=False,
        goal=flight.goal or "",
        route=tuple(
            PlantedStep(text=text, start_s=segment.start_s, end_s=segment.end_s)
            for text, segment in zip(flight.route, motion.segments, strict=True)
        ),
        duration_s=motion.t_s[-1],
        video_offset_s=0.0,
        frames=len(motion.t_s),
        fps=round(motion.rate_hz),
        noise_m=0.0,
        dropped=0.0,
        gap_s=None,
        no_fix_s=0.0,
        moves=_moves(motion),
        poses=PlantedPoses.model_validate(
            {
                "t_s": motion.t_s,
                "enu_m": motion.enu_m,
                "heading_deg": motion.heading_deg,
                "pitch_deg": motion.pitch_deg,
            }
        ),
        landmarks=tuple(_landmark(i, mark, motion) for i, mark in enumerate(flight.landmarks)),
        buildings=(),
        examined_s=motion.t_s,
    )


def _moves(motion: FlightMotion) -> tuple[PlantedMove, ...]:
    moves = []
    for segment in motion.segments:
        first, last = (bisect_right(motion.t_s, t + 1e-6) - 1 for t in (segment.start_s, segment.end_s))
        path = motion.enu_m[first : last + 1]
        moves.append(
            PlantedMove(
                start_s=segment.start_s,
                end_s=segment.end_s,
                actions=segment.actions,
                distance_m=sum(math.dist(a[:2], b[:2]) for a, b in pairwise(path)),
                climb_m=segment.climb_m,
                turn_deg=segment.turn_deg or 0.0,
                gimbal_deg=segment.gimbal_deg or 0.0,
            )
        )
    return tuple(moves)


def _landmark(index: int, mark: Landmark, motion: FlightMotion) -> PlantedLandmark:
    views: tuple[Sighting, ...] = motion.views or ()
    spans = [span for view in views if view.landmark == index for span in view.intervals]
    ways = [2 * math.pi * k / CORNERS for k in range(CORNERS)]
    x, y = mark.center
    base = mark.base_m or 0.0
    return PlantedLandmark(
        name=mark.label or mark.name,
        kind="made",
        is_point=False,
        solid=Solid(
            corners=tuple((x + mark.radius_m * math.cos(way), y + mark.radius_m * math.sin(way)) for way in ways),
            base_m=base,
            top_m=base if mark.top_m is None else mark.top_m,  # nothing is asked that hangs on a top that is not known
        ),
        color=(0, 0, 0),
        shown=tuple((t, MANY_PIXELS) for t in motion.t_s if any(a <= t <= b for a, b in spans)),
    )
