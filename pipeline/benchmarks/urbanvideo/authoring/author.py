"""Stage `author`: questions of a flight that a model writes, and those of them that were refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.urbanvideo.authoring.check import measures, relative
from pipeline.benchmarks.urbanvideo.authoring.compose import WrittenItem, compose
from pipeline.benchmarks.urbanvideo.authoring.extract import Extract, extract
from pipeline.benchmarks.urbanvideo.authoring.narrate import narrate
from pipeline.benchmarks.urbanvideo.authoring.observed import Observed
from pipeline.benchmarks.urbanvideo.authoring.words import tokens
from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.identity import question_ids
from pipeline.core.schema import Rejection
from pipeline.core.tables import CANDIDATES
from pipeline.core.templates import load_template
from pipeline.llm.shown import Shown
from pipeline.questions.asking import MODEL_ASSISTED, Ask, RefusedError
from pipeline.questions.rules import Measure, rule
from pipeline.questions.second import Second, answered
from pipeline.worlds.flight.facts import FlightScene

# The benchmark is about videos: without one nothing is asked, and so nothing is written.
_NO_VIDEO: Final = Rejection(reason="missing_video", measured=None, limit=None, unit=None)
REWRITTEN: Final = "direction_rewritten"  # flag: compass points were turned into directions from the drone


def author(
    view: UrbanView,
    candidates: pa.Table,
    ask: Ask,
    tasks: Sequence[UrbanTask],
    shown: Shown | None = None,
    questions_per_task: int = 2,
    second: Second | None = None,
) -> pa.Table:
    """What a model writes about a flight (`CANDIDATES`): per task as many rows as are wanted, questions or refusals.

    A task of which the facts gave questions is not written: where a fact answers, the fact does. Operands are the
    number within the task and, once there is one, the question; refused rows keep what was written.

    Args:
        view: an observed flight.
        candidates: the rows from facts.
        ask: the model, through its cache.
        tasks: in the order of the rows.
        shown: its video, if the model can see one.
        questions_per_task: how many to ask for.
        second: another model, which answers what passed all checks; what it gets wrong with the video is refused.
    """
    rows = []
    if left := unanswered(candidates, tasks):
        for task, drafts in _drafts(Observed(view), ask, left, shown, questions_per_task):
            for number, draft in enumerate(drafts, start=1):
                rows.append(_row(view.scene, task, number, _judged(draft, view.scene.id, second)))
    return pa.Table.from_pylist(rows, schema=CANDIDATES)


def unanswered(candidates: pa.Table, tasks: Sequence[UrbanTask]) -> list[UrbanTask]:
    """Those of the tasks of which the facts gave no question."""
    asked = pc.unique(candidates.filter(pc.is_null(candidates["reason"]))["task"]).to_pylist()
    return [task for task in tasks if task.name not in asked]


@dataclass(frozen=True)
class _Draft:
    """What became of one question; with a rejection it is none. ``item`` is None where nothing was written."""

    item: WrittenItem | None
    rejection: Rejection | None
    passed: tuple[Measure, ...] = ()
    rewritten: bool = False

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """The numbers behind it."""
        return [row for measure in self.passed if (row := measure.evidence())]


def _drafts(
    facts: Observed, ask: Ask, tasks: Sequence[UrbanTask], shown: Shown | None, count: int
) -> Iterator[tuple[UrbanTask, list[_Draft]]]:
    """The drafts of each task, as many as are wanted. Where a step fails, all drafts that depend on it are refused."""
    if facts.view.scene.video is None:
        yield from ((task, [_Draft(None, _NO_VIDEO)] * count) for task in tasks)
        return
    try:
        passages = narrate(facts, ask, shown)
        known = extract(facts, passages, ask, seen=shown is not None)
    except RefusedError as refused:
        yield from ((task, [_Draft(None, refused.rejection)] * count) for task in tasks)
        return
    for task in tasks:
        try:
            items = compose(task, facts, passages, known, ask, shown, count)
        except RefusedError as refused:
            yield task, [_Draft(None, refused.rejection)] * count
            continue
        drafts: list[_Draft] = []
        for item in items:
            drafts.append(_examined(item, task, facts, known, [d.item for d in drafts if d.item]))
        missing = Rejection(reason="compose_missing", measured=len(items), limit=count, unit="questions")
        yield task, drafts + [_Draft(None, missing)] * (count - len(items))


def _examined(
    item: WrittenItem, task: UrbanTask, facts: Observed, known: Extract, before: Sequence[WrittenItem]
) -> _Draft:
    """The question with its directions mended, and the first rule that it breaks."""
    mended = relative(item, facts)
    passed: list[Measure] = []
    again = sum(tokens(other.question) == tokens(mended.question) for other in before)
    repeated = rule("invalid_or_ambiguous_repeated", again, "<=", 0, "questions")
    for measure in chain(measures(mended, facts, known, task.asks), [repeated]):
        if not measure.holds:
            return _Draft(mended, measure.rejection(), rewritten=mended != item)
        passed.append(measure)
    return _Draft(mended, None, tuple(passed), mended != item)


def _judged(draft: _Draft, purpose: str, second: Second | None) -> _Draft:
    """A draft as the second model leaves it. What it answers is kept also with what it refuses."""
    if second is None or draft.item is None or draft.rejection is not None:
        return draft
    try:
        measures = answered(draft.item, purpose, second)
    except RefusedError as refused:
        return replace(draft, rejection=refused.rejection)
    wrong = next((measure.rejection() for measure in measures if not measure.holds), None)
    return replace(draft, rejection=wrong, passed=(*draft.passed, *measures))


def _row(scene: FlightScene, task: UrbanTask, number: int, draft: _Draft) -> dict[str, Any]:
    operands = [str(number), *([draft.item.question] if draft.item else [])]
    row: dict[str, Any] = {
        "id": question_ids(scene.id, task.name, load_template(task.template).identity, [operands])[0],
        "scene": scene.id,
        "task": task.name,
        "operands": operands,
        "flags": [MODEL_ASSISTED, *([REWRITTEN] if draft.rewritten else [])],
    }
    if draft.item:
        row |= {"answer": draft.item.answer, "wrong": list(draft.item.wrong), "wording": draft.item.question}
        row["proof"] = draft.item.proof
    return row | {"evidence": draft.evidence or None} | (draft.rejection.model_dump() if draft.rejection else {})
