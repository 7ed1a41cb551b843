"""The stages of one scene that go back to raw data read each file once, and give what they give alone."""

from collections import Counter
from pathlib import Path

import pytest

import pipeline.worlds.flight.readers.flights
from pipeline.engine.config import build_config
from pipeline.engine.manifest import Outcome
from pipeline.reading.files import SceneFiles
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from tests.worlds.flight.readers.tiny_flights import box_feature, place, point_feature, write_flight, write_map
from tests.worlds.indoor.readers.tiny_scans import WRITERS

# Of those that go back to raw data the ones that a build of scans or flights has without models.
RAW = {name: STAGES[name] for name in ("unify", "fix", "video", "observe") if STAGES[name].needs_roots}


@pytest.fixture(params=[*WRITERS, "flights"])
def raw(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A reader, and a root with one scene for it."""
    root = tmp_path / "raw"
    if request.param != "flights":
        WRITERS[request.param](root)
        return request.param.partition("_")[0], root
    camera = {"horizontal_fov_deg": 70.0, "width": 64, "height": 48, "pitch_deg": -30.0}
    folder = write_flight(root, {"camera": camera, "landmarks": "marks.json", "buildings": "walls.json"}, video_s=3.0)
    write_map(folder / "marks.json", point_feature(place(0.0, 40.0), name="the mast"))
    write_map(folder / "walls.json", box_feature((20.0, 20.0), height=10.0))
    return "flights", root


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file of a scene was read whole, and each flight log parsed."""
    counts: Counter[str] = Counter()
    real, real_tracks = SceneFiles.raw, pipeline.worlds.flight.readers.flights.read_tracks

    def read(files: SceneFiles, path: Path, *remedy: str) -> bytes:
        counts[path.name] += 1
        return real(files, path, *remedy)

    def read_tracks(path: Path, *options: object) -> object:
        counts[f"parsed {path.name}"] += 1
        return real_tracks(path, *options)  # type: ignore[arg-type]

    monkeypatch.setattr(SceneFiles, "raw", read)
    monkeypatch.setattr(pipeline.worlds.flight.readers.flights, "read_tracks", read_tracks)
    return counts


def builder(reader: str, root: Path, out: Path) -> Builder:
    benchmark = "urbanvideo" if reader == "flights" else "vsi"
    observe = (
        {} if reader == "flights" else {"indoor": {"unscanned_max": 1.0, "depth_agreement_unusable": 0.0}}
    )  # tiny scans
    config = build_config({"benchmark": benchmark, "roots": {reader: root}, "observe": observe})
    return Builder(config, out, stages=RAW)


def run(reader: str, root: Path, out: Path) -> Outcome:
    outcome = builder(reader, root, out).build()
    assert not outcome.quarantine
    assert [e.stage for e in outcome.manifest] == list(RAW)
    return outcome


@pytest.mark.slow
def test_each_file_of_a_scene_is_read_once(raw: tuple[str, Path], reads: Counter[str], tmp_path: Path) -> None:
    reader, root = raw
    run(reader, root, tmp_path / "out")  # listing, in a process of its own, is not counted
    assert len(reads) > 2
    assert reads == Counter(dict.fromkeys(reads, 1))


@pytest.mark.slow
def test_a_stage_alone_gives_the_bytes_that_it_gives_behind_others(raw: tuple[str, Path], tmp_path: Path) -> None:
    reader, root = raw
    outcome = run(reader, root, tmp_path / "out")
    together = {e.stage: e.output.digest for e in outcome.manifest if e.output}
    for name in RAW:
        alone = builder(reader, root, tmp_path / "out").stage(name)
        assert {e.stage: e.output and e.output.digest for e in alone.manifest} == {name: together[name]}
