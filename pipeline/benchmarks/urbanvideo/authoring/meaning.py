"""The meaning and the form of a written item.

As far as words tell: whether two options say the same, or one says all that the other says; and whether an item is in
English and without markup, about this flight, in the form of its task.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, Literal

from pipeline.benchmarks.urbanvideo.authoring.words import (
    ACTORS,
    COLOURS,
    MOVEMENT,
    NUMBERS,
    SUPPOSING,
    THINGS,
    movements,
    normalized,
    singular,
    tokens,
    without,
)
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from pipeline.core.templates import load_table
from pipeline.questions.rules import Measure, rule

SHARED_MIN: Final = 2  # words that carry meaning
SHARED_SHARE: Final = 0.4  # of those of both: options of good questions differ by a thing or a side from there on
# What follows tells where something is, or when: it is not what is spoken of.
_RELATION: Final = re.compile(
    r"\b(?:beside|next to|near|behind|in front of|opposite|above|below|under|between|across from|on top of|"
    r"to the (?:left|right) of|surrounded by|along|around|by|with|before|after|from|at|in|on)\b"
)
_ORDER: Final = re.compile(
    r"\b(?:then|before|after|first|followed|from|beside|behind|above|below|between|towards?|next to|of)\b"
)
_ENDINGS: Final = ("ingly", "edly", "ing", "ied", "ies", "ed", "ly", "es", "s", "e")

_TABLE: Final = load_table("urbanvideo/meanings")


def _listed(name: str) -> frozenset[str]:
    """The words of one list of the table."""
    return frozenset(_TABLE[name].split())


FUNCTION_WORDS: Final = _listed("function_words")
FOREIGN_WORDS: Final[dict[str, frozenset[str]]] = {
    tongue: frozenset(known.split()) for tongue, known in _TABLE["foreign_words"].items()
}
EMPTY: Final = _listed("empty")
NEGATIONS: Final = _listed("negations")
EVERYWHERE: Final = _listed("everywhere")
PLACEHOLDERS: Final = _listed("placeholders")
TOPICS: Final = _listed("topics")
SIDE_WORDS: Final = _listed("sides")
SAME_AS: Final[dict[str, str]] = {
    word: line.split()[0] for line in _TABLE["same"].splitlines() for word in line.split()[1:]
}
_PHRASES: Final = tuple((re.compile("|".join(phrases)), word) for word, *phrases in _TABLE["phrases"])


@cache
def content(text: str) -> frozenset[str]:
    """The words of a text that carry its meaning, in one form each; words of one meaning are one."""
    return frozenset(_carrying(text))


def _carrying(text: str) -> list[str]:
    flat = MOVEMENT.sub(lambda match: f" {str(match.lastgroup).replace('_', ' ')} ", normalized(text))
    for pattern, word in _PHRASES:
        flat = pattern.sub(f" {word} ", flat)
    words = re.findall(r"\w+(?:[-/]\w+)*", flat.replace("'s", ""))
    return [_base(word) for word in words if word not in EMPTY and singular(word) not in EMPTY]


def says_all_of(text: str, other: str) -> bool:
    """Whether a text says what another says, and maybe more, of the same thing.

    Not where it denies, counts, or speaks of another thing by its place ("the park beside the tower" and "the tower").
    """
    mine, others = content(text), content(other)
    if not others or not others <= mine:
        return False
    more = mine - others
    if more & (NEGATIONS | content(" ".join(NUMBERS))) or any(map(str.isdigit, more)):
        return False
    if not more:
        return not _ORDER.search(normalized(text)) or _in_order(text) == _in_order(other)
    # Movements beyond those of the other make it another story.
    return content(_head(other)) <= content(_head(text)) and movements(text) == movements(other)


def nearly_same(text: str, other: str) -> bool:
    """Whether two texts share most of what they say, and one of them has nothing of its own that sets it apart."""
    mine, others = content(text), content(other)
    shared = mine & others
    if len(shared) < SHARED_MIN or len(shared) < SHARED_SHARE * len(mine | others):
        return False
    apart = content(" ".join(THINGS | TOPICS | COLOURS | frozenset(NUMBERS))) | NEGATIONS | SIDE_WORDS
    return any(not (rest & apart or any(word.isdigit() for word in rest)) for rest in (mine - shared, others - shared))


def _in_order(text: str) -> list[str]:
    made = movements(text)
    return made if len(made) > 1 else _carrying(text)


def _head(text: str) -> str:
    found = _RELATION.search(normalized(text))
    return normalized(text)[: found.start()] if found and found.start() else normalized(text)


def _base(word: str) -> str:
    """A word without its ending, and one word for all of its meaning."""
    for form in (word, singular(word)):
        if form in SAME_AS or form in SAME_AS.values():
            return SAME_AS.get(form, form)
    word = singular(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            doubled = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lse" else stem
            for form in (stem, f"{stem}e", doubled, f"{stem}y"):
                if form in SAME_AS or form in SAME_AS.values():
                    return SAME_AS.get(form, form)
            return doubled.rstrip("e") or doubled
    return word


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
    nonsense = sum(_is_nonsense(text, item.answer) for text in texts[1:])
    yield rule("choices_nonsense", nonsense, "<=", 0, "options")
    off = sum(not _on_topic(option, (*names, item.question, item.answer)) for option in item.wrong)
    yield rule("choices_off_topic", off, "<=", OFF_TOPIC_MAX, "options")
    yield rule("invalid_or_ambiguous_other_task", float(not of_form(item.question, asks)), "<=", 0, "questions")
    general = len(_GENERAL.findall(normalized(item.question)))
    yield rule("invalid_or_ambiguous_general", general, "<=", 0, "drones at large")
    specifics = _specifics(item.question, names)
    yield rule("invalid_or_ambiguous_about_nothing", specifics, ">=", 1, "movements, things or times")
    special = len(content(item.answer) - content(" ".join(EVERYWHERE)))
    yield rule("invalid_or_ambiguous_self_evident", special, ">=", 1, "words")


def of_form(question: str, asks: Asks) -> bool:
    """Whether a question asks why, what if, or neither, as its task does."""
    text = normalized(question)
    why, supposes = bool(_WHY.search(text)), bool(SUPPOSING.search(text))
    return {"why": why, "if": supposes and not text.startswith("why"), "what": not why and not supposes}[asks]


def _is_foreign(text: str) -> bool:
    """Letters other than Latin ones, or more function words of another tongue than English ones."""
    if any(c.isalpha() and not unicodedata.name(c, "").startswith(("LATIN", "GREEK SMALL LETTER MU")) for c in text):
        return True
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", normalized(text))
    english = sum(word in FUNCTION_WORDS for word in words)
    foreign = max(sum(word in known for word in words) for known in FOREIGN_WORDS.values())
    return foreign > english and (foreign > 1 or english == 0) and len(words) > 1 and foreign * 5 >= len(words)


def _is_nonsense(option: str, answer: str) -> bool:
    """No words where the right option has some; a stand-in for an option; keys hit at random."""
    words = re.findall(r"[^\W\d_]+(?:[/'][^\W\d_]+)*", normalized(option))
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
    text = normalized(option)
    if MOVEMENT.search(text):
        return True
    words = content(option)
    loose = {singular(word) for word in re.findall(r"\w+(?:-\w+)*", text)}
    return bool(
        (words | loose) & (THINGS | TOPICS | content(" ".join(TOPICS))) or words & set().union(*map(content, known))
    )


def _specifics(question: str, names: Sequence[str]) -> int:
    """The number of words that tie a question to its flight: movements, things that are there, and times."""
    text = normalized(question)
    named = without(question, names) != question or any(set(tokens(name)) & set(tokens(question)) for name in names)
    return len(MOVEMENT.findall(text)) + named + len(_WHEN.findall(text))
