"""Questions about episodes of arms: things (SEM, SPA), the gripper's way (TEM), joints and reach (PHY)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, permutations
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.asking import number, words
from pipeline.benchmarks.embodied4c.wording import worded
from pipeline.core.identity import digest
from pipeline.questions.cases import Case

CM: Final = 100.0
NEAR_MIN_CM: Final = 3.0  # of a distance that is asked for
GAP_MIN_CM: Final = 2.0  # between distances that are told apart
MOVED_MIN_CM: Final = 3.0  # of what moved for sure; a tenth of it is no movement
COLOURS: Final = ("red", "green", "blue", "yellow", "orange", "purple", "white", "black", "grey", "brown")


def case(view: ArmExam, kind: str, index: int, about: Iterable[str] = (), /, **fields: str) -> Case:
    """A case of a kind at one of the episode's times."""
    t_s = float(view.times_s[index])
    identity = (kind, f"{t_s:.2f}", *about)
    one = Case(*identity, until_s=round(t_s, 3), wording=worded(kind, (view.scene.id, *identity), **fields))
    one.flags = list(view.flags)
    return one


def _things(view: ArmExam) -> Iterator[tuple[int, int, str, float]]:
    """Time, row and name of a thing, and its distance (cm) from the gripper, where that is known."""
    for index in view.moments:
        for row, name in view.names.items():
            away = view.away_m(row, index) * CM
            if np.isfinite(away):
                yield index, row, name, away


def _order(view: ArmExam, index: int, rows: Iterable[int]) -> list[int]:
    return sorted(rows, key=lambda row: digest(view.scene.id, str(index), view.names[row]))


# SEM


def kind_nearest(view: ArmExam) -> Iterator[Case]:
    """CL: of which kind the thing nearest to the gripper is; the log must know all things."""
    every = sorted(set(view.categories.tolist()))
    for index in view.moments if view.facts.items_complete else ():
        away = np.array([view.away_m(row, index) for row in range(len(view.ids))]) * CM
        if not np.isfinite(away).all():
            continue
        row = int(away.argmin())
        one = case(view, "arm_cl", index)
        others = away[view.categories != view.categories[row]]
        if len(others):
            one.require("another_as_near", float(others.min() - away[row]), ">=", GAP_MIN_CM, "cm")
        yield words(one, str(view.categories[row]), every)


def colour(view: ArmExam) -> Iterator[Case]:
    """AT: the colour of the only thing of its kind, or of the nearest thing."""
    count = Counter(view.categories.tolist())
    for index in view.moments[-1:]:
        for item in view.facts.items:
            told = item.attributes.get("colour")
            if told and count[item.category] == 1:
                yield words(case(view, "arm_at", index, (item.id,), thing=f"the {item.category}"), told, COLOURS)
    if not view.facts.items_complete:
        return
    for index in view.moments:
        away = np.array([view.away_m(row, index) for row in range(len(view.ids))]) * CM
        if len(away) < 2 or not np.isfinite(away).all():
            continue
        first, then = (int(i) for i in away.argsort()[:2])
        told = view.facts.items[first].attributes.get("colour")
        if told:
            one = case(view, "arm_at_near", index)
            one.require("another_as_near", float(away[then] - away[first]), ">=", GAP_MIN_CM, "cm")
            yield words(one, told, COLOURS)


def gripper_state(view: ArmExam) -> Iterator[Case]:
    """ST: whether the gripper is open or closed; and what is, of a drawer or door."""
    answers = {"open": ("opened", "it is open"), "closed": ("shut", "it is closed")}
    for index in view.moments:
        state = view.state_at(index)
        one = case(view, "arm_st", index)
        one.require("neither_open_nor_closed", float(state is not None), ">=", 1, "states")
        yield words(one, state, answers, answers[state]) if state else one
        for row, name in view.names.items():
            share = float(view.slide_share[row, index])
            if not np.isfinite(share):
                continue
            one = case(view, "arm_st_slide", index, (name,), thing=name)
            one.fact("opened", name, share, "share")
            one.require("neither_open_nor_closed", abs(share - 0.5), ">=", 0.4, "share")
            answer = "open" if share > 0.5 else "closed"
            yield words(one, answer, answers, answers[answer])


# SPA


def side(view: ArmExam) -> Iterator[Case]:
    """LC: on which side of the gripper a thing is, as the robot looks."""
    answers = {"ahead": ("in front", "farther ahead"), "left": ("to the left",), "behind": ("nearer to the robot",),
               "right": ("to the right",)}  # fmt: skip
    for index, row, name, _ in _things(view):
        ahead, left = view.flat_m(row, index)
        angle = float(np.degrees(np.arctan2(left, ahead)))
        one = case(view, "arm_lc", index, (name,), thing=name)
        one.fact("bearing", name, angle, "deg")
        one.require("too_near_for_a_side", float(np.hypot(ahead, left)) * CM, ">=", 2 * NEAR_MIN_CM, "cm")
        border = 45 - abs((angle + 45) % 90 - 45)
        one.require("near_side_border", border, ">=", view.rules.side_margin_deg, "deg")
        answer = list(answers)[int((angle + 45) // 90) % 4]
        yield words(one, answer, answers, answers[answer])


def distance(view: ArmExam) -> Iterator[Case]:
    """DT: from the gripper's point to the middle of a thing, in space."""
    for index, _, name, away in _things(view):
        one = case(view, "arm_dt", index, (name,), thing=name, point=view.point)
        one.require("too_near", away, ">=", NEAR_MIN_CM, "cm")
        yield number(one, away, "cm", 1)


def lies_on(view: ArmExam) -> Iterator[Case]:
    """TP: which thing lies on another."""
    for index in view.moments:
        for below, above in zip(*view.on_item(index).T.nonzero(), strict=True):
            if below == above or int(below) not in view.names or int(above) not in view.names:
                continue
            name, answer = view.names[int(below)], view.names[int(above)]
            one = case(view, "arm_tp", index, (name,), thing=name)
            one.require("several_on_it", int(view.on_item(index)[:, below].sum()), "<=", 1, "things")
            one.require("held", float(view.away_m(int(above), index)) * CM, ">=", 2 * NEAR_MIN_CM, "cm")
            yield words(one, answer, view.names.values(), (answer.removeprefix("the "),))


def count(view: ArmExam) -> Iterator[Case]:
    """CT: how many things of a kind there are, or of a colour; only where the log has all."""
    if not view.facts.items_complete:
        return
    kinds = Counter(view.categories.tolist())
    colours = Counter(told for item in view.facts.items if (told := item.attributes.get("colour")))
    for index in view.moments[-1:]:
        for kind, n in kinds.items():
            yield number(case(view, "arm_ct", index, (kind,), thing=kind), float(n), "", 0)
        for told, n in colours.items():
            yield number(case(view, "arm_ct_colour", index, (told,), colour=told), float(n), "", 0)
        yield number(case(view, "arm_ct_all", index), float(len(view.ids)), "", 0)


def larger(view: ArmExam) -> Iterator[Case]:
    """R/S: which of two things has the longer longest side."""
    for index in view.moments[-1:]:
        for pair in combinations(view.names, 2):
            first, then = _order(view, index, pair)
            a, b = (float(view.size_m[row].max()) for row in (first, then))
            if not np.isfinite([a, b]).all():
                continue
            names = view.names[first], view.names[then]
            one = case(view, "arm_rs", index, names, thing=names[0], other=names[1])
            one.fact("longest side", names[0], a * CM, "cm")
            one.fact("longest side", names[1], b * CM, "cm")
            one.require("sizes_alike", max(a / b, b / a), ">=", view.rules.size_ratio_min, "ratio")
            answer = names[0] if a > b else names[1]
            yield words(one, answer, names, (answer.removeprefix("the "),))


def relative(view: ArmExam) -> Iterator[Case]:
    """R/P: whether a thing is to the left or right of another, and nearer to the robot or farther from it."""
    answers = {f"{y} and {x}": (f"{x} and {y}", f"{y}, {x}") for y in ("left", "right") for x in ("farther", "nearer")}
    for index in view.moments:
        for pair in combinations(view.names, 2):
            first, then = _order(view, index, pair)
            away = (view.item_m[first, index] - view.item_m[then, index])[:2] * CM
            if not np.isfinite(away).all():
                continue
            names = view.names[first], view.names[then]
            one = case(view, "arm_rp", index, names, thing=names[0], other=names[1])
            one.require("in_one_line", float(np.abs(away).min()), ">=", GAP_MIN_CM, "cm")
            answer = f"{'left' if away[1] > 0 else 'right'} and {'farther' if away[0] > 0 else 'nearer'}"
            yield words(one, answer, answers, answers[answer])


def ranking(view: ArmExam) -> Iterator[Case]:
    """R/D: three things by their horizontal distance from the gripper, closest first."""
    for index in view.moments:
        flat = {row: float(np.hypot(*view.flat_m(row, index))) * CM for row in view.names}
        for three in combinations([row for row, cm in flat.items() if np.isfinite(cm)], 3):
            names = [view.names[row] for row in _order(view, index, three)]
            ranked = sorted(three, key=flat.__getitem__)
            fields = dict(zip(("first", "second", "third"), names, strict=True))
            one = case(view, "arm_rd", index, names, **fields)
            for row in three:
                one.fact("distance", view.names[row], flat[row], "cm")
            step = min(flat[b] - flat[a] for a, b in pairwise(ranked))
            one.require("distances_alike", step, ">=", GAP_MIN_CM, "cm")
            answer = ", ".join(view.names[row] for row in ranked)
            bare = ", ".join(view.names[row].removeprefix("the ") for row in ranked)
            yield words(one, answer, [", ".join(order) for order in permutations(names)], (bare,))


# TEM


def speed(view: ArmExam) -> Iterator[Case]:
    """M/T: how fast the gripper moves."""
    for index in view.moments:
        one = case(view, "arm_mt", index)
        cm = float(view.gripper_speed_mps[index]) * CM
        one.require("clock_in_doubt", float("log" in view.doubts), "<=", 0, "doubts")
        one.require("too_slow", cm, ">=", 2.0, "cm/s")
        yield number(one, cm, "cm/s", 1)


def way(view: ArmExam) -> Iterator[Case]:
    """L/M: the way of the gripper since the episode began."""
    for index in view.moments:
        one = case(view, "arm_lm", index)
        cm = float(view.gripper_way_m[index]) * CM
        one.require("too_near", cm, ">=", 2 * NEAR_MIN_CM, "cm")
        yield number(one, cm, "cm", 0)


def moved_most(view: ArmExam) -> Iterator[Case]:
    """L/M: which thing moved since the episode began, all others lying still."""
    for index in view.moments:
        moved = np.linalg.norm(view.item_m[:, index] - view.item_m[:, 0], axis=1) * CM
        if len(moved) < 2 or not np.isfinite(moved).all():
            continue
        row = int(moved.argmax())
        one = case(view, "arm_lm_moved", index)
        one.fact("moved", str(view.ids[row]), float(moved[row]), "cm")
        one.require("nothing_moved", float(moved[row]), ">=", MOVED_MIN_CM, "cm")
        one.require("several_moved", float(np.delete(moved, row).max()), "<=", MOVED_MIN_CM / 10, "cm")
        one.require("no_name", float(row in view.names), ">=", 1, "names")
        name = view.names.get(row, "")
        yield words(one, name, view.names.values(), (name.removeprefix("the "),)) if name else one


# PHY


def joints(view: ArmExam) -> Iterator[Case]:
    """MD: the angle of a joint, from its zero."""
    for index in view.moments:
        for column, joint in enumerate(view.facts.arm.joints if view.facts.arm else ()):
            if joint.unit != "rad":
                continue
            angle = float(np.degrees(view.angle[index, column]))
            way_round = "negative" if angle < 0 else "positive"
            one = case(
                view, "arm_md", index, (joint.name,), joint=_spoken(joint.name), place=str(column + 1), way=way_round
            )
            one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
            one.require("angle_too_small", abs(angle), ">=", 2 * view.rules.turn_min_deg, "deg")
            yield number(one, abs(angle), "°", 0)


def _spoken(joint: str) -> str:
    """A joint as it is spoken of: "joint 4", "the shoulder joint"."""
    return joint if joint.startswith("joint") else f"the {joint} joint"


def freedom(view: ArmExam) -> Iterator[Case]:
    """MD: how many joints the arm has."""
    n = view.degrees_of_freedom
    for index in view.moments[-1:] if n else ():
        yield number(case(view, "arm_md_joints", index), float(n or 0), "", 0)


def limits(view: ArmExam) -> Iterator[Case]:
    """CS: how far a joint is from the nearer of its limits."""
    for index in view.moments:
        for column, joint in enumerate(view.facts.arm.joints if view.facts.arm else ()):
            if joint.unit != "rad" or joint.low is None or joint.high is None:
                continue
            gap = float(np.degrees(view.limit_gap[index, column]))
            low, high = (f"{np.degrees(limit):.0f}" for limit in (joint.low, joint.high))
            fields = {"joint": _spoken(joint.name), "place": str(column + 1), "low": low, "high": high}
            one = case(view, "arm_cs", index, (joint.name,), **fields)
            one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
            one.require("angle_too_small", gap, ">=", 2 * view.rules.turn_min_deg, "deg")
            # The limits are told as whole degrees: they must lead to the same answer.
            told = min(abs(np.degrees(view.angle[index, column]) - float(limit)) for limit in (low, high))
            one.require("limits_round_badly", abs(told - gap), "<=", 0.6, "deg")
            yield number(one, gap, "°", 0)
