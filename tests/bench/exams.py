"""How far questions of Embodied4C are answered from their text: `python -m tests.bench.exams [LOGS]`; are they right?

`python -m tests.bench.exams --oracle [LOGS]` answers all that can be asked of so many random logs again.


Of so many random drives, flights and episodes each, under the caps of a build: every kind of wording for itself, and
every task of an embodiment. "Constant" is what the commonest answer earns, of numbers by the exam's own marks (eq. 2
with a tolerance of a tenth); all else is in the marks of the blind stage, where numbers earn mean relative accuracy.
"Elsewhere" is what the best attacker of half of the logs earns on the other half, "above" by how much that is more than
chance, the commonest answer or the best constant number, whichever is most.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.score import relative
from pipeline.blind.attack import CHANCE, attack, standard_error
from pipeline.blind.forest import run_here
from pipeline.blind.items import item_of
from pipeline.blind.priors import CONSTANTS
from pipeline.core.schema import AnyScene
from pipeline.core.tables import asked_in
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive import argoverse2
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from tests.bench.leaks import chosen_elsewhere
from tests.benchmarks.embodied4c import logs
from tests.oracles import exam_flights
from tests.oracles.exam_answers import Log
from tests.oracles.exam_arms import Episode
from tests.oracles.exam_check import SLACK, answered_again, every_question
from tests.oracles.exam_flights import Poses
from tests.tables import candidates

CAP: Final = 24  # as in flows/builds/embodied4c.yaml
TOLERANCE: Final = 0.1  # of numbers, as in the score


def questions(scenes: Iterable[AnyScene]) -> list[dict[str, Any]]:
    """What a build would ask of some logs; domain-far questions apart."""
    tasks, found = EMBODIED4C.by_name(), []
    for scene in scenes:
        offered = candidates(EMBODIED4C.view(scene, ExamRules(far_per_log=0)), tasks.values())
        found += asked_in(select(offered, tasks, CAP, EMBODIED4C.shares)).to_pylist()
    return found


def scenes(count: int, fast: bool = False) -> Iterable[AnyScene]:
    """So many of each embodiment."""
    for seed in range(count):
        yield logs.drive(seed)
        yield logs.flight(seed)
    if not fast:
        yield from logs.episodes(count)


def constant(rows: Sequence[dict[str, Any]]) -> float:
    """What the best constant earns of numbers (eq. 2 with a tolerance of a tenth), or the commonest answer of words."""
    truths = [row["answer"] for row in rows]
    if rows[0]["options"] is None and rows[0]["choices"] is not None and not _is_number(truths[0]):
        return max(truths.count(answer) for answer in set(truths)) / len(truths)
    values = np.array([float(truth) for truth in truths])
    tried = np.unique(values)
    return max(float(np.mean([relative(one, value, TOLERANCE) for value in values])) for one in tried) / 100


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def shown(rows: Sequence[dict[str, Any]], by: str) -> Table:
    """One row per kind of wording, or per task."""
    named = [dict(row, task=row["operands"][0] if by == "kind" else row["task"]) for row in rows]
    named = [row | {"task": f"{row['task']} {'' if by == 'kind' else row['flags'][0][8:]}".strip()} for row in named]
    numeric = {row["task"] for row in named if _is_number(row["answer"])}
    items = [item_of({"from_s": None} | row) for row in named]
    scores = attack(items, run_here, ("unseen 1",))
    table = Table("kind", "n", "logs", "chance", "constant", "best", "", "forest", "elsewhere", "above", "±")
    of: dict[str, list[int]] = defaultdict(list)
    for n, row in enumerate(named):
        of[row["task"]].append(n)
    for task, index in sorted(of.items()):
        groups = [items[i].group for i in index]
        fitted = {n: s[index] for n, s in scores.items() if n != CHANCE and not np.isnan(s[index]).any()}
        best = max(fitted, key=lambda name: float(fitted[name].mean()))
        chance = float(scores[CHANCE][index].mean())
        usual = constant([named[i] for i in index])
        constants = [float(fitted[name].mean()) for name in CONSTANTS if name in fitted]
        level = max(constants) if task in numeric else max(chance, usual)
        honest = chosen_elsewhere(fitted, groups)
        error = standard_error(honest, groups) or 0.0
        means = (chance, usual, float(fitted[best].mean()))
        above = float(honest.mean()) - level
        mark = "[red]" if above > 2 * error and above > 0.02 else ""
        told = (*means, float(fitted["forest"].mean()), float(honest.mean()), above, error)
        chance_, usual_, best_, forest, elsewhere, over, off = (f"{100 * value:.0f}" for value in told)
        counts = (str(len(index)), str(len(set(groups))))
        table.add_row(task, *counts, chance_, usual_, best_, best, forest, elsewhere, f"{mark}{over}", off)
    return table


def answered(count: int) -> dict[str, tuple[int, list[str]]]:
    """Of so many random logs of each embodiment the questions that oracles answered, and which otherwise."""
    found: dict[str, tuple[int, list[str]]] = defaultdict(lambda: (0, []))

    def hold(what: str, scene: AnyScene, answer: Callable[..., str | float | None], slack: float = SLACK) -> None:
        asked, wrong = answered_again(every_question(scene), answer, slack)
        found[what] = found[what][0] + asked, found[what][1] + wrong

    reader = Argoverse2()
    for seed in range(count):
        with tempfile.TemporaryDirectory() as folder:
            argoverse2.write_log(Path(folder), logs.random_plan(seed))
            (ref,) = reader.scenes(Path(folder)).scenes
            hold("drives", reader.read(SceneFiles(Path(folder), ref)), Log(Path(folder) / ref.files[0]).answer)
        flight = logs.flight(seed)
        hold("flights", flight, Poses(flight).answer, exam_flights.SLACK)
    for episode in logs.episodes(count):
        hold("arms", episode, Episode(episode).answer)
    return found


def main() -> None:
    numbers = [int(told) for told in sys.argv[1:] if told.isdecimal()]
    given = numbers[0] if numbers else 100
    if "--oracle" in sys.argv:
        for what, (asked, wrong) in answered(given).items():
            print(f"{what}: {asked} questions, {len(wrong)} answered otherwise", *wrong[:5], sep="\n  ")
        return
    rows = questions(scenes(given))
    console = Console(width=140)
    for by in ("kind", "task"):
        console.print(shown(rows, by))


if __name__ == "__main__":
    main()
