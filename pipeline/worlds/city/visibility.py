"""Visibility from a pose in a city: pixels per thing, by rays into their prisms (Open3D's RaycastingScene).

The camera is that of the benchmark: 640 x 480 pixels, 90 degrees across, level rolls included. What is seen for sure is
told apart from what may be seen, which differ where the map does not tell the height of a building: all that may stand
above its least height hides things, and shows nothing for sure.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, chunks
from pipeline.geometry.raycasting import Rays, RayScene
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.occluders import Occluders, PrismMesh, prism_mesh

WIDTH: Final = 640
HEIGHT: Final = 480
FOV_DEG: Final = 90.0  # between the left and the right edge
SEARCH_STEP: Final = 8  # pixels between the rays of a search
MOST_RAYS: Final = 1 << 12  # for one thing in one picture: all pixels of what is smaller than 64 x 64
_RAYS: Final = 1 << 19  # at a time: about 60 MB
_NEAR_M: Final = 0.05  # what lies nearer to the picture's plane than this counts as behind it
GROUND_M: Final = 5000.0


class CityViews(NamedTuple):
    """Visibility of T things from n poses.

    Attributes:
        pixels: (n, T) of the 640 x 480, that surely show it.
        possible: (n, T) pixels that may show it, and these: 0 where no part can be seen.
        touches_border: (n, T) whether it reaches beyond the picture's edges, hidden or not; False where unseen.
    """

    pixels: IntArray
    possible: IntArray
    touches_border: BoolArray


class PairVisibility(NamedTuple):
    """As `Views`, of n pairs of a pose and a thing: arrays (n,)."""

    pixels: IntArray
    possible: IntArray
    touches_border: BoolArray


class CitySight:
    """Looks at a city.

    Args:
        city: with a map.
        solids: of the city, where they were made already.
    """

    def __init__(self, city: City, solids: Occluders | None = None) -> None:
        self.city, self.solids = city, solids or Occluders(city)
        mesh = prism_mesh(self.solids, GROUND_M)
        self._all = self._scene(mesh, np.ones(len(mesh.prism), dtype=bool))
        sure = np.append(self.solids.sure, True)[mesh.prism]
        self._sure = self._all if sure.all() else self._scene(mesh, sure)
        self._corners, self._first = _corners(self.solids, len(city.things))

    def seen(self, poses: FloatArray, things: IntArray | None = None, step: int = SEARCH_STEP) -> CityViews:
        """Visibility of all things, or of those with some indices (T,), from poses (n, 6).

        Args:
            poses: x, y, z, roll, pitch, yaw.
            things: indices among the city's things; None: all of them.
            step: every so many pixels a ray is cast each way, which stands for all around it. 1 is exact; 8 may miss
                what is smaller than 8 pixels, and is for searches.
        """
        count = len(self.city.things)
        chosen = np.arange(count, dtype=np.intp) if things is None else things
        place = np.full(count + 1, -1, dtype=np.intp)  # of each thing among the chosen; the last is that of no thing
        place[chosen] = np.arange(len(chosen))
        offset = (step - 1) // 2
        column, row = np.meshgrid(np.arange(offset, WIDTH, step), np.arange(offset, HEIGHT, step))
        x, y = _pixel_slopes(column.ravel(), row.ravel())
        pixels, possible = (np.zeros((len(poses), len(chosen)), dtype=np.intp) for _ in range(2))
        for at_once in chunks(len(poses), len(x), _RAYS):
            part = poses[at_once]
            rays = np.empty((len(part), len(x), 6), dtype=np.float32)
            rays[..., :3] = part[:, None, :3]
            right, down, ahead = np.moveaxis(camera_axes(part).astype(np.float32), 1, 0)
            rays[..., 3:] = x[:, None] * right[:, None] + y[:, None] * down[:, None] + ahead[:, None]
            surely, maybe, behind = (self._counts(place[hits], len(chosen)) for hits in self._cast(rays))
            pixels[at_once] = surely * step * step
            possible[at_once] = (maybe + behind) * step * step
        border = np.zeros(pixels.shape, dtype=bool)
        pose, thing = np.nonzero(possible)
        border[pose, thing] = ~self._windows(poses[pose], camera_axes(poses[pose]), chosen[thing]).whole
        return CityViews(pixels, possible, border)

    def shown(self, poses: FloatArray, things: IntArray, most: int | None = MOST_RAYS) -> PairVisibility:
        """Visibility from each of some poses (n, 6) of the thing with the index beside it (n,).

        Rays are cast through the pixels where the thing can be, all of them where these are at most ``most`` (so all of
        whatever is small), else every second, third … pixel each way; None: all of them always.
        """
        axes = camera_axes(poses)
        window = self._windows(poses, axes, things)
        pixels, possible = (np.zeros(len(poses), dtype=np.intp) for _ in range(2))
        size = window.high - window.low
        step = np.ones(len(poses), dtype=np.intp)
        if most is not None:
            step = np.maximum(np.ceil(np.sqrt(size.prod(1) / most)).astype(np.intp), 1)
        rays_of = -(-size // step[:, None])
        ends = np.cumsum(rays_of.prod(1))
        axes = axes.astype(np.float32)
        begin = 0
        while begin < len(poses):
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + _RAYS, side="right")))
            count = np.diff(ends[begin:end], prepend=before)
            pair = np.repeat(np.arange(begin, end), count)
            nth = np.arange(len(pair)) - np.repeat(ends[begin:end] - count - before, count)
            across = rays_of[pair, 0]
            x, y = _pixel_slopes(
                window.low[pair, 0] + nth % across * step[pair], window.low[pair, 1] + nth // across * step[pair]
            )
            rays = np.empty((len(pair), 6), dtype=np.float32)
            rays[:, :3] = poses[pair, :3]
            right, down, ahead = (axes[pair, k] for k in range(3))
            rays[:, 3:] = x[:, None] * right + y[:, None] * down + ahead
            own = things[pair]
            surely, maybe, behind = self._cast(rays)
            for out, shows in ((pixels, surely == own), (possible, (maybe == own) | (behind == own))):
                out[begin:end] = np.bincount(pair[shows] - begin, minlength=end - begin) * step[begin:end] ** 2
            begin = end
        return PairVisibility(pixels, possible, (possible > 0) & ~window.whole)

    # Rays

    def _scene(self, mesh: PrismMesh, chosen: BoolArray) -> tuple[RayScene, IntArray, IntArray]:
        """A scene of the chosen faces, and per face (with one more, for rays that hit nothing) what is seen."""
        of = mesh.prism[chosen]
        thing = np.append(self.solids.thing, -1)[of]
        surely = np.where(np.append(self.solids.sure, True)[of], thing, -1)
        return RayScene(mesh.vertices, mesh.faces[chosen]), np.append(surely, -1), np.append(thing, -1)

    def _cast(self, rays: Rays) -> tuple[IntArray, IntArray, IntArray]:
        """Things (...) that rays (..., 6) surely meet first, that they may meet, and what then is behind; -1: none."""
        scene, surely, maybe = self._all
        face = scene.faces(rays)
        behind = np.full(face.shape, -1, dtype=np.intp)
        if self._sure is not self._all:
            # Where something hides the view that may not be there, what lies behind it may be seen as well.
            hidden = (surely[face] < 0) & (maybe[face] >= 0)
            without, _, things = self._sure
            behind[hidden] = things[without.faces(np.ascontiguousarray(rays[hidden]))]
        return surely[face], maybe[face], behind

    @staticmethod
    def _counts(things: IntArray, count: int) -> IntArray:
        """Rays (n, count) of each pose (n, rays) by thing."""
        n = len(things)
        flat = (things + 1 + (count + 1) * np.arange(n)[:, None]).ravel()
        return np.bincount(flat, minlength=n * (count + 1)).reshape(n, count + 1)[:, 1:]

    # Windows

    def _windows(self, poses: FloatArray, axes: FloatArray, things: IntArray) -> _Windows:
        """Where in the pictures of poses (n, 6), with their axes (n, 3, 3), things (n,) lie, hidden or not."""
        low, high = np.zeros((len(poses), 2), dtype=np.intp), np.zeros((len(poses), 2), dtype=np.intp)
        whole = np.zeros(len(poses), dtype=bool)
        starts, count = self._first[things], self._first[things + 1] - self._first[things]
        there = np.flatnonzero(count)  # what has no corner is nowhere
        if not len(there):
            return _Windows(low, high, whole)
        pose = np.repeat(np.arange(len(poses)), count)
        begins = (np.cumsum(count) - count)[there]
        corner = self._corners[np.arange(len(pose)) + np.repeat(starts - np.cumsum(count) + count, count)]
        offset = corner - poses[pose, :3]
        right, down, ahead = np.einsum("ni,nki->kn", offset, axes[pose])
        near = ahead <= _NEAR_M
        is_behind, is_near = np.logical_and.reduceat(near, begins), np.logical_or.reduceat(near, begins)
        high[there[is_near & ~is_behind]] = WIDTH, HEIGHT  # beside or behind the camera: anywhere in the picture
        xy = np.stack([right, down], axis=1) / np.where(near, 1.0, ahead)[:, None] * (WIDTH / 2)
        xy += [WIDTH / 2, HEIGHT / 2]
        least, most = (way.reduceat(xy, begins)[~is_near] for way in (np.minimum, np.maximum))
        ahead_of = there[~is_near]
        whole[ahead_of] = (least >= 0).all(1) & (most <= [WIDTH, HEIGHT]).all(1)
        low[ahead_of] = np.clip(np.floor(least), 0, [WIDTH, HEIGHT])
        high[ahead_of] = np.clip(np.ceil(most), 0, [WIDTH, HEIGHT])
        return _Windows(low, high, whole)


class _Windows(NamedTuple):
    """Columns and rows (n, 2) from ``low`` to before ``high``, and whether all (n,) lies within the picture."""

    low: IntArray
    high: IntArray
    whole: BoolArray


def camera_axes(poses: FloatArray) -> FloatArray:
    """Axes (n, 3, 3) of the camera as rows: right, down, ahead. Yaw is clockwise from north, roll clockwise too."""
    roll, pitch, yaw = np.radians(poses[:, 3:6]).T
    sr, cr, sp, cp, sy, cy = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch), np.sin(yaw), np.cos(yaw)
    right = np.stack([cy, -sy, np.zeros_like(cy)], axis=1)
    ahead = np.stack([sy * cp, cy * cp, sp], axis=1)
    down = np.stack([sy * sp, cy * sp, -cp], axis=1)
    rolled = cr[:, None] * right + sr[:, None] * down, cr[:, None] * down - sr[:, None] * right
    return np.stack([*rolled, ahead], axis=1)


def pixel_rays(pose: FloatArray, width: int = WIDTH, height: int = HEIGHT) -> Rays:
    """Rays (height * width, 6) of a pose (6,) through the pixels of a picture of some size, row by row."""
    column, row = np.meshgrid(np.arange(width), np.arange(height))
    scale = WIDTH / width
    across, below = (column.ravel() + 0.5) * scale - 0.5, (row.ravel() + 0.5 - height / 2) * scale + HEIGHT / 2 - 0.5
    x, y = _pixel_slopes(across, below)
    right, down, ahead = camera_axes(pose[None])[0].astype(np.float32)
    rays = np.empty((len(x), 6), dtype=np.float32)
    rays[:, :3] = pose[:3]
    rays[:, 3:] = x[:, None] * right + y[:, None] * down + ahead
    return rays


def _pixel_slopes(column: npt.NDArray[Any], row: npt.NDArray[Any]) -> tuple[Rays, Rays]:
    """Right and down (k,) each, per unit ahead, of rays through the middles of pixels."""
    half = WIDTH / 2 / math.tan(math.radians(FOV_DEG) / 2)
    x, y = (column + (0.5 - WIDTH / 2)) / half, (row + (0.5 - HEIGHT / 2)) / half
    return x.astype(np.float32), y.astype(np.float32)


def _corners(solids: Occluders, things: int) -> tuple[FloatArray, IntArray]:
    """Corners (C, 3) of the sure and possible prisms of each thing, in order of things, and where each begins."""
    rings = [
        np.concatenate([np.c_[p.ring, np.full(len(p.ring), z)] for z in (p.base_m, p.top_m)]) for p in solids.prisms
    ]
    counts = np.zeros(things, dtype=np.intp)
    np.add.at(counts, solids.thing, [len(ring) for ring in rings])
    return np.concatenate([np.empty((0, 3)), *rings]), np.concatenate([[0], np.cumsum(counts)])
