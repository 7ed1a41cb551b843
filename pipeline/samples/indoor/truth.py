"""The planted truth of a sample scene: what a reader, an observer or a question must find, known by construction.

Also routes that a person could describe and walk: straight legs between unique objects.
"""

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
from pipeline.core.schema import Model, OrientedBox
from pipeline.geometry.boxes import Boxes, closest_distance_m
from pipeline.samples.common.camera import TURN_BY_SKY
from pipeline.samples.indoor.render import SampleScan

# Share of an image's pixels from which an object counts as seen in it: 20 of a picture of 160x120. The scenes are
# filmed so that a share a third larger or smaller moves no first appearance by more than a frame.
SEEN_SHARE: Final = 20 / (160 * 120)
DECIMALS: Final = 9
WALL_M: Final = 0.2  # walls between rooms are thinner than this

Outline = tuple[tuple[float, float], ...]


class ObjectTruth(Model):
    """One piece of furniture."""

    label: str = Field(description="as the dataset spells it, before any remapping")
    index: int = Field(description="position among the annotated objects of the scene; ScanNet's objectId")
    box: OrientedBox = Field(description="in the scene's world frame; axes are the piece's right, back and up")
    pixels: tuple[tuple[int, int], ...] = Field(description="(frame, pixels) for every frame that shows any of it")
    first_frame: int | None = Field(description="first frame with a pose in which it passes SEEN_SHARE")
    first_s: float | None = Field(description="time of that frame from the start of the recording")


class SceneTruth(Model):
    """One sample scene. Frames are numbered from 0 in the order of the recording, those without a pose included."""

    id: str
    dataset: str
    name: str
    objects: tuple[ObjectTruth, ...]
    counts: dict[str, int] = Field(description="label -> pieces, those never seen included")
    never_seen: tuple[int, ...] = Field(description="indices of objects without a single pixel in any frame")
    distances_m: tuple[tuple[float, ...], ...] = Field(description="closest-point distance of boxes i and j")
    floor: tuple[Outline, ...] = Field(description="outline of the floor, doorways included, world frame")
    floor_area_m2: float = Field(description="of the floor: what lies under walls is not part of it")
    outline_area_m2: float = Field(
        description="of the floor with the walls between its rooms: what an alpha shape sees"
    )
    frame_time_s: tuple[float, ...] = Field(description="from the first frame, as the files state it")
    frame_names: tuple[str, ...] = Field(description="what the files call each frame")
    lost_frames: tuple[int, ...] = Field(description="frames whose pose was lost (-inf)")
    image_pixels: int = Field(description="pixels of the image in which ``pixels`` were counted")
    turn_deg: int = Field(description="clockwise turn that makes the stored frames upright")
    routes: tuple[SampleRoute, ...]


class PlantedTruth(Model):
    """Everything planted in a folder of samples."""

    seen_share: float = SEEN_SHARE
    scenes: dict[str, SceneTruth] = Field(description='by id, "dataset/name"')


def truth_of(
    scan: SampleScan,
    pixels: npt.NDArray[np.int64],
    image_pixels: int,
    times_s: list[float],
    names: list[str],
    lost: tuple[int, ...] = (),
) -> SceneTruth:
    """The truth of a scan whose frames showed ``pixels`` (frames, pieces)."""
    plan, room = scan.plan, scan.room
    labels, boxes = room.labels, room.boxes
    passes = pixels >= SEEN_SHARE * image_pixels
    passes[list(lost)] = False
    objects = []
    for i, label in enumerate(labels):
        frames = np.flatnonzero(pixels[:, i])
        first = int(np.argmax(passes[:, i])) if passes[:, i].any() else None
        objects.append(
            ObjectTruth(
                label=label,
                index=i,
                box=OrientedBox(
                    center=boxes.center[i].round(DECIMALS).tolist(),
                    lengths=(2 * boxes.half[i]).round(DECIMALS).tolist(),
                    axes=boxes.axes[i].round(DECIMALS).tolist(),
                ),
                pixels=tuple((int(f), int(pixels[f, i])) for f in frames),
                first_frame=first,
                first_s=None if first is None else times_s[first],
            )
        )
    filled = room.floor.buffer(WALL_M / 2, join_style="mitre").buffer(-WALL_M / 2, join_style="mitre")
    return SceneTruth(
        id=f"{plan.dataset}/{plan.name}",
        dataset=plan.dataset,
        name=plan.name,
        objects=tuple(objects),
        counts=dict(sorted(Counter(labels).items())),
        never_seen=tuple(np.flatnonzero(pixels.sum(0) == 0).tolist()),
        distances_m=_distances(boxes),
        floor=(_outline(room.floor),),
        floor_area_m2=round(room.floor.area, 6),
        outline_area_m2=round(filled.area, 6),
        frame_time_s=tuple(times_s),
        frame_names=tuple(names),
        lost_frames=lost,
        image_pixels=image_pixels,
        turn_deg=TURN_BY_SKY[plan.sky],
        routes=find_routes(labels, boxes, room.floor, np.asarray(passes.any(0))),
    )


def _distances(boxes: Boxes) -> tuple[tuple[float, ...], ...]:
    n = len(boxes.center)
    i, j = np.triu_indices(n, 1)
    out = np.zeros((n, n))
    out[i, j] = out[j, i] = closest_distance_m(boxes.take(i), boxes.take(j)).round(DECIMALS)
    return tuple(tuple(row) for row in out.tolist())


def _outline(floor: BaseGeometry) -> Outline:
    """The closed outline, counter-clockwise, beginning at its smallest corner."""
    ring = shapely.get_coordinates(shapely.orient_polygons(shapely.normalize(floor)).exterior)
    return tuple((x, y) for x, y in ring.round(DECIMALS).tolist())


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
    """The floor of a walk: outline, footprints, centres (N, 2), and whether a footprint is in the way."""

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
    """Name of a turn by this angle, counter-clockwise in (-180, 180]."""
    if abs(angle_deg) < STRAIGHT_UP_TO_DEG:
        return "straight"
    if abs(angle_deg) > BACK_FROM_DEG:
        return "back"
    return "left" if angle_deg > 0 else "right"


def _walks(scene: _Floor, ends: list[int]) -> Iterator[_Walk]:
    """All walks over different objects with up to two turns."""
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
        if len(walk.turns_deg) == 2:
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
