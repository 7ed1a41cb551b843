"""A cluster of two workers against two local processes: `python -m tests.bench.scale [dask|ray] [copies]`.

Both build the released metadata (or the samples where these are not there), each scene in so many perturbed copies, in
turn and several times; where the releases or any result differ, it ends with 1. Seconds are by the clock, so the
machine must be idle: of each way the fastest build counts.
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
from typing import Final

import psutil
from rich.console import Console
from rich.table import Table

from pipeline.engine.given import STORE
from tests.bench.builds import raw_scenes
from tests.builds import REPOSITORY, UNASKED_SETTINGS, perturbed, prefect_environment
from tests.worlds.indoor.readers.broken_metadata import write_scenes

ROUNDS: Final = 3
WORKERS: Final = 2
COMMAND: Final = "from flows.cli import main; main()"


def main() -> None:
    """Builds in each way, compares, and kills a worker of a cluster in a build of its own."""
    runner = sys.argv[1] if len(sys.argv) > 1 else "dask"
    copies = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenes, _ = raw_scenes()
        (folder / "meta").mkdir()
        write_scenes(folder / "meta" / "meta.json", perturbed(scenes, len(scenes) * copies))
        seconds: dict[str, list[float]] = {"local": [], runner: []}
        found = set()
        for _ in range(ROUNDS):
            for way, took in seconds.items():
                took.append(_build(folder, way))
                found.add(_digest(folder / way))
        killed, died = _build_and_kill(folder, runner)
        found.add(_digest(folder / runner))
    table = Table(f"{len(scenes) * copies} scenes, {WORKERS} workers", "fastest", "all", "ratio to local")
    for way, took in seconds.items():
        each = " ".join(f"{one:.1f}" for one in took)
        table.add_row(way, f"{min(took):.1f} s", each, f"{min(took) / min(seconds['local']):.2f}")
    table.add_row(f"{runner}, {died} killed", f"{killed:.1f} s", "", f"{killed / min(seconds['local']):.2f}")
    Console(width=100).print(table)
    Console().print("Results and releases are the same." if len(found) == 1 else "RESULTS OR RELEASES DIFFER")
    sys.exit(len(found) != 1)


def _build(folder: Path, way: str) -> float:
    with _started(folder, way) as process:
        before = time.perf_counter()
        if process.wait():
            raise SystemExit(f"the build by {way} ended with {process.returncode}")
        return time.perf_counter() - before


def _build_and_kill(folder: Path, runner: str) -> tuple[float, int]:
    """A build of which one worker is killed in the midst of its scenes; its seconds, and how many died."""
    with _started(folder, runner) as process:
        before, store, died = time.perf_counter(), folder / runner / STORE, 0
        while process.poll() is None:
            if not died and store.is_dir() and sum(len(files) for _, _, files in os.walk(store)) > 200:
                workers = [child for child in psutil.Process(process.pid).children(recursive=True) if _works(child)]
                for worker in workers[:1]:
                    worker.kill()
                    died += 1
            time.sleep(0.02)
        if process.returncode or not died:
            raise SystemExit(f"with {died} workers killed, the build ended with {process.returncode}")
        return time.perf_counter() - before, died


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
    """Of all results and the release, by names and bytes."""
    files = [p for place in (out / STORE, out / "releases") for p in sorted(place.rglob("*")) if p.is_file()]
    names = {
        p.relative_to(out).as_posix(): sha256(p.read_bytes()).hexdigest() for p in files if p.name != "history.jsonl"
    }
    return sha256(json.dumps(names, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    main()
