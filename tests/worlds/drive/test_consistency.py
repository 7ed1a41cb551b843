"""Mirrored and shifted boxes, velocities and steering against places: each found, none in the log as it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.quantized_series import pack
from pipeline.worlds.drive.facts import SPEED_STEP_MPS, Controls, DriveScene, Ego
from pipeline.worlds.drive.quality_checks import examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.kitti_tracking import KittiTracking
from tests.conftest import REAL_DATA
from tests.worlds.drive.drives import box, pose, read, write_log

SWEEPS = 80
PARKED = ((30.0, 12.0), (45.0, -9.0), (20.0, 40.0), (55.0, 25.0), (10.0, -15.0))


def turning(
    root: Path, sense: float = 1.0, shift: tuple[float, float] = (0.0, 0.0), turn_deg: float = 90.0
) -> DriveScene:
    """We drive an arc to the left past parked cars, whose boxes are written mirrored (``sense`` -1) or shifted."""
    boxes: list[dict[str, Any]] = []
    poses = []
    x = y = 0.0
    for sweep in range(SWEEPS):
        yaw = np.radians(turn_deg) * sweep / SWEEPS
        half = {"qw": float(np.cos(yaw / 2)), "qz": float(np.sin(yaw / 2))}
        poses.append(pose(sweep, **half, tx_m=x, ty_m=y))
        for number, (px, py) in enumerate(PARKED):
            ahead = np.cos(yaw) * (px - x) + np.sin(yaw) * (py - y)
            left = np.cos(yaw) * (py - y) - np.sin(yaw) * (px - x)
            turned = {"qw": half["qw"], "qz": -sense * half["qz"]}  # each heads along x
            place = {"tx_m": float(ahead) + shift[0], "ty_m": sense * float(left) + shift[1]}
            boxes.append(box(sweep, f"parked-{number}", **turned, **place))
        x, y = x + 0.6 * np.cos(yaw), y + 0.6 * np.sin(yaw)
    return read(write_log(root, boxes, poses), Argoverse2())


def doubts(scene: DriveScene) -> set[str]:
    return {f.name for f in (*scene.findings, *examine(scene)) if f.severity == "doubt"}


@pytest.mark.parametrize(
    ("sense", "shift", "turn_deg", "told"),
    [
        (1.0, (0.0, 0.0), 90.0, False),
        (-1.0, (0.0, 0.0), 90.0, True),
        (1.0, (3.0, 0.0), 90.0, True),
        (1.0, (0.0, -2.0), 90.0, True),
        (1.0, (0.9, 0.0), 90.0, False),
        (1.0, (3.0, 0.0), 0.0, False),  # on a straight road nothing shows it
    ],
)
def test_what_stands_must_stay_where_it_is(
    tmp_path: Path, sense: float, shift: tuple[float, float], turn_deg: float, told: bool
) -> None:
    assert ("static_things_drift" in doubts(turning(tmp_path, sense, shift, turn_deg))) == told


def with_ego(scene: DriveScene, **changes: Any) -> DriveScene:
    ego = scene.facts.ego
    assert isinstance(ego, Ego)
    return scene.model_copy(update={"facts": scene.facts.model_copy(update={"ego": ego.model_copy(update=changes)})})


@pytest.mark.parametrize(
    ("change", "told"),
    [((1, 1), False), ((1, -1), True), ((-1, 1), True), ((0.4, 1), True), ((1, 2.2), True), ((0.6, 1.9), False)],
)
def test_velocities_are_those_of_the_places(tmp_path: Path, change: tuple[float, float], told: bool) -> None:
    scene = turning(tmp_path)
    yaw = np.radians(90) * np.arange(SWEEPS) / SWEEPS
    velocity = 6.0 * np.column_stack([np.cos(yaw), np.sin(yaw), np.zeros(SWEEPS)]) / (*change, 1)
    assert scene.facts.ego is not None
    track = scene.facts.ego.track.model_copy(update={"velocity_mps": pack(velocity, SPEED_STEP_MPS)})
    assert ("velocity_against_track" in doubts(with_ego(scene, track=track))) == told


@pytest.mark.parametrize("left", [0.3, -0.3])
def test_a_car_turns_to_the_side_to_which_it_steers(tmp_path: Path, left: float) -> None:
    every = np.ones(SWEEPS)
    said = {"throttle": every, "brake": 0 * every, "steering": left * every, "gear": every}
    controls = Controls(**{name: pack(values, 1e-4) for name, values in said.items()})
    assert ("turns_against_steering" in doubts(with_ego(turning(tmp_path), controls=controls))) == (left < 0)


@pytest.mark.parametrize(("off_m", "told"), [(2.4, False), (2.6, True)])
def test_a_box_holds_the_point_of_its_track(tmp_path: Path, off_m: float, told: bool) -> None:
    scene = turning(tmp_path)
    first, *rest = scene.facts.actors
    assert first.box is not None
    moved = first.model_copy(update={"box": first.box.model_copy(update={"middle_m": (off_m, 0.0, 0.0)})})
    facts = scene.facts.model_copy(update={"actors": (moved, *rest)})
    assert ("box_beside_its_point" in doubts(scene.model_copy(update={"facts": facts}))) == told


@pytest.mark.real_data
@pytest.mark.parametrize("change", ["none", "mirror", "aside", "ahead"])
def test_real_boxes_in_space_lie_where_they_are_marked_in_the_picture(tmp_path: Path, change: str) -> None:
    shutil.copytree(REAL_DATA / "driving" / "kitti", tmp_path / "kitti")
    path = tmp_path / "kitti" / "label_02" / "0012.txt"
    lines = [line.split() for line in path.read_text().splitlines()]
    for words in lines:
        x, y, z, turn = map(float, words[13:17])
        x, turn = (-x, np.pi - turn) if change == "mirror" else (x, turn)
        x, z = x + 2 * (change == "aside"), z + 3 * (change == "ahead")
        if words[2] != "DontCare":
            words[13:17] = map(str, (x, y, z, turn))
    path.write_text("\n".join(map(" ".join, lines)) + "\n")
    scene = read(tmp_path / "kitti", KittiTracking(), "0012")
    assert ("boxes_off_the_picture" in doubts(scene)) == (change != "none")


@pytest.mark.parametrize(("mark", "told"), [("664.2 191.7 853.8 328.8", False), ("346.2 191.7 535.8 328.8", True)])
def test_a_box_is_marked_where_its_corners_are_seen(tmp_path: Path, mark: str, told: bool) -> None:
    """A car of 4 x 1.8 x 1.5 m, 10 m ahead and 2 m to the right, heading away; or its mirror image in the picture."""
    for part, text in (
        ("label_02", "".join(f"{n} 1 Car 0 0 0 {mark} 1.5 1.8 4.0 2.0 1.7 10.0 {-np.pi / 2}\n" for n in range(10))),
        ("calib", "P2: 700 0 600 0 0 700 180 0 0 0 1 0\n"),
    ):
        (tmp_path / part).mkdir()
        (tmp_path / part / "0000.txt").write_text(text)
    assert doubts(read(tmp_path, KittiTracking())) == ({"boxes_off_the_picture"} if told else set())
