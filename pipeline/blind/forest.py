"""The attacker of the stress test: a forest that answers from question and options alone.

Extremely randomised trees (Geurts et al., 2006): as random forests, but a split is drawn at random instead of searched
for. On the released VSI-Bench they are as strong as the random forest of arXiv 2511.04655 and take a sixth of its time;
histogram gradient boosting is no faster, and weaker where keys are many (`python -m tests.bench stress`).

Options are scored one by one, and divided by their sum: letters are shuffled, so a letter is no class, and an order of
four names is none either. For a number the leaves hold the score that each possible guess would have had on the
training questions in them, and the best guess is made. (Their mean would be a poor guess: of answers that are 2 in half
the cases and up to 30 otherwise it is near 4.)

Folds are fitted on all cores (`on_all_cores`), each without regard to the others, and in threads: trees grow without
the interpreter's lock. Other processes would have to be sent the rows of a task for each of its folds, which takes
longer than fitting them (5,130 questions: 2.5 s here, 5 to 10 s in two processes).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.blind.features import TaskRows, encode
from pipeline.blind.items import OptionRows
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.metrics.mra import mean_relative_accuracies

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from sklearn.tree._tree import Tree


TREES: Final = 50  # with 100 no task gains more than its standard error
MIN_LEAF: Final = 5  # rows; between 1 and 5 no difference beyond the standard error, and 5 is faster
MOST_ROWS: Final = 8_000  # that a tree is grown on; of more each tree draws its own
GUESSES: Final = 32  # numbers that are tried, by rank among the training answers
_DECIMALS: Final = 9  # so that the order in which a machine sums up decides nothing
_TINY: Final = 1e-6
_ANY_DEPTH: Final = np.iinfo(np.int32).max  # as scikit-learn says that there is no limit


@dataclass(frozen=True)
class FittedForest:
    """One fold of one task to be tested.

    Attributes:
        rows: of all n questions.
        truth: (n,) the right numbers; for options without meaning.
        fold: (n,) fold of each question.
        test: the fold that is tested; the others are trained on, and there is at least one.
        seed: of the trees.
    """

    rows: TaskRows
    truth: FloatArray
    fold: IntArray
    test: int
    seed: int


def score_fold(fit: FittedForest) -> tuple[FloatArray, FloatArray]:
    """Bias and score (t,) of the t tested questions, in their order (`stress_test.Scores`)."""
    train = fit.fold[fit.rows.question] != fit.test
    features = encode(fit.rows, fit.fold, fit.test)
    return _score_options(fit, features, train) if fit.rows.choice else _score_numbers(fit, features, train)


def _score_options(fit: FittedForest, features: FloatArray, train: BoolArray) -> tuple[FloatArray, FloatArray]:
    options = np.bincount(fit.rows.question)[fit.rows.question]
    right = fit.rows.target + 1 / options > 1 / 2  # the target is right or not minus 1/k
    tried = max(1, math.isqrt(features.shape[1]))
    trees = _grown(features[train], right[train].astype(np.float64), tried, fit.seed)
    asked = features[~train].astype(np.float32)
    worth = np.round(sum(tree.predict(asked)[:, 0] for tree in trees) / TREES, _DECIMALS) + _TINY
    _, question = np.unique(fit.rows.question[~train], return_inverse=True)
    rows = OptionRows(question, right[~train])
    bias = worth[rows.right] / np.bincount(question, worth)  # one right row per question, in their order
    return np.round(bias, _DECIMALS), rows.score(worth)


def _score_numbers(fit: FittedForest, features: FloatArray, train: BoolArray) -> tuple[FloatArray, FloatArray]:
    trees = _grown(features[train], fit.rows.target[train], features.shape[1], fit.seed)
    guesses = guesses_of(fit.truth[train])
    earned = mean_relative_accuracies(guesses[None], fit.truth[train][:, None])
    known, asked = _leaves(trees, features[train]), _leaves(trees, features[~train])
    share = asked.multiply(1 / np.maximum(known.sum(axis=0), 1)).tocsr()
    expected = np.round(share @ (known.T @ earned), _DECIMALS)
    score = mean_relative_accuracies(guesses[expected.argmax(axis=1)], fit.truth[~train])
    return score, score


def guesses_of(truths: FloatArray) -> FloatArray:
    """The numbers (g,) that are tried, of those (n,) that were right elsewhere."""
    return np.unique(np.quantile(truths, np.linspace(0, 1, GUESSES + 2)[1:-1], method="nearest"))


def _grown(features: FloatArray, target: FloatArray, tried: int, seed: int) -> list[Tree]:
    """Trees on features (r, f) and a target (r,); so many features ``tried`` at each split.

    Each is what `sklearn.tree.ExtraTreeRegressor` grows, without its parameters, tags and checks: those take longer
    than a small tree, and the forest class of the same library four times as long again.
    """
    from sklearn.tree._criterion import MSE  # with scikit-learn: a second
    from sklearn.tree._splitter import RandomSplitter
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

    random = np.random.RandomState(seed)  # one for all; scikit-learn takes no newer generator
    known, target = features.astype(np.float32), np.ascontiguousarray(target[:, None])  # as the trees take them
    one = np.ones(1, dtype=np.intp)
    trees = [Tree(features.shape[1], one, 1) for _ in range(TREES)]
    drawn = (None if len(known) <= MOST_ROWS else np.sort(random.permutation(len(known))[:MOST_ROWS]) for _ in trees)
    for tree, rows in zip(trees, drawn, strict=True):
        mine, right = (known, target) if rows is None else (known[rows], target[rows])
        splitter = RandomSplitter(MSE(1, len(mine)), tried, MIN_LEAF, 0.0, random, None)
        DepthFirstTreeBuilder(splitter, 2 * MIN_LEAF, MIN_LEAF, 0.0, _ANY_DEPTH, 0.0).build(tree, mine, right)
    return trees


def _leaves(trees: Sequence[Tree], features: FloatArray) -> csr_array:
    """Rows by leaves of all trees, 1 where a row ends in a leaf."""
    from scipy.sparse import csr_array

    first = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
    asked = features.astype(np.float32)
    leaf = np.stack([tree.apply(asked) for tree in trees], axis=1) + first[:-1]
    ends = np.arange(0, leaf.size + 1, len(trees))
    return csr_array((np.ones(leaf.size), leaf.ravel(), ends), (len(features), first[-1]))


WORTH_THREADS: Final = 4_000  # questions; the trees of fewer are grown so fast that threads wait for one another
Run = Callable[[Sequence[FittedForest]], Iterable[tuple[FloatArray, FloatArray]]]


def run_here(fits: Sequence[FittedForest]) -> Iterable[tuple[FloatArray, FloatArray]]:
    """Scores of each fit, one after the other in this thread."""
    return map(score_fold, fits)


@contextmanager
def on_all_cores(questions: int) -> Iterator[Run]:
    """A way to run the fits of so many questions; results are the same and in the same order whatever the cores."""
    if questions < WORTH_THREADS:
        yield run_here
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield partial(pool.map, score_fold)
