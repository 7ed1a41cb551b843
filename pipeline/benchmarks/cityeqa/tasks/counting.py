"""Counting: things in a place or around something, all of them in view; and the storeys of a building."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.benchmarks.cityeqa.answers import NUMBER
from pipeline.benchmarks.cityeqa.raw import NUMBERS, Raw
from pipeline.benchmarks.cityeqa.tasks.answers import numbers_to, parts, plural
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask
from pipeline.benchmarks.cityeqa.tasks.gathered import ASKED, Gathered, gathered
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.facts import BUILDING


class Counting(EqaTask):
    """Counts where the map is declared complete for what is counted; storeys where the map has them."""

    name = "Counting"
    about = frozenset({*ASKED, BUILDING})
    parts = parts("ask_count_in", "ask_count_near", "ask_count_front", "ask_levels")

    def raws(self, view: CityView) -> Iterator[Raw]:
        """Every place with what is counted there; every building of which the storeys are known."""
        for found in gathered(view):
            if found.things or found.checks[0].holds:
                yield _count(view, found)
        for i in view.targets(BUILDING):
            if view.things[i].levels is not None:
                yield _storeys(view, i)


def _count(view: CityView, found: Gathered) -> Raw:
    place, n, most = view.things[found.at], len(found.things), view.rules.count_max
    near = found.near_m is not None
    fields = {"things": plural(found.kind)} | ({"metres": str(found.near_m)} if near else {})
    return Raw(
        kind=f"{plural(found.kind)} {'in front of' if found.front else found.where} a {place.kind}",
        target=found.at,
        operands=(place.id, found.kind, str(found.near_m or found.where)),
        phrases=view.phrases(found.at),
        part=f"ask_count_{found.where}",
        fields=fields,
        answer=NUMBERS[min(n, len(NUMBERS) - 1)],
        others=numbers_to(most),
        answer_type=NUMBER,
        shown=(found.at, *found.things),
        pixels_min=view.rules.pixels_min // 4,  # a thing is told from others by fewer than it is looked at by
        about=found.things,
        checks=(
            *found.checks,
            rule("none_there", n, ">=", 1, "things"),
            rule("too_many", n, "<=", most, "things"),
            Measure("count", n, "things", subject=found.kind),
        ),
    )


def _storeys(view: CityView, i: int) -> Raw:
    thing = view.things[i]
    levels = thing.levels or 0.0
    return Raw(
        kind="storeys",
        target=i,
        operands=(thing.id,),
        phrases=view.phrases(i),
        part="ask_levels",
        answer=NUMBERS[min(int(levels), len(NUMBERS) - 1)],
        others=numbers_to(view.rules.count_max),
        answer_type=NUMBER,
        shown=(i,),
        pixels_min=view.rules.pixels_min,
        checks=(
            rule("half_storeys", levels % 1, "<=", 0, "storeys"),
            rule("too_many", levels, "<=", view.rules.count_max, "storeys"),
        ),
    )
