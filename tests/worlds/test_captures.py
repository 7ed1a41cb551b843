"""Real captures, each a single file, built end to end: a film with telemetry in it, and a panorama.

All questions were read beside the pictures: the film flies straight along a cliff, its horizon stays in the middle.
"""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.cli.convert import convert
from pipeline.engine.config import build_config
from pipeline.formats.scene_folder import SceneDocument, write_scene
from pipeline.stages.builder import Builder
from tests.builds import UNASKED, rows_of
from tests.conftest import REAL_DATA

CAPTURES = REAL_DATA / "captures"


def build(name: str, root: dict[str, Path], out: Path, **settings: Any) -> list[dict[str, Any]]:
    """The questions of a build that delivers no videos."""
    config = build_config({"build": name, "benchmark": name, "roots": root, "video": False} | UNASKED | settings)
    assert not Builder(config, out).build().quarantine
    (split,) = (out / "release" / "data").glob("test-*.parquet")
    return rows_of(split)


@pytest.mark.slow
@pytest.mark.real_data
def test_a_film_with_telemetry_is_a_whole_flight(tmp_path: Path) -> None:
    flight = tmp_path / "flights" / "karma"
    flight.mkdir(parents=True)
    shutil.copy(CAPTURES / "gpmf_karma" / "karma.mp4", flight / "video.mp4")
    (flight / "flight.yaml").write_text(
        "camera: {horizontal_fov_deg: 80, pitch_deg: 0}"
    )  # its horizon is in the middle
    root = {"flights": flight.parent}
    film = {"flights": CAPTURES / "gpmf_karma" / "karma.mp4"}
    (caption,) = build("urbanvideo", film, tmp_path / "urbanvideo")
    assert caption["question_category"] == "Trajectory Captioning"
    assert f"{caption['answer']}. It flies forward." in caption["question"]
    rules = {"generate": {"rules": {"even_answers": False}}}  # one movement has one answer to each
    asked = [row for row in build("embodied4c", root, tmp_path / "embodied4c", **rules) if row["log"]]
    assert {(row["sub_capability"], row["answer"]) for row in asked if row["sub_capability"] != "GEN"} == {
        ("S/M", "it stayed the same"),
        ("ST", "straight ahead"),
        ("ST", "keeping its height"),
        ("MD", "flying level without turning"),
    }


@pytest.mark.slow
@pytest.mark.real_data
def test_a_panorama_whose_angles_are_not_set_is_asked_where_it_was_taken(tmp_path: Path) -> None:
    root = tmp_path / "panoramas"
    (root / "maps").mkdir(parents=True)
    shutil.copy(CAPTURES / "pano_gopro" / "GSAG2002.JPG", root)
    shutil.copy(REAL_DATA / "city" / "countries.geojson", root / "maps")
    asked = build("ergeobench", {"panoramas": root}, tmp_path / "out")
    assert sorted(row["task"] for row in asked) == [
        f"Geo-localization, {setting}" for setting in ("embodied", "panorama", "single view")
    ]
    for row in asked:  # nothing by the compass: all its angles are 0, which means that none was measured
        truth = json.loads(row["ground_truth"])
        assert (truth["country"], truth["city"]) == ("Netherlands", None)
        assert (truth["lat"], truth["lon"]) == pytest.approx((52.44341, 6.88993), abs=1e-5)


# ---- the kitchen of 7-Scenes, end to end: converted, labelled by hand, built (docs/design/real-captures.md)


KITCHEN = REAL_DATA / "captures" / "sevenscenes_kitchen"
LABELS = Path(__file__).with_name("kitchen_objects.json")  # boxes drawn on the fused cloud and checked on the frames


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
