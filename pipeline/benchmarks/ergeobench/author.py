"""The author of ERGeoBench: questions of foundational perception where the facts gave none (section 4.3, table 9).

A model is shown declared views of a panorama and binds each question to one of them. A second model, the independent
checker, answers it with that view alone: what it gets wrong, finds several right options in or finds unfounded is
refused. Whatever remains has the flag `MODEL_ASSISTED`, without a checker also `UNCHECKED`, for people to review.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.ergeobench.dimensions import SLOTS
from pipeline.benchmarks.ergeobench.images import show
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.identity import question_ids
from pipeline.core.tables import CANDIDATES
from pipeline.core.templates import load_template
from pipeline.geometry.views import View
from pipeline.llm.prompts import load_prompt
from pipeline.llm.shown import Shown
from pipeline.questions.asking import MODEL_ASSISTED, Ask, RefusedError, listed, record, take, was_answered
from pipeline.questions.cases import Case
from pipeline.questions.second import Second, answered, calls_of_second

VIEWS: Final = 6  # that the model is shown: declared ones first
STEP: Final = "declared"
CHECK: Final = ("checked", "checked_all")
UNCHECKED: Final = "unchecked"
WRONG: Final = 3  # options of multiple choice
STATEMENT: Final = frozenset(("True", "False"))
TEXT_MAX: Final = 300  # characters of a question
ABOUT: Final = {  # table 6
    "Architecture": "Building type, material, height, facade pattern, roof shape, age, density.",
    "Infrastructure": "Driving side, lane markings, curbs, poles, sidewalks, guardrails, traffic lights, plates.",
    "Signage": "Readable text, script or language, road signs, shop names.",
    "Terrain": "Road surface, slope, landform, openness, aridity.",
    "Vegetation": "Tree types, density, grass, season, climate cues.",
}
_TEXT: Final = {"type": "string"}
_SCHEMA: Final = record(
    proof=_TEXT, picture={"type": "integer"}, question=_TEXT, answer=_TEXT, wrong={"type": "array", "items": _TEXT}
)


@dataclass(frozen=True)
class Item:
    """A question as a model wrote it, about the view of a number."""

    picture: int
    question: str
    answer: str
    wrong: tuple[str, ...]
    proof: str


def declared(view: ErgeoView) -> Sequence[View]:
    """The views that a model is shown: those that people declared, then drawn ones."""
    return view.around[:VIEWS]


class Author:
    """The `benchmark.Author` of panoramas."""

    module = __name__

    def prompts(self) -> dict[str, str]:
        """Version of each prompt, by its step."""
        return {step: load_prompt(f"author_{step}").version for step in (STEP, *CHECK)}

    def write(
        self,
        view: ErgeoView,
        candidates: pa.Table,
        ask: Sequence[Ask],
        tasks: Sequence[str],
        shown: Sequence[Shown | None],
        questions_per_task: int,
    ) -> pa.Table:
        """Candidates of the slots of which the facts gave no question."""
        rows = []
        for slot in () if view.is_out_of_distribution else self._left(candidates, tasks):
            for number, case in enumerate(_written(view, slot, ask, shown, questions_per_task), start=1):
                rows.append(_row(view, slot, number, case))
        return pa.Table.from_pylist(rows, schema=CANDIDATES)

    def calls(
        self, candidates: pa.Table, tasks: Sequence[str], sees: Sequence[bool], questions_per_task: int
    ) -> tuple[int, ...]:
        """One for each slot."""
        left = len(self._left(candidates, tasks)) if sees[0] else 0
        return left, *(calls_of_second(questions_per_task * left) if own else 0 for own in sees[1:])

    def is_whole(self, reasons: Collection[str]) -> bool:
        """Whether no call was left without an answer."""
        return was_answered(reasons, (STEP, *CHECK))

    def _left(self, candidates: pa.Table, tasks: Sequence[str]) -> list[str]:
        asked = pc.unique(candidates.filter(pc.is_null(candidates["reason"]))["task"]).to_pylist()
        return [slot for slot in SLOTS if slot in tasks and slot not in asked]


def _written(
    view: ErgeoView, slot: str, ask: Sequence[Ask], shown: Sequence[Shown | None], count: int
) -> Iterator[tuple[Case, Item | None]]:
    """The questions of a slot, or why there is none."""
    pictures = shown[0]
    if pictures is None:
        yield _none("no_pictures_shown", "pictures"), None
        return
    schema = record(questions=listed(_SCHEMA, 0, count))
    own = {"pictures": pictures.pictures, "slot": slot, "about": ABOUT[slot], "count": count}
    try:
        found = take(STEP, ask[0], schema, pictures, **own)
    except RefusedError as refused:
        case = Case("1", wording="")
        case.refusal = refused.rejection
        yield case, None
        return
    if not found["questions"]:
        yield _none("nothing_written", "questions"), None
    for number, raw in enumerate(found["questions"], start=1):
        wrong = tuple(text.strip() for text in raw["wrong"])
        item = Item(int(raw["picture"]), raw["question"].strip(), raw["answer"].strip(), wrong, raw["proof"])
        case = Case(str(number), item.question, wording=item.question)
        case.flags = [MODEL_ASSISTED]
        _examine(case, item, len(declared(view)))
        if case.refusal is None:
            show(case, declared(view)[item.picture - 1])
            _check(case, item, view, ask, shown)
        case.ask(item.answer, item.wrong, least=1)
        yield case, item


def _none(reason: str, unit: str) -> Case:
    """A candidate that is none, for the lack of something."""
    case = Case("1", wording="")
    case.refuse(reason, 0, 1, unit)
    return case


def _examine(case: Case, item: Item, pictures: int) -> None:
    """What can be told of a written question without its view."""
    options = {option.casefold().strip() for option in (item.answer, *item.wrong)}
    is_statement = {item.answer, *item.wrong} == STATEMENT
    wanted = 1 if is_statement else WRONG
    case.require("declared_view_unknown", float(1 <= item.picture <= pictures), ">=", 1, "views")
    case.require("wrong_options_missing", len(item.wrong), ">=", wanted, "wrong options")
    case.require("options_repeat", len(options), ">=", 1 + len(item.wrong), "options")
    case.require("text_too_long", len(item.question), "<=", TEXT_MAX, "characters")
    said = not is_statement and item.answer.casefold() in item.question.casefold()
    case.require("answer_in_the_question", float(said), "<=", 0, "answers")


def _check(case: Case, item: Item, view: ErgeoView, ask: Sequence[Ask], shown: Sequence[Shown | None]) -> None:
    """Lets the second model answer with the declared view alone."""
    pictures = shown[1] if len(shown) > 1 else None
    if len(ask) < 2 or pictures is None:
        case.flags.append(UNCHECKED)
        return
    _, picture = pictures.parts[2 * (item.picture - 1) : 2 * item.picture]
    try:
        for measure in answered(item, view.scene.id, Second(ask[1], Shown((picture,), 1), CHECK)):
            case.measured(measure)
    except RefusedError as refused:
        case.refusal = refused.rejection


def _row(view: ErgeoView, slot: str, number: int, written: tuple[Case, Item | None]) -> dict[str, Any]:
    case, item = written
    template = load_template(ERGEO_TASKS[slot].template).identity
    operands = [MODEL_ASSISTED, *case.operands]
    row = {
        "id": question_ids(view.scene.id, slot, template, [operands])[0],
        "scene": view.scene.id,
        "task": slot,
        "operands": operands,
        "flags": case.flags or [MODEL_ASSISTED],
        "evidence": case.evidence or None,
    }
    if item is not None:
        row |= {"answer": item.answer, "wrong": case.wrong, "wording": item.question, "proof": item.proof}
    return row | (case.refusal.model_dump() if case.refusal else {})
