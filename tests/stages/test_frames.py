"""The frames that a release names are those that answers were made from; where they are not, the scene is left out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.cli.videos import verify_videos
from pipeline.core.files import write_atomically
from pipeline.core.video_spec import VideoSpec
from pipeline.engine.config import build_config
from pipeline.formats.videos import VideoError, read_video
from pipeline.rendering.sampled import HASHED, FrameCheck, check_videos, sampled_rows, write_sampled
from pipeline.rendering.video import encode
from pipeline.stages.builder import Builder
from pipeline.worlds.indoor.facts import IndoorScene
from tests.builds import UNASKED, results_of, rows_of
from tests.worlds.indoor.readers.test_scene_folders import write


@pytest.mark.slow
def test_frames_are_those_examined_or_the_scene_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


# ---- the identity of sampled frames: what is written, and what a folder of other videos differs in


FORM = VideoSpec(size=(64, 48))


def film(folder: Path, scene: str, frames: int = 20, brighter: int = 0) -> Path:
    pictures = [np.full((48, 64, 3), 10 * n + brighter, np.uint8) for n in range(frames)]
    path = folder / f"{scene}.mp4"
    write_atomically(path, encode(iter(pictures), 10, 0, FORM).raw)
    return path


def found(folder: Path, rows: list[dict[str, object]]) -> list[FrameCheck]:
    return list(check_videos(folder, rows))


def test_digests_are_those_of_the_decoded_pixels(tmp_path: Path) -> None:
    path = film(tmp_path, "made/a")
    pictures = [hashlib.sha256(picture.tobytes()).hexdigest() for picture in read_video(path)]
    rows = sampled_rows(path, "made/a", 10, [4, 32], 20)
    assert [(r["budget"], r["k"], r["index"], r["time_s"]) for r in rows[:4]] == [
        (4, 0, 0, 0.0),
        (4, 1, 6, 0.6),
        (4, 2, 12, 1.2),
        (4, 3, 19, 1.9),
    ]
    assert [r["index"] for r in rows[4:]] == list(range(20))  # a shorter video has no more
    assert [r["sha256"] for r in rows] == [pictures[r["index"]] for r in rows]
    with pytest.raises(VideoError, match="it has 20 frames, and 21 were written"):
        sampled_rows(path, "made/a", 10, [4], 21)


def test_a_folder_is_told_from_that_of_the_release(tmp_path: Path) -> None:
    rows = [
        r for s in ("made/a", "made/b", "made/c", "made/d") for r in sampled_rows(film(tmp_path, s), s, 10, [4], 20)
    ]
    assert all(one.is_same and one.same == 4 for one in found(tmp_path, rows))
    film(tmp_path, "made/a", brighter=3)
    film(tmp_path, "made/b", frames=21)
    (tmp_path / "made/c.mp4").unlink()
    (tmp_path / "made/d.mp4").write_bytes(b"no video")
    one, two, three, four = found(tmp_path, rows)
    assert (one.same, one.differ) == (0, (0, 6, 12, 19))
    assert two.problem == "has 21 frames, and that of the release 20"
    assert three.problem == "is missing"
    assert four.problem.startswith("not a readable video") or "cannot be read" in four.problem


def test_sampled_videos_have_the_very_frames_and_are_enough(tmp_path: Path) -> None:
    rows = sampled_rows(film(tmp_path, "made/a"), "made/a", 10, [4, 8], 20)
    written = list(write_sampled(tmp_path, tmp_path / "out", rows))
    assert [(one.video, one.same, one.differ) for one in written] == [
        ("4_frame/made/a.mp4", 4, ()),
        ("8_frame/made/a.mp4", 8, ()),
    ]
    assert all(one.is_same for one in found(tmp_path / "out", rows))  # without the delivered video beside them
    film(tmp_path, "made/a", brighter=3)
    (refused,) = write_sampled(tmp_path, tmp_path / "other", rows)
    assert refused.differ
    assert not (tmp_path / "other").exists()
