"""Folds that keep a group together, from the groups' names alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.identity import digest

FOLDS: Final = 5  # arXiv 2511.04655
UNSEEN: Final = ("unseen 1", "unseen 2", "unseen 3")  # dealings for figures to be published; nothing is chosen by them


def folds_of(groups: Sequence[str], folds: int = FOLDS, dealing: str = "") -> IntArray:
    """Fold (n,) of each question: the groups in the order of their hashes, dealt out in turn.

    So the order of the questions does not matter, folds are equal to within one group, and none is empty where there
    are as many groups as folds. Another name of ``dealing`` gives folds that have nothing to do with these.
    """
    ranked = sorted(set(groups), key=lambda group: digest("fold", dealing, group))
    fold = {group: rank % folds for rank, group in enumerate(ranked)}
    return np.array([fold[group] for group in groups], dtype=np.intp)
