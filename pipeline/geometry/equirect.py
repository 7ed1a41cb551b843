"""Perspective views out of equirectangular pictures: nearest for labels and depth, filtered for colours.

The middle of pixel column u lies at longitude ((u + 1/2) / W - 1/2) * 360 degrees, that of row v at latitude
(1/2 - (v + 1/2) / H) * 180 degrees. A picture is wrapped at its seam.

Where a view's pixels are larger than the picture's, they are averaged first: of pictures of half, quarter, … the size,
each the mean of the areas that its pixels cover, that one is sampled whose pixels are nearest in size to the view's at
that place; between two, both (with a sharp border between them, whatever lies on it would seem to be shifted).
Towards the poles, where the picture's columns crowd, its rows are averaged along themselves,
as wide as a pixel is high.
Samples are taken in whole numbers, so that no processor's rounding shows in a picture.

`lookups` finds, for the pixels of a view, their level (half, quarter, … the size) and their place in it. It does not
depend on yaw: views that differ in yaw alone share it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.arrays import FloatArray, chunks
from pipeline.geometry.views import PinholeView, rays_of

Picture = npt.NDArray[np.uint8]
Packed = npt.NDArray[np.uint64]  # three channels of a pixel in a number

SHARE_BITS: Final = 6  # of a place between two pixels: 64 steps
CROWDED: Final = math.radians(60.0)  # from the equator, where two columns are as wide as one pixel is high
_LEAST_SIDE: Final = 32  # pixels: smaller pictures of the whole sphere are not made
_CLEAR: Final = 0.25  # of an octave about a picture's size in which it is looked into alone
_PART: Final = 16_384  # pixels of a view that are rendered at once
_FIELD: Final = 21  # bits of a channel in a packed pixel
_HALF: Final = np.uint64(sum(1 << (_FIELD * channel + SHARE_BITS - 1) for channel in range(3)))
_KEPT: Final = np.uint64(sum(((256 << SHARE_BITS) - 1) << (_FIELD * channel) for channel in range(3)))


class Sphere:
    """A picture of the whole sphere, to be rendered from.

    Args:
        picture: decoded, eight bits, three channels; any size, of which twice as wide as high is usual.
    """

    def __init__(self, picture: Image.Image) -> None:
        if picture.mode != "RGB":
            raise ValueError(f"a picture of mode RGB is wanted, not {picture.mode}")
        self._size = picture.width, picture.height
        self._levels = levels_of(*self._size)
        last = self._levels[0]
        # Reserved, and only taken from the machine's memory where it is written to.
        self._packed = np.empty(last.start + last.stride * (last.height + 1), dtype=np.uint64)
        self._have: set[tuple[int, bool]] = set()
        self._smaller = {0: picture}

    def render(self, view: PinholeView) -> Picture:
        """The view (height, width, 3): between pixels by their distance, averaged where it shows less than there is."""
        at = lookups(view.pitch_deg, view.fov_deg, view.width, view.height, self._size)
        for level in at.used:
            self._pack(level, caps=False)
            if at.caps:
                self._pack(level, caps=True)
        picture = np.empty((view.height * view.width, 3), dtype=np.uint8)
        for part in at.parts:
            self._render(part, view.yaw_deg, picture[part.pixels])
        return picture.reshape(view.height, view.width, 3)

    def _render(self, part: SpherePart, yaw_deg: float, picture: Picture) -> None:
        """Fills in the pixels (n, 3) of a part."""
        packed = self._sampled(part.every, yaw_deg)
        if len(part.mixed):
            coarser = self._sampled(part.coarser, yaw_deg)
            finer = packed[part.mixed]
            coarser -= finer
            coarser *= part.share
            finer <<= np.uint64(SHARE_BITS)
            coarser += finer
            packed[part.mixed] = _rounded(coarser)
        packed += _HALF
        for channel in range(3):
            picture[:, channel] = packed >> np.uint64(_FIELD * channel + SHARE_BITS)  # its lowest eight bits

    def _sampled(self, at: PixelLookup, yaw_deg: float) -> Packed:
        """Packed pixels (N,) between those about the places, times 64."""
        column = at.column + at.width * np.float32(yaw_deg / 360.0)
        column += np.where(column < 0, at.width, np.float32(0))
        column -= np.where(column >= at.width, at.width, np.float32(0))
        column *= np.float32(1 << SHARE_BITS)
        np.rint(column, out=column)
        steps = column.astype(np.intp)
        across = (steps & ((1 << SHARE_BITS) - 1)).astype(np.uint64)
        steps >>= SHARE_BITS
        # 64 steps beyond the last column are the first: that pixel stands there, and its right neighbour has no weight.
        upper = self._interpolated(at.upper + steps, across)
        lower = self._interpolated(at.lower + steps, across)
        # Fields of the packed numbers may borrow from one another on the way; the sums are whole again.
        lower -= upper
        lower *= at.down
        upper <<= np.uint64(SHARE_BITS)
        upper += lower
        return _rounded(upper)

    def _interpolated(self, left: npt.NDArray[np.intp], across: Packed) -> Packed:
        """Packed pixels (N,) between those at ``left`` and their right neighbours, times 64."""
        first = self._packed.take(left)
        second = self._packed[1:].take(left, mode="clip")
        second -= first
        second *= across
        first <<= np.uint64(SHARE_BITS)
        first += second
        return first

    def _pack(self, level: int, caps: bool) -> None:
        """Packs a picture: what is about the poles, or all the rest."""
        if (level, caps) in self._have:
            return
        width, height, start = self._levels[level]
        packed = self._packed[start : start + (width + 1) * (height + 1)].reshape(height + 1, width + 1)
        pitch = (0.5 - (np.arange(height) + 0.5) / height) * math.pi
        near = int(np.count_nonzero(pitch > CROWDED))
        for top, bottom in ((0, near), (height - near, height)) if caps else ((near, height - near),):
            rows = np.array(self._scaled(level).crop((0, top, width, bottom)))
            if caps:
                _average_rows(rows, pitch[top:bottom])
            inner = packed[top:bottom, :width]
            inner[...] = rows[..., 2]
            for channel in (1, 0):
                inner <<= np.uint64(_FIELD)
                inner |= rows[..., channel]
            packed[top:bottom, width] = packed[top:bottom, 0]
        packed[height] = packed[height - 1]
        self._have.add((level, caps))

    def _scaled(self, level: int) -> Image.Image:
        if level not in self._smaller:
            larger, size = self._scaled(level - 1), self._levels[level][:2]
            halves = (2 * size[0], 2 * size[1]) == larger.size
            self._smaller[level] = larger.reduce(2) if halves else larger.resize(size, Image.Resampling.BOX)
        return self._smaller[level]


def _rounded(packed: Packed) -> Packed:
    """Packed pixels (N,), times 64 twice, times 64 once; in place."""
    packed += _HALF
    packed >>= np.uint64(SHARE_BITS)
    packed &= _KEPT
    return packed


def whole_sphere(part: Image.Image, width: int, height: int, left: int, top: int) -> Image.Image:
    """A picture of the whole sphere, black but for a part of it whose upper left pixel is given.

    Raises ValueError where the part reaches beyond it: a part may cross the seam, not the poles.
    """
    if part.width > width or top < 0 or top + part.height > height:
        raise ValueError(f"a part of {part.width} x {part.height} at row {top} is not within {width} x {height}")
    if part.size == (width, height) and left % width == 0:
        return part
    whole = Image.new(part.mode, (width, height))
    for column in (left % width, left % width - width):
        whole.paste(part, (column, top))
    return whole


def _average_rows(rows: Picture, pitch: FloatArray) -> None:
    """Averages rows (n, W, 3) at pitches (n,), radians, along themselves: as many columns as a pixel is high."""
    width = rows.shape[1]
    columns = np.minimum(1.0 / np.cos(pitch), (width - 1) // 2)  # a pixel is as high as one is wide at the equator
    for row, reach in enumerate(np.rint((columns - 1) / 2).astype(int).tolist()):
        if reach:
            wide = 2 * reach + 1
            around = np.concatenate([rows[row, -reach:], rows[row], rows[row, :reach]])
            total = np.zeros((len(around) + 1, 3), dtype=np.int32)
            np.cumsum(around, axis=0, out=total[1:])
            rows[row] = (total[wide:] - total[:-wide] + reach) // wide


class PyramidLevel(NamedTuple):
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


def levels_of(width: int, height: int) -> tuple[PyramidLevel, ...]:
    """The pictures of a sphere whose own is so large, the largest first; the smallest is packed first."""
    sizes = [(width, height)]
    while min(sizes[-1]) >= 2 * _LEAST_SIDE:
        sizes.append((-(-sizes[-1][0] // 2), -(-sizes[-1][1] // 2)))
    found, start = [], 0
    for size in reversed(sizes):
        found.append(PyramidLevel(*size, start))
        start += (size[0] + 1) * (size[1] + 1)
    return tuple(reversed(found))


class PixelLookup(NamedTuple):
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


class SpherePart(NamedTuple):
    """Where some pixels of a view, one behind the other, are looked up.

    Attributes:
        pixels: which.
        every: pixel, in the picture that is nearest in size.
        mixed: numbers of those, of the pixels, for which that is not clear.
        coarser: where these are looked up too.
        share: of the latter, of 64.
    """

    pixels: slice
    every: PixelLookup
    mixed: npt.NDArray[np.intp]
    coarser: PixelLookup
    share: npt.NDArray[np.uint64]


class ViewLookups(NamedTuple):
    """Where all pixels of a view are looked up, but for the yaw.

    Attributes:
        parts: so small that a processor has all of one at hand.
        used: the pictures that are looked into.
        caps: whether any place is about a pole.
    """

    parts: tuple[SpherePart, ...]
    used: tuple[int, ...]
    caps: bool


@lru_cache(maxsize=12)  # 12 MB each; views that differ in yaw alone share one
def lookups(pitch_deg: float, fov_deg: float, width: int, height: int, sphere: tuple[int, int]) -> ViewLookups:
    """Those of a view of a sphere's picture, whose width and height are given last."""
    view = PinholeView(yaw_deg=0.0, pitch_deg=pitch_deg, fov_deg=fov_deg, width=width, height=height)
    levels = levels_of(*sphere)
    # What the logarithm below is where a pixel is nearest to the eye.
    most = math.log2(sphere[1] / (math.pi * view.focal_px))
    rays = tuple(part[:, width // 2 :] for part in rays_of(view))  # the left half mirrors the right one
    parts, used, steepest = [], set(), 0.0
    for rows in chunks(height, width, _PART):
        right, up, ahead = (part[rows] for part in rays)
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
        made, into = _part(levels, slice(rows.start * width, rows.stop * width), turn, fall, wanted)
        parts.append(made)
        used |= into
        steepest = max(steepest, float(np.abs(0.5 - fall).max()) * math.pi)
    edge = CROWDED - 2 * math.pi / levels[max(used)].height
    return ViewLookups(tuple(parts), tuple(sorted(used)), steepest > edge)


def _part(
    levels: tuple[PyramidLevel, ...], pixels: slice, turn: FloatArray, fall: FloatArray, wanted: FloatArray | None
) -> tuple[SpherePart, set[int]]:
    """The lookups of some pixels, and the pictures that are looked into; wanted None: the sphere's own alone is."""
    none = np.empty(0, dtype=np.intp)
    level = np.zeros(1, dtype=np.intp) if wanted is None else (wanted + _CLEAR).astype(np.intp)
    if wanted is None or wanted.max() <= level.min() + _CLEAR:
        every = _lookup(levels, level[:1], turn, fall)
        return SpherePart(pixels, every, none, every, np.empty(0, dtype=np.uint64)), {int(level[0])}
    share = np.rint((wanted - level - _CLEAR) * ((1 << SHARE_BITS) / (1 - 2 * _CLEAR)))
    mixed = np.flatnonzero(share > 0)
    every = _lookup(levels, level, turn, fall)
    coarser = _lookup(levels, level[mixed] + 1, turn[mixed], fall[mixed])
    used = {*range(int(level.min()), int(level.max()) + 1), *(np.unique(level[mixed]) + 1).tolist()}
    return SpherePart(pixels, every, mixed, coarser, share[mixed].astype(np.uint64)), used


def _mirrored(half: FloatArray, width: int) -> FloatArray:
    """All pixels (N,) of what is the same on the left and on the right, from the right half (h, w)."""
    return np.concatenate([half[:, ::-1][:, : width // 2], half], axis=1).ravel()


def _lookup(
    levels: tuple[PyramidLevel, ...], level: npt.NDArray[np.intp], turn: FloatArray, fall: FloatArray
) -> PixelLookup:
    # Whole numbers below 2**53, which doubles hold exactly.
    wide, high, start = (np.array(part, dtype=np.float64).take(level) for part in zip(*levels, strict=True))
    steps = np.rint(np.clip(fall * high - 0.5, 0, high - 1) * (1 << SHARE_BITS)).astype(np.intp)
    upper = (start + (steps >> SHARE_BITS) * (wide + 1)).astype(np.intp)
    return PixelLookup(
        wide.astype(np.float32),
        (turn * wide - 0.5).astype(np.float32),
        upper,
        upper + wide.astype(np.intp) + 1,
        (steps & ((1 << SHARE_BITS) - 1)).astype(np.uint64),
    )
