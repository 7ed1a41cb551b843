"""World Knowledge: what one can do in a shop. What is seen there tells its sort, and everybody knows what that is for.

Other questions of this category, such as whether a shop is open, a model writes (stage `author`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pipeline.benchmarks.cityeqa.raw import YES_NO, YES_OR_NO, RawQuestion
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask, name_flags, parts, question_about
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import NO_SHOPS, SHOP
from pipeline.core.templates import load_table
from pipeline.questions.rules import rule

# What one can do in shops of some sorts, and in which others perhaps, of which it is not asked; surely in no other.
USES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    use: (tuple(sorts["has"]), tuple(sorts["may"])) for use, sorts in load_table("cityeqa/uses").items()
}


class WorldKnowledge(EqaTask):
    """Each use is asked as often of a shop that has it as of one that has not."""

    name = "World Knowledge"
    about = frozenset({SHOP})
    parts = parts("ask_use")

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
        """Every shop of a known sort with every use that it surely has or has not."""
        for i in view.targets(SHOP):
            thing, text = view.things[i], view.read(i)
            for use, (has, may) in USES.items():
                if thing.noun == SHOP or thing.noun in may:
                    continue
                yield question_about(
                    view,
                    i,
                    kind="use",
                    operands=(use,),
                    phrases=view.unsorted_phrases(i),
                    part="ask_use",
                    fields={"use": use},
                    answer=YES_NO[0] if thing.noun in has else YES_NO[1],
                    others=YES_NO,
                    answer_type=YES_OR_NO,
                    pixels_min=view.rules.read_pixels_min,
                    even=use,
                    checks=(
                        rule("is_no_shop", float(thing.noun in NO_SHOPS), "<=", 0, "sorts"),
                        rule("shows_what_it_is", float(text is not None), ">=", 1, "names"),
                    ),
                    flags=name_flags(thing),
                )
