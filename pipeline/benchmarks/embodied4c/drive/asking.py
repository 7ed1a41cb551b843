"""Cases of a drive: where they stand, what they are about, and how their answers are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.drive.refs import Ref, refs
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.benchmarks.embodied4c.resting import CLOCK, THINGS, WAY, require_sure
from pipeline.benchmarks.embodied4c.spans import from_s
from pipeline.benchmarks.embodied4c.wording import worded
from pipeline.core.arrays import FloatArray

# What each kind rests on of the log as a whole; a kind that is not here on the place of our car at its time alone.
_THINGS: Final = (
    "cl_side cl_most at_size st_motion st_lamps lc_sector lc_lane dt_near dt_between or_heading or_facing tp_ground "
    "tp_next ct_near ct_ahead rs_size rp_place rd_rank mt_speed lm_passed lm_seen cs_time_to"
)
_CLOCK: Final = (
    "st_motion mt_own_speed mt_speed mt_mean_speed mt_standing sm_driven sm_turned sm_speed md_state md_acceleration "
    "md_sideways md_energy cs_stopping cs_time cs_time_to"
)
_WAY: Final = "mt_mean_speed mt_standing sm_driven sm_turned sm_speed lm_driven lm_passed lm_seen"
RESTS: Final = (
    (THINGS, frozenset(_THINGS.split())),
    (CLOCK, frozenset(_CLOCK.split())),
    (WAY, frozenset(_WAY.split())),
)


def case(
    view: DriveExam, kind: str, moment: int, operands: Iterable[str] = (), /, *about: Ref, **fields: str
) -> ExamCase:
    """A case of a kind at a moment, with the rules of the things that it is about."""
    t_s = view.second(moment)
    identity = (kind, f"{t_s:.2f}", *operands)
    text = worded(kind, (view.scene.id, *identity), us=view.us, **fields)
    begins_s = from_s(kind, t_s, view.rules, fields.get("seconds"))
    found = ExamCase(*identity, until_s=round(t_s, 3), from_s=begins_s, wording=text)
    found.flags = list(view.flags)
    found.traits = tuple(f"{n} {part}" for n, operand in enumerate(identity[2:]) for part in operand.split("@"))
    require_sure(found, view.log_doubts, [what for what, kinds in RESTS if kind in kinds])
    for ref in about:
        for measure in ref.rules:
            found.measured(measure)
    return found


def mark(view: DriveExam, one: ExamCase, name: str, place: FloatArray) -> None:
    """A place (2,) that a picture of the question shows, in the drive's frame."""
    one.fact("x", name, float(place[0]), "m")
    one.fact("y", name, float(place[1]), "m")


def named(view: DriveExam, *, sides: bool = True) -> Iterator[tuple[int, Ref]]:
    """Every thing that can be spoken of, with its moment."""
    for moment in range(len(view.moments)):
        for ref in refs(view, moment, sides=sides):
            yield moment, ref
