"""A closer look, at the full frame rate, where the examined frames leave something open about single objects.

Rays go only into the part of the picture where the object can be, which makes it cheap to look at all frames of a video
for a few objects.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.raycasting import Rays
from pipeline.geometry.scans import CameraFrames
from pipeline.worlds.indoor.observe.rays import LabelledMesh, PixelCounts, held_against_depth, rays_along

DELIVERED: Final = (640, 480)  # pixels of the standardised video (VSI-Bench, appendix B.1)
_RAYS: Final = 1 << 18  # an eighth of a second
_RAYS_SOME: Final = _RAYS // 4  # into some of the frames


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
    frame, item = _frames_between(counts.frame, gap, item)
    where = windows(mesh, frame, item, image)
    found = count_pixels_in(mesh, where, min_pixels) >= min_pixels
    first = np.where(appears, counts.frame[row], np.iinfo(np.intp).max)
    np.minimum.at(first, where.item[found], where.frame[found])
    return FirstFrames(np.where(appears, first, -1), len(np.unique(frame)))


def _frames_between(examined: IntArray, gap: IntArray, item: IntArray) -> tuple[IntArray, IntArray]:
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
        frame, of = _frames_between(examined, gap, np.full(len(gap), item))
        where = _thinned(windows(mesh, frame, of, image), _RAYS // len(items))
        shown = where.frame[count_pixels_in(mesh, where, least=None) > 0]
        found[np.searchsorted(examined, shown) - 1, item] = True
    return found


def absent(mesh: LabelledMesh, items: IntArray, frame: IntArray | None = None) -> BoolArray:
    """Which objects (n,) the mesh shows in no pixel of frames, at the size of the delivered video.

    The frames are some of those with a pose, in order; None: all of them.

    Together they get `_RAYS` rays, into some of the frames `_RAYS_SOME`. Where the pictures of an object's box have
    more pixels than that, rays go to a part of these, spread evenly over pictures and frames: a sliver in a few frames
    can then be missed. What only measured depth hides is not absent, nor is what has no surface in the mesh: the video
    may show what the mesh lacks.
    """
    looked, rays = (np.arange(len(mesh.frames.time_s)), _RAYS) if frame is None else (frame, _RAYS_SOME)
    return np.array([_is_absent(mesh, int(item), looked, rays // len(items)) for item in items], dtype=bool)


def _is_absent(mesh: LabelledMesh, item: int, frame: IntArray, rays: int) -> bool:
    if len(frame) and np.isnan(mesh.extent[item]).any():
        return False
    where = windows(mesh, frame, np.full(len(frame), item), DELIVERED)
    return not count_pixels_in(mesh, _thinned(where, rays), least=None).any()


def _thinned(where: PixelWindows, rays: int) -> PixelWindows:
    """Windows with about so many rays, or as they are if they have fewer."""
    return where.thinned(max(1, math.ceil(math.sqrt(int(where.size.prod(1).sum()) / rays))))


_CORNERS: Final = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
_NEAR_M: Final = 1e-3  # what is nearer than this to the camera's plane has no sound place in the picture
_SPREAD: Final = np.array([0.7548776662466927, 0.5698402909980532])  # whose multiples cover a square evenly (R2)
_CHUNK_RAYS: Final = 1 << 18  # at a time; they take about 40 MB


class PixelWindows(NamedTuple):
    """One rectangle of pixels per frame and object, of an image of ``image`` (width, height) pixels.

    ``frame`` (W,) ascending, ``item`` (W,) the object, ``low`` (W, 2) the first column and row, ``size`` (W, 2) how
    many columns and rows, 0 where the object cannot be in the picture. Only every ``step``-th of both is meant.
    """

    frame: IntArray
    item: IntArray
    low: IntArray
    size: IntArray
    image: tuple[int, int]
    step: int = 1

    def take(self, index: IntArray | slice) -> PixelWindows:
        """Some of them."""
        return self._replace(frame=self.frame[index], item=self.item[index], low=self.low[index], size=self.size[index])

    def thinned(self, step: int) -> PixelWindows:
        """Every ``step``-th column and row, beginning elsewhere in every frame so that others are met in the next."""
        start = np.floor((self.frame[:, None] * _SPREAD) % 1.0 * step).astype(np.intp)
        size = -((start - self.size) // step)  # rounded up; at least 0, for every start lies below the step
        size[(size == 0).any(1)] = 0
        return self._replace(low=self.low + start, size=size, step=step)


def windows(mesh: LabelledMesh, frame: IntArray, item: IntArray, image: tuple[int, int]) -> PixelWindows:
    """Where objects ``item`` (W,) can be in frames ``frame`` (W,): the picture of the upright box around each.

    All of the picture where that box reaches behind the camera; nothing where all of it is behind, or where the object
    has no surface.
    """
    order = np.lexsort((item, frame))
    frame, item = frame[order], item[order]
    frames, extent = mesh.frames, mesh.extent[item]
    corners = np.stack([extent[:, _CORNERS[:, axis], axis] for axis in range(3)], axis=-1)  # (W, 8, 3)
    pose = frames.world_T_camera[frame]
    local = np.einsum("wck,wkj->wcj", corners - pose[:, None, :3, 3], pose[:, :3, :3])
    ahead = local[..., 2] > _NEAR_M
    depth = np.where(ahead, local[..., 2], 1.0)
    focal, middle = frames.intrinsics[frame, :2], frames.intrinsics[frame, 2:]
    shrink = np.array(image) / frames.size
    place = local[..., :2] / depth[..., None] * focal[:, None] + middle[:, None]
    place = (place + 0.5) * shrink - 0.5
    cut, gone = ~ahead.all(1), ~ahead.any(1)
    edge = np.array(image)
    # A pixel to each side, so that rounding loses none. NaN (no surface) compares as gone below.
    low = np.where(cut[:, None], 0, np.clip(np.floor(np.nan_to_num(place.min(1))) - 1, 0, edge))
    high = np.where(cut[:, None], edge, np.clip(np.ceil(np.nan_to_num(place.max(1))) + 2, 0, edge))
    size = np.maximum(high - low, 0)
    size[gone | (size == 0).any(1)] = 0
    return PixelWindows(frame, item, low.astype(np.intp), size.astype(np.intp), image)


def count_pixels_in(mesh: LabelledMesh, where: PixelWindows, least: int | None) -> IntArray:
    """Pixels (W,) of each window's object in it.

    What the mesh shows and measured depth hides is left out where the mesh shows at least ``least`` pixels; depth
    images take long to open. None: the mesh alone.
    """
    rays = where.size.prod(1)
    counts = np.zeros(len(rays), dtype=np.intp)
    for start, stop in _chunks(rays):
        part = slice(start, stop)
        counts[part] = _count(mesh, where.take(part), least)
    return counts


def _count(mesh: LabelledMesh, where: PixelWindows, least: int | None) -> IntArray:
    rays, pixel, of = window_rays(mesh.frames, where)
    hits = mesh.cast(rays)
    mine = hits.label == where.item[of]
    of, pixel, depth_m = of[mine], pixel[mine], hits.depth_m[mine].astype(np.float64)
    counts = np.bincount(of, minlength=len(where.frame))
    if least is None:
        return counts
    enough = counts >= least
    frame = where.frame[of]
    for shown in np.unique(where.frame[enough]):
        here = slice(*np.searchsorted(frame, [shown, shown + 1]))
        behind = held_against_depth(mesh.frames, int(shown), pixel[here], depth_m[here])
        if behind is not None:
            counts -= np.bincount(of[here][behind[0]], minlength=len(counts))
    return counts


def window_rays(frames: CameraFrames, where: PixelWindows) -> tuple[Rays, FloatArray, IntArray]:
    """Rays (R, 6) through the pixels of windows, as those of `camera_rays`; pixels (R, 2) in the full image; window."""
    number = where.size.prod(1)
    of = np.repeat(np.arange(len(number)), number)
    inner = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    row, column = np.divmod(inner, np.maximum(where.size[of, 0], 1))
    shrink = np.array(frames.size) / where.image
    pixel = (np.stack([column, row], axis=1) * where.step + where.low[of] + 0.5) * shrink - 0.5
    fx, fy, cx, cy = frames.intrinsics[where.frame].T
    local = (pixel[:, 0] - cx[of]) / fx[of], (pixel[:, 1] - cy[of]) / fy[of]
    return rays_along(local, frames.world_T_camera[where.frame][of]), pixel, of


def _chunks(rays: IntArray) -> list[tuple[int, int]]:
    """Runs of windows with about `_CHUNK_RAYS` rays each."""
    edges = np.unique(np.cumsum(rays) // _CHUNK_RAYS, return_index=True)[1].tolist()
    return list(pairwise([*edges, len(rays)]))
