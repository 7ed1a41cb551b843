"""Questions about an arm: how its gripper is turned (OR), its way (TEM), and how joints turn (MD) and may turn (CS)."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.view import (
    CM,
    GAP_MIN_CM,
    LENGTH_S,
    NEAR_MIN_CM,
    ArmExam,
    beside,
    case,
    name_nearest,
    name_thing,
    order,
    windows,
)
from pipeline.benchmarks.embodied4c.case import ExamCase, begins_s, number, steady_speed, words
from pipeline.core.arrays import FloatArray
from pipeline.geometry.angles import rate
from pipeline.worlds.arm.facts import Joint
from pipeline.worlds.arm.view import DIALS_MAX

WAY_MIN_CM: Final = 3.0  # of what moved for sure; a tenth of it is no movement


def tilt(view: ArmExam) -> Iterator[ExamCase]:
    """OR: the angle between where the gripper points and straight down."""
    for index in view.moments:
        down = -float(view.approach[index, 2])
        angle = float(np.degrees(np.arccos(np.clip(down, -1, 1))))
        one = case(view, "arm_or", index)
        one.require("angle_too_small", angle, ">=", 2 * view.rules.turn_min_deg, "deg")
        yield number(one, angle, "°", 180)


def hand_turned(view: ArmExam) -> Iterator[ExamCase]:
    """OR: the angle of the one rotation that takes the gripper from how it was to how it is."""
    for index, before, seconds in windows(view):
        alike = abs(float((view.gripper_turn[index] * view.gripper_turn[before]).sum()))
        angle = float(np.degrees(2 * np.arccos(np.minimum(alike, 1.0))))
        one = case(view, "arm_or_turned", index, (seconds,), seconds=seconds)
        one.require("angle_too_small", angle, ">=", 2 * view.rules.turn_min_deg, "deg")
        yield number(one, angle, "°", 180)


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
            one = case(
                view, "arm_or_between", index, names, first, then, thing=names[0], other=names[1], point=view.point
            )
            beside(view, one, pair)
            nearest = min(float(np.hypot(*flat[row])) for row in (first, then)) * CM
            one.require("too_near_for_a_side", nearest, ">=", 2 * NEAR_MIN_CM, "cm")
            one.require("angle_too_small", angle, ">=", 2 * view.rules.turn_min_deg, "deg")
            for name, bearing in zip(names, bearings, strict=True):
                one.fact("bearing", name, bearing, "deg")
            yield number(one, angle, "°", 180)


def speed(view: ArmExam) -> Iterator[ExamCase]:
    """M/T: how fast the gripper moves."""
    shown = np.linalg.norm(_shown_rates(view, view.gripper_m), axis=1)
    for index in view.moments:
        one = case(view, "arm_mt", index)
        cm = float(view.gripper_speed_mps[index]) * CM
        one.require("too_slow", cm, ">=", 2.0, "cm/s")
        steady_speed(one, cm, float(shown[index]) * CM, RATE_OFF_MAX)
        yield number(one, cm, "cm/s")


def way_lately(view: ArmExam) -> Iterator[ExamCase]:
    """S/M: how far the gripper is from where it was some seconds ago."""
    for index, before, seconds in windows(view, (LENGTH_S,)):
        away = float(np.linalg.norm(view.gripper_m[index] - view.gripper_m[before])) * CM
        one = case(view, "arm_sm_net", (before, index), (seconds,), seconds=seconds, point=view.point)
        one.require("too_near", away, ">=", NEAR_MIN_CM, "cm")
        one.base = away / float(seconds)
        yield number(one, away, "cm")


def nearest_lately(view: ArmExam) -> Iterator[ExamCase]:
    """S/M: which thing was the nearest to the gripper some seconds ago; the log must know all things."""
    nearest = view.nearest(before for _, before, _ in windows(view))
    every = [view.names[row] for row in sorted(view.offered(nearest) & view.names.keys())]
    for index, before, seconds in windows(view):
        if before not in nearest:
            continue
        row, gap_cm = nearest[before]
        one = case(view, "arm_sm_nearest", (before, index), (seconds,), seconds=seconds, point=view.point)
        name_nearest(view, one, row, before)
        one.require("another_as_near", gap_cm, ">=", GAP_MIN_CM, "cm")
        one.require("no_name", float(row in view.names), ">=", 1, "names")
        name = view.names.get(row, "")
        yield words(one, name, every, (name.removeprefix("the "),)) if name else one


def way(view: ArmExam) -> Iterator[ExamCase]:
    """L/M: how far the gripper is from where it was when the video began, which is of one length.

    Of a longer video anybody guesses more.
    """
    for index in view.moments:
        now_s, long_s = float(view.times_s[index]), view.rules.arm_long_s
        before = view.index(begins_s("arm_lm_net", now_s, view.rules) or 0.0)
        away = float(np.linalg.norm(view.gripper_m[index] - view.gripper_m[before])) * CM
        one = case(view, "arm_lm_net", (before, index), point=view.point)
        one.require("clip_too_short", now_s, ">=", long_s, "s")
        one.require("too_near", away, ">=", 2 * NEAR_MIN_CM, "cm")
        yield number(one, away, "cm")


def moved(view: ArmExam) -> Iterator[ExamCase]:
    """L/M: how far the one thing that moved since the episode began is from where it was.

    Other questions tell which it is: they name what is moved more often than what other things lie on.
    """
    for index in view.moments:
        cm = np.linalg.norm(view.item_m[:, index] - view.item_m[:, 0], axis=1) * CM
        if len(cm) < 2 or not np.isfinite(cm).all():
            continue
        row = int(cm.argmax())
        one = case(view, "arm_lm_moved", (0, index))
        for then in (0, index):
            name_thing(view, one, row, then)
        one.fact("moved", str(view.ids[row]), float(cm[row]), "cm")
        one.require("nothing_moved", float(cm[row]), ">=", WAY_MIN_CM, "cm")
        one.require("several_moved", float(np.delete(cm, row).max()), "<=", WAY_MIN_CM / 10, "cm")
        yield number(one, float(cm[row]), "cm")


RATE_MIN_DPS: Final = 10.0  # of a joint that turns
RATE_OFF_MAX: Final = 0.1  # share by which the rate just before the end of the video may differ
SHOWN_S: Final = 0.2  # over which that is measured
DECLARED: Final = "declared"  # how the foot of an arm is known; one that was fitted may be centimetres off


def _turning(view: ArmExam) -> list[tuple[int, Joint]]:
    """The joints that turn, with their columns."""
    joints = view.facts.arm.joints if view.facts.arm else ()
    return [(column, joint) for column, joint in enumerate(joints) if joint.unit == "rad"]


def _fields(column: int, joint: Joint) -> dict[str, str]:
    """How a joint is spoken of: "joint 4", "the shoulder joint"."""
    joint_name = joint.name if joint.name.startswith("joint") else f"the {joint.name} joint"
    return {"joint": joint_name, "place": str(column + 1)}


def _dialled(view: ArmExam, one: ExamCase, column: int) -> None:
    """That a drawn film has room for the dial of a joint."""
    if view.scene.video is None:
        one.require("not_in_picture", float(column < DIALS_MAX), ">=", 1, "times")


def _sense(change: float) -> str:
    """The sense of a turn, as the dial of the joint shows it."""
    return "negative sense (clockwise on its dial)" if change < 0 else "positive sense (counter-clockwise on its dial)"


def turned(view: ArmExam) -> Iterator[ExamCase]:
    """MD: by how much a joint is turned against some seconds ago."""
    for index, before, seconds in windows(view):
        for column, joint in _turning(view):
            change = float(np.degrees(view.angle[index, column] - view.angle[before, column]))
            fields = _fields(column, joint) | {"way": _sense(change), "seconds": seconds}
            one = case(view, "arm_md", index, (joint.name, seconds), **fields)
            _dialled(view, one, column)
            one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
            one.base = abs(change) / float(seconds)
            one.require("angle_too_small", abs(change), ">=", 2 * view.rules.turn_min_deg, "deg")
            yield number(one, abs(change), "°")


def turning(view: ArmExam) -> Iterator[ExamCase]:
    """MD: how fast a joint turns now."""
    shown = _shown_rates(view, view.angle)
    for index in view.moments:
        for column, joint in _turning(view):
            now, lately = (float(np.degrees(rates[index, column])) for rates in (view.angle_rate, shown))
            fields = _fields(column, joint) | {"way": _sense(now)}
            one = case(view, "arm_md_rate", index, (joint.name,), **fields)
            _dialled(view, one, column)
            one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
            one.require("too_slow", abs(now), ">=", RATE_MIN_DPS, "deg/s")
            one.require("speed_jumps", abs(lately / now - 1) if now else np.nan, "<=", RATE_OFF_MAX, "share")
            yield number(one, abs(now), "°/s")


def reach(view: ArmExam) -> Iterator[ExamCase]:
    """CS: how far a thing is within the circle that the arm can reach, or beyond it."""
    arm = view.facts.arm
    if arm is None or arm.reach_m is None or arm.base_m is None:
        return
    for index in view.moments:
        for row, name in view.names.items():
            left = (arm.reach_m - float(np.hypot(*view.item_from_base_m[row, index, :2]))) * CM
            side = "inside" if left > 0 else "outside"
            fields = {"thing": name, "said": side, "reach": f"{arm.reach_m * CM:.0f}"}
            one = case(view, "arm_cs_reach", index, (name,), row, **fields)
            one.require("foot_in_doubt", float(arm.base_from == DECLARED), ">=", 1, "declared")
            one.require("too_near", abs(left), ">=", NEAR_MIN_CM, "cm")
            one.require("limits_round_badly", abs(arm.reach_m * CM - float(fields["reach"])), "<=", 0.05, "cm")
            one.fact("reach", "arm", arm.reach_m * CM, "cm")
            yield number(one, abs(left), "cm")


def _shown_rates(view: ArmExam, table: FloatArray) -> FloatArray:
    """(T, k) rates of a table over the time up to each: what a film that ends there shows."""
    return rate(view.times_s, table, SHOWN_S, until=True)
