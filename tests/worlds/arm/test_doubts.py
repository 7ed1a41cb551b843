"""Doubts about episodes of any reader, and what a view makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.worlds.arm.readers.rlbench import RLBench
from pipeline.worlds.arm.view import BEYOND_MAX, ArmView, examine
from pipeline.worlds.registry import examined
from tests.worlds.arm.episodes import found, read, rows, write_demo


def test_sound_episodes_have_none(views: list[ArmView]) -> None:
    assert [finding for view in views for finding in examine(view.scene)] == []


@pytest.mark.parametrize(("step_m", "jumps"), [(0.24, False), (0.26, True)])
def test_a_gripper_that_jumps_is_unknown_while_it_does(step_m: float, jumps: bool, tmp_path: Path) -> None:
    made = rows()
    for row in made[20:]:
        row["gripper_pose"] = row["gripper_pose"] + np.array([step_m, 0, 0, 0, 0, 0, 0])  # and 5 mm as always, in 50 ms
    write_demo(tmp_path, made)
    view = ArmView(examined(read(tmp_path, RLBench())))
    assert ("gripper_jumps" in found(view.scene)) == jumps
    assert np.flatnonzero(np.isnan(view.gripper_m[:, 0])).tolist() == ([19, 20] if jumps else [])
    assert np.isnan(view.gripper_way_m[-1]) == jumps


@pytest.mark.parametrize("over", [-0.001, 0.001])
def test_joints_beyond_their_limits_are_told_to_the_hundredth(over: float, views: list[ArmView]) -> None:
    scene, arm = views[0].scene, views[0].facts.arm
    assert arm is not None
    top = float(arm.position.array[:, 0].max())
    joint = arm.joints[0].model_copy(update={"high": top - BEYOND_MAX - over})
    changed = scene.with_facts(arm=arm.model_copy(update={"joints": (joint, *arm.joints[1:])}))
    assert [finding.subject for finding in examine(changed)] == (["shoulder"] if over > 0 else [])


def test_closings_and_openings_are_rows_of_change(tmp_path: Path) -> None:
    made = rows()
    for number, row in enumerate(made):
        row["gripper_open"] = 1.0 if number < 10 else 0.5 if number < 12 else 0.0 if number < 20 else 1.0
    write_demo(tmp_path, made)
    view = ArmView(read(tmp_path, RLBench()))
    assert (view.closings.tolist(), view.openings.tolist()) == ([12], [20])
    assert [view.state_at(row) for row in (9, 11, 12, 20)] == ["open", None, "closed", "open"]
    assert view.width_m[0] == pytest.approx(0.08)
    assert view.facts.gripper is not None
    assert view.facts.gripper.opening_kind == "share"


def test_speeds_and_ways_are_those_of_the_movement(tmp_path: Path) -> None:
    write_demo(tmp_path, rows())
    view = ArmView(read(tmp_path, RLBench()))
    assert view.gripper_speed_mps[1:-1] == pytest.approx(np.full(38, 0.1), abs=1e-4)
    assert view.gripper_way_m[-1] == pytest.approx(0.1 * 39 * 0.05, abs=1e-5)
    assert view.angle_rate[5] == pytest.approx([0.4, -0.2])
    assert view.approach[0] == pytest.approx([0, 0, 1])
    assert view.effort[0] == pytest.approx([1, 2])
