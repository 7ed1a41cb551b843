"""Tasks of cities at scale: proofs per second, a release of Monaco, and 2,000 tasks answered again by an oracle.

    python -m tests.bench.cities [MONACO.osm.gz]
    python -m tests.bench.cities --guess            # what rules earn that only read the questions of the samples
    python -m tests.bench.cities --starts 1000      # starts in so many random cities

Processor seconds are told beside those of the clock: other work on the machine slows the clock alone.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.benchmarks.cityeqa.phrases import Phrase
from pipeline.benchmarks.cityeqa.query import Leg, Way
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.core.errors import ConfigError
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.registry import READERS
from tests.benchmarks.cityeqa.cities import ill_supplemented, sample, small, tasks_of
from tests.conftest import REAL_DATA
from tests.oracles.city_answers import answer, targets
from tests.oracles.city_guesses import earned

SAMPLES = ("arden", "brookfield", "corvale")
PROOFS = 10_000
COUNTED = 12  # raw questions of a kind: of fewer no share tells much


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Runs something and tells how long it took."""
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what}: {clock:.1f} s by the clock, {processor:.1f} s of processor, at most {memory:.0f} MiB so far")
    return found


def monaco(path: Path) -> CityScene:
    """The extract as a scene, nothing added."""
    root = Path(tempfile.mkdtemp())
    shutil.copy(path, root / path.name)
    reader = READERS["city"]
    listing = reader.scenes(root)
    if not listing.scenes:
        raise ConfigError(f"{path}: no city; give an extract of OpenStreetMap")
    return reader.read(SceneFiles(root, listing.scenes[0]))


def proofs(view: CityView, count: int) -> int:
    """Asks the map where so many drawn wordings lead; gives how many lead to one thing."""
    rng = np.random.default_rng(0)
    low, high = view.centers.min(0), view.centers.max(0)
    nouns = sorted({t.noun for t in view.things if t.kind == "shop"} | {"building", "bench", "fountain"})
    ways = []
    for _ in range(count):
        x, y = rng.uniform(low, high).tolist()
        d, e = rng.integers(4, size=2).tolist()
        ways.append(Way(x, y, (Leg(d, Phrase("building")), Leg(e, Phrase(nouns[int(rng.integers(len(nouns)))])))))
    return int((np.diff(view.query.lead(ways).maybe.indptr) == 1).sum())


def answered(rules: CityRules) -> tuple[int, int, int]:
    """Tasks of all sample cities, of these wrong answers, and texts that fit another thing too."""
    count = wrong = second = 0
    for name in SAMPLES:
        scene = sample(name)
        for row in tasks_of(scene, rules)[0]:
            count += 1
            found = targets(scene.facts, row["question"], tuple(row["initial_pose"][:2]))
            if [thing.id for thing in found] != [row["group"].partition("/")[2]]:
                second += 1
            elif answer(scene.facts, row["question"], found[0]) != row["answer"]:
                wrong += 1
    return count, wrong, second


def guess() -> None:
    """What rules earn on the tasks of the sample cities, and by how much more than chance."""
    rows = [row for name in SAMPLES for row in tasks_of(sample(name), CityRules())[0]]
    found = earned(rows)
    for (kind, rule), (count, share, luck) in found.items():
        print(f"{kind:12} {rule:16} {count:4} questions: {share:.2f} earned, {luck:.2f} by chance")
    most = {key: share - luck for key, (count, share, luck) in found.items() if count >= COUNTED}
    best = max(most, key=lambda key: most[key])
    print(f"best of kinds with {COUNTED} questions or more: {' '.join(best)}, {most[best]:+.2f}; meant: +0.08 at most")


def starts(count: int) -> None:
    """What is wrong with the starts of tasks in random cities."""
    asked = wrong = 0
    rules = CityRules(tried_per_category=4)
    for seed in range(count):
        scene = small(seed)
        rows = tasks_of(scene, rules, "Attribute Recognition", "Object Recognition")[0]
        asked += len(rows)
        for finding in ill_supplemented(scene, rows, rules):
            wrong += 1
            print(f"  {scene.id}: {finding}")
    print(f"  {count} cities, {asked} tasks, {wrong} findings")


def main() -> None:
    """Runs it."""
    if sys.argv[1:2] == ["--guess"]:
        timed("guesses", guess)
    elif sys.argv[1:2] == ["--starts"]:
        timed("starts", lambda: starts(int(sys.argv[2])))
    else:
        figures(Path(sys.argv[1]) if len(sys.argv) > 1 else REAL_DATA / "city" / "monaco.osm.gz")


def figures(path: Path) -> None:
    """Monaco's tasks, proofs, and the samples' tasks answered again."""
    scene = timed("Monaco read", lambda: monaco(path))
    rows, refused = timed("its tasks", lambda: tasks_of(scene, CityRules()))
    print(f"  {len(rows)} tasks, {len(refused)} refused; {sorted({row['category'] for row in rows})}")
    view = CityView(scene, CityRules())
    timed("  relations of all its things", lambda: view.query.steps(0))
    for count in (PROOFS // 4, PROOFS):
        lone = timed(f"  {count} proofs", lambda count=count: proofs(view, count))
        print(f"  {lone} lead to one thing")
    found = timed("tasks of three sample cities, answered again", lambda: answered(CityRules(tried_per_category=140)))
    print("  {} tasks, {} wrong, {} with a second target".format(*found))


if __name__ == "__main__":
    main()
