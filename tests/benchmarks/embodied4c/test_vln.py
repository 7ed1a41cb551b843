from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from flows.cli.app import app
from pipeline.benchmarks.embodied4c.vln.logs import Trial, trials_of
from pipeline.benchmarks.embodied4c.vln.rules import checked
from pipeline.benchmarks.embodied4c.vln.specification import Specification, specifications
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.samples.drive.argoverse2 import write_log
from pipeline.samples.drive.plan import PLANS
from pipeline.samples.registry import SAMPLES
from tests.builds import REPOSITORY
from tests.formats.logs.written import airdata, line
from tests.worlds.arm.episodes import rows, write_demo


def task(name: str, **target: Any) -> Specification:
    """The first task of a scenario, with a target of one's own."""
    found = next(one for one in specifications().values() if one.name == name)
    return found.model_copy(update={"target": {**found.target, **target}})


def straight(speed_mps: float, seconds: float = 30.0, **more: Any) -> Trial:
    """Along x at a steady speed, ten times a second."""
    t = np.linspace(0, seconds, round(seconds * 10) + 1)
    place = np.column_stack([speed_mps * t, np.zeros_like(t), np.zeros_like(t)])
    n = len(t)
    told = {"heading_deg": np.zeros(n), "speed_mps": np.full(n, speed_mps), "events": {}} | more
    return Trial(t, place, **told)


def slowing(speed_mps: FloatArray) -> Trial:
    """20 m in 4 s, whatever the speedometer says."""
    return replace(straight(5, 4.0), speed_mps=speed_mps)


def points(one: Specification, trial: Trial, *place: float) -> float | None:
    (outcome,) = checked([one], trial, {"": np.array(place)} if place else None)
    return outcome.points


def test_the_tables_of_the_paper() -> None:
    told = specifications()
    assert Counter(one.domain for one in told.values()) == {"driving": 16, "aerial": 22, "manipulation": 20}
    assert [one.category for one in told.values() if one.binary].count("A3") == 6
    assert {i for i, one in told.items() if one.domain == "driving" and one.binary} == {f"D1.{n}" for n in range(1, 6)}
    assert told["D2.1"].target == {"within_m": 1.5, "speed_max_mps": 0.1}
    assert told["A3.3"].number("within_m") == 3.5
    assert {60 <= one.timeout_s <= 300 for one in told.values()} == {True}
    for i, one in told.items():
        assert "{" not in one.instruction, i
        if one.category == "M2":
            assert np.linalg.norm(one.numbers("offset")) == pytest.approx(0.519, abs=0.001)  # d_init of section 8.3


def test_what_is_drawn_depends_on_the_seed_alone() -> None:
    assert specifications(3) == specifications(3)
    same = [i for i, one in specifications(3).items() if one == specifications(4)[i]]
    assert {i for i in specifications() if i[:2] in ("D2", "D3", "D4", "A3", "M3")} <= set(same)
    assert len(same) < 45
    assert len({specifications()[f"A1.{n}"].instruction.split(" by ")[0] for n in range(1, 5)}) == 4


@pytest.mark.parametrize(
    ("speed_mps", "seconds", "earned"),
    [(10, 20.0, 100), (10, 15.0, 37.5), (0, 20.0, 0), (1.0, 300.0, 45.0)],  # the last: 180 m at the timeout
)
def test_a_way_of_200_m(speed_mps: float, seconds: float, earned: float) -> None:
    assert points(task("EasySafeDrive"), straight(speed_mps, seconds)) == pytest.approx(earned)


def test_a_collision_ends_a_task_and_what_was_earned_stays() -> None:
    trial = straight(10, 30.0, events={"collision": np.array([10.0])})
    (outcome,) = checked([task("EasySafeDrive")], trial)
    assert (outcome.points, outcome.ended_by) == (pytest.approx(25.0), "collision")
    assert outcome.notes == ("not recorded, and so not punished: red_light, lane_invasion",)
    trial = straight(10, 30.0, events={"red_light": np.array([25.0])})
    assert points(task("EasySafeDrive"), trial) == 100, "it had driven 200 m before"


def test_goals_and_their_lanes_and_speeds() -> None:
    park = task("Parking")
    stop = straight(2.0, 10.0)
    assert points(park, stop, 20.0, 1.4, 0.0) == pytest.approx(50 * (1 - 1.4 / np.hypot(20, 1.4))), "still moving"
    stop.known("speed_mps")[-1] = 0.05
    assert points(park, stop, 20.0, 1.4, 0.0) == 100
    again = replace(straight(2.0, 20.0), speed_mps=np.append(stop.known("speed_mps"), np.full(100, 2.0)))
    assert points(park, again, 20.0, 1.4, 0.0) == 100, "it ends where it first stands in its place"
    assert points(park, stop, 0.0, 0.0, 0.0) == 0, "the start was the target: there is no progress to be made"
    assert points(park, stop) is None
    turn = task("TurnLeft", lane="7")
    assert points(turn, stop, 20.0, 0.0, 0.0) is None, "the log tells no lane"
    lanes = straight(2.0, 10.0, lane=np.array(["7"] * 101))
    assert points(turn, lanes, 20.0, 0.0, 0.0) == 100
    assert points(task("TurnLeft", lane="8"), lanes, 24.0, 0.0, 0.0) == pytest.approx(50 * 20 / 24)


@pytest.mark.parametrize(
    ("kmh", "seconds", "earned"), [(85, 12.0, 100), (85, 6.0, 30), (95, 12.0, 0), (80.0, 10.0, 100)]
)
def test_speed_limit_is_graded_by_time(kmh: float, seconds: float, earned: float) -> None:
    trial = straight(kmh / 3.6 + 1e-9, seconds)
    assert points(task("SpeedLimit"), trial) == pytest.approx(earned)


def test_following_counts_the_way_near_the_leader() -> None:
    ahead = straight(10, 20.0)
    near = straight(10, 20.0, leader_m=ahead.place_m + np.array([12.0, 0, 0]))
    assert points(task("FollowVehicle"), near) == 100
    lost = straight(10, 20.0, leader_m=ahead.place_m + np.column_stack([ahead.t_s * 3, 0 * ahead.t_s, 0 * ahead.t_s]))
    assert points(task("FollowVehicle"), lost) == pytest.approx(25.0), "within 15 m for 5 s, which is 50 m"


@pytest.mark.parametrize(("until", "earned"), [(2.0, 10), (8.0, 30), (14.0, 60), (20.0, 100)])
def test_overtaking_in_order(until: float, earned: float) -> None:
    """The leader drives at 10 m/s from 15 m ahead; we at 15 m/s, from 4 s to 16 s in the left lane."""
    trial = straight(15, 20.0)
    t, n = trial.t_s, len(trial.t_s)
    left = (t >= 4) & (t < 16)
    trial.place_m[:, 1] = np.where(left, 3.5, 0.0)
    leader = np.column_stack([15 + 10 * t + np.maximum(0, 3 - t), 0 * t, 0 * t])
    leader[:, 0] = np.where(t < 10, np.maximum(leader[:, 0], trial.place_m[:, 0] + 2), trial.place_m[:, 0] - 2)
    lanes = np.where(left, "2", "1")
    given: dict[str, Any] = {"leader_m": leader, "leader_lane": np.array(["1"] * n), "lane": lanes}
    whole = Trial(t, trial.place_m, speed_mps=np.full(n, 15.0), heading_deg=np.zeros(n), **given)
    assert points(task("Overtake"), whole.between(0, until)) == earned


def test_single_actions_and_sequences_of_a_drone() -> None:
    climb = task("SingleControlAction", offset=(0.0, 0.0, 4.0), turn_deg=0.0)
    t = np.linspace(0, 4, 41)
    up = Trial(t, np.column_stack([0 * t, 0 * t, t]), heading_deg=np.full(41, 30.0))
    assert points(climb, up) == 100
    assert points(climb, up.between(0, 3.4)) == 0, "0.6 m too low"
    turning = Trial(t, up.place_m, heading_deg=30 + 2 * t)
    assert points(climb, turning) == 0, "turned by 8 degrees"
    goal = task("ControlSequence", offset=(0.0, 10.0, 0.0), turn_deg=90.0)  # 10 m to the left
    past = Trial(t, np.column_stack([-4 * t, 0 * t, 0 * t]), heading_deg=np.full(41, 90.0))
    (outcome,) = checked([goal], past)
    assert (outcome.points, outcome.row()["measured"]["ended_s"]) == (100, 2.3), "9.2 m flown: it ends there"
    aside = Trial(t, np.column_stack([-4 * t, np.minimum(t, 2.0), 0 * t]), heading_deg=past.heading_deg)
    (outcome,) = checked([goal], aside)
    earned = 0.9 * 50 * (10 - np.hypot(6, 2)) / 10 + 0.1 * 50 * (10 - 2) / 10
    assert outcome.points == pytest.approx(earned), "2 m beside it at best, and 6 m beyond in the end"
    assert points(goal, Trial(t, past.place_m)) is None, "which way is left, nobody knows"


def test_heights_of_missions() -> None:
    land = task("LandInMiddleCircle")
    t = np.linspace(0, 10, 101)
    down = Trial(t, np.column_stack([9 + 0 * t, 0 * t, 10 - t]))
    assert points(land, down, 0.0, 0.0, 0.9) == 100
    assert points(land, down, 0.0, 0.0, 1.1) == 0
    assert points(land, down, -2.0, 0.0, 0.0) == 0


def test_joints_grippers_and_steps() -> None:
    t = np.linspace(0, 5, 51)
    turn = np.zeros((51, 7))
    turn[:, 2] = 6 * t
    arm = Trial(t, np.column_stack([0.3 - 0.06 * t] * 3), joints_deg=turn, gripper_open=t < 3)
    joint = Specification(
        **specifications()["M1.2"].model_dump() | {"target": {"joint": 3, "turn_deg": 30, "within_deg": 2}}
    )
    assert points(joint, arm) == 100
    turn[-1, 5] = 5.0
    assert points(joint, arm) == 0, "another turned too"
    close = Specification(**joint.model_dump() | {"target": {"open": False}})
    assert points(close, arm) == 100
    assert points(close, arm.between(3.5, 5)) == 0, "it was closed already"
    step = task("ControlSequence").model_copy(
        update={"rule": "axis_sequence", "target": {"offset": (-0.3,) * 3, "within_m": 0.025}}
    )
    assert points(step, arm) == 100
    assert points(step, arm.between(0, 2.5)) == pytest.approx(25.0)
    reach = task("ReachTarget")
    assert points(reach, arm) is None
    assert points(reach, Trial(t, arm.place_m, success=True)) == 100


def test_controls_of_a_car() -> None:
    n = 301
    side = straight(5, 30.0)
    t = side.t_s
    steer = np.where(t < 5, 0.0, np.where(t < 10, 0.95, np.where(t < 15, -0.95, 0.0)))
    left_first = task("SteeringSequence", first="left", second="right")
    assert points(left_first, straight(5, 30.0, steering=steer)) == 100
    assert points(left_first, straight(5, 30.0, steering=-steer)) == 0
    both = straight(5, 30.0, handbrake=t > 10, low_beam=t < 11)
    assert points(task("HandbrakeLowbeam"), both) == 100
    assert points(task("HandbrakeLowbeam"), straight(5, 30.0, handbrake=t > 10, low_beam=t < 9)) == 0
    assert points(task("Accelerate", speed_kmh=18), side) == 100
    assert points(task("Accelerate", speed_kmh=20), side) == 0
    assert points(task("MaintainSpeed", speed_kmh=20, seconds=10), side) == 100
    stop = slowing(np.append(np.full(40, 5.0), 0.0))
    assert points(task("DistanceStop", distance_m=20), stop) == 100
    assert points(task("DistanceStop", distance_m=15), stop) == 0
    assert points(task("DistanceStop", distance_m=20), slowing(np.full(41, np.nan))) is None
    assert len(t) == n


def test_drives_and_episodes_are_trials(tmp_path: Path) -> None:
    """The sample drive that brakes drives 12 m/s at first; the first sample episode says whether it succeeded."""
    write_log(tmp_path / "drives", PLANS["braking"])
    trials = trials_of(tmp_path / "drives", "driving")
    assert list(trials) == ["braking"]
    drive = trials["braking"]()
    speed = drive.known("speed_mps")
    assert drive.driven_m()[-1] == pytest.approx(np.trapezoid(speed, drive.t_s), rel=0.01)
    assert drive.steering is None
    assert points(task("Accelerate", speed_kmh=20), drive) == 100
    assert points(task("FollowLane"), drive) is not None, "its map has lanes"
    assert points(task("FollowVehicle"), drive) is None, "nobody said who the leader is"
    SAMPLES["arm"].write(tmp_path / "arms")
    episodes = {name: read() for name, read in trials_of(tmp_path / "arms" / "lerobot", "manipulation").items()}
    assert len(episodes) == 9
    verdicts = {points(task("PushButtons"), trial) for trial in episodes.values()}
    assert verdicts == {0.0, 100.0}
    first = next(iter(episodes.values()))
    assert first.gripper_open is not None
    assert first.joints_deg is None, "its third joint is a lift"
    with pytest.raises((RawDataError, ConfigError)):
        trials_of(tmp_path / "arms", "driving")


# ---- `scan2qa vln check`


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["vln", "check", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """78 m to the north."""
    path = tmp_path / "north.csv"
    path.write_text(airdata(line()), encoding="utf-8")
    return path


def test_a_flight_is_scored_and_its_trials_can_be_given_to_score(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "trials.jsonl"
    where = ["--target", "A3.2=0,78,9.8", "--target", "A3.4=0,60,9.8", "--out", out]
    result = run(log, "--task", "A3.2", "--task", "A3.4", "--task", "A3.5", *where, "--json")
    assert result.exit_code == 0
    rows = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert {i: row["answer"] for i, row in rows.items()} == {"A3.2": 100.0, "A3.4": 0.0}
    assert rows["A3.4"]["measured"]["d_agt_m"] == pytest.approx(18.0, abs=0.1)
    told = {task["id"]: task["why_not"] for task in json.loads(result.stdout)["tasks"]}
    assert told == {"A3.2": None, "A3.4": None, "A3.5": "its target's place is not given"}


def test_the_sample_flight_of_the_docs_earns_all(flights: Path) -> None:
    docs = (REPOSITORY / "docs/evaluate/instructions.md").read_text(encoding="utf-8")
    (asked,) = re.findall(r"scan2qa vln check samples/flights/(.+)", docs)
    log, *options = asked.split()
    result = run(flights / log, *options, "--json")
    assert result.exit_code == 0
    assert [row["answer"] for row in json.loads(result.stdout)["tasks"]] == [100.0]


def test_success_may_be_declared_where_the_log_does_not_say(tmp_path: Path) -> None:
    write_demo(tmp_path, rows())
    asked = [tmp_path, "--domain", "manipulation", "--task", "M3.4"]
    for option, code, earned in ((None, 3, None), ("--success", 0, 100.0), ("--failure", 0, 0.0)):
        result = run(*asked, *([option] if option else []), "--json")
        assert (result.exit_code, json.loads(result.stdout)["tasks"][0]["answer"]) == (code, earned)
    (next(tmp_path.rglob("low_dim_obs.pkl")).parent / "things.json").write_text('{"success": true}')
    with pytest.raises(ConfigError, match="the log says that it succeeded"):
        run(*asked, "--failure")


def test_wrong_calls_are_refused_with_what_to_do(log: Path) -> None:
    for arguments, told in (
        (["--task", "A9"], "there is no task A9"),
        (["--target", "1,2"], "say x,y,z in metres"),
        (["--target", "A9=1,2,3"], "say x,y,z in metres"),
        (["--domain", "sea"], "there is no embodiment 'sea'"),
        (["--name", "two"], "name one with --name"),
    ):
        with pytest.raises(ConfigError, match=told):
            run(log, *arguments)
    assert run(log, "--task", "A3.1").exit_code == 3, "nothing could be scored"
