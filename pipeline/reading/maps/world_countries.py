"""Countries of the whole world for places of which no map at hand tells the country.

Natural Earth 1:50m (public domain), as world-atlas 2.0.2 packs it for npm (countries-50m.json, TopoJSON, ISC licence;
unchanged but for gzip). Its borders are coarse: held against boundaries of OpenStreetMap they are 1.1 km off in the
median, 4.4 km in 95 of 100 places and 13 km in 99. So a country is told where no other lies within `SURE_M`; its coast
may be as coarse, so that a harbour counts as land.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.errors import TemplateError
from pipeline.core.templates import TEMPLATES_DIR, load_table
from pipeline.geometry.geodesy import offsets_m
from pipeline.reading.maps.areas import COUNTRIES
from pipeline.reading.maps.feature import METRES_PER_DEGREE

SURE_M: Final = 20_000.0
_POLE_DEG: Final = 89.9
SOURCE: Final = "Natural Earth 1:50m"
# Of the unpacked file: other data are another version of the code.
_SHA256: Final = "04342cdc1e3016bcd7db1630de95684d67b79fe3c8c460321e87aef469502394"
_CODES: Final[dict[str, str]] = load_table("maps/countries")["numeric_codes"]  # ISO 3166-1, two letters by three digits


_DISPUTED: Final[dict[str, list[float]]] = load_table("maps/countries")["disputed"]


class NearbyCountry(NamedTuple):
    """A country near a place.

    Attributes:
        name: in English.
        code: ISO 3166-1; None: it has none, as land that is disputed.
        distance_m: to its land; 0 within.
    """

    name: str
    code: str | None
    distance_m: float


def countries_near(lat_deg: float, lon_deg: float) -> list[NearbyCountry]:
    """The countries within `SURE_M` of a place, the nearest first."""
    countries, tree = _world()
    high = SURE_M / METRES_PER_DEGREE
    wide = min(high / max(float(np.cos(np.radians(min(abs(lat_deg) + high, 89.9)))), 1e-3), 180.0)
    turns = (lon_deg - 360.0, lon_deg, lon_deg + 360.0)  # a box may lie across the 180th meridian
    found: dict[tuple[str, str | None], float] = {}
    for lon in turns:
        about = np.array([lat_deg, lon])
        box = shapely.box(lon - wide, lat_deg - high, lon + wide, lat_deg + high)
        for i in tree.query(box).tolist():
            name, code, land = countries[i]
            near = shapely.intersection(land, box)  # farther off the plane does not hold
            if not near.is_empty:
                plane = shapely.transform(near, lambda at, about=about: offsets_m(at[:, ::-1], about))
                away = float(shapely.distance(plane, shapely.Point(0.0, 0.0)))
                found[name, code] = min(away, found.get((name, code), SURE_M))
    near_by = (NearbyCountry(name, code, away) for (name, code), away in found.items() if away < SURE_M)
    return sorted(near_by, key=lambda one: (one.distance_m, one.name))


def disputed(lat_deg: float, lon_deg: float) -> str | None:
    """The land that two states claim in which a place may lie; None: in none."""
    for name, (west, south, east, north) in _DISPUTED.items():
        if west <= lon_deg <= east and south <= lat_deg <= north:
            return name
    return None


@cache
def _world() -> tuple[list[tuple[str, str | None, Any]], shapely.STRtree]:
    """Countries with name, code and land in degrees, longitude first, and their tree. Raises TemplateError."""
    path = TEMPLATES_DIR / "maps" / "countries-50m.json.gz"
    try:
        raw = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise TemplateError(f"{path}: cannot be read: {error}; install scan2qa again") from error
    if hashlib.sha256(raw).hexdigest() != _SHA256:
        raise TemplateError(f"{path}: is not the file of world-atlas 2.0.2; install scan2qa again")
    topology = json.loads(raw)
    scale, shift = (np.array(topology["transform"][key]) for key in ("scale", "translate"))
    arcs = [np.cumsum(np.array(arc), axis=0) * scale + shift for arc in topology["arcs"]]
    found: list[tuple[str, str | None, Any]] = []
    for one in topology["objects"]["countries"]["geometries"]:
        polygons = [one["arcs"]] if one["type"] == "Polygon" else one["arcs"]
        shells = [([_ring(arcs, outer), [_ring(arcs, ring) for ring in inner]]) for outer, *inner in polygons]
        code = _CODES.get(str(one.get("id")))
        name = COUNTRIES[code] if code in COUNTRIES else one["properties"]["name"]
        found.append((name, code, shapely.make_valid(shapely.MultiPolygon(shells))))
    return found, shapely.STRtree([land for _, _, land in found])


def _ring(arcs: list[Any], numbers: list[int]) -> Any:
    """A ring (n, 2) of arcs, each from where the one before ends; ~n is arc n backwards.

    It goes on beyond 180 degrees where it crosses them; the one about a pole goes along its meridian, as it stands.
    """
    parts = [arcs[n] if n >= 0 else arcs[~n][::-1] for n in numbers]
    ring = np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
    if np.abs(ring[:, 1]).max() > _POLE_DEG:
        return ring
    return np.column_stack([np.unwrap(ring[:, 0], period=360.0), ring[:, 1]])
