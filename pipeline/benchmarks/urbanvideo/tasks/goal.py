"""Tasks about goal and recall: Goal Detection, Association and Start/End Position.

Goal Detection and Association ask for what the camera has in view of the goal, or of what is near it; Start/End
Position asks for what is nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from pipeline.benchmarks.urbanvideo.cases import (
    ABOUT_GOAL,
    TIME,
    EvenTask,
    FlightCase,
    UrbanTask,
    clipped,
    clock,
    cuts,
    goal_of,
)
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.landmarks import gap_between, on_the_way, times_as_far
from pipeline.core.arrays import FloatArray, StrArray
from pipeline.core.identity import digest
from pipeline.geometry.bearings import picture_xy, relative_bearing_deg
from pipeline.questions.cases import WRONG_MIN
from pipeline.worlds.flight.places import LEAST_M

THIRDS: Final = ("in the left third of the view", "in the middle of the view", "in the right third of the view")
NOT_IN_VIEW: Final = "No, it is not in view"
_LEVELS, _SIDES = ("bottom", "centre", "top"), ("left", "centre", "right")
AREAS: Final = {  # by level and side, each a third of the picture
    (level, side): f"at the {level} {side} of the view".replace("at the centre centre", "in the centre")
    for level in _LEVELS
    for side in _SIDES
}


class GoalDetection(EvenTask):
    """Operands: the goal and a second. Truth: in which ninth of the picture it is, or that it is not in view.

    Of a goal whose foot or top is not known it is asked in which third from left to right.
    """

    reads = "place"
    name = "Goal Detection"
    share = 317
    category = "Perception"
    template = "urbanvideo/questions/goal_detection"
    slots = ("goal", TIME)
    needs = frozenset(("places", "heading", "height", "views", "goal"))

    def judged(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every few seconds."""
        for second, index in view.moments:
            yield self._case(view, second, index)

    def _case(self, view: UrbanView, second: int, index: int) -> FlightCase:
        rules = view.rules
        goal = goal_of(view)
        label = view.places[goal].label
        case = clipped(view, label, clock(second), until_s=second)
        signed = view.in_view_s(goal, second)
        case.fact("times_in_view", label, view.times_in_view(goal), "times")
        case.require("view_just_changed", abs(signed), ">=", rules.view_margin_min_s, "s", label)
        if signed < 0:
            out_s = view.out_of_view_s(goal, second)
            case.require("may_be_in_view", out_s, ">=", rules.view_margin_min_s, "s", label)
            return case.ask(NOT_IN_VIEW, map(_seen_at, THIRDS))
        found = _located(view, case, goal, index)
        if found is None:
            return case
        where, others = found
        return case.ask(_seen_at(where), (*map(_seen_at, others), NOT_IN_VIEW))


def _seen_at(where: str) -> str:
    return f"Yes, {where}"


def _located(view: UrbanView, case: FlightCase, place: int, index: int) -> tuple[str, tuple[str, ...]] | None:
    """In which ninth of the picture a place is, and all ninths; thirds where its foot or top is not known.

    None: the pose is not known. Refuses the case where it is near the edge of one.
    """
    rules, label, error = view.rules, view.places[place].label, view.heading_error_deg
    ends = [_in_picture(view, place, index, off) for off in (0.0, *((-error, error) if error else ()))]
    if np.isnan(ends).any():
        case.refuse("pose_unknown")
        return None
    case.heading(view)
    upright = np.clip(ends[0][2:], -1.0, 1.0)
    (left, right), *others = [np.clip(end[:2], -1.0, 1.0).tolist() for end in ends]
    middle = (left + right) / 2
    case.require("outside_picture", abs(middle), "<", 1.0, "half widths", label)  # 1: all of it is beyond an edge
    third, levelled = _picture_third(middle), bool(np.isfinite(view.places[place].base_m + view.places[place].top_m))
    case.fact("place_in_view", label, middle, "half widths")
    swing = view.heading_swing_deg(index)
    case.require("heading_unsteady", swing, "<=", rules.heading_steady_max_deg, "deg")
    case.require("too_wide_in_view", right - left, "<=", rules.view_width_max, "half widths", label)
    shift = max((abs(sum(pair) / 2 - middle) for pair in others), default=0.0)
    margin = min(abs(middle - 1 / 3), abs(middle + 1 / 3)) - shift
    case.require("near_third_boundary", margin, ">=", rules.third_margin_min, "half widths", label)
    if not levelled:
        return THIRDS[third], THIRDS
    height = float(upright.mean())
    case.require("outside_picture", abs(height), "<", 1.0, "half heights", label)
    case.fact("height_in_view", label, height, "half heights")
    case.require("too_wide_in_view", float(np.ptp(upright)), "<=", rules.view_width_max, "half heights", label)
    # Its lower part may be hidden: then the rest is higher up.
    upper = (height + float(upright[1])) / 2
    margin = min(abs(part - edge / 3) for part in (height, upper) for edge in (-1, 1))
    margin = margin if _picture_third(upper) == _picture_third(height) else 0.0
    case.require("near_third_boundary", margin, ">=", rules.third_margin_min, "half heights", label)
    return AREAS[_LEVELS[_picture_third(height)], _SIDES[third]], tuple(AREAS.values())


RELATED, RELATED_WHERE = "Which element in view", "Which element in view, and in which part of the view,"
_NONE: Final = "No related element: nothing in view is within"  # so many metres of the goal


class Association(UrbanTask):
    """Operands: the goal, a second at which it is not in view, and whether it is asked where.

    Truth: the landmark in view that is nearest to the goal, and in which part of the picture it is, where that is
    clear; or that nothing in view is near the goal. The latter is right at most once in three questions that offer it.
    """

    reads = "kind"
    name = "Association"
    share = 230
    category = "Reasoning"
    template = "urbanvideo/questions/association"
    slots = ("goal", TIME, "asked")
    needs = frozenset(("places", "views", "goal"))
    model_assisted = True
    definition = "Given a navigation goal that is not in sight, name the urban element in sight that is related to it."
    example = (
        "Navigation Goal: [Main entrance, where there is a stone]. What is the most spatially related to the goal "
        "location, and where?"
    )

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The element, or that there is none."""
        return np.array([answer.partition(", ")[0].partition(":")[0] for answer in answers.tolist()], dtype=object)

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every few seconds at which the goal is not in view."""
        found = [self._case(view, *at) for at in view.moments if view.in_view_s(goal_of(view), at[0]) < 0]
        none = self._none_option(view)
        drawn = sorted(
            (case for case in found if case.refusal is None),
            key=lambda case: digest(view.scene.id, self.name, "none", *case.draw),
        )
        least = view.rules.unrelated_min_m / view.rules.second_ratio_min
        near = [case for case in drawn if case.answer != none and case.nearest_m <= least]
        elements = len({case.nearest for case in near})  # one question is asked of each
        absent = [case for case in drawn if case.answer == none]
        for place, case in enumerate(absent, start=1):
            case.require("answer_too_frequent", place, "<=", min(elements // WRONG_SHOWN, 1), "candidates")
        for case in near if any(case.refusal is None for case in absent) else ():
            case.wrong.append(none)
        yield from found

    def _none_option(self, view: UrbanView) -> str:
        return f"{_NONE} {view.rules.unrelated_min_m:g} metres of the goal"

    def _case(self, view: UrbanView, second: int, index: int) -> _NearGoal:
        rules, goal, places = view.rules, goal_of(view), view.places
        mark = places[goal]
        gap = {i: mark.gap_m(places[i]) for i in range(len(places)) if i != goal}
        in_view_s = {i: view.in_view_s(i, second) for i in gap}
        visible = sorted((gap[i], places[i].label, i) for i in gap if in_view_s[i] >= 0)
        now = [i for _, _, i in visible if in_view_s[i] >= rules.view_margin_min_s]
        where = _Parts.of(view, visible[0][2], index) if visible else None
        unrelated_deg = _beside_picture_deg(view, index, mark.center, mark.radius_m + 1.2 * rules.unrelated_min_m)
        distance = visible[0][0] if visible else np.inf
        if unrelated_deg >= 0 and distance > rules.related_max_m:
            # Whatever stands about the goal, on the map or not, is out of the picture.
            beside = [i for i in gap if view.out_of_view_s(i, second) >= rules.view_margin_min_s]
            wrong = [i for i in now if gap[i] >= rules.second_ratio_min * distance]
            wrong = [i for i in (*wrong, *beside) if view.seen_by(i, second) and not places.tied(goal, i)]
            where = _Parts.of(view, wrong[0], index) if wrong else None
            case = _NearGoal(mark.label, clock(second), RELATED_WHERE if where else RELATED, until_s=second)
            case.shown(view, goal, second)
            case.fact("surroundings_beside_view", mark.label, unrelated_deg, "deg")
            case.follows_from(ABOUT_GOAL)
            far = [places[i].label for i in wrong]
            return case.ask(self._none_option(view), where.crossed(*far[:2]) if where and len(far) > 1 else far)
        case = _NearGoal(mark.label, clock(second), RELATED_WHERE if where else RELATED, until_s=second)
        case.shown(view, goal, second)
        case.require("view_just_changed", -view.in_view_s(goal, second), ">=", rules.view_margin_min_s, "s", mark.label)
        out_s = view.out_of_view_s(goal, second)
        case.require("may_be_in_view", out_s, ">=", rules.view_margin_min_s, "s", mark.label)
        if not visible:
            case.refuse("nothing_in_view", 0, 1, "landmarks")
            return case
        distance, label, place = visible[0]
        case.nearest, case.nearest_m = label, distance
        limit = rules.second_ratio_min * max(distance, LEAST_M)
        # A rival need not be surely in view.
        rivals = [gap[i] for i in gap if i != place and view.out_of_view_s(i, second) < rules.view_margin_min_s]
        rivals += [mark.gap_m(other) for other in view.unspoken]
        second_m = min(rivals, default=np.inf)
        case.fact("gap_to_goal", label, distance, "m")
        case.follows_from(ABOUT_GOAL, gap_between(mark.label, label))
        case.require("related_too_far", distance, "<=", rules.related_max_m, "m", label)
        case.require("second_nearest", second_m / max(distance, LEAST_M), ">=", rules.second_ratio_min, "ratio", label)
        case.require("view_just_changed", in_view_s[place], ">=", rules.view_margin_min_s, "s", label)
        case.require("label_tells_answer", places.tied(goal, place), "<=", 0, "labels", label)
        # Farther from the goal, and seen: what never was seen is no rival. In view now, if enough of them are.
        seen = [i for i in gap if gap[i] >= limit and view.seen_by(i, second) and not places.tied(goal, i)]
        shown = [i for i in seen if i in now]
        labels = [places[i].label for i in (shown if len(shown) >= WRONG_MIN else seen)]
        if where is None or not labels:
            return case.ask(label, labels)
        case.evidence += where.evidence
        other = min(labels, key=lambda other: digest(view.scene.id, self.name, "other", clock(second), other))
        right, *crossed = where.crossed(label, other)
        return case.ask(right, crossed)


WRONG_SHOWN: Final = 2  # questions at least in which "no related element" is a wrong option, for one where it is right


class _NearGoal(FlightCase):
    """A candidate of Association, with its element and the distance of that to the goal."""

    nearest: str = ""
    nearest_m: float = np.inf


class _Parts(NamedTuple):
    """The part of the picture in which an element is, another one, and the numbers that prove the first."""

    here: str
    elsewhere: str
    evidence: list[dict[str, Any]]

    @classmethod
    def of(cls, view: UrbanView, place: int, index: int) -> _Parts | None:
        """Of a place; None where it is not clear in which part it is."""
        case = FlightCase()
        found = _located(view, case, place, index)
        if found is None or case.refusal is not None:
            return None
        here, every = found
        others = sorted(every, key=lambda part: digest(view.scene.id, "part", view.places[place].label, here, part))
        return cls(here, next(part for part in others if part != here), case.evidence)

    def crossed(self, *elements: str) -> list[str]:
        """Each element in each of both parts; the first in the true one first. So what most say tells nothing."""
        return [f"{element}, {part}" for element, part in product(elements, (self.here, self.elsewhere))]


def _beside_picture_deg(view: UrbanView, index: int, center: FloatArray, radius_m: float) -> float:
    """By how much all that stands within a radius is outside the cone about the picture, however high it is.

    Negative: it may be in the picture. NaN: the pose is not known.
    """
    camera = view.flight.camera
    if camera is None:
        return np.nan
    half_width = np.tan(np.radians(camera.horizontal_fov_deg) / 2)
    corner_deg = np.degrees(np.arctan(half_width * np.hypot(1.0, camera.height / camera.width)))
    away = float(np.hypot(*(center - view.enu_m[index, :2])))
    if away <= radius_m:
        return -corner_deg
    bearing = float(relative_bearing_deg(view.enu_m[[index]], view.heading_deg[[index]], center)[0])
    off_deg = abs(bearing) - np.degrees(np.arcsin(radius_m / away)) - view.heading_error_deg
    pitch = np.radians(view.pitch_deg[index])
    # The direction at this azimuth that is nearest to the camera's axis, whatever its height.
    ahead = np.cos(pitch) * max(np.cos(np.radians(off_deg)), 0.0)
    return float(np.degrees(np.arccos(np.clip(np.hypot(ahead, np.sin(pitch)), 0.0, 1.0))) - corner_deg)


def _picture_third(middle: float) -> int:
    """The third of the picture, from left or from below, in which something -1 to 1 from its middle is."""
    return 0 if middle < -1 / 3 else 2 if middle > 1 / 3 else 1


def _in_picture(view: UrbanView, place: int, index: int, off_deg: float) -> FloatArray:
    """Left and right edge, foot and top of a place in the picture, -1 to 1 between its edges; NaN: no known pose.

    ``off_deg`` is added to the heading.
    """
    camera, mark = view.flight.camera, view.places[place]
    if camera is None:
        return np.full(4, np.nan)
    foot = view.ground_m if np.isnan(mark.base_m) else mark.base_m
    top = foot if np.isnan(mark.top_m) else mark.top_m
    height = (foot + top) / 2
    offset = mark.center - view.enu_m[index, :2]
    away = np.hypot(*offset)
    side = np.array([offset[1], -offset[0]]) / max(away, LEAST_M) * min(mark.radius_m, away)
    ends = np.array(
        [*([*(mark.center + sign * side), height] for sign in (-1, 1)), *([*mark.center, z] for z in (foot, top))]
    )
    xy = picture_xy(
        view.enu_m[index],
        view.heading_deg[index] + off_deg,
        view.pitch_deg[index],
        ends,
        camera.horizontal_fov_deg,
        camera.width / camera.height,
    )
    return np.concatenate([xy[:2, 0], xy[2:, 1]])


class StartEndPosition(UrbanTask):
    """Operand: the second at which the question ends. Truth: the landmarks nearest to both ends of the path so far."""

    reads = "nearness"
    name = "Start/End Position"
    share = 142
    category = "Recall"
    template = "urbanvideo/questions/start_end_position"
    slots = (TIME,)
    needs = frozenset(("places",))

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """At the end of every movement."""
        on_way = on_the_way(view)
        for cut in cuts(view):
            yield self._case(view, cut, on_way)

    def _case(self, view: UrbanView, cut: int, on_way: frozenset[str]) -> FlightCase:
        case, rules = FlightCase(clock(cut), until_s=cut), view.rules
        last = int(np.abs(view.t_s - cut).argmin())
        case.require("start_not_tracked", view.t_s[0], "<=", 2 * rules.cut_off_max_s, "s")
        case.require("end_not_tracked", abs(cut - view.t_s[last]), "<=", 2 * rules.cut_off_max_s, "s")
        nearest, offered = [], []
        for end, point in (("start", view.enu_m[:1]), ("end", view.enu_m[[last]])):
            away = view.places.approach_m(point)
            place, distance, ratio = view.places.nearest(away, view.unspoken.approach_m(point))
            label = view.places[place].label
            times = times_as_far(ratio, distance, rules.there_m)
            case.fact(f"{end}_to_nearest", label, distance, "m")
            case.require(f"{end}_not_near", distance, "<=", rules.near_max_m, "m", label)
            case.require("second_nearest", times, ">=", rules.nearest_ratio_min, "ratio", label)
            case.shown(view, place, cut)
            nearest.append(label)
            far = rules.second_ratio_min * max(distance, rules.there_m)
            offered.append({view.places[i].label for i in view.pool if away[i] >= far and view.seen_by(i, cut)})
        # Options with one landmark for both would tell that the ends differ.
        case.require("start_is_end", len(set(nearest)), ">=", 2, "landmarks")
        others = _drawn(view, offered, nearest, cut, on_way)
        if others is None:
            case.refuse("too_few_landmarks", min(map(len, offered)), 2, "landmarks")
            return case
        # Both starts with both ends: what most of the options say tells nothing.
        pairs = product(*zip(nearest, others, strict=True))
        return case.ask(_ends(*nearest), (_ends(*pair) for pair in pairs))


def _drawn(
    view: UrbanView, offered: list[set[str]], nearest: list[str], cut: int, on_way: frozenset[str]
) -> tuple[str, str] | None:
    """Another landmark for the start and one for the end, neither of them at an end, drawn by lot.

    Of those on the way to the goal as few as possible: what is nearest to the ends often is the answer of High-level
    Planning, so others of its options are offered beside it.
    """
    starts, ends = (sorted(labels - {*nearest}) for labels in offered)
    found = [(a, b) for a, b in product(starts, ends) if a != b]
    lots = {pair: (len(on_way & {*pair}), digest(view.scene.id, "ends", clock(cut), *pair)) for pair in found}
    return min(found, key=lots.__getitem__, default=None)


def _ends(start: str, end: str) -> str:
    return f"It starts near {start} and ends near {end}"
