"""What guessing earns per task, side by side, and the stress test as a table of one row per question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.blind import priors
from pipeline.blind.folds import folds_of
from pipeline.blind.items import Item
from pipeline.blind.stress_test import Scores, tasks_of
from pipeline.core.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class TaskSummary:
    """Mean scores of one task: accuracy for options, mean relative accuracy for numbers.

    Attributes:
        median: None for options.
        by_name_mixed: as ``by_name``, with folds that part the questions of a group.
        forest: of the stress test; ``forest_error`` is its standard error, questions of one group taken together.
        left: questions that pruning left; ``forest_left`` and ``chance_left`` are what they earn then.
    """

    task: str
    n: int
    chance: float
    most_frequent: float
    median: float | None
    by_name: float
    by_name_mixed: float
    forest: float
    forest_error: float
    left: int
    forest_left: float
    chance_left: float


def summarise(
    items: Sequence[Item], fold: IntArray, scores: Scores, removed_in: IntArray, pruned: Scores
) -> list[TaskSummary]:
    """One summary per task. ``removed_in`` and ``pruned`` are what `prune` gave; zeros and ``scores`` without it."""
    mixed = folds_of([str(item.id) for item in items])
    summaries = []
    for task, index in tasks_of(items).items():
        members, folds = [items[i] for i in index], fold[index]
        median = priors.task_median(members, folds)
        left = index[removed_in[index] == 0]
        summaries.append(
            TaskSummary(
                task=task,
                n=len(index),
                chance=float(scores.chance[index].mean()),
                most_frequent=float(priors.most_frequent(members, folds).mean()),
                median=None if median is None else float(median.mean()),
                by_name=float(priors.by_name(members, folds).mean()),
                by_name_mixed=float(priors.by_name(members, mixed[index]).mean()),
                forest=float(scores.earned[index].mean()),
                forest_error=standard_error(scores.earned[index], [item.group for item in members]),
                left=len(left),
                forest_left=float(pruned.earned[left].mean()),
                chance_left=float(pruned.chance[left].mean()),
            )
        )
    return summaries


def standard_error(scores: FloatArray, groups: Sequence[str]) -> float:
    """Standard error of the mean of scores (n,), where those of one group may depend on one another; NaN for one group.

    The linearised estimator for cluster samples: the groups' sums of deviations from the mean.
    """
    _, group = np.unique(np.array(groups), return_inverse=True)
    sums = np.bincount(group, scores - scores.mean())
    return (
        float(np.sqrt((sums**2).sum() * np.divide(len(sums), len(sums) - 1)) / len(scores)) if len(sums) > 1 else np.nan
    )


def stress_table(items: Sequence[Item], fold: IntArray, scores: Scores, removed_in: IntArray) -> pa.Table:
    """One row per question, sorted by id; ``removed_in_round`` is null for those that stay."""
    order = sorted(range(len(items)), key=lambda i: items[i].id)
    return pa.table(
        {
            "id": pa.array([items[i].id for i in order]),
            "question_type": pa.array([items[i].task for i in order], pa.string()),
            "bias_score": pa.array(scores.bias[order], pa.float64()),
            "chance": pa.array(scores.chance[order], pa.float64()),
            "fold": pa.array(fold[order], pa.int32()),
            "removed_in_round": pa.array([int(removed_in[i]) or None for i in order], pa.int32()),
        }
    )
