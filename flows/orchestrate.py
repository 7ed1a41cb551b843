"""A build as a Prefect flow: one task per group of stages, dataset and batch of about 64 scenes, over processes.

Prefect gives states, logs and schedules; whether a result can be reused is decided by the store alone. Prefect tasks
cost milliseconds in threads and a hundred in processes, so tasks run in threads and hand their scenes to one pool.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

# Before prefect is imported: stay offline, and give the first start of its local server time to migrate.
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")
os.environ.setdefault("PREFECT_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", "ignore")

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from pipeline.core.errors import StoreError
from pipeline.engine.config import BuildConfig
from pipeline.engine.given import Progress
from pipeline.engine.job import Done, Job, run_job
from pipeline.engine.manifest import Outcome
from pipeline.engine.run import Execute
from pipeline.stages.builder import Builder

POOL_FROM_JOBS = 16  # below it, starting processes takes longer than the work


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="{label}")
def run_batch(label: str, batch: list[Job], pool: ProcessPoolExecutor | None) -> list[Done]:
    """All jobs of one batch; `label` names stages, dataset and number of scenes."""
    if pool is None:
        return [run_job(job) for job in batch]
    return list(pool.map(run_job, batch, chunksize=max(1, len(batch) // 16)))


def end_with_parent() -> None:
    """Lets a worker process end when the one that started it was killed; it would wait for work for ever."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Pool:
    """Worker processes, started when first needed."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def executor(self, jobs: int) -> ProcessPoolExecutor | None:
        """The pool, or None where this process does the work itself."""
        if self._workers == 1 or (self._pool is None and jobs < POOL_FROM_JOBS):
            return None
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._workers, mp_context=get_context("spawn"), initializer=end_with_parent
            )
        return self._pool

    def close(self) -> None:
        """Stops the workers; jobs that have not begun are dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def orchestrate(
    config: BuildConfig,
    out: Path,
    workers: int,
    action: str,
    progress: Progress,
    keys: Mapping[str, str],
    **options: Any,
) -> Outcome:
    """Runs a method of `Builder` (``build`` or ``stage``) as a Prefect flow on a pool of ``workers`` processes.

    ``keys`` of models stay in this process, out of Prefect's hands.
    """
    pool = Pool(workers)

    runner: Any = ThreadPoolTaskRunner(max_workers=workers)

    @flow(
        name=f"{action}-{config.build}",
        task_runner=runner,
        persist_result=False,
        validate_parameters=False,
    )
    def build_flow() -> Outcome:
        builder = Builder(config, out, _submit_to(pool), progress, keys)
        outcome: Outcome = getattr(builder, action)(**options)
        return outcome

    logging.getLogger("prefect").setLevel(logging.CRITICAL)  # errors reach the user once, as scan2qa's own line
    try:
        return build_flow()
    except BrokenProcessPool as error:
        message = "a worker process died, most likely for lack of memory: try --workers 1; finished work is kept"
        raise StoreError(message) from error
    finally:
        pool.close()


def _submit_to(pool: Pool) -> Execute:
    def execute(stages: str, batches: list[list[Job]]) -> Iterator[Done]:
        executor = pool.executor(sum(map(len, batches)))
        labels = [f"{stages} {batch[0].unit.partition('/')[0]} x{len(batch)}" for batch in batches]
        futures = [run_batch.submit(label, batch, executor) for label, batch in zip(labels, batches, strict=True)]
        for future in as_completed(futures):
            yield from future.result()

    return execute
