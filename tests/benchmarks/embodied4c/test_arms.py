"""Questions about the sample episodes of an arm, answered again from their tables."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.core.schema import AnyScene
from pipeline.reading.files import SceneFiles
from pipeline.samples.registry import SAMPLES
from pipeline.worlds.registry import READERS
from tests.benchmarks.embodied4c.planted import limits_of, limits_stated
from tests.oracles.exam_check import every_question


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> list[AnyScene]:
    root = tmp_path_factory.mktemp("arms")
    SAMPLES["arm"].write(root)
    reader = READERS["lerobot"]
    return [reader.read(SceneFiles(root / "lerobot", ref)) for ref in reader.scenes(root / "lerobot").scenes[:3]]


def rows(scene: AnyScene) -> list[dict[str, Any]]:
    return every_question(scene)


def test_candidates_are_held_against_the_limits_of_the_table(episodes: list[AnyScene]) -> None:
    assert limits_of(row for scene in episodes for row in rows(scene)) == limits_stated("arm_")


def test_kinds_and_wording(episodes: list[AnyScene]) -> None:
    asked = [row for scene in episodes for row in rows(scene) if row["reason"] is None]
    kinds = {row["operands"][0] for row in asked}
    wanted = "arm_st arm_st_slide arm_tp arm_lm_moved arm_md arm_md_rate arm_md_joints arm_mt arm_ct arm_sm"
    assert {*wanted.split(), "arm_or_between", "arm_sm_net", "arm_sm_up", "arm_sm_grip", "arm_sm_nearest"} <= kinds
    assert {"arm_cs_time", "arm_cs_reach", "arm_lm_net", "arm_or_turned"} <= kinds
    assert "arm_or" not in kinds, "this gripper points straight down"
    assert not [row for row in asked if "joint joint" in row["wording"] or "{" in row["wording"]]
    assert all("domain: manipulation" in row["flags"] for row in asked)
    assert {row["answer"] for row in asked if row["operands"][0] == "arm_md_joints"} == {"1", "2"}
