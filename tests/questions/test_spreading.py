"""Questions of one leak group are spread over what they name, and none of three objects is asked about twice."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.parquet import table_bytes
from pipeline.core.tables import asked_in, rejected_in
from pipeline.questions.selection import SHARED_MAX, SHARES, SpreadInput, select, spread
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.view import IndoorView
from tests.conftest import DIRECTIONS, make_scene, random_objects
from tests.tables import candidates

CAP = 6
KIN = (*DIRECTIONS, "object_rel_distance")


def kin_candidates(scene: IndoorScene, profile: str = "strict") -> pa.Table:
    return candidates(IndoorView(scene, PROFILES[profile]), [TASKS[task] for task in KIN])


def named(asked: pa.Table, leak_group: str | None) -> list[set[str]]:
    """What each question of a leak group names."""
    return [set(q["operands"]) for q in asked.to_pylist() if TASKS[q["task"]].leak_group == leak_group]


def triples(things: np.ndarray, task: int = 0) -> SpreadInput:
    """Candidates of one task and one answer."""
    n = len(things)
    return SpreadInput(np.full(n, task), np.zeros(n, dtype=np.intp), things)


def test_by_hand_everything_is_asked_about_before_anything_twice() -> None:
    """Seven things in sets of three: 012 is first by its id, then 345 names nothing again, then 6 is due."""
    things = np.array(list(combinations(range(7), 3)))
    found = spread(triples(things), [4])
    assert [tuple(things[row]) for row in found.chosen[:2]] == [(0, 1, 2), (3, 4, 5)]
    assert 6 in things[found.chosen[2]]
    assert len(found.chosen) == 4
    pairs = Counter(pair for row in found.chosen for pair in combinations(things[row], 2))
    assert max(pairs.values()) == 1  # 013 would ask about 0 and 1 together again


def test_by_hand_one_set_of_three_is_asked_about_once() -> None:
    orders = np.array([(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 1, 3)])
    offered = SpreadInput(np.array([0, 1, 2, 2]), np.zeros(4, dtype=np.intp), orders)
    found = spread(offered, [CAP] * 3)
    assert found.chosen.tolist() == [0, 3]  # the second task has none left
    assert found.shared.tolist() == [0, 3, 3, 0]


def test_by_hand_answers_are_even_where_things_leave_a_choice() -> None:
    """All candidates name other things: answers take turns."""
    things = np.arange(18).reshape(6, 3)
    answer = np.array([0, 0, 0, 1, 1, 2])
    found = spread(SpreadInput(np.zeros(6, dtype=np.intp), answer, things), [3])
    assert answer[found.chosen].tolist() == [0, 1, 2]  # the lowest first
    found = spread(SpreadInput(np.zeros(6, dtype=np.intp), 2 - answer, things), [1])
    assert answer[found.chosen].tolist() == [2]


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(5, 8))
def test_no_two_questions_of_a_kin_share_three_things(seed: int, categories: int) -> None:
    rows = kin_candidates(make_scene(random_objects(seed, categories)))
    selected = select(rows, TASKS, CAP)
    asked = asked_in(selected)
    for leak_group in ("direction", "nearest"):
        sets = named(asked, leak_group)
        assert all(len(a & b) <= SHARED_MAX for a, b in combinations(sets, 2))
    kinds = {TASKS[q["task"]].leak_group for q in asked.to_pylist()}
    assert kinds == {TASKS[r["task"]].leak_group for r in rows.to_pylist() if r["reason"] is None}
    for refused in rejected_in(selected).to_pylist():
        if refused["reason"] == SHARES:
            mine = set(refused["operands"])
            most = max(len(mine & other) for other in named(asked, TASKS[refused["task"]].leak_group))
            assert (refused["measured"], refused["limit"], refused["unit"]) == (most, SHARED_MAX, "objects")
            assert most > SHARED_MAX


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_row_order_means_nothing(seed: int) -> None:
    rows = kin_candidates(make_scene(random_objects(seed, 6)))
    shuffled = rows.take(pa.array(np.random.default_rng(seed).permutation(rows.num_rows)))
    assert table_bytes(select(rows, TASKS, CAP)) == table_bytes(select(shuffled, TASKS, CAP))


def sharing(scenes: list[list[set[str]]]) -> float:
    """Of the questions of some scenes, the share whose three objects are those of another one."""
    return float(np.mean([sets.count(mine) > 1 for sets in scenes for mine in sets]))


@pytest.mark.slow
@pytest.mark.real_data
def test_real_direction_questions_no_longer_give_one_another_away(real_scenes: list[IndoorScene]) -> None:
    """Every third scene of the released metadata; as many are left as there are sets of three."""
    tables = [kin_candidates(scene) for scene in real_scenes[::3]]
    before = [named(asked_in(select(table, TASKS, CAP, as_released=True)), "direction") for table in tables]
    after = [named(asked_in(select(table, TASKS, CAP)), "direction") for table in tables]
    assert sharing(before) > 0.5
    assert sharing(after) == 0
    for table, mine, theirs in zip(tables, after, before, strict=True):
        assert len(set().union(*mine)) >= len(set().union(*theirs))
        rows = [row for row in table.to_pylist() if row["task"] in DIRECTIONS and row["reason"] is None]
        sets = {frozenset(row["operands"]) for row in rows}
        assert len(mine) == len(sets) or len(mine) >= CAP
