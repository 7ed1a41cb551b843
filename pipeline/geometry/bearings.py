"""Directions from an airborne observer to a point: bearing, place in the camera's picture, distance.

Frame: ENU metres. Headings are compass angles of the nose, clockwise from north. All inputs broadcast over their
leading dimensions, so that poses (N, 1, 3) against targets (T, 3) give (N, T). What is unknown (NaN) stays NaN.
"""

import numpy as np

from pipeline.core.arrays import FloatArray


def compass_deg(east_north: FloatArray) -> FloatArray:
    """Compass direction of vectors (..., 2 or 3): (...,) in [0, 360), clockwise from north; NaN for a zero vector."""
    east, north = east_north[..., 0], east_north[..., 1]
    angle = np.degrees(np.arctan2(east, north)) % 360.0
    angle = np.where(angle == 360.0, 0.0, angle)  # -1e-17 % 360 rounds up to 360
    return np.where((east == 0) & (north == 0), np.nan, angle)


def turn_between_deg(before_deg: FloatArray, after_deg: FloatArray) -> FloatArray:
    """Shortest turn from one compass angle to another: (...,) in (-180, 180], clockwise (right) positive."""
    turn = 180.0 - (180.0 - (after_deg - before_deg)) % 360.0
    return np.where(turn == -180.0, 180.0, turn)  # -1e-14 % 360 rounds up to 360


def relative_bearing_deg(enu_m: FloatArray, heading_deg: FloatArray, target_m: FloatArray) -> FloatArray:
    """Bearing of a target off the nose, in (-180, 180], right positive; NaN straight above or below it.

    Args:
        enu_m: (..., 2 or 3) of the drone.
        heading_deg: (...,) of its nose.
        target_m: (..., 2 or 3).
    """
    return turn_between_deg(heading_deg, compass_deg(target_m[..., :2] - enu_m[..., :2]))


def distance_m(enu_m: FloatArray, target_m: FloatArray) -> FloatArray:
    """Straight distance (...,) of points (..., 3); over ground alone where one of the two is (..., 2)."""
    axes = min(enu_m.shape[-1], target_m.shape[-1])
    squared = (target_m[..., :axes] - enu_m[..., :axes]) ** 2
    return np.asarray(np.sqrt(sum((squared[..., i] for i in range(1, axes)), start=squared[..., 0])))


def picture_xy(
    enu_m: FloatArray,
    heading_deg: FloatArray,
    pitch_deg: FloatArray,
    target_m: FloatArray,
    horizontal_fov_deg: float,
    aspect: float,
) -> FloatArray:
    """Picture coordinates (..., 2) of a target, also beyond the edges; NaN behind the camera.

    A pinhole camera that looks along the nose and does not roll (a gimbal holds it level). x runs right and y runs up;
    the picture's edges are at -1 and 1.

    Args:
        enu_m: (..., 3) of the drone, metres.
        heading_deg: (...,) of the nose, degrees clockwise from north.
        pitch_deg: (...,) of the camera, degrees: 0 level, -90 straight down.
        target_m: (..., 3), metres.
        horizontal_fov_deg: between the left and the right edge, in (0, 180).
        aspect: width over height.
    """
    east, north, up = np.moveaxis(target_m - enu_m, -1, 0)
    yaw, pitch = np.radians(heading_deg), np.radians(pitch_deg)
    level = east * np.sin(yaw) + north * np.cos(yaw)  # along the nose, over ground
    ahead = level * np.cos(pitch) + up * np.sin(pitch)
    above = up * np.cos(pitch) - level * np.sin(pitch)
    right = east * np.cos(yaw) - north * np.sin(yaw)
    half_width = ahead * np.tan(np.radians(horizontal_fov_deg) / 2)
    half_width = np.where(ahead > 0, half_width, np.nan)
    return np.stack([right / half_width, above * aspect / half_width], axis=-1)


def in_picture(
    enu_m: FloatArray,
    heading_deg: FloatArray,
    pitch_deg: FloatArray,
    target_m: FloatArray,
    horizontal_fov_deg: float,
    aspect: float,
) -> FloatArray:
    """As `picture_xy`, but NaN outside the picture: (..., 2) in [-1, 1], or both NaN."""
    xy = picture_xy(enu_m, heading_deg, pitch_deg, target_m, horizontal_fov_deg, aspect)
    return np.where((np.abs(xy) <= 1).all(-1, keepdims=True), xy, np.nan)
