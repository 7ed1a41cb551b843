"""How far VSI-Bench's questions are answered from their text alone; random scenes' in `tests.bench.leaks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from pipeline.blind import priors
from pipeline.blind.attack import standard_error, stress_test, tasks_of
from pipeline.blind.config import PruneConfig
from pipeline.blind.forest import on_all_cores
from pipeline.blind.items import BlindItem, folds_of, make_item
from pipeline.blind.prune import prune
from pipeline.metrics.mra import mean_relative_accuracies
from tests.bench.measuring import Figure, peak_mib, timed
from tests.environment import REAL_DATA
from tests.tables import read_questions

TESTED_S, PRUNED_S = 1.2e-3, 8e-3  # most processor seconds of a question: one test, and with tau
TAU = 0.1
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


def stress(count: str = "5130") -> Iterator[Figure]:
    """The stress test of so many questions, and the known shortcuts found again.

    The published figures (blind.md) are of all 5,130 questions. Where the released file beside the repository holds
    fewer, they are met within a few of the standard errors shown (the mean's, the questions of a scene taken together).
    """
    path = REAL_DATA / "vsi" / "questions.jsonl"
    items = [
        make_item(q.id, q.question_type, q.scene_name, q.question, q.options, q.ground_truth)
        for q in (read_questions(path) if path.is_file() else ())
    ]
    if not items:
        return
    n = int(count)
    many = _multiplied(items, n)
    with on_all_cores(n) as run:
        tested, _ = timed(lambda: stress_test(many, folds_of([i.group for i in many]), run))
        yield Figure(f"stress test, {n:,} questions", tested.cpu_s, "s", n * TESTED_S)
        cost, gone = timed(lambda: int((prune(many, PruneConfig(tau=TAU), run) > 0).sum()))
        yield Figure(f"pruning with tau, {gone:,} removed", cost.cpu_s, "s", n * PRUNED_S, baseline=tested.cpu_s)
        yield Figure("peak of both", peak_mib(), "MiB", 1024)
    yield from _shortcuts(items)


def _shortcuts(items: Sequence[BlindItem]) -> Iterator[Figure]:
    scores = stress_test(items, folds_of([item.group for item in items]))
    for task, index in tasks_of(items).items():
        members = [items[i] for i in index]
        chance = float(scores.chance[index].mean())
        earned = {f"{task}, forest": scores.earned[index]}
        if task == "object_counting":
            truth = np.array([float(item.number or 0) for item in members])
            earned["always 2, share right"] = (truth == 2).astype(float)
            earned["always 2, score"] = mean_relative_accuracies(2, truth)
        if not members[0].options:
            earned[f"{task}, median"] = _dealt(priors.task_median, members, mixed=False)
        earned[f"{task}, by name"] = _dealt(priors.by_name, members, mixed=False)
        earned[f"{task}, by name, folds mix scenes"] = _dealt(priors.by_name, members, mixed=True)
        for label, values in earned.items():
            error = standard_error(values, [item.group for item in members]) or 0.0
            peer, level = ("published", PUBLISHED[label]) if label in PUBLISHED else ("chance", chance)
            yield Figure(f"{label}, ± {error:.3f}; baseline: {peer}", float(values.mean()), baseline=level)


def _dealt(prior: Callable[..., np.ndarray], items: Sequence[BlindItem], mixed: bool) -> np.ndarray:
    """Scores of a prior, the mean of several dealings of the groups to folds."""
    groups = [str(item.id) if mixed else item.group for item in items]
    return np.mean([prior(items, folds_of([f"{n} {group}" for group in groups])) for n in range(DEALINGS)], axis=0)


def _multiplied(items: Sequence[BlindItem], n: int) -> list[BlindItem]:
    """That many questions: copies in other scenes, half of them with another answer, numbers off by up to a factor 4.

    Copies with the same answers would be guessed right one from the other.
    """
    rng = np.random.default_rng(0)
    many = []
    for number in range(n):
        copy, index = divmod(number, len(items))
        item = items[index]
        right, truth = item.right, item.number
        if copy and right is not None and rng.random() < 1 / 2:
            right = int(rng.integers(len(item.options)))
        if copy and truth is not None:
            changed = float(truth) * float(np.exp(rng.uniform(-1.4, 1.4)))
            truth = Decimal(str(max(round(changed, 0 if truth == int(truth) else 1), 0.1 if truth < 1 else 1)))
        many.append(replace(item, id=number, group=f"{item.group} {copy}", right=right, number=truth))
    return many
