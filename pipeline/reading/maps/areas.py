"""Countries and cities as polygons, from the tags of a map's boundaries.

A country is a boundary of admin_level 2, or what has an ISO 3166-1 code. A city is one of admin_level 8, or what is
said to be one (place, border_type, linked_place): Berlin and Hamburg are of level 4.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pipeline.core.templates import load_table
from pipeline.reading.maps.feature import usable_name

COUNTRIES: Final[dict[str, str]] = load_table("maps/countries")[
    "names"
]  # English name by ISO 3166-1 code of two letters


COUNTRY: Final = "country"
CITY: Final = "city"
Kind = Literal["country", "city"]
_CODE: Final = re.compile(r"[A-Z]{2}")
_SUBDIVISION: Final = re.compile(r"([A-Z]{2})-[A-Z0-9]{1,4}")
# Where files keep a country's code: OpenStreetMap, Natural Earth, geoBoundaries, country-coder.
_CODE_KEYS: Final = ("ISO3166-1:alpha2", "ISO3166-1", "ISO_A2_EH", "ISO_A2", "iso_a2", "country_code", "id")
_CITY_LEVEL: Final = "8"
_PLACE_KEYS: Final = ("place", "linked_place", "border_type", "de:place", "nl:place")
_CITIES: Final = frozenset({"city", "town", "municipality", "village"})
_NAME_KEYS: Final = ("name:en", "name", "NAME_EN", "NAME", "ADMIN", "int_name")
_OTHER_KEYS: Final = ("name", "name:en", "int_name", "official_name", "official_name:en", "alt_name", "alt_name:en",
                      "short_name", "short_name:en", "loc_name")  # fmt: skip
OTHERS_MAX: Final = 30
_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # of right-to-left writing


@dataclass(frozen=True)
class Area:
    """A country or a city.

    Attributes:
        kind: which of the two.
        name: as it is usually called in English, else as it is called there; empty where the file has no name.
        code: of a country, ISO 3166-1; of a part of one that has a code of its own, that of the country.
        others: what else it is called.
        polygon: shapely's, in degrees, longitude first.
        by: the file, and the element in it.
    """

    kind: Kind
    name: str
    code: str | None
    others: tuple[str, ...]
    polygon: Any
    by: str


def area_of(tags: Mapping[str, Any], polygon: Any, by: str, kind: Kind | None = None) -> Area | None:
    """The area that a tagged polygon stands for; None where it is neither a country nor a city.

    Args:
        tags: of OpenStreetMap, or the properties of a GeoJSON feature.
        polygon: shapely's.
        by: for `Area.by`.
        kind: what the file as a whole has, if that is known.
    """
    words = {key: value for key, value in tags.items() if isinstance(value, str)}
    kind = kind or _kind(words)
    if kind is None:
        return None
    code = _code(words) if kind == COUNTRY else None
    names = [" ".join(words[key].split()) for key in _NAME_KEYS if fit_name(words.get(key, ""))]
    if code is not None:
        names.insert(0, COUNTRIES[code])
    if not names:
        return None
    return Area(kind, names[0], code, other_names(words, names[0]), polygon, by)


def fit_name(word: str) -> bool:
    """Whether words can stand in a question or an answer: any script on one line, without marks that turn it about."""
    return usable_name(word) and "\n" not in word and not _TURNING.search(word)


def other_names(tags: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Alternative names, sorted, without the name itself; a tag separates several by semicolons."""
    names = (part for key in _OTHER_KEYS for part in tags.get(key, "").split(";"))
    found = {" ".join(part.split()) for part in names if fit_name(part)} - {name}
    return tuple(sorted(found)[:OTHERS_MAX])


def _kind(tags: Mapping[str, str]) -> Kind | None:
    level = tags.get("admin_level")
    if level == "2" or tags.get("kind") == COUNTRY:
        return COUNTRY
    places = {tags[key] for key in _PLACE_KEYS if key in tags}
    is_city = level == _CITY_LEVEL or places & _CITIES or tags.get("kind") == CITY
    return CITY if is_city else None


def _code(tags: Mapping[str, str]) -> str | None:
    for key in _CODE_KEYS:
        raw = tags.get(key, "")
        part = _SUBDIVISION.fullmatch(raw)
        code = part[1] if part else raw
        if _CODE.fullmatch(code) and code in COUNTRIES:
            return code
    return None
