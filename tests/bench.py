"""Speed and memory: `make bench`. Reports, never fails: what a machine can do is no matter for a test.

On the released metadata, or on the samples where these are not there. Every figure stands beside its target and beside
a baseline that was measured in the same run, since seconds mean little without the machine.
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
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree

from pipeline.builder import Outcome
from pipeline.geometry.boxes import Boxes, IntArray, closest_distance_m
from pipeline.geometry.grids import GRID_STEP_M, SampledBoxes
from pipeline.questions import TASKS
from pipeline.questions.ambiguity import PROFILES, STRICT
from pipeline.questions.base import SceneView
from pipeline.questions.candidates import candidates
from pipeline.questions.selection import select
from pipeline.readers import READERS
from pipeline.samples.metadata import PLANS, sample_scene
from pipeline.schema import Scene
from pipeline.store import read_table
from tests.builds import build, perturbed, prefect_environment
from tests.conftest import REAL_DATA
from tests.readers.broken_metadata import write_scenes

SIZES: Final = (125, 250, 500, 1000)
CAP: Final = 6
PLAIN_PAIRS: Final = 300  # the plain grid method is timed on so many pairs
MIB: Final = 1024.0  # ru_maxrss is in KiB
REPOSITORY: Final = Path(__file__).resolve().parents[1]
# Runs what stands behind it, then writes its peak memory and that of its largest child to a file.
WITH_MEMORY: Final = """
import json, resource, sys
from pathlib import Path
report, meta, out, workers = sys.argv[1:]
if workers == "builder":
    from tests.builds import build
    build(Path(meta), Path(out))
else:
    from flows import cli
    sys.argv = ["scan2qa", "build", "vsi", "--root", f"vsi_meta={meta}", "--out", out, "--workers", workers]
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
    """Seconds of a piece of work, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def table(title: str, *columns: str) -> Table:
    made = Table(*columns, title=title, title_justify="left")
    for column in made.columns[1:]:
        column.justify = "right"
    return made


def read_scenes(folder: Path) -> list[Scene]:
    reader = READERS["vsi_meta"]
    return [reader.read(folder, ref) for ref in reader.scenes(folder).scenes]


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
            "seconds",
            "ms per scene",
            "candidates",
            "ratio to reading the scenes",
            "target (122 scenes)",
        )
        rows: list[tuple[str, float, int | None, str]] = [("read the scenes", reading_s, None, "")]
        for profile, rules in PROFILES.items():
            seconds, tables = timed(
                lambda rules=rules: [candidates(SceneView(s, rules), list(TASKS.values())) for s in scenes]
            )
            rows.append((f"candidates, {profile}", seconds, sum(t.num_rows for t in tables), "<= 5 s"))
            choosing_s, _ = timed(lambda tables=tables: [select(t, TASKS, CAP) for t in tables])
            rows.append((f"select {CAP} per scene and task, {profile}", choosing_s, None, ""))
            for name, task in TASKS.items():
                seconds, tables = timed(
                    lambda rules=rules, task=task: [candidates(SceneView(s, rules), [task]) for s in scenes]
                )
                if profile == "strict":
                    rows.append((f"  {name}, strict, alone", seconds, sum(t.num_rows for t in tables), ""))
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
    pairs = [(view.boxes, *asked_pairs(view)) for view in (SceneView(s, STRICT) for s in read_scenes(folder / "given"))]
    n = sum(len(first) for _, first, _ in pairs)
    with one_core():
        plain_s, plain = timed(lambda: list(plain_distances(pairs, n)))
        optimised_s, sampled = timed(lambda: [SampledBoxes(b).distance_m(i, j) for b, i, j in pairs])
        exact_s, exact = timed(lambda: [closest_distance_m(b.take(i), b.take(j)) for b, i, j in pairs])
    shown = table(
        f"Distances of {n:,} pairs of boxes, one core",
        "method",
        "pairs per second",
        "times the plain method",
        "target",
        "over the exact distance, mean and most",
    )
    flat_exact, flat_sampled = np.concatenate(exact), np.concatenate(sampled)
    chosen = np.array([number for number, _ in plain])
    excess = np.array([d for _, d in plain]) - flat_exact[chosen]
    plain_rate, rows = len(plain) / plain_s, []
    rows.append((f"5 cm grids, plain: clouds and tree per pair ({len(plain)} pairs)", plain_rate, "1", excess))
    rows.append(("5 cm grids, clouds kept, exact lower bound first", n / optimised_s, "", flat_sampled - flat_exact))
    rows.append(("exact, batched", n / exact_s, ">= 30", None))
    for name, rate, target, over in rows:
        beyond = "" if over is None else f"{over.mean() * 100:.1f} cm, {over.max() * 100:.1f} cm"
        shown.add_row(name, f"{rate:,.0f}", f"{rate / plain_rate:,.1f}", target, beyond)
    console.print(shown)


def asked_pairs(view: SceneView) -> tuple[IntArray, IntArray]:
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


def whole_builds(raw: dict[str, Any], folder: Path) -> None:
    """First builds of growing size, then what a rebuild costs, and the memory of it all."""
    shown = table(
        f"First build of perturbed copies of {len(raw)} scenes, one process",
        "scenes",
        "seconds",
        "ms per scene",
        "ratio to the smallest",
        "peak memory, MiB",
        "target",
    )
    seconds: list[float] = []
    largest = folder / str(SIZES[-1])
    for n in SIZES:
        place = folder / str(n)
        written(place / "meta", perturbed(raw, n))
        taken_s, (own, _) = timed(lambda place=place: with_memory(place, "builder"))
        seconds.append(taken_s)
        per_scene = taken_s / n * 1000
        ratio = per_scene / (seconds[0] / SIZES[0] * 1000)
        target = "linear (ratio 1), <= 1024 MiB" if n == SIZES[-1] else ""
        shown.add_row(str(n), f"{taken_s:.1f}", f"{per_scene:.1f}", f"{ratio:.2f}", f"{own:.0f}", target)
    slope, start = np.polyfit(SIZES, seconds, 1)
    residual = np.abs(np.polyval((slope, start), SIZES) - seconds).max() / seconds[-1]
    fit = f"Linear fit: {start:.1f} s + {slope * 1000:.1f} ms per scene, off by {residual:.1%} of the last at most"
    console.print(shown, fit, "(start-up of Python and its imports included)\n")
    rebuilds(largest, seconds[-1])


def rebuilds(place: Path, first_s: float) -> None:
    """A rebuild of the largest build: nothing changed, three scenes changed, and with the orchestrator."""
    n = SIZES[-1]
    shown = table(f"Rebuild of {n} scenes", "what", "seconds", "share of the first build", "units computed", "target")
    nothing_s, outcome = timed(lambda: build(place / "meta", place / "out"))
    shown.add_row(
        "nothing changed, no orchestrator",
        f"{nothing_s:.2f}",
        f"{nothing_s / first_s:.1%}",
        computed(outcome),
        "<= 3 s",
    )
    command_s, (own, child) = timed(lambda: with_memory(place, str(os.cpu_count())))
    shown.add_row("nothing changed, the command with Prefect", f"{command_s:.1f}", f"{command_s / first_s:.1%}", "", "")
    shown.add_row("  of which start-up", f"{command_s - nothing_s:.1f}", "", "", "(beyond the 3 s)")
    scenes = json.loads((place / "meta" / "meta.json").read_bytes())
    for name in sorted(scenes)[:: n // 3][:3]:
        next(iter(scenes[name]["object_bbox"].values()))[0]["centroid"][0] += 0.25
    written(place / "meta", scenes)
    three_s, outcome = timed(lambda: build(place / "meta", place / "out"))
    shown.add_row(
        "3 scenes changed, no orchestrator",
        f"{three_s:.2f}",
        f"{three_s / first_s:.1%}",
        computed(outcome),
        "those 3 alone",
    )
    console.print(shown)
    fresh = place.with_name("fresh")
    (fresh / "meta").mkdir(parents=True)
    (fresh / "meta" / "meta.json").write_bytes((place / "meta" / "meta.json").read_bytes())
    workers = os.cpu_count() or 1
    whole_s, (own, child) = timed(lambda: with_memory(fresh, str(workers)))
    shown = table(f"The command with Prefect, {n} scenes, {workers} workers", "what", "figure", "target")
    shown.add_row("first build, seconds", f"{whole_s:.1f}", "")
    shown.add_row("ratio to one process without Prefect", f"{whole_s / first_s:.2f}", "")
    shown.add_row("peak memory of the command, MiB", f"{own:.0f}", "")
    shown.add_row("peak memory of its largest child (worker or server), MiB", f"{child:.0f}", "")
    total = own + (workers + 1) * child
    shown.add_row(f"all together at most (1 + {workers} workers + 1 server), MiB", f"{total:.0f}", "<= 1024")
    console.print(shown)
    console.print(f"Peak memory of this benchmark: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB:.0f} MiB")


def computed(outcome: Outcome) -> str:
    """Units per stage that were not reused."""
    counts = {stage: sum(n for why, n in row.items() if why != "reused") for stage, row in outcome.counts().items()}
    return ", ".join(f"{stage} {n}" for stage, n in counts.items() if n) or "none"


def with_memory(place: Path, workers: str) -> tuple[float, float]:
    """Builds in a process of its own; peak memory of it and of its largest child, MiB."""
    report = place / "memory.json"
    arguments = [str(report), str(place / "meta"), str(place / "out"), workers]
    subprocess.run(
        [sys.executable, "-c", WITH_MEMORY, *arguments],
        check=True,
        cwd=REPOSITORY,
        env=prefect_environment(),
        stdout=subprocess.DEVNULL,
    )
    own, child = json.loads(report.read_text())
    return own / MIB, child / MIB


if __name__ == "__main__":
    main()
