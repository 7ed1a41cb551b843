"""What guessing earns: at random, the most frequent answer, medians, and what a name alone suggests.

All are fitted on the other folds, so that with folds by scene nothing is known of the question's own scene. Every
function takes the questions of one task with their folds (n,) and gives the score (n,) of its guess: right or not for
options, with equal guesses sharing the point, and mean relative accuracy for numbers; None where it has no guess for
questions of this kind. `PRIORS` holds those that are tried on every task: a rule that answers a family of tasks from
its text alone is one more entry.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from statistics import median
from typing import Final

import numpy as np

from pipeline.blind import shortcut_attackers
from pipeline.blind.items import Item
from pipeline.blind.words import WORDS
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.metrics.mra import mean_relative_accuracies

WEIGHT_OF_ANY: Final = 0.5  # what is known of two options beside any names, against beside the same names


def chance(items: Sequence[Item], fold: IntArray) -> FloatArray:
    """Options: 1/k. Numbers: what the answer of a random question of the other folds earns, the mean over the task.

    The mean, since per question it would be high for frequent answers, and those are the bias to be found.
    """
    if items[0].options:
        return np.array([1 / len(item.options) for item in items])
    values = _values(items)
    earned = np.zeros(len(items))
    for test in range(int(fold.max()) + 1):
        guesses, count = np.unique(values[fold != test], return_counts=True)
        if len(guesses):
            scores = mean_relative_accuracies(guesses[:, None], values[None, fold == test])
            # Written out: the kernels of BLAS round differently from one processor to another.
            earned[fold == test] = (count[:, None] * scores).sum(0) / count.sum()
    return np.full(len(items), earned.mean())


def most_frequent(items: Sequence[Item], fold: IntArray) -> FloatArray:
    """Numbers: the most frequent one, the smallest of equals. Options: the one that was right most often."""
    if items[0].options:
        return _best_options(items, fold, _times_right)
    return _guess(items, fold, lambda values: float(Counter(sorted(values)).most_common(1)[0][0]))


def task_median(items: Sequence[Item], fold: IntArray) -> FloatArray | None:
    """Numbers: the median. Options have none."""
    return None if items[0].options else _guess(items, fold, median)


def by_name(items: Sequence[Item], fold: IntArray) -> FloatArray:
    """Numbers: the median for the same names (category medians). Options: the most often right beside the same names.

    That is, against each of the others offered: a name is right less often beside strong rivals. Names that the other
    folds never have are guessed like any.
    """
    if items[0].options:
        return _best_options(items, fold, _odds)
    return _guess(items, fold, median, lambda item: tuple(sorted(item.names.values())))


def _guess(
    items: Sequence[Item],
    fold: IntArray,
    guess: Callable[[list[float]], float],
    key: Callable[[Item], Hashable] = lambda item: (),
) -> FloatArray:
    """Scores of one guess per key; keys without answers get the guess of all."""
    values = _values(items)
    guesses = np.full(len(items), np.nan)
    for test in range(int(fold.max()) + 1):
        known: dict[Hashable, list[float]] = defaultdict(list)
        for index in np.flatnonzero(fold != test).tolist():
            known[key(items[index])].append(float(values[index]))
        everything = [value for group in known.values() for value in group]
        if everything:
            by_key = {k: guess(group) for k, group in known.items()}
            rest = guess(everything)
            for index in np.flatnonzero(fold == test).tolist():
                guesses[index] = by_key.get(key(items[index]), rest)
    return np.asarray(mean_relative_accuracies(guesses, values))


class _Seen:
    """How often options were right in the training folds, alone and where a rival was offered too."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.right: Counter[str] = Counter()
        self.beat: Counter[Hashable] = Counter()
        for item in items:
            best = item.options[item.right or 0]
            self.right[best] += 1
            for rival in item.options:
                self.beat[best, rival] += 1
                self.beat[_names(item), best, rival] += 1


def _names(item: Item) -> tuple[str, ...]:
    return tuple(sorted(item.names.values()))


def _times_right(seen: _Seen, item: Item, option: str) -> float:
    return float(seen.right[option])


def _odds(seen: _Seen, item: Item, option: str) -> float:
    """Sum over the rivals of the log odds that the option is right and the rival is not, beside these names and any."""
    names, total = _names(item), 0.0
    for rival in item.options:
        won, lost = seen.beat[option, rival], seen.beat[rival, option]
        total += WEIGHT_OF_ANY * math.log((won + 1) / (lost + 1))
        won, lost = seen.beat[names, option, rival], seen.beat[names, rival, option]
        total += math.log((won + 1) / (lost + 1))
    return round(total, 9)  # so that options of which the same is known are equal


def _best_options(items: Sequence[Item], fold: IntArray, worth: Callable[[_Seen, Item, str], float]) -> FloatArray:
    scores = np.zeros(len(items))
    for test in range(int(fold.max()) + 1):
        seen = _Seen([items[index] for index in np.flatnonzero(fold != test).tolist()])
        for index in np.flatnonzero(fold == test).tolist():
            item = items[index]
            scores[index] = tied_accuracy([worth(seen, item, option) for option in item.options], item.right)
    return scores


def tied_accuracy(worth: Sequence[float], right: int | None) -> float:
    """1 where the right option has the highest worth, shared with its equals, else 0."""
    best = max(worth)
    equal = [place for place, value in enumerate(worth) if value == best]
    return (right in equal) / len(equal)


def _values(items: Sequence[Item]) -> FloatArray:
    return np.array([float(item.number or 0) for item in items])


Prior = Callable[[Sequence[Item], IntArray], FloatArray | None]
PRIORS: Final[dict[str, Prior]] = {
    "most frequent": most_frequent,
    "median": task_median,
    "by name": by_name,
    **shortcut_attackers.SHORTCUT_ATTACKERS,
    **WORDS,
}
CONSTANTS: Final = ("most frequent", "median")  # of them, those that give every number the same answer
