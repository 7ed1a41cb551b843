"""Jobs of a build on a worker of a cluster. Workers import this module, and so it imports neither Prefect nor Dask."""

from __future__ import annotations

import socket
import time
from typing import Final

from pipeline.core.errors import StoreError
from pipeline.engine.code import code_digest
from pipeline.engine.job import Done, Job, run_job
from pipeline.engine.lease import LEASE_FILE

SEEN_WITHIN_S: Final = 30.0  # a folder of the network may show a new file late


def work(jobs: list[Job], mark: str) -> list[Done]:
    """What became of some jobs, in their order. Raises StoreError where this worker is not fit for them.

    Args:
        jobs: as for this process; all that they need lies in their folder and roots.
        mark: what the lease of their folder says, so that a folder of the same name is not taken for it.
    """
    for job in jobs:
        _check_place(job, mark)
        _check_code(job)
    return [run_job(job) for job in jobs]


def _check_place(job: Job, mark: str) -> None:
    lease, until = job.folder / LEASE_FILE, time.monotonic() + SEEN_WITHIN_S
    while not (lease.exists() and lease.read_text(encoding="utf-8") == mark):
        if time.monotonic() > until:
            raise StoreError(
                f"worker {socket.gethostname()} does not see {job.folder}: give a folder all machines share"
            )
        time.sleep(0.1)
    if job.raw is not None and not job.raw.root.is_dir():
        raise StoreError(f"worker {socket.gethostname()} does not see {job.raw.root}: mount it there at the same path")


def _check_code(job: Job) -> None:
    """Other code or libraries would put other bytes under the names that the build looks for."""
    for step in job.steps:
        if code_digest(step.recipe.modules) != step.recipe.code:
            raise StoreError(
                f"worker {socket.gethostname()} has other code or libraries than this machine for stage "
                f"{step.recipe.stage}: install the same scan2qa, with the same lock file and Python, and restart it"
            )
