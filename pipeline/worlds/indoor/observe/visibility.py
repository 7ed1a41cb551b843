"""Visibility of every object: in the examined frames, in every frame budget, and where that leaves something open.

A ray per pixel of a reduced image goes into the labelled mesh for every examined frame (`rays`). All frames are
looked at where an object first appears, and for what no examined frame shows at all (`closer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, nearest_index, runs
from pipeline.core.findings import doubt, fault
from pipeline.core.schema import Finding, Limits, Vec3, Video
from pipeline.geometry.boxes import Boxes, stack
from pipeline.geometry.floors import CELL_M, free_floor
from pipeline.geometry.scans import CameraFrames, SceneGeometry
from pipeline.reading.footage import delivered_frames, evenly_spaced
from pipeline.worlds.indoor.facts import (
    SIGHT,
    BudgetFrames,
    BudgetVisibility,
    FrameCamera,
    IndoorScene,
    Observation,
    Room,
    SceneObject,
    Visibility,
)
from pipeline.worlds.indoor.observe.closer import DELIVERED, absent, first_frames, windows
from pipeline.worlds.indoor.observe.rays import (
    FloorPlan,
    LabelledMesh,
    LongestSides,
    PixelCounts,
    count_pixels,
    dull_share,
    picture_fit,
    surface_fit,
)


class VisibilityLimits(Limits):
    """Limits of what is believed. Shares of rays, and of the floor's area.

    In the seven sound sample scans 99.0% to 99.9% of the rays agree with the measured depth. With poses late by a third
    of a second 77.5% to 85.3% do, by two thirds 65.2% to 77.5%, by a second 59.9% to 73.8%. The first limit lies midway
    between sound scans and the smallest of these shifts, the second within reach of a shift by a second.
    """

    depth_agreement_min: float = Field(
        default=0.9, ge=0, le=1, description="below it nothing is asked that rests on what the video shows"
    )
    depth_agreement_unusable: float = Field(default=0.75, ge=0, le=1, description="below it the scene is left out")
    unscanned_max: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="scenes with more of the floor missing below the camera's path are left out",
    )


# Of pairs; chance gives a half. Sound samples and the kitchen of 7-Scenes have 1.00. Both have 0.31 to 0.75 with
# poses inverted or transposed, or half the focal length; a second late the samples have 0.51 to 0.77, the kitchen 0.92.
PICTURE_FIT_MIN: Final = 0.85
PICTURE_FIT_UNUSABLE: Final = 0.75
# Of pairs of pictures. Sound samples and the kitchen have 1.00, of the first third of their frames too. Poses that are
# inverted or of OpenGL's camera, pictures reversed, turned, or one second late leave at most 0.38, half a second late
# 0.06 to 0.75, mirrored 0.56 (a symmetrical room), half the focal length or lengths swapped with middles 0.44. Where
# positions are off by a metre they are 0.62 to 1.00: `picture_fit` alone tells these.
SURFACE_FIT_MIN: Final = 0.7
SURFACE_FIT_UNUSABLE: Final = 0.5


def _fit(fit: float | None, surface: float | None) -> tuple[Finding, ...]:
    """A fault where pictures are those of another or a mirrored place, as far as can be told: no answer holds in them.

    By one another they say so only where the mesh has no colours: these do not tell a film that is a little late.
    """
    if fit is not None and fit < PICTURE_FIT_MIN:
        measured, limit, unusable = fit, PICTURE_FIT_MIN, PICTURE_FIT_UNUSABLE
        message = (
            "the mesh, as a camera sees it, is more like the camera's picture than like that of another place in only "
            f"{fit:.0%} of pairs"
        )
    elif surface is not None and surface < SURFACE_FIT_MIN:
        measured, limit, unusable = surface, SURFACE_FIT_MIN, SURFACE_FIT_UNUSABLE if fit is None else 0.0
        message = (
            "two pictures of one surface are far more alike where poses and mesh bring one over to the other in only "
            f"{surface:.0%} of pairs"
        )
    else:
        return ()
    name, measured = "pictures_unlike_mesh", round(measured, 4)
    if measured < unusable:
        message += f" (limit {unusable:.0%}): poses, pictures and mesh do not belong together"
        remedy = "fetch pictures, poses and mesh of one scan; are pictures mirrored, and poses camera-to-world?"
        return (fault(name, SIGHT, message, remedy).model_copy(update=_measures(measured, unusable)),)
    message += f" (limit {limit:.0%}): what the video shows is not known for sure"
    remedy = "are poses camera-to-world, of this scan, at the pictures' times, and intrinsics of the pictures' size?"
    return (doubt(name, SIGHT, message, remedy, measured, limit, "share"),)


# Of 16 pictures of each of seven sound samples, and of the kitchen's 125, none: the least detailed has 6.6 grey levels.
# Pictures of 1% of the light have 0.2 to 1.4, blurred by 20 pixels of 640 (standard deviation) 1.0 to 1.6, by 8 pixels
# 1.1 to 3.1, by 4 pixels, where things can still be told, 1.6 to 7.9.
DULL_MAX: Final = 0.25


def _dull(share: float | None) -> tuple[Finding, ...]:
    if share is None or share <= DULL_MAX:
        return ()
    message = f"{share:.0%} of the pictures are too dark or too blurred to recognise anything (limit {DULL_MAX:.0%})"
    remedy = "look at the video: nothing is asked of what it shows"
    return (doubt("pictures_show_nothing", SIGHT, message, remedy, round(share, 4), DULL_MAX, "share"),)


# Sound samples have 1.00 of both. In the kitchen of 7-Scenes, whose colours are taken for those of the depth camera (a
# length of 525 pixels for 585), focal lengths fit best at 0.89 times their own; depth has 1.00 there too.
FOCAL_SCALE_MAX: Final = 1.2  # times as long, or as short
DEPTH_SCALE_MAX: Final = 1.2  # shorter depth hides what the mesh shows: `depth_disagrees`


def _scales(focal: float | None, depth: float | None) -> tuple[Finding, ...]:
    """Doubts about focal lengths and depth that are out of scale with the mesh."""
    found = []
    if focal is not None and not 1 / FOCAL_SCALE_MAX <= focal <= FOCAL_SCALE_MAX:
        message = f"pictures of one surface agree best with focal lengths that are {focal:.2f} times as long as stated"
        remedy = "are intrinsics of the pictures' size and of this camera? Or lens distortion was not taken out"
        limit = FOCAL_SCALE_MAX if focal > 1 else 1 / FOCAL_SCALE_MAX
        found.append(doubt("focal_length_off", SIGHT, message, remedy, round(focal, 4), round(limit, 4), "ratio"))
    if depth is not None and depth > DEPTH_SCALE_MAX:
        message = f"measured depth is {depth:.3g} times that of the mesh: it hides nothing of what the mesh lacks"
        remedy = "in which unit are the depth pictures? Most are in millimetres"
        found.append(doubt("depth_scale_off", SIGHT, message, remedy, round(depth, 4), DEPTH_SCALE_MAX, "ratio"))
    return tuple(found)


# Of seven sound sample films 0.70 to 0.98, of the first quarter of each 0.10 to 0.47.
OUTLINE_SEEN_MIN: Final = 0.5


def outline_seen(floor: BoolArray, seen: BoolArray) -> float:
    """Share of the cells along the edge of a floor plan (rows, columns) that are ``seen`` (of those of floor).

    How large a room is can be told from its walls: floor below the camera or behind a table need not be shown.
    """
    wide = np.pad(floor, 1)
    inner = wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]
    return float(seen[~inner[floor]].mean())


def _outline(plan: FloorPlan | None, counts: PixelCounts) -> tuple[Finding, ...]:
    if plan is None or not plan.floor.any():
        return ()
    share = outline_seen(plan.floor, np.any(counts.plan, axis=0))
    if share >= OUTLINE_SEEN_MIN:
        return ()
    message = (
        f"the video shows {share:.0%} of the outline of the scanned floor (limit {OUTLINE_SEEN_MIN:.0%}): the area "
        "cannot be measured from it"
    )
    remedy = "none is needed where the scan holds rooms that were not filmed; else compare poses and mesh"
    return (doubt("outline_not_filmed", "room", message, remedy, round(share, 4), OUTLINE_SEEN_MIN, "share"),)


def verdicts(observation: Observation, limits: VisibilityLimits) -> tuple[Finding, ...]:
    """The findings about an observation, a fault where it makes the scene unusable."""
    return (*_depth(observation.depth_agreement, limits), *_mesh(observation.unscanned_share, limits))


def _depth(agreement: float | None, limits: VisibilityLimits) -> tuple[Finding, ...]:
    if agreement is None or agreement >= limits.depth_agreement_min:
        return ()
    message = f"{agreement:.1%} of the rays into the mesh agree with the measured depth"
    if agreement >= limits.depth_agreement_unusable:
        message += f" (limit {limits.depth_agreement_min:.1%}): what the video shows is not known for sure"
        remedy = "compare times of poses and pictures, and intrinsics with the pictures' size"
        limit = limits.depth_agreement_min
        return (doubt("depth_disagrees", SIGHT, message, remedy, agreement, limit, "share"),)
    message += f" (limit {limits.depth_agreement_unusable:.1%}): poses, depth and mesh do not belong together"
    remedy = "fetch poses, pictures and mesh of one scan, or lower observe.indoor.depth_agreement_unusable"
    found = fault("depth_disagrees", SIGHT, message, remedy)
    return (found.model_copy(update=_measures(agreement, limits.depth_agreement_unusable)),)


def _mesh(share: float | None, limits: VisibilityLimits) -> tuple[Finding, ...]:
    """The video shows what nobody annotated where the mesh lacks what the camera walked over."""
    if share is None or share <= limits.unscanned_max:
        return ()
    message = (
        f"{share:.1%} of the floor's area lies below the camera's path and is missing from the mesh "
        f"(limit {limits.unscanned_max:.1%})"
    )
    remedy = "the video shows unannotated space: leave the scene out, or raise observe.indoor.unscanned_max"
    return (
        fault("incomplete_mesh", "mesh", message, remedy).model_copy(update=_measures(share, limits.unscanned_max)),
    )


def _measures(measured: float, limit: float) -> dict[str, float | str]:
    return {"measured": measured, "limit": limit, "unit": "share"}


class ObserveConfig(VisibilityLimits):
    """Which frames are examined and how closely, and what of that is believed."""

    frames_per_second: float = Field(default=2.0, le=240, gt=0, description="of the video that are examined")
    width: int = Field(default=160, ge=16, le=1920, description="rays of a row of the reduced image")
    height: int = Field(default=120, ge=16, le=1920, description="rays of a column of it")
    min_pixels: int = Field(default=20, ge=1, description="of the reduced image: fewer do not count as appearing")
    budgets: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(16, 32, 64), description="numbers of evenly spaced frames"
    )


def observe(scene: IndoorScene, geometry: SceneGeometry, config: ObserveConfig) -> IndoorScene:
    """The scene with the visibility of every object, and what was examined to find it.

    A scan that was not filmed stays as it is: of what no camera looked at, nothing is unseen.
    """
    frames, items = geometry.frames, scene.facts.objects
    if not len(frames.number):
        return scene
    delivered = delivered_numbers(scene.video, geometry)
    regular, budgets = examined_frames(frames, delivered, config)
    chosen = np.unique(np.concatenate([regular, *(own.frame for own in budgets.values())]).astype(np.intp))
    mesh = LabelledMesh(geometry, len(items))
    plan = _plan(scene.facts.room)
    counts = count_pixels(mesh, longest_sides(items), chosen, config.width, config.height, plan)
    first = first_frames(mesh, counts, config.min_pixels, (config.width, config.height))
    passes = counts.pixels >= config.min_pixels
    unshown = np.flatnonzero(~counts.pixels.any(0))
    gone = unshown[absent(mesh, unshown)]
    best = best_frames(frames, counts, items)
    tick = np.searchsorted(delivered, frames.number[regular])  # first at which the delivered video shows each
    swept = np.flatnonzero(delivered[np.minimum(tick, len(delivered) - 1)] == frames.number[regular])
    in_view = may_show(mesh, regular[swept], items)
    extent = counts.extent_seen(slice(None))
    sampled = {n: SampledView.of(mesh, counts, own.frame, config.min_pixels, gone) for n, own in budgets.items()}
    objects = []
    for number, item in enumerate(items):
        visibility = Visibility(
            frames_seen=int(passes[:, number].sum()),
            largest_pixels=int(counts.pixels[:, number].max(initial=0)),
            absent=number in gone,
            extent_seen=round(float(extent[number]), 4),
            first_seen_s=_time(frames, first.frame[number]),
            budgets={n: own.of_object(frames, number) for n, own in sampled.items()},
            best_s=_time(frames, int(best[number])),
            in_view=_runs(in_view[:, number]),
        )
        objects.append(item.model_copy(update={"visibility": visibility}))
    missing = unscanned_below(scene.facts.room, frames.world_T_camera[:, :3, 3])
    observation = Observation(
        frames_examined=len(chosen),
        frames_refined=first.looked,
        frames_skipped=frames.skipped,
        frames_per_second=config.frames_per_second,
        min_pixels=config.min_pixels,
        budgets={
            n: BudgetFrames(
                frames=own.wanted,
                numbers=own.numbers,
                without_pose_s=own.without_pose_s,
                plan_seen=_share(counts.plan[np.searchsorted(chosen, own.frame)], counts.plan),
            )
            for n, own in budgets.items()
        },
        image=(config.width, config.height),
        depth_agreement=None if counts.depth_agreement is None else round(counts.depth_agreement, 4),
        unscanned_m2=None if missing is None else round(missing.area_m2, 4),
        unscanned_share=None if missing is None else round(missing.share, 4),
        camera_path=_path(frames, regular),
        sweep=tuple(tick[swept].tolist()),
        picture=frames.size,
        cameras=cameras_at(frames, np.concatenate([best, first.frame])),
    )
    observed = scene.with_facts(objects=tuple(objects), observation=observation)
    surface = surface_fit(mesh)
    fits = (*_dull(dull_share(mesh.pictures)), *_fit(picture_fit(mesh), surface.share))
    fits = (*fits, *_scales(surface.focal, counts.depth_scale))
    found = (*verdicts(observation, config), *fits, *_outline(plan, counts))
    return observed.model_copy(update={"findings": (*scene.findings, *found)})


def longest_sides(items: tuple[SceneObject, ...]) -> LongestSides:
    """The longest side of each object's box."""
    boxes = stack([o.box.center for o in items], [o.box.lengths for o in items], [o.box.axes for o in items])
    rows, longest = np.arange(len(items)), boxes.half.argmax(1) if len(items) else np.zeros(0, dtype=np.intp)
    return LongestSides(boxes.center, boxes.axes[rows, longest], 2 * boxes.half[rows, longest])


def _path(frames: CameraFrames, chosen: IntArray) -> tuple[Vec3, ...]:
    """Time, x and y of the camera in the chosen frames, to milliseconds and millimetres."""
    rows = np.column_stack([frames.time_s[chosen], frames.world_T_camera[chosen, :2, 3]]).round(3)
    return tuple((float(t), float(x), float(y)) for t, x, y in rows)


def may_show(mesh: LabelledMesh, frame: IntArray, items: Sequence[SceneObject]) -> BoolArray:
    """Whether any of each object, its box included, may be in the pictures of frames (n,), hidden or not: (n, O).

    Of an object without a surface in the mesh it is not known where the video shows it: it may be in all.
    """
    number, item = (axis.ravel() for axis in np.meshgrid(frame, np.arange(len(items)), indexing="ij"))
    surface = (windows(mesh, number, item, DELIVERED).size > 0).all(1).reshape(len(frame), len(items))
    boxes = stack([o.box.center for o in items], [o.box.lengths for o in items], [o.box.axes for o in items])
    corners = _corners_inside(mesh.frames, frame, boxes).any(-1)
    return surface | corners | np.isnan(mesh.extent).any((1, 2))


def _runs(shows: BoolArray) -> tuple[tuple[int, int], ...]:
    """First and last of each run of consecutive frames (n,) that show something."""
    return tuple((first, end - 1) for first, end in runs(shows).tolist())


class SampledView(NamedTuple):
    """What some of the examined frames show of each object.

    Attributes:
        pixels: (O,) most in any frame.
        absent: (O,) whether none shows a pixel of it at the size of the delivered video.
        first_seen: (O,) first frame in which it passes the threshold, -1 for none.
        first_shown: (O,) first frame that shows any of it in the reduced image, -1 for none.
        extent_seen: (O,) see `PixelCounts.extent_seen`.
    """

    pixels: IntArray
    absent: BoolArray
    first_seen: IntArray
    first_shown: IntArray
    extent_seen: FloatArray

    @classmethod
    def of(
        cls, mesh: LabelledMesh, counts: PixelCounts, frame: IntArray, min_pixels: int, never: IntArray
    ) -> SampledView:
        """The view of frames (n,), all of them examined. ``never``: objects that no frame of the video shows."""
        rows = np.searchsorted(counts.frame, frame)
        pixels = counts.pixels[rows]
        most = pixels.max(0, initial=0)
        gone = np.isin(np.arange(len(most)), never)
        unshown = np.flatnonzero((most == 0) & ~gone)
        gone[unshown] = absent(mesh, unshown, frame)
        seen, shown = (_first(frame, pixels >= least) for least in (min_pixels, 1))
        return cls(most, gone, seen, shown, counts.extent_seen(rows))

    def of_object(self, frames: CameraFrames, number: int) -> BudgetVisibility:
        """What they show of one object."""
        return BudgetVisibility(
            pixels=int(self.pixels[number]),
            absent=bool(self.absent[number]),
            first_seen_s=_time(frames, int(self.first_seen[number])),
            first_shown_s=_time(frames, int(self.first_shown[number])),
            extent_seen=round(float(self.extent_seen[number]), 4),
        )


def _first(frame: IntArray, shows: BoolArray) -> IntArray:
    """The first of the frames (n,) that shows each object, of ``shows`` (n, O); -1 for none."""
    if not len(frame):
        return np.full(shows.shape[1], -1, dtype=np.intp)
    return np.where(shows.any(0), frame[shows.argmax(0)], -1)


PLAN_CELL_M: Final = 0.25


def _plan(room: Room) -> FloorPlan | None:
    """The floor in cells of `PLAN_CELL_M`; one is floor where its middle is."""
    if not room.floor:
        return None
    floor = free_floor(room.floor)
    size = np.array(floor.clearance_m.shape[::-1]) * CELL_M
    columns, rows = np.ceil(size / PLAN_CELL_M).astype(int)
    x, y = np.meshgrid((np.arange(columns) + 0.5) * PLAN_CELL_M, (np.arange(rows) + 0.5) * PLAN_CELL_M)
    return FloorPlan(floor.at(np.stack([x, y], axis=-1) + floor.origin) > 0, floor.origin, PLAN_CELL_M)


def _share(shown: BoolArray, examined: BoolArray) -> float | None:
    """Share of the cells that any of the examined frames shows which some show too; None where there are none."""
    of = int(examined.any(0).sum())
    return round(float(shown.any(0).sum()) / of, 4) if of else None


def _time(frames: CameraFrames, frame: int) -> float | None:
    """Seconds from the video's start; None for frame -1."""
    return None if frame < 0 else round(float(frames.time_s[frame]), 3)


class SampledFrames(NamedTuple):
    """Evenly spaced frames of the delivered video: their indices (n,) among those with a pose, in order, each once.

    ``numbers`` are their numbers in the delivered video, ``wanted`` is how many different pictures these show,
    ``without_pose_s`` the times of those that are not known: no pose is near enough.
    """

    frame: IntArray
    numbers: tuple[int, ...]
    wanted: int
    without_pose_s: tuple[float, ...]


def delivered_numbers(video: Video | None, geometry: SceneGeometry) -> IntArray:
    """Number in the source's video of what each frame (T,) of the delivered one shows."""
    count = (video.frames if video else None) or int(geometry.frames.number.max(initial=-1)) + 1
    if video is None or video.fps is None or geometry.delivered_fps is None:
        return np.arange(count)
    return delivered_frames(count, video.fps, geometry.delivered_fps)


POSE_NEAR_S: Final = 0.1  # ARKitScenes' poses come ten times a second; meanwhile a camera moves some centimetres


def examined_frames(
    frames: CameraFrames, delivered: IntArray, config: ObserveConfig
) -> tuple[npt.NDArray[np.intp], dict[int, SampledFrames]]:
    """Indices of the frames at a regular pace, and those of each budget.

    Budgets are spaced over the whole of the delivered video as evaluators do (`evenly_spaced`). A frame without a pose
    is taken for the nearest one that has one, unless that is further than `POSE_NEAR_S`.

    Args:
        frames: those with a pose.
        delivered: (T,) number in the source of each frame of the delivered video.
        config: the paces.
    """
    ticks = np.arange(frames.time_s[0], frames.time_s[-1] + 1e-9, 1 / config.frames_per_second)
    regular = np.unique(nearest_index(frames.time_s, ticks))
    rate = (np.ptp(frames.number) / span) if (span := float(np.ptp(frames.time_s))) > 0 else 0.0
    budgets = {}
    for budget in config.budgets:
        index = evenly_spaced(len(delivered), budget)
        wanted = np.unique(delivered[index])
        nearest = nearest_index(frames.number, wanted)
        close = np.abs(frames.number[nearest] - wanted) <= POSE_NEAR_S * rate + 1e-6
        lost_s = frames.time_s[0] + (wanted[~close] - frames.number[0]) / max(rate, 1e-9)
        budgets[budget] = SampledFrames(
            np.unique(nearest[close]), tuple(index.tolist()), len(wanted), tuple(lost_s.round(3).tolist())
        )
    return regular, budgets


_LEAST: Final = 0.1  # of its pixels counts a picture in which no corner of the box lies
_AHEAD_M: Final = 0.05  # a corner nearer to the camera's plane than this has no place in the picture
_DECIMALS: Final = 6
_CHUNK_FRAMES: Final = 64  # at a time: with 300 objects they take about 20 MB


def best_frames(frames: CameraFrames, counts: PixelCounts, items: Sequence[SceneObject]) -> IntArray:
    """The examined frame (O,) that shows most pixels of each object; -1 where none shows any.

    Pixels count by how much of the object's box is in the picture: what fills it is no longer known for what it is. Of
    equal ones the earliest.
    """
    boxes = stack([o.box.center for o in items], [o.box.lengths for o in items], [o.box.axes for o in items])
    score = np.zeros(counts.pixels.shape)
    for start in range(0, len(counts.frame), _CHUNK_FRAMES):
        part = slice(start, start + _CHUNK_FRAMES)
        inside = _corners_inside(frames, counts.frame[part], boxes).mean(-1)
        score[part] = counts.pixels[part] * np.maximum(inside, _LEAST)
    if not score.size:
        return np.full(len(items), -1, dtype=np.intp)
    row = score.argmax(0)
    return np.where(score.any(0), counts.frame[row], -1)


def _corners_inside(frames: CameraFrames, chosen: IntArray, boxes: Boxes) -> FloatArray:
    """Whether the corners (E, O, 8) of boxes lie in the pictures of frames."""
    pose, lens = frames.world_T_camera[chosen], frames.intrinsics[chosen]
    offset = boxes.corners()[None] - pose[:, None, None, :3, 3]
    rotation = pose[:, None, None, :3, :3]
    local = sum(
        (offset[..., i, None] * rotation[..., i, :] for i in (1, 2)), offset[..., 0, None] * rotation[..., 0, :]
    )
    x, y, z = np.moveaxis(local, -1, 0)
    ahead = z > _AHEAD_M
    depth = np.where(ahead, z, 1.0)
    fx, fy, cx, cy = (column[:, None, None] for column in lens.T)
    column, row = x / depth * fx + cx, y / depth * fy + cy
    width, height = frames.size
    return np.asarray(
        ahead & (column >= -0.5) & (column <= width - 0.5) & (row >= -0.5) & (row <= height - 0.5), dtype=np.float64
    )


def cameras_at(frames: CameraFrames, chosen: IntArray) -> tuple[FrameCamera, ...]:
    """The cameras of the chosen frames, each once, in order; -1 is none."""
    return tuple(_camera(frames, number) for number in np.unique(chosen[chosen >= 0]).tolist())


def _camera(frames: CameraFrames, number: int) -> FrameCamera:
    width, height = frames.size
    fx, fy, cx, cy = frames.intrinsics[number].tolist()
    pose = frames.world_T_camera[number].round(_DECIMALS) + 0.0
    return FrameCamera.model_validate(
        {
            "second": round(float(frames.time_s[number]), 3),
            "world_T_camera": pose[:3].T.tolist(),
            "focal": (round(fx / width, _DECIMALS), round(fy / height, _DECIMALS)),
            "middle": (round((cx + 0.5) / width, _DECIMALS), round((cy + 0.5) / height, _DECIMALS)),
        }
    )


REACH_M: Final = 0.5  # to both sides of the path: about what a person who carries a camera walks over


class Unscanned(NamedTuple):
    """Floor below the camera's path that the mesh lacks: its area, and that against the floor's."""

    area_m2: float
    share: float


def unscanned_below(room: Room, positions: FloatArray) -> Unscanned | None:
    """Measures what lies within `REACH_M` of camera positions (N, 3) and is no floor; None without floor or path."""
    from scipy.ndimage import distance_transform_edt  # takes half a second

    path = positions[np.isfinite(positions).all(1), :2]
    if room.floor is None or room.area_m2 is None or not len(path):
        return None
    floor = free_floor(room.floor)
    low = path.min(0) - REACH_M
    columns, rows = np.ceil((path.max(0) + REACH_M - low) / CELL_M).astype(int) + 1
    walked = np.zeros((rows, columns), dtype=bool)
    column, row = np.round((path - low) / CELL_M).astype(int).T
    walked[row, column] = True
    below = distance_transform_edt(~walked) * CELL_M <= REACH_M
    y, x = np.nonzero(below)
    missing = floor.at(low + np.stack([x, y], axis=1) * CELL_M) == 0
    area = float(missing.sum()) * CELL_M**2
    return Unscanned(area, area / room.area_m2)
