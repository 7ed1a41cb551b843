"""Stage `film`: the standardised video of a scene, beside the store."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.core.files import write_atomically
from pipeline.core.video_form import VideoForm, video_file
from pipeline.engine.given import Given
from pipeline.engine.stage import Stage
from pipeline.film.video import at_pace, encode
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig

VIDEOS: Final = "videos"  # folder of a build


def run(given: Given) -> bytes:
    """Writes the video; the result says, as JSON, what was written: {"video": null} where the scene has none."""
    raw = given.source
    scene = read_scene(given.needed("unify"))
    footage = raw.reader.footage(raw.files, scene)
    if footage is None:
        return json.dumps({"video": None}).encode()
    fps, form = raw.reader.video_fps, VideoForm(**given.settings["form"])
    turn = scene.video.turn_deg if scene.video else 0
    encoded = encode(at_pace(footage.frames(), footage.fps, fps), fps, turn, form)
    name = f"{VIDEOS}/{video_file(scene.id)}"
    write_atomically(given.folder / name, encoded.raw)
    facts = {"video": name, "fps": fps, "frames": encoded.frames, "bytes": len(encoded.raw)}
    return json.dumps(facts | {"sha256": hashlib.sha256(encoded.raw).hexdigest()}).encode()


def is_whole(result: bytes, folder: Path) -> bool:
    """Whether the video is there with its size: hashing hundreds would outlast the rest of an unchanged build."""
    facts = json.loads(result)
    path = folder / str(facts["video"])
    return facts["video"] is None or (path.exists() and path.stat().st_size == facts["bytes"])


def settings(config: BuildConfig) -> dict[str, Any]:
    """What the benchmark's videos look like."""
    return {"form": asdict(config.of_benchmark().video)}


FILM: Final = Stage(
    name="film",
    suffix=".json",
    module=__name__,
    run=run,
    takes=("unify",),
    reads_raw=True,
    settings=settings,
    is_wanted=lambda config: config.video,
    is_whole=is_whole,
    folders=(VIDEOS,),
)
