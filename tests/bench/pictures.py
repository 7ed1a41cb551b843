"""Drawings of questions: what a thousand take, of scans from metadata and from a build with videos.

python -m tests.bench.pictures              # sample metadata, no videos
python -m tests.bench.pictures outputs/vsi  # also the questions of a build that is there, with pictures of its videos

Processor seconds are told beside those of the clock: other work on the machine slows the clock alone. Two cores
share the work scene by scene, so a build takes about half of the processor's seconds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from flows.cli.review import benchmark_of
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import read_table
from pipeline.core.tables import asked_in
from pipeline.engine.manifest import read_manifest
from pipeline.engine.rerun import last_outputs
from pipeline.engine.stage import STORE, StageContext
from pipeline.engine.store import Store
from pipeline.samples.indoor.metadata import write_sample_metadata
from pipeline.stages.figures import run
from tests.builds import build

MOST_S = 60.0  # of two cores, for a thousand


def report(name: str, folder: Path, benchmark: str) -> None:
    """Draws all questions of a build again, without and with a PNG of each."""
    for png in ("video", "all"):
        drawn(
            f"{name}, {'a PNG of each' if png == 'all' else 'PNGs of those that show a video'}", folder, benchmark, png
        )


def drawn(name: str, folder: Path, benchmark: str, png: str) -> None:
    """What that takes."""
    outputs, store = last_outputs(read_manifest(folder)), Store(folder / STORE)
    rules = next(iter(BENCHMARKS[benchmark].profiles.values())).model_dump()
    clock, processor, count = time.perf_counter(), time.process_time(), 0
    for unit, selected in outputs["select"].items():
        results = {stage: ((unit, outputs[stage][unit]),) for stage in ("describe", "video") if stage in outputs}
        results.setdefault("describe", ((unit, outputs["observe"][unit]),))
        results["select"] = ((unit, selected),)
        run(StageContext(unit, {"benchmark": benchmark, "rules": rules, "png": png}, folder, results))
        count += asked_in(read_table(store.get(selected))).num_rows
    spent = (time.perf_counter() - clock, time.process_time() - processor)
    seconds = [1000 / count * part for part in spent]
    print(
        f"{name}: {count} questions; of 1,000: {seconds[0]:.0f} s by the clock of one core, {seconds[1]:.0f} s of the "
        f"processor, {seconds[1] / 2:.0f} s on two (at most {MOST_S:g})"
    )


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sample_metadata(folder / "meta")
        build(folder / "meta", folder / "out")
        report("maps alone", folder / "out", "vsi")
    for given in arguments:
        report(f"{given}, with pictures of videos", Path(given), benchmark_of(Path(given)))


if __name__ == "__main__":
    main(sys.argv[1:])
