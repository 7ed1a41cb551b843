"""Routes through a sample room that a person could describe and walk: straight legs between unique objects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely
from pydantic import Field
from shapely.geometry.base import BaseGeometry

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Model
from pipeline.geometry.boxes import Boxes

BODY_RADIUS_M: Final = 0.22  # VSI routes: footprints grown by 0.2 m; a little more, so that no grid decides
STAND_OFF_M: Final = 0.4  # from the footprint of the object that one has walked to
SHORTEST_LEG_M: Final = 0.5
STRAIGHT_UP_TO_DEG: Final = 30.0  # VSI routes: straight within 30 degrees, back beyond 135
BACK_FROM_DEG: Final = 135.0
MARGIN_DEG: Final = 15.0  # VSI routes: 10 degrees; more, since centres and standing points see other angles
_BODY_M: Final = (0.05, 1.75)  # heights between which a thing is in the way
_STANDS_BELOW_M: Final = 0.15  # the underside of what can be walked to
# Labels that VSI-Bench merges into one category: an object is unique only if its category is.
SAME_CATEGORY: Final = {"desk": "table", "office chair": "chair", "recycling bin": "trash can"}


class SampleRoute(Model):
    """A walk: start at one object facing the first of ``stops``, go forward to it, turn, go on to the next."""

    start: str
    stops: tuple[str, ...] = Field(description="labels in order; the first is faced, the last is the destination")
    turns: tuple[str, ...] = Field(description="left, right or back at every stop but the last")
    turns_deg: tuple[float, ...] = Field(description="the same, counter-clockwise")
    points: tuple[tuple[float, float], ...] = Field(description="start and where one stands at each stop, world frame")
    clearance_m: float = Field(description="smallest distance of the way from walls and things")


class _Walk(NamedTuple):
    """A walk so far: object indices, standing points (2,), clearance and turns."""

    visited: tuple[int, ...]
    points: tuple[FloatArray, ...]
    clearance_m: float
    turns_deg: tuple[float, ...]


class _Floor(NamedTuple):
    """What a walk has to heed: outline, footprints, centres (N, 2), and whether a footprint is in the way."""

    outline: BaseGeometry
    footprints: npt.NDArray[np.object_]
    centers: FloatArray
    blocks: npt.NDArray[np.bool_]


def find_routes(
    labels: Sequence[str], boxes: Boxes, floor: BaseGeometry, seen: npt.NDArray[np.bool_]
) -> tuple[SampleRoute, ...]:
    """The roomiest route with one turn and the roomiest with two, where there are such; only objects that are seen."""
    categories = [SAME_CATEGORY.get(label, label) for label in labels]
    often = Counter(categories)
    low = boxes.center[:, 2] - boxes.half[:, 2]
    ground = low.min()
    ends = [i for i, c in enumerate(categories) if often[c] == 1 and seen[i] and low[i] - ground < _STANDS_BELOW_M]
    footprints = np.array([shapely.MultiPoint(corners[:, :2]).convex_hull for corners in boxes.corners()])
    high = boxes.center[:, 2] + boxes.half[:, 2]
    blocks = (low - ground < _BODY_M[1]) & (high - ground > _BODY_M[0])
    scene = _Floor(floor, footprints, boxes.center[:, :2], blocks)
    best: dict[int, _Walk] = {}
    for walk in _walks(scene, ends):
        turns = len(walk.turns_deg)
        if turns and (turns not in best or walk.clearance_m > best[turns].clearance_m):
            best[turns] = walk
    return tuple(_route(labels, best[turns]) for turns in sorted(best))


def _route(labels: Sequence[str], walk: _Walk) -> SampleRoute:
    start, *stops = (labels[i] for i in walk.visited)
    return SampleRoute(
        start=start,
        stops=tuple(stops),
        turns=tuple(turn_name(angle) for angle in walk.turns_deg),
        turns_deg=tuple(round(angle, 6) for angle in walk.turns_deg),
        points=tuple((round(float(x), 6), round(float(y), 6)) for x, y in walk.points),
        clearance_m=round(walk.clearance_m, 6),
    )


def turn_name(angle_deg: float) -> str:
    """What a turn by this angle, counter-clockwise in (-180, 180], is called."""
    if abs(angle_deg) < STRAIGHT_UP_TO_DEG:
        return "straight"
    if abs(angle_deg) > BACK_FROM_DEG:
        return "back"
    return "left" if angle_deg > 0 else "right"


def _walks(scene: _Floor, ends: list[int], most_turns: int = 2) -> Iterator[_Walk]:
    """All walks over different objects with up to ``most_turns`` turns."""
    open_walks = []
    for start in ends:
        for first in ends:
            if first != start:
                toward = scene.centers[first] - scene.centers[start]
                out = _border(scene.footprints[start], scene.centers[first], scene.centers[start])
                begin = out + STAND_OFF_M * toward / np.hypot(*toward)
                leg = _leg(scene, begin, first)
                if leg:
                    open_walks.append(_Walk((start, first), (begin, leg[0]), leg[1], ()))
    while open_walks:
        walk = open_walks.pop()
        yield walk
        if len(walk.turns_deg) == most_turns:
            continue
        for target in ends:
            leg = None if target in walk.visited else _leg(scene, walk.points[-1], target)
            turn = _clear_turn(scene, walk, target) if leg else None
            if leg and turn is not None:
                open_walks.append(
                    _Walk(
                        (*walk.visited, target),
                        (*walk.points, leg[0]),
                        min(walk.clearance_m, leg[1]),
                        (*walk.turns_deg, turn),
                    )
                )


def _leg(scene: _Floor, begin: FloatArray, target: int) -> tuple[FloatArray, float] | None:
    """Where one stands after walking straight to an object, and the clearance on the way; None if there is no way."""
    toward = scene.centers[target] - begin
    length = float(np.hypot(*toward))
    if length == 0:
        return None
    border = _border(scene.footprints[target], begin, scene.centers[target])
    end = border - STAND_OFF_M * toward / length
    if np.dot(end - begin, toward) < SHORTEST_LEG_M * length:
        return None
    way = shapely.LineString([begin, end])
    if not scene.outline.contains(way):
        return None
    distances = shapely.distance(way, scene.footprints[scene.blocks])
    clearance = min(float(distances.min()), float(shapely.distance(way, scene.outline.boundary)))
    return (end, clearance) if clearance >= BODY_RADIUS_M else None


def _border(footprint: BaseGeometry, outside: FloatArray, center: FloatArray) -> FloatArray:
    """The point of a footprint's outline on the line from its centre to a point outside; that point if inside."""
    inside = shapely.get_coordinates(shapely.LineString([center, outside]).intersection(footprint))
    return np.asarray(inside[np.argmax(np.hypot(*(inside - center).T))])


def _clear_turn(scene: _Floor, walk: _Walk, target: int) -> float | None:
    """The turn to the next object, if its name is beyond doubt, from where one stands and between centres."""
    before, here = walk.visited[-2:]
    stand = _turn_deg(walk.points[-2], walk.points[-1], walk.points[-1], scene.centers[target])
    between = _turn_deg(scene.centers[before], scene.centers[here], scene.centers[here], scene.centers[target])
    edges = np.array([STRAIGHT_UP_TO_DEG, BACK_FROM_DEG])
    margins = [float(np.abs(abs(angle) - edges).min()) for angle in (stand, between)]
    name = turn_name(stand)
    clear = name == turn_name(between) != "straight" and min(margins) >= MARGIN_DEG
    return stand if clear else None


def _turn_deg(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> float:
    """Angle from direction a -> b to direction c -> d, counter-clockwise in (-180, 180], floor plane."""
    u, v = b - a, d - c
    return math.degrees(math.atan2(u[0] * v[1] - u[1] * v[0], u[0] * v[0] + u[1] * v[1]))
