"""Stage `clip`: every question has its video, which ends where the question does, and nothing else lies about."""

from __future__ import annotations

import shutil
from pathlib import Path

import av
import pyarrow.parquet as pq

from pipeline.engine.config import build_config
from pipeline.engine.run import run_here
from pipeline.stages.builder import Builder
from tests.builds import OPEN_GATES

FPS = 30


def build(root: Path, out: Path, cap: int) -> dict[str, bytes]:
    """Path below the folder of videos -> bytes, after a build with at most so many questions of a task."""
    unasked = {"blind": {"models": []}, "prune": None, "figures": False, "gates": OPEN_GATES}
    config = build_config(
        {"benchmark": "urbanvideo", "roots": {"flights": root}, "select": {"per_scene_and_task": cap}} | unasked
    )
    assert Builder(config, out, run_here).build().quarantine == []
    folder = out / "videos"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.mp4")}


def seconds_of(path: Path) -> float:
    """When the last frame appears."""
    with av.open(path) as container:
        return float(max(frame.time for frame in container.decode(video=0)))


def test_every_question_has_a_video_that_ends_with_it(flights: Path, tmp_path: Path) -> None:
    shutil.copytree(flights / "central_station", tmp_path / "root" / "central_station")
    out = tmp_path / "out"
    made = build(tmp_path / "root", out, 6)
    asked = pq.read_table(out / "release" / "data").to_pylist()
    rows = pq.read_table(out / "release" / "provenance").to_pylist()
    parts = {row["id"]: (row["from_s"] or 0, row["until_s"]) for row in rows if row["until_s"] is not None}
    assert {row["video_id"] for row in asked} | {"sample_city/central_station.mp4"} == set(made)
    clips = {row["video_id"]: parts[row["Question_id"]] for row in asked if row["Question_id"] in parts}
    assert len(clips) > 5
    assert {from_s > 0 for from_s, _ in clips.values()} == {True, False}
    for name, (from_s, until_s) in clips.items():
        assert 0 <= until_s - from_s - seconds_of(out / "videos" / name) < 1 / FPS
    (out / "videos" / min(clips)).unlink()
    assert build(tmp_path / "root", out, 6) == made, "a lost clip is cut again"
    fewer = build(tmp_path / "root", out, 1)
    assert set(fewer) < set(made), "clips of questions that are no longer asked go"
    assert {row["video_id"] for row in pq.read_table(out / "release" / "data").to_pylist()} <= set(fewer)
