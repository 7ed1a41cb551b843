"""Which examined frame shows an object best, and the cameras of such frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.geometry.boxes import Boxes, stack
from pipeline.geometry.scans import Frames
from pipeline.worlds.indoor.facts import FrameCamera, SceneObject
from pipeline.worlds.indoor.observe.pixels import PixelCounts

_LEAST: Final = 0.1  # of its pixels counts a picture in which no corner of the box lies
_AHEAD_M: Final = 0.05  # a corner nearer to the camera's plane than this has no place in the picture
_DECIMALS: Final = 6
_CHUNK_FRAMES: Final = 64  # at a time: with 300 objects they take about 20 MB


def best_frames(frames: Frames, counts: PixelCounts, items: Sequence[SceneObject]) -> IntArray:
    """The examined frame (O,) that shows most pixels of each object; -1 where none shows any.

    Pixels count by how much of the object's box is in the picture: what fills it is no longer known for what it is. Of
    equal ones the earliest.
    """
    boxes = stack([o.box.center for o in items], [o.box.lengths for o in items], [o.box.axes for o in items])
    score = np.zeros(counts.pixels.shape)
    for start in range(0, len(counts.frame), _CHUNK_FRAMES):
        part = slice(start, start + _CHUNK_FRAMES)
        inside = _corners_inside(frames, counts.frame[part], boxes).mean(-1)
        score[part] = counts.pixels[part] * np.maximum(inside, _LEAST)
    if not score.size:
        return np.full(len(items), -1, dtype=np.intp)
    row = score.argmax(0)
    return np.where(score.any(0), counts.frame[row], -1)


def _corners_inside(frames: Frames, chosen: IntArray, boxes: Boxes) -> FloatArray:
    """Whether the corners (E, O, 8) of boxes lie in the pictures of frames."""
    pose, lens = frames.world_T_camera[chosen], frames.intrinsics[chosen]
    offset = boxes.corners()[None] - pose[:, None, None, :3, 3]
    rotation = pose[:, None, None, :3, :3]
    local = sum(
        (offset[..., i, None] * rotation[..., i, :] for i in (1, 2)), offset[..., 0, None] * rotation[..., 0, :]
    )
    x, y, z = np.moveaxis(local, -1, 0)
    ahead = z > _AHEAD_M
    depth = np.where(ahead, z, 1.0)
    fx, fy, cx, cy = (column[:, None, None] for column in lens.T)
    column, row = x / depth * fx + cx, y / depth * fy + cy
    width, height = frames.size
    return np.asarray(
        ahead & (column >= -0.5) & (column <= width - 0.5) & (row >= -0.5) & (row <= height - 0.5), dtype=np.float64
    )


def cameras_at(frames: Frames, chosen: IntArray) -> tuple[FrameCamera, ...]:
    """The cameras of the chosen frames, each once, in order; -1 is none."""
    return tuple(_camera(frames, number) for number in np.unique(chosen[chosen >= 0]).tolist())


def _camera(frames: Frames, number: int) -> FrameCamera:
    width, height = frames.size
    fx, fy, cx, cy = frames.intrinsics[number].tolist()
    pose = frames.world_T_camera[number].round(_DECIMALS) + 0.0
    return FrameCamera.model_validate(
        {
            "second": round(float(frames.time_s[number]), 3),
            "world_T_camera": pose[:3].T.tolist(),
            "focal": (round(fx / width, _DECIMALS), round(fy / height, _DECIMALS)),
            "middle": (round((cx + 0.5) / width, _DECIMALS), round((cy + 0.5) / height, _DECIMALS)),
        }
    )
