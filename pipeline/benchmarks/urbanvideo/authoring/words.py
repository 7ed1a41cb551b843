"""Parses a text: its movements in order, its directions, the things it names, and whether two texts agree.

The words that it knows: things of a town (a table), and movements and directions, as patterns.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

from pipeline.core.templates import load_table, without_plural

_TABLE: Final = load_table("urbanvideo/words")


def _listed(name: str) -> frozenset[str]:
    """The words of one list of the table."""
    return frozenset(_TABLE[name].split())


NUMBERS: Final[list[str]] = _TABLE["numbers"].split()  # their place is their value
NUMBER_OF: Final[dict[str, int]] = _TABLE["tens"]
TIMES_OF: Final[dict[str, int]] = _TABLE["times"]
UNITS: Final[dict[str, tuple[str, float]]] = {unit: tuple(one) for unit, one in _TABLE["units"].items()}
FILLERS: Final = _listed("fillers")
ACTORS: Final = _listed("actors")
COLOURS: Final = _listed("colours")
LOOKS: Final = COLOURS | _listed("looks")
THINGS: Final = _listed("things")
PARTS: Final = _listed("parts")
BUILDINGS: Final = _listed("buildings")
SAME_NOUN: Final[dict[str, str]] = _TABLE["same_noun"]
DRONE: Final = r"(?:the |our )?(?:drone|uav|agent|quadcopter|aircraft)(?:'s)?"

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
# What a text's movement may be among observed ones: "flies left" is also said of a turn.
MEANT: Final[dict[str, tuple[str, ...]]] = {name: (name,) for name in PHRASES} | {
    "turn around": ("turn left", "turn right"),
    "fly left": ("fly left", "turn left"),
    "fly right": ("fly right", "turn right"),
    "hover": ("hover", "stay in place"),
}
# Movements of any side.
ANY_SIDE: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (re.compile(r"\b(?:turn|rotat|yaw)(?:s|e|es|ed|ing)?\b"), ("turn left", "turn right")),
    (re.compile(r"\b(?:tilt(?:s|ed|ing)?)\b"), ("gimbal up", "gimbal down")),
)
# Said of what did not happen, has not yet, or need not have: "would turn left", "never ascends", "ready to descend".
UNREAL: Final = re.compile(
    r"\b(?:would|could|can|cannot|may|might|should|must|will|if|instead|unless|rather than|not|never|without|"
    r"avoid(?:s|ed|ing)?|no|ready|until|next|prepar(?:e|es|ed|ing))\b|n't\b"
)
# In a question that asks for what might be.
SUPPOSING: Final = re.compile(r"\b(?:if|instead|rather than|suppos(?:e|ed|ing)|imagine|would|could|should|might)\b")
CLAUSE: Final = re.compile(r"[,.;:]|\b(?:and|but|then|because|so that|while)\b")

_POINTS: Final = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
COMPASS: Final = {point: 45.0 * n for n, point in enumerate(_POINTS)}
_POINT: Final = r"(?P<point>(?:north|south)[- ]?(?:east|west)|north|south|east|west)"
ABSOLUTE: Final = re.compile(rf"\b{_POINT}(?:ern|erly|wards?|bound)?\b", re.IGNORECASE)
# Absolute directions that can be said from the drone: where something lies, and where the drone flies.
PLACED: Final = re.compile(
    rf"(?:\b(?:to|on|in|towards?) (?:the )?)?\b{_POINT}(?: side)?"
    rf"(?: of {DRONE}|(?=\s*(?:[,.;?!]|$)| (?:and|or|at|when|while|than|after)\b))",
    re.IGNORECASE,
)
FLOWN: Final = re.compile(rf"(?P<go>\b{_GO}) (?:(?:to|towards?) )?(?:the )?{_POINT}(?:wards?)?\b(?! of)", re.IGNORECASE)
# Before a compass point: it is turned to, and not a place or a way flown.
FACING: Final = re.compile(rf"\b(?:{_TURN}|{_TILT}|fac(?:e|es|ed|ing)|orient(?:s|ed|ing)?) *$", re.IGNORECASE)
SIDES: Final = {"ahead": 0.0, "right": 90.0, "behind": 180.0, "left": 270.0}  # clockwise from the nose
PLACED_AS: Final[dict[str, str]] = {
    "ahead": "ahead of the drone",
    "right": "to the right of the drone",
    "behind": "behind the drone",
    "left": "to the left of the drone",
}
FLOWN_AS: Final[dict[str, str]] = {"ahead": "forward", "right": "right", "behind": "backward", "left": "left"}
_HAND: Final = (
    r"\b(?:to|on) (?:the|its|{drone}) {side}(?:[- ]hand)?(?: side)?(?! of| side)|\b{side}(?: side)? of {drone}"
)
SIDE: Final = re.compile(
    "|".join(
        [
            rf"(?P<ahead>\bahead(?! of)|\bin front(?! of)|\b(?:ahead|in front) of {DRONE})",
            rf"(?P<behind>\bbehind (?:it|{DRONE})\b|\bbehind(?=\s*(?:[,.;]|$)))",
            f"(?P<left>{_HAND.format(side='left', drone=DRONE)})",
            f"(?P<right>{_HAND.format(side='right', drone=DRONE)})",
        ]
    )
)
SEEN: Final = re.compile(
    r"\b(?:see[sn]?|saw|visible|in(?:to)? (?:the )?(?:field of )?(?:view|sight)|appears?|observes?|observed)\b"
)


_AFTER: Final = re.compile(r"(?<=\w),? (?<!then )(?<!and )(?:after|once|preceded by)\b")
_PURPOSE: Final = re.compile(r"\bto(?: \w+ly)? *$")  # "in order to ascend"
_MOVE_TO: Final = re.compile(
    r"\b(?:movement|motion|moves?|turns?|shifts?|flight|drift|swings?|steps?|bend)(?: sideways)? "
    r"to (?:the|its) (?:left|right)"
)
_EARLIER: Final = re.compile(r"\b(?:had|having)\b")
_ORDERED: Final = re.compile(r"\b(?:after|before|then|once)\b")


def normalized(text: str) -> str:
    """A text in one case, with plain quotes and single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text in one form each: no case, articles, plurals or punctuation, one word per movement."""
    flat = MOVEMENT.sub(lambda match: f" {match.lastgroup} ", normalized(text)).replace("'s", "")
    words = (singular(word) for word in re.findall(r"\w+(?:[-.]\w+)*", flat))
    return tuple(
        str(NUMBERS.index(word)) if word in NUMBERS else word for word in words if word not in FILLERS | ACTORS
    )


def singular(word: str) -> str:
    """An English noun without its plural, and one word for those that name the same."""
    one = without_plural(word)
    return SAME_NOUN.get(one, one)


def movements(text: str) -> list[str]:
    """Movements that a text says were made, first things first ("B after A" is A, B); supposed ones are left out."""
    return [movement for sentence in re.split(r"[.;]\s", normalized(text)) for movement in _made(sentence)]


def stories(text: str) -> list[list[str]]:
    """Movements that a text puts in an order, in that order. Reasons tell none ("it turned, since it had climbed")."""
    found = []
    for sentence in re.split(r"[.;?]\s*|\b(?:because|since|so|which|that|where|in order)\b", normalized(text)):
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
    still = _MOVE_TO.sub("", MOVEMENT.sub("", normalized(text)))
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
