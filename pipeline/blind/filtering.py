"""What blind filtering removes, and the proof that it leaves no more bias than it found.

To remove what guesses get right makes the rest guessable where the guesses are all alike: after the rights are gone,
"left" is the answer. So every attacker is tried on the questions before and after, on folds that took no part in the
choice, and a task that became easier to guess fails the stage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from pipeline.blind.attack import attack
from pipeline.blind.items import Item, items_of
from pipeline.blind.rule import VERDICTS, Verdict, verdict_table
from pipeline.blind.stress_test import tasks_of
from pipeline.blind.summary import FOREST, SCORES, score_column, standard_error
from pipeline.blind.workers import on_all_cores
from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import BiasError

MAX_MORE: Final = 0.01  # score that an attacker may gain
ERRORS: Final = 2.0  # and standard errors of the difference besides: figures of a few questions move by themselves
FLOOR: Final = 10  # questions; fewer tell nothing

FILTERED: Final = pa.schema(
    [
        *VERDICTS,
        pa.field("asked", SCORES),  # what attackers earn on it among all questions
        pa.field("left", SCORES),  # among those that stay; null: it is removed
    ]
)


def filtered(questions: pa.Table, verdicts: Sequence[Verdict]) -> pa.Table:
    """The verdict on every question and what attackers earn on it before and after (`FILTERED`), by id.

    Args:
        questions: all that were selected (`core.tables.QUESTIONS`).
        verdicts: `rule.rule`; empty where no panel was asked, and nothing is removed.

    Raises:
        BiasError: what stays of a task is easier to guess than it was.
    """
    items = sorted(items_of(questions), key=lambda item: int(item.id))
    table = verdict_table(verdicts) if verdicts else _unjudged(items)
    stays = np.array([reason is None for reason in table["reason"].to_pylist()], dtype=np.bool_)
    left = [item for item, mine in zip(items, stays.tolist(), strict=True) if mine]
    with on_all_cores(len(items)) as run:
        before = attack(items, run)
        after = before if len(left) == len(items) else attack(left, run)
    _check(items, stays, before, after)
    ids = table["id"].to_pylist()
    for name, members, scores in (("asked", items, before), ("left", left, after)):
        table = table.append_column(FILTERED.field(name), score_column(ids, members, scores))
    return table


def _unjudged(items: Sequence[Item]) -> pa.Table:
    rows = [{"id": item.id, "task": item.task, "voters": 0, "right": 0} for item in items]
    return pa.Table.from_pylist(rows, schema=VERDICTS)


def _check(
    items: Sequence[Item], stays: BoolArray, before: dict[str, FloatArray], after: dict[str, FloatArray]
) -> None:
    """Compares the forest, and the best attacker before with the best after: another may be the best by then."""
    place = np.cumsum(stays) - 1  # of a question among those that stay
    worse = []
    for task, index in tasks_of(items).items():
        left = index[stays[index]]
        if len(left) == len(index) or len(left) < FLOOR:
            continue
        groups, groups_left = [items[i].group for i in index], [items[i].group for i in left]
        was = {name: scores[index] for name, scores in before.items() if not np.isnan(scores[index]).any()}
        now = {name: after[name][place[left]] for name in was}
        for one, other in {(FOREST, FOREST), (_best(was), _best(now))}:
            errors = [standard_error(was[one], groups) or 0.0, standard_error(now[other], groups_left) or 0.0]
            noise = math.hypot(*errors)
            if now[other].mean() > was[one].mean() + MAX_MORE + ERRORS * noise:
                worse.append(f"{task}: {one} {was[one].mean():.3f} -> {other} {now[other].mean():.3f} ± {noise:.3f}")
    if worse:
        raise BiasError(
            "blind filtering made what is left easier to guess without the video: "
            + "; ".join(sorted(worse))
            + ". Ask more or other models, or set blind.remove: none and leave the removal to pruning"
        )


def _best(scores: dict[str, FloatArray]) -> str:
    return max(scores, key=lambda name: (scores[name].mean(), name))
