"""Which things surely lie in a place, around something or in front of it: for counting, and whether there are any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.core.arrays import BoolArray, IntArray
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.solids import box_ring

PLACES: Final = ("parking", "park", "playground", "sports field")  # that things are in
CENTRES: Final = ("fountain", "statue", "kiosk", "bus stop", "post box", "phone box", "shop", "tower")  # and around
FRONTED: Final = ("shop",)  # of what one says that things stand in front of it
ASKED: Final = frozenset({*PLACES, *CENTRES, *FRONTED})  # whose surroundings are asked about
FRONT_M: Final = (10.0, 12.0)  # how wide and how deep that is
COUNTED: Final = (
    "bench", "bus", "car", "crossing", "fountain", "phone box", "post box", "statue", "street lamp",
    "traffic light", "tree", "truck", "waste bin",
)  # fmt: skip


@dataclass(frozen=True)
class Gathered:
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

    def said(self, place: str) -> str:
        """The same in words, of a place of a kind."""
        return {"front": "in front of", "in": "in", "near": f"within {self.near_m} m of"}[self.where] + f" a {place}"


def gathered(view: CityView) -> Iterator[Gathered]:
    """Every place with every kind that its city counts."""
    there = {thing.kind for thing in view.things}
    kinds = [kind for kind in COUNTED if kind in there]
    for i in view.targets(*ASKED):
        place = view.things[i]
        others = [kind for kind in kinds if kind != place.kind]
        if place.kind in PLACES and place.outline is not None:
            yield from _in(view, i, others)
        elif place.kind in CENTRES:
            yield from _near(view, i, others)
        if place.kind in FRONTED and place.facing_deg is not None:
            yield from in_front(view, i, kinds)


def complete(view: CityView, kind: str) -> Measure:
    """Whether the map has all things of a kind, as its source declares."""
    return rule("map_incomplete", float(kind in view.city.complete), ">=", 1, f"declared complete for {kind}")


def _in(view: CityView, i: int, kinds: Sequence[str]) -> Iterator[Gathered]:
    margin = view.rules.near_margin_m
    about, shape = view.around(i, margin), view.query.shapes[i]
    for kind in kinds:
        others = view.among(about, kind)
        points = shapely.points(view.centers[others])
        doubtful = shapely.distance(shape.exterior, points) < margin
        yield _gathered(view, i, kind, None, others, shapely.covers(shape, points), doubtful)


def _near(view: CityView, i: int, kinds: Sequence[str]) -> Iterator[Gathered]:
    margin, within = view.rules.near_margin_m, view.rules.near_m
    about = view.around(i, max(within) + margin)
    distance = dict(zip(about.tolist(), view.distance_m(i, about).tolist(), strict=True))
    for kind in kinds:
        others = view.among(about, kind)
        away = np.array([distance[other] for other in others.tolist()])
        for metres in within:
            yield _gathered(view, i, kind, metres, others, away <= metres, np.abs(away - metres) < margin)


def in_front(view: CityView, i: int, kinds: Sequence[str]) -> Iterator[Gathered]:
    """The things of some kinds in front of a thing that faces somewhere."""
    about, zone = view.around(i, 2 * max(FRONT_M)), _before(view, i)
    for kind in kinds:
        others = view.among(about, kind)
        points = shapely.points(view.centers[others])
        doubtful = shapely.distance(zone.exterior, points) < view.rules.near_margin_m
        yield _gathered(view, i, kind, None, others, shapely.covers(zone, points), doubtful, front=True)


def _gathered(
    view: CityView,
    i: int,
    kind: str,
    near_m: int | None,
    others: IntArray,
    there: BoolArray,
    doubtful: BoolArray,
    front: bool = False,
) -> Gathered:
    """Those of some things (n,) that are there, if no other is on the edge (both (n,))."""
    checks = (complete(view, kind), rule("on_the_edge", float(doubtful.sum()), "<=", 0, "things", "edge"))
    return Gathered(i, kind, near_m, tuple(others[there & ~doubtful].tolist()), checks, front)


def _before(view: CityView, i: int) -> shapely.Polygon:
    """What lies in front of a thing that faces somewhere: a rectangle that begins at its middle."""
    wide, deep = FRONT_M
    facing = view.things[i].facing_deg or 0.0
    yaw = np.radians(facing)
    middle = view.centers[i] + deep / 2 * np.array([np.sin(yaw), np.cos(yaw)])
    return shapely.Polygon(box_ring(middle, wide, deep, facing))
