"""Tasks of cities at scale: proofs per second, a release of Monaco, and 2,000 tasks answered again by an oracle.

    python -m tests.bench.cities [MONACO.osm.gz]
    python -m tests.bench.cities --guess            # what rules earn that only read the questions of the samples
    python -m tests.bench.cities --starts 1000 [0]  # starts, texts and answers in so many random cities, from one on

Processor seconds are told beside those of the clock: other work on the machine slows the clock alone.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.query import Hop, RouteQuery
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Phrase
from pipeline.core.errors import ConfigError
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.registry import READERS
from tests.benchmarks.cityeqa.cities import ill_answered, ill_supplemented, sample, small, tasks_of
from tests.conftest import REAL_DATA
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
        ways.append(
            RouteQuery(x, y, (Hop(d, Phrase("building")), Hop(e, Phrase(nouns[int(rng.integers(len(nouns)))]))))
        )
    return int((np.diff(view.query.lead(ways).maybe.indptr) == 1).sum())


def told(what: str, rows: list[dict[str, Any]], wrong: list[str]) -> None:
    """Prints how many tasks there are, by category and by the words that lead to them, and what is wrong."""
    heads = (*(f"the {axis} of the" for axis in ("north", "east", "south", "west")), "In front of", "Behind", "Across",
             "On the same side", "tallest", "largest", "nearest", "at the corner")  # fmt: skip
    ways = [row["question"].partition("Please tell me")[0] for row in rows]
    print(f"  {what}: {len(rows)} tasks, {len(wrong)} wrong; {dict(Counter(row['category'] for row in rows))}")
    print(f"    words: { {head: sum(head in way for way in ways) for head in heads} }")
    for finding in wrong:
        print(f"    {finding}")


def answered(rules: CityRules) -> None:
    """Answers the tasks of all sample cities again."""
    for name in SAMPLES:
        scene = sample(name)
        rows = tasks_of(scene, rules)[0]
        told(name, rows, ill_answered(scene, rows))


def guess() -> None:
    """What rules earn on the tasks of the sample cities, and by how much more than chance."""
    rows = [row for name in SAMPLES for row in tasks_of(sample(name), CityRules())[0]]
    found = earned(rows)
    for (kind, rule), (count, share, luck) in found.items():
        print(f"{kind:12} {rule:16} {count:4} questions: {share:.2f} earned, {luck:.2f} by chance")
    most = {key: share - luck for key, (count, share, luck) in found.items() if count >= COUNTED}
    best = max(most, key=lambda key: most[key])
    print(f"best of kinds with {COUNTED} questions or more: {' '.join(best)}, {most[best]:+.2f}; meant: +0.08 at most")


def starts(count: int, first: int) -> None:
    """What is wrong with the starts, texts and answers of tasks in random cities, two categories of each."""
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    rules, names = CityRules(tried_per_category=2), tuple(CITYEQA.by_name())
    for seed in range(first, first + count):
        scene = small(seed)
        own = tasks_of(scene, rules, *(names[(seed + turn) % len(names)] for turn in (0, 3)))[0]
        rows += own
        wrong += [f"{scene.id}: {what}" for what in (*ill_supplemented(scene, own, rules), *ill_answered(scene, own))]
    told(f"{count} cities", rows, wrong)


def main() -> None:
    """Runs it."""
    if sys.argv[1:2] == ["--guess"]:
        timed("guesses", guess)
    elif sys.argv[1:2] == ["--starts"]:
        given = [*map(int, sys.argv[2:4]), 0]
        timed("starts", lambda: starts(given[0], given[1]))
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
    told("Monaco", rows, ill_answered(scene, rows))
    timed("tasks of three sample cities, answered again", lambda: answered(CityRules(tried_per_category=140)))


if __name__ == "__main__":
    main()
