"""The maps of the sample towns: streets, borders and shops as OpenStreetMap has them, and the countries' polygons.

Only what tells where one is: the houses are in no map.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Final
from xml.etree import ElementTree as Xml

import numpy as np

from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.sampling.encode import json_bytes
from pipeline.worlds.panorama.samples.scene import Thing
from pipeline.worlds.panorama.samples.spots import streets
from pipeline.worlds.panorama.samples.towns import KINDS, TOWNS, Town

BORDER_M: Final = 3000.0  # from a town's outer streets to its border
_COUNTRY_DEG: Final = 1.5  # from a town to the border of what is drawn of its country
_DECIMALS: Final = 8  # degrees: a millimetre


def town_map(town: Town, shops: tuple[Thing, ...]) -> bytes:
    """A town as OSM XML; the shops are those that its panoramas show."""
    root = Xml.Element("osm", version="0.6", generator="scan2qa samples")
    numbers, ways = count(1), []
    width, height = town.plan.size_m

    def node(x: float, y: float, tags: Mapping[str, str] = {}) -> str:
        lat, lon = place(town, x, y)
        number = str(next(numbers))
        made = Xml.SubElement(
            root, "node", id=number, version="1", lat=f"{lat:.{_DECIMALS}f}", lon=f"{lon:.{_DECIMALS}f}"
        )
        _tag(made, tags)
        return number

    for (street, name), highway in zip(streets(town), town.highway, strict=True):
        last = height if street.is_north else width
        ends = np.linspace(0.0, last, (town.plan.rows if street.is_north else town.plan.columns) + 1)
        ways.append(([node(*street.at(float(end), 0.0)) for end in ends], {"highway": highway, "name": name}))
    low, far = -BORDER_M, BORDER_M
    corners = [(low, low), (width + far, low), (width + far, height + far), (low, height + far)]
    ring = [node(*corner) for corner in corners]
    ways.append(([*ring, ring[0]], {"boundary": "administrative", "admin_level": "8", "name": town.name}))
    node(width / 2, height / 2, {"place": "town", "name": town.name})
    for shop in shops:
        key = next(key for kind, key, _ in KINDS if kind == shop.kind)
        if shop.at is not None and shop.name is not None and shop.kind is not None:
            node(*shop.at, {key: shop.kind, "name": shop.name})
    for number, (nodes, tags) in enumerate(ways, start=1):
        way = Xml.SubElement(root, "way", id=str(number), version="1")
        for ref in nodes:
            Xml.SubElement(way, "nd", ref=ref)
        _tag(way, tags)
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def countries() -> bytes:
    """Rectangles about the towns, named as the countries in which they lie, as GeoJSON."""
    features = [_country(town) for town in TOWNS]
    return json_bytes({"type": "FeatureCollection", "features": features})


def place(town: Town, x: float, y: float) -> tuple[float, float]:
    """Latitude and longitude of a place in a town's frame."""
    lat, lon = to_lat_lon_alt(np.array([[x, y, 0.0]]), town.plan.origin)[0, :2].round(_DECIMALS).tolist()
    return lat, lon


def _country(town: Town) -> dict[str, Any]:
    lat, lon, d = town.plan.origin.lat_deg, town.plan.origin.lon_deg, _COUNTRY_DEG
    ring = [[lon - d, lat - d], [lon + d, lat - d], [lon + d, lat + d], [lon - d, lat + d], [lon - d, lat - d]]
    properties = {"id": town.code, "name": town.country, "admin_level": "2"}
    return {"type": "Feature", "properties": properties, "geometry": {"type": "Polygon", "coordinates": [ring]}}


def _tag(element: Xml.Element, tags: Mapping[str, str]) -> None:
    for key, value in sorted(tags.items()):
        Xml.SubElement(element, "tag", k=key, v=value)
