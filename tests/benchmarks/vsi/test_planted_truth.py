"""A build of the sample scans finds what was planted in them, in all three raw layouts and all tasks."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.vsi.tasks.registry import ASKED
from pipeline.core.parquet import read_table
from pipeline.core.tables import selected_questions
from pipeline.engine.config import build_config
from pipeline.engine.manifest import Outcome
from pipeline.geometry.boxes import closest_distance_m, stack
from pipeline.samples.indoor.truth import SEEN_SHARE, PlantedTruth, SceneTruth
from pipeline.stages.builder import Builder
from pipeline.worlds.indoor.facts import IndoorScene
from tests.builds import UNASKED, results_of
from tests.conftest import Samples
from tests.options import option_faults

PIXELS = round(SEEN_SHARE * 160 * 120)
FRAME_S = 1 / 3  # the samples' own pace; one frame a second is examined, the others where something appears


@dataclass
class Built:
    truth: PlantedTruth
    outcome: Outcome
    scenes: dict[str, IndoorScene]
    questions: list[dict[str, Any]]
    candidates: list[dict[str, Any]]
    selected: list[dict[str, Any]]


@pytest.fixture(scope="module")
def built(samples: Samples, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("planted")
    config = build_config(
        {
            "build": "vsi",
            "benchmark": "vsi",
            "roots": {name: samples.folder / name for name in ("scannet", "scannetpp", "arkitscenes")},
            "observe": {"indoor": {"frames_per_second": 1.0, "min_pixels": PIXELS, "budgets": [16]}},
            "video": False,
        }
        | UNASKED
    )
    outcome = Builder(config, folder / "out").build()
    results = results_of(folder / "out", outcome)
    scenes = {
        unit: IndoorScene.model_validate_json(raw) for (stage, unit), raw in results.items() if stage == "observe"
    }
    columns = ["scene", "task", "operands", "answer", "reason"]
    tables = [read_table(raw).select(columns) for (stage, _), raw in results.items() if stage == "generate"]
    rows = [row for table in tables for row in table.to_pylist()]
    selected = [
        row
        for (stage, _), raw in results.items()
        if stage == "select"
        for row in selected_questions(read_table(raw)).to_pylist()
    ]
    table = folder / "out" / "release" / "provenance" / "test-00000-of-00001.parquet"
    return Built(samples.truth, outcome, scenes, read_table(table.read_bytes()).to_pylist(), rows, selected)


def pairs(scene: IndoorScene, truth: SceneTruth) -> list[tuple[int, int]]:
    """(index in the scene, index in the truth) of every object, matched by label and centre."""
    planted = np.array([o.box.center for o in truth.objects])
    matched = []
    for number, item in enumerate(scene.facts.objects):
        distance = np.linalg.norm(planted - np.array(item.box.center), axis=1)
        wrong = np.array([o.label != item.raw_label for o in truth.objects])
        matched.append((number, int(np.where(wrong, np.inf, distance).argmin())))
    return matched


def test_every_scene_is_built_and_every_task_asks(built: Built) -> None:
    assert built.outcome.quarantine == []
    assert set(built.scenes) == set(built.truth.scenes)
    assert set(built.outcome.released.questions) == set(ASKED["strict"])  # type: ignore[union-attr]


def test_every_object_once_with_its_size(built: Built) -> None:
    for name, scene in built.scenes.items():
        truth = built.truth.scenes[name]
        matched = pairs(scene, truth)
        assert len({planted for _, planted in matched}) == len(matched)
        left_out = set(range(len(truth.objects))) - {planted for _, planted in matched}
        curated = {item.raw_label for item in scene.facts.objects}
        assert not {truth.objects[i].label for i in left_out} & curated  # whole categories, never single objects
        for number, planted in matched:
            found, box = scene.facts.objects[number].box, truth.objects[planted].box
            assert sorted(found.lengths) == pytest.approx(sorted(box.lengths), abs=0.01), (name, box)
            assert found.center == pytest.approx(box.center, abs=0.01), (name, box)


def test_options_are_possible_and_name_what_is_there(built: Built) -> None:
    assert not option_faults(built.selected)
    for row in built.selected:
        if row["task"].startswith(("object_rel_distance", "obj_appearance_order")):
            there = {item.category for item in built.scenes[row["scene"]].facts.objects}
            named = {name for option in row["options"] for name in option.split(". ", 1)[1].split(", ")}
            assert named <= there, row


def test_counts_are_exact(built: Built) -> None:
    for name, scene in built.scenes.items():
        planted = built.truth.scenes[name].counts
        counted = Counter(item.raw_label for item in scene.facts.objects)
        assert counted == {label: planted[label] for label in counted}
        assert scene.facts.counts == Counter(item.category for item in scene.facts.objects)


def test_distances_are_within_a_centimetre(built: Built) -> None:
    for name, scene in built.scenes.items():
        truth = built.truth.scenes[name]
        boxes = stack(*zip(*((o.box.center, o.box.lengths, o.box.axes) for o in scene.facts.objects), strict=True))
        matched = np.array([planted for _, planted in pairs(scene, truth)])
        i, j = np.triu_indices(len(matched), k=1)
        planted = np.array(truth.distances_m)[matched[i], matched[j]]
        np.testing.assert_allclose(closest_distance_m(boxes.take(i), boxes.take(j)), planted, atol=0.01, err_msg=name)


def test_first_appearances_are_within_one_frame(built: Built) -> None:
    for name, scene in built.scenes.items():
        truth = built.truth.scenes[name]
        for number, planted in pairs(scene, truth):
            seen, known = scene.facts.objects[number].visibility, truth.objects[planted]
            assert seen is not None
            if known.first_s is None:
                assert seen.first_seen_s is None, (name, known.label)
            else:
                assert seen.first_seen_s == pytest.approx(known.first_s, abs=FRAME_S + 0.02), (
                    name,
                    known.label,
                )


def test_what_no_frame_shows_is_never_asked_about(built: Built) -> None:
    for name, truth in built.truth.scenes.items():
        hidden = {truth.objects[i].label for i in truth.never_seen}
        assert hidden
        scene = built.scenes[name]
        unseen = {o.category for o in scene.facts.objects if o.raw_label in hidden}
        shown = {o.category for o in scene.facts.objects if o.visibility and o.visibility.frames_seen}
        absent = {i for number, i in pairs(scene, truth) if scene.facts.objects[number].visibility.absent}  # type: ignore[union-attr]
        assert absent == set(truth.never_seen) & {i for _, i in pairs(scene, truth)}
        asked = {c for q in built.questions if q["scene"] == name for c in q["operands"]}
        assert not (unseen - shown) & asked


def test_room_areas(built: Built) -> None:
    # The outline of all vertices lies at the outer side of the walls' surface: a few percent more than the floor.
    for name, scene in built.scenes.items():
        assert scene.facts.room.area_m2 == pytest.approx(built.truth.scenes[name].outline_area_m2, rel=0.03), name


def test_planted_routes_are_among_the_candidates(built: Built) -> None:
    answers = {
        (row["scene"], tuple(row["operands"])): row["answer"]
        for row in built.candidates
        if row["task"] == "route_planning" and row["reason"] is None
    }
    found = 0
    for name, truth in built.truth.scenes.items():
        category = {item.raw_label: item.category for item in built.scenes[name].facts.objects}
        for route in truth.routes:
            stops = [category.get(label, "") for label in route.stops]  # some labels are not curated
            key = (name, (category.get(route.start, ""), stops[0], *stops))
            if key in answers:
                found += 1
                assert answers[key] == ", ".join(f"Turn {turn.capitalize()}" for turn in route.turns), key
    assert found >= 5


def test_answers_follow_from_the_planted_boxes(built: Built) -> None:
    """Sizes, distances and counts of all that can be asked, recomputed from the truth alone."""
    checked: Counter[str] = Counter()
    planted = {
        name: {scene.facts.objects[i].category: t for i, t in pairs(scene, built.truth.scenes[name])}
        for name, scene in built.scenes.items()
    }
    for question in (row for row in built.candidates if row["answer"] is not None):
        scene, truth = built.scenes[question["scene"]], built.truth.scenes[question["scene"]]
        of = planted[question["scene"]]
        if question["task"] == "object_size_estimation":
            side = max(truth.objects[of[question["operands"][0]]].box.lengths)
            assert float(question["answer"]) == pytest.approx(100 * side, abs=1.5)
        elif question["task"] == "object_abs_distance":
            a, b = (of[c] for c in question["operands"])
            assert float(question["answer"]) == pytest.approx(truth.distances_m[a][b], abs=0.065)
        elif question["task"] == "object_counting":
            labels = {o.raw_label for o in scene.facts.objects if o.category == question["operands"][0]}
            seen = sum(o.label in labels and i not in truth.never_seen for i, o in enumerate(truth.objects))
            assert int(question["answer"]) == seen
        else:
            continue
        checked[question["task"]] += 1
    assert min(checked.values()) >= 10
