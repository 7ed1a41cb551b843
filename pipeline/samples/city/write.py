"""Writes the sample cities: ``<root>/<city>/{map.geojson, objects.geojson, city.yaml}``.

The map has what stands still, the objects what people would add to it. What was planted is in
``<root>/truth/<city>.json``.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.reading.maps.streets import STREET
from pipeline.samples.common.city_plan import PLANS, CentreLine, CityPlan, Planted, planted, streets
from pipeline.samples.common.encode import json_bytes

DATASET: Final = "sample_cities"
OBJECTS: Final = frozenset({"car", "van", "parking space", "bench", "signboard", "shop", "bus stop", "kiosk", "statue"})
COMPLETE: Final = (
    "bench", "building", "bus", "bus stop", "car", "crossing", "fountain", "kiosk", "park", "parking", "parking space",
    "shop", "signboard", "statue", "tree", "truck", "van",
)  # fmt: skip
_DECIMALS: Final = 8  # degrees: a millimetre


def write_cities(root: Path, plans: tuple[CityPlan, ...] = PLANS) -> tuple[str, ...]:
    """Writes the cities, the same bytes every time; returns their ids. Files of an earlier writing are replaced."""
    return tuple(_write_city(root, plan) for plan in plans)


def _write_city(root: Path, plan: CityPlan) -> str:
    folder, things = root / plan.id, planted(plan)
    for name, wanted in (("map.geojson", False), ("objects.geojson", True)):
        features = [_feature(thing, plan.origin) for thing in things if (thing.kind in OBJECTS) is wanted]
        if not wanted:
            features += [_street(street, plan.origin) for street in streets(plan)]
        write_atomically(folder / name, json_bytes({"type": "FeatureCollection", "features": features}))
    corners = _lon_lat(np.array([[0.0, 0.0], plan.size_m]), plan.origin)
    settings = {
        "dataset": DATASET,
        "map": "map.geojson",
        "origin": plan.origin.model_dump(),
        "bounds": [*corners[0], *corners[1]],
        "complete": list(COMPLETE),
    }
    write_atomically(folder / "city.yaml", yaml.safe_dump(settings, sort_keys=False, width=120).encode())
    truth = {"id": f"{DATASET}/{plan.id}", "size_m": plan.size_m, "things": [thing._asdict() for thing in things]}
    write_atomically(root / "truth" / f"{plan.id}.json", json_bytes(truth))
    return f"{DATASET}/{plan.id}"


def _feature(thing: Planted, origin: Origin) -> dict[str, Any]:
    fields = {
        "kind": thing.kind,
        "noun": thing.noun,
        "name": thing.name,
        "colour": "#" + bytes(thing.rgb).hex() if thing.rgb else None,
        "roof_colour": "#" + bytes(thing.roof_rgb).hex() if thing.roof_rgb else None,
        "height_m": thing.height_m,
        "base_m": thing.base_m,
        "levels": thing.levels,
        "roof_shape": thing.roof_shape,
        "facing_deg": thing.facing_deg,
        "sign": thing.sign,
        "on": thing.on,
    }
    geometry: dict[str, Any] = {"type": "Point", "coordinates": _lon_lat(np.array([thing.center]), origin)[0]}
    if thing.corners:
        ring = _lon_lat(np.array([*thing.corners, thing.corners[0]]), origin)
        geometry = {"type": "Polygon", "coordinates": [ring]}
    properties = {key: value for key, value in fields.items() if value is not None} | dict(thing.tags)
    return {"type": "Feature", "id": thing.id, "properties": properties, "geometry": geometry}


def _street(street: CentreLine, origin: Origin) -> dict[str, Any]:
    geometry = {"type": "LineString", "coordinates": _lon_lat(np.array(street.line), origin)}
    properties = {"kind": STREET, "name": street.name}
    return {"type": "Feature", "id": street.id, "properties": properties, "geometry": geometry}


def _lon_lat(points: FloatArray, origin: Origin) -> list[list[float]]:
    """Longitude and latitude of points (n, 2) on the ground."""
    flat = np.column_stack([points, np.zeros(len(points))])
    return to_lat_lon_alt(flat, origin)[:, 1::-1].round(_DECIMALS).tolist()
