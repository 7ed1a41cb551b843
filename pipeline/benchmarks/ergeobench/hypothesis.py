"""Reads the place that a reply names: the ``hypothesis_update`` of its JSON object (section B.4).

Of several objects the first that names a place counts (F.3: "the first valid JSON object"); fences, thoughts before it
and words after it are no matter. Names of fields are taken as models write them. Coordinates may be numbers or texts,
two fields, a list, an object or one text, with N, S, E and W, and in degrees, minutes and seconds.

Names are compared with the truth's in one form. The paper compares labels by equality (equation 4) and does not say in
which. Ours, for both sides: without case, accents, punctuation, brackets and leading article; of a list with commas its
first part; countries through a table of names and ISO codes (templates/tables/ergeobench/countries.yaml); cities
without "city of" and the like; streets with abbreviations written out and without a house number. A truth may have
several names, parted by ";": any of them is right, and so are several of them; one that is wrong among them is wrong.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pipeline.core.templates import load_table
from pipeline.metrics.replies import ParsedReply, json_objects, without_reasoning
from pipeline.questions.scoring_protocol import TOO_LONG, is_too_long

PARTS: Final = ";"
_TABLES: Final[dict[str, Any]] = load_table("ergeobench/replies")
_UNKNOWN_STARTS: Final = tuple(_TABLES["unknown_starts"])
_BRACKETS: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_NO_WORD: Final = re.compile(r"[\W_]+")
_ARTICLE: Final = re.compile(r"^the\s+")
_CITY_BEFORE: Final = re.compile(
    r"^(?:city and county|metropolitan city|city|municipality|town|metropolis|greater|ville|ciudad|comune|stadt)"
    r"(?:\s+(?:of|de|di))?\s+(?=\w)"
)
_CITY_AFTER: Final = re.compile(r"(?<=\w)\s+(?:city|municipality|shi|metropolitan area)$")
# "12 Main Street", "Hauptstrasse 12", "Rue de Rivoli 5"; not "Calle 5" or "5th Avenue".
_HOUSE_NUMBER: Final = re.compile(
    r"^\d+\s?[a-z]?\s+(?=\D)|(?:(?<=str)|(?<=strasse)|(?<=weg)|(?<=gasse)|(?<=platz)|(?<=allee)|(?<=\w\s\w{4}))\s+\d+\s?[a-z]?$"
)


def normalised(text: str) -> str:
    """A name without case, accents, punctuation, brackets and article: "The Côte d'Azur (FR)" -> "cote d azur"."""
    bare = (_BRACKETS.sub(" ", text).strip() or text).casefold()
    marks = unicodedata.normalize("NFKD", bare)
    # Accents go; combining marks of other scripts (a Thai vowel, a Hindi one) are letters.
    letters = "".join(c for c in marks if unicodedata.category(c) != "Mn" or not "\u0300" <= c <= "\u036f")
    words = _NO_WORD.sub(" ", unicodedata.normalize("NFC", letters)).strip()
    return _ARTICLE.sub("", words.translate(_LETTERS))


_LETTERS: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i"})


def is_unknown(text: str) -> bool:
    """Whether a name says that there is none."""
    plain = normalised(text)
    return not plain or plain in _TABLES["unknown"] or plain.startswith(_UNKNOWN_STARTS)


def country(text: str) -> str:
    """The form of a country: its key in the table, where it has one."""
    whole = normalised(text)
    return _countries().get(whole) or _countries().get(normalised(text.split(",", maxsplit=1)[0])) or whole


def city(text: str) -> str:
    """The form of a city."""
    plain = normalised(text.split(",", maxsplit=1)[0])
    return _CITY_AFTER.sub("", _CITY_BEFORE.sub("", plain)) or plain


def street(text: str) -> str:
    """The form of a street."""
    plain = _HOUSE_NUMBER.sub("", normalised(text.split(",", maxsplit=1)[0]))
    first, _, rest = plain.partition(" ")
    known = _TABLES["street_words"]
    words = [first if first == "st" and rest else known.get(first, first)]
    words += [known.get(word, word) for word in rest.split()]
    return re.sub(r"(?<=\w)str\b", "strasse", " ".join(words))


FORMS: Final[Mapping[str, Callable[[str], str]]] = {"street": street, "city": city, "country": country}


def is_same(level: str, stated: str, truth: str) -> bool:
    """Whether all names that were said are among those of the truth, at the level "street", "city" or "country"."""
    form = FORMS[level]
    right = {form(name) for name in _parted(truth)}
    return form(stated) in right or (bool(_parted(stated)) and all(form(name) in right for name in _parted(stated)))


def _parted(names: str) -> list[str]:
    return [name.strip() for name in names.split(PARTS) if name.strip()]


@cache
def _countries() -> dict[str, str]:
    """Every normalised name and code -> the normalised key of its country."""
    table = load_table("ergeobench/countries")
    return {normalised(name): normalised(key) for key, names in table.items() for name in (key, *names)}


FIELDS: Final[Mapping[str, Sequence[str]]] = _TABLES["fields"]
_LAT, _LON, _PAIRS, _HOLDS = (_TABLES[name] for name in ("lat", "lon", "pairs", "holds"))
_NO_LETTER: Final = re.compile(r"[^a-z]")
_NUMBER: Final = (
    r"(?P<sign>[-+])?\s*(?P<deg>\d{1,3}(?:[.,]\d+)?)\s*(?:°|º|deg(?:rees?)?\b)?"
    r"(?:\s*(?P<min>\d{1,2}(?:[.,]\d+)?)\s*['′’](?:\s*(?P<sec>\d{1,2}(?:[.,]\d+)?)\s*(?:[\"″”]|''))?)?"
)
_SIDE: Final = r"(?:north|south|east|west|[NSEW])(?![a-z])"
_ANGLE: Final = re.compile(rf"{_NUMBER}\s*(?P<side>{_SIDE})?", re.IGNORECASE)  # "43.7° N"
_ANGLE_AFTER: Final = re.compile(rf"(?P<side>{_SIDE})\s*{_NUMBER}", re.IGNORECASE)  # "N 43.7°"
_STARTS_WITH_SIDE: Final = re.compile(rf"\s*{_SIDE}", re.IGNORECASE)
_MARKS: Final = str.maketrans({"−": "-", "–": "-", "\u00a0": " "})


@dataclass(frozen=True)
class Hypothesis:
    """A place that was named; None: not said, or said to be unknown. Degrees WGS84."""

    country: str | None = None
    city: str | None = None
    street: str | None = None
    lat_deg: float | None = None
    lon_deg: float | None = None


def find_hypothesis(
    reply: str | None, required: Sequence[str], truth: Mapping[str, str | None] | None = None
) -> ParsedReply[Hypothesis]:
    """The place that a reply names.

    Args:
        reply: its text.
        required: what it must name, of "country", "city", "street" and "coordinates".
        truth: level -> its names, which are never taken for "unknown" (None is a town in Piedmont).

    Reasons for None: ``empty``, ``too_long``, ``no_json``, ``no_place``, ``missing_<field>``, ``unknown_<field>``,
    ``unreadable_coordinates``, ``coordinates_out_of_range``, ``placeholder_coordinates``.
    """
    if reply is None or not reply.strip():
        return ParsedReply(None, "empty")
    if is_too_long(reply):
        return ParsedReply(None, TOO_LONG)
    fields, any_object = _fields(reply)
    if not fields:
        return ParsedReply(None, "no_place" if any_object else "no_json")
    stated = {level: _name(fields, names) for level, names in FIELDS.items()}
    missing = next((level for level in FIELDS if level in required and not stated[level]), None)
    if missing is None:
        own = {level: _parted((truth or {}).get(level) or "") for level in FIELDS}
        unknown = {
            level for level, name in stated.items() if is_unknown(name) and not set(_parted(name)) & set(own[level])
        }
        missing = next((level for level in FIELDS if level in required and level in unknown), None)
        point = _coordinates(fields)
        reason = point.reason if "coordinates" in required else None
        levels = {level: None if level in unknown else name for level, name in stated.items()}
        lat_deg, lon_deg = point.value or (None, None)
        place = Hypothesis(levels["country"], levels["city"], levels["street"], lat_deg, lon_deg)
        reason = f"unknown_{missing}" if missing else reason
        return ParsedReply(None, reason) if reason else ParsedReply(place, None)
    return ParsedReply(None, f"missing_{missing}")


def _name(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """The text of a field; "" for none."""
    raw = next((fields[name] for name in names if name in fields), None)
    return str(raw).strip() if isinstance(raw, str | int) and not isinstance(raw, bool) else ""


def _fields(reply: str) -> tuple[dict[str, Any], bool]:
    """The fields of the first object that names a place, by their letters alone; and whether there was any object."""
    any_object = False
    for found in json_objects(without_reasoning(reply)):
        any_object = True
        fields = _lowered(found)
        for _ in range(2):  # {"answer": {"hypothesis_update": {…}}}
            inner = next((fields[name] for name in _HOLDS if isinstance(fields.get(name), dict)), None)
            fields = fields | (_lowered(inner) if inner else {})
        known = {*_LAT, *_LON, *_PAIRS, *(name for names in FIELDS.values() for name in names)}
        if known & set(fields):
            return fields, True
    return {}, any_object


def _lowered(found: Mapping[str, Any]) -> dict[str, Any]:
    return {_NO_LETTER.sub("", str(key).lower()): value for key, value in found.items()}


def _coordinates(fields: Mapping[str, Any]) -> ParsedReply[tuple[float, float]]:
    pair = next((fields[name] for name in _PAIRS if name in fields and not _is_words(fields[name])), None)
    own = _lowered(pair) if isinstance(pair, dict) else fields
    lat, lon = (next((own[n] for n in names if own.get(n) is not None), None) for names in (_LAT, _LON))
    if lat is None and lon is None:
        if pair is None or (isinstance(pair, str) and is_unknown(pair)):
            return ParsedReply(None, "missing_coordinates" if pair is None else "unknown_coordinates")
        angles = [(_angle(x)) for x in pair] if isinstance(pair, list) else _angles(str(pair))
    else:
        if any(
            x is None or (isinstance(x, str) and is_unknown(x) and not any(map(str.isdigit, x))) for x in (lat, lon)
        ):
            return ParsedReply(None, "missing_coordinates" if None in (lat, lon) else "unknown_coordinates")
        angles = [_angle(lat), _angle(lon)]
    return _point(angles)


def _is_words(value: Any) -> bool:
    """Whether a field such as "location" holds a name and no numbers."""
    return value is None or (isinstance(value, str) and not is_unknown(value) and not any(map(str.isdigit, value)))


Angle = tuple[float, str]
"""Degrees with their sign, and the axis that a letter named: "lat", "lon" or ""."""


def _point(angles: Sequence[Angle | None]) -> ParsedReply[tuple[float, float]]:
    if len(angles) != 2 or angles[0] is None or angles[1] is None:
        return ParsedReply(None, "unreadable_coordinates")
    (one, first), (two, second) = angles[0], angles[1]
    if first and first == second:
        return ParsedReply(None, "unreadable_coordinates")
    lat, lon = (two, one) if first == "lon" or second == "lat" else (one, two)
    if not (math.isfinite(lat) and math.isfinite(lon)):
        return ParsedReply(None, "unreadable_coordinates")
    if abs(lat) > 90 or abs(lon) > 180:
        return ParsedReply(None, "coordinates_out_of_range")
    if lat == 0 and lon == 0:
        return ParsedReply(None, "placeholder_coordinates")
    return ParsedReply((lat, lon), None)


def _angle(value: Any) -> Angle | None:
    """One coordinate."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value), ""
    found = _angles(str(value))
    return found[0] if len(found) == 1 else None


def _angles(text: str) -> list[Angle | None]:
    """All coordinates of a text: "43.7 N, 7.4 E", "43°44'18''N 7°25'28''E", "Lat: -33.9, Lon: 151.2"."""
    plain = re.sub(r"(?<=[a-z])\s*[:=]|[()\[\]]", " ", text.translate(_MARKS), flags=re.IGNORECASE)
    plain = re.sub(r"\b(?:lat(?:itude)?|lon(?:g(?:itude)?)?|lng)\b", " ", plain, flags=re.IGNORECASE)
    pattern = _ANGLE_AFTER if _STARTS_WITH_SIDE.match(plain) else _ANGLE
    return [_read(match) for match in pattern.finditer(plain)]


def _read(match: re.Match[str]) -> Angle | None:
    degrees, minutes, seconds = (float((match[n] or "0").replace(",", ".")) for n in ("deg", "min", "sec"))
    if minutes >= 60 or seconds >= 60:
        return None
    value = degrees + minutes / 60 + seconds / 3600
    side = (match["side"] or " ")[0].upper()
    negative = match["sign"] == "-" or side in {"S", "W"}  # "-33.9 S" is south once, not twice
    return (-value if negative else value), {"N": "lat", "S": "lat", "E": "lon", "W": "lon"}.get(side, "")
