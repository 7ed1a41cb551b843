"""Questions and result files made by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.cityeqa.cities import written

OPTIONS = ["A. left", "B. right", "C. back"]
NUMERIC = ("object_counting", "object_abs_distance", "object_size_estimation", "room_size_estimation")
LETTERED = (
    "object_rel_distance",
    "object_rel_direction_easy",
    "object_rel_direction_medium",
    "object_rel_direction_hard",
    "route_planning",
    "obj_appearance_order",
)


def vsi(number: int, task: str = "object_counting", truth: str = "4", scene: str = "room1") -> dict[str, Any]:
    """A row in VSI-Bench's columns."""
    options = OPTIONS if task in LETTERED else None
    return {
        "id": number,
        "dataset": "made",
        "scene_name": scene,
        "question_type": task,
        "question": "How many chair(s) are in this room?" if task == "object_counting" else "What?",
        "options": options,
        "ground_truth": truth,
        "pruned": False,
    }


def all_tasks(scenes: int = 6) -> list[dict[str, Any]]:
    """Two questions of each of the ten types per scene, with answers that differ."""
    rows = []
    for scene in range(scenes):
        for n, task in enumerate((*NUMERIC, *LETTERED) * 2):
            truth = "ABC"[(n + scene) % 3] if task in LETTERED else str(1 + (n * 7 + scene * 3) % 11)
            rows.append(vsi(len(rows) + 1, task, truth, f"room{scene}"))
    return rows


def file_of(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """JSON, or JSON lines."""
    if path.suffix == ".json":
        return written(path, *rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def said(path: Path, replies: Mapping[Any, Any]) -> Path:
    """JSON lines of id and answer."""
    return file_of(path, [{"id": i, "answer": reply} for i, reply in replies.items()])
