"""A sample drive as a log of Argoverse 2: boxes about our rear axle, poses, the vector map."""

import io
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.geometry.angles import turned_about_z
from pipeline.samples.drive.plan import AXLE_M, LANE_M, DrivePlan, Mover, PlannedRoad
from pipeline.worlds.drive.facts import ARGOVERSE2

RATE_HZ: Final = 10
START_NS: Final = 1_700_000_000_000_000_000
REACH_M: Final = 90.0  # beyond it a lidar has hardly a point on a car
POINTS_AT_10_M: Final = 60.0  # per square metre of what is seen of a box
_DIGITS: Final = 9  # of what is written: sines differ in the last place from one processor to another
_WORDS: Final = {
    "car": "REGULAR_VEHICLE",
    "van": "REGULAR_VEHICLE",
    **{word: name for name, word in ARGOVERSE2.items() if name not in {"DOG", "ARTICULATED_BUS", "SCHOOL_BUS"}},
    "truck": "TRUCK",
    "pedestrian": "PEDESTRIAN",
}


def times_of(plan: DrivePlan) -> FloatArray:
    """Times (T,) of a drive's sweeps, seconds."""
    return np.arange(round(plan.lasts_s * RATE_HZ) + 1) / RATE_HZ


def axle_of(plan: DrivePlan, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Our rear axle's middle on the ground (T, 2), and our yaw (T,)."""
    motion = plan.ego.at(times_s)
    back = turned_about_z(np.array([-AXLE_M, 0.0]), motion.yaw_deg)
    return motion.place_m + back, motion.yaw_deg


def write_log(folder: Path, plan: DrivePlan) -> None:
    """Writes the log of a drive as a folder of its name."""
    times_s = times_of(plan)
    stamps = START_NS + np.round(times_s * 1e9).astype(np.int64)
    axle_m, yaw_deg = axle_of(plan, times_s)
    rows: list[dict[str, Any]] = [_boxes(plan.ego, "EGO_VEHICLE", times_s, axle_m, yaw_deg, np.inf)]
    for mover in plan.others:
        rows.append(_boxes(mover, _WORDS[mover.category], times_s, axle_m, yaw_deg, REACH_M))
    table = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    order = np.lexsort((table["track_uuid"].astype(str), table.pop("index")))
    boxes = {"timestamp_ns": stamps[np.concatenate([row["index"] for row in rows])], **table}
    _feather(folder / plan.name / "annotations_with_ego.feather", {name: c[order] for name, c in boxes.items()})
    places = np.column_stack([axle_m, np.zeros(len(times_s))])
    _feather(folder / plan.name / "city_SE3_egovehicle.feather", {"timestamp_ns": stamps, **_pose(places, yaw_deg)})
    text = json.dumps(_map(plan), indent=1, sort_keys=True)
    write_atomically(folder / plan.name / "map" / f"log_map_archive_{plan.name}____SAMPLE_city_0.json", text.encode())


def seen_from(
    mover: Mover, times_s: FloatArray, axle_m: FloatArray, yaw_deg: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The middle of a box on the ground (T, 2), and its yaw (T,), from our rear axle."""
    motion = mover.at(times_s)
    local = turned_about_z(motion.place_m - axle_m, -yaw_deg)
    return local, (motion.yaw_deg - yaw_deg + 180.0) % 360.0 - 180.0


def _boxes(
    mover: Mover, word: str, times_s: FloatArray, axle_m: FloatArray, yaw_deg: FloatArray, reach_m: float
) -> dict[str, Any]:
    local, turned = seen_from(mover, times_s, axle_m, yaw_deg)
    away = np.hypot(local[:, 0], local[:, 1])
    near = np.flatnonzero(away <= reach_m)
    length, width, height = mover.size_m
    seen_m2 = height * (length + width) / 2
    points = np.round(POINTS_AT_10_M * seen_m2 * (10.0 / np.maximum(away[near], 5.0)) ** 2).astype(np.int64)
    places = np.column_stack([local[near], np.full(len(near), height / 2)])
    return {
        "index": near,
        "track_uuid": np.full(len(near), mover.id, dtype=object),
        "category": np.full(len(near), word, dtype=object),
        "length_m": np.full(len(near), length),
        "width_m": np.full(len(near), width),
        "height_m": np.full(len(near), height),
        **_pose(places, turned[near]),
        "num_interior_pts": points,
    }


def _pose(place_m: FloatArray, yaw_deg: FloatArray) -> dict[str, FloatArray]:
    half = np.radians(yaw_deg) / 2
    flat = np.zeros(len(yaw_deg))
    columns = {"qw": np.cos(half), "qx": flat, "qy": flat, "qz": np.sin(half)}
    columns |= {"tx_m": place_m[:, 0], "ty_m": place_m[:, 1], "tz_m": place_m[:, 2]}
    return {name: np.round(column, _DIGITS) + 0.0 for name, column in columns.items()}


def _feather(path: Path, columns: dict[str, Any]) -> None:
    import pyarrow as pa  # only samples need it here
    import pyarrow.feather

    sink = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(columns), sink, compression="uncompressed")
    write_atomically(path, sink.getvalue())


def _map(plan: DrivePlan) -> dict[str, Any]:
    """As `log_map_archive_*.json` has it."""
    before: dict[int, list[int]] = {}
    for road in plan.roads:
        for after in road.successors:
            before.setdefault(after, []).append(road.id)
    crossings = {}
    for number, (near, far, right, left) in enumerate(plan.crossings, start=701):
        edges = {"edge1": ((near, right), (near, left)), "edge2": ((far, right), (far, left))}
        crossings[str(number)] = {"id": number} | {name: _points(plan, ends) for name, ends in edges.items()}
    return {
        "lane_segments": {str(road.id): _lane(plan, road, before.get(road.id, [])) for road in plan.roads},
        "pedestrian_crossings": crossings,
        "drivable_areas": {},
    }


def _lane(plan: DrivePlan, road: PlannedRoad, before: list[int]) -> dict[str, Any]:
    line = np.array(road.line)
    step = np.gradient(line, axis=0)
    aside = np.stack([-step[:, 1], step[:, 0]], axis=-1) / np.hypot(step[:, 0], step[:, 1])[:, None] * LANE_M / 2
    return {
        "id": road.id,
        "is_intersection": road.intersection,
        "lane_type": road.kind,
        "left_lane_boundary": _points(plan, tuple(map(tuple, (line + aside).tolist()))),
        "right_lane_boundary": _points(plan, tuple(map(tuple, (line - aside).tolist()))),
        "left_lane_mark_type": road.left_mark,
        "right_lane_mark_type": road.right_mark,
        "successors": list(road.successors),
        "predecessors": before,
        "right_neighbor_id": road.right,
        "left_neighbor_id": road.left,
    }


def _points(plan: DrivePlan, points: tuple[tuple[float, ...], ...]) -> list[dict[str, float]]:
    places = [plan.placed(u, v) for u, v in points]
    return [{"x": round(x, 6), "y": round(y, 6), "z": 0.0} for x, y in places]
