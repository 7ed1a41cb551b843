"""What a text says: its movements in order, its directions, the things it names, and whether two texts say the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

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
    found = []
    for sentence in re.split(r"[.;]\s", plain(text)):
        parts = re.split(r"(?<=\w) (?<!then )(?<!and )after\b", sentence)
        for part in reversed(parts):
            for match in MOVEMENT.finditer(part):
                clause = CLAUSE.split(part[: match.start()])[-1]
                if not UNREAL.search(clause) and not re.search(r"\bto(?: \w+ly)? *$", clause):  # "in order to ascend"
                    found.append(str(match.lastgroup).replace("_", " "))
    return found


def sides(text: str) -> list[str]:
    """Where about the drone a text puts something, not where the drone moves: names of `SIDES`."""
    still = MOVEMENT.sub("", plain(text))
    return [str(match.lastgroup) for match in SIDE.finditer(still)]


def absolute(text: str, names: Iterable[str]) -> list[str]:
    """Points of the compass that a text names, other than in the given names."""
    return [match[0].lower() for match in ABSOLUTE.finditer(without(text, names))]


def without(text: str, names: Iterable[str]) -> str:
    """A text with names blotted out, the longest first; its length stays."""
    for name in sorted(filter(None, names), key=lambda name: (-len(name), name)):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda m: "_" * len(m[0]), text, flags=re.IGNORECASE)
    return text


def things(text: str, names: Iterable[str]) -> list[str]:
    """Things that a text names: nouns of `THINGS` with the colour before them, and proper names within a sentence."""
    words = re.findall(r"[^\W\d_][\w'-]*|[.?!:\"]", MOVEMENT.sub(" ", without(text, [*names, "field of view"])))
    found = []
    for before, word in zip([".", *words], words, strict=False):
        if singular(word.lower()) in THINGS:
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
