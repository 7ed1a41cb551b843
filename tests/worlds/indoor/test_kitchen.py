"""The kitchen of 7-Scenes, end to end: converted, labelled by hand, built (docs/design/real-captures.md)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from flows.cli.convert import convert
from pipeline.engine.config import build_config
from pipeline.formats.scene_folder import SceneDocument, write_scene
from pipeline.stages.builder import Builder
from tests.builds import UNASKED, rows_of
from tests.environment import REAL_DATA

KITCHEN = REAL_DATA / "captures" / "sevenscenes_kitchen"
LABELS = Path(__file__).parent / "kitchen_objects.json"  # boxes drawn on the fused cloud and checked on the frames


@pytest.mark.slow
@pytest.mark.real_data
def test_seventy_questions_of_a_real_kitchen(tmp_path: Path) -> None:
    scenes = tmp_path / "scenes"
    assert convert("7scenes", KITCHEN, scenes)
    path = scenes / KITCHEN.name / "scene.json"
    document = SceneDocument.model_validate_json(path.read_bytes())
    told = document.model_dump() | {"objects": json.loads(LABELS.read_text()), "complete": True}
    write_scene(path.parent, SceneDocument.model_validate(told))
    settings = {"select": {"per_scene_and_task": 45}, "video": False}
    config = build_config({"build": "vsi", "benchmark": "vsi", "roots": {"scene": scenes}} | UNASKED | settings)
    outcome = Builder(config, tmp_path / "out").build()
    assert not outcome.quarantine
    (split,) = (tmp_path / "out/release/data").glob("test-*.parquet")
    questions = rows_of(split)
    tasks = Counter(row["question_type"] for row in questions)
    assert sum(tasks.values()) >= 70, tasks  # orders of appearance that share three objects tell of one another
    assert len(tasks) >= 7, tasks
    truth = {row["question"]: row["ground_truth"] for row in questions}
    chairs, televisions = (
        next(v for k, v in truth.items() if f"many {name}(s)" in k) for name in ("chair", "television")
    )
    assert (float(chairs), float(televisions)) == (6, 2)
    # 214 cm; what is usual of a table is 150 cm.
    (table,) = (row for row in questions if "longest dimension" in row["question"] and "the table" in row["question"])
    if table["question_type"] == "object_size_comparison":
        assert table["options"]["AB".index(table["ground_truth"])].endswith("longer")
    else:
        assert float(table["ground_truth"]) == pytest.approx(214, abs=5)
    cameras = np.array([frame.world_T_camera for frame in document.camera.frames])[:, 2, 3] if document.camera else []
    assert np.median(cameras) == pytest.approx(1.4, abs=0.1)  # above the floor: 1.49 m below the origin along gravity
