"""Runs jobs of a build on a worker of a cluster. Workers import this module, so it imports neither Prefect nor Dask."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from pipeline.core.errors import StoreError
from pipeline.core.files import write_atomically
from pipeline.engine.code import code_digest
from pipeline.engine.job import Job, JobResult, run_job
from pipeline.engine.lease import LEASE_FILE
from pipeline.engine.manifest import Entry
from pipeline.engine.stage import STORE
from pipeline.engine.store import PACKS, Packs, Result, by_bits, packs_of
from pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from flows.remote.object_store import Bucket

AT_ONCE: Final = 16  # requests
SEEN_WITHIN_S: Final = 30.0  # a folder of the network may show a new file late


def work(jobs: list[Job], mark: str) -> list[JobResult]:
    """Runs jobs; returns their results in order. Raises StoreError where this worker is not fit for them.

    Args:
        jobs: as for this process; all that they need lies in their folder and roots.
        mark: what the lease of their folder says, so that a folder of the same name is not taken for it.
    """
    for job in jobs:
        _check_folder(job, mark)
        _check(job)
    return [run_job(job) for job in jobs]


def work_from(jobs: list[Job], url: str) -> list[JobResult]:
    """The same for a worker that does not share the build's folder: what jobs need is fetched from an object store.

    They work in a folder of this machine; what they made is there in the store, under its names, when this returns.
    """
    from flows.remote.object_store import Bucket

    for job in jobs:
        _check(job)
    bucket = Bucket(url)
    with TemporaryDirectory(prefix="scan2qa-") as name, ThreadPoolExecutor(AT_ONCE) as threads:
        folder = Path(name)

        def fetch(path: str) -> None:
            got = bucket.get(path)
            if got is not None:  # else the stage says what it misses
                write_atomically(folder / path, got[0])

        packs = cache(lambda stage: by_bits(map(Path, bucket.objects(f"{STORE}/{stage}/{PACKS}"))))
        list(threads.map(fetch, sorted({path for job in jobs for path in _readable_paths(job, bucket, packs)})))
        before = _files(folder)
        dones = [run_job(_moved(job, folder)) for job in jobs]
        home = jobs[0].folder
        dones = [replace(d, entries=tuple(_entry_at(entry, folder, home) for entry in d.entries)) for d in dones]
        after = _files(folder)
        made = [path for path, stat in after.items() if before.get(path) != stat]
        list(threads.map(lambda path: bucket.put(path, (folder / path).read_bytes()), made))
        bucket.remove(sorted(before.keys() - after.keys()))
    return dones


def _readable_paths(job: Job, bucket: Bucket, packs: Callable[[str], Packs]) -> Iterator[str]:
    """Paths, below the build's folder, of what a job may read there; ``packs`` are those of a stage."""
    found = [result for results in job.outputs.values() for result in results.values()]
    found += [result for step in job.steps for result in step.found.values()]
    for result in found:
        stage, _, name = result.name.partition("/")
        yield result.path.relative_to(job.folder).as_posix()
        yield from (path.as_posix() for path in packs_of(name, packs(stage)))
    for folder in sorted({folder for step in job.steps for folder in STAGES[step.spec.stage].folders}):
        beside = f"{folder}/{job.unit}"
        for path in bucket.objects(f"{folder}/{job.unit.partition('/')[0]}"):
            if path.startswith((f"{beside}.", f"{beside}/")):
                yield path


def _moved(job: Job, folder: Path) -> Job:
    """A job with the paths of its results below another folder, in which nobody else works."""
    home = job.folder
    outputs = {stage: {u: _placed(r, home, folder) for u, r in found.items()} for stage, found in job.outputs.items()}
    steps = tuple(
        replace(
            step,
            found={key: _placed(result, home, folder) for key, result in step.found.items()},
            entry=step.entry and _entry_at(step.entry, home, folder),
        )
        for step in job.steps
    )
    return replace(job, outputs=outputs, steps=steps, folder=folder, lease=None)


def _placed(result: Result, home: Path, folder: Path) -> Result:
    return result._replace(root=folder / result.root.relative_to(home))


def _entry_at(entry: Entry, home: Path, folder: Path) -> Entry:
    return replace(entry, output=_placed(entry.output, home, folder)) if entry.output else entry


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Path -> inode and time of change of every file."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {p.relative_to(folder).as_posix(): ((stat := p.stat()).st_ino, stat.st_mtime_ns) for p in paths}


def _check_folder(job: Job, mark: str) -> None:
    lease, until = job.folder / LEASE_FILE, time.monotonic() + SEEN_WITHIN_S
    while not (lease.exists() and lease.read_text(encoding="utf-8") == mark):
        if time.monotonic() > until:
            raise StoreError(
                f"worker {socket.gethostname()} does not see {job.folder}: give a folder all machines share"
            )
        time.sleep(0.1)


def _check(job: Job) -> None:
    """Other code or libraries would put other bytes under the names that the build looks for."""
    if job.raw is not None and job.raw.mirror is None and not job.raw.root.is_dir():
        raise StoreError(f"worker {socket.gethostname()} does not see {job.raw.root}: mount it there at the same path")
    for step in job.steps:
        if code_digest(step.spec.modules) != step.spec.code:
            raise StoreError(
                f"worker {socket.gethostname()} has other code or libraries than this machine for stage "
                f"{step.spec.stage}: install the same scan2qa, with the same lock file and Python, and restart it"
            )
