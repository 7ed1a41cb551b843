"""What the vehicle that carried the camera hides, as a share of the lower half of the sphere.

With depth and the camera's height: what reaches from straight below outward, stands above the ground and is near.
Without: what reaches from straight below outward in one colour with an edge all around, as a roof, a patch or a blur
has; ground of one colour goes on to the horizon and tells nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.arrays import BoolArray, FloatArray

WIDTH: Final = 360  # columns of the small picture: a degree each, as its rows
HEIGHT: Final = 180
_ABOVE_GROUND_M: Final = 0.3
_NEAR_M: Final = 3.5  # over ground: no car reaches farther from its middle
_ALIKE: Final = 24.0  # grey levels of the channel that differs most
_MIDDLE_DEG: Final = 5.0  # about straight below, whose colour is that of the vehicle
_EDGE_DEG: Final = -20.0  # a roof ends below this pitch
_LEAK: Final = 0.1  # of all directions: where so many reach above it, this is ground


def by_depth(depth_m: FloatArray, camera_height_m: float) -> float:
    """The share, from distances (h, w) of a whole sphere in metres, NaN where not known."""
    rows = depth_m.shape[0]
    pitch = _pitch_rad(rows)[rows // 2 :, None]
    lower = depth_m[rows // 2 :]
    with np.errstate(invalid="ignore"):
        near = (lower * np.cos(pitch) < _NEAR_M) & (camera_height_m + lower * np.sin(pitch) > _ABOVE_GROUND_M)
    return _share(near)


def by_colour(color: npt.NDArray[np.uint8]) -> float | None:
    """The share, from a picture (h, w, 3) of a whole sphere; None where what is below has no edge."""
    small = Image.fromarray(color).resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    lower = np.asarray(small, dtype=np.float64)[HEIGHT // 2 :]
    middle = np.median(lower[-int(_MIDDLE_DEG) :].reshape(-1, 3), axis=0)
    alike = np.abs(lower - middle).max(-1) <= _ALIKE
    reaching = _from_below(alike)
    edge = int(-_EDGE_DEG)  # rows from the horizon
    if reaching[edge].mean() > _LEAK:
        return None
    return _share(alike)


def _share(hidden: BoolArray) -> float:
    """Of the lower half of the sphere (h, w), of what is hidden from straight below outward."""
    rows = len(hidden)
    weight = np.cos(_pitch_rad(2 * rows)[rows:])
    return float((_from_below(hidden) * weight[:, None]).sum() / (weight.sum() * hidden.shape[1]))


def _from_below(mask: BoolArray) -> BoolArray:
    """Of each column what goes on from its lowest row without a gap."""
    return np.asarray(np.logical_and.accumulate(mask[::-1], axis=0)[::-1])


def _pitch_rad(rows: int) -> FloatArray:
    """Of the middle of each row of a whole sphere."""
    return np.pi * (0.5 - (np.arange(rows) + 0.5) / rows)
