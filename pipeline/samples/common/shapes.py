"""Solid shapes as triangles with vertices on a fine grid, as a fused scan has them. Elementary arithmetic only.

Sines and cosines come from the C library one by one and are rounded, so that no processor's vector unit shows. Meshes
are joined from parts; their vertices know what they belong to, their faces how they look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.formats.ply import ply_bytes
from pipeline.samples.common.camera import moved

_DECIMALS: Final = 12
_FEWEST_SIDES: Final = 12
_LEANING: Final = 0.7  # a leaning cell's long diagonal is then no longer than an upright one's
_ROUNDED: Final = 0.9  # so are the cells at rounded corners

Profile = tuple[tuple[float, float], ...]
Ring = npt.NDArray[np.float64]


class Shape(NamedTuple):
    """Triangles of one shape.

    Attributes:
        vertices: (V, 3) metres.
        faces: (F, 3) vertex indices, counter-clockwise seen from outside.
        normals: (F, 3 corners, 3) unit normals; on a round side they change from corner to corner.
    """

    vertices: FloatArray
    faces: npt.NDArray[np.intp]
    normals: FloatArray


def box_shape(low: FloatArray, high: FloatArray, step_m: float, top: FloatArray | None = None) -> Shape:
    """The box from ``low`` to ``high`` (3,), vertices at most ``step_m`` apart.

    ``top`` (4,): x0, x1, y0, y1 of the upper side if it differs from the lower one: a taper, or something that leans.
    """
    lengths = high - low
    if top is not None:
        slant = max(abs(float(x)) for x in (top[0] - low[0], top[1] - high[0], top[2] - low[1], top[3] - high[1]))
        lengths = np.maximum(lengths, [top[1] - top[0], top[3] - top[2], lengths[2] + slant])
        step_m *= _LEANING
    cells = np.maximum(np.ceil(lengths / step_m - 1e-9), 1).astype(int)
    unit, faces = _unit_box(*cells.tolist())
    share = unit / cells
    vertices = low + share * (high - low)
    if top is not None:
        up = share[:, 2:]
        above = np.array([top[0], top[2]]) + share[:, :2] * np.array([top[1] - top[0], top[3] - top[2]])
        vertices[:, :2] = (1 - up) * vertices[:, :2] + up * above
    return Shape(vertices, faces, _flat(vertices, faces))


def cushion_shape(low: FloatArray, high: FloatArray, step_m: float) -> Shape:
    """A cushion from ``low`` to ``high`` (3,): thickest in the middle, a seam all round at half its height."""
    cells = 2 * np.maximum(np.ceil((high - low) / step_m / 1.8 - 1e-9), [3, 3, 1]).astype(
        int
    )  # even: one is the middle
    unit, faces = _unit_box(*cells.tolist())
    share = unit / cells
    x, y = 2 * share[:, 0] - 1, 2 * share[:, 1] - 1
    bulge = (1 - x * x * x * x) * (1 - y * y * y * y)
    height = 0.5 + (share[:, 2] - 0.5) * (0.15 + 0.85 * bulge)
    vertices = low + np.column_stack([share[:, :2], height]) * (high - low)
    return Shape(vertices, faces, _smooth(vertices, faces))


def round_shape(
    low: FloatArray, high: FloatArray, step_m: float, profile: Profile, axis: int = 2, squareness: float = 0.0
) -> Shape:
    """A body of revolution about ``axis`` within the box from ``low`` to ``high`` (3,).

    ``profile``: (radius, height) as shares, from the lower end to the upper one; radius 0 closes the shape, and a
    profile that turns back inside makes a bowl. ``squareness`` 0 is round; towards 1 the outline becomes the rectangle.
    """
    b, c = (axis + 1) % 3, (axis + 2) % 3
    middle, radius = (low + high) / 2, (high - low) / 2
    largest = float(max(radius[b], radius[c]))
    if squareness:
        step_m *= _ROUNDED
    ring = _ring(squareness, round(largest / step_m, 6))
    reach = largest * (1 + 0.42 * squareness)  # from the middle to a corner
    radii, heights, slopes = _fine(profile, reach, float(high[axis] - low[axis]), step_m)
    vertices = np.empty((len(radii), len(ring), 3))
    for k, other in enumerate((b, c)):
        vertices[..., other] = middle[other] + radii[:, None] * ring[:, k] * radius[other]
    vertices[..., axis] = (low[axis] + heights * (high[axis] - low[axis]))[:, None]
    faces, sides, levels = _lathe(radii == 0, len(ring))
    stretched = ring * [radius[b], radius[c]]
    step = np.roll(stretched, -1, axis=0) - np.roll(stretched, 1, axis=0)
    normal = np.column_stack([step[:, 1], -step[:, 0]])
    outward = (normal / _length(normal))[sides]
    normals = np.empty((len(faces), 3, 3))
    normals[..., b] = outward[..., 0] * slopes[levels, None, 0]
    normals[..., c] = outward[..., 1] * slopes[levels, None, 0]
    normals[..., axis] = slopes[levels, None, 1]
    used, index = np.unique(faces, return_inverse=True)
    return Shape(vertices.reshape(-1, 3)[used], index.reshape(-1, 3), normals)


def panel_shape(corner: FloatArray, u: FloatArray, v: FloatArray, step_m: float) -> Shape:
    """A rectangle spanned at ``corner`` (3,) by the sides ``u`` and ``v`` (3,), facing along u x v."""
    nu, nv = (max(1, math.ceil(math.sqrt(float((side * side).sum())) / step_m - 1e-9)) for side in (u, v))
    points, faces = _grid(nu, nv)
    vertices = corner + points[:, 0:1] / nu * u + points[:, 1:2] / nv * v
    return Shape(vertices, faces, _flat(vertices, faces))


@lru_cache(maxsize=1024)
def _unit_box(nx: int, ny: int, nz: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Lattice points (V, 3) on the surface of a box of so many cells, and its triangles, facing outward."""
    cells = (nx, ny, nz)
    lattice, faces, count = [], [], 0
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        points, triangles = _grid(cells[b], cells[c])
        for end in (0, cells[axis]):
            side = np.empty((len(points), 3), dtype=np.intp)
            side[:, axis], side[:, b], side[:, c] = end, points[:, 0], points[:, 1]
            lattice.append(side)
            faces.append((triangles if end else triangles[:, ::-1]) + count)
            count += len(points)
    unique, index = np.unique(np.concatenate(lattice), axis=0, return_inverse=True)
    return unique, index.reshape(-1)[np.concatenate(faces)]


@lru_cache(maxsize=1024)
def _grid(nu: int, nv: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Lattice points ((nu + 1) * (nv + 1), 2) and triangles, counter-clockwise in (u, v)."""
    points = np.stack(np.meshgrid(np.arange(nu + 1), np.arange(nv + 1), indexing="ij"), -1).reshape(-1, 2)
    a = (np.arange(nu)[:, None] * (nv + 1) + np.arange(nv)).reshape(-1)
    b, c, d = a + nv + 1, a + nv + 2, a + 1
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


@lru_cache(maxsize=256)
def _ring(squareness: float, steps: float) -> Ring:
    """Outline (sides, 2) within [-1, 1], counter-clockwise, points at most ``1 / steps`` apart.

    A polygon round the circle, whose flats touch the square; or a rectangle with corners of radius 1 - ``squareness``.
    """
    if squareness == 0.0:
        sides = max(_FEWEST_SIDES, 4 * math.ceil((2 * math.pi * steps + 1) / 4))
        scale = 1 / math.cos(math.pi / sides)
        points = [(scale * x, scale * y) for x, y in _arc(math.pi / sides, 2 * math.pi - math.pi / sides, sides)]
        return np.round(np.array(points), _DECIMALS)
    rounding = 1 - squareness
    bends = max(2, math.ceil(math.pi / 2 * rounding * steps))
    corner = [(squareness + rounding * x, squareness + rounding * y) for x, y in _arc(0.0, math.pi / 2, bends + 1)]
    pieces = max(1, math.ceil(2 * squareness * steps))
    flat = [(squareness - 2 * squareness * i / pieces, 1.0) for i in range(1, pieces)]
    quarter = [*corner, *flat]
    turns = ((1, 0), (0, 1), (-1, 0), (0, -1))
    return np.round(np.array([(x * c - y * s, x * s + y * c) for c, s in turns for x, y in quarter]), _DECIMALS)


def _arc(start: float, end: float, count: int) -> list[tuple[float, float]]:
    angles = [start + (end - start) * i / (count - 1) for i in range(count)]
    return [(math.cos(a), math.sin(a)) for a in angles]


def _lathe(
    closed: npt.NDArray[np.bool_], sides: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Triangles (F, 3) between rings of so many points, one above the other; a closed ring (R,) is a single point.

    Also which side (F, 3) of its ring each corner is, and (F,) the lower ring of each triangle.
    """
    points = np.arange(len(closed) * sides).reshape(len(closed), sides)
    points[closed] = points[closed, :1]
    after = np.roll(points, -1, axis=1)
    quads = np.stack([points[:-1], after[:-1], after[1:], points[1:]], axis=-1).reshape(-1, 4)
    here = np.tile(np.arange(sides), len(closed) - 1)
    around = np.stack([here, (here + 1) % sides, (here + 1) % sides, here], axis=-1)
    level = np.arange(len(closed) - 1).repeat(sides)
    faces, corners = (np.concatenate([four[:, [0, 1, 2]], four[:, [0, 2, 3]]]) for four in (quads, around))
    levels = np.tile(level, 2)
    whole = (faces != np.roll(faces, 1, axis=1)).all(1)
    return faces[whole], corners[whole], levels[whole]


def _fine(
    profile: Profile, radius_m: float, height_m: float, step_m: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The profile with points at most ``step_m`` apart: radii, heights, and (radial, axial) normals of its pieces."""
    points, slopes = [profile[0]], []
    for (r0, t0), (r1, t1) in pairwise(profile):
        across, along = (r1 - r0) * radius_m, (t1 - t0) * height_m
        length = math.sqrt(across * across + along * along)
        pieces = max(1, math.ceil(length / step_m - 1e-9))
        points += [(r0 + (r1 - r0) * i / pieces, t0 + (t1 - t0) * i / pieces) for i in range(1, pieces)]
        points.append((r1, t1))
        slopes += [(along / length, -across / length)] * pieces
    radii, heights = np.array(points).T
    return radii, heights, np.array(slopes)


def _flat(vertices: FloatArray, faces: npt.NDArray[np.intp]) -> FloatArray:
    """Normals (F, 3, 3), the same at the three corners of a face."""
    normal = _crossed(vertices, faces)
    return np.repeat((normal / _length(normal))[:, None], 3, axis=1)


def _smooth(vertices: FloatArray, faces: npt.NDArray[np.intp]) -> FloatArray:
    """Normals (F, 3, 3) at the corners: the mean over the faces that meet there, by their area."""
    normal = _crossed(vertices, faces)
    total = np.zeros_like(vertices)
    for k in range(3):
        for axis in range(3):
            total[:, axis] += np.bincount(faces[:, k], normal[:, axis], minlength=len(vertices))
    return (total / _length(total))[faces]


def _crossed(vertices: FloatArray, faces: npt.NDArray[np.intp]) -> FloatArray:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def _length(vectors: FloatArray) -> FloatArray:
    """Lengths (N, 1)."""
    return np.sqrt((vectors * vectors).sum(1, keepdims=True))


IntArray32 = npt.NDArray[np.int32]
ColorArray = npt.NDArray[np.uint8]


class SurfaceLook(NamedTuple):
    """How faces look.

    Attributes:
        texels: (F, 3 corners, 2) column and row in the picture of all surfaces.
        light: (F, 3 corners) what the light leaves of the colour, 0 to 1.
    """

    texels: FloatArray
    light: FloatArray


class MeshPart(NamedTuple):
    """One part of a mesh: vertices (V, 3), faces (F, 3), the index of the thing it belongs to, its look."""

    vertices: FloatArray
    faces: npt.NDArray[np.intp]
    owner: int
    look: SurfaceLook


@dataclass(frozen=True)
class SampleMesh:
    """A triangle mesh.

    Attributes:
        vertices: (V, 3) metres.
        faces: (F, 3) vertex indices, counter-clockwise seen from the visible side.
        colors: (V, 3) RGB.
        owner: (V,) index of the thing a vertex belongs to; a face never joins two things.
        segment: (V,) over-segmentation: one id per part, the number of its first vertex.
        look: of the faces.
    """

    vertices: FloatArray
    faces: IntArray32
    colors: ColorArray
    owner: IntArray32
    segment: IntArray32
    look: SurfaceLook

    def as_ply(self, *, alpha: bool) -> bytes:
        """The file of it."""
        return ply_bytes(self.vertices, self.faces, self.colors, alpha=alpha)

    def face_owner(self) -> IntArray32:
        """Owner (F,) of each face."""
        return self.owner[self.faces[:, 0]]

    def moved(self, transform: FloatArray) -> SampleMesh:
        """The mesh under a rigid transform (4, 4); it stays lit as it was."""
        return replace(self, vertices=moved(transform, self.vertices))


def join(parts: list[MeshPart], picture: ColorArray) -> SampleMesh:
    """One mesh of parts; ``picture`` (H, W, 3) holds the surfaces that their looks speak of."""
    counts = [len(part.vertices) for part in parts]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    vertices = np.concatenate([part.vertices for part in parts])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)])
    look = SurfaceLook(*(np.concatenate([part.look[k] for part in parts]) for k in range(2)))
    column, row = look.texels[..., 0].astype(int), look.texels[..., 1].astype(int)
    colors = np.zeros((len(vertices), 3), dtype=np.uint8)
    colors[faces] = (picture[row, column] * look.light[..., None]).astype(np.uint8)
    return SampleMesh(
        vertices=vertices,
        faces=faces.astype(np.int32),
        colors=colors,
        owner=np.repeat(np.array([part.owner for part in parts], dtype=np.int32), counts),
        segment=np.repeat(starts.astype(np.int32), counts),
        look=look,
    )
