"""Spatial questions about streets and heights: the same side, across, in front or behind, the tallest about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np

from pipeline.benchmarks.cityeqa.extra_starts import others as named
from pipeline.benchmarks.cityeqa.query import MOST_TIMES
from pipeline.benchmarks.cityeqa.raw import OPEN, YES_NO, YES_OR_NO, RawQuestion
from pipeline.benchmarks.cityeqa.tasks.base import known_of, name_flags, name_known, others_of, question_about
from pipeline.benchmarks.cityeqa.tasks.counting import complete
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import ACROSS, BEHIND, DIRECTIONS, FRONT, SHOP, Phrase
from pipeline.core.arrays import IntArray
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.occluders import UNBOUNDED_M

ENDS: Final = ("in front of it", "behind it")
AROUND_M: Final = 50.0  # about a thing, of which the tallest building is asked
NAMES: Final = 3  # other names that are offered to who guesses


def across(view: CityView) -> Iterator[RawQuestion]:
    """The name of the only shop across the street from a shop, where all shops are known."""
    shops = view.of_kind(SHOP)
    names = known_of(view.read(j) for j in shops.tolist())
    for i in view.targets(SHOP):
        near = view.among(view.around(i, 1.1 * view.rules.next_reach_m), SHOP)
        if not len(near) or view.query.fronts.line[i] < 0:
            continue
        pairs = view.query.relations.between(i, near)
        sure, maybe = view.query.streetwise.holds(ACROSS, pairs)
        if not sure.any():
            continue
        j = int(near[np.argmin(np.where(sure, pairs.distance_m, np.inf))])
        text = view.read(j)
        unit = f"shops: {named(view, near[maybe].tolist())}"
        yield question_about(
            view,
            i,
            kind="across",
            part="ask_across_name",
            fields={"thing": SHOP},
            answer=text or "",
            others=others_of(view, j, names, NAMES, "across"),
            answer_type=OPEN,
            shown=(j,),  # it faces the other way
            about=(j,),
            checks=(
                complete(view, SHOP),
                rule("several_across", float(maybe.sum()), "<=", 1, unit),
                name_known(text),
                Measure("distance", float(pairs.distance_m[near == j][0]), "m", subject=view.things[j].id),
            ),
            flags=name_flags(view.things[j]),
        )


def street_questions(view: CityView, i: int, near: list[int], lone: Mapping[int, Phrase]) -> Iterator[RawQuestion]:
    """Whether things about are on the same side of the street, and whether they lie in front or behind."""
    if not near or not len(view.query.lines.shapes):
        return
    others = np.array(near, dtype=np.intp)
    pairs = view.query.relations.between(i, others)
    fronts = view.query.fronts
    ahead_or_behind = [view.query.streetwise.holds(end, pairs)[0] for end in (FRONT, BEHIND)]
    one_street = (fronts.line[others] == fronts.line[i]) & (fronts.line[i] >= 0)
    same = fronts.side[others] * fronts.side[i] > 0
    for k, j in enumerate(near):
        ask = partial(
            question_about,
            view,
            i,
            fields={"other": lone[j].definite},
            pixels_min=view.rules.pixels_min // 2,
            about=(j,),
        )
        yield ask(
            kind="same side",
            part="ask_same_side",
            answer=YES_NO[0] if same[k] else YES_NO[1],
            others=YES_NO,
            answer_type=YES_OR_NO,
            checks=(
                rule("side_of_the_street_unsure", float((fronts.side[[i, j]] == 0).sum()), "<=", 0, "things"),
                rule("no_one_street", float(one_street[k]), ">=", 1, "streets of both"),
                Measure("distance", float(pairs.distance_m[k]), "m", subject=view.things[j].id),
            ),
        )
        off = float(view.query.streetwise.off_front_deg(np.array([i]), pairs.bearing_deg[[k]])[0])
        sure = [bool(end[k]) for end in ahead_or_behind]
        yield ask(
            kind="front or behind",
            part="ask_front_or_behind",
            answer=ENDS[0] if sure[0] else ENDS[1],
            others=ENDS,
            checks=(
                rule("front_unsure", float(np.isfinite(off)), ">=", 1, "fronts"),
                rule("neither_before_nor_behind", float(sum(sure)), ">=", 1, "sides"),
                Measure("off_front", off, "deg", subject=view.things[j].id),
            ),
        )


def tallest(view: CityView, i: int) -> Iterator[RawQuestion]:
    """In which direction the tallest building about a thing lies. Heights that are not known are named."""
    about: IntArray = view.around(i, AROUND_M + view.rules.near_margin_m)
    about = about[view.query.is_building[about]]
    if len(about) < 2:
        return
    pairs = view.query.relations.between(i, about)
    low, high = (side[about] for side in view.query.worth["tallest"])
    first = int(np.argmax(low))
    others = float(np.delete(high, first).max())
    unknown = about[high >= UNBOUNDED_M]
    off = [float(pairs.off_axis_deg(d)[first]) for d in range(len(DIRECTIONS))]
    best = int(np.argmin(off))
    edge = abs(float(pairs.distance_m[first]) - AROUND_M)
    nearest, farthest = view.rules.bearing_gap_m
    j = int(about[first])
    yield question_about(
        view,
        i,
        kind="direction of the tallest",
        part="ask_tallest",
        fields={"metres": f"{AROUND_M:g}"},
        answer=DIRECTIONS[best],
        others=DIRECTIONS,
        about=(j,),
        checks=(
            rule("height_unknown", len(unknown), "<=", 0, f"buildings: {named(view, unknown.tolist())}"),
            rule("as_tall", float(low[first]) / max(others, 0.1), ">=", MOST_TIMES["tallest"], "ratio"),
            rule("on_the_edge", edge, ">=", view.rules.near_margin_m, "m"),
            rule("near_a_diagonal", off[best], "<=", 45.0 - view.rules.margin_deg, "deg"),
            rule("too_near", float(pairs.distance_m[first]), ">=", nearest, "m"),
            rule("too_far", float(pairs.distance_m[first]), "<=", farthest, "m"),
        ),
    )
