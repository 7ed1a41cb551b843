"""What the flight tasks share: a candidate under examination, and the task itself."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.worlds.flight.doubts import Need
from pipeline.worlds.flight.steps import Step
from pipeline.worlds.flight.view import FlightView

Relation = Literal[">=", ">", "<=", "<"]

DECIMALS: Final = 6  # of numbers in tables: a micrometre
WRONG_MIN: Final = 2  # wrong options that a question needs
_HOLDS: Final = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


class Case:
    """One candidate question under examination: it gathers evidence, and keeps the first rule that it breaks.

    Args:
        operands: what the question is about, in canonical order.
    """

    def __init__(self, *operands: str) -> None:
        self.operands = operands
        self.answer: str | None = None
        self.wrong: list[str] = []
        self.evidence: list[dict[str, Any]] = []
        self.refusal: Rejection | None = None

    def fact(self, name: str, subject: str, value: float, unit: str) -> None:
        """A number behind the answer; one that is not finite (nothing else there) is left out."""
        self._note(name, subject, value, None, None, unit)

    def require(
        self, reason: str, value: float, relation: Relation, limit: float, unit: str, subject: str = "rule"
    ) -> None:
        """A rule: ``reason`` refuses the candidate unless ``value relation limit``; a NaN does not pass."""
        if _HOLDS[relation](value, limit):
            self._note(reason, subject, value, relation, limit, unit)
        else:
            self.refuse(reason, value, limit, unit)

    def refuse(
        self, reason: str, measured: float | None = None, limit: float | None = None, unit: str | None = None
    ) -> None:
        """Refuses the candidate; the first reason stays."""
        if self.refusal is None:
            number = None if measured is None or not math.isfinite(measured) else _rounded(measured)
            self.refusal = Rejection(reason=reason, measured=number, limit=limit, unit=unit)

    def step(self, view: FlightView, step: Step) -> None:
        """A movement that the question or its answer names: known, clear, and within the video."""
        rules, words = view.rules, step.says("ing")
        self.fact("start", words, step.start_s, "s")
        self.fact("end", words, step.end_s, "s")
        if not step.known:
            self.refuse("heading_unknown")
        self.require("step_unclear", step.margin, ">=", rules.step_margin_min, "ratio", words)
        self.require("step_cut_off", view.beyond_s(step), "<=", rules.cut_off_max_s, "s", words)

    def follows(self, view: FlightView, before: Step, after: Step) -> None:
        """Nothing unknown lies between two movements."""
        self.require("track_interrupted", after.part - before.part, "<=", 0, "parts")
        self.require("steps_apart", after.start_s - before.end_s, "<=", view.rules.step_gap_max_s, "s")

    def shown(self, view: FlightView, place: int, by_s: float) -> None:
        """The video shows a landmark by then, where it is known what it shows."""
        label, first = view.places[place].label, view.first_seen_s(place)
        if view.seen_known and first is None:
            self.refuse("never_visible", 0, 1, "times")
        elif first is not None:
            self.require("not_seen_yet", first, "<=", by_s, "s", label)

    def once(self, view: FlightView, step: Step) -> None:
        """A movement is known by its name: no other does the same, or the same and more."""
        self.require("movements_unknown", view.untracked_s, "<=", view.rules.untracked_max_s, "s")
        times = sum(step.actions <= other.actions for other in view.steps)
        self.require("step_not_unique", times, "<=", 1, "times", step.says("ing"))

    def ask(self, answer: str, wrong: Iterable[str]) -> Case:
        """The right option and the wrong ones; equal texts are offered once."""
        self.answer = answer
        self.wrong = [option for option in dict.fromkeys(wrong) if option != answer]
        if len(self.wrong) < WRONG_MIN:
            self.refuse("too_few_options", len(self.wrong), WRONG_MIN, "wrong options")
        return self

    def _note(
        self, name: str, subject: str, value: float, relation: str | None, limit: float | None, unit: str
    ) -> None:
        if math.isfinite(value):
            self.evidence.append(
                {
                    "name": name,
                    "subject": subject,
                    "value": _rounded(value),
                    "relation": relation,
                    "limit": limit,
                    "unit": unit,
                }
            )


def _rounded(value: float) -> float:
    return round(float(value), DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0


class UrbanTask:
    """One of the 16 tasks of UrbanVideo-Bench. Subclasses are stateless.

    Attributes:
        name: as released.
        template: path of its wording below ``templates/``.
        slots: the template's field for each operand.
        needs: what facts of the flight it rests on; a doubt about one of them refuses it.
        model_assisted: whether a model may write its questions too.
        facts: whether facts answer it (`cases`).
        definition: what the task is (table 1 of the paper).
        example: a question of the paper, or in its manner.
    """

    name: str
    version: int = 1
    template: str
    slots: tuple[str, ...] = ()
    needs: frozenset[Need] = frozenset()
    number = None
    model_assisted: bool = False
    facts: bool = True
    definition: str
    example: str

    def obstacle(self, view: FlightView) -> Rejection | None:
        """Why nothing of this type can be asked about a flight as a whole."""
        return view.obstacle(self.needs)

    def cases(self, view: FlightView) -> Iterator[Case]:
        """Every candidate of a flight without an obstacle, in canonical order."""
        return iter(())

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """None: a candidate brings its own wrong options."""
        return ()

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """Template fields of the question's stem."""
        return dict(zip(self.slots, operands, strict=True))


def clock(second: int) -> str:
    """A whole second of the video as a player shows it: "0:42"."""
    return f"{second // 60}:{second % 60:02d}"


def sentence(words: str) -> str:
    """With a capital letter."""
    return words[:1].upper() + words[1:]
