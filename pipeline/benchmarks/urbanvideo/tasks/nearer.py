"""Which movements bring a goal nearer: those that lead to it, and turns after which it lies ahead."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import FlightCase
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.arrays import FloatArray
from pipeline.geometry.bearings import distance_m, relative_bearing_deg
from pipeline.worlds.flight.facts import Action
from pipeline.worlds.flight.places import LEAST_M
from pipeline.worlds.flight.steps import Actions, Step

_WAYS_DEG: Final[dict[Action, float]] = {
    "fly forward": 0.0,
    "fly right": 90.0,
    "fly backward": 180.0,
    "fly left": -90.0,
}
_TURNS: Final[dict[Action, int]] = {"turn right": 1, "turn left": -1}
_AHEAD_DEG: Final = 45.0


def require_nearer(view: UrbanView, case: FlightCase, step: Step, goal: int) -> None:
    """A movement that was made brings the goal nearer by a fifth, or turns the nose to it by a clear margin."""
    rules = view.rules
    start, end = view.index(max(0.0, step.start_s)), view.index(min(step.end_s, view.end_s))
    if start is None or end is None:
        case.refuse("step_not_tracked")
        return
    if any(action.startswith("fly") for action in step.actions):
        away_m = distance_m(view.enu_m[[start, end]], view.places[goal].center)
        share = float(away_m[1] / max(float(away_m[0]), LEAST_M))
        case.require("goal_not_nearer", share, "<=", 1 - rules.change_min, "ratio")
    elif step.actions & set(_TURNS):
        before, after = np.abs(_bearings_deg(view, goal, [start, end])).tolist()
        margin = rules.direction_margin_min_deg + view.heading_error_deg
        case.require("goal_not_nearer", before, ">=", _AHEAD_DEG + margin, "deg")
        case.require("goal_not_nearer", after, "<=", _AHEAD_DEG - margin, "deg")
    else:
        case.refuse("goal_not_nearer")


def may_bring_nearer(view: UrbanView, actions: Actions, t_s: float, goal: int) -> bool:
    """Whether a movement that begins at a time might be defended as one that brings the goal nearer."""
    at = view.index(t_s)
    if at is None or not np.isfinite(bearing := float(_bearings_deg(view, goal, [at])[0])):
        return True
    margin = view.rules.direction_margin_min_deg + view.heading_error_deg
    ways = [_WAYS_DEG[action] for action in actions if action in _WAYS_DEG]
    if any(abs((bearing - way + 180.0) % 360.0 - 180.0) < 90.0 + margin for way in ways):
        return True
    turns = [_TURNS[action] for action in actions if action in _TURNS]
    if any(abs(bearing) > 180.0 - margin or sign * bearing > -view.heading_error_deg for sign in turns):
        return True
    away_m = float(distance_m(view.enu_m[[at]], view.places[goal].center)[0])
    return "descend" in actions and away_m <= view.places[goal].radius_m + view.rules.there_m


def _bearings_deg(view: UrbanView, goal: int, at: list[int]) -> FloatArray:
    return relative_bearing_deg(view.enu_m[at], view.heading_deg[at], view.places[goal].center)
