"""Checks of a written question about a thing of a city, as far as the map tells, and the facts given to the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import COLOURS, HopText, Phrase, TaskText, render
from pipeline.core.errors import TemplateError
from pipeline.core.templates import load_table
from pipeline.metrics.number_words import normalised
from pipeline.questions.model_authoring import quoted
from pipeline.questions.open_items import OpenItem, form, leaks, stems
from pipeline.questions.rules import Measure, rule


class Ware(NamedTuple):
    """Sorts that surely have something, and sorts that perhaps do."""

    has: frozenset[str]
    may: frozenset[str]


def _read() -> dict[str, list[Ware]]:
    table, found = load_table("cityeqa/wares"), dict[str, list[Ware]]()
    for row in table["rows"]:
        words, has, may = (part.strip() for part in row.format(**table["groups"]).split("|"))
        ware = Ware(*(frozenset(sort.strip() for sort in sorts.split(",") if sort.strip()) for sorts in (has, may)))
        for stem in stems(words):
            found.setdefault(stem, []).append(ware)
    return found


WARES: Final[Mapping[str, list[Ware]]] = _read()
SORTS: Final = frozenset(sort for wares in WARES.values() for ware in wares for sort in (*ware.has, *ware.may))


def had(text: str, sort: str) -> list[str]:
    """Words of a text, as stems, that name what a sort surely has."""
    return sorted(stem for stem in stems(text) if any(sort in ware.has for ware in WARES.get(stem, ())))


def foreign(text: str, sort: str) -> list[str]:
    """Words of a text, as stems, that name what a sort surely has not, be it of a known sort."""
    if sort not in SORTS:
        return []
    return sorted(
        stem for stem in stems(text) if stem in WARES and not any(sort in ware.has | ware.may for ware in WARES[stem])
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


def called(item: OpenItem, phrase: Phrase) -> OpenItem:
    """An item as it is asked of a target that a text introduced so."""
    return replace(item, question=item.question.replace(GAP, phrase.definite))


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
    for phrase in view.unsorted_phrases(i):
        yield from leaks(called(item, phrase))
        yield rule(
            "reads_in_two_ways", float(_reads_otherwise(called(item, phrase).question, phrase)), "<=", 0, "texts"
        )
    asked = item.question.replace(GAP, " ")
    telling = (stems(asked) & (stems(sort) - _GENERAL)) | (
        stems(asked) & stems(f"{thing.name or ''} {thing.sign or ''}")
    )
    yield rule("question_tells_the_sort", len(telling | {*had(asked, sort)}), "<=", 0, "words")
    around = {view.things[int(k)].noun for k in view.around(i, view.rules.next_reach_m)}
    named = [other for other in SORTS | around if other != sort and _names(f"{asked} {item.answer}", other)]
    yield rule("contradicts_the_map", sum(not _within(other, sort) for other in named), "<=", 0, "other sorts")
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


def _within(one: str, other: str) -> bool:
    """Whether a sort is named by the words of another: "restaurant" in "fast-food restaurant"."""
    return one in other or stems(one) <= _GENERAL


def _reads_otherwise(question: str, phrase: Phrase) -> bool:
    try:
        render(TaskText((HopText("north", str(phrase)),), question))
    except TemplateError:
        return True
    return False


AROUND_M: Final = 40.0
AROUND: Final = 12  # things, the nearest
_OF: Final = {
    "name": "name",
    "sign": "what can be read there",
    "colour": "colour",
    "roof_colour": "colour of the roof",
    "roof_shape": "shape of the roof",
    "height_m": "height in metres",
    "levels": "storeys",
}


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
