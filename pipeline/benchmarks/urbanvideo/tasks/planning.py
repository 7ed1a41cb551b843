"""High-level Planning: which landmark comes next on the straight way to the goal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import TIME, FlightCase, UrbanTask, clock
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.geometry.bearings import compass_deg, turn_between_deg


class HighLevelPlanning(UrbanTask):
    """Operands: the goal and a second. Truth: the first landmark on the straight way from here to the goal.

    A landmark is on the way if it lies straight ahead on it and going by it makes the way hardly longer, and a wrong
    option if that makes it much longer. How near it is already is told by its outline.
    """

    name = "High-level Planning"
    share = 258
    category = "Navigation"
    template = "urbanvideo/high_level_planning"
    slots = ("goal", TIME)
    needs = frozenset(("places", "goal"))
    definition = "Given the navigation goal at the start, make the next plan from the current location."
    example = (
        "Navigation Goal: [Main entrance, where there is a stone]. To reach the destination from current position, "
        "what should the UAV approach next?"
    )

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every few seconds."""
        for second, index in view.moments:
            yield self._case(view, second, index)

    def _case(self, view: UrbanView, second: int, index: int) -> FlightCase:
        rules, goal = view.rules, view.goal
        if goal is None:
            raise ValueError('a task with need "goal" is asked only where the goal is a landmark')
        case = FlightCase(view.places[goal].label, clock(second), until_s=second)
        case.shown(view, goal, second)
        rows = [row for row, i in enumerate(view.pool) if i != goal and view.seen_by(i, second)]
        others = [view.pool[row] for row in rows]
        center = view.places.center
        here = view.enu_m[index, :2]
        ahead = center[goal] - here
        straight = float(np.hypot(*ahead))
        leg = np.hypot(*(center[others] - here).T)
        gap = view.distance_m[rows, index]
        off_deg = np.abs(turn_between_deg(compass_deg(center[others] - here), compass_deg(ahead[None])))
        wide_deg = np.degrees(np.arcsin(np.minimum(view.places.radius_m[others] / np.maximum(leg, 1e-9), 1.0)))
        off_deg = np.maximum(off_deg - wide_deg, 0.0)  # 0: the straight line crosses it
        rest = np.hypot(*(center[others] - center[goal]).T)
        detour = (leg + rest) / max(straight, 1e-9)
        by_the_way = (detour <= rules.detour_max) & (leg <= straight) & (gap > 0)  # above it, one is there
        on_way = np.flatnonzero(by_the_way & (off_deg <= rules.way_max_deg))
        case.fact("distance", case.operands[0], straight, "m")
        case.require("goal_too_near", straight, ">=", 2 * rules.plan_min_m, "m")
        if not len(on_way):
            if by_the_way.any():
                case.refuse("beside_the_way", off_deg[by_the_way].min(), rules.way_max_deg, "deg")
            else:
                case.refuse("nothing_on_the_way", detour.min(initial=np.inf), rules.detour_max, "ratio")
            return case
        unsure = [i for i in range(len(view.places)) if i != goal and i not in others]
        there = np.hypot(*(center[unsure] - here).T) if unsure else np.empty(0)
        past = there + np.hypot(*(center[unsure] - center[goal]).T) if unsure else np.empty(0)
        hidden = float(np.where(past / max(straight, 1e-9) <= rules.detour_max, there, np.inf).min(initial=np.inf))
        case.require(
            "another_may_be_first", hidden / max(leg[on_way].min(), 1e-9), ">=", rules.second_ratio_min, "ratio"
        )
        first, *later = on_way[np.argsort(np.round(leg[on_way], 6), kind="stable")].tolist()
        label = view.places[others[first]].label
        following = gap[later].min(initial=np.inf)
        case.require("beside_the_way", off_deg[first], "<=", rules.way_max_deg, "deg", label)
        case.require("detour", detour[first], "<=", rules.detour_max, "ratio", label)
        case.require("already_there", gap[first], ">=", rules.plan_min_m, "m", label)
        case.require("nearly_the_goal", rest[first], ">=", rules.plan_min_m, "m", label)
        case.require("next_one_too_near", following - gap[first], ">=", rules.plan_min_m, "m", label)
        case.require("label_tells_answer", view.places.tied(goal, others[first]), "<=", 0, "labels", label)
        wrong = [others[i] for i in np.flatnonzero(detour >= rules.wrong_detour_min)]
        return case.ask(label, (view.places[i].label for i in wrong if not view.places.tied(goal, i)))
