"""Episodes: the real ones with what their labels are worth, episodes made by hand, and damage."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.openfly import OpenFly, agreement, read_episodes
from pipeline.worlds.flight.tracks.assemble import assemble
from tests.conftest import REAL_DATA
from tests.formats.logs.made_logs import survives


def episode(name: str = "env/one", **changes: Any) -> dict[str, Any]:
    """Nine metres north, a turn to the left on the spot, three metres west, three up."""
    content = {
        "image_path": name,
        "gpt_instruction": "Fly on , then turn left .",
        "action": [9, 2, 2, 2, 1, 4, 0],
        "index_list": [f"picture_{i}" for i in range(7)],
        "pos": [[5, 0, 20], [5, 9, 20], [5, 9, 20], [5, 9, 20], [5, 9, 20], [2, 9, 20], [2, 9, 23]],
        "yaw": list(np.radians([90.0, 90, 120, 150, 180, 180, 180])),
    }
    return content | changes


def written(content: object, folder: Path) -> Path:
    path = folder / "episodes.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


FORTY = REAL_DATA / "flights" / "openfly" / "first_40_episodes.json"


@pytest.mark.real_data
def test_real_labels_against_motion() -> None:
    """Counted by hand from the file: what the labels promise is often not what was flown."""
    good, broken = read_episodes(FORTY)
    assert (len(good), broken) == (40, ())
    found = {row.label: row for row in agreement([one.log for one in good])}
    assert {label: (row.agreeing, row.steps) for label, row in found.items()} == {
        "forward 3 m": (34, 35),
        "forward 6 m": (0, 34),
        "forward 9 m": (288, 386),
        "turn left 30°": (3, 40),
        "turn right 30°": (7, 37),
        "up 3 m": (9, 10),
        "down 3 m": (8, 8),
        "take off, 3 m": (104, 111),
        "land, 3 m": (105, 105),
        "stop": (0, 7),
    }
    assert (found["forward 6 m"].usual.forward_m, found["forward 6 m"].usual_steps) == (3.0, 33)
    assert (found["turn left 30°"].usual.turn_deg, found["turn left 30°"].usual.forward_m) == (30.0, 5.2)


@pytest.mark.real_data
def test_real_episodes_become_tracks() -> None:
    logs = OpenFly().read(FORTY)
    assert len({log.name for log in logs}) == 40
    for log in logs:
        track = assemble(FORTY, log).track
        assert len(track) == len(log.t_s)
        assert np.isfinite(track.heading_deg).all()
        assert np.abs(track.enu_m).max() < 300


def test_frames_and_labels(tmp_path: Path) -> None:
    ((one,), broken) = read_episodes(written([episode()], tmp_path))
    assert broken == ()
    assert (one.name, one.instruction) == ("env/one", "Fly on , then turn left .")
    assert one.log.heading.value == pytest.approx([0, 0, 330, 300, 270, 270, 270], abs=1e-9)
    assert one.log.enu_m[1].tolist() == [5, 9, 20]
    assert one.log.label.tolist()[:2] == ["forward 9 m", "turn left 30°"]
    assert one.log.t_s.tolist() == list(range(7))


def test_agreement_by_hand(tmp_path: Path) -> None:
    """A second episode in which the six metres are three and slide to the left, and the third action is unknown."""
    other = episode(
        "env/two", action=[8, 77, 0], pos=[[0, 0, 9], [0, 3, 9], [0, 3, 9]], yaw=[0.0, 0, 0], index_list=["a", "b", "c"]
    )
    good, _ = read_episodes(written([episode(), other], tmp_path))
    found = {row.label: row for row in agreement([one.log for one in good])}
    assert {label: (row.agreeing, row.steps) for label, row in found.items()} == {
        "forward 9 m": (1, 1),
        "turn left 30°": (3, 3),
        "forward 3 m": (1, 1),
        "up 3 m": (1, 1),
        "forward 6 m": (0, 1),
        "action 77": (0, 1),
    }
    assert found["forward 6 m"].usual[1:] == (0.0, 3.0, 0.0, 0.0)
    assert agreement([]) == ()


def test_a_yaw_beside_the_position_must_be_the_same(tmp_path: Path) -> None:
    yaw = episode()["yaw"]
    beside = [[*place, angle] for place, angle in zip(episode()["pos"], yaw, strict=True)]
    assert len(read_episodes(written([episode(pos=beside)], tmp_path)).good) == 1
    beside[3][3] += 1
    with pytest.raises(RawDataError, match="fourth number"):
        read_episodes(written([episode(pos=beside)], tmp_path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_path": ""}, "image_path is no text"),
        ({"image_path": 7}, "image_path is no text"),
        ({"gpt_instruction": None}, "gpt_instruction is no text"),
        ({"gpt_instruction": "go \ud800"}, "gpt_instruction holds half a character"),
        ({"action": [9]}, "not as many"),
        ({"action": [9.0] * 7}, "not all are whole numbers"),
        ({"action": [True] * 7}, "not all are whole numbers"),
        ({"action": [10**300] * 7}, "not all are whole numbers"),
        ({"action": "9222140"}, "action is no list"),
        ({"pos": [[0, 0]] * 7}, "no list of 3 or 4 numbers"),
        ({"pos": [[0, 0, "1"]] * 7}, "not all are numbers"),
        ({"pos": [[0, 0, float("nan")]] * 7}, "not all are numbers"),
        ({"pos": [[0, 0, 10**400]] * 7}, "not all are numbers"),
        ({"pos": []}, "or empty"),
        ({"yaw": [float("inf")] * 7}, "not all are numbers"),
        ({"yaw": [0.0] * 6}, "not as many"),
        ({"index_list": ["a"]}, "pictures"),
    ],
)
def test_a_broken_episode_costs_only_itself(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = written([episode("a"), episode("b") | changes, episode("c"), 5, {}, episode("a")], tmp_path)
    good, broken = read_episodes(path)
    assert [one.name for one in good] == ["a", "c"]
    assert [error.scene for error in broken] == ["episode 1", "episode 3", "episode 4", "episode 5"]
    assert message in broken[0].message
    assert "same name" in broken[3].message
    first, second = OpenFly().read(path)
    assert [finding.subject for finding in first.findings] == ["episode 1", "episode 3", "episode 4", "episode 5"]
    assert second.findings == ()


def test_aerialvln(tmp_path: Path) -> None:
    """NED: five metres to the north, a turn to the right, two metres up."""
    content = {
        "episodes": [
            {
                "trajectory_id": "T1",
                "instruction": {"instruction_text": "go"},
                "actions": [1, 3, 4, 0],
                "reference_path": [
                    [0, 0, -10, 0, 0, 0],
                    [5, 0, -10, 0, 0, 0],
                    [5, 0, -10, 0, 0, np.pi / 12],
                    [5, 0, -12, 0, 0, np.pi / 12],
                ],
            }
        ]
    }
    ((one,), _) = read_episodes(written(content, tmp_path))
    assert (one.name, one.instruction, one.log.dialect) == ("T1", "go", "AerialVLN")
    assert one.log.enu_m[-1].tolist() == [0, 5, 12]
    assert [(row.label, row.agreeing) for row in agreement([one.log])] == [
        ("forward 5 m", 1),
        ("turn right 15°", 1),
        ("up 2 m", 1),
    ]


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"", "empty"),
        (b"[", "not_json"),
        (b"\xff\xfe", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b"7", "no_episodes"),
        (b"{}", "no_episodes"),
        (b"[]", "no_episodes"),
        (b'[{"gpt_instruction": "x"}]', "no_episodes"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, finding: str) -> None:
    path = tmp_path / "episodes.json"
    path.write_bytes(content)
    with pytest.raises(RawDataError) as error:
        OpenFly().read(path)
    assert error.value.finding == finding


def test_is_own(tmp_path: Path) -> None:
    assert OpenFly().is_own(tmp_path, json.dumps([episode()]).encode()[:4096])
    assert not OpenFly().is_own(tmp_path, b'[{"pos": []}]')


def test_no_damage_is_too_much(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = json.dumps([episode("a"), episode("b")]).encode()
    counts = survives(OpenFly(), content, tmp_path)
    assert min(counts.values()) > 0
    assert capfd.readouterr() == ("", "")
