"""What published questions say otherwise than the data: corrections that people made and that the metadata lack.

Before a release people looked at answers and corrected some without touching the metadata (two chairs where five are
in the room). Whoever builds from the same metadata would ask again with the value that was found wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from typing import Final

from pipeline.benchmarks.vsi.audit import audit, operands_of
from pipeline.benchmarks.vsi.rules import OFFICIAL
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.questions.audited import Audited
from pipeline.questions.published import Published
from pipeline.questions.task import Number
from pipeline.worlds.indoor.facts import IndoorScene

COUNTING: Final = "object_counting"
# Sizes, distances and areas of the same things differ by how boxes are fitted and points drawn; corrections are larger.
DIFFERENCE_MAX: Final = 0.1  # of the published number
ROUNDING: Final = Decimal("0.1")  # metres or square metres: a step of the last decimal is no correction
# Answers that rest on what a video shows or where one can walk: those are not in the metadata that people corrected.
NOT_OF_METADATA: Final = frozenset({"obj_appearance_order", "route_planning"})


def contradictions(
    questions: Sequence[Published], scene: IndoorScene, corrected: Collection[str] = ()
) -> tuple[Finding, ...]:
    """A doubt about each category, or the room, of which published questions about the scene say otherwise.

    ``corrected`` are subjects that people corrected: what was published of these was made before.
    """
    found: dict[str, Finding] = {}
    asked = [q for q in questions if q.question_type in TASKS and q.question_type not in NOT_OF_METADATA]
    asked = [q for q in asked if not set(operands_of(q) or ()) & set(corrected)]
    for answered in audit(asked, [scene], OFFICIAL):
        if _differs(answered):
            for subject, finding in ((s, f) for s, f in _doubts(answered) if s not in corrected):
                found.setdefault(subject, finding)
    return tuple(found[subject] for subject in sorted(found))


def _differs(answered: Audited) -> bool:
    """Whether the answers differ by more than fitting and rounding; a count also where it is too small to be asked."""
    form = TASKS[answered.question.question_type].form
    if not isinstance(form, Number):
        return answered.status == "differs"
    if answered.recomputed is None or answered.status == "unsupported":
        return False
    ours, theirs = Decimal(answered.recomputed), Decimal(answered.question.ground_truth.strip())
    if answered.question.question_type == COUNTING:
        return ours != theirs
    step = ROUNDING if form.decimals else Decimal(1)
    return abs(ours - theirs) > max(step, Decimal(str(DIFFERENCE_MAX)) * theirs)


def _doubts(answered: Audited) -> Iterator[tuple[str, Finding]]:
    question = answered.question
    form = TASKS[question.question_type].form
    ours, theirs, unit = answered.recomputed, question.ground_truth.strip(), None
    measured = limit = None
    if isinstance(form, Number) and ours is not None:
        measured, limit, unit = float(ours), float(theirs), form.unit
    for subject in operands_of(question) or ("room",):
        message = f"{subject}: {ours} by the data, {theirs} in the published question {question.id}"
        remedy = "look at the video, and correct the data; or leave the published file out (known)"
        name = "published_answer_differs"
        yield subject, doubt(name, subject, message, remedy, measured, limit, unit)
