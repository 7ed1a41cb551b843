"""Perspective views of a sphere: where each of their pixels looks, and where a direction lies in them.

Angles as those of panoramas: yaw clockwise seen from above, 0 at the middle column of the sphere's picture; pitch
upwards. Whole pixel coordinates are the centres of pixels, so the middle of a view is at ((width - 1) / 2,
(height - 1) / 2).
"""

import math
from typing import Annotated, Final

import numpy as np
from pydantic import Field, FiniteFloat

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.schema import Model

WIDEST_DEG: Final = 170.0  # a plane at 180 degrees would be endless
MOST_PIXELS: Final = 8192  # of a side


class PinholeView(Model):
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


class WholeSphere(Model):
    """All of the sphere's picture."""

    long_side: Annotated[int, Field(gt=0)] | None = Field(
        default=None, description="pixels, at most; None: as large as it is"
    )


def turned_deg(yaw_deg: float) -> float:
    """The same yaw in [-180, 180)."""
    turned = (yaw_deg + 180.0) % 360.0 - 180.0
    return -180.0 if turned >= 180.0 else turned  # just below -180 rounds up


def rays_of(view: PinholeView) -> tuple[FloatArray, FloatArray, FloatArray]:
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


def pixels_of(view: PinholeView, yaw_deg: FloatArray, pitch_deg: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Column and row (...,) at which directions lie, also beyond the view; NaN for those behind its eye."""
    turn, rise = np.radians(np.asarray(yaw_deg) - view.yaw_deg), np.radians(pitch_deg)
    sin, cos = math.sin(math.radians(view.pitch_deg)), math.cos(math.radians(view.pitch_deg))
    level = np.cos(rise) * np.cos(turn)
    ahead = cos * level + sin * np.sin(rise)
    front = np.where(ahead > 1e-9, ahead, np.nan)
    column = (view.width - 1) / 2 + view.focal_px * np.cos(rise) * np.sin(turn) / front
    row = (view.height - 1) / 2 - view.focal_px * (cos * np.sin(rise) - sin * level) / front
    return column, row


def directions_of(view: PinholeView, column: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Yaw and pitch (...,) in degrees of the rays through places of a view: the inverse of `pixels_of`."""
    right = (np.asarray(column) - (view.width - 1) / 2) / view.focal_px
    rise = ((view.height - 1) / 2 - np.asarray(row)) / view.focal_px
    sin, cos = math.sin(math.radians(view.pitch_deg)), math.cos(math.radians(view.pitch_deg))
    up, ahead = sin + cos * rise, cos - sin * rise
    turn = np.degrees(np.arctan2(right, ahead)) + view.yaw_deg
    return (turn + 180.0) % 360.0 - 180.0, np.degrees(np.arctan2(up, np.hypot(right, ahead)))


def is_in(view: PinholeView, yaw_deg: FloatArray, pitch_deg: FloatArray) -> BoolArray:
    """Whether directions (...,) lie in a view."""
    column, row = pixels_of(view, yaw_deg, pitch_deg)
    with np.errstate(invalid="ignore"):
        across = (column >= -0.5) & (column < view.width - 0.5)
        return np.asarray(across & (row >= -0.5) & (row < view.height - 0.5))
