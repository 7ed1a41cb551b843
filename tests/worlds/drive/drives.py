"""Small logs of Argoverse 2, made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather

from pipeline.core.schema import Finding
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader
from pipeline.worlds.drive.facts import DriveScene

START_NS = 315_973_157_000_000_000
SWEEP_NS = 100_000_000

Table = dict[str, list[Any]]


def box(sweep: int, track: str = "a", **changes: Any) -> dict[str, Any]:
    """A row of the annotations: a car 10 m ahead of us that looks as we do."""
    row = {
        "timestamp_ns": START_NS + sweep * SWEEP_NS,
        "track_uuid": track,
        "category": "REGULAR_VEHICLE",
        "length_m": 4.0,
        "width_m": 2.0,
        "height_m": 1.5,
        **{"qw": 1.0, "qx": 0.0, "qy": 0.0, "qz": 0.0},
        **{"tx_m": 10.0, "ty_m": 0.0, "tz_m": 0.75},
        "num_interior_pts": 50,
    }
    return row | changes


def pose(sweep: int, **changes: Any) -> dict[str, Any]:
    """A row of the poses: 1 m to the north with each sweep, looking north."""
    half = float(np.sqrt(0.5))
    row = {
        "timestamp_ns": START_NS + sweep * SWEEP_NS,
        **{"qw": half, "qx": 0.0, "qy": 0.0, "qz": half},
        **{"tx_m": 100.0, "ty_m": 200.0 + sweep, "tz_m": 5.0},
    }
    return row | changes


def lane(number: int, **changes: Any) -> dict[str, Any]:
    """A lane of the map, 4 m wide, 20 m to the north."""
    row = {
        "id": number,
        "is_intersection": False,
        "lane_type": "VEHICLE",
        "left_lane_boundary": [{"x": 98.0, "y": y, "z": 5.0} for y in (200.0, 220.0)],
        "right_lane_boundary": [{"x": 102.0, "y": y, "z": 5.0} for y in (200.0, 205.0, 220.0)],
        "left_lane_mark_type": "DOUBLE_SOLID_YELLOW",
        "right_lane_mark_type": "NONE",
        "successors": [2],
        "predecessors": [],
        "right_neighbor_id": None,
        "left_neighbor_id": 3,
    }
    return row | changes


def write_feather(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.feather.write_feather(pa.Table.from_pylist([dict(row) for row in rows]), path)


def write_log(
    root: Path, boxes: Sequence[Mapping[str, Any]], poses: Sequence[Mapping[str, Any]], lanes: Sequence[Any] = ()
) -> Path:
    """A log "l1" below a root."""
    folder = root / "l1"
    write_feather(folder / "annotations.feather", boxes)
    write_feather(folder / "city_SE3_egovehicle.feather", poses)
    if lanes:
        crossing = {"id": 7, "edge1": _points((96, 210), (104, 210)), "edge2": _points((104, 213), (96, 213))}
        area = {"id": 8, "area_boundary": _points((98, 200), (102, 200), (102, 220), (98, 200))}
        named = {
            "lane_segments": {str(one["id"]): one for one in lanes},
            "pedestrian_crossings": {"7": crossing},
            "drivable_areas": {"8": area},
        }
        (folder / "map").mkdir()
        (folder / "map" / "log_map_archive_l1____PIT_city_57819.json").write_text(json.dumps(named))
    return root


COUNTED = {"boxes", "frames", "places", "packets", "poses"}


def read(root: Path, reader: Reader, name: str | None = None) -> DriveScene:
    """The one scene of a root, or that of a name; of what is wrong in it, whoever counts it, none may be."""
    (ref,) = (ref for ref in reader.scenes(root).scenes if name is None or ref.id.endswith(f"/{name}"))
    scene: DriveScene = reader.read(SceneFiles(root, ref))
    assert {f.name: f.limit for f in scene.findings if f.unit in COUNTED and f.limit} == {}
    return scene


def found(scene: DriveScene) -> dict[str, Finding]:
    """The findings of a scene by name."""
    return {finding.name: finding for finding in scene.findings}


def _points(*places: tuple[float, float]) -> list[dict[str, float]]:
    return [{"x": x, "y": y, "z": 5.0} for x, y in places]
