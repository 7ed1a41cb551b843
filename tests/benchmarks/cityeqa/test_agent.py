"""An agent that acts in a city: its ways, what it is told, and when it ends."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.cityeqa.agent import ASKING, SOCRATIC, VQA, CityPictures, CitySearch, NavigableCity
from pipeline.questions.published import Published
from pipeline.worlds.city.facts import Pose
from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.render import CityRenderer
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
    return CitySearch(question(**changes), NavigableCity(space, None))  # type: ignore[arg-type]


def test_the_oracle_ends_where_the_answer_is_seen(space: FreeSpace) -> None:
    agent = search(space)
    while (told := agent.prompt()) is not None:
        agent.take(agent.by_oracle(Random(0), told))  # noqa: S311
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


def test_random_exploration_is_the_same_with_a_model_and_without(space: FreeSpace) -> None:
    place, actions = NavigableCity(space, CityRenderer(space.city)), []
    for number in range(6):
        agent, asked = (CitySearch(replace(question(), id=number), place, "random") for _ in range(2))
        while (told := agent.prompt()) is not None:
            agent.take(ASKING.agents["random"](agent, Random(0), told))  # noqa: S311
            asked.take('{"answer": "blue", "action": "Continue"}')
        assert agent.result()["steps"] == asked.result()["steps"]
        assert [found.result()["answer"] for found in (agent, asked)] == ["no idea", "blue"]
        actions += [step["action"] for step in agent.result()["log"]]
    assert set(actions) == {"MoveForward", "TurnLeft", "TurnRight", "KeepStill"}


def test_who_explores_by_frontiers_goes_on_unasked_until_it_stops(space: FreeSpace) -> None:
    place = NavigableCity(space, CityRenderer(space.city))
    agent, again = (CitySearch(question(), place, "frontier") for _ in range(2))
    for _ in range(12):
        told = agent.prompt()
        assert told is not None
        assert "Select Continue, Stop" in told.text
        agent.take("{}")
        again.take('{"action": "Continue"}')
    agent.take('{"answer": "grey", "action": "Stop"}')
    assert agent.prompt() is None
    found = agent.result()
    assert found["answer"] == "grey"
    assert found["steps"] == again.result()["steps"]
    ways = np.array(found["steps"])
    assert len(ways) == 13, "each step is a pose"
    assert np.linalg.norm(np.diff(ways[:, :2], axis=0), axis=1).max() <= 10.0
    assert space.free(ways[:, :3]).all()
    assert len(np.unique(ways[:, :2], axis=0)) > 3, "it moves"
    seen = agent.observe()
    assert seen.depth_m.shape == seen.color.shape[:2] == (480, 640)


@pytest.mark.parametrize(("metres", "y"), [(3, 53.0), (10, 60.0), (11, 50.0), (2.5, 50.0), (True, 50.0), ("3", 50.0)])
def test_people_go_whole_metres(space: FreeSpace, metres: object, y: float) -> None:
    agent = search(space)
    agent._way = "four_actions"
    agent.take(json.dumps({"action": "MoveForward", "metres": metres}))
    agent.take('{"action": "MoveUp"}')
    assert agent.result()["steps"][-1][:3] == [15.0, y, 5.0]


def test_the_collector_begins_where_the_target_is_first_seen() -> None:
    here = city(house("wall", 48, 10, 4, 85), house("target", 80, 45, 8, 8))
    place = NavigableCity(FreeSpace(here), CityRenderer(here))
    row = question(group="here/target", oracle_x=[15.0, 15.0, 50.0, 60.0], oracle_y=[50.0, 4.0, 4.0, 20.0])
    agent = CitySearch(row, place, "pma")
    told = agent.prompt()
    assert told is not None
    assert "You have 10 steps left" in told.text
    first = agent.result()["steps"]
    assert [pose[:2] for pose in first[:3]] == [[15.0, 50.0], [15.0, 4.0], [50.0, 4.0]]
    assert [pose[5] for pose in first[2:]] == [90.0, 180.0, 270.0, 0.0], "it looks to four sides, and then sees it"
    for _ in range(10):
        agent.take('{"answer": "red", "action": "TurnLeft"}')
    assert agent.prompt() is None


def test_agents_that_see_pictures_alone_do_not_move(space: FreeSpace) -> None:
    place = NavigableCity(space, CityRenderer(space.city))
    one = CityPictures(question(), place, VQA)
    told = one.prompt()
    assert told is not None
    assert told.text == "What is the colour of the car?"
    one.take("blue")
    assert one.prompt() is None
    assert one.result() == {"answer": "blue", "log": ["blue"]}
    five = CityPictures(question(), place, SOCRATIC)
    for n in range(5):
        told = five.prompt()
        assert told is not None
        assert told.look is not None
        five.take(f"view {n}")
    told = five.prompt()
    assert told is not None
    assert told.look is None, "it answers by captions"
    assert "1. view 0\n" in told.text
    assert "5. view 4\n" in told.text
    five.take("red")
    assert five.prompt() is None
    assert five.result()["answer"] == "red"
