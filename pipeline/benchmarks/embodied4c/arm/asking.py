"""Cases of an episode: where they stand, and what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.resting import CLOCK, WAY, require_sure
from pipeline.benchmarks.embodied4c.spans import from_s
from pipeline.benchmarks.embodied4c.wording import worded
from pipeline.core.identity import digest

CM: Final = 100.0
NEAR_MIN_CM: Final = 3.0  # of a distance that is asked for
GAP_MIN_CM: Final = 2.0  # between distances that are told apart
WINDOWS_S: Final = ("1", "2", "3", "5")  # what the last seconds may be
LASTED_OFF: Final = 0.02  # share by which the nearest times may lie nearer together or farther apart
# What each kind rests on of the log as a whole.
_CLOCK: Final = (
    "arm_mt arm_sm arm_sm_net arm_sm_up arm_sm_grip arm_sm_nearest arm_or_turned arm_md arm_md_rate arm_md_joints "
    "arm_cs_time"
)
_WAY: Final = "arm_lm arm_lm_net arm_lm_moved arm_sm arm_sm_grip"
RESTS: Final = ((CLOCK, frozenset(_CLOCK.split())), (WAY, frozenset(_WAY.split())))


def case(view: ArmExam, kind: str, index: int, about: Iterable[str] = (), /, **fields: str) -> ExamCase:
    """A case of a kind at one of the episode's times."""
    t_s = float(view.times_s[index])
    identity = (kind, f"{t_s:.2f}", *about)
    text = worded(kind, (view.scene.id, *identity), **fields)
    begins_s = from_s(kind, t_s, view.rules, fields.get("seconds"))
    one = ExamCase(*identity, until_s=round(t_s, 3), from_s=begins_s, wording=text)
    one.flags = list(view.flags)
    require_sure(one, view.log_doubts, [what for what, kinds in RESTS if kind in kinds])
    return one


def named(view: ArmExam) -> Iterator[tuple[int, int, str, float]]:
    """Time, row and name of a thing, and its distance (cm) from the gripper, where that is known."""
    for index in view.moments:
        for row, name in view.names.items():
            away = view.away_m(row, index) * CM
            if np.isfinite(away):
                yield index, row, name, away


def order(view: ArmExam, index: int, rows: Iterable[int]) -> list[int]:
    """Rows in an order that tells nothing."""
    return sorted(rows, key=lambda row: digest(view.scene.id, str(index), view.names[row]))


def windows(view: ArmExam) -> Iterator[tuple[int, int, str]]:
    """Times, by index, with that of some seconds before, and these seconds in words."""
    for index in view.moments:
        for seconds in WINDOWS_S:
            before = view.index(float(view.times_s[index]) - float(seconds))
            lasted = float(view.times_s[index] - view.times_s[before])
            if abs(lasted - float(seconds)) <= LASTED_OFF * float(seconds):
                yield index, before, seconds
