from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from pipeline.benchmarks.vsi.rules import Rules
from tests.conftest import BOTH, Placed, Vec3, cube, make_scene, refusal_of, row_of, rows_of, through_reader, watched

TASK = "object_size_estimation"


def placed(lengths: Vec3, category: str = "bed") -> Placed:
    return category, (1.0, 2.0, 0.5), lengths, 30.0


@BOTH
@pytest.mark.parametrize("lengths", sorted(permutations((2.07, 1.604, 0.55))))
def test_answer_is_the_longest_side_in_centimetres(lengths: Vec3, rules: Rules) -> None:
    row = row_of(make_scene([placed(lengths)]), TASK, ["bed"], rules)
    assert row["answer"] == "207"
    assert [(e["name"], e["value"], e["unit"]) for e in row["evidence"]] == [
        ("side_1", 2.07, "m"),
        ("side_2", 1.604, "m"),
        ("side_3", 0.55, "m"),
    ]


@BOTH
@pytest.mark.parametrize(
    ("longest_m", "answer"), [(0.6249, "62"), (0.625, "62"), (0.6251, "63"), (0.635, "64"), (0.304, "30"), (2.0, "200")]
)
def test_whole_centimetres_half_to_even(longest_m: float, answer: str, rules: Rules) -> None:
    assert row_of(make_scene([placed((0.1, longest_m, 0.2))]), TASK, ["bed"], rules)["answer"] == answer


@BOTH
def test_only_an_object_alone_of_its_category(rules: Rules) -> None:
    scene = make_scene(
        [cube("chair", 0, 0), cube("chair", 1, 0), cube("bed", 0, 4)], counts={"chair": 2, "bed": 1, "cup": 1}
    )
    rows = {r["operands"][0]: r for r in rows_of(scene, TASK, rules)}
    assert refusal_of(rows["chair"]) == ("not_unique", 2.0, 1.0, "objects")
    assert refusal_of(rows["cup"]) == ("category_without_box", 0.0, 1.0, "boxes")
    assert rows["chair"]["role"] == rows["cup"]["role"] == "category"
    assert rows["bed"]["answer"] == "20"


def test_official_takes_the_stated_count_and_strict_doubts_it(tmp_path: Path) -> None:
    scene = through_reader(
        make_scene([placed((0.5, 0.4, 0.3), "printer"), cube("printer", 3, 3)], counts={"printer": 1}), tmp_path
    )
    assert row_of(scene, TASK, ["printer"], "official")["answer"] == "50"
    assert refusal_of(row_of(scene, TASK, ["printer"], "strict")) == ("count_differs_from_boxes", 2.0, 1.0, "objects")


@pytest.mark.parametrize(("thin_m", "reason"), [(0.0009, "thin_box"), (0.0011, None)])
def test_a_side_below_a_millimetre_is_doubtful(thin_m: float, reason: str | None, tmp_path: Path) -> None:
    scene = through_reader(make_scene([placed((0.5, 0.4, thin_m))]), tmp_path)
    row = row_of(scene, TASK, ["bed"], "strict")
    assert row["reason"] == reason
    if reason:
        assert refusal_of(row) == ("thin_box", thin_m, 0.001, "m")
    assert row_of(scene, TASK, ["bed"], "official")["answer"] == "50"


@pytest.mark.parametrize(("share", "reason"), [(0.0, True), (0.899, True), (0.9, False), (1.0, False)])
def test_a_side_of_which_the_video_shows_too_little_is_not_asked(share: float, reason: bool) -> None:
    scene = watched(make_scene([placed((2.0, 1.6, 0.5))]), {}, extent={"bed": share})
    row = row_of(scene, TASK, ["bed"], "strict")
    assert refusal_of(row) == (("extent_not_shown", share, 0.9, "share") if reason else None)
    assert row_of(scene, TASK, ["bed"], "official")["answer"] == "200"


def test_how_much_the_video_shows_is_no_rule_where_nobody_looked() -> None:
    row = row_of(make_scene([placed((2.0, 1.6, 0.5))]), TASK, ["bed"], "strict")
    assert row["answer"] == "200"
    assert "extent_not_shown" not in {e["name"] for e in row["evidence"]}
