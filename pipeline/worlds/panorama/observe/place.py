"""The place of a panorama in words, and the positions of its objects.

Country and city by the polygons that hold it, the street by the nearest named road. What lies too near a border, too
far from any street or about as near to two is in doubt, with what was measured. Of each object, by depth: how far it
is, how much of it is hidden by what stands before it, and where it stands.

Where no map at hand tells the country, Natural Earth 1:50m does (public domain), as world-atlas 2.0.2 packs it for npm
(countries-50m.json, TopoJSON, ISC licence; unchanged but for gzip). Its borders are coarse: held against boundaries of
OpenStreetMap they are 1.1 km off in the median, 4.4 km in 95 of 100 places and 13 km in 99. So a country is told where
no other lies within `SURE_M`; its coast may be as coarse, so that a harbour counts as land.
"""

import gzip
import hashlib
import json
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import TemplateError
from pipeline.core.findings import Findings, doubt
from pipeline.core.templates import TEMPLATES_DIR, load_table
from pipeline.geometry.geodesy import offsets_m
from pipeline.reading.maps.areas import CITY, COUNTRIES, COUNTRY, Kind
from pipeline.reading.maps.feature import METRES_PER_DEGREE, mentioned
from pipeline.reading.maps.gazetteer import Gazetteer, NearbyRoads
from pipeline.worlds.panorama.facts import Panorama, PanoramaConfig, PanoramaObject, Place, SphereCrop

STREET: Final = "street"
OTHERS_MAX: Final = 30


def find_place(
    facts: Panorama, gazetteer: Gazetteer | None, config: PanoramaConfig, findings: Findings
) -> Place | None:
    """The place of a panorama; what people stated comes before what maps say. None: its position is not known.

    Without maps (None), and where these have no countries, those of the world are asked, whose borders are coarse.
    """
    if facts.position is None:
        return facts.place
    at = (facts.position.lat_deg, facts.position.lon_deg)
    if gazetteer is not None and gazetteer.knows(COUNTRY):
        place = _area(Place(), COUNTRY, gazetteer, at, config, findings)
    elif facts.place is not None and facts.place.country is not None:
        place = Place()
    else:
        place = _country_of_the_world(at, findings)
    if gazetteer is not None:
        place = _area(place, CITY, gazetteer, at, config, findings)
        place = _street(place, gazetteer.near(*at, config.street_search_m), facts, config, findings)
    return place if facts.place is None else _stated(facts.place, place, findings)


def streets_near(near: list[NearbyRoads]) -> list[NearbyRoads]:
    """The nearest road of each name, the nearest first; capital letters do not part two names."""
    found: dict[str, NearbyRoads] = {}
    for one in near:
        found.setdefault(one.road.name.casefold(), one)
    return list(found.values())


def _area(
    place: Place, kind: Kind, gazetteer: Gazetteer, at: tuple[float, float], config: PanoramaConfig, found: Findings
) -> Place:
    if not gazetteer.knows(kind):
        return place
    held = gazetteer.within(*at, kind)
    if not held:
        where = "it lies in the sea, or off the maps" if kind == COUNTRY else "it lies off all cities of the maps"
        message = f"no {kind} of the maps holds {at[0]:.5f}, {at[1]:.5f}: {where}"
        remedy = f"look at the position on a map, or state place ({kind}) in pano.yaml"
        found.add(doubt(f"no_{kind}", kind, message, remedy, 0.0, 1.0, "polygons"))
        return place
    first = held[0].area
    if kind == COUNTRY:
        codes = sorted({one.area.code or one.area.name for one in held})
        if len(codes) > 1:
            message = f"the maps have it in {', '.join(codes)}: a part with a code of its own, or land that is disputed"
            remedy = "state place (country, country_code) in pano.yaml"
            found.add(doubt("several_countries", kind, message, remedy, float(len(codes)), 1.0, "countries"))
    border = held[0].border_m
    if border < config.border_min_m:
        message = f"the border of {first.name} is {border:.0f} m away"
        remedy = f"state place ({kind}) in pano.yaml"
        found.add(doubt(f"{kind}_border_near", kind, message, remedy, border, config.border_min_m, "m"))
    same = [one for one in held if (one.area.code or one.area.name) == (first.code or first.name)]
    names = {name for one in same for name in (one.area.name, *one.area.others)} - {first.name}
    changes: dict[str, Any] = {
        kind: first.name,
        f"{kind}_border_m": round(border, 1),
        "other_names": place.other_names | ({kind: tuple(sorted(names)[:OTHERS_MAX])} if names else {}),
        "source_tags": place.source_tags | {kind: first.by},
    }
    return place.model_copy(update=changes | ({"country_code": first.code} if kind == COUNTRY else {}))


def _country_of_the_world(at: tuple[float, float], found: Findings) -> Place:
    """The country where Natural Earth tells it surely; else a doubt says what is missing."""
    near = countries_near(*at)
    remedy = (
        "put boundaries of countries (admin_level 2, or countries.geojson) into maps/, or state place (country_code) "
        "in pano.yaml"
    )
    if not near:
        message = f"no country lies within {SURE_M / 1000:g} km of {at[0]:.5f}, {at[1]:.5f} ({SOURCE})"
        found.add(
            doubt("no_country", COUNTRY, message, f"look at the position on a map; or {remedy}", 0.0, 1.0, "polygons")
        )
        return Place()
    first = near[0]
    if (claimed := disputed(*at)) is not None or first.code is None:
        message = f"it may lie in land that two states claim: {claimed or first.name}"
        found.add(doubt("several_countries", COUNTRY, message, remedy, 2.0, 1.0, "countries"))
    elif len(near) > 1:
        names = ", ".join(one.name for one in near)
        message = f"no map here has countries, and those of the world ({SOURCE}) are too coarse to part {names}"
        found.add(doubt("country_border_near", COUNTRY, message, remedy, near[1].distance_m, SURE_M, "m"))
    return Place(country=first.name, country_code=first.code, source_tags={COUNTRY: SOURCE})


def _street(place: Place, near: list[NearbyRoads], facts: Panorama, config: PanoramaConfig, found: Findings) -> Place:
    streets = streets_near(near)
    if not streets:
        message = f"no road with a name lies within {config.street_search_m:g} m"
        remedy = "is this the map of the place?"
        found.add(doubt("street_far", STREET, message, remedy, config.street_search_m, config.street_max_m, "m"))
        return place.model_copy(update={"searched_m": config.street_search_m})
    first, second = streets[0], streets[1] if len(streets) > 1 else None
    if first.distance_m > config.street_max_m:
        message = f"the nearest road with a name, {first.road.name}, is {first.distance_m:.0f} m away"
        remedy = "state place (street) in pano.yaml"
        found.add(doubt("street_far", STREET, message, remedy, first.distance_m, config.street_max_m, "m"))
    gap = None if second is None else second.distance_m - first.distance_m
    least = max(config.street_gap_min_m, 2.0 * (facts.accuracy_m or 0.0))
    if gap is not None and second is not None and gap < least:
        message = f"{second.road.name} is {gap:.1f} m farther than {first.road.name}, under {least:g}"
        remedy = "state place (street) in pano.yaml"
        found.add(doubt("street_ambiguous", STREET, message, remedy, gap, least, "m"))
    others = {STREET: first.road.others} if first.road.others else {}
    return place.model_copy(
        update={
            "street": first.road.name,
            "street_m": round(first.distance_m, 2),
            "next_street": second.road.name if second else None,
            "next_street_m": round(second.distance_m, 2) if second else None,
            "gap_m": None if gap is None else round(gap, 2),
            "searched_m": config.street_search_m,
            "other_names": place.other_names | others,
            "source_tags": place.source_tags | {STREET: f"{first.road.by} {first.road.id}"},
        }
    )


def _stated(stated: Place, mapped: Place, found: Findings) -> Place:
    """The place as people stated it, the rest as the maps have it; where the two differ, a finding tells it."""
    changes: dict[str, Any] = {}
    for name in Place.model_fields:
        value = getattr(stated, name)
        if value is None or name in {"other_names", "source_tags"}:
            continue
        changes[name] = value
        own = getattr(mapped, name)
        known = {own, *mapped.other_names.get(name, ())}
        if own is not None and value.casefold() not in {str(one).casefold() for one in known}:
            message = f"pano.yaml says {value!r}, the maps {own!r}; pano.yaml holds"
            found.add(doubt("place_disagrees", name, message, "find out which is right"))
    source_tags = mapped.source_tags | stated.source_tags
    return mapped.model_copy(update=changes | {"source_tags": source_tags})


SAMPLES: Final = 48  # a side, over the interval of an object
ALIKE_SHARE: Final = 0.15  # of its distance by which an object's own depth differs: it has a front and a back
ALIKE_M: Final = 1.0  # and at least
ONE_THING: Final = 0.7  # of its interval that must be alike: else it is full of background, as about a lamp post
BEFORE_IT: Final = 0.03  # of its interval that may be nearer: else that may be the object, and the rest what is behind
LEAST: Final = 9  # samples with a depth
DEPTH: Final = "depth"


def measure_objects(facts: Panorama, depth_m: FloatArray | None, findings: Findings) -> tuple[PanoramaObject, ...]:
    """The objects with what depth, heading and position tell of them; what depth belies is in doubt.

    Args:
        facts: of the panorama.
        depth_m: (h, w) distances from the camera's centre, metres, NaN where not known.
        findings: gets one doubt for all objects that depth belies.
    """
    crop = facts.picture.crop or SphereCrop(
        full_width=facts.picture.width, full_height=facts.picture.height, left=0, top=0
    )
    found, belied = [], []
    for seen in facts.objects:
        measured = seen if depth_m is None else _measured(seen, level_distances(seen, depth_m, facts, crop))
        if measured.doubt is not None and seen.doubt is None:
            belied.append(f"{seen.id} ({measured.doubt})")
        found.append(_placed(measured, facts.heading_deg))
    if belied:
        message = f"the depth belies {len(belied)} of {len(found)} objects: {mentioned(belied)}"
        remedy = "look at their intervals and distances; nothing is asked of them"
        findings.add(doubt("depth_belies_objects", "objects", message, remedy, float(len(belied)), 0.0, "objects"))
    return tuple(found)


def level_distances(seen: PanoramaObject, depth_m: FloatArray, facts: Panorama, crop: SphereCrop) -> FloatArray:
    """Distances over ground (`SAMPLES`, `SAMPLES`) from the camera to what is seen within an object's interval.

    The first axis goes down. NaN beyond the picture and where depth is not known.
    """
    share = (np.arange(SAMPLES) + 0.5) / SAMPLES
    yaw = seen.yaw_deg + (share - 0.5) * seen.width_deg
    pitch = seen.pitch_high_deg + share * (seen.pitch_low_deg - seen.pitch_high_deg)
    # Depth may be of another size, and rounded another way along its sides.
    high, wide = depth_m.shape[0] / facts.picture.height, depth_m.shape[1] / facts.picture.width
    column = np.floor(((yaw / 360.0 + 0.5) % 1.0 * crop.full_width - crop.left) * wide).astype(np.intp)
    row = np.floor(((0.5 - pitch / 180.0) * crop.full_height - crop.top) * high).astype(np.intp)
    inside = (row >= 0)[:, None] & (row < depth_m.shape[0])[:, None] & (column >= 0) & (column < depth_m.shape[1])
    found = depth_m[np.clip(row, 0, depth_m.shape[0] - 1)[:, None], np.clip(column, 0, depth_m.shape[1] - 1)]
    return np.where(inside, found * np.cos(np.radians(pitch))[:, None], np.nan)


def _measured(seen: PanoramaObject, level_m: FloatArray) -> PanoramaObject:
    """An object with the distance and the visible share that distances within its interval show."""
    changes: dict[str, object] = {}
    source_tags = dict(seen.source_tags)
    known = level_m[np.isfinite(level_m)]
    distance = seen.distance_m
    if distance is None:
        distance = _distance_of(known)
        if distance is None:
            return seen
        changes["distance_m"], source_tags["distance_m"] = distance, DEPTH
    tolerance = _tolerance_m(distance)
    own = int((np.abs(known - distance) <= tolerance).sum())
    before = int((known < distance - tolerance).sum())
    if own + before < LEAST:
        return seen.model_copy(update=changes | {"source_tags": source_tags}) if changes else seen
    if not own and seen.doubt is None:
        changes["doubt"] = f"said to be {distance:g} m away, and depth shows nothing there at that distance"
    elif seen.visible_share is None:
        changes["visible_share"], source_tags["visible_share"] = round(own / (own + before), 3), DEPTH
    return seen.model_copy(update=changes | {"source_tags": source_tags})


def _distance_of(known_m: FloatArray) -> float | None:
    """How far an object is whose interval shows known distances (n,), metres; None where that is not sure."""
    if len(known_m) < LEAST:
        return None
    distance = round(float(np.median(known_m)), 2)
    tolerance = _tolerance_m(distance)
    alike = float((np.abs(known_m - distance) <= tolerance).mean())
    nearer = float((known_m < distance - tolerance).mean())
    return distance if distance > 0 and alike >= ONE_THING and nearer <= BEFORE_IT else None


def _tolerance_m(distance_m: float) -> float:
    return max(ALIKE_M, ALIKE_SHARE * distance_m)


def _placed(seen: PanoramaObject, heading_deg: float | None) -> PanoramaObject:
    """An object with its place about the camera, where heading and distance are known."""
    if heading_deg is None or seen.distance_m is None:
        return seen
    compass = np.radians(heading_deg + seen.yaw_deg)
    east, north = seen.distance_m * np.sin(compass), seen.distance_m * np.cos(compass)
    return seen.model_copy(update={"place": (round(float(east), 2) + 0.0, round(float(north), 2) + 0.0)})


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
