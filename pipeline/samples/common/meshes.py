"""Meshes that are joined from parts, whose vertices know what they belong to and whose faces know how they look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.formats.ply import ply_bytes
from pipeline.samples.common.camera import moved

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
