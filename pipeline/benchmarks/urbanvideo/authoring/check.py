"""Last step: what a written question must meet. Each check measures; the first that fails is the reason.

The reasons begin with the aspect under which people mended the questions of UrbanVideo-Bench (section 3.2.4):
``invalid_or_ambiguous``, ``hallucination``, ``direction``, ``choices``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, Literal

from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.words import (
    ACTORS,
    BUILDINGS,
    EMPTY,
    EVERYWHERE,
    FOREIGN_WORDS,
    FUNCTION_WORDS,
    LOOKS,
    MOVEMENT,
    PARTS,
    PLACEHOLDERS,
    SUPPOSING,
    THINGS,
    TOPICS,
    absolute,
    contains,
    covered,
    plain,
    singular,
    things,
    tokens,
    without,
)
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from pipeline.benchmarks.urbanvideo.cases import OPTIONS
from pipeline.questions.rules import Measure, rule

Asks = Literal["what", "why", "if"]

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
OFF_TOPIC_MAX: Final = 2  # options of none of the known subjects, fewer than half: no list of words is whole
_MARKUP: Final = re.compile(
    r"</?[a-zA-Z][^<>]*>|\*\*|(?<!\w)\*\w|`|^\s*#+\s|^\s*[-*•]\s|\]\(|https?:|www\.|\\[a-zA-Z(\[]|[{}|]|\[|\]|&[a-z]+;|\$"
)
_WHY: Final = re.compile(
    r"\bwhy\b|\bhow come\b|\bfor what (?:reason|purpose)\b|"
    r"\b(?:reasons?|purpose|aim|motivation|cause|explanation) (?:for|of|that|behind|why)\b|"
    r"\bwhat (?:\w+ )?(?:made|makes|caused|causes|prompted|prompts|led|motivated|explains|forced|"
    r"(?:is|was) the (?:main )?(?:reason|purpose|aim))\b|"
    r"\bwhat (?:is|was|does|did) .*\b(?:try(?:ing)?|want|hop(?:e|ing)|aim(?:ing)?|intend(?:ing)?) (?:to|at)\b"
)
_GENERAL: Final = re.compile(
    r"\b(?:drones|uavs|quadcopters|(?:a|an|any|every|most|each) (?:typical )?(?:drone|uav|quadcopter))\b"
)
_WHEN: Final = re.compile(
    r"\b(?:at|from|during|after|before|while|when|until|near|throughout)\b.*\b(?:start|beginning|end|stage|phase|"
    r"flight|descent|ascent|climb|turn|seconds?|destination|point|goal|it|drone|uav|video|leg|moment)\b|"
    r"\b(?:first|last|final(?:ly)?|initial(?:ly)?|goal|turns?|movements?|man(?:oeuvre|euver)s?|legs?)\b|"
    r"\b(?:in|of|over) (?:the|this) (?:whole )?flight\b"
)
_REPEATED_MIN: Final = 3  # times that a short option says one word
_SHORT: Final = 12  # words
_ORDERED: Final = frozenset(("left", "right", "up", "down", "again"))  # of movements in a row
_GIBBERISH: Final = re.compile(r"[^aeiouyàâäáéèêëíïîóôöúüû]{6,}|(.)\1\1", re.IGNORECASE)


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


def content(text: str) -> frozenset[str]:
    """The words of a text (`tokens`) that carry its meaning."""
    return frozenset(tokens(text)) - EMPTY


def reads(item: DraftItem, asks: Asks, names: Sequence[str]) -> Iterator[Measure]:
    """The rules of form. ``names`` may be of any tongue and are not looked at."""
    texts = [without(text, names) for text in (item.question, item.answer, *item.wrong)]
    marks = sum(len(_MARKUP.findall(text)) for text in texts)
    yield rule("invalid_or_ambiguous_markup", marks, "<=", 0, "marks")
    yield rule("invalid_or_ambiguous_not_english", sum(map(_is_foreign, texts)), "<=", 0, "texts")
    nonsense = sum(_nonsense(text, item.answer) for text in texts[1:])
    yield rule("choices_nonsense", nonsense, "<=", 0, "options")
    off = sum(not _on_topic(option, (*names, item.question, item.answer)) for option in item.wrong)
    yield rule("choices_off_topic", off, "<=", OFF_TOPIC_MAX, "options")
    yield rule("invalid_or_ambiguous_other_task", float(not of_form(item.question, asks)), "<=", 0, "questions")
    general = len(_GENERAL.findall(plain(item.question)))
    yield rule("invalid_or_ambiguous_general", general, "<=", 0, "drones at large")
    told = _specifics(item.question, names)
    yield rule("invalid_or_ambiguous_about_nothing", told, ">=", 1, "movements, things or times")
    special = len(content(item.answer) - content(" ".join(EVERYWHERE)))
    yield rule("invalid_or_ambiguous_self_evident", special, ">=", 1, "words")


def of_form(question: str, asks: Asks) -> bool:
    """Whether a question asks why, what if, or neither, as its task does."""
    text = plain(question)
    why, supposes = bool(_WHY.search(text)), bool(SUPPOSING.search(text))
    return {"why": why, "if": supposes and not text.startswith("why"), "what": not why and not supposes}[asks]


def _is_foreign(text: str) -> bool:
    """Letters other than Latin ones, or more function words of another tongue than English ones."""
    if any(c.isalpha() and not unicodedata.name(c, "").startswith(("LATIN", "GREEK SMALL LETTER MU")) for c in text):
        return True
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", plain(text))
    english = sum(word in FUNCTION_WORDS for word in words)
    foreign = max(sum(word in known for word in words) for known in FOREIGN_WORDS.values())
    return foreign > english and (foreign > 1 or english == 0) and len(words) > 1 and foreign * 5 >= len(words)


def _nonsense(option: str, answer: str) -> bool:
    """No words where the right option has some; a stand-in for an option; keys hit at random."""
    words = re.findall(r"[^\W\d_]+(?:[/'][^\W\d_]+)*", plain(option))
    if "_" in option:  # a name
        return False
    if not words:
        return bool(re.search(r"[^\W\d_]", answer)) or not re.search(r"\w", option)
    carrying = [word for word in words if word not in FUNCTION_WORDS | ACTORS | _ORDERED]
    if len(words) <= _SHORT and max(map(carrying.count, carrying), default=0) >= _REPEATED_MIN:
        return True
    stand_in = all(word in PLACEHOLDERS or len(word) == 1 for word in words)
    voiceless = any(len(word) > 3 and (_GIBBERISH.search(word) or not re.search("[aeiouy]", word)) for word in words)
    return stand_in or "lorem" in words or voiceless


def _on_topic(option: str, known: Sequence[str]) -> bool:
    """Whether an option speaks of a thing, a place, a movement, or anything that question or flight speak of."""
    text = plain(option)
    if MOVEMENT.search(text):
        return True
    words = content(option)
    loose = {singular(word) for word in re.findall(r"\w+(?:-\w+)*", text)}
    return bool(
        (words | loose) & (THINGS | TOPICS | content(" ".join(TOPICS))) or words & set().union(*map(content, known))
    )


def _specifics(question: str, names: Sequence[str]) -> int:
    """The number of words that tie a question to its flight: movements, things that are there, and times."""
    text = plain(question)
    named = without(question, names) != question or any(set(tokens(name)) & set(tokens(question)) for name in names)
    return len(MOVEMENT.findall(text)) + named + len(_WHEN.findall(text))
