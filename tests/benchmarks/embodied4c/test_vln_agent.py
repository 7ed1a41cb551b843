"""An agent in a loop with a simulator: a drone that flies as it is commanded and writes AirSim's recording."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.benchmarks.embodied4c.vln.agent import (
    ArmCommand,
    CarCommand,
    Command,
    DroneCommand,
    carry_out,
    read_command,
    system_prompt,
)
from pipeline.benchmarks.embodied4c.vln.specification import Specification, specifications
from pipeline.llm.base import Image
from pipeline.questions.asking import StepPrompt
from tests.builds import Cli

STEP_S = 0.1
HEAD = "VehicleName\tTimeStamp\tPOS_X\tPOS_Y\tPOS_Z\tQ_W\tQ_X\tQ_Y\tQ_Z\n"


class Drone:
    """Velocities in its own axes (forward, right, down), turns clockwise; NED."""

    def __init__(self) -> None:
        self.time_s, self.yaw_deg = 100.0, 30.0
        self.at = np.array([5.0, -3.0, -20.0])
        self.lines = [HEAD]
        self._log()

    def observe(self) -> Image:
        return Image(b"", "image/jpeg")

    def apply(self, command: Command) -> None:
        assert isinstance(command, DroneCommand)
        for _ in range(round(command.duration / STEP_S)):
            s, c = np.sin(np.radians(self.yaw_deg)), np.cos(np.radians(self.yaw_deg))
            ahead, aside = command.vx, command.vy
            self.at = self.at + STEP_S * np.array([ahead * c - aside * s, ahead * s + aside * c, command.vz])
            self.yaw_deg += STEP_S * command.yaw_rate
            self.time_s += STEP_S
            self._log()

    def _log(self) -> None:
        x, y, z, w = Rotation.from_euler("z", self.yaw_deg, degrees=True).as_quat()
        cells = [round(1000 * self.time_s), *self.at.tolist(), w, x, y, z]
        self.lines.append("\t".join(["", *map(str, cells)]) + "\n")


def pilot(task: Specification) -> list[dict[str, float]]:
    """Commands that do what a task of A1 or A2 says."""
    ahead, left, up = task.numbers("offset") if "offset" in task.target else (0.0, 0.0, 0.0)
    turn = task.number("turn_deg") if "turn_deg" in task.target else 0.0
    still = {"vx": 0.0, "vy": 0.0, "vz": 0.0, "duration": 1.0, "yaw_rate": 0.0}
    if task.rule == "single_action":
        moved = still | {"vx": ahead / 4, "vy": -left / 4, "vz": -up / 4, "yaw_rate": -turn / 4, "duration": 4.0}
        return [moved, still]
    # A sequence: its offset already says where the way ends.
    way = float(np.hypot(ahead, left))
    return [
        still | {"vz": -up / 5, "duration": 5.0},
        still | {"yaw_rate": -turn / 5, "duration": 5.0},
        still | {"vx": way / 5, "duration": 5.0},
        still,
    ]


@pytest.mark.parametrize("name", ["A1.1", "A1.2", "A1.3", "A1.4", "A2.1", "A2.8"])
def test_what_is_carried_out_earns_all(name: str, scan2qa: Cli, tmp_path: Path) -> None:
    task, drone = specifications(3)[name], Drone()
    commands = iter([*map(json.dumps, pilot(task)), ""])
    told: list[tuple[str, str]] = []

    def reply(system: str, prompt: StepPrompt) -> str:
        told.append((system, prompt.text))
        return next(commands)

    log = carry_out(task, drone, reply)
    assert all(step["refused"] is None for step in log)
    assert told[0] == (system_prompt("aerial"), f"{task.instruction}\nYou have {task.timeout_s:.1f} s left.")
    (tmp_path / "airsim_rec.txt").write_text("".join(drone.lines))
    run = scan2qa(
        "vln", "check", tmp_path / "airsim_rec.txt", "--task", name, "--seed", 3, "--out", tmp_path / "t.jsonl"
    )
    assert run.code == 0, run.err
    (row,) = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert row["answer"] == pytest.approx(100, abs=1.0)
    assert (row["log"], row["seed"], row["id"]) == ("airsim_rec.txt", 3, name)


def test_refused_commands_are_told_and_time_ends_a_task() -> None:
    task, drone = specifications(0)["A1.1"], Drone()
    said = ["Fly!", '{"vx": 1}', *['{"vx": 0, "vy": 0, "vz": 0, "duration": 25}'] * 9]
    told: list[str] = []

    def reply(system: str, prompt: StepPrompt) -> str:
        told.append(prompt.text)
        return said[len(told) - 1]

    log = carry_out(task, drone, reply)
    assert [step["refused"] for step in log] == [
        "the reply holds no JSON object",
        "vy: Field required",
        None,
        None,
        None,
    ]
    assert told[1].endswith("You have 60.0 s left.\nYour last command was refused: the reply holds no JSON object")
    assert told[4].endswith("You have 10.0 s left."), "a refusal takes no time"


LIGHTS = {"position": False, "low_beam": True}


@pytest.mark.parametrize(
    ("domain", "said", "found"),
    [
        (
            "driving",
            f"```json\n{json.dumps({'throttle': 0.5, 'brake': 0, 'steer': -1, 'lights': LIGHTS})}\n```",
            {"throttle": 0.5, "steer": -1.0, "hand_brake": False},
        ),
        ("driving", '{"throttle": 1.01, "brake": 0, "steer": 0}', "throttle: Input should be less than or equal to 1"),
        ("driving", '{"throttle": 1, "brake": 0, "steer": -1.5}', "steer"),
        ("driving", '{"throttle": 1, "brake": 0, "steer": 0, "horn": true}', "horn: Extra inputs are not permitted"),
        ("aerial", '{"vx": 1, "vy": 0, "vz": -2, "duration": 0}', "duration: Input should be greater than 0"),
        ("aerial", '{"vx": NaN, "vy": 0, "vz": -2, "duration": 1}', "vx: Input should be a finite number"),
        ("manipulation", "[0, 0.1, 0, -1.5, 0, 1.6, 0.8, 1.0]", {"gripper": 1.0}),
        ("manipulation", "[0, 0.1, 0, -1.5, 0, 1.6, 0.8, 0, 0.0]", {"gripper": 0.0}),
        ("manipulation", "[0, 0.1, 1.0]", "joints_rad: Tuple should have at least 7 items"),
        ("manipulation", "[]", "joints_rad"),
        ("manipulation", "[0, 0, 0, 0, 0, 0, 0, 2]", "gripper: Input should be less than or equal to 1"),
        ("manipulation", "open the gripper", "the reply holds no array"),
        ("manipulation", "[a, b]", "the array cannot be read"),
    ],
)
def test_commands_in_replies(domain: str, said: str, found: Any) -> None:
    if isinstance(found, str):
        with pytest.raises(ValueError, match=found):
            read_command(domain, said)
        return
    command = read_command(domain, said)
    kinds = {"driving": CarCommand, "aerial": DroneCommand, "manipulation": ArmCommand}
    assert isinstance(command, kinds[domain])
    assert {name: getattr(command, name) for name in found} == found


def test_tasks_are_handed_out(scan2qa: Cli, tmp_path: Path) -> None:
    run = scan2qa("vln", "list", "--seed", 3, "--out", tmp_path / "tasks.jsonl")
    assert run.code == 0, run.err
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert len(rows) == 58
    assert {row["id"]: row["instruction"] for row in rows} == {i: t.instruction for i, t in specifications(3).items()}
    assert {row["domain"] for row in rows if "CARLA" in row["system"]} == {"driving"}
    assert scan2qa("vln", "list", "--domain", "naval").code == 2
