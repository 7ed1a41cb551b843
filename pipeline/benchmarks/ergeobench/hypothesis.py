"""Where a reply says that a panorama was taken: the ``hypothesis_update`` of its JSON object (section B.4).

Of several objects the first that names a place counts (F.3: "the first valid JSON object"); fences, thoughts before it
and words after it are no matter. Names of fields are taken as models write them. Coordinates may be numbers or texts,
two fields, a list, an object or one text, with N, S, E and W, and in degrees, minutes and seconds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipeline.benchmarks.ergeobench.names import is_unknown
from pipeline.metrics.replies import Reading, without_reasoning
from pipeline.questions.scoring_protocol import TOO_LONG, is_too_long

TRIED: Final = 200  # braces from which an object may begin: each is read to where it breaks off
FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "country": ("country", "countryname", "nation"),
    "city": ("city", "cityname", "town", "municipality", "citytown", "citydistrict"),
    "street": ("street", "streetname", "streetarea", "streetorarea", "road", "area", "address", "streetaddress"),
}
_PAIRS: Final = (
    "coordinates", "coordinate", "gps", "gpscoordinates", "gpscoords", "location", "latlon", "latlng", "latlong",
    "position", "coords", "estimatedcoordinates", "estimatedgps",
)  # fmt: skip
_LAT: Final = ("latitude", "lat", "latdeg", "latitudedeg", "gpslat", "gpslatitude")
_LON: Final = ("longitude", "lon", "lng", "long", "londeg", "longitudedeg", "gpslon", "gpslongitude")
_HOLDS: Final = (
    "hypothesisupdate", "updatedhypothesis", "hypothesis", "finalhypothesis", "finalanswer", "answer", "prediction",
    "besthypothesis", "bestguess", "currentbest", "currenthypothesis", "result", "output", "location", "place",
)  # fmt: skip
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


def find_hypothesis(reply: str | None, required: Sequence[str]) -> Reading[Hypothesis]:
    """The place that a reply names.

    Args:
        reply: its text.
        required: what it must name, of "country", "city", "street" and "coordinates".

    Reasons for None: ``empty``, ``too_long``, ``no_json``, ``no_place``, ``missing_<field>``, ``unknown_<field>``,
    ``unreadable_coordinates``, ``coordinates_out_of_range``, ``placeholder_coordinates``.
    """
    if reply is None or not reply.strip():
        return Reading(None, "empty")
    if is_too_long(reply):
        return Reading(None, TOO_LONG)
    fields, any_object = _fields(reply)
    if not fields:
        return Reading(None, "no_place" if any_object else "no_json")
    said = {level: _name(fields, names) for level, names in FIELDS.items()}
    missing = next((level for level in FIELDS if level in required and not said[level]), None)
    if missing is None:
        missing = next((level for level in FIELDS if level in required and is_unknown(said[level])), None)
        point = _coordinates(fields)
        reason = point.reason if "coordinates" in required else None
        told = {level: None if is_unknown(name) else name for level, name in said.items()}
        lat_deg, lon_deg = point.value or (None, None)
        place = Hypothesis(told["country"], told["city"], told["street"], lat_deg, lon_deg)
        reason = f"unknown_{missing}" if missing else reason
        return Reading(None, reason) if reason else Reading(place, None)
    return Reading(None, f"missing_{missing}")


def _name(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """What a field holds, as text; "" for none."""
    raw = next((fields[name] for name in names if name in fields), None)
    return str(raw).strip() if isinstance(raw, str | int) and not isinstance(raw, bool) else ""


def _fields(reply: str) -> tuple[dict[str, Any], bool]:
    """The fields of the first object that names a place, by their letters alone; and whether there was any object."""
    any_object = False
    for found in _objects(without_reasoning(reply)):
        any_object = True
        fields = _lowered(found)
        for _ in range(2):  # {"answer": {"hypothesis_update": {…}}}
            inner = next((fields[name] for name in _HOLDS if isinstance(fields.get(name), dict)), None)
            fields = fields | (_lowered(inner) if inner else {})
        known = {*_LAT, *_LON, *_PAIRS, *(name for names in FIELDS.values() for name in names)}
        if known & set(fields):
            return fields, True
    return {}, any_object


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(strict=False)  # replies have line breaks in strings
    start = text.find("{")
    for _ in range(TRIED):
        if start < 0:
            return
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(found, dict):
            yield found
        start = text.find("{", end)


def _lowered(found: Mapping[str, Any]) -> dict[str, Any]:
    return {_NO_LETTER.sub("", str(key).lower()): value for key, value in found.items()}


def _coordinates(fields: Mapping[str, Any]) -> Reading[tuple[float, float]]:
    pair = next((fields[name] for name in _PAIRS if name in fields and not _is_words(fields[name])), None)
    own = _lowered(pair) if isinstance(pair, dict) else fields
    lat, lon = (next((own[n] for n in names if own.get(n) is not None), None) for names in (_LAT, _LON))
    if lat is None and lon is None:
        if pair is None or (isinstance(pair, str) and is_unknown(pair)):
            return Reading(None, "missing_coordinates" if pair is None else "unknown_coordinates")
        angles = [(_angle(x)) for x in pair] if isinstance(pair, list) else _angles(str(pair))
    else:
        if any(
            x is None or (isinstance(x, str) and is_unknown(x) and not any(map(str.isdigit, x))) for x in (lat, lon)
        ):
            return Reading(None, "missing_coordinates" if None in (lat, lon) else "unknown_coordinates")
        angles = [_angle(lat), _angle(lon)]
    return _point(angles)


def _is_words(value: Any) -> bool:
    """Whether a field such as "location" holds a name and no numbers."""
    return value is None or (isinstance(value, str) and not is_unknown(value) and not any(map(str.isdigit, value)))


Angle = tuple[float, str]
"""Degrees with their sign, and the axis that a letter named: "lat", "lon" or ""."""


def _point(angles: Sequence[Angle | None]) -> Reading[tuple[float, float]]:
    if len(angles) != 2 or angles[0] is None or angles[1] is None:
        return Reading(None, "unreadable_coordinates")
    (one, first), (two, second) = angles[0], angles[1]
    if first and first == second:
        return Reading(None, "unreadable_coordinates")
    lat, lon = (two, one) if first == "lon" or second == "lat" else (one, two)
    if not (math.isfinite(lat) and math.isfinite(lon)):
        return Reading(None, "unreadable_coordinates")
    if abs(lat) > 90 or abs(lon) > 180:
        return Reading(None, "coordinates_out_of_range")
    if lat == 0 and lon == 0:
        return Reading(None, "placeholder_coordinates")
    return Reading((lat, lon), None)


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
