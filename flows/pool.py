"""Worker processes of a build. They import this module, and so it does not import Prefect."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import chain
from multiprocessing import get_context, parent_process, resource_tracker
from typing import Final, Self

from pipeline.core.errors import StoreError
from pipeline.engine.job import Done, Job, run_job

POOL_FROM_JOBS: Final = 16  # below it, starting processes takes longer than the work
CHUNKS: Final = 16  # of a batch, so that no process waits long for another

Hands = Callable[[list[Job]], Iterable[Done]]  # does jobs, and gives what became of each in their order


class Pool:
    """Worker processes, started when first needed and ended with the block."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.at_once = workers  # batches that are handed on at a time
        self._pool: ProcessPoolExecutor | None = None

    def hands(self, jobs: int) -> Hands | None:
        """What does jobs in the pool; None where this process does so many itself."""
        if self._workers == 1 or (self._pool is None and jobs < POOL_FROM_JOBS):
            return None
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._workers, mp_context=get_context("spawn"), initializer=end_with_parent
            )
        return partial(run_all, self._pool)

    def execute(self, stages: str, batches: list[list[Job]]) -> Iterator[Done]:
        """Runs all jobs (`engine.run.Execute`)."""
        jobs = list(chain.from_iterable(batches))
        hands = self.hands(len(jobs))
        yield from map(run_job, jobs) if hands is None else hands(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Stops the workers; jobs that have not begun are dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            message = "a worker process died, most likely for lack of memory: try --workers 1; finished work is kept"
            raise StoreError(message) from error


def run_all(pool: ProcessPoolExecutor, jobs: list[Job]) -> Iterable[Done]:
    """What became of each job, in their order."""
    with deaf():  # the pool starts a worker with a job for which none is free
        return pool.map(run_job, jobs, chunksize=max(1, len(jobs) // CHUNKS))


@contextmanager
def deaf() -> Iterator[None]:
    """What is started within is deaf to Ctrl-C, which a terminal sends to all: this process ends it (`flows.stop`)."""
    resource_tracker.ensure_running()  # it would lift the mask again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Lets a worker process end when the one that started it was killed; it would wait for work for ever."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
