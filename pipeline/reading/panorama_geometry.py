"""What a panorama is observed by, as a reader hands it on: pixels, depth and maps, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Finding
from pipeline.reading.maps.gazetteer import Gazetteer

Color = Callable[[], npt.NDArray[np.uint8] | None]


@dataclass(frozen=True)
class Twin:
    """Another panorama that was taken nearby, or whose file is as long; it comes before this one by its id.

    Attributes:
        id: of its scene.
        color: (h, w, 3) uint8 RGB; None where it cannot be decoded.
    """

    id: str
    color: Color


@dataclass(frozen=True)
class PanoramaGeometry:
    """What a panorama is observed by.

    Attributes:
        color: (h, w, 3) uint8 RGB; None where it cannot be decoded.
        depth_m: (h, w) metres from the camera's centre, NaN where not known; None where there is none.
        gazetteer: roads and areas of the maps, and what is wrong with these; None where there are no maps.
        twins: what it may be a near-duplicate of.
    """

    color: Color
    depth_m: Callable[[], FloatArray | None]
    gazetteer: Callable[[], tuple[Gazetteer, tuple[Finding, ...]] | None]
    twins: tuple[Twin, ...] = ()
