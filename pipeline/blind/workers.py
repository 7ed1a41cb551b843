"""Folds of the stress test on all cores: a fold of a task is fitted without regard to the others.

In threads: trees grow without the interpreter's lock. Other processes would have to be handed the rows of a task for
each of its folds, which takes longer than to fit them (5,130 questions: 2.5 s here, 5 to 10 s in two processes).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Final

from pipeline.blind.forest import Fit, score_fold
from pipeline.core.arrays import FloatArray

WORTH_THREADS: Final = 4_000  # questions; the trees of fewer are grown so fast that threads wait for one another
Run = Callable[[Sequence[Fit]], Iterable[tuple[FloatArray, FloatArray]]]


def run_here(fits: Sequence[Fit]) -> Iterable[tuple[FloatArray, FloatArray]]:
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
