"""Where a panorama lies, in words: country and city by the polygons that hold it, the street by the nearest named road.

What lies too near a border, too far from any street or about as near to two is in doubt, with what was measured.
"""

from __future__ import annotations

from typing import Any, Final

from pipeline.core.findings import Findings, doubt
from pipeline.reading.maps.areas import CITY, COUNTRY, Kind
from pipeline.reading.maps.gazetteer import Gazetteer, Near, Within
from pipeline.worlds.panorama.config import PanoramaConfig
from pipeline.worlds.panorama.facts import Panorama, Place

STREET: Final = "street"
OTHERS_MAX: Final = 30


def find_place(facts: Panorama, gazetteer: Gazetteer, config: PanoramaConfig, findings: Findings) -> Place | None:
    """The place of a panorama; what people stated comes before what maps say. None: its position is not known."""
    if facts.position is None:
        return facts.place
    at = (facts.position.lat_deg, facts.position.lon_deg)
    place = _area(Place(), COUNTRY, gazetteer, at, config, findings)
    place = _area(place, CITY, gazetteer, at, config, findings)
    place = _street(place, gazetteer.near(*at, config.street_search_m), facts, config, findings)
    return place if facts.place is None else _stated(facts.place, place, findings)


def streets_near(near: list[Near]) -> list[Near]:
    """The nearest road of each name, the nearest first; capital letters do not part two names."""
    found: dict[str, Near] = {}
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
        found.add(doubt(f"no_{kind}", kind, message, "look at the position on a map", 0.0, 1.0, "polygons"))
        return place
    first = held[0].area
    if kind == COUNTRY:
        codes = sorted({one.area.code or one.area.name for one in held})
        if len(codes) > 1:
            message = f"the maps have it in {', '.join(codes)}: a part with a code of its own, or land that is disputed"
            remedy = "state place (country, country_code) in pano.yaml"
            found.add(doubt("several_countries", kind, message, remedy, float(len(codes)), 1.0, "countries"))
    _check_border(kind, held, config, found)
    same = [one for one in held if (one.area.code or one.area.name) == (first.code or first.name)]
    names = {name for one in same for name in (one.area.name, *one.area.others)} - {first.name}
    changes: dict[str, Any] = {
        kind: first.name,
        f"{kind}_border_m": round(held[0].border_m, 1),
        "other_names": place.other_names | ({kind: tuple(sorted(names)[:OTHERS_MAX])} if names else {}),
        "told_by": place.told_by | {kind: first.by},
    }
    return place.model_copy(update=changes | ({"country_code": first.code} if kind == COUNTRY else {}))


def _check_border(kind: Kind, held: list[Within], config: PanoramaConfig, found: Findings) -> None:
    border = held[0].border_m
    if border < config.border_min_m:
        message = f"the border of {held[0].area.name} is {border:.0f} m away"
        remedy = f"state place ({kind}) in pano.yaml"
        found.add(doubt(f"{kind}_border_near", kind, message, remedy, border, config.border_min_m, "m"))


def _street(place: Place, near: list[Near], facts: Panorama, config: PanoramaConfig, found: Findings) -> Place:
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
            "told_by": place.told_by | {STREET: f"{first.road.by} {first.road.id}"},
        }
    )


def _stated(stated: Place, mapped: Place, found: Findings) -> Place:
    """What people stated, and the rest as the maps have it; where the two differ, that is in doubt no more but told."""
    changes: dict[str, Any] = {}
    for name in Place.model_fields:
        value = getattr(stated, name)
        if value is None or name in {"other_names", "told_by"}:
            continue
        changes[name] = value
        own = getattr(mapped, name)
        known = {own, *mapped.other_names.get(name, ())}
        if own is not None and value.casefold() not in {str(one).casefold() for one in known}:
            message = f"pano.yaml says {value!r}, the maps {own!r}; pano.yaml holds"
            found.add(doubt("place_disagrees", name, message, "find out which is right"))
    told = mapped.told_by | stated.told_by
    return mapped.model_copy(update=changes | {"told_by": told})
