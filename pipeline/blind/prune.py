"""Iterative bias pruning (arXiv 2511.04655): the most guessable questions go, and the forest is fitted again.

Some questions are guessable only because of others, so no more than a batch goes before the scores are made anew. What
is left is the split ``debiased``; the full one stays.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from pipeline.blind.config import BATCH
from pipeline.blind.items import Item
from pipeline.blind.stress_test import Scores, stress_test
from pipeline.core.arrays import FloatArray, IntArray

FLOOR: Final = 10  # questions that every task keeps


def prune(
    items: Sequence[Item],
    fold: IntArray,
    scores: Scores,
    budget: int | None = None,
    tau: float = 0.0,
    progress: Callable[[int, int], None] = lambda done, removed: None,
    size: int = BATCH,
) -> tuple[IntArray, Scores]:
    """Round (n,) in which each question is removed, 0 for those that stay; and the scores of what stays.

    Per round the ``size`` questions of the highest bias above chance, equal ones by id. Never one that is less than
    ``tau`` above chance, never one of a task whose remaining bias is on average no more than chance (it would go on to
    questions that are guessed wrong), never below 10 of a task, and no more than ``budget`` in all. Folds stay as they
    are. ``scores`` are those of all questions; of a removed question the result has the score it was removed with.
    """
    removed_in = np.zeros(len(items), dtype=np.intp)
    now = Scores(scores.bias.copy(), scores.chance.copy(), scores.earned.copy())
    left = math.inf if budget is None else budget
    done = 0
    while batch := _batch(items, removed_in, now.bias - now.chance, tau, min(size, left)):
        done += 1
        removed_in[batch] = done
        left -= len(batch)
        progress(done, int((removed_in > 0).sum()))
        touched = {items[index].task for index in batch}
        again = [i for i, item in enumerate(items) if item.task in touched and not removed_in[i]]
        fresh = stress_test([items[i] for i in again], fold[again])
        now.bias[again], now.chance[again], now.earned[again] = fresh.bias, fresh.chance, fresh.earned
    return removed_in, now


def _batch(items: Sequence[Item], removed_in: IntArray, excess: FloatArray, tau: float, size: float) -> list[int]:
    """Indices of the next questions to remove; empty if there is none."""
    remaining = [index for index, done in enumerate(removed_in) if not done]
    by_task: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])  # questions left, and the sum of their excess
    for index in remaining:
        by_task[items[index].task][0] += 1
        by_task[items[index].task][1] += excess[index]
    batch: list[int] = []
    for index in sorted(remaining, key=lambda i: (-excess[i], items[i].id)):
        if len(batch) >= size or excess[index] < tau:
            break
        count, total = by_task[items[index].task]
        if count > FLOOR and total > 0:
            by_task[items[index].task] = [count - 1, total - float(excess[index])]
            batch.append(index)
    return batch
