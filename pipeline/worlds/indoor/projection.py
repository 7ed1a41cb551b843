"""Projects boxes of a scan into pictures of its delivered video."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.video_spec import VideoSpec
from pipeline.geometry.boxes import Boxes
from pipeline.worlds.indoor.facts import FrameCamera, IndoorScene

_NEAR_M: Final = 0.05  # lines are cut there, before the camera
_EDGES: Final = np.array([(a, b) for a, b in combinations(range(8), 2) if (a ^ b).bit_count() == 1])  # (12, 2)


class Cameras:
    """The cameras of a scan's frames, by their seconds; those that show an object best or first.

    Args:
        scene: observed.
        form: of the delivered video.
    """

    def __init__(self, scene: IndoorScene, form: VideoSpec) -> None:
        seen = scene.facts.observation
        self._by_second = {camera.second: camera for camera in seen.cameras} if seen else {}
        self._turn = (scene.video.turn_deg if scene.video else 0) // 90 % 4
        self._form, self._size = form, seen.picture if seen else None

    def lines(self, second: float, boxes: Boxes) -> list[list[FloatArray]]:
        """The edges of each box in the picture of a second, each (2, 2): shares of the width and height of `content`.

        What lies behind the camera is cut off. No edges where there is no camera for the second.
        """
        camera = self._by_second.get(second)
        if camera is None or self._size is None:
            return [[] for _ in boxes.center]
        corners = _in_camera(camera, boxes.corners())
        return [[self._placed(camera, edge) for edge in _cut(local[_EDGES])] for local in corners]

    def share_of_picture(self, second: float, box: Boxes) -> float:
        """Share of the picture of a second that a box (one) spans where all of it is in the picture; else 0."""
        (lines,) = self.lines(second, box)
        if len(lines) < len(_EDGES):  # partly behind the camera, or no camera is known
            return 0.0
        corners = np.concatenate(lines)
        return float(np.ptp(corners, axis=0).prod()) if (corners >= 0).all() and (corners <= 1).all() else 0.0

    def _placed(self, camera: FrameCamera, points: FloatArray) -> FloatArray:
        """Points (n, 3) before the camera as shares (n, 2) of the picture as it is delivered, without its bars."""
        raw = points[:, :2] / points[:, 2:] * camera.focal + camera.middle
        x, y = raw.T
        return np.stack([(x, y), (1 - y, x), (1 - x, 1 - y), (y, 1 - x)][self._turn], axis=1)

    def content(self, picture: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """A picture (h, w, 3) of the delivered video without the bars beside it."""
        if self._size is None or not self._form.bars:
            return picture
        columns, rows = self._size[::-1] if self._turn % 2 else self._size
        left, top, width, height = self._form.fitted(columns, rows)
        return picture[top : top + height, left : left + width]


def _in_camera(camera: FrameCamera, points: FloatArray) -> FloatArray:
    """Points (..., 3) in camera axes."""
    *axes, position = np.array(camera.world_T_camera)
    offset = points - position
    return np.stack([offset[..., 0] * a[0] + offset[..., 1] * a[1] + offset[..., 2] * a[2] for a in axes], axis=-1)


def _cut(edges: FloatArray) -> list[FloatArray]:
    """Edges (12, 2, 3) as far as they lie before the camera."""
    kept = []
    for start, end in edges:
        low, high = (start, end) if start[2] <= end[2] else (end, start)
        if high[2] <= _NEAR_M:
            continue
        if low[2] < _NEAR_M:
            low = low + (high - low) * (_NEAR_M - low[2]) / (high[2] - low[2])
        kept.append(np.stack([low, high]))
    return kept
