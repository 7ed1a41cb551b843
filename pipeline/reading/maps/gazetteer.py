"""Names of a place from map files: the country and city whose polygons contain it, and the roads near it.

Map files are OpenStreetMap extracts and GeoJSON. Of GeoJSON, polygons of a file ``countries*.geojson`` are countries
and those of ``cities*.geojson`` cities; else their properties tell, as the tags of OpenStreetMap do. Lines with
``highway`` and ``name`` are roads.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.files import read_file, size_of_file
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Finding, Origin
from pipeline.geometry.geodesy import offsets_m, to_plane
from pipeline.reading.maps.areas import CITY, COUNTRY, Area, Kind, area_of
from pipeline.reading.maps.feature import METRES_PER_DEGREE
from pipeline.reading.maps.osm import sorted_extract
from pipeline.reading.maps.read import OSM_SUFFIXES
from pipeline.reading.maps.streets import Road, road_of

SUFFIXES: Final = (*OSM_SUFFIXES, ".geojson")
BORDER_MAX_M: Final = 100_000.0  # a border that is farther off is not measured: the plane would not hold
_GEOJSON_MAX: Final = 1 << 30
_KEYS: Final = ("highway", "boundary", "place", "border_type")


class NearbyRoads(NamedTuple):
    """A road near a place."""

    road: Road
    distance_m: float


class ContainingArea(NamedTuple):
    """An area that holds a place."""

    area: Area
    border_m: float


class Gazetteer:
    """Roads and areas of some maps.

    Args:
        roads: those with a name.
        areas: countries and cities.
    """

    def __init__(self, roads: Sequence[Road], areas: Sequence[Area]) -> None:
        self.roads = tuple(roads)
        self.areas = tuple(areas)
        # Each line goes on across the 180th meridian, not back around the earth.
        turned = [np.unwrap(road.lat_lon[:, ::-1], period=360.0, axis=0) for road in self.roads]
        self._lines = shapely.STRtree([shapely.LineString(line) for line in turned])
        self._polygons = shapely.STRtree([area.polygon for area in self.areas])

    def near(self, lat_deg: float, lon_deg: float, radius_m: float) -> list[NearbyRoads]:
        """The roads within a radius, the nearest first; the distance is that to the middle line, 0 on a square."""
        high = radius_m / METRES_PER_DEGREE
        wide = min(high / max(np.cos(np.radians(min(abs(lat_deg) + high, 89.9))), 1e-3), 180.0)
        turns = (lon_deg - 360.0, lon_deg, lon_deg + 360.0)  # a box may lie across the 180th meridian
        boxes = [shapely.box(lon - wide, lat_deg - high, lon + wide, lat_deg + high) for lon in turns]
        found = []
        origin = Origin(lat_deg=lat_deg, lon_deg=lon_deg, alt_m=None)
        for i in np.unique(self._lines.query(boxes)[1]).tolist():
            road = self.roads[i]
            enu = to_plane(road.lat_lon, origin)
            shape = shapely.Polygon(enu) if road.is_area else shapely.LineString(enu)
            away = float(shapely.distance(shape, shapely.Point(0.0, 0.0)))
            if away <= radius_m:
                found.append(NearbyRoads(road, away))
        return sorted(found, key=lambda near: (near.distance_m, near.road.id))

    def within(self, lat_deg: float, lon_deg: float, kind: Kind) -> list[ContainingArea]:
        """The areas of a kind that hold a place, the smallest first, with the distance to their borders."""
        point = shapely.Point(lon_deg, lat_deg)
        held = [i for i in self._polygons.query(point, predicate="covered_by").tolist() if self.areas[i].kind == kind]
        held.sort(key=lambda i: (self.areas[i].polygon.area, self.areas[i].by))
        return [ContainingArea(self.areas[i], _border_m(self.areas[i].polygon, lat_deg, lon_deg)) for i in held]

    def knows(self, kind: Kind) -> bool:
        """Whether it has any area of a kind."""
        return any(area.kind == kind for area in self.areas)


def _border_m(polygon: Any, lat_deg: float, lon_deg: float) -> float:
    """Distance to a polygon's border on a sphere about the place, `BORDER_MAX_M` at most."""
    about = np.array([lat_deg, lon_deg])
    border = shapely.transform(polygon.boundary, lambda at: offsets_m(at[:, ::-1], about))
    return min(float(shapely.distance(border, shapely.Point(0.0, 0.0))), BORDER_MAX_M)


class Stamped(NamedTuple):
    """A map file, and what tells whether it is still the same."""

    path: str
    size: int
    changed_ns: int


def stamped(path: Path) -> Stamped:
    """A file with its stamp. Raises OSError."""
    stat = path.stat()
    return Stamped(str(path), stat.st_size, stat.st_mtime_ns)


def maps_in(folder: Path) -> tuple[Path, ...]:
    """The map files of a folder by name, hidden ones apart; none where there is no folder."""
    if not folder.is_dir():
        return ()
    files = (path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith("."))
    return tuple(path for path in files if path.name.lower().endswith(SUFFIXES))


@lru_cache(maxsize=2)  # a worker reads the maps of its root once
def read_gazetteer(maps: tuple[Stamped, ...]) -> tuple[Gazetteer, tuple[Finding, ...]]:
    """The gazetteer of some map files and its findings; a file that cannot be read is left out with a doubt."""
    roads: list[Road] = []
    areas: list[Area] = []
    found = Findings()
    for one in maps:
        path = Path(one.path)
        try:
            size_of_file(path)  # raises for a pipe, at which a library would wait
            reader = _osm if path.name.lower().endswith(OSM_SUFFIXES) else _geojson
            own_roads, own_areas = reader(path, found)
        except (OSError, RuntimeError, ValueError, RecursionError) as error:
            cause = " ".join(str(getattr(error, "strerror", None) or error).split())[:300]
            found.add(doubt("map_unreadable", "map", f"{path.name} cannot be read: {cause}", "fetch the map again"))
            continue
        roads += own_roads
        areas += own_areas
        if not own_roads and not own_areas:
            message = f"{path.name} has no roads with names, no countries and no cities"
            found.add(note("map_without_places", "map", message, "is this the right file?"))
    return Gazetteer(roads, areas), tuple(found.items)


def _osm(path: Path, found: Findings) -> tuple[list[Road], list[Area]]:
    import osmium  # of the extra [flights], which GeoJSON does not need

    roads, areas = [], []
    with sorted_extract(path) as extract:
        things: Any = osmium.FileProcessor(extract).with_locations().with_areas()
        for thing in things.with_filter(osmium.filter.KeyFilter(*_KEYS)):
            tags = dict(thing.tags)
            if thing.is_way() and "highway" in tags:
                places = [(n.location.lat, n.location.lon, n.ref) for n in thing.nodes if n.location.valid()]
                at = np.array([place[:2] for place in places]).reshape(-1, 2)
                road = road_of(tags, f"way/{thing.id}", path.name, at, tuple(place[2] for place in places))
                roads += [road] if road is not None else []
            elif thing.is_area() and "highway" in tags:
                if not thing.from_way():  # ways were read as such
                    lines = [np.array([(n.lat, n.lon) for n in ring]) for ring in thing.outer_rings()]
                    tags["type"] = "multipolygon"  # which osmium takes away
                    names = [road_of(tags, f"relation/{thing.orig_id()}", path.name, line) for line in lines]
                    roads += [road for road in names if road is not None]
            elif thing.is_area() and thing.num_rings()[0]:
                by = f"{path.name} {'way' if thing.from_way() else 'relation'}/{thing.orig_id()}"
                rings = [
                    (
                        [(n.lon, n.lat) for n in outer],
                        [[(n.lon, n.lat) for n in inner] for inner in thing.inner_rings(outer)],
                    )
                    for outer in thing.outer_rings()
                ]
                area = area_of(tags, shapely.MultiPolygon(rings), by)
                areas += [area] if area is not None else []
    return roads, areas


def _geojson(path: Path, found: Findings) -> tuple[list[Road], list[Area]]:
    value = json.loads(read_file(path, _GEOJSON_MAX))
    entries = value.get("features") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise ValueError("it is no FeatureCollection")  # noqa: TRY004 - of what a file holds
    kinds: dict[str, Kind] = {"countries": COUNTRY, "cities": CITY}
    kind = next((kind for name, kind in kinds.items() if path.name.lower().startswith(name)), None)
    roads: list[Road] = []
    areas: list[Area] = []
    broken = 0
    for place, entry in enumerate(entries):
        try:
            geometry = shapely.from_geojson(json.dumps(entry["geometry"]))
            properties = dict(entry["properties"] or {})
        except (KeyError, TypeError, ValueError, shapely.errors.ShapelyError):
            broken += 1
            continue
        if geometry is None or geometry.is_empty:
            continue
        identity = str(properties.get("@id") or entry.get("id") or place)[:80]
        if geometry.geom_type == "LineString":
            words = {key: item for key, item in properties.items() if isinstance(item, str)}
            road = road_of(words, identity, path.name, shapely.get_coordinates(geometry)[:, ::-1])
            roads += [road] if road is not None else []
        elif geometry.geom_type in {"Polygon", "MultiPolygon"}:
            area = area_of(properties, shapely.make_valid(geometry), f"{path.name} {identity}", kind)
            areas += [area] if area is not None else []
    if broken:
        message = f"{path.name}: {broken} of {len(entries)} features have no usable geometry and were left out"
        found.add(note("broken_features", "map", message, "draw them again", float(broken), 0.0, "features"))
    return roads, areas
