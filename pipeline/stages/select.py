"""Stage `select`: selects the questions of a scene from its candidates, with wording and options."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.benchmark import modules_of
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_table
from pipeline.core.tables import selected_bytes
from pipeline.engine.stage import Stage, StageContext
from pipeline.questions.balance import UNBALANCED, Balance, tallies_in
from pipeline.questions.selection import select

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """Questions and rejections of a scene (`core.tables.SELECTED`)."""
    candidates, given = read_table(context.needed("author")), context.settings
    tasks, cap = BENCHMARKS[given["benchmark"]].by_name(), given["per_scene_and_task"]
    chosen = select(
        candidates,
        tasks,
        cap,
        shares=given["shares"],
        most=given["most"],
        as_released=given["as_released"],
        balance=_balance(context),
    )
    return selected_bytes(chosen)


def _balance(context: StageContext) -> Balance:
    """The part of the balance that changes what the scene asks."""
    found, tally = context.bytes_of("balance"), context.bytes_of("answer_counts")
    return _balance_in(found).of(tallies_in(tally)) if found and tally else UNBALANCED


@lru_cache(2)  # each scene looks at the same one
def _balance_in(raw: bytes) -> Balance:
    return Balance(**json.loads(raw))


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


SELECT: Final = Stage(
    name="select",
    suffix=".parquet",
    module=__name__,
    run=run,
    takes=("author",),
    may_take=("answer_counts", "balance"),
    depends=depends,
    settings=settings,
    uses=uses,
)
