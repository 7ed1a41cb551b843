"""The prisms of a city as triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.worlds.city.solids import Solids


class PrismMesh(NamedTuple):
    """Triangles.

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
    vertices: list[FloatArray] = []
    faces: list[IntArray] = []
    prism: list[int] = []
    count = 0
    for number, (solid, polygon) in enumerate(zip(solids.prisms, solids.polygons, strict=True)):
        k = len(solid.ring)
        vertices += [np.c_[solid.ring, np.full(k, z)] for z in (solid.base_m, solid.top_m)]
        low, after = np.arange(k), np.roll(np.arange(k), -1)
        walls = np.concatenate([np.stack([low, after, after + k], 1), np.stack([low, after + k, low + k], 1)])
        roof = _triangles(solid.ring, polygon)
        own = np.concatenate([walls, roof + k, roof[:, ::-1]])
        faces.append(own + count)
        prism += [number] * len(own)
        count += 2 * k
    g = ground_m
    vertices.append(np.array([[-g, -g, 0], [g, -g, 0], [g, g, 0], [-g, g, 0]], dtype=np.float64))
    faces.append(np.array([[0, 1, 2], [0, 2, 3]]) + count)
    prism += [len(solids.prisms)] * 2
    return PrismMesh(np.concatenate(vertices), np.concatenate(faces), np.array(prism, dtype=np.intp))


def _triangles(ring: FloatArray, polygon: shapely.Polygon) -> IntArray:
    """Triangles (n, 3) that fill a ring (k, 2), as numbers of its corners, counter-clockwise."""
    if len(ring) == 4 and polygon.equals(polygon.convex_hull):
        return np.array([[0, 1, 2], [0, 2, 3]])
    place = {(x, y): i for i, (x, y) in enumerate(ring.tolist())}
    filled = shapely.constrained_delaunay_triangles(polygon)
    corners = [[place[x, y] for x, y in t.exterior.coords[:-1]] for t in filled.geoms]
    found = np.array(corners, dtype=np.intp).reshape(-1, 3)
    a, b, c = (ring[found[:, k]] for k in range(3))
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.where((turn > 0)[:, None], found, found[:, ::-1])
