"""Things with a place, as map files have them: WGS84, each with what its file says of its height."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Origin
from pipeline.core.templates import load_table
from pipeline.geometry.geodesy import to_enu

NAME_MAX_CHARS: Final = 200  # of the schema's names
HEIGHT_MAX_M: Final = 1000.0  # nothing built is higher
METRES_PER_DEGREE: Final = 110_574.0  # of latitude at the equator: nowhere fewer, so that a box is never too small
_BORDER_DEG: Final = 1e-9  # a tenth of a millimetre: what lies on the border is within it, however that was rounded
_MENTIONED: Final = 5  # names in a finding; the rest is counted

# What can be wrong with one feature: what a message says of it, and the remedy.
_LIMITS: Final = {"name_max_chars": NAME_MAX_CHARS, "height_max_m": HEIGHT_MAX_M}
REASONS: Final[dict[str, list[str]]] = {
    reason: [words.format(**_LIMITS) for words in told] for reason, told in load_table("maps/feature_reasons").items()
}

NOT_THERE, BELOW, PERHAPS = "not_there", "below_ground", "perhaps_not_there"
STATED: Final = frozenset({NOT_THERE, BELOW, PERHAPS})  # which the map itself says


@dataclass(frozen=True)
class Feature:
    """One thing of a map file.

    Attributes:
        outlines: corners (k, 2) of each of its polygons, degrees of latitude and longitude, not closed and without
            holes; a point is one outline of one corner.
        name: as in the file, line breaks included; None: it has none.
        kind: what it is, for example "building"; None: the file does not say.
        solid: whether it hides what stands behind it.
        height_m: of its top above its foot; NaN: not known.
        foot_m: height of its foot above ``datum``; NaN: not known.
        datum: the ground that the flight took off from, or mean sea level.
        tags: what the file says that may be seen of it, as it stands there, for example ``{"roof:shape": "dome"}``.
        id: what its file calls it, "way/123"; empty where it does not.
        doubt: why it may not stand there as the map has it, so that nothing is said of it; None: nothing is in doubt.
        low_m: height of its lowest part, of which ``height_m`` is the highest; NaN: it is so high all over.
        hollow: whether an outline had holes, which are filled: a courtyard.
    """

    outlines: tuple[FloatArray, ...]
    name: str | None
    kind: str | None
    solid: bool
    height_m: float = np.nan
    foot_m: float = np.nan
    datum: Literal["takeoff", "sea"] = "takeoff"
    tags: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    doubt: str | None = None
    low_m: float = np.nan
    hollow: bool = False


@dataclass(frozen=True)
class MapBounds:
    """Where a map matters: a rectangle in degrees about a place. It may lie across the 180th meridian."""

    lat_deg: float
    lon_deg: float
    half_lat_deg: float
    half_lon_deg: float

    def holds(self, lat_lon: FloatArray) -> BoolArray:
        """Which of some places (k, 2) lie in it, those on its border too."""
        north = np.abs(lat_lon[:, 0] - self.lat_deg)
        east = np.abs((lat_lon[:, 1] - self.lon_deg + 180.0) % 360.0 - 180.0)
        return (north <= self.half_lat_deg + _BORDER_DEG) & (east <= self.half_lon_deg + _BORDER_DEG)


EVERYWHERE: Final = MapBounds(0.0, 0.0, 90.0, 180.0)


def box_around(origin: Origin, enu_m: FloatArray, radius_m: float) -> MapBounds:
    """The box that holds all within ``radius_m`` of a track (N, 3) about its origin, and at the corners some more."""
    east_m, north_m = np.abs(enu_m[:, :2]).max(0) + radius_m
    half_lat = north_m / METRES_PER_DEGREE
    edge_lat = min(abs(origin.lat_deg) + half_lat, 89.9)  # where the meridians are closest
    half_lon = min(east_m / METRES_PER_DEGREE / np.cos(np.radians(edge_lat)), 180.0)
    return MapBounds(origin.lat_deg, origin.lon_deg, float(half_lat), float(half_lon))


class FaultTally:
    """Counts what is wrong with the features of one file, by reason."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def add(self, reason: str, who: str) -> None:
        """One more feature; ``reason`` is a key of `REASONS`."""
        self._names.setdefault(reason, []).append(who)

    def report(self, file: str, features: int, findings: Findings) -> None:
        """One finding per reason, which counts and names the features: a doubt, or a note of what their tags say."""
        for reason, names in self._names.items():
            what, remedy = REASONS[reason]
            message = f"{file}: {len(names)} of {features} features {what}: {mentioned(names)}"
            found = (reason, file, message, remedy, float(len(names)), None, "features")
            findings.add(note(*found) if reason in STATED else doubt(*found))


def mentioned(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - _MENTIONED} more" if len(names) > _MENTIONED else ""
    return ", ".join(names[:_MENTIONED]) + more


def usable_name(name: str) -> bool:
    """Whether a name can stand in a question: quotes, commas, line breaks and all scripts, no control characters."""
    controls = any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in name if c != "\n")
    return bool(name.strip()) and len(name) <= NAME_MAX_CHARS and not controls


def named(raw: object, who: str, tally: FaultTally) -> str | None:
    """The name of a feature if it has a usable one; blanks are none."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    if isinstance(raw, str) and usable_name(raw):
        return raw
    tally.add("unusable_name", who)
    return None


class PlacedFeature:
    """Features with their outlines in ENU metres and their heights in the flight's frame.

    Heights are differences of altitude, without the curvature of the earth: 8 cm at 1 km.

    Args:
        features: as read.
        origin: of the flight's frame.
        ground_m: up of the ground at take-off; NaN: not known, and then no height above it is.

    Attributes:
        outlines: per feature, (k, 2) of each of its polygons.
        distance_m: (F,) of the nearest corner from the origin.
        foot_m: (F,) up of the foot where it is known, else NaN.
        ground_m: (F,) up of the foot, or where it is not known of the ground at take-off.
        top_m: (F,) up of the top; NaN: not known, or not the same all over.
        in_parts: (F,) which are not so high all over.
    """

    def __init__(self, features: Sequence[Feature], origin: Origin, ground_m: float) -> None:
        self.features = tuple(features)
        corners = [outline for f in features for outline in f.outlines]
        lat_lon = np.concatenate(corners) if corners else np.empty((0, 2))
        enu = to_enu(np.column_stack([lat_lon, np.full(len(lat_lon), origin.alt_m or 0.0)]), origin)
        ends = np.cumsum([len(c) for c in corners])
        pieces = iter(np.split(enu, ends[:-1])) if corners else iter(())
        # As the crow flies through the earth: on the other side of it, east and north alone are small again.
        placed = [[next(pieces) for _ in f.outlines] for f in features]
        self.distance_m = np.array([min(np.linalg.norm(o, axis=1).min() for o in outlines) for outlines in placed])
        self.outlines = [[o[:, :2] for o in outlines] for outlines in placed]
        # A height above sea level is of use only where the flight's is known.
        sea = np.nan if origin.alt_m is None else -origin.alt_m
        datum = np.array([sea if f.datum == "sea" else ground_m for f in features])
        self.foot_m = datum + np.array([f.foot_m for f in features])
        self.assumed: BoolArray = np.isnan(self.foot_m)
        self.ground_m = np.where(self.assumed, ground_m, self.foot_m)
        self.in_parts: BoolArray = np.isfinite(np.array([f.low_m for f in features], dtype=np.float64))
        self.top_m = np.where(self.in_parts, np.nan, self.ground_m + np.array([f.height_m for f in features]))


def circle_about(corners: FloatArray) -> tuple[tuple[float, float], float]:
    """Centre and radius of the smallest circle about some corners (k, 2)."""
    if len(corners) == 1:
        return (float(corners[0, 0]), float(corners[0, 1])), 0.0
    points = shapely.MultiPoint(corners)
    center = shapely.minimum_bounding_circle(points).centroid
    return (float(center.x), float(center.y)), float(shapely.minimum_bounding_radius(points))
