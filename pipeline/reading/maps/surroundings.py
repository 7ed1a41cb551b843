"""What maps have around a place: things, streets, and how much of what there is they have."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings, note
from pipeline.core.schema import Finding, Origin
from pipeline.geometry.geodesy import to_plane
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.maps.checks import apart, plausible, unique
from pipeline.reading.maps.city_thing import SHOP, CityThing, KindCoverage
from pipeline.reading.maps.feature import METRES_PER_DEGREE, Feature, MapBounds, PlacedFeature
from pipeline.reading.maps.gazetteer import Stamped
from pipeline.reading.maps.map_quality import coverage_of, once, with_errors
from pipeline.reading.maps.read import read_streets
from pipeline.reading.maps.streets import StreetLine
from pipeline.reading.maps.things import on_facades, places_of, read_features, things_of, with_parts

TILE_DEG: Final = 0.02  # of latitude: panoramas of one tile share what is read
AROUND_M: Final = 600.0  # beyond the tile
FILE_MAX: Final = 256 << 20  # bytes: a larger extract is read for minutes, once for each tile


class MapSurroundings(NamedTuple):
    """What maps have about an origin, ENU metres.

    Attributes:
        origin: of the frame.
        things: by id.
        streets: name, line (k, 2), and whether it is surely a street.
        coverage: by kind and area.
        covered: the convex hull of all things.
    """

    origin: Origin
    things: tuple[CityThing, ...]
    streets: tuple[tuple[str | None, FloatArray, bool], ...]
    coverage: tuple[KindCoverage, ...]
    covered: shapely.Geometry


def surroundings_of(
    maps: Sequence[Stamped], lat_deg: float, lon_deg: float
) -> tuple[MapSurroundings, tuple[Finding, ...]]:
    """What maps have around a place, and their findings about it."""
    return _read(tuple(maps), round(lat_deg / TILE_DEG), round(lon_deg / TILE_DEG))


@lru_cache(maxsize=2)
def _read(maps: tuple[Stamped, ...], lat_tile: int, lon_tile: int) -> tuple[MapSurroundings, tuple[Finding, ...]]:
    origin = Origin(lat_deg=lat_tile * TILE_DEG, lon_deg=lon_tile * TILE_DEG, alt_m=None)
    half = TILE_DEG / 2 + AROUND_M / METRES_PER_DEGREE
    narrow = max(float(np.cos(np.radians(min(abs(origin.lat_deg) + half, 89.0)))), 0.01)
    box = MapBounds(origin.lat_deg, origin.lon_deg, half, TILE_DEG / 2 + AROUND_M / METRES_PER_DEGREE / narrow)
    findings, ignored = Findings(), Findings()
    features: list[Feature] = []
    numbered: list[Feature] = []
    lines: list[StreetLine] = []
    for one in maps:
        path = Path(one.path)
        if path.name.lower().startswith(("countries", "cities")):
            continue
        if one.size > FILE_MAX:
            message = f"{path.name} has {one.size >> 20} MiB, over {FILE_MAX >> 20}: no landmarks were read from it"
            remedy = "cut out the places of the panoramas (osmium extract)"
            findings.add(note("map_too_large", "map", message, remedy, float(one.size), float(FILE_MAX), "bytes"))
            continue
        files = SceneFiles(path.parent, SceneRef(f"maps/{path.name}", (path.name,), ""))
        try:
            own, own_numbers = read_features(files, path, box, ignored)
            lines += read_streets(files, path, box, ignored)
        except RawDataError:  # of which the gazetteer has told
            continue
        features += own
        numbered += own_numbers
    things = plausible(unique(_things(features, origin), "maps", ignored), "maps", ignored)
    things = on_facades(apart(things, "maps", ignored))
    things = once(with_errors(things, things), SHOP, "maps", ignored)
    coverage = coverage_of(things, places_of(PlacedFeature(numbered, origin, 0.0)), SHOP)
    points = [point for thing in things for point in thing.outline or (thing.center,)]
    streets = tuple((line.name, to_plane(line.lat_lon, origin), line.sure) for line in lines)
    kept = tuple(sorted(things, key=lambda thing: thing.id))
    hull = shapely.MultiPoint(points).convex_hull
    return MapSurroundings(origin, kept, streets, coverage, hull), tuple(findings.items)


def _things(features: Sequence[Feature], origin: Origin) -> list[CityThing]:
    placed = PlacedFeature(features, origin, 0.0)
    return with_parts(things_of(placed, "maps", Findings()), placed)
