"""Filtering takes the same share of every answer, so that none becomes the safe guess.

What a panel answers right is not spread evenly over the answers: of 186 left, 189 right and 60 back, a panel that
likes "right" takes the rights, and left becomes the safe guess. So of each answer of a closed set (left, right, back)
the same share stays, per task and data set. Where a panel answers more of one answer, questions of the others are
dropped: at most half as many as it answered. Beyond that, answered questions stay: who answers nearly all rights and
few lefts likes "right", and to remove every right would tell more than it hides.

No other candidates are put in the place of what goes: `select` comes before `blind`, and one that a cap displaced would
have to be worded, lettered and asked of the whole panel, again and again until none is answered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.blind.votes import Votes
from pipeline.core.arrays import BoolArray, IntArray
from pipeline.core.identity import digest

MOST_DROPPED: Final = 0.5  # questions dropped for balance, of those that are answered


def balanced(votes: Votes, answered: BoolArray) -> tuple[dict[int, tuple[float, float]], set[int]]:
    """What filtering does besides removing what is answered.

    Args:
        votes: the questions of one task.
        answered: (n,) those that the rule would remove.

    Returns:
        The questions dropped, with the share of their answer that would stay and the share that does, and those that
        are answered and stay. Both are indices, and chosen by hash.
    """
    dropped: dict[int, tuple[float, float]] = {}
    kept: set[int] = set()
    cells: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for index in np.flatnonzero(votes.closed).tolist():
        item = votes.items[index]
        cells.setdefault((item.group.partition("/")[0], tuple(sorted(item.options))), []).append(index)
    for members in cells.values():
        if answered[members].any():
            _balance(votes, members, answered, dropped, kept)
    return dropped, kept


def _balance(
    votes: Votes, members: Sequence[int], answered: BoolArray, dropped: dict[int, tuple[float, float]], kept: set[int]
) -> None:
    """One data set and one set of options."""
    by_answer: dict[str, list[int]] = {}
    for i in sorted(members, key=lambda i: digest("balance", votes.task, str(votes.items[i].id))):
        by_answer.setdefault(votes.items[i].options[votes.items[i].right or 0], []).append(i)
    offered = np.array([len(found) for found in by_answer.values()])
    stay = np.array([sum(not answered[i] for i in found) for found in by_answer.values()])
    share = _share(offered, stay)
    for found, n, unanswered in zip(by_answer.values(), offered.tolist(), stay.tolist(), strict=True):
        target = math.floor(share * n + 0.5)
        dropped |= dict.fromkeys([i for i in found if not answered[i]][target:], (unanswered / n, share))
        kept |= set([i for i in found if answered[i]][: max(target - unanswered, 0)])


def _share(offered: IntArray, stay: IntArray) -> float:
    """The smallest share of each answer that can stay without too many being dropped.

    Down to the share of the most answered one no answered question has to stay; the number dropped grows evenly between
    the shares at which one more answer has some to drop.
    """
    most = MOST_DROPPED * float((offered - stay).sum())
    lowest = float((stay / offered).min())
    if np.maximum(stay - lowest * offered, 0).sum() <= most:
        return lowest
    shares = np.linspace(lowest, 1.0, 1001)
    dropping = np.maximum(stay[:, None] - shares * offered[:, None], 0).sum(axis=0)
    return float(shares[dropping <= most][0])
