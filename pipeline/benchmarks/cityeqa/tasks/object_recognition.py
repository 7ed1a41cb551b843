"""Object Recognition: what a shop is, and what a signboard says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.cityeqa.answers import CLOSED, OPEN
from pipeline.benchmarks.cityeqa.kinds import NO_SHOPS, SHOP, SIGNBOARD
from pipeline.benchmarks.cityeqa.raw import Raw
from pipeline.benchmarks.cityeqa.tasks.answers import known_of, others_of, parts
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.rules import rule

NOUNS: Final = 9  # other sorts of shops that are offered to who guesses


class ObjectRecognition(EqaTask):
    """The sort of a shop that is only called one, and what is written on a signboard."""

    name = "Object Recognition"
    about = frozenset({SHOP, SIGNBOARD})
    parts = parts("ask_sign", "ask_noun")

    def raws(self, view: CityView) -> Iterator[Raw]:
        """Of every shop its sort, of every signboard what is written there."""
        shops = view.of_kind(SHOP).tolist()
        names = {i: view.read(i) for i in shops}
        nouns = sorted({view.things[i].noun for i in shops} - {SHOP} - NO_SHOPS)
        for i in view.targets(SHOP):
            thing = view.things[i]
            flags = () if thing.sign else ("name_as_sign",)
            if thing.noun != SHOP:
                yield Raw(
                    kind="sort",
                    target=i,
                    operands=(thing.id,),
                    phrases=view.unsorted_phrases(i),
                    part="ask_noun",
                    fields={"general": SHOP},
                    answer=thing.noun,
                    others=others_of(view, i, nouns, NOUNS, "noun"),
                    answer_type=CLOSED,
                    shown=(i,),
                    pixels_min=view.rules.read_pixels_min,
                    checks=(
                        rule("is_no_shop", float(thing.noun in NO_SHOPS), "<=", 0, "sorts"),
                        rule("other_sorts", len(nouns) - 1, ">=", 1, "sorts"),
                        rule("shows_what_it_is", float(names[i] is not None), ">=", 1, "names"),
                    ),
                    flags=flags,
                )
        boards = view.of_kind(SIGNBOARD).tolist()
        written = known_of(view.read(i) for i in boards)
        for i in view.targets(SIGNBOARD):
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
