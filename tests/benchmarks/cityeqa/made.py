"""CityEQA tasks made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

YAWS = {"north": 0, "east": 90, "south": 180, "west": 270}


def task(
    number: int = 1, hop: str = "south", asked: str = "How many cars in the parking lot?", **other: Any
) -> dict[str, Any]:
    """A row as released, sound but for what is said otherwise."""
    question = f"There is a building to the {hop} of you. To the east of the building, there is a parking lot. "
    return {
        "question_id": number,
        "question": f"{question}Please tell me {asked}",
        "answer": "8",
        "category": "Counting",
        "observation_pose": [10, 40, 9, 0, 0, 135],
        "target_pose": [30, 40, 5, 0, 0, 0],
        "initial_pose": [0, 100, 9, 0, 0, YAWS[hop]],
    } | other


def written(path: Path, *rows: Any) -> Path:
    """A file of rows; NaN as Python writes it."""
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path
