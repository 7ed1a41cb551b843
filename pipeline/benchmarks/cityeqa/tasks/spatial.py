"""Spatial Reasoning: what is beside a thing or across the street, which of two is nearer, where one lies of it.

Questions about streets and heights: the same side, across, in front or behind, the tallest about.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Final

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.extra_starts import others as named
from pipeline.benchmarks.cityeqa.query import MOST_TIMES
from pipeline.benchmarks.cityeqa.raw import CLOSED, OPEN, YES_NO, YES_OR_NO, RawQuestion
from pipeline.benchmarks.cityeqa.relations import FARTHER
from pipeline.benchmarks.cityeqa.tasks.base import (
    EqaTask,
    called_business,
    colour_known,
    colours_of,
    known_of,
    name_flags,
    name_known,
    names_of_split,
    other_names,
    others_of,
    parts,
    question_about,
)
from pipeline.benchmarks.cityeqa.tasks.counting import complete
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import ACROSS, BEHIND, BUSINESS, DIRECTIONS, FRONT, KINDS, SIGNBOARD, Phrase
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import rng_for
from pipeline.questions.rules import Measure, rule
from pipeline.reading.maps.city_thing import BUILDING, SHOP, VEHICLES
from pipeline.reading.maps.map_quality import FRONT_M
from pipeline.worlds.city.occluders import UNBOUNDED_M

SIDES: Final = ("left", "right")
ACROSS_DEG: Final = 35.0  # what is beside something lies within so much of the line along its front
SAME_FRONT_DEG: Final = 20.0  # and faces the same way within so much
SPREAD_M: Final = 12.0  # no vehicle is longer
PAIRS: Final = 12  # pairs of things that are compared from one, the nearest
NAMED: Final = frozenset(KINDS["related"])


class SpatialReasoning(EqaTask):
    """Sides as seen from the front of what faces somewhere; directions and distances between footprints."""

    reads = "side"
    share = 203
    name = "Spatial Reasoning"
    about = frozenset({*NAMED, *VEHICLES, SIGNBOARD})
    parts = parts(
        "ask_colour_next",
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
            yield from self._questions_beside(view, kind)
        yield from next_to(view)
        named: dict[int, bool] = {}
        for i in (i for i in view.targets(*NAMED) if _has_a_name(view, i)):
            about = view.around(i, view.rules.bearing_gap_m[1]).tolist()
            for j in about:
                if j not in named:
                    named[j] = _has_a_name(view, j)
            lone = _unique_names(view, i, [j for j in about if named[j]])
            near = list(lone)
            for j in near:
                yield _bearing(view, i, j, lone[j])
            yield from _nearer_questions(view, i, near, lone)
            yield from street_questions(view, i, near, lone)
            yield from tallest(view, i)
        yield from across(view)

    def _questions_beside(self, view: CityView, kind: str) -> Iterator[RawQuestion]:
        own = [i for i in view.of_kind(kind).tolist() if view.things[i].facing_deg is not None]
        colours = colours_of(view, own)
        facing = [(i, side) for i in view.targets(kind) if view.things[i].facing_deg is not None for side in SIDES]
        beside = [(i, side, next_) for i, side in facing if (next_ := _next_beside(view, i, side)) is not None]
        names = names_of_split(view, [i for i, _, _ in beside], [j for _, _, (j, _) in beside])
        for i, side, (j, checks) in beside:
            yield from _side(view, i, side, j, checks, colours, names[i])


def _pair(view: CityView, relation: str, i: int, j: int) -> tuple[str, ...]:
    """A relation of two things: the text about the one tells of it what is asked about the other."""
    return (relation, *sorted((view.things[i].id, view.things[j].id)))


def unlike(view: CityView, i: int, colours: Iterable[str]) -> tuple[str, ...]:
    """Colours other than that of a thing, by which it is called: what is called so too does not stand beside it."""
    return tuple(colour for colour in colours if colour != view.things[i].colour)


def _side(
    view: CityView,
    i: int,
    side: str,
    j: int,
    checks: tuple[Measure, ...],
    colours: tuple[str, ...],
    names: tuple[str, ...],
) -> Iterator[RawQuestion]:
    """Questions about a thing and the next one of its kind to a side."""
    thing, other = view.things[i], view.things[j]
    text = view.read(j)
    called = (called_business(view, j),) if other.kind == SHOP else ()
    named = question_about(
        view,
        i,
        kind=f"{thing.kind} beside",
        operands=(side, other.id),
        part="ask_side_name",
        fields={"thing": BUSINESS if other.kind == SHOP else other.kind, "side": side},
        answer=text or "",
        others=others_of(view, text, names, 3, "beside"),
        answer_type=OPEN,
        about=(j,),
        checks=(*checks, *called, name_known(text), other_names(names, text)),
        even=side,
        pair=_pair(view, "beside", i, j),
        flags=name_flags(other),
    )
    yield named
    if thing.kind == SIGNBOARD:
        yield replace(
            named,
            kind="colour beside",
            part="ask_side_colour",
            answer=other.colour or "",
            others=unlike(view, i, colours),
            answer_type=CLOSED,
            pixels_min=view.rules.pixels_min,
            checks=(*checks, colour_known(other), view.stands_out(j)),
        )


def _next_beside(view: CityView, i: int, side: str) -> tuple[int, tuple[Measure, ...]] | None:
    """Index of the nearest thing of the kind to a side, with what proves that it is the next one; None: there is none.

    Only things that face somewhere count, about the same way as the thing itself. The order along a front is sure where
    things are farther apart than two fronts and their errors, and nothing that the map lacks has room between them.
    """
    thing, rules = view.things[i], view.rules
    reach_m = 2 * rules.side_gap_max_m
    about = view.around(i, reach_m)
    same_kind = view.among(about, thing.kind)
    others = np.array([j for j in same_kind.tolist() if view.things[j].facing_deg is not None], dtype=np.intp)
    if not len(others):
        return None
    facing_deg = thing.facing_deg or 0.0
    # Who looks at a front has its left where the front has its right.
    side_deg = facing_deg + (90.0 if side == "left" else -90.0)
    offset_m = view.centers[others] - view.centers[i]
    bearing_deg = np.degrees(np.arctan2(offset_m[:, 0], offset_m[:, 1]))
    off_side_deg = _between_deg(bearing_deg, side_deg)
    fronts_deg = np.array([view.things[j].facing_deg for j in others.tolist()], dtype=np.float64)
    turned_deg = _between_deg(fronts_deg, facing_deg)
    distance_m = np.hypot(*offset_m.T)
    beside = np.flatnonzero((off_side_deg < 90) & (turned_deg < 90) & (distance_m <= reach_m))
    if not len(beside):
        return None
    by_distance = beside[np.argsort(distance_m[beside], kind="stable")]
    nearest = int(by_distance[0])
    nearest_m = float(distance_m[nearest])
    second_m = float(distance_m[by_distance[1]]) if len(by_distance) > 1 else np.inf
    j = int(others[nearest])
    error_m = float(view.errors_m[i] + view.errors_m[j])
    second_error_m = float(view.errors_m[i] + view.errors_m[others[by_distance[1]]]) if len(by_distance) > 1 else 0.0
    ratio = min((second_m - second_error_m) / max(nearest_m + error_m, 1e-9), 99.0)
    # What may be one of the kind too, and of which it is not known where it stands or what it is.
    possible = about[view.query.fit(Phrase(thing.kind), about)[1]]
    possible = possible[~np.isin(possible, others)]
    unplaced = possible[view.distance_m(i, possible) <= nearest_m + error_m + view.errors_m[possible]]
    free_m = nearest_m + error_m - FRONT_M
    known_whole = thing.kind in view.city.complete
    checks = [
        rule("not_beside", float(off_side_deg[nearest]), "<=", ACROSS_DEG, "deg"),
        rule("other_front", float(turned_deg[nearest]), "<=", SAME_FRONT_DEG, "deg"),
        rule("too_far_aside", nearest_m, "<=", rules.side_gap_max_m, "m"),
        rule("two_beside", ratio, ">=", rules.nearer_ratio_min, "ratio"),
        rule("too_near_to_order", nearest_m - error_m, ">=", FRONT_M, "m"),
        rule("others_of_unknown_place", len(unplaced), "<=", 0, f"things: {named(view, unplaced.tolist())}"),
        Measure("position_error", error_m, "m", subject="both together"),
        Measure("known_whole", float(known_whole), "kinds", subject=thing.kind),
    ]
    if not known_whole:
        checks.append(rule("room_for_another", free_m, "<=", FRONT_M, "m of front"))
    return j, tuple(checks)


NEXT_TO_M: Final = 4.0  # between two vehicles of which one is next to the other
NEXT_TO_TIMES: Final = 1.5  # as far away every other one is at least


def next_to(view: CityView) -> Iterator[RawQuestion]:
    """The colour of the only vehicle next to another, from edge to edge: whichever of the four sides it stands on."""
    vehicles = np.concatenate([view.of_kind(kind) for kind in VEHICLES])
    colours = colours_of(view, vehicles.tolist())
    feet = view.footprints
    for i in view.targets(*VEHICLES):
        about = view.around(i, 2 * NEXT_TO_TIMES * NEXT_TO_M + view.bodies_m[i] + SPREAD_M)
        others = about[np.isin(about, vehicles)]
        if not len(others):
            continue
        away = shapely.distance(feet[i], feet[others])
        order = np.argsort(away, kind="stable")
        j = int(others[order[0]])
        gap_m = float(away[order[0]])
        if gap_m > NEXT_TO_M:
            continue
        error_m = float(view.errors_m[i] + view.errors_m[others].max())
        second_m = float(away[order[1]]) if len(order) > 1 else 99.0
        unplaced = int((shapely.area(feet[[i, *others.tolist()]]) == 0).sum())
        yield question_about(
            view,
            i,
            kind="colour next to",
            part="ask_colour_next",
            answer=view.things[j].colour or "",
            others=unlike(view, i, colours),
            about=(j,),
            pair=_pair(view, "next to", i, j),
            pixels_min=view.rules.pixels_min // 2,
            checks=(
                *(complete(view, kind, i) for kind in VEHICLES),
                rule("on_the_edge", unplaced, "<=", 0, "things", "edge"),
                rule("too_far_aside", gap_m + error_m, "<=", NEXT_TO_M, "m"),
                rule("two_beside", (second_m - error_m) / NEXT_TO_M, ">=", NEXT_TO_TIMES, "ratio"),
                colour_known(view.things[j]),
                Measure("position_error", error_m, "m", subject="both together"),
            ),
        )


def _between_deg(bearings_deg: FloatArray, bearing_deg: float) -> FloatArray:
    """Angles (n,) between bearings (n,) and another, 0 to 180 degrees."""
    return np.abs((bearings_deg - bearing_deg + 180) % 360 - 180)


def _has_a_name(view: CityView, i: int) -> bool:
    """Whether there is a word for a thing; every building is a building."""
    thing = view.things[i]
    if thing.doubt is not None or thing.kind not in NAMED or i not in view.solid_things:
        return False
    return not thing.noun == thing.kind == BUILDING


def _unique_names(view: CityView, i: int, near: list[int]) -> dict[int, Phrase]:
    """Names of some things near a thing: those that nothing else about it, nor the thing itself, may be called."""
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
    spread, error = float(pairs.spread_deg[0]), float(pairs.error_m[0])
    off = [float(pairs.off_axis_deg(d)[0]) for d in range(len(DIRECTIONS))]
    best = int(np.argmin(off))
    low, high = view.rules.bearing_gap_m
    return question_about(
        view,
        i,
        kind="direction",
        part="ask_bearing",
        fields={"other": called.definite},
        answer=DIRECTIONS[best],
        others=DIRECTIONS,
        about=(j,),
        pair=_pair(view, "direction", i, j),
        checks=(
            rule("near_a_diagonal", off[best] + spread, "<=", 45.0 - view.rules.margin_deg, "deg"),
            rule("too_near", float(pairs.distance_m[0]), ">=", low, "m"),
            rule("too_far", float(pairs.distance_m[0]), "<=", high, "m"),
            Measure("position_error", error, "m", subject="both together"),
        ),
    )


def _nearer_questions(view: CityView, i: int, near: list[int], lone: dict[int, Phrase]) -> Iterator[RawQuestion]:
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
        error = view.errors_m[i] + view.errors_m[[one, other]]
        least_ratio = float((away[b] - error[1]) / max(away[a] + error[0], 1e-9))
        if lone[one] == lone[other]:
            continue
        ids = (view.things[one].id, view.things[other].id)
        names = (lone[one].definite, lone[other].definite)
        pair = sorted(names)
        swap = bool(rng_for(view.scene.id, *pair, "order").integers(2))
        fields = dict(zip(("one", "other"), pair[::-1] if swap else pair, strict=True))
        yield question_about(
            view,
            i,
            kind="nearer",
            operands=tuple(sorted(ids)),
            part="ask_nearer",
            fields=fields,
            answer=names[0],
            others=names,
            pixels_min=view.rules.pixels_min // 2,
            about=(one, other),
            checks=(
                rule("something_between", int(blocked[a] + blocked[b]), "<=", 0, "buildings"),
                rule("touches", float(away[a]), ">=", 1.0, "m"),
                rule("as_near", least_ratio, ">=", view.rules.nearer_ratio_min, "ratio"),
                Measure("distance", float(away[a]), "m", subject=ids[0]),
                Measure("distance", float(away[b]), "m", subject=ids[1]),
                *(Measure("position_error", float(e), "m", subject=k) for e, k in zip(error, ids, strict=True)),
            ),
            even=" or ".join(pair),
        )


ENDS: Final = ("in front of it", "behind it")
AROUND_M: Final = 50.0  # about a thing, of which the tallest building is asked
NAMES: Final = 3  # other names that are offered to who guesses


def across(view: CityView) -> Iterator[RawQuestion]:
    """The name of the only shop across the street from a shop, where all shops are known."""
    shops = view.of_kind(SHOP)
    names = known_of(view.read(j) for j in shops.tolist())
    for i in view.targets(SHOP):
        near = view.around(i, FARTHER * view.rules.next_reach_m + view.query.relations.slack_m)
        near = near[view.query.fit(Phrase(SHOP), near)[1]]
        if not len(near) or view.query.fronts.line[i] < 0:
            continue
        pairs = view.query.relations.between(i, near)
        sure, maybe = view.query.streetwise.holds(ACROSS, pairs)
        sure &= ~view.query.doubted[near] & ~view.query.is_building[near]
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
            fields={"thing": BUSINESS},
            answer=text or "",
            others=others_of(view, text, names, NAMES, "across"),
            answer_type=OPEN,
            shown=(j,),  # it faces the other way
            about=(j,),
            pair=_pair(view, "across", i, j),
            checks=(
                complete(view, SHOP, i),
                rule("several_across", float(maybe.sum()), "<=", 1, unit),
                called_business(view, j),
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
            pair=_pair(view, "same side", i, j),
            checks=(
                rule("side_of_the_street_unsure", float((fronts.side[[i, j]] == 0).sum()), "<=", 0, "things"),
                rule("no_one_street", float(one_street[k]), ">=", 1, "streets of both"),
                Measure("position_error", float(pairs.error_m[k]), "m", subject="both together"),
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
