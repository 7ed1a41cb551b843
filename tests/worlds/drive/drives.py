"""Small logs of Argoverse 2, made by hand, and tables of nuScenes' layout, made of drives that are known otherwise."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.feather
from PIL import Image

from pipeline.core.arrays import FloatArray
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Finding, Source
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader
from pipeline.worlds.drive.facts import (
    NUSCENES,
    PLACE_STEP_M,
    SPEED_STEP_MPS,
    TIME_STEP_S,
    YAW_STEP_DEG,
    ActorTrack,
    Drive,
    DriveScene,
)

START_NS = 315_973_157_000_000_000
SWEEP_NS = 100_000_000


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


def track(
    first: int, place_m: FloatArray, yaw_deg: npt.ArrayLike, velocity: FloatArray | None = None, recorded: bool = True
) -> ActorTrack:
    """Of places (N, 3), yaws (N,) or one, and velocities (N, 3) where they are recorded."""
    return ActorTrack(
        first=first,
        place_m=pack(place_m, PLACE_STEP_M),
        yaw_deg=pack(np.broadcast_to(yaw_deg, len(place_m)), YAW_STEP_DEG),
        velocity_mps=None if velocity is None or not recorded else pack(velocity, SPEED_STEP_MPS),
    )


def drive_of(times_s: FloatArray, **facts: Any) -> DriveScene:
    """A scene of facts that no file holds."""
    source = Source(reader="made", reader_version=1, files=(), sha256="")
    known = Drive(seconds=pack(times_s, TIME_STEP_S), **facts)
    return DriveScene(id="made/one", dataset="made", name="one", source=source, facts=known)


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


TABLES = "v1.0-made"
START_US = 1_532_402_927_647_951
WORDS = {category: word for word, category in reversed(NUSCENES.items())} | {"bus": "vehicle.bus.rigid"}
RIDDEN = {" with rider": "cycle.with_rider", " without rider": "cycle.without_rider"}
Table = list[dict[str, Any]]


def yaw_quat(yaw_deg: float) -> list[float]:
    """Quaternion w, x, y, z of a turn about z."""
    half = np.radians(yaw_deg) / 2
    return [float(np.cos(half)), 0.0, 0.0, float(np.sin(half))]


def tables_of(drives: Mapping[str, Drive], every: int = 1, pictures: bool = False) -> dict[str, Table]:
    """The tables of drives by name, with a sample at each so many of their times."""
    found: dict[str, Table] = {
        "sensor": [
            {"token": "lidar", "channel": "LIDAR_TOP", "modality": "lidar"},
            {"token": "ahead", "channel": "CAM_FRONT", "modality": "camera"},
        ],
        "calibrated_sensor": [
            {"token": "lidar-1", "sensor_token": "lidar", "translation": [0.9, 0.0, 1.8],
             "rotation": yaw_quat(-90), "camera_intrinsic": []},
            {"token": "ahead-1", "sensor_token": "ahead", "translation": [1.7, 0.0, 1.5],
             "rotation": [0.5, -0.5, 0.5, -0.5],
             "camera_intrinsic": [[1260.0, 0.0, 800.0], [0.0, 1260.0, 450.0], [0.0, 0.0, 1.0]]},
        ],
        "attribute": [{"token": name, "name": name} for name in (*RIDDEN.values(), "vehicle.moving")],
        "category": [
            {"token": f"kind {word}", "name": word, "description": ""}
            for word in sorted({_bare(word) for word in NUSCENES})
        ],
        **{name: [] for name in ("scene", "log", "sample", "sample_data", "ego_pose", "instance", "sample_annotation")},
    }  # fmt: skip
    for name, drive in drives.items():
        _add(found, name, drive, every, pictures)
    return found


def _bare(word: str) -> str:
    return next((word.removesuffix(end) for end in RIDDEN if word.endswith(end)), word)


def _add(found: dict[str, Table], name: str, drive: Drive, every: int, pictures: bool) -> None:
    numbers = list(range(0, len(drive.times_s), every))
    found["log"].append({"token": f"{name} log", "location": drive.map_name or "boston-seaport"})
    found["scene"].append(
        {"token": f"{name} scene", "name": name, "log_token": f"{name} log", "nbr_samples": len(numbers)}
    )
    assert drive.ego is not None
    for number in numbers:
        sample, time_us = f"{name} {number}", START_US + round(float(drive.times_s[number]) * 1e6)
        at = number - drive.ego.track.first
        pose = {
            "token": f"{sample} pose",
            "timestamp": time_us,
            "translation": drive.ego.track.place_m.array[at].tolist(),
            "rotation": yaw_quat(float(drive.ego.track.yaw_deg.array[at, 0])),
        }
        found["ego_pose"].append(pose)
        found["sample"].append({"token": sample, "timestamp": time_us, "scene_token": f"{name} scene"})
        shown = [("lidar-1", f"samples/LIDAR_TOP/{sample}.pcd.bin")]
        shown += [("ahead-1", f"samples/CAM_FRONT/{sample.replace(' ', '_')}.jpg")] if pictures else []
        found["sample_data"] += [
            {
                "token": f"{sample} {mount}", "sample_token": sample, "ego_pose_token": f"{sample} pose",
                "calibrated_sensor_token": mount, "timestamp": time_us, "filename": file, "is_key_frame": True,
                "width": 0 if mount == "lidar-1" else 1600, "height": 0 if mount == "lidar-1" else 900,
            }
            for mount, file in shown
        ]  # fmt: skip
    for actor in drive.actors:
        word = WORDS.get(actor.category, WORDS["object"])
        thing, state = f"{name} {actor.id}", next((RIDDEN[end] for end in RIDDEN if word.endswith(end)), None)
        found["instance"].append({"token": thing, "category_token": f"kind {_bare(word)}"})
        assert actor.box is not None
        length, width, height = actor.box.size_m
        for number in numbers:
            at = number - actor.track.first
            if not 0 <= at < len(actor.track) or np.isnan(actor.track.place_m.array[at]).any():
                continue
            points = -1.0 if actor.points is None else float(actor.points.array[at, 0])
            found["sample_annotation"].append(
                {
                    "token": f"{thing} {number}", "sample_token": f"{name} {number}", "instance_token": thing,
                    "attribute_tokens": [state] if state else [], "size": [width, length, height],
                    "translation": actor.track.place_m.array[at].tolist(),
                    "rotation": yaw_quat(float(actor.track.yaw_deg.array[at, 0])), "num_lidar_pts": int(points),
                }
            )  # fmt: skip


def write_tables(
    root: Path, tables: Mapping[str, Table], change: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> Path:
    """The tables below a root, each box changed first; gray pictures where they name any."""
    (root / TABLES).mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        kept = [change(dict(row)) for row in rows] if change and name == "sample_annotation" else rows
        (root / TABLES / f"{name}.json").write_text(json.dumps(kept, indent=0))
    for row in tables["sample_data"]:
        if row["filename"].endswith(".jpg"):
            path = root / row["filename"]
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (1600, 900), "gray").save(path, quality=30)
    return root
