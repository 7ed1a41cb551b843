from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.tables import CANDIDATES, asked_in, rejected_in
from pipeline.questions.balance import LADDER, ONE_IN, TOO_COMMON, Balance, ClassTally, balance_of, drawn, lot_of
from pipeline.questions.selection import choose, select

COUNTING = "object_counting"


def test_lots_are_of_the_identity_and_even() -> None:
    lots = [drawn(number, "x") for number in range(2000)]
    assert lots[7] == drawn(7, "x") != drawn(7, "y")
    assert 0 <= min(lots) < max(lots) < 1
    assert abs(sum(lots) / len(lots) - 0.5) < 0.02


def both(task: str, *tallies: ClassTally) -> Balance:
    """The balance of one task, whatever the order of the scenes."""
    found = balance_of({task: tally} for tally in tallies)
    assert balance_of({task: tally} for tally in tallies[::-1]) == found
    return found


def test_rare_classes_go_first_where_they_are() -> None:
    """Ten scenes have left alone, ten both: what asks for left in the first is made up for in the others."""
    alone = [ClassTally(f"a{n}", {"left": 9}, 2) for n in range(10)]
    free = [ClassTally(f"b{n}", {"left": 9, "right": 9}, 4) for n in range(10)]
    found = both("task", *alone, *free).weights["task"]
    assert found["left"] == 1
    assert found["right"] > 2
    assert set(found.values()) <= set(LADDER)
    assert both("even", *(ClassTally(f"a{n}", {"x": 5, "y": 5}, 4) for n in range(10))).weights == {}
    assert both("one", *alone, *alone) == both("few", ClassTally("a", {"x": 50, "y": 5}, 39)) == Balance()


def test_answers_that_hardly_repeat_have_no_weights_and_no_limits() -> None:
    assert both("task", ClassTally("a", {f"name {n}": 9 for n in range(17)} | {"often": 90}, 80)) == Balance()


@pytest.mark.parametrize(
    ("classes", "stay"),
    [
        ((24, 22), 22),  # two of 24 may go
        ((48, 22), 41),  # no more than a tenth of 70
        ((24, 16), 20),
        ((24, 15), None),  # 39 are too few
        ((24, 24), None),
    ],
)
def test_limits_by_hand(classes: tuple[int, int], stay: int | None) -> None:
    """Those of the highest lots go, up to the next step."""
    many, fewer = classes
    found = both("task", ClassTally("one", {"a": many, "b": fewer}, sum(classes)))
    assert not found.weights, "all are asked"
    if stay is None:
        return
    lots = sorted(lot_of("one", "task", "a", place) for place in range(many))
    limit = found.limits["task"]["a"]
    assert limit * 64 == int(limit * 64)
    assert lots[stay - 1] < limit < lots[stay] + 1 / 64


def test_a_scene_depends_on_what_changes_its_questions_alone() -> None:
    """By hand: nothing where all are asked, the roundest limit that takes the same places, no limit that takes none."""
    weights = {"task": {"a": 1.0, "b": 2.0, "c": 4.0}}
    assert Balance(weights).of({"task": ClassTally("one", {"a": 3, "b": 3}, 6)}) == Balance()
    assert (
        Balance(weights).of({"task": ClassTally("one", {"a": 4}, 3), "other": ClassTally("one", {"a": 4, "b": 4}, 3)})
        == Balance()
    )
    part = Balance(weights).of({"task": ClassTally("one", {"a": 4, "b": 3}, 6)})
    assert part == Balance({"task": {"a": 1.0, "b": 2.0}})
    tally = {"task": ClassTally("one", {"a": 4, "b": 1}, 5)}
    lots = sorted(lot_of("one", "task", "a", place) for place in range(4))
    for limit in (k / 64 for k in range(65)):
        found = Balance(limits={"task": {"a": limit, "z": 0.0}}).of(tally)
        gone = [lot for lot in lots if lot >= limit]
        assert bool(found.limits) == bool(gone)
        if gone:
            ((name, own),) = found.limits["task"].items()
            assert name == "a"
            assert [lot for lot in lots if lot >= own] == gone
            assert limit <= own
    assert (
        Balance(limits={"task": {"a": 41 / 64}}).of(tally).limits
        == Balance(limits={"task": {"a": 0.75}}).of(tally).limits
    )


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
    tables = [scene(str(n), answers) for n, answers in enumerate(scenes)]
    tallies = [choose(table, TASKS, cap).tallies(f"made/{n}") for n, table in enumerate(tables)]
    balance = balance_of(tallies)
    order.shuffle(shuffled := tallies.copy())
    assert balance_of(shuffled) == balance
    parts = [balance.of(own) for own in tallies]
    found = [select(table, TASKS, cap, balance=part) for table, part in zip(tables, parts, strict=True)]
    whole = [select(table, TASKS, cap, balance=balance) for table in tables]
    assert list(map(asked_in, found)) == list(map(asked_in, whole)), "the part is enough"
    kept = Counter(answer for table in found for answer in asked_in(table)["answer"].to_pylist())
    gone = [row for table in found for row in rejected_in(table).to_pylist() if row["reason"] == TOO_COMMON]
    assert len(gone) * ONE_IN <= kept.total() + len(gone)
    assert all(row["measured"] >= row["limit"] for row in gone)
    even = [select(table, TASKS, cap, balance=Balance(balance.weights)) for table in tables]
    before = Counter(answer for table in even for answer in asked_in(table)["answer"].to_pylist())
    assert max(kept.values()) <= max(before.values())
    assert kept.total() + len(gone) == before.total()


def test_nothing_to_balance() -> None:
    assert choose(CANDIDATES.empty_table(), TASKS, 6).tallies("made/0") == {}
    assert balance_of([]) == balance_of([{}]) == Balance()


def test_a_class_that_is_asked_once_is_asked_of_the_scene_with_the_lowest_lot() -> None:
    """However many classes there are, and whatever other scenes do not offer it."""
    scenes = {n: ClassTally(f"s{n}", {f"q{k}": 1 for k in range(n, n + 30)}, 30, once=True) for n in range(3)}
    found = balance_of({"far": tally} for tally in scenes.values())
    left = {
        n: tally.classes.keys() - found.of({"far": tally}).limits.get("far", {}).keys() for n, tally in scenes.items()
    }
    assert sum(map(len, left.values())) == len(set().union(*left.values())) == 32
    for name, owner in found.owners["far"].items():
        lots = {tally.scene: drawn(tally.scene, "far", name) for tally in scenes.values() if name in tally.classes}
        assert owner == min(lots, key=lots.__getitem__)
    assert set(found.of({"far": scenes[0]}).limits["far"].values()) == {0.0}, "nothing of them is asked there"
