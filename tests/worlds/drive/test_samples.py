"""The sample drives: what is read from them is what was planted, and nothing in them depends on the day."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.geometry.footprints import Rectangles, gap_m
from pipeline.samples.drive import plan
from pipeline.samples.drive.plan import PLANS, LaneChange, SpeedProfile, move
from pipeline.samples.drive.write import write_drives
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.view import DriveView
from tests.worlds.drive.drives import read


def truth_of(sample_drives: Path, name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((sample_drives / "argoverse2" / "truth" / f"{name}.json").read_text())
    return truth


def planted(mover: dict[str, Any]) -> np.ndarray:
    return np.array([mover["x_m"], mover["y_m"]]).T


@pytest.mark.parametrize("name", PLANS)
def test_an_argoverse_log_holds_what_was_planted(sample_drives: Path, name: str) -> None:
    scene, truth = read(sample_drives / "argoverse2", Argoverse2(), name), truth_of(sample_drives, name)
    view = DriveView(scene)
    assert scene.findings == ()
    assert view.times_s.tolist() == truth["times_s"]
    assert set(view.ids) <= set(truth["actors"])
    for row, mover in enumerate(truth["actors"][key] for key in view.ids):
        seen = view.present[row]
        assert np.abs(view.place_m[row, seen, :2] - planted(mover)[seen]).max() < 2e-4
        turned = view.yaw_deg[row, seen] - np.array(mover["yaw_deg"])[seen]
        assert np.abs((turned + 180) % 360 - 180).max() < 1e-4
        assert view.size_m[row].tolist() == mover["size_m"]
    ego = truth["ego"]
    assert np.abs(view.ego_m[:, :2] - planted(ego) + 1.4 * _ahead(ego)).max() < 2e-4
    speed = np.array(ego["speed_mps"])
    straight = np.abs(view.ego_turn_dps) < 0.01
    assert np.abs(view.ego_speed_mps - speed)[5:-5][straight[5:-5]].max() < 0.51  # half of a second's window of 4 m/s²
    even = straight & (np.abs(view.ego_acceleration_mps2) < 1e-3)
    assert np.abs(view.ego_speed_mps - speed)[even].max() < 1e-3


def test_the_events_happen_when_they_are_said_to(sample_drives: Path) -> None:
    truth = {name: truth_of(sample_drives, name) for name in PLANS}
    view = DriveView(read(sample_drives / "argoverse2", Argoverse2(), "overtaking"))
    ahead_m = view.relative_m[view.row("overtaker"), :, 0] - 1.4
    beside = np.flatnonzero((ahead_m[:-1] <= 0) & (ahead_m[1:] > 0))
    (passes,) = [event for event in truth["overtaking"]["events"] if event["what"] == "passes us"]
    assert abs(view.times_s[beside[0]] - passes["start_s"]) < 0.11
    assert len(beside) == 1
    in_lanes = view.lanes_at(view.place_m[view.row("overtaker"), :, :2])
    assert [in_lanes[round(10 * second)] for second in (1.0, 8.0, 17.0)] == [[0], [1], [0]]
    for name, who in (("junction", "ego"), ("braking", "ego"), ("braking", "lead")):
        mover = truth[name]["ego"] if who == "ego" else truth[name]["actors"][who]
        (stop,) = [e for e in truth[name]["events"] if e["who"] == who and "stop" in e["what"]]
        end = round(10 * (stop["end_s"] if "brakes" in stop["what"] else stop["start_s"]))
        assert mover["speed_mps"][end - 1] > 0
        assert mover["speed_mps"][end] == 0
    turn = next(event for event in truth["junction"]["events"] if event["what"] == "turns left")
    yaw = np.array(truth["junction"]["ego"]["yaw_deg"])
    turning = np.flatnonzero(np.abs(np.diff(yaw)) > 1e-6) / 10
    assert turn["start_s"] - 0.1 < turning[0] < turning[-1] < turn["end_s"]


@pytest.mark.parametrize("name", PLANS)
def test_nobody_drives_through_anybody_but_the_van_through_its_cone(name: str) -> None:
    plan = PLANS[name]
    times_s = np.arange(0, plan.lasts_s, 0.1)
    movers = [plan.ego, *plan.others]
    motions = [mover.at(times_s) for mover in movers]
    shapes = [
        Rectangles(motion.place_m, np.array(mover.size_m[:2]) / 2, motion.yaw_deg)
        for mover, motion in zip(movers, motions, strict=True)
    ]
    touching = {
        (movers[i].id, movers[j].id)
        for i in range(len(movers))
        for j in range(i)
        if (gap_m(shapes[i], shapes[j]) <= 0).any()
    }
    assert touching == ({("cone-0", "van")} if name == "braking" else set())


def test_writing_again_gives_the_same_bytes(sample_drives: Path, tmp_path: Path) -> None:
    write_drives(tmp_path)
    assert _digests(tmp_path) == _digests(sample_drives)


def _digests(root: Path) -> dict[str, str]:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _ahead(mover: dict[str, Any]) -> np.ndarray:
    yaw = np.radians(mover["yaw_deg"])
    return np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)


# ---- how movers of sample drives move: by hand


def test_a_quarter_circle_ends_where_compasses_draw_it() -> None:
    path = plan.LanePath((0.0, 0.0), 0.0, ((10.0, 0.0), (np.pi, 90.0), (1e9, 0.0)))  # 10 m ahead, then a radius of 2 m
    place, yaw = path.at(np.array([0.0, 10.0, 10.0 + np.pi / 2, 10.0 + np.pi, 15.0 + np.pi, -3.0]))
    expected = [[0, 0], [10, 0], [10 + np.sqrt(2), 2 - np.sqrt(2)], [12, 2], [12, 7], [-3, 0]]
    assert np.allclose(place, expected)
    assert np.allclose(np.degrees(yaw), [0, 0, 45, 90, 90, 0])


def test_who_brakes_to_a_stop_stands() -> None:
    pace = SpeedProfile(5.0, 10.0, ((2.0, 0.0), (8.0, -2.0), (2.0, 1.0)))  # stops after 5 s of the 8
    along, speed, acceleration = pace.at(np.array([0.0, 2.0, 4.0, 7.0, 9.0, 11.0, 20.0]))
    assert along.tolist() == [5.0, 25.0, 41.0, 50.0, 50.0, 50.5, 68.0]
    assert speed.tolist() == [10.0, 10.0, 6.0, 0.0, 0.0, 1.0, 2.0]
    assert acceleration.tolist() == [0.0, -2.0, -2.0, 0.0, 0.0, 1.0, 0.0]


def test_a_change_of_lane_ends_beside_where_it_began() -> None:
    times_s = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    found = move(plan.LanePath((0.0, 0.0), 90.0), SpeedProfile(0.0, 10.0), (LaneChange(1.0, 3.0, 4.0),), times_s)
    assert np.allclose(found.place_m, [[0, 0], [0, 10], [-2, 20], [-4, 30], [-4, 40]])
    assert np.allclose(found.velocity_mps[2], [-np.pi, 10])
    assert found.yaw_deg[2] == pytest.approx(90 + np.degrees(np.arctan2(np.pi, 10)))
    assert found.yaw_deg[[0, 4]].tolist() == [90.0, 90.0]
