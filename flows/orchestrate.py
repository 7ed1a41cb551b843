"""A build as a Prefect flow: one task per group of stages, dataset and batch of about 64 scenes, over processes.

Prefect gives states, logs and schedules, where a server is kept or a build is large enough for one of its own
(`flows.build`); whether a result can be reused is decided by the store alone. Prefect tasks cost milliseconds in
threads and a hundred in processes, so tasks run in threads and hand their scenes to one pool.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
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

from flows.pool import Pool, run_all
from flows.stop import children_end_with_us, stoppable
from pipeline.engine.config import BuildConfig
from pipeline.engine.given import Progress
from pipeline.engine.job import Done, Job
from pipeline.engine.manifest import Outcome
from pipeline.engine.run import Execute
from pipeline.stages.builder import Builder


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="{label}")
def run_batch(label: str, batch: list[Job], pool: ProcessPoolExecutor | None) -> list[Done]:
    """All jobs of one batch; `label` names stages, dataset and number of scenes."""
    return list(run_all(batch, pool))


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
    runner: Any = ThreadPoolTaskRunner(max_workers=workers)
    logging.getLogger("prefect").setLevel(logging.CRITICAL)  # errors reach the user once, as scan2qa's own line
    with Pool(workers) as pool, children_end_with_us() as name_them:

        @flow(
            name=f"{action}-{config.build}",
            task_runner=runner,
            persist_result=False,
            validate_parameters=False,
        )
        def build_flow() -> Outcome:
            name_them()  # Prefect's temporary server runs by now
            builder = Builder(config, out, _submit_to(pool), progress, keys)
            with stoppable():  # Prefect has a way of its own, which takes minutes
                outcome: Outcome = getattr(builder, action)(**options)
            return outcome

        return build_flow()


def _submit_to(pool: Pool) -> Execute:
    def execute(stages: str, batches: list[list[Job]]) -> Iterator[Done]:
        executor = pool.executor(sum(map(len, batches)))
        labels = [f"{stages} {batch[0].unit.partition('/')[0]} x{len(batch)}" for batch in batches]
        futures = [run_batch.submit(label, batch, executor) for label, batch in zip(labels, batches, strict=True)]
        for future in as_completed(futures):
            yield from future.result()

    return execute
