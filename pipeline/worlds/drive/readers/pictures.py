"""Pictures of a camera on a car, as a video that begins and ends with its log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.schema import Video
from pipeline.formats.images import color_file, size_of
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import Footage
from pipeline.reading.pictures import held_footage

SUFFIXES: Final = (".jpg", ".jpeg", ".png")
_EPS_S: Final = 1e-6


@dataclass(frozen=True)
class Pictures:
    """What one camera took, in order of time.

    Attributes:
        folder: of the files.
        files: (P,).
        times_s: (P,) on the log's clock.
    """

    folder: Path
    files: tuple[Path, ...]
    times_s: FloatArray

    def on_screen(self, lasts_s: float, fps: int) -> IntArray:
        """For each tick of a video, from the log's start to its end, the last picture taken by then, or the first."""
        ticks = np.arange(int(lasts_s * fps + _EPS_S) + 1) / fps
        return np.maximum(np.searchsorted(self.times_s, ticks + _EPS_S, side="right") - 1, 0)


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """The pictures of a folder whose names are whole numbers, with these, in their order."""
    if not folder.is_dir():
        return []
    found = [p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and p.stem.isdecimal() and p.is_file()]
    return sorted((int(path.stem), path) for path in found)


def pictures_of(folder: Path, entries: Sequence[tuple[int, Path]], times_s: FloatArray) -> Pictures | None:
    """Pictures at times (P,); None where there are none."""
    return Pictures(folder, tuple(path for _, path in entries), times_s) if entries else None


def video_of(files: SceneFiles, pictures: Pictures | None, lasts_s: float, fps: int) -> Video | None:
    """Facts of the video; None where there are no pictures, or the first one cannot be read."""
    size = None if pictures is None else size_of(pictures.files[0])
    if pictures is None or size is None:
        return None
    frames = len(pictures.on_screen(lasts_s, fps))
    path = files.relative(pictures.folder)
    return Video(path=path, fps=fps, frames=frames, width=size[0], height=size[1])


def footage_of(files: SceneFiles, pictures: Pictures | None, lasts_s: float, fps: int) -> Footage | None:
    """The video itself; a picture that cannot be read shows the one before it."""
    if pictures is None:
        return None
    shown = pictures.on_screen(lasts_s, fps)
    load = lru_cache(maxsize=1)(color_file)  # one that stays on screen is decoded once
    return held_footage(files, pictures.folder, fps, len(shown), lambda tick: load(pictures.files[shown[tick]]))
