"""What the harnesses' own loaders take of videos: FOLDER FRAMES VIDEO…, the videos below the folder without endings.

Printed as JSON: video -> name of the loader -> SHA-256 of the RGB bytes of each frame that it hands to a model.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.harness.stand_ins import install

install()

from lmms_eval.models.model_utils.load_video import load_video_decord, read_video  # noqa: E402
from lmms_eval.tasks.vsibench import utils as vsibench  # noqa: E402
from vlmeval.dataset.vsibench import VsiBench  # noqa: E402

folder, number = Path(sys.argv[1]), int(sys.argv[2])


def digests(frames: Any) -> list[str]:
    return [hashlib.sha256(np.ascontiguousarray(np.asarray(frame)).tobytes()).hexdigest() for frame in frames]


vsibench.base_cache_dir, vsibench.cache_name = "", str(folder)


class Shown(VsiBench):  # type: ignore[misc]
    """VLMEvalKit's own sampling, without its download; pictures that change no pixel."""

    def __init__(self) -> None:
        self.data_root, self.nframe, self.fps, self.sample_strategy = str(folder), number, -1, "uniform"
        self.frame_root, self.frame_tmpl = str(folder / "pictures"), "frame-{}-of-{}.png"


def taken(video: str) -> dict[str, list[str]]:
    path = str(folder / f"{video}.mp4")
    dataset, _, scene = video.rpartition("/")
    doc = {"dataset": dataset, "scene_name": scene}
    pictures, _, _ = Shown().save_video_frames(f"{video}.mp4")
    return {
        "lmms-eval, PyAV": digests(read_video(path, num_frm=number)),
        "lmms-eval, decord": digests(load_video_decord(path, number)),
        "lmms-eval, pictures": digests(vsibench.sample_vsibench_video_frames(doc, {"num_frames": number})),
        "VLMEvalKit": digests([Image.open(one).convert("RGB") for one in pictures]),
    }


print(json.dumps({video: taken(video) for video in sys.argv[3:]}))
