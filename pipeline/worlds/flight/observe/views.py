"""When the camera of a flight has a landmark in its picture with nothing known before it, and which picture is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.bearings import distance_m, in_picture, picture_xy, turn_between_deg
from pipeline.geometry.sight import Walls, is_clear, own_buildings, walls
from pipeline.geometry.tracks import Buildings
from pipeline.worlds.flight.facts import FlightCamera, Landmark, Shot, Sighting
from pipeline.worlds.flight.observe.motion import MotionConfig

VIEW_MAX_M: Final = 5000.0  # through the haze of a usual day, however large a thing is
THIN_MIN: Final = 0.25  # of the share of the picture that a thing takes at least: a chimney is a line, but a clear one
SIGN_HEIGHT: Final = 0.25  # of a building, from its top down: where a sign is looked for
READ_PX: Final = 640  # width of the narrowest videos that benchmarks deliver: signs must be read in them
TALLEST_M: Final = 100.0  # as high as what has no known height may be: few buildings are higher


@dataclass(frozen=True)
class PosesAt:
    """The camera of a flight at even times.

    Attributes:
        t_s: (G,).
        enu_m: (G, 3).
        heading_deg: (G,) of the nose, along which the camera looks; compass.
        pitch_deg: (G,) 0 level, -90 straight down.
        part: (G,) numbers; a view does not go from one to the next.
    """

    t_s: FloatArray
    enu_m: FloatArray
    heading_deg: FloatArray
    pitch_deg: FloatArray
    part: IntArray

    def known(self, nth: int) -> PosesAt:
        """Each nth of the poses of which heading and pitch are known."""
        known = np.flatnonzero(np.isfinite(self.heading_deg + self.pitch_deg))[::nth]
        return PosesAt(*(getattr(self, field.name)[known] for field in fields(self)))


@dataclass(frozen=True)
class ViewInputs:
    """The inputs of a view beside poses and landmark.

    Attributes:
        camera: field of view and shape of the picture.
        ground_m: ENU height of the ground at take-off; NaN: not known.
        buildings: what may stand before a landmark.
        config: limits.
        heading_error_deg: by which a heading may be off.
    """

    camera: FlightCamera
    ground_m: float
    buildings: Buildings
    config: MotionConfig
    heading_error_deg: float = 0.0

    @cached_property
    def highest(self) -> Buildings:
        """The buildings, those of unknown height as high as they may be, on ground as high as it may be."""
        most = self.buildings.most_m
        return self.buildings if most is None else replace(self.buildings, most_m=most + self.config.relief_m)

    @cached_property
    def walls(self) -> Walls:
        """The walls of the buildings, as high as they may be."""
        return walls(self.highest)

    def others(self, mark: Landmark) -> Walls:
        """The walls of all buildings but the landmark itself."""
        outline = None if mark.outline is None else np.array(mark.outline)
        return self.walls.of(np.flatnonzero(~own_buildings(self.highest, np.array(mark.center), outline)))

    @property
    def half_width(self) -> float:
        """Half of what the picture's width shows at a distance of 1."""
        return float(np.tan(np.radians(self.camera.horizontal_fov_deg) / 2))

    @property
    def half_height(self) -> float:
        """The same of its height."""
        return self.half_width * self.camera.height / self.camera.width


def views(poses: PosesAt, landmarks: Sequence[Landmark], setting: ViewInputs) -> tuple[Sighting, ...]:
    """The views of the landmarks that may be seen at all, in their order.

    A landmark is in view where its centre is in the picture, it is no farther than its size allows (`range_m`), and an
    upper part of it (`UPPER_PARTS`) is in the picture, large enough to be recognised, and clear of every building but
    itself. One that is named by its sign is in view only where that can be read (`_is_read`). Its centre is at half its
    height; where its top is not known, half as high as it is at least. A foot that is not known is taken to lie
    anywhere within `MotionConfig.relief_m` of the ground at take-off, and the centre must be in the picture for all of
    that; what has no known height and no known ground is not seen. A building of unknown height is as high as it may be
    where it stands before others.

    A landmark may be in view (`Sighting.possible`) wherever the sphere about all of it meets the cone about the
    picture.
    """
    found = []
    config = setting.config
    for index, landmark in enumerate(landmarks):
        seen = _is_in_view(poses, landmark, setting)
        may = _may_be_seen(poses, landmark, setting)
        intervals = _intervals(poses, seen, config.min_view_s)
        possible = _intervals(poses, may | seen, 0.0, 1.0 / config.rate_hz)
        if possible:
            found.append(Sighting(landmark=index, intervals=intervals, possible=possible))
    return tuple(found)


def _may_be_seen(poses: PosesAt, landmark: Landmark, setting: ViewInputs) -> BoolArray:
    """Moments (G,) at which it cannot be ruled out that some part of a landmark is in the picture."""
    (low, high), (_, most) = _foot(landmark, setting), _rise(landmark)
    high = high + most if landmark.top_m is None else landmark.top_m
    radius = np.hypot(landmark.radius_m, abs(high - low) / 2)
    offset = np.array([*landmark.center, (low + high) / 2]) - poses.enu_m
    yaw, pitch = np.radians(poses.heading_deg), np.radians(poses.pitch_deg)
    axis = np.stack([np.sin(yaw) * np.cos(pitch), np.cos(yaw) * np.cos(pitch), np.sin(pitch)], axis=1)
    away = np.linalg.norm(offset, axis=1)
    corner = np.arctan(np.hypot(setting.half_width, setting.half_height))
    far = np.maximum(away, 1e-9)
    angle = np.arccos(np.clip((offset * axis).sum(1) / far, -1.0, 1.0))
    corner += np.radians(setting.heading_error_deg)
    outside = (away > radius) & (angle > corner + np.arcsin(np.minimum(radius / far, 1.0)))
    return np.asarray(~outside)  # also where a pose or the ground is not known


def may_be_noticed(poses: PosesAt, landmark: Landmark, setting: ViewInputs) -> bool:
    """Whether a video may show a landmark large enough to be taken for another that is spoken of.

    Wherever it may be in the picture, with the greatest height that it may have, and two fifths as large as what
    surely is seen (`MotionConfig.view_share`); whatever stands before it.
    """
    foot = _foot(landmark, setting)
    most = foot + _rise(landmark)[1] if landmark.top_m is None else np.full(2, landmark.top_m)
    moments = np.flatnonzero(_may_be_seen(poses, landmark, setting))
    if not len(moments) or landmark.radius_m == 0:  # the size of a point is not known
        return bool(len(moments))
    eyes = poses.enu_m[moments]
    middle = np.array([*landmark.center, (foot.min() + most.max()) / 2])
    away = np.maximum(np.linalg.norm(eyes - middle, axis=1) - landmark.radius_m, 0.0)
    over = np.maximum(eyes[:, 2] - foot.min(), 0.0)
    tall = landmark.radius_m * np.minimum(over / np.maximum(away, 1e-9), 1.0) + (most.max() - foot.min()) / 2
    large = _is_large(landmark.radius_m, tall, away, 0.4 * setting.config.view_share, setting)
    return bool((large | ~np.isfinite(away)).any())


def _foot(landmark: Landmark, setting: ViewInputs) -> FloatArray:
    """Lowest and highest height (2,) at which a landmark's foot may be; NaN where the ground is not known either."""
    if landmark.base_m is not None:
        return np.full(2, landmark.base_m)
    return setting.ground_m + setting.config.relief_m * np.array([-1.0, 1.0])


def _rise(landmark: Landmark) -> tuple[float, float]:
    """Least and greatest height of a landmark of which no top is known, over its foot."""
    return landmark.rise_m or (0.0, TALLEST_M)


def _top(landmark: Landmark, foot: FloatArray) -> FloatArray:
    """Height (2,) up to which a landmark surely reaches, for the lowest and the highest foot that it may have."""
    return foot + _rise(landmark)[0] if landmark.top_m is None else np.full(2, landmark.top_m)


UPPER_PARTS: Final = (1.0, 0.5, 0.25)  # of a landmark's height: what may be seen of it over houses


def range_m(landmark: Landmark, foot: FloatArray, config: MotionConfig) -> float:
    """How far off a landmark is seen: as far as its size allows, if that is more than for any."""
    tall = float((_top(landmark, foot) - foot).min())
    return float(np.clip(config.view_sizes * max(2 * landmark.radius_m, tall), config.view_range_m, VIEW_MAX_M))


def _is_in_view(poses: PosesAt, landmark: Landmark, setting: ViewInputs) -> BoolArray:
    """Moments (G,) at which a landmark is in view."""
    seen = np.zeros(len(poses.enu_m), dtype=bool)
    over_ground = distance_m(poses.enu_m, np.array(landmark.center))
    most = range_m(landmark, _foot(landmark, setting), setting.config)
    moments = np.flatnonzero(over_ground - landmark.radius_m <= most)
    if not len(moments):
        return seen
    others = setting.others(landmark)
    for part in UPPER_PARTS:
        rest = moments[~seen[moments]]
        if len(rest):
            rest = rest[_is_shown(poses, rest, landmark, part, setting)]
        if len(rest):
            rest = rest[_is_clear(poses.enu_m[rest], landmark, part, others, setting)]
        seen[rest] = True
    moments = np.flatnonzero(seen)
    seen[moments] = _is_read(poses, moments, landmark, others, setting)
    return seen


def _is_shown(poses: PosesAt, moments: IntArray, landmark: Landmark, part: float, setting: ViewInputs) -> BoolArray:
    """Whether a landmark is in the picture at some moments (M,), its upper part large and near enough to be noticed."""
    camera, config = setting.camera, setting.config
    foot = _foot(landmark, setting)
    top = _top(landmark, foot)
    height = np.concatenate([(foot + top) / 2, top - part / 2 * (top - foot)])
    middle = np.column_stack([np.tile(landmark.center, (4, 1)), height])  # of the whole and of the part
    eyes = poses.enu_m[moments]
    off_deg = np.unique([-setting.heading_error_deg, 0.0, setting.heading_error_deg])
    xy = in_picture(
        eyes[:, None, None],
        poses.heading_deg[moments, None, None] + off_deg[:, None],
        poses.pitch_deg[moments, None, None],
        middle,
        camera.horizontal_fov_deg,
        camera.width / camera.height,
    )
    away = distance_m(eyes[:, None], middle).max(1)
    shown = np.isfinite(xy).all((1, 2, 3)) & (away - landmark.radius_m <= range_m(landmark, foot, config))
    tall = _height_seen_m(eyes, landmark, top - part * (top - foot), top, away)
    large = _is_large(landmark.radius_m, tall, away, config.view_share, setting)
    if landmark.radius_m == 0:  # of a point the height alone may be known
        large = tall >= 2 * config.view_share * away * setting.half_height
    return np.asarray(shown & large)


def _is_large(radius_m: float, tall_m: FloatArray, away_m: FloatArray, share: float, setting: ViewInputs) -> BoolArray:
    """Whether things take as much of the picture as a square of a share of its width, and are no thin line.

    Args:
        radius_m: half of what a landmark measures across.
        tall_m: (M,) half of what it measures upwards.
        away_m: (M,) its distance.
        share: of the picture's width.
        setting: the camera.
    """
    least = np.maximum(share * away_m * setting.half_width, 1e-9)
    wide, tall = radius_m / least, tall_m / (least * setting.camera.height / setting.camera.width)
    return np.asarray((wide * tall >= 1.0) & (np.minimum(wide, tall) >= THIN_MIN))


def _is_clear(eyes_m: FloatArray, landmark: Landmark, part: float, others: Walls, setting: ViewInputs) -> BoolArray:
    """Whether no other building stands between cameras (M, 3) and the middle of a landmark's upper part: (M,).

    Looked for at its middle and half way to its outline on either side, at its top and where the part ends: of a strip
    nobody knows what it is part of.
    """
    center = np.array(landmark.center)
    way = center - eyes_m[:, :2]
    side = np.column_stack([-way[:, 1], way[:, 0]]) / np.maximum(np.hypot(*way.T), 1e-9)[:, None]
    across = (_outline(landmark) - center) @ side.T  # (k, M)
    half = np.stack([across.min(0), np.zeros(len(side)), across.max(0)]) / 2
    middle = center + half[:, :, None] * side  # (3, M, 2)
    foot = _foot(landmark, setting)
    top = _top(landmark, foot)[0]
    ends = np.unique([top, top - part * (top - foot.min())])
    upper = np.concatenate([np.insert(middle, 2, height, axis=2) for height in ends])
    return np.asarray(_clear_to(eyes_m, upper, others).all(0))


def _clear_to(eyes_m: FloatArray, points_m: FloatArray, others: Walls) -> BoolArray:
    """Whether no other building stands between cameras (M, 3) and points (k, M or 1, 3) on a landmark: (k, M)."""
    eyes, points = np.broadcast_arrays(eyes_m, points_m)
    return is_clear(eyes.reshape(-1, 3), points.reshape(-1, 3), others).reshape(points.shape[:2])


def _is_read(poses: PosesAt, moments: IntArray, landmark: Landmark, others: Walls, setting: ViewInputs) -> BoolArray:
    """Whether the sign that names a landmark can be read at some moments (M,); True for what no sign names.

    It is not known on which wall the sign is, nor how high: one wall that faces the camera must be in the picture from
    end to end, wide enough for the sign's letters, and its upper quarter clear of other buildings.
    """
    sign = landmark.appearance.sign if landmark.appearance else None
    if not sign or landmark.outline is None or not (landmark.label or "").endswith(f'"{sign}"') or not len(moments):
        return np.ones(len(moments), dtype=bool)
    corners = np.array(landmark.outline)
    along = np.roll(corners, -1, axis=0) - corners
    start, end = (corners + share * along for share in (0.05, 0.95))  # a neighbour may touch its corners
    foot = _foot(landmark, setting)
    top = _top(landmark, foot)[0]
    ends = raised(np.concatenate([start, end]), (top - SIGN_HEIGHT * (top - foot.min()), top)).reshape(2, 2, -1, 3)
    eyes = poses.enu_m[moments]
    xy = picture_xy(
        eyes[:, None, None, None],
        poses.heading_deg[moments, None, None, None],
        poses.pitch_deg[moments, None, None, None],
        ends,
        setting.camera.horizontal_fov_deg,
        setting.camera.width / setting.camera.height,
    )  # (M, height, end, wall, 2)
    off = eyes[:, None, :2] - start
    facing = (along[:, 0] * off[..., 1] < along[:, 1] * off[..., 0]) == shapely.is_ccw(shapely.linearrings(corners))
    width = min(setting.camera.width, READ_PX)
    letter = np.abs(xy[:, 1, 1, :, 0] - xy[:, 1, 0, :, 0]) * width / 2 / len(sign)
    able = facing & (np.abs(xy) <= 1).all((1, 2, 4)) & (letter >= setting.config.letter_min_px)
    able &= _clear_to(eyes, ends.reshape(-1, 1, 3), others).reshape(4, -1, len(eyes)).all(0).T
    return np.asarray(able.any(1))


def _height_seen_m(
    eyes: FloatArray, landmark: Landmark, foot: FloatArray, top: FloatArray, away: FloatArray
) -> FloatArray:
    """Half of what a landmark measures upwards across the line of sight (G,): its walls and its ground from above.

    Of the heights that foot and top may have, the least that it may be: something flat, such as a lawn, measures
    nothing for a camera at its own height.
    """
    over = np.abs(eyes[:, 2:] - top).min(1)
    over = np.where((eyes[:, 2] >= top.min()) & (eyes[:, 2] <= top.max()), 0.0, over)
    flat = landmark.radius_m * over / np.maximum(away, 1e-9)
    return np.asarray(flat + np.maximum(top - foot, 0.0).min() / 2)


def _intervals(poses: PosesAt, seen: BoolArray, least_s: float, more_s: float = 0.0) -> tuple[tuple[float, float], ...]:
    """First and last moment of each stretch of one part in which it is seen, of at least ``least_s``.

    ``more_s`` is added at both ends.
    """
    from scipy import ndimage  # takes half a second

    if not seen.any():
        return ()
    found = []
    for number in np.unique(poses.part):
        own = poses.part == number
        labels, _ = ndimage.label(seen & own)
        for (stretch,) in ndimage.find_objects(labels):
            start, end = float(poses.t_s[stretch.start]), float(poses.t_s[stretch.stop - 1])
            if end - start >= least_s - 1e-9:
                found.append((round(start - more_s, 3), round(end + more_s, 3)))
    return tuple(found)


INSIDE_MIN: Final = 0.6  # of a landmark's width times its height: it is in the picture
BOX_MAX: Final = 2.0  # the picture that a landmark may take, in those that it takes at least
CLEAR_MIN: Final = 0.7  # of the points on it: nothing known stands before them
STEADY_MAX_DEG: Final = 5.0  # turn within a second: pose and picture are known to belong together no better
_CLEAR_S: Final = 0.4 - 1e-6  # to either end of a view, which is not known better
_ROUND: Final = 12  # corners of the circle that stands for what has no outline
_HEIGHTS: Final = (0.2, 0.5, 0.9)  # shares of its height at which points lie on a landmark
_INWARDS: Final = 0.9  # of the way from its centre to a corner
_TRIED: Final = 30  # moments, of four times as many that show it largest
_DECIMALS: Final = 3


def best_shot(
    poses: PosesAt, landmark: Landmark, intervals: Sequence[tuple[float, float]], setting: ViewInputs
) -> Shot | None:
    """The best picture of a landmark within the intervals in which it is in view.

    None where there is none, or where it is not known exactly where the nose points, or how high it stands: a box about
    all that it may fill takes at most `BOX_MAX` times the place that it takes at least.
    """
    foot = _foot(landmark, setting)
    if setting.heading_error_deg or np.isnan(foot).any():
        return None
    near = np.zeros(len(poses.t_s), dtype=bool)
    for start, end in intervals:
        near |= (poses.t_s >= start + _CLEAR_S) & (poses.t_s <= end - _CLEAR_S)
    moments = np.flatnonzero(near & steady(poses.t_s, poses.heading_deg, poses.part, 1.0))
    if not len(moments):
        return None
    outline, surely, most = _outline(landmark), _top(landmark, foot), foot.max() + _rise(landmark)[1]
    highest = most if landmark.top_m is None else landmark.top_m
    low, high = _area(poses, moments, raised(outline, sorted({float(foot.min()), highest})), setting)
    least, upper = _area(poses, moments, raised(outline, sorted({float(foot.mean()), float(surely.mean())})), setting)
    whole = np.prod(high - low, axis=1)
    exact = whole <= BOX_MAX * np.prod(upper - least, axis=1) + 1e-9
    low, high = np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)
    size = np.prod(high - low, axis=1)
    # NaN, where a corner lies behind, is not shown.
    shown = np.flatnonzero((size >= np.maximum(INSIDE_MIN * whole, 1e-9)) & exact)
    ranked = shown[np.argsort(-np.round(size[shown], 9), kind="stable")][: 4 * _TRIED : 4]
    inwards = np.array(landmark.center) + _INWARDS * (outline - np.array(landmark.center))
    heights = sorted({float(foot.min() + share * (surely.min() - foot.min())) for share in _HEIGHTS})
    points = raised(np.concatenate([inwards, np.array([landmark.center])]), heights)
    others = setting.others(landmark)
    for row in ranked.tolist():
        eye = np.broadcast_to(poses.enu_m[moments[row]], points.shape)
        if is_clear(eye, points, others).mean() >= CLEAR_MIN:
            (left, bottom), (right, top) = low[row], high[row]
            box = ((1 + left) / 2, (1 - top) / 2, (1 + right) / 2, (1 - bottom) / 2)
            a, b, c, d = (round(float(side), _DECIMALS) for side in box)
            return Shot(second=round(float(poses.t_s[moments[row]]), _DECIMALS), box=(a, b, c, d))
    return None


def steady(t_s: FloatArray, heading_deg: FloatArray, part: IntArray, within_s: float) -> BoolArray:
    """Moments (G,) within so many seconds of which the nose hardly turns and no part of the track begins or ends."""
    step = float(np.median(np.diff(t_s))) if len(t_s) > 1 else 1.0
    swing = np.zeros(len(t_s))
    for shift in range(1, max(1, round(within_s / max(step, 1e-6))) + 1):
        turned = np.abs(turn_between_deg(heading_deg[:-shift], heading_deg[shift:]))
        turned = np.where(part[:-shift] == part[shift:], turned, 180.0)
        swing[:-shift] = np.fmax(swing[:-shift], turned)
        swing[shift:] = np.fmax(swing[shift:], turned)
    return np.asarray(swing <= STEADY_MAX_DEG)


def _area(poses: PosesAt, moments: IntArray, points: FloatArray, setting: ViewInputs) -> tuple[FloatArray, FloatArray]:
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


def raised(outline: FloatArray, heights: Sequence[float]) -> FloatArray:
    """Points (n, 3): an outline (k, 2) at each height."""
    return np.concatenate([np.column_stack([outline, np.full(len(outline), height)]) for height in heights])
