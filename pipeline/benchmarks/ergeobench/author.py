"""The author of ERGeoBench: questions of foundational perception where the facts gave none (section 4.3, table 9).

A model is shown declared views of a panorama and binds each question to one of them. A second model, the independent
checker, answers it with that view alone: what it gets wrong, finds several right options in or finds unfounded is
refused, and written again once. Whatever remains has the flag `MODEL_ASSISTED`. The checker also answers what facts
gave of these slots, in the pictures that are released; where it fails, all questions of that set are refused.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.ergeobench.images import PictureRef, show, shown_in
from pipeline.benchmarks.ergeobench.rules import SLOTS
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.templates import load_table
from pipeline.geometry.views import PinholeView
from pipeline.llm.base import record
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.questions.cases import Case
from pipeline.questions.model_authoring import (
    MODEL_ASSISTED,
    Ask,
    ModelAuthor,
    PromptArguments,
    SceneAuthoring,
    SecondModel,
    Target,
    answered,
    facts_gave_none,
    needed,
    refusing,
    written_items,
)
from pipeline.questions.rules import make_rejection

VIEWS: Final = 6  # that the model is shown: declared ones first
WRONG: Final = 3  # options of multiple choice
STATEMENT: Final = frozenset(("True", "False"))
TEXT_MAX: Final = 300  # characters of a question
ABOUT: Final[dict[str, str]] = load_table("ergeobench/authoring")
_TEXT: Final = {"type": "string"}
_SCHEMA: Final = record(
    proof=_TEXT, picture={"type": "integer"}, question=_TEXT, answer=_TEXT, wrong={"type": "array", "items": _TEXT}
)


@dataclass(frozen=True)
class AuthoredItem:
    """A question as a model wrote it, about the view of a number."""

    picture: int
    question: str
    answer: str
    wrong: tuple[str, ...]
    proof: str


def declared(view: ErgeoView) -> Sequence[PinholeView]:
    """The views that a model is shown: those that people declared, then drawn ones."""
    return view.around[:VIEWS]


class GeoAuthor(ModelAuthor[ErgeoView, SceneAuthoring[ErgeoView], Target]):
    """The author of panoramas, asked about each slot."""

    authoring = SceneAuthoring[ErgeoView]
    tasks = ERGEO_TASKS
    step = "declared"
    rewrites = True
    check = ("checked", "checked_all")
    sighted = 1
    unseen = 0

    def is_asked_about(self, view: ErgeoView) -> bool:
        """Not of panoramas that are out of distribution."""
        return not view.is_out_of_distribution

    def targets(self, candidates: pa.Table, tasks: Sequence[str]) -> list[Target]:
        """The slots of which the facts gave no question."""
        return [Target(slot) for slot in facts_gave_none(candidates, (slot for slot in SLOTS if slot in tasks))]

    def prompt_arguments(self, scene: SceneAuthoring[ErgeoView], target: Target) -> PromptArguments:
        """The slot, and the pictures."""
        shown = needed(scene.shows[0], "no_pictures_shown", "pictures")
        slot, count = target.task, scene.count
        shown = VisualInputs(shown.parts[: 2 * VIEWS], min(shown.pictures, VIEWS))
        fields = {"pictures": shown.pictures, "slot": slot, "about": ABOUT[slot], "count": count, "refused": ()}
        return written_items(_SCHEMA), shown, fields

    def pictured(self, view: ErgeoView, candidates: pa.Table) -> Sequence[PictureRef]:
        """The views that questions of the slots show, each once."""
        own = (shown_in(row) for row in _of_slots(candidates).to_pylist())
        return list(dict.fromkeys(picture for shown in own for picture in shown))

    def checked(
        self, view: ErgeoView, candidates: pa.Table, ask: Sequence[Ask], shown: Sequence[VisualInputs | None]
    ) -> pa.Table:
        """The candidates; of the slots those alone whose whole set the checker confirms."""
        if len(ask) < 2 or shown[1] is None:
            return candidates
        places = {picture: n for n, picture in enumerate(self.pictured(view, candidates), start=len(declared(view)))}
        found: dict[int, dict[str, Any]] = {}
        refused: Counter[tuple[str, ...]] = Counter()
        for row in _of_slots(candidates).to_pylist():
            (picture,) = shown_in(row)
            _, image = shown[1].parts[2 * places[picture] : 2 * places[picture] + 2]
            item = AuthoredItem(0, row["wording"], row["answer"], tuple(row["wrong"]), "")
            second = SecondModel(ask[1], VisualInputs((image,), 1), self.check)
            case = Case(*row["operands"])
            with refusing(case):
                for measure in answered(item, view.scene.id, second, blind=False):
                    case.measured(measure)
            found[row["id"]] = {"evidence": [*(row["evidence"] or ()), *case.evidence]}
            if case.refusal is not None:
                found[row["id"]] |= case.refusal.model_dump()
                refused[_set_of(row)] += 1
        rows = [row | found.get(row["id"], {}) for row in candidates.to_pylist()]
        for row in rows:
            if row["id"] in found and row["reason"] is None and refused[_set_of(row)]:
                row.update(make_rejection("counterpart_refused", refused[_set_of(row)], 0, "questions").model_dump())
        return pa.Table.from_pylist(rows, schema=candidates.schema)

    def calls(
        self, candidates: pa.Table, tasks: Sequence[str], sees: Sequence[bool], questions_per_task: int
    ) -> tuple[int, ...]:
        """See `ModelAuthor`; the checker also answers and examines what facts gave."""
        first, *others = super().calls(candidates, tasks, sees, questions_per_task)
        return first, *(
            n + 2 * is_shown * len(_of_slots(candidates)) for n, is_shown in zip(others, sees[1:], strict=True)
        )

    def validate(
        self, scene: SceneAuthoring[ErgeoView], target: Target, found: Sequence[dict[str, Any]]
    ) -> Iterator[Case]:
        """Each question, held against rules, and answered by the second model with the declared view alone."""
        views = declared(scene.view)
        for number, raw in enumerate(found, start=1):
            wrong = tuple(text.strip() for text in raw["wrong"])
            item = AuthoredItem(
                int(raw["picture"]), raw["question"].strip(), raw["answer"].strip(), wrong, raw["proof"]
            )
            case = Case(MODEL_ASSISTED, str(number), item.question, wording=item.question)
            case.flags, case.proof = [MODEL_ASSISTED], item.proof
            _examine(case, item, len(views))
            if case.refusal is None:
                show(case, views[item.picture - 1])
                if scene.second_shown is not None:
                    _, picture = scene.second_shown.parts[2 * (item.picture - 1) : 2 * item.picture]
                    with refusing(case):
                        for measure in answered(
                            item,
                            scene.view.scene.id,
                            SecondModel(scene.models[1], VisualInputs((picture,), 1), self.check),
                        ):
                            case.measured(measure)
            yield case.ask(item.answer, item.wrong, least=1)

    def unwritten(self, target: Target, number: int) -> Case:
        """A candidate without a question."""
        return Case(MODEL_ASSISTED, str(number))


def _of_slots(candidates: pa.Table) -> pa.Table:
    """The questions of the slots that facts gave."""
    is_asked = pc.and_(pc.is_in(candidates["task"], pa.array(SLOTS)), pc.is_null(candidates["reason"]))
    return candidates.filter(is_asked)


def _set_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The set of a question from facts: its task, and what its words say (`Perception`)."""
    return (row["task"], *row["operands"][:2])


def _examine(case: Case, item: AuthoredItem, pictures: int) -> None:
    """Checks of a written question without its view."""
    options = {option.casefold().strip() for option in (item.answer, *item.wrong)}
    is_statement = {item.answer, *item.wrong} == STATEMENT
    wanted = 1 if is_statement else WRONG
    case.require("declared_view_unknown", float(1 <= item.picture <= pictures), ">=", 1, "views")
    case.require("wrong_options_missing", len(item.wrong), ">=", wanted, "wrong options")
    case.require("options_repeat", len(options), ">=", 1 + len(item.wrong), "options")
    case.require("text_too_long", len(item.question), "<=", TEXT_MAX, "characters")
    gives_answer = not is_statement and item.answer.casefold() in item.question.casefold()
    case.require("answer_in_the_question", float(gives_answer), "<=", 0, "answers")
