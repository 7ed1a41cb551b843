"""All tasks of Embodied4C, and how many questions there shall be of each."""

from __future__ import annotations

from typing import Final, NamedTuple

from pipeline.benchmarks.embodied4c.arm import items as arm
from pipeline.benchmarks.embodied4c.arm import motion
from pipeline.benchmarks.embodied4c.case import WORDINGS, Exam
from pipeline.benchmarks.embodied4c.drive import semantic, spatial, temporal
from pipeline.benchmarks.embodied4c.flight import flying, landmarks
from pipeline.benchmarks.embodied4c.kinds import AERIAL, DRIVING, GEN, MANIPULATION
from pipeline.benchmarks.embodied4c.tasks.base import Ask, AssistedExamTask, DomainFar, ExamTask, OnesOwn
from pipeline.questions.cases import CaseTask
from pipeline.questions.task import Form, FreeText, Number


class ExamRow(NamedTuple):
    """One task: its name, form and share, and what asks in each embodiment."""

    name: str
    form: Form
    share: int
    drives: tuple[Ask, ...]
    flights: tuple[Ask, ...]
    arms: tuple[Ask, ...] = ()


WORDS: Final = FreeText()
# Shares by the paper's counts of capabilities over all embodiments (section 6.1), alike over their sub-capabilities.
_ALL: Final = (
    ExamRow("CL", WORDS, 66, (semantic.kind_on_side, semantic.kind_most_common, semantic.kind_of_lane),
        (landmarks.kind_nearest,), (arm.kind_nearest,)),
    ExamRow("AT", Number(1, "m"), 50, (semantic.size,), ()),
    ExamRow("AT whole", Number(0, "m"), 50, (), (landmarks.height_of,)),
    ExamRow("AT words", WORDS, 16, (semantic.marking_of_lane,), (), (arm.colour,)),
    ExamRow("ST", WORDS, 66, (semantic.parked_or_moving, semantic.lamps), (flying.vertical_state, flying.camera_state),
        (arm.gripper_state,)),
    ExamRow("LC", WORDS, 54, (spatial.sector, spatial.lane_of), (landmarks.sector,), (arm.side,)),
    ExamRow("DT", Number(1, "m"), 54, (spatial.distance, spatial.distance_between),
        (landmarks.distance, flying.distance_home)),
    ExamRow("OR", Number(0, "°"), 27, (spatial.heading,), (flying.heading,),
        (motion.tilt, motion.hand_turned, motion.between)),
    ExamRow("OR words", WORDS, 27, (spatial.facing,), (flying.compass,)),
    ExamRow("TP", WORDS, 54, (spatial.ground_under, spatial.neighbour), (landmarks.nearest_to,), (arm.lies_on,)),
    ExamRow("CT", Number(0, ""), 54, (spatial.count_near,), (landmarks.shown, landmarks.near, landmarks.moves),
        (arm.count,)),
    ExamRow("R/S", WORDS, 54, (semantic.larger,), (landmarks.higher,), (arm.larger,)),
    ExamRow("R/P", WORDS, 54, (semantic.place,), (landmarks.relative_place,), (arm.relative,)),
    ExamRow("R/D", WORDS, 54, (semantic.ranking,), (landmarks.ranking,), (arm.ranking,)),
    ExamRow("M/T", Number(1, "km/h"), 45, (temporal.own_speed, temporal.speed, temporal.mean_speed), (flying.speed,)),
    ExamRow("M/T seconds", Number(0, "s"), 15, (temporal.time_standing,), ()),
    ExamRow("S/M", Number(1, "m"), 20, (temporal.driven_lately,), (flying.flown_lately,)),
    ExamRow("S/M degrees", Number(0, "°"), 15, (temporal.turned_lately,), ()),
    ExamRow("S/M words", WORDS, 25, (temporal.changed_lately,), (flying.climbed_lately,),
        (motion.gripped_lately, motion.nearest_lately)),
    ExamRow("L/M", Number(1, "m"), 20, (temporal.driven_in_all,), ()),
    ExamRow("L/M whole", Number(0, "m"), 20, (), (flying.flown_in_all,)),
    ExamRow("L/M count", Number(0, ""), 40, (temporal.passed, temporal.seen_so_far), ()),
    ExamRow("L/M words", WORDS, 40, (), (flying.sequence,), (motion.moved_most,)),
    ExamRow("MD", WORDS, 48, (temporal.state,), (flying.state,)),
    ExamRow("MD acceleration", Number(1, "m/s²"), 36, (temporal.acceleration, temporal.sideways), ()),
    ExamRow("MD energy", Number(1, ""), 24, (temporal.kinetic,), ()),
    ExamRow("CS", Number(1, "m"), 54, (temporal.stopping,), ()),
    ExamRow("CS seconds", Number(1, "s"), 30, (temporal.time_to,), (flying.seconds_home,)),
    ExamRow("CS stop", Number(2, "s"), 24, (temporal.braking_time,), ()),
    ExamRow("DT cm", Number(1, "cm"), 54, (), (), (arm.distance,)),
    ExamRow("M/T cm", Number(1, "cm/s"), 60, (), (), (motion.speed,)),
    ExamRow("S/M cm", Number(1, "cm"), 35, (), (), (motion.way_lately,)),
    ExamRow("L/M cm", Number(0, "cm"), 60, (), (), (motion.way,)),
    ExamRow("MD degrees", Number(0, "°"), 36, (), (), (motion.turned,)),
    ExamRow("MD rate", Number(0, "°/s"), 36, (), (), (motion.turning,)),
    ExamRow("MD count", Number(0, ""), 36, (), (), (motion.how_many_turned,)),
    ExamRow("CS cm", Number(1, "cm"), 54, (), (), (motion.reach,)),
    ExamRow("CS limit", Number(1, "s"), 54, (), (), (motion.time_to_limit,)),
)  # fmt: skip
EXAM_TASKS: Final[dict[str, CaseTask[Exam]]] = {
    **{
        row.name: ExamTask(
            row.name,
            row.form,
            row.share,
            {
                domain: asks
                for domain, asks in ((DRIVING, row.drives), (AERIAL, row.flights), (MANIPULATION, row.arms))
                if asks
            },
            [kind for kind, wording in WORDINGS.items() if wording.task == row.name],
        )
        for row in _ALL
    },
    **{sub: AssistedExamTask(sub) for sub in ("M/P", "E/E")},
    GEN: DomainFar(),
    **{task.name: task for task in (OnesOwn(numeric=True), OnesOwn(numeric=False))},
}
