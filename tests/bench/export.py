"""A release of 100,000 questions: time, memory and size. Run with ``python -m tests.bench.export``.

The questions of a build under other ids, scene after scene, with all that was dropped; beside them what Parquet alone
takes for the public columns.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.tables import asked_in
from pipeline.release.writer import ZSTD_LEVEL, ReleaseInputs, write_release
from pipeline.stages.export import settings
from pipeline.worlds.registry import read_scene
from tests.bench.builds import MIB, raw_scenes, written
from tests.builds import build, config_of, results_of

N: Final = 100_000
ID_BITS: Final = 53
console = Console(width=130)


def main() -> None:
    """Builds the scenes once, and writes a release of copies of their questions."""
    raw, source = raw_scenes()
    with tempfile.TemporaryDirectory(prefix="scan2qa-bench-") as place:
        folder = Path(place)
        meta = written(folder / "meta", raw)
        results = results_of(folder / "out", build(meta, folder / "out"))
        tables = {unit: read_table(raw) for (stage, unit), raw in results.items() if stage == "select"}
        scenes = {unit: read_scene(raw) for (stage, unit), raw in results.items() if stage in ("unify", "observe")}
        asked = {unit: asked_in(table).num_rows for unit, table in tables.items()}
        turns = -(-N // sum(asked.values()))
        names = {f"{unit}-{turn}": unit for unit in tables for turn in range(turns)}
        listed = [scenes[of].model_copy(update={"id": name}) for name, of in names.items()]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
        console.print(f"{turns * sum(asked.values())} questions, copies of those of {source}; {len(names)} scenes")
        start = time.process_time()
        for _ in copies(tables, names):
            pass
        made_s, start = time.process_time() - start, time.process_time()
        said = settings(config_of(meta))
        release = folder / "release"
        write_release(release, ReleaseInputs(copies(tables, names), listed, said, BENCHMARKS["vsi"]))
        seconds = time.process_time() - start - made_s
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
        plain = pq.read_table(release / "data" / "test-00000-of-00001.parquet")
        start = time.process_time()
        table_bytes(plain, ZSTD_LEVEL)
        baseline = time.process_time() - start
        size = sum(path.stat().st_size for path in release.rglob("*") if path.is_file()) / 2**20
    console.print(f"release: {seconds:.1f} s of the processor (target: <= 15 s), {size:.1f} MiB")
    console.print(f"its public columns as Parquet alone: {baseline:.1f} s; ratio {seconds / baseline:.0f}")
    console.print(f"memory at most {peak:.0f} MiB (target: <= 1024 MiB), {before:.0f} before it began")


def copies(tables: Mapping[str, pa.Table], names: Mapping[str, str]) -> Iterator[pa.Table]:
    """The tables of copied scenes, one at a time; ids as digests would be."""
    random = np.random.default_rng(0)
    for name, unit in names.items():
        table = tables[unit]
        ids = pa.array(random.integers(0, 2**ID_BITS, table.num_rows))
        yield table.set_column(0, "id", ids).set_column(1, "scene", pa.array([name] * table.num_rows))


if __name__ == "__main__":
    main()
