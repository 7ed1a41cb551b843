"""The surroundings of a flight: landmarks and buildings from map files, placed in the flight's frame.

Landmarks and footprints in GeoJSON (RFC 7946): a FeatureCollection of points, polygons and multipolygons, WGS84.
Properties: ``name``, ``kind``, ``height_m`` (top above foot) and ``base_m`` (foot above the ground at take-off); what
is seen of a thing: ``colour``, ``roof_colour``, ``roof_shape``, ``levels`` and ``sign``, the words that can be read on
it; others are ignored. Holes of a polygon are filled: what stands behind a courtyard is hidden all the same.

A feature without ``kind`` that has tags of OpenStreetMap (``building=yes``, ``shop=bakery``), as properties or under
``tags``, is read as an extract would be: that is how Overpass Turbo, osmtogeojson and QGIS write one.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.appearance import LEVELS
from pipeline.reading.maps.cityjson import MODEL, read_cityjson
from pipeline.reading.maps.feature import (
    HEIGHT_MAX_M,
    METRES_PER_DEGREE,
    PERHAPS,
    FaultTally,
    Feature,
    MapBounds,
    named,
    usable_name,
)
from pipeline.reading.maps.osm import KINDS, height_of, kind_of, osm_tags, presence_of, read_osm, telling
from pipeline.reading.maps.streets import StreetLine, is_way, read_streets_of_osm, streets_of_geojson

OSM_SUFFIXES: Final = (".pbf", ".osm", ".osm.gz", ".osm.bz2")


def read_context(
    files: SceneFiles,
    path: Path,
    box: MapBounds,
    walls: bool,
    findings: Findings,
    keys: Sequence[str] = KINDS,
    told: Sequence[str] = (),
) -> tuple[Feature, ...]:
    """The features of a map file of any format; of a city's map only those in a box.

    A GeoJSON file is someone's choice of landmarks and is given whole.

    Args:
        files: opens, digests and names the file.
        path: a GeoJSON FeatureCollection, an OpenStreetMap extract, or a CityJSON file.
        box: where it matters.
        walls: whether every outline of a GeoJSON file is a building.
        findings: gets what is wrong with single features.
        keys: of OpenStreetMap: what has one of them is read; in GeoJSON they say what a feature without a kind is.
        told: of OpenStreetMap: keys that say more of what is read.

    Raises:
        RawDataError: where the file cannot be read or placed on the earth, or has latitude and longitude swapped.
    """
    if path.name.lower().endswith(OSM_SUFFIXES):
        features = read_osm(files, path, box, findings, keys, told)
    else:
        value = files.json(path)
        try:
            if value.get("type") == "CityJSON":
                features = read_cityjson(files, path, value, box, findings)
            else:
                features = read_geojson(files, path, value, walls, findings, keys, told)
        except RecursionError as error:  # on its way into a message
            raise files.fault(path, "too_deep", "the JSON is nested too deeply", "fetch the file again") from error
    _refuse_swapped(files, path, features)
    return _without_belied_heights(features, files.relative(path), findings)


WALL_M: Final = 3.0  # the least length of both walls of a corner that is looked at
SQUARE_DEG: Final = 3.0  # from a right angle
SQUARE_MIN: Final = 20  # corners that are square with the axes swapped: fewer may be so by chance
SQUARE_TIMES: Final = 2.0  # those that are square as read; of real maps, swapped ones have 3 to 50 times as many


def _refuse_swapped(files: SceneFiles, path: Path, features: Sequence[Feature]) -> None:
    """Raises RawDataError where houses have right angles only with latitude and longitude swapped.

    Swapped axes mirror a city and stretch it, which leaves the corners askew of all houses that do not stand along a
    meridian. Beyond 90 degrees of longitude swapped places are none on earth, and are refused before.
    """
    rings = [outline for f in features if f.solid for outline in f.outlines if len(outline) > 2]
    if not rings or np.abs(np.concatenate(rings)[:, 1]).max() > 90.0:
        return
    before, after = (np.concatenate([np.roll(ring, by, axis=0) - ring for ring in rings]) for by in (1, -1))
    lat, lon = np.radians(np.concatenate(rings)).T
    one = np.ones(len(lat))
    square = []
    for scale in ((one, np.cos(lat)), (np.cos(lon), one)):  # north and east as read, east and north if swapped
        a, b = (side * np.column_stack(scale) * METRES_PER_DEGREE for side in (before, after))
        lengths = np.hypot(*a.T), np.hypot(*b.T)
        off = np.abs((a * b).sum(1)) >= math.sin(math.radians(SQUARE_DEG)) * lengths[0] * lengths[1]
        square.append(int((~off & (np.minimum(*lengths) >= WALL_M)).sum()))
    if square[1] >= max(SQUARE_MIN, SQUARE_TIMES * square[0]):
        message = (
            f"of the corners of its buildings {square[0]} are right angles, and {square[1]} with latitude and longitude"
            f" swapped (limit: {SQUARE_TIMES:g} times as many)"
        )
        raise files.fault(path, "axes_swapped", message, "give the longitude first, as GeoJSON has it (RFC 7946)")


STOREY_M: Final = (1.5, 8.0)  # a height per storey beyond this is no height in metres
STOREYS_MIN: Final = 3  # buildings with storeys and a height, of which more than half must agree
SHED_M2: Final = 25.0  # garages, kiosks and sheds have less; they are 2 to 4 m high
SHED_MAX_M: Final = 6.0
SHEDS_MIN: Final = 10
HOUSE_M2: Final = 50.0
DOOR_M: Final = 2.0  # nobody enters a lower building
HOUSES_MIN: Final = 20
LOW_SHARE: Final = 0.05  # of these that may be lower: roofs and ruins


def _without_belied_heights(features: tuple[Feature, ...], file: str, findings: Findings) -> tuple[Feature, ...]:
    """The features; without their heights where those of the file's buildings cannot be metres above the ground.

    A file has one unit. Feet, storeys and heights above the sea show in its storeys, its smallest buildings and in
    houses too low for a door; one height that is wrong among sound ones is none of this.
    """
    houses = [f for f in features if f.solid and math.isfinite(f.height_m) and len(f.outlines[0]) > 2]
    height = np.array([f.height_m for f in houses])
    area = np.array([_area_m2(f) for f in houses])
    levels = np.array([_levels(f.tags) for f in houses])
    told, sheds, homes = np.isfinite(levels), area <= SHED_M2, area >= HOUSE_M2
    per_storey = height[told] / levels[told]
    checks = (
        (
            float(((per_storey < STOREY_M[0]) | (per_storey > STOREY_M[1])).mean()) if told.any() else 0.0,
            0.5,
            int(told.sum()) >= STOREYS_MIN,
            f"of {told.sum()} buildings with storeys {{:.0%}} have no {STOREY_M[0]:g} to {STOREY_M[1]:g} m per storey",
            "share",
        ),
        (
            float(np.median(height[sheds])) if sheds.any() else 0.0,
            SHED_MAX_M,
            int(sheds.sum()) >= SHEDS_MIN,
            f"{sheds.sum()} buildings of at most {SHED_M2:g} square metres are {{:.1f}} m high in the median",
            "m",
        ),
        (
            float((height[homes] < DOOR_M).mean()) if homes.any() else 0.0,
            LOW_SHARE,
            int(homes.sum()) >= HOUSES_MIN,
            f"{{:.0%}} of {homes.sum()} buildings of {HOUSE_M2:g} square metres or more are below {DOOR_M:g} m",
            "share",
        ),
    )
    for measured, limit, enough, text, unit in checks:
        if enough and measured > limit:
            message = (
                f"{file}: {text.format(measured)}: the heights of its {len(houses)} buildings were taken as unknown"
            )
            remedy = "give heights in metres from the foot of each building: no feet, no storeys, not above the sea"
            findings.add(doubt("heights_of_another_unit", file, message, remedy, round(measured, 3), limit, unit))
            return tuple(replace(f, height_m=math.nan) for f in features)
    return features


def _area_m2(feature: Feature) -> float:
    corners = np.concatenate(feature.outlines)
    scale = METRES_PER_DEGREE * np.array([1.0, math.cos(math.radians(corners[0, 0]))])
    return float(sum(shapely.Polygon(outline * scale).area for outline in feature.outlines))


def _levels(tags: Mapping[str, str]) -> float:
    for key in (*LEVELS, *(MODEL + key for key in LEVELS)):
        try:
            if 0 < (levels := float(tags[key])) < math.inf:
                return levels
        except (KeyError, ValueError):
            continue
    return math.nan


def read_streets(files: SceneFiles, path: Path, box: MapBounds, findings: Findings) -> tuple[StreetLine, ...]:
    """The streets of a map file that was read before (`read_context`); CityJSON has none. Raises RawDataError."""
    if path.name.lower().endswith(OSM_SUFFIXES):
        return read_streets_of_osm(files, path, box)
    value = files.json(path)
    if value.get("type") == "CityJSON":
        return ()
    found = streets_of_geojson(value, files.relative(path), findings)
    return tuple(street for street in found if box.holds(street.lat_lon).any())


WGS84_NAMES: Final = ("crs84", "4326")
SEEN: Final = ("kind", "noun", "colour", "roof_colour", "roof_shape", "levels", "height_m", "sign", "facing_deg", "on")
POLYGONS: Final = ("Polygon", "MultiPolygon")


def read_geojson(
    files: SceneFiles,
    path: Path,
    value: dict[str, Any],
    walls: bool,
    findings: Findings,
    keys: Sequence[str] = KINDS,
    told: Sequence[str] = (),
) -> tuple[Feature, ...]:
    """The usable features of a parsed file, in its order.

    Args:
        files: tells the scene for messages.
        path: the file.
        value: its JSON.
        walls: whether every outline is a building; else those with a height, or of the kind "building".
        findings: gets what is wrong with single features.
        keys: of OpenStreetMap, that say what a feature without a kind is.
        told: of OpenStreetMap: keys that say more of it.

    Raises:
        RawDataError: where the file is no FeatureCollection in WGS84.
    """
    if isinstance(value.get("elements"), list):
        message = "the file is Overpass's own JSON, in which ways have no corners"
        remedy = "ask Overpass for [out:xml] and save it as .osm, or export GeoJSON"
        raise files.fault(path, "not_a_feature_collection", message, remedy)
    entries = value.get("features")
    if value.get("type") != "FeatureCollection" or not isinstance(entries, list):
        message = f"the type is {str(value.get('type'))[:80]!r} and not a FeatureCollection with a list of features"
        raise files.fault(path, "not_a_feature_collection", message, "export it as a GeoJSON FeatureCollection")
    crs = json.dumps(value.get("crs"))
    if value.get("crs") is not None and not crs.lower().strip('"}').endswith(WGS84_NAMES):
        raise files.fault(path, "not_wgs84", f"the file states the crs {crs[:200]}", "export it in WGS84 (EPSG:4326)")
    tally, features = FaultTally(), []
    for place, entry in enumerate(entries):
        if is_way(entry):
            continue  # `streets` reads these
        feature = _feature(entry, place, walls, tally, keys, told)
        if feature is None:
            continue
        worst = np.abs(np.concatenate(feature.outlines)).max(0)
        if worst[0] > 90.0 or worst[1] > 180.0:
            message = f"feature {place} has a latitude of {worst[0]:.7g} or a longitude of {worst[1]:.7g} degrees"
            remedy = (
                "export it in WGS84 (EPSG:4326), longitude before latitude; beyond 180 degrees they go on from -180"
            )
            raise files.fault(path, "not_wgs84", message, remedy)
        features.append(feature)
    tally.report(files.relative(path), len(entries), findings)
    return tuple(features)


def _feature(
    entry: Any, place: int, walls: bool, tally: FaultTally, keys: Sequence[str], told: Sequence[str]
) -> Feature | None:
    entry = entry if isinstance(entry, dict) else {}
    raw_facts, raw_geometry = entry.get("properties"), entry.get("geometry")
    facts: dict[str, Any] = raw_facts if isinstance(raw_facts, dict) else {}
    geometry: dict[str, Any] = raw_geometry if isinstance(raw_geometry, dict) else {}
    who = repr(facts["name"])[:80] if facts.get("name") else _id(entry, facts) or f"feature {place}"
    shape, raw = geometry.get("type"), geometry.get("coordinates")
    hollow = False
    if shape == "Point":
        outlines = [_corners([raw])]
    elif shape in POLYGONS:
        polygons = [raw] if shape == "Polygon" else raw
        outlines = [_outline(p) for p in polygons] if isinstance(polygons, list) and polygons else [None]
        hollow = isinstance(polygons, list) and any(isinstance(p, list) and len(p) > 1 for p in polygons)
    else:
        tally.add("unsupported_geometry", who)
        return None
    sound = tuple(o for o in outlines if o is not None)
    if len(sound) < len(outlines):
        tally.add("unusable_outline", who)
        return None
    heights = {key: _metres(facts.get(key), key == "height_m") for key in ("height_m", "base_m")}
    kind = facts.get("kind")
    kind = kind if isinstance(kind, str) and kind.isprintable() and kind.strip() else None
    every = osm_tags(facts) | {key: "yes" for key, word in facts.items() if word is True}
    mapped = every.get("@timestamp", "")[:4]
    own, reason, by = presence_of(every, () if kind else keys, int(mapped) if mapped.isdecimal() else None)
    if reason is not None:
        tally.add(reason, f"{who} ({by})"[:80])
        if reason != PERHAPS:
            return None
    osm = own if kind is None and kind_of(own, keys) else {}
    if None in heights.values():
        tally.add("unusable_height", who)
    elif facts.get("height_m") is None and osm:
        heights["height_m"] = height_of(osm.get("height"))
    elif facts.get("height") is not None and facts.get("height_m") is None:
        tally.add("height_without_unit", who)
    top, foot = (np.nan if v is None else v for v in heights.values())
    built = kind == "building" or "building" in osm or not (osm or math.isnan(top))
    seen = {key: str(facts[key]) for key in (*SEEN, *told) if isinstance(facts.get(key), str | int | float)}
    tags = {key: value for key, value in (seen | telling(osm, keys, told)).items() if usable_name(value)}
    return Feature(
        sound,
        named(osm.get("name", facts.get("name")), who, tally),
        kind or kind_of(osm, keys),
        solid=shape in POLYGONS and (walls or built),
        height_m=top,
        foot_m=foot,
        tags=tags,
        id=_id(entry, facts),
        doubt=f"whether it is there is not told: {by}" if reason else None,
        hollow=hollow,
    )


def _id(entry: dict[str, Any], facts: dict[str, Any]) -> str:
    """The feature's own id, or the property of this name, where it can stand in a text; else none."""
    for raw in (entry.get("id"), facts.get("id"), facts.get("@id")):
        text = str(raw) if isinstance(raw, str | int) and not isinstance(raw, bool) else ""
        if usable_name(text) and text.isprintable():
            return text
    return ""


def _metres(raw: object, above_zero: bool) -> float | None:
    """A height as stated, NaN where there is none, None where it is not usable."""
    if raw is None:
        return math.nan
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return float(raw) if abs(raw) <= HEIGHT_MAX_M and (raw > 0 or not above_zero) else None


def _outline(polygon: object) -> FloatArray | None:
    """The outer ring (k, 2), latitude and longitude, not closed; None where it encloses nothing."""
    corners = _corners(polygon[0]) if isinstance(polygon, list) and polygon else None
    if corners is None or len(corners) < 4 or not np.array_equal(corners[0], corners[-1]):
        return None
    shape = shapely.Polygon(corners)
    return corners[:-1] if shape.is_valid and shape.area > 0 else None


def _corners(raw: object) -> FloatArray | None:
    """Positions [longitude, latitude, …] as (k, 2) latitude and longitude; None where one is not two numbers."""
    if not isinstance(raw, list):
        return None
    sound = all(isinstance(p, list) and len(p) >= 2 and all(_is_number(v) for v in p[:2]) for p in raw)
    return np.array([[p[1], p[0]] for p in raw], float) if sound and raw else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9  # NaN fails too
