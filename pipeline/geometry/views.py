"""Perspective views of a sphere: where each of their pixels looks, and where a direction lies in them.

Angles as those of panoramas: yaw clockwise seen from above, 0 at the middle column of the sphere's picture; pitch
upwards. Whole pixel coordinates are the centres of pixels, so the middle of a view is at ((width - 1) / 2,
(height - 1) / 2).
"""

from __future__ import annotations

import math
from typing import Annotated, Final, NamedTuple

import numpy as np
from pydantic import Field, FiniteFloat

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.schema import Model

WIDEST_DEG: Final = 170.0  # a plane at 180 degrees would be endless
MOST_PIXELS: Final = 8192  # of a side
_EDGE_POINTS: Final = 33  # of a side of a box of yaw and pitch: its image is curved


class View(Model):
    """A picture that a pinhole camera takes from the middle of a sphere, upright, with square pixels."""

    yaw_deg: Annotated[FiniteFloat, Field(ge=-180, lt=180)]
    pitch_deg: Annotated[FiniteFloat, Field(ge=-90, le=90)] = 0.0
    fov_deg: Annotated[FiniteFloat, Field(gt=0, le=WIDEST_DEG, description="from left to right")] = 90.0
    width: Annotated[int, Field(gt=0, le=MOST_PIXELS)] = 640
    height: Annotated[int, Field(gt=0, le=MOST_PIXELS)] = 480

    @property
    def focal_px(self) -> float:
        """Focal length, pixels."""
        return self.width / 2 / math.tan(math.radians(self.fov_deg) / 2)

    @property
    def fov_up_deg(self) -> float:
        """Field of view from top to bottom."""
        return math.degrees(2 * math.atan(self.height / 2 / self.focal_px))


class Whole(Model):
    """All of the sphere's picture."""

    long_side: Annotated[int, Field(gt=0)] | None = Field(
        default=None, description="pixels, at most; None: as large as it is"
    )


class Box(NamedTuple):
    """A box in a view, pixels, edges at the outer sides of its pixels: it may reach beyond the view."""

    left: float
    top: float
    right: float
    bottom: float


def turned_deg(yaw_deg: float) -> float:
    """The same yaw in [-180, 180)."""
    turned = (yaw_deg + 180.0) % 360.0 - 180.0
    return -180.0 if turned >= 180.0 else turned  # just below -180 rounds up


def rays_of(view: View) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Right, up and ahead (height, width) of the rays through the pixels, for yaw 0; the pitch is applied.

    They are as long as the pixel is away from the eye, in focal lengths.
    """
    right = (np.arange(view.width) - (view.width - 1) / 2) / view.focal_px
    rise = ((view.height - 1) / 2 - np.arange(view.height)) / view.focal_px
    sin, cos = math.sin(math.radians(view.pitch_deg)), math.cos(math.radians(view.pitch_deg))
    shape = (view.height, view.width)
    up, ahead = sin + cos * rise, cos - sin * rise
    return (
        np.broadcast_to(right, shape),
        np.broadcast_to(up[:, None], shape),
        np.broadcast_to(ahead[:, None], shape),
    )


def directions_of(view: View) -> tuple[FloatArray, FloatArray]:
    """Yaw in [-180, 180) and pitch (height, width) at which the pixels look, degrees."""
    right, up, ahead = rays_of(view)
    yaw = np.degrees(np.arctan2(right, ahead)) + view.yaw_deg
    return (yaw + 180.0) % 360.0 - 180.0, np.degrees(np.arctan2(up, np.hypot(right, ahead)))


def pixels_of(view: View, yaw_deg: FloatArray, pitch_deg: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Column and row (...,) at which directions lie, also beyond the view; NaN for those behind its eye."""
    turn, rise = np.radians(np.asarray(yaw_deg) - view.yaw_deg), np.radians(pitch_deg)
    sin, cos = math.sin(math.radians(view.pitch_deg)), math.cos(math.radians(view.pitch_deg))
    level = np.cos(rise) * np.cos(turn)
    ahead = cos * level + sin * np.sin(rise)
    front = np.where(ahead > 1e-9, ahead, np.nan)
    column = (view.width - 1) / 2 + view.focal_px * np.cos(rise) * np.sin(turn) / front
    row = (view.height - 1) / 2 - view.focal_px * (cos * np.sin(rise) - sin * level) / front
    return column, row


def box_in(view: View, yaw_deg: float, width_deg: float, low_deg: float, high_deg: float) -> Box | None:
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


def is_in(view: View, yaw_deg: FloatArray, pitch_deg: FloatArray) -> BoolArray:
    """Whether directions (...,) lie in a view."""
    column, row = pixels_of(view, yaw_deg, pitch_deg)
    with np.errstate(invalid="ignore"):
        across = (column >= -0.5) & (column < view.width - 0.5)
        return np.asarray(across & (row >= -0.5) & (row < view.height - 0.5))
