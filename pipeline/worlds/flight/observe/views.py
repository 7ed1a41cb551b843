"""When the camera of a flight has a landmark in its picture, with nothing known standing before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy import ndimage

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.bearings import distance_m, in_picture
from pipeline.geometry.sight import bounds, is_clear, own_buildings, take, walls
from pipeline.geometry.tracks import Buildings
from pipeline.worlds.flight.facts import Camera, Landmark, View
from pipeline.worlds.flight.observe.motion import MotionConfig

TALLEST_M: Final = 100.0  # as high as what has no known height may be: few buildings are higher


def views(
    t_s: FloatArray,
    enu_m: FloatArray,
    heading_deg: FloatArray,
    pitch_deg: FloatArray,
    part: IntArray,
    ground_m: float,
    landmarks: Sequence[Landmark],
    camera: Camera,
    buildings: Buildings,
    config: MotionConfig,
) -> tuple[View, ...]:
    """The views of the landmarks that may be seen at all, in their order.

    A landmark is in view where its centre is in the picture, it is within `MotionConfig.view_range_m` and not tiny, and
    the line from the camera to the middle of its top is clear of every building but itself. Its centre is at half its
    height; where its top is not known, at its foot. A foot that is not known is taken to lie anywhere within
    `MotionConfig.relief_m` of the ground at take-off, and the centre must be in the picture for all of that; what has
    no known height and no known ground is not seen.

    A landmark may be in view (`View.possible`) wherever the sphere about all of it meets the cone about the picture.

    Args:
        t_s: (G,) even times.
        enu_m: (G, 3) of the camera.
        heading_deg: (G,) of the nose, along which the camera looks.
        pitch_deg: (G,) of the camera.
        part: (G,) numbers; a view does not go from one to the next.
        ground_m: ENU height of the ground at take-off; NaN: not known.
        landmarks: of the flight.
        camera: field of view and shape of the picture.
        buildings: what may stand before a landmark.
        config: limits.
    """
    found = []
    extent = bounds(buildings)
    for index, landmark in enumerate(landmarks):
        seen = _seen(enu_m, heading_deg, pitch_deg, ground_m, landmark, camera, buildings, extent, config)
        may = _may_be_seen(enu_m, heading_deg, pitch_deg, ground_m, landmark, camera, config)
        intervals = _intervals(t_s, seen, part, config.min_view_s)
        possible = _intervals(t_s, may | seen, part, 0.0, 1.0 / config.rate_hz)
        if possible:
            found.append(View(landmark=index, intervals=intervals, possible=possible))
    return tuple(found)


def _may_be_seen(
    enu_m: FloatArray,
    heading_deg: FloatArray,
    pitch_deg: FloatArray,
    ground_m: float,
    landmark: Landmark,
    camera: Camera,
    config: MotionConfig,
) -> BoolArray:
    """Moments (G,) at which it cannot be ruled out that some part of a landmark is in the picture."""
    low, high = _foot(landmark, ground_m, config)
    high = high + TALLEST_M if landmark.top_m is None else landmark.top_m
    radius = np.hypot(landmark.radius_m, abs(high - low) / 2)
    offset = np.array([*landmark.center, (low + high) / 2]) - enu_m
    yaw, pitch = np.radians(heading_deg), np.radians(pitch_deg)
    axis = np.stack([np.sin(yaw) * np.cos(pitch), np.cos(yaw) * np.cos(pitch), np.sin(pitch)], axis=1)
    away = np.linalg.norm(offset, axis=1)
    across = np.tan(np.radians(camera.horizontal_fov_deg) / 2)
    corner = np.arctan(np.hypot(across, across * camera.height / camera.width))
    far = np.maximum(away, 1e-9)
    angle = np.arccos(np.clip((offset * axis).sum(1) / far, -1.0, 1.0))
    outside = (away > radius) & (angle > corner + np.arcsin(np.minimum(radius / far, 1.0)))
    return np.asarray(~outside)  # also where a pose or the ground is not known


def _foot(landmark: Landmark, ground_m: float, config: MotionConfig) -> FloatArray:
    """Lowest and highest height (2,) at which a landmark's foot may be; NaN where the ground is not known either."""
    if landmark.base_m is not None:
        return np.full(2, landmark.base_m)
    return ground_m + config.relief_m * np.array([-1.0, 1.0])


def _seen(
    enu_m: FloatArray,
    heading_deg: FloatArray,
    pitch_deg: FloatArray,
    ground_m: float,
    landmark: Landmark,
    camera: Camera,
    buildings: Buildings,
    extent: FloatArray,
    config: MotionConfig,
) -> BoolArray:
    """Moments (G,) at which a landmark is in view."""
    seen = np.zeros(len(enu_m), dtype=bool)
    over_ground = distance_m(enu_m, np.array(landmark.center))
    moments = np.flatnonzero(over_ground - landmark.radius_m <= config.view_range_m)
    if len(moments) == 0:
        return seen
    foot = _foot(landmark, ground_m, config)
    height = foot if landmark.top_m is None else (foot + landmark.top_m) / 2
    middle = np.column_stack([np.tile(landmark.center, (2, 1)), height])  # (2, 3) lowest and highest
    eyes = enu_m[moments]
    xy = in_picture(
        eyes[:, None],
        heading_deg[moments, None],
        pitch_deg[moments, None],
        middle,
        camera.horizontal_fov_deg,
        camera.width / camera.height,
    )
    away = distance_m(eyes[:, None], middle).max(1)
    across = np.tan(np.radians(camera.horizontal_fov_deg) / 2)
    wide = landmark.radius_m >= config.view_share * away * across
    shown = np.isfinite(xy).all((1, 2)) & (away - landmark.radius_m <= config.view_range_m)
    tall = (
        _height_seen_m(eyes, landmark, foot, away) >= config.view_share * away * across * camera.height / camera.width
    )
    moments = moments[shown & ((wide & tall) | (landmark.radius_m == 0))]  # the size of a point is not known
    if len(moments) == 0:
        return seen
    top = np.array([*landmark.center, foot[0] if landmark.top_m is None else landmark.top_m])
    eyes = enu_m[moments]
    corners = np.vstack([eyes[:, :2], top[None, :2]])
    near = np.flatnonzero(((extent[:, :2] <= corners.max(0)) & (extent[:, 2:] >= corners.min(0))).all(1))
    others = take(buildings, near)
    outline = None if landmark.outline is None else np.array(landmark.outline)
    others = take(others, np.flatnonzero(~own_buildings(others, np.array(landmark.center), outline)))
    seen[moments] = is_clear(eyes, np.broadcast_to(top, eyes.shape), walls(others))
    return seen


def _height_seen_m(eyes: FloatArray, landmark: Landmark, foot: FloatArray, away: FloatArray) -> FloatArray:
    """Half of what a landmark measures upwards across the line of sight (G,): its walls and its ground from above.

    Where the foot or the top is not known, the least that it may be: something flat, such as a lawn, measures nothing
    for a camera at its own height.
    """
    top = foot if landmark.top_m is None else np.full(2, landmark.top_m)
    over = np.abs(eyes[:, 2:] - top).min(1)
    over = np.where((eyes[:, 2] >= top.min()) & (eyes[:, 2] <= top.max()), 0.0, over)
    flat = landmark.radius_m * over / np.maximum(away, 1e-9)
    return np.asarray(flat + np.maximum(top - foot, 0.0).min() / 2)


def _intervals(
    t_s: FloatArray, seen: BoolArray, part: IntArray, least_s: float, more_s: float = 0.0
) -> tuple[tuple[float, float], ...]:
    """First and last moment of each stretch of one part in which it is seen, of at least ``least_s``.

    ``more_s`` is added at both ends.
    """
    if not seen.any():
        return ()
    found = []
    for number in np.unique(part):
        own = part == number
        labels, _ = ndimage.label(seen & own)
        for (stretch,) in ndimage.find_objects(labels):
            start, end = float(t_s[stretch.start]), float(t_s[stretch.stop - 1])
            if end - start >= least_s - 1e-9:
                found.append((round(start - more_s, 3), round(end + more_s, 3)))
    return tuple(found)
