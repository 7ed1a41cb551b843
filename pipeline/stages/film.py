"""Stage `film`: the standardised video of a scene, beside the store."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

from pipeline.core.files import write_atomically
from pipeline.engine.given import Given
from pipeline.engine.stage import Stage
from pipeline.film.video import at_pace, encode
from pipeline.worlds.registry import read_scene

VIDEOS: Final = "videos"  # folder of a build


def run(given: Given) -> bytes:
    """Writes the video; the result says, as JSON, what was written: {"video": null} where the scene has none."""
    raw = given.source
    scene = read_scene(given.needed("unify"))
    footage = raw.reader.footage(raw.files, scene)
    if footage is None:
        return json.dumps({"video": None}).encode()
    fps = raw.reader.video_fps
    turn = scene.video.turn_deg if scene.video else 0
    encoded = encode(at_pace(footage.frames(), footage.fps, fps), fps, turn)
    name = f"{VIDEOS}/{scene.id}.mp4"
    write_atomically(given.folder / name, encoded.raw)
    facts = {"video": name, "fps": fps, "frames": encoded.frames, "bytes": len(encoded.raw)}
    return json.dumps(facts | {"sha256": hashlib.sha256(encoded.raw).hexdigest()}).encode()


def is_whole(result: bytes, folder: Path) -> bool:
    """Whether the video is there with its size: hashing hundreds would outlast the rest of an unchanged build."""
    facts = json.loads(result)
    path = folder / str(facts["video"])
    return facts["video"] is None or (path.exists() and path.stat().st_size == facts["bytes"])


FILM: Final = Stage(
    name="film",
    suffix=".json",
    module=__name__,
    run=run,
    takes=("unify",),
    reads_raw=True,
    is_wanted=lambda config: config.video,
    is_whole=is_whole,
    folders=(VIDEOS,),
)
