"""ERGeoBench at scale: questions of drawn streets answered again by an oracle, and what guessing from the text earns.

python -m tests.bench.panoramas             # 2,000 questions of spatial awareness and common sense, and the rest
python -m tests.bench.panoramas --guess     # rules that only read, and the attackers of the stress test
python -m tests.bench.panoramas … ROOT      # the same of the panoramas of a folder, such as the samples
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.benchmarks.ergeobench.columns import table
from pipeline.benchmarks.ergeobench.rules import COMMON_SENSE, GEO, SPATIAL
from pipeline.blind.attack import CHANCE, attack
from pipeline.blind.forest import on_all_cores
from pipeline.blind.items import items_of
from pipeline.blind.stress_test import tasks_of
from pipeline.core.tables import asked_in
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import PanoramaScene
from pipeline.worlds.registry import READERS, WORLDS
from tests.benchmarks.ergeobench.made import selected, street
from tests.oracles.panorama_answers import answers, bare
from tests.oracles.panorama_guesses import earned

WANTED = 2_000  # questions of spatial awareness and common sense
GUESSED = 150  # streets whose questions are guessed
CAP = 6  # per panorama and task, as in flows/builds/ergeobench.yaml
COUNTED = 100  # questions of a task: of fewer no share tells much


def scenes(root: Path | None, streets: int) -> Iterator[PanoramaScene]:
    """The panoramas of a folder as they are observed; or drawn streets."""
    if root is None:
        yield from map(street, range(streets))
        return
    reader, world = READERS["panoramas"], WORLDS["panorama"]
    for ref in reader.scenes(root).scenes:
        files = SceneFiles(root, ref)
        scene = reader.read(files)
        yield world.observe(scene, reader.geometry(files, scene), world.config())


def answered(root: Path | None, cap: int) -> None:
    """Answers all again, until there are enough of spatial awareness and common sense."""
    counts, wrong = Counter[str](), 0
    started = time.process_time()
    for scene in scenes(root, 1_000):
        for row in table(asked_in(selected(scene, None, cap)), ()).to_pylist():
            if not row["options"]:
                continue
            counts[row["task"]] += 1
            truth = bare(row["options"])["ABCDEFGHIJ".index(row["ground_truth"])]
            found = answers(scene.facts, row)
            if found != [truth]:
                wrong += 1
                print(f"  {scene.id}: {row['question']} {row['options']}: {truth}, and the oracle has {found}")
        if root is None and sum(counts[task] for task in (*SPATIAL, *COMMON_SENSE)) >= WANTED:
            break
    for task, n in counts.items():
        print(f"{task:20} {n:5}")
    told = sum(counts[task] for task in (*SPATIAL, *COMMON_SENSE))
    spent = time.process_time() - started
    print(f"{told} of spatial awareness and common sense, {sum(counts.values())} in all, {wrong} wrong; {spent:.0f} s")


def guess(root: Path | None, cap: int) -> None:
    """What is earned above chance by who only reads."""
    found = [(scene, asked_in(selected(scene, None, cap))) for scene in scenes(root, GUESSED)]
    rows: list[dict[str, Any]] = [row for _, asked in found for row in table(asked, ()).to_pylist()]
    best: dict[str, tuple[float, str, float, int]] = {}
    for (task, rule), (count, share, luck, error) in earned(rows).items():
        best[task] = max(best.get(task, (-1.0, "", 0.0, 0)), (share - luck, rule, error, count))
    items = [item for _, asked in found for item in items_of(asked) if item.task not in GEO]
    with on_all_cores(len(items)) as run:
        scores = attack(items, run)
    for task, index in tasks_of(items).items():
        above = {name: float(np.mean(s[index] - scores[CHANCE][index])) for name, s in scores.items() if name != CHANCE}
        name = max((name for name in above if np.isfinite(above[name])), key=lambda name: above[name])
        more, rule, error, count = best[task]
        print(f"{task:20} {count:5} questions: {more:+.3f} ± {error:.3f} by {rule}; {above[name]:+.3f} by {name}")
    most = max((best[task][0] for task in best if best[task][3] >= COUNTED), default=0.0)
    print(f"best rule on a task of {COUNTED} questions or more: {most:+.3f}")


def main() -> None:
    """Runs it."""
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    named = [Path(argument) for argument in sys.argv[1:] if argument not in options]
    cap = next((int(option.partition("=")[2]) for option in options if option.startswith("--cap=")), CAP)
    (guess if "--guess" in options else answered)(named[0] if named else None, cap)


if __name__ == "__main__":
    main()
