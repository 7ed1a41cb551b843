"""Tables of nuScenes' layout, made of drives that are known otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pipeline.worlds.drive.facts import NUSCENES, Drive

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
