"""What refuses questions about hand-made flights and is met nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.worlds.flight.facts import FlightMotion
from tests.benchmarks.urbanvideo.flights import finding, flight, judged, mark, motion

MOVES = [("fly forward", 10, 100), ("turn left", 5, 90), ("fly forward", 10, 100)]
MOVED = motion(MOVES, views={0: [(0, 25)], 1: [(0, 25)]})
MARKS = [mark("the park", 30, 30), mark("the red church", 120, 50)]


@pytest.mark.parametrize("name", ["route_by_compass", "route_names_unseen"])
@pytest.mark.parametrize("task", ["Progress Evaluation", "Action Generation"])
def test_a_route_that_cannot_be_told_is_not_asked_about(name: str, task: str) -> None:
    route = ["fly north to the park", "turn left"]
    told = flight(MOVED, MARKS, goal="the park", route=route, findings=[finding(name, "route")])
    assert {(r["reason"], r["measured"], r["limit"]) for r in judged(told, task)} == {(name, 1.0, 0.0)}
    plain = flight(MOVED, MARKS, goal="the park", route=route)
    assert name not in {r["reason"] for r in judged(plain, task)}


def untracked(moved: FlightMotion, start_s: float, end_s: float) -> FlightMotion:
    """The same flight, of which nobody knows where it was for a while."""
    t_s = np.array(moved.t_s)
    kept = np.flatnonzero((t_s < start_s) | (t_s > end_s)).tolist()
    lists = ("t_s", "enu_m", "height_m", "heading_deg", "course_deg", "pitch_deg", "part")
    return moved.model_copy(update={name: tuple(getattr(moved, name)[i] for i in kept) for name in lists})


def test_a_movement_must_be_tracked_to_bring_a_goal_nearer() -> None:
    """The way to a goal 500 m ahead: at 25 s, where the last movement ends, nobody knows where the drone was."""
    moves = [("fly forward", 10, 100), ("ascend", 5, 20), ("fly forward", 10, 100), ("hover", 5, 0)]
    goal = mark("the park", 0, 500)
    for moved, lost in ((motion(moves), False), (untracked(motion(moves), 24.0, 26.0), True)):
        scene = flight(moved, [goal], goal="the park")
        found = {r["operands"][0]: r["reason"] for r in judged(scene, "Action Generation", routes_told=0.0)}
        assert ("step_not_tracked" in found.values()) is lost, found
