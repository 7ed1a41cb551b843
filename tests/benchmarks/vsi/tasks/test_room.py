from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from tests.conftest import cube, make_doubt, make_scene, refusal_of, rows_of, through_reader

TASK = "room_size_estimation"
PROFILE = pytest.mark.parametrize("rules", list(PROFILES.values()), ids=list(PROFILES))


@PROFILE
@pytest.mark.parametrize(
    ("area_m2", "answer"), [(26.4, "26.4"), (26.449, "26.4"), (26.451, "26.5"), (0.25, "0.2"), (312.0, "312.0")]
)
def test_answer_is_the_area_with_one_decimal(area_m2: float, answer: str, rules: Rules) -> None:
    (row,) = rows_of(make_scene([], area=area_m2), TASK, rules)
    assert row["answer"] == answer
    assert row["operands"] == []
    assert (row["evidence"][0]["name"], row["evidence"][0]["value"], row["evidence"][0]["unit"]) == (
        "room_area",
        area_m2,
        "m2",
    )


@PROFILE
def test_a_room_that_was_not_measured_is_never_zero(rules: Rules) -> None:
    (row,) = rows_of(make_scene([cube("bed", 0, 0)], area=None), TASK, rules)
    assert refusal_of(row) == ("room_not_measured", None, None, "m2")
    assert row["answer"] is None


@PROFILE
def test_a_released_zero_is_a_failed_measurement(rules: Rules, tmp_path: Path) -> None:
    scene = make_scene([cube("bed", 0, 0)], area=None)
    zero = scene.with_facts(room=scene.facts.room.model_construct(area_m2=0.0))
    (row,) = rows_of(through_reader(zero, tmp_path), TASK, rules)
    assert row["reason"] == "room_not_measured"


def test_strict_heeds_a_doubt_about_the_room() -> None:
    scene = make_scene([], area=26.4, findings=[make_doubt("holes_in_mesh", "room", 0.31, 0.2, "share")])
    (strict,), (official,) = (rows_of(scene, TASK, profile) for profile in ("strict", "official"))
    assert refusal_of(strict) == ("holes_in_mesh", 0.31, 0.2, "share")
    assert official["answer"] == "26.4"


@PROFILE
@pytest.mark.parametrize(
    ("furniture", "flags"),
    [
        ((), None),
        (("table", "chair"), None),
        (("bed", "nightstand"), None),
        (("bed", "sofa"), ["open_plan"]),
        (("stove", "refrigerator", "toilet"), ["open_plan"]),
    ],
)
def test_furniture_of_two_kinds_of_room_is_flagged(
    furniture: tuple[str, ...], flags: list[str] | None, rules: Rules
) -> None:
    (row,) = rows_of(make_scene([cube(name, i, 0) for i, name in enumerate(furniture)]), TASK, rules)
    assert row["flags"] == flags
    assert row["answer"] == "20.0"


def test_an_area_that_would_be_written_as_zero_is_refused() -> None:
    """0.04 m2 with one decimal is 0.0, which scores divide by."""
    (row,) = rows_of(make_scene([], area=0.04), TASK, PROFILES["official"])
    assert refusal_of(row) == ("answer_is_zero", 0.0, 0.0, None)
    (row,) = rows_of(make_scene([], area=0.06), TASK, PROFILES["official"])
    assert row["answer"] == "0.1"
