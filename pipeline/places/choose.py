"""Which places of a city: those with the highest score that keep a distance from one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_enu, to_lat_lon_alt
from pipeline.places.cities import City
from pipeline.places.score import centre_score, class_score, road_score
from pipeline.reading.maps.roads import Road

STEP_M: Final = 25.0  # along a road: long straight ones have few nodes
SAME_ROAD_M: Final = 60.0  # on one street no two places are nearer: both directions of a road are one
_DECIMALS: Final = 9  # of scores, so that what is equal is so on every processor
_DEGREES: Final = 7  # decimals of places: 1 cm


@dataclass(frozen=True)
class Spot:
    """A place to take or fetch a panorama.

    Attributes:
        city: that it stands for.
        lat_deg: WGS84.
        lon_deg: likewise.
        street: name of the road.
        highway: the class of the road that counted.
        way: what the map calls the road.
        centre_m: distance from the city's centre.
        centre_score: S_d.
        class_score: S_l.
        score: P_r.
    """

    city: City
    lat_deg: float
    lon_deg: float
    street: str
    highway: str
    way: str
    centre_m: float
    centre_score: float
    class_score: float
    score: float


def choose(city: City, roads: Sequence[Road], radius_m: float, spacing_m: float, most: int) -> list[Spot]:
    """At most so many places of a city, the best first; between any two of them lies the spacing.

    Args:
        city: its centre is the middle.
        roads: of the map; each way counts once, though several files have it.
        radius_m: about the centre.
        spacing_m: least distance over ground.
        most: how many.
    """
    usable = [(road, own) for road in _once(roads) if (own := class_score(road.classes)) is not None]
    if not usable or most < 1:
        return []
    origin = Origin(lat_deg=city.lat_deg, lon_deg=city.lon_deg, alt_m=None)
    points, owner = _points([road for road, _ in usable], origin, radius_m)
    if not len(points):
        return []
    away = np.hypot(*points.T)
    near = centre_score(away, radius_m)
    kind = np.array([own for _, own in usable])[owner]
    score = np.round(road_score(near, kind), _DECIMALS)
    lat_lon = np.round(to_lat_lon_alt(np.column_stack([points, np.zeros(len(points))]), origin)[:, :2], _DEGREES)
    ids = np.array([road.id for road, _ in usable])[owner]
    streets = np.unique([road.name.casefold() for road, _ in usable], return_inverse=True)[1][owner]
    order = np.lexsort((ids, lat_lon[:, 1], lat_lon[:, 0], -score))
    free = np.ones(len(order), dtype=bool)
    spots: list[Spot] = []
    while len(spots) < most and free.any():
        i = int(order[free[order].argmax()])
        gap = np.hypot(*(points - points[i]).T)
        free &= gap >= spacing_m
        free &= (gap >= SAME_ROAD_M) | (streets != streets[i])
        free[i] = False
        road = usable[owner[i]][0]
        spots.append(
            Spot(
                city=city,
                lat_deg=float(lat_lon[i, 0]),
                lon_deg=float(lat_lon[i, 1]),
                street=road.name,
                highway=max(road.classes, key=lambda kind: (class_score((kind,)) or 0.0, kind)),
                way=road.id,
                centre_m=round(float(away[i]), 1),
                centre_score=round(float(near[i]), 6),
                class_score=float(kind[i]),
                score=round(float(score[i]), 6),
            )
        )
    return spots


def _once(roads: Sequence[Road]) -> list[Road]:
    return list({(road.id, road.lat_lon.tobytes()): road for road in roads}.values())


def _points(roads: Sequence[Road], origin: Origin, radius_m: float) -> tuple[FloatArray, np.ndarray]:
    """Places (n, 2) along roads within a radius, ENU metres, and the road of each."""
    found, owner = [np.empty((0, 2))], [np.empty(0, dtype=np.intp)]
    for number, road in enumerate(roads):
        line = to_enu(np.column_stack([road.lat_lon, np.zeros(len(road.lat_lon))]), origin)[:, :2]
        if np.hypot(*line.T).min() > radius_m + np.hypot(*np.diff(line, axis=0).T).max():
            continue
        points = _along(line)
        points = points[np.hypot(*points.T) <= radius_m]
        found.append(points)
        owner.append(np.full(len(points), number))
    return np.concatenate(found), np.concatenate(owner)


def _along(line: FloatArray) -> FloatArray:
    """The nodes of a line (k, 2), and as many places between them that none is farther than `STEP_M` from the next."""
    length = np.hypot(*np.diff(line, axis=0).T)
    steps = np.maximum(np.ceil(length / STEP_M).astype(np.intp), 1)
    leg = np.repeat(np.arange(len(steps)), steps)
    share = (np.arange(len(leg)) - np.repeat(np.cumsum(steps) - steps, steps)) / steps[leg]
    return np.concatenate([line[leg] + share[:, None] * (line[leg + 1] - line[leg]), line[-1:]])
