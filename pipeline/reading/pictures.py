"""Pictures in files as the video of a scene."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import Footage


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
