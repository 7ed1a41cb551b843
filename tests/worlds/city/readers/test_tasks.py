"""People's tasks: what is taken, and what each wrong one is told."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import RawDataError
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.city.readers.tasks import in_radians, pose_of
from tests.worlds.city.cities import block, read, spot, write

GOOD: dict[str, Any] = {
    "id": "t1",
    "question": "What is the colour of the car?",
    "answer": "red",
    "category": "Attribute Recognition",
    "observation_pose": [30, 60, 5, 0, 0, 180],
    "target": "c1",
}
MAP = (block(10, 10, 20, 20, id="b1", height_m=12),)
OBJECTS = [spot("car", 30, 50, id="c1", colour="red")]


def scene_of(tmp_path: Path, tasks: Any, **changes: Any) -> CityScene:
    return read(write(tmp_path, *MAP, objects=OBJECTS, tasks=tasks, **changes))


def test_a_sound_task_and_its_target(tmp_path: Path) -> None:
    released = {
        "question_id": 7,
        "question": "How many floors has\nthe building?",
        "answer": 4,
        "category": "Counting",
        "observation_pose": [20, 60, 9, 0, -10, -180],
        "target_pose": [20, 20, 5, 0, 0, 0],
        "initial_pose": [0, 0, 0, 0, 0, 0],
    }
    scene = scene_of(tmp_path, {"tasks": [GOOD, released]})
    assert not [f for f in scene.findings if f.severity == "doubt"]
    first, second = sorted(scene.facts.tasks, key=lambda task: task.id, reverse=True)
    assert (first.id, first.target, first.point, first.p_obs[5]) == ("t1", "c1", (30.0, 50.0, 0.0), 180.0)
    assert (second.id, second.answer, second.question) == ("7", "4", "How many floors has the building?")
    assert (second.target, second.p_obs[5]) == ("b1", 180.0)  # it asks about the building that its target lies in
    assert scene_of(tmp_path, [GOOD]).facts.tasks == (first,)  # a list alone, as released


@pytest.mark.parametrize(
    ("change", "finding", "said"),
    [
        ({"observation_pose": [30, 60, 5, 0, 180]}, "bad_pose", "has 5 numbers, not six"),
        ({"observation_pose": [30, 60, 5, 0, 0, 0, 1]}, "bad_pose", "has 7 numbers"),
        ({"observation_pose": [30, 60, 5, 0, 0, 450]}, "bad_pose", "yaw beyond 360"),
        ({"observation_pose": [30, 60, 5, 0, 95, 0]}, "bad_pose", "pitch beyond 90"),
        ({"observation_pose": [30, 60, float("nan"), 0, 0, 0]}, "bad_pose", "no finite number as its z"),
        ({"observation_pose": "here"}, "bad_pose", "is str"),
        ({"observation_pose": None}, "bad_pose", "NoneType"),
        ({"target_pose": [1, 2, 3]}, "bad_pose", "target_pose that has 3"),
        ({"observation_pose": [3000, 6000, 500, 0, 0, 0]}, "task_off_the_map", "outside the map"),
        ({"observation_pose": [20, 20, 5, 0, 0, 0]}, "pose_in_a_wall", "within something solid"),
        ({"target": None, "target_pose": [20, 20, 5, 0, 0, 0]}, "target_in_a_wall", "do not ask about"),
        ({"target": None, "target_pose": [20, 20, 0, 0, 0, 0]}, "target_in_a_wall", "do not ask about"),
        ({"target": None, "target_pose": [20, 20, 12, 0, 0, 0]}, "target_in_a_wall", "do not ask about"),
        ({"target": None, "target_pose": [900, 20, 5, 0, 0, 0]}, "task_off_the_map", "outside the map"),
        ({"target": "c2"}, "unknown_target", "not on the map"),
        ({"target": None}, "no_target", "neither"),
        ({"answer": ""}, "bad_answer", "empty"),
        ({"answer": ["red", "blue"]}, "bad_answer", "a list"),
        ({"answer": True}, "bad_answer", "no words"),
        ({"question": "  "}, "bad_question", "no question"),
        ({"question": "x" * 1001}, "bad_question", "1 to 1000"),
        ({"question": "\x07?"}, "bad_question", "no question"),
    ],
)
def test_a_wrong_task_is_left_out_alone(tmp_path: Path, change: dict[str, Any], finding: str, said: str) -> None:
    scene = scene_of(tmp_path, [GOOD, GOOD | {"id": "bad"} | change])
    assert [task.id for task in scene.facts.tasks] == ["t1"]
    (found,) = [f for f in scene.findings if f.severity == "doubt"]
    assert found.name == finding
    assert found.message.startswith("tasks.json: 1 of 2 tasks ")
    assert found.message.endswith(": bad")
    assert said in found.message
    assert found.remedy


def test_a_target_within_several_things_is_the_building_or_else_the_first_by_its_id(tmp_path: Path) -> None:
    """Two things of 2.4 m stand about one place, and at the other in a building as well."""
    both = [
        block(x, 10, 9, 20, id=f"{name}{x}", kind="bus stop") for x in (10, 60) for name in ("z", "a")
    ]  # fmt: skip
    tasks = [
        GOOD | {"id": str(x), "target": None, "target_pose": [x + 4, 20, 1, 0, 0, 0], "question": words}
        for x, words in ((10, "How tall is the building?"), (60, "How long is the bus stop?"))
    ]
    scene = read(write(tmp_path, *MAP, objects=[*OBJECTS, *both], tasks=tasks))
    assert {task.id: task.target for task in scene.facts.tasks} == {"10": "b1", "60": "a60"}


def test_centimetres_are_guessed_at(tmp_path: Path) -> None:
    poses = {"observation_pose": [3000, 6000, 500, 0, 0, 0], "target": None, "target_pose": [4000, 5000, 0, 0, 0, 0]}
    (found,) = [f for f in scene_of(tmp_path, [GOOD | poses]).findings if f.severity == "doubt"]
    assert "are these centimetres?" in found.remedy


def test_angles_in_radians_cost_the_file(tmp_path: Path) -> None:
    yaws = (float("nan"), 0, 1.5708, -3.14159)
    turned = [GOOD | {"id": str(i), "observation_pose": [30, 60, 5, 0, 0, yaw]} for i, yaw in enumerate(yaws)]
    scene = scene_of(tmp_path, turned)
    assert scene.facts.tasks == ()
    (told,) = [f for f in scene.findings if f.name == "angles_in_radians"]
    assert (told.measured, told.limit, told.unit) == (3.14159, 6.284, "as stated")


def test_ids_of_two_tasks_and_a_task_given_twice(tmp_path: Path) -> None:
    other = GOOD | {"answer": "blue"}
    scene = scene_of(tmp_path, [GOOD, other, GOOD | {"id": "t2"}, GOOD | {"id": "t2"}])
    assert [task.id for task in scene.facts.tasks] == ["t2"]
    assert "duplicate_id" in {f.name for f in scene.findings}


def test_entries_that_are_no_tasks(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, [GOOD, 5, None, {}])
    assert [task.id for task in scene.facts.tasks] == ["t1"]
    assert {f.name for f in scene.findings} == {"not_an_object", "bad_question", "map_quality"}


@pytest.mark.parametrize("tasks", [{"task": []}, 5, {"tasks": {}}])
def test_files_that_hold_no_tasks(tmp_path: Path, tasks: Any) -> None:
    with pytest.raises(RawDataError, match="list of tasks"):
        scene_of(tmp_path, tasks)


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    root = write(tmp_path, *MAP, tasks=[GOOD])
    (root / "here" / "tasks.json").write_text('[{"id": "t1", "question')
    with pytest.raises(RawDataError) as caught:
        read(root)
    assert caught.value.finding == "truncated_json"


def test_without_an_origin_of_its_own_a_city_has_no_tasks(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, [GOOD], settings="complete: []\n")
    assert scene.facts.tasks == ()
    assert "no_origin" in {f.name for f in scene.findings}


def test_photographs(tmp_path: Path) -> None:
    root = write(tmp_path, *MAP)
    (root / "here" / "1.jpg").write_bytes(b"a picture")
    (root / "here" / "photos.json").write_text(
        '{"photos": [{"file": "1.jpg", "pose": [1, 2, 3, 0, 0, 90]}, {"file": "2.jpg", "pose": [1, 2, 3, 0, 0, 90]},'
        ' {"file": "1.jpg", "pose": [1, 2]}]}'
    )
    scene = read(root)
    assert [(photo.path, photo.pose[5]) for photo in scene.facts.photos] == [("here/1.jpg", 90.0)]
    assert {"missing_photo", "bad_pose"} <= {f.name for f in scene.findings}


def test_poses() -> None:
    assert pose_of([1, 2, 3, 0, -5, -90]) == (1.0, 2.0, 3.0, 0.0, -5.0, 270.0)
    assert pose_of([1, 2, 3, 0, 0, 360]) == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("yaws", "radians"),
    [
        ([0, 90, 180], False),
        ([0, 0, 0], False),
        ([1.5708, 3.1416], True),
        ([-1.5708, 0], True),
        ([6.2832], True),  # all around, rounded
        ([1.5708, 6.29], False),
        ([1, 2, 3], False),  # degrees, as far as anybody knows
        ([], False),
        ([1.5708, 90], False),
    ],
)
def test_radians(yaws: list[float], radians: bool) -> None:
    assert in_radians(yaws) is radians
