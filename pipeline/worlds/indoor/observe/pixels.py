"""Pixels of every object in every examined frame, by a ray per pixel of a reduced image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.geometry.scans import Frames
from pipeline.worlds.indoor.observe.rays import LabelledMesh, camera_rays, is_hidden

_CHUNK_FRAMES: Final = 16  # at a time: 16 x 160 x 120 rays take about 30 MB


class Sides(NamedTuple):
    """The longest side of each object's box: its middle (O, 3), unit direction (O, 3) and length (O,), metres."""

    middle: FloatArray
    direction: FloatArray
    length_m: FloatArray


@dataclass(frozen=True)
class PixelCounts:
    """Pixels per examined frame and object, (E, O), of the reduced image; ``frame`` (E,) indexes the given frames.

    ``extent_seen`` (O,) is the share of each object's longest side between the two ends of what any frame shows.
    ``depth_agreement`` is the share of rays whose hit is not behind the measured depth; None without depth images.
    """

    frame: npt.NDArray[np.intp]
    pixels: npt.NDArray[np.int64]
    extent_seen: FloatArray
    depth_agreement: float | None


def count_pixels(mesh: LabelledMesh, sides: Sides, chosen: IntArray, width: int, height: int) -> PixelCounts:
    """Casts width x height rays for each chosen frame."""
    objects, frames = len(sides.length_m), mesh.frames
    pixels = np.zeros((len(chosen), objects), dtype=np.int64)
    ends = np.stack([np.full(objects, np.inf), np.full(objects, -np.inf)])
    rays_checked = np.zeros(2, dtype=np.int64)
    for start in range(0, len(chosen), _CHUNK_FRAMES):
        part = chosen[start : start + _CHUNK_FRAMES]
        rays, pixel_xy = camera_rays(frames, part, width, height)
        label, depth_m = mesh.cast(rays)
        rays_checked += _hide(label, depth_m, pixel_xy, frames, part)
        at = np.flatnonzero(label.ravel() >= 0)
        shown = _Shown(label.ravel()[at].astype(np.intp), at // label.shape[1], depth_m.ravel()[at].astype(np.float64))
        counts = np.bincount(shown.frame * objects + shown.label, minlength=len(part) * objects)
        pixels[start : start + len(part)] = counts.reshape(len(part), objects)
        half_pixel = 0.5 * frames.size[0] / (width * frames.intrinsics[part, 0])  # at a depth of 1
        along = _base(frames, part, sides)[shown.frame, shown.label]
        along += shown.depth_m * _inner(rays.reshape(-1, 6)[at, 3:], sides.direction[shown.label])
        # Each hit is as wide as its pixel; else little would be seen of a cup that is three pixels wide.
        np.minimum.at(ends[0], shown.label, along - shown.depth_m * half_pixel[shown.frame])
        np.maximum.at(ends[1], shown.label, along + shown.depth_m * half_pixel[shown.frame])
    checked, passed = rays_checked.tolist()
    return PixelCounts(chosen, pixels, _extent_seen(ends, sides), passed / checked if checked else None)


class _Shown(NamedTuple):
    """The rays (M,) that meet an object: which one, in which of the frames, at which depth."""

    label: IntArray
    frame: IntArray
    depth_m: FloatArray


def _hide(
    label: npt.NDArray[Any], depth_m: npt.NDArray[Any], pixel_xy: FloatArray, frames: Frames, part: IntArray
) -> tuple[int, int]:
    """Takes out what lies behind the measured depth; how many rays (n, P) were checked, and how many of them passed."""
    checked = passed = 0
    for i, frame in enumerate(part):
        told = is_hidden(frames, int(frame), pixel_xy, depth_m[i])
        if told is not None:
            hidden, known = told
            checked += int(known.sum())
            passed += int((known & ~hidden).sum())
            label[i][hidden] = -1
    return checked, passed


def _extent_seen(ends: FloatArray, sides: Sides) -> FloatArray:
    """Share (O,) of each longest side that lies between two ends (2, O), measured from its middle."""
    half = sides.length_m / 2
    seen = np.minimum(ends[1], half) - np.maximum(ends[0], -half)
    return np.clip(seen / np.where(half > 0, sides.length_m, np.inf), 0.0, 1.0)


def _base(frames: Frames, part: IntArray, sides: Sides) -> FloatArray:
    """Where cameras (n,) stand along each longest side, from its middle (n, O)."""
    return _inner(frames.world_T_camera[part, None, :3, 3] - sides.middle, sides.direction)


def _inner(x: npt.NDArray[Any], y: FloatArray) -> FloatArray:
    return np.asarray(x[..., 0] * y[..., 0] + x[..., 1] * y[..., 1] + x[..., 2] * y[..., 2])
