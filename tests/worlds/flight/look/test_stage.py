"""Stage `describe` in a build: asked once, kept, made again where something failed, and not there without videos."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.orchestration.forecast import describe_forecast, forecast_of
from pipeline.core.errors import ConfigError
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.manifest import Outcome
from pipeline.questions.model_authoring import ANSWERED
from pipeline.samples.flight.pilot import FlightPlan, Move
from pipeline.samples.flight.write import DATASET, write_flights
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.flight.facts import FlightCamera, FlightScene
from pipeline.worlds.flight.look.checks import UNCLEAR
from tests.builds import UNASKED, results_of, whys
from tests.llm.asking import KEY
from tests.llm.fake_server import running
from tests.worlds.flight.look.bare import stripped

CAMERA = FlightCamera(horizontal_fov_deg=60, width=384, height=216, pitch_deg=-20)
PLAN = FlightPlan(
    "museum",
    "px4",
    (-45.0, 120.0),
    90.0,
    (Move(0.5), Move(3.0, up=9.0, step="take off"), Move(3.5)),
    "Museum 't Hof",
    CAMERA,
)
# A model that calls everything an orange building: only the museum is one.
ORANGE = {"kind": "building", "proportions": UNCLEAR, "walls": "orange", "roof": "orange", "roof_shape": UNCLEAR}
ASKED = "cut out of a video"
SOME = {name: STAGES[name] for name in ("unify", "fix", "video", "observe", "describe", "generate")}


def model_at(address: str) -> dict[str, Any]:
    model = {"provider": "openai", "model": "plain", "base_url": f"{address}/v1", "key_env": "PLANTED_KEY"}
    return model | {"inputs": ["text", "image"], "attempts": 1}


def config(root: Path, address: str, **sections: Any) -> BuildConfig:
    look = {"model": model_at(address)} | sections.pop("describe", {})
    own = {"build": "urbanvideo", "benchmark": "urbanvideo", "roots": {"flights": root}, "author": {"model": None}}
    return build_config(own | {"describe": look} | UNASKED | sections)


def build(made: BuildConfig, out: Path) -> Outcome:
    return Builder(made, out, keys={"PLANTED_KEY": KEY}, stages=SOME).build()


def scene(out: Path, outcome: Outcome) -> FlightScene:
    return FlightScene.model_validate_json(results_of(out, outcome)["describe", f"{DATASET}/museum"])


@pytest.mark.slow
def test_a_build_asks_once_and_only_what_it_has_no_answer_to(tmp_path: Path) -> None:
    write_flights(tmp_path / "flights", (PLAN,))
    root, out = stripped(tmp_path / "flights", (PLAN.id,), tmp_path / "bare"), tmp_path / "out"
    with running(replies={ASKED: "I see a house."}) as server:
        failed = build(config(root, server.address), out)
        assert {f.name for f in scene(out, failed).findings} >= {"look_malformed"}
        assert [f.requests for f in describe_forecast(config(root, server.address), out, [f"{DATASET}/museum"])] != [0]
    with running(replies={ASKED: json.dumps(ORANGE)}) as server:
        outcome = build(config(root, server.address), out)
        found, sent = scene(out, outcome), len(server.records())
        assert whys(outcome)["observe"] == {"reused"}
        fewer = build(config(root, server.address, describe={"things": 1}), out)
        assert whys(fewer)["describe"] == {"config"}
        assert len(server.records()) == sent, "what was answered is not asked again"
        assert sum(mark.pictured is not None for mark in scene(out, fewer).facts.landmarks) == 1
    told = {mark.name: mark.pictured for mark in found.facts.landmarks if mark.pictured}
    assert len(told) * 2 == sent >= 4
    museum = told.pop(PLAN.goal)
    assert museum is not None
    assert museum.words["walls"] == "orange"
    assert all(one is not None and one.words == {} and one.refused for one in told.values())
    assert found.facts.goal == 'the building with orange walls with the sign "MUSEUM"'
    hosted = model_at(server.address)
    written = config(root, server.address, author={"model": hosted | {"name": "writer"}, "second": hosted})
    author, second = forecast_of(written, out, [f"{DATASET}/museum"]) or ()
    assert second.requests == ANSWERED * 2 * (author.requests - 2) > 0, "three calls of each of two questions"
    without = build(config(root, "http://127.0.0.1:1", video=False), out)
    assert "describe" not in whys(without)
    assert whys(without)["generate"] == {"input"}


def test_a_model_that_takes_no_pictures_is_a_wrong_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it is shown pictures: set inputs"):
        config(tmp_path, "http://127.0.0.1:1", describe={"model": {"provider": "openai", "model": "m"}})
