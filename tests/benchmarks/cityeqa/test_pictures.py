"""The maps of tasks: what reviewers see before they answer shows the start and marks nothing."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from pipeline.benchmarks.cityeqa.pictures import _INK, start_map, task_pictures
from pipeline.core.tables import QUESTIONS
from tests.benchmarks.cityeqa.cities import small

AXES = ("x", "y", "z", "roll", "pitch", "yaw")
MARKS = ("landmark", "target", "way", "seen")


def fact(name: str, subject: str, value: float) -> dict[str, Any]:
    return {"name": name, "subject": subject, "value": value, "relation": None, "limit": None, "unit": "m"}


def task(number: int, target: str, chain: str, yaw: float = 90.0, seen: float = 30.0) -> dict[str, Any]:
    poses = {"initial_pose": (10.0, 10.0, 5.0, 0.0, 0.0, yaw), "observation_pose": (seen, 40.0, 5.0, 0.0, 0.0, 0.0)}
    evidence = [fact(name, axis, v) for name, pose in poses.items() for axis, v in zip(AXES, pose, strict=True)]
    operands = ["colour", target, "10.0 10.0 5", chain]
    told = {"text": f"What colour is {target}?", "answer": "red", "scene": "made/small", "group": target}
    return {"id": number, "operands": operands, "evidence": evidence, **told}


def inks(raw: bytes) -> set[str]:
    """The colours of a map, without what is written below it."""
    picture = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    return {name for name, ink in _INK.items() if (picture == ink).all(-1).any()}


def test_the_map_before_the_answer_shows_the_start_alone_and_is_the_same_for_all_that_starts_there() -> None:
    scene = small(3)
    one, two, *_ = (thing.id for thing in scene.facts.things)
    rows = [task(1, one, f"{two} > {one}"), task(2, two, two, seen=90.0), task(3, one, one, yaw=180.0)]
    first, other, turned = (start_map(row, scene) for row in rows)
    assert first == other
    assert first != turned  # which way it looks
    assert {"start", "building"} <= inks(first)
    assert not inks(first) & {*MARKS, "other"}  # what may be counted is not shown
    told = pa.Table.from_pylist(rows, pa.schema([QUESTIONS.field(name) for name in rows[0]]))
    after = task_pictures(told, lambda: [scene.model_copy(update={"id": "made/small"})])
    assert {"target", "seen"} <= inks(after["maps/1.png"])
