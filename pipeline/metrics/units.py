"""Units of length, area, time and angle: which one a question names, and what a number is in it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, NamedTuple


class Unit(NamedTuple):
    """``factor``: how many of the dimension's own unit (metre, square metre, second, degree) it is."""

    dimension: str
    factor: Decimal


_LENGTHS: Final = {
    "m": ("1", r"m|met(?:er|re)s?|metros?|mètres?|米|公尺|メートル|미터|метр(?:а|ов)?|متر"),
    "cm": (
        "0.01",
        r"cms?|centimet(?:er|re)s?|centímetros?|centimètres?|zentimeter|厘米|公分|センチ(?:メートル)?|센티미터",
    ),
    "mm": ("0.001", r"mms?|millimet(?:er|re)s?|毫米|ミリ(?:メートル)?"),
    "km": ("1000", r"kms?|kilomet(?:er|re)s?|公里|千米"),
    "ft": ("0.3048", r"ft|feet|foot|英尺"),
    "in": ("0.0254", r"in|inch(?:es)?|英寸"),
    "yd": ("0.9144", r"yds?|yards?"),
}
_TIMES: Final = {
    "s": ("1", r"s|secs?|seconds?|秒"),
    "min": ("60", r"mins?|minutes?|分钟"),
    "h": ("3600", r"hrs?|hours?|小时"),
}
_ANGLES: Final = {"deg": ("1", r"°|degs?|degrees?|度")}
_SQUARE: Final = r"(?:square|sq\.?|平方)\s*-?(?:{names})|(?:{names})\s*(?:\^\s*2|2|squared|²)"


def _named() -> list[tuple[Unit, str]]:
    """Every unit with the words for it; areas first, since "square metres" ends like "metres"."""
    areas = [(Unit("area", Decimal(f) ** 2), _SQUARE.format(names=names)) for f, names in _LENGTHS.values()]
    areas.append((Unit("area", Decimal(1)), r"sqm|qm|㎡|平米|м2|кв\.? ?м"))
    areas.append((Unit("area", Decimal("0.3048") ** 2), r"sqft|sf"))
    plain = [
        (Unit(dimension, Decimal(factor)), names)
        for dimension, table in (("length", _LENGTHS), ("time", _TIMES), ("angle", _ANGLES))
        for factor, names in table.values()
    ]
    return [*areas, *plain]


_UNITS: Final = _named()
# The longest first: "minutes" begins with "m", "square feet" with "s".
_FOLLOWS: Final = [
    (unit, re.compile(rf"[\s\u2009-]{{0,3}}(?:{names})\.?(?![A-Za-zÀ-ɏ^]|[23](?![0-9]))", re.IGNORECASE))
    for unit, names in _UNITS
]
_ASKED: Final = [
    (
        unit,
        re.compile(
            rf"\b(?:in|units?(?:\sis)?:?)\s+(?:the\s+unit\s+of\s+)?(?:{names})(?![\w²^])|\((?:{names})\)",
            re.IGNORECASE,
        ),
    )
    for unit, names in _UNITS
]


def asked_unit(question: str) -> Unit | None:
    """The unit that a question wants its number in ("… in square meters?"); None where it names none."""
    found = [(match.start(), -match.end(), unit) for unit, pattern in _ASKED for match in pattern.finditer(question)]
    return min(found, key=lambda place: place[:2])[2] if found else None


def unit_at(text: str, start: int) -> tuple[Unit, int] | None:
    """The unit that follows at a place of a text, and where it ends."""
    found = [(match.end(), unit) for unit, pattern in _FOLLOWS if (match := pattern.match(text, start))]
    if not found:
        return None
    end, unit = max(found, key=lambda place: place[0])
    return unit, end
