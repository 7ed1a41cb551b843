"""Stage `clip`: for questions about the video up to a second, a video that ends there, beside the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pipeline.core.parquet import read_table
from pipeline.core.tables import asked_in
from pipeline.core.video_form import video_file
from pipeline.engine.given import Given
from pipeline.engine.stage import Stage
from pipeline.film.clip import clip
from pipeline.film.files import is_there, write_video
from pipeline.stages.film import VIDEOS


def run(given: Given) -> bytes:
    """Writes a clip for each second at which a selected question ends; the result says, as JSON, what was written.

    Questions that end at the same second share a clip. Clips of questions that are no longer asked go.
    """
    film = json.loads(given.needed("film"))
    seconds = asked_in(read_table(given.needed("select")))["until_s"].unique().to_pylist()
    scene, clips = given.unit, []
    if film["video"] is not None:
        for until_s in sorted(second for second in seconds if second is not None):
            cut = clip(given.folder / film["video"], until_s, film["fps"])
            name = f"{VIDEOS}/{video_file(scene, until_s)}"
            clips.append({"clip": name, "until_s": until_s} | write_video(given.folder, name, cut))
    wanted = {given.folder / made["clip"] for made in clips}
    for path in (given.folder / VIDEOS / scene).glob("*.mp4"):
        if path not in wanted:
            path.unlink()
    return json.dumps({"clips": clips}).encode()


def is_whole(result: bytes, folder: Path) -> bool:
    """Whether every clip is there."""
    return all(is_there(folder / facts["clip"], facts) for facts in json.loads(result)["clips"])


CLIP: Final = Stage(
    name="clip",
    suffix=".json",
    module=__name__,
    run=run,
    takes=("select", "film"),
    is_wanted=lambda config: config.video and config.of_benchmark().video.clips,
    is_whole=is_whole,
    folders=(VIDEOS,),
)
