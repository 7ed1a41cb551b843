"""A closer look, at the full frame rate, where the examined frames leave something open about single objects."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, IntArray
from pipeline.worlds.indoor.observe.pixels import PixelCounts
from pipeline.worlds.indoor.observe.rays import LabelledMesh
from pipeline.worlds.indoor.observe.windows import Windows, count_pixels_in, windows

DELIVERED: Final = (640, 480)  # pixels of the standardised video (VSI-Bench, appendix B.1)
_RAYS: Final = 1 << 18  # an eighth of a second


class FirstFrames(NamedTuple):
    """The first frame (O,) in which each object passes the threshold, -1 for none; ``looked`` frames besides."""

    frame: IntArray
    looked: int


def first_frames(mesh: LabelledMesh, counts: PixelCounts, min_pixels: int, image: tuple[int, int]) -> FirstFrames:
    """First appearances among all frames of the video.

    Besides the examined frames, all frames between two of them are looked at where an object may pass the threshold
    for the first time: up to the first examined frame in which it does, and where a frame shows any of it.
    """
    passes = counts.pixels >= min_pixels
    if not len(passes):
        return FirstFrames(np.full(passes.shape[1], -1, dtype=np.intp), 0)
    appears = passes.any(0)
    row = np.where(appears, passes.argmax(0), 0)
    shows = counts.pixels > 0
    before = np.arange(1, len(shows))[:, None] <= row
    near = shows[:-1] | shows[1:]
    gap, item = np.nonzero(before & (near | _glimpses(mesh, counts.frame, before & ~near, image)))
    frame, item = _between(counts.frame, gap, item)
    where = windows(mesh, frame, item, image)
    found = count_pixels_in(mesh, where, min_pixels) >= min_pixels
    first = np.where(appears, counts.frame[row], np.iinfo(np.intp).max)
    np.minimum.at(first, where.item[found], where.frame[found])
    return FirstFrames(np.where(appears, first, -1), len(np.unique(frame)))


def _between(examined: IntArray, gap: IntArray, item: IntArray) -> tuple[IntArray, IntArray]:
    """The frames strictly between examined ones ``gap`` (G,) and ``gap + 1``, each with its item: (W,) both."""
    inner = examined[gap + 1] - examined[gap] - 1
    of = np.repeat(np.arange(len(gap)), inner)
    offset = np.arange(len(of)) - np.repeat(np.cumsum(inner) - inner, inner)
    return examined[gap[of]] + 1 + offset, item[of]


def _glimpses(mesh: LabelledMesh, examined: IntArray, dark: BoolArray, image: tuple[int, int]) -> BoolArray:
    """In which gaps (G, O) between examined frames, of those given as ``dark``, a frame shows an object for a moment.

    Together the objects get `_RAYS` rays, spread evenly as in `absent`; what is hidden for long behind something and
    shown for a few frames in few pixels can be missed.
    """
    found = np.zeros_like(dark)
    items = np.flatnonzero(dark.any(0))
    for item in items:
        gap = np.flatnonzero(dark[:, item])
        frame, of = _between(examined, gap, np.full(len(gap), item))
        where = _thinned(windows(mesh, frame, of, image), _RAYS // len(items))
        shown = where.frame[count_pixels_in(mesh, where, least=None) > 0]
        found[np.searchsorted(examined, shown) - 1, item] = True
    return found


def absent(mesh: LabelledMesh, items: IntArray) -> BoolArray:
    """Which objects (n,) the mesh shows in no pixel of any frame with a pose, at the size of the delivered video.

    Together they get `_RAYS` rays. Where the pictures of an object's box have more pixels than that, rays go to a part
    of these, spread evenly over pictures and frames: a sliver in a few frames can then be missed. What only measured
    depth hides is not absent, nor is what has no surface in the mesh: the video may show what the mesh lacks.
    """
    return np.array([_is_absent(mesh, int(item), _RAYS // len(items)) for item in items], dtype=bool)


def _is_absent(mesh: LabelledMesh, item: int, rays: int) -> bool:
    frame = np.arange(len(mesh.frames.time_s))
    if len(frame) and np.isnan(mesh.extent[item]).any():
        return False
    where = windows(mesh, frame, np.full(len(frame), item), DELIVERED)
    return not count_pixels_in(mesh, _thinned(where, rays), least=None).any()


def _thinned(where: Windows, rays: int) -> Windows:
    """Windows with about so many rays, or as they are if they have fewer."""
    return where.thinned(max(1, math.ceil(math.sqrt(int(where.size.prod(1).sum()) / rays))))
