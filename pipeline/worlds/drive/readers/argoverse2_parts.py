"""The vector map (city frame, metres), the tables and the cameras of an Argoverse 2 log."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import faults_of, first_fault
from pipeline.core.findings import Findings, note
from pipeline.core.schema import Name
from pipeline.formats.feather import Columns, read_feather
from pipeline.geometry.angles import matrices
from pipeline.reading.files import SceneFiles
from pipeline.worlds.drive.facts import Crossing, DriveCamera, Lane, Line
from pipeline.worlds.drive.readers.tracking import UNIT_TOLERANCE, Pictures, numbered, pictures_of

# av2/map/lane_segment.py
KINDS: Final = {"VEHICLE": "vehicle", "BIKE": "bicycle", "BUS": "bus"}
_UNMARKED: Final = frozenset({"NONE", "UNKNOWN"})
_DIGITS: Final = 4


class _Point(BaseModel):
    x: FiniteFloat
    y: FiniteFloat
    z: FiniteFloat


_Points = Annotated[tuple[_Point, ...], Field(min_length=2)]


class _Lane(BaseModel):
    id: int
    is_intersection: bool
    lane_type: Name
    left_lane_boundary: _Points
    right_lane_boundary: _Points
    left_lane_mark_type: Name
    right_lane_mark_type: Name
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]
    right_neighbor_id: int | None
    left_neighbor_id: int | None


class _Crossing(BaseModel):
    id: int
    edge1: _Points
    edge2: _Points


class _Area(BaseModel):
    id: int
    area_boundary: Annotated[tuple[_Point, ...], Field(min_length=3)]


class _Map(BaseModel):
    pedestrian_crossings: dict[str, _Crossing]
    lane_segments: dict[str, _Lane]
    drivable_areas: dict[str, _Area]


def read_map(files: SceneFiles, path: Path) -> tuple[tuple[Lane, ...], tuple[Crossing, ...], tuple[Line, ...]]:
    """Lanes and crossings by id, outlines of the drivable areas. Raises RawDataError (`bad_map`)."""
    try:
        found = _Map.model_validate(files.json(path))
    except ValidationError as error:
        message = f"{first_fault(error)}, in all {error.error_count()} faults"
        raise files.fault(path, "bad_map", message, "fetch the log's map again") from error
    lanes = tuple(_lane(lane) for lane in sorted(found.lane_segments.values(), key=lambda lane: lane.id))
    crossings = tuple(
        Crossing(id=str(one.id), outline=(*_line(one.edge1), *_line(_same_way(one.edge1, one.edge2))[::-1]))
        for one in sorted(found.pedestrian_crossings.values(), key=lambda one: one.id)
    )
    areas = []
    for area in sorted(found.drivable_areas.values(), key=lambda area: area.id):
        points = area.area_boundary
        areas.append(_line(points[:-1] if len(points) > 3 and points[0] == points[-1] else points))
    return lanes, crossings, tuple(areas)


def city_of(path: Path) -> str | None:
    """The city that a map's name speaks of: ``log_map_archive_LOG____PIT_city_57819.json`` is of Pittsburgh, "PIT"."""
    _, mark, rest = path.stem.partition("____")
    return rest.partition("_city")[0] or None if mark else None


def _lane(raw: _Lane) -> Lane:
    left, right = _array(raw.left_lane_boundary), _array(raw.right_lane_boundary)
    return Lane(
        id=str(raw.id),
        kind=KINDS.get(raw.lane_type, raw.lane_type.lower().replace("_", " ")),
        centre=_tuples(midline(left, right)),
        left=_tuples(left),
        right=_tuples(right),
        left_mark=_mark(raw.left_lane_mark_type),
        right_mark=_mark(raw.right_lane_mark_type),
        intersection=raw.is_intersection,
        successors=tuple(map(str, raw.successors)),
        predecessors=tuple(map(str, raw.predecessors)),
        left_neighbour=None if raw.left_neighbor_id is None else str(raw.left_neighbor_id),
        right_neighbour=None if raw.right_neighbor_id is None else str(raw.right_neighbor_id),
    )


def midline(left: FloatArray, right: FloatArray) -> FloatArray:
    """The line (n, 3) halfway between two boundaries (l, 3) and (r, 3), walked at even shares of their length.

    n is the larger of l and r, and 10 at least, as in av2/geometry/interpolate.py, compute_midpoint_line.
    """
    count = max(len(left), len(right), 10)
    return np.asarray((_evenly(left, count) + _evenly(right, count)) / 2)


def _evenly(line: FloatArray, count: int) -> FloatArray:
    """Points (count, 3) of a polyline (n, 3) at even shares of its length."""
    step = np.sqrt((np.diff(line, axis=0) ** 2).sum(1))
    along = np.concatenate([[0.0], np.cumsum(step)])
    wanted = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(wanted, along, line[:, axis]) for axis in range(3)], axis=-1)


def _same_way(first: tuple[_Point, ...], second: tuple[_Point, ...]) -> tuple[_Point, ...]:
    """The second edge of a crossing in the direction of the first: else their outline would cross itself."""
    a, b = _array(first), _array(second)
    straight = ((a[[0, -1]] - b[[0, -1]]) ** 2).sum()
    crossed = ((a[[0, -1]] - b[[-1, 0]]) ** 2).sum()
    return second if straight <= crossed else second[::-1]


def _mark(raw: str) -> str | None:
    return None if raw in _UNMARKED else raw.lower().replace("_", " ")


def _array(points: tuple[_Point, ...]) -> FloatArray:
    return np.array([(p.x, p.y, p.z) for p in points], dtype=np.float64)


def _line(points: tuple[_Point, ...]) -> Line:
    return tuple((p.x, p.y, p.z) for p in points)


def _tuples(line: FloatArray) -> Line:
    return tuple((x, y, z) for x, y, z in line.round(_DIGITS).tolist())


def table_of(rows: Columns, *names: str) -> FloatArray:
    """Columns side by side, (N, k)."""
    return np.stack([rows[name].astype(np.float64) for name in names], axis=-1)


def read_rows(files: SceneFiles, path: Path, wanted: Mapping[str, type[np.generic] | None]) -> Columns:
    """The wanted columns of a Feather file (`read_feather`). Raises RawDataError."""
    with faults_of(path, "give the files of an Argoverse 2 sensor log, as its devkit writes them", files.scene):
        return read_feather(files.raw(path), wanted)


CAMERAS: Final = "sensors/cameras"
AHEAD: Final = "ring_front_center"
INTRINSICS: Final = "calibration/intrinsics.feather"
MOUNTS: Final = "calibration/egovehicle_SE3_sensor.feather"
_MOUNT: Final[dict[str, type[np.generic] | None]] = {
    "sensor_name": None,
    **dict.fromkeys(("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"), np.float64),
}
_LENS: Final[dict[str, type[np.generic] | None]] = {
    "sensor_name": None,
    **dict.fromkeys(("fx_px", "fy_px", "cx_px", "cy_px", "width_px", "height_px"), np.float64),
}


def pictures_ahead(folder: Path, start_ns: int) -> Pictures | None:
    """Of the camera ahead, or else of the first one that has any."""
    cameras = sorted((folder / CAMERAS).glob("*"), key=lambda path: (path.name != AHEAD, path.name))
    for camera in cameras:
        entries = numbered(camera)
        if entries:
            times_s = (np.array([stamp for stamp, _ in entries]) - start_ns) / 1e9
            return pictures_of(camera, entries, times_s)
    return None


def read_cameras(files: SceneFiles, findings: Findings) -> tuple[DriveCamera, ...]:
    """Those whose calibration is there, by name."""
    lenses_path, mounts_path = files.path / INTRINSICS, files.path / MOUNTS
    if not (lenses_path.is_file() and mounts_path.is_file()):
        return ()
    lenses, mounts = read_rows(files, lenses_path, _LENS), read_rows(files, mounts_path, _MOUNT)
    rows = {name: row for row, name in enumerate(mounts["sensor_name"].tolist())}
    places, turns = table_of(mounts, "tx_m", "ty_m", "tz_m"), table_of(mounts, "qw", "qx", "qy", "qz")
    found = []
    for row, name in enumerate(lenses["sensor_name"].tolist()):
        lens = {column: float(lenses[column][row]) for column in _LENS if column != "sensor_name"}
        sound = np.isfinite(list(lens.values())).all() and min(lens[c] for c in ("fx_px", "fy_px", "width_px")) > 0
        mounted = name in rows and abs(np.sqrt((turns[rows[name]] ** 2).sum()) - 1) <= UNIT_TOLERANCE
        if not (sound and mounted and lens["height_px"] > 0):
            message = f"the calibration of {name} is not whole"
            findings.add(note("bad_calibration", str(name), message, "fetch the log's calibration again"))
            continue
        a, b, c = (tuple(axis) for axis in matrices(turns[rows[name]]).round(9).tolist())
        x, y, z = places[rows[name]].round(6).tolist()
        found.append(
            DriveCamera(
                name=name,
                width=int(lens["width_px"]),
                height=int(lens["height_px"]),
                focal_px=(lens["fx_px"], lens["fy_px"]),
                centre_px=(lens["cx_px"], lens["cy_px"]),
                ego_from_camera=(a, b, c),
                place_m=(x, y, z),
            )
        )
    return tuple(sorted(found, key=lambda camera: camera.name))
