"""The author of CityEQA: World Knowledge about shops that facts have shown to be found and seen.

A model writes open questions about a thing, given what the map says of it and, where there are, pictures of it. The
map must bear out the answer, or a second model that is told the same must find it; who wrote it must not know it
without the city. What remains is asked from where, and over the landmarks by which, a task of the facts about the same
thing was proven, and has the flag `MODEL_ASSISTED`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.cityeqa.authoring.check import GAP, called, facts, measures, source_tags
from pipeline.benchmarks.cityeqa.raw import ANSWER_TYPES, OPEN
from pipeline.benchmarks.cityeqa.tasks.registry import CITY_TASKS
from pipeline.benchmarks.cityeqa.tasks.world_knowledge import WorldKnowledge
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Phrase, TaskText, parse, phrase, render
from pipeline.core.identity import digest
from pipeline.llm.base import Text
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.metrics.number_words import normalised
from pipeline.questions.cases import Case
from pipeline.questions.model_authoring import (
    ANSWERED,
    MODEL_ASSISTED,
    ModelAuthor,
    PromptArguments,
    SceneAuthoring,
    Second,
    Target,
    examine,
    proven,
)
from pipeline.questions.open_items import SAME_ANSWERS, OpenItem, item_of, items_schema, leaks
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.facts import CityPhoto

TASK: Final = WorldKnowledge.name
KIND: Final = "authored"  # first operand of what a model wrote
UNSORTED: Final = ("use", "sort")  # first operand of tasks whose texts do not say what their target is
OF_SOURCE: Final = frozenset({"other_sorts"})  # rules that are about the answer of the task which was proven
TARGETS: Final = 10  # things of a city that a model is asked about
PHOTOS: Final = 24  # pictures of a city
PHOTOS_OF_ONE: Final = 2
Row = Mapping[str, Any]


def declared(view: CityView) -> Sequence[CityPhoto]:
    """The pictures of a city, of which a model is shown those of what it writes about."""
    return view.city.photos[:PHOTOS]


@dataclass(frozen=True)
class AuthoredThing(Target):
    """Something that a model writes about.

    Attributes:
        id: of the thing.
        proofs: rows of the tasks about it that were proven: those of each task.
    """

    id: str
    proofs: list[list[Row]]


class CityAuthor(ModelAuthor[CityView, SceneAuthoring[CityView], AuthoredThing]):
    """The author of cities: each question is asked from all starts of a task of the facts about the same thing."""

    authoring = SceneAuthoring[CityView]
    tasks = CITY_TASKS
    step = "city"
    check = ("city_pick", "city_all")
    guessing = True
    unseen = ANSWERED  # it is told the facts

    def targets(self, candidates: pa.Table, tasks: Sequence[str]) -> list[AuthoredThing]:
        """Things of which tasks were proven that do not say what they are, in an order that is drawn."""
        asked = candidates.filter(pc.is_null(candidates["reason"])).to_pylist() if TASK in tasks else []
        found: dict[str, dict[tuple[str, ...], list[Row]]] = {}
        for row in asked:
            if row["operands"][0] in UNSORTED:
                found.setdefault(row["group"], {}).setdefault(tuple(row["operands"][:-2]), []).append(row)
        drawn = sorted(found, key=lambda thing: digest("author", asked[0]["scene"], thing))[:TARGETS]
        return [AuthoredThing(TASK, thing, [own for _, own in sorted(found[thing].items())]) for thing in drawn]

    def prompt_arguments(self, scene: SceneAuthoring[CityView], target: AuthoredThing) -> PromptArguments:
        """What the map says of the thing, what it may be called, and its pictures."""
        view, i = scene.view, scene.view.index[target.id]
        called_so = [p.definite for p in view.unsorted_phrases(i)]
        fields = {"facts": facts(view, i), "called": called_so, "gap": GAP, "count": scene.count}
        return items_schema(scene.count), _pictures(view, i, scene.shows[0]), fields

    def validate(
        self, scene: SceneAuthoring[CityView], target: AuthoredThing, found: Sequence[dict[str, Any]]
    ) -> Iterator[Case]:
        """Each question from each start of a task; of one that is refused, one candidate alone."""
        view, i = scene.view, scene.view.index[target.id]
        second = None
        if len(scene.asks) > 1:
            shown = _told(facts(view, i), _pictures(view, i, scene.second_shown))
            second = Second(scene.asks[1], shown, self.check)
        said: Counter[str] = Counter()
        for number, item in enumerate(map(item_of, found)):
            text = normalised(item.question)
            again, said[text] = said[text], said[text] + 1
            case = _case(view, i, item, item.question, *((str(again),) if again else ()))
            case.measured(rule("asked_already", again, "<", 1, "questions"))
            placed: list[Case] = []
            if case.refusal is None:
                examine(case, self._measures(scene, i, item, second))
                scene.kept[normalised(item.answer)] += case.refusal is None
            if case.refusal is None:
                placed = list(_placed(view, i, item, case, target.proofs[number % len(target.proofs)]))
            yield from placed or [case]

    def unwritten(self, target: AuthoredThing, number: int) -> Case:
        """A candidate without a question."""
        return Case(KIND, target.id)

    def _measures(
        self, scene: SceneAuthoring[CityView], i: int, item: OpenItem, second: Second | None
    ) -> Iterator[Measure]:
        """All rules of an item; models are asked about what breaks none before."""
        view = scene.view
        yield from measures(item, view, i)
        yield rule("answered_so_before", scene.kept[normalised(item.answer)], "<", SAME_ANSWERS, "questions")
        asked = called(item, view.unsorted_phrases(i)[0])
        writer = Second(scene.asks[0], None, self.check)
        yield from proven(asked, view.scene.id, writer, second, source_tags(item, view, i))


def _case(view: CityView, i: int, item: OpenItem, wording: str, *more: str) -> Case:
    thing = view.things[i]
    case = Case(KIND, thing.id, item.question, *more, wording=wording, group=thing.id)
    case.proof, case.flags = item.proof, [OPEN, MODEL_ASSISTED]
    return case.ask(item.answer, item.wrong, least=0)


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
        case = _case(view, i, item, render(TaskText(told.hops, asked)), *row["operands"][-2:])
        case.flags += [flag for flag in row["flags"] or () if flag not in (*ANSWER_TYPES, MODEL_ASSISTED)]
        case.evidence = [
            *proof.evidence,
            *(fact for fact in row["evidence"] if fact["name"] not in OF_SOURCE),
        ]
        for measure in leaks(item, [hop.landmark for hop in told.hops]):
            case.measured(measure)
        yield case


def _pictures(view: CityView, i: int, shown: VisualInputs | None) -> VisualInputs | None:
    """The pictures that show a thing largest, as they are shown; None where there are none."""
    photos = declared(view)
    if shown is None or not shown.pictures or not photos:
        return None
    poses = np.array([photo.pose for photo in photos], dtype=np.float64)
    pixels = view.sight.seen(poses, np.array([i], dtype=np.intp)).pixels[:, 0]
    best = [k for k in np.argsort(-pixels, kind="stable").tolist() if pixels[k] >= view.rules.pixels_min]
    parts = tuple(part for k in best[:PHOTOS_OF_ONE] for part in shown.parts[2 * k : 2 * k + 2])
    return VisualInputs(parts, len(parts) // 2) if parts else None


def _told(lines: Sequence[str], pictures: VisualInputs | None) -> VisualInputs:
    """What the second model is told, and shown."""
    parts = pictures.parts if pictures is not None else ()
    facts_of_map = Text("\n".join(("What the map says of the place:", *lines)))
    return VisualInputs((facts_of_map, *parts), pictures.pictures if pictures else 0)
