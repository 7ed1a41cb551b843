"""What a map may have wrong or not know: where its points stand, what it has twice, and what words it may mean.

A map-maker sets the point of a shop somewhere within its house, so the distance from there to the wall that it fronts
says how far its door may be to either side. The median of these distances is taken for all other points of the map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, note
from pipeline.core.templates import load_table
from pipeline.reading.maps.appearance import may_be
from pipeline.reading.maps.feature import mentioned
from pipeline.worlds.city.facts import BUILDING, CityThing

ERROR_NODES_MIN: Final = 5  # premises on walls, of which the error of other points is estimated
TWICE_M: Final = 15.0  # between two entries of one place


def _alike() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in load_table("city/kinds")["alike"]:
        for noun in group:
            found[noun] = found.get(noun, frozenset()) | frozenset(group)
    return found


_ALIKE: Final[Mapping[str, frozenset[str]]] = _alike()


def alike(noun: str) -> frozenset[str]:
    """The nouns that people may use for what a map calls so, itself included."""
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
    called, too = ({t.noun, *t.also} for t in (one, other))
    if not any(alike(word) & too for word in called - {one.kind}) and one.noun != one.kind and other.noun != other.kind:
        return False
    if one.name is None or other.name is None:
        return (one.outline is None) != (other.outline is None)
    names = [" ".join(t.name.casefold().split()) for t in (one, other) if t.name is not None]
    return names[0] == names[1] or ((one.outline is None) != (other.outline is None) and _share_a_word(*names))


def _share_a_word(one: str, other: str) -> bool:
    return bool({w for w in one.split() if len(w) > 3} & set(other.split()))
