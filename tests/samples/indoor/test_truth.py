"""The planted truth: enough in every scene for all eight tasks, and consistent in itself."""

import itertools
import struct
from pathlib import Path

import numpy as np
import pytest
import shapely

from pipeline.geometry.boxes import closest_distance_m, stack
from pipeline.samples.indoor.rooms import PLANS
from pipeline.samples.indoor.truth import (
    SAME_CATEGORY,
    SEEN_SHARE,
    ObjectTruth,
    PlantedTruth,
    SampleRoute,
    SceneTruth,
    turn_name,
)
from pipeline.samples.indoor.write import write_samples
from tests.conftest import Samples

IDS = [f"{plan.dataset}/{plan.name}" for plan in PLANS]
every_scene = pytest.mark.parametrize("scene_id", IDS)
BODY_M, HEAD_M = 0.2, 1.7


def categories(truth: SceneTruth) -> list[str]:
    return [SAME_CATEGORY.get(thing.label, thing.label) for thing in truth.objects]


def footprint(thing: ObjectTruth) -> shapely.Polygon:
    corners = stack([thing.box.center], [thing.box.lengths], [thing.box.axes]).corners()[0]
    return shapely.MultiPoint(corners[:, :2]).convex_hull


def test_every_scene_is_in_the_truth(samples: Samples) -> None:
    assert sorted(samples.truth.scenes) == sorted(IDS)


@every_scene
def test_every_scene_has_something_for_every_task(samples: Samples, scene_id: str) -> None:
    truth = samples.truth.scenes[scene_id]
    names = categories(truth)
    seen = [name for thing, name in zip(truth.objects, names, strict=True) if thing.first_frame is not None]
    single = {name for name in seen if names.count(name) == 1}
    assert len(set(seen)) >= 8
    assert len(single) >= 5  # sizes, distances, directions
    assert any(seen.count(name) >= 2 for name in seen)  # counting
    assert truth.floor_area_m2 > 10
    assert truth.routes
    first: dict[str, float] = {}
    for thing, name in zip(truth.objects, names, strict=True):
        if thing.first_s is not None:
            first[name] = min(first.get(name, np.inf), thing.first_s)
    spread: list[float] = []
    for time in sorted(first.values()):
        if not spread or time >= spread[-1] + 1.0:
            spread.append(time)
    assert len(spread) >= 4  # appearance order


@every_scene
def test_exactly_the_hidden_pieces_are_never_seen_and_the_others_are_without_doubt(
    samples: Samples, scene_id: str
) -> None:
    truth = samples.truth.scenes[scene_id]
    (plan,) = (plan for plan in PLANS if f"{plan.dataset}/{plan.name}" == scene_id)
    assert [i for i, piece in enumerate(plan.pieces) if piece.unseen] == list(truth.never_seen)
    assert truth.never_seen
    for thing in truth.objects:
        if thing.index not in truth.never_seen:
            assert max(pixels for _, pixels in thing.pixels) > 4 * SEEN_SHARE * truth.image_pixels, thing.label
            assert thing.first_frame is not None


def first_frame(truth: SceneTruth, index: int, share: float = SEEN_SHARE) -> int | None:
    """First frame with a pose in which an object has at least this share of the pixels."""
    least = share * truth.image_pixels
    shown = (f for f, pixels in truth.objects[index].pixels if pixels >= least and f not in truth.lost_frames)
    return min(shown, default=None)


@every_scene
def test_first_frames_pass_the_threshold_and_none_before_does(samples: Samples, scene_id: str) -> None:
    truth = samples.truth.scenes[scene_id]
    for thing in truth.objects:
        assert thing.first_frame == first_frame(truth, thing.index)
        if thing.first_frame is None:
            assert thing.index in truth.never_seen
            continue
        assert thing.first_s == truth.frame_time_s[thing.first_frame]
        assert thing.first_frame not in truth.lost_frames
        least = SEEN_SHARE * truth.image_pixels
        before = [p for f, p in thing.pixels if f < thing.first_frame and f not in truth.lost_frames]
        assert dict(thing.pixels)[thing.first_frame] >= least > max(before, default=0)


@every_scene
def test_first_appearances_do_not_hang_on_the_threshold(samples: Samples, scene_id: str) -> None:
    """Another observer's rays hit a few pixels more or less: that may cost one frame."""
    truth = samples.truth.scenes[scene_id]
    for thing in truth.objects:
        if thing.index not in truth.never_seen:
            early, late = (first_frame(truth, thing.index, factor * SEEN_SHARE) for factor in (0.7, 1.3))
            assert late - early <= 1, thing.label


@every_scene
def test_counts_distances_and_areas(samples: Samples, scene_id: str) -> None:
    truth = samples.truth.scenes[scene_id]
    labels = [thing.label for thing in truth.objects]
    assert truth.counts == {label: labels.count(label) for label in sorted(set(labels))}
    boxes = [stack([t.box.center], [t.box.lengths], [t.box.axes]) for t in truth.objects]
    for i, j in itertools.combinations(range(0, len(boxes), 3), 2):
        (expected,) = closest_distance_m(boxes[i], boxes[j])
        assert truth.distances_m[i][j] == truth.distances_m[j][i] == pytest.approx(expected, abs=1e-8)
    outline = shapely.Polygon(truth.floor[0])
    assert outline.exterior.is_ccw
    assert truth.floor[0][0] == truth.floor[0][-1]
    assert outline.area == pytest.approx(truth.floor_area_m2, abs=1e-6)
    assert 0 <= truth.outline_area_m2 - truth.floor_area_m2 < 0.6  # the walls between rooms


def walked(route: SampleRoute) -> np.ndarray:
    """Every centimetre of a route."""
    legs = [
        np.linspace(a, b, 1 + round(float(np.hypot(*np.subtract(b, a))) * 100))
        for a, b in itertools.pairwise(route.points)
    ]
    return np.concatenate(legs)


@every_scene
def test_routes_arrive_and_touch_nothing(samples: Samples, scene_id: str) -> None:
    truth = samples.truth.scenes[scene_id]
    floor = shapely.Polygon(truth.floor[0])
    bottoms = {thing.index: thing.box.center[2] - thing.box.lengths[2] / 2 for thing in truth.objects}
    ground = min(bottoms.values())
    for route in truth.routes:
        way = shapely.points(walked(route))
        assert shapely.contains(floor.buffer(-BODY_M), way).all()
        for thing in truth.objects:
            if bottoms[thing.index] - ground < HEAD_M:
                assert shapely.distance(way, footprint(thing)).min() > BODY_M, thing.label
        for label, point in zip((route.start, *route.stops), route.points, strict=True):
            (thing,) = (thing for thing in truth.objects if thing.label == label)
            assert footprint(thing).distance(shapely.Point(point)) < 0.6
        assert len({route.start, *route.stops}) == len(route.points)
        assert categories(truth).count(SAME_CATEGORY.get(route.start, route.start)) == 1


@every_scene
def test_turns_have_the_names_that_a_walker_would_give_them(samples: Samples, scene_id: str) -> None:
    """Walked turn by turn: facing the next point after each turn, by the cross product."""
    truth = samples.truth.scenes[scene_id]
    for route in truth.routes:
        assert len(route.turns) == len(route.stops) - 1
        legs = np.diff(np.array(route.points), axis=0)
        for (before, after), name, angle in zip(itertools.pairwise(legs), route.turns, route.turns_deg, strict=True):
            turn = np.degrees(np.angle(complex(*after) / complex(*before)))
            assert turn == pytest.approx(angle, abs=1e-3)
            assert name == turn_name(angle)
            assert min(abs(abs(angle) - 30), abs(abs(angle) - 135)) >= 10


@pytest.mark.parametrize(
    ("angle", "name"),
    [
        *((0, "straight"), (29, "straight"), (-29, "straight")),
        *((31, "left"), (134, "left"), (-31, "right"), (-134, "right")),
        *((136, "back"), (-136, "back"), (180, "back")),
    ],
)
def test_names_of_turns(angle: float, name: str) -> None:
    assert turn_name(angle) == name


MEGABYTE = 2**20


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.long
def test_the_second_writing_gives_the_same_bytes(samples: Samples, tmp_path: Path) -> None:
    """In another order, in which lists of scans are written, too."""
    truth = write_samples(tmp_path, PLANS[::-1])
    first, written = (
        {path: raw for path, raw in files(folder).items() if any(plan.name in path for plan in PLANS)}
        for folder in (samples.folder, tmp_path)
    )
    assert len(written) > 200
    assert first.keys() == written.keys()
    assert [path for path, raw in written.items() if raw != first[path]] == []
    assert truth == PlantedTruth.model_validate_json((tmp_path / "truth.json").read_bytes())
    assert truth.scenes == samples.truth.scenes


def test_samples_are_small(samples: Samples) -> None:
    assert sum(len(raw) for raw in files(samples.folder).values()) < 40 * MEGABYTE


@pytest.mark.parametrize("pattern", ["**/*.mp4", "**/*.mov"])
def test_videos_carry_no_time_of_day(samples: Samples, pattern: str) -> None:
    paths = list(samples.folder.glob(pattern))
    assert paths
    for path in paths:
        raw = path.read_bytes()
        head = raw.index(b"mvhd") + 4
        assert struct.unpack(">III", raw[head : head + 12]) == (0, 0, 0)  # version and flags, created, modified
        assert b"creation_time" not in raw


def test_no_temporary_file_is_left(samples: Samples) -> None:
    assert not [path for path in samples.folder.rglob(".*") if path.is_file()]
