"""Stages `film`, `draw` and `clip`: videos of a scene, beside the store.

`film` standardises what a camera took; `draw` draws what a log knows that no camera took pictures of; `clip` cuts the
parts that questions are about.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.core.parquet import read_table
from pipeline.core.tables import asked_in
from pipeline.core.video_form import VideoForm, video_file
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.clip import clip
from pipeline.rendering.media_files import is_there
from pipeline.rendering.video import at_pace, encode, write_video
from pipeline.worlds.registry import WORLDS, read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


VIDEOS: Final = "videos"  # folder of a build


def run(context: StageContext) -> bytes:
    """Writes the video; the result says, as JSON, what was written: {"video": null} where the scene has none."""
    raw = context.source
    scene = read_scene(context.needed("fix"))
    footage = raw.reader.footage(raw.files, scene)
    if footage is None:
        return json.dumps({"video": None}).encode()
    fps, form = raw.reader.video_fps, VideoForm(**context.settings["form"])
    turn = scene.video.turn_deg if scene.video else 0
    encoded = encode(at_pace(footage.frames(), footage.fps, fps), fps, turn, form)
    name = f"{VIDEOS}/{video_file(scene.id)}"
    return json.dumps({"video": name, "fps": fps} | write_video(context.folder, name, encoded)).encode()


def is_whole(result: bytes, folder: Path) -> bool:
    """Whether the video is there."""
    facts = json.loads(result)
    return facts["video"] is None or is_there(folder / facts["video"], facts)


def settings(config: BuildConfig) -> dict[str, Any]:
    """What the benchmark's videos look like."""
    return {"form": asdict(config.of_benchmark().video)}


FILM: Final = Stage(
    name="film",
    suffix=".json",
    module=__name__,
    run=run,
    takes=("fix",),
    reads_raw=True,
    settings=settings,
    is_wanted=lambda config: config.video,
    is_whole=is_whole,
    folders=(VIDEOS,),
)


def run_clip(context: StageContext) -> bytes:
    """Writes a clip for each part that a selected question is about; the result says, as JSON, what was written.

    Questions about one part share a clip. Clips of questions that are no longer asked go.
    """
    films = [json.loads(raw) for stage in ("film", "draw") if (raw := context.bytes_of(stage)) is not None]
    film = next((one for one in films if one["video"] is not None), None)
    asked = asked_in(read_table(context.needed("select"))).select(["from_s", "until_s"]).to_pylist()
    parts = {(row["from_s"] or 0.0, row["until_s"]) for row in asked if row["until_s"] is not None}
    scene, clips = context.unit, []
    if film is not None:
        for from_s, until_s in sorted(parts):
            cut = clip(context.folder / film["video"], until_s, film["fps"], from_s)
            name = f"{VIDEOS}/{video_file(scene, until_s, from_s)}"
            clips.append({"clip": name, "from_s": from_s, "until_s": until_s} | write_video(context.folder, name, cut))
    wanted = {context.folder / made["clip"] for made in clips}
    for path in (context.folder / VIDEOS / scene).glob("*.mp4"):
        if path not in wanted:
            path.unlink()
    return json.dumps({"clips": clips}).encode()


def is_clip_whole(result: bytes, folder: Path) -> bool:
    """Whether every clip is there."""
    return all(is_there(folder / facts["clip"], facts) for facts in json.loads(result)["clips"])


CLIP: Final = Stage(
    name="clip",
    suffix=".json",
    module=__name__,
    run=run_clip,
    takes=("select", "film"),
    may_take=("draw",),
    is_wanted=lambda config: config.video and config.of_benchmark().video.clips,
    is_whole=is_clip_whole,
    folders=(VIDEOS,),
)


def run_draw(context: StageContext) -> bytes:
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


def draw_uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """What draws."""
    return tuple(world.drawn.__module__ for world in config.of_benchmark().worlds if world.drawn is not None)


DRAW: Final = Stage(
    name="draw",
    suffix=".json",
    module=__name__,
    run=run_draw,
    takes=("observe",),
    settings=settings,
    uses=draw_uses,
    is_wanted=lambda config: config.video and config.of_benchmark().video.drawn,
    is_whole=is_whole,
    folders=(VIDEOS,),
)
