"""Landmark Position, Object Recall, and High-level Planning: what comes next on the straight way to the goal."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import (
    ABOUT_GOAL,
    TIME,
    EvenTask,
    FlightCase,
    UrbanTask,
    clipped,
    clock,
    goal_of,
    unnameable,
)
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.arrays import FloatArray
from pipeline.geometry.bearings import compass_deg, distance_m, relative_bearing_deg, turn_between_deg
from pipeline.worlds.flight.facts import Action
from pipeline.worlds.flight.places import LEAST_M
from pipeline.worlds.flight.steps import Actions, CaptionStep

SECTORS: Final = ("Ahead of the drone", "To the right of the drone", "Behind the drone", "To the left of the drone")
GOAL, NO_GOAL = "Navigation goal", "No navigation goal is given"
_AND: Final = " and "
BELOW, ABOVE = "below it", "reaching higher than it"


class LandmarkPosition(EvenTask):
    """Operands: a landmark, a second and the goal. Truth: one of four sectors off the nose; below or above, if clear.

    Heights are spoken of only where the landmark's top is above or below the horizon by a margin. What is nearly under
    the drone is in no sector; that it is directly below is no option, since it is hardly ever right.
    """

    reads = "side"
    name = "Landmark Position"
    share = 859
    category = "Perception"
    template = "urbanvideo/questions/landmark_position"
    slots = ("landmark", TIME, "given")
    needs = frozenset(("places", "heading", "height"))

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every landmark that the video has shown, every few seconds."""
        yield from unnameable(view)
        for second, index in view.moments:
            for place in view.pool:
                yield self._case(view, place, second, index)

    def kind(self, case: FlightCase) -> tuple[bool, bool]:
        """Heights are in all options or in none; and a goal is ahead most of the time, as anybody knows."""
        return _AND in str(case.answer), case.operands[2] == f"{GOAL}: {case.operands[0]}"

    def _case(self, view: UrbanView, place: int, second: int, index: int) -> FlightCase:
        rules, mark = view.rules, view.places[place]
        given = NO_GOAL if view.goal is None else f"{GOAL}: {view.places[view.goal].label}"
        case = clipped(view, mark.label, clock(second), given, until_s=second)
        case.shown(view, place, second)
        east, north, up = view.enu_m[index]
        away = float(np.hypot(mark.center[0] - east, mark.center[1] - north))
        heading = view.heading_deg[index : index + 1]
        bearing = float(relative_bearing_deg(view.enu_m[index : index + 1], heading, mark.center[None])[0])
        sector = round(bearing / 90.0) % 4 if np.isfinite(bearing) else 0
        margin = 45.0 - abs(bearing - round(bearing / 90.0) * 90.0) if np.isfinite(bearing) else np.nan
        half = float(np.degrees(np.arcsin(mark.radius_m / away))) if away > mark.radius_m else 90.0
        case.fact("distance", mark.label, away, "m")
        case.fact("bearing", mark.label, bearing, "deg")
        case.require("heading_unsteady", view.heading_swing_deg(index), "<=", rules.heading_steady_max_deg, "deg")
        case.require("too_wide_from_here", half, "<=", rules.half_width_max_deg, "deg")
        case.heading(view)
        least = rules.direction_margin_min_deg + view.heading_error_deg
        case.require("near_sector_boundary", margin, ">=", least, "deg")
        ground = view.ground_m if np.isnan(mark.base_m) else mark.base_m
        near = max(away - mark.radius_m, 1e-6)
        depression = float(np.degrees(np.arctan2(up - ground, near)))
        case.require("nearly_below", depression, "<=", rules.depression_max_deg, "deg")
        vertical = _vertical(case, away, mark.radius_m, up, mark.top_m, rules.elevation_min_deg)
        return case.ask(_words(SECTORS[sector], vertical), (_words(name, vertical) for name in SECTORS))


def _vertical(case: FlightCase, away: float, radius: float, up: float, top: float, least_deg: float) -> str | None:
    """Whether the top is below or above; None where it is about level, or not known.

    Measured to the far side of the landmark, where its top is nearest to the horizon.
    """
    if np.isnan(top):
        return None
    elevation = float(np.degrees(np.arctan2(top - up, away + radius)))
    if elevation <= -least_deg:
        case.require("not_below", elevation, "<=", -least_deg, "deg")
        return BELOW
    if elevation >= least_deg:
        case.require("not_above", elevation, ">=", least_deg, "deg")
        return ABOVE
    return None


def _words(sector: str, vertical: str | None) -> str:
    return f"{sector}{_AND}{vertical}" if vertical else sector


_WAYS_DEG: Final[dict[Action, float]] = {
    "fly forward": 0.0,
    "fly right": 90.0,
    "fly backward": 180.0,
    "fly left": -90.0,
}
_TURNS: Final[dict[Action, int]] = {"turn right": 1, "turn left": -1}
_AHEAD_DEG: Final = 45.0
PLANNED_MIN: Final = 3  # wrong options of High-level Planning: for fewer, Object Recall gives up its questions


def require_nearer(view: UrbanView, case: FlightCase, step: CaptionStep, goal: int) -> None:
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


def _ways(view: UrbanView, goal: int, at: list[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The straight way (M,) from samples of the track to the goal, and that (P, M) to each place.

    And how many times (P, M) as far as the straight way to the goal the way by each place is.
    """
    center, here = view.places.center, view.enu_m[at, :2]
    straight = np.hypot(*(center[goal] - here).T)
    leg = np.hypot(*np.moveaxis(center[:, None] - here, -1, 0))
    rest = np.hypot(*(center - center[goal]).T)
    return straight, leg, (leg + rest[:, None]) / np.maximum(straight, 1e-9)


def on_the_way(view: UrbanView) -> frozenset[str]:
    """The landmarks by which the way to the goal is hardly longer from some point of the path; no goal: none."""
    if view.goal is None:
        return frozenset()
    straight, leg, detour = _ways(view, view.goal, [index for _, index in view.moments])
    far = straight >= 2 * view.rules.plan_min_m
    passed = (far & (leg <= straight) & (detour <= view.rules.detour_max)).any(axis=1)
    return frozenset(view.places[i].label for i in np.flatnonzero(passed).tolist() if i != view.goal)


class HighLevelPlanning(UrbanTask):
    """Operands: the goal and a second. Truth: the first landmark on the straight way from here to the goal.

    A landmark is on the way if it lies straight ahead on it and going by it makes the way hardly longer, and a wrong
    option if that makes it much longer. How near it is already is told by its outline.
    """

    reads = "way"
    name = "High-level Planning"
    share = 258
    category = "Navigation"
    template = "urbanvideo/questions/high_level_planning"
    slots = ("goal", TIME)
    needs = frozenset(("places", "goal"))

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every few seconds; no option is a landmark that Object Recall asks about."""
        found, recalled = self.judged(view), _asked(ObjectRecall().judged(view))
        recalled -= _planned(found, recalled)
        for case in found:
            if case.answer is not None:
                case.ask(case.answer, [label for label in case.wrong if label not in recalled])
        yield from found

    def judged(self, view: UrbanView) -> list[FlightCase]:
        """Each as if Object Recall asked nothing."""
        return [self._case(view, *at) for at in view.moments]

    def _case(self, view: UrbanView, second: int, index: int) -> FlightCase:
        rules, goal = view.rules, goal_of(view)
        case = FlightCase(view.places[goal].label, clock(second), until_s=second)
        case.shown(view, goal, second)
        case.follows_from(ABOUT_GOAL)
        rows = [row for row, i in enumerate(view.pool) if i != goal and view.seen_by(i, second)]
        others = [view.pool[row] for row in rows]
        center = view.places.center
        here = view.enu_m[index, :2]
        straights, legs, detours = _ways(view, goal, [index])
        straight, leg, detour = float(straights[0]), legs[others, 0], detours[others, 0]
        gap = view.distance_m[rows, index]
        off_deg = np.abs(turn_between_deg(compass_deg(center[others] - here), compass_deg(center[[goal]] - here)))
        wide_deg = np.degrees(np.arcsin(np.minimum(view.places.radius_m[others] / np.maximum(leg, 1e-9), 1.0)))
        off_deg = np.maximum(off_deg - wide_deg, 0.0)  # 0: the straight line crosses it
        rest = np.hypot(*(center[others] - center[goal]).T)
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
        there = np.where(detours[unsure, 0] <= rules.detour_max, legs[unsure, 0], np.inf)
        hidden = float(there.min(initial=np.inf))
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


class ObjectRecall(UrbanTask):
    """Operands: a landmark that lies in no other. Truth: the one nearest to it, of those that do not lie in it."""

    reads = "nearness"
    name = "Object Recall"
    share = 120
    category = "Recall"
    template = "urbanvideo/questions/object_recall"
    slots = ("landmark",)
    needs = frozenset(("places",))
    model_assisted = True
    definition = "Identify the object that is located closest to a given landmark."
    example = "What is located closest to the Central ALL-STAR cafe?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every landmark that may be asked about."""
        yield from unnameable(view)
        found, plan = list(self.judged(view)), HighLevelPlanning()
        planned = _planned(plan.judged(view), _asked(found)) if plan.obstacle(view) is None else set()
        for case in found:
            if case.operands[0] in planned:
                case.refuse("tells_another_answer", 1, 0, "questions")
        yield from found

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Each as if High-level Planning asked nothing."""
        rules, places = view.rules, view.places
        for landmark in sorted(view.pool):
            case = FlightCase(places[landmark].label)
            gap = places.gaps_m(landmark)
            between = np.hypot(*(places.center - places[landmark].center).T)
            touching = np.flatnonzero(gap <= 0)
            # Of two that lie on one spot the smaller lies in the larger.
            held = [i for i in touching if places[landmark].distance_m(places.center[[i]])[0] <= 0]
            within = [i for i in held if places.radius_m[i] < places.radius_m[landmark]]
            around = [places[i].distance_m(places.center[[landmark]])[0] for i in touching if i not in within]
            case.require("one_inside_the_other", min(around, default=np.inf), ">", 0.0, "m")
            edge = max((between[i] / places.radius_m[landmark] for i in within), default=0.0)
            case.require("on_its_edge", edge, "<=", rules.inside_max, "ratio")
            gap[within] = np.inf
            between[[landmark, *within]] = np.inf
            place, distance, ratio = places.nearest(gap, [places[landmark].gap_m(other) for other in view.unspoken])
            label = places[place].label
            case.fact("gap_to_nearest", label, distance, "m")
            case.follows_from(gap_between(case.operands[0], label))
            case.require("nothing_beside", distance, "<=", rules.beside_max_m, "m", label)
            times = times_as_far(ratio, distance, rules.there_m)
            case.require("second_nearest", times, ">=", rules.nearest_ratio_min, "ratio", label)
            case.require("centers_disagree", float(between.argmin() == place), ">=", 1, "agreement", label)
            case.shown(view, place, view.end_s)
            case.require("label_tells_answer", places.tied(landmark, place), "<=", 0, "labels", label)
            far = rules.second_ratio_min * max(distance, rules.there_m)
            wrong = [i for i in view.pool if gap[i] >= far and not places.tied(landmark, i)]
            yield case.ask(label, (places[i].label for i in wrong if i not in {landmark, place, *within}))


def _asked(recalls: Iterable[FlightCase]) -> set[str]:
    """The landmarks that Object Recall could ask about."""
    return {case.operands[0] for case in recalls if case.refusal is None}


def _planned(plans: Iterable[FlightCase], recalled: set[str]) -> set[str]:
    """The landmarks that High-level Planning leaves Object Recall no question about: answers, and rare wrong options.

    Object Recall asks about what has something beside it, and that stands among others, as what is on the way to a goal
    does. So no option of High-level Planning is asked about: it would be likelier than the others.
    """
    planned = set[str]()
    for case in plans:
        if case.refusal is None:
            few = len({*case.wrong} - recalled) < PLANNED_MIN
            planned |= {str(case.answer), *(case.wrong if few else ())}
    return planned


def gap_between(one: str, other: str) -> str:
    """The fact of the gap between two landmarks, whichever of them is asked about."""
    return f"gap between {' and '.join(sorted((one, other)))}"


def times_as_far(ratio: float, distance_m: float, there_m: float) -> float:
    """How many times as far the second is as the nearest, which counts as ``there_m`` away at least."""
    return ratio * max(distance_m, LEAST_M) / max(distance_m, there_m)
