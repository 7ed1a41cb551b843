"""Map features in an ENU frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_enu
from pipeline.reading.maps.feature import Feature


class Placed:
    """Features with their outlines in ENU metres and their heights in the flight's frame.

    Heights are differences of altitude, without the curvature of the earth: 8 cm at 1 km.

    Args:
        features: as read.
        origin: of the flight's frame.
        ground_m: up of the ground at take-off; None: not known, and then no height is.

    Attributes:
        outlines: per feature, (k, 2) of each of its polygons.
        distance_m: (F,) of the nearest corner from the origin.
        foot_m: (F,) up of the foot where it is known, else NaN.
        ground_m: (F,) up of the foot, or where it is not known of the ground at take-off.
        top_m: (F,) up of the top; NaN: not known.
    """

    def __init__(self, features: Sequence[Feature], origin: Origin, ground_m: float | None) -> None:
        self.features = tuple(features)
        corners = [outline for f in features for outline in f.outlines]
        lat_lon = np.concatenate(corners) if corners else np.empty((0, 2))
        enu = to_enu(np.column_stack([lat_lon, np.full(len(lat_lon), origin.alt_m or 0.0)]), origin)
        ends = np.cumsum([len(c) for c in corners])
        pieces = iter(np.split(enu, ends[:-1])) if corners else iter(())
        # As the crow flies through the earth: on the other side of it, east and north alone are small again.
        placed = [[next(pieces) for _ in f.outlines] for f in features]
        self.distance_m = np.array([min(np.linalg.norm(o, axis=1).min() for o in outlines) for outlines in placed])
        self.outlines = [[o[:, :2] for o in outlines] for outlines in placed]
        takeoff = np.nan if ground_m is None else ground_m
        # A height above sea level is of use only where the flight's is known.
        sea = np.nan if origin.alt_m is None else -origin.alt_m
        datum = np.array([sea if f.datum == "sea" else takeoff for f in features])
        self.foot_m = datum + np.array([f.foot_m for f in features])
        self.assumed: BoolArray = np.isnan(self.foot_m)
        self.ground_m = np.where(self.assumed, takeoff, self.foot_m)
        self.top_m = self.ground_m + np.array([f.height_m for f in features])


def circle_about(corners: FloatArray) -> tuple[tuple[float, float], float]:
    """Centre and radius of the smallest circle about some corners (k, 2)."""
    if len(corners) == 1:
        return (float(corners[0, 0]), float(corners[0, 1])), 0.0
    points = shapely.MultiPoint(corners)
    center = shapely.minimum_bounding_circle(points).centroid
    return (float(center.x), float(center.y)), float(shapely.minimum_bounding_radius(points))
