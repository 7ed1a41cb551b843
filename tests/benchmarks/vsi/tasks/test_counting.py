from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from tests.conftest import BOTH, cube, make_scene, refusal_of, row_of, rows_of, through_reader, watched

TASK = "object_counting"
FIVE = [cube("chair", x, 0) for x in (0, 1, 2)] + [cube("table", x, 2) for x in (0, 1)]


@BOTH
def test_answer_is_the_number_of_instances(rules: Rules) -> None:
    scene = make_scene([*FIVE, cube("bed", 0, 4)])
    assert {r["operands"][0]: r["answer"] for r in rows_of(scene, TASK, rules)} == {
        "bed": None,
        "chair": "3",
        "table": "2",
    }


@BOTH
def test_one_is_too_few_and_two_are_enough(rules: Rules) -> None:
    scene = make_scene([*FIVE, cube("bed", 0, 4)])
    assert refusal_of(row_of(scene, TASK, ["bed"], rules)) == ("too_few_instances", 1.0, 2.0, "objects")
    assert refusal_of(row_of(scene, TASK, ["table"], rules)) is None


@pytest.mark.parametrize(("least", "refused"), [(1, set()), (2, {"bed"}), (3, {"bed", "table"})])
def test_the_limit_can_be_set(least: int, refused: set[str]) -> None:
    rules = PROFILES["strict"].model_copy(update={"min_count": least})
    rows = rows_of(make_scene([*FIVE, cube("bed", 0, 4)]), TASK, rules)
    assert {r["operands"][0] for r in rows if r["reason"]} == refused


@BOTH
def test_evidence_is_the_stated_count_beside_the_boxes(rules: Rules) -> None:
    evidence = row_of(make_scene(FIVE), TASK, ["chair"], rules)["evidence"]
    assert [(e["name"], e["subject"], e["value"], e["relation"], e["limit"], e["unit"]) for e in evidence] == [
        ("stated_count", "chair", 3.0, None, None, "objects"),
        ("boxes", "chair", 3.0, None, None, "objects"),
        ("too_few_instances", "rule", 3.0, ">=", 2.0, "objects"),
    ]


def test_a_count_that_differs_from_the_boxes_is_refused_by_strict_alone(tmp_path: Path) -> None:
    scene = through_reader(make_scene(FIVE, counts={"chair": 4, "table": 2}), tmp_path)
    row = row_of(scene, TASK, ["chair"], "strict")
    assert refusal_of(row) == ("count_differs_from_boxes", 3.0, 4.0, "objects")
    assert row["role"] == "category"
    assert row_of(scene, TASK, ["table"], "strict")["answer"] == "2"
    official = row_of(scene, TASK, ["chair"], "official")
    assert official["answer"] == "4"
    assert [e["value"] for e in official["evidence"][:2]] == [4.0, 3.0]


def test_a_doubled_box_is_refused_by_strict_alone(tmp_path: Path) -> None:
    """Three boxes, three stated, and yet two things."""
    scene = through_reader(make_scene([cube("printer", 0, 0), cube("printer", 2, 0), cube("printer", 0, 0)]), tmp_path)
    assert refusal_of(row_of(scene, TASK, ["printer"], "strict")) == ("doubled_box", 0.0, 0.001, "m")
    assert row_of(scene, TASK, ["printer"], "official")["answer"] == "3"


@pytest.mark.parametrize(("shift_m", "refused"), [(0.0009, True), (0.0011, False)])
def test_boxes_are_doubled_up_to_a_millimetre(shift_m: float, refused: bool, tmp_path: Path) -> None:
    scene = through_reader(make_scene([cube("printer", 0, 0), cube("printer", shift_m, 0)]), tmp_path)
    assert (row_of(scene, TASK, ["printer"], "strict")["reason"] == "doubled_box") == refused


@BOTH
def test_a_category_without_boxes_is_too_few_or_counted_as_stated(rules: Rules) -> None:
    scene = make_scene(FIVE, counts={"chair": 3, "table": 2, "shoe": 0, "book": 7})
    assert refusal_of(row_of(scene, TASK, ["shoe"], rules)) == ("too_few_instances", 0.0, 2.0, "objects")
    assert row_of(scene, TASK, ["book"], rules)["answer"] == "7"


def test_what_no_frame_shows_is_not_counted_by_strict() -> None:
    scene = watched(make_scene(FIVE), {("chair", 1): None, ("table", 0): None})
    assert row_of(scene, TASK, ["chair"], "strict")["answer"] == "2"
    assert refusal_of(row_of(scene, TASK, ["table"], "strict")) == ("too_few_instances", 1.0, 2.0, "objects")
    assert row_of(scene, TASK, ["chair"], "official")["answer"] == "3"


@pytest.mark.parametrize(("pixels", "refused"), [(0, True), (19, True), (20, False)])
def test_of_five_chairs_one_that_is_barely_shown_leaves_the_count_open(pixels: int, refused: bool) -> None:
    scene = watched(make_scene([cube("chair", x, 0) for x in range(5)]), {("chair", 3): pixels})
    row = row_of(scene, TASK, ["chair"], "strict")
    if refused:
        assert refusal_of(row) == ("barely_visible", float(pixels), 20.0, "pixels")
    else:
        assert row["answer"] == "5"
    assert row_of(scene, TASK, ["chair"], "official")["answer"] == "5"


@pytest.mark.parametrize(
    ("pixels", "refusal"),
    [
        ((50, None), None),  # only one is in the video
        ((50, 3), ("not_unique", 2.0, 1.0, "objects")),
        ((19, None), ("barely_visible", 19.0, 20.0, "pixels")),
        ((50, 50), ("not_unique", 2.0, 1.0, "objects")),
    ],
)
def test_the_telephone_is_the_only_one_that_anybody_can_see(
    pixels: tuple[int, int | None], refusal: tuple[str, float, float, str] | None
) -> None:
    scene = make_scene([cube("telephone", 0, 0), cube("telephone", 2, 0), cube("bed", 5, 5)])
    scene = watched(scene, {("telephone", i): shown for i, shown in enumerate(pixels)})
    for task in ("object_size_estimation", "object_abs_distance"):
        rows = [r for r in rows_of(scene, task) if "telephone" in r["operands"]]
        assert {refusal_of(r) for r in rows} == {refusal}, task


def test_the_nearest_of_several_may_be_the_one_that_is_barely_shown() -> None:
    others = [cube(name, 1.0 + i, 3.0) for i, name in enumerate(("bed", "door", "sofa"))]
    scene = make_scene([*others, cube("lamp", 0, 0), cube("chair", 0, 1), cube("chair", 0, 9)])
    scene = watched(scene, {("chair", 0): 19})
    rows = rows_of(scene, "object_rel_distance")
    assert [refusal_of(r) for r in rows if r["operands"] == ["chair"] and r["role"] == "choice"] == [
        ("barely_visible", 19.0, 20.0, "pixels")
    ]
