"""The prisms of a city as triangles."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.worlds.city.solids import Solids


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


def prism_mesh(solids: Solids, ground_m: float) -> PrismMesh:
    """Walls, roofs and floors of all prisms, and a square of ground that reaches so far from the middle."""
    by_corners: dict[int, list[int]] = defaultdict(list)
    for number, prism in enumerate(solids.prisms):
        by_corners[len(prism.ring)].append(number)
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
