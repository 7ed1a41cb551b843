"""The processes of a build: its workers, and a clean stop that leaves none behind.

Worker processes import this module, so it does not import Prefect. Ctrl-C, a signal or a closed terminal end a build
at once.

Results in the store are complete, and a partly written file has a temporary name that the next build removes. So
nothing needs to be awaited, and the same command resumes where this one stopped, as after a kill.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import chain
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Final, Self

import psutil

from flows.orchestration import watchdog
from flows.orchestration.signals import EXIT_BASE, SIGNALS, say_stopped
from pipeline.core.budget import REACHED, ended_error, may_end
from pipeline.core.errors import StoreError
from pipeline.engine.code import FOLDER, changed_since, sources_of
from pipeline.engine.job import Job, JobResult, quarantine_of, run_job

TRACKER_QUIET: Final = "ignore:resource_tracker:UserWarning"  # as written after -W


class Watchdog:
    """The process that ends what this one leaves running (`flows.orchestration.watchdog`)."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def name_children(self) -> None:
        """Registers children that must not outlive this process, even if it is killed; call once they run."""
        for child in psutil.Process().children(recursive=True):
            if child.pid != self.process.pid:
                self._send({"pid": child.pid})

    def tell(self, url: str, headers: Mapping[str, str]) -> None:
        """Sets where a Prefect server is told how this process ended, if it does not end well."""
        self._send({"url": url, "headers": dict(headers)})

    def stopped(self, why: str) -> None:
        """Reports that this process was cancelled; call before it ends itself."""
        self._send({"state": {"type": "CANCELLED", "name": "Cancelled", "message": why}})

    def _send(self, what: Mapping[str, Any]) -> None:
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


RunJobs = Callable[[list[Job]], Iterable[JobResult]]  # does jobs, and gives what became of each in their order


def _show_unless_told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A worker whose builder is stopped while it starts reads an end of file: nothing is lost, and nobody is told.

    Code that was changed since the builder started is named by the builder (`Pool`).
    """
    if kind is not EOFError and not changed_since(error, psutil.Process(os.getppid()).create_time()):
        sys.__excepthook__(kind, error, trace)


if "multiprocessing.forkserver" in " ".join(sys.orig_argv):  # the server, which imports this for its workers
    sys.excepthook = _show_unless_told


# An exit code can be read once, and whoever starts a process reads those of all that have ended: two threads that
# read one at once got 255, and SIGKILL was not seen.
_POLLING: Final = threading.Lock()


class Worker:
    """A process that runs one job after the other; a job at which it ends costs itself alone.

    It is forked from a server process that has imported the product once, with the worlds that are imported here, and
    has no threads.
    """

    def __init__(self) -> None:
        context = get_context("forkserver")
        worlds = [name for name in [*sys.modules] if re.fullmatch(r"pipeline\.worlds\.\w+\.world", name)]
        context.set_forkserver_preload([__name__, "pipeline.stages.registry", *sorted(worlds)])
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve_jobs, args=(theirs,), daemon=True)
        with ignore_signals(), _POLLING:
            self._process.start()
        theirs.close()
        self._fresh, self._ending = True, threading.Lock()
        self.was_killed = False  # by SIGKILL, as the kernel does where memory runs out

    def run(self, job: Job) -> JobResult | None:
        """The result of a job, which may lack what a limit cost; None: to be asked of a new worker.

        The verdict of a new worker counts: one that has done other work may have less left. After SIGKILL, which
        may have come from outside, `Pool` asks a second one. Raises what the job raises.
        """
        fresh, self._fresh = self._fresh, False
        stage = job.steps[0].spec.stage if job.steps else ""
        try:
            self._connection.send(job)
            while isinstance(said := self._connection.recv(), str):
                stage = said
        except (EOFError, OSError):
            self._join()
            self.was_killed = self._process.exitcode == -signal.SIGKILL
            if not fresh:
                return None
            path = job.raw.root / job.raw.ref.files[0] if job.raw else job.folder
            fault = ended_error(self._process.exitcode, path, job.unit)
            return JobResult(job.unit, (), (quarantine_of(fault, job.unit, stage),))
        if isinstance(said, BaseException):
            raise said
        result: JobResult = said
        return None if not fresh and hit_limit(result) else result

    def is_fit(self) -> bool:
        """Whether it can take another job."""
        with _POLLING:
            return self._process.is_alive()

    def end(self) -> None:
        """Ends the process at once; results in the store are whole or not there. Several threads may do so."""
        with self._ending:  # closed twice at once, the connection would close what another thread has just opened
            self._process.kill()
            self._join()
            self._connection.close()

    def _join(self) -> None:
        """Waits for the end of the process, and reads its exit code."""
        wait([self._process.sentinel])
        with _POLLING:
            self._process.join()


def hit_limit(result: JobResult) -> bool:
    """Returns whether a job met a limit of its process."""
    return any(row.finding in REACHED for row in result.quarantine)


def serve_jobs(connection: Connection) -> None:
    """The work of a worker process, until its connection is closed."""
    end_with_parent()
    may_end(connection.send)
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            done: JobResult | BaseException = run_job(job)
        except BaseException as error:
            error.add_note(traceback.format_exc())
            done = error
        connection.send(done)


def _check_code() -> None:
    """Raises StoreError where workers, which import the code now, have another one than results are named after."""
    if changed := sources_of(FOLDER).changed():
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise StoreError(f"{changed[0]}{more}: changed while the build was starting; run it again")


class Pool:
    """Worker processes, started when needed and ended with the block; each is led by a thread of this process."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.at_once = workers  # batches that are handed on at a time
        self._jobs: SimpleQueue[tuple[Job, Future[JobResult]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._running: set[Worker] = set()
        self._starting = threading.Lock()
        self._is_over = self._is_checked = False

    def job_runner(self, jobs: int) -> RunJobs:
        """The runner of so many jobs, which has workers for them started."""
        with self._starting:
            for _ in range(min(jobs, self._workers) - len(self._threads)):
                self._threads.append(threading.Thread(target=self._lead, daemon=True))
                self._threads[-1].start()
        return self._run

    def execute(self, stages: str, batches: list[list[Job]]) -> Iterator[JobResult]:
        """Runs all jobs (`engine.run.Execute`)."""
        jobs = list(chain.from_iterable(batches))
        yield from self.job_runner(len(jobs))(jobs)

    def _run(self, jobs: list[Job]) -> Iterator[JobResult]:
        results: list[Future[JobResult]] = [Future() for _ in jobs]
        for task in zip(jobs, results, strict=True):
            self._jobs.put(task)
        try:
            yield from (result.result() for result in results)
        finally:
            for result in results:
                result.cancel()

    def _lead(self) -> None:
        """Has one worker at a time do jobs, until there are no more."""
        worker: Worker | None = None
        while (task := self._jobs.get()) is not None:
            job, result = task
            if not result.set_running_or_notify_cancel():
                continue
            try:
                done, worker = self._run_job(job, worker)
                result.set_result(done)
            except BaseException as error:  # raised again where the result is asked for
                result.set_exception(error)

    def _run_job(self, job: Job, worker: Worker | None) -> tuple[JobResult, Worker | None]:
        """The result of a job, and the worker for the next one; None: a new one is to be started."""
        was_killed = False
        while True:
            worker = worker or self._start()
            done = worker.run(job)
            if done is not None and not hit_limit(done) and worker.is_fit():
                return done, worker
            self._end(worker)
            if done is not None and (was_killed or not worker.was_killed):
                return done, None
            was_killed, worker = worker.was_killed, None

    def _start(self) -> Worker:
        with self._starting:  # one at a time also starts their server
            if self._is_over:
                raise StoreError("the build was stopped")
            try:
                worker = Worker()
            except (EOFError, ConnectionError):  # their server has ended while it imported the product
                _check_code()
                raise
            self._running.add(worker)
            if not self._is_checked:
                _check_code()
                self._is_checked = True
            return worker

    def _end(self, worker: Worker) -> None:
        worker.end()
        self._running.discard(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Ends the workers; jobs that have not begun are dropped."""
        self._is_over = True
        for _ in self._threads:
            self._jobs.put(None)
        with self._starting:
            for worker in list(self._running):
                worker.end()


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
