"""Stage `prune`: the stress test of what blind filtering left, and the split `debiased`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.identity import digest_of
from pipeline.core.parquet import table_bytes
from pipeline.core.tables import QUESTIONS, asked_in
from pipeline.engine.given import Given
from pipeline.engine.stage import Stage

if TYPE_CHECKING:
    from pipeline.blind.items import Item
    from pipeline.blind.stress_test import Scores
    from pipeline.engine.config import BuildConfig


def run(given: Given) -> bytes:
    """Per question its bias, and the round in which it leaves `debiased`."""
    from pipeline.blind.folds import folds_of  # scikit-learn takes a second to start
    from pipeline.blind.items import items_of
    from pipeline.blind.prune import prune
    from pipeline.blind.rule import removed_in
    from pipeline.blind.stress_test import stress_test

    config, replies = given.config.prune, given.table("blind")
    if config is None:
        raise ValueError("no pruning is configured")
    questions = pa.concat_tables([QUESTIONS.empty_table(), *map(asked_in, given.tables("select"))])
    gone = removed_in(replies, given.config.blind) if replies is not None else set()
    items = items_of(questions.filter(pc.invert(pc.is_in(questions["id"], pa.array(sorted(gone), pa.int64())))))
    fold = folds_of([item.group for item in items])
    scores = stress_test(items, fold)
    removed_in_round, pruned = prune(
        items,
        fold,
        scores,
        config.budget,
        config.tau,
        lambda _, removed: given.progress("prune", removed, len(items)),
        max(config.batch, len(items) // 100),
    )
    return table_bytes(_table(items, fold, scores, removed_in_round, pruned))


def _table(items: Sequence[Item], fold: Any, scores: Scores, removed_in: Any, pruned: Scores) -> pa.Table:
    """`blind.summary.stress_table` with what `blind.summary.summarise` needs besides."""
    from pipeline.blind.summary import stress_table

    order = sorted(range(len(items)), key=lambda i: items[i].id)
    table = stress_table(items, fold, scores, removed_in)
    for name, values in (
        ("earned", scores.earned),
        ("bias_left", pruned.bias),
        ("chance_left", pruned.chance),
        ("earned_left", pruned.earned),
    ):
        table = table.append_column(name, pa.array(values[order], pa.float64()))
    return table


def settings(config: BuildConfig) -> dict[str, Any]:
    """How much is pruned, and what blind filtering removes before."""
    return {"blind": config.blind.remove, "prune": digest_of(config.model_dump(mode="json")["prune"])}


PRUNE: Final = Stage(
    name="prune",
    suffix=".parquet",
    module=__name__,
    run=run,
    unit="build",
    takes=("select",),
    may_take=("blind",),
    settings=settings,
    is_wanted=lambda config: config.prune is not None,
)
