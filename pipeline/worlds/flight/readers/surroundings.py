"""Landmarks to speak of and buildings that hide them, from the map files that a ``flight.yaml`` names."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_enu
from pipeline.geometry.sight import own_buildings
from pipeline.geometry.tracks import NO_BUILDINGS, Buildings, footprints
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.appearance import STOREY_M, UNSEEN, Appearance, look_of, rise_of
from pipeline.reading.maps.feature import Feature, MapBounds, PlacedFeature, box_around, circle_about, mentioned
from pipeline.reading.maps.osm import KINDS
from pipeline.reading.maps.read import read_context
from pipeline.reading.maps.things import PART
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.readers.flight_files import FLIGHT_FILE, FlightSettings, PlacedGoal, find_file
from pipeline.worlds.flight.tracks.assemble import AssembledTrack

NEAR_M: Final = 1500.0  # of the track: a chimney of 100 m is seen from there, and hardly anything beyond
# Of OpenStreetMap: what is read, and what is told of it. What is long is read in pieces (`osm.ALONG`).
_WIDER: Final = ("landuse", "aeroway", "junction", "bridge", "waterway")
KEYS: Final = (*KINDS, *_WIDER, PART)
TOLD: Final = tuple(UNSEEN)


class Surroundings(NamedTuple):
    """The landmarks that a flight passes, and the buildings that can hide them."""

    landmarks: tuple[Landmark, ...]
    buildings: Buildings


# Width and height that must be seen of a goal that is given by words and a place: less than those of an entrance,
# which has to be near to be recognised.
GOAL_M: Final = 1.0


def read_surroundings(
    files: SceneFiles, settings: FlightSettings, assembled: AssembledTrack, findings: Findings
) -> Surroundings:
    """Landmarks and buildings of the files ``landmarks`` and ``buildings``, those of the former first; a placed goal.

    Raises:
        RawDataError: where a file cannot be read or placed on the earth, or the goal lies within a building.
    """
    found = _of_maps(files, settings, assembled, findings)
    if settings.placed_goal is None:
        return found
    if assembled.origin is None:
        message = "the goal was not placed: the log has local positions alone, and where they lie is not known"
        findings.add(doubt("no_origin", settings.placed_goal.words, message, f"give local_origin in {FLIGHT_FILE}"))
        return found
    return found._replace(landmarks=(*found.landmarks, _goal(files, settings.placed_goal, assembled, found.buildings)))


def _goal(files: SceneFiles, goal: PlacedGoal, assembled: AssembledTrack, around: Buildings) -> Landmark:
    """The goal as a landmark that is called by its words."""
    lat, lon, height = goal.at
    origin = assembled.origin or Origin(lat_deg=lat, lon_deg=lon, alt_m=None)
    east, north, _ = to_enu(np.array([[lat, lon, origin.alt_m or 0.0]]), origin)[0].tolist()
    ground_m = assembled.ground_m
    foot = None if np.isnan(ground_m) else ground_m + height - GOAL_M / 2
    tops = around.top_m if around.most_m is None else around.most_m
    inside = own_buildings(around, np.array([east, north]), None) & ~(tops < (-np.inf if foot is None else foot))
    if inside.any():
        message = f"goal.at lies within {int(inside.sum())} of the buildings on the map, whose walls would not hide it"
        remedy = "give a point before the wall, or on the roof with its height"
        raise files.fault(files.path / FLIGHT_FILE, "bad_setting", message, remedy)
    return Landmark(
        name=goal.words,
        label=goal.words,
        center=(east, north),
        radius_m=GOAL_M / 2,
        base_m=foot,
        top_m=None if foot is None else foot + GOAL_M,
    )


def _of_maps(
    files: SceneFiles, settings: FlightSettings, assembled: AssembledTrack, findings: Findings
) -> Surroundings:
    naming = settings.landmarks or settings.buildings
    if naming is None:
        return Surroundings((), NO_BUILDINGS)
    if assembled.origin is None:
        message = f"{naming} was not used: the log has local positions alone, and where they lie is not known"
        findings.add(doubt("no_origin", "landmarks", message, f"give local_origin in {FLIGHT_FILE}"))
        return Surroundings((), NO_BUILDINGS)
    box = box_around(assembled.origin, assembled.track.enu_m, NEAR_M)
    features = _features(files, naming, box, naming == settings.buildings, findings)
    walls: tuple[Feature, ...] = ()
    if settings.buildings not in (None, naming):
        walls = _features(files, settings.buildings or "", box, True, findings)
        walls = tuple(f for f in walls if any(box.holds(outline).any() for outline in f.outlines))
    ground_m = assembled.ground_m
    marks = landmarks(PlacedFeature(features, assembled.origin, ground_m), naming, findings)
    if walls:
        marks += others(
            marks, landmarks(PlacedFeature(walls, assembled.origin, ground_m), settings.buildings or "", findings)
        )
    faceless = sum(mark.appearance is None for mark in marks)
    if faceless and settings.landmarks is not None:
        message = f"{naming}: of {faceless} of {len(marks)} landmarks it is not told what they look like"
        remedy = "give kind, colour, roof_shape, height_m or sign, so that questions can name them"
        findings.add(note("looks_unknown", naming, message, remedy, float(faceless), 0.0, "landmarks"))
    placed = PlacedFeature((*features, *walls), assembled.origin, ground_m)
    check_heights(placed, ground_m, findings)
    check_path(placed, assembled.track.enu_m, findings)
    return Surroundings(marks, buildings(placed))


def _features(files: SceneFiles, name: str, box: MapBounds, walls: bool, findings: Findings) -> tuple[Feature, ...]:
    path = find_file(files, name)
    features = in_parts(read_context(files, path, box, walls, findings, KEYS, TOLD))
    if not any(box.holds(outline).any() for f in features for outline in f.outlines):
        message = f"{name}: of its {len(features)} features none lies within {NEAR_M:g} m of the flight"
        remedy = "is this the map of the place that the log is from?"
        findings.add(doubt("nothing_near", name, message, remedy, 0.0, 1.0, "features"))
    return features


def in_parts(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """The features; buildings with parts that have heights are as high as the highest, and not all over."""
    parts = [(f, outline) for f in features if PART in f.tags and "building" not in f.tags for outline in f.outlines]
    parts = [(f, outline) for f, outline in parts if len(outline) > 2]
    if not parts:
        return tuple(features)
    tree = shapely.STRtree([shapely.point_on_surface(shapely.make_valid(shapely.Polygon(o))) for _, o in parts])
    found = []
    for feature in features:
        rings = [o for o in feature.outlines if len(o) > 2] if feature.solid and PART not in feature.tags else []
        own = [k for ring in rings for k in tree.query(shapely.Polygon(ring), predicate="covers").tolist()]
        highs = np.array([feature.height_m, *(parts[k][0].height_m for k in own)])
        known = np.isfinite(highs)
        if own and (known[0] or known[1:].all()):
            low = float(highs[1:].min()) if known[1:].all() else STOREY_M[0]
            feature = replace(feature, height_m=float(highs[known].max()), low_m=low)  # noqa: PLW2901
        found.append(feature)
    return tuple(found)


LANDMARK_MAX_M: Final = 50_000.0  # from the flight's origin: nothing farther was ever seen from a drone
# Between take-off and the feet of most buildings; altitudes of GPS are off by as much.
GROUND_DIFFERENCE_M: Final = 20.0
SAME_SHARE: Final = 0.25  # of the larger one's radius: nearer than this, two outlines of one size are of one thing
SAME_SIZE: Final = 0.7  # of the larger one's radius is the smaller one's; a point has none


def landmarks(placed: PlacedFeature, file: str, findings: Findings) -> tuple[Landmark, ...]:
    """The features that have a name or a look and lie within 50 km; says which do not."""
    far = placed.distance_m > LANDMARK_MAX_M
    if far.any():
        named = [repr(f.name) if f.name else f"feature {i}" for i, f in enumerate(placed.features)]
        names = [name for name, is_far in zip(named, far, strict=True) if is_far]
        message = f"{file}: {len(names)} of {len(far)} landmarks lie over 50 km from the flight: {mentioned(names)}"
        remedy = "GeoJSON has the longitude first; is this the file of this flight, and its log in the right place?"
        worst = float(placed.distance_m.max()) / 1000.0
        findings.add(doubt("landmark_too_far", file, message, remedy, worst, LANDMARK_MAX_M / 1000.0, "km"))
    near = np.flatnonzero(~far).tolist()
    looks = [look_of(feature, of_unknown_extent=True) for feature in placed.features]
    rises = rises_m(placed, looks)
    found = (_landmark(placed, i, looks[i], rises[i]) for i in near if looks[i] or _is_spoken_of(placed.features[i]))
    return tuple(mark for mark in found if mark.name is not None or mark.appearance is not None)


def _is_spoken_of(feature: Feature) -> bool:
    """Whether a thing of unknown look may have a name that people use: a land use is no such thing."""
    return feature.tags.keys().isdisjoint(_WIDER) or not feature.tags.keys().isdisjoint(KINDS)


TRUSTED_MIN: Final = 8  # neighbours of known height, from which on they say how high the others may be
AROUND_M: Final = 200.0  # as far as neighbours stand
OVER_NEIGHBOURS: Final = 2.0  # times the highest of them
LEAST_TALLEST_M: Final = 20.0  # as high as anything may be, whatever its neighbours are
SLENDER: Final = 8.0  # times its width: no building is higher than that


def rises_m(placed: PlacedFeature, looks: Sequence[Appearance | None]) -> FloatArray:
    """Least and greatest height (F, 2) that each thing may have over its foot; both as the map has it, where it does.

    A building without height or storeys has that of its kind; at most twice that of its highest neighbour, where
    enough of them have one, and no more than `SLENDER` times its own width.
    """
    rises = np.array([rise_of(f, look) for f, look in zip(placed.features, looks, strict=True)]).reshape(-1, 2)
    height_m = np.array([f.height_m for f in placed.features])
    known = np.isfinite(height_m)
    rises[known] = height_m[known, None]
    rises[placed.in_parts, 0] = [f.low_m for f in placed.features if math.isfinite(f.low_m)]
    solid = np.array([f.solid for f in placed.features], dtype=bool)
    has_height = known | np.array([look is not None and look.height_m is not None for look in looks], dtype=bool)
    open_ones = np.flatnonzero(solid & ~has_height)
    if not len(open_ones):
        return rises
    middle = np.array([outlines[0].mean(0) for outlines in placed.outlines])
    width = np.array([_width_m(placed.outlines[i]) for i in open_ones.tolist()])
    tree = shapely.STRtree(shapely.points(middle[has_height & solid]))
    row, near = tree.query(shapely.points(middle[open_ones]), predicate="dwithin", distance=AROUND_M)
    highest = np.full(len(open_ones), -np.inf)
    np.maximum.at(highest, row, rises[has_height & solid, 1][near])
    highest[np.bincount(row, minlength=len(open_ones)) < TRUSTED_MIN] = np.nan
    by_neighbours = np.maximum(OVER_NEIGHBOURS * highest, LEAST_TALLEST_M)
    kind_unknown = rises[open_ones, 1] == rise_of(_ANY, None)[1]
    most = np.where(np.isnan(by_neighbours) | ~kind_unknown, rises[open_ones, 1], by_neighbours)
    rises[open_ones, 1] = np.maximum(np.minimum(most, SLENDER * width), rises[open_ones, 0])
    return rises


_ANY: Final = Feature((), None, None, solid=True)  # a building of which nothing is told


def _width_m(outlines: Sequence[FloatArray]) -> float:
    """The shorter side of the least rectangle about a building."""
    corners = np.asarray(shapely.MultiPoint(np.concatenate(outlines)).minimum_rotated_rectangle.boundary.coords)
    return float(np.hypot(*np.diff(corners, axis=0).T).min()) if len(corners) > 3 else 0.0


def others(marks: Sequence[Landmark], more: Sequence[Landmark]) -> tuple[Landmark, ...]:
    """Those of more landmarks that are not one of the first over again: as another map has it, in about its place."""
    center = np.array([mark.center for mark in marks]).reshape(-1, 2)
    radius = np.array([mark.radius_m for mark in marks])

    def is_there(mark: Landmark) -> bool:
        larger, smaller = np.maximum(radius, mark.radius_m), np.minimum(radius, mark.radius_m)
        alike = (radius == 0) | (smaller >= SAME_SIZE * larger)
        return bool((alike & (np.hypot(*(center - mark.center).T) <= SAME_SHARE * larger)).any())

    return tuple(mark for mark in more if not is_there(mark))


def buildings(placed: PlacedFeature) -> Buildings:
    """Every polygon of the features that hide what stands behind them."""
    chosen = [i for i, f in enumerate(placed.features) if f.solid and placed.distance_m[i] <= LANDMARK_MAX_M]
    index = np.array([i for i in chosen for _ in placed.outlines[i]], dtype=np.intp)
    outlines = tuple(outline for i in chosen for outline in placed.outlines[i])
    rises = rises_m(placed, [look_of(feature) for feature in placed.features])
    return Buildings(outlines, placed.ground_m[index], placed.top_m[index], (placed.ground_m + rises[:, 1])[index])


def check_heights(placed: PlacedFeature, ground_m: float, findings: Findings) -> None:
    """Says what is not known of the heights, what was assumed, and where they contradict the take-off."""
    solid = np.array([f.solid for f in placed.features], dtype=bool)
    unknown = solid & np.isnan(placed.top_m) & ~placed.in_parts
    if unknown.any():
        message = f"{int(unknown.sum())} of {int(solid.sum())} buildings have no known height"
        remedy = "add heights to the map, so that it is known what they hide"
        findings.add(note("heights_unknown", "buildings", message, remedy, float(unknown.sum()), 0.0, "buildings"))
    assumed = placed.assumed & np.isfinite(placed.top_m)
    if assumed.any():
        message = f"{int(assumed.sum())} things with a height, but of unknown foot, were put at the height of take-off"
        remedy = "give base_m, the height of the foot above the ground at take-off, where the land is not flat"
        findings.add(note("ground_assumed_flat", "buildings", message, remedy, float(assumed.sum()), 0.0, "things"))
    known = solid & ~placed.assumed
    if np.isfinite(ground_m) and known.any():
        off = abs(float(np.median(placed.foot_m[known])) - ground_m)
        if off > GROUND_DIFFERENCE_M:
            message = f"most buildings stand {off:.0f} m above or below the ground at take-off"
            remedy = "compare the altitudes of log and map; those of some drones are off by this much"
            findings.add(doubt("ground_differs", "buildings", message, remedy, off, GROUND_DIFFERENCE_M, "m"))


INSIDE_M: Final = 8.0  # behind a wall: positions of drones and of maps are off by some metres
BELOW_M: Final = 3.0  # below a roof: heights are off by as much
OPEN: Final = frozenset({"roof", "carport", "greenhouse", "stadium", "grandstand", "bridge"})  # one may fly under these


def check_path(placed: PlacedFeature, enu_m: FloatArray, findings: Findings) -> None:
    """Says where a flight leads through buildings: map, positions or the ground at take-off are wrong.

    A map that is shifted, as those of China's coordinates are by some hundred metres, and a take-off from a roof, whose
    height then lifts all buildings, show in this; over roofs neither does. Courtyards count as none.

    Args:
        placed: the things of the maps.
        enu_m: (N, 3) the track.
        findings: what is found is added to them.
    """
    least = placed.ground_m + rises_m(placed, [look_of(f) for f in placed.features])[:, 0]
    whole = [
        f.solid and not f.hollow and f.doubt is None and OPEN.isdisjoint((f.tags.get("building"), f.kind))
        for f in placed.features
    ]
    index = [i for i in np.flatnonzero(whole).tolist() for _ in placed.outlines[i]]
    cores = footprints(tuple(o for i in np.flatnonzero(whole).tolist() for o in placed.outlines[i]))
    cores = shapely.buffer(cores, -INSIDE_M)
    row, at = shapely.STRtree(cores).query(shapely.points(enu_m[:, :2]), predicate="intersects")
    owner = np.array(index, dtype=np.intp)[at]
    hit = enu_m[row, 2] < least[owner] - BELOW_M
    hit |= (row == 0) & (enu_m[row, 2] < least[owner])  # a take-off from the roof: at 0, and so is the foot
    if not hit.any():
        return
    through = sorted({placed.features[i].id or repr(placed.features[i].name) for i in owner[hit].tolist()})
    message = f"the flight leads {INSIDE_M:g} m behind the walls of {len(through)} buildings, below their roofs: "
    message += f"{mentioned(through)}, at {len(set(row[hit].tolist()))} of {len(enu_m)} positions"
    remedy = "is the map shifted (GCJ-02, BD-09), older than the flight, or did it take off from a roof (give base_m)?"
    found = doubt("path_through_buildings", "buildings", message, remedy, float(len(through)), 0.0, "buildings")
    if not row[hit].any():  # where it began alone may be off by more, or a courtyard that is not on the map
        found = found.model_copy(update={"severity": "note"})
    findings.add(found)


def _landmark(placed: PlacedFeature, place: int, look: Appearance | None, rise: FloatArray) -> Landmark:
    feature, outlines = placed.features[place], placed.outlines[place]
    circle_center, radius = circle_about(np.concatenate(outlines))
    area = sum(shapely.Polygon(outline).area for outline in outlines if len(outline) > 2)
    if look and area >= 0.1:  # of all outlines; a point has none
        look = look.model_copy(update={"area_m2": round(float(area), 1)})
    largest = max(outlines, key=lambda o: shapely.Polygon(o).area) if len(outlines[0]) > 2 else None
    return Landmark(
        name=None if feature.doubt else feature.name,
        kind=feature.kind,
        appearance=look,
        doubt=feature.doubt,
        center=circle_center,
        radius_m=radius,
        outline=None if largest is None else tuple((float(x), float(y)) for x, y in largest),
        base_m=_finite(placed.foot_m[place]),
        top_m=_finite(placed.top_m[place]),
        rise_m=None if look is None or np.isfinite(placed.top_m[place]) else (float(rise[0]), float(rise[1])),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
