"""Stage `bev_video`: a log without cameras has a film, and every question a part of it that ends with the question."""

from __future__ import annotations

import shutil
from pathlib import Path

import av
import pyarrow.parquet as pq
import pytest

from pipeline.engine.config import build_config
from pipeline.engine.run import run_here
from pipeline.samples.drive.write import write_drives
from pipeline.stages.builder import Builder


def build(root: Path, out: Path) -> dict[str, bytes]:
    """The videos of a build, by their path."""
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
    made = build(root, tmp_path / "one")
    shutil.rmtree(tmp_path / "one" / "videos")
    assert build(root, tmp_path / "one") == made, "what is lost is drawn and cut again, and has the same bytes"
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
