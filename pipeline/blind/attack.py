"""What every attacker without the video earns: chance, the priors and the forest, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.blind.folds import UNSEEN
from pipeline.blind.items import Item
from pipeline.blind.priors import PRIORS
from pipeline.blind.stress_test import ForestScores, Prepared, scores_of, tasks_of
from pipeline.blind.summary import ATTACKERS, CHANCE, FOREST
from pipeline.blind.workers import Run
from pipeline.core.arrays import FloatArray, IntArray

FEW: Final = 5_000  # questions; of more, one dealing is as exact as three of fewer


def attack(items: Sequence[Item], run: Run, dealings: Sequence[str] = UNSEEN) -> dict[str, FloatArray]:
    """Score (n,) of chance and each attacker on each question, the mean over several dealings of scenes to folds.

    NaN where an attacker has no guess. The dealings are those that nothing is chosen by, so that what filtering or
    pruning has fitted to its own folds does not flatter the result.
    """
    index = tasks_of(items)
    tested = [Prepared.made_of(task, [items[i] for i in members]) for task, members in index.items()]
    used = dealings if len(items) < FEW else dealings[:1]
    scores = {name: np.zeros(len(items)) for name in (CHANCE, *ATTACKERS)}
    for dealing in used:
        folds = [one.dealt(dealing) for one in tested]
        for one, members, fold, found in zip(tested, index.values(), folds, scores_of(tested, folds, run), strict=True):
            for name, earned in earned_by_all(one.items, fold, found).items():
                scores[name][members] += earned / len(used)
    return scores


def attack_in(items: Sequence[Item], fold: IntArray, forest: ForestScores) -> dict[str, FloatArray]:
    """Score (n,) of chance and each attacker on each question, in given folds (n,) and with the forest's scores."""
    scores = {name: np.zeros(len(items)) for name in (CHANCE, *ATTACKERS)}
    for index in tasks_of(items).values():
        mine = ForestScores(forest.bias[index], forest.chance[index], forest.earned[index])
        for name, earned in earned_by_all([items[i] for i in index], fold[index], mine).items():
            scores[name][index] = earned
    return scores


def earned_by_all(items: Sequence[Item], fold: IntArray, forest: ForestScores) -> dict[str, FloatArray]:
    """Score (n,) of chance and each attacker on the questions of one task."""
    found = {CHANCE: forest.chance}
    for name, prior in PRIORS.items():
        earned = prior(items, fold)
        found[name] = np.full(len(items), np.nan) if earned is None else earned
    return found | {FOREST: forest.earned}
