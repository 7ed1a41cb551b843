"""Where a video shows a landmark best: largest, mostly in the picture, hardly hidden, while the nose keeps still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.bearings import picture_xy, turn_between_deg
from pipeline.geometry.sight import is_clear, own_buildings, take, walls
from pipeline.geometry.tracks import Buildings
from pipeline.worlds.flight.facts import Landmark, Shot
from pipeline.worlds.flight.observe.views import Poses, Setting

INSIDE_MIN: Final = 0.6  # of a landmark's width times its height: it is in the picture
CLEAR_MIN: Final = 0.7  # of the points on it: nothing known stands before them
STEADY_MAX_DEG: Final = 5.0  # turn within a second: pose and picture are known to belong together no better
_CLEAR_S: Final = 0.4 - 1e-6  # to either end of a view, which is not known better
_ROUND: Final = 12  # corners of the circle that stands for what has no outline
_HEIGHTS: Final = (0.2, 0.5, 0.9)  # shares of its height at which points lie on a landmark
_INWARDS: Final = 0.9  # of the way from its centre to a corner
_TRIED: Final = 30  # moments, of four times as many that show it largest
_DECIMALS: Final = 3


def best_shot(
    poses: Poses, landmark: Landmark, intervals: Sequence[tuple[float, float]], setting: Setting
) -> Shot | None:
    """The best picture of a landmark within the intervals in which it is in view.

    None where there is none, or where it is not known how high it stands or exactly where the nose points.
    """
    if setting.heading_error_deg or landmark.base_m is None:
        return None
    near = np.zeros(len(poses.t_s), dtype=bool)
    for start, end in intervals:
        near |= (poses.t_s >= start + _CLEAR_S) & (poses.t_s <= end - _CLEAR_S)
    moments = np.flatnonzero(near & _steady(poses))
    if not len(moments):
        return None
    outline = _outline(landmark)
    low, high = _area(poses, moments, _at(outline, _heights(landmark, (0.0, 1.0))), setting)
    whole = np.prod(high - low, axis=1)
    low, high = np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)
    size = np.prod(high - low, axis=1)
    shown = np.flatnonzero(size >= np.maximum(INSIDE_MIN * whole, 1e-9))  # NaN, where a corner lies behind, is not
    ranked = shown[np.argsort(-np.round(size[shown], 9), kind="stable")][: 4 * _TRIED : 4]
    inwards = np.array(landmark.center) + _INWARDS * (outline - np.array(landmark.center))
    points = _at(np.concatenate([inwards, np.array([landmark.center])]), _heights(landmark, _HEIGHTS))
    others = _others(landmark, setting.buildings)
    for row in ranked.tolist():
        eye = np.broadcast_to(poses.enu_m[moments[row]], points.shape)
        if is_clear(eye, points, walls(others)).mean() >= CLEAR_MIN:
            (left, bottom), (right, top) = low[row], high[row]
            box = ((1 + left) / 2, (1 - top) / 2, (1 + right) / 2, (1 - bottom) / 2)
            a, b, c, d = (round(float(side), _DECIMALS) for side in box)
            return Shot(second=round(float(poses.t_s[moments[row]]), _DECIMALS), box=(a, b, c, d))
    return None


def _steady(poses: Poses) -> BoolArray:
    """Moments (G,) within a second of which the nose hardly turns."""
    step = float(np.median(np.diff(poses.t_s))) if len(poses.t_s) > 1 else 1.0
    around = max(1, round(1.0 / max(step, 1e-6)))
    swing = np.zeros(len(poses.t_s))
    for shift in range(1, around + 1):
        turned = np.abs(turn_between_deg(poses.heading_deg[:-shift], poses.heading_deg[shift:]))
        swing[:-shift] = np.fmax(swing[:-shift], turned)
        swing[shift:] = np.fmax(swing[shift:], turned)
    return np.asarray(swing <= STEADY_MAX_DEG)


def _area(poses: Poses, moments: IntArray, points: FloatArray, setting: Setting) -> tuple[FloatArray, FloatArray]:
    """Lower left and upper right (M, 2) of points (n, 3) in the picture."""
    xy = picture_xy(
        poses.enu_m[moments][:, None],
        poses.heading_deg[moments, None],
        poses.pitch_deg[moments, None],
        points,
        setting.camera.horizontal_fov_deg,
        setting.camera.width / setting.camera.height,
    )
    return xy.min(1), xy.max(1)


def _outline(mark: Landmark) -> FloatArray:
    if mark.outline:
        return np.array(mark.outline)
    turn = np.linspace(0.0, 2 * np.pi, _ROUND, endpoint=False)
    return np.array(mark.center) + mark.radius_m * np.column_stack([np.cos(turn), np.sin(turn)])


def _heights(mark: Landmark, shares: Sequence[float]) -> list[float]:
    base = float(mark.base_m or 0.0)
    top = base if mark.top_m is None else mark.top_m
    return sorted({base + share * (top - base) for share in shares})


def _at(outline: FloatArray, heights: Sequence[float]) -> FloatArray:
    return np.concatenate([np.column_stack([outline, np.full(len(outline), height)]) for height in heights])


def _others(mark: Landmark, buildings: Buildings) -> Buildings:
    """All buildings but the landmark itself."""
    outline = None if mark.outline is None else np.array(mark.outline)
    return take(buildings, np.flatnonzero(~own_buildings(buildings, np.array(mark.center), outline)))
