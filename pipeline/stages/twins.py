"""Stage `twins`: asks the questions of a scene of frames that do not show what they ask about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.core.tables import TWINS, selected_questions
from pipeline.engine.stage import Stage, StageContext
from pipeline.questions.twins import twins_of
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader

NO_TWINS: Final = arrow_bytes(pa.Table.from_batches([], TWINS))


def run(context: StageContext) -> bytes:
    """The twins of a scene's questions, and why others have none (`core.tables.TWINS`)."""
    benchmark = BENCHMARKS[context.settings["benchmark"]]
    selected = context.needed("select")
    if not pc.any(pc.is_valid(read_table(selected, ["budgets"])["budgets"])).as_py():
        return NO_TWINS  # of a scene without a video, which need not be looked at
    asked = selected_questions(read_table(selected))
    sampled = asked.filter(pc.is_valid(asked["budgets"])).to_pylist()
    # What pictures cannot show is the same under all rules.
    view = benchmark.view(read_scene(context.needed("describe")), next(iter(benchmark.profiles.values())))
    return arrow_bytes(twins_of(sampled, benchmark.by_name(), view))


def settings(config: BuildConfig) -> dict[str, Any]:
    """The benchmark."""
    return {"benchmark": config.benchmark}


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The benchmark's view and tasks."""
    benchmark, tasks = config.of_benchmark(), config.of_benchmark().by_name()
    worlds = (world.facts for world in benchmark.worlds)
    return benchmark.view_modules(*worlds, *(tasks[name] for name in config.generate.tasks))


TWINS_STAGE: Final = Stage(
    name="twins",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("select", "describe"),
    settings=settings,
    uses=uses,
    is_wanted=lambda config: config.of_benchmark().sampled,
)
