"""What of a map a picture can be asked about, as upright prisms: built things of which the outline is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.geometry.tracks import Buildings
from pipeline.reading.maps.nouns import COLOURED
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.look.painted import Prisms
from pipeline.worlds.flight.observe.views import TALLEST_M


class Things(NamedTuple):
    """Landmarks by their indices, and the prisms of all that stands, theirs first."""

    landmarks: tuple[int, ...]
    prisms: Prisms


def things_of(landmarks: Sequence[Landmark], buildings: Buildings, ground_m: float) -> Things:
    """What may be asked about, and what may hide it; what has no known foot stands on the ground at take-off."""
    asked = tuple(i for i, mark in enumerate(landmarks) if _is_askable(mark, ground_m))
    marks = [landmarks[i] for i in asked]
    rest = _others(marks, buildings)
    base = np.where(np.isnan(buildings.base_m[rest]), ground_m, buildings.base_m[rest])
    outlines = (*(np.array(mark.outline) for mark in marks), *(buildings.outlines[i] for i in rest))
    own_base = [ground_m if mark.base_m is None else mark.base_m for mark in marks]
    own_top = [np.nan if mark.top_m is None else mark.top_m for mark in marks]
    heights = np.concatenate([own_base, base]), np.concatenate([own_top, buildings.top_m[rest]])
    return Things(asked, Prisms(outlines, *heights, TALLEST_M))


def _is_askable(mark: Landmark, ground_m: float) -> bool:
    known = mark.outline is not None and len(mark.outline) > 2
    return bool(known and mark.look and mark.look.noun in COLOURED and np.isfinite(_foot(mark, ground_m)))


def _foot(mark: Landmark, ground_m: float) -> float:
    return ground_m if mark.base_m is None else mark.base_m


def _others(marks: Sequence[Landmark], buildings: Buildings) -> list[int]:
    """The buildings that are none of the landmarks."""
    if not buildings.outlines:
        return []
    shapes = np.array([_shape(outline) for outline in buildings.outlines], dtype=object)
    centers = shapely.points(np.array([mark.center for mark in marks], dtype=np.float64).reshape(-1, 2))
    own = set(shapely.STRtree(shapes).query(centers, predicate="intersects")[1].tolist()) if len(marks) else set()
    return [i for i in range(len(shapes)) if i not in own]


def _shape(outline: FloatArray) -> shapely.Geometry:
    return shapely.make_valid(shapely.Polygon(outline)) if len(outline) > 2 else shapely.Polygon()
