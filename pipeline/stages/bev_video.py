"""Stage `bev_video`: draws a video from above of a log without cameras, beside the store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pipeline.benchmarks.benchmark import modules_of
from pipeline.core.video_spec import VIDEOS, VideoSpec
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.video import encode
from pipeline.stages.video import is_complete, settings, written
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """Writes the film; the result says, as JSON, what was written: {"video": null} where there is no need or no way."""
    scene = read_scene(context.needed("observe"))
    draw = WORLDS[scene.facts.world].bev_video
    film = draw(scene) if draw is not None and scene.video is None else None
    if film is None:
        return json.dumps({"video": None}).encode()
    fps = round(film.fps)
    video = encode(film.frames(), fps, 0, VideoSpec(**context.settings["form"]))
    return written(context.folder, scene.id, video, fps)


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The code that draws."""
    return modules_of(*(world.bev_video for world in config.of_benchmark().worlds))


BEV_VIDEO: Final = Stage(
    name="bev_video",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("observe",),
    settings=settings,
    uses=uses,
    is_wanted=lambda config: config.video and config.of_benchmark().video.drawn,
    is_complete=is_complete,
    folders=(VIDEOS,),
)
