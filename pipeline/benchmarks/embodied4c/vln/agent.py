"""An agent that carries out an instruction in a simulator: what it is told, what its replies command (tables 4, 7-9).

The simulator is the user's: whatever has the three members of `Simulator`, and writes a log that `scan2qa vln check`
reads.

    episode = carry_out(specifications(seed)["A1.1"], simulator, lambda system, prompt: model(system, prompt))
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Protocol

from pydantic import Field, FiniteFloat, ValidationError

from pipeline.benchmarks.embodied4c.rules import AERIAL, DRIVING, MANIPULATION
from pipeline.benchmarks.embodied4c.vln.specification import Specification
from pipeline.core.errors import first_fault
from pipeline.core.schema import Model
from pipeline.core.templates import load_table
from pipeline.llm.base import Image
from pipeline.metrics.replies import json_objects, without_reasoning
from pipeline.questions.asking import StepPrompt

Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
_ARRAY: Final = re.compile(r"\[[^\[\]]*\]")
_JOINTS: Final = 7


class Lights(Model):
    """Lights of a car (table 7)."""

    position: bool = False
    low_beam: bool = False
    fog: bool = False
    high_beam: bool = False
    left_blinker: bool = False
    right_blinker: bool = False
    interior: bool = False


class CarCommand(Model):
    """One control of CARLA's car (table 7)."""

    throttle: Share
    brake: Share
    steer: Annotated[FiniteFloat, Field(ge=-1, le=1, description="1: fully to the right")]
    hand_brake: bool = False
    reverse: bool = False
    gear: int = 1
    manual_gear_shift: bool = False
    lights: Lights = Lights()


class DroneCommand(Model):
    """One velocity of AirSim's drone, in its own axes: forward, right, down (table 8)."""

    vx: FiniteFloat
    vy: FiniteFloat
    vz: FiniteFloat
    duration: Annotated[FiniteFloat, Field(gt=0, description="seconds")]
    yaw_rate: Annotated[FiniteFloat, Field(description="degrees per second, clockwise")] = 0.0


class ArmCommand(Model):
    """Joint positions of RLBench's arm, radians, and its gripper (table 9)."""

    joints_rad: tuple[FiniteFloat, ...] = Field(min_length=_JOINTS, max_length=_JOINTS + 1)
    gripper: Share


Command = CarCommand | DroneCommand | ArmCommand
_OBJECTS: Final[Mapping[str, type[CarCommand | DroneCommand]]] = {DRIVING: CarCommand, AERIAL: DroneCommand}


class Simulator(Protocol):
    """A simulator that stands at the start of a task."""

    @property
    def time_s(self) -> float:
        """Simulated time; it stands still while an agent thinks."""

    def observe(self) -> Image:
        """What the agent's camera sees."""

    def apply(self, command: Command) -> None:
        """Does what is commanded, for as long as one step takes, and logs it."""


def system_prompt(domain: str) -> str:
    """The system prompt of an embodiment: table 4, then table 7, 8 or 9."""
    return f"{load_table('embodied4c/asking')['system']}\n\n{load_table('embodied4c/actions')[domain]}"


def read_command(domain: str, reply: str) -> Command:
    """The command in a reply: its first JSON object, of arms its first array. Raises ValueError, saying what is bad."""
    text = without_reasoning(reply)
    try:
        if domain != MANIPULATION:
            found = next(json_objects(text), None)
            if found is None:
                raise ValueError("the reply holds no JSON object")
            return _OBJECTS[domain].model_validate(found)
        array = _ARRAY.search(text)
        if array is None:
            raise ValueError("the reply holds no array")
        *joints, gripper = json.loads(array[0]) or [None]
        return ArmCommand.model_validate({"joints_rad": joints, "gripper": gripper})
    except ValidationError as error:
        raise ValueError(first_fault(error, "the command")) from error
    except json.JSONDecodeError as error:
        raise ValueError(f"the array cannot be read: {error}") from error


def carry_out(
    task: Specification, simulator: Simulator, reply: Callable[[str, StepPrompt], str], steps_max: int = 1000
) -> list[dict[str, Any]]:
    """Has an agent carry out a task until its time is out; gives each step with the whole reply and what was refused.

    Args:
        task: as drawn.
        simulator: at the task's start.
        reply: of the system prompt and what the agent is told and shown. A command that cannot be read is not done, and
            the next prompt says why. An empty reply ends the task.
        steps_max: replies at most: a refused one takes no simulated time.
    """
    start_s, system = simulator.time_s, system_prompt(task.domain)
    log: list[dict[str, Any]] = []
    refused = None
    while simulator.time_s - start_s < task.timeout_s and len(log) < steps_max:
        left_s = task.timeout_s - (simulator.time_s - start_s)
        prompt = f"{task.instruction}\nYou have {left_s:.1f} s left."
        prompt += f"\nYour last command was refused: {refused}" if refused else ""
        answer, at_s, refused = reply(system, StepPrompt(prompt, simulator.observe)), simulator.time_s, None
        if not answer.strip():
            break
        try:
            simulator.apply(read_command(task.domain, answer))
        except ValueError as error:
            refused = str(error)
        log.append({"step": len(log), "time_s": at_s, "reply": answer, "refused": refused})
    return log
