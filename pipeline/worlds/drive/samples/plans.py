"""The sample drives: an overtaking on a straight road, a junction with a light, a car ahead that brakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pipeline.worlds.drive.facts import Lamp
from pipeline.worlds.drive.samples.moving import Pace, Path, Shift
from pipeline.worlds.drive.samples.plan import EGO_SIZE, LANE_M, SIZES, Event, Light, Mover, Plan, Road, placed

RIGHT: Final = -LANE_M / 2
LEFT: Final = LANE_M / 2
ONCOMING: Final = 1.5 * LANE_M
KERB: Final = -LANE_M - 2.2  # the middle of parked cars
PAVEMENT: Final = -LANE_M - 5.0


@dataclass
class _Frame:
    """Makes movers in a road frame."""

    origin_m: tuple[float, float]
    yaw_deg: float
    made: list[Mover] = field(default_factory=list)

    def path(self, u: float, v: float, turn_deg: float = 0.0, bends: tuple[tuple[float, float], ...] = ()) -> Path:
        start = placed(self.origin_m, self.yaw_deg, u, v)
        return Path(start, self.yaw_deg + turn_deg, bends or ((1e9, 0.0),))

    def add(
        self,
        name: str,
        category: str,
        path: Path,
        pace: Pace | None = None,
        shifts: tuple[Shift, ...] = (),
        blinks: tuple[tuple[float, float, Lamp], ...] = (),
        colour: str | None = None,
        stretch: float = 1.0,
    ) -> None:
        """``stretch``: how much longer than usual it is."""
        length, width, height = SIZES[category]
        size = (round(length * stretch, 2), width, height)
        self.made.append(Mover(name, category, path, pace or Pace(0.0), size, shifts, blinks, colour))


def _straight(length_m: float) -> tuple[Road, ...]:
    """Two lanes our way, one the other way."""
    along = ((-100.0, 0.0), (length_m, 0.0))

    def line(v: float) -> tuple[tuple[float, float], ...]:
        return tuple((u, v) for u, _ in along)

    back = tuple((u, ONCOMING) for u, _ in reversed(along))
    return (
        Road(1, line(RIGHT), left_mark="DASHED_WHITE", right_mark="SOLID_WHITE", left=2),
        Road(2, line(LEFT), left_mark="DOUBLE_SOLID_YELLOW", right_mark="DASHED_WHITE", right=1),
        Road(3, back, left_mark="DOUBLE_SOLID_YELLOW", right_mark="SOLID_WHITE"),
    )


def overtaking() -> Plan:
    """A car behind us changes to the left lane, passes us, and comes back ahead of us; then we speed up."""
    frame = _Frame((1200.0, 340.0), 30.0)
    add, path = frame.add, frame.path
    ego = Mover("ego", "car", path(0, RIGHT), Pace(0.0, 12.0, ((18.0, 0.0), (3.0, 1.0))), EGO_SIZE, colour="30,60,160")
    there = (Shift(2.0, 5.0, LANE_M), Shift(13.0, 16.0, -LANE_M))
    signs: tuple[tuple[float, float, Lamp], ...] = ((1.0, 5.0, "left blinker"), (12.0, 16.0, "right blinker"))
    add("overtaker", "car", path(-25.0, RIGHT), Pace(0.0, 17.0), there, signs, "200,30,30")
    add("lead", "van", path(60.0, RIGHT), Pace(0.0, 13.0, ((12.0, 0.0), (4.0, 0.75))), colour="240,240,240")
    add("oncoming-truck", "truck", path(220.0, ONCOMING, 180.0), Pace(0.0, 14.0))
    add("oncoming-bus", "bus", path(420.0, ONCOMING, 180.0), Pace(0.0, 11.0))
    add("motorcyclist", "motorcyclist", path(-60.0, LEFT), Pace(0.0, 16.0))
    add("cyclist", "cyclist", path(90.0, -LANE_M - 0.4), Pace(0.0, 5.0))
    add("walker", "pedestrian", path(70.0, PAVEMENT), Pace(0.0, 1.4))
    add("jogger", "pedestrian", path(150.0, PAVEMENT - 1.5, 180.0), Pace(0.0, 2.8))
    for number, (u, kind, stretch) in enumerate(
        ((30.0, "car", 1.0), (38.5, "van", 1.1), (120.0, "car", 0.9), (180.0, "car", 1.05), (260.0, "truck", 1.0))
    ):
        add(f"parked-{number}", kind, path(u, KERB), stretch=stretch)
    for number, u in enumerate((100.0, 102.0, 104.0)):
        add(f"bollard-{number}", "bollard", path(u, PAVEMENT + 1.2))
    events = (
        Event("changes to the left lane", "overtaker", 2.0, 5.0),
        Event("passes us", "overtaker", 5.0, 5.0),  # 17 t - 25 = 12 t, middle beside middle
        Event("changes to the right lane", "overtaker", 13.0, 16.0),
        Event("speeds up", "ego", 18.0, 21.0),
    )
    return Plan(
        "overtaking", frame.origin_m, frame.yaw_deg, 28.0, ego, tuple(frame.made), _straight(600.0), events=events
    )


def junction() -> Plan:
    """We stop at a red light, let people cross, turn left when it is green."""
    frame = _Frame((-310.0, 95.0), -65.0)
    add, path = frame.add, frame.path
    # 40 m at 10 m/s, 25 m to a stop before the crossing; off at 15 s, after 8 m more the turn of 9 m radius.
    legs = ((4.0, 0.0), (5.0, -2.0), (6.0, 0.0), (2.5, 2.0))
    turn = ((73.0, 0.0), (float(np.pi / 2 * 9.0), 90.0), (1e9, 0.0))
    ego = Mover(
        "ego",
        "car",
        path(0, LEFT, bends=turn),
        Pace(0.0, 10.0, legs),
        EGO_SIZE,
        blinks=((2.0, 19.0, "left blinker"),),
        colour="30,60,160",
    )
    add("waiting", "car", path(66.0, RIGHT), Pace(0.0, 0.0, ((15.5, 0.0), (4.0, 2.5))), colour="15,15,15")
    add("cross-1", "car", path(82.0, -90.0, 90.0), Pace(0.0, 11.0), colour="250,240,90")
    add("cross-2", "truck", path(82.0, -140.0, 90.0), Pace(0.0, 11.0))
    add("cross-3", "bus", path(87.0, 130.0, -90.0), Pace(0.0, 9.0))
    add("crosser-1", "pedestrian", path(72.0, -10.0, 90.0), Pace(0.0, 0.0, ((5.0, 0.0), (1.0, 1.3))))
    add("crosser-2", "pedestrian", path(72.8, 11.0, -90.0), Pace(0.0, 0.0, ((4.0, 0.0), (1.0, 1.5))))
    add("crosser-3", "pedestrian", path(73.6, -12.0, 90.0), Pace(0.0, 0.0, ((4.0, 0.0), (1.0, 1.6))))
    add("cyclist", "cyclist", path(20.0, -LANE_M - 0.5), Pace(0.0, 4.0, ((9.0, 0.0), (4.0, -1.0))))
    add("follower", "van", path(-30.0, LEFT), Pace(0.0, 10.0, ((5.0, 0.0), (5.0, -2.0), (7.0, 0.0), (4.0, 2.0))))
    add("parked-0", "car", path(30.0, KERB))
    add("parked-1", "van", path(38.0, KERB))
    for number, v in enumerate((-6.0, -7.0, -8.0)):
        add(f"cone-{number}", "traffic cone", path(60.0, v))
    ahead = (-100.0, 75.0)
    across = tuple((82.0, v) for v in (-150.0, 150.0))
    arc = tuple(
        (73.0 + 9.0 * float(np.sin(a)), LEFT + 9.0 * (1 - float(np.cos(a)))) for a in np.linspace(0, np.pi / 2, 10)
    )
    yellow, dashed = "DOUBLE_SOLID_YELLOW", "DASHED_WHITE"
    back = tuple((u, ONCOMING) for u in reversed(ahead))
    roads = (
        Road(1, tuple((u, RIGHT) for u in ahead), left_mark=dashed, right_mark="SOLID_WHITE", left=2),
        Road(2, tuple((u, LEFT) for u in ahead), left_mark=yellow, right_mark=dashed, successors=(4,), right=1),
        Road(3, back, left_mark=yellow),
        Road(4, arc, intersection=True, successors=(5,)),
        Road(5, across, left_mark=yellow),
        Road(6, tuple((87.0, v) for v in (150.0, -150.0)), left_mark=yellow),
    )
    lights = (
        Light(901, 76.0, -5.5, ((0.0, "red"), (14.0, "green"), (24.0, "yellow"))),
        Light(902, 79.0, -9.0, ((0.0, "green"), (11.0, "yellow"), (13.0, "red"))),
    )
    events = (
        Event("stops at the light", "ego", 9.0, 15.0),
        Event("turns left", "ego", 17.85, 20.677433),
        Event("turns green", "901", 14.0, 14.0),
    )
    crossings = ((71.0, 74.0, -8.0, 9.0),)
    return Plan(
        "junction", frame.origin_m, frame.yaw_deg, 26.0, ego, tuple(frame.made), roads, lights, crossings, events
    )


def braking() -> Plan:
    """A child runs onto the road, the car ahead brakes to a stop, we brake too; a van hits a cone."""
    frame = _Frame((40.0, -700.0), 110.0)
    add, path = frame.add, frame.path
    ego = Mover(
        "ego",
        "car",
        path(0, RIGHT),
        Pace(0.0, 14.0, ((6.0, 0.0), (3.5, -4.0), (5.5, 0.0), (5.0, 1.6))),
        EGO_SIZE,
        colour="30,60,160",
    )
    add(
        "lead",
        "car",
        path(26.0, RIGHT),
        Pace(0.0, 14.0, ((5.0, 0.0), (2.8, -5.0), (7.0, 0.0), (5.0, 2.0))),
        colour="50,140,50",
    )
    add("child", "pedestrian", path(128.0, -9.0, 90.0), Pace(0.0, 0.0, ((4.5, 0.0), (1.0, 3.0))), stretch=0.8)
    add(
        "parent",
        "pedestrian",
        path(126.0, -9.5, 90.0),
        Pace(0.0, 0.0, ((7.0, 0.0), (1.0, 1.2), (2.0, 0.0), (1.0, -1.2))),
    )
    add("oncoming-1", "car", path(170.0, ONCOMING, 180.0), Pace(0.0, 13.0, ((5.5, 0.0), (2.6, -5.0))))
    add("follower", "truck", path(-40.0, RIGHT), Pace(0.0, 13.0, ((7.5, 0.0), (5.2, -2.5), (6.0, 0.0), (5.0, 1.5))))
    add("van", "van", path(10.0, LEFT), Pace(0.0, 9.0, ((9.0, 0.0), (3.0, -3.0))), colour="205,95,35")
    add("cyclist", "cyclist", path(45.0, -LANE_M - 0.4), Pace(0.0, 4.5))
    add("cone-0", "traffic cone", path(10.0 + 9.0 * 8.0 + 2.7 + 0.175, LEFT))
    add("cone-1", "traffic cone", path(100.0, LEFT + 1.6))
    for number, u in enumerate((60.0, 67.0, 74.0, 81.0)):
        add(f"parked-{number}", "car", path(u, KERB), stretch=0.9 + 0.05 * number)
    events = (
        Event("brakes to a stop", "lead", 5.0, 7.8),
        Event("brakes to a stop", "ego", 6.0, 9.5),
        Event("hits cone-0", "van", 8.0, 8.0),
    )
    hits = ((8.0, "van", "cone-0"),)
    roads, movers = _straight(500.0), tuple(frame.made)
    return Plan("braking", frame.origin_m, frame.yaw_deg, 24.0, ego, movers, roads, events=events, hits=hits)


PLANS: Final = {plan.name: plan for plan in (overtaking(), junction(), braking())}
