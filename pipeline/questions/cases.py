"""Tasks that yield their candidates one by one: each case gathers its evidence and keeps the first rule it breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final, Self, TypeVar

import pyarrow as pa

from pipeline.core.errors import TemplateError
from pipeline.core.identity import digest
from pipeline.core.schema import Rejection
from pipeline.core.tables import CANDIDATES
from pipeline.core.templates import Operands, load_template
from pipeline.questions.gate import TOO_FINE, NamedThing, gate
from pipeline.questions.rules import RULE, Measure, Relation, make_rejection, rule
from pipeline.questions.task import SceneView, TaskBase

WRONG_MIN: Final = 2  # wrong options that a question needs


class Case:
    """One candidate question under examination.

    Args:
        operands: what the question is about, in canonical order.
        until_s: second of the video at which the question ends: what comes later may show its answer. None: it is
            about the whole video.
        from_s: second of the video at which its part for the question begins; None: with the video.
        draw: what a draw among candidates goes by.
        wording: its text, where that is put together from more than the task's own template.
        group: what it is about, where other questions about that may give its answer away.
    """

    def __init__(
        self,
        *operands: str,
        until_s: float | None = None,
        from_s: float | None = None,
        draw: tuple[str, ...] | None = None,
        wording: str | None = None,
        group: str | None = None,
    ) -> None:
        self.operands, self.until_s, self.from_s = operands, until_s, from_s
        self.draw = operands if draw is None else draw
        self.wording, self.group = wording, group
        self.answer: str | None = None
        self.wrong: list[str] = []
        self.evidence: list[dict[str, Any]] = []
        self.flags: list[str] = []
        self.refusal: Rejection | None = None
        self.proof: str | None = None  # a model's own words of why its answer is right
        self.things: list[NamedThing] = []
        self.read: list[tuple[str, float | None, float | None]] = []

    def name(self, thing: NamedThing) -> None:
        """A thing that the question names: the gate asks whether it is in the picture, and alone there."""
        self.things.append(thing)

    def reads(self, quantity: str, step: float | None = None, value: float | None = None) -> None:
        """What has to be read to answer it; see `gate.read_rules`."""
        self.read.append((quantity, step, value))

    def fact(self, name: str, subject: str, value: float, unit: str) -> None:
        """A number behind the answer; one that is not finite (nothing else there) is left out."""
        self._note(Measure(name, value, unit, subject))

    def require(
        self, reason: str, value: float, relation: Relation, limit: float, unit: str, subject: str = RULE
    ) -> None:
        """A rule: ``reason`` refuses the candidate unless ``value relation limit``; a NaN does not pass."""
        self.measured(rule(reason, value, relation, limit, unit, subject))

    def measured(self, measure: Measure) -> None:
        """A number or a rule that was measured before."""
        if measure.holds:
            self._note(measure)
        else:
            self.refuse(measure.name, measure.value, measure.limit, measure.unit)

    def refuse(
        self, reason: str, measured: float | None = None, limit: float | None = None, unit: str | None = None
    ) -> None:
        """Refuses the candidate; the first reason stays."""
        if self.refusal is None:
            self.refusal = make_rejection(reason, measured, limit, unit)

    def ask(self, answer: str, wrong: Iterable[str], least: int = WRONG_MIN) -> Self:
        """The right option and the wrong ones, of which there must be ``least``; equal texts are offered once."""
        self.answer = answer
        self.wrong = [option for option in dict.fromkeys(wrong) if option != answer]
        if len(self.wrong) < least:
            self.refuse("too_few_options", len(self.wrong), least, "wrong options")
        return self

    def _note(self, measure: Measure) -> None:
        row = measure.evidence()
        if row is not None:
            self.evidence.append(row)


V = TypeVar("V", bound=SceneView)


class CaseTask(TaskBase[V]):
    """Base of tasks that yield cases.

    Attributes:
        slots: the field of the template for each operand.
    """

    def cases(self, view: V) -> Iterator[Case]:
        """Every candidate of a scene without an obstacle, in canonical order."""
        raise NotImplementedError

    def flags(self, view: V) -> list[str] | None:
        """Remarks that each of its questions carries."""
        return None

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """Fields of the question's template."""
        return dict(zip(self.slots, operands, strict=True))

    def candidates(self, view: V) -> pa.Table:
        """Every candidate (`CANDIDATES`); where nothing can be asked, one row with role "scene" says why."""
        obstacle = self.obstacle(view) or self.unreadable(view)
        if obstacle is None:
            rows = self.rows(view, self.cases(view))
            if rows:
                return pa.Table.from_pylist(rows, schema=CANDIDATES)
            obstacle = Rejection(reason="nothing_to_ask_about", measured=0, limit=1, unit="candidates")
        (number,) = self.ids(view, [("scene", view.scene.name)])
        row = {"id": number, "scene": view.scene.id, "task": self.name, "role": "scene", "operands": [view.scene.name]}
        return pa.Table.from_pylist([row | obstacle.model_dump()], schema=CANDIDATES)

    def rows(self, view: V, found: Iterable[Case], *, keep: bool = False) -> list[dict[str, Any]]:
        """Rows of `CANDIDATES` of some cases; with ``keep`` refused ones too hold the question and its answer."""
        cases, flags = _each_once(found), self.flags(view)
        for case in cases:
            _pass_gate(view, case)
        self.ask_once(view, cases)
        rows = []
        for case, number in zip(cases, self.ids(view, [case.operands for case in cases]), strict=True):
            row = {"id": number, "scene": view.scene.id, "task": self.name, "operands": list(case.operands)}
            row["from_s"], row["until_s"] = case.from_s, case.until_s
            refusal = case.refusal or self._unreadable(case)
            answered: dict[str, Any] = {
                "answer": case.answer,
                "wrong": case.wrong,
                "wording": case.wording,
                "group": case.group,
                "named": list(dict.fromkeys(thing.words for thing in case.things)) or None,
                "proof": case.proof,
            }
            answered |= {"evidence": case.evidence, "flags": [*(flags or ()), *case.flags] or flags}
            kept = answered if refusal is None or (keep and case.answer is not None) else {}
            rows.append(row | kept | (refusal.model_dump() if refusal else {}))
        return rows

    def ask_once(self, view: V, cases: Iterable[Case]) -> None:
        """Refuses all but one, which is drawn, of those that ask the same in words and have the same answer."""
        alike: dict[Hashable, list[Case]] = {}
        for case in cases:
            if case.refusal is None:
                words = tuple(self.fields(case.operands, None).items())
                alike.setdefault((words, case.answer), []).append(case)
        for found in alike.values():
            _, *others = sorted(found, key=lambda case: digest(view.scene.id, self.name, "once", *case.draw))
            for case in others:
                case.refuse("asked_at_another_time", len(found), 1, "candidates")

    def _unreadable(self, case: Case) -> Rejection | None:
        """A name that would make the question read in two ways, such as one that contains the words around it."""
        if case.wording is not None:
            return None
        template, fields = load_template(self.template), self.fields(case.operands, None)
        template.check_fields(fields)  # a mistake in the task or its wording, not in this name
        try:
            for text in (template.text, *template.wordings):
                template.model_copy(update={"text": text}).render(fields)
        except TemplateError:
            return make_rejection("reads_in_two_ways")
        return None


def _pass_gate(view: SceneView, case: Case) -> None:
    """Refuses a case that names or asks for what is not shown so; the step that its number is asked in is evidence."""
    for measure in gate(view.shown, case.things, case.read):
        if measure.name == TOO_FINE or not measure.holds:
            case.measured(measure)


def _each_once(cases: Iterable[Case]) -> list[Case]:
    """The candidates; those of equal operands (times that round to one second) as one that is refused."""
    found: dict[tuple[str, ...], Case] = {}
    count: Counter[tuple[str, ...]] = Counter()
    for case in cases:
        count[case.operands] += 1
        found.setdefault(case.operands, case)
    for operands, case in found.items():
        if count[operands] > 1:
            case.refuse("reads_in_two_ways", count[operands], 1, "candidates")
    return list(found.values())
