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
from pipeline.benchmarks.embodied4c.vln.rules import RULES, WORDS, checked, target_m, turned_deg
from pipeline.benchmarks.embodied4c.vln.specification import Specification, specifications
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


@pytest.mark.parametrize("turn_deg", [0, 130])
@pytest.mark.parametrize(("until", "earned"), [(2.0, 10), (8.0, 30), (14.0, 60), (20.0, 100)])
def test_overtaking_in_order(until: float, earned: float, turn_deg: float) -> None:
    """The leader drives at 10 m/s from 15 m ahead; we at 15 m/s, from 4 s to 16 s in the left lane."""
    trial = straight(15, 20.0)
    t, n = trial.t_s, len(trial.t_s)
    left = (t >= 4) & (t < 16)
    trial.place_m[:, 1] = np.where(left, 3.5, 0.0)
    leader = np.column_stack([15 + 10 * t + np.maximum(0, 3 - t), 0 * t, 0 * t])
    leader[:, 0] = np.where(t < 10, np.maximum(leader[:, 0], trial.place_m[:, 0] + 2), trial.place_m[:, 0] - 2)
    lanes = np.where(left, "2", "1")
    given: dict[str, Any] = {"leader_m": leader, "leader_lane": np.array(["1"] * n), "lane": lanes}
    c, s = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
    turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    given["leader_m"] = leader @ turn + [7.0, -9.0, 0.0]
    place = trial.place_m @ turn + [7.0, -9.0, 0.0]
    whole = Trial(t, place, speed_mps=np.full(n, 15.0), heading_deg=np.full(n, float(turn_deg)), **given)
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


T = np.arange(5.0)
EAST = np.column_stack([2 * T, 0 * T, 0 * T])  # 2 m/s along x
WHEEL = {"first": "left", "second": "right", "full": 0.9, "middle": 0.1}
STEADY = {"speed_kmh": 36, "within_kmh": 18}
LIMIT = {"low_kmh": 18, "high_kmh": 54}
MOVED = {"offset": (3.0, 4.0, 5.0), "turn_deg": 90.0, "within_m": 1.0, "within_deg": 5.0}
PARKED = {"within_m": 3.0, "speed_max_mps": 0.5}
STOPPED = {"distance_m": 8, "within_m": 0.5, "speed_max_mps": 0.5}
TURNED = {"joint": 2, "turn_deg": 30, "within_deg": 2}


def speeds(*values: float) -> dict[str, Any]:
    return {"speed_mps": np.array(values)}


def posed(*last: float, turn_deg: float = 85.0) -> dict[str, Any]:
    place = np.zeros((5, 3))
    place[-1] = last
    return {"place_m": place, "heading_deg": np.array([0.0, 0, 0, 0, turn_deg])}


def jointed(*last: float) -> dict[str, Any]:
    return {"joints_deg": np.array([[0.0] * 3] * 4 + [last])}


def laned(*names: str) -> dict[str, Any]:
    return {"lane": np.array(names)}


def led(*ahead_m: float) -> dict[str, Any]:
    return {"leader_m": EAST + np.column_stack([ahead_m, 0 * T, 9 + 0 * T])}


@pytest.mark.parametrize(
    ("rule", "target", "told", "place", "earned", "measured"),
    [
        ("controls", {}, {"handbrake": T > 2, "low_beam": T > 3}, None, 100, {}),
        ("controls", {}, {"handbrake": T < 3, "low_beam": T > 2}, None, 0, {}),
        ("steering", WHEEL, {"steering": np.array([0, 0.9, -0.9, 0.1, 1])}, None, 100, {}),
        ("steering", WHEEL, {"steering": np.array([0, 0.89, -0.9, 0.1, 1])}, None, 0, {}),
        ("steering", WHEEL, {"steering": np.array([0, 0.9, -0.89, 0.1, 1])}, None, 0, {}),
        ("steering", WHEEL, {"steering": np.array([0, 0.9, -0.9, -0.11, 1])}, None, 0, {}),
        ("steering", WHEEL, {"steering": np.array([-0.9, 0.9, 0.1, 0.1, 0])}, None, 0, {}),
        ("steering", WHEEL | {"first": "right"}, {"steering": np.array([-0.9, 0.9, -0.1, 1, 1])}, None, 100, {}),
        ("reach_speed", {"speed_kmh": 36}, speeds(0, 10, np.nan, 5, 0), None, 100, {"speed_max_kmh": 36}),
        ("reach_speed", {"speed_kmh": 37}, speeds(0, 10, 5, 5, 0), None, 0, {"speed_max_kmh": 36}),
        ("keep_speed", STEADY | {"seconds": 2}, speeds(0, 5, 10, 15, 0), None, 100, {"kept_s": 2}),
        ("keep_speed", STEADY | {"seconds": 2}, speeds(10, 4, 10, 15, 16), None, 0, {"kept_s": 1}),
        ("keep_speed", STEADY | {"seconds": 3}, speeds(0, 0, 0, 0, 0), None, 0, {"kept_s": 0}),
        ("distance_stop", STOPPED, speeds(2, 2, 2, 2, 0.5), None, 100, {"driven_m": 8, "speed_mps": 0.5}),
        ("distance_stop", STOPPED, speeds(2, 2, 2, 2, 0.6), None, 0, {"driven_m": 8, "speed_mps": 0.6}),
        ("distance_stop", STOPPED | {"distance_m": 8.5}, speeds(2, 2, 2, 2, 0), None, 100, {}),
        ("distance_stop", STOPPED | {"distance_m": 7.5}, speeds(2, 2, 2, 2, 0), None, 100, {}),
        ("distance_stop", STOPPED | {"distance_m": 8.6}, speeds(2, 2, 2, 2, 0), None, 0, {}),
        # The target lies 3 m to the left of where we are after 2 s, and 5 m from the start.
        ("reach_place", {"within_m": 3.0}, {}, (4, 3, 9), 100, {"d_init_m": 5, "d_agt_m": 3, "ended_s": 2}),
        ("reach_place", {"within_m": 2.9}, {}, (4, 3, 9), 0, {"d_init_m": 5, "d_agt_m": 5, "ended_s": 4}),
        ("reach_place", {"within_m": 2.9}, {}, (6, 8, 9), 50 * (10 - 68**0.5) / 10, {"d_agt_m": 68**0.5}),
        ("reach_place", PARKED, speeds(2, 2, 0.5, 2, 2), (4, 3, 9), 100, {"speed_mps": 0.5}),
        ("reach_place", PARKED, speeds(2, 2, 0.6, 2, 2), (4, 3, 9), 0, {"speed_mps": 2}),
        ("reach_place", {"within_m": 3.0, "lane": "7 9"}, laned("1", "1", "9", "1", "1"), (4, 3, 9), 100, {}),
        ("reach_place", {"within_m": 3.0, "lane": "7"}, laned("1", "1", "9", "7", "7"), (4, 3, 9), 0, {}),
        ("reach_place", {"within_m": 3.0, "lane": "7"}, laned(*"00000") | {"lane_id": np.array([*"00700"])},
         (4, 3, 9), 100, {"ended_s": 2}),
        ("drive_far", {"distance_m": 8}, {}, None, 100, {"driven_m": 8}),
        ("drive_far", {"distance_m": 10}, {}, None, 40, {"driven_m": 8}),
        ("drive_far", {"distance_m": 8, "lane": True}, laned("1", "1", "1", "2", "1"), None, 25, {"driven_m": 4}),
        ("drive_far", {"distance_m": 8, "lane": True}, laned(*"11111"), None, 100, {"driven_m": 8}),
        ("follow", {"distance_m": 8, "gap_max_m": 3}, led(3, 3, 3, 3, 3), None, 100, {"driven_m": 8}),
        ("follow", {"distance_m": 8, "gap_max_m": 3}, led(-3, 3, 3.1, 3, 3), None, 25, {"driven_m": 4}),
        ("speed_limit", LIMIT | {"seconds": 2}, speeds(0, 5, 10, 15, 0), None, 100, {"kept_s": 2}),
        ("speed_limit", LIMIT | {"seconds": 4}, speeds(4, 5, 10, 15, 16), None, 25, {"kept_s": 2}),
        ("single_action", MOVED, posed(3, 4, 6), None, 100, {"d_agt_m": 1, "turn_off_deg": 5}),
        ("single_action", MOVED, posed(3, 4, 6.1), None, 0, {"turn_off_deg": 5}),
        ("single_action", MOVED, posed(3, 4, 5, turn_deg=95), None, 100, {"d_agt_m": 0, "turn_off_deg": 5}),
        ("single_action", MOVED, posed(3, 4, 5, turn_deg=96), None, 0, {"turn_off_deg": 6}),
        ("single_action", MOVED | {"turn_deg": -170.0}, posed(3, 4, 5, turn_deg=185), None, 100, {"turn_off_deg": 5}),
        ("sequence", {"offset": (2.0, 3.0, 0.0), "within_m": 3.0}, {"heading_deg": 0 * T}, None, 100,
         {"d_init_m": 13**0.5, "d_agt_m": 3, "d_min_m": 3, "ended_s": 1}),
        ("sequence", {"offset": (6.0, 8.0, 0.0), "within_m": 3.0}, {"heading_deg": 0 * T}, None,
         45 * (10 - 68**0.5) / 10 + 5 * (10 - 8) / 10, {"d_agt_m": 68**0.5, "d_min_m": 8, "ended_s": 4}),
        ("reach_height", {"within_m": 3.5, "height_within_m": 1}, {}, (8, 3.5, 1), 100,
         {"d_agt_m": 3.5, "height_off_m": 1}),
        ("reach_height", {"within_m": 3.5, "height_within_m": 1}, {}, (8, 3.6, 1), 0, {"height_off_m": 1}),
        ("reach_height", {"within_m": 3.5, "height_within_m": 1}, {}, (8, 3.5, -1.1), 0, {"height_off_m": 1.1}),
        ("single_joint", TURNED, jointed(1, 32, -1), None, 100, {"turn_off_deg": 2, "others_deg": 1}),
        ("single_joint", TURNED, jointed(0, 32.5, 0), None, 0, {"turn_off_deg": 2.5, "others_deg": 0}),
        ("single_joint", TURNED, jointed(-1.5, 30, 0), None, 0, {"turn_off_deg": 0, "others_deg": 1.5}),
        ("single_joint", {"open": False}, {"gripper_open": T < 3}, None, 100, {"open_at_start": 1, "open_at_end": 0}),
        ("single_joint", {"open": False}, {"gripper_open": T < 0}, None, 0, {"open_at_start": 0}),  # closed already
        ("single_joint", {"open": True}, {"gripper_open": T > 0}, None, 100, {}),
        ("axis_sequence", {"offset": (8.0, 3.0, 0.0), "within_m": 3.0}, {}, None, 100, {"d_agt_m": 3, "ended_s": 4}),
        ("axis_sequence", {"offset": (6.0, 8.0, 0.0), "within_m": 3.0}, {}, None, 50 * (10 - 68**0.5) / 10, {}),
        ("success", {}, {"success": True}, None, 100, {}),
        ("success", {}, {"success": False}, None, 0, {}),
    ],
)  # fmt: skip
def test_limits_of_all_tasks_are_met_where_they_are_reached(
    rule: str, target: dict[str, Any], told: dict[str, Any], place: tuple[float, ...] | None, earned: float,
    measured: dict[str, float],
) -> None:  # fmt: skip
    """Five moments, a second apart, 2 m/s along x where nothing else is said; what is measured, too."""
    one = next(one for one in specifications().values() if one.rule == rule).model_copy(update={"target": target})
    found = RULES[rule](one, Trial(T, **{"place_m": EAST} | told), None if place is None else np.array(place))
    assert found.points == pytest.approx(earned)
    assert {name: found.measured[name] for name in measured} == pytest.approx(measured)
    assert found.measured.keys() <= WORDS.keys()


def test_an_offset_is_counted_from_where_the_nose_points_at_first() -> None:
    one = task("SingleControlAction", **MOVED)
    trial = Trial(T, EAST + np.array([10, 20, 30]), heading_deg=np.array([150.0, 0, 0, 0, 0]))
    forward, left = np.array([-np.sqrt(3) / 2, 0.5]), np.array([-0.5, -np.sqrt(3) / 2])
    assert target_m(one, trial) == pytest.approx([*([10, 20] + 3 * forward + 4 * left), 35.0])
    assert turned_deg(replace(trial, heading_deg=np.array([np.nan, 350.0, 0, 20, np.nan]))) == pytest.approx(30)


def test_a_task_ends_at_its_timeout_or_with_an_event_and_what_it_lacks_is_said() -> None:
    drive = task("EasySafeDrive", distance_m=10)
    joint = specifications()["M1.2"].model_copy(update={"target": {"joint": 3, "turn_deg": 0, "within_deg": 1}})
    trial = Trial(T, EAST, speed_mps=2 + 0 * T, events={})
    for timeout_s, ended_by, earned in ((4.0, None, 40), (3.9, "timeout", 30), (0.5, "timeout", 0)):
        (found,) = checked([drive.model_copy(update={"timeout_s": timeout_s})], trial)
        assert (found.points, found.ended_by) == (pytest.approx(earned), ended_by)
    late = replace(trial, events={"collision": np.array([3.0]), "red_light": np.array([9.0, 2.0])})
    for timeout_s, ended_by, earned in ((3.0, "red_light", 20), (1.5, "timeout", 10), (2.0, "red_light", 20)):
        (found,) = checked([drive.model_copy(update={"timeout_s": timeout_s})], late)
        assert (found.points, found.ended_by) == (pytest.approx(earned), ended_by)
    for log, why in (
        (trial.between(0, 0), "1 samples: 2 are needed"),
        (trial, "the log does not tell joint angles"),
        (replace(trial, joints_deg=np.zeros((5, 2))), "the arm has 2 joints"),
        (replace(trial, joints_deg=np.zeros((5, 3))), None),
    ):
        (found,) = checked([joint], log)
        assert found.why_not == why


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
        (["--from-s", "5", "--until-s", "4"], "nothing is recorded from --from-s to --until-s; the log is of 0 to "),
        (["--from-s", "nan"], "nothing is recorded from --from-s to --until-s"),
        (["--target", "1,2"], "say x,y,z in metres"),
        (["--target", "A9=1,2,3"], "say x,y,z in metres"),
        (["--domain", "sea"], "there is no embodiment 'sea'"),
        (["--name", "two"], "name one with --name"),
    ):
        with pytest.raises(ConfigError, match=told):
            run(log, *arguments)
    assert run(log, "--task", "A3.1").exit_code == 3, "nothing could be scored"
