"""Noun phrases of a city: "a red car", "a shop with a blue signboard", "a building at the corner of two streets".

A phrase is written from what it says and read back into it, and says of every thing of a map whether it fits
(`query.fits`). What a phrase leaves open (no colour) holds for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pipeline.core.errors import TemplateError
from pipeline.core.templates import Operands, load_template
from pipeline.geometry.colours import WORDS

COLOURS: Final = tuple(WORDS)
PARTS: Final = tuple(f"cityeqa/parts/{name}" for name in ("plain", "coloured", "named", "signed", "cornered"))
_PLAIN, _COLOURED, _NAMED, _SIGNED, _CORNERED = PARTS
_ORDER: Final = (_NAMED, _SIGNED, _CORNERED, _COLOURED, _PLAIN)  # the last fits every phrase


@dataclass(frozen=True, order=True)
class Phrase:
    """What is said of a thing. ``noun`` is its kind or a narrower word for it.

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

    def said(self) -> tuple[str, Operands]:
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
def _text(said: Phrase) -> str:
    template, fields = said.said()
    text = load_template(template).render(fields)
    if phrase(text) != said:
        raise TemplateError(f"{text!r} reads in two ways")
    return text


def phrase(text: str) -> Phrase | None:
    """What a phrase with its article says; None for a text that is none."""
    for template in _ORDER:
        found = load_template(template).parse(text)
        if found is None:
            continue
        said = {name: str(value) for name, value in found.items()}
        if template == _NAMED:
            return Phrase(said["noun"], name=said["name"])
        if template == _CORNERED:
            return Phrase(said["noun"], corner=True)
        colour = said.get("colour")
        if colour is not None and colour not in COLOURS:
            continue
        return Phrase(said["noun"], sign=colour) if template == _SIGNED else Phrase(said["noun"], colour)
    return None
