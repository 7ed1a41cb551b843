"""Object Recognition: what a thing is, and what it is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.cityeqa.answers import CLOSED, OPEN
from pipeline.benchmarks.cityeqa.kinds import SHOP, SIGNBOARD
from pipeline.benchmarks.cityeqa.raw import Raw
from pipeline.benchmarks.cityeqa.tasks.answers import others_of, parts
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.rules import rule

NOUNS: Final = 9  # other sorts of shops that are offered to who guesses


class ObjectRecognition(EqaTask):
    """The name that can be read on a shop or signboard, and the sort of a shop that is only called one."""

    name = "Object Recognition"
    parts = parts("ask_name", "ask_sign", "ask_noun")

    def raws(self, view: CityView) -> Iterator[Raw]:
        """Of every shop its name and its sort, of every signboard what is written there."""
        shops = view.of_kind(SHOP).tolist()
        names = {i: view.read(i) for i in shops}
        nouns = sorted({view.things[i].noun for i in shops} - {SHOP})
        for i in shops:
            thing = view.things[i]
            flags = () if thing.sign else ("name_as_sign",)
            yield Raw(
                kind="name",
                target=i,
                operands=(thing.id,),
                phrases=view.phrases(i, hide=("name",)),
                part="ask_name",
                answer=names[i] or "",
                others=others_of(view, i, [n for n in names.values() if n], 3, "name"),
                answer_type=OPEN,
                shown=(i,),
                pixels_min=view.rules.read_pixels_min,
                checks=(
                    rule("no_name_to_read", float(names[i] is not None), ">=", 1, "names"),
                    rule("name_says_what_it_is", _says(names[i], thing.noun), "<=", 0, "words"),
                ),
                flags=flags,
            )
            if thing.noun != SHOP:
                yield Raw(
                    kind="sort",
                    target=i,
                    operands=(thing.id,),
                    phrases=view.phrases(i, hide=("noun", "name")),
                    part="ask_noun",
                    fields={"general": SHOP},
                    answer=thing.noun,
                    others=others_of(view, i, nouns, NOUNS, "noun"),
                    answer_type=CLOSED,
                    shown=(i,),
                    pixels_min=view.rules.read_pixels_min,
                    checks=(
                        rule("other_sorts", len(nouns) - 1, ">=", 1, "sorts"),
                        rule("shows_what_it_is", float(names[i] is not None), ">=", 1, "names"),
                    ),
                    flags=flags,
                )
        boards = view.of_kind(SIGNBOARD).tolist()
        written = [text for i in boards if (text := view.read(i))]
        for i in boards:
            text = view.read(i)
            yield Raw(
                kind="sign",
                target=i,
                operands=(view.things[i].id,),
                phrases=view.phrases(i),
                part="ask_sign",
                answer=text or "",
                others=others_of(view, i, written, 3, "sign"),
                answer_type=OPEN,
                shown=(i,),
                pixels_min=view.rules.read_pixels_min,
                checks=(rule("no_name_to_read", float(text is not None), ">=", 1, "names"),),
            )


def _says(name: str | None, noun: str) -> float:
    """How many words of a noun a name holds: who reads the question would guess them."""
    words = set((name or "").casefold().split())
    return float(len(words & set(noun.casefold().split())))
