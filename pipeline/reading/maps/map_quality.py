"""What a map may have wrong or not know: where its points stand, what it has twice, and what words it may mean.

A map-maker sets the point of a shop somewhere within its house, so the distance from there to the wall that it fronts
says how far its door may be to either side. The median of these distances is taken for all other points of the map.

Of some kinds other entries tell where one should be: a shop stands in a building, a house number has a house, and some
have premises; a bus stop says that it has a bench. How many of these are on the map is its coverage (capture and
recapture): a kind of which they all are, and enough to say so, may be counted as one that is declared complete.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, note
from pipeline.core.templates import load_table
from pipeline.reading.maps.appearance import may_be
from pipeline.reading.maps.city_thing import BUILDING, FACING, FLAT, SIZES, VEHICLES, CityThing, KindCoverage
from pipeline.reading.maps.feature import mentioned

ERROR_NODES_MIN: Final = 5  # premises on walls, of which the error of other points is estimated
TWICE_M: Final = 15.0  # between two entries of one place
SURVEYED_TWICE_M: Final = 3.0  # between the place of an object on a map and where people found it again
BODY_M: Final = 1.0  # of two objects, bodies overlap by half where they are nearer than half of this or of their width


def _interchangeable_nouns() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in load_table("city/kinds")["alike"]:
        for noun in group:
            found[noun] = found.get(noun, frozenset()) | frozenset(group)
    for noun, broader in load_table("city/kinds")["broader"].items():
        for word in broader:
            found[word] = found.get(word, frozenset()) | {noun}
    return found


_ALIKE: Final[Mapping[str, frozenset[str]]] = _interchangeable_nouns()


def alike(noun: str) -> frozenset[str]:
    """The nouns of all things that people may call so, itself included."""
    return _ALIKE.get(noun, frozenset()) | may_be(noun)


def shapes_of(things: Sequence[CityThing]) -> np.ndarray:
    """(T,) shapely geometries of things: polygons, or points."""
    return np.array(
        [shapely.Point(t.center) if t.outline is None else shapely.Polygon(t.outline) for t in things], dtype=object
    )


def errors_m(things: Sequence[CityThing]) -> FloatArray:
    """(T,) how far from its place on the map each thing may stand."""
    return np.array([thing.error_m for thing in things], dtype=np.float64)


def with_errors(things: Sequence[CityThing], surveyed: Sequence[CityThing]) -> list[CityThing]:
    """The things, each point with its error; that of premises on a wall is told already.

    Args:
        things: of a city.
        surveyed: those of its map; what people added to it stands where they say.
    """
    walls = [t.error_m for t in things if t.outline is None and t.error_m > 0]
    if len(walls) < ERROR_NODES_MIN:
        return list(things)
    usual, mapped = round(float(np.median(walls)), 2), {t.id for t in surveyed}
    return [
        t.model_copy(update={"error_m": max(t.error_m, usual)}) if t.outline is None and t.id in mapped else t
        for t in things
    ]


def once(things: Sequence[CityThing], premises: str, file: str, findings: Findings) -> list[CityThing]:
    """The things; of what the map may have twice nothing is said: it is one place, or two.

    Two entries may be one where they are at most `TWICE_M` apart, people may use one word for both, and either both
    have one name, or one has none, or one is an area and the other a point.

    Args:
        things: of a map.
        premises: kind of those that are looked at; buildings that are such as a whole count too.
        file: which they are from.
        findings: what is found is added here.
    """
    own = [i for i, t in enumerate(things) if t.kind == premises or premises in t.also]
    shapes = shapes_of([things[i] for i in own])
    a, b = shapely.STRtree(shapes).query(shapes, predicate="dwithin", distance=TWICE_M)
    twin: dict[int, int] = {}
    for k, m in zip(a.tolist(), b.tolist(), strict=True):
        if k != m and _may_be_one(things[own[k]], things[own[m]]):
            twin.setdefault(own[k], own[m])
    if twin:
        message = f"{file}: {len(twin)} of {len(own)} premises may stand on the map twice: " + mentioned(
            sorted(f"{things[i].id} (as {things[j].id})" for i, j in twin.items())
        )
        remedy = "keep one entry of each place, with its name; until then nothing is asked of them"
        findings.add(note("mapped_twice", file, message, remedy, float(len(twin)), 0.0, "premises"))
    found = list(things)
    for i, j in twin.items():
        if found[i].kind == premises and found[i].doubt is None:  # a building is there in any case
            found[i] = found[i].model_copy(update={"doubt": f"the map may have it twice: as {things[j].id} too"})
    return found


def _may_be_one(one: CityThing, other: CityThing) -> bool:
    if one.kind == other.kind == BUILDING:
        return False
    if one.outline is None and other.outline is None and math.dist(one.center, other.center) < FRONT_M / 2:
        return True  # no front has room for two
    called, too = ({t.noun, *t.also} for t in (one, other))
    if not any(alike(word) & too for word in called - {one.kind}) and one.noun != one.kind and other.noun != other.kind:
        return False
    if one.name is None or other.name is None:
        at_one_door = one.noun == other.noun and math.dist(one.center, other.center) < FRONT_M
        return at_one_door or (one.outline is None) != (other.outline is None)
    names = [" ".join(re.findall(r"\w+", _folded(t.name))) or t.name for t in (one, other) if t.name is not None]
    return names[0] == names[1] or ((one.outline is None) != (other.outline is None) and _share_a_word(*names))


def one_in_a_place(
    things: Sequence[CityThing], added: Collection[str], file: str, findings: Findings
) -> list[CityThing]:
    """The things; of objects of one kind of which two stand in one place nothing is said: it is one, or two.

    Args:
        things: of a city.
        added: ids of those that people added to its map. They may have found again what the map has.
        file: which they are from.
        findings: what is found is added here.
    """
    own = [i for i, t in enumerate(things) if t.outline is None and t.kind in SIZES and t.kind not in FACING | FLAT]
    shapes = shapes_of([things[i] for i in own])
    a, b = shapely.STRtree(shapes).query(shapes, predicate="dwithin", distance=SURVEYED_TWICE_M)
    twin: dict[int, str] = {}
    for k, m in zip(a.tolist(), b.tolist(), strict=True):
        one, other = things[own[k]], things[own[m]]
        if k == m or (one.kind != other.kind and not {one.kind, other.kind} <= set(VEHICLES)):
            continue
        away, width = math.dist(one.center, other.center), min(*SIZES[one.kind][:2], *SIZES[other.kind][:2])
        limit = SURVEYED_TWICE_M if (one.id in added) != (other.id in added) else min(width, 2 * BODY_M) / 2
        if away < limit:
            twin.setdefault(own[k], f"{other.id} may be the same: {away:.1f} m away (limit {limit:g} m)")
    if twin:
        message = f"{file}: {len(twin)} of {len(own)} objects may stand on the map twice: " + mentioned(
            sorted(f"{things[i].id} ({why})" for i, why in twin.items())
        )
        remedy = "keep one entry of each object; until then nothing is asked of them"
        findings.add(note("mapped_twice", file, message, remedy, float(len(twin)), 0.0, "objects"))
    return [
        thing.model_copy(update={"doubt": thing.doubt or twin[i]}) if i in twin else thing
        for i, thing in enumerate(things)
    ]


def words_of(text: str) -> list[str]:
    """The words of a text in small letters without accents; numbers are none."""
    return re.findall(r"[^\W\d_]+", _folded(text))


def _folded(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def _share_a_word(one: str, other: str) -> bool:
    return bool({w for w in one.split() if len(w) > 3} & set(other.split()))


AREA_M: Final = 250  # side of the squares by which coverage is told
AT_HOUSE_M: Final = 5.0  # from premises to the building that they are in
AT_NUMBER_M: Final = 8.0  # from a house number to its premises
AT_STOP_M: Final = 8.0  # from a stop to its bench
CONFIDENCE: Final = 0.95  # that the share of all things is no less than the lower bound
FRONT_M: Final = 4.0  # the least width of a front; where so much is free between two, another may be missing
NEIGHBOUR_M: Final = 50.0  # from a front to the next
STRAIGHT_DEG: Final = 35.0  # between the line along a front and the next front on it
AT_STOP: Final = ("bench", "waste bin")  # traits of stops that are kinds of things too


def coverage_of(things: Sequence[CityThing], numbers: FloatArray, premises: str) -> tuple[KindCoverage, ...]:
    """What a map has of what other entries of it tell of, by kind and area, ascending; the whole map comes first.

    Args:
        things: of the map.
        numbers: (n, 2) where its house numbers are.
        premises: kind of shops and the like.
    """
    shapes = shapes_of(things)
    kind = np.array([thing.kind for thing in things], dtype=object)
    own = (kind == premises) & np.array([thing.doubt is None for thing in things], dtype=bool)
    whole = np.array([premises in thing.also for thing in things], dtype=bool)
    houses = shapes[(kind == BUILDING) & np.array([thing.outline is not None for thing in things], dtype=bool)]
    centers = np.array([thing.center for thing in things], dtype=np.float64).reshape(-1, 2)
    claims = [
        (BUILDING, np.concatenate([centers[own], numbers]), houses, AT_HOUSE_M),
        (premises, numbers, shapes[own | whole], AT_NUMBER_M),
    ]
    for trait in AT_STOP:
        has_trait = np.array([thing.traits.get(trait) == "yes" for thing in things], dtype=bool)
        claims.append((trait, centers[has_trait], shapes[kind == trait], AT_STOP_M))
    found: list[KindCoverage] = []
    for name, mapped, there, reach_m in claims:
        hit = np.zeros(len(mapped), dtype=bool)
        hit[shapely.STRtree(there).query(shapely.points(mapped), predicate="dwithin", distance=reach_m)[0]] = True
        if not len(mapped):
            continue
        found.append(KindCoverage(kind=name, area=None, told=len(mapped), found=int(hit.sum())))
        corners = (np.floor(mapped / AREA_M) * AREA_M).astype(int)
        squares, of = np.unique(corners, axis=0, return_inverse=True)
        all_of, hits_of = np.bincount(of.ravel()), np.bincount(of.ravel(), weights=hit)
        for corner, n, hits in zip(squares.tolist(), all_of.tolist(), hits_of.tolist(), strict=True):
            found.append(KindCoverage(kind=name, area=(corner[0], corner[1]), told=n, found=int(hits)))
    return tuple(found)


class MapCoverage:
    """The share of all things of a kind that a map has at least, about places.

    Args:
        coverage: of its kinds (`coverage_of`).
        complete: kinds of which it has all there are, as declared.
    """

    def __init__(self, coverage: Sequence[KindCoverage], complete: Sequence[str] = ()) -> None:
        self._complete = frozenset(complete)
        self._rows = {(row.kind, row.area): row for row in coverage}
        self._least: dict[str, float] = {}

    def least(self, kind: str, at: tuple[float, float]) -> float:
        """1 where the map is declared complete, else the lower bound at `CONFIDENCE` of the share.

        0 where nothing tells, or where something is known to be missing in the same square.
        """
        if kind in self._complete:
            return 1.0
        x, y = (int(np.floor(v / AREA_M)) * AREA_M for v in at)
        here = self._rows.get((kind, (x, y)))
        if here is not None and here.found < here.told:
            return 0.0
        if kind not in self._least:
            whole = self._rows.get((kind, None))
            self._least[kind] = 0.0 if whole is None else _lower_bound(whole.found, whole.told)
        return self._least[kind]

    def around(self, kind: str, at: tuple[float, float], reach_m: float) -> float:
        """The lower bound of the share in the squares of which some part lies within a reach; 0: nothing tells."""
        rows = [(*area, row.told, row.found) for (own, area), row in self._rows.items() if own == kind and area]
        corners, counts = np.split(np.array(rows, dtype=np.float64).reshape(-1, 4), 2, axis=1)
        gap = np.maximum(np.maximum(corners - at, at - corners - AREA_M), 0.0)
        mapped, found = counts[np.hypot(*gap.T) <= reach_m].sum(0).astype(int).tolist()
        return _lower_bound(found, mapped) if mapped else 0.0


def _lower_bound(found: int, mapped: int) -> float:
    from scipy.stats import binomtest  # takes a moment, which maps that tell nothing need not spend

    return float(binomtest(found, mapped).proportion_ci(2 * CONFIDENCE - 1, method="wilson").low)


def front_gaps_m(things: Sequence[CityThing], premises: str) -> FloatArray:
    """Free front (n,) between each of the premises and the next to either side, at least 0."""
    own = [t for t in things if t.kind == premises and t.facing_deg is not None]
    points = np.array([t.center for t in own], dtype=np.float64).reshape(-1, 2)
    a, b = shapely.STRtree(shapely.points(points)).query(
        shapely.points(points), predicate="dwithin", distance=NEIGHBOUR_M
    )
    a, b = a[a != b], b[a != b]
    facing = np.radians([t.facing_deg or 0.0 for t in own])
    right = np.stack([np.cos(facing), -np.sin(facing)], axis=1)
    offset = points[b] - points[a]
    away, along = np.hypot(*offset.T), (offset * right[a]).sum(1)
    straight = np.abs(along) >= away * np.cos(np.radians(STRAIGHT_DEG))
    a, along, away = a[straight], along[straight], away[straight]
    side = 2 * a + (along > 0)
    next_m = np.full(2 * len(own), np.inf)
    np.minimum.at(next_m, side, away)
    return np.maximum(next_m[np.isfinite(next_m)] - FRONT_M, 0.0)


def report_quality(
    things: Sequence[CityThing], coverage: Sequence[KindCoverage], premises: str, file: str, findings: Findings
) -> None:
    """Says in one finding what a map knows of its things, and how well; the dataset card has it.

    Args:
        things: of the map.
        coverage: of them.
        premises: kind of shops and the like.
        file: which they are from.
        findings: the finding is added here.
    """
    shops = [t for t in things if t.kind == premises]
    walls = [t.error_m for t in shops if t.kind in FACING and t.facing_deg is not None]
    houses = [t for t in things if t.kind == BUILDING]
    twice = sum("twice" in (t.doubt or "") for t in shops)
    parts = [f"{len(shops)} premises: {len(walls)} front a wall and {twice} may be there twice"]
    if walls:
        usual, most = np.quantile(walls, (0.5, 0.9)).tolist()
        parts.append(f"they stand {usual:.1f} m from it in the median, nine of ten within {most:.1f} m")
    gaps = front_gaps_m(things, premises)
    if len(gaps):
        parts.append(f"between {int((gaps > FRONT_M).sum())} of {len(gaps)} neighbouring fronts another has room")
    squares = Counter(row.kind for row in coverage if row.area is not None)
    for row in coverage:
        if row.area is None:
            words = {BUILDING: "premises and house numbers lie at a building", premises: "house numbers have premises"}
            text = words.get(row.kind, f"stops that have a {row.kind} by their own entry have it on the map")
            parts.append(f"{row.found} of {row.told} {text} (in {squares[row.kind]} squares of {AREA_M} m)")
    if houses:
        known = [sum(t.noun != t.kind for t in houses), sum(t.top_m is not None for t in houses)]
        kinds, heights = (f"{100 * n / len(houses):.0f}%" for n in known)
        parts.append(f"of {len(houses)} buildings {kinds} have a kind, {heights} a height")
    message = f"{file}: {'; '.join(parts)}"
    remedy = "what the map does not know is not asked; declare in city.yaml what it has all of"
    findings.add(note("map_quality", file, message, remedy))
