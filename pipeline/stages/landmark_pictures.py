"""Stage `landmark_pictures`: cuts pictures of landmarks from the video, for questions that call them by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.core.tables import PICTURES, picture_file, selected_questions
from pipeline.engine.stage import Stage, StageContext
from pipeline.formats.videos import VideoPictures
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """The pictures of a scene's questions (`core.tables.PICTURES`). Raises RawDataError where the video is damaged."""
    benchmark = BENCHMARKS[context.settings["benchmark"]]
    film, pictures = json.loads(context.needed("video")), benchmark.scene_pictures
    if film["video"] is None or pictures is None:
        return arrow_bytes(PICTURES.empty_table())
    view = benchmark.view_of(read_scene(context.needed("describe")), context.settings)
    video = VideoPictures(context.folder / film["video"])

    def frame_at(second: float) -> npt.NDArray[np.uint8]:
        return video.on_screen(second, film["fps"], film["frames"], context.unit)

    asked = selected_questions(read_table(context.needed("select"))).to_pylist()
    drawn = pictures.draw(view, asked, frame_at)
    video.close()
    rows = [{"id": i, "file": picture_file(pictures.folder, i), "picture": raw} for i, raw in sorted(drawn.items())]
    return arrow_bytes(pa.Table.from_pylist(rows, schema=PICTURES))


def settings(config: BuildConfig) -> dict[str, Any]:
    """The rules under which a scene is looked at."""
    return {"benchmark": config.benchmark, "rules": config.generate.resolved_rules().model_dump()}


def is_wanted(config: BuildConfig) -> bool:
    """Whether there are videos, and questions need pictures of what they name."""
    pictures = config.of_benchmark().scene_pictures
    return config.video and pictures is not None and pictures.wanted(config.generate.resolved_rules())


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The code that draws the pictures, and the view that it looks at."""
    benchmark = config.of_benchmark()
    return benchmark.view_modules(benchmark.scene_pictures)


LANDMARK_PICTURES: Final = Stage(
    name="landmark_pictures",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("select", "describe", "video"),
    settings=settings,
    uses=uses,
    is_wanted=is_wanted,
)
