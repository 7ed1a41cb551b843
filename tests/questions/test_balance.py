from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.tables import CANDIDATES, asked_in, rejected_in
from pipeline.questions.balance import KEPT_MIN, LADDER, Balance, Tally, drawn, limits, weights
from pipeline.questions.selection import TOO_COMMON, balance_of, select

COUNTING = "object_counting"


def test_lots_are_of_the_identity_and_even() -> None:
    lots = [drawn(number, "x") for number in range(2000)]
    assert lots[7] == drawn(7, "x") != drawn(7, "y")
    assert 0 <= min(lots) < max(lots) < 1
    assert abs(sum(lots) / len(lots) - 0.5) < 0.02


def test_rare_classes_go_first_where_they_are() -> None:
    """Ten scenes have left alone, ten both: what asks for left in the first is made up for in the others."""
    alone = [Tally(f"a{n}", {"left": 9}, 2) for n in range(10)]
    both = [Tally(f"b{n}", {"left": 9, "right": 9}, 4) for n in range(10)]
    found = weights({"task": alone + both, "even": [Tally("a", {"x": 5, "y": 5}, 4)], "one": alone})
    assert found.keys() == {"task"}
    assert found["task"]["right"] > 2 * found["task"]["left"]
    assert set(found["task"].values()) <= set(LADDER)
    assert weights({"task": (alone + both)[::-1]})["task"] == found["task"]


def test_answers_that_hardly_repeat_have_no_weights_and_no_limits() -> None:
    names = [f"name {n}" for n in range(17)]
    assert weights({"task": [Tally("a", dict.fromkeys([*names, "often"], 9), 3)]}) == {}
    assert limits({"task": {"often": [0.1] * 9} | {name: [0.5] for name in names}}) == {}


def test_limits_by_hand() -> None:
    """Ten and eight: two may go, and those of the highest lots do; of 15 and 3 no more than a tenth."""
    ten, eight = [n / 8 for n in range(10)][::-1], [0.5] * 8
    assert limits({"task": {"a": ten, "b": eight}}) == {"task": {"a": 8.5 / 8}}  # 10 - int(18 / 10) = 9 stay
    assert limits({"task": {"a": ten * 2, "b": eight * 2}}) == {"task": {"a": 8.0 / 8}}  # 17 of 20: the 17th and 18th
    assert limits({"task": {"a": [n / 16 for n in range(15)], "b": [0.0] * 3}}) == {"task": {"a": 13.5 / 16}}
    assert limits({"task": {"a": ten, "b": ten}, "one": {"a": ten}}) == {}


def scene(name: str, answers: str) -> pa.Table:
    """Counts of a scene that are asked, one a digit."""
    rows: list[dict[str, Any]] = [
        {"id": int.from_bytes(f"{name}{n}".encode(), "big"), "scene": f"made/{name}", "task": COUNTING}
        | {"operands": [f"thing {n}"], "answer": answer, "evidence": []}
        for n, answer in enumerate(answers)
    ]
    return pa.Table.from_pylist(rows, schema=CANDIDATES)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.lists(st.text("2345", min_size=1, max_size=8), min_size=2, max_size=12), st.integers(1, 4), st.randoms())
def test_at_most_a_tenth_goes_and_the_order_of_scenes_means_nothing(scenes: list[str], cap: int, order: Any) -> None:
    tables = [(f"made/{n}", scene(str(n), answers)) for n, answers in enumerate(scenes)]
    balance = balance_of(lambda: tables, TASKS, cap)
    order.shuffle(tables)
    assert balance_of(lambda: tables, TASKS, cap) == balance
    found = [select(table, TASKS, cap, balance=balance) for _, table in tables]
    kept = Counter(answer for table in found for answer in asked_in(table)["answer"].to_pylist())
    gone = [row for table in found for row in rejected_in(table).to_pylist() if row["reason"] == TOO_COMMON]
    assert kept.total() >= KEPT_MIN * (kept.total() + len(gone))
    assert all(row["measured"] >= row["limit"] for row in gone)
    even = [select(table, TASKS, cap, balance=Balance(balance.weights)) for _, table in tables]
    before = Counter(answer for table in even for answer in asked_in(table)["answer"].to_pylist())
    assert max(kept.values()) <= max(before.values())
    assert kept.total() + len(gone) == before.total()


@pytest.mark.parametrize("tables", [[], [("made/0", CANDIDATES.empty_table())]])
def test_nothing_to_balance(tables: list[tuple[str, pa.Table]]) -> None:
    assert balance_of(lambda: tables, TASKS, 6) == Balance()
