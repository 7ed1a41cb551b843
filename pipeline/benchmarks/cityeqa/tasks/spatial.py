"""Spatial Reasoning: what is beside a thing or across the street, which of two is nearer, where one lies of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from pipeline.benchmarks.cityeqa.raw import CLOSED, OPEN, RawQuestion
from pipeline.benchmarks.cityeqa.tasks.base import EqaTask, colours_of, known_of, others_of, parts
from pipeline.benchmarks.cityeqa.tasks.street import across, street_questions, tallest
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import DIRECTIONS, KINDS, SHOP, SIGNBOARD, Phrase
from pipeline.core.identity import rng_for
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.facts import BUILDING

SIDES: Final = ("left", "right")
ACROSS_DEG: Final = 35.0  # what is beside something lies within so much of the line along its front
SAME_FRONT_DEG: Final = 20.0  # and faces the same way within so much
PAIRS: Final = 12  # pairs of things that are compared from one, the nearest
NAMED: Final = frozenset(KINDS["related"])


class SpatialReasoning(EqaTask):
    """Sides as seen from the front of what faces somewhere; directions and distances between footprints."""

    name = "Spatial Reasoning"
    about = frozenset({*NAMED, SIGNBOARD})
    parts = parts(
        "ask_side_colour",
        "ask_side_name",
        "ask_bearing",
        "ask_nearer",
        "ask_across_name",
        "ask_same_side",
        "ask_front_or_behind",
        "ask_tallest",
    )

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
        """All of these, for things that have one name in their surroundings."""
        for kind in (SIGNBOARD, SHOP):
            yield from self._beside(view, kind)
        named: dict[int, bool] = {}
        for i in (i for i in view.targets(*NAMED) if _has_a_name(view, i)):
            about = view.around(i, view.rules.bearing_gap_m[1]).tolist()
            for j in about:
                if j not in named:
                    named[j] = _has_a_name(view, j)
            lone = _lone(view, i, [j for j in about if named[j]])
            near = list(lone)
            for j in near:
                yield _bearing(view, i, j, lone[j])
            yield from _nearer(view, i, near, lone)
            yield from street_questions(view, i, near, lone)
            yield from tallest(view, i)
        yield from across(view)

    def _beside(self, view: CityView, kind: str) -> Iterator[RawQuestion]:
        own = [i for i in view.of_kind(kind).tolist() if view.things[i].facing_deg is not None]
        colours = colours_of(view, own)
        names = known_of(view.read(i) for i in own)
        for i in (i for i in view.targets(kind) if view.things[i].facing_deg is not None):
            for side in SIDES:
                yield from _side(view, i, side, colours, names)


def _side(view: CityView, i: int, side: str, colours: tuple[str, ...], names: tuple[str, ...]) -> Iterator[RawQuestion]:
    """What the next thing of the kind to a side is like; nothing where there is none."""
    thing = view.things[i]
    near = view.among(view.around(i, 2 * view.rules.side_gap_max_m), thing.kind)
    others = np.array([j for j in near.tolist() if view.things[j].facing_deg is not None], dtype=np.intp)
    if not len(others):
        return
    offset = view.centers[others] - view.centers[i]
    # Who looks at a front has its left where the front has its right.
    toward = (thing.facing_deg or 0.0) + (90.0 if side == "left" else -90.0)
    bearing = np.degrees(np.arctan2(offset[:, 0], offset[:, 1]))
    off = np.abs((bearing - toward + 180) % 360 - 180)
    faces = np.array([view.things[j].facing_deg for j in others.tolist()], dtype=np.float64)
    turned = np.abs((faces - (thing.facing_deg or 0.0) + 180) % 360 - 180)
    away = np.hypot(*offset.T)
    there = (off < 90) & (turned < 90) & (away <= 2 * view.rules.side_gap_max_m)
    if not there.any():
        return
    beside = np.flatnonzero(there)
    order = beside[np.argsort(away[beside], kind="stable")]
    nearest = int(order[0])
    second = float(away[order[1]]) if len(order) > 1 else np.inf
    j = int(others[nearest])
    other = view.things[j]
    checks = (
        rule("not_beside", float(off[nearest]), "<=", ACROSS_DEG, "deg"),
        rule("other_front", float(turned[nearest]), "<=", SAME_FRONT_DEG, "deg"),
        rule("too_far_aside", float(away[nearest]), "<=", view.rules.side_gap_max_m, "m"),
        rule(
            "two_beside",
            min(second / max(float(away[nearest]), 1e-9), 99.0),
            ">=",
            view.rules.nearer_ratio_min,
            "ratio",
        ),
    )
    text = view.read(j)
    named = RawQuestion(
        kind=f"{thing.kind} beside",
        target=i,
        operands=(thing.id, side, other.id),
        phrases=view.phrases(i),
        part="ask_side_name",
        fields={"thing": other.kind, "side": side},
        answer=text or "",
        others=others_of(view, j, names, 3, "beside"),
        answer_type=OPEN,
        shown=(i, j),
        pixels_min=view.rules.read_pixels_min,
        about=(j,),
        checks=(*checks, rule("no_name_to_read", float(text is not None), ">=", 1, "names")),
        even=side,
        flags=() if other.sign else ("name_as_sign",),
    )
    yield named
    if thing.kind == SIGNBOARD:
        yield replace(
            named,
            kind="colour beside",
            part="ask_side_colour",
            answer=other.colour or "",
            others=colours,
            answer_type=CLOSED,
            pixels_min=view.rules.pixels_min,
            checks=(*checks, rule("colour_unknown", float(other.colour is not None), ">=", 1, "colours")),
        )


def _has_a_name(view: CityView, i: int) -> bool:
    """Whether there is a word for a thing; every building is a building."""
    thing = view.things[i]
    if thing.doubt is not None or thing.kind not in NAMED or i not in view.solid_things:
        return False
    return not thing.noun == thing.kind == BUILDING


def _lone(view: CityView, i: int, near: list[int]) -> dict[int, Phrase]:
    """What some things near a thing are called, of those that nothing else about it, or it itself, may be called."""
    about = np.append(view.around(i, 2 * view.rules.bearing_gap_m[1]), i)
    found, once = {}, dict[Phrase, bool]()
    for j in near:
        for phrase in reversed(view.phrases(j)):
            if phrase not in once:
                once[phrase] = int(view.query.fit(phrase, about)[1].sum()) == 1
            if once[phrase]:
                found[j] = phrase
                break
    return found


def _bearing(view: CityView, i: int, j: int, called: Phrase) -> RawQuestion:
    pairs = view.query.relations.between(i, np.array([j], dtype=np.intp))
    off = [float(pairs.off_axis_deg(d)[0]) for d in range(len(DIRECTIONS))]
    best = int(np.argmin(off))
    low, high = view.rules.bearing_gap_m
    return RawQuestion(
        kind="direction",
        target=i,
        operands=(view.things[i].id, view.things[j].id),
        phrases=view.phrases(i),
        part="ask_bearing",
        fields={"other": called.definite},
        answer=DIRECTIONS[best],
        others=DIRECTIONS,
        answer_type=CLOSED,
        shown=(i, j),
        pixels_min=view.rules.pixels_min,
        about=(j,),
        checks=(
            rule("near_a_diagonal", off[best], "<=", 45.0 - view.rules.margin_deg, "deg"),
            rule("too_near", float(pairs.distance_m[0]), ">=", low, "m"),
            rule("too_far", float(pairs.distance_m[0]), "<=", high, "m"),
        ),
    )


def _nearer(view: CityView, i: int, near: list[int], lone: dict[int, Phrase]) -> Iterator[RawQuestion]:
    """Which of two is nearer. Each of a pair is so as often as the other, and a pair is always said in one order.

    So neither a word nor a place in the question tells anything: one thing that is asked of lies by either of them.
    """
    if len(near) < 2:
        return
    others = np.array(near, dtype=np.intp)
    away, blocked = view.distance_m(i, others), view.blocked(i, others)
    first = np.argsort(away, kind="stable")
    chosen = list(combinations(first[: PAIRS // 2].tolist(), 2))[:PAIRS]
    for a, b in chosen:
        one, other = int(others[a]), int(others[b])
        if lone[one] == lone[other]:
            continue
        ids = (view.things[one].id, view.things[other].id)
        said = (lone[one].definite, lone[other].definite)
        pair = sorted(said)
        swap = bool(rng_for(view.scene.id, *pair, "order").integers(2))
        fields = dict(zip(("one", "other"), pair[::-1] if swap else pair, strict=True))
        yield RawQuestion(
            kind="nearer",
            target=i,
            operands=(view.things[i].id, *sorted(ids)),
            phrases=view.phrases(i),
            part="ask_nearer",
            fields=fields,
            answer=said[0],
            others=said,
            answer_type=CLOSED,
            shown=(i, one, other),
            pixels_min=view.rules.pixels_min // 2,
            about=(one, other),
            checks=(
                rule("something_between", int(blocked[a] + blocked[b]), "<=", 0, "buildings"),
                rule("touches", float(away[a]), ">=", 1.0, "m"),
                rule("as_near", float(away[b] / max(away[a], 1e-9)), ">=", view.rules.nearer_ratio_min, "ratio"),
                Measure("distance", float(away[a]), "m", subject=ids[0]),
                Measure("distance", float(away[b]), "m", subject=ids[1]),
            ),
            even=" or ".join(pair),
        )
