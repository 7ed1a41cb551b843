"""Meshes of boxes and panels with vertices on a fine grid, as a fused scan has them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import trimesh

from pipeline.core.arrays import FloatArray
from pipeline.sampling.transforms import moved

IntArray32 = npt.NDArray[np.int32]
ColorArray = npt.NDArray[np.uint8]

TILE_M: Final = 0.5  # floors and walls are tiled in two shades, so that motion can be seen
_TILE_SHADE: Final = 0.9


@dataclass(frozen=True)
class SampleMesh:
    """A triangle mesh whose vertices know what they belong to.

    Attributes:
        vertices: (V, 3) metres.
        faces: (F, 3) vertex indices, counter-clockwise seen from the visible side.
        colors: (V, 3) RGB.
        owner: (V,) index of the thing a vertex belongs to; a face never joins two things.
        segment: (V,) over-segmentation: one id per part, the number of its first vertex.
    """

    vertices: FloatArray
    faces: IntArray32
    colors: ColorArray
    owner: IntArray32
    segment: IntArray32

    def face_owner(self) -> IntArray32:
        """Owner (F,) of each face."""
        return self.owner[self.faces[:, 0]]

    def moved(self, transform: FloatArray) -> SampleMesh:
        """The mesh under a rigid transform (4, 4)."""
        return SampleMesh(moved(transform, self.vertices), self.faces, self.colors, self.owner, self.segment)


def join(parts: list[tuple[trimesh.Trimesh, int, ColorArray]]) -> SampleMesh:
    """One mesh of parts, each with its owner and the colours (V, 3) of its vertices."""
    counts = [len(mesh.vertices) for mesh, _, _ in parts]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    whole = cast(trimesh.Trimesh, trimesh.util.concatenate([mesh for mesh, _, _ in parts]))
    return SampleMesh(
        vertices=np.asarray(whole.vertices, dtype=np.float64),
        faces=np.asarray(whole.faces, dtype=np.int32),
        colors=np.concatenate([color for _, _, color in parts]),
        owner=np.repeat(np.array([owner for _, owner, _ in parts], dtype=np.int32), counts),
        segment=np.repeat(starts.astype(np.int32), counts),
    )


def box_mesh(low: FloatArray, high: FloatArray, step_m: float) -> trimesh.Trimesh:
    """The surface of the box from ``low`` to ``high`` (3,), faces outward, vertices at most ``step_m`` apart."""
    cells = np.maximum(np.ceil((high - low) / step_m - 1e-9), 1).astype(int)
    lattice, faces, count = [], [], 0
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        points, triangles = _grid(cells[b], cells[c])
        for end in (0, cells[axis]):
            side = np.empty((len(points), 3), dtype=int)
            side[:, axis], side[:, b], side[:, c] = end, points[:, 0], points[:, 1]
            lattice.append(side)
            faces.append((triangles if end else triangles[:, ::-1]) + count)
            count += len(points)
    unique, index = np.unique(np.concatenate(lattice), axis=0, return_inverse=True)
    vertices = low + unique / cells * (high - low)
    return trimesh.Trimesh(vertices, index.reshape(-1)[np.concatenate(faces)], process=False)


def panel_mesh(corner: FloatArray, u: FloatArray, v: FloatArray, step_m: float) -> trimesh.Trimesh:
    """A rectangle spanned at ``corner`` (3,) by the sides ``u`` and ``v`` (3,), facing along u x v."""
    nu, nv = (max(1, math.ceil(float(np.linalg.norm(side)) / step_m - 1e-9)) for side in (u, v))
    points, faces = _grid(nu, nv)
    vertices = corner + points[:, 0:1] / nu * u + points[:, 1:2] / nv * v
    return trimesh.Trimesh(vertices, faces, process=False)


def tiled(mesh: trimesh.Trimesh, color: tuple[int, int, int]) -> ColorArray:
    """Colours (V, 3) of a panel in two shades, by tiles of `TILE_M`."""
    tile = np.floor(np.asarray(mesh.vertices) / TILE_M + 1e-6).sum(1) % 2
    return (np.array(color) * np.where(tile > 0, 1.0, _TILE_SHADE)[:, None]).astype(np.uint8)


def plain(mesh: trimesh.Trimesh, color: tuple[int, int, int], shade: float) -> ColorArray:
    """One colour for all vertices (V, 3), darkened by ``shade``."""
    return np.tile((np.array(color) * shade).astype(np.uint8), (len(mesh.vertices), 1))


def _grid(nu: int, nv: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Lattice points ((nu + 1) * (nv + 1), 2) and triangles, counter-clockwise in (u, v)."""
    points = np.stack(np.meshgrid(np.arange(nu + 1), np.arange(nv + 1), indexing="ij"), -1).reshape(-1, 2)
    a = (np.arange(nu)[:, None] * (nv + 1) + np.arange(nv)).reshape(-1)
    b, c, d = a + nv + 1, a + nv + 2, a + 1
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
