"""The pictures of a scene's video, as a reader hands them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Footage:
    """All frames of a scene's video, those without a pose included.

    Attributes:
        fps: frames per second of ``frames``.
        frames: opens the video; gives (h, w, 3) uint8 RGB images as stored.
    """

    fps: float
    frames: Callable[[], Iterator[npt.NDArray[np.uint8]]]
