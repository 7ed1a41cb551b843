"""The author of CityEQA: World Knowledge about shops that facts have shown to be found and seen.

A model writes open questions about a thing, given what the map says of it and, where there are, pictures of it. The
map must bear out the answer, or a second model that is told the same must find it; who wrote it must not know it
without the city. What remains is asked from where, and over the landmarks by which, a task of the facts about the same
thing was proven, and has the flag `MODEL_ASSISTED`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.cityeqa.answers import ANSWER_TYPES, OPEN
from pipeline.benchmarks.cityeqa.authoring.check import GAP, called, measures, told_by
from pipeline.benchmarks.cityeqa.authoring.told import facts
from pipeline.benchmarks.cityeqa.phrases import Phrase, phrase
from pipeline.benchmarks.cityeqa.tasks.registry import CITY_TASKS
from pipeline.benchmarks.cityeqa.tasks.world_knowledge import WorldKnowledge
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Told, parse, render
from pipeline.core.identity import digest
from pipeline.core.tables import CANDIDATES
from pipeline.llm.base import Text
from pipeline.llm.prompts import load_prompt
from pipeline.llm.shown import Shown
from pipeline.metrics.normalised import normalised
from pipeline.questions.asking import MODEL_ASSISTED, Ask, RefusedError, take, was_answered
from pipeline.questions.cases import Case
from pipeline.questions.open_items import SAME_ANSWERS, OpenItem, item_of, items_schema, leaks
from pipeline.questions.rules import Measure, rule
from pipeline.questions.second import Second, calls_of_second, calls_of_writer, proven
from pipeline.worlds.city.facts import Photo

TASK: Final = WorldKnowledge.name
KIND: Final = "authored"  # first operand of what a model wrote
UNSORTED: Final = ("use", "sort")  # first operand of tasks whose texts do not say what their target is
OF_SOURCE: Final = frozenset({"other_sorts"})  # rules that are about the answer of the task which was proven
TARGETS: Final = 10  # things of a city that a model is asked about
PHOTOS: Final = 24  # pictures of a city
PHOTOS_OF_ONE: Final = 2
STEP: Final = "city"
CHECK: Final = ("city_pick", "city_all")
Row = Mapping[str, Any]


def declared(view: CityView) -> Sequence[Photo]:
    """The pictures of a city, of which a model is shown those of what it writes about."""
    return view.city.photos[:PHOTOS]


class Author:
    """The `benchmark.Author` of cities."""

    module = __name__

    def prompts(self) -> dict[str, str]:
        """Version of each prompt, by its step."""
        return {step: load_prompt(f"author_{step}").version for step in (STEP, *CHECK)}

    def write(
        self,
        view: CityView,
        candidates: pa.Table,
        ask: Sequence[Ask],
        tasks: Sequence[str],
        shown: Sequence[Shown | None],
        questions_per_task: int,
    ) -> pa.Table:
        """Candidates of World Knowledge: each question from all starts of a task of the facts about the same thing."""
        cases: list[Case] = []
        known: Counter[str] = Counter()
        for target, proofs in _targets(candidates).items() if TASK in tasks else ():
            i = view.index[target]
            for number, (case, item) in enumerate(_written(view, i, ask, shown, questions_per_task, known)):
                placed = [] if item is None else list(_placed(view, i, item, case, proofs[number % len(proofs)]))
                cases += placed or [case]
        rows = CITY_TASKS[TASK].rows(view, cases, keep=True)
        return pa.Table.from_pylist([{"flags": [MODEL_ASSISTED]} | row for row in rows], schema=CANDIDATES)

    def calls(
        self, candidates: pa.Table, tasks: Sequence[str], sees: Sequence[bool], questions_per_task: int
    ) -> tuple[int, ...]:
        """One for each thing, and the guesses; of the second model all for each question."""
        targets = len(_targets(candidates)) if TASK in tasks else 0
        items = targets * questions_per_task
        return targets + calls_of_writer(items), *(calls_of_second(items) for _ in sees[1:])

    def is_whole(self, reasons: Collection[str]) -> bool:
        """Whether no call was left without an answer."""
        return was_answered(reasons, (STEP, *CHECK))


def _targets(candidates: pa.Table) -> dict[str, list[list[Row]]]:
    """Things of which tasks were proven that do not say what they are, in an order that is drawn: the rows of each."""
    asked = candidates.filter(pc.is_null(candidates["reason"])).to_pylist()
    found: dict[str, dict[tuple[str, ...], list[Row]]] = {}
    for row in asked:
        if row["operands"][0] in UNSORTED:
            found.setdefault(row["group"], {}).setdefault(tuple(row["operands"][:-2]), []).append(row)
    drawn = sorted(found, key=lambda target: digest("author", asked[0]["scene"], target))[:TARGETS]
    return {target: [own for _, own in sorted(found[target].items())] for target in drawn}


def _written(
    view: CityView, i: int, ask: Sequence[Ask], shown: Sequence[Shown | None], count: int, known: Counter[str]
) -> Iterator[tuple[Case, OpenItem | None]]:
    """The questions about a thing; of one that is refused, or was not written, the case alone."""
    thing, told = view.things[i], facts(view, i)
    own = {"facts": told, "called": [p.definite for p in view.unsorted_phrases(i)], "gap": GAP, "count": count}
    try:
        found = take(STEP, ask[0], items_schema(count), _pictures(view, i, shown[0]), **own)["questions"]
    except RefusedError as refused:
        case = Case(KIND, thing.id)
        case.refusal = refused.rejection
        yield case, None
        return
    if not found:
        case = Case(KIND, thing.id)
        case.refuse("nothing_written", 0, 1, "questions")
        yield case, None
    seconds = [Second(ask[1], _told(told, _pictures(view, i, shown[1])), CHECK)] if len(ask) > 1 else []
    said: Counter[str] = Counter()
    for item in map(item_of, found):
        text = normalised(item.question)
        again, said[text] = said[text], said[text] + 1
        case = _case(view, i, item, item.question, *((str(again),) if again else ()))
        case.measured(rule("asked_already", again, "<", 1, "questions"))
        if case.refusal is not None:
            yield case, None
            continue
        try:
            for measure in _measures(item, view, i, known, Second(ask[0], None, CHECK), *seconds):
                case.measured(measure)
                if not measure.holds:
                    break
        except RefusedError as refused:
            case.refusal = refused.rejection
        known[normalised(item.answer)] += case.refusal is None
        yield case, item if case.refusal is None else None


def _case(view: CityView, i: int, item: OpenItem, wording: str, *more: str) -> Case:
    thing = view.things[i]
    case = Case(KIND, thing.id, item.question, *more, wording=wording, group=thing.id)
    case.proof, case.flags = item.proof, [OPEN, MODEL_ASSISTED]
    return case.ask(item.answer, item.wrong, least=0)


def _measures(
    item: OpenItem, view: CityView, i: int, known: Counter[str], writer: Second, second: Second | None = None
) -> Iterator[Measure]:
    """All rules of an item; models are asked about what breaks none before."""
    yield from measures(item, view, i)
    yield rule("answered_so_before", known[normalised(item.answer)], "<", SAME_ANSWERS, "questions")
    asked = called(item, view.unsorted_phrases(i)[0])
    yield from proven(asked, view.scene.id, writer, second, told_by(item, view, i))


def _placed(view: CityView, i: int, item: OpenItem, proof: Case, rows: Sequence[Row]) -> Iterator[Case]:
    """A question from each start of a proven task, with its numbers and those that prove the answer.

    Where landmarks on the way have words of the answer, that start is refused.
    """
    for row in rows:
        told = parse(row["wording"])
        target = phrase(told.hops[-1].landmark) if told is not None else None
        if told is None or not isinstance(target, Phrase):
            raise ValueError(f"{row['wording']!r} is no text of a task")
        asked = called(item, target).question
        case = _case(view, i, item, render(Told(told.hops, asked)), *row["operands"][-2:])
        case.flags += [flag for flag in row["flags"] or () if flag not in (*ANSWER_TYPES, MODEL_ASSISTED)]
        case.evidence = [
            *proof.evidence,
            *(fact for fact in row["evidence"] if fact["name"] not in OF_SOURCE),
        ]
        for measure in leaks(item, [hop.landmark for hop in told.hops]):
            case.measured(measure)
        yield case


def _pictures(view: CityView, i: int, shown: Shown | None) -> Shown | None:
    """The pictures that show a thing largest, as they are shown; None where there are none."""
    photos = declared(view)
    if shown is None or not shown.pictures or not photos:
        return None
    poses = np.array([photo.pose for photo in photos], dtype=np.float64)
    pixels = view.sight.seen(poses, np.array([i], dtype=np.intp)).pixels[:, 0]
    best = [k for k in np.argsort(-pixels, kind="stable").tolist() if pixels[k] >= view.rules.pixels_min]
    parts = tuple(part for k in best[:PHOTOS_OF_ONE] for part in shown.parts[2 * k : 2 * k + 2])
    return Shown(parts, len(parts) // 2) if parts else None


def _told(lines: Sequence[str], pictures: Shown | None) -> Shown:
    """What the second model is told, and shown."""
    parts = pictures.parts if pictures is not None else ()
    facts_of_map = Text("\n".join(("What the map says of the place:", *lines)))
    return Shown((facts_of_map, *parts), pictures.pictures if pictures else 0)
