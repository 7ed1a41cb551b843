"""All tasks of Embodied4C, and how many questions there shall be of each."""

from __future__ import annotations

from typing import Final, NamedTuple

from pipeline.benchmarks.embodied4c.arm import asks as arm
from pipeline.benchmarks.embodied4c.arm import motion
from pipeline.benchmarks.embodied4c.drive import semantic, spatial, temporal
from pipeline.benchmarks.embodied4c.flight import flying, landmarks
from pipeline.benchmarks.embodied4c.kinds import AERIAL, DRIVING, GEN, MANIPULATION
from pipeline.benchmarks.embodied4c.tasks.base import Ask, AssistedExamTask, DomainFar, ExamTask, OnesOwn
from pipeline.benchmarks.embodied4c.view import Exam
from pipeline.questions.cases import CaseTask
from pipeline.questions.task import Form, FreeText, Number


class ExamRow(NamedTuple):
    """One task: its name, form and share, what asks in each embodiment, and the wordings that these use."""

    name: str
    form: Form
    share: int
    drives: tuple[Ask, ...]
    flights: tuple[Ask, ...]
    kinds: str
    arms: tuple[Ask, ...] = ()


WORDS: Final = FreeText()
# Shares by the paper's counts of capabilities over all embodiments (section 6.1), alike over their sub-capabilities.
_ALL: Final = (
    ExamRow("CL", WORDS, 66, (semantic.kind_on_side, semantic.kind_most_common, semantic.kind_of_lane),
        (landmarks.kind_nearest,), "cl_side cl_most cl_lane air_cl arm_cl",
        (arm.kind_nearest,)),
    ExamRow("AT", Number(1, "m"), 50, (semantic.size,), (), "at_size"),
    ExamRow("AT whole", Number(0, "m"), 50, (), (landmarks.height_of,), "air_at_height"),
    ExamRow("AT words", WORDS, 16, (semantic.marking_of_lane,), (), "at_marking arm_at arm_at_near",
        (arm.colour,)),
    ExamRow("ST", WORDS, 66, (semantic.parked_or_moving, semantic.lamps), (flying.vertical_state, flying.camera_state),
        "st_motion st_lamps air_st_height air_st_camera arm_st arm_st_slide",
        (arm.gripper_state,)),
    ExamRow("LC", WORDS, 54, (spatial.sector, spatial.lane_of), (landmarks.sector,), "lc_sector lc_lane air_lc arm_lc",
        (arm.side,)),
    ExamRow("DT", Number(1, "m"), 54, (spatial.distance, spatial.distance_between),
        (landmarks.distance, flying.distance_home), "dt_near dt_between air_dt air_dt_home air_dt_height"),
    ExamRow("OR", Number(0, "°"), 27, (spatial.heading,), (flying.heading,),
        "or_heading air_or arm_or arm_or_turned arm_or_between", (motion.tilt, motion.hand_turned, motion.between)),
    ExamRow("OR words", WORDS, 27, (spatial.facing,), (flying.compass,), "or_facing air_or_compass"),
    ExamRow("TP", WORDS, 54, (spatial.ground_under, spatial.neighbour), (landmarks.nearest_to,),
        "tp_ground tp_next air_tp arm_tp",
        (arm.lies_on,)),
    ExamRow("CT", Number(0, ""), 54, (spatial.count_near,), (landmarks.shown, landmarks.near, landmarks.moves),
        "ct_near ct_ahead air_ct_shown air_ct_near air_ct_moves arm_ct arm_ct_colour arm_ct_all",
        (arm.count,)),
    ExamRow("R/S", WORDS, 54, (semantic.larger,), (landmarks.higher,), "rs_size air_rs arm_rs",
        (arm.larger,)),
    ExamRow("R/P", WORDS, 54, (semantic.place,), (landmarks.relative_place,), "rp_place air_rp arm_rp",
        (arm.relative,)),
    ExamRow("R/D", WORDS, 54, (semantic.ranking,), (landmarks.ranking,), "rd_rank air_rd arm_rd",
        (arm.ranking,)),
    ExamRow("M/T", Number(1, "km/h"), 45, (temporal.own_speed, temporal.speed, temporal.mean_speed), (flying.speed,),
        "mt_own_speed mt_speed mt_mean_speed air_mt"),
    ExamRow("M/T seconds", Number(0, "s"), 15, (temporal.time_standing,), (), "mt_standing"),
    ExamRow("S/M", Number(1, "m"), 20, (temporal.driven_lately,), (flying.flown_lately,), "sm_driven air_sm"),
    ExamRow("S/M degrees", Number(0, "°"), 15, (temporal.turned_lately,), (), "sm_turned"),
    ExamRow("S/M words", WORDS, 25, (temporal.changed_lately,), (flying.climbed_lately,),
        "sm_speed air_sm_height arm_sm_grip arm_sm_nearest",
        (motion.gripped_lately, motion.nearest_lately)),
    ExamRow("L/M", Number(1, "m"), 20, (temporal.driven_in_all,), (), "lm_driven"),
    ExamRow("L/M whole", Number(0, "m"), 20, (), (flying.flown_in_all,), "air_lm"),
    ExamRow("L/M count", Number(0, ""), 40, (temporal.passed, temporal.seen_so_far), (), "lm_passed lm_seen"),
    ExamRow("L/M words", WORDS, 40, (), (flying.sequence,), "air_lm_steps arm_lm_moved",
        (motion.moved_most,)),
    ExamRow("MD", WORDS, 48, (temporal.state,), (flying.state,), "md_state air_md"),
    ExamRow("MD acceleration", Number(1, "m/s²"), 36, (temporal.acceleration, temporal.sideways), (),
        "md_acceleration md_sideways"),
    ExamRow("MD energy", Number(1, ""), 24, (temporal.kinetic,), (), "md_energy"),
    ExamRow("CS", Number(1, "m"), 54, (temporal.stopping,), (), "cs_stopping"),
    ExamRow("CS seconds", Number(1, "s"), 30, (temporal.time_to,), (flying.seconds_home,),
        "cs_time_to air_cs_home air_cs_down"),
    ExamRow("CS stop", Number(2, "s"), 24, (temporal.braking_time,), (), "cs_time"),
    ExamRow("DT cm", Number(1, "cm"), 54, (), (), "arm_dt", (arm.distance,)),
    ExamRow("M/T cm", Number(1, "cm/s"), 60, (), (), "arm_mt", (motion.speed,)),
    ExamRow("S/M cm", Number(1, "cm"), 35, (), (), "arm_sm arm_sm_net arm_sm_up", (motion.way_lately,)),
    ExamRow("L/M cm", Number(0, "cm"), 60, (), (), "arm_lm arm_lm_net", (motion.way,)),
    ExamRow("MD degrees", Number(0, "°"), 36, (), (), "arm_md", (motion.turned,)),
    ExamRow("MD rate", Number(0, "°/s"), 36, (), (), "arm_md_rate", (motion.turning,)),
    ExamRow("MD count", Number(0, ""), 36, (), (), "arm_md_joints", (motion.how_many_turned,)),
    ExamRow("CS cm", Number(1, "cm"), 54, (), (), "arm_cs_reach", (motion.reach,)),
    ExamRow("CS limit", Number(1, "s"), 54, (), (), "arm_cs_time", (motion.time_to_limit,)),
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
            row.kinds.split(),
        )
        for row in _ALL
    },
    **{sub: AssistedExamTask(sub) for sub in ("M/P", "E/E")},
    GEN: DomainFar(),
    **{task.name: task for task in (OnesOwn(numeric=True), OnesOwn(numeric=False))},
}
