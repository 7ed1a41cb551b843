"""Three flights made by hand: what is done, where landmarks stand, and when they are in the picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.writing import Extract
from pipeline.worlds.flight.facts import Landmark, Segment, Sighting
from tests.benchmarks.urbanvideo.authoring.made import facts, motion

Row = tuple[float, float, str, float, float, float, float | None]


def _segments(rows: list[Row]) -> tuple[Segment, ...]:
    """Rows of start, end, movements, metres over ground, climb, turn and tilt."""
    return tuple(
        Segment(
            start_s=start, end_s=end, actions=tuple(what.split(" + ")), distance_m=way, climb_m=climb, turn_deg=turn,
            gimbal_deg=tilt, margin=3,
        )  # type: ignore[arg-type]
        for start, end, what, way, climb, turn, tilt in rows
    )  # fmt: skip


def _flown(corners: list[tuple[float, float, float, float, float]], rows: list[Row], views: list[Any]) -> Any:
    """The motion through corners of time, east, north, up and heading."""
    at, *columns = (np.array(column, dtype=float) for column in zip(*corners, strict=True))
    t_s = np.arange(0, at[-1] + 0.1, 0.5)
    east, north, up, heading = (np.interp(t_s, at, column) for column in columns)
    return motion(
        t_s=tuple(t_s.tolist()),
        enu_m=tuple(zip(east.tolist(), north.tolist(), up.tolist(), strict=True)),
        height_m=tuple(up.tolist()),
        heading_deg=tuple(heading.tolist()),
        course_deg=(None,) * len(t_s),
        pitch_deg=(None,) * len(t_s),
        part=(0,) * len(t_s),
        segments=_segments(rows),
        views=tuple(Sighting(landmark=n, intervals=seen, possible=seen) for n, seen in enumerate(views)),
    )


def _mark(name: str, kind: str, center: tuple[float, float], radius_m: float, top_m: float) -> Landmark:
    return Landmark(name=name, kind=kind, label=name, center=center, radius_m=radius_m, base_m=0.0, top_m=top_m)


# Up, a look down, north past the church, right to the park, right again towards the bridge, down.
_RIVER = facts(
    goal="Long Bridge",
    landmarks=(
        _mark("Saint Anna Church", "church", (-40.0, 60.0), 12, 35),
        _mark("City Park", "park", (90.0, 120.0), 25, 10),
        _mark("Long Bridge", "bridge", (90.0, 20.0), 15, 15),
        _mark("Post Office", "office", (-300.0, -300.0), 10, 12),
    ),
    motion=_flown(
        [
            (0, 0, 0, 0, 0), (12, 0, 0, 40, 0), (15, 0, 0, 40, 0), (35, 0, 120, 40, 0), (39, 0, 120, 40, 90),
            (55, 60, 120, 40, 90), (59, 60, 120, 40, 180), (69, 60, 120, 20, 180), (75, 60, 120, 20, 180),
        ],
        [
            (0, 12, "ascend", 0, 40, 0, 0), (12, 15, "gimbal down", 0, 0, 0, -40),
            (15, 35, "fly forward", 120, 0, 0, 0), (35, 39, "turn right", 0, 0, 90, 0),
            (39, 55, "fly forward", 60, 0, 0, 0), (55, 59, "turn right", 0, 0, 90, 0),
            (59, 69, "descend", 0, -20, 0, 0), (69, 75, "hover", 0, 0, 0, 0),
        ],
        [((5, 28),), ((38, 55),), ((57, 75),), ()],
    ),
)  # fmt: skip
# West towards the lighthouse, down, left to the market, forward and up, sideways to the left.
_HARBOUR = facts(
    goal="Fish Market",
    landmarks=(
        _mark("Lighthouse", "lighthouse", (-220.0, 10.0), 6, 60),
        _mark("Ferry Terminal", "ferry terminal", (-40.0, -70.0), 20, 15),
        _mark("Fish Market", "market", (-150.0, -130.0), 15, 8),
    ),
    motion=_flown(
        [
            (0, 0, 0, 50, 270), (20, -150, 0, 50, 270), (28, -150, 0, 20, 270), (32, -150, 0, 20, 180),
            (44, -150, -80, 45, 180), (52, -110, -80, 45, 180),
        ],
        [
            (0, 20, "fly forward", 150, 0, 0, None), (20, 28, "descend", 0, -30, 0, None),
            (28, 32, "turn left", 0, 0, -90, None), (32, 44, "fly forward + ascend", 80, 25, 0, None),
            (44, 52, "fly left", 40, 0, 0, None),
        ],
        [((0, 24),), ((0, 8),), ((31, 44),)],
    ),
)  # fmt: skip


def _seen(of: ObservedFacts, *objects: str) -> tuple[ObservedFacts, Extract]:
    return of, Extract(tuple(s.actions for s in of.segments), (*of.names, *objects))


FLIGHTS: dict[str, tuple[ObservedFacts, Extract]] = {
    "east": _seen(facts()),
    "river": _seen(_RIVER, "lower houses", "streets", "river"),
    "harbour": _seen(_HARBOUR, "red harbour crane", "three sailing boats", "pier"),
}
