"""Speed of the readers at real size, a mesh of 150,000 vertices and 1,500 frames: `python -m tests.bench.readers`.

Seconds are those of one core; memory is what reading adds at its peak, measured on a run of its own.
"""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from rich.console import Console
from rich.table import Table

from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.reader import Reader
from pipeline.worlds.registry import READERS
from tests.worlds.indoor.readers.tiny_scans import write_arkitscenes, write_scannet, write_scannetpp

FRAMES = 1500
STEP_M = 0.0137  # between vertices: a little over 150,000 of them
MAX_UNIFY_S = 2.0  # issue 3
RUNS = 3

Row = tuple[str, float, str, str | None, float | None]
WRITERS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "scannet, .sens": ("scannet", lambda root: write_scannet(root, frames=FRAMES, step=STEP_M)),
    "scannet, exported": ("scannet", lambda root: write_scannet(root, frames=FRAMES, step=STEP_M, exported=True)),
    "scannetpp": ("scannetpp", lambda root: write_scannetpp(root, frames=FRAMES, step=STEP_M)),
    "arkitscenes": ("arkitscenes", lambda root: write_arkitscenes(root, frames=FRAMES, step=STEP_M)),
}


def rows() -> list[Row]:
    """Name, value, unit, target and how many times better than the target (1 or more: met; None: no target)."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (dataset, write)) in enumerate(WRITERS.items()):
            root, reader = Path(folder) / str(number), READERS[dataset]
            write(root)
            found += _measured(name, reader, root)
    return found


def _measured(name: str, reader: Reader, root: Path) -> list[Row]:
    (ref,) = reader.scenes(root).scenes
    scene = reader.read(SceneFiles(root, ref))
    geometry = reader.geometry(SceneFiles(root, ref), scene)
    assert geometry is not None
    size = f"{len(geometry.vertices):,} vertices, {len(geometry.frames.time_s):,} frames"
    unify_s = min(_seconds(lambda: reader.read(SceneFiles(root, ref)), process_time) for _ in range(RUNS))
    return [
        (f"{name}: unify, {size}", unify_s, "s", f"<= {MAX_UNIFY_S:g}", MAX_UNIFY_S / unify_s),
        (f"{name}: unify, peak", _peak_mib(reader, root, ref), "MiB", None, None),
        (f"{name}: list and stamp", _seconds(lambda: reader.scenes(root), perf_counter), "s", None, None),
        (
            f"{name}: geometry",
            _seconds(lambda: reader.geometry(SceneFiles(root, ref), scene), process_time),
            "s",
            None,
            None,
        ),
    ]


def _seconds(run: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    run()
    return clock() - start


def _peak_mib(reader: Reader, root: Path, ref: SceneRef) -> float:
    tracemalloc.start()
    reader.read(SceneFiles(root, ref))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def _main() -> None:
    table = Table("what", "value", "unit", "target", "times better than the target", title="Readers")
    for name, value, unit, target, ratio in rows():
        table.add_row(name, f"{value:.3g}", unit, target or "", "" if ratio is None else f"{ratio:.3g}")
    Console(width=140).print(table)


if __name__ == "__main__":
    _main()
