"""Stage `twins`: asks the questions of a scene of frames that do not show what they ask about."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.core.tables import TWINS, selected_questions
from pipeline.engine.stage import Stage, StageContext
from pipeline.questions.twins import twins_of
from pipeline.stages.generate import uses
from pipeline.worlds.registry import read_scene

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


TWINS_STAGE: Final = Stage(
    name="twins",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("select", "describe"),
    settings=lambda config: {"benchmark": config.benchmark},
    uses=uses,
    is_wanted=lambda config: config.of_benchmark().sampled,
)
