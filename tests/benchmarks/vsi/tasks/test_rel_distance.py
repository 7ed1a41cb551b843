from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.benchmarks.vsi.tasks.relations import NEAREST, OF_ANY, RelDistance
from pipeline.core.tables import selected_questions
from pipeline.questions.balance import balance_of
from pipeline.questions.selection import choose, select
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.view import IndoorView
from tests.benchmarks.vsi.nearness_table import nearness
from tests.conftest import BOTH, OFFICIAL_EXACT, Placed, cube, make_doubt, make_scene, refusal_of, row_of, rows_of
from tests.tables import candidates

TASK = "object_rel_distance"
WAYS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 0))
NAMES = ("chair", "door", "lamp", "sofa", "tv")


def around(gaps_m: Sequence[float], area: float | None = 20.0, more: Sequence[Placed] = ()) -> IndoorScene:
    """A table of 20 cm at the origin and cubes of 20 cm straight in front of its faces, at these gaps."""
    placed = [
        cube(name, (gap + 0.2) * x, (gap + 0.2) * y) for name, gap, (x, y) in zip(NAMES, gaps_m, WAYS, strict=False)
    ]
    return make_scene([cube("table", 0, 0), *placed, *more], area=area)


OPERANDS = ["table", "chair", "door", "lamp", "sofa"]


@BOTH
@pytest.mark.parametrize(
    ("gaps_m", "nearest"),
    [((1.0, 1.5, 2.2, 3.1), "chair"), ((3.1, 1.5, 2.2, 1.0), "sofa"), ((2.0, 0.4, 1.2, 1.6), "door")],
)
def test_answer_is_the_nearest(gaps_m: tuple[float, ...], nearest: str, rules: Rules) -> None:
    row = row_of(around(gaps_m), TASK, OPERANDS, rules)
    assert row["answer"] == nearest
    distances = {e["subject"]: e["value"] for e in row["evidence"] if e["name"] == "distance"}
    assert distances == {
        f"table - {name}": pytest.approx(gap, abs=1e-6) for name, gap in zip(NAMES, gaps_m, strict=False)
    }
    assert [(e["name"], e["relation"], e["limit"]) for e in row["evidence"] if e["subject"] == "rule"] == [
        ("nearest_too_close", ">=", 0.15),
        ("distances_too_similar", ">", 0.15),
    ]


@BOTH
@pytest.mark.parametrize(("nearest_m", "asked"), [(0.149, False), (0.151, True)])
def test_the_nearest_is_at_least_15_cm_away(nearest_m: float, asked: bool, rules: Rules) -> None:
    row = row_of(around((nearest_m, 1.5, 2.2, 3.1)), TASK, OPERANDS, rules)
    expected = None if asked else ("nearest_too_close", pytest.approx(nearest_m, abs=1e-6), 0.15, "m")
    assert refusal_of(row) == expected


@BOTH
@pytest.mark.parametrize(("gap_m", "asked"), [(0.149, False), (0.151, True)])
@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (2, 3)])
def test_any_two_distances_differ_by_more_than_15_cm(
    pair: tuple[int, int], gap_m: float, asked: bool, rules: Rules
) -> None:
    gaps_m = [1.0, 2.0, 3.0, 4.0]
    gaps_m[pair[1]] = gaps_m[pair[0]] + gap_m
    row = row_of(around(gaps_m), TASK, OPERANDS, rules)
    expected = None if asked else ("distances_too_similar", pytest.approx(gap_m, abs=1e-6), 0.15, "m")
    assert refusal_of(row) == expected


@pytest.mark.parametrize(
    ("area", "gap_m", "strict_limit"),
    [
        (39.9, 0.2, None),
        (40.0, 0.2, None),
        (40.1, 0.2, 0.30),
        (40.1, 0.299, 0.30),
        (40.1, 0.301, None),
        (None, 0.2, 0.30),
        (None, 0.301, None),
    ],
)
def test_large_rooms_need_twice_the_gap_in_strict_alone(
    area: float | None, gap_m: float, strict_limit: float | None
) -> None:
    scene = around((1.0, 1.0 + gap_m, 2.2, 3.1), area=area)
    expected = strict_limit and ("distances_too_similar", pytest.approx(gap_m, abs=1e-6), strict_limit, "m")
    assert refusal_of(row_of(scene, TASK, OPERANDS, "strict")) == expected
    assert refusal_of(row_of(scene, TASK, OPERANDS, OFFICIAL_EXACT)) is None
    rule = row_of(scene, TASK, OPERANDS, OFFICIAL_EXACT)["evidence"][-1]
    assert (rule["name"], rule["limit"]) == ("distances_too_similar", 0.15)


@pytest.mark.parametrize(("second_m", "asked"), [(5.49, False), (5.51, True)])
def test_the_lead_of_the_nearest_grows_with_its_distance_in_strict_alone(second_m: float, asked: bool) -> None:
    """Among the others 15 cm tell them apart: which of them is nearer is not asked."""
    scene = around((5.0, second_m, second_m + 0.2, 9.0))
    expected = None if asked else ("distances_too_similar", pytest.approx(second_m - 5), pytest.approx(0.5), "m")
    assert refusal_of(row_of(scene, TASK, OPERANDS, "strict")) == expected
    assert refusal_of(row_of(scene, TASK, OPERANDS, OFFICIAL_EXACT)) is None


@BOTH
def test_of_several_instances_the_nearest_counts(rules: Rules) -> None:
    """The chairs are at 3.1 and at 0.5 m; the lamp alone at 1.0 m."""
    scene = around((3.1, 1.5, 1.0, 2.2), more=[cube("chair", 0.7, 0)])
    row = row_of(scene, TASK, OPERANDS, rules)
    assert row["answer"] == "chair"
    assert row["evidence"][0]["value"] == pytest.approx(0.5, abs=1e-6)


@BOTH
def test_every_unique_primary_with_every_four_others_once(rules: Rules) -> None:
    scene = around((1.0, 1.5, 2.2, 3.1, 4.0), more=[cube("chair", 0.7, 0), cube("bed", 5, 5)])
    rows = rows_of(scene, TASK, rules)
    categories = sorted(["table", "bed", *NAMES])
    expected = [
        (primary, *four)
        for primary in categories
        if primary != "chair"
        for four in combinations([c for c in categories if c != primary], 4)
    ]
    assert sorted(tuple(r["operands"]) for r in rows if r["role"] is None) == sorted(expected)
    assert [(r["role"], r["operands"], refusal_of(r)) for r in rows if r["role"]] == [
        ("primary", ["chair"], ("not_unique", 2.0, 1.0, "objects"))
    ]


def test_a_doubted_category_is_neither_primary_nor_choice_in_strict() -> None:
    scene = around((1.0, 1.5, 2.2, 3.1, 4.0))
    doubted = scene.model_copy(update={"findings": (make_doubt("doubled_box", "tv", 0.0, 0.001, "m"),)})
    strict = rows_of(doubted, TASK, "strict")
    assert not any("tv" in r["operands"] for r in strict if r["role"] is None)
    assert {(r["role"], r["operands"][0], r["reason"]) for r in strict if r["role"]} == {
        ("primary", "tv", "doubled_box"),
        ("choice", "tv", "doubled_box"),
    }
    assert any("tv" in r["operands"] for r in rows_of(doubted, TASK, OFFICIAL_EXACT) if r["role"] is None)


@pytest.mark.parametrize("choices", [2, 3])
def test_the_number_of_choices_is_an_argument(choices: int) -> None:
    scene = around((1.0, 1.5, 2.2, 3.1))
    table = candidates(IndoorView(scene, PROFILES["strict"]), [RelDistance(choices)])
    found = [r["operands"] for r in table.to_pylist()]
    names = sorted(["table", *NAMES[:4]])
    assert found == [[p, *c] for p in names for c in combinations([n for n in names if n != p], choices)]


def test_too_few_categories_make_no_question() -> None:
    assert rows_of(around((1.0, 1.5, 2.2)), TASK) == []


def test_guesses_by_hand() -> None:
    """A towel is the nearest more often than a chair, a door or a cup; but beside a desk one thinks of a chair."""
    choices = ["chair", "cup", "door", "towel"]
    assert sorted(choices, key=lambda name: -NEAREST[name]) == ["towel", "chair", "door", "cup"]

    def classes(task: RelDistance, primary: str, offered: list[str], order: list[str]) -> list[str]:
        lists = pa.array([[primary, *offered]] * len(order))
        return task.guess_classes(lists, np.array(order, dtype=object)).tolist()

    told = [f"by names {place}" for place in range(4)]
    assert classes(RelDistance(), "heater", choices, ["towel", "chair", "door", "cup"]) == list("0123")
    assert classes(RelDistance(), "desk", choices, ["chair", "towel", "door", "cup"]) == told
    assert classes(RelDistance(farthest=True), "desk", choices, ["cup", "door", "towel", "chair"]) == told
    assert classes(RelDistance(), "sofa", ["orb", "urn", "vat", "yak"], ["orb", "yak"]) == ["0", "3"]


@pytest.mark.slow
@pytest.mark.real_data
def test_what_is_usually_near_is_right_no_more_often_than_by_chance(real_scenes: list[IndoorScene]) -> None:
    """By a table of half of the scenes, on the others: among their questions, and among all that could be asked."""
    table = nearness(real_scenes[::2])
    rows = [candidates(IndoorView(scene, PROFILES["strict"]), [RelDistance()]) for scene in real_scenes[1::2]]
    scenes = list(zip([scene.id for scene in real_scenes[1::2]], rows, strict=True))
    tallies = [choose(found, TASKS, 6).tallies(name) for name, found in scenes]
    balance = balance_of(tallies)
    chosen = [select(found, TASKS, 6, balance=balance.of(own)) for found, own in zip(rows, tallies, strict=True)]
    asked = [selected_questions(found).to_pylist() for found in chosen]
    could = [[row for row in found.to_pylist() if row["reason"] is None] for found in rows]

    def usual(scenes: list[list[dict[str, Any]]]) -> float:
        """The share in which the usual one is right."""
        found = [
            max(row["operands"][1:], key=lambda name: table.get(name, OF_ANY)) == row["answer"]
            for row in chain.from_iterable(scenes)
        ]
        return sum(found) / len(found)

    assert usual(asked) < 0.32 < usual(could)


@pytest.mark.real_data
def test_the_table_is_that_of_the_released_scenes(real_scenes: list[IndoorScene]) -> None:
    assert nearness(real_scenes) == NEAREST
