"""What benchmarks share: figures with their targets and baselines, costs of work and of commands, and a table.

A benchmark reports and never fails: what a machine can do is no matter for a test. Seconds are of the processor where
one process works alone, so that other work on the machine does not count, and else by the clock.
"""

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table

from tests.builds import REPOSITORY, UNASKED_SETTINGS, prefect_environment

T = TypeVar("T")
console = Console(width=150)


class Figure(NamedTuple):
    """What was measured; its target, the most or the least; and what a baseline took in the same run, in its unit.

    A number of neither says nothing of whether it is good.
    """

    what: str
    value: float | str
    unit: str = ""
    most: float | None = None
    least: float | None = None
    baseline: float | None = None


def show(title: str, found: Iterable[Figure | Table | str]) -> None:
    """Prints tables and lines as they come, and all figures as one table in the end."""
    table = Table("what", "value", "unit", "target", "met", "ratio", title=title, title_justify="left")
    for one in found:
        if not isinstance(one, Figure):
            console.print(one, highlight=False)
            continue
        what, value, unit, most, least, baseline = one
        number = value if isinstance(value, float | int) else float("nan")
        limits = [f"{sign} {limit:,.4g}" for sign, limit in (("<=", most), (">=", least)) if limit is not None]
        met = not (most is not None and number > most) and not (least is not None and number < least)
        # To the baseline, or else to the target, of which 0 is one too.
        peer = next((one for one in (baseline, most, least) if one), None)
        ratio = "" if peer is None else f"{number / peer:.3g}"
        shown = value if isinstance(value, str) else f"{value:,.4g}"
        table.add_row(what, shown, unit, " ".join(limits), ("yes" if met else "NO") if limits else "", ratio)
    if table.row_count:
        console.print(table)


class Cost(NamedTuple):
    """Seconds by the clock, which knows who else is busy here, and of the processor; peak memory of children too."""

    clock_s: float
    cpu_s: float
    child_mib: float = 0.0


def timed(work: Callable[[], T], runs: int = 1) -> tuple[Cost, T]:
    """The least cost of some runs in this process, and the last result."""
    costs = []
    for _ in range(runs):
        clock_s, cpu_s = time.perf_counter(), time.process_time()
        result = work()
        costs.append((time.perf_counter() - clock_s, time.process_time() - cpu_s))
    return Cost(*map(min, zip(*costs, strict=True))), result


def peak_mib() -> float:
    """The most memory that this process took; what its parent took before it does not count (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def apart(work: Callable[..., T], *arguments: Any) -> T:
    """Does something in a process of its own, whose memory is then its own too."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="scan2qa-bench-") as name:
        yield Path(name)


_SUBREAPER: Final = 36  # prctl, Linux


@contextmanager
def costing() -> Iterator[list[Cost]]:
    """What the processes cost that start and end within the block, and the largest of all so far; known after it.

    A build's workers are children of a server that outlives it for a moment: this process becomes their parent then,
    else they would not count.
    """
    found: list[Cost] = []
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    clock_s, before = time.perf_counter(), os.times()
    yield found
    clock_s = time.perf_counter() - clock_s
    with suppress(ChildProcessError):  # there are no more
        while True:
            os.wait()
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    found.append(Cost(clock_s, cpu_s, largest))


def started(*arguments: object) -> subprocess.Popen[str]:
    """The command `scan2qa` as it runs; builds ask no model, prune nothing and draw nothing."""
    extra = UNASKED_SETTINGS if arguments[0] == "build" else ()
    command = [sys.executable, "-c", "from flows.cli.app import main; main()", *map(str, arguments), *extra]
    return subprocess.Popen(command, cwd=REPOSITORY, env=prefect_environment(), stdout=subprocess.PIPE, text=True)


def command(*arguments: object) -> Cost:
    """What `scan2qa` costs from its start to its end. Raises SystemExit where it fails."""
    with costing() as cost, started(*arguments) as process:
        process.communicate()
        if process.returncode:
            raise SystemExit(f"scan2qa {' '.join(map(str, arguments))} ended with {process.returncode}")
    return cost[0]
