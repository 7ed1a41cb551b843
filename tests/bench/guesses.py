"""How far VSI-Bench's questions are answered from their text alone; random scenes' in `tests.bench.leaks`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from pipeline.blind.attack import stress_test
from pipeline.blind.config import PruneConfig
from pipeline.blind.forest import on_all_cores
from pipeline.blind.items import BlindItem, folds_of, make_item
from pipeline.blind.prune import prune
from tests.bench.measuring import Figure, peak_mib, timed
from tests.environment import REAL_DATA
from tests.tables import read_questions

TESTED_S, PRUNED_S = 1.2e-3, 8e-3  # most processor seconds of a question: one test, and with tau
TAU = 0.1


def stress(count: str = "5130") -> Iterator[Figure]:
    """The stress test of so many questions, made of the released ones, and its pruning with tau."""
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
