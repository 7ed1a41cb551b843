"""Questions about the joints of an arm: how they turn (MD), and how far they may (CS)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.asking import CM, NEAR_MIN_CM, case, windows
from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.asking import number
from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.core.arrays import FloatArray
from pipeline.geometry.angles import rate
from pipeline.worlds.arm.facts import Joint

RATE_MIN_DPS: Final = 10.0  # of a joint that turns
RATE_OFF_MAX: Final = 0.1  # share by which the rate over a longer time may differ
RATE_WINDOW_S: Final = 0.4
TURNS_DEG: Final = (2, 5, 10, 20)
MOVED_MIN_CM: Final = 1.0
TURN_MARGIN: Final = 0.15  # share of such a turn: what is nearer to it may be more or less
LIMIT_MAX_S: Final = 60.0
DECLARED: Final = "declared"  # how the foot of an arm is known; one that was fitted may be centimetres off


def _turning(view: ArmExam) -> list[tuple[int, Joint]]:
    """The joints that turn, with their columns."""
    joints = view.facts.arm.joints if view.facts.arm else ()
    return [(column, joint) for column, joint in enumerate(joints) if joint.unit == "rad"]


def _fields(column: int, joint: Joint) -> dict[str, str]:
    """How a joint is spoken of: "joint 4", "the shoulder joint"."""
    said = joint.name if joint.name.startswith("joint") else f"the {joint.name} joint"
    return {"joint": said, "place": str(column + 1)}


def turned(view: ArmExam) -> Iterator[ExamCase]:
    """MD: by how much a joint is turned against some seconds ago."""
    for index, before, seconds in windows(view):
        for column, joint in _turning(view):
            change = float(np.degrees(view.angle[index, column] - view.angle[before, column]))
            fields = _fields(column, joint) | {"way": "negative" if change < 0 else "positive", "seconds": seconds}
            one = case(view, "arm_md", index, (joint.name, seconds), **fields)
            one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
            one.require("angle_too_small", abs(change), ">=", 2 * view.rules.turn_min_deg, "deg")
            yield number(one, abs(change), "°", 0)


def turning(view: ArmExam) -> Iterator[ExamCase]:
    """MD: how fast a joint turns now."""
    longer = _longer(view)
    for index in view.moments:
        for column, joint in _turning(view):
            now, over = (float(np.degrees(rates[index, column])) for rates in (view.angle_rate, longer))
            fields = _fields(column, joint) | {"way": "negative" if now < 0 else "positive"}
            one = case(view, "arm_md_rate", index, (joint.name,), **fields)
            one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
            one.require("too_slow", abs(now), ">=", RATE_MIN_DPS, "deg/s")
            one.require("speed_jumps", abs(over / now - 1) if now else np.nan, "<=", RATE_OFF_MAX, "share")
            yield number(one, abs(now), "°/s", 0)


def how_many_turned(view: ArmExam) -> Iterator[ExamCase]:
    """MD: how many joints are turned by more than so much against some seconds ago."""
    joints = _turning(view)
    columns = [column for column, _ in joints]
    for index, before, seconds in windows(view) if len(joints) > 1 else ():
        changes = np.abs(np.degrees(view.angle[index, columns] - view.angle[before, columns]))
        for least in TURNS_DEG:
            fields = {"seconds": seconds, "least": str(least), "joints": str(len(joints))}
            one = case(view, "arm_md_joints", index, (seconds, str(least)), **fields)
            for _, joint in joints:
                one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
            one.require("near_that_turn", float(np.abs(changes - least).min()), ">=", TURN_MARGIN * least, "deg")
            for (_, joint), change in zip(joints, changes.tolist(), strict=True):
                one.fact("turn", joint.name, change, "deg")
            one.traits = (seconds, str(least))
            yield number(one, float((changes > least).sum()), "", 0)


def reach(view: ArmExam) -> Iterator[ExamCase]:
    """CS: how far a thing is within the circle that the arm can reach, or beyond it."""
    arm = view.facts.arm
    if arm is None or arm.reach_m is None or arm.base_m is None:
        return
    last: dict[str, float] = {}
    for index in view.moments:
        for row, name in view.names.items():
            left = (arm.reach_m - float(np.hypot(*view.item_from_base_m[row, index, :2]))) * CM
            if abs(left - last.get(name, np.inf)) < MOVED_MIN_CM:
                continue  # it lies where it lay when this was asked before
            last[name] = left
            said = "within" if left > 0 else "beyond"
            fields = {"thing": name, "said": said, "reach": f"{arm.reach_m * CM:.0f}"}
            one = case(view, "arm_cs_reach", index, (name,), **fields)
            one.require("foot_in_doubt", float(arm.base_from == DECLARED), ">=", 1, "declared")
            one.require("too_near", abs(left), ">=", NEAR_MIN_CM, "cm")
            one.require("limits_round_badly", abs(arm.reach_m * CM - float(fields["reach"])), "<=", 0.05, "cm")
            one.fact("reach", "arm", arm.reach_m * CM, "cm")
            yield number(one, abs(left), "cm", 1)


def time_to_limit(view: ArmExam) -> Iterator[ExamCase]:
    """CS: after how many seconds a joint that turns on as now is at the limit that it turns to."""
    longer = _longer(view)
    for index in view.moments:
        for column, joint, said, limit_deg in _limits(view):
            angle, now, over = (float(np.degrees(a[index, column])) for a in (view.angle, view.angle_rate, longer))
            if (now > 0) != (said == "upper"):
                continue
            gap = abs(limit_deg - angle)
            one = _to_limit(view, "arm_cs_time", index, column, joint, said, limit_deg)
            one.require("too_slow", abs(now), ">=", RATE_MIN_DPS, "deg/s")
            one.require("speed_jumps", abs(over / now - 1) if now else np.nan, "<=", RATE_OFF_MAX, "share")
            one.require("angle_too_small", gap, ">=", 4 * view.rules.turn_min_deg, "deg")
            one.require("limits_round_badly", abs(round(limit_deg) - limit_deg), "<=", 0.01 * gap, "deg")
            one.fact("rate", joint.name, now, "deg/s")
            one.fact("angle", joint.name, angle, "deg")
            one.require("too_long", gap / max(abs(now), 0.01), "<=", LIMIT_MAX_S, "s")
            yield number(one, gap / max(abs(now), 0.01), "s", 1)


def _limits(view: ArmExam) -> Iterator[tuple[int, Joint, str, float]]:
    """Column, joint, which limit, and the limit in degrees."""
    for column, joint in _turning(view):
        for said, limit in (("lower", joint.low), ("upper", joint.high)):
            if limit is not None:
                yield column, joint, said, float(np.degrees(limit))


def _to_limit(view: ArmExam, kind: str, index: int, column: int, joint: Joint, said: str, limit_deg: float) -> ExamCase:
    fields = _fields(column, joint) | {"said": said, "limit": str(round(limit_deg))}
    one = case(view, kind, index, (joint.name, said), **fields)
    one.require("in_doubt", float(joint.name in view.doubts), "<=", 0, "doubts")
    return one


def _longer(view: ArmExam) -> FloatArray:
    """(T, J) rates over a longer time, from positions."""
    return rate(view.times_s, view.angle, RATE_WINDOW_S)
