"""Visibility of every object in every examined frame, by casting rays into the labelled mesh.

A ray per pixel of a reduced image goes into the mesh; the triangle it hits tells the object. Where the frame has a
depth image the hit must not lie behind what was measured there: something that the mesh lacks then hides it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pipeline.core.arrays import FloatArray
from pipeline.geometry.scans import Frames, SceneGeometry
from pipeline.worlds.indoor.facts import IndoorScene, Observation, Visibility
from pipeline.worlds.indoor.observe.completeness import unscanned_below
from pipeline.worlds.indoor.observe.verdicts import Limits, verdicts

DEPTH_TOLERANCE: Final = 0.05  # of the distance: consumer depth cameras are off by 1-3% at room scale
DEPTH_TOLERANCE_MIN_M: Final = 0.1
_CHUNK_FRAMES: Final = 16  # at a time: 16 x 160 x 120 rays take about 30 MB


class ObserveConfig(Limits):
    """Which frames are examined and how closely, and what of that is believed."""

    frames_per_second: float = Field(default=2.0, gt=0)
    width: int = Field(default=160, ge=16, le=1920)
    height: int = Field(default=120, ge=16, le=1920)
    min_pixels: int = Field(default=20, ge=1, description="of the reduced image: fewer do not count as appearing")
    budgets: tuple[int, ...] = Field(default=(16, 32, 64), description="numbers of evenly spaced frames")


@dataclass(frozen=True)
class PixelCounts:
    """Pixels per examined frame and object, (E, O), of the reduced image; ``frame`` (E,) indexes the given frames.

    ``depth_agreement`` is the share of rays whose hit is not behind the measured depth; None without depth images.
    """

    frame: npt.NDArray[np.intp]
    pixels: npt.NDArray[np.int64]
    depth_agreement: float | None


def observe(scene: IndoorScene, geometry: SceneGeometry, config: ObserveConfig) -> IndoorScene:
    """The scene with the visibility of every object, and what was examined to find it."""
    frames = geometry.frames
    n_video = (scene.video.frames if scene.video else None) or int(frames.number.max(initial=-1)) + 1
    regular, budgets = examined_frames(frames, n_video, config)
    chosen = np.unique(np.concatenate([regular, *budgets.values()]).astype(np.intp))
    counts = count_pixels(geometry, len(scene.facts.objects), chosen, config.width, config.height)
    row = {int(frame): i for i, frame in enumerate(counts.frame)}
    in_regular = counts.pixels[[row[int(f)] for f in regular]]
    in_budget = {n: counts.pixels[[row[int(f)] for f in chosen_n]] for n, chosen_n in budgets.items()}
    seen = in_regular >= config.min_pixels
    objects = []
    for number, item in enumerate(scene.facts.objects):
        hits = np.flatnonzero(seen[:, number])
        visibility = Visibility(
            frames_seen=len(hits),
            largest_pixels=int(in_regular[:, number].max(initial=0)),
            first_seen_s=round(float(frames.time_s[regular[hits[0]]]), 3) if len(hits) else None,
            budgets={n: int(pixels[:, number].max(initial=0)) for n, pixels in in_budget.items()},
        )
        objects.append(item.model_copy(update={"visibility": visibility}))
    missing = unscanned_below(scene.facts.room, frames.world_T_camera[:, :3, 3])
    observation = Observation(
        frames_examined=len(regular),
        frames_skipped=frames.skipped,
        frames_per_second=config.frames_per_second,
        min_pixels=config.min_pixels,
        budgets=config.budgets,
        image=(config.width, config.height),
        depth_agreement=None if counts.depth_agreement is None else round(counts.depth_agreement, 4),
        unscanned_m2=None if missing is None else round(missing.area_m2, 4),
        unscanned_share=None if missing is None else round(missing.share, 4),
    )
    observed = scene.with_facts(objects=tuple(objects), observation=observation)
    return observed.model_copy(update={"findings": (*scene.findings, *verdicts(observation, config))})


def examined_frames(
    frames: Frames, n_video: int, config: ObserveConfig
) -> tuple[npt.NDArray[np.intp], dict[int, npt.NDArray[np.intp]]]:
    """Indices of the frames at a regular pace, and for each budget of those nearest to its evenly spaced ones.

    Budgets are spaced over the whole video as evaluators do (``linspace(0, n - 1, budget)``, rounded down). A frame
    without a pose is replaced by the nearest one that has one, unless that is further than half the spacing.
    """
    if len(frames.time_s) == 0:
        nothing = np.empty(0, dtype=np.intp)
        return nothing, dict.fromkeys(config.budgets, nothing)
    ticks = np.arange(frames.time_s[0], frames.time_s[-1] + 1e-9, 1 / config.frames_per_second)
    regular = np.unique(_nearest(frames.time_s, ticks))
    budgets = {}
    for budget in config.budgets:
        wanted = np.linspace(0, n_video - 1, budget).astype(np.intp)
        nearest = _nearest(frames.number, wanted)
        close = np.abs(frames.number[nearest] - wanted) <= max(1.0, n_video / budget / 2)
        budgets[budget] = np.unique(nearest[close])
    return regular, budgets


def count_pixels(
    geometry: SceneGeometry, n_objects: int, chosen: npt.NDArray[np.intp], width: int, height: int
) -> PixelCounts:
    """Casts width x height rays for each chosen frame."""
    import open3d as o3d  # takes a second and 100 MiB, which builds from metadata need not spend

    scene = o3d.t.geometry.RaycastingScene(nthreads=1)  # one core a process: builds run several processes
    scene.add_triangles(
        o3d.core.Tensor.from_numpy(np.ascontiguousarray(geometry.vertices, dtype=np.float32)),
        o3d.core.Tensor.from_numpy(np.ascontiguousarray(geometry.faces, dtype=np.uint32)),
    )
    # One extra entry at the end, for rays that hit nothing.
    labels = np.append(face_objects(geometry.faces, geometry.vertex_object), -1)
    pixels = np.zeros((len(chosen), n_objects), dtype=np.int64)
    checked = passed = 0
    for start in range(0, len(chosen), _CHUNK_FRAMES):
        part = chosen[start : start + _CHUNK_FRAMES]
        rays, pixel_xy = camera_rays(geometry.frames, part, width, height)
        hit = scene.cast_rays(o3d.core.Tensor.from_numpy(rays), nthreads=1)
        face = np.minimum(hit["primitive_ids"].numpy().astype(np.int64), len(labels) - 1)
        label = labels[face]
        distance = hit["t_hit"].numpy()  # along the camera's z, since the rays have z = 1 there
        for i, frame in enumerate(part):
            depth = geometry.frames.depth_m(int(frame))
            if depth is None:
                continue
            measured = _sample(depth, pixel_xy, geometry.frames.size)
            with np.errstate(invalid="ignore"):
                hidden = distance[i] > measured + np.maximum(DEPTH_TOLERANCE_MIN_M, DEPTH_TOLERANCE * measured)
            valid = np.isfinite(measured) & np.isfinite(distance[i])
            checked += int(valid.sum())
            passed += int((valid & ~hidden).sum())
            label[i][hidden] = -1
        frame_of = np.repeat(np.arange(len(part)), label.shape[1])
        flat = label.ravel()
        known = flat >= 0
        counts = np.bincount(frame_of[known] * n_objects + flat[known], minlength=len(part) * n_objects)
        pixels[start : start + len(part)] = counts.reshape(len(part), n_objects)
    return PixelCounts(chosen, pixels, passed / checked if checked else None)


def face_objects(faces: npt.NDArray[np.int32], vertex_object: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Object (F,) of each triangle: the one that at least two of its corners belong to, else -1."""
    a, b, c = vertex_object[faces].T
    return np.where((a == b) | (a == c), a, np.where(b == c, b, -1)).astype(np.int32)


def camera_rays(
    frames: Frames, chosen: npt.NDArray[np.intp], width: int, height: int
) -> tuple[npt.NDArray[np.float32], FloatArray]:
    """Rays (n, P, 6) of origin and direction in the world frame, and their pixels (P, 2) in the full image.

    Directions have length such that a hit at t lies at depth t along the camera's z axis.
    """
    full_width, full_height = frames.size
    x, y = np.meshgrid(
        (np.arange(width) + 0.5) * full_width / width - 0.5, (np.arange(height) + 0.5) * full_height / height - 0.5
    )
    pixel = np.stack([x.ravel(), y.ravel()], axis=1)
    fx, fy, cx, cy = (column[:, None] for column in frames.intrinsics[chosen].T)
    local = np.stack([(pixel[:, 0] - cx) / fx, (pixel[:, 1] - cy) / fy, np.ones((len(chosen), len(pixel)))], axis=-1)
    pose = frames.world_T_camera[chosen]
    direction = np.einsum("npk,njk->npj", local, pose[:, :3, :3])
    origin = np.broadcast_to(pose[:, None, :3, 3], direction.shape)
    return np.concatenate([origin, direction], axis=-1).astype(np.float32), pixel


def _sample(depth: FloatArray, pixel: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Depth at pixels of an image of ``size``; the depth image may be smaller and shows the same view."""
    rows, columns = depth.shape
    x = np.clip(((pixel[:, 0] + 0.5) * columns / size[0]).astype(np.intp), 0, columns - 1)
    y = np.clip(((pixel[:, 1] + 0.5) * rows / size[1]).astype(np.intp), 0, rows - 1)
    return depth[y, x]


def _nearest(sorted_values: npt.ArrayLike, wanted: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Index of the nearest sorted value for each wanted one; the earlier of two equally near."""
    values, targets = np.asarray(sorted_values, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    right = np.clip(np.searchsorted(values, targets), min(1, len(values) - 1), len(values) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(np.abs(values[left] - targets) <= np.abs(values[right] - targets), left, right)
