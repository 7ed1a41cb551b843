"""The author of CityEQA: World Knowledge about shops that facts have shown to be found and seen.

A model writes open questions about a thing, given what the map says of it and, where there are, pictures of it. The
map must bear out the answer, or a second model that is told the same must find it; who wrote it must not know it
without the city. What remains is asked from where, and over the landmarks by which, a task of the facts about the same
thing was proven, and has the flag `MODEL_ASSISTED`.

`facts` are the lines about a thing that models are given; `measures` hold a written question against the map.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.cityeqa.raw import ANSWER_TYPES, OPEN
from pipeline.benchmarks.cityeqa.tasks.recognition import WorldKnowledge
from pipeline.benchmarks.cityeqa.tasks.registry import CITY_TASKS
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import COLOURS, HopText, Phrase, TaskText, parse, phrase, render
from pipeline.core.errors import TemplateError
from pipeline.core.identity import digest
from pipeline.core.templates import load_table
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
    SecondModel,
    Target,
    examine,
    proven,
    quoted,
    written_items,
)
from pipeline.questions.open_items import SAME_ANSWERS, OpenItem, form, item_of, item_schema, leaks, stems
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.facts import CityPhoto


class ShopGoods(NamedTuple):
    """The sorts of shop that surely have some goods, and those that may have them."""

    has: frozenset[str]
    may: frozenset[str]


def _read() -> dict[str, list[ShopGoods]]:
    table, found = load_table("cityeqa/authoring")["shop_goods"], dict[str, list[ShopGoods]]()
    for row in table["rows"]:
        words, has, may = (part.strip() for part in row.format(**table["groups"]).split("|"))
        goods = ShopGoods(
            *(frozenset(sort.strip() for sort in sorts.split(",") if sort.strip()) for sorts in (has, may))
        )
        for stem in stems(words):
            found.setdefault(stem, []).append(goods)
    return found


SHOP_GOODS: Final[Mapping[str, list[ShopGoods]]] = _read()
SORTS: Final = frozenset(
    sort for entries in SHOP_GOODS.values() for goods in entries for sort in (*goods.has, *goods.may)
)


def had(text: str, sort: str) -> list[str]:
    """Words of a text, as stems, that name what a sort surely has."""
    return sorted(stem for stem in stems(text) if any(sort in goods.has for goods in SHOP_GOODS.get(stem, ())))


def foreign(text: str, sort: str) -> list[str]:
    """Words of a text, as stems, that name what a sort surely has not, be it of a known sort."""
    if sort not in SORTS:
        return []
    return sorted(
        stem
        for stem in stems(text)
        if stem in SHOP_GOODS and not any(sort in goods.has | goods.may for goods in SHOP_GOODS[stem])
    )


def is_had_alone(texts: Iterable[str], sort: str) -> int:
    """How many texts name something that a sort surely has, and nothing that it has not."""
    return sum(bool(had(text, sort)) and not foreign(text, sort) for text in texts)


GAP: Final = "TARGET"  # what a model writes for the target, which each text calls as it introduced it
PLACE: Final = "the place"  # for the gap, where it does not matter what the target is called
_GENERAL: Final = stems("shop store office station building place centre house salon surgery parlour agency field")
_SEEN: Final = re.compile(r"\b(?:colou?rs?|painted|how does|look(?:s)? like|shape|made of|storeys?|stories)\b")
_LOCAL: Final = re.compile(  # what is so of this one place, and not of its sort
    r"\bnames?\b|\bcalled\b|\bown(?:s|ed|ers?)?\b|\bfound(?:ed|er)\b|\bbuilt\b|\bopened\b|\baddress\b|\bstreet\b|"
    r"\b(?:this|last|next) (?:week|month|year|season|evening|weekend)\b|\b(?:today|tonight|tomorrow|yesterday|now|"
    r"currently|nowadays)\b|\bweather\b|\bprices?\b|\bcosts?\b"
)


def called(item: OpenItem, target: Phrase) -> OpenItem:
    """An item as it is asked of a target that a text introduced so."""
    return replace(item, question=item.question.replace(GAP, target.definite))


def measures(item: OpenItem, view: CityView, i: int) -> Iterator[Measure]:
    """Every rule, in the order in which they are reported.

    Args:
        item: its question has `GAP` for the target.
        view: the city.
        i: index of the target.
    """
    thing, sort = view.things[i], view.things[i].noun
    yield rule("target_not_named_once", abs(item.question.count(GAP) - 1), "<=", 0, "times too often or too rarely")
    yield from form(replace(item, question=item.question.replace(GAP, PLACE)))
    for said in view.unsorted_phrases(i):
        yield from leaks(called(item, said))
        yield rule("reads_in_two_ways", float(_reads_otherwise(called(item, said).question, said)), "<=", 0, "texts")
    asked = item.question.replace(GAP, " ")
    telling = (stems(asked) & (stems(sort) - _GENERAL)) | (
        stems(asked) & stems(f"{thing.name or ''} {thing.sign or ''}")
    )
    yield rule("question_tells_the_sort", len(telling | {*had(asked, sort)}), "<=", 0, "words")
    around = {view.things[int(k)].noun for k in view.around(i, view.rules.next_reach_m)}
    named = [other for other in SORTS | around if other != sort and _names(f"{asked} {item.answer}", other)]
    yield rule("contradicts_the_map", sum(not _is_named_by(other, sort) for other in named), "<=", 0, "other sorts")
    yield rule("contradicts_the_map", len(foreign(item.answer, sort)), "<=", 0, "words of other sorts")
    yield rule("of_this_place_alone", len(_LOCAL.findall(asked.casefold())), "<=", 0, "words")
    yield _looks(item, asked, {thing.colour, thing.roof_colour})
    yield rule("wrong_option_is_true", is_had_alone(item.wrong, sort), "<=", 0, "wrong options")
    yield rule("wrong_option_is_true", sum(normalised(text) == sort for text in item.wrong), "<=", 0, "wrong options")


def source_tags(item: OpenItem, view: CityView, i: int) -> int:
    """How many facts of the map say the answer: its sort by its name, or what everybody gets in places of the sort."""
    thing = view.things[i]
    said = {normalised(text) for text in (thing.noun, thing.name, thing.sign) if text is not None}
    return int(normalised(item.answer) in said) + len(had(item.answer, thing.noun))


def _looks(item: OpenItem, asked: str, colours: set[str | None]) -> Measure:
    """That looks are asked of facts: a colour that the map does not tell, or tells otherwise, is nobody's knowledge."""
    named = {word for word in re.findall(r"[a-z]+", item.answer.casefold()) if word in COLOURS}
    return rule("looks_are_for_facts", len(_SEEN.findall(asked.casefold())) + len(named - colours), "<=", 0, "words")


def _names(text: str, sort: str) -> bool:
    return re.search(rf"\b{re.escape(sort.casefold())}(?:s|es)?\b", text.casefold()) is not None


def _is_named_by(one: str, other: str) -> bool:
    """Whether a sort is named by the words of another: "restaurant" in "fast-food restaurant"."""
    return one in other or stems(one) <= _GENERAL


def _reads_otherwise(question: str, target: Phrase) -> bool:
    try:
        render(TaskText((HopText("north", str(target)),), question))
    except TemplateError:
        return True
    return False


AROUND_M: Final = 40.0
AROUND: Final = 12  # things, the nearest
_OF: Final[dict[str, str]] = load_table("cityeqa/authoring")["facts"]


def facts(view: CityView, i: int) -> list[str]:
    """The lines about a thing. Names from files are `quoted`."""
    thing = view.things[i]
    found = [f"sort: {thing.noun}"]
    for name, said in _OF.items():
        value = getattr(thing, name)
        if value is not None:
            found.append(f"{said}: {quoted(value) if name in ('name', 'sign') else value}")
    if thing.on is not None and thing.on in view.index:
        found.append(f"it is in: {view.things[view.index[thing.on]].noun}")
    near = view.around(i, AROUND_M)
    away = view.distance_m(i, near)
    for k in np.argsort(away, kind="stable")[:AROUND].tolist():
        other = view.things[int(near[k])]
        if other.id != thing.on:
            read = view.read(int(near[k]))
            found.append(f"around: {other.noun}{f' {quoted(read)}' if read else ''}, {away[k]:.0f} m away")
    return found


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
        """The map's facts about the thing, its possible names, and its pictures."""
        view, i = scene.view, scene.view.index[target.id]
        called_so = [p.definite for p in view.unsorted_phrases(i)]
        fields = {"facts": facts(view, i), "called": called_so, "gap": GAP, "count": scene.count}
        return written_items(item_schema()), _pictures(view, i, scene.shows[0]), fields

    def validate(
        self, scene: SceneAuthoring[CityView], target: AuthoredThing, found: Sequence[dict[str, Any]]
    ) -> Iterator[Case]:
        """Each question from each start of a task; of one that is refused, one candidate alone."""
        view, i = scene.view, scene.view.index[target.id]
        second = None
        if len(scene.models) > 1:
            shown = _checker_inputs(facts(view, i), _pictures(view, i, scene.second_shown))
            second = SecondModel(scene.models[1], shown, self.check)
        said, kept = Counter[str](), Counter[str]()
        for number, item in enumerate(map(item_of, found)):
            text = normalised(item.question)
            again, said[text] = said[text], said[text] + 1
            case = _case(view, i, item, item.question, *((str(again),) if again else ()))
            case.measured(rule("asked_already", kept[text], "<", 1, "questions"))
            placed: list[Case] = []
            if case.refusal is None:
                examine(case, self._measures(scene, i, item, second))
            if case.refusal is None:
                placed = list(_placed(view, i, item, case, target.proofs[number % len(target.proofs)]))
            if any(start.refusal is None for start in placed):  # what is refused itself takes no other along
                kept[text] += 1
                scene.kept[normalised(item.answer)] += 1
            yield from placed or [case]

    def unwritten(self, target: AuthoredThing, number: int) -> Case:
        """A candidate without a question."""
        return Case(KIND, target.id)

    def _measures(
        self, scene: SceneAuthoring[CityView], i: int, item: OpenItem, second: SecondModel | None
    ) -> Iterator[Measure]:
        """All rules of an item; models are asked about what breaks none before."""
        view = scene.view
        yield from measures(item, view, i)
        yield rule("answered_so_before", scene.kept[normalised(item.answer)], "<", SAME_ANSWERS, "questions")
        asked = called(item, view.unsorted_phrases(i)[0])
        writer = SecondModel(scene.models[0], None, self.check)
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


def _checker_inputs(lines: Sequence[str], pictures: VisualInputs | None) -> VisualInputs:
    """The facts and pictures that the second model is shown."""
    parts = pictures.parts if pictures is not None else ()
    facts_of_map = Text("\n".join(("Facts from the map:", *lines)))
    return VisualInputs((facts_of_map, *parts), pictures.pictures if pictures else 0)
