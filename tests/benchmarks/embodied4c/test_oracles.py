"""Questions over planted and real logs of all embodiments, answered again by oracles: the same but for rounding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.schema import AnyScene
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive import argoverse2
from pipeline.samples.drive.plan import PLANS
from pipeline.worlds.registry import READERS
from tests.benchmarks.embodied4c import logs
from tests.conftest import REAL_DATA
from tests.oracles.exam_answers import Log
from tests.oracles.exam_arms import Episode
from tests.oracles.exam_check import answered_again, every_question
from tests.oracles.exam_flights import SLACK, Poses

WORDLESS = {"air_lm_steps", "air_md", "air_st_camera"}  # of flights: held against hand-written answers elsewhere


def scenes(reader: str, root: Path) -> Iterator[tuple[Path, AnyScene]]:
    """All of a root, each with its own folder or file."""
    for ref in READERS[reader].scenes(root).scenes:
        yield root / ref.files[0], READERS[reader].read(SceneFiles(root, ref))


@pytest.mark.slow
def test_drives_of_plans(tmp_path: Path) -> None:
    for plan in (*PLANS.values(), logs.random_plan(1), logs.random_plan(2)):
        argoverse2.write_log(tmp_path, plan)
    checked = 0
    for folder, scene in scenes("argoverse2", tmp_path):
        rows = every_question(scene)
        asked, wrong = answered_again(rows, Log(folder).answer)
        assert not wrong, f"{scene.id}: {len(wrong)} of {asked}: {wrong[:10]}"
        assert asked == len(rows), "the oracle knows all kinds"
        checked += asked
    assert checked >= 8000


@pytest.mark.slow
@pytest.mark.real_data
def test_a_real_log_of_argoverse_2() -> None:
    ((folder, scene),) = scenes("argoverse2", REAL_DATA / "driving" / "av2")
    rows = every_question(scene)
    asked, wrong = answered_again(rows, Log(folder).answer)
    assert not wrong, f"{len(wrong)} of {asked}: {wrong[:10]}"
    assert asked == len(rows) >= 1500


@pytest.mark.slow
@pytest.mark.real_data
def test_real_labels_of_kitti() -> None:
    checked = 0
    for _, scene in scenes("kitti_tracking", REAL_DATA / "driving" / "kitti"):
        log = Log.of_labels(REAL_DATA / "driving" / "kitti" / "label_02" / f"{scene.name}.txt")
        rows = every_question(scene)
        asked, wrong = answered_again(rows, log.answer)
        assert not wrong, f"{scene.id}: {len(wrong)} of {asked}: {wrong[:10]}"
        assert asked == len(rows)
        checked += asked
        # Behind the car and beside it nobody labelled anything.
        about = [row["wording"] for row in rows if row["task"] in ("DT", "CT", "LC", "OR words", "CL")]
        assert all("in the picture of the left colour camera" in text for text in about)
        assert not [row for row in rows if "behind the ego" in row["wording"] or "to the left of" in row["wording"]]
    assert checked >= 280


@pytest.mark.real_data
def test_a_real_episode_of_rlbench() -> None:
    ((_, scene),) = scenes("rlbench", REAL_DATA / "manipulation" / "rlbench")
    rows = every_question(scene)
    asked, wrong = answered_again(rows, Episode(scene).answer)
    assert not wrong, f"{len(wrong)} of {asked}: {wrong[:10]}"
    assert asked == len(rows) >= 100


@pytest.mark.slow
def test_sample_episodes_of_arms() -> None:
    checked = 0
    for scene in logs.episodes(9):
        rows = every_question(scene)
        asked, wrong = answered_again(rows, Episode(scene).answer)
        assert not wrong, f"{scene.id}: {len(wrong)} of {asked}: {wrong[:10]}"
        assert asked == len(rows)
        checked += asked
    assert checked >= 8000


@pytest.mark.slow
def test_random_flights() -> None:
    checked = 0
    for seed in range(10):
        scene = logs.flight(seed)
        rows = every_question(scene)
        asked, wrong = answered_again(rows, Poses(scene).answer, SLACK)
        assert not wrong, f"{scene.id}: {len(wrong)} of {asked}: {wrong[:10]}"
        assert {row["operands"][0] for row in rows} - WORDLESS <= {kind for kind in dir(Poses) if kind[:4] == "air_"}
        checked += asked
    assert checked >= 2000
