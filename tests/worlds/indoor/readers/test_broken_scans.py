"""Every kind of broken scan is found, named with numbers and a remedy, and costs its scene or its frames alone."""

import fnmatch
import json
import pickle
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.core.errors import RawDataError
from pipeline.reading.files import SceneFiles
from pipeline.worlds.registry import READERS
from tests.environment import times
from tests.worlds.indoor.readers.broken_scans import FAULTS, FINDINGS, FRAMES, damaged, distorted, every, folder_of
from tests.worlds.indoor.readers.conftest import fault_of, only_scene, read_only
from tests.worlds.indoor.readers.tiny_scans import NAMES, WRITERS

Copied = Callable[[str], Path]


def test_the_corpus_is_large_enough() -> None:
    names = list(every())
    assert len(names) == len(set(names)) >= 100
    for kinds in (FAULTS, FINDINGS, FRAMES):
        assert {k.layout for k in kinds.values()} == set(WRITERS)


@pytest.mark.parametrize("layout", sorted(WRITERS))
def test_sound_scans_have_no_findings(tiny: Path, layout: str) -> None:
    scene = read_only(layout, tiny / layout)
    assert scene.findings == ()
    assert scene.facts.counts == {"chair": 2, "sofa": 1, "table": 1}


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_faults_cost_the_scene(copied: Copied, kind: str) -> None:
    fault = FAULTS[kind]
    root = copied(fault.layout)
    fault.spoil(folder_of(root, fault.layout))
    error = fault_of(fault.layout, root)
    assert error.finding == fault.finding, str(error)
    assert fnmatch.fnmatch(error.path.name, fault.file), str(error)
    assert error.scene == f"{fault.layout}/{NAMES[fault.layout]}"
    assert all(part in error.message for part in fault.says), error.message
    assert error.remedy
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 (it comes back from a worker)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(FINDINGS))
def test_findings_stay_with_the_scene(copied: Copied, kind: str) -> None:
    expected = FINDINGS[kind]
    root = copied(expected.layout)
    expected.spoil(folder_of(root, expected.layout))
    scene = read_only(expected.layout, root)
    found = [f for f in scene.findings if f.name == expected.finding and f.subject == expected.subject]
    assert found, [f.message for f in scene.findings]
    assert found[0].severity == expected.severity
    assert found[0].remedy
    if expected.measured is not None:
        assert found[0].measured == pytest.approx(expected.measured, abs=0.02)
    assert all(f.limit is None or f.measured != f.limit for f in scene.findings), "what is at its limit is within it"
    assert sum(scene.facts.counts.values()) == len(scene.facts.objects)
    geometry = READERS[expected.layout].geometry(SceneFiles(root, only_scene(READERS[expected.layout], root)), scene)
    assert len(geometry.vertex_object) == len(geometry.vertices)


@pytest.mark.parametrize("kind", sorted(FRAMES))
def test_broken_frames_cost_only_themselves(copied: Copied, kind: str) -> None:
    lost = FRAMES[kind]
    root = copied(lost.layout)
    lost.spoil(folder_of(root, lost.layout))
    reader = READERS[lost.layout]
    ref = only_scene(reader, root)
    scene = reader.read(SceneFiles(root, ref))
    geometry = reader.geometry(SceneFiles(root, ref), scene)
    frames = geometry.frames
    for _ in range(2):  # a frame asked for twice is counted once
        for i in range(len(frames.time_s)):
            frames.color(i)
            frames.depth_m(i)
    assert frames.skipped == {lost.reason: lost.count}
    footage = reader.footage(SceneFiles(root, ref), scene)
    assert sum(1 for _ in footage.frames()) == 6  # time goes on


@pytest.mark.parametrize("layout", sorted(WRITERS))
def test_a_broken_scene_leaves_its_neighbours_alone(tmp_path: Path, layout: str) -> None:
    names = {"scannet": "scene0001_00", "scannetpp": "1111111111", "arkitscenes": "40000002"}
    WRITERS[layout](tmp_path, name=names[layout])
    good = WRITERS[layout](tmp_path)
    for path in tmp_path.rglob(names[layout]):
        next(path.rglob("*.ply")).unlink()
    listing = READERS[layout].scenes(tmp_path)
    assert len(listing.scenes) == 2
    bad = f"{layout}/{names[layout]}"
    for ref in listing.scenes:
        if ref.id != bad:
            assert READERS[layout].read(SceneFiles(tmp_path, ref)).name == good.name


@pytest.mark.parametrize("layout", sorted(WRITERS))
def test_an_empty_scene_folder_is_told(tmp_path: Path, layout: str) -> None:
    (tmp_path / NAMES[layout]).mkdir()
    assert fault_of(layout, tmp_path).finding == "missing_file"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(times(12, 60)))
def test_no_random_damage_is_unexpected(copied: Copied, seed: int) -> None:
    """Whatever happens to one file, the scene is read or a fault is named; nothing else is raised."""
    rng = random.Random(seed)  # noqa: S311 (damage, no secrets)
    layout = rng.choice(sorted(WRITERS))
    root, reader = copied(layout), READERS[layout]
    path = rng.choice(sorted(p for p in root.rglob("*") if p.is_file() and p.name != "metadata.csv"))
    raw = path.read_bytes()
    if path.suffix == ".json" and rng.random() < 0.7:
        path.write_text(json.dumps(distorted(json.loads(raw), rng)))
    else:
        path.write_bytes(damaged(raw, rng))
    ref = only_scene(reader, root)
    with suppress(RawDataError):
        scene = reader.read(SceneFiles(root, ref))
        geometry = reader.geometry(SceneFiles(root, ref), scene)
        for i in range(len(geometry.frames.time_s)):
            geometry.frames.color(i)
            geometry.frames.depth_m(i)
        footage = reader.footage(SceneFiles(root, ref), scene)
        assert footage is None or all(image.ndim == 3 for image in footage.frames())
