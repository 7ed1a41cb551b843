"""The author of Embodied4C: material properties (M/P) and environmental effects (E/E), which no log's facts prove.

A model that is shown a log's film, with what the log says at the moments at which questions stand, writes questions
for one of these moments each. They are held against the log; who wrote them must not know their answers without the
film, and a second model that is shown what was filmed by then must find them. Without a second model none is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from pipeline.benchmarks.embodied4c.authoring.check import ASSISTED, EFFECTS, MATERIALS, measures
from pipeline.benchmarks.embodied4c.authoring.known import Moment, moments
from pipeline.benchmarks.embodied4c.flags import ACCEPTED, flag
from pipeline.benchmarks.embodied4c.kinds import AERIAL, DRIVING, MANIPULATION
from pipeline.benchmarks.embodied4c.tasks.others import ONLY_SEEN
from pipeline.benchmarks.embodied4c.tasks.registry import EXAM_TASKS
from pipeline.benchmarks.embodied4c.view import Exam
from pipeline.core.tables import CANDIDATES
from pipeline.llm.base import Text
from pipeline.llm.prompts import load_prompt
from pipeline.llm.shown import Shown
from pipeline.metrics.normalised import normalised
from pipeline.questions.asking import MODEL_ASSISTED, Ask, RefusedError, take, was_answered
from pipeline.questions.cases import Case
from pipeline.questions.open_items import SAME_ANSWERS, OpenItem, item_of, items_schema
from pipeline.questions.rules import Measure, rule
from pipeline.questions.second import Second, calls_of_second, calls_of_writer, proven

KIND: Final = "authored"  # first operand of what a model wrote
STEP: Final = "exam"
CHECK: Final = ("exam_pick", "exam_all")
FILMED: Final = {
    DRIVING: "a drive, filmed by a camera on our car, the ego vehicle",
    AERIAL: "a drone flight, filmed by the drone's own camera",
    MANIPULATION: "a robot arm at work, filmed by a camera beside it",
}
ABOUT: Final = {
    MATERIALS: "Material properties: what things and grounds are made of, their surface, stiffness, weight, friction, "
    "how they reflect light, and what follows from these for driving, flying or grasping.",
    EFFECTS: "Environmental effects: weather, light, shadow, wetness, dust, wind, season, time of day, and what they "
    "do to what is seen and to how one drives, flies or grasps.",
}
_EPS_S: Final = 0.05  # seconds of pictures are written with one decimal


class Author:
    """The `benchmark.Author` of logs."""

    module = __name__

    def prompts(self) -> dict[str, str]:
        """Version of each prompt, by its step."""
        return {step: load_prompt(f"author_{step}").version for step in (STEP, *CHECK)}

    def write(
        self,
        view: Exam,
        candidates: pa.Table,
        ask: Sequence[Ask],
        tasks: Sequence[str],
        shown: Sequence[Shown | None],
        questions_per_task: int,
    ) -> pa.Table:
        """Candidates of both sub-capabilities; of a log without pictures there are none (`tasks.others.Assisted`)."""
        rows = []
        given: Counter[str] = Counter()  # answers, and questions
        for sub in _left(candidates, tasks):
            cases = list(_written(view, sub, ask, shown, questions_per_task, given))
            rows += EXAM_TASKS[sub].rows(view, cases, keep=True)
        return pa.Table.from_pylist([{"flags": [MODEL_ASSISTED]} | row for row in rows], schema=CANDIDATES)

    def calls(
        self, candidates: pa.Table, tasks: Sequence[str], sees: Sequence[bool], questions_per_task: int
    ) -> tuple[int, ...]:
        """One for each sub-capability, and the guesses; of the second model all for each question."""
        left = len(_left(candidates, tasks)) if len(sees) > 1 and all(sees) else 0
        items = left * questions_per_task
        return left + calls_of_writer(items), *(calls_of_second(items) for _ in sees[1:])

    def is_whole(self, reasons: Collection[str]) -> bool:
        """Whether no call was left without an answer."""
        return was_answered(reasons, (STEP, *CHECK))


def _left(candidates: pa.Table, tasks: Sequence[str]) -> list[str]:
    """The sub-capabilities of which a log that has pictures is to be asked."""
    told = {(row["task"], row["reason"]) for row in candidates.select(["task", "reason"]).to_pylist()}
    return [sub for sub in ASSISTED if sub in tasks and (sub, ONLY_SEEN) in told]


def _written(
    view: Exam, sub: str, ask: Sequence[Ask], shown: Sequence[Shown | None], count: int, given: Counter[str]
) -> Iterator[Case]:
    """The questions of a sub-capability, or why there is none."""
    none, film = Case(KIND), shown[0]
    seen = shown[1] if len(ask) > 1 else None
    if film is None:
        none.refuse("no_pictures_shown", 0, 1, "pictures")
    elif seen is None:
        none.refuse("no_second_model", 0, 1, "models that are shown pictures")
    if film is None or seen is None:
        yield none
        return
    known = moments(view)
    told = [(f"{moment.second:.1f}", moment.lines) for moment in known]
    own = {"filmed": FILMED[view.domain], "moments": told, "sub": sub, "about": ABOUT[sub], "count": count}
    try:
        found = take(STEP, ask[0], items_schema(count, second={"type": "number"}), film, **own)["questions"]
    except RefusedError as refused:
        none.refusal = refused.rejection
        yield none
        return
    if not found:
        none.refuse("nothing_written", 0, 1, "questions")
        yield none
    for raw in found:
        item, at = item_of(raw), float(raw["second"])
        moment = min(known, key=lambda one: abs(one.second - at))
        case = Case(KIND, f"{moment.second:.2f}", item.question, until_s=round(moment.second, 3), wording=item.question)
        case.proof = item.proof
        case.flags = [*view.flags, MODEL_ASSISTED, *(flag(ACCEPTED, form) for form in item.accepted)]
        case.ask(item.answer, item.wrong, least=0)
        try:
            for measure in _measures(view, sub, item, moment, abs(moment.second - at), given, ask, seen):
                case.measured(measure)
                if not measure.holds:
                    break
        except RefusedError as refused:
            case.refusal = refused.rejection
        for said in (item.answer, item.question):
            given[normalised(said)] += case.refusal is None
        yield case


def _measures(
    view: Exam,
    sub: str,
    item: OpenItem,
    moment: Moment,
    off_s: float,
    given: Counter[str],
    ask: Sequence[Ask],
    shown: Shown,
) -> Iterator[Measure]:
    """All rules of an item; models are asked about what breaks none before."""
    yield from measures(item, sub, moment, off_s)
    yield rule("answered_so_before", given[normalised(item.answer)], "<", SAME_ANSWERS, "questions")
    yield rule("asked_so_before", given[normalised(item.question)], "<=", 0, "questions")
    by_then = until(shown, moment.second)
    yield rule("no_picture_by_then", len(by_then.parts), ">=", 1, "pictures")
    asked = item
    if not shown.pictures:  # the film itself, which goes on
        asked = replace(item, question=f"{item.question} (at second {moment.second:.1f} of the film)")
    yield from proven(asked, view.scene.id, Second(ask[0], None, CHECK), Second(ask[1], by_then, CHECK))


def until(shown: Shown, second: float) -> Shown:
    """What of a film's pictures was taken by a second; a film that is shown as such is not cut."""
    if not shown.pictures:
        return shown
    pairs = zip(shown.parts[::2], shown.parts[1::2], strict=True)
    kept = [
        part
        for label, picture in pairs
        if isinstance(label, Text) and float(label.text.removeprefix("Second ").rstrip(":")) <= second + _EPS_S
        for part in (label, picture)
    ]
    return Shown(tuple(kept), len(kept) // 2)
