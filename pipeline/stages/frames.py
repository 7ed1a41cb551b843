"""Stage `frames`: gives the evenly spaced frames of a delivered video, about which answers are, their identity."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import RawDataError
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.tables import FRAMES, asked_in
from pipeline.engine.stage import Stage, StageContext
from pipeline.formats.videos import VideoError
from pipeline.rendering.sampled import sampled_rows


def run(context: StageContext) -> bytes:
    """The frames (`core.tables.FRAMES`) of each budget that questions about the scene have; none without a video."""
    film = json.loads(context.needed("video"))
    held = asked_in(read_table(context.needed("select")))["budgets"].combine_chunks().flatten()
    budgets = pc.struct_field(held, "budget").unique().to_pylist()
    if film["video"] is None or not budgets:
        return table_bytes(FRAMES.empty_table())
    path = context.folder / film["video"]
    try:
        rows = sampled_rows(path, context.unit, film["fps"], budgets, film["frames"])
    except VideoError as error:
        raise RawDataError(path, "video_unreadable", str(error), "make the video again", context.unit) from error
    return table_bytes(pa.Table.from_pylist(rows, schema=FRAMES))


FRAMES_STAGE: Final = Stage(
    name="frames",
    suffix=".parquet",
    module=__name__,
    run=run,
    takes=("select", "video"),
    is_wanted=lambda config: config.video and config.of_benchmark().sampled,
)
