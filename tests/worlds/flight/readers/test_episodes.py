"""Episodes as flights: ids, routes, findings, and what a broken one costs."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.reading.files import SceneFiles
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.flight.readers.episodes import STEP_MAX_CHARS, OpenFlyReader, steps_of
from tests.conftest import REAL_DATA

READER = OpenFlyReader()


def episode(name: str = "env_1/high/2025-1-9", **changes: Any) -> dict[str, Any]:
    """Forward 9 m to the east, a left turn, forward 3 m to the north-north-east."""
    turned = np.pi / 6
    return {
        "image_path": name,
        "gpt_instruction": "Fly straight to the tower . Then , turn left .",
        "action": [9, 2, 1, 0],
        "pos": [[5, 5, 30], [14, 5, 30], [14, 5, 30], [14 + 3 * np.cos(turned), 5 + 3 * np.sin(turned), 30]],
        "yaw": [0.0, 0.0, turned, turned],
        **changes,
    }


def write(root: Path, *episodes: Any, name: str = "episodes.json") -> Path:
    (root / name).write_text(json.dumps(episodes))
    return root


def read(root: Path) -> FlightScene:
    (ref,) = READER.scenes(root).scenes
    return READER.read(SceneFiles(root, ref))


def test_an_episode_is_a_flight_without_video(tmp_path: Path) -> None:
    scene = read(write(tmp_path, episode()))
    assert (scene.id, scene.dataset, scene.facts.world) == ("openfly/env_1.high.2025-1-9", "openfly", "flight")
    assert scene.video is None
    assert scene.facts.log == "openfly"
    assert scene.facts.goal is None
    assert scene.facts.route == ("Fly straight to the tower.", "Then, turn left.")
    assert scene.source.files == ("episodes.json",)
    assert "actions_disagree" not in {f.name for f in scene.findings}


def test_its_track_is_that_of_the_positions(tmp_path: Path) -> None:
    write(tmp_path, episode())
    (ref,) = READER.scenes(tmp_path).scenes
    scene = READER.read(SceneFiles(tmp_path, ref))
    track = READER.geometry(SceneFiles(tmp_path, ref), scene).track
    assert track.enu_m[:3] == pytest.approx(np.array([[0, 0, 0], [9, 0, 0], [9, 0, 0]]), abs=1e-9)
    assert track.heading_deg == pytest.approx([90, 90, 60, 60])
    assert READER.footage(SceneFiles(tmp_path, ref), scene) is None


def test_actions_that_were_not_flown_are_reported(tmp_path: Path) -> None:
    scene = read(write(tmp_path, episode(action=[9, 3, 1, 0])))
    (found,) = [f for f in scene.findings if f.name == "actions_disagree"]
    assert (found.severity, found.measured) == ("note", 1.0)
    assert "1 of 3" in found.message
    assert "turn right" in found.message


@pytest.mark.parametrize(
    ("spoilt", "finding"),
    [
        (episode(pos=[]), "broken_episode"),
        (episode(yaw=[0.0]), "broken_episode"),
        (episode(pos=[[0, 0, None]] * 4), "broken_episode"),
        (episode(gpt_instruction=None), "broken_episode"),
        (episode("///"), "unusable_name"),
        (episode("env_1\\high\\2025-1-9"), "unusable_name"),
        (episode("env_1/high/2025-1-9"), "broken_episode"),
        (7, "broken_episode"),
    ],
)
def test_a_broken_episode_costs_itself_alone(tmp_path: Path, spoilt: Any, finding: str) -> None:
    """Among them names that are or become that of the first one."""
    listing = READER.scenes(write(tmp_path, episode(), spoilt))
    assert [ref.id for ref in listing.scenes] == ["openfly/env_1.high.2025-1-9"]
    assert [error.finding for error in listing.broken] == [finding]


@pytest.mark.parametrize("raw", [b"", b"[", b"{}", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_a_broken_file_costs_itself_alone(tmp_path: Path, raw: bytes) -> None:
    (write(tmp_path, episode()) / "broken.json").write_bytes(raw)
    listing = READER.scenes(tmp_path)
    assert len(listing.scenes) == 1
    assert [error.path.name for error in listing.broken] == ["broken.json"]


def test_an_episode_in_two_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, episode(), episode("other"), name="a.json")
    write(tmp_path, episode(), name="b.json")
    listing = READER.scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == ["openfly/other"]
    assert [error.finding for error in listing.broken] == ["duplicate_scene"]


@pytest.mark.parametrize("words", ["a \x07 bell", ". . .", "\x00"])
def test_an_instruction_that_cannot_be_spoken_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(RawDataError) as caught:
        read(write(tmp_path, episode(gpt_instruction=words)))
    assert caught.value.finding == "unusable_instruction"
    assert caught.value.scene == "openfly/env_1.high.2025-1-9"


def test_a_root_without_episodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no \*\.json"):
        READER.scenes(tmp_path)
    with pytest.raises(ConfigError, match="no such folder"):
        READER.scenes(tmp_path / "none")


def test_a_change_of_one_episode_changes_its_stamp_alone(tmp_path: Path) -> None:
    before = READER.scenes(write(tmp_path, episode("a"), episode("b"))).scenes
    after = READER.scenes(write(tmp_path, episode("a"), episode("b", gpt_instruction="Stay."))).scenes
    assert [x.stamp == y.stamp for x, y in zip(before, after, strict=True)] == [True, False]
    one, other = (READER.read(SceneFiles(tmp_path, ref)).source for ref in after)
    assert one.sha256 != other.sha256


def test_an_episode_that_vanishes_is_refused(tmp_path: Path) -> None:
    (ref,) = READER.scenes(write(tmp_path, episode())).scenes
    write(tmp_path, episode("another name altogether"))
    with pytest.raises(RawDataError, match="changed_while_reading"):
        READER.read(SceneFiles(tmp_path, ref))


def test_a_long_sentence_is_cut_at_its_last_comma() -> None:
    first, second = "a" * 120 + ", " + "b" * 60, "c" * 50
    assert steps_of(f"{first}, {second}.") == (f"{first},", f"{second}.")


@given(st.text(max_size=600))
def test_steps_hold_every_word_in_order(text: str) -> None:
    steps = steps_of(text)
    assert all(0 < len(step) <= STEP_MAX_CHARS for step in steps)
    letters = "".join(c for c in text if c.isalnum())
    assert "".join(c for step in steps for c in step if c.isalnum()) == letters


@pytest.mark.real_data
def test_the_real_episodes(tmp_path: Path) -> None:
    path = REAL_DATA / "flights" / "openfly" / "first_40_episodes.json"
    shutil.copy(path, tmp_path)
    listing = READER.scenes(tmp_path)
    assert len(listing.scenes) == 40
    assert listing.broken == ()
    raw = {item["image_path"].replace("/", "."): item for item in json.loads(path.read_text())}
    for ref in listing.scenes:
        scene = READER.read(SceneFiles(tmp_path, ref))
        item = raw[scene.name]
        track = READER.geometry(SceneFiles(tmp_path, ref), scene).track
        places = np.array([place[:3] for place in item["pos"]])
        assert track.enu_m == pytest.approx(places - places[0], abs=1e-6)
        assert len(track) == len(item["action"])
        assert len(scene.facts.route) >= 1
