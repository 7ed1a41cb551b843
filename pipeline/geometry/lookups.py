"""Where the pixels of views are looked up in pictures of a sphere: in which of those of half, quarter, … its size.

What is worked out here depends on no yaw: views that differ in that alone share it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.geometry.views import View, rays_of

SHARE_BITS: Final = 6  # of a place between two pixels: 64 steps
CROWDED: Final = math.radians(60.0)  # from the equator, where two columns are as wide as one pixel is high
_LEAST_SIDE: Final = 32  # pixels: smaller pictures of the whole sphere are not made
_CLEAR: Final = 0.25  # of an octave about a picture's size in which it is looked into alone
_PART: Final = 16_384  # pixels of a view that are rendered at once


class Level(NamedTuple):
    """One of the pictures of the sphere: its size, and where it lies among the packed pixels.

    Each row ends with its first pixel once more, and the last row stands twice, so that every pixel has neighbours.
    """

    width: int
    height: int
    start: int

    @property
    def stride(self) -> int:
        """Packed pixels of a row."""
        return self.width + 1


def levels_of(width: int, height: int) -> tuple[Level, ...]:
    """The pictures of a sphere whose own is so large, the largest first; the smallest is packed first."""
    sizes = [(width, height)]
    while min(sizes[-1]) >= 2 * _LEAST_SIDE:
        sizes.append((-(-sizes[-1][0] // 2), -(-sizes[-1][1] // 2)))
    found, start = [], 0
    for size in reversed(sizes):
        found.append(Level(*size, start))
        start += (size[0] + 1) * (size[1] + 1)
    return tuple(reversed(found))


class Lookup(NamedTuple):
    """Where pixels of a view (N,) are looked up in pictures of a sphere, but for the yaw. The width may be one for all.

    Attributes:
        width: of the picture, pixels.
        column: of that picture at yaw 0, pixels, from 0 to its width.
        upper: first packed pixel of the row above the place.
        lower: first packed pixel of the row below.
        down: how far the place is from the one to the other, of 64.
    """

    width: npt.NDArray[np.float32]
    column: npt.NDArray[np.float32]
    upper: npt.NDArray[np.intp]
    lower: npt.NDArray[np.intp]
    down: npt.NDArray[np.uint64]


class Part(NamedTuple):
    """Where some pixels of a view, one behind the other, are looked up.

    Attributes:
        pixels: which.
        every: pixel, in the picture that is nearest in size.
        mixed: numbers of those, of the pixels, for which that is not clear.
        coarser: where these are looked up too.
        share: of the latter, of 64.
    """

    pixels: slice
    every: Lookup
    mixed: npt.NDArray[np.intp]
    coarser: Lookup
    share: npt.NDArray[np.uint64]


class Lookups(NamedTuple):
    """Where all pixels of a view are looked up, but for the yaw.

    Attributes:
        parts: so small that a processor has all of one at hand.
        used: the pictures that are looked into.
        caps: whether any place is about a pole.
    """

    parts: tuple[Part, ...]
    used: tuple[int, ...]
    caps: bool


@lru_cache(maxsize=12)  # 12 MB each; views that differ in yaw alone share one
def lookups(pitch_deg: float, fov_deg: float, width: int, height: int, sphere: tuple[int, int]) -> Lookups:
    """Those of a view of a sphere's picture, whose width and height are given last."""
    view = View(yaw_deg=0.0, pitch_deg=pitch_deg, fov_deg=fov_deg, width=width, height=height)
    levels = levels_of(*sphere)
    # What the logarithm below is where a pixel is nearest to the eye.
    most = math.log2(sphere[1] / (math.pi * view.focal_px))
    rays = tuple(part[:, width // 2 :] for part in rays_of(view))  # the left half mirrors the right one
    rows = max(1, _PART // width)
    parts, used, steepest = [], set(), 0.0
    for first in range(0, height, rows):
        right, up, ahead = (part[first : first + rows] for part in rays)
        level_square = right * right + ahead * ahead
        right_turn = np.arctan2(right, ahead) / (2 * math.pi)  # of the circle, from the middle
        turn = 0.5 + np.concatenate([-right_turn[:, ::-1][:, : width // 2], right_turn], axis=1).ravel()
        fall = _mirrored(0.5 - np.arctan2(up, np.sqrt(level_square)) / math.pi, width)  # of the half circle
        wanted = None
        if most > _CLEAR and len(levels) > 1:
            # A pixel that is far (in focal lengths) from the eye covers 1 / (far³ focal²) of the sphere. Of its size,
            # in pixels of the sphere's own picture, the logarithm says which picture is wanted.
            size = most - 0.75 * np.log2(level_square + up * up)
            wanted = _mirrored(np.clip(size, 0, len(levels) - 1), width)
        made, into = _part(levels, slice(first * width, first * width + len(turn)), turn, fall, wanted)
        parts.append(made)
        used |= into
        steepest = max(steepest, float(np.abs(0.5 - fall).max()) * math.pi)
    edge = CROWDED - 2 * math.pi / levels[max(used)].height
    return Lookups(tuple(parts), tuple(sorted(used)), steepest > edge)


def _part(
    levels: tuple[Level, ...], pixels: slice, turn: FloatArray, fall: FloatArray, wanted: FloatArray | None
) -> tuple[Part, set[int]]:
    """The lookups of some pixels, and the pictures that are looked into; wanted None: the sphere's own alone is."""
    none = np.empty(0, dtype=np.intp)
    level = np.zeros(1, dtype=np.intp) if wanted is None else (wanted + _CLEAR).astype(np.intp)
    if wanted is None or (wanted.max() <= level.min() + _CLEAR and level.min() == level.max()):
        every = _lookup(levels, level[:1], turn, fall)
        return Part(pixels, every, none, every, np.empty(0, dtype=np.uint64)), {int(level[0])}
    share = np.rint((wanted - level - _CLEAR) * ((1 << SHARE_BITS) / (1 - 2 * _CLEAR)))
    mixed = np.flatnonzero(share > 0)
    every = _lookup(levels, level, turn, fall)
    coarser = _lookup(levels, level[mixed] + 1, turn[mixed], fall[mixed])
    used = {*range(int(level.min()), int(level.max()) + 1), *(np.unique(level[mixed]) + 1).tolist()}
    return Part(pixels, every, mixed, coarser, share[mixed].astype(np.uint64)), used


def _mirrored(half: FloatArray, width: int) -> FloatArray:
    """All pixels (N,) of what is the same on the left and on the right, from the right half (h, w)."""
    return np.concatenate([half[:, ::-1][:, : width // 2], half], axis=1).ravel()


def _lookup(levels: tuple[Level, ...], level: npt.NDArray[np.intp], turn: FloatArray, fall: FloatArray) -> Lookup:
    # Whole numbers below 2**53, which doubles hold exactly.
    wide, high, start = (np.array(part, dtype=np.float64).take(level) for part in zip(*levels, strict=True))
    steps = np.rint(np.clip(fall * high - 0.5, 0, high - 1) * (1 << SHARE_BITS)).astype(np.intp)
    upper = (start + (steps >> SHARE_BITS) * (wide + 1)).astype(np.intp)
    return Lookup(
        wide.astype(np.float32),
        (turn * wide - 0.5).astype(np.float32),
        upper,
        upper + wide.astype(np.intp) + 1,
        (steps & ((1 << SHARE_BITS) - 1)).astype(np.uint64),
    )
