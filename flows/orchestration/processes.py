"""The processes of a build: its workers, and a clean stop that leaves none behind.

Worker processes import this module, so it does not import Prefect. Ctrl-C, a signal or a closed terminal end a build
at once.

Results in the store are complete, and a partly written file has a temporary name that the next build removes. So
nothing needs to be awaited, and the same command resumes where this one stopped, as after a kill.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from multiprocessing import get_context, parent_process, resource_tracker
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

import psutil

from flows.orchestration import watchdog
from flows.orchestration.signals import EXIT_BASE, SIGNALS, say_stopped
from pipeline.core.errors import StoreError
from pipeline.engine.job import Job, JobResult, run_job

TRACKER_QUIET: Final = "ignore:resource_tracker:UserWarning"  # as written after -W


class Watchdog:
    """The process that ends what this one leaves running (`flows.orchestration.watchdog`)."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def name_children(self) -> None:
        """Registers children that must not outlive this process, even if it is killed; call once they run."""
        for child in psutil.Process().children(recursive=True):
            if child.pid != self.process.pid:
                self._say({"pid": child.pid})

    def tell(self, url: str, headers: Mapping[str, str]) -> None:
        """Sets where a Prefect server is told how this process ended, if it does not end well."""
        self._say({"url": url, "headers": dict(headers)})

    def stopped(self, why: str) -> None:
        """Reports that this process was cancelled; call before it ends itself."""
        self._say({"state": {"type": "CANCELLED", "name": "Cancelled", "message": why}})

    def _say(self, what: Mapping[str, Any]) -> None:
        if self.process.stdin is not None:  # unbuffered: a signal may come in the midst of it
            os.write(self.process.stdin.fileno(), json.dumps(what).encode() + b"\n")


@contextmanager
def stoppable(watched: Watchdog | None = None) -> Iterator[None]:
    """Within the block a signal of `SIGNALS` ends this process and its children, with one line and exit code 128 + n.

    A signal that is ignored, as under nohup, stays ignored.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        stop(number, signal.Signals(number).name, watched)

    alone = threading.current_thread() is not threading.main_thread()  # whoever runs it there stops it as well
    before = {} if alone else {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(number: int, why: str, watched: Watchdog | None = None) -> None:
    """Ends this process and its children now, from any thread."""
    say_stopped()
    ours = watched.process.pid if watched else None
    end([child for child in psutil.Process().children(recursive=True) if child.pid != ours])
    if watched:
        watched.stopped(f"stopped by {why}")
    os._exit(EXIT_BASE + number)


def end(processes: list[psutil.Process]) -> None:
    """Kills processes; those that have ended meanwhile are no fault."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


@contextmanager
def children_end_with_us() -> Iterator[Watchdog]:
    """Starts the process that is told what must not outlive this one, and ends it with the block.

    It has a session of its own, which no signal to this one's reaches.
    """
    # A program of our own, and no input of anybody's.
    watching = [sys.executable, "-S", "-P", str(Path(watchdog.__file__))]
    with subprocess.Popen(watching, stdin=subprocess.PIPE, start_new_session=True) as process:  # noqa: S603
        try:
            yield Watchdog(process)
        finally:
            process.kill()


POOL_FROM_JOBS: Final = 16  # below it, starting processes may take longer than the work
ALONE_S: Final = 3.0  # in which this process does a few jobs itself, before others help it with the rest
CHUNKS: Final = 16  # of a batch, so that no process waits long for another

RunJobs = Callable[[list[Job]], Iterable[JobResult]]  # does jobs, and gives what became of each in their order


class Pool:
    """Worker processes, started when first needed and ended with the block."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.at_once = workers  # batches that are handed on at a time
        self._pool: ProcessPoolExecutor | None = None
        self._starting = threading.Lock()

    def job_runner(self, jobs: int) -> RunJobs | None:
        """The runner of jobs in the pool; None where this process runs so many itself."""
        if self._workers == 1 or (self._pool is None and jobs < POOL_FROM_JOBS):
            return None
        return partial(run_all, self._started())

    def execute(self, stages: str, batches: list[list[Job]]) -> Iterator[JobResult]:
        """Runs all jobs (`engine.run.Execute`)."""
        jobs = list(chain.from_iterable(batches))
        run_jobs = self.job_runner(len(jobs))
        if run_jobs is not None:
            yield from run_jobs(jobs)
        elif self._workers == 1 or len(jobs) == 1:
            yield from map(run_job, jobs)
        else:
            yield from self._helped(jobs)

    def _helped(self, jobs: list[Job]) -> Iterator[JobResult]:
        """Runs a few jobs, results in their order: this process begins; if they take long, others help from the end.

        A few scenes may take a second or an hour, which nobody knows before.
        """
        left = deque(enumerate(jobs))
        theirs: list[Future[JobResult]] = [Future() for _ in jobs]
        over = threading.Event()

        def help_out() -> None:
            over.wait(ALONE_S)
            while left and not over.is_set():
                try:
                    number, job = left.pop()
                except IndexError:  # another was faster
                    return
                try:
                    with ignore_signals():
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
                start_resource_tracker()
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


def run_all(pool: ProcessPoolExecutor, jobs: list[Job]) -> Iterable[JobResult]:
    """Runs the jobs; returns their results in their order."""
    with ignore_signals():  # the pool starts a worker with a job for which none is free
        return pool.map(run_job, jobs, chunksize=max(1, len(jobs) // CHUNKS))


@contextmanager
def ignore_signals() -> Iterator[None]:
    """Processes started within the block ignore Ctrl-C, which a terminal sends to all; `stop` ends them."""
    start_resource_tracker()  # it would lift the mask again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_resource_tracker() -> None:
    """Starts the process that removes semaphores of a process that was killed, without its warning about them."""
    sys.warnoptions.append(TRACKER_QUIET)  # which it takes over
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(TRACKER_QUIET)


def end_with_parent() -> None:
    """Lets a worker process end when the one that started it was killed; it would wait for work for ever."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
