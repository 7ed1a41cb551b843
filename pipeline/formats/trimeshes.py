"""Meshes that trimesh reads, from one file each: nothing beside it is opened, whatever it names."""

from __future__ import annotations

import io
from typing import Final

import numpy as np

from pipeline.core.errors import FormatError
from pipeline.formats.ply import PlyMesh

MESH_SUFFIXES: Final = (".glb", ".obj", ".off", ".stl")
MAX_BYTES: Final = 2**30
UNREADABLE: Final = "unreadable_mesh"


def read_mesh(raw: bytes, suffix: str) -> PlyMesh:
    """All triangles of a file, in its own frame: parts of a GLB stand where its nodes put them. Raises FormatError."""
    import trimesh  # takes a fifth of a second

    if len(raw) > MAX_BYTES:
        raise FormatError(UNREADABLE, f"{len(raw)} bytes, over {MAX_BYTES}")
    try:
        scene = trimesh.load_scene(io.BytesIO(raw), file_type=suffix[1:], resolver=None, process=False)
        mesh = scene.to_mesh()
        vertices, faces = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces)
    except MemoryError:
        raise
    except Exception as error:  # its parsers raise whatever Python raises
        raise FormatError(UNREADABLE, f"it cannot be read: {type(error).__name__}: {error}"[:300]) from error
    if not len(faces):
        raise FormatError(UNREADABLE, "it has no triangles")
    if not np.isfinite(vertices).all():
        raise FormatError(UNREADABLE, "places of its corners are no finite numbers")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise FormatError(UNREADABLE, "a triangle names a corner that is not there")
    return PlyMesh(vertices, faces.astype(np.int32))
