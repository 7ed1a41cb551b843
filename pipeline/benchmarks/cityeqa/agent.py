"""An agent that acts in a city: what it sees and is told at each step (CityEQA, section 4 and figure 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.errors import ConfigError
from pipeline.core.templates import load_table
from pipeline.formats.images import jpeg_bytes
from pipeline.llm.base import Image
from pipeline.llm.prompts import load_prompt
from pipeline.metrics.replies import json_objects
from pipeline.questions.asking import AskedOf, Asking, QuestionPrompt, StepPrompt
from pipeline.questions.published import Published
from pipeline.worlds.city.facts import City, Pose
from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.render import CityRenderer, captioned
from pipeline.worlds.city.walk import MOVE_M, TURN_DEG, Walkway

KEEP_STILL: Final = "KeepStill"
# The nine actions of the paper (appendix A.2), as `Walkway` names them.
ACTIONS: Final[Mapping[str, str]] = {
    "MoveForward": "forward",
    "MoveBack": "back",
    "MoveLeft": "left",
    "MoveRight": "right",
    "MoveUp": "rise",
    "MoveDown": "sink",
    "TurnLeft": "turn left",
    "TurnRight": "turn right",
    KEEP_STILL: "",
}
EXPLORING: Final = ("MoveForward", "TurnLeft", "TurnRight", KEEP_STILL)  # of the paper's agents that explore; stopping
_NAMES: Final = {action: name for name, action in ACTIONS.items()}
_COMPASS: Final = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
_NEAR_M: Final = MOVE_M  # from where the answer is seen, for the oracle: less than what counts as success


class _Place(NamedTuple):
    """A city to act in."""

    space: FreeSpace
    renderer: CityRenderer


def _place(facts: Any) -> _Place:
    if not isinstance(facts, City) or facts.bounds is None:
        raise ConfigError("the tasks are set in a place without a map; agents need one")
    return _Place(FreeSpace(facts), CityRenderer(facts))


class CitySearch:
    """One task: the agent moves, looks, and keeps its best answer.

    Args:
        question: a row of the release.
        place: its city.
    """

    def __init__(self, question: Published, place: _Place) -> None:
        self._question, self._place = question, place
        self._walk = Walkway(place.space, _pose_of(question, "initial_pose"))
        self._settings = load_table("cityeqa/asking")
        self._log: list[dict[str, Any]] = []
        self._answer: str | None = None
        self._is_over = False
        self._plan: list[str] | None = None

    def prompt(self) -> StepPrompt | None:
        """See `AgentEpisode`."""
        left = self._settings["steps_max"] - len(self._log)
        if self._is_over or left == 0:
            return None
        _, _, z, _, pitch, yaw = self._walk.pose
        text = load_prompt("agent_cityeqa").render(
            question=self._question.question,
            reference=self._answer,
            height=f"{z:g}",
            toward=_COMPASS[round(yaw / 45.0) % 8],
            yaw=f"{yaw:g}",
            pitch=f"{pitch:g}" if pitch else "",
            left=left,
            history=self._log[-self._settings["history"] :],
            actions=", ".join(ACTIONS),
            move=f"{MOVE_M:g}",
            turn=f"{TURN_DEG:g}",
        )
        return StepPrompt(text, self._look)

    def _look(self) -> Image:
        shot = self._place.renderer.shoot(np.array(self._walk.pose))
        return Image(jpeg_bytes(captioned(shot)), "image/jpeg")

    def take(self, reply: str) -> None:
        """See `AgentEpisode`."""
        said = next((found for found in json_objects(reply) if found.keys() & {"answer", "action"}), {})
        answer, action = said.get("answer"), said.get("action")
        if isinstance(answer, str | int | float) and str(answer).strip():
            self._answer = str(answer).strip()
        refused = None
        if action == KEEP_STILL:
            self._is_over = True
        elif action in ACTIONS:
            refused = self._walk.act(ACTIONS[str(action)])
        else:
            refused = f"{str(action)[:40]!r} is none of the actions"
        self._log.append({"step": len(self._log), "action": action, "refused": refused, "reply": reply})

    def result(self) -> dict[str, Any]:
        """The last answer, the poses, and each step's whole reply and refusal."""
        return {"answer": self._answer, "steps": [list(pose) for pose in self._walk.steps], "log": self._log}

    def by_oracle(self, prompt: StepPrompt) -> str:
        """A reply of who knows the way to where the answer is seen, and the answer."""
        if self._plan is None:
            goal = _pose_of(self._question, "observation_pose")
            self._plan = [_NAMES[action] for action in self._walk.way_to(goal, _NEAR_M) or ()]
        action = self._plan.pop(0) if self._plan else KEEP_STILL
        return json.dumps({"answer": self._question.ground_truth, "action": action}, ensure_ascii=False)

    def at_random(self, draw: Random, prompt: StepPrompt) -> str:
        """A reply of the paper's random exploration (appendix A.3), which has no idea of the answer."""
        return json.dumps({"answer": "no idea", "action": draw.choice(EXPLORING)})


def _pose_of(question: Published, name: str) -> Pose:
    x, y, z, roll, pitch, yaw = (float(value) for value in question.rest[name])
    return (x, y, z, roll, pitch, yaw)


def prompt(question: Published, asked: AskedOf) -> QuestionPrompt:
    """The question alone: what the paper's blind agents are asked (appendix C)."""
    return QuestionPrompt(question.question)


def episode(question: Published, asked: AskedOf) -> CitySearch:
    """Every task is an agent's."""
    return CitySearch(question, asked.scene(question, _place))


ASKING: Final = Asking.of("cityeqa", prompt, episode=episode)
