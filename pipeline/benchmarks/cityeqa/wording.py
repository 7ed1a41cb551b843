"""The wording of a task: where its target is, landmark by landmark, and the question about it.

"There is a church to the north of you. To the east of the church, there is a bakery. Please tell me What is the name
of the bakery?" Every question of the release has this form with one landmark between; one to three hops are ours, and
so are "Find the tallest building to the north of you." and what lies about a street: "Across the street from …".
`render` and `parse` are inverse to each other, so that the text alone can be run as a query (`query`).

Things are called by a `Phrase`: "a red car", "a shop with a blue signboard", "a building at the corner of two streets".
It too is written from what it says and read back into it, and says of every thing of a map whether it fits
(`query.Query.fit`). What a phrase leaves open (no colour) holds for all.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pipeline.core.errors import TemplateError
from pipeline.core.templates import Noun, Operands, load_table, load_template
from pipeline.geometry.colours import WORDS
from pipeline.reading.maps.city_thing import SHOP

SIGNBOARD: Final = "signboard"
KINDS: Final = load_table("cityeqa/kinds")
LANDMARKS: Final = frozenset(KINDS["landmarks"])
# What a phrase of the text may mean, so that whatever lies of it is thought of: a bank is in a building, and is a shop.
ANCHORS: Final = LANDMARKS | {SHOP}
NO_BUSINESSES: Final = frozenset(KINDS["no_businesses"])
BUSINESS: Final = "business"  # shop, bank or hotel: what a text calls premises whose sort it does not say


COLOURS: Final = tuple(WORDS)
PHRASES: Final = tuple(f"cityeqa/parts/{name}" for name in ("plain", "coloured", "named", "signed", "cornered"))
_PLAIN, _COLOURED, _NAMED, _SIGNED, _CORNERED = PHRASES
_ORDER: Final = (_NAMED, _SIGNED, _CORNERED, _COLOURED, _PLAIN)  # the last fits every phrase


@lru_cache
def wordings(part: str) -> tuple[str, ...]:
    """Templates of all wordings of a question: ``ask_name``, ``ask_name_2`` and so on. Raises TemplateError if none."""
    found = [f"cityeqa/parts/{part}"]
    load_template(found[0])
    try:
        while True:
            name = f"{found[0]}_{len(found) + 1}"
            load_template(name)
            found.append(name)
    except TemplateError:
        return tuple(found)


@dataclass(frozen=True, order=True)
class Phrase:
    """The words for a thing. ``noun`` is its kind or a narrower word for it.

    Attributes:
        sign: colour of its signboard.
        corner: whether it stands at the corner of two streets.
    """

    noun: str
    colour: str | None = None
    sign: str | None = None
    name: str | None = None
    corner: bool = False

    def __str__(self) -> str:
        """The phrase with its article: "a red car". Raises TemplateError where it would read in two ways."""
        return _text(self)

    @property
    def definite(self) -> str:
        """The phrase where the thing was named before: "the red car"."""
        return "the " + str(self).partition(" ")[2]

    @property
    def is_sayable(self) -> bool:
        """Whether it reads in one way."""
        try:
            return bool(str(self))
        except TemplateError:
            return False

    def template_and_fields(self) -> tuple[str, Operands]:
        """Its template and what its fields hold."""
        if self.name is not None:
            return _NAMED, {"noun": self.noun, "name": self.name}
        if self.sign is not None:
            return _SIGNED, {"noun": self.noun, "colour": self.sign}
        if self.corner:
            return _CORNERED, {"noun": self.noun}
        if self.colour is not None:
            return _COLOURED, {"colour": self.colour, "noun": self.noun}
        return _PLAIN, {"noun": self.noun}


@lru_cache(maxsize=1 << 16)
def _text(parts: Phrase) -> str:
    template, fields = parts.template_and_fields()
    text = load_template(template).render(fields)
    if phrase(text) != parts:
        raise TemplateError(f"{text!r} reads in two ways")
    return text


def phrase(text: str) -> Phrase | None:
    """The phrase that a text with its article is; None for a text that is none."""
    for template in _ORDER:
        found = load_template(template).parse(text)
        if found is None:
            continue
        fields = {name: str(value) for name, value in found.items()}
        if template == _NAMED:
            return Phrase(fields["noun"], name=fields["name"])
        if template == _CORNERED:
            return Phrase(fields["noun"], corner=True)
        colour = fields.get("colour")
        if colour is not None and colour not in COLOURS:
            continue
        return Phrase(fields["noun"], sign=colour) if template == _SIGNED else Phrase(fields["noun"], colour)
    return None


DIRECTIONS: Final = ("north", "east", "south", "west")  # of the agent or a landmark; yaw 0, 90, 180, 270
FRONT, BEHIND, ACROSS, SAME_SIDE = STREETWISE = ("front", "behind", "across", "same side")
RELATIONS: Final = (*DIRECTIONS, *STREETWISE)  # of what a hop leads to, to the landmark before it
MOSTS: Final = ("tallest", "largest", "nearest")  # of all that lie in a direction of the agent
FIRST: Final = "cityeqa/parts/first"
MOST: Final = "cityeqa/parts/most"
NEXT: Final = "cityeqa/parts/next"
_STREET_PARTS: Final = {
    FRONT: "cityeqa/parts/next_front",
    BEHIND: "cityeqa/parts/next_behind",
    ACROSS: "cityeqa/parts/next_across",
    SAME_SIDE: "cityeqa/parts/next_same_side",
}
ASK: Final = "cityeqa/parts/ask"
PARTS: Final = (*PHRASES, FIRST, MOST, NEXT, *_STREET_PARTS.values(), ASK)
_BETWEEN: Final = re.compile(
    r"(?<=\.)\s+(?=To the |In front of |Behind |Across the street from |On the same side of the street as "
    r"|Please tell me )"
)


@dataclass(frozen=True)
class HopText:
    """Something in a direction of the agent (the first) or of what the hop before leads to (all others).

    Attributes:
        direction: one of `RELATIONS`; of the first hop one of `DIRECTIONS`.
        landmark: with its article, as it is introduced: "a church".
        most: one of `MOSTS`, of the first hop: which of those that lie there; empty: any.
    """

    direction: str
    landmark: str
    most: str = ""


@dataclass(frozen=True)
class TaskText:
    """The content of a task's text: the last hop leads to the target, which the question is about."""

    hops: tuple[HopText, ...]
    question: str


def definite(landmark: str) -> str:
    """A landmark as it is called when it was introduced before: "the church"."""
    article, _, rest = landmark.partition(" ")
    return f"the {rest}" if article in ("a", "an") else landmark


def render(told: TaskText) -> str:
    """The text. Raises TemplateError where `parse` would read something else in it."""
    sentences = [_first(told.hops[0])]
    for before, hop in zip(told.hops, told.hops[1:], strict=False):
        fields = {"anchor": definite(before.landmark), "landmark": hop.landmark}
        part = _STREET_PARTS.get(hop.direction, NEXT)
        sentences.append(
            load_template(part).render({**fields, "direction": hop.direction} if part == NEXT else {**fields})
        )
    sentences.append(load_template(ASK).render({"question": told.question}))
    text = " ".join(sentences)
    if parse(text) != told:
        raise TemplateError(f"{text!r} reads in two ways")
    return text


def _first(hop: HopText) -> str:
    if not hop.most:
        return load_template(FIRST).render({"landmark": hop.landmark, "direction": hop.direction})
    bare = definite(hop.landmark).partition(" ")[2]
    return load_template(MOST).render({"most": hop.most, "landmark": bare, "direction": hop.direction})


def parse(text: str) -> TaskText | None:
    """The content of a text; None for one that is of another form, or whose anchors are not what it introduced."""
    *sentences, last = _BETWEEN.split(" ".join(text.split()))
    asked = load_template(ASK).parse(last)
    if asked is None or not sentences:
        return None
    first = _read_first(sentences[0])
    if first is None:
        return None
    hops = [first]
    for sentence in sentences[1:]:
        hop = _read_next(sentence, definite(hops[-1].landmark))
        if hop is None:
            return None
        hops.append(hop)
    return TaskText(tuple(hops), str(asked["question"]))


def _read_first(sentence: str) -> HopText | None:
    found = load_template(FIRST).parse(sentence)
    if found is not None and found["direction"] in DIRECTIONS:
        return HopText(str(found["direction"]), str(found["landmark"]))
    found = load_template(MOST).parse(sentence)
    if found is None or found["direction"] not in DIRECTIONS or found["most"] not in MOSTS:
        return None
    bare = Noun(str(found["landmark"]))
    return HopText(str(found["direction"]), f"{bare.a} {bare}", str(found["most"]))


def _read_next(sentence: str, anchor: str) -> HopText | None:
    """A hop from what the text introduced before it."""
    found = load_template(NEXT).parse(sentence)
    relation = str(found["direction"]) if found is not None else ""
    if relation not in DIRECTIONS:
        for relation, part in _STREET_PARTS.items():  # noqa: B007 - the one that it is stays
            if (found := load_template(part).parse(sentence)) is not None:
                break
    if found is None or found["anchor"] != anchor:
        return None
    return HopText(relation, str(found["landmark"]))
