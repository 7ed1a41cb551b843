"""How sharp a panorama is: the variance of the Laplacian, of views as one looks at them.

Pech-Pacheco and others, "Diatom autofocusing in brightfield microscopy", 2000. The equirectangular picture itself is
stretched about the poles and would seem blurred there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.geometry.views import View, rays_of

SIDE: Final = 512  # pixels of a view of 90 degrees
YAWS_DEG: Final = (0.0, 90.0, 180.0, 270.0)
_WIDTH: Final = 2048  # of the sphere, to whose detail a view of so many pixels comes


def sharpness_of(color: npt.NDArray[np.uint8]) -> float:
    """The median over four level views of the variance of their Laplacian, grey levels².

    Args:
        color: (h, w, 3) of a whole sphere. It is reduced to about 2,048 columns, so that one limit holds for all sizes.
    """
    from scipy.ndimage import laplace, map_coordinates  # takes a third of a second to import

    grey = Image.fromarray(color).convert("L")
    small = np.asarray(grey.reduce(max(1, grey.width // _WIDTH)), dtype=np.float32)
    row, column = _places(*small.shape)
    wrapped = np.concatenate([small, small[:, :1]], axis=1)
    found = []
    for yaw in YAWS_DEG:
        at = (column + yaw / 360.0 * small.shape[1]) % small.shape[1]
        view = map_coordinates(wrapped, [row, at], order=1, mode="nearest")
        found.append(float(laplace(view)[1:-1, 1:-1].var(dtype=np.float64)))
    return float(np.median(found))


@lru_cache(maxsize=4)
def _places(height: int, width: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Row and column (`SIDE`, `SIDE`) of a level view at yaw 0 in a picture of the whole sphere."""
    right, up, ahead = rays_of(View(yaw_deg=0.0, width=SIDE, height=SIDE))
    column = (np.arctan2(right, ahead) / (2 * np.pi) + 0.5) * width - 0.5
    row = (0.5 - np.arctan2(up, np.hypot(right, ahead)) / np.pi) * height - 0.5
    return row.astype(np.float32), column.astype(np.float32)
