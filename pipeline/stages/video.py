"""Stage `video`: encodes the standardised video of a scene, beside the store."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.core.video_spec import VIDEOS, VideoSpec, video_file
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.media_files import is_there
from pipeline.rendering.sampled import video_identity
from pipeline.rendering.video import Encoded, at_pace, encode, write_video
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig


def run(context: StageContext) -> bytes:
    """Writes the video; the result says, as JSON, what was written: {"video": null} where the scene has none."""
    raw = context.source
    scene = read_scene(context.needed("fix"))
    footage = raw.reader.footage(raw.files, scene)
    if footage is None:
        return json.dumps({"video": None}).encode()
    fps, form = raw.reader.video_fps, VideoSpec(**context.settings["form"])
    turn = scene.video.turn_deg if scene.video else 0
    return written(context.folder, scene.id, encode(at_pace(footage.frames(), footage.fps, fps), fps, turn, form), fps)


def written(folder: Path, scene: str, video: Encoded, fps: int) -> bytes:
    """Writes the video of a scene below the folder of a build; what was written, as JSON."""
    name = f"{VIDEOS}/{video_file(scene)}"
    record = write_video(folder, name, video)
    return json.dumps({"video": name, "fps": fps} | record | video_identity(folder / name, video.frames)).encode()


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether the video is there."""
    facts = json.loads(result)
    return facts["video"] is None or is_there(folder / facts["video"], facts)


def settings(config: BuildConfig) -> dict[str, Any]:
    """The form of the benchmark's videos."""
    return {"form": asdict(config.video_spec())}


VIDEO: Final = Stage(
    name="video",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("fix",),
    reads_raw=True,
    settings=settings,
    is_wanted=lambda config: config.video,
    is_complete=is_complete,
    folders=(VIDEOS,),
)
