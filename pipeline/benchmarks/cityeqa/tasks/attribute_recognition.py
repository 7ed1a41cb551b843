"""Attribute Recognition: the colour of things and of roofs, and the shape of roofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.cityeqa.answers import CLOSED
from pipeline.benchmarks.cityeqa.kinds import SHOP
from pipeline.benchmarks.cityeqa.raw import Raw
from pipeline.benchmarks.cityeqa.tasks.answers import colours_of, parts
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.rules import rule
from pipeline.worlds.city.facts import BUILDING

SHAPES: Final = ("domed", "flat", "pitched", "pointed", "rounded")


class AttributeRecognition(EqaTask):
    """What is known of a thing surely; what the map does not tell is not asked."""

    name = "Attribute Recognition"
    parts = parts("ask_colour", "ask_roof_colour", "ask_roof_shape")

    def raws(self, view: CityView) -> Iterator[Raw]:
        """Of all things whose colour may be known the colour, of buildings colour and shape of the roof too."""
        for kind in sorted({thing.kind for thing in view.things if thing.colour is not None}):
            own = view.of_kind(kind).tolist()
            colours = colours_of(view, own)
            for i in own:
                if kind != SHOP:  # a shop's colour is its signboard's, and that is a thing of its own
                    yield _colour(view, i, colours)
        buildings = view.of_kind(BUILDING).tolist()
        roofs = colours_of(view, buildings, roof=True)
        for i in buildings:
            thing = view.things[i]
            if thing.roof_colour is not None:
                yield _roof(view, i, "roof colour", "ask_roof_colour", thing.roof_colour, roofs)
            if thing.roof_shape is not None:
                yield _roof(view, i, "roof shape", "ask_roof_shape", thing.roof_shape, SHAPES)


def _colour(view: CityView, i: int, colours: tuple[str, ...]) -> Raw:
    thing = view.things[i]
    return Raw(
        kind=f"colour of a {thing.kind}",
        target=i,
        operands=(thing.id,),
        phrases=view.phrases(i, hide=("colour", "sign")),
        part="ask_colour",
        answer=thing.colour or "",
        others=colours,
        answer_type=CLOSED,
        shown=(i,),
        pixels_min=view.rules.pixels_min,
        checks=(
            rule("colour_unknown", float(thing.colour is not None), ">=", 1, "colours"),
            rule("other_colours", len(set(colours) - {thing.colour}), ">=", 1, "colours"),
        ),
    )


def _roof(view: CityView, i: int, kind: str, part: str, answer: str, others: tuple[str, ...]) -> Raw:
    thing = view.things[i]
    top_m = thing.top_m if thing.top_m is not None else (thing.height_m or float("inf"))
    return Raw(
        kind=kind,
        target=i,
        operands=(thing.id,),
        phrases=view.phrases(i),
        part=part,
        answer=answer,
        others=others,
        answer_type=CLOSED,
        shown=(i,),
        pixels_min=view.rules.pixels_min,
        checks=(
            # The walls are all that is seen of a house from below its eaves.
            rule("roof_above_the_agent", max(view.city.slabs_m) - top_m, ">=", 0, "m"),
        ),
        z_min_m=top_m,
    )
