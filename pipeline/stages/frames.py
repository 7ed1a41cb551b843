"""Stage `frames`: gives the evenly spaced frames of a delivered video, about which answers are, their identity."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import RawDataError
from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.core.tables import FRAMES, selected_questions
from pipeline.engine.stage import Stage, StageContext
from pipeline.formats.videos import VideoError
from pipeline.rendering.sampled import sampled_rows
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.schema import AnyScene

NO_FRAMES: Final = arrow_bytes(pa.Table.from_batches([], FRAMES))


def run(context: StageContext) -> bytes:
    """The frames (`core.tables.FRAMES`) of each budget that questions about the scene have; none without a video."""
    film = json.loads(context.needed("video"))
    if film["video"] is None:
        return NO_FRAMES
    held = selected_questions(read_table(context.needed("select")))["budgets"].combine_chunks().flatten()
    budgets = pc.struct_field(held, "budget").unique().to_pylist()
    if not budgets:
        return NO_FRAMES
    path = context.folder / film["video"]
    try:
        rows = sampled_rows(path, context.unit, film["fps"], budgets, film["frames"])
    except VideoError as error:
        raise RawDataError(path, "video_unreadable", str(error), "make the video again", context.unit) from error
    _compare(path, rows, read_scene(context.needed("observe")), context.unit)
    return arrow_bytes(pa.Table.from_pylist(rows, schema=FRAMES))


def _compare(path: Path, rows: Sequence[Mapping[str, Any]], scene: AnyScene, unit: str) -> None:
    """Raises RawDataError where answers are about other frames than those that the release names."""
    world = WORLDS[scene.facts.world]
    examined = world.examined_frames(scene) if world.examined_frames else {}
    for budget in sorted({row["budget"] for row in rows}):
        named, own = [row["index"] for row in rows if row["budget"] == budget], list(examined.get(budget, ()))
        if named != own:
            other = sum(a != b for a, b in zip_longest(named, own))
            message = (
                f"{other} of {len(named)} frames of budget {budget} are others than those examined: the video has "
                f"{rows[0]['frames']} frames, and frame {max(named)} is its last here, {max(own, default=-1)} there"
            )
            remedy = "the recording holds another number of frames than it states: fetch it again, or set video=false"
            raise RawDataError(path, "other_frames_examined", message, remedy, unit)


FRAMES_STAGE: Final = Stage(
    name="frames",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("select", "observe", "video"),
    is_wanted=lambda config: config.video and config.of_benchmark().sampled,
)
