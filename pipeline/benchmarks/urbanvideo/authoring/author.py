"""The author of UrbanVideo-Bench: a model writes questions of those tasks of which a flight's facts gave none.

First it tells the flight, then lists what it has seen (`writing`), then it writes questions of each task. These are
held against the facts, and what a second model gets wrong with the video is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.urbanvideo.authoring.check import measures, relative
from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.words import tokens
from pipeline.benchmarks.urbanvideo.authoring.writing import (
    DraftItem,
    Extract,
    Passage,
    compose_arguments,
    extract,
    item_of,
    narrate,
)
from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.schema import Rejection
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.model_authoring import (
    MODEL_ASSISTED,
    ModelAuthor,
    PromptArguments,
    RefusedItemError,
    SceneAuthoring,
    SecondModel,
    Target,
    answered,
    facts_gave_none,
    refusing,
)
from pipeline.questions.rules import rule

# The benchmark is about videos: without one nothing is asked, and so nothing is written.
_NO_VIDEO: Final = Rejection(reason="missing_video", measured=None, limit=None, unit=None)
AGAIN: Final = "written_again"  # flag: in place of drafts that were refused, which are among the rejections
REWRITTEN: Final = "direction_rewritten"  # flag: compass points were turned into directions from the drone


@dataclass
class FlightAuthoring(SceneAuthoring[UrbanView]):
    """A flight that a model writes about, with what the first steps gave.

    Attributes:
        drafts: per task those that passed all rules: what is refused itself takes no other along.
        numbers: per task how many drafts there were.
    """

    drafts: defaultdict[str, list[DraftItem]] = field(default_factory=lambda: defaultdict(list))
    numbers: Counter[str] = field(default_factory=Counter)

    @cached_property
    def facts(self) -> ObservedFacts:
        """The facts that are known without a model."""
        return ObservedFacts(self.view)

    @cached_property
    def _narration(self) -> tuple[Sequence[Passage], Extract] | RefusedItemError:
        """The narration and what was extracted from it, or why there is none; the model is asked once."""
        try:
            passages = narrate(self.facts, self.models[0], self.shows[0])
            return passages, extract(self.facts, passages, self.models[0], seen=self.shows[0] is not None)
        except RefusedItemError as refused:
            return refused

    def narration_and_extract(self) -> tuple[Sequence[Passage], Extract]:
        """The narration, and what was extracted from it. Raises RefusedError."""
        if self.view.scene.video is None:
            raise RefusedItemError(_NO_VIDEO)
        if isinstance(self._narration, RefusedItemError):
            raise self._narration
        return self._narration


class UrbanAuthor(ModelAuthor[UrbanView, FlightAuthoring, Target]):
    """The author of flights. Where a step fails, all questions that depend on it are refused.

    Operands are the number within the task and, once there is one, the question.
    """

    authoring = FlightAuthoring
    tasks: Mapping[str, UrbanTask] = URBAN_TASKS
    step = "compose"
    before = ("narrate", "extract")
    missing = "compose_missing"
    each_missing = True
    rewrites = True

    def targets(self, candidates: pa.Table, tasks: Sequence[str]) -> list[Target]:
        """The tasks that a model may write, and of which the facts gave no question."""
        assisted = (name for name in tasks if self.tasks[name].model_assisted)
        return [Target(name) for name in facts_gave_none(candidates, assisted)]

    def prompt_arguments(self, scene: FlightAuthoring, target: Target) -> PromptArguments:
        """The task, the facts, and what the first steps gave."""
        return compose_arguments(
            self.tasks[target.task], scene.facts, *scene.narration_and_extract(), scene.shows[0], scene.count
        )

    def validate(self, scene: FlightAuthoring, target: Target, found: Sequence[dict[str, Any]]) -> Iterator[Case]:
        """Each question with its directions mended, and the first rule that it breaks."""
        _, known = scene.narration_and_extract()
        before, kept = scene.numbers[target.task], scene.drafts[target.task]
        for number, raw in enumerate(found, start=before + 1):
            scene.numbers[target.task], item = number, item_of(raw)
            mended = relative(item, scene.facts)
            case = Case(str(number), mended.question, wording=mended.question)
            case.flags = [MODEL_ASSISTED, *([REWRITTEN] if mended != item else []), *([AGAIN] if before else [])]
            case.answer, case.wrong, case.proof = mended.answer, list(mended.wrong), mended.proof
            again = sum(tokens(other.question) == tokens(mended.question) for other in kept)
            repeated = rule("invalid_or_ambiguous_repeated", again, "<=", 0, "questions")
            of_rules = measures(mended, scene.facts, known, self.tasks[target.task].question_form)
            for measure in chain(of_rules, [repeated]):
                case.measured(measure)
                if not measure.holds:
                    case.evidence = []
                    break
            else:
                _answer(case, mended, scene, self.check)
            kept += [mended] if case.refusal is None else []
            yield case

    def calls(
        self, candidates: pa.Table, tasks: Sequence[str], sees: Sequence[bool], questions_per_task: int
    ) -> tuple[int, ...]:
        """One more to narrate, and one to extract what was seen."""
        first, *others = super().calls(candidates, tasks, sees, questions_per_task)
        return first and 1 + sees[0] + first, *others

    def rows(self, view: UrbanView, task: str, cases: Iterable[Case]) -> list[dict[str, Any]]:
        """Rows of `CANDIDATES`; what is refused by rules has no evidence."""
        rows = _Written(self.tasks[task]).rows(view, cases, keep=True)
        return [row | {"evidence": row.get("evidence") or None} for row in rows]


class _Written(CaseTask[UrbanView]):
    """A task as a model writes it: its questions are texts of their own."""

    def __init__(self, task: UrbanTask) -> None:
        self.name, self.template = task.name, task.template

    def ask_once(self, view: UrbanView, cases: Iterable[Case]) -> None:
        """Rules see to it."""


def _answer(case: Case, item: DraftItem, scene: FlightAuthoring, steps: tuple[str, str]) -> None:
    """The second model's answers to an item. They are kept also with an item that they refuse."""
    if len(scene.models) < 2:
        return
    with refusing(case):
        for measure in answered(item, scene.view.scene.id, SecondModel(scene.models[1], scene.second_shown, steps)):
            case.measured(measure)
            if not measure.holds and (row := measure.evidence()):
                case.evidence.append(row)
