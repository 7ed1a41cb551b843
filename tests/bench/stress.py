"""The stress test at real size, and the known shortcuts of VSI-Bench found again: `python -m tests.bench.stress`.

The published figures (blind.md) are of all 5,130 questions. Where the released file beside the repository holds fewer,
they are met within a few of the standard errors shown (the mean's, the questions of a scene taken together).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from pipeline.blind import priors
from pipeline.blind.folds import folds_of
from pipeline.blind.items import Item, make_item
from pipeline.blind.prune import prune
from pipeline.blind.stress_test import stress_test, tasks_of
from pipeline.blind.summary import standard_error, stress_table
from pipeline.core.parquet import table_bytes
from pipeline.metrics.mra import mean_relative_accuracies
from tests.tables import read_questions

REAL_DATA = Path(os.environ.get("SCAN2QA_REAL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
QUESTIONS = 5_000  # issue 4: within 60 s on two cores
MAX_SECONDS = 60.0
PRUNED = 200
DEALINGS = 20  # of scenes to folds, for the priors: a single one moves relative distance by 0.035
# blind.md; the forest's are of a forest whose guess is the mean of its trees
PUBLISHED = {
    "always 2, share right": 0.535,
    "always 2, score": 0.618,
    "object_size_estimation, by name": 0.640,
    "room_size_estimation, median": 0.33,
    "object_abs_distance, median": 0.31,
    "object_rel_distance, by name": 0.40,
    "object_rel_distance, by name, folds mix scenes": 0.60,
    "object_counting, forest": 0.373,
    "object_abs_distance, forest": 0.324,
    "object_size_estimation, forest": 0.616,
}

Row = tuple[str, float, str, str | None, float | None]


def rows() -> list[Row]:
    """Name, value, unit, target and how many times better than the target (1 or more: met; None: no target)."""
    path = REAL_DATA / "vsi" / "questions.jsonl"
    if not path.is_file():
        return []
    items = [
        make_item(q.id, q.question_type, q.scene_name, q.question, q.options, q.ground_truth)
        for q in read_questions(path)
    ]
    return [*_speed(items), *_figures(items)]


def _speed(items: Sequence[Item]) -> list[Row]:
    many = _multiplied(items, QUESTIONS)
    fold = folds_of([item.group for item in many])
    start = perf_counter()
    scores = stress_test(many, fold)
    seconds = perf_counter() - start
    none = np.zeros(len(many), dtype=np.intp)
    once, again = (table_bytes(stress_table(many, fold, s, none)) for s in (scores, stress_test(many, fold)))
    start = perf_counter()
    prune(many, fold, scores, budget=PRUNED)
    pruning = perf_counter() - start
    return [
        (f"stress test, {QUESTIONS:,} questions", seconds, "s", f"<= {MAX_SECONDS:g}", MAX_SECONDS / seconds),
        ("stress test, bytes that differ in a second run", float(once != again), "", "0", float(once == again)),
        (f"pruning {PRUNED} of {QUESTIONS:,} questions in {PRUNED // 50} rounds", pruning, "s", None, None),
    ]


def _figures(items: Sequence[Item]) -> list[Row]:
    scores = stress_test(items, folds_of([item.group for item in items]))
    found: list[Row] = []
    for task, index in tasks_of(items).items():
        members = [items[i] for i in index]
        earned = {
            f"{task}, chance": scores.chance[index],
            f"{task}, forest": scores.earned[index],
            f"{task}, s(x)": scores.bias[index],
        }
        if task == "object_counting":
            truth = np.array([float(item.number or 0) for item in members])
            earned["always 2, share right"] = (truth == 2).astype(float)
            earned["always 2, score"] = mean_relative_accuracies(2, truth)
        if not members[0].options:
            earned[f"{task}, median"] = _dealt(priors.task_median, members, mixed=False)
        earned[f"{task}, by name"] = _dealt(priors.by_name, members, mixed=False)
        earned[f"{task}, by name, folds mix scenes"] = _dealt(priors.by_name, members, mixed=True)
        for label, values in earned.items():
            error = standard_error(values, [item.group for item in members])
            published = PUBLISHED.get(label)
            off = (
                "" if published is None else f"{published:g} published, {abs(values.mean() - published) / error:.1f} x "
            )
            found.append((label, float(values.mean()), "", f"{off}standard error {error:.3f}", None))
    return found


def _dealt(prior: Callable[..., np.ndarray], items: Sequence[Item], mixed: bool) -> np.ndarray:
    """Scores of a prior, the mean of several dealings of the groups to folds."""
    groups = [str(item.id) if mixed else item.group for item in items]
    return np.mean([prior(items, folds_of([f"{n} {group}" for group in groups])) for n in range(DEALINGS)], axis=0)


def _multiplied(items: Sequence[Item], n: int) -> list[Item]:
    """That many questions: copies in other scenes, with numbers up to a quarter larger or smaller."""
    rng = np.random.default_rng(0)
    many = []
    for number in range(n):
        copy, index = divmod(number, len(items))
        item = items[index]
        truth = item.number
        if copy and truth is not None:
            changed = round(float(truth) * float(rng.uniform(0.8, 1.25)), 0 if truth == int(truth) else 1)
            truth = Decimal(str(changed))
        many.append(replace(item, id=number, group=f"{item.group} {copy}", number=truth))
    return many


def _main() -> None:
    table = Table("what", "value", "unit", "target", "times better than the target", title="Stress test")
    for name, value, unit, target, ratio in rows():
        table.add_row(name, f"{value:.3f}", unit, target or "", "" if ratio is None else f"{ratio:.3g}")
    Console(width=150).print(table)


if __name__ == "__main__":
    _main()
