"""What else could be answered, and the templates that a category uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pipeline.benchmarks.cityeqa import phrases, wording
from pipeline.benchmarks.cityeqa.raw import NUMBERS
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.core.identity import rng_for
from pipeline.metrics.number_words import normalised


def parts(*asks: str) -> tuple[str, ...]:
    """Paths of the templates that texts with some questions are put together from."""
    return (*phrases.PARTS, *wording.PARTS, *(f"cityeqa/parts/{ask}" for ask in asks))


def known_of(answers: Iterable[str | None]) -> tuple[str, ...]:
    """The different ones of some answers, in alphabetical order; of "UBS" and "ubs" the first."""
    found: dict[str, str] = {}
    for answer in sorted({answer for answer in answers if answer}):
        found.setdefault(normalised(answer), answer)
    return tuple(found.values())


def others_of(view: CityView, i: int, known: Sequence[str], most: int, what: str) -> tuple[str, ...]:
    """At most so many of some different answers, drawn for a thing; the truth may be among them."""
    if len(known) <= most:
        return tuple(known)
    drawn = rng_for(view.scene.id, view.things[i].id, what, "others").choice(len(known), most, replace=False)
    return tuple(known[k] for k in sorted(drawn.tolist()))


def colours_of(view: CityView, things: Collection[int], roof: bool = False) -> tuple[str, ...]:
    """The colours that some things have, in alphabetical order."""
    found = {view.things[i].roof_colour if roof else view.things[i].colour for i in things}
    return tuple(sorted(colour for colour in found if colour is not None))


def numbers_to(most: int) -> tuple[str, ...]:
    """The numbers from one on, as words."""
    return NUMBERS[1 : most + 1]


def plural(noun: str) -> str:
    """Several of a kind."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
