"""Counting and Existence Judgement: things in a place, around something or in front of it, and storeys of buildings."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.extra_starts import others as named
from pipeline.benchmarks.cityeqa.raw import NUMBER, NUMBERS, YES_NO, YES_OR_NO, RawQuestion
from pipeline.benchmarks.cityeqa.tasks.base import COVERED, EqaTask, numbers_to, parts, plural, question_about
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import COLOURS, KINDS, Phrase
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.templates import load_table
from pipeline.questions.rules import Measure, rule
from pipeline.reading.maps.city_thing import BUILDING, SHOP, VEHICLES
from pipeline.worlds.city.occluders import SPACE, box_ring

PLACES, CENTRES, FRONTED = (tuple(KINDS[name]) for name in ("places", "centres", "fronted"))  # in, around, before which
ASKED: Final = frozenset({*PLACES, *CENTRES, *FRONTED})  # whose surroundings are asked about
FRONT_M: Final = (10.0, 12.0)  # how wide and how deep that is
COUNTED: Final = tuple(KINDS["counted"])
# What things have or have not, both told by their own entries: of these the map need not know all.
HAS: Final[Mapping[str, Mapping[str, Any]]] = load_table("city/traits")["has"]
HAVING: Final = frozenset({"bench", "bus stop", "crossing", "parking", "playground", "sports field", SHOP})
PARKED_SHARE: Final = 0.6  # of a vehicle that stands in a space
BESIDE_SHARE: Final = 0.1  # of one that stands beside it
SLIP_M: Final = 0.5  # error of places on the map, with which it is still known what stands in which space
AT_M: Final = 8.0  # from a stop to the bench that stands there


@dataclass(frozen=True)
class CountedGroup:
    """The things of a kind in a place or around something.

    Attributes:
        at: index of the place.
        kind: of the things.
        near_m: how far around; None: in the place, or in front of it.
        front: whether in front of it.
        things: indices of those surely there.
        checks: whether the map is complete for the kind, and whether it is sure of every thing that it is there or not.
    """

    at: int
    kind: str
    near_m: int | None
    things: tuple[int, ...]
    checks: tuple[Measure, ...]
    front: bool = False

    @property
    def where(self) -> str:
        """In which of three ways: "in", "near" or "front"."""
        return "front" if self.front else "in" if self.near_m is None else "near"

    def in_words(self, place: str) -> str:
        """The same in words, of a place of a kind."""
        return {"front": "in front of", "in": "in", "near": f"within {self.near_m} m of"}[self.where] + f" a {place}"


def gathered(view: CityView) -> Iterator[CountedGroup]:
    """Every place with every kind that its city counts."""
    there = {thing.kind for thing in view.things}
    kinds = [kind for kind in COUNTED if kind in there]
    for i in view.targets(*ASKED):
        place = view.things[i]
        others = [kind for kind in kinds if kind != place.kind]
        if place.kind in PLACES and place.outline is not None:
            yield from inside(view, i, others)
        elif place.kind in CENTRES:
            yield from _groups_near(view, i, others)
        if place.kind in FRONTED and place.facing_deg is not None:
            yield from in_front(view, i, kinds)


def complete(view: CityView, kind: str, at: int) -> Measure:
    """Whether the map has all things of a kind about a thing: as its source declares, or as its other entries show."""
    share = view.coverage.least(kind, view.things[at].center)
    return rule("map_incomplete", share, ">=", COVERED, f"share of each {kind}, at least")


def inside(view: CityView, i: int, kinds: Sequence[str], known: Collection[str] = ()) -> Iterator[CountedGroup]:
    """The things of some kinds in a place."""
    about, shape = view.around(i, _widest_m(view)), view.query.shapes[i]
    for kind in kinds:
        others = view.among(about, kind)
        points = shapely.points(view.centers[others])
        doubtful = shapely.distance(shape.exterior, points) < _margins_m(view, i, others)
        unsure = unsure_within(view, i, kind, about, shape, known)
        yield _gathered(view, i, kind, None, others, shapely.covers(shape, points), doubtful, unsure)


def _groups_near(view: CityView, i: int, kinds: Sequence[str]) -> Iterator[CountedGroup]:
    within = view.rules.near_m
    about = view.around(i, max(within) + 2 * _widest_m(view))
    distance = dict(zip(about.tolist(), view.distance_m(i, about).tolist(), strict=True))
    for kind in kinds:
        others = view.among(about, kind)
        away = np.array([distance[other] for other in others.tolist()])
        # From edge to edge, as the text says, and no other from centre to centre.
        bodies = view.bodies_m[i] + view.bodies_m[others]
        margin = np.maximum(view.rules.near_margin_m, view.errors_m[i] + view.errors_m[others])
        for metres in within:
            doubtful = (away + margin > metres) & (away - bodies - margin < metres)
            reach = shapely.buffer(view.query.shapes[i], metres)
            unsure = unsure_within(view, i, kind, about, reach)
            yield _gathered(view, i, kind, metres, others, away <= metres, doubtful, unsure)


def in_front(view: CityView, i: int, kinds: Sequence[str], known: Collection[str] = ()) -> Iterator[CountedGroup]:
    """The things of some kinds in front of a thing that faces somewhere."""
    about = view.around(i, 2 * max(FRONT_M) + _widest_m(view))
    zone = area_before(view.centers[i], view.things[i].facing_deg or 0.0)
    for kind in kinds:
        others = view.among(about, kind)
        points = shapely.points(view.centers[others])
        doubtful = shapely.distance(zone.exterior, points) < _margins_m(view, i, others)
        unsure = unsure_within(view, i, kind, about, zone, known)
        yield _gathered(view, i, kind, None, others, shapely.covers(zone, points), doubtful, unsure, front=True)


def unsure_within(
    view: CityView, i: int, kind: str, about: IntArray, area: shapely.Geometry, known: Collection[str] = ()
) -> Measure:
    """How many things about a thing may be of a kind too and may stand in an area, but for those of ``known`` kinds."""
    others = view.unsure_among(about, kind)
    others = np.setdiff1d(others, np.concatenate([others[:0], *(view.among(others, own) for own in known)]))
    there = others[shapely.distance(area, view.query.shapes[others]) <= _margins_m(view, i, others)]
    return rule("others_of_unknown_place", len(there), "<=", 0, f"things: {named(view, there.tolist())}", kind)


def _margins_m(view: CityView, i: int, others: IntArray) -> FloatArray:
    """How near (n,) to the edge of a place other things are in doubt: by half a body, or by the error of the map."""
    error_m = view.errors_m[i] + view.errors_m[others]
    return np.maximum(view.rules.near_margin_m, np.maximum(view.bodies_m[others], error_m))


def _widest_m(view: CityView) -> float:
    """No margin is wider."""
    return view.rules.near_margin_m + float(view.bodies_m.max(initial=0.0) + 2 * view.errors_m.max(initial=0.0))


def _gathered(
    view: CityView,
    i: int,
    kind: str,
    near_m: int | None,
    others: IntArray,
    there: BoolArray,
    doubtful: BoolArray,
    unsure: Measure,
    front: bool = False,
) -> CountedGroup:
    """Those of some things (n,) that are there, if no other is on the edge (both (n,))."""
    error_m = float(view.errors_m[others].max(initial=0.0))
    checks = (
        complete(view, kind, i),
        rule("on_the_edge", float(doubtful.sum()), "<=", 0, "things", "edge"),
        unsure,
        Measure("position_error", error_m, "m", subject=f"of any {kind} about"),
    )
    return CountedGroup(i, kind, near_m, tuple(others[there & ~doubtful].tolist()), checks, front)


def area_before(middle: FloatArray, facing_deg: float) -> shapely.Polygon:
    """The area in front of a thing that faces somewhere: a rectangle that begins at its middle (2,)."""
    wide, deep = FRONT_M
    yaw = np.radians(facing_deg)
    ahead = middle + deep / 2 * np.array([np.sin(yaw), np.cos(yaw)])
    return shapely.Polygon(box_ring(ahead, wide, deep, facing_deg))


class Counting(EqaTask):
    """Counts where the map is declared complete for what is counted; storeys where the map has them."""

    reads = "count"
    share = 205
    name = "Counting"
    about = frozenset({*ASKED, BUILDING})
    parts = parts("ask_count_in", "ask_count_near", "ask_count_front", "ask_count_free", "ask_levels")
    tried_at_most = MappingProxyType({"storeys": 0.2})  # the 29 released rows at hand count cars and spaces

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
        """Every place with what is counted there; free parking spaces; storeys of buildings.

        Who guesses chooses among the numbers that the city has of the kind.
        """
        raws = [*self._raws(view)]
        given: dict[str, set[str]] = defaultdict(set)
        for raw in raws:
            if raw.broken is None:
                given[raw.kind].add(raw.answer)
        yield from (replace(raw, others=tuple(n for n in raw.others if n in given[raw.kind])) for raw in raws)

    def _raws(self, view: CityView) -> Iterator[RawQuestion]:
        for found in gathered(view):
            if found.things or found.checks[0].holds:
                for asked in (Phrase(found.kind), *view.narrower(found.kind)):
                    yield _count(view, found, asked)
        for lot in parking_lots(view):
            yield _count_free(view, lot)
        for i in view.targets(BUILDING):
            if view.things[i].levels is not None:
                yield _storeys(view, i)


def _count(view: CityView, found: CountedGroup, asked: Phrase) -> RawQuestion:
    place, most = view.things[found.at], view.rules.count_max
    those, told = view.picked(found.things, asked)
    near, n = found.near_m is not None, len(those)
    fields = {"things": plural(asked.noun)} | ({"metres": str(found.near_m)} if near else {})
    return question_about(
        view,
        found.at,
        kind=f"{plural(asked.noun)} {'in front of' if found.front else found.where} a {place.kind}",
        operands=(asked.noun, str(found.near_m or found.where)),
        part=f"ask_count_{found.where}",
        fields=fields,
        answer=NUMBERS[min(n, len(NUMBERS) - 1)],
        others=numbers_to(most),
        answer_type=NUMBER,
        # A thing is told from others by fewer pixels than it is looked at by, or than its sort is told by.
        pixels_min=view.rules.pixels_min // (4 if asked.noun == found.kind else 1),
        about=found.things,
        checks=(
            *found.checks,
            told,
            rule("none_there", n, ">=", 1, "things"),
            rule("too_many", n, "<=", most, "things"),
            Measure("count", n, "things", subject=asked.noun),
        ),
    )


@dataclass(frozen=True)
class ParkingLot:
    """The marked spaces of a car park.

    Attributes:
        at: index of the car park.
        free: indices of the spaces in which nothing stands.
        vehicles: indices of all vehicles in the car park.
        checks: whether the map has all spaces and vehicles, and tells of each space whether it is free.
    """

    at: int
    free: tuple[int, ...]
    vehicles: tuple[int, ...]
    checks: tuple[Measure, ...]


def parking_lots(view: CityView) -> Iterator[ParkingLot]:
    """Every car park with marked spaces, and which of these are free."""
    for i in view.targets("parking"):
        lot, feet = view.query.shapes[i], view.footprints
        about = view.around(i, _widest_m(view))
        spaces = view.among(about, SPACE)
        spaces = spaces[shapely.covers(lot, shapely.points(view.centers[spaces]))]
        if not len(spaces):
            continue
        vehicles = np.concatenate([view.among(about, kind) for kind in VEHICLES])
        vehicles = vehicles[shapely.intersects(lot, feet[vehicles])]
        # (spaces, vehicles) how much of a vehicle stands in a space.
        share = shapely.area(shapely.intersection(feet[spaces][:, None], feet[vehicles][None])) / np.maximum(
            shapely.area(feet[vehicles]), 1e-9
        )
        free = (share <= BESIDE_SHARE).all(1)
        unsure = int((~free & ~(share >= PARKED_SHARE).any(1)).sum())
        both = np.append(spaces, vehicles)
        unsure += int((shapely.area(feet[both]) == 0).sum())  # of points it is not known which way they lie
        error_m = float(view.errors_m[both].max())
        if error_m > SLIP_M:
            unsure = len(spaces)
        shares = [view.coverage.least(kind, view.things[i].center) for kind in (SPACE, *VEHICLES)]
        checks = (
            rule("map_incomplete", min(shares), ">=", COVERED, f"share of each {SPACE} and vehicle, at least"),
            rule("on_the_edge", float(unsure), "<=", 0, "spaces", "edge"),
            *(unsure_within(view, i, kind, about, lot, VEHICLES) for kind in (SPACE, *VEHICLES)),
            Measure("position_error", error_m, "m", subject=f"of any {SPACE} or vehicle there"),
        )
        yield ParkingLot(i, tuple(spaces[free].tolist()), tuple(vehicles.tolist()), checks)


def _count_free(view: CityView, lot: ParkingLot) -> RawQuestion:
    n, most = len(lot.free), view.rules.count_max
    return question_about(
        view,
        lot.at,
        kind=f"free {plural(SPACE)}",
        operands=(f"free {SPACE}",),
        part="ask_count_free",
        answer=NUMBERS[min(n, len(NUMBERS) - 1)],
        others=numbers_to(most),
        answer_type=NUMBER,
        shown=(*lot.free, *lot.vehicles),
        pixels_min=view.rules.pixels_min // 2,
        about=(*lot.free, *lot.vehicles),
        checks=(
            *lot.checks,
            rule("none_there", n, ">=", 1, "things"),
            rule("too_many", n, "<=", most, "things"),
            Measure("count", n, "things", subject=f"free {SPACE}"),
        ),
    )


def _storeys(view: CityView, i: int) -> RawQuestion:
    thing = view.things[i]
    levels = thing.levels or 0.0
    return question_about(
        view,
        i,
        kind="storeys",
        part="ask_levels",
        answer=NUMBERS[min(int(levels), len(NUMBERS) - 1)],
        others=numbers_to(view.rules.count_max),
        answer_type=NUMBER,
        checks=(
            rule("half_storeys", levels % 1, "<=", 0, "storeys"),
            # No window shows whether the map counts one there.
            rule("room_under_the_roof", float(thing.roof_shape not in (None, "flat")), "<=", 0, "roofs"),
            rule("too_many", levels, "<=", view.rules.count_max, "storeys"),
        ),
    )


class Existence(EqaTask):
    """Both answers only where the map has every thing of the kind; each sort is as often there as it is not."""

    reads = "kind"
    share = 275
    name = "Existence Judgement"
    about = ASKED | HAVING
    parts = parts("ask_exists_in", "ask_exists_near", "ask_exists_front", "ask_exists_free", "ask_has")

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
        """Every place with every kind, and every colour and sort that things of the kind have somewhere in the city."""
        seen = {(t.kind, t.colour) for t in view.things if t.colour in COLOURS}
        colours = {kind: sorted(colour for of, colour in seen if of == kind and colour) for kind, _ in seen}
        for found in gathered(view):
            painted = [Phrase(found.kind, colour) for colour in colours.get(found.kind, ())]
            for asked in (Phrase(found.kind), *painted, *view.narrower(found.kind)):
                yield _exists(view, found, asked)
        for lot in parking_lots(view):
            yield _any_free(view, lot)
        for i in view.targets(*(view.kinds & HAVING)):
            for trait in HAS:
                if trait in view.things[i].traits:
                    yield _trait_question(view, i, trait)


def _trait_question(view: CityView, i: int, trait: str) -> RawQuestion:
    """Whether a thing has what its own entry on the map says that it has, or has not."""
    thing = view.things[i]
    about = view.among(view.around(i, AT_M), trait)
    has = thing.traits[trait] == YES_NO[0]
    return question_about(
        view,
        i,
        kind="has",
        operands=(trait,),
        phrases=view.phrases(i) if thing.kind != SHOP else view.phrases(i, hide=("name",)),
        part="ask_has",
        fields={"has": HAS[trait]["said"]},
        answer=YES_NO[0] if has else YES_NO[1],
        others=YES_NO,
        answer_type=YES_OR_NO,
        even=trait,
        checks=(
            view.pictured(trait),
            rule("map_contradicts_itself", 0.0 if has else len(about), "<=", 0, f"of {trait} within {AT_M:g} m"),
            Measure("told", float(has), YES_NO[0], subject=trait),
        ),
    )


def _exists(view: CityView, found: CountedGroup, asked: Phrase) -> RawQuestion:
    place, near = view.things[found.at], found.near_m is not None
    said = str(asked).partition(" ")[2]
    those, told = view.picked(found.things, asked)
    return question_about(
        view,
        found.at,
        kind="any",
        operands=(said, str(found.near_m or found.where)),
        part=f"ask_exists_{found.where}",
        fields={"thing": said} | ({"metres": str(found.near_m)} if near else {}),
        answer=YES_NO[0] if those else YES_NO[1],
        others=YES_NO,
        answer_type=YES_OR_NO,
        shown=(found.at, *those[:1]) if those else (found.at, *found.things),
        pixels_min=view.rules.pixels_min // (4 if asked.noun == found.kind else 1),
        about=found.things,
        even=f"{said} {found.in_words(place.kind)}",  # farther about there is more
        checks=(
            *found.checks,
            told,
            Measure("count", len(those), "things", subject=said),
        ),
    )


def _any_free(view: CityView, lot: ParkingLot) -> RawQuestion:
    return question_about(
        view,
        lot.at,
        kind=f"any free {SPACE}",
        operands=(f"free {SPACE}",),
        part="ask_exists_free",
        answer=YES_NO[0] if lot.free else YES_NO[1],
        others=YES_NO,
        answer_type=YES_OR_NO,
        shown=lot.free[:1] or lot.vehicles,
        pixels_min=view.rules.pixels_min // 4,
        about=(*lot.free, *lot.vehicles),
        even=SPACE,
        checks=(*lot.checks, Measure("count", len(lot.free), "things", subject=f"free {SPACE}")),
    )
