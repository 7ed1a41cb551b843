"""The camera: axes, the walk through the views, and frames stored with the sky elsewhere than on top."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.samples.common.camera import TURN_BY_SKY, TURN_DEG_S, WALK_M_S, CameraView, Lens, film
from pipeline.samples.indoor.rooms import PLANS, RoomPlan

STILL = (CameraView(1.0, 2.0, 90.0, 0.0), CameraView(1.0, 2.0, 120.0, 0.0))
SWAY = np.sin(np.radians(2.5))  # a hand-held camera is never quite where it should be


def test_looking_north_the_camera_has_its_right_in_the_east_and_its_down_below() -> None:
    pose = film(STILL, 3, 0, "test")[0]
    np.testing.assert_allclose(pose[:3, :3], [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=SWAY)
    assert pose[:2, 3] == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(
    ("sky", "up"), [("Up", (0, -1)), ("Left", (-1, 0)), ("Down", (0, 1)), ("Right", (1, 0))], ids=str
)
def test_the_sky_is_where_it_is_said_to_be(sky: str, up: tuple[int, int]) -> None:
    """In image coordinates, x to the right and y down."""
    pose = film(STILL, 3, TURN_BY_SKY[sky], "test")[0]
    np.testing.assert_allclose(pose[2, :2], up, atol=SWAY)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_poses_are_rigid_and_move_no_faster_than_a_person(plan: RoomPlan) -> None:
    poses = film(plan.views, plan.fps, TURN_BY_SKY[plan.sky], plan.name)
    rotation = poses[:, :3, :3]
    np.testing.assert_allclose(
        rotation @ rotation.transpose(0, 2, 1), np.tile(np.eye(3), (len(poses), 1, 1)), atol=1e-12
    )
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    step = np.linalg.norm(np.diff(poses[:, :2, 3], axis=0), axis=1)
    assert step.max() * plan.fps <= 1.5 * WALK_M_S + 1e-6  # eased: fastest in the middle
    turn = np.degrees(np.arccos(np.clip((rotation[1:, :, 2] * rotation[:-1, :, 2]).sum(1), -1, 1)))
    assert turn.max() * plan.fps <= 1.5 * TURN_DEG_S + 15
    assert 60 <= len(poses) <= 150


def test_a_halved_lens_sees_every_second_pixel() -> None:
    lens = Lens(64, 48, 50.0, 52.0, 31.5, 23.5)
    half = lens.halved()
    point = np.array([0.2, -0.1, 1.0])
    full_pixel, half_pixel = lens.matrix() @ point, half.matrix() @ point
    np.testing.assert_allclose(full_pixel[:2] / 2, half_pixel[:2])
    assert (half.width, half.height) == (32, 24)
