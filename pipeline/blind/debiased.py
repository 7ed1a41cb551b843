"""The split `debiased`: what pruning leaves of a benchmark, and what attackers earn on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.blind.attack import attack
from pipeline.blind.config import PruneConfig
from pipeline.blind.folds import folds_of
from pipeline.blind.items import items_of
from pipeline.blind.prune import prune
from pipeline.blind.rounds import Rounds
from pipeline.blind.stress_test import stress_test
from pipeline.blind.summary import score_column, stress_table
from pipeline.blind.workers import on_all_cores

LEFT: Final = "left"


def debiased(
    questions: pa.Table,
    filtered: pa.Table,
    config: PruneConfig,
    progress: Callable[[int, int], None],
    rounds: Rounds | None = None,
) -> pa.Table:
    """`summary.stress_table` of what filtering left, and for what stays the scores of attackers on unseen folds.

    Args:
        questions: all that were selected (`core.tables.QUESTIONS`).
        filtered: `filtering.FILTERED` of them.
        config: how far to prune.
        progress: called with the questions removed and all questions.
        rounds: of this pruning, where they are kept.
    """
    stay = filtered.filter(pc.is_null(filtered["reason"]))["id"]
    items = items_of(questions.filter(pc.is_in(questions["id"], stay.combine_chunks())))
    fold = folds_of([item.group for item in items])
    with on_all_cores(len(items)) as run:
        scores = stress_test(items, fold, run)
        removed_in = prune(items, config, run, lambda _, removed: progress(removed, len(items)), rounds)
        left = [item for item, number in zip(items, removed_in.tolist(), strict=True) if not number]
        found = attack(left, run)
    table = stress_table(items, fold, scores, removed_in)
    return table.append_column(LEFT, score_column(table["id"].to_pylist(), left, found))
