from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from pipeline.benchmarks.vsi.rules import Rules
from pipeline.geometry.grids import grid_cloud
from pipeline.worlds.indoor.facts import IndoorScene
from tests.conftest import BOTH, cube, make_scene, refusal_of, row_of, rows_of, through_reader

TASK = "object_abs_distance"


def pair(gap_m: float) -> IndoorScene:
    """A bed of 2 x 2 m and, this far beside it, a lamp of 40 cm."""
    return make_scene([("bed", (0, 0, 0.5), (2, 2, 1), 0.0), ("lamp", (1.2 + gap_m, 0.3, 0.4), (0.4, 0.4, 0.4), 0.0)])


@BOTH
@pytest.mark.parametrize(
    ("gap_m", "answer"), [(0.3, "0.3"), (1.0, "1.0"), (1.249, "1.2"), (1.251, "1.3"), (7.0, "7.0")]
)
def test_answer_is_the_gap_between_the_surfaces(gap_m: float, answer: str, rules: Rules) -> None:
    row = row_of(pair(gap_m), TASK, ["bed", "lamp"], rules)
    assert row["answer"] == answer
    fact, rule = row["evidence"]
    assert (fact["name"], fact["subject"], fact["unit"]) == ("distance", "bed - lamp", "m")
    assert fact["value"] == pytest.approx(gap_m, abs=1e-6)
    assert (rule["name"], rule["relation"], rule["limit"]) == ("objects_too_close", ">=", 0.2)


@BOTH
def test_corner_to_corner(rules: Rules) -> None:
    """Cubes of 2 m whose corners are 3, 4 and 0 m apart."""
    scene = make_scene([("a", (0, 0, 0), (2, 2, 2), 0.0), ("b", (5, 6, 0), (2, 2, 2), 0.0)])
    assert row_of(scene, TASK, ["a", "b"], rules)["answer"] == "5.0"


@BOTH
@pytest.mark.parametrize(("gap_m", "asked"), [(0.199, False), (0.201, True)])
def test_closer_than_20_cm_is_not_asked(gap_m: float, asked: bool, rules: Rules) -> None:
    row = row_of(pair(gap_m), TASK, ["bed", "lamp"], rules)
    assert refusal_of(row) == (None if asked else ("objects_too_close", pytest.approx(gap_m, abs=1e-6), 0.2, "m"))


@BOTH
def test_overlapping_objects_are_at_no_distance(rules: Rules) -> None:
    row = row_of(pair(-0.3), TASK, ["bed", "lamp"], rules)
    assert refusal_of(row) == ("objects_too_close", 0.0, 0.2, "m")


@pytest.mark.slow
def test_official_measures_between_grid_points() -> None:
    """On both sides of the limit, the verdict is that of all pairs of points."""
    verdicts = set()
    for gap_mm in range(120, 260, 7):
        scene = pair(gap_mm / 1000)
        clouds = [
            grid_cloud(*(np.array(part) for part in (o.box.center, o.box.lengths, o.box.axes)))
            for o in scene.facts.objects
        ]
        brute = cdist(*clouds).min()
        row = row_of(scene, TASK, ["bed", "lamp"], "official")
        measured = row["measured"] if row["reason"] else row["evidence"][0]["value"]
        assert measured == pytest.approx(brute, abs=1e-6)
        assert (row["reason"] == "objects_too_close") == (brute < 0.2)
        verdicts.add(row["reason"])
    assert verdicts == {None, "objects_too_close"}


@BOTH
def test_every_unordered_pair_of_unique_objects_once(rules: Rules) -> None:
    unique = ["sofa", "bed", "lamp", "tv", "door"]
    scene = make_scene([cube(n, i, 0) for i, n in enumerate(unique)] + [cube("chair", 7, 0), cube("chair", 8, 0)])
    rows = rows_of(scene, TASK, rules)
    asked_for = [tuple(r["operands"]) for r in rows if r["role"] is None]
    assert sorted(asked_for) == sorted(combinations(sorted(unique), 2))
    refused = {(r["role"], *r["operands"]): refusal_of(r) for r in rows if r["role"]}
    assert refused == {(role, "chair"): ("not_unique", 2.0, 1.0, "objects") for role in ("first", "second")}


def test_doubted_objects_are_refused_by_strict_alone(tmp_path: Path) -> None:
    """The printer is stated once and has two boxes, 1 m and 3 m from the bed."""
    objects = [("bed", (0, 0, 0.5), (2, 2, 1), 0.0), cube("printer", 2.1, 0), cube("printer", 4.1, 0)]
    scene = through_reader(make_scene(objects, counts={"bed": 1, "printer": 1}), tmp_path)
    strict = rows_of(scene, TASK, "strict")
    assert {(r["role"], *r["operands"], r["reason"]) for r in strict} == {
        (role, "printer", "count_differs_from_boxes") for role in ("first", "second")
    }
    assert row_of(scene, TASK, ["bed", "printer"], "official")["answer"] in ("1.0", "1.1")
