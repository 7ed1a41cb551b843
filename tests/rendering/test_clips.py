"""Stage `clip`: every question has its video, which ends where the question does, and nothing else lies about."""

import hashlib
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import av
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.cli.videos import make_videos
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.engine.config import build_config
from pipeline.engine.run import Execute, run_here
from pipeline.release.tables import SCHEMA_METADATA
from pipeline.samples.drive.write import write_drives
from pipeline.stages.builder import Builder
from tests.builds import OPEN_GATES

FPS = 30


def build(root: Path, out: Path, cap: int) -> dict[str, bytes]:
    """Path below the folder of videos -> bytes, after a build with at most so many questions of a task."""
    unasked = {"blind": {"models": []}, "prune": None, "figures": False, "gates": OPEN_GATES}
    own = {"roots": {"flights": root}, "select": {"per_scene_and_task": cap}, "export": {"videos": ["sample_city"]}}
    config = build_config({"benchmark": "urbanvideo"} | own | unasked)
    assert Builder(config, out, run_here).build().quarantine == []
    folder = out / "videos"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.mp4")}


def seconds_of(path: Path) -> float:
    """When the last frame appears."""
    with av.open(path) as container:
        return float(max(frame.time for frame in container.decode(video=0)))


@dataclass(frozen=True)
class Here:
    """Stands for the pool of processes."""

    execute: Execute = run_here


def test_every_question_has_a_video_that_ends_with_it(
    flights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(flights / "central_station", tmp_path / "root" / "central_station")
    out = tmp_path / "out"
    made = build(tmp_path / "root", out, 6)
    asked = pq.read_table(out / "release" / "data").to_pylist()
    rows = pq.read_table(out / "release" / "provenance").to_pylist()
    parts = {row["id"]: (row["from_s"] or 0, row["until_s"]) for row in rows if row["until_s"] is not None}
    assert {row["video_id"] for row in asked} | {"sample_city/central_station.mp4"} == set(made)
    clips = {row["video_id"]: parts[row["Question_id"]] for row in asked if row["Question_id"] in parts}
    assert len(clips) > 5
    assert {from_s > 0 for from_s, _ in clips.values()} == {True, False}
    for name, (from_s, until_s) in clips.items():
        assert 0 <= until_s - from_s - seconds_of(out / "videos" / name) < 1 / FPS
    (out / "videos" / min(clips)).unlink()
    assert build(tmp_path / "root", out, 6) == made, "a lost clip is cut again"
    fewer = build(tmp_path / "root", out, 1)
    assert set(fewer) < set(made), "clips of questions that are no longer asked go"
    assert {row["video_id"] for row in pq.read_table(out / "release" / "data").to_pylist()} <= set(fewer)

    # The release has them, as videos.
    import datasets  # it takes a second

    shown = datasets.load_dataset(str(out / "release"), "media", split="test", cache_dir=str(tmp_path / "cache"))
    assert isinstance(shown.features["video"], datasets.Video)
    kept = shown.cast_column("video", datasets.Video(decode=False))
    assert {row["file"].removeprefix("media/"): row["video"]["bytes"] for row in kept} == fewer

    # Who has the release alone, and the raw data, makes the same files.
    release, root = shutil.copytree(out / "release", tmp_path / "alone" / "release"), tmp_path / "root"
    shutil.rmtree(release / "media")
    monkeypatch.setattr("flows.cli.videos.Pool", lambda workers: nullcontext(Here()))
    assert make_videos("urbanvideo", release, [f"flights={root}"], [], None, 1)
    again = release.parent / "videos"
    assert {path.relative_to(again).as_posix(): path.read_bytes() for path in again.rglob("*.mp4")} == fewer
    assert sorted(path.name for path in again.iterdir()) == ["sample_city"], "nothing else is left"
    (again / min(fewer)).write_bytes(b"of somebody else")
    with pytest.raises(ConfigError, match="reader panoramas reads no"):
        make_videos("urbanvideo", release, [f"panoramas={root}"], [], None, 1)
    (root / "central_station").rename(root / "elsewhere")
    assert not make_videos("urbanvideo", release, [f"flights={root}"], [], None, 1)
    assert "no root has its scene" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("scene", "file"), [("city/one", "../../one.mp4"), ("../city/one", "../city/one.mp4")])
def test_videos_are_made_below_their_folder_alone(scene: str, file: str, tmp_path: Path) -> None:
    rows = [{"scene": scene, "file": file, "frames": 2, "fps": 30, "sha256": "0" * 64}]
    raw = table_bytes(pa.Table.from_pylist(rows), 1, SCHEMA_METADATA)
    write_atomically(tmp_path / "videos" / "test.parquet", raw)
    (tmp_path / "checksums.sha256").write_text(f"{hashlib.sha256(raw).hexdigest()}  videos/test.parquet\n")
    with pytest.raises(ConfigError, match="not named as a video of its scene"):
        make_videos("urbanvideo", tmp_path, ["flights=."], [], tmp_path / "out", 1)


# ---- stage `bev_video`: a log without cameras has a film, and every question a part of it that ends with the question


def drawn(root: Path, out: Path) -> dict[str, bytes]:
    """The videos of a drawn, by their path."""
    unasked = {"blind": {"models": []}, "prune": None, "figures": False}
    config = build_config({"benchmark": "embodied4c", "roots": {"carla": root}} | unasked)
    assert Builder(config, out, run_here).build().quarantine == []
    return {path.relative_to(out / "videos").as_posix(): path.read_bytes() for path in out.rglob("videos/**/*.mp4")}


@pytest.mark.long
def test_drawn_films_are_cut_as_others_are(tmp_path: Path) -> None:
    write_drives(tmp_path / "all")
    root = tmp_path / "carla"
    root.mkdir()
    shutil.copy(min((tmp_path / "all" / "carla").rglob("*.log")), root)
    made = drawn(root, tmp_path / "one")
    shutil.rmtree(tmp_path / "one" / "videos")
    assert drawn(root, tmp_path / "one") == made, "what is lost is drawn and cut again, and has the same bytes"
    rows = pq.read_table(tmp_path / "one" / "release" / "data").to_pylist()
    assert {row["modality"] for row in rows} == {"drawn"}
    assert {row["video"] for row in rows} <= set(made)
    lengths: dict[str, set[int]] = {}
    for row in rows:
        if row["until_s"] is None:
            continue
        with av.open(tmp_path / "one" / "videos" / row["video"]) as container:
            packets = [packet for packet in container.demux(video=0) if packet.pts is not None]
            frames = sorted(float(packet.pts * packet.time_base) for packet in packets)
        begins_s = row["from_s"] or 0.0
        assert 0 <= row["until_s"] - (begins_s + frames[-1]) < 0.1 + 1e-6, "at ten pictures a second"
        if row["from_s"] is not None:
            lengths.setdefault(row["sub_capability"], set()).add(len(frames))
    assert lengths.pop("S/M") <= {50, 51}
    assert lengths.pop("L/M") <= {80, 81}
    assert {n for counts in lengths.values() for n in counts} <= {20, 21}, "none tells when it was"
