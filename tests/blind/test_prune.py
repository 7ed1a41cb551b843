from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import pipeline.blind.prune
from pipeline.blind.items import Item
from pipeline.blind.prune import BATCH, FLOOR, prune
from pipeline.blind.stress_test import Scores, stress_test
from tests.blind.made import nearest_items, number_item

CHANCE = 0.25


def fixed(items: Sequence[Item]) -> Scores:
    """Every question's number is its bias in hundredths, however often it is asked."""
    bias = np.array([float(item.number or 0) / 100 for item in items])
    return Scores(bias, np.full(len(items), CHANCE), bias)


@pytest.fixture
def refits(monkeypatch: pytest.MonkeyPatch) -> list[list[int | str]]:
    """The ids that are scored anew, per round."""
    calls: list[list[int | str]] = []

    def again(items: Sequence[Item], fold: np.ndarray) -> Scores:
        calls.append([item.id for item in items])
        return fixed(items)

    monkeypatch.setattr(pipeline.blind.prune, "stress_test", again)
    return calls


def made(biases: Sequence[int], task: str = "object_counting", first_id: int = 0) -> list[Item]:
    return [number_item(first_id + n, bias, task=task) for n, bias in enumerate(biases)]


def pruned(items: Sequence[Item], budget: int | None = None, tau: float = 0.0) -> list[int]:
    removed_in, _ = prune(items, np.zeros(len(items), dtype=np.intp), fixed(items), budget, tau)
    return removed_in.tolist()


def test_the_most_biased_go_first_in_batches(refits: list[list[int | str]]) -> None:
    items = made(range(30, 180))
    removed_in = pruned(items, budget=120)
    assert removed_in == [0] * 30 + [3] * 20 + [2] * BATCH + [1] * BATCH
    assert [len(ids) for ids in refits] == [100, 50, 30]


def test_equal_ones_go_by_id() -> None:
    items = made([90] * 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline.blind.prune, "stress_test", lambda items, fold: fixed(items))
        assert pruned(items[::-1], budget=3) == [0] * 17 + [1, 1, 1]


def test_it_stops_at_tau(refits: list[list[int | str]]) -> None:
    assert pruned(made([26, 74, 75, 76, *[30] * 20]), tau=0.5) == [0, 0, 1, 1, *[0] * 20]


def test_a_task_keeps_its_floor(refits: list[list[int | str]]) -> None:
    items = [*made([90] * 30), *made([60] * 12, "object_size_estimation", first_id=30)]
    removed_in = pruned(items)
    left = Counter(item.task for item, number in zip(items, removed_in, strict=True) if not number)
    assert left == {"object_counting": FLOOR, "object_size_estimation": FLOOR}


def test_a_task_without_bias_on_average_is_left_alone(refits: list[list[int | str]]) -> None:
    """Luck has a spread: what is guessed right by luck is no bias while as much is guessed wrong."""
    assert set(pruned(made([0, 50] * 30))) == {0}
    removed_in = pruned(made([*[0] * 30, *[50] * 40]))
    assert removed_in.count(1) == 10, "until as many are above chance as below"


def test_only_touched_tasks_are_fitted_again(refits: list[list[int | str]]) -> None:
    items = [*made([90] * 12), *made([30] * 12, "object_size_estimation", first_id=12)]
    pruned(items, budget=2)
    assert refits == [list(range(2, 12))]


def test_no_budget_is_none_and_nought_is_nought(refits: list[list[int | str]]) -> None:
    items = made([90] * 30)
    assert set(pruned(items, budget=0)) == {0}
    assert Counter(pruned(items)) == {0: FLOOR, 1: 30 - FLOOR}


def test_removed_questions_keep_their_score_and_the_given_scores_stay(refits: list[list[int | str]]) -> None:
    items = made([90, *[30] * 20])
    scores = fixed(items)
    scores.bias[0] = 0.8
    seen: list[tuple[int, int]] = []
    removed_in, after = prune(
        items,
        np.zeros(21, dtype=np.intp),
        scores,
        budget=1,
        progress=lambda done, removed: seen.append((done, removed)),
    )
    assert (removed_in[0], after.bias[0], scores.bias[0]) == (1, 0.8, 0.8)
    assert seen == [(1, 1)]


def test_pruning_a_shortcut_makes_the_task_harder() -> None:
    """A hundred questions where the lamp is right and a hundred by chance: what goes is where it is right."""
    planted = nearest_items(100, shortcut=True)
    items = [*planted, *nearest_items(100, shortcut=False, seed=1)]
    items = [Item(n, i.task, f"scene{n // 4}", i.text, i.options, i.right, i.number) for n, i in enumerate(items)]
    fold = np.arange(200) // 4 % 5
    before = stress_test(items, fold)
    removed_in, after = prune(items, fold, before, budget=80)
    removed = [item for item, number in zip(items, removed_in, strict=True) if number]
    assert np.mean([item.options[item.right or 0] == "lamp" for item in removed]) > 0.9
    assert after.earned[removed_in == 0].mean() < before.earned.mean() - 0.1
