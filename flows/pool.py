"""Worker processes of a build. They import this module, and so it does not import Prefect."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from multiprocessing import get_context, parent_process, resource_tracker
from typing import Final, Self

from pipeline.core.errors import StoreError
from pipeline.engine.job import Done, Job, run_job

POOL_FROM_JOBS: Final = 16  # below it, starting processes may take longer than the work
ALONE_S: Final = 3.0  # in which this process does a few jobs itself, before others help it with the rest
CHUNKS: Final = 16  # of a batch, so that no process waits long for another

Hands = Callable[[list[Job]], Iterable[Done]]  # does jobs, and gives what became of each in their order


class Pool:
    """Worker processes, started when first needed and ended with the block."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.at_once = workers  # batches that are handed on at a time
        self._pool: ProcessPoolExecutor | None = None
        self._starting = threading.Lock()

    def hands(self, jobs: int) -> Hands | None:
        """What does jobs in the pool; None where this process does so many itself."""
        if self._workers == 1 or (self._pool is None and jobs < POOL_FROM_JOBS):
            return None
        return partial(run_all, self._started())

    def execute(self, stages: str, batches: list[list[Job]]) -> Iterator[Done]:
        """Runs all jobs (`engine.run.Execute`)."""
        jobs = list(chain.from_iterable(batches))
        hands = self.hands(len(jobs))
        if hands is not None:
            yield from hands(jobs)
        elif self._workers == 1 or len(jobs) == 1:
            yield from map(run_job, jobs)
        else:
            yield from self._helped(jobs)

    def _helped(self, jobs: list[Job]) -> Iterator[Done]:
        """What became of a few jobs, in their order: this process begins, and if they take long, others end with it.

        A few scenes may take a second or an hour, which nobody knows before.
        """
        left = deque(enumerate(jobs))
        theirs: list[Future[Done]] = [Future() for _ in jobs]
        over = threading.Event()

        def help_out() -> None:
            over.wait(ALONE_S)
            while left and not over.is_set():
                try:
                    number, job = left.pop()
                except IndexError:  # another was faster
                    return
                try:
                    with deaf():
                        done = self._started().submit(run_job, job)
                    theirs[number].set_result(done.result())
                except BaseException as error:  # raised again where its result is asked for
                    theirs[number].set_exception(error)
                    return  # this process does what is left, as far as it comes

        for _ in range(min(self._workers, len(jobs)) - 1):
            threading.Thread(target=help_out, daemon=True).start()
        mine = 0
        try:
            while left:
                with suppress(IndexError):  # the last one was taken just now
                    _, job = left.popleft()
                    mine += 1
                    yield run_job(job)
            yield from (own.result() for own in theirs[mine:])
        finally:
            over.set()

    def _started(self) -> ProcessPoolExecutor:
        with self._starting:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    self._workers, mp_context=get_context("spawn"), initializer=end_with_parent
                )
            return self._pool

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
