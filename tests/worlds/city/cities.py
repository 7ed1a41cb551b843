"""Small cities, made by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import City, CityScene
from pipeline.worlds.city.readers.city import Cities

ORIGIN = Origin(lat_deg=50.0, lon_deg=8.0, alt_m=100.0)


def city(*things: CityThing, size_m: float = 100.0, **facts: Any) -> City:
    """A city of things on a square whose south-west corner is the origin."""
    bounds = ((0.0, 0.0), (size_m, 0.0), (size_m, size_m), (0.0, size_m))
    return City(origin=ORIGIN, bounds=bounds, things=things, **facts)


def house(name: str, x: float, y: float, w: float, d: float, height_m: float | None = 10.0, **facts: Any) -> CityThing:
    """A house whose south-west corner is at x, y."""
    ring = ((x, y), (x + w, y), (x + w, y + d), (x, y + d))
    return CityThing(
        id=name, kind="building", noun="building", center=(x + w / 2, y + d / 2), radius_m=float(np.hypot(w, d)) / 2,
        outline=ring, height_m=height_m, top_m=height_m, **facts,
    )  # fmt: skip


def point(name: str, kind: str, x: float, y: float, **facts: Any) -> CityThing:
    return CityThing(id=name, kind=kind, noun=facts.pop("noun", kind), center=(x, y), radius_m=0.0, **facts)


def lon_lat(*points: tuple[float, float]) -> list[list[float]]:
    flat: FloatArray = np.array([(x, y, 0.0) for x, y in points])
    return to_lat_lon_alt(flat, ORIGIN)[:, 1::-1].tolist()


def block(x: float, y: float, w: float, d: float, **properties: Any) -> dict[str, Any]:
    """A building of a GeoJSON map."""
    ring = lon_lat((x, y), (x + w, y), (x + w, y + d), (x, y + d), (x, y))
    return feature({"type": "Polygon", "coordinates": [ring]}, {"kind": "building"} | properties)


def spot(kind: str, x: float, y: float, **properties: Any) -> dict[str, Any]:
    """A point of a GeoJSON map."""
    return feature({"type": "Point", "coordinates": lon_lat((x, y))[0]}, {"kind": kind} | properties)


def feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    own = {"id": properties.pop("id")} if "id" in properties else {}
    return {"type": "Feature", "properties": properties, "geometry": geometry} | own


SETTINGS = """\
origin: {lat_deg: 50.0, lon_deg: 8.0, alt_m: 100.0}
bounds: [7.999, 49.999, 8.002, 50.002]
"""


def write(
    root: Path, *mapped: dict[str, Any], objects: Any = None, tasks: Any = None, settings: str = SETTINGS
) -> Path:
    """The folder of a city named "here"; returns the root."""
    folder = root / "here"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "map.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": mapped}))
    if objects is not None:
        (folder / "objects.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": objects}))
    if tasks is not None:
        (folder / "tasks.json").write_text(json.dumps(tasks))
    (folder / "city.yaml").write_text(settings)
    return root


def read(root: Path, name: str = "here") -> CityScene:
    (ref,) = [ref for ref in Cities().scenes(root).scenes if ref.id.endswith(f"/{name}")]
    return Cities().read(SceneFiles(root, ref))
