"""Roads that have a name, and streets: the middle lines of what people drive or walk on under the open sky. WGS84."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, note
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.areas import fit_name, other_names
from pipeline.reading.maps.feature import NOT_THERE, MapBounds, mentioned
from pipeline.reading.maps.osm import GONE, OSM_REMEDY, osm_tags, presence_of, sorted_extract

# Values of ``highway`` that are no way one could stand in, or not yet or no longer one.
_NO_ROADS: Final = frozenset(
    {*GONE, "abandoned", "bus_stop", "construction", "corridor", "disused", "elevator", "escape", "platform", "raceway",
     "rest_area", "services", "traffic_island", "via_ferrata"}
)  # fmt: skip
_OUT_OF_SIGHT: Final = {
    "tunnel": frozenset({"yes", "covered"}),
    "indoor": frozenset({"yes"}),
    "location": frozenset({"underground", "indoor"}),
}


@dataclass(frozen=True)
class Road:
    """A way that has a name.

    Attributes:
        name: as its signs have it.
        others: what else it is called.
        classes: the values of its ``highway``, mostly one.
        id: what its file calls it, "way/12".
        by: the file.
        lat_lon: (k, 2) its middle line, degrees.
        nodes: what its file calls the nodes of that line, 0 where it does not.
        is_area: whether the line is the border of a square that one may stand on.
    """

    name: str
    others: tuple[str, ...]
    classes: tuple[str, ...]
    id: str
    by: str
    lat_lon: FloatArray
    nodes: tuple[int, ...]
    is_area: bool = False


def classes_of(tags: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of a road; empty for anything but a road under the open sky. Semicolons separate several."""
    hidden = any(tags.get(key) in values for key, values in _OUT_OF_SIGHT.items())
    if hidden or presence_of(tags, ("highway",)).reason == NOT_THERE:
        return ()
    found = (part.strip() for part in tags.get("highway", "").split(";"))
    return tuple(kind for kind in found if kind and kind not in _NO_ROADS)


def road_of(
    tags: Mapping[str, str], identity: str, by: str, lat_lon: FloatArray, nodes: tuple[int, ...] = ()
) -> Road | None:
    """A way as a road; None for what is none, or has no usable name."""
    classes, name = classes_of(tags), " ".join(tags.get("name", "").split())
    if not classes or not fit_name(name) or len(lat_lon) < 2:
        return None
    closed = len(lat_lon) > 3 and bool((lat_lon[0] == lat_lon[-1]).all())
    is_area = closed and (tags.get("area") == "yes" or tags.get("type") == "multipolygon")
    nodes = nodes or (0,) * len(lat_lon)
    return Road(name, other_names(tags, name), classes, identity, by, lat_lon, nodes, is_area)


# Values of ``highway`` that all call a street, and those that some may: drives, ramps, tracks. Paths are neither.
STREETS: Final = frozenset(
    {"trunk", "primary", "secondary", "tertiary", "unclassified", "residential", "living_street", "pedestrian", "road"}
)
DRIVES: Final = frozenset(
    {"service", "track", "motorway", "motorway_link", "trunk_link", "primary_link", "secondary_link", "tertiary_link",
     "busway"}
)  # fmt: skip
STREET: Final = "street"  # property ``kind`` of a line of a GeoJSON file


@dataclass(frozen=True)
class StreetLine:
    """A street.

    Attributes:
        id: what its file calls it, "way/12".
        name: as its signs have it; None: not known.
        lat_lon: (k, 2) its middle line, degrees.
        sure: whether everybody calls it a street. What lies on a bridge, or above or below the ground, is not sure.
    """

    id: str
    name: str | None
    lat_lon: FloatArray
    sure: bool


def read_streets_of_osm(files: SceneFiles, path: Path, box: MapBounds) -> tuple[StreetLine, ...]:
    """The streets of an extract of which a part lies in a box, in the file's order. Squares are none.

    Raises RawDataError where the file cannot be read.
    """
    import osmium  # of the extra [flights], which scans need not have

    found = []
    try:
        with sorted_extract(path) as extract:
            ways: Any = osmium.FileProcessor(extract, osmium.osm.NODE | osmium.osm.WAY).with_locations()
            for way in ways.with_filter(osmium.filter.KeyFilter("highway")):
                if not way.is_way():
                    continue
                tags = dict(way.tags)
                sure = _is_sure(tags)
                if sure is None:
                    continue
                places = [(n.location.lat, n.location.lon) for n in way.nodes if n.location.valid()]
                line = np.array(places).reshape(-1, 2)
                if len(line) >= 2 and box.holds(line).any():
                    found.append(StreetLine(f"way/{way.id}", _name(tags.get("name")), line, sure))
    except (RuntimeError, ValueError, OSError, osmium.InvalidLocationError) as error:
        message = f"osmium cannot read it: {' '.join(str(error).split())}"
        raise files.fault(path, "unreadable_osm", message, OSM_REMEDY) from error
    return tuple(found)


def _is_sure(tags: Mapping[str, str]) -> bool | None:
    """Whether everybody calls a way of OpenStreetMap a street; None: nobody does."""
    classes = set(classes_of(tags))
    if not classes & (STREETS | DRIVES) or tags.get("area") == "yes":
        return None
    level = all(tags.get(key, "0") == "0" for key in ("layer", "level"))
    is_open = all(tags.get(key, "no") == "no" for key in ("bridge", "covered"))
    return bool(classes & STREETS) and level and is_open and presence_of(tags, ("highway",)).reason is None


def streets_of_geojson(value: dict[str, Any], file: str, findings: Findings) -> tuple[StreetLine, ...]:
    """The streets among the lines of a parsed FeatureCollection, in its order; a note where one has no line.

    They are of the kind "street", or ways with the tags of OpenStreetMap.
    """
    found, broken = [], []
    entries = value.get("features")
    for place, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not is_way(entry):
            continue
        facts = entry["properties"]
        sure = facts.get("sure") is not False if facts.get("kind") == STREET else _is_sure(osm_tags(facts))
        if sure is None:
            continue
        ids = (entry.get("id"), facts.get("id"), facts.get("@id"))
        raw_id = next((raw for raw in ids if isinstance(raw, str | int)), None)
        who = str(raw_id) if raw_id is not None and fit_name(str(raw_id)) else f"street {place}"
        line = _line(entry["geometry"].get("coordinates"))
        if line is None:
            broken.append(who)
        else:
            found.append(StreetLine(who, _name(osm_tags(facts).get("name")), line, sure))
    if broken:
        message = f"{file}: {len(broken)} streets have no line of two points or more: {mentioned(broken)}"
        findings.add(
            note(
                "broken_streets", file, message, "draw them again; they were left out", float(len(broken)), 0.0, "lines"
            )
        )
    return tuple(found)


def is_way(entry: object) -> bool:
    """Whether a feature of a GeoJSON file is the line of a street, or of any way of OpenStreetMap."""
    if not isinstance(entry, dict):
        return False
    facts, geometry = entry.get("properties"), entry.get("geometry")
    if not isinstance(facts, dict) or not isinstance(geometry, dict):
        return False
    of_osm = facts.get("kind") is None and "highway" in osm_tags(facts)
    return geometry.get("type") == "LineString" and (of_osm or facts.get("kind") == STREET)


def _name(raw: object) -> str | None:
    name = " ".join(raw.split()) if isinstance(raw, str) else ""
    return name if fit_name(name) else None


def _line(raw: object) -> FloatArray | None:
    """Positions [longitude, latitude, …] as (k, 2) latitude and longitude; None for what is no line on the earth."""
    if not isinstance(raw, list) or len(raw) < 2 or not all(isinstance(p, list) and len(p) >= 2 for p in raw):
        return None
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for p in raw for v in p[:2]):
        return None
    line = np.array([[p[1], p[0]] for p in raw], dtype=np.float64)
    return line if np.isfinite(line).all() and (np.abs(line).max(0) <= [90.0, 180.0]).all() else None
