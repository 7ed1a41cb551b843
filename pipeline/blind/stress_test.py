"""The stress test of arXiv 2511.04655: how well a forest answers from question and options alone.

Per task and fold a forest (`pipeline.blind.forest`) is trained on the other folds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pipeline.blind import priors
from pipeline.blind.features import Rows, rows_of
from pipeline.blind.forest import FittedForest, Run, run_here
from pipeline.blind.items import BlindItem, folds_of
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.errors import ConfigError
from pipeline.core.identity import digest


@dataclass(frozen=True)
class ForestScores:
    """What the stress test found of n questions, arrays (n,).

    Attributes:
        bias: out-of-fold probability of the right option, or mean relative accuracy of the guessed number.
        chance: what a random answer earns.
        earned: score of the forest's answer; for options 1 where the right one is the most probable, ties shared.
    """

    bias: FloatArray
    chance: FloatArray
    earned: FloatArray


@dataclass(frozen=True)
class Prepared:
    """The questions of one task, made ready to be fitted again and again."""

    task: str
    items: tuple[BlindItem, ...]
    rows: Rows
    truth: FloatArray

    @classmethod
    def made_of(cls, task: str, items: Sequence[BlindItem]) -> Prepared:
        """Questions of one task, in the order of their ids."""
        return cls(task, tuple(items), rows_of(items), np.array([float(item.number or 0) for item in items]))

    def of(self, index: IntArray) -> Prepared:
        """Some of the questions, by their indices (m,) in ascending order."""
        return Prepared(self.task, tuple(self.items[i] for i in index), self.rows.of(index), self.truth[index])

    def dealt(self, dealing: str) -> IntArray:
        """A fold (n,) for each question, groups kept together."""
        return folds_of([item.group for item in self.items], dealing=dealing)

    def fits(self, fold: IntArray) -> list[FittedForest]:
        """One per fold; none where there is no other fold to learn from."""
        tests = np.unique(fold).tolist() if len(fold) else []
        seeds = [int.from_bytes(digest("forest", self.task, str(test))[:4], "big") >> 1 for test in tests]
        fits = [FittedForest(self.rows, self.truth, fold, test, seed) for test, seed in zip(tests, seeds, strict=True)]
        return fits if len(fits) > 1 else []


def stress_test(items: Sequence[BlindItem], fold: IntArray, run: Run = run_here) -> ForestScores:
    """Scores of questions of any tasks, with the fold (n,) of each; equal whatever their order."""
    scores = ForestScores(*(np.zeros(len(items)) for _ in range(3)))
    index = tasks_of(items)
    tested = [Prepared.made_of(task, [items[i] for i in members]) for task, members in index.items()]
    for members, found in zip(
        index.values(), scores_of(tested, [fold[members] for members in index.values()], run), strict=True
    ):
        scores.bias[members], scores.chance[members], scores.earned[members] = found.bias, found.chance, found.earned
    return scores


def scores_of(tested: Sequence[Prepared], folds: Sequence[IntArray], run: Run) -> list[ForestScores]:
    """Scores of each task with its folds (n,); all fits are given to ``run`` at once."""
    fits = [one.fits(fold) for one, fold in zip(tested, folds, strict=True)]
    results = iter(run([fit for of_one in fits for fit in of_one]))
    scores = []
    for one, fold, mine in zip(tested, folds, fits, strict=True):
        chance = priors.chance(one.items, fold)
        bias, earned = chance.copy(), chance.copy()
        for fit, (found, score) in zip(mine, islice(results, len(mine)), strict=True):
            bias[fold == fit.test], earned[fold == fit.test] = found, score
        scores.append(ForestScores(bias, chance, earned))
    return scores


def tasks_of(items: Sequence[BlindItem]) -> dict[str, IntArray]:
    """Task -> indices of its questions in the order of their ids. Raises ConfigError where only some have options."""
    members: dict[str, list[int]] = defaultdict(list)
    for index in sorted(range(len(items)), key=lambda i: items[i].id):
        members[items[index].task].append(index)
    for task, found in members.items():
        without = [items[index].id for index in found if not items[index].options]
        if without and len(without) < len(found):
            raise ConfigError(
                f"{task}: question {without[0]} and others have no options, the rest have; name them apart"
            )
    return {task: np.array(members[task], dtype=np.intp) for task in sorted(members)}
