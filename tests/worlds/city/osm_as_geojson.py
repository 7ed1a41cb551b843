"""An extract of OpenStreetMap as GeoJSON, as the tools of others write it: osmium's own geometries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import osmium

Style = Callable[[str, Mapping[str, str]], dict[str, Any]]


def flat(identity: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """As Overpass Turbo and QGIS."""
    return {"id": identity, "properties": {**tags, "@id": identity}}


def nested(identity: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """As osmtogeojson, where its option ``flatProperties`` is off."""
    kind, _, number = identity.partition("/")
    return {"id": identity, "properties": {"type": kind, "id": number, "tags": dict(tags), "relations": [], "meta": {}}}


def rarer(identity: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """As GDAL: some keys have a property each, the others stand in one."""
    own = {key: value for key, value in tags.items() if key in {"name", "building", "highway", "shop", "amenity"}}
    quoted = [f"{_quoted(key)}=>{_quoted(value)}" for key, value in tags.items() if key not in own]
    return {"properties": {"osm_id": identity.partition("/")[2], **own, "other_tags": ",".join(quoted) or None}}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_geojson(extract: Path, style: Style) -> dict[str, Any]:
    """All nodes, lines and areas of an extract that have tags."""
    factory = osmium.geom.GeoJSONFactory()
    features = []
    for thing in osmium.FileProcessor(str(extract)).with_locations().with_areas():
        tags = dict(thing.tags)
        is_round = "highway" in tags and tags.get("area") != "yes"  # a closed way that is a line all the same
        if not tags or (thing.is_area() and is_round):
            continue
        if thing.is_node():
            identity, raw = f"node/{thing.id}", factory.create_point(thing)
        elif thing.is_area():
            identity = f"{'way' if thing.from_way() else 'relation'}/{thing.orig_id()}"
            if not any(True for _ in thing.outer_rings()):
                continue  # osmium could not close it
            raw = factory.create_multipolygon(thing)
        elif thing.is_way() and (is_round or not thing.is_closed()):
            identity, raw = f"way/{thing.id}", factory.create_linestring(thing)
        else:
            continue
        geometry = json.loads(raw)
        if geometry["type"] == "MultiPolygon" and len(geometry["coordinates"]) == 1:
            geometry = {"type": "Polygon", "coordinates": geometry["coordinates"][0]}
        features.append({"type": "Feature", "geometry": geometry, **style(identity, tags)})
    return {"type": "FeatureCollection", "features": features}
