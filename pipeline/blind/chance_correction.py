"""What a panel would get right by luck: its answers stay, and the truths are shuffled among questions of one kind.

Independent guesses would not tell it: models that all answer "left" agree, and remove as many questions as there are
lefts, whether they know anything or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from pipeline.blind.votes import Votes
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.identity import rng_for

DRAWS: Final = 1_000
SIGNIFICANCE: Final = 0.01  # of ten tasks and three models, one in three builds has a voter that is only lucky
_AT_ONCE: Final = 100  # draws; memory for 1,000 of a large task is not needed


def right_by_luck(votes: Votes, models: Sequence[str], draws: int = DRAWS) -> IntArray:
    """How many questions each model (m, draws) would have right."""
    found = [right.sum(axis=2) for right in _shuffled(votes, models, draws)]
    return np.concatenate(found, axis=1) if found else np.zeros((len(models), 0), dtype=np.intp)


def removed_by_luck(votes: Votes, models: Sequence[str], needed: int, draws: int = DRAWS) -> FloatArray:
    """How many questions (draws,) at least so many of the models would have right together."""
    return np.concatenate([(right.sum(axis=0) >= needed).sum(axis=1) for right in _shuffled(votes, models, draws)])


def beats_luck(right: int, by_luck: IntArray) -> bool:
    """Whether so many right answers are more than all but a hundredth of the draws (d,) give."""
    return bool((1 + (by_luck >= right).sum()) / (1 + len(by_luck)) <= SIGNIFICANCE)


def _shuffled(votes: Votes, models: Sequence[str], draws: int) -> Iterator[BoolArray]:
    """Whether each model (m, d, n) is right, for some draws at a time; the same draws whatever the models."""
    rng = rng_for("luck", votes.task)
    place = np.argsort(votes.kind, kind="stable")
    for first in range(0, draws, _AT_ONCE):
        keys = votes.kind + rng.random((min(_AT_ONCE, draws - first), len(votes.kind)))
        truth_of = np.empty(keys.shape, dtype=np.intp)
        truth_of[:, place] = np.argsort(keys, axis=1)
        ballots = [votes.ballots[model] for model in models]
        yield np.array([b.is_right[b.answer[None], b.truth[truth_of]] for b in ballots]).reshape(
            len(models), *keys.shape
        )
