"""The readers find in the sample scans what was planted there.

One scan of each way of being stored, to save time:
`tests.benchmarks.vsi.test_planted_truth` builds from all of them.
"""

from collections import Counter

import numpy as np
import pytest

from pipeline.reading.files import SceneFiles
from pipeline.samples.indoor.rooms import PLANS
from pipeline.samples.indoor.truth import ObjectTruth, SceneTruth
from pipeline.worlds.indoor.facts import IndoorScene, SceneObject
from pipeline.worlds.indoor.observe.rays import LabelledMesh, count_pixels
from pipeline.worlds.indoor.observe.visibility import longest_sides
from pipeline.worlds.indoor.readers.categories import load_curation, normal
from pipeline.worlds.registry import READERS
from tests.conftest import Samples
from tests.worlds.indoor.readers.tiny_scans import NAMES

# By dataset, way of storing, and whether the video is turned: the first plan of each kind.
KINDS = {(plan.dataset, plan.stored, plan.sky != "Up"): plan for plan in reversed(PLANS)}
IDS = [f"{plan.dataset}/{plan.name}" for plan in PLANS if plan in KINDS.values()]
IMAGE = (160, 120)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(samples: Samples) -> dict[str, SceneFiles]:
    found = {}
    for dataset in NAMES:
        listing = READERS[dataset].scenes(samples.folder / dataset)
        assert listing.broken == ()
        found |= {ref.id: SceneFiles(samples.folder / dataset, ref) for ref in listing.scenes}
    return found


@pytest.fixture(scope="module")
def scenes(files: dict[str, SceneFiles]) -> dict[str, IndoorScene]:
    return {name: READERS[name.split("/")[0]].read(files[name]) for name in IDS}


def planted(item: SceneObject, truth: SceneTruth) -> ObjectTruth:
    """The piece of the same label that is nearest to an object."""
    same = [piece for piece in truth.objects if piece.label == item.raw_label]
    return min(same, key=lambda piece: float(np.linalg.norm(np.subtract(piece.box.center, item.box.center))))


def test_all_scenes_are_there(files: dict[str, SceneFiles], samples: Samples) -> None:
    assert sorted(files) == sorted(samples.truth.scenes)


@pytest.mark.parametrize("name", IDS)
def test_counts_and_boxes(scenes: dict[str, IndoorScene], samples: Samples, name: str) -> None:
    scene, planted_scene = scenes[name], samples.truth.scenes[name]
    category = load_curation(scene.dataset).category
    labels = [normal(thing.label) for thing in planted_scene.objects]
    expected = Counter(category[label] for label in labels if label in category)
    assert scene.facts.counts == dict(expected)
    pieces = [planted(item, planted_scene) for item in scene.facts.objects]
    assert len({piece.index for piece in pieces}) == len(pieces)  # each object another piece
    for item, piece in zip(scene.facts.objects, pieces, strict=True):
        assert item.box.center == pytest.approx(piece.box.center, abs=0.01)
        assert sorted(item.box.lengths) == pytest.approx(sorted(piece.box.lengths), abs=0.01)


@pytest.mark.parametrize("name", IDS)
def test_room_video_and_findings(scenes: dict[str, IndoorScene], samples: Samples, name: str) -> None:
    scene, planted_scene = scenes[name], samples.truth.scenes[name]
    assert scene.facts.room.area_m2 == pytest.approx(planted_scene.outline_area_m2, rel=0.01)
    assert scene.video.turn_deg == planted_scene.turn_deg
    assert scene.video.frames == len(planted_scene.frame_time_s)
    assert [f for f in scene.findings if f.severity != "note"] == []
    assert {f.name for f in scene.findings} <= {"pose_not_finite", "unknown_label"}


@pytest.mark.parametrize("name", IDS)
def test_what_the_frames_show(
    samples: Samples, files: dict[str, SceneFiles], scenes: dict[str, IndoorScene], name: str
) -> None:
    scene, truth, planted_scene = scenes[name], samples.truth, samples.truth.scenes[name]
    geometry = READERS[scene.dataset].geometry(files[name], scene)
    frames = geometry.frames
    kept = [i for i in range(len(planted_scene.frame_time_s)) if i not in planted_scene.lost_frames]
    np.testing.assert_array_equal(frames.number, kept)
    np.testing.assert_allclose(frames.time_s, np.array(planted_scene.frame_time_s)[kept], atol=0.002)
    mesh = LabelledMesh(geometry, len(scene.facts.objects))
    counts = count_pixels(mesh, longest_sides(scene.facts.objects), np.arange(len(kept)), *IMAGE)
    assert (counts.depth_agreement or 0) > 0.98
    for number, item in enumerate(scene.facts.objects):
        piece = planted(item, planted_scene)
        shown = dict(piece.pixels)
        scale = IMAGE[0] * IMAGE[1] / planted_scene.image_pixels
        wanted = np.array([shown.get(i, 0) for i in kept]) * scale
        seen = counts.pixels[:, number]
        assert np.abs(seen - wanted).max() <= 15 + 0.1 * wanted.max(), item.category
        passes = np.flatnonzero(seen >= truth.seen_share * IMAGE[0] * IMAGE[1])
        first = kept.index(piece.first_frame) if piece.first_frame is not None else None
        assert (len(passes) == 0) == (first is None) or wanted.max() < 1.3 * truth.seen_share * IMAGE[0] * IMAGE[1]
        if len(passes) and first is not None:
            assert abs(int(passes[0]) - first) <= 1, item.category
