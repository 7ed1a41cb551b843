"""Questions about landmarks of a flight: what they are (CL), how high (AT), how they lie (SPA), and how many (CT)."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations, product
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.case import ExamCase, begins_s, choose, is_larger, number, ranked, sector, words
from pipeline.benchmarks.embodied4c.flight.view import (
    FlightExam,
    case,
    label_of,
    named,
    steady,
    unwritten,
    without_article,
)
from pipeline.core.identity import digest, rng_for
from pipeline.questions.gate import NamedThing
from pipeline.worlds.flight.places import Places, place_of

LANDING_MPS: Final = ("4", "5", "6")  # of twice as high a speed anybody guesses half the time
_IN_PICTURE_S: Final = 0.5  # to either end of a view, which is not known better


def kind_nearest(view: FlightExam) -> Iterator[ExamCase]:
    """CL: what the landmark nearest to the drone is."""
    flight = view.flight
    sorts = [flight.flight.landmarks[flight.places[place].index].sort for place in flight.pool]
    every = sorted({sort for sort in sorts if sort})
    pooled = {flight.places[place].index for place in flight.pool}
    rest = Places(place_of(i, mark, "") for i, mark in enumerate(flight.flight.landmarks) if i not in pooled)
    for second, index in view.moments if len(every) > 1 else ():
        gaps = flight.distance_m[:, index]
        row = int(gaps.argmin())
        sort = sorts[row]
        one = case(view, "air_cl", second, (), flight.pool[row])
        one.name(NamedThing("the landmark nearest to the drone", "landmark"))  # of whatever kind: the log knows all
        others = [gap for gap, other in zip(gaps.tolist(), sorts, strict=True) if other != sort]
        # A drawn film does not tell the kind of what has no name on it: it may be the same.
        others += [
            gap
            for gap, other in zip(rest.approach_m(flight.enu_m[index, None]).tolist(), rest, strict=True)
            if view.scene.video is None or flight.flight.landmarks[other.index].sort != sort
        ]
        one.require("kind_unnamed", float(sort is not None), ">=", 1, "names")
        lead = min(others, default=np.inf) - float(gaps[row])
        if np.isfinite(lead):
            one.require("another_as_near", lead, ">=", max(3.0, 0.1 * float(gaps[row])), "m")
        yield words(one, sort, every) if sort else one


def height_of(view: FlightExam) -> Iterator[ExamCase]:
    """AT: how high a landmark is, from its foot to its top."""
    for second, _, place, gap in named(view):
        mark = view.flight.places[place]
        one = case(view, "air_at_height", second, (mark.label,), place, thing=mark.label)
        one.require("too_far", gap, "<=", view.rules.spoken_of_m, "m")
        yield number(one, mark.top_m - mark.base_m, "m")


def bearing(view: FlightExam) -> Iterator[ExamCase]:
    """LC: in which eighth around the drone's nose a landmark lies."""
    for second, index, place, gap in named(view):
        label = label_of(view, place)
        one = case(view, "air_lc", second, (label,), place, thing=label)
        angle = view.bearing_deg(place, index)
        steady(view, one, index)
        one.fact("bearing", label, angle, "deg")
        one.require("too_far", gap, "<=", view.rules.spoken_of_m, "m")
        one.require("too_near_for_a_side", gap, ">=", 5.0, "m")
        # Its ends must lie on one side, not its middle alone.
        away = gap + view.flight.places[place].radius_m
        half = float(np.degrees(np.arctan2(view.flight.places[place].radius_m, away)))
        _, border = sector(angle, 8)
        one.require("near_side_border", border, ">=", max(view.rules.side_margin_deg / 2, min(half, 15.0)), "deg")
        yield choose(one, sector(-angle, 8)[0])


def distance(view: FlightExam) -> Iterator[ExamCase]:
    """DT: over ground, to the nearest point of a landmark's outline."""
    for second, _, place, gap in named(view):
        label = label_of(view, place)
        one = case(view, "air_dt", second, (label,), place, thing=label)
        one.require("too_near", gap, ">=", 5.0, "m")
        one.require("too_far", gap, "<=", view.rules.spoken_of_m, "m")
        _on_map_now(view, one, second, place)
        yield number(one, gap, "m")


def _on_map_now(view: FlightExam, one: ExamCase, second: int, place: int) -> None:
    """That a drawn film still has a landmark on its map: nobody measures to what has left it."""
    if view.scene.video is None:
        inside = view.flight.in_view_s(place, second) >= 0
        one.require("not_in_picture", float(inside), ">=", 1, "things")


def seconds_to(view: FlightExam) -> Iterator[ExamCase]:
    """CS: how long the way to a landmark is at a given speed, to land there."""
    for (second, _, place, gap), speed in product(named(view), LANDING_MPS):
        label = label_of(view, place)
        one = case(view, "air_cs_reach", second, (label, speed), place, thing=label, speed=speed)
        one.require("too_near", gap, ">=", 10.0, "m")
        one.require("too_far", gap, "<=", view.rules.spoken_of_m, "m")
        _on_map_now(view, one, second, place)
        one.fact("distance", label, gap, "m")
        one.reads("distance", None, gap)
        one.guess, one.base = f"{max(gap, 0.1):.1f}", gap
        yield number(one, gap / float(speed), "s")


def nearest_to(view: FlightExam) -> Iterator[ExamCase]:
    """TP: which of the landmarks is next to another."""
    flight = view.flight
    for second, _, place, _ in named(view):
        # What a name puts it beside, or it beside by a name, would be right by the words alone.
        others = [other for other in flight.pool if other != place and not flight.places.tied(place, other)]
        if len(others) < 2:
            continue
        gaps = sorted((flight.places[place].gap_m(flight.places[other]), other) for other in others)
        (first, nearest), (then, _) = gaps[:2]
        label, answer = label_of(view, place), label_of(view, nearest)
        names = ", ".join(sorted((label_of(view, other) for other in others), key=lambda name: digest(label, name)))
        one = case(view, "air_tp", second, (label,), place, *others, thing=label, others=names)
        one.facts = (f"gap between {' and '.join(sorted((label, answer)))}",)
        one.require("another_as_near", then - first, ">=", max(3.0, 0.2 * first), "m")
        yield words(one, answer, [label_of(view, other) for other in others], without_article(answer))


def higher(view: FlightExam) -> Iterator[ExamCase]:
    """R/S: which of two landmarks is taller."""
    for second, _ in view.moments:
        for pair in combinations(view.flight.pool, 2):
            first, then = sorted(pair, key=lambda p: digest(view.scene.id, str(second), label_of(view, p)))
            a, b = (view.flight.places[p].top_m - view.flight.places[p].base_m for p in (first, then))
            names = label_of(view, first), label_of(view, then)
            one = case(view, "air_rs", second, names, first, then, thing=names[0], other=names[1])
            one.require("not_measured", float(np.isfinite([a, b]).all() and min(a, b) > 0), ">=", 1, "numbers")
            is_first = is_larger(one, "height", names, (a, b), view.rules.size_ratio_min)
            one.compared = names if is_first else names[::-1]
            yield words(one, one.compared[0], names, without_article(one.compared[0]))


def relative_place(view: FlightExam) -> Iterator[ExamCase]:
    """R/P: in which direction of the compass one landmark lies from another; in a film, as seen from the drone."""
    flight = view.flight
    if view.scene.video is not None:  # it shows no north
        yield from _seen_from_here(view)
        return
    for second, _ in view.moments:
        for first, then in permutations(flight.pool, 2):
            names = label_of(view, first), label_of(view, then)
            east, north = flight.places[first].center - flight.places[then].center
            angle = float(np.degrees(np.arctan2(east, north))) % 360
            one = case(view, "air_rp", second, names, first, then, thing=names[0], other=names[1])
            one.facts = (f"bearing between {' and '.join(sorted(names))}",)
            eighth, border = sector(angle, 8)
            one.fact("bearing", f"from {names[1]} to {names[0]}", angle, "deg")
            one.require("near_heading_border", border, ">=", view.rules.heading_margin_deg / 2, "deg")
            one.require("too_near_for_a_side", flight.places[first].gap_m(flight.places[then]), ">=", 5.0, "m")
            yield choose(one, eighth)


def _seen_from_here(view: FlightExam) -> Iterator[ExamCase]:
    """On which side of another landmark one is as seen from the drone, and whether it is nearer or farther."""
    flight, rules = view.flight, view.rules
    for second, index in view.moments:
        gaps = {place: float(flight.distance_m[row, index]) for row, place in enumerate(flight.pool)}
        for pair in combinations(flight.pool, 2):
            first, then = sorted(pair, key=lambda p: digest(view.scene.id, str(second), label_of(view, p)))
            names = label_of(view, first), label_of(view, then)
            one = case(view, "air_rp_seen", second, names, first, then, thing=names[0], other=names[1])
            in_picture = sum(flight.in_view_s(place, second) >= _IN_PICTURE_S for place in pair)
            one.require("not_in_picture", in_picture, ">=", 2, "things")
            steady(view, one, index)
            turn = (view.bearing_deg(first, index) - view.bearing_deg(then, index) + 180) % 360 - 180
            one.fact("turn", f"from {names[1]} to {names[0]}", turn, "deg")
            wide = [np.degrees(np.arctan2(r := flight.places[p].radius_m, gaps[p] + r)) for p in pair]
            least = max(rules.side_margin_deg, float(sum(wide)))  # all of one beside all of the other
            one.require("in_one_line", abs(turn), ">=", least, "deg")
            one.require("on_opposite_sides", abs(turn), "<=", 120.0, "deg")
            ratio = max(gaps[first], 1.0) / max(gaps[then], 1.0)
            for place in (first, then):
                one.fact("distance", label_of(view, place), gaps[place], "m")
            one.require("distances_alike", max(ratio, 1 / ratio), ">=", rules.distance_ratio_min, "ratio")
            yield choose(one, f"{'right' if turn > 0 else 'left'} and {'nearer' if ratio < 1 else 'farther'}")


def ranking(view: FlightExam) -> Iterator[ExamCase]:
    """R/D: three landmarks by their distance from the drone, closest first."""
    for second, index in view.moments:
        gaps = {place: float(view.flight.distance_m[row, index]) for row, place in enumerate(view.flight.pool)}
        for three in combinations(view.flight.pool, 3):
            ordered = sorted(three, key=lambda p: digest(view.scene.id, str(second), label_of(view, p)))
            names = [label_of(view, p) for p in ordered]
            closest = sorted(three, key=gaps.__getitem__)
            fields = dict(zip(("first", "second", "third"), names, strict=True))
            one = case(view, "air_rd", second, names, *ordered, **fields)
            # Of each two it tells which is nearer, for as long as it is.
            pairs = [sorted(pair) for pair in combinations(ordered, 2)]
            one.facts = tuple(
                view.asked_facts.lasting(
                    f"nearer of {label_of(view, a)}, {label_of(view, b)}", second, gaps[a] < gaps[b]
                )
                for a, b in pairs
            )
            for place in ordered:
                one.fact("distance", label_of(view, place), gaps[place], "m")
            ratio = min(gaps[b] / max(gaps[a], 1.0) for a, b in pairwise(closest))
            one.require("distances_alike", ratio, ">=", view.rules.distance_ratio_min, "ratio")
            yield ranked(one, names, [label_of(view, place) for place in closest])


RADII_M: Final = (25, 50, 75, 100, 150, 200)
NEAR_SHARE: Final = 0.1  # of a radius: what is nearer to it may be within or not
NEAR_M: Final = 3.0
LISTED_MIN: Final = 3
LISTED_MAX: Final = 7


def shown(view: FlightExam) -> Iterator[ExamCase]:
    """How many of some landmarks the video, which is of one length, has shown."""
    flight = view.flight
    for second, _ in view.moments if flight.seen_known else ():
        since_s = begins_s("air_ct_shown", second, view.rules) or 0.0
        seen = [place for place in flight.pool if flight.seen_by(place, second, since_s)]
        unseen = [place for place in flight.pool if not flight.maybe_seen_by(place, second, since_s)]
        one, count, size = _listing(view, "air_ct_shown", second, (), seen, unseen)
        yield number(one, float(count), "", size)


def near(view: FlightExam) -> Iterator[ExamCase]:
    """How many of some landmarks are within a radius over ground."""
    flight = view.flight
    for second, index in view.moments if flight.pool else ():
        gaps = dict(zip(flight.pool, flight.distance_m[:, index].tolist(), strict=True))
        for radius in RADII_M:
            margin = max(NEAR_M, NEAR_SHARE * radius)
            known = [place for place in flight.pool if flight.seen_by(place, second)]
            within = [place for place in known if gaps[place] <= radius - margin]
            beyond = [place for place in known if gaps[place] >= radius + margin]
            one, count, size = _listing(view, "air_ct_near", second, (str(radius),), within, beyond, radius=str(radius))
            for place in within + beyond:
                if label_of(view, place) in one.operands:
                    one.fact("distance", label_of(view, place), gaps[place], "m")
            yield number(one, float(count), "", size)


def _listing(
    view: FlightExam,
    kind: str,
    second: int,
    about: tuple[str, ...],
    counted: Sequence[int],
    rest: Sequence[int],
    **fields: str,
) -> tuple[ExamCase, int, int]:
    """A case that lists landmarks, how many of them count (any number but none or all, by lot), and how many there are.

    The list is so short that each of these numbers could have been had: else a longer list, or a later time, would
    tell of more.
    """
    counted, rest = ([place for place in some if not unwritten(view, place)] for some in (counted, rest))
    size = min(len(counted), len(rest), LISTED_MAX - 1) + 1
    rng = rng_for("listed", view.scene.id, kind, str(second), *about)
    count = int(rng.integers(1, max(size, 2)))
    chosen = [*rng.permutation(counted)[:count].tolist(), *rng.permutation(rest)[: size - count].tolist()]
    names = [label_of(view, place) for place in chosen]
    listed = ", ".join(sorted(names, key=lambda name: digest(view.scene.id, str(second), name)))
    places = () if kind == "air_ct_shown" else chosen  # what is not shown is listed, too
    one = case(view, kind, second, (*about, *names), *places, things=listed, **fields)
    one.require("too_few_options", size, ">=", LISTED_MIN, "landmarks")
    one.traits = (str(size), *about)
    return one, count, size
