"""Stages `answer_counts` and `balance`: over all scenes, which classes of a task go first, and how many stay.

`answer_counts` counts the classes of a scene, and `balance` looks at these counts alone. `select` depends on the part
of the balance that changes what its scene asks.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import read_table
from pipeline.engine.stage import Stage, StageContext
from pipeline.questions.balance import balance_of, tallies_in
from pipeline.questions.selection import CHOSEN_BY, choose
from pipeline.stages.select import settings, uses

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig


def run_counts(context: StageContext) -> bytes:
    """The `questions.balance.ClassTally` of each task of a scene, as JSON."""
    candidates, given = read_table(context.needed("author"), CHOSEN_BY), context.settings
    tasks = BENCHMARKS[given["benchmark"]].by_name()
    chosen = choose(candidates, tasks, given["per_scene_and_task"], given["shares"], most=given["most"])
    found = {task: asdict(tally) for task, tally in chosen.tallies(context.unit).items()}
    return json.dumps(found, sort_keys=True).encode()


def run(context: StageContext) -> bytes:
    """The `questions.balance.Balance` of the build, as JSON."""
    found = balance_of(map(tallies_in, context.all_bytes("answer_counts")))
    return json.dumps(asdict(found), sort_keys=True).encode()


def is_wanted(config: BuildConfig) -> bool:
    """A released benchmark is repeated as it is."""
    return config.generate.profile != config.of_benchmark().released


ANSWER_COUNTS: Final = Stage(
    name="answer_counts",
    suffix=".json",
    module=__name__,
    run=run_counts,
    takes=("author",),
    settings=settings,
    uses=uses,
    is_wanted=is_wanted,
)
BALANCE: Final = Stage(
    name="balance",
    suffix=".json",
    module=__name__,
    run=run,
    unit="build",
    takes=("answer_counts",),
    is_wanted=is_wanted,
)
