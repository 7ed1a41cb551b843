"""Parses a text: its movements in order, its directions, the things it names, and whether two texts agree."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

from pipeline.benchmarks.urbanvideo.authoring.vocabulary import (
    ABSOLUTE,
    ACTORS,
    CLAUSE,
    COLOURS,
    FILLERS,
    MOVEMENT,
    NUMBERS,
    SAME_NOUN,
    SIDE,
    THINGS,
    UNREAL,
)

_AFTER: Final = re.compile(r"(?<=\w),? (?<!then )(?<!and )(?:after|once|preceded by)\b")
_PURPOSE: Final = re.compile(r"\bto(?: \w+ly)? *$")  # "in order to ascend"
_MOVE_TO: Final = re.compile(
    r"\b(?:movement|motion|moves?|turns?|shifts?|flight|drift|swings?|steps?|bend)(?: sideways)? "
    r"to (?:the|its) (?:left|right)"
)
_EARLIER: Final = re.compile(r"\b(?:had|having)\b")
_ORDERED: Final = re.compile(r"\b(?:after|before|then|once)\b")


def plain(text: str) -> str:
    """A text in one case, with plain quotes and single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text in one form each: no case, articles, plurals or punctuation, one word per movement."""
    flat = MOVEMENT.sub(lambda match: f" {match.lastgroup} ", plain(text)).replace("'s", "")
    words = (singular(word) for word in re.findall(r"\w+(?:[-.]\w+)*", flat))
    return tuple(
        str(NUMBERS.index(word)) if word in NUMBERS else word for word in words if word not in FILLERS | ACTORS
    )


def singular(word: str) -> str:
    """An English noun without its plural, and one word for those that name the same."""
    if len(word) > 4 and word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif word.endswith(("ches", "shes", "xes", "sses")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return SAME_NOUN.get(word, word)


def movements(text: str) -> list[str]:
    """Movements that a text says were made, first things first ("B after A" is A, B); supposed ones are left out."""
    return [movement for sentence in re.split(r"[.;]\s", plain(text)) for movement in _made(sentence)]


def stories(text: str) -> list[list[str]]:
    """Movements that a text puts in an order, in that order. Reasons tell none ("it turned, since it had climbed")."""
    found = []
    for sentence in re.split(r"[.;?]\s*|\b(?:because|since|so|which|that|where|in order)\b", plain(text)):
        if _EARLIER.search(sentence) and not _ORDERED.search(sentence):
            found += [[movement] for movement in _made(sentence)]
        else:
            found.append(_made(sentence))
    return found


def _made(sentence: str) -> list[str]:
    found = []
    for part in reversed(_AFTER.split(sentence)):
        for match in MOVEMENT.finditer(part):
            before = part[: match.start()]
            clause = CLAUSE.split(before)[-1]
            if UNREAL.search(clause) or _PURPOSE.search(clause) or _of_a_thing(clause):
                continue
            found.append(str(match.lastgroup).replace("_", " "))
    return found


def _of_a_thing(clause: str) -> bool:
    """Whether something other than the drone does what follows ("the tower rises")."""
    words = [
        word for word in re.findall(r"[\w-]+", clause) if word not in {"that", "which", "is", "was", "were", "are"}
    ]
    return bool(words) and singular(words[-1]) in THINGS | {"ground", "terrain", "sun", "traffic"}


def sides(text: str) -> list[str]:
    """Where about the drone a text puts something, not where the drone moves: names of `SIDES`."""
    still = _MOVE_TO.sub("", MOVEMENT.sub("", plain(text)))
    return [str(match.lastgroup) for match in SIDE.finditer(still)]


def absolute(text: str, names: Iterable[str]) -> list[str]:
    """Points of the compass that a text names, other than in the given names."""
    return [match[0].lower() for match in ABSOLUTE.finditer(without(text, names))]


def without(text: str, names: Iterable[str]) -> str:
    """A text with names blotted out, the longest first; its length stays."""
    for name in sorted(filter(None, names), key=lambda name: (-len(name), name)):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda m: "_" * len(m[0]), text, flags=re.IGNORECASE)
    return text


def things(text: str, names: Iterable[str], nouns: Collection[str] = ()) -> list[str]:
    """Things that a text names: nouns of `THINGS`, or others, with their colour, and proper names within a sentence."""
    words = re.findall(r"[^\W\d_][\w'-]*|[.?!:\"]", MOVEMENT.sub(" ", without(text, [*names, "field of view"])))
    found = []
    for before, word in zip([".", *words], words, strict=False):
        if singular(word.lower()) in THINGS or singular(word.lower()) in nouns:
            colour = f"{before} " if before.lower() in COLOURS else ""
            found.append(f"{colour}{word}".lower())
        elif (
            len(word) > 1
            and word[0].isupper()
            and before not in {".", "?", "!", ":", '"'}
            and word.lower() not in ACTORS | {"i"}
        ):
            found.append(word)
    return found


def covered(thing: str, names: Iterable[str]) -> bool:
    """Whether one of the names has all the words of a thing."""
    wanted = set(tokens(thing))
    return any(wanted <= set(tokens(name)) for name in names)


def contains(text: tuple[str, ...], part: tuple[str, ...]) -> bool:
    """Whether tokens hold others, at least one, in a row."""
    return bool(part) and any(text[n : n + len(part)] == part for n in range(len(text) - len(part) + 1))
