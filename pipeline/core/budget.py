"""Limits of memory, processor time and open files for work on raw data, which the kernel enforces.

They hold in processes that may end at them (`may_end`); the process that started such a one learns what became of it.
Memory is RLIMIT_DATA: writable memory of the process alone; on Linux only. Of the alternatives, RLIMIT_AS also counts
files and libraries that are mapped (500 MiB after imports, gigabytes with drivers of graphics cards), and a watch over
the resident size, four times a second, acts a gigabyte too late and not at the same place each time.
"""

import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pydantic import Field

from pipeline.core.errors import MEMORY_LIMIT, OPEN_FILES_LIMIT, RawDataError, limit_error
from pipeline.core.schema import Limits

Report = Callable[[str], None]

PROCESSOR_LIMIT: Final = "processor_limit"
REACHED: Final = frozenset({MEMORY_LIMIT, OPEN_FILES_LIMIT, PROCESSOR_LIMIT})
GIB: Final = 2**30
_STATM: Final = Path("/proc/self/statm")
_DATA_PAGES: Final = 5  # field of it: data and stack


class WorkerLimits(Limits):
    """Limits of the processes that list and read raw data; a scene that needs more is left out."""

    memory_gib: float = Field(
        default=8.0,
        ge=2,  # pyarrow alone reserves 1 GiB when it is first used
        le=4096,
        description="memory for a stage of one scene, beyond what its process holds before; on Linux only",
    )
    processor_s: int = Field(
        default=3600, ge=1, le=604_800, description="processor time for a stage of one scene, all threads together"
    )
    listing_s: int = Field(
        default=300, ge=1, le=604_800, description="processor time for listing the scenes of one file"
    )
    open_files: int = Field(default=1024, ge=64, le=1_000_000, description="files that a process has open at a time")


_reports: Final[list[Report]] = []  # of a process that may end at a limit: one


def may_end(report: Report) -> None:
    """Enables the limits in this process; ``report`` receives the name of each `limited` block before it begins."""
    _reports[:] = [report]
    _set(resource.RLIMIT_CORE, 0)


@contextmanager
def limited(limits: WorkerLimits | None, name: str) -> Iterator[None]:
    """Within the block the limits hold, beyond what has been used before, in a process that may end at them.

    Raises MemoryError, and OSError for files; at the limit of processor time the process ends with SIGXCPU.
    """
    if not _reports or limits is None:
        yield
        return
    _reports[0](name)
    with lowered(limits), processor_time(limits.processor_s):
        yield


@contextmanager
def lowered(limits: WorkerLimits) -> Iterator[None]:
    """Within the block the limits of memory and open files hold."""
    limited_here = (resource.RLIMIT_DATA, resource.RLIMIT_NOFILE)
    before = {which: resource.getrlimit(which) for which in limited_here}
    with suppress(OSError):  # macOS has no such file, and does not enforce RLIMIT_DATA
        pages = int(_STATM.read_text("ascii").split()[_DATA_PAGES])
        _set(resource.RLIMIT_DATA, pages * resource.getpagesize() + int(limits.memory_gib * GIB))
    _set(resource.RLIMIT_NOFILE, limits.open_files)
    try:
        yield
    finally:
        for which, values in before.items():
            resource.setrlimit(which, values)


@contextmanager
def processor_time(seconds: int) -> Iterator[None]:
    """Within the block SIGXCPU ends this process after so many seconds of the processor."""
    before = resource.getrlimit(resource.RLIMIT_CPU)
    renew_processor_time(seconds)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)


def renew_processor_time(seconds: int) -> None:
    """Has SIGXCPU end this process after so many seconds of the processor from now on."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(time.process_time()) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def ended_error(
    exit_code: int | None, path: Path, scene: str | None = None, setting: str = "processor_s"
) -> RawDataError:
    """The error of a scene whose process ended before its work.

    Args:
        exit_code: of the process; below zero that of a signal.
        path: the file at fault.
        scene: its id.
        setting: the limit of processor time that held.
    """
    if exit_code == -signal.SIGXCPU:
        return limit_error(PROCESSOR_LIMIT, setting, path, scene)
    how = f"by {signal.Signals(-exit_code).name}" if exit_code and exit_code < 0 else f"with exit code {exit_code}"
    remedy = "is the file damaged? After SIGKILL, memory most likely ran out: try --workers 1"
    return RawDataError(path, "worker_died", f"the process that worked on it was ended {how}", remedy, scene)


def _set(which: int, value: int) -> None:
    """Lowers a limit; one that is lower already stays."""
    soft, hard = resource.getrlimit(which)
    if soft == resource.RLIM_INFINITY or value < soft:
        resource.setrlimit(which, (value, hard))
