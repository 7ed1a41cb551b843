"""Stages `answer_counts`, `balance` and `select`: questions, from the candidates of a scene, with wording and options.

`answer_counts` chooses what a scene would ask, and counts it. `balance` says by the counts of all scenes which classes
of a task go first, and how many stay. `select` takes the choice, and depends on the part of the balance that changes
what its scene asks.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import modules_of
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.identity import digest_of
from pipeline.core.parquet import arrow_bytes, read_table, table_metadata
from pipeline.core.tables import selected_bytes
from pipeline.engine.stage import STORE, Stage, StageContext
from pipeline.engine.store import Result, Store
from pipeline.questions.balance import UNBALANCED, Balance, ClassTally, balance_of, tallies_in
from pipeline.questions.selection import CHOSEN_BY, SceneSelection, choose, select

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


_TALLIES: Final = "tallies"
_MADE_FROM: Final = "made_from"


def run_counts(context: StageContext) -> bytes:
    """The `questions.selection.SceneSelection` of a scene as a table, with the `ClassTally` of each task."""
    candidates, given = read_table(context.needed("author"), CHOSEN_BY), context.settings
    tasks = BENCHMARKS[given["benchmark"]].by_name()
    chosen = choose(candidates, tasks, given["per_scene_and_task"], given["shares"], most=given["most"])
    found = {task: asdict(tally) for task, tally in chosen.tallies(context.unit).items()}
    metadata = {_TALLIES: json.dumps(found, sort_keys=True), _MADE_FROM: _made_from(context)}
    return arrow_bytes(chosen.table(), metadata)


def _made_from(context: StageContext) -> str:
    """A digest of what decides on the choice. Both stages have the same code and settings."""
    return digest_of([context.code, dict(context.settings), context.results["author"][0][1].digest])


def run_balance(context: StageContext) -> bytes:
    """The `questions.balance.Balance` of the build, as JSON."""
    found = balance_of(map(tallies_of, context.all_bytes("answer_counts")))
    return json.dumps(asdict(found), sort_keys=True).encode()


def run(context: StageContext) -> bytes:
    """Questions and rejections of a scene (`core.tables.SELECTED`)."""
    candidates, given = read_table(context.needed("author")), context.settings
    tasks, cap = BENCHMARKS[given["benchmark"]].by_name(), given["per_scene_and_task"]
    selected = select(
        candidates,
        tasks,
        cap,
        shares=given["shares"],
        most=given["most"],
        as_released=given["as_released"],
        balance=_balance(context),
        chosen=_chosen(context, candidates),
    )
    return selected_bytes(selected)


def _chosen(context: StageContext, candidates: pa.Table) -> SceneSelection | None:
    """What `answer_counts` chose, unless it was of another version, as where `select` alone is run, or switched off."""
    if context.settings["as_released"]:
        return None
    counted = context.needed("answer_counts")
    if table_metadata(counted)[_MADE_FROM.encode()].decode() != _made_from(context):
        return None
    return SceneSelection.of(read_table(counted), candidates)


def tallies_of(counted: bytes) -> dict[str, ClassTally]:
    """The tallies by task in a result of stage `answer_counts`."""
    return tallies_in(table_metadata(counted)[_TALLIES.encode()])


def _balance(context: StageContext) -> Balance:
    """The part of the balance that changes what the scene asks."""
    found = context.results.get("balance", ())
    if not found:
        return UNBALANCED
    return _balance_in(context.folder, found[0][1]).of(tallies_of(context.needed("answer_counts")))


@lru_cache(2)  # each scene looks at the same one
def _balance_in(folder: Path, result: Result) -> Balance:
    return Balance(**json.loads(Store(folder / STORE).get(result)))


def depends(context: StageContext) -> dict[str, str]:
    """Of all scenes that part; it is not computed again where another part changes."""
    part = digest_of(asdict(_balance(context)))
    return {"balance": part, "answer_counts": part}


def settings(config: BuildConfig) -> dict[str, Any]:
    """The caps, the shares of the tasks, the wording, and whether all that repeats a released benchmark."""
    benchmark = config.of_benchmark()
    profile = config.generate.profile
    own = {"benchmark": config.benchmark, "shares": benchmark.shares, "templates": config.wordings()}
    caps = {"per_scene_and_task": config.select.per_scene_and_task, "most": dict(config.own_caps())}
    return caps | own | {"as_released": profile == benchmark.released}


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The tasks that are asked for: they offer options and fill in the wording."""
    benchmark, tasks = config.of_benchmark(), config.of_benchmark().by_name()
    return modules_of(benchmark, *(tasks[name] for name in config.generate.tasks))


def is_balanced(config: BuildConfig) -> bool:
    """A released benchmark is repeated as it is."""
    return config.generate.profile != config.of_benchmark().released


ANSWER_COUNTS: Final = Stage(
    name="answer_counts",
    suffix=".zst",
    module=__name__,
    run=run_counts,
    requires=("author",),
    settings=settings,
    uses=uses,
    is_wanted=is_balanced,
    fallback="author",
)
BALANCE: Final = Stage(
    name="balance",
    suffix=".json",
    module=__name__,
    run=run_balance,
    unit="build",
    requires=("answer_counts",),
    is_wanted=is_balanced,
)
SELECT: Final = Stage(
    name="select",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("author", "answer_counts"),  # a scene of which these cannot be made has no questions that are unbalanced
    optional=("balance",),
    part_digests=depends,
    settings=settings,
    uses=uses,
)
