"""A task: the questions of one sub-capability and one form of answer, in every embodiment whose facts prove them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.even import make_even
from pipeline.benchmarks.embodied4c.view import Exam
from pipeline.benchmarks.embodied4c.wording import part
from pipeline.core.identity import digest
from pipeline.core.schema import Rejection
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.task import Form, Number

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
