"""What a question about a thing of a city must meet, as far as the map tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pipeline.benchmarks.cityeqa.authoring.wares import SORTS, foreign, had, is_had_alone
from pipeline.benchmarks.cityeqa.phrases import COLOURS, Phrase
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Hop, Told, render
from pipeline.core.errors import TemplateError
from pipeline.metrics.number_words import normalised
from pipeline.questions.open_items import OpenItem, form, leaks, stems
from pipeline.questions.rules import Measure, rule

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


def told_by(item: OpenItem, view: CityView, i: int) -> int:
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
        render(Told((Hop("north", str(phrase)),), question))
    except TemplateError:
        return True
    return False
