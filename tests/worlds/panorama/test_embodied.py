"""Looking about in a panorama: what is seen, what is refused, and what is noted."""

import io
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pipeline.core.errors import RawDataError
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.views import PinholeView
from pipeline.scoring.predictions import read_predictions
from pipeline.worlds.panorama.embodied import Action, ActionRefusedError, EmbodiedView, Environment, Fov, ViewPose
from tests.worlds.panorama.panoramas import jpeg, texture

SIZE = (64, 48)
REPLY = {
    "structured_observation": {"Signage": "KOFFIEHUIS"},
    "evidence_evaluation": {"supporting": ["Dutch"], "contradicting": [], "uncertainty": "the town"},
    "hypothesis_update": {"country": "Netherlands", "confidence": 0.7},
    "next_action": {"stop": False, "delta_yaw_deg": 90, "delta_pitch_deg": -10, "zoom": 2, "goal": "read the sign"},
}


def environment(**changes: Any) -> Environment:
    return Environment(panorama="a/b", picture="views/p.jpg", size=SIZE, **changes)


@pytest.fixture(scope="module")
def sphere() -> Sphere:
    return Sphere(Image.fromarray(texture()))


def test_a_step_shows_what_the_view_shows(sphere: Sphere) -> None:
    view = EmbodiedView(sphere, environment(start=ViewPose(yaw_deg=100)))
    first = view.reset()
    assert (first.step, first.yaw_deg, first.pitch_deg, first.zoom, first.fov_deg) == (0, 100, 0, 1, pytest.approx(90))
    seen = view.step({"delta_yaw_deg": 90, "delta_pitch_deg": 20, "zoom": 2, "goal": "look closer"})
    assert (seen.step, seen.yaw_deg, seen.pitch_deg, seen.zoom) == (1, -170, 20, 2)
    fov = 2 * math.degrees(math.atan(0.5))
    assert seen.fov_deg == pytest.approx(fov)
    same = PinholeView(yaw_deg=-170, pitch_deg=20, fov_deg=seen.fov_deg, width=64, height=48)
    assert (seen.picture == sphere.render(same)).all()
    assert not (first.picture == seen.picture).all()


@pytest.mark.parametrize(
    ("mode", "zoom", "fov"),
    [("optical", 1, 90.0), ("optical", 5, 22.6199), ("equation_2", 1, 90.0), ("equation_2", 3, 22.5)],
)
def test_fields_of_view(mode: Any, zoom: float, fov: float) -> None:
    assert Fov(mode=mode).of(zoom) == pytest.approx(fov, abs=1e-4)


@pytest.mark.parametrize(
    ("action", "reason", "measured", "limit"),
    [
        ({"delta_yaw_deg": 44.9}, "turn_too_small", 44.9, 45),
        ({"delta_yaw_deg": -1}, "turn_too_small", 1, 45),
        ({"delta_yaw_deg": 350}, "turn_too_small", 10, 45),
        ({"delta_pitch_deg": 60.1}, "pitch_out_of_bounds", 60.1, 60),
        ({"delta_pitch_deg": -61}, "pitch_out_of_bounds", -61, -60),
        ({"zoom": 5.01}, "zoom_out_of_bounds", 5.01, 5),
        ({"zoom": 0.5}, "zoom_out_of_bounds", 0.5, 1),
        ({"zoom": -2}, "zoom_out_of_bounds", -2, 1),
    ],
)
def test_what_is_not_allowed_changes_nothing(
    sphere: Sphere, action: dict[str, float], reason: str, measured: float, limit: float
) -> None:
    view = EmbodiedView(sphere, environment())
    before = view.reset()
    with pytest.raises(ActionRefusedError, match=reason) as refused:
        view.step(action)
    assert (refused.value.reason, refused.value.limit) == (reason, limit)
    assert refused.value.measured == pytest.approx(measured)
    assert view.trajectory == ()
    assert (view.observe().picture == before.picture).all()


@pytest.mark.parametrize("turn", [0, 45, -45, 180, -180, 315, 360])
def test_what_is_allowed(sphere: Sphere, turn: float) -> None:
    view = EmbodiedView(sphere, environment())
    view.reset()
    seen = view.step(Action(delta_yaw_deg=turn, delta_pitch_deg=60, zoom=5))
    assert (seen.yaw_deg - turn) % 360 == 0


@pytest.mark.parametrize("action", [{"delta_yaw_deg": "left"}, {"delta_yaw_deg": float("nan")}, {"stop": "perhaps"}])
def test_what_is_no_action(sphere: Sphere, action: dict[str, Any]) -> None:
    view = EmbodiedView(sphere, environment())
    view.reset()
    with pytest.raises(ValueError, match="validation error"):
        view.step(action)
    assert view.trajectory == ()


def test_a_trajectory_is_as_the_paper_lists_it(sphere: Sphere, tmp_path: Path) -> None:
    view = EmbodiedView(sphere, environment())
    view.reset()
    view.step(REPLY["next_action"], REPLY)
    assert view.step(Action(stop=True)) is None
    first, last = (record.model_dump() for record in view.trajectory)
    assert list(first) == [
        "step", "yaw", "pitch", "zoom", "structured_observation", "evidence_evaluation", "hypothesis_update",
        "next_action", "image",
    ]  # fmt: skip
    assert {key: first[key] for key in REPLY} == REPLY
    assert (first["step"], first["yaw"], first["pitch"], first["zoom"]) == (0, 0, 0, 1)
    assert (last["step"], last["yaw"], last["pitch"], last["zoom"]) == (1, 90, -10, 2)
    assert last["next_action"]["stop"] is True
    with pytest.raises(ActionRefusedError, match="after_the_end"):
        view.step({})
    view.save(tmp_path, 7)
    saved = json.loads((tmp_path / "trajectory.json").read_text())
    assert saved["trajectory"] == [first, last]
    (row,) = read_predictions([tmp_path]).rows
    assert (row.id, json.loads(row.reply)["next_action"]) == ("7", last["next_action"])
    with Image.open(tmp_path / first["image"]) as image:
        assert image.size == SIZE
        at_92 = io.BytesIO()
        image.save(at_92, "JPEG", quality=92)
        assert image.quantization == Image.open(at_92).quantization
    view.reset()
    assert view.trajectory == ()
    assert view.step({}) is not None


def test_an_environment_of_a_release(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "p.jpg").write_bytes(jpeg(np.full((64, 128, 3), 90, dtype=np.uint8)))
    (tmp_path / "e.json").write_text(environment(start=ViewPose(pitch_deg=-5)).model_dump_json())
    view = EmbodiedView.open(tmp_path, "e.json")
    assert view.reset().pitch_deg == -5
    assert (view.observe().picture == 90).all()
    (tmp_path / "views" / "p.jpg").write_bytes(b"no picture")
    with pytest.raises(RawDataError, match="fetch the release again"):
        EmbodiedView.open(tmp_path, "e.json")
    (tmp_path / "e.json").write_text('{"panorama": "a/b", "picture": "views/p.jpg", "limit": 3}')
    with pytest.raises(RawDataError, match="limit"):
        EmbodiedView.open(tmp_path, "e.json")
    (tmp_path / "e.json").write_text('{"panorama": "a/b", "picture": "../p.jpg"}')
    with pytest.raises(RawDataError, match="outside of the release"):
        EmbodiedView.open(tmp_path, "e.json")


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.floats(-400, 400), st.floats(-130, 130), st.floats(-1, 7)), max_size=4))
def test_whatever_is_asked_the_limits_hold(asked: list[tuple[float, float, float]]) -> None:
    view = EmbodiedView(Sphere(Image.new("RGB", (64, 32))), environment())
    view.reset()
    yaws = [0.0]
    for turn, tilt, zoom in asked:
        try:
            view.step({"delta_yaw_deg": turn, "delta_pitch_deg": tilt, "zoom": zoom})
        except ActionRefusedError:
            continue
        seen = view.observe()
        assert -60 <= seen.pitch_deg <= 60
        assert 1 <= seen.zoom <= 5
        assert -180 <= seen.yaw_deg < 180
        yaws.append(seen.yaw_deg)
    turns = [abs((b - a + 180) % 360 - 180) for a, b in pairwise(yaws)]
    assert all(turn < 1e-3 or turn > 44.99 for turn in turns)
