"""The frames that a release names are those that answers were made from; where they are not, the scene is left out."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest

from flows.cli.videos import verify_videos
from pipeline.core.errors import RawDataError
from pipeline.engine.config import build_config
from pipeline.rendering.sampled import HASHED, sampled_rows
from pipeline.stages.builder import Builder
from pipeline.stages.frames import _compare
from pipeline.stages.registry import STAGES
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.observe import visibility
from pipeline.worlds.registry import WORLDS
from tests.builds import UNASKED, results_of, rows_of
from tests.worlds.flight.readers.tiny_flights import write_flight
from tests.worlds.indoor.readers.test_scene_folders import write


@pytest.mark.slow
def test_frames_are_those_examined_or_the_scene_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(visibility, "SURFACE_FIT_MIN", 0.0)  # the film shows squares, and no room
    coarse = {"indoor": {"frames_per_second": 5.0, "width": 80, "height": 60, "min_pixels": 5, "budgets": [4, 16]}}
    given = {"build": "vsi", "benchmark": "vsi", "roots": {"scene": write(tmp_path / "scenes")}, "observe": coarse}
    config, out = build_config(given | UNASKED | {"gates": {"scenes": 0.0, "questions": 0.0}}), tmp_path / "out"
    results = results_of(out, Builder(config, out).build())
    scene = IndoorScene.model_validate_json(results["observe", "scene/room"])
    assert scene.facts.observation is not None
    examined = {n: list(own.numbers) for n, own in scene.facts.observation.budgets.items()}
    named: dict[int, list[int]] = {}
    for row in rows_of(next((out / "release" / "frames").iterdir())):
        named.setdefault(row["budget"], []).append(row["index"])
    assert named == examined
    assert examined[4] == [0, 23, 47, 71]  # of 12 pictures at 5 a second, delivered at 30

    (film,) = rows_of(next((out / "release" / "videos").iterdir()))
    path = out / "videos" / film["file"]
    assert (film["scene"], film["file"], film["frames"], film["fps"]) == ("scene/room", "scene/room.mp4", 72, 30)
    assert film["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(film["pictures"]) == HASHED
    assert verify_videos(out / "videos", None)
    path.write_bytes(path.read_bytes() + (8).to_bytes(4, "big") + b"free")  # a box that holds nothing
    assert verify_videos(out / "videos", None)
    assert (
        "1 of 1 videos are those of the release; 1 of them in other files of the same pictures"
        in capsys.readouterr().out
    )
    path.unlink()
    assert not verify_videos(out / "videos", None)
    assert "is missing" in capsys.readouterr().out

    def later(*terms: Any) -> list[dict[str, Any]]:  # as if the recording had held one frame more than it states
        return [row | {"index": row["index"] + (row["k"] == 3)} for row in sampled_rows(*terms)]

    monkeypatch.setattr("pipeline.stages.frames.sampled_rows", later)
    (out / "store" / "frames").rename(tmp_path / "gone")
    (left_out,) = Builder(config, out).build().quarantine
    assert left_out.finding == "other_frames_examined"
    assert "1 of 4 frames of budget 4 are others than those examined" in left_out.message


@pytest.mark.slow
def test_nothing_is_asked_of_a_film_that_breaks_off(tmp_path: Path) -> None:
    """A log alone would do, and does where a build delivers no films: candidates do not depend on what they are."""
    ran = ("unify", "fix", "video", "observe", "generate")
    stages = {name: STAGES[name] for name in (*ran, "describe")}
    movie = write_flight(tmp_path / "raw", video_s=6.0) / "video.mp4"
    config = build_config({"benchmark": "urbanvideo", "roots": {"flights": tmp_path / "raw"}})

    def built(out: str, *, video: bool = True) -> tuple[set[str], dict[str, str]]:
        outcome = Builder(config.model_copy(update={"video": video}), tmp_path / out, stages=stages).build()
        return {left.stage for left in outcome.quarantine}, {e.stage: e.key for e in outcome.manifest if e.output}

    assert built("out") == (set(), dict.fromkeys(ran, ANY))
    sound = movie.read_bytes()
    first = sound.index(b"mdat") + 4
    last = first - 8 + int.from_bytes(sound[first - 8 : first - 4], "big")
    middle = (first + last) // 2
    movie.write_bytes(sound[:middle] + bytes(last - middle) + sound[last:])
    assert built("out") == ({"video"}, dict.fromkeys(("unify", "fix", "observe"), ANY))
    _, of_log = built("out", video=False)
    movie.write_bytes(sound)
    assert built("out")[1]["generate"] != of_log["generate"], "the log's film is another file"
    assert built("out", video=False)[1]["generate"] == built("out")[1]["generate"]


def test_frames_that_are_others_than_those_examined_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"budget": budget, "index": n, "frames": 72} for budget in (4, 2) for n in (0, 9, 70, 71)[:budget]]
    world = SimpleNamespace(examined_frames=lambda scene: scene.examined)
    monkeypatch.setitem(WORLDS, "made", world)  # type: ignore[misc]

    def compared(**examined: tuple[int, ...]) -> None:
        scene: Any = SimpleNamespace(facts=SimpleNamespace(world="made"), examined={2: (0, 9), 4: (0, 9, 70, 71)})
        scene.examined |= {int(name[1:]): numbers for name, numbers in examined.items()}
        _compare(Path("made.mp4"), rows, scene, "made/a")

    compared()
    with pytest.raises(RawDataError, match="2 of 4 frames of budget 4 are others than those examined") as error:
        compared(_4=(0, 9, 68, 69))
    assert "the video has 72 frames, and frame 71 is its last here, 69 there" in str(error.value)
    with pytest.raises(RawDataError, match="1 of 2 frames of budget 2"):
        compared(_2=(0,))
