"""The form of a written item: in English and without markup, about this flight, in the form of its task."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from pipeline.benchmarks.urbanvideo.authoring.words import (
    ACTORS,
    MOVEMENT,
    SUPPOSING,
    THINGS,
    plain,
    singular,
    tokens,
    without,
)
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from pipeline.core.templates import load_table
from pipeline.questions.rules import Measure, rule

_TABLE: Final = load_table("urbanvideo/meanings")


def _listed(name: str) -> frozenset[str]:
    """The words of one list of the table."""
    return frozenset(_TABLE[name].split())


FUNCTION_WORDS: Final = _listed("function_words")
FOREIGN_WORDS: Final[dict[str, frozenset[str]]] = {
    tongue: frozenset(known.split()) for tongue, known in _TABLE["foreign_words"].items()
}
EMPTY: Final = _listed("empty")
EVERYWHERE: Final = _listed("everywhere")
PLACEHOLDERS: Final = _listed("placeholders")
TOPICS: Final = _listed("topics")


def content(text: str) -> frozenset[str]:
    """The words of a text (`tokens`) that carry its meaning."""
    return frozenset(tokens(text)) - EMPTY


Asks = Literal["what", "why", "if"]

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
