"""The VLN tasks that a trial can be scored for, and its score: timeouts, ends of tasks, and missing data of a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.kinds import DRIVING
from pipeline.benchmarks.embodied4c.vln.logs import SAFETY, Trial
from pipeline.benchmarks.embodied4c.vln.rules import RULES, Earned
from pipeline.benchmarks.embodied4c.vln.specification import Specification
from pipeline.core.arrays import FloatArray
from pipeline.core.templates import load_table

# Attributes of `Trial` that a rule needs, beside times and places.
NEEDS: Final[Mapping[str, list[str]]] = load_table("embodied4c/vln")["needs"]
AT_A_PLACE: Final = ("reach_place", "reach_height")
SAMPLES_MIN: Final = 2
OTHERS: Final = ("leader_m", "leader_lane")


@dataclass(frozen=True)
class TrialOutcome:
    """The points of one trial in one task.

    Attributes:
        points: 0 to 100; None: the log cannot be scored for it.
        why_not: what is missing.
        measured: numbers behind the points.
        ended_by: what ended it before its time; "timeout" too.
        notes: what a reader must know, such as safety events that the log does not record.
    """

    task: Specification
    points: float | None
    why_not: str | None = None
    measured: Mapping[str, float] | None = None
    ended_by: str | None = None
    notes: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """A row of the log of section 3.6, which `scan2qa score` reads as reply ``answer`` to task ``id``."""
        return {
            "id": self.task.id,
            "answer": None if self.points is None else round(self.points, 6),
            "name": self.task.name,
            "domain": self.task.domain,
            "instruction": self.task.instruction,
            "why_not": self.why_not,
            "measured": {k: round(v, 6) for k, v in (self.measured or {}).items()},
            "ended_by": self.ended_by,
            "notes": list(self.notes),
        }


def checked(
    tasks: Iterable[Specification],
    trial: Trial,
    places: Mapping[str, FloatArray] | None = None,
    lanes: Mapping[str, str] | None = None,
) -> list[TrialOutcome]:
    """The outcome of a trial in each task.

    Args:
        tasks: as drawn.
        trial: cut to its own time.
        places: targets (3,), the trial's frame, by the task's id, or "" for all.
        lanes: ids of the lanes that they are in; where none is given, those of the map that hold the target.
    """
    return [_checked(_aimed(task, trial, places or {}, lanes or {}), trial, places or {}) for task in tasks]


def _aimed(
    task: Specification, trial: Trial, places: Mapping[str, FloatArray], lanes: Mapping[str, str]
) -> Specification:
    """A task that ends in a lane, with that lane."""
    if task.rule not in AT_A_PLACE or task.target.get("lane") is not True:
        return task
    lane, place = lanes.get(task.id, lanes.get("")), places.get(task.id, places.get(""))
    if lane is None and place is not None and trial.lanes_at is not None:
        lane = " ".join(trial.lanes_at(place)) or None
    return task if lane is None else task.model_copy(update={"target": {**task.target, "lane": lane}})


def _checked(task: Specification, trial: Trial, places: Mapping[str, FloatArray]) -> TrialOutcome:
    place = places.get(task.id, places.get(""))
    why_not = missing(task, trial, place)
    if why_not:
        return TrialOutcome(task, None, why_not)
    start = float(trial.t_s[0])
    ended_by, end = None, float(trial.t_s[-1])
    if end - start > task.timeout_s:
        ended_by, end = "timeout", start + task.timeout_s
    notes: list[str] = []
    if task.domain == DRIVING and not task.binary:
        unknown = [name for name in SAFETY if name not in trial.events]
        notes += [f"not recorded, and so not punished: {', '.join(unknown)}"] if unknown else []
        event = trial.ends()
        if event and event[1] <= end:
            ended_by, end = event
    cut = trial.between(start, end)
    if len(cut) < SAMPLES_MIN:
        return TrialOutcome(task, 0.0, None, {}, ended_by, tuple(notes))
    earned: Earned = RULES[task.rule](task, cut, place)
    return TrialOutcome(task, earned.points, None, earned.measured, ended_by, tuple(notes))


def missing(task: Specification, trial: Trial, place: FloatArray | None) -> str | None:
    """Why a trial cannot be scored for a task; None: it can."""
    if len(trial) < SAMPLES_MIN:
        return f"{len(trial)} samples: {SAMPLES_MIN} are needed"
    needs = [*NEEDS.get(task.rule, ())]
    if task.rule == "single_joint":
        needs.append("gripper_open" if "open" in task.target else "joints_deg")
    needs += ["lane"] if "lane" in task.target else []
    needs += ["speed_mps"] if "speed_max_mps" in task.target else []
    lacking = [name for name in dict.fromkeys(needs) if _is_lacking(name, getattr(trial, name))]
    if lacking:
        return f"the log does not tell {', '.join(lacking)}"
    if task.rule in AT_A_PLACE:
        if place is None:
            return "its target's place is not given"
        if task.target.get("lane") is True:
            return "its target's lane is not given, and no lane of a map holds it"
    joints = 0 if trial.joints_deg is None else trial.joints_deg.shape[1]
    if "joint" in task.target and joints < task.number("joint"):
        return f"the arm has {joints} joints"
    return None


def _is_lacking(name: str, value: Any) -> bool:
    """Whether a task that needs something cannot be scored; a leader may come, or go, on the way."""
    if name in OTHERS and value is not None:
        return not (np.isfinite(value).any() if value.dtype.kind == "f" else (value != "").any())
    return _unknown(value)


def _unknown(value: Any) -> bool:
    """Whether a log tells nothing, or nothing of the start, which all movements are measured from."""
    if not isinstance(value, np.ndarray):
        return value is None
    if value.dtype.kind in "OU":
        return bool(value[0] == "")
    return value.dtype.kind == "f" and not bool(np.isfinite(value[0]).all())
