from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.tables import CANDIDATES, asked_in, rejected_in
from pipeline.questions.balance import LADDER, ONE_IN, Balance, ClassTally, drawn, limits, weights
from pipeline.questions.selection import TOO_COMMON, balance_of, select

COUNTING = "object_counting"


def test_lots_are_of_the_identity_and_even() -> None:
    lots = [drawn(number, "x") for number in range(2000)]
    assert lots[7] == drawn(7, "x") != drawn(7, "y")
    assert 0 <= min(lots) < max(lots) < 1
    assert abs(sum(lots) / len(lots) - 0.5) < 0.02


def test_rare_classes_go_first_where_they_are() -> None:
    """Ten scenes have left alone, ten both: what asks for left in the first is made up for in the others."""
    alone = [ClassTally(f"a{n}", {"left": 9}, 2) for n in range(10)]
    both = [ClassTally(f"b{n}", {"left": 9, "right": 9}, 4) for n in range(10)]
    found = weights({"task": alone + both, "even": [ClassTally("a", {"x": 5, "y": 5}, 4)], "one": alone})
    assert found.keys() == {"task"}
    assert found["task"]["right"] > 2 * found["task"]["left"]
    assert set(found["task"].values()) <= set(LADDER)
    assert weights({"task": (alone + both)[::-1]})["task"] == found["task"]


def test_answers_that_hardly_repeat_have_no_weights_and_no_limits() -> None:
    names = [f"name {n}" for n in range(17)]
    assert weights({"task": [ClassTally("a", dict.fromkeys([*names, "often"], 9), 3)]}) == {}
    assert limits({"task": {"often": [0.1] * 9} | {name: [0.5] for name in names}}) == {}


def test_limits_by_hand() -> None:
    """Of 24 and 22 two may go, and those of the highest lots do; of 24 and 16 no more than a tenth."""
    many, fewer = [n / 32 for n in range(24)][::-1], [0.5] * 22
    assert limits({"task": {"a": many, "b": fewer}}) == {"task": {"a": 21.5 / 32}}  # 22 of 24 stay
    assert limits({"task": {"a": [*many, *many], "b": fewer}}) == {"task": {"a": 20.0 / 32}}  # 48 - 7: up to the 21st
    assert limits({"task": {"a": many, "b": [0.0] * 16}}) == {"task": {"a": 19.5 / 32}}  # a tenth of 40 goes
    assert limits({"task": {"a": many, "b": [0.0] * 15}}) == {}, "39 questions are too few"
    assert limits({"task": {"a": many, "b": many}, "one": {"a": [*many, *many]}}) == {}


def scene(name: str, answers: str) -> pa.Table:
    """Counts of a scene that are asked, one a digit."""
    rows: list[dict[str, Any]] = [
        {"id": int.from_bytes(f"{name}{n}".encode(), "big"), "scene": f"made/{name}", "task": COUNTING}
        | {"operands": [f"thing {n}"], "answer": answer, "evidence": []}
        for n, answer in enumerate(answers)
    ]
    return pa.Table.from_pylist(rows, schema=CANDIDATES)


@pytest.mark.slow
@settings(max_examples=1, deadline=None)
@given(st.lists(st.text("2345", min_size=1, max_size=8), min_size=20, max_size=30), st.integers(2, 4), st.randoms())
def test_at_most_a_tenth_goes_and_the_order_of_scenes_means_nothing(scenes: list[str], cap: int, order: Any) -> None:
    tables = [(f"made/{n}", scene(str(n), answers)) for n, answers in enumerate(scenes)]
    balance = balance_of(lambda: tables, TASKS, cap)
    order.shuffle(tables)
    assert balance_of(lambda: tables, TASKS, cap) == balance
    found = [select(table, TASKS, cap, balance=balance) for _, table in tables]
    kept = Counter(answer for table in found for answer in asked_in(table)["answer"].to_pylist())
    gone = [row for table in found for row in rejected_in(table).to_pylist() if row["reason"] == TOO_COMMON]
    assert len(gone) * ONE_IN <= kept.total() + len(gone)
    assert all(row["measured"] >= row["limit"] for row in gone)
    even = [select(table, TASKS, cap, balance=Balance(balance.weights)) for _, table in tables]
    before = Counter(answer for table in even for answer in asked_in(table)["answer"].to_pylist())
    assert max(kept.values()) <= max(before.values())
    assert kept.total() + len(gone) == before.total()


@pytest.mark.parametrize("tables", [[], [("made/0", CANDIDATES.empty_table())]])
def test_nothing_to_balance(tables: list[tuple[str, pa.Table]]) -> None:
    assert balance_of(lambda: tables, TASKS, 6) == Balance()
