"""Checks of the things of a city: things to leave out, and values to disregard."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
import shapely

from pipeline.core.findings import Findings, doubt, note
from pipeline.core.groups import grouped
from pipeline.reading.maps.city_thing import BUILDING, FACING, SIZES, CityThing, Ring, Vec2
from pipeline.reading.maps.feature import mentioned
from pipeline.reading.maps.map_quality import shapes_of
from pipeline.reading.maps.read import STOREY_M
from pipeline.reading.maps.things import on_facades

HEIGHT_TIMES: Final = 8.0  # over what is usual for its kind: no car is 12 m high
OVERLAP: Final = 0.1  # of the smaller footprint: more is no roof that hangs over
SAME: Final = 0.9  # of both footprints: one building given twice
FLAT_M: Final = 5.0  # between the feet of buildings: more than a storey
PASSED_M: Final = 2.0  # height of the foot of a building from which on streets pass below it
EVERY_M: Final = 5.0  # along a street
STREETS_INSIDE: Final = 0.02  # of the places on streets, in buildings: more are no arcades
PLACES_MIN: Final = 100
OBJECTS_INSIDE: Final = 0.05  # of the objects in the open, in buildings
OBJECTS_MIN: Final = 20
FACINGS_MIN: Final = 8  # signs and shops that are at a wall: fewer may be at a wall that they do not face
FACINGS_OFF: Final = 0.5  # of them; of three sample cities none
FACING_OFF_DEG: Final = 60.0  # from the wall's way out
OFF_MAP_M: Final = 50.0  # beyond the bounds: an object there was meant to be elsewhere


class Faults:
    """Things by what is wrong with them."""

    def __init__(self, findings: Findings, file: str) -> None:
        self._findings, self._file = findings, file
        self._of: dict[tuple[str, str, str], list[str]] = defaultdict(list)

    def add(self, name: str, what: str, remedy: str, who: str) -> None:
        """One more of which ``what`` can be said."""
        self._of[name, what, remedy].append(who)

    def report(self, total: int, unit: str) -> None:
        """One doubt for each thing that can be wrong, which counts and names those of which it is so."""
        for (name, what, remedy), who in self._of.items():
            message = f"{self._file}: {len(who)} of {total} {unit} {what}: {mentioned(sorted(who))}"
            self._findings.add(doubt(name, self._file, message, remedy, float(len(who)), 0.0, unit))


def unique(things: Sequence[CityThing], file: str, findings: Findings) -> list[CityThing]:
    """Things by id: what is given twice stays once, and an id with two contents stands for nothing."""
    faults = Faults(findings, file)
    kept = []
    for key, same in grouped(things, lambda thing: thing.id).items():
        if all(other == same[0] for other in same[1:]):
            kept.append(same[0])
        else:
            what = "have an id that another thing has too, and were left out"
            faults.add("duplicate_id", what, "give each an id of its own", key)
    faults.report(len(things), "things")
    return kept


def on_the_map(objects: Sequence[CityThing], bounds: Ring, file: str, findings: Findings) -> list[CityThing]:
    """The objects that people added, without those that lie off the map."""
    if not objects:
        return []
    away = shapely.distance(shapely.Polygon(bounds), shapely.points([thing.center for thing in objects]))
    faults = Faults(findings, file)
    remedy = "GeoJSON has the longitude first; are these the objects of this city?"
    for thing, off in zip(objects, away.tolist(), strict=True):
        if off > OFF_MAP_M:
            faults.add("off_the_map", f"lie over {OFF_MAP_M:g} m off the map, and were left out", remedy, thing.id)
    faults.report(len(objects), "objects")
    return [thing for thing, off in zip(objects, away.tolist(), strict=True) if off <= OFF_MAP_M]


def within(things: Sequence[CityThing], bounds: Ring, file: str, findings: Findings) -> list[CityThing]:
    """The things of which some part lies on the map: of what lies beyond its border it has some and lacks others."""
    there = shapely.intersects(shapely.Polygon(bounds), shapes_of(things))
    beyond = [thing.id for thing, inside in zip(things, there.tolist(), strict=True) if not inside]
    if beyond:
        message = f"{file}: {len(beyond)} of {len(things)} things lie beyond the map's border: {mentioned(beyond)}"
        remedy = "they were left out, as the map has not all that is there; take a larger extract if they matter"
        findings.add(note("beyond_the_map", file, message, remedy, float(len(beyond)), 0.0, "things"))
    return [thing for thing, inside in zip(things, there.tolist(), strict=True) if inside]


def plausible(things: Sequence[CityThing], file: str, findings: Findings) -> list[CityThing]:
    """The things, without the heights that their storeys or their kind belie."""
    faults = Faults(findings, file)
    kept = []
    for thing in things:
        height, size = thing.height_m, SIZES.get(thing.kind)
        belied = False
        if height is not None and thing.kind == BUILDING and thing.levels is not None:
            belied = not STOREY_M[0] <= height / thing.levels <= STOREY_M[1]
            low, high = STOREY_M
            what = f"have a height that is not {low:g} to {high:g} m per storey; it was taken as unknown"
            faults_remedy = "give heights in metres, not in feet or storeys"
        elif height is not None and size is not None and thing.kind != BUILDING:
            belied = height > HEIGHT_TIMES * size.height_m
            what = f"are over {HEIGHT_TIMES:g} times as high as is usual for their kind; it was taken as unknown"
            faults_remedy = "give heights in metres, not in centimetres or feet"
        if belied:
            faults.add("implausible_height", what, faults_remedy, thing.id)
            thing = thing.model_copy(update={"height_m": None, "top_m": None})  # noqa: PLW2901
        kept.append(thing)
    faults.report(len(things), "things")
    return kept


def apart(things: Sequence[CityThing], file: str, findings: Findings) -> list[CityThing]:
    """The things, without buildings given twice; what stands in another building stays in the way, and is in doubt.

    The largest buildings come first: one that is left out itself takes no other along.
    """
    houses = [i for i, thing in enumerate(things) if thing.kind == BUILDING and thing.outline]
    if not houses:
        return list(things)
    shapes = shapely.polygons([shapely.linearrings(things[i].outline) for i in houses])
    area = shapely.area(shapes)
    a, b = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    a, b = a[a < b], b[a < b]
    shared = shapely.area(shapely.intersection(shapes[a], shapes[b]))
    smaller = np.minimum(area[a], area[b])
    faults = Faults(findings, file)
    dropped: set[int] = set()
    doubts: dict[int, str] = {}
    rank = {i: n for n, i in enumerate(sorted(range(len(houses)), key=lambda i: (-area[i], things[houses[i]].id)))}
    pairs = zip(a.tolist(), b.tolist(), shared.tolist(), smaller.tolist(), strict=True)
    for i, j, common, least in sorted(pairs, key=lambda pair: min(rank[pair[0]], rank[pair[1]])):
        first, second = (i, j) if rank[i] < rank[j] else (j, i)
        if common <= OVERLAP * least or houses[first] in dropped:
            continue
        large, small = things[houses[first]], things[houses[second]]
        if common >= SAME * area[first]:
            what = "have the footprint of another, and were left out"
            faults.add("doubled_footprint", what, "keep one of the two", f"{small.id} (as {large.id})")
            dropped.add(houses[second])
        else:
            what = "share a tenth or more of their footprint with a larger one: nothing is asked of them"
            faults.add("overlapping_footprints", what, "draw one around the other", f"{small.id} (in {large.id})")
            doubts[houses[second]] = f"its footprint overlaps {large.id}"
    faults.report(len(houses), "buildings")
    return [
        thing.model_copy(update={"doubt": doubts[i]}) if i in doubts else thing
        for i, thing in enumerate(things)
        if i not in dropped
    ]


def facing_out(things: Sequence[CityThing], file: str, findings: Findings) -> list[CityThing]:
    """The things; without what is stated of how signs and shops face where most of it is not out of their walls.

    Angles from east, counter-clockwise, in radians or into the wall are such. In sound maps the two differ by no more
    than walls that are not straight do.
    """
    stated = [i for i, t in enumerate(things) if t.kind in FACING and t.outline is None and t.facing_deg is not None]
    if len(stated) < FACINGS_MIN:
        return list(things)
    bare = [things[i].model_copy(update={"facing_deg": None}) for i in stated]
    houses = [thing for thing in things if thing.kind == BUILDING]
    by_wall = on_facades([*bare, *houses])[: len(bare)]
    pairs = [(things[i].facing_deg, own.facing_deg) for i, own in zip(stated, by_wall, strict=True)]
    off = [abs((a - b + 180.0) % 360.0 - 180.0) for a, b in pairs if a is not None and b is not None]
    share = float(np.mean([one > FACING_OFF_DEG for one in off])) if off else 0.0
    if len(off) < FACINGS_MIN or share <= FACINGS_OFF:
        return list(things)
    message = (
        f"{file}: {share:.0%} of {len(off)} signs and shops face over {FACING_OFF_DEG:g} degrees beside the way out of "
        f"their nearest wall (limit {FACINGS_OFF:.0%}): facing_deg was not used"
    )
    remedy = "give facing_deg in degrees clockwise from north, away from the wall"
    findings.add(doubt("facings_into_walls", file, message, remedy, round(share, 4), FACINGS_OFF, "share"))
    replaced = dict(zip(stated, bare, strict=True))
    return [replaced.get(i, thing) for i, thing in enumerate(things)]


def report_layers(
    things: Sequence[CityThing], streets: Sequence[Sequence[Vec2]], file: str, findings: Findings
) -> None:
    """Says whether streets, or objects in the open, lie within buildings: then one of these is in the wrong place.

    In six sound maps at most 0.1% of the streets and 1.5% of the objects do; in one of them, shifted by 10 m, 10% to
    22% of the streets.
    """
    houses = [
        t for t in things if t.kind == BUILDING and t.outline and t.doubt is None and (t.base_m or 0.0) < PASSED_M
    ]
    tree = shapely.STRtree(shapes_of(houses))
    objects = [t.center for t in things if t.outline is None and t.kind in SIZES and t.kind not in FACING]
    lines = [shapely.LineString(street) for street in streets]
    along = [shapely.line_interpolate_point(line, np.arange(0.0, line.length, EVERY_M)) for line in lines]
    checks = (
        (shapely.points(np.array(objects).reshape(-1, 2)), OBJECTS_MIN, OBJECTS_INSIDE, "objects in the open"),
        (np.concatenate([np.empty(0, dtype=object), *along]), PLACES_MIN, STREETS_INSIDE, "places on streets"),
    )
    for points, least, limit, what in checks:
        inside = len(np.unique(tree.query(points, predicate="intersects")[0])) if houses else 0
        if len(points) >= least and inside > limit * len(points):
            share = inside / len(points)
            message = f"{file}: {inside} of {len(points)} {what} lie within buildings ({share:.1%}, limit {limit:.0%})"
            remedy = "are both in one system of coordinates? Shift the one that is off, or leave it out"
            findings.add(doubt("layers_disagree", file, message, remedy, round(share, 4), limit, "share"))


def report_heights(things: Sequence[CityThing], file: str, findings: Findings) -> None:
    """Says of how many buildings no height is known, and where the ground is not as flat as it is taken to be."""
    houses = [thing for thing in things if thing.kind == BUILDING]
    feet = [thing.base_m for thing in houses if thing.base_m is not None]
    slope = float(np.ptp(np.quantile(feet, (0.05, 0.95)))) if feet else 0.0
    if slope > FLAT_M:
        message = (
            f"{file}: the feet of nine tenths of the buildings differ by {slope:.0f} m, and the ground is taken as flat"
        )
        remedy = "heights of poses are those above the ground of most buildings; cut out a flatter part if that matters"
        findings.add(doubt("ground_not_flat", file, message, remedy, slope, FLAT_M, "m"))
    bare = [thing for thing in houses if thing.top_m is None]
    if bare:
        message = f"{file}: {len(bare)} of {len(houses)} buildings have no height: {mentioned([t.id for t in bare])}"
        remedy = "add height or height_m; until then they are in the way at every height, and hide all behind them"
        findings.add(note("heights_unknown", file, message, remedy, float(len(bare)), 0.0, "buildings"))
