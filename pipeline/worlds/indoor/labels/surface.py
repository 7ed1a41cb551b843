"""The surface of a scene as coloured points, the height of what stands on a rectangle, and frames that show a box."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.formats.ply import PlyMesh
from pipeline.geometry.scans import CameraFrames, SceneGeometry
from pipeline.reading.footage import evenly_spaced
from pipeline.worlds.indoor.converters.fusion import DepthView, FusedMesh, fuse
from pipeline.worlds.indoor.labels.boxes import PlacedBox, upright_axes
from pipeline.worlds.indoor.readers.frames import upright_turn
from pipeline.worlds.indoor.readers.meshes import LAYER_M, POINTS, cloud_spacing_m, floor_height, sampled

COLOURED_BY: Final = 40  # frames
FUSED_MAX: Final = 1500  # frames
_CELLS: Final = (8, 64)  # of a depth buffer, across the picture, at least and at most
_CELL_POINTS: Final = 6  # in a cell on average, so that hardly any is empty
_BEHIND_M, _BEHIND_SHARE = 0.06, 0.03  # a point farther than the nearest in its cell by more is hidden
_NEAR_M: Final = 0.1
_PLAIN: Final = (
    np.array([70.0, 78.0, 84.0]),
    np.array([150.0, 150.0, 140.0]),
)  # without film


class SampledSurface(NamedTuple):
    """Points (N, 3) metres in the world frame, float32; RGB (N, 3); their spacing; the height of the floor.

    ``turn_deg`` in [-45, 45) is the direction in which most of the walls run, from +x or +y.
    """

    points: npt.NDArray[np.float32]
    colors: npt.NDArray[np.uint8]
    spacing_m: float
    floor: float
    turn_deg: float


def surface_of(mesh: PlyMesh | SceneGeometry | None, frames: CameraFrames) -> SampledSurface:
    """The surface of a mesh or cloud, coloured by the frames that show it from nearest by, else as its vertices are."""
    if mesh is None:
        return SampledSurface(np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8), 0.02, 0.0, 0.0)
    if len(mesh.faces):
        points, light, spacing_m, turn_deg, vertex = sampled(mesh)
    else:
        vertex = np.arange(0, len(mesh.vertices), -(-len(mesh.vertices) // POINTS))
        points, turn_deg = mesh.vertices[vertex], 0.0
        light, spacing_m = np.full(len(points), 0.5), cloud_spacing_m(points)
    own = mesh.colors
    colors = _PLAIN[0] + _PLAIN[1] * light[:, None] if own is None else own[vertex].astype(float)
    _colour(points, colors, frames)
    return SampledSurface(
        points.astype(np.float32), colors.round().astype(np.uint8), spacing_m, floor_height(points), turn_deg
    )


def fused_mesh(frames: CameraFrames, progress: Callable[[str, int, int], None]) -> FusedMesh | None:
    """The depth of the frames as one mesh, in the world frame; None where they have none."""

    def views() -> Iterator[DepthView]:
        chosen = range(0, len(frames.time_s), max(1, -(-len(frames.time_s) // FUSED_MAX)))
        for number, i in enumerate(chosen):
            progress("fuse", number, len(chosen))
            depth = frames.depth_m(i)
            if depth is not None:
                yield DepthView.of(depth, frames.color(i), frames.intrinsics[i], frames.size, frames.world_T_camera[i])
        progress("fuse", len(chosen), len(chosen))

    return fuse(views())


def _colour(points: FloatArray, colors: FloatArray, frames: CameraFrames) -> None:
    nearest = np.full(len(points), np.inf)
    for i in evenly_spaced(len(frames.time_s), COLOURED_BY).tolist():
        picture = frames.color(i)
        if picture is None:
            continue
        place, depth_m = _project(points, frames, np.array([i]))
        place, depth_m = place[0], depth_m[0]
        shown = np.flatnonzero(unhidden(place, depth_m) & (depth_m < nearest))
        nearest[shown] = depth_m[shown]
        column, row = (place[shown] * (picture.shape[1], picture.shape[0])).astype(np.intp).T
        colors[shown] = picture[row, column]


def _project(points: FloatArray, frames: CameraFrames, index: IntArray) -> tuple[FloatArray, FloatArray]:
    """Where points (N, 3) lie in frames (F,): shares (F, N, 2) of width and height, and depth (F, N), metres.

    A share of what is behind the camera is -1.
    """
    pose = frames.world_T_camera[index]
    turn = pose[:, :3, :3].transpose(1, 0, 2).reshape(3, -1)  # one product of matrices for all frames
    local = (points @ turn).reshape(len(points), -1, 3).transpose(1, 0, 2)
    local = local - np.einsum("fk,fkj->fj", pose[:, :3, 3], pose[:, :3, :3])[:, None]
    depth_m = local[..., 2]
    ahead = depth_m > _NEAR_M
    lens = frames.intrinsics[index][:, None]
    place = local[..., :2] / np.where(ahead, depth_m, 1.0)[..., None] * lens[..., :2] + lens[..., 2:]
    return np.where(ahead[..., None], place / frames.size, -1.0), depth_m


def unhidden(place: FloatArray, depth_m: FloatArray, of: slice = slice(None)) -> BoolArray:
    """Which of points with shares (N, 2) and depths (N,) are in the picture with nothing before them; ``of`` some."""
    inside = ((place >= 0) & (place < 1)).all(axis=1)
    across = int(np.clip(np.sqrt(inside.sum() / _CELL_POINTS), *_CELLS))
    cell = np.full(len(place), across * across)
    cell[inside] = (place[inside] * across).astype(np.intp) @ (1, across)
    nearest = np.full(across * across + 1, np.inf)
    np.minimum.at(nearest, cell, depth_m)
    return np.asarray((inside & (depth_m <= nearest[cell] * (1 + _BEHIND_SHARE) + _BEHIND_M))[of])


_CELL_M: Final = 0.04
_RING_M: Final = (0.03, 0.09)  # around a rectangle: what goes on there at the same height is below, not the thing's own
_SIDES_MIN: Final = 3  # of four, on which a support goes on; the fourth may be a wall's
_COVERED_MIN: Final = 0.75  # of the cells of a side
_WIDE_MIN: Final = 0.35  # of the cells of all sides: more than a wall along one of them
_CUT_M: Final = 0.1  # a cut that shows a thing alone begins no farther from what the thing stands on
_HANGS_M: Final = 0.8  # more air than this above the support: the thing hangs
_POINTS_MIN: Final = 12
_OUTLIERS_PCT: Final = 1.0


def fitted(box: PlacedBox, surface: SampledSurface, low: float, high: float, tighten: bool) -> PlacedBox | None:
    """A box on the same rectangle from what its thing stands on up to its top; None where there are no points.

    Only points between the heights ``low`` and ``high`` are the thing's. What it stands on is the highest layer that
    goes on around the rectangle on three of its sides, below its top, at most 0.1 m below ``low``; where there is none,
    beside other things or in a corner, the widest layer at ``low``. A thing with over 0.8 m of air below it hangs.

    Args:
        box: upright; its height is not used.
        surface: of the scene.
        low: heights in metres.
        high: heights in metres.
        tighten: whether the rectangle shrinks to the points above the support.
    """
    axes, half = upright_axes(box.turn_deg), np.array(box.size) / 2
    near = np.abs(surface.points[:, :2] - np.array(box.center[:2])).max(axis=1) < half[:2].sum() + 2 * _RING_M[1]
    # What it stands on may lie a little below the cut that shows the thing itself.
    near &= (surface.points[:, 2] >= low - _CUT_M) & (surface.points[:, 2] <= high)
    points = surface.points[near].astype(float)
    local = (points - np.array(box.center)) @ axes.T
    beyond = np.abs(local[:, :2]) - half[:2]
    inside = (beyond <= 0).all(axis=1)
    inside &= points[:, 2] >= low
    height = points[inside, 2]
    if len(height) < _POINTS_MIN:
        return None
    highest = float(np.percentile(height, 100 - _OUTLIERS_PCT / 2))
    ring = (beyond > _RING_M[0]).any(axis=1) & (beyond <= _RING_M[1]).all(axis=1)
    support = _support(local[ring], beyond[ring], points[ring, 2], half, highest, low)
    ground = surface.floor if low - surface.floor <= _CUT_M else low
    bottom = ground if support is None else support
    top = max(highest, bottom + LAYER_M)
    above = height > bottom + LAYER_M
    lowest = float(np.percentile(height[above], _OUTLIERS_PCT)) if above.any() else bottom
    if lowest - bottom > _HANGS_M:
        bottom, top = lowest, max(top, lowest + LAYER_M)
    center, size = np.array(box.center), np.array(box.size)
    if tighten:
        part = local[inside][height > bottom + LAYER_M]
        if len(part) >= _POINTS_MIN:
            least, most = np.percentile(part[:, :2], (_OUTLIERS_PCT, 100 - _OUTLIERS_PCT), axis=0)
            center[:2] += (least + most) / 2 @ axes[:2, :2]
            size[:2] = np.maximum(most - least, LAYER_M)
    center[2], size[2] = (bottom + top) / 2, top - bottom
    record = {"center": center.round(4).tolist(), "size": size.round(4).tolist()}
    return PlacedBox.model_validate(box.model_dump() | record)


def _support(
    local: FloatArray, beyond: FloatArray, height: FloatArray, half: FloatArray, below: float, cut: float
) -> float | None:
    """Height of the highest layer around a rectangle that goes on along three sides, else of the widest at the cut."""
    found = height < below
    local, beyond, height = local[found], beyond[found], height[found]
    if not len(height):
        return None
    along = beyond[:, :2].argmax(axis=1)  # the axis across which the point is beyond
    side = 2 * along + (np.take_along_axis(local, along[:, None], axis=1)[:, 0] > 0)
    other = np.take_along_axis(local, 1 - along[:, None], axis=1)[:, 0]
    low = height.min()
    bin_ = np.floor((height - low) / LAYER_M).astype(np.intp)
    cell = np.floor(other / _CELL_M).astype(np.intp)
    cell -= cell.min()
    # Each layer is two bins thick, so that a level surface at a bin's edge is not cut in two.
    layer = np.concatenate([bin_, np.maximum(bin_ - 1, 0)])
    filled = np.unique(np.stack([layer, np.tile(side, 2), np.tile(cell, 2)]), axis=1)
    count = np.zeros((int(layer.max()) + 1, 4))
    np.add.at(count, (filled[0], filled[1]), 1)
    around = 2 * half[[1, 1, 0, 0]] / _CELL_M
    layers = np.flatnonzero((count >= np.maximum(around * _COVERED_MIN, 1)).sum(axis=1) >= _SIDES_MIN)
    if not len(layers):
        at_cut = np.abs(low + (np.arange(len(count)) + 1) * LAYER_M - cut) <= _CUT_M
        share = np.where(at_cut, np.minimum(count / np.maximum(around, 1), 1).mean(axis=1), 0.0)
        layers = np.flatnonzero(share >= max(_WIDE_MIN, share.max()))
    if not len(layers):
        return None
    best = int(layers[-1])
    return float(np.median(height[(bin_ == best) | (bin_ == best + 1)]))


_EXAMINED: Final = 240  # frames
_LOOKED_AT: Final = 24  # of these, for what hides the box
_SEEN_MIN: Final = 0.05  # of a box; less is what the buffer's cells are off by
_SAMPLES: Final = 300  # points of a box
_HIDING: Final = 50_000  # points of the surface, of which something may hide the box


class BoxView(NamedTuple):
    """A frame that shows a box: its number among the usable ones, its time, and the share of the box that is seen.

    ``picture_T_world`` (3, 4): places of the world to shares of the upright picture's width and height, times depth.
    """

    frame: int
    time_s: float
    share: float
    picture_T_world: list[list[float]]


def views_of(box: PlacedBox, surface: SampledSurface, frames: CameraFrames, most: int = 6) -> list[BoxView]:
    """The frames that show most of a box, the best first; two are never neighbours in a long film."""
    if not len(frames.time_s):
        return []
    index = evenly_spaced(len(frames.time_s), _EXAMINED)
    samples = _samples(box, surface)
    place, _ = _project(samples, frames, index)
    inside = np.asarray(((place >= 0) & (place < 1)).all(axis=2))
    value = inside.mean(axis=1) ** 2 * np.sqrt(_extent(place, inside).prod(axis=1) + 1e-4)
    rank = np.argsort(-value, kind="stable")
    rank = rank[value[rank] > 0][:_LOOKED_AT]
    if not len(rank):
        return []
    around = np.concatenate([samples, surface.points[:: -(-len(surface.points) // _HIDING) or 1].astype(float)])
    share = np.zeros(len(index))
    for k in rank:
        every, depth_m = _project(around, frames, index[[k]])
        share[k] = unhidden(every[0], depth_m[0], slice(len(samples))).mean()
    value = value * share
    gap, chosen = max(1, len(index) // (4 * most)), list[int]()
    for k in sorted(rank.tolist(), key=lambda k: -value[k]):
        if share[k] >= _SEEN_MIN and len(chosen) < most and all(abs(k - other) >= gap for other in chosen):
            chosen.append(k)
    return [
        BoxView(int(i), float(frames.time_s[i]), round(float(share[k]), 3), picture_T_world(frames, int(i)).tolist())
        for k, i in ((k, index[k]) for k in chosen)
    ]


def picture_T_world(frames: CameraFrames, i: int) -> FloatArray:
    """(3, 4): places of the world to shares of width and height of the upright picture of a frame, times depth."""
    fx, fy, cx, cy = frames.intrinsics[i]
    width, height = frames.size
    shares = np.array([[fx / width, 0, cx / width], [0, fy / height, cy / height], [0, 0, 1.0]])
    pose = frames.world_T_camera[i]
    camera_T_world = np.concatenate([pose[:3, :3].T, -(pose[:3, :3].T @ pose[:3, 3])[:, None]], axis=1)
    return np.asarray(_TURNED[turn_of(frames)] @ shares @ camera_T_world)


# Shares of a picture to those of the same turned clockwise, in degrees.
_TURNED: Final = {
    0: np.eye(3),
    90: np.array([[0.0, -1, 1], [1, 0, 0], [0, 0, 1]]),
    180: np.array([[-1.0, 0, 1], [0, -1, 1], [0, 0, 1]]),
    270: np.array([[0.0, 1, 0], [-1, 0, 1], [0, 0, 1]]),
}


def turn_of(frames: CameraFrames) -> int:
    """The clockwise turn, in degrees, that brings most pictures upright."""
    turn = upright_turn(frames.world_T_camera) if len(frames.time_s) else None
    return turn[0] if turn else 0


def _extent(place: FloatArray, inside: BoolArray) -> FloatArray:
    """Width and height (F, 2) of those shares (F, N, 2) that are ``inside``; 0 where none is."""
    low = np.where(inside[..., None], place, np.inf).min(axis=1)
    high = np.where(inside[..., None], place, -np.inf).max(axis=1)
    return np.maximum(high - low, 0.0)


def _samples(box: PlacedBox, surface: SampledSurface) -> FloatArray:
    """Points of the surface in a box, without what it stands on; where there are few, a grid of 5 x 5 x 5 in it."""
    half = np.array(box.size) / 2
    local = (surface.points.astype(float) - np.array(box.center)) @ box.rows.T
    inside = (np.abs(local) <= half).all(axis=1) & (local[:, 2] > min(LAYER_M - half[2], half[2] / 2))
    points = surface.points[inside].astype(float)
    if len(points) >= _POINTS_MIN:
        return points[:: -(-len(points) // _SAMPLES)]
    step = np.linspace(-1, 1, 5)
    grid = np.stack(np.meshgrid(step, step, step), axis=-1).reshape(-1, 3)
    return np.asarray(np.array(box.center) + grid * half @ box.rows)
