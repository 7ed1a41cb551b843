"""On which street things of a city lie, on which side of it, where their front is, and which stand at a corner.

Of all of this it is said whether it is sure. A thing lies on a street surely where that street is near and every other
is clearly farther; a house between two streets lies on neither surely, and what not all call a street (a drive) may be
one. Streets are the lines of the map, joined where they go on under one name.
"""

from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.reading.maps.map_quality import errors_m
from pipeline.worlds.city.facts import City

NEAR_M: Final = 30.0  # from a street's middle line to what surely lies on it
FAR_M: Final = 45.0  # and to what may
CLEARER: Final = 1.5  # how many times as far every other street must be
CLEARER_M: Final = 6.0  # and by how much
BESIDE_M: Final = 2.0  # from the line, so that the side of it is sure
TANGENT_M: Final = 0.5  # to both sides of a place on a line, between which its direction is taken
TURN_DEG: Final = 15.0  # nearly straight on: no corner
CORNER_M: Final = 20.0  # from where two streets meet to what surely stands at their corner
CORNER_FAR_M: Final = 32.0  # and to what may
ARM_M: Final = 10.0  # along a street from where it meets another: its direction there
CORNER_DEG: Final = (45.0, 135.0)  # between two streets, with what surely stands between them
CORNER_MAY_DEG: Final = (25.0, 160.0)
BETWEEN_DEG: Final = 8.0  # from either street to what surely stands between them


class StreetFrontage(NamedTuple):
    """Of T things.

    Attributes:
        line: (T,) index of the line on which each surely lies; -1: not sure, or none.
        maybe: (T,) whether there is any street on which it may lie.
        side: (T,) 1 left, -1 right of the line; 0: not sure.
        front_deg: (T,) compass bearing of its front: as the map has it, or towards its street; NaN: not sure.
        distance_m: (T,) to the nearest street for sure, else infinite.
        corner: (T,) whether it surely stands at the corner of two streets.
        corner_maybe: (T,) and whether it may.
    """

    line: IntArray
    maybe: BoolArray
    side: IntArray
    front_deg: FloatArray
    distance_m: FloatArray
    corner: BoolArray
    corner_maybe: BoolArray


class StreetLines(NamedTuple):
    """The streets of a city.

    Attributes:
        shapes: (L,) lines of shapely.
        sure: (L,) whether each is surely a street.
        name: (L,) number of its name; pieces of one name, and all without a name, have one.
        street: (L,) number of its street: pieces of one name have one, each without a name its own.
    """

    shapes: np.ndarray
    sure: BoolArray
    name: IntArray
    street: IntArray


def lines_of(city: City) -> StreetLines:
    """Streets joined where exactly two pieces of one name meet."""
    groups: dict[tuple[bool, str], list[shapely.LineString]] = {}
    for street in city.streets:
        groups.setdefault((street.sure, street.name or ""), []).append(shapely.LineString(street.line))
    shapes: list[shapely.LineString] = []
    sure: list[bool] = []
    name: list[int] = []
    of_street: list[int] = []
    names = sorted({called for _, called in groups})
    for (known, called), own in sorted(groups.items()):
        merged = shapely.line_merge(shapely.MultiLineString(own))
        parts = sorted(shapely.get_parts(merged).tolist(), key=lambda part: part.wkt)
        shapes += parts
        sure += [known] * len(parts)
        name += [names.index(called)] * len(parts)
        own_numbers = [-1 - n for n in range(len(of_street), len(shapes))]
        of_street += [names.index(called)] * len(parts) if called else own_numbers
    numbers = (np.array(of, dtype=np.intp) for of in (name, of_street))
    return StreetLines(np.array(shapes, dtype=object), np.array(sure, dtype=bool), *numbers)


def street_frontage(city: City, shapes: np.ndarray, lines: StreetLines) -> StreetFrontage:
    """Where things lie.

    Args:
        city: its facts.
        shapes: (T,) footprints of its things.
        lines: its streets.
    """
    count = len(shapes)
    facing = np.array([np.nan if t.facing_deg is None else t.facing_deg for t in city.things], dtype=np.float64)
    best, side = np.full(count, -1, dtype=np.intp), np.zeros(count, dtype=np.intp)
    front, nearest, maybe = facing.copy(), np.full(count, np.inf), np.zeros(count, dtype=bool)
    no = np.zeros(count, dtype=bool)
    if not len(lines.shapes) or not count:
        return StreetFrontage(best, maybe, side, front, nearest, no, no.copy())
    thing, line = shapely.STRtree(lines.shapes).query(shapes, predicate="dwithin", distance=FAR_M)
    away = shapely.distance(shapes[thing], lines.shapes[line])
    maybe[thing] = True
    error = errors_m(city.things)
    first, clear = _clearest(thing, line, away, lines.sure, error)
    own = np.flatnonzero(first >= 0)
    to = shapely.shortest_line(shapes[own], lines.shapes[first[own]])
    ends = shapely.get_coordinates(to).reshape(-1, 4)
    length = np.hypot(*(ends[:, 2:] - ends[:, :2]).T)
    nearest[own] = length
    sure = clear[own] & (length - error[own] >= BESIDE_M) & (length + error[own] <= NEAR_M)
    best[own[sure]] = first[own[sure]]
    side[own[sure]] = _sides(lines.shapes[first[own[sure]]], ends[sure])
    outward = np.degrees(np.arctan2(ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1])) % 360
    unknown = np.isnan(facing[own])
    front[own[sure & unknown]] = outward[sure & unknown]
    return StreetFrontage(best, maybe, side, front, nearest, *_corners(shapes, lines))


def _clearest(
    thing: IntArray, line: IntArray, away: FloatArray, known: BoolArray, error_m: FloatArray
) -> tuple[IntArray, BoolArray]:
    """The nearest sure street of each thing (T,), -1 for none, and whether every other line is clearly farther.

    Also where the thing stands so much (T,) nearer to the other.
    """
    count = len(error_m)
    order = np.lexsort((line, away, thing))
    of, lane, far = thing[order], line[order], away[order]
    first = np.full(count, -1, dtype=np.intp)
    own_m = np.full(count, np.inf)
    sure = known[lane]
    begin = np.flatnonzero(np.diff(of[sure], prepend=-1))
    first[of[sure][begin]], own_m[of[sure][begin]] = lane[sure][begin], far[sure][begin]
    others = lane != first[of]
    second_m = np.full(count, np.inf)
    np.minimum.at(second_m, of[others], far[others])
    own_m, second_m = own_m + error_m, second_m - error_m
    return first, second_m >= np.maximum(CLEARER * own_m, own_m + CLEARER_M)


def _sides(lines: np.ndarray, ends: FloatArray) -> IntArray:
    """Side (n,) of lines (n,) on which the first ends of the shortest lines (n, 4) to them lie: 1 left, -1 right."""
    at = shapely.line_locate_point(lines, shapely.points(ends[:, 2:]))
    before = shapely.get_coordinates(shapely.line_interpolate_point(lines, np.maximum(at - TANGENT_M, 0.0)))
    after = shapely.get_coordinates(
        shapely.line_interpolate_point(lines, np.minimum(at + TANGENT_M, shapely.length(lines)))
    )
    along, off = after - before, ends[:, :2] - ends[:, 2:]
    cross = along[:, 0] * off[:, 1] - along[:, 1] * off[:, 0]
    square = np.hypot(*along.T) * np.hypot(*off.T)
    # Beyond the end of a street, or in its bend, there is no side.
    return np.where(np.abs(cross) >= 0.7 * np.maximum(square, 1e-9), np.sign(cross), 0).astype(np.intp)


def _corners(shapes: np.ndarray, lines: StreetLines) -> tuple[BoolArray, BoolArray]:
    """Which things (T,) surely stand at the corner of two streets, and which may."""
    sure, maybe = np.zeros(len(shapes), dtype=bool), np.zeros(len(shapes), dtype=bool)
    arms = _arms(lines)
    if not len(arms.junctions):
        return sure, maybe
    # Every thing with every junction near it: P pairs.
    points = shapely.points(arms.junctions)
    thing, junction = shapely.STRtree(points).query(shapes, predicate="dwithin", distance=CORNER_FAR_M)
    ends = shapely.get_coordinates(shapely.shortest_line(points[junction], shapes[thing])).reshape(-1, 4)
    distance_m = np.hypot(*(ends[:, 2:] - ends[:, :2]).T)
    bearing_deg = np.degrees(np.arctan2(ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1])) % 360
    # The arms at the junction of each pair: (P, most), the last one repeated where there are fewer.
    begin = np.searchsorted(arms.junction, np.arange(len(arms.junctions) + 1))
    most = int(np.diff(begin).max())
    at_junction = np.minimum(begin[:-1, None] + np.arange(most), begin[1:, None] - 1)
    near = at_junction[junction]
    clockwise_deg = (arms.bearing_deg[near] - bearing_deg[:, None]) % 360
    # The thing stands between two arms: the next one clockwise, and the next one counter-clockwise.
    next_deg, previous_deg = clockwise_deg.min(1), 360 - clockwise_deg.max(1)
    street, pair = lines.street[arms.line[near]], np.arange(len(thing))
    # A roundabout is one street, however it bends.
    two_streets = street[pair, clockwise_deg.argmin(1)] != street[pair, clockwise_deg.argmax(1)]
    angle_deg = next_deg + previous_deg
    to_nearer_deg = np.minimum(next_deg, previous_deg)
    all_sure = lines.sure[arms.line[near]].all(1)
    in_corner = (angle_deg >= CORNER_DEG[0]) & (angle_deg <= CORNER_DEG[1]) & (to_nearer_deg >= BETWEEN_DEG)
    may_be_in_corner = (angle_deg >= CORNER_MAY_DEG[0]) & (angle_deg <= CORNER_MAY_DEG[1]) | ~all_sure
    sure[thing[in_corner & all_sure & two_streets & (distance_m <= CORNER_M) & (distance_m > 0)]] = True
    maybe[thing[may_be_in_corner | (distance_m == 0)]] = True
    return sure, maybe | sure


class _Arms(NamedTuple):
    """Where streets meet, J junctions, and the A arms of streets that leave there, by junction and bearing.

    Attributes:
        junctions: (J, 2) their places.
        junction: (A,) index of the junction of each arm, ascending.
        bearing_deg: (A,) compass bearing in which it leaves.
        line: (A,) index of its line.
    """

    junctions: FloatArray
    junction: IntArray
    bearing_deg: FloatArray
    line: IntArray


def _arms(lines: StreetLines) -> _Arms:
    """Junctions are vertices that two or more lines have, or that one passes twice; straight on is no junction."""
    vertices, line_of = shapely.get_coordinates(lines.shapes, return_index=True)
    first_vertex = np.flatnonzero(np.diff(line_of, prepend=-1))
    last_vertex = np.append(first_vertex[1:], len(line_of)) - 1
    centimetres = np.round(vertices * 100).astype(np.int64)
    _, place_of, uses = np.unique(centimetres, axis=0, return_inverse=True, return_counts=True)
    place_of = place_of.ravel()
    shared = np.flatnonzero(uses[place_of] >= 2)
    # At each shared vertex its line leaves forward unless it ends there, and backward unless it begins there.
    along_m = shapely.line_locate_point(lines.shapes[line_of[shared]], shapely.points(vertices[shared]))
    length_m = shapely.length(lines.shapes)
    vertex_parts, tip_parts = [], []
    for step_m, terminal in ((ARM_M, last_vertex), (-ARM_M, first_vertex)):
        leaves = np.isin(shared, terminal, invert=True)
        leaving = shared[leaves]
        line = line_of[leaving]
        tip_m = np.clip(along_m[leaves] + step_m, 0.0, length_m[line])
        vertex_parts.append(leaving)
        tip_parts.append(shapely.get_coordinates(shapely.line_interpolate_point(lines.shapes[line], tip_m)))
    vertex = np.concatenate(vertex_parts)
    offset = np.concatenate(tip_parts) - vertices[vertex]
    bearing_deg = np.degrees(np.arctan2(offset[:, 0], offset[:, 1])) % 360
    order = np.lexsort((bearing_deg, place_of[vertex]))
    vertex, bearing_deg = vertex[order], bearing_deg[order]
    _, begin, place, count = np.unique(place_of[vertex], return_index=True, return_inverse=True, return_counts=True)
    # Three arms always meet; two do so where streets meet end to end at an angle.
    two = begin[count == 2]
    bend_deg = np.zeros(len(count))
    bend_deg[count == 2] = np.abs((bearing_deg[two + 1] - bearing_deg[two]) % 360 - 180)
    meets = (count >= 3) | (bend_deg > TURN_DEG)
    kept = meets[place]
    junction = (np.cumsum(meets) - 1)[place[kept]]
    return _Arms(vertices[vertex[begin[meets]]], junction, bearing_deg[kept], line_of[vertex[kept]])
