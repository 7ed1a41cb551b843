"""SEM of drives, and what compares two or three things.

Kinds of things and lanes (CL), sizes and markings (AT), what is parked, moves or lights up (ST); sizes (R/S), places
(R/P) and distances (R/D).
"""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.case import ANSWERS, ExamCase, choose, is_larger, number, part_of_log, ranked, words
from pipeline.benchmarks.embodied4c.drive.refs import (
    HALF_SIDE_DEG,
    KINDS,
    LONG,
    MOTOR_VEHICLE,
    SIDES,
    ObjectReference,
    all_sure,
    case,
    cases_about,
    mark,
    mark_all,
    name_actor,
    named,
    needs_outline,
    refs,
    sector_words,
    seen_rules,
)
from pipeline.benchmarks.embodied4c.drive.view import DriveExam, Lanes
from pipeline.core.identity import digest
from pipeline.worlds.drive.facts import FURNITURE, ROAD_USERS

NAMES: Final = ANSWERS["categories"]
LANE_KINDS: Final = {"vehicle": ("vehicle lane", "normal lane", "car lane"), "bus": ("bus lane",)}


def kind_on_side(view: DriveExam) -> Iterator[ExamCase]:
    """CL: of which kind the nearest road user on each side is; nothing of another kind is nearly as near.

    Where things were labelled in a picture alone, the nearest in that. It may be any kind that is on that side: other
    questions name those.
    """
    users = np.isin(view.categories.astype(str), sorted(ROAD_USERS))
    sides = {"": 0.0} if view.scope else SIDES
    for moment in range(len(view.moments)):
        for side, middle in sides.items():
            off = np.abs((view.off_deg[:, moment] - middle + 180) % 360 - 180) * bool(side)
            margin = view.rules.side_margin_deg
            there = view.there[:, moment] & users
            surely, maybe = there & (off <= HALF_SIDE_DEG - margin), there & (off <= HALF_SIDE_DEG + margin)
            if not surely.any():
                continue
            gap = view.near_m[:, moment]
            actor = int(np.where(surely, gap, np.inf).argmin())
            category = str(view.categories[actor])
            others = maybe & (view.categories != category)
            second = float(np.where(others, gap, np.inf).min())
            one = case(view, "cl_side", moment, (side,), side=sector_words(side) or view.scope.strip())
            name_actor(view, one, f"the nearest road user {side}".rstrip(), actor, moment, ROAD_USERS)
            one.require("too_far", float(gap[actor]), "<=", view.rules.spoken_m, "m")
            for measure in (all_sure(view, users, moment), *seen_rules(view, actor, moment)):
                one.measured(measure)
            if np.isfinite(second):
                one.require("another_as_near", second - float(gap[actor]), ">=", view.rules.second_gap_m, "m")
            one.require("kind_unnamed", float(category != "vehicle"), ">=", 1, "names")
            mark(view, one, "asked", view.place_m[actor, view.moments[moment]])
            beside = sorted(set(view.categories[maybe & (gap <= view.rules.spoken_m)].tolist()))
            yield words(one, category, beside, NAMES.get(category, ()))


def kind_most_common(view: DriveExam) -> Iterator[ExamCase]:
    """CL: of which kind there are most road users within a radius."""
    users = np.isin(view.categories.astype(str), sorted(ROAD_USERS))
    every = sorted(set(view.categories[users].tolist()))
    for moment in range(len(view.moments)) if every else ():
        for radius in (20, 30, 40, 50):
            gap = np.where(view.there[:, moment] & users, view.near_m[:, moment], np.inf)
            near = gap <= radius
            counts = {name: int((near & (view.categories == name)).sum()) for name in every}
            ranked = sorted(counts, key=lambda name: (-counts[name], name))
            if not counts[ranked[0]]:
                continue
            one = case(view, "cl_most", moment, (str(radius),), radius=str(radius), scope=view.scope)
            hardly_seen = near & (view.hidden[:, moment] > view.rules.hidden_max)
            doubtful = int(((np.abs(gap - radius) < view.rules.radius_margin_m) | hardly_seen).sum())
            lead = counts[ranked[0]] - (counts[ranked[1]] if len(ranked) > 1 else 0)
            one.measured(all_sure(view, users, moment))
            one.fact("count", ranked[0], counts[ranked[0]], "things")
            one.require("lead_too_small", lead - doubtful, ">=", 2, "things")
            yield words(one, ranked[0], every, NAMES.get(ranked[0], ()))


def kind_of_lane(view: DriveExam) -> Iterator[ExamCase]:
    """CL: which type of lane our car is in."""
    yield from _of_lane(view, "cl_lane")


def marking_of_lane(view: DriveExam) -> Iterator[ExamCase]:
    """AT: how the border of our lane is marked on each side."""
    yield from _of_lane(view, "at_marking")


def _of_lane(view: DriveExam, kind: str) -> Iterator[ExamCase]:
    if not view.facts.lanes:
        return
    lanes = Lanes(view)
    marks = sorted({m for lane in view.facts.lanes for m in (lane.left_mark, lane.right_mark) if m})
    for moment, index in enumerate(view.moments.tolist()):
        found, border_m = lanes.of(view.ego_m[index], float(view.ego_yaw_deg[index]))
        for side in ("left", "right") if kind == "at_marking" else ("",):
            one = case(view, kind, moment, (side,) if side else (), side=side)
            one.traits = ()  # of most drives each side has one marking
            one.require("in_no_lane", len(found), ">=", 1, "lanes")
            one.require("several_lanes", len(found), "<=", 1, "lanes")
            if len(found) != 1:
                yield one
                continue
            (lane,) = found
            one.require("near_lane_border", border_m, ">=", view.rules.lane_margin_m, "m")
            if kind == "cl_lane":
                accepted = LANE_KINDS.get(lane.kind, (f"{lane.kind} lane",))
                yield words(one, accepted[0], ("vehicle lane", "bus lane", "bicycle lane"), accepted[1:])
                continue
            marking = lane.left_mark if side == "left" else lane.right_mark
            one.require("marking_unknown", float(marking is not None), ">=", 1, "markings")
            yield words(one, f"{marking} line", [f"{m} line" for m in marks], (str(marking),)) if marking else one


def size(view: DriveExam) -> Iterator[ExamCase]:
    """AT: how long the box of a vehicle of whatever kind is."""
    for moment, ref in named(view):
        if ref.kind != MOTOR_VEHICLE:
            continue  # a car is 4.5 m long, and no look is needed to say so
        one = case(view, "at_size", moment, (ref.key, "length"), ref, thing=ref.in_words, dimension="length")
        mark_all(view, one, ref)
        one.facts = (f"length of {view.ids[ref.actor]}",)  # whatever it is called
        yield number(one, float(view.size_m[ref.actor, 0]), "m")


def parked_or_moving(view: DriveExam) -> Iterator[ExamCase]:
    """ST: whether a vehicle stands or moves, and if it moves, whether along our way, against it, or across.

    It does so both around the moment and in what the film shows up to it.
    """
    for one, ref, moment in cases_about(view, "st_motion", KINDS.keys() - FURNITURE):
        index = int(view.moments[moment])
        velocity = np.stack([view.velocity_mps[ref.actor, index, :2], view.short_velocity_mps[ref.actor, moment]])
        speed = np.hypot(*velocity.T)
        one.require("speed_unknown", float(np.isfinite(speed).all()), ">=", 1, "speeds")
        one.fact("speed", ref.words, float(speed[0]), "m/s")
        rules = view.rules
        if (speed <= rules.still_mps).all():
            yield choose(one, "standing still")
            continue
        one.require("between_standing_and_moving", float(speed.min()), ">=", rules.moving_mps, "m/s")
        course = np.degrees(np.arctan2(velocity[:, 1], velocity[:, 0]))
        off = np.abs((course - float(view.ego_yaw_deg[index]) + 180) % 360 - 180)
        across = np.digitize(off, (45, 135))
        margin = np.abs(off[:, None] - (45, 135)).min() if across[0] == across[1] else 0.0
        one.require("near_heading_border", float(margin), ">=", rules.heading_margin_deg, "deg")
        yield choose(one, (1, 3, 2)[across[0]])


def lamps(view: DriveExam) -> Iterator[ExamCase]:
    """ST: which of a vehicle's lamps that tell what it does are lit, where the log records them."""
    phrases = {"brake": "the brake lights", "left blinker": "the left blinker", "right blinker": "the right blinker"}
    for moment, ref in named(view):
        lit = view.lit_at(str(view.ids[ref.actor]), int(view.moments[moment]))
        if lit is None:
            continue
        one = case(view, "st_lamps", moment, (ref.key,), ref, thing=ref.in_words)
        one.traits = (*one.traits, part_of_log(moment, len(view.moments)))
        shown = [phrase for lamp, phrase in phrases.items() if lamp in lit]
        needs_outline(view, one, ref)
        one.require("several_lamps", len(shown), "<=", 1, "lamps")
        yield words(one, shown[0] if shown else "none of them", [*phrases.values(), "none of them"])


AXES: Final = {"longer": 0, "taller": 2}
RANKED: Final = 3


def _nearest_of_kinds(view: DriveExam, moment: int) -> list[ObjectReference]:
    """The nearest of each single kind at a moment that may be spoken of."""
    return [ref for ref in refs(view, moment, sides=False) if len(KINDS[ref.kind]) == 1]


def _order(view: DriveExam, moment: int, *found: ObjectReference) -> list[ObjectReference]:
    """Things in an order that tells nothing: drawn from what they are."""
    time = f"{view.second(moment):.2f}"
    return sorted(found, key=lambda ref: digest(view.scene.id, time, ref.key))


def larger(view: DriveExam) -> Iterator[ExamCase]:
    """R/S: which of two things is longer or taller."""
    for moment in range(len(view.moments)):
        for pair in _comparable(view, moment):
            first, second = _order(view, moment, *pair)
            for more, axis in AXES.items():
                if more == "longer" and not {first.kind, second.kind} <= LONG:
                    continue  # how long a pedestrian is depends on the stride
                a, b = (float(view.size_m[ref.actor, axis]) for ref in (first, second))
                fields = {"thing": first.in_words, "other": second.in_words, "more": more}
                one = case(view, "rs_size", moment, (first.key, second.key, more), first, second, **fields)
                one.quantity = "height" if more == "taller" else one.quantity
                needs_outline(view, one, first, second)
                is_first = is_larger(one, more, (first.words, second.words), (a, b), view.rules.size_ratio_min)
                mark_all(view, one, first, second)
                larger, smaller = (first, second) if is_first else (second, first)
                one.compared = (larger.side, smaller.side)
                pair_ids = sorted(str(view.ids[ref.actor]) for ref in (first, second))
                one.facts = (f"{more} of {' and '.join(pair_ids)}",)  # at whatever side they are by then
                side = larger.side.removesuffix(" of the ego vehicle")
                accepted = (f"the {larger.kind} {larger.side}", larger.side, side, f"the one {side}")
                yield words(one, larger.words, (first.words, second.words), accepted)


def _comparable(view: DriveExam, moment: int) -> list[tuple[ObjectReference, ObjectReference]]:
    """The nearest of one kind on different sides: of a bus and a car anybody knows which is longer."""
    sided = [ref for ref in refs(view, moment) if ref.side and len(KINDS[ref.kind]) == 1]
    return [(a, b) for a, b in combinations(sided, 2) if a.kind == b.kind and a.actor != b.actor]


BESIDE_MIN_M: Final = 1.0  # to the side that the directions tell: three pixels of a drawn film


def place(view: DriveExam) -> Iterator[ExamCase]:
    """R/P: on which side of another a thing is as seen from our car, and whether it is nearer or farther."""
    for moment in range(len(view.moments)):
        for pair in combinations(_nearest_of_kinds(view, moment), 2):
            first, second = _order(view, moment, *pair)
            one = case(
                view,
                "rp_place",
                moment,
                (first.key, second.key),
                first,
                second,
                thing=first.in_words,
                other=second.in_words,
            )
            off_deg = view.off_deg[[first.actor, second.actor], moment]
            # Of what lies behind, who turns round says left where a picture from above shows right.
            one.require("behind_the_ego_vehicle", float(np.abs(off_deg).max()), "<=", 90.0, "deg")
            turn = float((off_deg[0] - off_deg[1] + 180) % 360 - 180)
            one.fact("turn", f"from {second.words} to {first.words}", turn, "deg")
            one.require("in_one_line", abs(turn), ">=", view.rules.side_margin_deg, "deg")
            one.require("on_opposite_sides", abs(turn), "<=", 120.0, "deg")
            # Far beside us, what lies to the left by its direction lies to the right in a picture from above.
            index, both = view.moments[moment], [first.actor, second.actor]
            far_m = np.linalg.norm(view.place_m[both, index, :2] - view.ego_m[index, :2], axis=-1)
            left_m = far_m * np.sin(np.radians(off_deg))
            beside_m = float((left_m[0] - left_m[1]) * np.sign(turn))
            one.require("sides_disagree", beside_m, ">=", BESIDE_MIN_M, "m")
            ratio = max(first.gap_m, 0.01) / max(second.gap_m, 0.01)
            one.fact("distance", first.words, first.gap_m, "m")
            one.fact("distance", second.words, second.gap_m, "m")
            one.require("distances_alike", max(ratio, 1 / ratio), ">=", view.rules.distance_ratio_min, "ratio")
            mark_all(view, one, first, second)
            yield choose(one, f"{'left' if turn > 0 else 'right'} and {'nearer' if ratio < 1 else 'farther'}")


def ranking(view: DriveExam) -> Iterator[ExamCase]:
    """R/D: three things by their distance from us, closest first."""
    for moment in range(len(view.moments)):
        for three in combinations(_nearest_of_kinds(view, moment), RANKED):
            ordered = _order(view, moment, *three)
            closest = sorted(three, key=lambda ref: ref.gap_m)
            names = [ref.kind for ref in ordered]
            one = case(
                view,
                "rd_rank",
                moment,
                [ref.key for ref in ordered],
                *ordered,
                first=f"{names[0]}{view.scope}",
                second=f"{names[1]}{view.scope}",
                third=f"{names[2]}{view.scope}",
            )
            for ref in ordered:
                one.fact("distance", ref.words, ref.gap_m, "m")
            steps = np.diff([ref.gap_m for ref in closest])
            ratios = [b.gap_m / max(a.gap_m, 0.01) for a, b in pairwise(closest)]
            one.require("distances_alike", float(min(ratios)), ">=", view.rules.distance_ratio_min, "ratio")
            one.require("distances_alike", float(steps.min()), ">=", view.rules.second_gap_m, "m")
            for ref in ordered:
                mark(view, one, ref.kind, view.place_m[ref.actor, view.moments[moment]])
            order = [ref.kind for ref in closest]
            yield ranked(one, names, order, (f"the {name}" for name in order))
