"""Tasks whose questions no facts prove: the domain-far bank (GEN), what people wrote, and what a model writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pipeline.benchmarks.embodied4c.columns import VALUE
from pipeline.benchmarks.embodied4c.far import Far, bank
from pipeline.benchmarks.embodied4c.flags import ACCEPTED, SUB, flag
from pipeline.benchmarks.embodied4c.kinds import GEN
from pipeline.benchmarks.embodied4c.tasks.base import QUESTION
from pipeline.benchmarks.embodied4c.view import Exam
from pipeline.benchmarks.embodied4c.written import Written
from pipeline.core.identity import rng_for
from pipeline.core.schema import Rejection
from pipeline.questions.arrays import WRITTEN
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.task import FreeText

ONLY_SEEN: Final = "only_pictures_tell"  # why the facts of a log with pictures give no such question
OTHERS: Final = 9  # answers of the same subject that are offered to who guesses


class DomainFar(CaseTask[Exam]):
    """GEN: some of the bank, drawn from the log's id."""

    name = GEN
    share = 125
    template = QUESTION
    form = FreeText()

    def obstacle(self, view: Exam) -> Rejection | None:
        """A build that wants none."""
        if view.rules.far_per_log:
            return None
        return Rejection(reason="none_wanted", measured=0, limit=1, unit="questions")

    def cases(self, view: Exam) -> Iterator[Case]:
        """As many as a log shall have."""
        known = bank()
        order = rng_for("domain-far", view.scene.id).permutation(len(known))
        for i in sorted(order[: view.rules.far_per_log].tolist()):
            far = known[i]
            case = Case(far.question, wording=far.question)
            case.flags = [*view.flags, *(flag(ACCEPTED, form) for form in far.accepted), f"subject: {far.subject}"]
            yield case.ask(far.answer, _others(far, known), least=1)

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """No two are alike."""


def _others(far: Far, known: Iterable[Far]) -> list[str]:
    return [other.answer for other in known if other.subject == far.subject and other.answer != far.answer][:OTHERS]


class OnesOwn(CaseTask[Exam]):
    """What people wrote about a log (`ExamRules.written`), of any sub-capability; numbers and words apart.

    Args:
        numeric: which of both.
    """

    share = 125
    template = QUESTION
    form = FreeText()

    def __init__(self, *, numeric: bool) -> None:
        self.numeric = numeric
        self.name = "written numbers" if numeric else "written words"

    def obstacle(self, view: Exam) -> Rejection | None:
        """A log that nobody wrote about."""
        if any(self._is_of(one, view) for one in view.rules.written):
            return None
        return Rejection(reason="nobody_wrote", measured=0, limit=1, unit="questions")

    def cases(self, view: Exam) -> Iterator[Case]:
        """All that was written about the log."""
        for one in view.rules.written:
            if self._is_of(one, view):
                until = () if one.until_s is None else (f"{one.until_s:g}",)
                case = Case(one.question, *until, until_s=one.until_s, from_s=one.from_s, wording=one.question)
                case.flags = [*view.flags, flag(SUB, one.sub_capability), WRITTEN]
                case.flags += [flag(ACCEPTED, form) for form in one.accepted]
                if one.unit is not None:
                    case.fact(VALUE, "as written", float(one.answer), one.unit)
                yield case.ask(one.answer, _said(one, view.rules.written), least=0)

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """People ask what they want."""

    def _is_of(self, one: Written, view: Exam) -> bool:
        return one.log in (view.scene.id, view.scene.name) and (one.unit is not None) == self.numeric


class Assisted(CaseTask[Exam]):
    """A sub-capability of which no facts tell: a model that sees the log writes its questions (stage `author`)."""

    share = 54
    template = QUESTION
    form = FreeText()

    def __init__(self, name: str) -> None:
        self.name = name

    def obstacle(self, view: Exam) -> Rejection | None:
        """Always: of a log without pictures nothing can be asked, of any other nothing from facts."""
        if view.obstacle is not None:
            return view.obstacle
        if view.scene.video is None:
            return Rejection(reason="log_without_pictures", measured=0, limit=1, unit="films")
        return Rejection(reason=ONLY_SEEN, measured=0, limit=1, unit="facts")

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """The same words at another time are another question."""


def _said(one: Written, every: Iterable[Written]) -> list[str]:
    """What else people answered to questions of the same sub-capability and unit."""
    alike = [o.answer for o in every if (o.sub_capability, o.unit) == (one.sub_capability, one.unit)]
    return [answer for answer in alike if answer != one.answer][:OTHERS]
