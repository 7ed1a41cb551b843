"""The mesh of a scan: read from its PLY file and checked before anything is measured on it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.formats.ply import Mesh, PlyError, parse_ply
from pipeline.reading.files import SceneFiles

EXTENT_MAX_M: Final = 100.0  # no indoor scan is longer; millimetres are a thousand times too long
EXTENT_MIN_M: Final = 0.3  # a room in kilometres is shorter
LEVEL_COSINE: Final = 0.95  # faces within 18 degrees of level are floors, ceilings and table tops


def load_mesh(files: SceneFiles, path: Path, remedy: str) -> Mesh:
    """The mesh, in metres. Raises RawDataError."""
    try:
        mesh = parse_ply(files.raw(path, remedy))
    except PlyError as error:
        raise files.fault(path, error.finding, error.message, error.remedy) from error
    extent = np.ptp(mesh.vertices, axis=0)
    size = " x ".join(f"{side:.4g}" for side in extent)
    longest = float(extent.max())
    if longest > EXTENT_MAX_M:
        millimetres = longest / 1000 <= EXTENT_MAX_M
        guess = f"; in millimetres it would be {longest / 1000:.3g} m long" if millimetres else ""
        message = f"the mesh measures {size} units, over {EXTENT_MAX_M:g} m{guess}"
        finding = "millimetre_units" if millimetres else "implausible_extent"
        remedy = "divide the vertices by 1000: metres are needed" if millimetres else "give the mesh in metres"
        raise files.fault(path, finding, message, remedy)
    if longest < EXTENT_MIN_M:
        message = f"the mesh measures {size} units, under {EXTENT_MIN_M:g} m"
        raise files.fault(path, "implausible_extent", message, "give the mesh in metres")
    return mesh


def tilt_deg(mesh: Mesh) -> float | None:
    """Angle between the vertical and the mean normal of the nearly level faces; None where there are none."""
    corners = mesh.vertices[mesh.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.sqrt((normal**2).sum(axis=1))
    level = np.abs(normal[:, 2]) > LEVEL_COSINE * length
    if not level.any():
        return None
    upward = normal[level] * np.sign(normal[level, 2])[:, None]
    mean = upward.sum(axis=0)
    return float(np.degrees(np.arctan2(np.hypot(mean[0], mean[1]), mean[2])))


def transformed(mesh: Mesh, world_T_scan: FloatArray) -> Mesh:
    """The mesh in another frame."""
    x, y, z = mesh.vertices.T
    rows = [x * row[0] + y * row[1] + z * row[2] + row[3] for row in world_T_scan[:3]]
    return Mesh(np.stack(rows, axis=1), mesh.faces)
