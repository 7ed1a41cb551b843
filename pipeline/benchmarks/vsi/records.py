"""What a release of VSI-Bench holds of its scenes: unified metadata, and questions for cognitive maps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from pipeline.benchmarks.benchmark import SceneRecords
from pipeline.benchmarks.vsi.cognitive_maps import map_questions
from pipeline.benchmarks.vsi.rules import Rules
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.benchmarks.vsi.tasks.relations import RelDistance
from pipeline.core.tables import QUESTIONS
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.readers.vsi_meta import METADATA_FOLDER, metadata_of

_COLUMNS = ("id", "scene", "task", "text", "options", "ground_truth", "flags")
_MAPS = pa.schema([*(QUESTIONS.field(name) for name in _COLUMNS), pa.field("of", pa.int64())])


def scene_records(scenes: Iterable[IndoorScene], rules: Rules, asked: pa.Table) -> SceneRecords:
    """``meta_info/DATASET.json`` as reader `vsi_meta` reads it, and the questions for maps, by id."""
    named: dict[str, list[dict[str, Any]]] = {}
    for row in asked.select(["id", "scene", "task", "operands"]).to_pylist():
        if isinstance(TASKS[row["task"]], RelDistance):
            named.setdefault(row["scene"], []).append(row)
    written: dict[str, dict[str, Any]] = {}
    maps: list[dict[str, Any]] = []
    for scene in scenes:
        written.setdefault(scene.dataset, {})[scene.name] = metadata_of(scene)
        maps += map_questions(scene, rules, named.get(scene.id, ()))
    files = {
        f"{METADATA_FOLDER}/{dataset}.json": json.dumps(own, ensure_ascii=False, allow_nan=False).encode()
        for dataset, own in written.items()
    }
    return SceneRecords(pa.Table.from_pylist(sorted(maps, key=lambda row: int(row["id"])), _MAPS), files)
