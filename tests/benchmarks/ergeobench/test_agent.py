"""An agent that looks about in a panorama: what it is told at each step, and when it ends."""

import json
from random import Random
from typing import Any

import pytest

from pipeline.benchmarks.ergeobench.agent import LookingAround
from pipeline.questions.published import Published
from pipeline.worlds.panorama.embodied import EmbodiedView, ViewPose
from tests.worlds.panorama.test_embodied import environment, sphere

__all__ = ["sphere"]  # the fixture
TRUTH = {"country": "Monaco", "city": "Monaco", "street": None, "lat": 43.7, "lon": 7.4}


@pytest.fixture
def agent(sphere: Any) -> LookingAround:
    row = {"setting": "embodied", "question": "Where are you?"}
    question = Published(7, "made", "a", "Geo", row["question"], None, json.dumps(TRUTH), row)
    return LookingAround(question, EmbodiedView(sphere, environment(start=ViewPose(yaw_deg=100))), base=False)


def reply(country: str, confidence: Any = 0.5, **action: Any) -> str:
    told = {
        "structured_observation": {"Signage": f"a sign of {country}"},
        "hypothesis_update": {"country": country, "confidence": confidence},
        "next_action": action,
    }
    return f"<think>{{no}}</think>```json\n{json.dumps(told)}\n```"


def test_views_and_the_best_hypothesis_are_told_again(agent: LookingAround) -> None:
    first = agent.prompt()
    assert first is not None
    assert "Your views so far" not in first.text
    assert "You look with yaw 100.0, pitch 0.0, zoom 1.0. You have 10 steps left, this one included." in first.text
    assert first.look().data[:2] == b"\xff\xd8", "a JPEG"
    agent.take(reply("Spain", delta_yaw_deg=90))
    agent.take(reply("Italy", delta_yaw_deg=10))
    told = agent.prompt()
    assert told is not None
    assert "- step 0, yaw 100.0, pitch 0.0, zoom 1.0: Signage: a sign of Spain\n" in told.text
    assert "- step 1, yaw -170.0" in told.text
    assert "Your action was refused: turn_too_small: 10 deg, limit 45" in told.text
    assert 'Your best hypothesis so far: {"country": "Italy", "confidence": 0.5}' in told.text
    assert "8 steps left" in told.text


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        (reply("Italy", stop=True), True),
        (reply("Italy", 0.9), True),
        (reply("Italy", 0.89, delta_yaw_deg=45), False),
        (reply("Italy", "high", delta_yaw_deg=45), False),
        (reply("Italy", True, delta_yaw_deg=45), False),
        ("I am in Italy.", False),
        (reply("Italy", delta_yaw_deg="left"), False),
        ('{"hypothesis_update": {"country": "Italy"}, "next_action": "stop"}', False),
    ],
)
def test_an_agent_ends_where_it_says_so_or_is_sure(agent: LookingAround, said: str, ends: bool) -> None:
    agent.take(said)
    assert (agent.prompt() is None) == ends
    assert agent.result()["answer"] == said


def test_every_reply_is_a_step_refused_or_not(agent: LookingAround) -> None:
    for _ in range(10):
        assert agent.prompt() is not None
        agent.take("no JSON")
    assert agent.prompt() is None
    log = agent.result()["log"]
    assert [step["step"] for step in log] == list(range(10))
    assert {step["refused"] for step in log} == {"no_action: the reply holds no JSON object with next_action"}


def test_the_oracle_names_the_place_and_the_random_agent_does_what_is_allowed(agent: LookingAround) -> None:
    draw = Random(1)  # noqa: S311
    while (told := agent.prompt()) is not None and told.text.find("8 steps left") < 0:
        agent.take(agent.at_random(draw, told))
    assert all(step["refused"] is None for step in agent.result()["log"])
    assert told is not None
    agent.take(agent.by_oracle(draw, told))
    assert agent.prompt() is None
    assert json.loads(agent.result()["answer"])["hypothesis_update"]["latitude"] == 43.7


def test_the_minimal_prompt_of_table_8(sphere: Any, agent: LookingAround) -> None:
    base = LookingAround(agent._question, EmbodiedView(sphere, environment()), base=True)
    told = base.prompt()
    assert told is not None
    assert told.text.startswith("Geolocate this picture.")
    assert "structured_observation" not in told.text
