"""The pictures of a scene's video, as a reader hands them on: of a video file, or pictures in files."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.formats.videos import VideoError, VideoFacts, paced_video, read_video, video_facts
from pipeline.reading.files import SceneFiles

_INSTANT_S: Final = 1e-9


def ticks_until(frames: IntArray | int, source_fps: float, fps: float) -> IntArray:
    """How many frames of a video of ``fps`` pass while so many of its source's do.

    The frame on screen is shown at each tick: a faster source is thinned, a slower one repeats frames.
    """
    return np.ceil((np.asarray(frames) / source_fps - _INSTANT_S) * fps).astype(np.intp)


def delivered_frames(count: int, source_fps: float, fps: float) -> IntArray:
    """Which of ``count`` frames of the source each frame (T,) of the delivered video shows."""
    ends = ticks_until(np.arange(1, count + 1), source_fps, fps)
    return np.searchsorted(ends, np.arange(ends[-1] if count else 0), side="right")


def evenly_spaced(count: int, budget: int) -> IntArray:
    """The frames (n,) of a video of ``count`` that evaluators take, in order and each once.

    lmms-eval, VLMEvalKit and ReVSI's videos: ``np.linspace(0, count - 1, budget, dtype=int)``, which rounds down; all
    frames of a shorter video.
    """
    return np.unique(np.linspace(0, count - 1, min(budget, count), dtype=np.intp))


@dataclass(frozen=True)
class Footage:
    """All frames of a scene's video, those without a pose included.

    Attributes:
        fps: frames per second of ``frames``.
        frames: opens the video; gives (h, w, 3) uint8 RGB images as stored.
    """

    fps: float
    frames: Callable[[], Iterator[npt.NDArray[np.uint8]]]


def log_footage(fps: float, times_s: FloatArray, picture: Callable[[int, float], npt.NDArray[np.uint8]]) -> Footage:
    """Pictures of a log until its last time: each is of the last row until then (-1: none yet), and of its second."""
    ticks_s = np.arange(int(times_s[-1] * fps + 1e-6) + 1) / fps
    rows = np.searchsorted(times_s, ticks_s + 1e-6, side="right") - 1
    return Footage(fps, lambda: map(picture, rows.tolist(), ticks_s.tolist()))


def held_footage(
    files: SceneFiles, path: Path, fps: float, count: int, load: Callable[[int], npt.NDArray[np.uint8] | None]
) -> Footage:
    """Every frame in order. One without a readable picture shows the last one before it, so that time goes on.

    Args:
        files: of the scene.
        path: where the pictures lie, for the error where none of them can be read.
        fps: of the frames.
        count: how many there are.
        load: the picture (h, w, 3) of a frame; None where there is none that can be read.
    """

    def frames() -> Iterator[npt.NDArray[np.uint8]]:
        waiting = 0
        last: npt.NDArray[np.uint8] | None = None
        for frame in range(count):
            picture = load(frame)
            shown = last if picture is None else picture
            waiting += 1
            if shown is not None:
                yield from itertools.repeat(shown, waiting)
                last, waiting = shown, 0
        if last is None:
            raise files.fault(path, "no_readable_picture", f"none of {count} can be read", "fetch the frames again")

    return Footage(fps, frames)


def movie_facts(files: SceneFiles, path: Path) -> VideoFacts:
    """Facts of a video that is there. Raises RawDataError where it cannot be read."""
    try:
        return video_facts(path)
    except VideoError as error:
        remedy = "fetch the video again, or take it away to do without"
        raise files.fault(path, "unreadable_video", str(error), remedy) from error


def movie_footage(files: SceneFiles, path: Path, fps: float, shown: int | None = None) -> Footage:
    """All pictures of a video. Iterating raises RawDataError where it breaks off.

    ``shown``: how many it has, where they are handed on as players show them: at their own times, and upright.
    """

    def frames() -> Iterator[npt.NDArray[np.uint8]]:
        try:
            yield from read_video(path) if shown is None else paced_video(path, fps, shown)
        except VideoError as error:
            raise files.fault(path, "unreadable_video", str(error), "fetch the video again") from error

    return Footage(fps, frames)
