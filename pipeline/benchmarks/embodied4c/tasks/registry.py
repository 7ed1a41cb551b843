"""All tasks of Embodied4C, and how many questions there shall be of each."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.embodied4c.drive.asks import physical, relative, semantic, spatial, temporal
from pipeline.benchmarks.embodied4c.kinds import DRIVING, GEN
from pipeline.benchmarks.embodied4c.tasks.base import Ask, ExamTask
from pipeline.benchmarks.embodied4c.tasks.others import DomainFar, OnesOwn
from pipeline.benchmarks.embodied4c.view import Exam
from pipeline.questions.cases import CaseTask
from pipeline.questions.task import Form, FreeText, Number

_OF_FORCES: Final = ("md_acceleration", "md_sideways")
_ALL: Final[tuple[tuple[str, Form, tuple[Ask, ...], tuple[str, ...], int], ...]] = (
    (
        "CL",
        FreeText(),
        (semantic.kind_on_side, semantic.kind_most_common, semantic.kind_of_lane),
        ("cl_side", "cl_most", "cl_lane"),
        66,
    ),
    ("AT", Number(1, "m"), (semantic.size,), ("at_size",), 50),
    ("AT words", FreeText(), (semantic.marking_of_lane,), ("at_marking",), 16),
    ("ST", FreeText(), (semantic.parked_or_moving, semantic.lamps), ("st_motion", "st_lamps"), 66),
    ("LC", FreeText(), (spatial.sector, spatial.lane_of), ("lc_sector", "lc_lane"), 54),
    ("DT", Number(1, "m"), (spatial.distance, spatial.distance_between), ("dt_near", "dt_between"), 54),
    ("OR", Number(0, "°"), (spatial.heading,), ("or_heading",), 27),
    ("OR words", FreeText(), (spatial.facing,), ("or_facing",), 27),
    ("TP", FreeText(), (spatial.ground_under, spatial.neighbour), ("tp_ground", "tp_next"), 54),
    ("CT", Number(0, ""), (spatial.count_near,), ("ct_near", "ct_ahead"), 54),
    ("R/S", FreeText(), (relative.size,), ("rs_size",), 54),
    ("R/P", FreeText(), (relative.place,), ("rp_place",), 54),
    ("R/D", FreeText(), (relative.ranking,), ("rd_rank",), 54),
    (
        "M/T",
        Number(1, "km/h"),
        (temporal.own_speed, temporal.speed, temporal.mean_speed),
        ("mt_own_speed", "mt_speed", "mt_mean_speed"),
        45,
    ),
    ("M/T seconds", Number(0, "s"), (temporal.time_standing,), ("mt_standing",), 15),
    ("S/M", Number(1, "m"), (temporal.driven_lately,), ("sm_driven",), 20),
    ("S/M degrees", Number(0, "°"), (temporal.turned_lately,), ("sm_turned",), 15),
    ("S/M words", FreeText(), (temporal.changed_lately,), ("sm_speed",), 25),
    ("L/M", Number(1, "m"), (temporal.driven_in_all,), ("lm_driven",), 20),
    ("L/M count", Number(0, ""), (temporal.passed, temporal.seen_so_far), ("lm_passed", "lm_seen"), 40),
    ("MD", FreeText(), (physical.state,), ("md_state",), 48),
    (
        "MD acceleration",
        Number(1, "m/s²"),
        (physical.acceleration, physical.sideways),
        ("md_acceleration", "md_sideways"),
        36,
    ),
    ("MD energy", Number(1, ""), (physical.kinetic,), ("md_energy",), 24),
    ("CS", Number(1, "m"), (physical.stopping,), ("cs_stopping",), 54),
    ("CS seconds", Number(1, "s"), (physical.time_to,), ("cs_time_to",), 30),
    ("CS stop", Number(2, "s"), (physical.braking_time,), ("cs_time",), 24),
)
EXAM_TASKS: Final[dict[str, CaseTask[Exam]]] = {
    **{name: ExamTask(name, form, {DRIVING: asks}, kinds) for name, form, asks, kinds, _ in _ALL},
    GEN: DomainFar(),
    **{task.name: task for task in (OnesOwn(numeric=True), OnesOwn(numeric=False))},
}
# By the paper's counts of capabilities over all embodiments (section 6.1), alike over a capability's sub-capabilities.
SHARES: Final[dict[str, int]] = {name: share for name, *_, share in _ALL} | {
    GEN: 125,
    **dict.fromkeys(("written numbers", "written words"), 125),
}
