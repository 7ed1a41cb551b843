"""An agent that acts in a city: its ways, what it is told, and when it ends."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.cityeqa.agent import CitySearch, _Place
from pipeline.questions.published import Published
from pipeline.worlds.city.facts import Pose
from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.walk import Walkway
from tests.worlds.city.cities import city, house

START: Pose = (15.0, 50.0, 5.0, 0.0, 0.0, 0.0)
ACROSS: Pose = (85.0, 50.0, 5.0, 0.0, 0.0, 270.0)


@pytest.fixture(scope="module")
def space() -> FreeSpace:
    return FreeSpace(city(house("wall", 48, 10, 4, 85)))  # between west and east, open in the south


def question(**changes: Any) -> Published:
    row = {"initial_pose": START, "observation_pose": ACROSS} | changes
    return Published(3, None, "here", "Attribute Recognition", "What is the colour of the car?", None, "blue", row)


def search(space: FreeSpace, **changes: Any) -> CitySearch:
    return CitySearch(question(**changes), _Place(space, None))  # type: ignore[arg-type]


def test_a_way_leads_around_a_wall_by_moves_that_are_allowed(space: FreeSpace) -> None:
    walk = Walkway(space, START)
    way = walk.way_to(ACROSS, 10.0)
    assert way is not None
    assert [walk.act(action) for action in way] == [None] * len(way)
    assert np.hypot(walk.pose[0] - ACROSS[0], walk.pose[1] - ACROSS[1]) <= 10.0
    assert abs((walk.pose[5] - ACROSS[5] + 180) % 360 - 180) <= 15.0
    assert min(pose[1] for pose in walk.steps) < 10.0, "it goes by the south"
    # 15 to 85 and twice down to below 10: over 70 + 2 * 40 m of way less 10 m at the end, at 10 m a move.
    assert 10 <= sum(not action.startswith("turn") for action in way) <= 15


@pytest.mark.parametrize("goal", [(50.0, 50.0, 5.0, 0.0, 0.0, 0.0), (85.0, 50.0, 333.0, 0.0, 0.0, 0.0)])
def test_there_is_no_way_into_a_wall_or_to_no_height(space: FreeSpace, goal: Pose) -> None:
    assert Walkway(space, START).way_to(goal, 1.0) is None


def test_the_oracle_ends_where_the_answer_is_seen(space: FreeSpace) -> None:
    agent = search(space)
    while (told := agent.prompt()) is not None:
        agent.take(agent.by_oracle(told))
    found = agent.result()
    assert found["answer"] == "blue"
    assert found["steps"][0] == list(START)
    assert np.hypot(found["steps"][-1][0] - 85, found["steps"][-1][1] - 50) <= 10.0
    assert found["log"][-1]["action"] == "KeepStill"


def test_an_agent_is_told_its_answer_and_what_was_not_done(space: FreeSpace) -> None:
    agent = search(space, initial_pose=(44.0, 50.0, 5.0, 0.0, 0.0, 90.0))
    first = agent.prompt()
    assert first is not None
    assert "Reference answer: none yet" in first.text
    assert "You are 5 m above the ground and look east (yaw 90 degrees clockwise from north)" in first.text
    agent.take('{"answer": "green", "action": "MoveForward"}')
    agent.take('{"answer": 7, "action": "Fly"}')
    agent.take("nothing")
    told = agent.prompt()
    assert told is not None
    assert "Reference answer: 7" in told.text
    assert "- MoveForward: not done, something is in the way after" in told.text
    assert "- Fly: not done, 'Fly' is none of the actions" in told.text
    assert "You have 57 steps left" in told.text
    assert len(agent.result()["steps"]) == 1


def test_sixty_steps_are_all(space: FreeSpace) -> None:
    agent = search(space)
    for _ in range(60):
        assert agent.prompt() is not None
        agent.take(json.dumps({"answer": "red", "action": "TurnLeft"}))
    assert agent.prompt() is None
    assert len(agent.result()["steps"]) == 61
