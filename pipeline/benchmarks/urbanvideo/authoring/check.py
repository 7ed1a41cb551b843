"""Last step: what a written question must meet. Each check measures; the first that fails is the reason.

The reasons begin with the aspect under which people mended the questions of UrbanVideo-Bench (section 3.2.4):
``invalid_or_ambiguous``, ``hallucination``, ``direction``, ``choices``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.meaning import Asks, content, reads
from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.words import (
    BUILDINGS,
    LOOKS,
    PARTS,
    absolute,
    contains,
    covered,
    plain,
    singular,
    things,
    tokens,
)
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from pipeline.benchmarks.urbanvideo.cases import OPTIONS
from pipeline.questions.rules import Measure, rule

QUESTION_WORDS: Final = (4, 150)  # a given route is part of the question
OPTION_WORDS: Final = 40
STANDS_OUT: Final = (1.5, 3)  # a right option longer than this factor and number of words more gives itself away
_LETTER: Final = re.compile(
    r"(?:(?:option|choice|answer) )?\(?[A-J]\)?[.:)]?|\(?(?:[A-J]|\d)[.):]\s.*", re.IGNORECASE | re.DOTALL
)
_LETTERED: Final = re.compile(r"(?:^|\s)\(?A[.):]\s.*\s\(?B[.):]\s", re.DOTALL)
_SEVERAL: Final = re.compile(
    r"\b(?:all|none|both|any|some) of (?:the )?(?:above|these|those|them|options)\b|\ball above\b"
)


def measures(item: DraftItem, facts: ObservedFacts, objects: Sequence[str], asks: Asks = "why") -> Iterator[Measure]:
    """Every rule, in the order in which they are reported; those after one that is broken may make no sense.

    Whether an item is true of the flight is no rule of words: a second model examines that (`model_authoring`).

    Args:
        item: as it was written.
        facts: of the flight.
        objects: the names that a question may use.
        asks: the form of the task's questions.
    """
    yield from options(item)
    yield from letters(item)
    yield from lengths(item)
    yield from reads(item, asks, (*objects, *facts.names))
    yield hallucination(item, facts, objects)
    yield direction(item, facts)
    yield from leaks(item)


def options(item: DraftItem) -> Iterator[Measure]:
    """Their number; one is right; no two say the same."""
    offered = (item.answer, *item.wrong)
    said = [tokens(option) for option in offered]
    yield rule("choices_too_few", len(offered), ">=", OPTIONS, "options")
    yield rule("choices_too_many", len(offered), "<=", OPTIONS, "options")
    yield rule("choices_empty", sum(not option.strip() for option in offered), "<=", 0, "options")
    yield rule("choices_not_one_right", sum(bool(_SEVERAL.search(plain(o))) for o in offered), "<=", 0, "options")
    yield rule("choices_right_among_wrong", said[1:].count(said[0]), "<=", 0, "options")
    same = sum(one == other for one, other in combinations(said, 2))
    yield rule("choices_same_meaning", same, "<=", 0, "pairs of options")


def hallucination(item: DraftItem, facts: ObservedFacts, objects: Sequence[str]) -> Measure:
    """Things that the question or its right option names, and that nobody has seen."""
    names = (*objects, *facts.kinds)
    named = [*things(item.question, names), *things(item.answer, names), *item.objects]
    unknown = {thing for thing in named if not covered(thing, names) and not _general(thing, item, names)}
    return rule("hallucination_unknown_object", len(unknown), "<=", 0, "objects")


def _general(thing: str, item: DraftItem, names: Sequence[str]) -> bool:
    """Whether a thing is a part, or the general word, of something known: the roof, or the building, of a tower."""
    if not {word for name in names for word in tokens(name)} & BUILDINGS:
        return False
    head = singular(thing)
    described_as = re.findall(rf"([\w-]+)\s+{re.escape(thing)}\b", plain(f"{item.question} {item.answer}"))
    return head in PARTS or (head in {"building", "structure"} and not set(described_as) & LOOKS)


def direction(item: DraftItem, facts: ObservedFacts) -> Measure:
    """Points of the compass left in question and options, which no video shows."""
    texts = (item.question, item.answer, *item.wrong)
    return rule("direction_absolute", sum(len(absolute(t, facts.names)) for t in texts), "<=", 0, "directions")


def letters(item: DraftItem) -> Iterator[Measure]:
    """The model gives texts; the letter is drawn later."""
    lettered = sum(bool(_LETTER.fullmatch(option)) for option in (item.answer, *item.wrong))
    yield rule("choices_letter", lettered, "<=", 0, "options")


def leaks(item: DraftItem) -> Iterator[Measure]:
    """The question holds its right option and no other, or brings options of its own."""
    question = tokens(item.question)
    told = contains(question, tokens(item.answer)) or content(item.answer) <= content(item.question)
    told = told and not any(content(wrong) <= content(item.question) for wrong in item.wrong)
    yield rule("invalid_or_ambiguous_answer_in_question", float(told), "<=", 0, "answers")
    listed = bool(_LETTERED.search(item.question))
    yield rule("invalid_or_ambiguous_options_in_question", float(listed), "<=", 0, "lists of options")


def lengths(item: DraftItem) -> Iterator[Measure]:
    """A question, of so many words; a right option that is much the longest gives itself away."""
    least, most = QUESTION_WORDS
    asked, right = len(item.question.split()), len(item.answer.split())
    longest_wrong = max(len(option.split()) for option in item.wrong)
    factor, more = STANDS_OUT
    yield rule("invalid_or_ambiguous_no_question", plain(item.question).count("?"), ">=", 1, "question marks")
    yield rule("invalid_or_ambiguous_too_short", asked, ">=", least, "words")
    yield rule("invalid_or_ambiguous_too_long", asked, "<=", most, "words")
    yield rule("choices_too_long", max(right, longest_wrong), "<=", OPTION_WORDS, "words")
    yield rule("choices_right_stands_out", right, "<=", factor * longest_wrong + more, "words")
