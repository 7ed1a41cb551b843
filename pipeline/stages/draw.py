"""Stage `draw`: of a log that no camera took pictures of, a film of what it knows, beside the store."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pipeline.core.video_form import VideoForm, video_file
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.video import encode, write_video
from pipeline.stages.film import VIDEOS, is_whole
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """Writes the film; the result says, as JSON, what was written: {"video": null} where there is no need or no way."""
    scene = read_scene(context.needed("observe"))
    draw = WORLDS[scene.facts.world].drawn
    film = draw(scene) if draw is not None and scene.video is None else None
    if film is None:
        return json.dumps({"video": None}).encode()
    fps = round(film.fps)
    encoded = encode(film.frames(), fps, 0, VideoForm(**context.settings["form"]))
    name = f"{VIDEOS}/{video_file(scene.id)}"
    return json.dumps({"video": name, "fps": fps} | write_video(context.folder, name, encoded)).encode()


def settings(config: BuildConfig) -> dict[str, Any]:
    """What the benchmark's videos look like."""
    return {"form": asdict(config.of_benchmark().video)}


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """What draws."""
    return tuple(world.drawn.__module__ for world in config.of_benchmark().worlds if world.drawn is not None)


DRAW: Final = Stage(
    name="draw",
    suffix=".json",
    module=__name__,
    run=run,
    takes=("observe",),
    settings=settings,
    uses=uses,
    is_wanted=lambda config: config.video and config.of_benchmark().video.drawn,
    is_whole=is_whole,
    folders=(VIDEOS,),
)
