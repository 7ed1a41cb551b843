"""A case of the exam: what it carries, its wording and answer, what it rests on, and the video that goes with it.

A video's length must not tell how far the log has got, which much else goes with: what only asks about now has one of
one length, and so has what asks about the last seconds. What asks about all that came before has all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.columns import VALUE
from pipeline.benchmarks.embodied4c.kinds import ACCEPTED, flag
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.core.identity import rng_for
from pipeline.core.schema import Finding
from pipeline.core.templates import load_template
from pipeline.questions.cases import Case

FOLDER: Final = "embodied4c/parts/"


def part(kind: str) -> str:
    """The template of a kind."""
    return FOLDER + kind


def worded(kind: str, identity: tuple[str, ...], **fields: str) -> str:
    """A question in one of its wordings, which ``identity`` draws."""
    template = load_template(part(kind))
    wordings = (template.text, *template.also_parsed)
    chosen = wordings[int(rng_for("wording", kind, *identity).integers(len(wordings)))]
    text = chosen.format_map(fields)
    return text[:1].upper() + text[1:]


class ExamCase(Case):
    """One candidate question.

    Attributes:
        traits: words that questions about other logs have too, as the kind of a thing or a side: by each of them alone
            no answer may be more likely than another (`even.make_even`).
        guess: what has to be guessed, where that is not the answer itself: on which side the larger thing is; the
            speed, where the seconds that it lasts are told.
    """

    traits: tuple[str, ...] = ()
    guess: str | None = None

    @property
    def guessed(self) -> str:
        """What has to be guessed."""
        return self.guess if self.guess is not None else self.answer or ""


LOG: Final = "log"  # subject of findings about all of a log
THINGS, CLOCK, WAY = ALL = ("things", "clock", "way")
# A finding about the log -> what is no longer sure: which things there were, when it was, or how we moved without a
# break. One that is not here shakes all three.
SHAKEN: Final[dict[str, frozenset[str]]] = {
    "bad_line": frozenset({THINGS}),
    "damaged_packet": frozenset({THINGS, CLOCK, WAY}),
    "no_ego_pose": frozenset({WAY}),
    "unusable_pose": frozenset({WAY}),
    "times_run_backwards": frozenset({CLOCK, WAY}),
    "times_assumed": frozenset({CLOCK}),
    "rows_missing": frozenset({CLOCK, WAY}),
}


def about_log(findings: Iterable[Finding]) -> list[Finding]:
    """The doubts about all of a log."""
    return [one for one in findings if one.severity == "doubt" and one.subject == LOG and one.stretches is None]


def require_sure(one: Case, doubts: Iterable[Finding], rests: Collection[str]) -> None:
    """Refuses a case that rests on what a doubt about the log shakes, by the doubt's own name and numbers."""
    for found in doubts:
        if SHAKEN.get(found.name, frozenset(ALL)) & set(rests):
            one.refuse(found.name, found.measured, found.limit, found.unit)


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


def number(one: ExamCase, value: float, unit: str, decimals: int) -> ExamCase:
    """The case with a number as its answer, as exactly as it was measured in its evidence."""
    text = f"{value:.{decimals}f}" if np.isfinite(value) else ""
    one.require("not_measured", float(np.isfinite(value)), ">=", 1, "numbers")
    if text:
        one.fact(VALUE, "rounded to " + ("units" if decimals == 0 else f"{decimals} decimal"), value, unit)
        one.require("rounds_to_0", float(text), ">", 0, unit)
    return one.ask(text, (), least=0)


def steady_speed(one: ExamCase, speed: float, short: float, most: float) -> None:
    """That a speed measured over half the time is nearly the same: else it changes too abruptly to have one."""
    one.require("speed_jumps", abs(short / speed - 1) if speed > 0 else np.nan, "<=", most, "share")


def words(one: ExamCase, answer: str, others: Iterable[str], accepted: Iterable[str] = ()) -> ExamCase:
    """The case with a few words as its answer, what else it might have been, and other right ways to say it."""
    one.flags += [flag(ACCEPTED, form) for form in accepted]
    return one.ask(answer, others, least=1)
