"""A sphere with round dots at known directions, and where they are found in a rendered view.

Neither the renderer's projection nor its sampling takes part: dots are painted by their angle on the sphere, and found
by the mean direction of the light about them, from the pinhole camera's rotation matrix.
"""

import math
from typing import NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.geometry.views import PinholeView, pixels_of, rays_of

SIZE_DEG = 0.6  # standard deviation of a dot's light
REACH = 4.5  # of these: as far as a dot is painted
LOOKED = 3.0  # as far as its light is looked for: beyond, the rounding of the pixels outweighs it
STEP_DEG = 15.0


class Found(NamedTuple):
    """How many dots a view shows whole, and the largest angle between where one is and where it is found."""

    dots: int
    worst_deg: float


def grid() -> FloatArray:
    """Directions (n, 3) east-ish (yaw 90), ahead (yaw 0), up: a grid of yaws and pitches, and the poles."""
    found = [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)]
    for pitch in np.arange(-75.0, 76.0, STEP_DEG):
        for yaw in np.arange(-180.0, 180.0, STEP_DEG * (2 if abs(pitch) > 70 else 1)):
            found.append(toward(float(yaw), float(pitch)))
    return np.array(found)


def toward(yaw_deg: float, pitch_deg: float) -> tuple[float, float, float]:
    """A unit vector."""
    yaw, pitch = math.radians(yaw_deg), math.radians(pitch_deg)
    return math.sin(yaw) * math.cos(pitch), math.cos(yaw) * math.cos(pitch), math.sin(pitch)


def painted(width: int, height: int) -> np.ndarray:
    """The picture (height, width, 3) of the sphere with the dots of `grid`."""
    yaw = ((np.arange(width) + 0.5) / width - 0.5) * 2 * math.pi
    pitch = (0.5 - (np.arange(height) + 0.5) / height) * math.pi
    light = np.zeros((height, width))
    size = math.radians(SIZE_DEG)
    for x, y, z in grid():
        rows = np.flatnonzero(np.abs(pitch - math.asin(z)) < REACH * size)
        level = np.cos(pitch[rows])[:, None]
        ahead = np.sin(yaw) * x + np.cos(yaw) * y
        # The chord, not the angle's cosine, which is flat at 0.
        chord = 2 - 2 * np.clip(level * ahead + np.sin(pitch[rows])[:, None] * z, -1, 1)
        light[rows] += np.exp(-chord / (2 * size * size))
    return np.repeat(np.rint(255 * np.clip(light, 0, 1)).astype(np.uint8)[..., None], 3, axis=2)


def found_in(view: PinholeView, picture: np.ndarray) -> Found:
    """Holds a rendered view (height, width, 3) against the grid."""
    yaw, pitch = math.radians(view.yaw_deg), math.radians(view.pitch_deg)
    ahead = np.array(toward(view.yaw_deg, view.pitch_deg))
    right = np.array([math.cos(yaw), -math.sin(yaw), 0.0])
    up = np.array([-math.sin(yaw) * math.sin(pitch), -math.cos(yaw) * math.sin(pitch), math.cos(pitch)])
    focal = view.width / 2 / math.tan(math.radians(view.fov_deg / 2))
    across = (np.arange(view.width) + 0.5 - view.width / 2) / focal
    rise = (view.height / 2 - np.arange(view.height) - 0.5) / focal
    ray = ahead + across[None, :, None] * right + rise[:, None, None] * up
    far = np.linalg.norm(ray, axis=2, keepdims=True)
    toward_pixel, light = ray / far, picture[..., :1] / far**3  # by the share of the sphere that a pixel covers
    near = math.cos(math.radians(LOOKED * SIZE_DEG))
    worst, dots = 0.0, 0
    for dot in grid():
        depth = float(dot @ ahead)
        if depth < 0.2:
            continue
        x, y = float(dot @ right) / depth, float(dot @ up) / depth
        reach = 1.5 * focal * math.radians(LOOKED * SIZE_DEG) * (1 + x * x + y * y)
        column, row = view.width / 2 + focal * x, view.height / 2 - focal * y
        if not (reach < column < view.width - reach and reach < row < view.height - reach):
            continue
        about = (slice(int(row - reach), int(row + reach)), slice(int(column - reach), int(column + reach)))
        window = toward_pixel[about] @ dot > near
        mean = (toward_pixel[about] * light[about])[window].sum(0)
        error = math.degrees(float(np.linalg.norm(mean / np.linalg.norm(mean) - dot)))
        worst, dots = max(worst, error), dots + 1
    return Found(dots, worst)


_EDGE_POINTS = 33  # of a side of a box of yaw and pitch: its image is curved


class Box(NamedTuple):
    """A box in a view, pixels, edges at the outer sides of its pixels: it may reach beyond the view."""

    left: float
    top: float
    right: float
    bottom: float


def directions_of(view: PinholeView) -> tuple[FloatArray, FloatArray]:
    """Yaw in [-180, 180) and pitch (height, width) at which the pixels look, degrees."""
    right, up, ahead = rays_of(view)
    yaw = np.degrees(np.arctan2(right, ahead)) + view.yaw_deg
    return (yaw + 180.0) % 360.0 - 180.0, np.degrees(np.arctan2(up, np.hypot(right, ahead)))


def box_in(view: PinholeView, yaw_deg: float, width_deg: float, low_deg: float, high_deg: float) -> Box | None:
    """The least box in a view about what lies within ``width_deg`` about a yaw, between two pitches.

    None where a part of it is behind the view's eye.
    """
    share = np.linspace(0.0, 1.0, _EDGE_POINTS)
    yaw, pitch = yaw_deg + (share - 0.5) * width_deg, low_deg + share * (high_deg - low_deg)
    ends = np.full(_EDGE_POINTS, low_deg), np.full(_EDGE_POINTS, high_deg)
    sides = np.full(_EDGE_POINTS, yaw[0]), np.full(_EDGE_POINTS, yaw[-1])
    column, row = pixels_of(view, np.concatenate([yaw, yaw, *sides]), np.concatenate([*ends, pitch, pitch]))
    if np.isnan(column).any():
        return None
    return Box(float(column.min()) + 0.5, float(row.min()) + 0.5, float(column.max()) + 0.5, float(row.max()) + 0.5)
