"""The recording of a scene as a video file: facts and footage, with faults that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pipeline.formats.videos import VideoError, VideoFacts, read_video, video_facts
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import Footage


def movie_facts(files: SceneFiles, path: Path) -> VideoFacts:
    """Facts of a video that is there. Raises RawDataError where it cannot be read."""
    try:
        return video_facts(path)
    except VideoError as error:
        remedy = "fetch the video again, or take it away to do without"
        raise files.fault(path, "unreadable_video", str(error), remedy) from error


def movie_footage(files: SceneFiles, path: Path, fps: float) -> Footage:
    """All pictures of a video. Iterating raises RawDataError where it breaks off."""

    def frames() -> Iterator[npt.NDArray[np.uint8]]:
        try:
            yield from read_video(path)
        except VideoError as error:
            raise files.fault(path, "unreadable_video", str(error), "fetch the video again") from error

    return Footage(fps, frames)
