"""Real captures, each a single file, built end to end: a film with telemetry in it, and a panorama.

All questions were read beside the pictures: the film flies straight along a cliff, its horizon stays in the middle.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.engine.config import build_config
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
