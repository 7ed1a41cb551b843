"""What the sources of a panorama's metadata say, and which of them is believed: the first that says something.

Where two differ, what they speak of is in doubt.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import offsets_m
from pipeline.worlds.panorama.facts import Crop

APART_M: Final = 25.0  # between two sources of a position: GPS among houses is off by some 10 m
TURNED_DEG: Final = 10.0  # between two sources of a heading: a compass is off by some degrees
RADIANS_DEG: Final = 1.0  # a heading that is another one in radians up to this is given in radians
NULL_ISLAND_DEG: Final = 0.001  # of 0, 0, where positions lie that were never set; no land is near


@dataclass(frozen=True)
class Told:
    """What one source says; None: nothing.

    Attributes:
        by: its name, as messages and `Panorama.told_by` have it.
        position: WGS84; checked (`position_of`).
        accuracy_m: of the position.
        heading_deg: of the sphere's middle column, clockwise from true north; checked (`heading_of`).
        camera_pitch_deg: by which the camera looked up.
        camera_roll_deg: by which it leaned to the right.
        crop: where the picture lies in the sphere.
        captured: day.
        author: who took it.
        licence: of the picture.
        source_url: where it is from.
    """

    by: str
    position: Origin | None = None
    accuracy_m: float | None = None
    heading_deg: float | None = None
    camera_pitch_deg: float | None = None
    camera_roll_deg: float | None = None
    crop: Crop | None = None
    captured: datetime.date | None = None
    author: str | None = None
    licence: str | None = None
    source_url: str | None = None


def number_of(value: Any) -> float | None:
    """A finite number of JSON, or of a text that is one; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def positive(value: float | None) -> float | None:
    """A number above 0; a precision of 0 means that nobody knew it."""
    return value if value is not None and value > 0 else None


def position_of(lat: float | None, lon: float | None, alt_m: float | None, by: str, found: Findings) -> Origin | None:
    """A position that can be one; None with a doubt for what is none, None alone for what is not there."""
    if lat is None and lon is None:
        return None
    remedy = "give position (lat_deg, lon_deg) in pano.yaml"
    if lat is None or lon is None:
        message = f"{by}: of latitude and longitude one is missing or no number"
        found.add(doubt("half_a_position", "position", message, remedy))
        return None
    if not -90.0 <= lat <= 90.0:
        message = f"{by}: the latitude is {lat:g}, not within -90 to 90; it was not used"
        found.add(doubt("latitude_out_of_range", "position", message, remedy, lat, 90.0, "degrees"))
        return None
    if not -180.0 <= lon <= 180.0:
        message = f"{by}: the longitude is {lon:g}, not within -180 to 180; it was not used"
        found.add(doubt("longitude_out_of_range", "position", message, remedy, lon, 180.0, "degrees"))
        return None
    if max(abs(lat), abs(lon)) < NULL_ISLAND_DEG:
        message = f"{by}: the position is {lat:g}, {lon:g}: that of a receiver that had none; it was not used"
        found.add(doubt("position_zero", "position", message, remedy, max(abs(lat), abs(lon)), NULL_ISLAND_DEG, "deg"))
        return None
    return Origin(lat_deg=lat, lon_deg=lon, alt_m=alt_m)


def heading_of(raw: float | None, by: str, found: Findings) -> float | None:
    """A heading in [0, 360); one below 0 is turned once, with a note; None with a doubt for what is none."""
    if raw is None:
        return None
    if not -180.0 <= raw <= 360.0:
        message = f"{by}: the heading is {raw:g}, not within 0 to 360; it was not used"
        remedy = "give heading_deg, degrees clockwise from true north, in pano.yaml"
        found.add(doubt("heading_out_of_range", "heading", message, remedy, raw, 360.0, "degrees"))
        return None
    if raw < 0:
        message = f"{by}: the heading is {raw:g}, taken as {raw + 360.0:g}"
        found.add(note("heading_below_zero", "heading", message, "give it within 0 to 360", raw, 0.0, "degrees"))
    return raw % 360.0


def first(told: Sequence[Told], of: str, told_by: dict[str, str]) -> Any:
    """The first source's word on something, and whose it is."""
    for source in told:
        value = getattr(source, of)
        if value is not None:
            told_by[of] = source.by
            return value
    return None


def accuracy_of(told: Sequence[Told], told_by: dict[str, str]) -> float | None:
    """The accuracy that people state, else that of the source whose position is believed: no other's is about it."""
    placed = [source for source in told if source.position is not None]
    return first([*told[:1], *placed[:1]], "accuracy_m", told_by)


def compare(told: Sequence[Told], found: Findings) -> None:
    """Says where sources differ on position or heading, and where a heading is one in radians."""
    placed = [(t.by, t.position) for t in told if t.position is not None]
    if len(placed) > 1:
        points = np.array([(p.lat_deg, p.lon_deg) for _, p in placed])
        away = np.hypot(*offsets_m(points, points[0]).T)
        worst = int(away.argmax())
        if away[worst] > APART_M:
            message = (
                f"the positions of {placed[0][0]} and {placed[worst][0]} lie {away[worst]:.0f} m apart; the first holds"
            )
            remedy = "find out which is right, and state it in pano.yaml, with certain: [position]"
            found.add(doubt("positions_disagree", "position", message, remedy, float(away[worst]), APART_M, "m"))
    headed = [(t.by, t.heading_deg) for t in told if t.heading_deg is not None]
    if len(headed) > 1:
        _compare_headings(headed[0], max(headed[1:], key=lambda one: _turn(one[1], headed[0][1])), found)
    elif headed:
        _perhaps_radians(headed[0], found)


def _compare_headings(one: tuple[str, float], other: tuple[str, float], found: Findings) -> None:
    apart = _turn(one[1], other[1])
    if apart <= TURNED_DEG:
        return
    for radians, degrees in ((one, other), (other, one)):
        if radians[1] <= math.tau and _turn(math.degrees(radians[1]), degrees[1]) <= RADIANS_DEG:
            message = (
                f"the heading of {radians[0]}, {radians[1]:g}, is that of {degrees[0]}, {degrees[1]:g}, in radians"
            )
            remedy = "state heading_deg, in degrees, in pano.yaml"
            found.add(doubt("heading_in_radians", "heading", message, remedy, radians[1], math.tau, "degrees"))
            return
    message = f"the headings of {one[0]} and {other[0]} differ by {apart:.0f} degrees; the first holds"
    remedy = "find out which is right, and state it in pano.yaml, with certain: [heading]"
    found.add(doubt("headings_disagree", "heading", message, remedy, apart, TURNED_DEG, "degrees"))


def _perhaps_radians(told: tuple[str, float], found: Findings) -> None:
    by, heading = told
    if 0 < heading <= math.tau and not float(heading * 10).is_integer():
        message = f"{by}: the heading is {heading:g}, and may be {math.degrees(heading):.1f} degrees in radians"
        remedy = "state heading_deg in pano.yaml, with certain: [heading], if it is in degrees"
        found.add(doubt("perhaps_radians", "heading", message, remedy, heading, math.tau, "degrees"))


def _turn(a: float, b: float) -> float:
    return abs((a - b + 180.0) % 360.0 - 180.0)
