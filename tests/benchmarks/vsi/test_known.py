"""Corrections that people made in published questions alone are doubts about the metadata they did not touch."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.vsi.audit import contradictions
from pipeline.core.errors import ConfigError
from pipeline.engine.config import build_config
from pipeline.engine.inputs import list_inputs
from pipeline.questions.published import Published
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.worlds.indoor.facts import IndoorScene
from tests.builds import build, config_of, rows_of, whys
from tests.conftest import cube, make_scene
from tests.worlds.indoor.readers.broken_metadata import write_scenes

FILE = "test-00000-of-00001.parquet"
CM = "What is the length of the longest dimension (length, width, or height) of the {}, measured in centimeters?"
APART = "Measuring from the closest point of each object, what is the distance between the {} and the {} (in meters)?"
AREA = (
    "What is the size of this room (in square meters)? \nIf multiple rooms are shown, estimate the size of the "
    "combined space."
)
SIDE = "If I am standing by the {} and facing the {}, is the {} to the left or the right of the {}?"


def scene() -> IndoorScene:
    """Five chairs, two refrigerators and, alone, a stove, a sofa and a tv."""
    chairs = [cube("chair", 0.5 * n, 5.0) for n in range(5)]
    fridges = [cube("refrigerator", 5.0, float(n)) for n in range(2)]
    return make_scene([*chairs, *fridges, cube("stove", 0, 0), cube("sofa", 0, 2), cube("tv", -1.2, 1.2)], area=26.4)


def published(task: str, text: str, truth: str, options: tuple[str, ...] | None = None) -> Published:
    return Published(7, "made", "room1", task, text, options, truth)


def count(category: str, truth: str) -> Published:
    return published("object_counting", f"How many {category}(s) are in this room?", truth)


@pytest.mark.parametrize(
    ("category", "ours", "theirs"), [("chair", 5, "2"), ("refrigerator", 2, "1"), ("stove", 1, "2")]
)
def test_a_count_that_people_corrected_is_in_doubt(category: str, ours: int, theirs: str) -> None:
    """As 45260928 (chairs), 09c1414f1b (refrigerators); and one too small to be asked, of what others are told by."""
    (found,) = contradictions([count(category, theirs)], scene())
    assert (found.name, found.severity, found.subject) == ("published_answer_differs", "doubt", category)
    assert (found.measured, found.limit, found.unit) == (ours, float(theirs), "objects")
    assert "published question 7" in found.message


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        (count("chair", "5"), []),
        (count("piano", "2"), []),  # the metadata say nothing of it
        (published("object_size_estimation", CM.format("stove"), "21"), []),  # 20 by another fit
        (published("object_size_estimation", CM.format("stove"), "60"), ["stove"]),
        (published("object_abs_distance", APART.format("stove", "sofa"), "1.9"), []),  # 1.8 by other points
        (published("object_abs_distance", APART.format("stove", "sofa"), "0.6"), ["sofa", "stove"]),
        (published("room_size_estimation", AREA, "26.4"), []),
        (published("room_size_estimation", AREA, "40.0"), ["room"]),
        (
            published(
                "object_rel_direction_easy", SIDE.format("stove", "sofa", "tv", "sofa"), "A", ("A. left", "B. right")
            ),
            [],
        ),
        (
            published(
                "object_rel_direction_easy", SIDE.format("stove", "sofa", "tv", "sofa"), "B", ("A. left", "B. right")
            ),
            ["sofa", "stove", "tv"],
        ),
        (count("chair", "several"), []),  # no number
        (published("object_counting", "Count the chairs", "2"), []),  # no wording that is known
    ],
)
def test_what_differs_by_more_than_fitting_and_rounding_is_in_doubt(question: Published, subjects: list[str]) -> None:
    assert [found.subject for found in contradictions([question], scene())] == subjects


@pytest.mark.slow
@pytest.mark.real_data
def test_released_answers_and_metadata_of_these_scenes_agree(
    real_scenes: list[IndoorScene], real_questions: list[Published]
) -> None:
    """The four corrected counts are of other scenes; one distance differs by a step, which is rounding."""
    for scene in real_scenes:
        mine = [q for q in real_questions if f"{q.dataset}/{q.scene_name}" == scene.id]
        assert contradictions(mine, scene) == ()


def rows(**changed: Any) -> list[dict[str, Any]]:
    base = {"id": 3, "dataset": "samples", "scene_name": "kitchen", "question_type": "object_counting", "options": None}
    return [base | {"question": "How many chair(s) are in this room?", "ground_truth": "5"} | changed]


@pytest.mark.slow
def test_a_build_asks_nothing_about_it_and_says_why(tmp_path: Path) -> None:
    meta = tmp_path / "meta"
    write_scenes(meta / "meta.json", {"kitchen": sample_scene(PLANS[1]), "lounge": sample_scene(PLANS[2])})
    questions = tmp_path / "published.jsonl"  # of a name that is not looked for beside metadata
    questions.write_text("\n".join(map(json.dumps, rows())), encoding="utf-8")
    build(meta, tmp_path / "out")
    before = rows_of(tmp_path / "out/release/data" / FILE)
    assert any(row["scene_name"] == "kitchen" and row["question_type"] == "object_counting" for row in before)
    outcome = build(meta, tmp_path / "out", known=str(questions))
    after = rows_of(tmp_path / "out/release/data" / FILE)
    assert not any(row["scene_name"] == "kitchen" and "chair" in row["question"] for row in after)
    assert [r for r in after if r["scene_name"] == "lounge"] == [r for r in before if r["scene_name"] == "lounge"]
    refused = {r["reason"] for r in rows_of(tmp_path / "out/release/rejected" / FILE) if r["operands"] == ["chair"]}
    assert "published_answer_differs" in refused
    assert whys(build(meta, tmp_path / "out", known=str(questions)))["unify"] == {"reused"}
    assert outcome.quarantine == []
    card = (tmp_path / "out/release/README.md").read_text(encoding="utf-8")
    assert str(questions) not in card


@pytest.mark.parametrize(("changed", "n"), [({}, 1), ({"dataset": None}, 1), ({"dataset": "other"}, 0)])
def test_questions_go_to_the_scenes_they_name(changed: dict[str, Any], n: int, tmp_path: Path) -> None:
    write_scenes(tmp_path / "meta.json", {"kitchen": sample_scene(PLANS[1])})
    questions = tmp_path.with_suffix(".jsonl")
    questions.write_text(json.dumps(rows(**changed)[0]), encoding="utf-8")
    (raw,) = list_inputs(config_of(tmp_path, known=str(questions))).inputs.values()
    assert len(raw.human_input.known) == n
    (without,) = list_inputs(config_of(tmp_path)).inputs.values()
    assert (raw.human_input.parts == without.human_input.parts) == (n == 0)
    assert raw.parts == without.parts


def test_only_where_published_questions_can_be_answered_again(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        list_inputs(config_of(tmp_path, known=str(tmp_path / "none.jsonl")))
    flights = build_config(
        {"benchmark": "urbanvideo", "roots": {"flights": tmp_path}, "known": str(tmp_path / "q.jsonl")}
    )
    with pytest.raises(ConfigError, match="urbanvideo cannot be answered again"):
        list_inputs(flights)
