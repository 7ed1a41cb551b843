"""Folds of the stress test on all cores: a fold of a task is fitted without regard to the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Final

from pipeline.blind.forest import Fit, score_fold
from pipeline.core.arrays import FloatArray

Run = Callable[[Sequence[Fit]], Iterable[tuple[FloatArray, FloatArray]]]
WORTH_PROCESSES: Final = 3_000  # questions; to start a process takes as long as to test a thousand


def run_here(fits: Sequence[Fit]) -> Iterable[tuple[FloatArray, FloatArray]]:
    """Scores of each fit, one after the other in this process."""
    return map(score_fold, fits)


@contextmanager
def on_all_cores(questions: int) -> Iterator[Run]:
    """A way to run the fits of so many questions; results are the same and in the same order whatever the cores."""
    cores = os.cpu_count() or 1
    if questions < WORTH_PROCESSES or cores == 1:
        yield run_here
        return
    with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
        yield partial(pool.map, score_fold)
