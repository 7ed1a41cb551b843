"""The VLN tasks that a trial can be scored for, and its score: eq. 5, eq. 6, the rules of section 8, missing data.

Where the start is the target (d_init = 0), there is no progress to be made: the graded part of eq. 6 is 0.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.rules import DRIVING
from pipeline.benchmarks.embodied4c.vln.logs import SAFETY, Trial
from pipeline.benchmarks.embodied4c.vln.specification import Specification
from pipeline.core.arrays import BoolArray, FloatArray, runs
from pipeline.core.templates import load_table

FULL: Final = 100.0
PARTIAL: Final = 50.0  # most that is earned below the target condition (eq. 6)
TERMINAL, PROGRESS = 0.9, 0.1  # shares of A2 (section 8.2)
KMH: Final = 3.6
STILL_DEG: Final = 1.0  # a joint that turns by less was not moved


@dataclass(frozen=True)
class TrialPoints:
    """Points of one trial, 0 to 100, and what was measured."""

    points: float
    measured: Mapping[str, float] = field(default_factory=dict)


def graded(d_init: float, d_agt: float) -> float:
    """The lower case of eq. 6: 50 max(0, (d_init - d_agt) / d_init)."""
    return PARTIAL * max(0.0, (d_init - d_agt) / d_init) if d_init > 0 else 0.0


def binary(holds: bool) -> float:
    """Eq. 5."""
    return FULL if holds else 0.0


def given(task: Specification, place: FloatArray | None) -> FloatArray:
    """The place of a target, (3,). Raises ValueError where nobody told it."""
    if place is None:
        raise ValueError(f"{task.id}: the place of its target is not given")
    return place


def turned_deg(trial: Trial) -> float:
    """Turn from the first heading to the last, counter-clockwise, in [-180, 180)."""
    heading_deg = trial.known("heading_deg")
    known = heading_deg[np.isfinite(heading_deg)]
    return float((known[-1] - known[0] + 180) % 360 - 180)


def target_m(task: Specification, trial: Trial) -> FloatArray:
    """The place (3,) that an offset leads to from the first pose: x forward, y left, z up."""
    forward, left, up = task.numbers("offset")
    yaw = np.radians(trial.heading_deg[0]) if trial.heading_deg is not None else 0.0
    c, s = np.cos(yaw), np.sin(yaw)
    return np.asarray(trial.place_m[0] + [c * forward - s * left, s * forward + c * left, up])


def longest_s(trial: Trial, holds: BoolArray) -> float:
    """The longest time for which something holds without a break, from samples (N,)."""
    start, stop = runs(holds).T
    return float((trial.t_s[stop - 1] - trial.t_s[start]).max(initial=0.0))


def first_of(holds: BoolArray) -> int:
    """The sample at which a graded task ends: the first that meets its target condition (N,), else the last."""
    return int(holds.argmax()) if holds.any() else len(holds) - 1


# Driving (section 8.1)


def controls(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D1.1: handbrake and low beam at one time."""
    handbrake = trial.known("handbrake")
    low_beam = trial.known("low_beam")
    return TrialPoints(binary(bool((handbrake & low_beam).any())))


def steering(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D1.2: full to one side, full to the other, then the middle, in this order."""
    steering = trial.known("steering")
    side = 1.0 if task.target["first"] == "left" else -1.0
    full, middle = task.number("full"), task.number("middle")
    at = 0
    for holds in (side * steering >= full, -side * steering >= full, abs(steering) <= middle):
        found = np.flatnonzero(holds[at:])
        if not len(found):
            return TrialPoints(0.0)
        at += int(found[0])
    return TrialPoints(FULL)


def reach_speed(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D1.3."""
    speed_mps = trial.known("speed_mps")
    top = float(np.nanmax(speed_mps)) * KMH
    return TrialPoints(binary(top >= task.number("speed_kmh")), {"speed_max_kmh": top})


def keep_speed(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D1.4: within some km/h for so long without a break."""
    speed_mps = trial.known("speed_mps")
    off = np.abs(speed_mps * KMH - task.number("speed_kmh"))
    kept = longest_s(trial, off <= task.number("within_kmh"))
    return TrialPoints(binary(kept >= task.number("seconds")), {"kept_s": kept})


def distance_stop(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D1.5: at the end so far along the way, and at rest."""
    speed_mps = trial.known("speed_mps")
    driven, speed = float(trial.driven_m()[-1]), float(speed_mps[-1])
    holds = abs(driven - task.number("distance_m")) <= task.number("within_m") and speed <= task.number("speed_max_mps")
    return TrialPoints(binary(holds), {"driven_m": driven, "speed_mps": speed})


def reach_place(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D2: once within a distance of the target, slow enough and in its lane where table 12 says so; eq. 6."""
    away = np.linalg.norm((trial.place_m - given(task, place))[:, :2], axis=1)
    holds = np.asarray(away <= task.number("within_m"))
    if "speed_max_mps" in task.target:
        holds &= trial.known("speed_mps") <= task.number("speed_max_mps")
    if "lane" in task.target:
        lane = trial.known("lane") if trial.lane_id is None else trial.lane_id
        holds &= np.isin(lane.astype(str), str(task.target["lane"]).split())
    end = first_of(holds)
    measured = {"d_init_m": float(away[0]), "d_agt_m": float(away[end]), "ended_s": float(trial.t_s[end])}
    measured |= {"speed_mps": float(trial.known("speed_mps")[end])} if "speed_max_mps" in task.target else {}
    return TrialPoints(FULL if holds[end] else graded(float(away[0]), float(away[end])), measured)


def drive_far(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D3.1, D3.2: so far along the way, in the first lane where table 12 says so; eq. 6 of what is left of it."""
    if "lane" in task.target:
        lane = trial.known("lane")
        left = np.flatnonzero(lane != lane[0])
        trial = trial.between(trial.t_s[0], trial.t_s[left[0] - 1]) if len(left) else trial
    return _distance_points(task, float(trial.driven_m()[-1]))


def follow(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D3.3, D3.4: so far along the way while the leader is near; graded as `drive_far`."""
    leader_m = trial.known("leader_m")
    near = np.linalg.norm((leader_m - trial.place_m)[:, :2], axis=1) <= task.number("gap_max_m")
    steps = np.linalg.norm(np.diff(trial.place_m, axis=0), axis=1)
    return _distance_points(task, float(steps[near[1:] & near[:-1]].sum()))


def _distance_points(task: Specification, driven_m: float) -> TrialPoints:
    goal = task.number("distance_m")
    points = FULL if driven_m >= goal else graded(goal, goal - driven_m)
    return TrialPoints(points, {"driven_m": driven_m})


def speed_limit(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D4.1: eq. 6 with time in place of distance: the longest time in the range."""
    speed_mps = trial.known("speed_mps")
    kmh = speed_mps * KMH
    kept = longest_s(trial, (kmh >= task.number("low_kmh")) & (kmh <= task.number("high_kmh")))
    goal = task.number("seconds")
    return TrialPoints(FULL if kept >= goal else graded(goal, goal - kept), {"kept_s": kept})


def overtake(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """D4.2: four sub-goals in order, 10, 20, 30 and 40 points; one counts when all before it were met earlier.

    Whether a lane is to the left, and what is ahead, is told along the leader's own way.
    """
    leader_m = trial.known("leader_m")
    lane = trial.known("lane")
    leader_lane = trial.known("leader_lane")
    between = (trial.place_m - leader_m)[:, :2]
    way = np.gradient(leader_m[:, :2], axis=0)
    length = np.linalg.norm(way, axis=1, keepdims=True)
    own = np.gradient(trial.place_m[:, :2], axis=0)
    own_length = np.linalg.norm(own, axis=1, keepdims=True)
    # Where the leader stands, our own way tells what is ahead and left.
    along = np.where(length > 1e-6, way / np.maximum(length, 1e-9), own / np.maximum(own_length, 1e-9))
    ahead = (between * along).sum(1)
    leftward = along[:, 0] * between[:, 1] - along[:, 1] * between[:, 0]
    same = lane == leader_lane
    home = lane == lane[0]
    near = np.linalg.norm(between, axis=1) <= task.number("gap_max_m")
    unsafe = [trial.events[name] for name in ("collision", "lane_invasion") if name in trial.events]
    left = ~same & ~home & (leftward > 0) & ~np.isin(trial.t_s, np.concatenate([*unsafe, []]))
    goals = (same & near & (ahead < 0), left & (ahead < 0), left & (ahead > 0), home & (ahead > 0))
    at, points = 0, 0.0
    for goal, gain in zip(goals, task.numbers("points"), strict=True):
        found = np.flatnonzero(goal[at:])
        if not len(found):
            break
        at += int(found[0])
        points += gain
    return TrialPoints(points)


# Flying (section 8.2)


def single_action(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """A1: at the end where one movement leads to, and turned as it says."""
    away = float(np.linalg.norm(trial.place_m[-1] - target_m(task, trial)))
    off = abs((turned_deg(trial) - task.number("turn_deg") + 180) % 360 - 180)
    holds = away <= task.number("within_m") and off <= task.number("within_deg")
    return TrialPoints(binary(holds), {"d_agt_m": away, "turn_off_deg": off})


def sequence(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """A2: eq. 6 of the distance at the end (90%) and of the least distance on the way (10%)."""
    away = np.linalg.norm(trial.place_m - target_m(task, trial), axis=1)
    away = away[: first_of(away <= task.number("within_m")) + 1]
    first, last, least = float(away[0]), float(away[-1]), float(away.min())
    points = sum(
        share * (FULL if d <= task.number("within_m") else graded(first, d))
        for share, d in ((TERMINAL, last), (PROGRESS, least))
    )
    ended_s = float(trial.t_s[len(away) - 1])
    return TrialPoints(points, {"d_init_m": first, "d_agt_m": last, "d_min_m": least, "ended_s": ended_s})


def reach_height(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """A3: within a distance of the target over ground, and within a metre of its height."""
    target = given(task, place)
    away = float(np.linalg.norm((trial.place_m[-1] - target)[:2]))
    height = float(abs(trial.place_m[-1, 2] - target[2]))
    holds = away <= task.number("within_m") and height <= task.number("height_within_m")
    return TrialPoints(binary(holds), {"d_agt_m": away, "height_off_m": height})


# Manipulating (section 8.3)


def single_joint(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """M1: the gripper opened or closed, or one joint turned and no other."""
    if "open" in task.target:
        gripper_open = trial.known("gripper_open")
        wanted = bool(task.target["open"])
        first, last = bool(gripper_open[0]), bool(gripper_open[-1])
        measured = {"open_at_start": float(first), "open_at_end": float(last)}
        return TrialPoints(binary(first != wanted and last == wanted), measured)
    joints_deg = trial.known("joints_deg")
    turn = joints_deg[-1] - joints_deg[0]
    joint = int(task.number("joint")) - 1
    off = float(abs(turn[joint] - task.number("turn_deg")))
    others = float(np.abs(np.delete(turn, joint)).max())
    holds = off <= task.number("within_deg") and others <= STILL_DEG
    return TrialPoints(binary(holds), {"turn_off_deg": off, "others_deg": others})


def axis_sequence(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """M2: eq. 6 of the gripper's distance at the end; axes are those of the robot's base."""
    away = np.linalg.norm(trial.place_m - (trial.place_m[0] + task.numbers("offset")), axis=1)
    end = first_of(away <= task.number("within_m"))
    first, last = float(away[0]), float(away[end])
    points = FULL if last <= task.number("within_m") else graded(first, last)
    return TrialPoints(points, {"d_init_m": first, "d_agt_m": last, "ended_s": float(trial.t_s[end])})


def success(task: Specification, trial: Trial, place: FloatArray | None) -> TrialPoints:
    """M3: what the simulator says."""
    return TrialPoints(binary(bool(trial.success)))


RULES: Final[Mapping[str, Callable[[Specification, Trial, FloatArray | None], TrialPoints]]] = {
    rule.__name__: rule
    for rule in (
        controls, steering, reach_speed, keep_speed, distance_stop, reach_place, drive_far, follow, speed_limit,
        overtake, single_action, sequence, reach_height, single_joint, axis_sequence, success,
    )
}  # fmt: skip


# Attributes of `Trial` that a rule needs, beside times and places.
_TABLE: Final = load_table("embodied4c/vln")
NEEDS: Final[Mapping[str, list[str]]] = _TABLE["needs"]
WORDS: Final[Mapping[str, str]] = _TABLE["words"]  # column of a log, or measured value -> what people call it
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
    earned: TrialPoints = RULES[task.rule](task, cut, place)
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
        return f"the log does not tell {', '.join(WORDS.get(name, name) for name in lacking)}"
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
