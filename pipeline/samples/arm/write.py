"""Writes the sample episodes as a LeRobot dataset of version 3, with what people declare of such a one."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.core.templates import load_table
from pipeline.samples.arm.plans import (
    FPS,
    HIGH,
    LOW,
    RATE_MAX,
    REACH_M,
    TRAVEL_M,
    EpisodePlan,
    PlannedThing,
    plan,
    turn_xyzw,
)

EPISODES: Final = range(9)
DATASET: Final = "table"
JOINTS: Final = ("shoulder", "elbow", "lift")
STATE: Final = (*JOINTS, "x", "y", "z", "gripper", "qx", "qy", "qz", "qw")
_INDEX: Final = "__index_level_0__"  # what pandas calls an index without a name: LeRobot looks tasks up by it
_META: Final = load_table("samples/lerobot")
_OPEN: Final = 100.0  # the gripper's own unit: percent
_DIGITS: Final = 6

_JOINT: Final = "  - {{column: observation.state.{}, name: {}, kind: {}, unit: {}, low: {}, high: {}, rate_max: {}}}\n"
_KINDS: Final = (("revolute", "rad"), ("revolute", "rad"), ("prismatic", "m"))
_ROWS: Final = zip(JOINTS, _KINDS, LOW, HIGH, RATE_MAX, strict=True)
_ARM: Final = f"""\
# What the columns of this dataset are. Angles in radians, the lift in metres.
model: sample arm of two links
joints:
{"".join(_JOINT.format(name, name, *kind, low, high, rate) for name, kind, low, high, rate in _ROWS)}\
base_m: [0.0, 0.0, 0.0]
reach_m: {REACH_M:g}
gripper:
  place_m: [observation.state.x, observation.state.y, observation.state.z]
  turn_xyzw: [observation.state.qx, observation.state.qy, observation.state.qz, observation.state.qw]
  opening: {{column: observation.state.gripper, closed: 0, open: {_OPEN:g}}}
"""


def write_samples(folder: Path, episodes: Iterable[int] = EPISODES) -> None:
    """``folder/table``: the episodes of some numbers, the same bytes every time."""
    folder = folder / DATASET
    plans = [plan(number) for number in episodes]
    instructions = sorted({one.instruction for one in plans})
    _write(folder / "meta" / "info.json", _json(_info(plans, instructions)))
    tasks = pa.table({"task_index": pa.array(range(len(instructions)), pa.int64()), _INDEX: instructions})
    _write(folder / "meta" / "tasks.parquet", table_bytes(tasks, metadata={"pandas": json.dumps(_META["pandas"])}))
    rows = [_rows(one, instructions) for one in plans]
    starts = np.cumsum([0, *(len(one) for one in rows)]).tolist()
    rows = [
        one.set_column(one.column_names.index("index"), "index", pa.array(np.arange(start, start + len(one))))
        for one, start in zip(rows, starts, strict=False)
    ]
    _write(folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet", table_bytes(_episodes(plans, rows)))
    data = pa.concat_tables(rows)
    _write(folder / "meta" / "stats.json", _json({name: _stats(data[name]) for name in data.column_names}))
    _write(folder / "data" / "chunk-000" / "file-000.parquet", table_bytes(data))
    _write(folder / "arm.yaml", _ARM.encode())
    for one in plans:
        things = {"complete": True, "success": one.success, "things": [_thing(thing) for thing in one.things]}
        _write(folder / "things" / f"episode_{one.number:06d}.json", _json(things))


def _info(plans: list[EpisodePlan], instructions: list[str]) -> dict[str, Any]:
    numbers = {"dtype": "float32", "shape": [len(STATE)], "names": list(STATE)}
    scalar = {"shape": [1], "names": None}
    return {
        **_META["info"],
        "total_episodes": len(plans),
        "total_frames": sum(len(one.tip_m) for one in plans),
        "total_tasks": len(instructions),
        "fps": FPS,
        "splits": {"train": f"0:{len(plans)}"},
        "features": {
            "observation.state": numbers,
            "action": numbers,
            "timestamp": {"dtype": "float32", **scalar},
            **{name: {"dtype": "int64", **scalar} for name in ("frame_index", "episode_index", "index", "task_index")},
        },
    }


def _episodes(plans: list[EpisodePlan], rows: list[pa.Table]) -> pa.Table:
    ends = np.cumsum([len(one.tip_m) for one in plans]).tolist()
    stats = [{name: _stats(own[name]) for name in own.column_names} for own in rows]
    found = pa.table(
        {
            "episode_index": pa.array([one.number for one in plans], pa.int64()),
            "tasks": [[one.instruction] for one in plans],
            "length": pa.array([len(one.tip_m) for one in plans], pa.int64()),
            "data/chunk_index": pa.array([0] * len(plans), pa.int64()),
            "data/file_index": pa.array([0] * len(plans), pa.int64()),
            "dataset_from_index": pa.array([0, *ends[:-1]], pa.int64()),
            "dataset_to_index": pa.array(ends, pa.int64()),
            "meta/episodes/chunk_index": pa.array([0] * len(plans), pa.int64()),
            "meta/episodes/file_index": pa.array([0] * len(plans), pa.int64()),
        }
    )
    for name in rows[0].column_names if rows else ():
        for what in stats[0][name]:
            found = found.append_column(f"stats/{name}/{what}", pa.array([own[name][what] for own in stats]))
    return found


def _stats(column: pa.ChunkedArray) -> dict[str, list[float]]:
    """Least, greatest, mean and spread of each part of a feature, to six decimals, and how many there are."""
    table = np.array(column.to_pylist(), dtype=np.float64).reshape(len(column), -1)
    found = {"min": table.min(0), "max": table.max(0), "mean": table.mean(0), "std": table.std(0)}
    rounded = {what: [round(value, _DIGITS) for value in values.tolist()] for what, values in found.items()}
    return rounded | {"count": [len(table)]}


def _rows(one: EpisodePlan, instructions: list[str]) -> pa.Table:
    count = len(one.tip_m)
    state = np.column_stack([one.joints, one.tip_m, one.opening * _OPEN, turn_xyzw(one.joints)]).astype(np.float32)
    action = np.concatenate([state[1:], state[-1:]])  # what it is told is where it is next
    rows = np.arange(count)

    def vectors(table: Any) -> pa.Array:
        return pa.FixedSizeListArray.from_arrays(pa.array(table.ravel()), table.shape[1])

    return pa.table(
        {
            "observation.state": vectors(state),
            "action": vectors(action),
            "timestamp": (rows / FPS).astype(np.float32),
            "frame_index": rows,
            "episode_index": np.full(count, one.number),
            "index": rows,
            "task_index": np.full(count, instructions.index(one.instruction)),
        }
    )


def _thing(thing: PlannedThing) -> dict[str, Any]:
    places = thing.place_m.round(_DIGITS)
    still = bool((places == places[0]).all())
    record: dict[str, Any] = {
        "id": thing.id,
        "category": thing.category,
        "attributes": {"colour": thing.colour},
        "role": thing.role,
        "size_m": list(thing.size_m),
        "place_m": (places[:1] if still else places).tolist(),
    }
    if thing.slide_m is not None:
        record["slide"] = {"unit": "m", "low": 0.0, "high": TRAVEL_M, "position": thing.slide_m.round(_DIGITS).tolist()}
    return record


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode() + b"\n"


def _write(path: Path, raw: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, raw)
