"""Questions about the gripper of an episode: how it is turned (OR), and its way (TEM)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.asking import CM, GAP_MIN_CM, NEAR_MIN_CM, case, order, windows
from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.asking import number, words
from pipeline.benchmarks.embodied4c.case import ExamCase

MOVED_MIN_CM: Final = 3.0  # of what moved for sure; a tenth of it is no movement


def tilt(view: ArmExam) -> Iterator[ExamCase]:
    """OR: the angle between where the gripper points and straight down."""
    for index in view.moments:
        down = -float(view.approach[index, 2])
        angle = float(np.degrees(np.arccos(np.clip(down, -1, 1))))
        one = case(view, "arm_or", index)
        one.require("angle_too_small", angle, ">=", 2 * view.rules.turn_min_deg, "deg")
        yield number(one, angle, "°", 0)


def turned(view: ArmExam) -> Iterator[ExamCase]:
    """OR: the angle of the one rotation that takes the gripper from how it was to how it is."""
    for index, before, seconds in windows(view):
        alike = abs(float((view.gripper_turn[index] * view.gripper_turn[before]).sum()))
        angle = float(np.degrees(2 * np.arccos(np.minimum(alike, 1.0))))
        one = case(view, "arm_or_turned", index, (seconds,), seconds=seconds)
        one.require("angle_too_small", angle, ">=", 2 * view.rules.turn_min_deg, "deg")
        yield number(one, angle, "°", 0)


def between(view: ArmExam) -> Iterator[ExamCase]:
    """OR: the angle over the table between the directions from the gripper to two things."""
    for index in view.moments:
        flat = {row: view.flat_m(row, index) for row in view.names}
        known = [row for row, place in flat.items() if np.isfinite(place).all()]
        for pair in combinations(known, 2):
            first, then = order(view, index, pair)
            names = view.names[first], view.names[then]
            bearings = [float(np.degrees(np.arctan2(flat[row][1], flat[row][0]))) for row in (first, then)]
            angle = abs((bearings[0] - bearings[1] + 180) % 360 - 180)
            one = case(view, "arm_or_between", index, names, thing=names[0], other=names[1], point=view.point)
            nearest = min(float(np.hypot(*flat[row])) for row in (first, then)) * CM
            one.require("too_near_for_a_side", nearest, ">=", 2 * NEAR_MIN_CM, "cm")
            one.require("angle_too_small", angle, ">=", 2 * view.rules.turn_min_deg, "deg")
            for name, bearing in zip(names, bearings, strict=True):
                one.fact("bearing", name, bearing, "deg")
            yield number(one, angle, "°", 0)


def speed(view: ArmExam) -> Iterator[ExamCase]:
    """M/T: how fast the gripper moves."""
    for index in view.moments:
        one = case(view, "arm_mt", index)
        cm = float(view.gripper_speed_mps[index]) * CM
        one.require("too_slow", cm, ">=", 2.0, "cm/s")
        yield number(one, cm, "cm/s", 1)


def way_lately(view: ArmExam) -> Iterator[ExamCase]:
    """S/M: the way of the gripper in the last seconds, and how far it is from where it was then."""
    for index, before, seconds in windows(view):
        one = case(view, "arm_sm", index, (seconds,), seconds=seconds)
        cm = float(view.gripper_way_m[index] - view.gripper_way_m[before]) * CM
        one.require("too_near", cm, ">=", NEAR_MIN_CM, "cm")
        one.guess = f"{max(cm, 0.1) / float(seconds):.2f}"
        yield number(one, cm, "cm", 1)
        away = (view.gripper_m[index] - view.gripper_m[before]) * CM
        one = case(view, "arm_sm_net", index, (seconds,), seconds=seconds, point=view.point)
        one.require("too_near", float(np.sqrt((away**2).sum())), ">=", NEAR_MIN_CM, "cm")
        one.guess = f"{max(float(np.sqrt((away**2).sum())), 0.1) / float(seconds):.2f}"
        yield number(one, float(np.sqrt((away**2).sum())), "cm", 1)
        up = float(away[2])
        said = "higher" if up > 0 else "lower"
        one = case(view, "arm_sm_up", index, (seconds,), seconds=seconds, said=said)
        one.require("too_near", abs(up), ">=", NEAR_MIN_CM, "cm")
        one.guess = f"{max(abs(up), 0.1) / float(seconds):.2f}"
        yield number(one, abs(up), "cm", 1)


def gripped_lately(view: ArmExam) -> Iterator[ExamCase]:
    """S/M: what the gripper did in the last seconds: opened or closed, once at most."""
    answers = {
        "it opened": ("opened", "opening"),
        "it closed": ("closed", "closing"),
        "it stayed open": ("stayed open", "open all the time", "remained open"),
        "it stayed closed": ("stayed closed", "closed all the time", "remained closed"),
    }
    for index, before, seconds in windows(view):
        states = [view.state_at(n) for n in range(before, index + 1)]
        one = case(view, "arm_sm_grip", index, (seconds,), seconds=seconds)
        one.traits = (seconds,)
        then, now = states[0], states[-1]
        one.require("neither_open_nor_closed", float(None not in (then, now)), ">=", 1, "states")
        told = [state for state in states if state is not None]
        changes = sum(a != b for a, b in pairwise(told))
        one.require("several_changes", changes, "<=", 1, "changes")
        if then is None or now is None:
            yield one
            continue
        answer = f"it stayed {now}" if then == now else "it opened" if now == "open" else "it closed"
        yield words(one, answer, answers, answers[answer])


def nearest_lately(view: ArmExam) -> Iterator[ExamCase]:
    """S/M: which thing was the nearest to the gripper some seconds ago; the log must know all things."""
    for index, before, seconds in windows(view) if view.facts.items_complete else ():
        away = np.array([view.away_m(row, before) for row in range(len(view.ids))]) * CM
        if len(away) < 2 or not np.isfinite(away).all():
            continue
        row, second = (int(n) for n in away.argsort()[:2])
        one = case(view, "arm_sm_nearest", index, (seconds,), seconds=seconds, point=view.point)
        one.require("another_as_near", float(away[second] - away[row]), ">=", GAP_MIN_CM, "cm")
        one.require("no_name", float(row in view.names), ">=", 1, "names")
        name = view.names.get(row, "")
        yield words(one, name, view.names.values(), (name.removeprefix("the "),)) if name else one


def way(view: ArmExam) -> Iterator[ExamCase]:
    """L/M: the way of the gripper since the episode began, and how far it is from where it was then."""
    for index in view.moments:
        one = case(view, "arm_lm", index)
        cm = float(view.gripper_way_m[index]) * CM
        one.require("too_near", cm, ">=", 2 * NEAR_MIN_CM, "cm")
        one.guess = f"{max(cm, 0.1) / float(view.times_s[index]):.2f}"
        yield number(one, cm, "cm", 0)
        one = case(view, "arm_lm_net", index, point=view.point)
        away = float(np.sqrt(((view.gripper_m[index] - view.gripper_m[0]) ** 2).sum())) * CM
        one.require("too_near", away, ">=", 2 * NEAR_MIN_CM, "cm")
        yield number(one, away, "cm", 0)


def moved_most(view: ArmExam) -> Iterator[ExamCase]:
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
