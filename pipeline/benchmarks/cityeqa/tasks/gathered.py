"""Which things surely lie in a place, around something or in front of it: for counting, and whether there are any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.city.facts import BUILDING
from pipeline.worlds.city.solids import box_ring

PLACES: Final = ("parking", "park", "playground", "sports field")  # that things are in
CENTRES: Final = ("fountain", "statue", "kiosk", "bus stop", "post box", "phone box", "shop", "tower")  # and around
FRONTED: Final = ("shop",)  # of what one says that things stand in front of it
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
    kinds = [kind for kind in COUNTED if any(t.kind == kind for t in view.things)]
    for i, place in enumerate(view.things):
        if place.doubt is not None or place.kind == BUILDING:
            continue
        if place.kind in PLACES and place.outline is not None:
            yield from (_in(view, i, kind) for kind in kinds if kind != place.kind)
        elif place.kind in CENTRES:
            yield from (_near(view, i, kind, m) for kind in kinds if kind != place.kind for m in view.rules.near_m)
        if place.kind in FRONTED and place.facing_deg is not None:
            yield from (in_front(view, i, kind) for kind in kinds)


def complete(view: CityView, kind: str) -> Measure:
    """Whether the map has all things of a kind, as its source declares."""
    return rule("map_incomplete", float(kind in view.city.complete), ">=", 1, f"declared complete for {kind}")


def _in(view: CityView, i: int, kind: str) -> Gathered:
    others = np.intersect1d(view.around(i, view.rules.near_margin_m), view.of_kind(kind), assume_unique=True)
    shape = view.query.shapes[i]
    points = shapely.points(view.centers[others])
    inside = shapely.covers(shape, points)
    edge = shapely.distance(shape.exterior, points)
    margin = view.rules.near_margin_m
    doubtful = edge < margin
    checks = (complete(view, kind), rule("on_the_edge", float(doubtful.sum()), "<=", 0, "things", "edge"))
    return Gathered(i, kind, None, tuple(others[inside & ~doubtful].tolist()), checks)


def _near(view: CityView, i: int, kind: str, metres: int) -> Gathered:
    margin = view.rules.near_margin_m
    others = np.intersect1d(view.around(i, metres + margin), view.of_kind(kind), assume_unique=True)
    away = view.distance_m(i, others) if len(others) else np.empty(0)
    doubtful = np.abs(away - metres) < margin
    checks = (complete(view, kind), rule("on_the_edge", float(doubtful.sum()), "<=", 0, "things", "edge"))
    return Gathered(i, kind, metres, tuple(others[(away <= metres) & ~doubtful].tolist()), checks)


def _before(view: CityView, i: int) -> shapely.Polygon:
    """What lies in front of a thing that faces somewhere: a rectangle that begins at its middle."""
    wide, deep = FRONT_M
    facing = view.things[i].facing_deg or 0.0
    yaw = np.radians(facing)
    middle = view.centers[i] + deep / 2 * np.array([np.sin(yaw), np.cos(yaw)])
    return shapely.Polygon(box_ring(middle, wide, deep, facing))


def in_front(view: CityView, i: int, kind: str) -> Gathered:
    """The things of a kind in front of a thing that faces somewhere."""
    others = np.intersect1d(view.around(i, 2 * max(FRONT_M)), view.of_kind(kind), assume_unique=True)
    zone, points = _before(view, i), shapely.points(view.centers[others])
    doubtful = shapely.distance(zone.exterior, points) < view.rules.near_margin_m
    inside = shapely.covers(zone, points)
    checks = (complete(view, kind), rule("on_the_edge", float(doubtful.sum()), "<=", 0, "things", "edge"))
    return Gathered(i, kind, None, tuple(others[inside & ~doubtful].tolist()), checks, front=True)
