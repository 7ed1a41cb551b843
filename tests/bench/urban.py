"""A thousand flights from logs to a release on two processes, and whether the cost is linear.

The flights are copies of the six sample flights under other names; videos are left out.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from pipeline.engine.config import build_config
from pipeline.engine.job import Job, JobResult, run_job
from pipeline.samples.flight.write import write_flights
from pipeline.stages.builder import Builder
from tests.builds import UNASKED

SIZES: Final = (250, 500, 1000)
TARGET_S: Final = 60.0  # for the questions of 1,000 flights: stages generate and select


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flights = write_flights(folder / "samples")
        for size in SIZES:
            root = folder / f"flights{size}"
            for number in range(size):
                _link(folder / "samples" / flights[number % len(flights)], root / f"{number:04}")
            _measure(root, folder / f"out{size}", size)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(f"largest process: {peak:.0f} MiB")


def _measure(root: Path, out: Path, size: int) -> None:
    sections = {"build": "urbanvideo", "benchmark": "urbanvideo", "roots": {"flights": root}, "video": False}
    config = build_config(sections | UNASKED)
    wall: dict[str, float] = defaultdict(float)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(abs, range(64)))  # started before the clock is

        def execute(stage: str, batches: list[list[Job]]) -> Iterator[JobResult]:
            start = time.perf_counter()
            yield from pool.map(run_job, [job for batch in batches for job in batch], chunksize=8)
            wall[stage] += time.perf_counter() - start

        start = time.perf_counter()
        outcome = Builder(config, out, execute).build()
        total = time.perf_counter() - start
    assert not outcome.quarantine
    assert outcome.released is not None
    questions = sum(outcome.released.questions.values())
    asked = wall["generate"] + wall["select"]
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in wall.items())
    print(
        f"{size} flights, {questions} questions: {asked:.1f} s for generate and select "
        f"(target for 1,000: {TARGET_S:.0f}), {asked / size * 1000:.1f} ms a flight, "
        f"{asked / wall['unify']:.1f} times the reading of the logs; {total:.1f} s in all ({stages})"
    )


def _link(flight: Path, there: Path) -> None:
    """A flight under another name, without its video."""
    there.mkdir(parents=True)
    for path in sorted(flight.iterdir()):
        if path.name == "flight.yaml":
            text = path.read_text(encoding="utf-8").replace("video: video.mp4\n", "")
            (there / path.name).write_text(text, encoding="utf-8")
        elif path.suffix != ".mp4":
            (there / path.name).hardlink_to(path)


if __name__ == "__main__":
    main()
