"""The stress test of arXiv 2511.04655, and the accuracy of every attacker without the video: chance, priors and forest.

The stress test tells how well a forest answers from question and options alone: per task and fold a forest
(`pipeline.blind.forest`) is trained on the other folds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
import pyarrow as pa

from pipeline.blind import priors
from pipeline.blind.features import TaskRows, rows_of
from pipeline.blind.forest import FittedForest, Run, run_here
from pipeline.blind.items import UNSEEN, BlindItem, folds_of
from pipeline.blind.priors import PRIORS, by_median
from pipeline.blind.shortcut_attackers import LEAST, SHORTCUT_ATTACKERS, by_traits, elsewhere, mentions
from pipeline.blind.totals import GuessScores
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import ConfigError
from pipeline.core.groups import grouped
from pipeline.core.identity import digest


@dataclass(frozen=True)
class ForestScores:
    """Results of the stress test for n questions, arrays (n,).

    Attributes:
        bias: out-of-fold probability of the right option, or mean relative accuracy of the guessed number.
        chance: what a random answer earns.
        earned: score of the forest's answer; for options 1 where the right one is the most probable, ties shared.
    """

    bias: FloatArray
    chance: FloatArray
    earned: FloatArray


@dataclass(frozen=True)
class PreparedTask:
    """The questions of one task, made ready to be fitted again and again; ``from_others``: `hints_from_others`."""

    task: str
    items: tuple[BlindItem, ...]
    rows: TaskRows
    truth: FloatArray
    from_others: tuple[Told, ...] | None

    @classmethod
    def made_of(cls, task: str, items: Sequence[BlindItem], from_others: Sequence[Told] | None = None) -> PreparedTask:
        """Questions of one task, in the order of their ids."""
        truth = np.array([float(item.number or 0) for item in items])
        return cls(task, tuple(items), rows_of(items), truth, None if from_others is None else tuple(from_others))

    def of(self, index: IntArray) -> PreparedTask:
        """Some of the questions, by their indices (m,) in ascending order."""
        others = None if self.from_others is None else tuple(self.from_others[i] for i in index)
        return PreparedTask(
            self.task, tuple(self.items[i] for i in index), self.rows.of(index), self.truth[index], others
        )

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
    tested = [PreparedTask.made_of(task, [items[i] for i in members]) for task, members in index.items()]
    for members, found in zip(
        index.values(), scores_of(tested, [fold[members] for members in index.values()], run), strict=True
    ):
        scores.bias[members], scores.chance[members], scores.earned[members] = found.bias, found.chance, found.earned
    return scores


def scores_of(tested: Sequence[PreparedTask], folds: Sequence[IntArray], run: Run) -> list[ForestScores]:
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
    members = grouped(sorted(range(len(items)), key=lambda i: items[i].id), lambda i: items[i].task)
    for task, found in members.items():
        without = [items[index].id for index in found if not items[index].options]
        if without and len(without) < len(found):
            raise ConfigError(
                f"{task}: question {without[0]} and others have no options, the rest have; name them apart"
            )
    return {task: np.array(members[task], dtype=np.intp) for task in sorted(members)}


CHANCE: Final = "chance"
FOREST: Final = "forest"
OTHERS: Final = "by other questions"  # of the same group
ATTACKERS: Final = (*PRIORS, OTHERS, FOREST)
SHOWN: Final = tuple(
    name for name in ATTACKERS if name not in SHORTCUT_ATTACKERS
)  # in a terminal, beside the best of the others


def guessed(groups: Sequence[str], scores: Mapping[str, FloatArray]) -> GuessScores:
    """The figures of one task: means of scores (n,) of chance and each attacker; NaN is no guess."""
    usable = {name: found for name, found in scores.items() if name != CHANCE and not np.isnan(found).any()}
    errors = {name: standard_error(found, groups) for name, found in usable.items()}
    return GuessScores(
        n=len(groups),
        chance=float(scores[CHANCE].mean()),
        earned={name: float(found.mean()) for name, found in usable.items()},
        errors={name: error for name, error in errors.items() if error is not None},
    )


def summarise(items: Sequence[BlindItem], scores: Mapping[str, FloatArray]) -> dict[str, GuessScores]:
    """The figures of every task, in alphabetical order, from scores (n,) of `attack.attack`."""
    return {
        task: guessed([items[i].group for i in index], {name: found[index] for name, found in scores.items()})
        for task, index in tasks_of(items).items()
    }


def standard_error(scores: FloatArray, groups: Sequence[str]) -> float | None:
    """Standard error of the mean of scores (n,), where those of one group may depend on one another; None for one.

    The linearised estimator for cluster samples: the groups' sums of deviations from the mean.
    """
    _, group = np.unique(np.array(groups), return_inverse=True)
    sums = np.bincount(group, scores - scores.mean())
    if len(sums) < 2:
        return None
    return float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(scores))


def stress_table(
    items: Sequence[BlindItem],
    fold: IntArray,
    scores: ForestScores,
    removed_in: IntArray,
    tuned: FloatArray | None = None,
) -> pa.Table:
    """One row per question, sorted by id; ``removed_in_round`` is null for those that stay.

    ``tuned`` (n,) is the bias by a fine-tuned model (`fine_tuned.FineTunedScores`), a column more.
    """
    order = sorted(range(len(items)), key=lambda i: items[i].id)
    table = pa.table(
        {
            "id": pa.array([items[i].id for i in order]),
            "question_type": pa.array([items[i].task for i in order], pa.string()),
            "bias_score": pa.array(scores.bias[order], pa.float64()),
            "chance": pa.array(scores.chance[order], pa.float64()),
            "fold": pa.array(fold[order], pa.int32()),
            "removed_in_round": pa.array([int(removed_in[i]) or None for i in order], pa.int32()),
        }
    )
    return table if tuned is None else table.append_column("fine_tuned_bias_score", pa.array(tuned[order]))


SCORES: Final = pa.struct([(name, pa.float64()) for name in (CHANCE, *ATTACKERS)])  # of a question; null: no guess


def score_column(scores: Mapping[str, FloatArray], mine: BoolArray) -> pa.Array:
    """Scores (m,) as a column of n rows, of which ``mine`` (n,) have them: `SCORES`, and those of other attackers."""
    names, place = list(dict.fromkeys([*SCORES.names, *scores])), pa.array(np.cumsum(mine) - 1, mask=~mine)
    columns = [pa.array(scores[name], from_pandas=True).take(place) for name in names]
    return pa.StructArray.from_arrays(columns, names, mask=pa.array(~mine))


def scores_in(column: pa.ChunkedArray) -> dict[str, FloatArray]:
    """The scores of `score_column`; NaN for none."""
    names = [field.name for field in column.type]
    return dict(zip(names, (part.to_numpy() for part in column.flatten()), strict=True))


FEW: Final = 5_000  # questions; of more, one dealing is as exact as three of fewer


def attack(
    items: Sequence[BlindItem],
    run: Run,
    dealings: Sequence[str] = UNSEEN,
    informed: Mapping[str, FloatArray] | None = None,
) -> dict[str, FloatArray]:
    """Score (n,) of chance and each attacker on each question, the mean over several dealings of scenes to folds.

    NaN where an attacker has no guess. The dealings are those that nothing is chosen by, so that what filtering or
    pruning has fitted to its own folds does not flatter the result. With ``informed``, scores of the same questions
    among all that they were chosen from, each attacker has the better of the two in each task: what was taken out of a
    release is no secret. `LEAST` has not: nothing made all even. An attacker in ``informed`` alone keeps its scores.
    """
    index = tasks_of(items)
    tested = prepared(items, index)
    used = dealings if len(items) < FEW else dealings[:1]
    scores = {name: np.zeros(len(items)) for name in (CHANCE, *ATTACKERS)}
    for dealing in used:
        folds = [one.dealt(dealing) for one in tested]
        for one, members, fold, found in zip(tested, index.values(), folds, scores_of(tested, folds, run), strict=True):
            for name, earned in earned_by_all(one.items, fold, found, one.from_others).items():
                scores[name][members] += earned / len(used)
    for name, known in (informed or {}).items():
        scores.setdefault(name, np.full(len(items), np.nan))
        for members in index.values():
            mine = scores[name][members].mean()
            if name not in (CHANCE, LEAST) and (np.isnan(mine) or known[members].mean() > mine):
                scores[name][members] = known[members]
    return scores


def attack_in(items: Sequence[BlindItem], fold: IntArray, forest: ForestScores) -> dict[str, FloatArray]:
    """Score (n,) of chance and each attacker on each question, in given folds (n,) and with the forest's scores."""
    scores = {name: np.zeros(len(items)) for name in (CHANCE, *ATTACKERS)}
    for index in tasks_of(items).values():
        mine = ForestScores(forest.bias[index], forest.chance[index], forest.earned[index])
        own = [items[i] for i in index]
        for name, earned in earned_by_all(own, fold[index], mine, hints_from_others(own)).items():
            scores[name][index] = earned
    return scores


Told = Sequence[Hashable]  # a trait of each option; of a number one, how much is said of what it is about


def prepared(items: Sequence[BlindItem], index: Mapping[str, IntArray]) -> list[PreparedTask]:
    """The questions of each task (`tasks_of`), with what others tell."""
    own = {task: [items[i] for i in members] for task, members in index.items()}
    return [PreparedTask.made_of(task, mine, hints_from_others(mine)) for task, mine in own.items()]


def hints_from_others(items: Sequence[BlindItem]) -> Sequence[Told] | None:
    """What the other questions of its group tell of each question (n,) of one task; None without others."""
    if not any(item.company[1:] for item in items):
        return None
    return [elsewhere(item) for item in items] if items[0].options else mentions(items)[:, None].tolist()


def by_others(items: Sequence[BlindItem], fold: IntArray, from_others: Sequence[Told] | None) -> FloatArray:
    """Score (n,) of who reads all other questions of the group; NaN without others."""
    if from_others is None:
        return np.full(len(items), np.nan)
    if items[0].options:
        return by_traits(items, fold, from_others)
    key = {item.id: tuple(texts) for item, texts in zip(items, from_others, strict=True)}
    return by_median(items, fold, lambda item: key[item.id])


def earned_by_all(
    items: Sequence[BlindItem], fold: IntArray, forest: ForestScores, from_others: Sequence[Told] | None
) -> dict[str, FloatArray]:
    """Score (n,) of chance and each attacker on the questions of one task; ``from_others``: `hints_from_others`."""
    found = {CHANCE: forest.chance, OTHERS: by_others(items, fold, from_others)}
    for name, prior in PRIORS.items():
        earned = prior(items, fold)
        found[name] = np.full(len(items), np.nan) if earned is None else earned
    return found | {FOREST: forest.earned}
