"""Parses a text: its movements in order, its directions, the things it names, and whether two texts agree.

The words that it knows: things of a town (a table), and movements and directions, as patterns.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from pipeline.core.templates import load_table, without_plural

_TABLE: Final = load_table("urbanvideo/words")


def _listed(name: str) -> frozenset[str]:
    """The words of one list of the table."""
    return frozenset(_TABLE[name].split())


NUMBERS: Final[list[str]] = _TABLE["numbers"].split()  # their place is their value
FILLERS: Final = _listed("fillers")
ACTORS: Final = _listed("actors")
COLOURS: Final = _listed("colours")
LOOKS: Final = COLOURS | _listed("looks")
THINGS: Final = _listed("things")
PARTS: Final = _listed("parts")
BUILDINGS: Final = _listed("buildings")
SAME_NOUN: Final[dict[str, str]] = _TABLE["same_noun"]

_GO: Final = (
    r"(?:fl(?:y|ies|ew|own|ying)|mov(?:e|es|ed|ing)|head(?:s|ed|ing)?|go(?:es|ing)?|went|travel(?:s|led|ling)?|"
    r"proceed(?:s|ed|ing)?|continu(?:e|es|ed|ing)|advanc(?:e|es|ed|ing)|drift(?:s|ed|ing)?|shift(?:s|ed|ing)?)"
)
_TURN: Final = (
    r"(?:turn(?:s|ed|ing)?|rotat(?:e|es|ed|ing)|yaw(?:s|ed|ing)?|veer(?:s|ed|ing)?|pivot(?:s|ed|ing)?|bank(?:s|ed|ing)?|"
    r"sw(?:ing|ings|inging|ung)|spin(?:s|ning)?)"
)
_TILT: Final = (
    r"(?:tilt(?:s|ed|ing)?|pitch(?:es|ed|ing)?|point(?:s|ed|ing)?|angl(?:e|es|ed|ing)|aim(?:s|ed|ing)?|"
    r"rais(?:e|es|ed|ing)|lower(?:s|ed|ing)?|adjust(?:s|ed|ing)?|look(?:s|ed|ing)?)"
)
_CAMERA: Final = r"(?:the |its )?(?:camera|gimbal|pan[- ]tilt|lens|view)(?: angle)?"
_HEIGHT: Final = r"(?:in )?(?:the |its )?(?:altitude|height|elevation)"
_TO: Final = r"(?: \w+ly)?(?: to| towards?)?(?: the| its)?"
# Movement -> how texts put it; at one place the first that fits counts.
PHRASES: Final[dict[str, str]] = {
    "gimbal down": rf"{_TILT} {_CAMERA} down(?:wards?)?|lower(?:s|ed|ing)? {_CAMERA}|gimbal down|"
    rf"{_CAMERA} {_TILT} down(?:wards?)?|look(?:s|ed|ing)? down(?:wards?)?",
    "gimbal up": rf"{_TILT} {_CAMERA} up(?:wards?)?|rais(?:e|es|ed|ing) {_CAMERA}|gimbal up|"
    rf"{_CAMERA} {_TILT} up(?:wards?)?|look(?:s|ed|ing)? up(?:wards?)?",
    "turn around": rf"{_TURN} (?:back|around|about)|u-turns?|revers(?:e|es|ed|ing) (?:its )?direction",
    "turn left": rf"{_TURN}{_TO} left|left(?:-hand)? turns?",
    "turn right": rf"{_TURN}{_TO} right|right(?:-hand)? turns?",
    "ascend": rf"ascend(?:s|ed|ing)?|ascents?|climb(?:s|ed|ing)?(?: up)?|ris(?:e|es|en|ing)|rose|"
    rf"(?:get|go|fly)(?:s|es|ting|ing)? higher|{_GO} up(?:wards?)?|"
    rf"(?:gain|increas|rais)(?:e|s|es|ed|ing)? {_HEIGHT}|tak(?:e|es|en|ing) off|took off|lift(?:s|ed|ing)? off",
    "descend": rf"descend(?:s|ed|ing)?|descents?|{_GO} down(?:wards?)?|touch(?:es|ed|ing)? down|"
    rf"(?<!a )(?:los|decreas|reduc|lower|drop)(?:e|s|es|ed|ing|ped|ping)? {_HEIGHT}|(?:comes?|coming|came) down|"
    r"s[iau]nk(?:s|ing)?|(?:go|com)(?:es|e|ing)? lower|(?:went|came|flies|flew) lower",
    "fly backward": rf"{_GO} back(?:wards?)?|back(?:s|ed|ing) (?:up|away)",
    "fly left": rf"{_GO}(?: sideways)?{_TO} left",
    "fly right": rf"{_GO}(?: sideways)?{_TO} right(?! (?:over|past|through|up|along|by|above|into|behind|next))",
    "fly forward": rf"{_GO}(?: straight)? (?:forwards?|ahead|straight|on)",
    "hover": r"hover(?:s|ed|ing)?|(?:stays?|remains?) (?:put|where it is)|"
    r"(?:stay(?:s|ed)?|remain(?:s|ed)?|holds?|held|keeps?|kept) "
    r"(?:in place|still|stationary|(?:its )?(?:position|place))",
}
MOVEMENT: Final = re.compile("|".join(rf"\b(?P<{n.replace(' ', '_')}>{p})\b" for n, p in PHRASES.items()))
# In a question that asks for what might be.
SUPPOSING: Final = re.compile(r"\b(?:if|instead|rather than|suppos(?:e|ed|ing)|imagine|would|could|should|might)\b")
ABSOLUTE: Final = re.compile(
    r"\b(?:(?:north|south)[- ]?(?:east|west)|north|south|east|west)(?:ern|erly|wards?|bound)?\b", re.IGNORECASE
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
    one = without_plural(word)
    return SAME_NOUN.get(one, one)


def absolute(text: str, names: Iterable[str]) -> list[str]:
    """Points of the compass that a text names, other than in the given names."""
    return [match[0].lower() for match in ABSOLUTE.finditer(without(text, names))]


def without(text: str, names: Iterable[str]) -> str:
    """A text with names blotted out, the longest first; its length stays."""
    for name in sorted(filter(None, names), key=lambda name: (-len(name), name)):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda m: "_" * len(m[0]), text, flags=re.IGNORECASE)
    return text


def things(text: str, names: Iterable[str]) -> list[str]:
    """Things that a text names: nouns of `THINGS` with their colour, and proper names within a sentence."""
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
