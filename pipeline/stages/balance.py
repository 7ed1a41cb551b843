"""Stage `balance`: says over all scenes which classes of a task's questions go first in each, and how many stay."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.engine.stage import Stage, StageContext
from pipeline.questions.selection import balance_of
from pipeline.stages.select import settings, uses

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from pipeline.engine.config import BuildConfig


def run(context: StageContext) -> bytes:
    """The `questions.balance.Balance` of the build, as JSON."""
    given = context.settings

    def scenes() -> Iterator[tuple[str, pa.Table]]:
        units = context.units("author")
        for done, found in enumerate(zip(units, context.tables("author"), strict=True), start=1):
            yield found
            context.progress("balance", done, len(units))

    tasks = BENCHMARKS[given["benchmark"]].by_name()
    found = balance_of(scenes, tasks, given["per_scene_and_task"], given["shares"], given["most"])
    return json.dumps(asdict(found), sort_keys=True).encode()


def is_wanted(config: BuildConfig) -> bool:
    """A released benchmark is repeated as it is."""
    return config.generate.profile != config.of_benchmark().released


BALANCE: Final = Stage(
    name="balance",
    suffix=".json",
    module=__name__,
    run=run,
    unit="build",
    takes=("author",),
    settings=settings,
    uses=uses,
    is_wanted=is_wanted,
)
