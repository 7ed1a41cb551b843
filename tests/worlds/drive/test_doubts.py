"""What cannot be in a drive: tracks that jump, vehicles in one another, a second car of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.worlds.drive.quality_checks import beyond, examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from pipeline.worlds.drive.readers.kitti_tracking import KittiTracking
from pipeline.worlds.drive.view import DriveView
from pipeline.worlds.registry import examined
from tests.conftest import REAL_DATA
from tests.worlds.drive.drives import box, pose, read, write_log

SWEEPS = range(31)
TIMES_S = np.arange(10) / 10


def straight(speed_mps: float = 10.0) -> np.ndarray:
    return np.stack([speed_mps * TIMES_S, 0 * TIMES_S, 0 * TIMES_S], axis=-1)


def test_steps_are_longer_than_the_speed_about_them_explains() -> None:
    assert np.abs(beyond(TIMES_S, straight())).max() < 1e-9
    moved = straight()
    moved[5:, 1] += 5.0  # from one lane to beyond the next
    assert beyond(TIMES_S, moved).round(3).tolist() == [0, 0, 0, 0, round(26**0.5 - 1, 3), 0, 0, 0, 0]
    there_and_back = straight()
    there_and_back[5, 1] += 5.0
    assert np.flatnonzero(beyond(TIMES_S, there_and_back) > 2).tolist() == [4, 5]
    assert beyond(np.array([0.0, 5.0]), np.array([[0.0, 0, 0], [499.0, 0, 0]])).max() < 0  # long ago
    assert beyond(np.array([0.0, 5.0]), np.array([[0.0, 0, 0], [510.0, 0, 0]])).tolist() == [10.0]
    assert len(beyond(TIMES_S[:1], moved[:1])) == 0


def test_who_brakes_as_hard_as_can_be_does_not_jump() -> None:
    speed = np.maximum(20 - 10 * TIMES_S, 0)
    place = np.stack([np.cumsum(speed) / 10, 0 * speed, 0 * speed], axis=-1)
    assert beyond(TIMES_S, place).max() < 0.5


def scene_of(folder: Path, *tracks: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [row for track in tracks for row in track]
    scene = read(write_log(folder, rows, [pose(s) for s in SWEEPS]), Argoverse2())
    return {"scene": scene, "found": {(f.name, f.subject): f for f in examine(scene)}}


def test_a_track_that_jumps_is_left_out_where_it_does(tmp_path: Path) -> None:
    jumper = [box(s, ty_m=8.0 if s >= 15 else 0.0) for s in SWEEPS]
    made = scene_of(tmp_path, jumper, [box(s, track="b", tx_m=30.0) for s in SWEEPS])
    (jump,) = made["found"].values()
    assert (jump.name, jump.subject, jump.stretches) == ("track_jumps", "a", ((1.4, 1.5),))
    assert jump.measured == pytest.approx(np.hypot(1, 8) - 1, abs=1e-3)
    view = DriveView(examined(made["scene"]))
    assert np.flatnonzero(~view.present[view.row("a")]).tolist() == [14, 15]


def test_our_own_pose_may_jump_too(tmp_path: Path) -> None:
    poses = [pose(s, tx_m=100.0 if s < 10 else 150.0) for s in SWEEPS]
    scene = read(write_log(tmp_path, [box(s) for s in SWEEPS], poses), Argoverse2())
    assert {f.subject for f in examine(scene)} == {"ego", "a"}  # whose place rests on it
    assert np.flatnonzero(np.isnan(DriveView(examined(scene)).ego_m[:, 0])).tolist() == [9, 10]


def test_vehicles_in_one_another_are_doubted_while_they_are(tmp_path: Path) -> None:
    through = [box(s, track="b", tx_m=25.0 - s) for s in SWEEPS]  # comes towards us, through the car ahead
    made = scene_of(tmp_path, [box(s) for s in SWEEPS], through, [box(s, track="c", tz_m=9.0) for s in SWEEPS])
    assert set(made["found"]) == {("boxes_overlap", "a"), ("boxes_overlap", "b")}
    overlap = made["found"]["boxes_overlap", "a"]
    assert overlap.stretches is not None
    ((start_s, end_s),) = overlap.stretches
    assert start_s <= 1.3
    assert end_s >= 1.7  # the middles are within half a length, 2 m, of one another
    assert "b" in overlap.message
    pair = [box(s, track="p", category="PEDESTRIAN") for s in SWEEPS]
    assert scene_of(tmp_path / "2", [box(s) for s in SWEEPS], pair)["found"] == {}  # one within a car


def test_one_thing_with_two_tracks_is_doubted(tmp_path: Path) -> None:
    walkers = [[box(s, track=name, category="PEDESTRIAN", tx_m=x) for s in SWEEPS] for name, x in
               (("a", 10.0), ("b", 10.05), ("c", 10.6))]  # fmt: skip
    assert set(scene_of(tmp_path, *walkers)["found"]) == {("boxes_overlap", "a"), ("boxes_overlap", "b")}
    other = [box(s, track="d", category="BOLLARD") for s in SWEEPS]
    assert scene_of(tmp_path / "2", walkers[0], walkers[2], other)["found"] == {}


def test_who_is_in_doubt_is_not_taken_for_absent(tmp_path: Path) -> None:
    jumping = [box(s, track="b", tx_m=20.0 + 30.0 * (s == 15)) for s in SWEEPS]
    view = DriveView(examined(scene_of(tmp_path, [box(s) for s in SWEEPS], jumping)["scene"]))
    assert np.flatnonzero(view.unsure[view.row("b")]).tolist() == [14, 15, 16]
    assert not view.unsure[view.row("a")].any()
    assert not (view.unsure & view.present).any()


def test_a_track_of_our_own_car_is_no_other_car(tmp_path: Path) -> None:
    made = scene_of(
        tmp_path, [box(s, tx_m=0.2) for s in SWEEPS], [box(s, track="b", tx_m=-0.9 + s / 10) for s in SWEEPS]
    )
    assert made["found"]["second_ego", "a"].measured == 1.0
    assert made["found"]["second_ego", "a"].stretches is None
    assert ("second_ego", "a") in made["found"]
    view = DriveView(examined(made["scene"]))
    assert not view.present[view.row("a")].any()


def test_samples_and_real_logs_are_beyond_doubt(samples: Path) -> None:
    readers = (("av2", Argoverse2()), ("carla", Carla()), ("kitti", KittiTracking()))
    roots = [(samples / reader.name, reader) for _, reader in readers]
    if (REAL_DATA / "driving").is_dir():
        roots += [(REAL_DATA / "driving" / name, reader) for name, reader in readers]
    for root, reader in roots:
        for ref in reader.scenes(root).scenes:
            assert examine(read(root, reader, ref.id.partition("/")[2])) == (), ref.id
