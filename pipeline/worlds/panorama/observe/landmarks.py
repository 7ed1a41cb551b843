"""Named things that a map has around a panorama: bearing, distance, what stands before them, side of the street.

All of it holds under the error of the camera's position and of the map. Lines of sight go over footprints: a building
of unknown height hides all behind it. What no map has (trees, lorries) may hide things as well, and is not known.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_enu
from pipeline.geometry.sight import Walls, is_clear, walls
from pipeline.geometry.tracks import Buildings
from pipeline.reading.maps.appearance import STOREY_M
from pipeline.reading.maps.city_thing import BUILDING, FACING, FLAT, SIZES, CityThing
from pipeline.reading.maps.map_quality import MapCoverage, alike, shapes_of
from pipeline.reading.maps.surroundings import MapSurroundings
from pipeline.worlds.panorama.facts import Panorama, PanoramaConfig, PanoramaLandmark

EYE_M: Final = 2.5  # above the ground, where the camera's height is not known
RIVALS: Final = 1.5  # times as far as landmarks: what lies there may be meant too
EDGE_ON_DEG: Final = 60.0  # from its facing to the camera: what is seen more from the side shows nothing of its front
RAYS: Final = 15  # to a landmark
BEFORE_M: Final = 0.2  # before a wall, to which a line of sight goes
ROAD_M: Final = 4.0  # to either side of the middle of a street no building stands
DEPTH_M: Final = 6.0  # no building is less deep
# Kinds of areas on which none stands.
OPEN: Final = frozenset({"crossing", "parking", "sports field", "square", "swimming pool", "water"})
STREET_M: Final = 15.0  # from the camera to the middle of the street that it stands in
CLEARER: Final = 1.5  # times as far every other street must be from what lies on one
BESIDE_M: Final = 2.0  # from the middle of a street to what surely lies on one side


def landmarks_of(facts: Panorama, around: MapSurroundings, config: PanoramaConfig) -> dict[str, Any]:
    """The fields `landmarks`, `map_coverage` and `street_deg` of a panorama whose position is known."""
    position = facts.position
    if position is None:
        return {}
    at = to_enu(np.array([[position.lat_deg, position.lon_deg, 0.0]]), Origin.model_validate(around.origin))[0, :2]
    here, shapes = shapely.Point(at), shapes_of(around.things)
    away = shapely.distance(shapes, here)
    near = np.flatnonzero(away <= RIVALS * config.landmark_reach_m)
    chosen = [i for i in near.tolist() if away[i] <= config.landmark_reach_m and _is_landmark(around.things[i])]
    error_m = max(config.position_error_m, facts.accuracy_m or 0.0)
    eyes = _eyes(at, error_m, [shapes[i] for i in near.tolist() if around.things[i].kind == BUILDING])
    rivals = [around.things[i] for i in near.tolist()]
    eye_m = facts.camera_height_m or EYE_M
    street = _Street(around, here)
    ground = _ground(around, here, [shapes[i] for i in near.tolist() if around.things[i].kind in OPEN], config)
    found = []
    for i in chosen:
        thing = around.things[i]
        total_m = error_m + thing.error_m
        bearing, width = _interval(thing, at)
        hidden = [j for j in near.tolist() if around.things[j].kind == BUILDING and j != i]
        hidden = [j for j in hidden if around.things[j].id != thing.on and around.things[j].outline is not None]
        among = walls(_buildings([around.things[j] for j in hidden]))
        share = min((_seen_share(thing, shapes[i], eye, eye_m, among) for eye in eyes), default=0.0)
        found.append(
            PanoramaLandmark(
                id=thing.id,
                noun=thing.noun,
                name=str(thing.name),
                is_premises=thing.kind in FACING or bool(FACING & set(thing.also)),
                distance_m=round(float(away[i]), 2),
                error_m=round(total_m, 2),
                bearing_deg=_compass(bearing),
                width_deg=round(width, 2),
                error_deg=round(float(np.degrees(np.arctan2(total_m, max(float(away[i]), 1e-6)))), 2),
                top_deg=round(float(np.degrees(np.arctan2(_height_m(thing) - eye_m, max(float(away[i]), 1.0)))), 2),
                visible_share=round(share, 3),
                open_share=round(min((_open(thing, shapes[i], eye, ground) for eye in eyes), default=0.0), 3),
                others=sum(_may_be_meant(thing, other) for other in rivals),
                side=street.side(shapes[i], total_m),
                doubt=thing.doubt,
            )
        )
    coverage = MapCoverage(around.coverage).around(BUILDING, (float(at[0]), float(at[1])), config.landmark_reach_m)
    inside = bool(shapely.covers(around.covered, here))
    return {
        "landmarks": tuple(sorted(found, key=lambda own: own.id)),
        "map_coverage": round(coverage, 4) if inside else 0.0,
        "street_deg": street.bearing_deg,
    }


def _compass(degrees: float) -> float:
    return round(degrees % 360.0, 2) % 360.0


def _is_landmark(thing: CityThing) -> bool:
    """What has a name and stands upright."""
    return thing.name is not None and thing.kind not in FLAT and (thing.outline is not None or thing.kind in SIZES)


def _may_be_meant(thing: CityThing, other: CityThing) -> bool:
    """Whether the words "NOUN named NAME" of one thing may mean another: one of its name, or of its kind and no name.

    Whose name no sign tells is known by its kind alone: whatever may be called so may be meant.
    """
    if other.id in (thing.id, thing.on) and other.name != thing.name:
        return False
    if other.id == thing.id:
        return False
    if other.name is not None and str(thing.name).casefold() == other.name.casefold():
        return True
    is_alike = bool(alike(thing.noun) & {other.noun, *other.also})
    has_sign = thing.kind in FACING or bool(FACING & set(thing.also))
    return is_alike and (other.name is None or not has_sign)


def _eyes(at: FloatArray, error_m: float, buildings: Sequence[Any]) -> list[FloatArray]:
    """Where the camera may have stood: its place, and as far off as it may be wrong, outside of buildings."""
    step = error_m * np.array([[0.0, 0.0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    own = [at + off for off in step]
    return [eye for eye in own if not shapely.intersects(shapely.Point(eye), np.array(buildings, dtype=object)).any()]


def _height_m(thing: CityThing) -> float:
    """What of it surely stands above the ground."""
    if thing.height_m is not None:
        return thing.height_m
    if thing.kind == BUILDING:
        return STOREY_M[0] * (thing.levels or 1.0)
    return SIZES[thing.kind].base_m + SIZES[thing.kind].height_m if thing.kind in SIZES else STOREY_M[0]


def _front(thing: CityThing) -> FloatArray:
    """Points of a thing that is a point on the map: ends of its front, or of its width all around; (k, 2)."""
    center, size = np.array(thing.center), SIZES[thing.kind]
    if thing.facing_deg is not None:
        facing = np.radians(thing.facing_deg)
        along = size.width_m / 2 * np.array([np.cos(facing), -np.sin(facing)])
        return np.array([center - along, center, center + along])
    turn = np.radians(np.arange(0, 360, 45.0))
    return center + size.width_m / 2 * np.column_stack([np.sin(turn), np.cos(turn)])


def _interval(thing: CityThing, at: FloatArray) -> tuple[float, float]:
    """Compass bearing of a thing's middle as seen from a place, and how wide it is, degrees."""
    points = (np.array(thing.outline) if thing.outline is not None else _front(thing)) - at
    turns = np.degrees(np.arctan2(points[:, 0], points[:, 1]))
    middle = np.degrees(np.arctan2(thing.center[0] - at[0], thing.center[1] - at[1]))
    off = (turns - middle + 180.0) % 360.0 - 180.0
    return float(middle + (off.min() + off.max()) / 2), float(np.ptp(off))


def _buildings(things: Sequence[CityThing]) -> Buildings:
    tops = np.array([np.nan if t.height_m is None else t.height_m for t in things], dtype=np.float64)
    return Buildings(tuple(np.array(t.outline) for t in things), np.zeros(len(things)), tops)


def _ground(around: MapSurroundings, here: Any, areas: Sequence[Any], config: PanoramaConfig) -> Any:
    """What lies about the camera on which no building stands: roads, and open areas."""
    lines = np.array([shapely.LineString(line) for _, line, sure in around.streets if sure], dtype=object)
    lines = lines[shapely.dwithin(lines, here, config.landmark_reach_m)]
    return shapely.union_all([*shapely.buffer(lines, ROAD_M), *(area for area in areas if area.is_valid)])


def _open(thing: CityThing, shape: Any, eye: FloatArray, ground: Any) -> float:
    """The share of a thing's width, from an eye, before which a building that the map lacks has no room."""
    targets = _targets(thing, shape, eye)
    if not len(targets):
        return 0.0
    lines = shapely.linestrings(np.stack([np.broadcast_to(eye, targets.shape), targets], axis=1))
    parts, of = shapely.get_parts(shapely.difference(lines, ground), return_index=True)
    longest = np.zeros(len(targets))
    np.maximum.at(longest, of, shapely.length(parts))
    return float((longest < DEPTH_M).mean())


def _targets(thing: CityThing, shape: Any, eye: FloatArray) -> FloatArray:
    """Places (n, 2) on what an eye sees of a thing, across its width; none where it is seen edge-on or not at all."""
    if thing.outline is None:
        front = _front(thing)
        if thing.facing_deg is None:
            return np.array([thing.center])
        facing, to_eye = np.radians(thing.facing_deg), eye - np.array(thing.center)
        ahead = float(np.sin(facing) * to_eye[0] + np.cos(facing) * to_eye[1])
        if ahead < np.cos(np.radians(EDGE_ON_DEG)) * float(np.hypot(*to_eye)):
            return np.empty((0, 2))
        return front[0] + np.linspace(0.0, 1.0, RAYS)[:, None] * (front[-1] - front[0])
    bearing, width = _interval(thing, eye)
    turns = np.radians(bearing + width * (np.arange(RAYS) + 0.5 - RAYS / 2) / RAYS)
    far = eye + 2.0 * (np.hypot(*(np.array(thing.outline) - eye).T).max()) * np.column_stack(
        [np.sin(turns), np.cos(turns)]
    )
    rays = shapely.linestrings(np.stack([np.broadcast_to(eye, far.shape), far], axis=1))
    met = shapely.intersection(rays, shape)
    met = met[~shapely.is_empty(met)]
    return shapely.get_coordinates(shapely.shortest_line(shapely.Point(eye), met)).reshape(-1, 4)[:, 2:]


def _seen_share(thing: CityThing, shape: Any, eye: FloatArray, eye_m: float, among: Walls) -> float:
    """The share of a thing's width, from an eye, to which nothing on the map stands in the way."""
    targets = _targets(thing, shape, eye)
    if not len(targets):
        return 0.0
    off = targets - eye
    length = np.maximum(np.hypot(*off.T), 1e-6)
    targets = eye + off * (np.maximum(length - BEFORE_M, 0.0) / length)[:, None]
    high = _height_m(thing)
    clear = np.zeros(len(targets), dtype=bool)
    for level in (min(1.5, high / 2), 0.9 * high):
        ends = np.column_stack([targets, np.full(len(targets), level)])
        clear |= is_clear(np.broadcast_to(np.array([*eye, eye_m]), ends.shape), ends, among)
    return float(clear.sum() / (RAYS if len(targets) > 1 else 1))


class _Street:
    """The street in which a camera surely stands.

    Attributes:
        bearing_deg: compass bearing of its line there; None: it stands in none surely.
    """

    def __init__(self, around: MapSurroundings, here: Any) -> None:
        self.bearing_deg: float | None = None
        self._lines = np.array([], dtype=object)
        if not around.streets:
            return
        by_name: dict[str, list[Any]] = {}
        for n, (name, line, sure) in enumerate(around.streets):
            by_name.setdefault(name if name is not None and sure else f"\0{n}", []).append(shapely.LineString(line))
        parts = [shapely.get_parts(shapely.line_merge(shapely.MultiLineString(own))) for own in by_name.values()]
        named = np.repeat([not name.startswith("\0") for name in by_name], [len(own) for own in parts])
        self._lines = np.concatenate(parts)
        away = shapely.distance(self._lines, here)
        order = np.argsort(away, kind="stable")
        self._own = int(order[0])
        others_m = away[order[1]] if len(order) > 1 else np.inf
        if not named[self._own] or away[self._own] > STREET_M or others_m < away[self._own] + BESIDE_M:
            return
        line = self._lines[self._own]
        place = shapely.line_locate_point(line, here)
        ends = shapely.get_coordinates(
            shapely.line_interpolate_point(line, [max(place - 5.0, 0.0), min(place + 5.0, line.length)])
        )
        along = ends[1] - ends[0]
        self.bearing_deg = _compass(float(np.degrees(np.arctan2(along[0], along[1]))))

    def side(self, shape: Any, error_m: float) -> int:
        """1: a thing lies left of the street as `bearing_deg` looks along it, -1: right; 0: not sure."""
        if self.bearing_deg is None:
            return 0
        away = shapely.distance(self._lines, shape)
        own = float(away[self._own])
        others = float(np.delete(away, self._own).min(initial=np.inf))
        if own < BESIDE_M + error_m or others - error_m < CLEARER * (own + error_m):
            return 0
        line = self._lines[self._own]
        start, end = shapely.get_coordinates(shapely.shortest_line(line, shape))
        place = shapely.line_locate_point(line, shapely.Point(start))
        if not 0.5 < place < line.length - 0.5:
            return 0  # beyond the end of a street there is no side
        before, after = shapely.get_coordinates(shapely.line_interpolate_point(line, [place - 0.5, place + 0.5]))
        along, off = after - before, end - start
        return int(np.sign(along[0] * off[1] - along[1] * off[0]))
