"""Tasks of scans and of flights in one build: each is asked of its own kind of scene."""

from __future__ import annotations

from pathlib import Path

from pipeline.worlds.indoor.samples.metadata import PLANS, sample_scene
from tests.builds import build, rows_of
from tests.worlds.indoor.readers.broken_metadata import write_scenes


def test_tasks_of_flights_are_not_asked_of_scans(tmp_path: Path) -> None:
    write_scenes(tmp_path / "meta.json", {plan.name: sample_scene(plan) for plan in PLANS[:2]})
    outcome = build(tmp_path, tmp_path / "out", generate={"tasks": ["Duration", "Proximity"]})
    assert outcome.quarantine == []
    assert rows_of(tmp_path / "out" / "release" / "data" / "test-00000-of-00001.parquet") == []
