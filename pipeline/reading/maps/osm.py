"""Buildings and named places of an OpenStreetMap extract (``.osm.pbf``, ``.osm``, ``.osm.gz``).

An extract whose nodes, ways and relations are not in order (Overpass and JOSM write such) is read from a sorted copy.

Most buildings there have no height, and then none is made up: ``building:levels`` is not a height (it bounds one, where
only more or less tall is asked). Holes in outlines are filled.

In the properties of a GeoJSON feature tags stand as its tools write them: Overpass Turbo and QGIS write each tag as a
property; osmtogeojson, where it is told not to, one property ``tags``; GDAL the rarer ones as text, ``other_tags``:
``"building:levels"=>"3","roof:colour"=>"red"``.
"""

import bz2
import gzip
import io
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, note
from pipeline.core.mirrors import here
from pipeline.core.templates import load_table
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.feature import (
    BELOW,
    HEIGHT_MAX_M,
    METRES_PER_DEGREE,
    NAME_MAX_CHARS,
    NOT_THERE,
    PERHAPS,
    FaultTally,
    Feature,
    MapBounds,
    named,
)

_PAIR: Final = re.compile(r'"((?:[^"\\]|\\.)*)"=>"((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")


def osm_tags(facts: Mapping[str, Any]) -> dict[str, str]:
    """The tags that a feature's properties have, numbers as texts; of anything else in them no word is taken."""
    under, rarer = facts.get("tags"), facts.get("other_tags")
    found = {**facts, **(under if isinstance(under, dict) else {})}
    tags = {
        key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in found.items() if _is_tag(value)
    }
    pairs = _PAIR.findall(rarer) if isinstance(rarer, str) else []
    return tags | {_ESCAPED.sub(r"\1", key): _ESCAPED.sub(r"\1", value) for key, value in pairs}


def _is_tag(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


# What has these keys and a name may serve as a landmark; streets and districts have no one place.
KINDS: Final = ("building", "amenity", "tourism", "historic", "leisure", "man_made", "natural", "shop", "office")
# What is seen of a thing, beside its kind; their meaning is in https://wiki.openstreetmap.org/wiki/Simple_3D_Buildings.
SEEN: Final = ("building:colour", "roof:colour", "roof:shape", "building:levels", "height", "religion")
FOOT_M: Final = 0.3048
INCH_M: Final = 0.0254
# The spellings that OpenStreetMap documents for ``height``: metres unless it says feet.
_NUMBER: Final = r"(\d{1,4}(?:\.\d{1,6}|,\d{1,2})?)"  # after a comma three digits may be thousands
_METRES: Final = re.compile(rf"{_NUMBER} ?(?:m|metres|meters)?", re.ASCII)
_FEET: Final = re.compile(rf"{_NUMBER} ?(?:'|ft|feet)(?: ?(\d{{1,2}}(?:\.\d{{1,6}})?) ?(?:\"|in))?", re.ASCII)


def height_of(tag: str | None) -> float:
    """Metres of a ``height`` tag such as 12, 12.5 m, 12,5 m, 40' or 40 ft, with inches too; NaN where it is none."""
    text = (tag or "").strip()
    if metres := _METRES.fullmatch(text):
        height = float(metres[1].replace(",", "."))
    elif feet := _FEET.fullmatch(text):
        height = float(feet[1].replace(",", ".")) * FOOT_M + float(feet[2] or 0) * INCH_M
    else:
        return np.nan
    return height if 0.0 < height <= HEIGHT_MAX_M else np.nan


_PRESENCE: Final = load_table("maps/nouns")["presence"]
GONE: Final = frozenset(_PRESENCE["gone"])
_DENIED: Final = frozenset({"no", "false", "0"})
_REMARK: Final = re.compile(rf"[(\[（] *(?:{'|'.join(map(re.escape, _PRESENCE['remarks']))}) *[)\]）]")
_BY_LAYER: Final = frozenset({"building", "shop", "amenity", "tourism", "office"})  # of waters a layer tells nothing


class Presence(NamedTuple):
    """Whether a map's thing stands where it is.

    Attributes:
        tags: what it is, without what it is no more.
        reason: why nothing is said of it, `REASONS`; None: nothing speaks against it.
        by: the tag that says so.
    """

    tags: Mapping[str, str]
    reason: str | None = None
    by: str = ""


def presence_of(tags: Mapping[str, str], keys: Sequence[str], mapped: int | None = None) -> Presence:
    """What a thing's own tags say of whether it is there, above the ground and as it is mapped.

    Args:
        tags: of the thing.
        keys: those that say what it is.
        mapped: the year in which it was mapped; None: not known.
    """
    key = next((key for key in _PRESENCE["gone"] if _affirmed(tags, key)), None)
    if key is not None:
        return Presence({}, NOT_THERE, f"{key}={tags[key]}")
    void = [key for key in keys if tags.get(key, "").casefold() in GONE]
    kept = {key: word for key, word in tags.items() if key not in void} if void else tags
    if void and not any(key in kept for key in keys):
        return Presence({}, NOT_THERE, f"{void[0]}={tags[void[0]]}")
    if "building" in kept:
        below = _matching(kept, _PRESENCE["below"])
        if below is not None:
            return Presence(kept, BELOW, below)
    return Presence(kept, *_doubt(kept, keys, mapped))


def _doubt(tags: Mapping[str, str], keys: Sequence[str], mapped: int | None) -> tuple[str | None, str]:
    by = _matching(tags, _PRESENCE["doubtful"])
    staged = (f"{stage}:{key}" for key in keys if key in tags for stage in _PRESENCE["stages"])
    by = by or next((f"{key}={tags[key]}" for key in staged if tags.get(key) in _said_by(tags, key)), None)
    if by is None and _REMARK.search(tags.get("name", "").casefold()):
        by = f"name={tags['name']}"
    low = "layer" if _BY_LAYER & tags.keys() and _number(tags.get("layer")) < 0 else None
    low = "building:levels" if "building" in tags and _number(tags.get("building:levels")) == 0 else low
    built = tags.get("start_date", "")[:4]
    if mapped is not None and built.isdecimal() and int(built) > mapped:
        low = "start_date"
    by = by or (None if low is None else f"{low}={tags[low]}")
    return (PERHAPS, by) if by is not None else (None, "")


def _said_by(tags: Mapping[str, str], staged: str) -> tuple[str, str]:
    """Values of a key with a stage before it that contradict the key itself; another value is what was there before."""
    return "yes", tags[staged.partition(":")[2]]


def _matching(tags: Mapping[str, str], kept_tags: Mapping[str, Sequence[str]]) -> str | None:
    for key, words in kept_tags.items():
        word = tags.get(key, "").strip("\"' ").casefold()
        if any(word.startswith(one) for one in words) if words else _affirmed(tags, key):
            return f"{key}={tags[key]}"
    return None


def _affirmed(tags: Mapping[str, str], key: str) -> bool:
    return key in tags and tags[key].casefold() not in _DENIED


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return np.nan


_MARKUP: Final[Mapping[str, Callable[[Path], io.FileIO | gzip.GzipFile | bz2.BZ2File]]] = {
    ".osm": io.FileIO,
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
}
_ELEMENT: Final = re.compile(rb"<(node|way|relation)\s[^<>]*?\bid=[\"'](-?\d{1,18})[\"']")
OSM_REMEDY: Final = "fetch the extract again, or sort it: osmium sort IN -o OUT"
_RANK: Final = {b"node": 0, b"way": 1, b"relation": 2}
_PART_BYTES: Final = 1 << 24  # looked through at once


@contextmanager
def sorted_extract(path: Path) -> Iterator[str]:
    """Within the block an extract as osmium needs it, maybe a copy: nodes, then ways, then relations, each by id.

    Of binary extracts those are taken to be sorted that osmium does not refuse: all that are offered for download are.
    """
    import osmium  # of the extra [flights]

    if _is_sorted(path):
        yield str(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = str(Path(folder, "sorted.osm.pbf"))
        reader = osmium.MergeInputReader()
        reader.add_file(str(path))
        with osmium.SimpleWriter(copy) as out:
            reader.apply(out)
        yield copy


def _is_sorted(path: Path) -> bool:
    """Whether the elements of XML come in order; of what is damaged osmium says how."""
    if path.suffix not in _MARKUP:
        return True
    before, rest = np.array([[-1, 0, 0]]), b""
    try:
        with _MARKUP[path.suffix](path) as file:
            while part := file.read(_PART_BYTES):
                text = rest + part
                end = text.rfind(b"<")
                rest = text[end:] if end >= 0 else b""
                found = [(_RANK[kind], int(number)) for kind, number in _ELEMENT.findall(text[: max(end, 0)])]
                ids = np.array(found, dtype=np.int64).reshape(-1, 2)
                # Ids of what was not uploaded yet are negative, and come first: -1, -2, 1, 2.
                keys = np.vstack([before, np.column_stack([ids[:, 0], ids[:, 1] > 0, np.abs(ids[:, 1])])])
                step = np.diff(keys, axis=0)
                first = np.take_along_axis(step, (step != 0).argmax(axis=1)[:, None], axis=1)
                if (first < 0).any():
                    return False
                before = keys[-1:]
    except (OSError, EOFError, zlib.error):
        return True
    return True


def read_osm(
    files: SceneFiles,
    path: Path,
    box: MapBounds,
    findings: Findings,
    keys: Sequence[str] = KINDS,
    kept_tags: Sequence[str] = (),
) -> tuple[Feature, ...]:
    """All nodes and areas in a box that have one of some keys, and what they say by others too.

    Raises RawDataError where the file cannot be read.
    """
    import osmium  # of the extra [flights], which scans need not have

    files.raw(path)  # digested, and sound enough to be opened
    tally, features, ways, areas, lines = FaultTally(), [], 0, 0, BridgesAndWaters(keys)
    try:
        with sorted_extract(path) as extract:
            things: Any = osmium.FileProcessor(extract).with_areas()
            for thing in things.with_filter(osmium.filter.KeyFilter(*keys)):
                building = "building" in thing.tags
                if thing.is_way():
                    ways += building
                    lines.add(thing)
                    continue
                if not (thing.is_area() or thing.is_node()):
                    continue
                outlines = _outlines(thing)
                areas += building and thing.is_area() and thing.from_way() and bool(outlines)
                if outlines and any(box.holds(o).any() for o in outlines):
                    feature = _feature(thing, outlines, tally, keys, kept_tags)
                    features += [feature] if feature is not None else []
    except (RuntimeError, ValueError, OSError, osmium.InvalidLocationError) as error:
        message = f"osmium cannot read it: {' '.join(str(error).split())}"
        raise files.fault(path, "unreadable_osm", message, OSM_REMEDY) from error
    name = files.relative(path)
    features += lines.features(box, features)
    tally.report(name, len(features), findings)
    if ways > areas:
        message = f"{name}: {ways - areas} of {ways} building outlines lack nodes or cross themselves and were left out"
        remedy = "cut the extract with complete ways"
        findings.add(note("broken_outlines", name, message, remedy, float(ways - areas), None, "outlines"))
    return tuple(features)


# Lines that stand for something wide: ways on bridges, shores, rivers.
_BRIDGE_HALF_M: Final = 4.0  # half the width of a way on a bridge: two ways on one are one bridge
_ALONG_M: Final = 50.0  # from one point of a shore or a river to the next
_WATERS: Final[Mapping[str, frozenset[str]]] = {
    "natural": frozenset({"coastline"}),
    "waterway": frozenset({"river", "canal"}),
}


class BridgesAndWaters:
    """Long things that a map has as lines: bridges, with the outline of what they carry, and waters, point by point.

    Of a sea or a river it is told where it is, not how far it goes: it is there, and nobody can name it.

    Args:
        keys: which things are read; lines where bridges and waterways are among them.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._asked = {"bridge", "waterway"} <= set(keys)
        self._bridges: list[FloatArray] = []
        self._waters: list[FloatArray] = []

    def add(self, way: Any) -> None:
        """A way of a map; one that is neither, or that lacks nodes, is left out."""
        if not self._asked:
            return
        bridge = way.tags.get("bridge", "no") != "no"
        water = any(way.tags.get(key) in values for key, values in _WATERS.items())
        if (bridge or water) and "tunnel" not in way.tags:
            line = np.array([(n.lat, n.lon) for n in way.nodes if n.location.valid()])
            if len(line) > 1:
                (self._bridges if bridge else self._waters).append(line)

    def features(self, box: MapBounds, others: Sequence[Feature]) -> list[Feature]:
        """The bridges and waters in a box; water within an outline of water is that."""
        lines = np.concatenate([np.empty((0, 2)), *self._bridges, *self._waters])
        scale = np.array([1.0, np.cos(np.radians(lines[:, 0].mean() if len(lines) else 0.0))]) * METRES_PER_DEGREE
        found = []
        carried = [shapely.LineString(line * scale).buffer(_BRIDGE_HALF_M, cap_style="flat") for line in self._bridges]
        for shape in shapely.get_parts(shapely.unary_union(carried)) if carried else ():
            outline = np.asarray(shape.exterior.coords)[:-1] / scale
            if box.holds(outline).any():
                found.append(Feature((outline,), None, "bridge", solid=False, tags={"man_made": "bridge"}))
        covered = [shapely.make_valid(shapely.Polygon(o)) for f in others if f.tags.get("natural") == "water"
                   for o in f.outlines if len(o) > 2]  # fmt: skip
        places = [_points_along(line, scale) for line in self._waters]
        place = np.concatenate([np.empty((0, 2)), *places])
        place = place[box.holds(place)]
        free = (
            ~shapely.contains_xy(shapely.unary_union(covered), *place.T)
            if covered and len(place)
            else np.ones(len(place), dtype=bool)
        )
        return found + [
            Feature((corner[None],), None, "water", solid=False, tags={"natural": "water"}) for corner in place[free]
        ]


def _points_along(line: FloatArray, scale: FloatArray) -> FloatArray:
    """Points (n, 2) of a line (k, 2), degrees, at most `_ALONG_M` apart."""
    along = np.concatenate([[0.0], np.hypot(*np.diff(line * scale, axis=0).T).cumsum()])
    at = np.linspace(0.0, along[-1], int(along[-1] // _ALONG_M) + 2)
    return np.column_stack([np.interp(at, along, line[:, k]) for k in (0, 1)])


_NO_YEAR: Final = 1970  # of what has no time


def _outlines(thing: Any) -> tuple[FloatArray, ...]:
    """Outer rings of an area or the place of a node, (k, 2) latitude and longitude."""
    rings = [[thing.location]] if thing.is_node() else [[n.location for n in ring] for ring in thing.outer_rings()]
    found = [np.array([(p.lat, p.lon) for p in ring]) for ring in rings if all(p.valid() for p in ring)]
    return tuple(o if thing.is_node() else o[:-1] for o in found)


def _feature(
    thing: Any, outlines: tuple[FloatArray, ...], tally: FaultTally, keys: Sequence[str], kept_tags: Sequence[str]
) -> Feature | None:
    year, own = thing.timestamp.year, f"node/{thing.id}"
    own = own if thing.is_node() else f"{'way' if thing.from_way() else 'relation'}/{thing.orig_id()}"
    tags, reason, by = presence_of(dict(thing.tags), keys, year if year > _NO_YEAR else None)
    if reason is not None:
        tally.add(reason, f"{own} ({by})"[:80])
        if reason != PERHAPS:
            return None
    return Feature(
        outlines,
        named(tags.get("name"), repr(tags.get("name"))[:80], tally),
        kind_of(tags, keys),
        solid=thing.is_area() and "building" in tags,
        height_m=height_of(tags.get("height")),
        tags=telling(tags, keys, kept_tags),
        id=own,
        doubt=f"whether it is there is not told: {by}" if reason else None,
        hollow=thing.is_area() and thing.num_rings()[1] > 0,
    )


def kind_of(tags: Mapping[str, str], keys: Sequence[str] = KINDS) -> str | None:
    """The value of the first key that a thing has: "bakery" of shop=bakery; None where it has none of them."""
    key = next((k for k in keys if k in tags), None)
    if key is None:
        return None
    kind = key if tags[key] == "yes" else tags[key].replace("_", " ")
    return kind if kind.isprintable() else key


def telling(tags: Mapping[str, str], keys: Sequence[str] = KINDS, told: Sequence[str] = ()) -> dict[str, str]:
    """Those of a thing's tags that may be seen of it, or say what it is."""
    return {key: tags[key] for key in (*keys, *SEEN, *told) if key in tags and len(tags[key]) <= NAME_MAX_CHARS}


def osm_bounds(path: Path) -> tuple[float, float, float, float] | None:
    """West, south, east and north of what an extract says that it covers, degrees; None where it does not say."""
    import osmium

    box = osmium.io.Reader(str(here(path))).header().box()
    if not box.valid():
        return None
    low, high = box.bottom_left, box.top_right
    return low.lon, low.lat, high.lon, high.lat
