"""Roads of a map, for what street one is in and for where to go. WGS84."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pipeline.core.arrays import FloatArray
from pipeline.reading.maps.areas import fit_name, other_names

# Values of ``highway`` that are no way one could stand in, or not yet or no longer one.
_NO_ROADS: Final = frozenset(
    {"abandoned", "bus_stop", "construction", "corridor", "elevator", "escape", "platform", "proposed", "raceway",
     "razed", "removed", "rest_area", "services", "traffic_island", "via_ferrata"}
)  # fmt: skip
_OUT_OF_SIGHT: Final = {"tunnel": frozenset({"yes", "covered"}), "indoor": frozenset({"yes"})}


@dataclass(frozen=True)
class Road:
    """A way that has a name.

    Attributes:
        name: as its signs have it.
        others: what else it is called.
        classes: the values of its ``highway``, mostly one.
        id: what its file calls it, "way/12".
        by: the file.
        lat_lon: (k, 2) its middle line, degrees.
        nodes: what its file calls the nodes of that line, 0 where it does not.
        oneway: whether the other direction is another way, or none.
        is_area: whether the line is the border of a square that one may stand on.
    """

    name: str
    others: tuple[str, ...]
    classes: tuple[str, ...]
    id: str
    by: str
    lat_lon: FloatArray
    nodes: tuple[int, ...]
    oneway: bool
    is_area: bool = False


def classes_of(tags: Mapping[str, str]) -> tuple[str, ...]:
    """What kinds of road it is; none for what is no road under the open sky. Several are parted by semicolons."""
    if any(tags.get(key) in values for key, values in _OUT_OF_SIGHT.items()):
        return ()
    found = (part.strip() for part in tags.get("highway", "").split(";"))
    return tuple(kind for kind in found if kind and kind not in _NO_ROADS)


def road_of(
    tags: Mapping[str, str], identity: str, by: str, lat_lon: FloatArray, nodes: tuple[int, ...] = ()
) -> Road | None:
    """A way as a road; None for what is none, or has no usable name."""
    classes, name = classes_of(tags), " ".join(tags.get("name", "").split())
    if not classes or not fit_name(name) or len(lat_lon) < 2:
        return None
    oneway = tags.get("oneway") in {"yes", "1", "-1", "true"} or tags.get("junction") == "roundabout"
    closed = len(lat_lon) > 3 and bool((lat_lon[0] == lat_lon[-1]).all())
    is_area = closed and (tags.get("area") == "yes" or tags.get("type") == "multipolygon")
    nodes = nodes or (0,) * len(lat_lon)
    return Road(name, other_names(tags, name), classes, identity, by, lat_lon, nodes, oneway, is_area)
