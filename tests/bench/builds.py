"""Speed and memory: `make bench`. Reports, never fails: what a machine can do is no matter for a test.

On the released metadata, or on the samples where these are not there. Every figure stands beside its target and beside
a baseline that was measured in the same run, since seconds mean little without the machine. Seconds are of processor
time where one process works alone, so that other work on the machine does not count, and else by the clock.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree

from pipeline.benchmarks.vsi.rules import PROFILES, STRICT
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.arrays import IntArray
from pipeline.core.schema import Scene
from pipeline.engine.manifest import Outcome
from pipeline.geometry.boxes import Boxes, closest_distance_m
from pipeline.geometry.grids import GRID_STEP_M, SampledBoxes
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.registry import READERS
from tests.builds import build, perturbed, prefect_environment
from tests.conftest import REAL_DATA
from tests.tables import candidates
from tests.worlds.indoor.readers.broken_metadata import write_scenes

SIZES: Final = (125, 250, 500, 1000)
CAP: Final = 6
PLAIN_PAIRS: Final = 300  # the plain grid method is timed on so many pairs
MIB: Final = 1024.0  # ru_maxrss is in KiB
REPOSITORY: Final = Path(__file__).resolve().parents[2]
# Runs what stands behind it, then writes its peak memory and that of its largest child to a file.
WITH_MEMORY: Final = """
import json, resource, sys
from pathlib import Path
report, meta, out, workers = sys.argv[1:]
if workers == "builder":
    from tests.builds import build
    build(Path(meta), Path(out))
else:
    from flows.cli import app as cli
    from tests.builds import UNASKED_SETTINGS
    sys.argv = ["scan2qa", "build", "vsi", "--root", f"vsi_meta={meta}", "--out", out, "--workers", workers]
    sys.argv += UNASKED_SETTINGS
    try:
        cli.main()
    except SystemExit as ended:
        assert not ended.code, ended.code
usage = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
Path(report).write_text(json.dumps(usage))
"""

console = Console(width=130)


def main() -> None:
    """Measures everything and prints a table per subject."""
    scenes, source = raw_scenes()
    console.print(f"{len(scenes)} scenes of {source}; {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory(prefix="scan2qa-bench-") as folder:
        generation(scenes, Path(folder))
        distances(scenes, Path(folder))
        whole_builds(scenes, Path(folder))


def raw_scenes() -> tuple[dict[str, Any], str]:
    """The scenes as JSON, and where they are from."""
    files = sorted((REAL_DATA / "vsi" / "meta_info").glob("*.json"))
    if not files:
        return {plan.name: sample_scene(plan) for plan in PLANS}, "the samples"
    return {name: scene for file in files for name, scene in json.loads(file.read_bytes()).items()}, str(
        files[0].parent
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time of a piece of work in this process, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def table(title: str, *columns: str) -> Table:
    made = Table(*columns, title=title, title_justify="left")
    for column in made.columns[1:]:
        column.justify = "right"
    return made


def read_scenes(folder: Path) -> list[Scene]:
    reader = READERS["vsi_meta"]
    return [reader.read(SceneFiles(folder, ref)) for ref in reader.scenes(folder).scenes]


def written(folder: Path, scenes: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_scenes(folder / "meta.json", scenes)
    return folder


# ---- candidates


def generation(raw: dict[str, Any], folder: Path) -> None:
    """All candidates of all tasks, in one process on one core."""
    meta = written(folder / "given", raw)
    with one_core():
        reading_s, scenes = timed(lambda: read_scenes(meta))
        shown = table(
            f"All candidates of all tasks for {len(scenes)} scenes, one core, without start-up",
            "what",
            "CPU seconds",
            "ms per scene",
            "candidates",
            "ratio to reading",
            "target",
        )
        rows: list[tuple[str, float, int | None, str]] = [("read the scenes", reading_s, None, "")]
        for profile, rules in PROFILES.items():
            seconds, tables = timed(
                lambda rules=rules: [candidates(IndoorView(s, rules), list(TASKS.values())) for s in scenes]
            )
            rows.append((f"candidates, {profile}", seconds, sum(t.num_rows for t in tables), "<= 5 s (122 scenes)"))
            choosing_s, _ = timed(lambda tables=tables: [select(t, TASKS, CAP) for t in tables])
            rows.append((f"select, {profile}", choosing_s, None, ""))
            for name, task in TASKS.items():
                seconds, tables = timed(
                    lambda rules=rules, task=task: [candidates(IndoorView(s, rules), [task]) for s in scenes]
                )
                if profile == "strict":
                    rows.append((f"  {name} alone", seconds, sum(t.num_rows for t in tables), ""))
    for name, seconds, n, target in rows:
        per_scene = f"{seconds / len(scenes) * 1000:.2f}"
        shown.add_row(
            name, f"{seconds:.2f}", per_scene, "" if n is None else f"{n:,}", f"{seconds / reading_s:.1f}", target
        )
    console.print(shown)


class one_core:  # noqa: N801
    """Keeps this process on one core."""

    def __enter__(self) -> None:
        self._allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(self._allowed)})

    def __exit__(self, *exception: object) -> None:
        os.sched_setaffinity(0, self._allowed)


# ---- box distances


def distances(raw: dict[str, Any], folder: Path) -> None:
    """Exact distances against the distances of 5 cm grids, on the pairs of boxes that questions are about."""
    pairs = [
        (view.boxes, *asked_pairs(view)) for view in (IndoorView(s, STRICT) for s in read_scenes(folder / "given"))
    ]
    n = sum(len(first) for _, first, _ in pairs)
    with one_core():
        plain_s, plain = timed(lambda: list(plain_distances(pairs, n)))
        optimised_s, sampled = timed(lambda: [SampledBoxes(b).distance_m(i, j) for b, i, j in pairs])
        exact_s, exact = timed(lambda: [closest_distance_m(b.take(i), b.take(j)) for b, i, j in pairs])
    shown = table(
        f"Distances of {n:,} pairs of boxes, one core",
        "method",
        "pairs per CPU second",
        "ratio to plain",
        "target",
        "too long by (mean, most)",
    )
    flat_exact, flat_sampled = np.concatenate(exact), np.concatenate(sampled)
    chosen = np.array([number for number, _ in plain])
    excess = np.array([d for _, d in plain]) - flat_exact[chosen]
    plain_rate, rows = len(plain) / plain_s, []
    rows.append((f"5 cm grids, plain ({len(plain)} of the pairs)", plain_rate, "1", excess))
    rows.append(("5 cm grids, as profile official has them", n / optimised_s, "", flat_sampled - flat_exact))
    rows.append(("exact, batched", n / exact_s, ">= 30", None))
    for name, rate, target, over in rows:
        beyond = "" if over is None else f"{over.mean() * 100:.1f} cm, {over.max() * 100:.1f} cm"
        shown.add_row(name, f"{rate:,.0f}", f"{rate / plain_rate:,.1f}", target, beyond)
    console.print(shown)


def asked_pairs(view: IndoorView) -> tuple[IntArray, IntArray]:
    """Boxes of unique categories with all boxes of others, each unordered pair once."""
    unique = np.isin(view.category_of, view.usable("unique"))
    first, second = np.nonzero((unique[:, None] | unique[None]) & (view.category_of[:, None] != view.category_of[None]))
    once = first < second
    return first[once], second[once]


def plain_distances(pairs: list[tuple[Boxes, IntArray, IntArray]], n: int) -> Iterator[tuple[int, float]]:
    """The method of the released benchmark as it is described: number and distance of some pairs, drawn at random."""
    drawn = set(np.random.default_rng(0).permutation(n)[:PLAIN_PAIRS].tolist())
    number = 0
    for boxes, first, second in pairs:
        for i, j in zip(first, second, strict=True):
            if number in drawn:
                a, b = plain_cloud(boxes, int(i)), plain_cloud(boxes, int(j))
                yield number, float(cKDTree(a).query(b)[0].min())
            number += 1


def plain_cloud(boxes: Boxes, index: int) -> np.ndarray:
    """Points (P, 3) on a 5 cm grid in a box, without the inner half, cropped to the box; metres."""
    center, lengths, axes = boxes.center[index], boxes.half[index] * 2, boxes.axes[index]
    sides = [np.linspace(-s / 2, s / 2, max(1, int(np.ceil(s / GRID_STEP_M)))) for s in lengths]
    local = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 3)
    local = local[~(np.abs(local) <= lengths / 4).all(1)]
    world = local @ axes + center
    kept = world[(np.abs((world - center) @ axes.T) <= lengths / 2).all(1)]
    return kept if len(kept) else world


# ---- whole builds


@dataclass(frozen=True)
class Cost:
    """What a process cost."""

    clock_s: float
    cpu_s: float  # of it and all its children
    own_mib: float  # peak memory
    child_mib: float  # peak memory of its largest child


def cost_of(place: Path, how: str) -> Cost:
    """A build in a process of its own: by "builder", without an orchestrator, or by the command with n workers."""
    report, start = place / "cost.json", time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", WITH_MEMORY, str(report), str(place / "meta"), str(place / "out"), how],
        check=True,
        cwd=REPOSITORY,
        env=prefect_environment(),
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    own, child = json.loads(report.read_text())
    return Cost(time.perf_counter() - start, cpu_s, own / MIB, child / MIB)


def whole_builds(raw: dict[str, Any], folder: Path) -> None:
    """First builds of growing size, then what a rebuild costs, and the memory of it all."""
    start_up = cost_of_imports()
    shown = table(
        f"First build of perturbed copies of {len(raw)} scenes, one process, its start-up ({start_up:.1f} s) taken off",
        "scenes",
        "CPU seconds",
        "ms per scene",
        "ratio to the smallest",
        "peak memory, MiB",
        "target",
    )
    costs = []
    for n in SIZES:
        place = folder / str(n)
        written(place / "meta", perturbed(raw, n))
        costs.append(cost_of(place, "builder"))
    seconds = [cost.cpu_s - start_up for cost in costs]
    for n, cpu_s, cost in zip(SIZES, seconds, costs, strict=True):
        ratio = cpu_s / n / (seconds[0] / SIZES[0])
        target = "linear, <= 1024 MiB" if n == SIZES[-1] else ""
        shown.add_row(str(n), f"{cpu_s:.1f}", f"{cpu_s / n * 1000:.1f}", f"{ratio:.2f}", f"{cost.own_mib:.0f}", target)
    slope, constant = np.polyfit(SIZES, seconds, 1)
    residual = np.abs(np.polyval((slope, constant), SIZES) - seconds).max() / seconds[-1]
    console.print(shown)
    console.print(
        f"Linear fit: {constant:.1f} s + {slope * 1000:.1f} ms per scene, off by {residual:.1%} of the last at most\n"
    )
    rebuilds(folder, seconds[-1])
    the_command(folder, costs[-1])


def cost_of_imports() -> float:
    """CPU seconds of a process that imports the builder and does nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import tests.builds"], check=True, cwd=REPOSITORY)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rebuilds(folder: Path, first_s: float) -> None:
    """The largest build again, in this process: with nothing changed, and with three scenes changed."""
    n, place = SIZES[-1], folder / str(SIZES[-1])
    shown = table(
        f"Rebuild of {n} scenes, no orchestrator", "what", "CPU seconds", "of the first build", "computed", "target"
    )

    def again(what: str, target: str) -> None:
        cpu_s, outcome = timed(lambda: build(place / "meta", place / "out"))
        shown.add_row(what, f"{cpu_s:.2f}", f"{cpu_s / first_s:.1%}", computed(outcome), target)

    again("nothing changed", "<= 3 s")
    scenes = json.loads((place / "meta" / "meta.json").read_bytes())
    for name in sorted(scenes)[:: n // 3][:3]:
        next(iter(scenes[name]["object_bbox"].values()))[0]["centroid"][0] += 0.25
    written(place / "meta", scenes)
    again("3 scenes changed", "those 3 alone")
    console.print(shown)


def computed(outcome: Outcome) -> str:
    """Units per stage that were not reused."""
    counts = {stage: sum(n for why, n in row.items() if why != "reused") for stage, row in outcome.counts().items()}
    return ", ".join(f"{stage} {n}" for stage, n in counts.items() if n) or "none"


def the_command(folder: Path, alone: Cost) -> None:
    """The real command with Prefect and a worker per core, against one process without."""
    n, workers = SIZES[-1], os.cpu_count() or 1
    cost_of(written(folder / "few" / "meta", {"a": sample_scene(PLANS[0])}).parent, "1")  # makes Prefect's database
    place = written(folder / "command" / "meta", perturbed(raw_scenes()[0], n)).parent
    first, again = cost_of(place, str(workers)), cost_of(place, str(workers))
    builder = cost_of(place, "builder")
    shown = table(
        f"The command with Prefect, {n} scenes, {workers} workers", "what", "figure", "ratio to one process", "target"
    )
    shown.add_row(
        "first build, seconds by the clock", f"{first.clock_s:.1f}", f"{first.clock_s / alone.clock_s:.2f}", ""
    )
    shown.add_row("first build, CPU seconds", f"{first.cpu_s:.1f}", f"{first.cpu_s / alone.cpu_s:.2f}", "")
    shown.add_row(
        "nothing changed, seconds by the clock", f"{again.clock_s:.1f}", f"{again.clock_s / builder.clock_s:.1f}", ""
    )
    shown.add_row("  of which the start of Prefect", f"{again.clock_s - builder.clock_s:.1f}", "", "(beyond the 3 s)")
    shown.add_row(
        "peak memory of the command, MiB", f"{first.own_mib:.0f}", f"{first.own_mib / alone.own_mib:.2f}", "<= 1024"
    )
    shown.add_row(
        "peak memory of its largest child, MiB",
        f"{first.child_mib:.0f}",
        f"{first.child_mib / alone.own_mib:.2f}",
        "<= 1024",
    )
    console.print(shown)
    console.print(f"Peak memory of this benchmark: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB:.0f} MiB")


if __name__ == "__main__":
    main()
