"""Stage `clip`: cuts the parts of videos that questions are about, beside the store."""

import json
from pathlib import Path
from typing import Final

from pipeline.core.parquet import read_table
from pipeline.core.tables import selected_questions
from pipeline.core.video_spec import VIDEOS, video_file
from pipeline.engine.stage import Stage, StageContext
from pipeline.rendering.clip import clip
from pipeline.rendering.media_files import drop_others, is_there
from pipeline.rendering.video import write_video


def run(context: StageContext) -> bytes:
    """Writes a clip for each part that a selected question is about; the result says, as JSON, what was written.

    Questions about one part share a clip. Clips of questions that are no longer asked go.
    """
    films = [json.loads(raw) for stage in ("video", "bev_video") if (raw := context.bytes_of(stage)) is not None]
    film = next((one for one in films if one["video"] is not None), None)
    asked = selected_questions(read_table(context.needed("select"))).select(["from_s", "until_s"]).to_pylist()
    parts = {(row["from_s"] or 0.0, row["until_s"]) for row in asked if row["until_s"] is not None}
    scene, clips = context.unit, []
    if film is not None:
        for from_s, until_s in sorted(parts):
            cut = clip(context.folder / film["video"], until_s, film["fps"], from_s)
            name = f"{VIDEOS}/{video_file(scene, until_s, from_s)}"
            clips.append({"clip": name, "from_s": from_s, "until_s": until_s} | write_video(context.folder, name, cut))
    drop_others(context.folder / VIDEOS / scene, (context.folder / made["clip"] for made in clips), "*.mp4")
    return json.dumps({"clips": clips}).encode()


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether every clip is there."""
    return all(is_there(folder / facts["clip"], facts) for facts in json.loads(result)["clips"])


CLIP: Final = Stage(
    name="clip",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("select", "video"),
    optional=("bev_video",),
    is_wanted=lambda config: config.video and config.of_benchmark().video.clips,
    is_complete=is_complete,
    folders=(VIDEOS,),
)
