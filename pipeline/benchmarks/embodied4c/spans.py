"""Which part of a log goes with a question as its video: nothing after it, and before it no more than it needs.

A video's length must not tell how far the log has got, which much else goes with: what only asks about now has one of
one length, and so has what asks about the last seconds. What asks about all that came before has all of it.
"""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.embodied4c.rules import ExamRules

CUT_S: Final = 0.5  # videos begin at multiples of this (`VideoForm.cut_s`)
_LENGTHS: Final = {  # the rule that says how long a video is -> kinds of questions
    "past_min_s": (
        "cl_side cl_most cl_lane at_size at_marking st_motion st_lamps lc_sector lc_lane dt_near dt_between or_heading "
        "or_facing tp_ground tp_next ct_near ct_ahead rs_size rp_place rd_rank mt_own_speed mt_speed md_state "
        "md_acceleration md_sideways md_energy cs_stopping cs_time cs_time_to "
        "air_st_height air_st_camera air_or air_or_compass air_mt air_md"
    ),
    "arm_past_s": (
        "arm_cl arm_at arm_at_near arm_st arm_st_slide arm_lc arm_dt arm_tp arm_ct arm_ct_colour arm_ct_all arm_rs "
        "arm_rp arm_rd arm_mt arm_md arm_md_joints arm_md_rate arm_cs_time arm_cs_reach arm_or arm_or_between"
    ),
    "shown_s": "air_cl air_at_height air_lc air_dt air_tp air_rs air_rp air_rd",
}
LENGTHS: Final = {kind: rule for rule, kinds in _LENGTHS.items() for kind in kinds.split()}


def from_s(kind: str, until_s: float, rules: ExamRules, seconds: str | None = None) -> float | None:
    """Where the video of a question begins, which may say how many ``seconds`` it is about; None: with the log."""
    told = seconds or (getattr(rules, LENGTHS[kind]) if kind in LENGTHS else None)
    return None if told is None else max(0.0, round((until_s - float(told)) / CUT_S) * CUT_S)
