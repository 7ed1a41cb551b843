"""Existence Judgement: whether there is anything of a sort in a place or around something."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.benchmarks.cityeqa.answers import YES_NO as YES_OR_NO
from pipeline.benchmarks.cityeqa.phrases import COLOURS, Phrase
from pipeline.benchmarks.cityeqa.raw import YES_NO, Raw
from pipeline.benchmarks.cityeqa.tasks.answers import parts
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask
from pipeline.benchmarks.cityeqa.tasks.gathered import ASKED, Gathered, gathered
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.rules import Measure, rule


class Existence(EqaTask):
    """Both answers only where the map has every thing of the kind; each sort is as often there as it is not."""

    name = "Existence Judgement"
    about = ASKED
    parts = parts("ask_exists_in", "ask_exists_near", "ask_exists_front")

    def raws(self, view: CityView) -> Iterator[Raw]:
        """Every place with every kind, and every colour that things of the kind have somewhere in the city."""
        seen = {(t.kind, t.colour) for t in view.things if t.colour in COLOURS}
        colours = {kind: sorted(colour for of, colour in seen if of == kind and colour) for kind, _ in seen}
        for found in gathered(view):
            for colour in (None, *colours.get(found.kind, ())):
                yield _exists(view, found, Phrase(found.kind, colour))


def _exists(view: CityView, found: Gathered, asked: Phrase) -> Raw:
    place, near = view.things[found.at], found.near_m is not None
    said = str(asked).partition(" ")[2]
    those = [i for i in found.things if asked.colour is None or view.things[i].colour == asked.colour]
    unknown = [i for i in found.things if asked.colour is not None and view.things[i].colour is None]
    return Raw(
        kind="any",
        target=found.at,
        operands=(place.id, said, str(found.near_m or found.where)),
        phrases=view.phrases(found.at),
        part=f"ask_exists_{found.where}",
        fields={"thing": said} | ({"metres": str(found.near_m)} if near else {}),
        answer=YES_NO[0] if those else YES_NO[1],
        others=YES_NO,
        answer_type=YES_OR_NO,
        shown=(found.at, *those[:1]) if those else (found.at, *found.things),
        pixels_min=view.rules.pixels_min // 4,
        about=found.things,
        even=f"{said} {found.said(place.kind)}",  # farther about there is more
        checks=(
            *found.checks,
            rule("colour_unknown", len(unknown), "<=", 0, "things"),
            Measure("count", len(those), "things", subject=said),
        ),
    )
