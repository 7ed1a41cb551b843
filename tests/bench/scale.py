"""A cluster of two workers against two local processes: `python -m tests.bench.scale [dask|ray] [copies]`.

Both build the released metadata (or the samples where these are not there), each scene in so many perturbed copies, in
turn and several times; where the releases or any result differ, it ends with 1. Of each way the fastest build counts,
by the clock, which means little unless the machine is idle, and by the processor seconds of all its processes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import psutil
from rich.console import Console
from rich.table import Table

from pipeline.engine.manifest import MANIFEST_FILE
from pipeline.engine.stage import STORE
from pipeline.release.history import HISTORY_FILE
from tests.bench.builds import raw_scenes
from tests.builds import REPOSITORY, UNASKED_SETTINGS, perturbed, prefect_environment
from tests.worlds.indoor.readers.broken_metadata import write_scenes

ROUNDS: Final = 2
WORKERS: Final = 2
KILLED_AT_FILES: Final = 1000
COMMAND: Final = "from flows.cli.app import main; main()"


def main() -> None:
    """Builds in each way, compares, and kills a worker of a cluster in a build of its own."""
    runner = sys.argv[1] if len(sys.argv) > 1 else "dask"
    copies = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenes, _ = raw_scenes()
        (folder / "meta").mkdir()
        write_scenes(folder / "meta" / "meta.json", perturbed(scenes, len(scenes) * copies))
        seconds: dict[str, list[Cost]] = {"local": [], runner: []}
        found = set()
        for _ in range(ROUNDS):
            for way, took in seconds.items():
                took.append(_build(folder, way))
                found.add(_digest(folder / way))
        killed, died = _build_and_kill(folder, runner)
        found.add(_digest(folder / runner))
    table = Table(f"{len(scenes) * copies} scenes, {WORKERS} workers", title="Fastest of each way, and ratio to local")
    for name in ("clock", "ratio", "processors", "ratio"):
        table.add_column(name, justify="right")
    fastest = {way: Cost(*map(min, zip(*took, strict=True))) for way, took in seconds.items()}
    local = fastest["local"]
    for way, cost in (fastest | {f"{runner}, {died} killed": killed}).items():
        ratios = [f"{cost.clock_s / local.clock_s:.2f}", f"{cost.cpu_s / local.cpu_s:.2f}"]
        table.add_row(way, f"{cost.clock_s:.1f} s", ratios[0], f"{cost.cpu_s:.1f} s", ratios[1])
    Console(width=100).print(table)
    Console().print("Results and releases are the same." if len(found) == 1 else "RESULTS OR RELEASES DIFFER")
    sys.exit(len(found) != 1)


class Cost(NamedTuple):
    """What a build took."""

    clock_s: float
    cpu_s: float  # of it and all its children that it waited for


def _build(folder: Path, way: str) -> Cost:
    with _started(folder, way) as process, _cost() as cost:
        if process.wait():
            raise SystemExit(f"the build by {way} ended with {process.returncode}")
    return cost[0]


@contextmanager
def _cost() -> Iterator[list[Cost]]:
    """What the processes cost that were started before the block and end within; it is there after the block."""
    found: list[Cost] = []
    clock_s, before = time.perf_counter(), os.times()
    yield found
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    found.append(Cost(time.perf_counter() - clock_s, cpu_s))


def _build_and_kill(folder: Path, runner: str) -> tuple[Cost, int]:
    """A build of which one worker is killed in the midst of its scenes; its cost, and how many died."""
    with _started(folder, runner) as process, _cost() as cost:
        store, died = folder / runner / STORE, 0
        while process.poll() is None:
            if not died and store.is_dir() and sum(len(files) for _, _, files in os.walk(store)) > KILLED_AT_FILES:
                workers = [child for child in psutil.Process(process.pid).children(recursive=True) if _works(child)]
                for worker in workers[:1]:
                    worker.kill()
                    died += 1
            time.sleep(0.1)
        if process.returncode or not died:
            raise SystemExit(f"with {died} workers killed, the build ended with {process.returncode}")
    return cost[0], died


def _works(process: psutil.Process) -> bool:
    try:
        line = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return "multiprocessing.spawn" in line or line.startswith("ray::work")


@contextmanager
def _started(folder: Path, way: str) -> Iterator[subprocess.Popen[bytes]]:
    out = folder / way
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-c", COMMAND, "build", "vsi", "--root", f"vsi_meta={folder / 'meta'}", "--quiet"]
    command += ["--out", str(out), "--workers", str(WORKERS), "--no-prefect", *UNASKED_SETTINGS]
    command += [] if way == "local" else ["--runner", way]
    with subprocess.Popen(command, cwd=REPOSITORY, env=prefect_environment()) as process:
        yield process


def _digest(out: Path) -> str:
    """Of all results and the release, by names and bytes, without what tells when, and how long it took."""
    files = [p for place in (out / STORE, out / "releases") for p in sorted(place.rglob("*")) if p.is_file()]
    files = [p for p in files if p.name != HISTORY_FILE and not p.name.endswith(MANIFEST_FILE)]
    names = {p.relative_to(out).as_posix(): sha256(p.read_bytes()).hexdigest() for p in files}
    return sha256(json.dumps(names, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    main()
