"""The dialects in which DJI drones write their state into subtitles.

Bracketed (Mavic Air 2, Mavic 3, Mini 3 and later): `[latitude: 41.4] [longitude: 2.2] [rel_alt: 1.0 abs_alt: 9.0]`, or
`[altitude: 27.3]`; some write `latitude :` or `longtitude`; some add `[gb_yaw: 1.0 gb_pitch: -90.0 gb_roll: 0.0]`.

GPS(longitude, latitude, satellites) (Mavic Pro, Mini, Phantom 4, Inspire) with `BAROMETER:1.9`, or with
`D 54.9m, H 19.4m` (distance from home, height), and on the Phantom 4 RTK `F.PRY` and `G.PRY` (pitch, roll, yaw of
drone and camera). GPS(latitude, longitude, altitude) (M300, Avata 2). Which of the two it is, the numbers must say.

Numbers count only with what ends them, so that a cut file yields no shortened ones.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.geometry.geodesy import offsets_m

_END: Final = r"(?=[\s\]),;<|°mf])"
_NUM: Final = r"([-+]?\d+(?:\.\d+)?)" + _END
_PRY: Final = (
    r"\.pry\s*\(\s*([-+]?\d+(?:\.\d+)?)[^\d,)]*,\s*([-+]?\d+(?:\.\d+)?)[^\d,)]*,\s*([-+]?\d+(?:\.\d+)?)[^\d,)]*\)"
)

# Of text in lower case. The literal beginnings let `re` skip fast over the rest of a long file.
FIELDS: Final = {
    "latitude": re.compile(r"lat(?:itude)?\s*:\s*" + _NUM),
    "longitude": re.compile(r"lon(?:gt?itude)?\s*:\s*" + _NUM),
    "rel_alt": re.compile(r"rel_alt\s*:\s*" + _NUM),
    "abs_alt": re.compile(r"abs_alt\s*:\s*" + _NUM),
    "altitude": re.compile(r"\[altitude\s*:\s*" + _NUM),
    "gb_yaw": re.compile(r"gb_yaw\s*:\s*" + _NUM),
    "gb_pitch": re.compile(r"gb_pitch\s*:\s*" + _NUM),
    # Two numbers, then satellites (a whole number below 100), or an altitude, or nothing.
    "gps": re.compile(
        r"gps\s*\(\s*([-+]?\d+(?:\.\d+)?)\s*,\s*([-+]?\d+(?:\.\d+)?)\s*"
        r"(?:,\s*(?:(\d{1,2})|([-+]?\d+(?:\.\d+)?)\s*m?)\s*)?\)"
    ),
    "home": re.compile(r"home\s*\(\s*" + _NUM + r"\s*,\s*" + _NUM),
    "barometer": re.compile(r"barometer\s*[:=(]?\s*" + _NUM + r"\s*(ft)?"),
    "height": re.compile(r"[\s,]h\s*[\s:=]\s*" + _NUM + r"\s*(ft)?"),
    "distance": re.compile(r"[\s,](?:d|home distance)\s*[\s:=]\s*" + _NUM + r"\s*(ft)?"),
    "flight": re.compile("f" + _PRY),
    "gimbal": re.compile("g" + _PRY),
}
FEET_M: Final = 0.3048
NEEDED_SATELLITES: Final = 4  # for a position in three dimensions
_DISCERNIBLE_M: Final = 20.0  # from home; nearer, noise hides which number is the latitude
_AGREES: Final = 0.05  # share of the distance by which the right order may miss it
_TELLS_APART: Final = 3.0  # the wrong order misses it by so much more


def field(text: str, starts: IntArray, name: str) -> FloatArray:
    """The first values of a field in each cue: (N, groups); NaN where a cue has none.

    Args:
        text: the file, in lower case.
        starts: (N,) where each cue begins.
        name: of `FIELDS`. A group that names a unit is 1 for feet, else NaN.
    """
    pattern = FIELDS[name]
    out = np.full((len(starts), pattern.groups), np.nan)
    found = list(pattern.finditer(text))
    if not found:
        return out
    cue = np.searchsorted(starts, [match.start() for match in found], side="right") - 1
    cue, first = np.unique(cue, return_index=True)
    values = np.array([found[i].groups("nan") for i in first.tolist()])
    out[cue[cue >= 0]] = np.where(values == "ft", "1", values).astype(np.float64)[cue >= 0]
    return out


def metres(values: FloatArray) -> FloatArray:
    """Lengths (N,) of a field with a unit (N, 2)."""
    return values[:, 0] * np.where(values[:, 1] == 1.0, FEET_M, 1.0)


class Order(NamedTuple):
    """Which number of GPS() is the latitude, and how that is known: by "range", "distance" or "form"."""

    latitude_first: bool
    known_by: str


def order_of(pair: FloatArray, home: FloatArray, distance_m: FloatArray, with_altitude: bool) -> Order:
    """Tells the order of GPS() from what only one order allows.

    Args:
        pair: (N, 2) its first two numbers.
        home: (N, 2) those of HOME(), in the same order, or NaN.
        distance_m: (N,) to home as logged, or NaN.
        with_altitude: whether the third number is an altitude. DJI writes GPS(longitude, latitude, satellites)
            and GPS(latitude, longitude, altitude).
    """
    size = np.median(np.abs(pair), axis=0)
    if size.max() > 90.0:  # no latitude
        return Order(bool(size[1] > 90.0), "range")
    there = (distance_m > _DISCERNIBLE_M) & np.isfinite(home).all(1)
    if there.any():
        miss = [_miss(pair[there], home[there], distance_m[there], first) for first in (False, True)]
        if min(miss) < _AGREES and max(miss) > _AGREES + _TELLS_APART * min(miss):
            return Order(miss[1] < miss[0], "distance")
    return Order(with_altitude, "form")


def _miss(pair: FloatArray, home: FloatArray, distance_m: FloatArray, latitude_first: bool) -> float:
    """By what share of it the distance from home is missed under one order."""
    order = [0, 1] if latitude_first else [1, 0]
    here, there = pair[:, order], home[:, order]
    offset = offsets_m(here, np.median(there, axis=0))
    return float(np.median(np.abs(np.hypot(offset[:, 0], offset[:, 1]) / distance_m - 1.0)))
