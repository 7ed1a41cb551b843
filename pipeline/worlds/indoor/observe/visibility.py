"""Visibility of every object: in the examined frames, in every frame budget, and where that leaves something open.

A ray per pixel of a reduced image goes into the labelled mesh for every examined frame (`pixels`). All frames are
looked at where an object first appears, and for what no examined frame shows at all (`closer`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pipeline.core.arrays import BoolArray, IntArray
from pipeline.core.schema import Vec3
from pipeline.geometry.boxes import stack
from pipeline.geometry.scans import Frames, SceneGeometry
from pipeline.worlds.indoor.facts import IndoorScene, Observation, SceneObject, Visibility
from pipeline.worlds.indoor.observe.best import best_frames, cameras_at
from pipeline.worlds.indoor.observe.closer import absent, first_frames
from pipeline.worlds.indoor.observe.completeness import unscanned_below
from pipeline.worlds.indoor.observe.pixels import Sides, count_pixels
from pipeline.worlds.indoor.observe.rays import LabelledMesh
from pipeline.worlds.indoor.observe.verdicts import Limits, verdicts


class ObserveConfig(Limits):
    """Which frames are examined and how closely, and what of that is believed."""

    frames_per_second: float = Field(default=2.0, gt=0, description="of the video that are examined")
    width: int = Field(default=160, ge=16, le=1920, description="rays of a row of the reduced image")
    height: int = Field(default=120, ge=16, le=1920, description="rays of a column of it")
    min_pixels: int = Field(default=20, ge=1, description="of the reduced image: fewer do not count as appearing")
    budgets: tuple[int, ...] = Field(default=(16, 32, 64), description="numbers of evenly spaced frames")


def observe(scene: IndoorScene, geometry: SceneGeometry, config: ObserveConfig) -> IndoorScene:
    """The scene with the visibility of every object, and what was examined to find it.

    A scan that was not filmed stays as it is: of what no camera looked at, nothing is unseen.
    """
    frames, items = geometry.frames, scene.facts.objects
    if not len(frames.number):
        return scene
    n_video = (scene.video.frames if scene.video else None) or int(frames.number.max(initial=-1)) + 1
    regular, budgets = examined_frames(frames, n_video, config)
    chosen = np.unique(np.concatenate([regular, *budgets.values()]).astype(np.intp))
    mesh = LabelledMesh(geometry, len(items))
    counts = count_pixels(mesh, longest_sides(items), chosen, config.width, config.height)
    first = first_frames(mesh, counts, config.min_pixels, (config.width, config.height))
    passes = counts.pixels >= config.min_pixels
    unshown = np.flatnonzero(~counts.pixels.any(0))
    gone = unshown[absent(mesh, unshown)]
    best = best_frames(frames, counts, items)
    objects = []
    for number, item in enumerate(items):
        rows = {n: np.searchsorted(chosen, frame) for n, frame in budgets.items()}
        visibility = Visibility(
            frames_seen=int(passes[:, number].sum()),
            largest_pixels=int(counts.pixels[:, number].max(initial=0)),
            absent=number in gone,
            extent_seen=round(float(counts.extent_seen[number]), 4),
            first_seen_s=_time(frames, first.frame[number]),
            budgets={n: int(counts.pixels[row, number].max(initial=0)) for n, row in rows.items()},
            first_in_budget_s={n: _time(frames, _first(chosen[row], passes[row, number])) for n, row in rows.items()},
            best_s=_time(frames, int(best[number])),
        )
        objects.append(item.model_copy(update={"visibility": visibility}))
    missing = unscanned_below(scene.facts.room, frames.world_T_camera[:, :3, 3])
    observation = Observation(
        frames_examined=len(chosen),
        frames_refined=first.looked,
        frames_skipped=frames.skipped,
        frames_per_second=config.frames_per_second,
        min_pixels=config.min_pixels,
        budgets=config.budgets,
        image=(config.width, config.height),
        depth_agreement=None if counts.depth_agreement is None else round(counts.depth_agreement, 4),
        unscanned_m2=None if missing is None else round(missing.area_m2, 4),
        unscanned_share=None if missing is None else round(missing.share, 4),
        camera_path=_path(frames, regular),
        picture=frames.size,
        cameras=cameras_at(frames, np.concatenate([best, first.frame])),
    )
    observed = scene.with_facts(objects=tuple(objects), observation=observation)
    return observed.model_copy(update={"findings": (*scene.findings, *verdicts(observation, config))})


def longest_sides(items: tuple[SceneObject, ...]) -> Sides:
    """The longest side of each object's box."""
    boxes = stack([o.box.center for o in items], [o.box.lengths for o in items], [o.box.axes for o in items])
    rows, longest = np.arange(len(items)), boxes.half.argmax(1) if len(items) else np.zeros(0, dtype=np.intp)
    return Sides(boxes.center, boxes.axes[rows, longest], 2 * boxes.half[rows, longest])


def _path(frames: Frames, chosen: IntArray) -> tuple[Vec3, ...]:
    """Time, x and y of the camera in the chosen frames, to milliseconds and millimetres."""
    rows = np.column_stack([frames.time_s[chosen], frames.world_T_camera[chosen, :2, 3]]).round(3)
    return tuple((float(t), float(x), float(y)) for t, x, y in rows)


def _first(frame: IntArray, shows: BoolArray) -> int:
    """The first of the frames (n,) that shows something; -1 for none."""
    return int(frame[shows.argmax()]) if shows.any() else -1


def _time(frames: Frames, frame: int) -> float | None:
    """Seconds from the video's start; None for frame -1."""
    return None if frame < 0 else round(float(frames.time_s[frame]), 3)


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


def _nearest(sorted_values: npt.ArrayLike, wanted: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Index of the nearest sorted value for each wanted one; the earlier of two equally near."""
    values, targets = np.asarray(sorted_values, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    right = np.clip(np.searchsorted(values, targets), min(1, len(values) - 1), len(values) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(np.abs(values[left] - targets) <= np.abs(values[right] - targets), left, right)
