"""The tasks: questions of one sub-capability that facts prove, the domain-far bank, and what people or models write.

The domain-far questions (GEN) are a bank of our own, never about a log: they show whether a model still knows the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import yaml

from pipeline.benchmarks.embodied4c.case import Exam, ExamCase, part
from pipeline.benchmarks.embodied4c.columns import VALUE
from pipeline.benchmarks.embodied4c.even import make_even
from pipeline.benchmarks.embodied4c.kinds import ACCEPTED, GEN, SUB, flag
from pipeline.benchmarks.embodied4c.rules import WrittenExam
from pipeline.core.errors import TemplateError
from pipeline.core.identity import digest, rng_for
from pipeline.core.schema import Rejection
from pipeline.core.templates import TEMPLATES_DIR
from pipeline.questions.arrays import WRITTEN
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.task import Form, FreeText, Number

Ask = Callable[[Any], Iterator[ExamCase]]
# Kinds whose answers are the same at all times of a log.
LASTING: Final = frozenset({"air_at_height", "air_rs", "air_rp", "air_tp"})
QUESTION: Final = "embodied4c/question"


class ExamTask(CaseTask[Exam]):
    """Questions of one sub-capability.

    Args:
        name: the sub-capability; what follows a blank tells tasks of one apart.
        form: of the answers.
        share: see `Task.share`.
        asks: embodiment -> what yields its cases.
        kinds: of wording, as the asks use them.
    """

    template = QUESTION

    def __init__(
        self, name: str, form: Form, share: int, asks: Mapping[str, Sequence[Ask]], kinds: Iterable[str]
    ) -> None:
        self.name, self.form, self.share, self.asks = name, form, share, asks
        self.parts = tuple(part(kind) for kind in kinds)

    def obstacle(self, view: Exam) -> Rejection | None:
        """An embodiment that the task says nothing of, or a log without a moment."""
        if view.domain not in self.asks:
            return Rejection(reason="other_embodiment", measured=None, limit=None, unit=None)
        return view.obstacle

    def cases(self, view: Exam) -> Iterator[Case]:
        """All cases of the log's embodiment."""
        for ask in self.asks[view.domain]:
            yield from ask(view)

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """The same words at another time are another question, but for what does not change."""
        every = [case for case in cases if isinstance(case, ExamCase)]
        alike: dict[tuple[str, ...], list[Case]] = {}
        for case in every:
            if case.refusal is None and case.operands[0] in LASTING:
                kind, _, *about = case.operands
                alike.setdefault((kind, *about), []).append(case)
        for found in alike.values():
            _, *others = sorted(found, key=lambda case: digest(view.scene.id, self.name, "once", *case.draw))
            for other in others:
                other.refuse("asked_at_another_time", len(found), 1, "candidates")
        measured = isinstance(self.form, Number) and bool(self.form.unit or self.form.decimals)
        if view.rules.even_answers:
            make_even(every, f"{view.scene.id} {self.name}", measured=measured)


FILE: Final = TEMPLATES_DIR / "embodied4c" / "domain_far.yaml"


class Far(NamedTuple):
    """One question of the bank."""

    subject: str
    question: str
    answer: str
    accepted: tuple[str, ...]


@cache
def bank() -> tuple[Far, ...]:
    """All of them, in the order of the file. Raises TemplateError for a file that cannot be read."""
    try:
        told = yaml.safe_load(FILE.read_text(encoding="utf-8"))
        found = tuple(
            Far(subject, question, answer, tuple(accepted))
            for subject, rows in told.items()
            for question, answer, *accepted in rows
        )
    except (OSError, yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise TemplateError(f"{FILE}: cannot be read as a bank of questions: {error}") from error
    wrong = [far.question for far in found if not all(isinstance(text, str) for text in (*far[:3], *far.accepted))]
    wrong += [far.question for far in found if far.answer[:1].isdigit()]  # who guesses is offered words
    if wrong or len({far.question for far in found}) < len(found):
        raise TemplateError(
            f"{FILE}: {wrong or 'a question'} is no text, has digits for an answer, or stands there twice"
        )
    return found


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

    def _is_of(self, one: WrittenExam, view: Exam) -> bool:
        return one.log in (view.scene.id, view.scene.name) and (one.unit is not None) == self.numeric


class AssistedExamTask(CaseTask[Exam]):
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


def _said(one: WrittenExam, every: Iterable[WrittenExam]) -> list[str]:
    """What else people answered to questions of the same sub-capability and unit."""
    alike = [o.answer for o in every if (o.sub_capability, o.unit) == (one.sub_capability, one.unit)]
    return [answer for answer in alike if answer != one.answer][:OTHERS]
