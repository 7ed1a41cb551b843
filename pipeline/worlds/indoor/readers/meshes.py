"""The mesh of a scan, read from its PLY file and checked, and the room as a whole, measured on its vertices."""

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.errors import faults_of
from pipeline.core.findings import Findings, doubt
from pipeline.formats.ply import REMEDY, PlyMesh, parse_ply
from pipeline.geometry.areas import ROOM_ALPHA_PER_M, room_area
from pipeline.geometry.floors import seen_floor
from pipeline.geometry.scans import SceneGeometry
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.facts import Room, SeenFloor
from pipeline.worlds.indoor.readers.box_fit import fit_minimal

EXTENT_MAX_M: Final = 100.0  # no indoor scan is longer; millimetres are a thousand times too long
EXTENT_MIN_M: Final = 0.3  # a room in kilometres is shorter
LEVEL_COSINE: Final = 0.95  # faces within 18 degrees of level are floors, ceilings and table tops


def load_mesh(files: SceneFiles, path: Path, remedy: str) -> PlyMesh:
    """The mesh, in metres. Raises RawDataError."""
    mesh = ply_mesh(files, path, remedy)
    check_extent(files, path, mesh.vertices)
    return mesh


def ply_mesh(files: SceneFiles, path: Path, remedy: str, points: bool = False) -> PlyMesh:
    """The mesh or, with ``points``, the cloud of a PLY file, in whatever unit. Raises RawDataError."""
    with faults_of(path, REMEDY, files.scene):
        return parse_ply(files.raw(path, remedy), points)


def check_extent(files: SceneFiles, path: Path, vertices: FloatArray) -> None:
    """Raises RawDataError where vertices (V, 3) cannot be a room's in metres."""
    extent = np.ptp(vertices, axis=0)
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


def tilt_deg(mesh: PlyMesh) -> float | None:
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


def transformed(mesh: PlyMesh, world_T_scan: FloatArray) -> PlyMesh:
    """The mesh in another frame."""
    x, y, z = mesh.vertices.T
    rows = [x * row[0] + y * row[1] + z * row[2] + row[3] for row in world_T_scan[:3]]
    return PlyMesh(np.stack(rows, axis=1), mesh.faces, mesh.colors)


HOLES_MAX: Final = 0.25  # of the area; beyond it the scan is too incomplete to tell the size of the room
AREA_METHOD: Final = f"alpha_shape alpha={ROOM_ALPHA_PER_M:g} all vertices"


def measure_room(mesh: PlyMesh, findings: Findings) -> Room:
    """Area, floor outlines, floor to walk on and centre from a mesh, metres, world frame.

    The centre is that of the minimal box of all vertices (VSI-Bench, appendix B.1). Outlines run around all rooms: they
    do not tell the walls between these.
    """
    x, y, z = fit_minimal(mesh.vertices).center
    shape = room_area(mesh.vertices)
    if shape.area_m2 is None:
        message = f"the floor has no area: {shape.failure} ({shape.measured:g})"
        findings.add(doubt("room_not_measured", "room", message, "look at the mesh", shape.measured))
        return Room(area_failure=f"{shape.failure}: {shape.measured:g}", center=(x, y, z))
    holes = (shape.holes_m2 or 0.0) / shape.area_m2
    if holes > HOLES_MAX:
        message = f"{holes:.0%} of the {shape.area_m2:.1f} m² within the outline were not scanned"
        remedy = "leave the scene out, or measure the room by hand"
        findings.add(doubt("incomplete_floor", "room", message, remedy, holes, HOLES_MAX, "share"))
    floor = tuple(tuple((float(a), float(b)) for a, b in ring) for ring in shape.outlines)
    seen = walkable_floor(mesh, floor_known=False)
    return Room(area_m2=shape.area_m2, area_method=AREA_METHOD, center=(x, y, z), floor=floor, seen_floor=seen)


POINTS: Final = 400_000  # of a surface: 6 MB to the browser of the label page
LAYER_M: Final = 0.025
_STRIDE: Final = np.array([0.7548776662466927, 0.5698402909980532])  # whose multiples cover a square evenly (R2)


def sampled(mesh: PlyMesh | SceneGeometry) -> tuple[FloatArray, FloatArray, float, float, IntArray]:
    """Points spread evenly over triangles, their light from above, spacing, turn of walls, and nearest vertices."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    cross = np.cross(b - a, c - a)
    double = np.linalg.norm(cross, axis=1)
    normal = cross / np.maximum(double, 1e-12)[:, None]
    upto = np.cumsum(double)
    if upto[-1] <= 0:  # triangles without area
        count = len(mesh.vertices)
        return mesh.vertices, np.full(count, 0.5), cloud_spacing_m(mesh.vertices), 0.0, np.arange(count)
    at = (np.arange(POINTS) + 0.5) / POINTS * upto[-1]
    of = np.minimum(np.searchsorted(upto, at), len(upto) - 1)
    u, v = (np.arange(POINTS)[:, None] * _STRIDE % 1.0).T
    u, v = np.where(u + v > 1, 1 - u, u)[:, None], np.where(u + v > 1, 1 - v, v)[:, None]
    points = a[of] + u * (b - a)[of] + v * (c - a)[of]
    light = 0.35 + 0.65 * np.abs(normal[of] @ np.array([0.25, 0.4, 0.88]))
    wall = np.abs(normal[:, 2]) < 0.2
    angle = np.arctan2(normal[wall, 1], normal[wall, 0])
    turn = np.angle((double[wall] * np.exp(4j * angle)).sum()) / 4 if wall.any() else 0.0
    corner = np.argmax(np.concatenate([1 - u - v, u, v], axis=1), axis=1)
    spacing_m = float(np.sqrt(upto[-1] / 2 / POINTS))
    return points, light, spacing_m, float(np.degrees(turn)), mesh.faces[of, corner]


def floor_height(points: FloatArray) -> float:
    """Height of the lowest layer that has a fifth of the points of the fullest one."""
    height = points[:, 2]
    place = np.floor((height - height.min()) / LAYER_M).astype(np.intp)
    layer = np.bincount(place)
    lowest = int((layer >= layer.max() / 5).argmax())
    while lowest + 1 < len(layer) and layer[lowest + 1] > layer[lowest]:  # its edge first, then its middle
        lowest += 1
    return float(np.median(height[np.abs(place - lowest) <= 1]))


def cloud_spacing_m(points: FloatArray) -> float:
    """About what lies between neighbours of a cloud, by how many cells of 10 cm it fills."""
    cells = len(np.unique(np.floor(points / 0.1).astype(np.int64), axis=0))
    return float(0.1 / np.sqrt(max(1.0, len(points) / cells)))


def walkable_floor(mesh: PlyMesh, floor_known: bool) -> SeenFloor:
    """Where a body can walk by what was scanned: over floor, with nothing above it up to the body's height.

    Args:
        mesh: of the scan, metres, z up; its vertices alone where it has no faces.
        floor_known: whether the floor's outline is stated; else only floor that was scanned can be walked on.
    """
    points = sampled(mesh)[0] if len(mesh.faces) else mesh.vertices
    return SeenFloor.of(seen_floor(points, floor_height(points), floor_known))
