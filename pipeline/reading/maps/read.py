"""The surroundings of a flight: landmarks and buildings from map files, placed in the flight's frame."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.core.findings import Findings
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.cityjson import read_cityjson
from pipeline.reading.maps.feature import Feature, MapBounds
from pipeline.reading.maps.geojson import read_geojson
from pipeline.reading.maps.osm import KINDS, read_osm
from pipeline.reading.maps.streets import StreetLine, read_streets_of_osm, streets_of_geojson

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
        RawDataError: where the file cannot be read or placed on the earth.
    """
    if path.name.lower().endswith(OSM_SUFFIXES):
        return read_osm(files, path, box, findings, keys, told)
    value = files.json(path)
    try:
        if value.get("type") == "CityJSON":
            return read_cityjson(files, path, value, box, findings)
        return read_geojson(files, path, value, walls, findings, keys, told)
    except RecursionError as error:  # on its way into a message
        raise files.fault(path, "too_deep", "the JSON is nested too deeply", "fetch the file again") from error


def read_streets(files: SceneFiles, path: Path, box: MapBounds, findings: Findings) -> tuple[StreetLine, ...]:
    """The streets of a map file that was read before (`read_context`); CityJSON has none. Raises RawDataError."""
    if path.name.lower().endswith(OSM_SUFFIXES):
        return read_streets_of_osm(files, path, box)
    value = files.json(path)
    if value.get("type") == "CityJSON":
        return ()
    found = streets_of_geojson(value, files.relative(path), findings)
    return tuple(street for street in found if box.holds(street.lat_lon).any())
