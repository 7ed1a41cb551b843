"""Clusters that run a build's scenes: `--runner dask`, `--runner ray`.

A batch of scenes is one task of the cluster. Only jobs are sent and only their outcomes return: the results are in the
store, and work of a worker that was killed is repeated by another, to the same bytes. Prefect stays in the build's
process, where a batch is a task that waits for its scenes: workers need no server and no Prefect.
"""

import asyncio
import json
import logging
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final, Self
from urllib.parse import urlsplit

from flows.orchestration.processes import RunJobs, ignore_signals
from flows.remote.cluster_worker import work, work_from
from pipeline.core.errors import ConfigError, StoreError, require_extra
from pipeline.engine.job import Job, JobResult
from pipeline.engine.lease import LEASE_FILE

# Scenes of one task: a scan takes minutes, and no worker should wait long for another; a task takes some milliseconds.
PIECE: Final = 4
LARGEST_PIECE: Final = 16  # where there are so many scenes that there are `PIECES` of them
PIECES: Final = 64
REACHED_WITHIN_S: Final = 30
ANSWERS_WITHIN_S: Final = 2.0  # to a connection, before anything is started
# What Dask's processes look at all the time, many times a second: on a cluster of this machine nobody reads it.
UNWATCHED: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "2s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
}
DIED: Final = "workers died again and again at the same scenes, most likely for lack of memory; finished work is kept"


class Cluster(ABC):
    """A cluster that runs, or one of worker processes of this machine, started when first needed.

    Args:
        address: of the cluster; None: one of this machine.
        workers: processes of that.
        store: URL of the object store through which workers get and give files; None: all machines share the folder.
    """

    name: str
    who: ClassVar[str]  # has to answer at the address
    remedy: ClassVar[str]
    at_once: Final = 256  # batches that wait at a time, each in a thread

    def __init__(self, address: str | None, workers: int, store: str | None = None) -> None:
        self.address, self.workers, self.store = address, workers, store
        self._is_started = False

    @classmethod
    def unanswered(cls, address: str | None, error: Exception) -> ConfigError:
        """The error of an address at which no cluster answers."""
        return ConfigError(f"no {cls.who} answers at {address} ({type(error).__name__}): {cls.remedy}")

    @classmethod
    def check_answers(cls, address: str) -> None:
        """Raises OSError or ValueError within seconds where nobody listens, or something that is no such cluster.

        What is no host and port, such as Ray's "auto", is left to the cluster's own client.
        """
        found = urlsplit(address if "://" in address else f"//{address}")
        if found.hostname and found.port:
            socket.create_connection((found.hostname, found.port), ANSWERS_WITHIN_S).close()

    def job_runner(self, jobs: int) -> RunJobs:
        """The runner of jobs on the cluster. Raises ConfigError where it cannot be reached."""
        if not self._is_started:
            self._start()
            self._is_started = True
        return self._run

    def execute(self, stages: str, batches: list[list[Job]]) -> Iterator[JobResult]:
        """Runs all jobs (`engine.run.Execute`)."""
        jobs = list(chain.from_iterable(batches))
        yield from self.job_runner(len(jobs))(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Lets go of the cluster; tasks that have not begun are dropped."""
        if self._is_started:
            self._close()

    def _run(self, jobs: list[Job]) -> Iterator[JobResult]:
        where = self.store or (jobs[0].folder / LEASE_FILE).read_text(encoding="utf-8")
        size = max(PIECE, min(LARGEST_PIECE, len(jobs) // PIECES))
        pieces = [jobs[first : first + size] for first in range(0, len(jobs), size)]
        for task in [self._submit(piece, where) for piece in pieces]:
            yield from self._result(task)

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...

    @abstractmethod
    def _submit(self, jobs: list[Job], where: str) -> Any: ...

    @abstractmethod
    def _result(self, task: Any) -> list[JobResult]: ...


class Dask(Cluster):
    """Dask; the address is the scheduler's, such as tcp://10.0.0.1:8786, or its ``--scheduler-file`` (.json)."""

    name = "dask"
    who = "Dask scheduler with a worker"
    remedy = "run `dask scheduler`, and `dask worker ADDRESS` on each machine"

    @classmethod
    def check_answers(cls, address: str) -> None:
        """A proxy, or a port that is forwarded to nobody, takes any connection: Dask's greeting has to come back."""
        address = cls._read(address)
        super().check_answers(address)
        if "://" in address and not address.startswith("tcp://"):  # encrypted: its client has the keys
            return
        from distributed.comm import connect

        async def greet() -> None:
            (await asyncio.wait_for(connect(address, timeout=ANSWERS_WITHIN_S), ANSWERS_WITHIN_S)).abort()

        try:
            asyncio.run(greet())
        except MemoryError as error:  # what it sent was taken for the length of a message
            raise ConnectionError("it does not speak Dask") from error

    @staticmethod
    def _read(address: str) -> str:
        """The address in a scheduler's file, or what is given itself. Raises OSError and ValueError."""
        if not address.endswith(".json"):
            return address
        match json.loads(Path(address).read_bytes()):
            case {"address": str(told)}:
                return told
        raise ValueError(f"{address} names no scheduler")

    def _start(self) -> None:
        import dask
        from distributed import Client, LocalCluster

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told once, as our own line
        self._own: Any = None
        if self.address is None:
            dask.config.set(UNWATCHED)
            with ignore_signals():
                self._own = LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
        try:
            to = self._own or (self.address and self._read(self.address))
            self._client: Any = Client(to, timeout=REACHED_WITHIN_S)
            self._client.wait_for_workers(1, timeout=REACHED_WITHIN_S)
        except (OSError, ValueError, TimeoutError, MemoryError) as error:  # the last: a server of another kind answers
            raise self.unanswered(self.address, error) from error

    def _close(self) -> None:
        self._client.close()
        if self._own is not None:
            self._own.close()

    def _submit(self, jobs: list[Job], where: str) -> Any:
        return self._client.submit(work_from if self.store else work, jobs, where, pure=False)

    def _result(self, task: Any) -> list[JobResult]:
        from distributed import KilledWorker

        try:
            return task.result()
        except KilledWorker as error:
            raise StoreError(DIED) from error


class Ray(Cluster):
    """Ray; the address is that of its head node, such as 10.0.0.1:6379, or "auto" on one of its machines."""

    name = "ray"
    who = "Ray cluster"
    remedy = (
        "run `ray start --head`, and `ray start --address=…` on the others; if it wants tokens, "
        "export RAY_AUTH_MODE=token here too"
    )

    def _start(self) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL, "include_dashboard": None}
        own = {"num_cpus": self.workers, "include_dashboard": False}
        try:
            with ignore_signals():
                ray.init(self.address or "local", **quiet | ({} if self.address else own))
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise self.unanswered(self.address, error) from error
        self._ray: Any = ray
        self._work: Any = ray.remote(work_from if self.store else work).options(max_retries=3)

    def _close(self) -> None:
        self._ray.shutdown()

    def _submit(self, jobs: list[Job], where: str) -> Any:
        return self._work.remote(jobs, where)

    def _result(self, task: Any) -> list[JobResult]:
        from ray import exceptions

        try:
            return self._ray.get(task)
        except exceptions.RayTaskError as error:
            raise error.cause from None  # as it was raised there
        except (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError) as error:
            raise StoreError(DIED) from error


CLUSTERS: Final[dict[str, type[Cluster]]] = {cluster.name: cluster for cluster in (Dask, Ray)}


def check_runner(runner: str | None, address: str | None) -> None:
    """Raises ConfigError at once for an unknown runner, one that is not installed, or an address without one."""
    if runner is None:
        if address is not None:
            raise ConfigError(f"--runner-address {address}: name the cluster with --runner {' or '.join(CLUSTERS)}")
        return
    if runner not in CLUSTERS:
        raise ConfigError(
            f"unknown runner {runner!r}; there are {', '.join(CLUSTERS)}, or none for this machine's cores"
        )
    require_extra(runner, f"--runner {runner}")


def check_answers(runner: str | None, address: str | None) -> None:
    """Raises ConfigError within seconds where no cluster answers at an address."""
    if runner is None or address is None:
        return
    try:
        CLUSTERS[runner].check_answers(address)
    except (OSError, ValueError) as error:
        raise CLUSTERS[runner].unanswered(address, error) from error
