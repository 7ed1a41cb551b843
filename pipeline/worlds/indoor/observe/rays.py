"""Rays from a scan's cameras into its labelled mesh, and pixels of every object in every examined frame by them.

The triangle that a ray hits tells the object. Where the frame has a depth image the hit must not lie behind what was
measured there: something that the mesh lacks then hides it. Where the mesh has colours its view from a camera must be
more like the picture of that camera than like pictures of other places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.raycasting import Rays, RayScene
from pipeline.geometry.scans import CameraFrames, SceneGeometry

DEPTH_TOLERANCE: Final = 0.05  # of the distance: consumer depth cameras are off by 1-3% at room scale
DEPTH_TOLERANCE_MIN_M: Final = 0.1


class RayHits(NamedTuple):
    """First hits of rays: the object's ``label``, -1 for none, and the depth along the camera's z, inf for none."""

    label: npt.NDArray[np.int32]
    depth_m: npt.NDArray[np.float32]


class LabelledMesh:
    """A scan's mesh, ready for rays.

    Attributes:
        frames: the camera's.
        extent: (O, 2, 3) least and greatest coordinates of each object's triangles; NaN where it has none.
    """

    def __init__(self, geometry: SceneGeometry, objects: int) -> None:
        self.frames = geometry.frames
        self._scene = RayScene(geometry.vertices, geometry.faces)
        owner = face_objects(geometry.faces, geometry.vertex_object)
        self._labels = np.append(owner, np.int32(-1))  # one more, for rays that hit nothing
        colors = geometry.colors
        self._gray = None if colors is None else np.append(colors[geometry.faces].mean((1, 2)), np.nan)
        self.extent = _extents(geometry, owner, objects)

    @cached_property
    def pictures(self) -> dict[int, ReducedPicture]:
        """Those that are compared (`compared_pictures`)."""
        return compared_pictures(self.frames)

    def cast(self, rays: Rays) -> RayHits:
        """First hits of rays (..., 6) of `camera_rays` or `window_rays`."""
        face, depth_m = self._scene.first(rays)
        return RayHits(self._labels[face], depth_m)

    def gray(self, rays: Rays) -> FloatArray | None:
        """Brightness (...,) of what rays (..., 6) hit, 0 to 255, NaN for nothing; None: the mesh has no colours."""
        return None if self._gray is None else self._gray[self._scene.faces(rays)]

    def brought_over(self, i: int, j: int, picture: FloatArray, scale: float) -> FloatArray:
        """Brightness (P,) that frame i shows by the reduced ``picture`` (P,) of frame j, NaN where j does not show it.

        Focal lengths are ``scale`` times those stated.
        """
        intrinsics = self.frames.intrinsics * [scale, scale, 1, 1]
        rays = camera_rays(replace(self.frames, intrinsics=intrinsics), np.array([i]), *FIT_SIZE)[0][0]
        depth_m = self._scene.first(rays)[1]
        met = np.flatnonzero(np.isfinite(depth_m))
        j_T_world = np.linalg.inv(self.frames.world_T_camera[j])
        place = rays[met, :3] + depth_m[met, None] * rays[met, 3:]
        x, y, z = (_inner(place, row[:3]) + row[3] for row in j_T_world[:3])
        fx, fy, cx, cy = intrinsics[j]
        ahead = np.where(z > 0, z, np.nan)
        column = (x / ahead * fx + cx + 0.5) * FIT_SIZE[0] / self.frames.size[0]
        row = (y / ahead * fy + cy + 0.5) * FIT_SIZE[1] / self.frames.size[1]
        inside = np.flatnonzero((column >= 0) & (column < FIT_SIZE[0]) & (row >= 0) & (row < FIT_SIZE[1]))
        shown = np.full(len(rays), np.nan)
        shown[met[inside]] = picture[row[inside].astype(np.intp) * FIT_SIZE[0] + column[inside].astype(np.intp)]
        return shown


def face_objects(faces: npt.NDArray[np.int32], vertex_object: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Object (F,) of each triangle: the one that at least two of its corners belong to, else -1."""
    a, b, c = vertex_object[faces].T
    return np.where((a == b) | (a == c), a, np.where(b == c, b, -1)).astype(np.int32)


def _extents(geometry: SceneGeometry, owner: npt.NDArray[np.int32], objects: int) -> FloatArray:
    faces, of = geometry.faces[owner >= 0], owner[owner >= 0]
    order = np.argsort(of, kind="stable")
    corners = np.asarray(geometry.vertices, dtype=np.float64)[faces[order]]
    present, start = np.unique(of[order], return_index=True)
    extent = np.full((objects, 2, 3), np.nan)
    if len(present):
        extent[present, 0] = np.minimum.reduceat(corners.min(1), start)
        extent[present, 1] = np.maximum.reduceat(corners.max(1), start)
    return extent


def camera_rays(frames: CameraFrames, chosen: npt.NDArray[np.intp], width: int, height: int) -> tuple[Rays, FloatArray]:
    """Rays (n, P, 6) of origin and direction in the world frame, and their pixels (P, 2) in the full image.

    Directions have length such that a hit at t lies at depth t along the camera's z axis.
    """
    full_width, full_height = frames.size
    x, y = np.meshgrid(
        (np.arange(width) + 0.5) * full_width / width - 0.5, (np.arange(height) + 0.5) * full_height / height - 0.5
    )
    pixel = np.stack([x.ravel(), y.ravel()], axis=1)
    fx, fy, cx, cy = (column[:, None] for column in frames.intrinsics[chosen].T)
    local = (pixel[:, 0] - cx) / fx, (pixel[:, 1] - cy) / fy
    return rays_along(local, frames.world_T_camera[chosen, :, :, None]), pixel


def rays_along(local: tuple[FloatArray, FloatArray], pose: FloatArray) -> Rays:
    """Rays (..., 6) along (x, y, 1) in camera axes, ``local`` (...,) both; ``pose`` (..., 4, 4, ...) broadcasts.

    The products are written out: einsum takes four times as long, and rounds differently from processor to processor.
    """
    x, y = local
    rays = np.empty((*x.shape, 6), dtype=np.float32)
    for axis in range(3):
        rays[..., axis] = pose[:, axis, 3]
        rays[..., 3 + axis] = x * pose[:, axis, 0] + y * pose[:, axis, 1] + pose[:, axis, 2]
    return rays


class DepthCheck(NamedTuple):
    """Hits (P,) held against a depth image: whether each lies behind it, whether that is known, and what it shows."""

    hidden: BoolArray
    known: BoolArray
    depth_m: FloatArray


def held_against_depth(frames: CameraFrames, frame: int, pixel: FloatArray, depth_m: FloatArray) -> DepthCheck | None:
    """Hits (P,) at a depth held against what the frame's depth image measured. None where it has no depth image.

    ``pixel`` (P, 2) are those of the full image.
    """
    image = frames.depth_m(frame)
    if image is None:
        return None
    measured = _sample(image, pixel, frames.size)
    with np.errstate(invalid="ignore"):
        hidden = depth_m > measured + np.maximum(DEPTH_TOLERANCE_MIN_M, DEPTH_TOLERANCE * measured)
    return DepthCheck(hidden, np.isfinite(measured) & np.isfinite(depth_m), measured)


def _sample(depth: FloatArray, pixel: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Depth at pixels of an image of ``size``; the depth image may be smaller and shows the same view."""
    rows, columns = depth.shape
    x = np.clip(((pixel[:, 0] + 0.5) * columns / size[0]).astype(np.intp), 0, columns - 1)
    y = np.clip(((pixel[:, 1] + 0.5) * rows / size[1]).astype(np.intp), 0, rows - 1)
    return depth[y, x]


FIT_FRAMES: Final = 16  # whose pictures are compared, evenly spaced
FIT_SIZE: Final = (48, 36)  # to which they are reduced
FIT_SPREAD_MIN: Final = 4.0  # of 255, the standard deviation: a wall of one colour looks like every other
FIT_HITS_MIN: Final = 0.1  # of the rays; a camera that meets less of the mesh does not stand in it
FIT_LIKE_MAX: Final = 0.5  # correlation of two views of the mesh: beyond it they are of one place
FIT_SAME_MIN: Final = 0.99  # of one pose, and so must the pictures be
FIT_PAIRS_MIN: Final = 30


def picture_fit(mesh: LabelledMesh) -> float | None:
    """Share of the pictures of other places that are less like the mesh, seen from a camera, than its own picture is.

    Pictures of one pose are to be like one another instead. Likeness is the correlation of their brightness, which
    exposure and white balance leave as it is. None where colours or pictures are missing, or too few pairs of views can
    be told apart.
    """
    chosen = np.array([*mesh.pictures], dtype=np.intp)
    views = mesh.gray(camera_rays(mesh.frames, chosen, *FIT_SIZE)[0])
    if views is None:
        return None
    kept = [(view, picture.gray) for view, picture in zip(views, mesh.pictures.values(), strict=True)]
    wins = pairs = 0
    for n, (view, own) in enumerate(kept):
        met = np.isfinite(view)
        if met.mean() >= FIT_HITS_MIN and min(view[met].std(), own[met].std()) < FIT_SPREAD_MIN:
            continue
        fits = _likeness(view, own)
        for other_view, other in kept[:n] + kept[n + 1 :]:
            alike = _likeness(view, other_view)
            if alike <= FIT_LIKE_MAX:
                pairs, wins = pairs + 1, wins + (fits > _likeness(view, other))
            elif alike > FIT_SAME_MIN:
                pairs, wins = pairs + 1, wins + (_likeness(own, other) > FIT_LIKE_MAX)
    return wins / pairs if pairs >= FIT_PAIRS_MIN else None


class ReducedPicture(NamedTuple):
    """What is compared of a picture.

    Attributes:
        gray: its brightness by the rays that look at it.
        detail: standard deviation of its Laplacian, grey levels.
    """

    gray: FloatArray
    detail: float

    @classmethod
    def of(cls, picture: npt.NDArray[np.uint8]) -> ReducedPicture:
        """Of a picture (h, w, 3)."""
        image = Image.fromarray(picture)
        return cls(np.asarray(image.resize(FIT_SIZE, Image.Resampling.BOX), float).mean(2).ravel(), _detail(image))


def compared_pictures(frames: CameraFrames) -> dict[int, ReducedPicture]:
    """Pictures of frames, evenly spaced, by the frames' positions; those that there are, each decoded once."""
    chosen = np.unique(np.linspace(0, len(frames.number) - 1, FIT_FRAMES).round().astype(np.intp)).tolist()
    return {i: ReducedPicture.of(picture) for i in chosen if (picture := frames.color(i)) is not None}


def _likeness(view: FloatArray, picture: FloatArray) -> float:
    """Correlation where both are known; -1 where that is hardly anywhere, 0 where one of them has no structure."""
    both = np.isfinite(view) & np.isfinite(picture)
    if both.mean() < FIT_HITS_MIN:
        return -1.0
    a, b = view[both] - view[both].mean(), picture[both] - picture[both].mean()
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size > 0 else 0.0


DETAIL_SIZE: Final = (192, 144)  # to which pictures are reduced in which something is to be recognised
DETAIL_MIN: Final = 3.0  # grey levels, standard deviation of the Laplacian


def dull_share(pictures: Mapping[int, ReducedPicture]) -> float | None:
    """Share of pictures that are too dark or too blurred to recognise anything; None without any."""
    return float(np.mean([one.detail < DETAIL_MIN for one in pictures.values()])) if pictures else None


def _detail(image: Image.Image) -> float:
    gray = np.asarray(image.convert("L").resize(DETAIL_SIZE, Image.Resampling.BOX), dtype=float)
    sides = gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:]
    return float((4 * gray[1:-1, 1:-1] - sides).std())


FOCAL_SCALES: Final = 1.06 ** np.arange(-13.0, 14.0)  # 0.47 to 2.1
FOCAL_LIKE_MIN: Final = 0.5  # correlation at the best length
FOCAL_PAIRS_MIN: Final = 4
PAIR_APART: Final = (0.3, 12.0)  # metres or degrees between two frames; nearer ones fit with any focal length
PAIR_TURN_MAX_DEG: Final = 40.0  # beyond it they hardly show the same
PAIR_UNLIKE: Final = 0.1  # of 1, by which two pictures of one surface may differ; or half of what they do as they are
PAIRS_MIN: Final = 8


class SurfaceFit(NamedTuple):
    """How two pictures of one surface agree where poses and mesh bring one over to the other; None: not told.

    Attributes:
        share: of the pairs of pictures, those that differ half as much as they do as they are.
        focal: by how much focal lengths have to be multiplied for them to agree best, in the middle.
    """

    share: float | None
    focal: float | None


def surface_fit(mesh: LabelledMesh) -> SurfaceFit:
    """Compares up to 16 pictures with others, seen from elsewhere and brought over by the surface that rays meet.

    What both show is alike only with the right poses, times and lengths. The mesh needs no colours.
    """
    frames = mesh.frames
    pose = frames.world_T_camera
    best, fits = list[float](), list[bool]()
    for n, (i, (own, _)) in enumerate(mesh.pictures.items()):
        cosine = (_inner(pose[:, :3, :3], pose[i, :3, :3]).sum(1) - 1) / 2
        turn_deg = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
        moved = np.linalg.norm(pose[:, :3, 3] - pose[i, :3, 3], axis=1) >= PAIR_APART[0]
        others = np.flatnonzero((moved | (turn_deg >= PAIR_APART[1])) & (turn_deg <= PAIR_TURN_MAX_DEG))
        if not len(others):
            continue
        j = int(others[np.abs(others - i).argmin()])
        if j in mesh.pictures:
            other = mesh.pictures[j].gray
        elif (picture := frames.color(j)) is not None:
            other = ReducedPicture.of(picture).gray
        else:
            continue
        if min(own.std(), other.std()) < FIT_SPREAD_MIN:
            continue
        shown = mesh.brought_over(i, j, other, 1.0)
        still = 1 - _likeness(np.where(np.isfinite(shown), other, np.nan), own)
        fits.append(1 - _likeness(shown, own) <= max(PAIR_UNLIKE, still / 2))
        if n % 2 == 0:
            alike = [_likeness(mesh.brought_over(i, j, other, float(scale)), own) for scale in FOCAL_SCALES]
            if max(alike) >= FOCAL_LIKE_MIN:
                best.append(float(FOCAL_SCALES[int(np.argmax(alike))]))
    return SurfaceFit(
        float(np.mean(fits)) if len(fits) >= PAIRS_MIN else None,
        float(np.median(best)) if len(best) >= FOCAL_PAIRS_MIN else None,
    )


_CHUNK_FRAMES: Final = 16  # at a time: 16 x 160 x 120 rays take about 30 MB


class LongestSides(NamedTuple):
    """The longest side of each object's box: its middle (O, 3), unit direction (O, 3) and length (O,), metres."""

    middle: FloatArray
    direction: FloatArray
    length_m: FloatArray


_EVERY: Final = 3  # rays: of these one looks at the plan, whose cells are far larger than a ray


class FloorPlan(NamedTuple):
    """The floor plan in cells: ``floor[row, column]`` tells which are floor; (0, 0) begins at ``origin`` (x, y)."""

    floor: BoolArray
    origin: FloatArray
    cell_m: float


@dataclass(frozen=True)
class PixelCounts:
    """Pixels per examined frame and object, (E, O), of the reduced image; ``frame`` (E,) indexes the given frames.

    ``ends`` (2, E, O) is where what a frame shows of each object begins and ends along its longest side, of ``sides``.
    ``plan`` (E, C) tells on which of the plan's cells of floor each frame shows something, whatever its height.
    ``depth_agreement`` is the share of rays whose hit is not behind the measured depth, ``depth_scale`` the median of
    measured over hit depth in the middle frame; None without depth images.
    """

    frame: npt.NDArray[np.intp]
    pixels: npt.NDArray[np.int64]
    ends: FloatArray
    sides: LongestSides
    plan: BoolArray
    depth_agreement: float | None
    depth_scale: float | None = None

    def extent_seen(self, rows: IntArray | slice) -> FloatArray:
        """Share (O,) of each object's longest side between the two ends of what some of the examined frames show."""
        half = self.sides.length_m / 2
        low = self.ends[0, rows].min(0, initial=np.inf)
        high = self.ends[1, rows].max(0, initial=-np.inf)
        seen = np.minimum(high, half) - np.maximum(low, -half)
        return np.where(half > 0, np.clip(seen / np.where(half > 0, self.sides.length_m, 1.0), 0.0, 1.0), 0.0)


def count_pixels(
    mesh: LabelledMesh, sides: LongestSides, chosen: IntArray, width: int, height: int, plan: FloorPlan | None = None
) -> PixelCounts:
    """Casts width x height rays for each chosen frame."""
    objects, frames = len(sides.length_m), mesh.frames
    pixels = np.zeros((len(chosen), objects), dtype=np.int64)
    ends = np.stack([np.full((len(chosen), objects), np.inf), np.full((len(chosen), objects), -np.inf)])
    cells = np.zeros((len(chosen), 0 if plan is None else plan.floor.size), dtype=bool)
    rays_checked, scales = np.zeros(2, dtype=np.int64), list[float]()
    for start in range(0, len(chosen), _CHUNK_FRAMES):
        part = chosen[start : start + _CHUNK_FRAMES]
        rays, pixel_xy = camera_rays(frames, part, width, height)
        label, depth_m = mesh.cast(rays)
        rays_checked += _hide(label, depth_m, pixel_xy, frames, part, scales)
        at = np.flatnonzero(label.ravel() >= 0)
        shown = _Shown(label.ravel()[at].astype(np.intp), at // label.shape[1], depth_m.ravel()[at].astype(np.float64))
        counts = np.bincount(shown.frame * objects + shown.label, minlength=len(part) * objects)
        pixels[start : start + len(part)] = counts.reshape(len(part), objects)
        half_pixel = 0.5 * frames.size[0] / (width * frames.intrinsics[part, 0])  # at a depth of 1
        along = _base(frames, part, sides)[shown.frame, shown.label]
        along += shown.depth_m * _inner(rays.reshape(-1, 6)[at, 3:], sides.direction[shown.label])
        # Each hit is as wide as its pixel; else little would be seen of a cup that is three pixels wide.
        of = (start + shown.frame) * objects + shown.label
        np.minimum.at(ends[0].ravel(), of, along - shown.depth_m * half_pixel[shown.frame])
        np.maximum.at(ends[1].ravel(), of, along + shown.depth_m * half_pixel[shown.frame])
        if plan is not None:
            cells[start : start + len(part)] = _cells_met(plan, rays[:, ::_EVERY], depth_m[:, ::_EVERY])
    checked, passed = rays_checked.tolist()
    on_floor = cells if plan is None else cells[:, plan.floor.ravel()]
    agreement, scale = (passed / checked, float(np.median(scales))) if checked else (None, None)
    return PixelCounts(chosen, pixels, ends, sides, on_floor, agreement, scale)


def _cells_met(plan: FloorPlan, rays: Rays, depth_m: npt.NDArray[np.float32]) -> BoolArray:
    """In which cells (n, all) of a plan the rays (n, P, 6) of each frame end."""
    rows, columns = plan.floor.shape
    frame, ray = np.nonzero(np.isfinite(depth_m))
    place = rays[frame, ray, :2] + depth_m[frame, ray, None] * rays[frame, ray, 3:5]
    column, row = np.floor((place - plan.origin.astype(np.float32)) / np.float32(plan.cell_m)).astype(np.intp).T
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    met = np.zeros((len(rays), rows * columns), dtype=bool)
    met[frame[inside], row[inside] * columns + column[inside]] = True
    return met


class _Shown(NamedTuple):
    """The rays (M,) that meet an object: which one, in which of the frames, at which depth."""

    label: IntArray
    frame: IntArray
    depth_m: FloatArray


def _hide(
    label: npt.NDArray[Any],
    depth_m: npt.NDArray[Any],
    pixel_xy: FloatArray,
    frames: CameraFrames,
    part: IntArray,
    scales: list[float],
) -> tuple[int, int]:
    """Takes out what lies behind the measured depth; how many rays (n, P) were checked, and how many of them passed.

    Each frame's median of measured over hit depth is added to ``scales``.
    """
    checked = passed = 0
    for i, frame in enumerate(part):
        hidden = held_against_depth(frames, int(frame), pixel_xy, depth_m[i])
        if hidden is not None and hidden.known.any():
            checked += int(hidden.known.sum())
            passed += int((hidden.known & ~hidden.hidden).sum())
            scales.append(float(np.median(hidden.depth_m[hidden.known] / depth_m[i][hidden.known])))
            label[i][hidden.hidden] = -1
            depth_m[i][hidden.hidden] = np.inf
    return checked, passed


def _base(frames: CameraFrames, part: IntArray, sides: LongestSides) -> FloatArray:
    """Where cameras (n,) stand along each longest side, from its middle (n, O)."""
    return _inner(frames.world_T_camera[part, None, :3, 3] - sides.middle, sides.direction)


def _inner(x: npt.NDArray[Any], y: FloatArray) -> FloatArray:
    return np.asarray(x[..., 0] * y[..., 0] + x[..., 1] * y[..., 1] + x[..., 2] * y[..., 2])
