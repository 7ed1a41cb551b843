"""Occluding and visible solids of a city: upright prisms, one or two per thing.

A building whose height the map does not tell is a prism of the least height that it surely has, and above that one
that may be there: it blocks every way and every view, and is no part of the building that anybody sees for sure.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.groups import grouped
from pipeline.reading.maps.appearance import STOREY_M
from pipeline.reading.maps.city_thing import BUILDING, FACING, FLAT, SHAPES, SIZES, USUAL_RGB, CityThing
from pipeline.worlds.city.facts import City

UNBOUNDED_M: Final = 300.0  # top of what may be there above a building of which no height is known
FLAT_M: Final = 0.05  # top of what lies on the ground
TREE: Final = "tree"
TRUNK_M: Final = 2.0
_CROWN_SIDES: Final = 8
GLASS: Final = (44, 54, 66)  # of windows in pictures
ONE_BOX: Final = ((0, 1, 0, 1, 1),)
SPACE: Final = "parking space"


class Prism(NamedTuple):
    """An upright prism.

    Attributes:
        thing: index among the city's things.
        ring: (k, 2) counter-clockwise.
        base_m: its foot.
        top_m: its top.
        sure: whether it is there for sure; else it may be.
        rgb: its colour, where it is not that of the thing.
    """

    thing: int
    ring: FloatArray
    base_m: float
    top_m: float
    sure: bool = True
    rgb: tuple[int, int, int] | None = None


class Occluders:
    """The prisms of a city.

    Args:
        city: with a map.
        unbounded_m: top of what may be there above a building of which no height is known.
        has_roofs: whether buildings have the shape of their roofs, as in pictures; else they are as high all over.

    Attributes:
        prisms: in the order of the things.
        thing: (P,) index of the thing of each.
        base_m: (P,).
        top_m: (P,).
        sure: (P,).
    """

    def __init__(self, city: City, unbounded_m: float = UNBOUNDED_M, has_roofs: bool = False) -> None:
        self.city = city
        self.prisms = tuple(prism for i, thing in enumerate(city.things) for prism in _prisms(i, thing, unbounded_m))
        if has_roofs:
            self.prisms = tuple(part for prism in self.prisms for part in _roofed(prism, city.things[prism.thing]))
        self.thing: IntArray = np.array([p.thing for p in self.prisms], dtype=np.intp)
        self.base_m: FloatArray = np.array([p.base_m for p in self.prisms], dtype=np.float64)
        self.top_m: FloatArray = np.array([p.top_m for p in self.prisms], dtype=np.float64)
        self.sure: BoolArray = np.array([p.sure for p in self.prisms], dtype=bool)

    @cached_property
    def polygons(self) -> np.ndarray:
        """(P,) shapely polygons."""
        if not self.prisms:
            return np.array([], dtype=object)
        of = np.repeat(np.arange(len(self.prisms)), [len(p.ring) for p in self.prisms])
        return shapely.polygons(shapely.linearrings(np.concatenate([p.ring for p in self.prisms]), indices=of))


def _prisms(index: int, thing: CityThing, unbounded_m: float) -> list[Prism]:
    if thing.kind == BUILDING and thing.outline is not None:
        return _building(index, thing, np.array(thing.outline), unbounded_m)
    if thing.kind == TREE and thing.outline is None:
        return _tree(index, thing)
    size = SIZES.get(thing.kind)
    tall_m = thing.height_m or (size.height_m if size else None)
    if thing.kind in FLAT:  # a space is marked upon the car park that it lies in
        tall_m = SIZES[SPACE].height_m if thing.kind == SPACE else FLAT_M
    if thing.outline is not None and tall_m is not None:
        base = thing.base_m or 0.0
        return [Prism(index, np.array(thing.outline), base, base + tall_m)]
    if size is None or (thing.kind in FACING and thing.facing_deg is None):
        return []
    base = size.base_m if thing.base_m is None else thing.base_m
    height, facing = thing.height_m or size.height_m, thing.facing_deg or 0.0
    ahead = np.array([np.sin(np.radians(facing)), np.cos(np.radians(facing))])
    found = []
    for rear, nose, low, high, wide, *own in SHAPES.get(thing.noun, SHAPES.get(thing.kind, ONE_BOX)):
        middle = np.array(thing.center) + ((rear + nose) / 2 - 0.5) * size.depth_m * ahead
        ring = box_ring(middle, wide * size.width_m, (nose - rear) * size.depth_m, facing)
        rgb = GLASS if own == ["glass"] else tuple(own[0]) if own else None
        found.append(Prism(index, ring, base + low * height, base + high * height, rgb=rgb))
    return found


def _tree(index: int, thing: CityThing) -> list[Prism]:
    """A trunk and a crown."""
    size, center, base = SIZES[TREE], np.array(thing.center), thing.base_m or 0.0
    top = base + (thing.height_m or size.height_m)
    fork = base + min(TRUNK_M, (top - base) / 2)
    turn = np.radians(np.arange(_CROWN_SIDES) * 360.0 / _CROWN_SIDES)
    crown = center + size.width_m / 2 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return [Prism(index, box_ring(center, 0.4, 0.4, 0.0), base, fork), Prism(index, crown, fork, top)]


def _building(index: int, thing: CityThing, ring: FloatArray, unbounded_m: float) -> list[Prism]:
    """From the ground up, also where its foot lies higher: below a house on a slope is the slope."""
    low, high = height_bounds_m(thing, unbounded_m)
    if thing.parts:  # one of them is as high as the building; of all else no more is sure than that it is one
        low = min(low, (thing.base_m or 0.0) + STOREY_M[0])
    foot = min(0.0, thing.base_m or 0.0)
    found = [Prism(index, ring, foot, low)] if low > foot else []
    return [*found, Prism(index, ring, low, high, sure=False)] if high > low else found


# By the shape of a roof: how much smaller its footprint is at a share of the roof's height, across and along.
_NARROWER: Final[Mapping[str, tuple[Callable[[float], float], Callable[[float], float]]]] = {
    "pitched": (lambda up: 1 - up, lambda up: 1.0),
    "pointed": (lambda up: 1 - up, lambda up: 1 - up),
    "domed": (lambda up: math.sqrt(1 - up**2), lambda up: math.sqrt(1 - up**2)),
    "rounded": (lambda up: math.sqrt(1 - up**2), lambda up: 1.0),
}
ROOF_M: Final = 4.0  # height of a roof in pictures, at most a third of the building
_LAYERS: Final = 8


def _roofed(prism: Prism, thing: CityThing) -> Iterator[Prism]:
    """A prism; of a building of a known height and roof its walls, and layers that narrow towards the top."""
    narrower = _NARROWER.get(thing.roof_shape or "")
    if thing.kind != BUILDING or thing.top_m is None or thing.parts or narrower is None or not prism.sure:
        yield prism
        return
    rise = min(ROOF_M, (prism.top_m - prism.base_m) / 3)
    eaves = prism.top_m - rise
    yield prism._replace(top_m=eaves)
    frame = np.array(shapely.minimum_rotated_rectangle(shapely.Polygon(prism.ring)).exterior.coords)
    middle, sides = frame[:4].mean(0), np.diff(frame[:3], axis=0)
    length = np.linalg.norm(sides, axis=1)
    # The shorter side first: the ridge runs along the other.
    across = (sides / length[:, None])[np.argsort(length, kind="stable")]
    places = (prism.ring - middle) @ across.T
    rgb = thing.roof_rgb or thing.rgb or USUAL_RGB[BUILDING]
    for layer in range(_LAYERS):
        up = (layer + 0.5) / _LAYERS
        ring = middle + places * [side(up) for side in narrower] @ across
        low = eaves + rise * layer / _LAYERS
        yield prism._replace(ring=ring, base_m=low, top_m=low + rise / _LAYERS, rgb=rgb)


def height_bounds_m(thing: CityThing, unbounded_m: float = UNBOUNDED_M) -> tuple[float, float]:
    """Least and greatest height of a building's top above the city's ground."""
    if thing.top_m is not None:
        return thing.top_m, thing.top_m
    base = thing.base_m or 0.0
    if thing.height_m is not None:
        return base + thing.height_m, base + thing.height_m
    if thing.levels is not None:
        return base + STOREY_M[0] * thing.levels, base + STOREY_M[1] * (thing.levels + 1)
    return base + STOREY_M[0], max(unbounded_m, base + STOREY_M[0])


def box_ring(center: FloatArray, width_m: float, depth_m: float, facing_deg: float) -> FloatArray:
    """Corners (4, 2), counter-clockwise, of a box that faces a compass direction; width lies across it."""
    yaw = np.radians(facing_deg)
    ahead, right = np.array([np.sin(yaw), np.cos(yaw)]), np.array([np.cos(yaw), -np.sin(yaw)])
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return np.array([center + x * width_m / 2 * right + y * depth_m / 2 * ahead for x, y in corners])


class PrismMesh(NamedTuple):
    """Triangles, counter-clockwise seen from outside.

    Attributes:
        vertices: (V, 3).
        faces: (F, 3).
        prism: (F,) number of its prism; the ground has the number after the last.
    """

    vertices: FloatArray
    faces: IntArray
    prism: IntArray


def prism_mesh(solids: Occluders, ground_m: float) -> PrismMesh:
    """Walls, roofs and floors of all prisms, and a square of ground that reaches so far from the middle."""
    by_corners = grouped(range(len(solids.prisms)), lambda number: len(solids.prisms[number].ring))
    g = ground_m
    vertices = [np.array([[-g, -g, 0], [g, -g, 0], [g, g, 0], [-g, g, 0]], dtype=np.float64)]
    faces, prisms, count = [np.array([[0, 1, 2], [0, 2, 3]])], [np.full(2, len(solids.prisms))], 4
    for k, numbers in by_corners.items():
        own = np.array(numbers)
        rings = np.stack([solids.prisms[i].ring for i in numbers])
        for height in (solids.base_m, solids.top_m):
            level = np.broadcast_to(height[own, None, None], (len(own), k, 1))
            vertices.append(np.concatenate([rings, level], axis=2).reshape(-1, 3))
        # Corner c of prism p stands at number c + k p, and its upper one so many later.
        upper = len(own) * k
        low = np.arange(k)
        after = np.roll(low, -1)
        walls = np.concatenate(
            [np.stack([low, after, after + upper], 1), np.stack([low, after + upper, low + upper], 1)]
        )
        lids, of_lid = _lids(rings, solids.polygons[own])
        first = np.arange(len(own)) * k
        sides = (walls[None] + first[:, None, None]).reshape(-1, 3)
        lids = lids + first[of_lid, None]
        faces.append(np.concatenate([sides, lids + upper, lids[:, ::-1]]) + count)
        prisms.append(own[np.concatenate([np.repeat(np.arange(len(own)), len(walls)), of_lid, of_lid])])
        count += 2 * upper
    return PrismMesh(np.concatenate(vertices), np.concatenate(faces), np.concatenate(prisms))


def _lids(rings: FloatArray, polygons: np.ndarray) -> tuple[IntArray, IntArray]:
    """Triangles (n, 3) that fill rings (m, k, 2), as numbers of a ring's corners, and the ring (n,) of each."""
    k = rings.shape[1]
    convex = _convex(rings)
    fan = np.stack([np.zeros(k - 2, dtype=np.intp), np.arange(1, k - 1), np.arange(2, k)], axis=1)
    whole = np.flatnonzero(convex)
    found, owners = [np.tile(fan, (len(whole), 1))], [np.repeat(whole, k - 2)]
    for i in np.flatnonzero(~convex).tolist():
        triangles = _triangles(rings[i], polygons[i])
        found.append(triangles)
        owners.append(np.full(len(triangles), i))
    return np.concatenate(found), np.concatenate(owners)


def _convex(rings: FloatArray) -> BoolArray:
    """Which counter-clockwise rings (m, k, 2) turn nowhere to the right, and once around: (m,)."""
    step = np.roll(rings, -1, axis=1) - rings
    after = np.roll(step, -1, axis=1)
    cross = step[..., 0] * after[..., 1] - step[..., 1] * after[..., 0]
    dot = (step * after).sum(-1)
    return np.asarray((cross >= 0).all(1) & (np.abs(np.arctan2(cross, dot).sum(1) - 2 * np.pi) < 1e-6))


def _triangles(ring: FloatArray, polygon: shapely.Polygon) -> IntArray:
    """Triangles (n, 3) that fill a ring (k, 2), as numbers of its corners, counter-clockwise."""
    place = {(x, y): i for i, (x, y) in enumerate(ring.tolist())}
    filled = shapely.constrained_delaunay_triangles(polygon)
    corners = [[place[x, y] for x, y in t.exterior.coords[:-1]] for t in filled.geoms]
    found = np.array(corners, dtype=np.intp).reshape(-1, 3)
    a, b, c = (ring[found[:, k]] for k in range(3))
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.where((turn > 0)[:, None], found, found[:, ::-1])
