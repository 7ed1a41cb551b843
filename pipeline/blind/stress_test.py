"""How well a random forest answers from question and options alone (the stress test of arXiv 2511.04655).

Per task and fold a forest is trained on the other folds. Options are scored one by one, and their probabilities divided
by their sum: letters are shuffled, so a letter is no class, and an order of four names is none either. For a number the
forest gives a distribution of training answers, and the one with the highest expected score is the guess. (A forest's
mean is none: of answers that are 2 in half the cases and up to 30 otherwise it is near 4.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from pipeline.blind import priors
from pipeline.blind.features import Rows, encode, rows_of
from pipeline.blind.items import Item
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import ConfigError
from pipeline.core.identity import digest
from pipeline.metrics.mra import mean_relative_accuracies

CLASSIFIER_TREES: Final = 100  # blind.md
REGRESSOR_TREES: Final = 200
MIN_LEAF: Final = 5  # rows; between 1 and 5 no difference beyond the standard error, and 5 is faster
_TINY: Final = 1e-6


@dataclass(frozen=True)
class Scores:
    """Of n questions, arrays (n,).

    Attributes:
        bias: out-of-fold probability of the right option, or mean relative accuracy of the guessed number.
        chance: what a random answer earns.
        earned: score of the forest's answer; for options 1 where the right one is the most probable, ties shared.
    """

    bias: FloatArray
    chance: FloatArray
    earned: FloatArray


def stress_test(items: Sequence[Item], fold: IntArray) -> Scores:
    """Scores of questions of any tasks, with the fold (n,) of each; equal whatever their order."""
    scores = Scores(*(np.zeros(len(items)) for _ in range(3)))
    for task, index in tasks_of(items).items():
        bias, earned = _score_task(task, [items[i] for i in index], fold[index])
        scores.bias[index], scores.earned[index] = bias, earned
        scores.chance[index] = priors.chance([items[i] for i in index], fold[index])
    return scores


def tasks_of(items: Sequence[Item]) -> dict[str, IntArray]:
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


def _score_task(task: str, items: Sequence[Item], fold: IntArray) -> tuple[FloatArray, FloatArray]:
    rows = rows_of(items)
    bias = priors.chance(items, fold)
    earned = bias.copy()
    for test in np.unique(fold):
        train = fold[rows.question] != test
        if not train.any():
            continue
        features = encode(rows, fold, int(test))
        seed = int.from_bytes(digest("forest", task, str(test))[:4], "big")
        if rows.choice:
            probability = _right(features, rows, train, seed)
            for index in np.flatnonzero(fold == test).tolist():
                share = probability[rows.question[~train] == index]
                bias[index] = share[items[index].right or 0] / share.sum()
                earned[index] = priors.point(share.tolist(), items[index].right)
        else:
            truth = np.array([float(item.number or 0) for item in items])
            guess = _guesses(features, rows, truth, train, seed)
            bias[~train] = earned[~train] = mean_relative_accuracies(guess, truth[~train])
    return bias, earned


def _right(features: FloatArray, rows: Rows, train: BoolArray, seed: int) -> FloatArray:
    """Probability (t,) of each test row to be a right option, before they are made to add up."""
    forest = RandomForestClassifier(CLASSIFIER_TREES, min_samples_leaf=MIN_LEAF, random_state=seed)
    forest.fit(features[train], rows.target[train] > 0)
    return np.asarray(forest.predict_proba(features[~train])[:, -1]) + _TINY


def _guesses(features: FloatArray, rows: Rows, truth: FloatArray, train: BoolArray, seed: int) -> FloatArray:
    """The training answer (t,) with the highest expected score for each test row."""
    forest = RandomForestRegressor(REGRESSOR_TREES, min_samples_leaf=MIN_LEAF, random_state=seed)
    forest.fit(features[train], rows.target[train])
    answers, answer = np.unique(truth[train], return_inverse=True)
    known, asked = _leaves(forest, features[train]), _leaves(forest, features[~train])
    one_hot = csr_array((np.ones(len(answer)), answer, np.arange(len(answer) + 1)), (len(answer), len(answers)))
    share = asked.multiply(1 / np.maximum(known.sum(axis=0), 1)).tocsr()
    likely = (share @ (known.T @ one_hot)).toarray()
    expected = likely @ mean_relative_accuracies(answers[:, None], answers[None]).T
    return np.asarray(answers[expected.argmax(axis=1)])


def _leaves(forest: RandomForestRegressor, features: FloatArray) -> csr_array:
    """Rows by leaves of all trees, 1 where a row ends in a leaf."""
    nodes = np.array([tree.tree_.node_count for tree in forest.estimators_])
    leaf = forest.apply(features) + np.concatenate([[0], nodes.cumsum()[:-1]])
    ends = np.arange(0, leaf.size + 1, len(nodes))
    return csr_array((np.ones(leaf.size), leaf.ravel(), ends), (len(features), nodes.sum()))
