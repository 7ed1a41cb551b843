"""Stage `generate`: forms every candidate of a scene: a question, or a rejection with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import arrow_bytes
from pipeline.core.tables import NO_CANDIDATES
from pipeline.engine.stage import Stage, StageContext
from pipeline.questions.cases import CaseTask
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """All candidates of all tasks (`core.tables.CANDIDATES`)."""
    benchmark, names = BENCHMARKS[context.settings["benchmark"]], context.settings["tasks"]
    view = benchmark.view_of(read_scene(context.needed("describe")), context.settings)
    tables = [task.candidates(view) for task in benchmark.tasks if task.name in names]
    return arrow_bytes(pa.concat_tables([NO_CANDIDATES, *tables]))


def settings(config: BuildConfig) -> dict[str, Any]:
    """Tasks and limits, and the wording of tasks whose candidates are words."""
    benchmark = config.of_benchmark()
    worded = {task.name for task in benchmark.tasks if isinstance(task, CaseTask)}
    return {
        "benchmark": benchmark.name,
        "tasks": list(config.generate.tasks),
        "rules": config.generate.resolved_rules().model_dump(),
        "templates": {name: digest for name, digest in config.wordings().items() if name in worded},
    }


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The benchmark's view and rules, and the tasks that are asked for."""
    benchmark, tasks = config.of_benchmark(), config.of_benchmark().by_name()
    worlds = (world.facts for world in benchmark.worlds)
    return benchmark.view_modules(*worlds, *(tasks[name] for name in config.generate.tasks))


def depends(context: StageContext) -> dict[str, str]:
    """Of the video it matters only that it can be delivered."""
    return {"video": ""}


GENERATE: Final = Stage(
    name="generate",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("describe", "video"),  # nothing is asked of one that cannot be delivered
    part_digests=depends,
    settings=settings,
    uses=uses,
)
