"""Free space, paths, steps and streets: by hand, and by shapely's distances and a plain search as oracles."""

import heapq
from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.cityeqa.agent import FREE, SOLID, UNKNOWN, FrontierMap
from pipeline.core.arrays import BoolArray
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city import paths as module
from pipeline.worlds.city import street_frontage as frontage_module
from pipeline.worlds.city import walk as walk_module
from pipeline.worlds.city.facts import Pose, Street
from pipeline.worlds.city.occluders import Occluders
from pipeline.worlds.city.paths import FreeSpace, Paths, Slab
from pipeline.worlds.city.street_frontage import StreetFrontage, lines_of, street_frontage
from pipeline.worlds.city.walk import Walkway
from tests.worlds.city.cities import city, house, point


def slab_of(*rows: str) -> Slab:
    """The first row is the north."""
    return Slab(5.0, np.array([[c == "." for c in row] for row in rows[::-1]]), np.zeros(2))


def searched(free: BoolArray, start: tuple[int, int]) -> dict[tuple[int, int], float]:
    """Lengths from a cell to all others, cell by cell."""
    found: dict[tuple[int, int], float] = {}
    queue = [(0.0, start)]
    while queue:
        length, (r, c) = heapq.heappop(queue)
        if (r, c) in found:
            continue
        found[r, c] = length
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                to = (r + dr, c + dc)
                ends = (to, (r + dr, c), (r, c + dc))
                inside = all(0 <= a < free.shape[0] and 0 <= b < free.shape[1] for a, b in ends)
                if (dr or dc) and inside and all(free[a, b] for a, b in ends):
                    heapq.heappush(queue, (length + float(np.hypot(dr, dc)), to))
    return found


def test_around_a_wall_and_not_between_two_that_touch() -> None:
    slab = slab_of(
        "....",
        ".##.",
        "#...",
        "....",
    )
    paths = Paths(slab)
    start, goals = np.array([0.5, 0.5]), np.array([[0.5, 2.5], [3.5, 0.5], [1.5, 2.5]])
    lengths = paths.lengths(start, goals)
    assert lengths[1:].tolist() == [3.0, np.inf]  # the last is a wall
    # The two walls touch by a corner, so the way goes around in the east, with one diagonal that no wall is beside.
    assert lengths[0] == pytest.approx(8 + np.sqrt(2))
    way = paths.path(start, goals[0])
    assert way[0].tolist() == [0.5, 0.5, 5.0]
    assert way[-1].tolist() == [0.5, 2.5, 5.0]


def test_ends_that_are_not_free_and_ways_that_are_too_long() -> None:
    slab = slab_of("." * 30)
    assert Paths(slab, reach_m=10).lengths(np.array([0.5, 0.5]), np.array([[10.5, 0.5], [11.5, 0.5]])).tolist() == [
        10.0,
        np.inf,
    ]
    assert Paths(slab, reach_m=10).path(np.array([0.5, 0.5]), np.array([20.5, 0.5])) is None
    assert Paths(slab).lengths(np.array([-3.0, 0.5]), np.array([[1.5, 0.5]])).tolist() == [np.inf]
    assert Paths(slab).path(np.array([0.5, 0.5]), np.array([40.5, 0.5])) is None
    assert Paths(slab).lengths(np.array([0.5, 0.5]), np.empty((0, 2))).shape == (0,)
    ends = np.array([[1.5, 0.5], [0.5, 1.5]])
    for start, end in zip(ends, ends[::-1], strict=True):
        past = Paths(slab_of("..", "..")).lengths(start, end[None])
        assert past == pytest.approx(np.sqrt(2)), "past the first cell of all, straight"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1.0, 5.0, 256.0]))
def test_as_a_plain_search_says(seed: int, near_m: float) -> None:
    """Also where shorter paths are looked for first, some of which lead nowhere within their reach."""
    rng = np.random.default_rng(seed)
    free = rng.random((11, 13)) < 0.7
    free[4, 6] = True
    slab = Slab(5.0, free, np.zeros(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_NEAR_M", near_m)
        paths = Paths(slab, reach_m=40.0)
        cells = np.argwhere(np.ones_like(free))
        lengths = paths.lengths(np.array([6.5, 4.5]), slab.middles(cells))
        oracle = searched(free, (4, 6))
        expected = [oracle.get((r, c), np.inf) for r, c in cells.tolist()]
        assert lengths == pytest.approx(expected)
        for (r, c), length in list(oracle.items())[::9]:
            way = paths.path(np.array([6.5, 4.5]), np.array([c + 0.5, r + 0.5]))
            assert all(np.hypot(*(b - a)[:2]) < 1.5 for a, b in pairwise(way))
            assert slab.is_free(way).all()
            assert np.hypot(*np.diff(way[:, :2], axis=0).T).sum() == pytest.approx(length)


START = (45.0, 10.0, 5.0, 0.0, 0.0, 0.0)


@pytest.fixture
def walk() -> Walkway:
    return Walkway(FreeSpace(city(house("h", 40, 40, 10, 10))), START)


def test_moves_follow_the_nose(walk: Walkway) -> None:
    for action in ("forward", "turn right", "turn right", "turn right", "forward", "left", "right", "back"):
        assert walk.act(action) is None
    places = [pose[:2] for pose in walk.steps]
    assert places == [(45, 10), (45, 20), (45, 20), (45, 20), (45, 20), (55, 20), (55, 30), (55, 20), (45, 20)]
    assert walk.pose[5] == 90.0
    assert walk.length_m == 50.0


def test_a_path_is_followed_to_its_end_or_as_far_as_a_move_goes(walk: Walkway) -> None:
    """10 m north in steps of 2 m, and two more; at the end it turns, and a wall is told."""
    path = np.array([[45.0, y, 5.0] for y in range(12, 25, 2)])
    assert walk.follow(path, 90.0) is None
    assert walk.pose == (45.0, 20.0, 5.0, 0.0, 0.0, 0.0), "it looks where it goes"
    assert walk.follow(path[5:], 90.0) is None
    assert walk.pose == (45.0, 24.0, 5.0, 0.0, 0.0, 90.0)
    into = np.array([[45.0, 33.0, 5.0], [45.0, 39.0, 5.0], [45.0, 41.0, 5.0]])
    assert walk.follow(into[:1], 0.0) is None
    blocked = walk.follow(into[1:] + np.array([0, 0.8, 0]), 45.0)
    assert blocked is not None
    assert blocked.tolist() == [45.0, 39.8, 5.0]
    assert walk.pose[:2] == (45.0, 33.0)


def test_walls_and_the_end_of_the_map_stop_a_move(walk: Walkway) -> None:
    assert walk.act("forward") is None
    assert walk.act("forward") is None
    stopped = walk.act("forward")
    assert stopped is not None
    assert "after 9.5 m" in stopped  # 40 less the body's half metre, as far as was looked
    assert len(walk.steps) == 3
    for _ in range(3):
        walk.act("back")
    assert walk.pose[1] == 0.0
    assert walk.act("back") is not None


def test_heights_are_those_of_the_city(walk: Walkway) -> None:
    assert walk.act("rise") is None
    assert walk.pose[2] == 9.0
    assert walk.act("rise") == "agents move at 5, 9 m"
    assert walk.act("sink") is None


def test_the_camera_tilts_so_far(walk: Walkway) -> None:
    assert [walk.act("look up") for _ in range(3)] == [None, None, "the camera tilts by 60 degrees at most"]
    assert walk.pose[4] == 60.0
    assert walk.act("look down") is None


WEST: Pose = (15.0, 50.0, 5.0, 0.0, 0.0, 0.0)
EAST: Pose = (85.0, 50.0, 5.0, 0.0, 0.0, 270.0)


@pytest.fixture(scope="module")
def wall() -> FreeSpace:
    return FreeSpace(city(house("wall", 48, 10, 4, 85)))  # between west and east, open in the south


@pytest.mark.parametrize(
    ("goal", "actions"),
    [
        ((15.0, 20.0, 5.0, 0.0, 0.0, 0.0), ["back"] * 3),
        ((15.0, 80.0, 9.0, 0.0, 0.0, 180.0), ["rise", *["forward"] * 3, *["turn left"] * 6]),
        ((30.0, 75.98, 5.0, 0.0, 0.0, 30.0), ["turn right", *["forward"] * 3]),  # 30 m to the north-north-east
        ((40.98, 65.0, 5.0, 0.0, 0.0, 330.0), ["turn left", *["right"] * 3]),  # 60 degrees right: aside, of a left turn
        ((5.0, 50.0, 5.0, 0.0, 0.0, 0.0), ["left"]),
        ((15.0, 50.0, 5.0, 0.0, 0.0, 30.0), ["turn right"]),
        ((15.0, 50.0, 5.0, 0.0, 0.0, 330.0), ["turn left"]),
        ((15.0, 60.0, 5.0, 0.0, 0.0, 330.0), ["forward", "turn left"]),
        (WEST, []),
    ],
)
def test_a_way_has_as_few_moves_and_turns_as_there_can_be(goal: Pose, actions: list[str], wall: FreeSpace) -> None:
    walk = Walkway(wall, WEST)
    assert walk.way_to(goal, 0.1) == actions
    assert [walk.act(action) for action in actions] == [None] * len(actions)
    assert walk.pose == pytest.approx(goal, abs=0.01)


def test_a_way_leads_around_a_wall_by_moves_that_are_allowed(wall: FreeSpace) -> None:
    walk = Walkway(wall, WEST)
    way = walk.way_to(EAST, 10.0)
    assert way is not None
    assert [walk.act(action) for action in way] == [None] * len(way)
    assert np.hypot(walk.pose[0] - EAST[0], walk.pose[1] - EAST[1]) <= 10.0
    assert abs((walk.pose[5] - EAST[5] + 180) % 360 - 180) <= 15.0
    assert min(pose[1] for pose in walk.steps) < 10.0, "it goes by the south"
    # 15 to 85 and twice down to below 10: over 70 + 2 * 40 m of way less 10 m at the end, at 10 m a move.
    assert 10 <= sum(not action.startswith("turn") for action in way) <= 15


@pytest.mark.parametrize("goal", [(50.0, 50.0, 5.0, 0.0, 0.0, 0.0), (85.0, 50.0, 333.0, 0.0, 0.0, 0.0)])
def test_there_is_no_way_into_a_wall_or_to_no_height(
    wall: FreeSpace, goal: Pose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk_module, "_PLACES_MAX", 300)
    assert Walkway(wall, WEST).way_to(goal, 1.0) is None


def test_there_is_no_way_up_through_what_hangs_above() -> None:
    """At 5 m and at 9 m it is free, and a sign is between them."""
    sign = house("sign", 10, 45, 10, 10, 1.0, base_m=6.5)
    space = FreeSpace(city(sign.model_copy(update={"kind": "sculpture", "noun": "sculpture", "top_m": None})))
    assert space.free(np.array([WEST[:3], (*WEST[:2], 9.0), (*WEST[:2], 7.0)])).tolist() == [True, True, False]
    assert Walkway(space, WEST).way_to((15.0, 80.0, 9.0, 0.0, 0.0, 0.0), 0.1) is None


def test_a_frontier_map_knows_what_depth_has_shown() -> None:
    """Looking north from (0.5, 0.5): in the left half a wall 10 m ahead, in the right half nothing."""
    pose: Pose = (0.5, 0.5, 5.0, 0.0, 0.0, 0.0)
    known, depth = FrontierMap(pose), np.full((48, 64), np.inf)
    depth[:, :32] = 10.0
    depth[:24] = depth[25:] = 1.0  # above and below: the middle row counts
    known.add(pose, depth)
    at = {name: known.cells[200 + y, 200 + x] for name, (x, y) in
          {"before the wall": (-3, 9), "wall": (-3, 10), "behind it": (-3, 11), "open": (3, 20), "behind": (0, -1),
           "too far": (0, 31), "here": (0, 0), "beside the view": (9, 3)}.items()}  # fmt: skip
    assert at == {"before the wall": FREE, "wall": SOLID, "behind it": UNKNOWN, "open": FREE, "behind": UNKNOWN,
                  "too far": UNKNOWN, "here": FREE, "beside the view": UNKNOWN}  # fmt: skip
    ends = {tuple(end) for end in (known.frontiers() - 200).tolist()}
    assert (0, 0) in ends, "behind the agent nothing is known"
    assert (9, -3) not in ends, "a wall is no frontier"
    path, _ = known.way(pose, np.random.default_rng(0)) or pytest.fail("there are frontiers")
    assert (np.abs(np.diff(path[:, :2], axis=0)) <= 1).all()
    row, column = np.floor(path[-1, 1::-1]).astype(int).tolist()
    assert (row, column) in ends
    known.cells[known.cells == UNKNOWN] = SOLID
    assert known.way(pose, np.random.default_rng(0)) is None


def test_nothing_is_entered_beyond_a_frontier_map() -> None:
    """It reaches 200 m about its start; the last cells are within it."""
    known = FrontierMap((0.5, 0.5, 5.0, 0.0, 0.0, 0.0))
    for x, y in ((0, 201), (201, 0), (0, -201), (-201, 0), (201, 201), (-201, -201)):
        known.block(np.array([x, y]))
    assert (known.cells == UNKNOWN).all()
    for x, y in ((-199.5, 199.5), (199.5, -199.5)):
        known.block(np.array([x, y]))
    assert np.argwhere(known.cells == SOLID).tolist() == [[0, 399], [399, 0]]


@pytest.mark.parametrize(
    ("x", "y", "z", "free"),
    [
        (39.4, 45, 5, True),  # 0.6 m before the wall
        (39.6, 45, 5, False),  # 0.4 m: the body touches it
        (45, 45, 5, False),
        (45, 45, 10.4, False),  # on the roof, but not over it by the body
        (45, 45, 10.6, True),
        (39.6, 39.6, 5, True),  # 0.57 m from the corner, though 0.4 m from both walls' lines
        (39.7, 39.7, 5, False),
        (20, 20, 0.4, False),  # in the ground
        (20, 20, 0.6, True),
        (-0.1, 20, 5, False),  # off the map
        (0.1, 20, 5, True),
    ],
)
def test_about_a_house(x: float, y: float, z: float, free: bool) -> None:
    space = FreeSpace(city(house("h", 40, 40, 10, 10)), body_m=0.5)
    assert space.free(np.array([[x, y, z]])).tolist() == [free]


def test_the_grid_about_a_house() -> None:
    slab = FreeSpace(city(house("h", 40, 40, 10, 10)), body_m=0.5).slab(5.0)
    assert slab.free.shape == (100, 100)
    # Middles at 39.5 and 50.5 touch by the radius exactly, but for those at the corners: 12 x 12 cells less 4.
    assert (~slab.free).sum() == 140
    assert not slab.free[39:51, 40:50].any()
    assert slab.free[39, 39]
    assert slab.cells(np.array([[40.2, 41.9]])).tolist() == [[41, 40]]
    assert slab.middles(np.array([[41, 40]])).tolist() == [[40.5, 41.5, 5.0]]


def test_a_house_of_unknown_height_is_in_the_way_at_every_height() -> None:
    space = FreeSpace(city(house("low", 10, 10, 5, 5, 4.0), house("unknown", 40, 40, 10, 10, None)))
    assert (
        space.free(np.array([[12, 12, 9], [45, 45, 9], [45, 45, 100], [45, 45, 250]])).tolist() == [True] + [False] * 3
    )


def test_small_things_stand_in_the_way_where_they_are() -> None:
    space = FreeSpace(city(point("t", "tree", 20, 20), point("c", "car", 40, 40), point("p", "signboard", 60, 60)))
    at = np.array([[20, 20, 5], [21.8, 20, 1], [21.8, 20, 5], [20, 20, 9], [40, 40, 5], [40, 40, 1]])
    # A crown from 2 to 7 m, a trunk below; a car of 1.5 m; a signboard that faces nowhere stands nowhere.
    assert space.free(at).tolist() == [False, True, False, True, True, False]
    assert space.free(np.array([[60, 60, 3.5]])).all()


def test_without_a_map_nothing_is_free() -> None:
    bare = city().model_copy(update={"bounds": None})
    assert not FreeSpace(bare).free(np.array([[1.0, 1, 5]])).any()
    assert FreeSpace(bare).slab(5.0).free.size == 0


@st.composite
def houses(draw: st.DrawFn) -> list[CityThing]:
    whole = st.integers(0, 28)
    sides = st.integers(1, 12)
    heights = st.one_of(st.none(), st.floats(1, 12))
    return [
        house(f"h{i}", draw(whole), draw(whole), draw(sides), draw(sides), draw(heights))
        for i in range(draw(st.integers(0, 5)))
    ]


@settings(max_examples=30, deadline=None)
@given(houses(), st.sampled_from([2.0, 5.0, 9.0]), st.sampled_from([0.3, 0.8]))
def test_points_and_grid_are_as_shapely_says(things: list[CityThing], z: float, body: float) -> None:
    here = city(*things, size_m=30.0)
    space, slab = FreeSpace(here, body), FreeSpace(here, body).slab(z)
    rows, columns = np.indices(slab.free.shape).reshape(2, -1)
    points = slab.middles(np.column_stack([rows, columns]))
    expected = np.ones(len(points), dtype=bool)
    sure = np.ones(len(points), dtype=bool)
    for prism in Occluders(here).prisms:
        if prism.base_m - body < z < prism.top_m + body:
            away = shapely.distance(shapely.Polygon(prism.ring), shapely.points(points[:, :2]))
            expected &= away > body
            sure &= np.abs(away - body) > 2e-3  # corners of the grid are rounded by chords
    assert np.array_equal(slab.free.ravel()[sure], expected[sure])
    assert np.array_equal(space.free(points)[sure], expected[sure])


# ---- which street things lie on, where they look, and corners

ELM = Street(id="elm", name="Elm Street", line=((-50.0, 50.0), (0.0, 50.0), (150.0, 50.0)))  # eastward
ASH = Street(id="ash", name="Ash Street", line=((-50.0, 88.0), (150.0, 88.0)))
MILL = Street(id="mill", name="Mill Avenue", line=((0.0, 50.0), (0.0, 200.0)))


def frontage(*things: CityThing, streets: tuple[Street, ...] = (ELM,)) -> StreetFrontage:
    here = city(*things, streets=streets)
    return street_frontage(here, np.array([shapely.Polygon(t.outline) for t in things]), lines_of(here))


def test_things_lie_on_a_side_of_their_street_and_look_at_it() -> None:
    """South walls at 60, 52 and 51.9, a north wall at 40; 30 and 30.1 m off; 45 and 45.1 m off."""
    found = frontage(
        *(house(f"{y}", 60, y, 10, 10) for y in (60, 52, 51.9, 30, 80, 80.1, 95, 95.1)),
        house("told", 80, 60, 10, 10, facing_deg=90.0),
        house("beyond", 160, 50.5, 10, 10),  # the end of the street
    )
    assert found.side.tolist() == [1, 1, 0, -1, 1, 0, 0, 0, 1, 0]
    assert found.line.tolist() == [0, 0, -1, 0, 0, -1, -1, -1, 0, 0]
    assert found.maybe.tolist() == [True] * 7 + [False] + [True] * 2
    assert found.distance_m[:8] == pytest.approx([10, 2, 1.9, 10, 30, 30.1, 45, np.inf])
    assert found.front_deg[[0, 1, 3, 4, 8]] == pytest.approx([180, 180, 0, 180, 90])
    assert np.isnan(found.front_deg[[2, 5, 6, 7]]).all()


@pytest.mark.parametrize(("north_m", "sure"), [(18.0, True), (17.9, False)])
def test_every_other_street_is_half_as_far_again(north_m: float, sure: bool) -> None:
    """12 m to the one in the south; the other may be one that only some would call a street."""
    for other in (ASH, ASH.model_copy(update={"sure": False})):
        found = frontage(house("h", 60, 62, 10, 26 - north_m), streets=(ELM, other))
        assert (found.side.tolist(), np.isnan(found.front_deg).tolist()) == ([int(sure)], [not sure])
    off = house("h", 60, 62, 10, 8, error_m=0.1)
    assert frontage(off, streets=(ELM, ASH)).side.tolist() == [0], "unless it stands elsewhere"


@pytest.mark.parametrize(
    ("at", "sure", "maybe"),
    [
        ((10.0, 60.0), True, True),  # 14 m from where they meet, between them
        ((2.1, 64.0), True, True),  # 8.5 degrees from the one in the north
        ((1.9, 64.0), False, True),  # 7.7 degrees
        ((-20.0, 60.0), True, True),  # on the other side of it, nearest by its corner at -10
        ((14.2, 64.2), False, True),  # 20.1 m away
        ((23.0, 73.0), False, False),  # 32.5 m
        ((-5.0, 35.0), False, False),  # on the flat side
        ((-5.0, 45.0), False, True),  # upon it
    ],
)
def test_corners_are_between_two_streets(at: tuple[float, float], sure: bool, maybe: bool) -> None:
    found = frontage(house("h", *at, 10, 10), streets=(ELM, MILL))
    assert (found.corner.tolist(), found.corner_maybe.tolist()) == ([sure], [maybe])


@pytest.mark.parametrize(("at", "sure"), [((8.0, 58.0), True), ((-18.0, 58.0), False), ((8.0, 32.0), False)])
def test_where_two_streets_end_in_one_place_only_what_is_between_them_is_at_their_corner(
    at: tuple[float, float], sure: bool
) -> None:
    """Elm Street to the east, Mill Avenue to the north: the house to the north-east, and none beyond."""
    east = ELM.model_copy(update={"line": ((0.0, 50.0), (150.0, 50.0))})
    found = frontage(house("h", *at, 10, 10), streets=(east, MILL))
    assert found.corner.tolist() == [sure]


def test_pieces_of_one_name_are_one_street_and_those_of_none_are_each_its_own() -> None:
    ways = [((0.0, y), (90.0, y)) for y in (10.0, 20.0, 30.0)]
    unnamed = [Street(id=str(n), name=None, line=line) for n, line in enumerate(ways)]
    named = [Street(id=f"e{n}", name="Elm", line=((0.0, y), (90.0, y))) for n, y in enumerate((50.0, 60.0))]
    lines = lines_of(city(streets=(*named, *unnamed)))
    assert len(lines.street) == 5
    assert len(set(lines.street.tolist())) == 4
    elm = [n for n, shape in enumerate(lines.shapes) if shape.bounds[1] >= 50]
    assert len(set(lines.street[elm].tolist())) == 1


@pytest.mark.parametrize(("z", "free"), [(0.5, True), (0.499, False)])
def test_a_body_keeps_its_radius_from_the_ground(z: float, free: bool) -> None:
    assert FreeSpace(city(), 0.5).free(np.array([[50.0, 50.0, z]])).tolist() == [free]


@pytest.mark.parametrize(("side", "yaw"), [((1, 0), 0.0), ((0, 1), 90.0), ((-1, 0), 180.0), ((0, -1), 270.0)])
def test_the_way_to_the_one_frontier_and_the_look_beyond_it(side: tuple[int, int], yaw: float) -> None:
    """A block of 7 by 7 free cells about the start, 20 m off the map's middle, with one unknown cell beside it."""
    known = FrontierMap((20.5, -8.5, 5.0, 0.0, 0.0, 0.0))
    assert known.cells.shape == (400, 400)
    known.cells[:] = SOLID
    known.cells[197:204, 197:204] = FREE
    row, column = 200 + 4 * side[0], 200 + 4 * side[1]
    known.cells[row, column] = UNKNOWN
    end = (row - side[0], column - side[1])
    assert known.frontiers().tolist() == [list(end)]
    path, look = known.way((20.5, -8.5, 5.0, 0.0, 0.0, 0.0), np.random.default_rng(0)) or pytest.fail("there is one")
    assert look == yaw
    assert path.shape == (3, 3)
    assert (path[:, 2] == 5.0).all()
    ahead = np.array([side[1], side[0]])
    along = (path[:, :2] - [20.5, -8.5]) @ ahead
    assert along.tolist() == [1.0, 2.0, 3.0]


def test_what_depth_shows_is_entered_cell_by_cell() -> None:
    """Looking east from 0.5, 0.5 with three rays: 45 degrees to the left 7 m, ahead 12.3 m, to the right nothing."""
    pose: Pose = (0.5, 0.5, 5.0, 0.0, 0.0, 90.0)
    known = FrontierMap(pose)
    known.add(pose, np.array([[5.0, 12.3, np.inf]]))
    found = {what: {tuple(at) for at in (np.argwhere(known.cells == what) - 200).tolist()} for what in (FREE, SOLID)}
    # Rays of a picture of three columns lie at -2/3, 0 and 2/3 of what is ahead.
    assert found[SOLID] == {(int(np.floor(0.5 + 5 * 2 / 3)), 5), (0, 12)}
    ahead = {(0, x) for x in range(12)}
    length = float(np.hypot(1, 2 / 3))
    share = np.arange(0.0, 30.0, 0.5)
    aslant = [(d * 2 / 3 / length, d / length, d) for d in share]
    left = {(int(np.floor(0.5 + up)), int(np.floor(0.5 + far))) for up, far, d in aslant if d < 5 * length - 0.5}
    right = {(int(np.floor(0.5 - up)), int(np.floor(0.5 + far))) for up, far, d in aslant if d < 29.5}
    assert found[FREE] == (ahead | left | right) - found[SOLID]
    known.add(pose, np.full((1, 3), 20.0))
    assert known.cells[200, 212] == SOLID, "what was solid once stays so"


def test_cells_of_another_size() -> None:
    """Of 2 m, on a map from -3.5 to 16.5 and from 1 to 13, with a house from 5 to 7: lengths are those of the cells."""
    bounds = ((-3.5, 1.0), (16.5, 1.0), (16.5, 13.0), (-3.5, 13.0))
    town = city(house("h", 5, 3, 2, 6)).model_copy(update={"bounds": bounds})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CELL_M", 2.0)
        slab = FreeSpace(town).slab(5.0)
        assert (slab.corner.tolist(), slab.free.shape) == ([-4.0, 0.0], (7, 11))
        assert slab.cells(np.array([[-3.9, 0.1], [1.9, 3.9], [2.0, 4.0]])).tolist() == [[0, 0], [1, 2], [2, 3]]
        assert slab.middles(np.array([[1, 2]])).tolist() == [[1.0, 3.0, 5.0]]
        # Middles at 5 and 7 touch the house in four rows, those at 3, 5, 7 and 9; the last row's, at 13, is not within.
        assert (~slab.free[:, 1:10]).sum(0).tolist() == [1, 1, 1, 5, 5, 1, 1, 1, 1]
        free = slab.free
        start = (1, 2)
        oracle = searched(free, start)
        cells = np.argwhere(np.ones_like(free))
        here, there = slab.middles(np.array([start]))[0], slab.middles(cells)
        lengths = Paths(slab).lengths(here, there)
        assert lengths == pytest.approx([2 * oracle.get((r, c), np.inf) for r, c in cells.tolist()])
        assert np.isfinite(lengths).sum() > 20
        short = Paths(slab, reach_m=8.0).lengths(here, there)
        assert short == pytest.approx(np.where(lengths <= 8.0, lengths, np.inf))


@pytest.mark.parametrize(
    ("line", "at", "side"),
    [
        (((0.0, 0.0), (20.0, 0.0)), (10.0, 3.0), 1),
        (((0.0, 0.0), (20.0, 0.0)), (10.0, -3.0), -1),
        (((20.0, 0.0), (0.0, 0.0)), (10.0, 3.0), -1),
        (((0.0, 0.0), (20.0, 0.0)), (23.0, 0.0), 0),  # beyond its end
        (((0.0, 0.0), (20.0, 0.0)), (21.0, 1.03), 1),  # 45.8 degrees off it
        (((0.0, 0.0), (20.0, 0.0)), (21.0, 0.96), 0),  # 43.8: the sine of 44.4 is 0.7
        (((0.0, 0.0), (0.0, 20.0), (20.0, 20.0)), (-3.0, 23.0), 1),  # outside of its bend
    ],
)
def test_sides_of_lines(line: tuple[tuple[float, float], ...], at: tuple[float, float], side: int) -> None:
    shape = np.array([shapely.LineString(line)], dtype=object)
    ends = shapely.get_coordinates(shapely.shortest_line(shapely.Point(at), shape[0])).reshape(1, 4)
    assert frontage_module._sides(shape, ends).tolist() == [side]


@pytest.mark.parametrize(
    ("away", "known", "error_m", "found"),
    [
        ([(0, 3, 8.0), (0, 1, 14.0)], (), 0.0, (3, True)),  # 6 m farther
        ([(0, 3, 8.0), (0, 1, 13.9)], (), 0.0, (3, False)),
        ([(0, 3, 20.0), (0, 1, 30.0)], (), 0.0, (3, True)),  # half as far again
        ([(0, 3, 20.0), (0, 1, 29.9)], (), 0.0, (3, False)),
        ([(0, 3, 8.0), (0, 1, 15.0)], (), 0.5, (3, True)),  # 8.5 and 14.5
        ([(0, 3, 8.0), (0, 1, 15.0)], (), 0.6, (3, False)),
        ([(0, 1, 8.0), (0, 3, 8.0)], (), 0.0, (1, False)),
        ([(0, 3, 3.0), (0, 1, 8.0)], (3,), 0.0, (1, False)),  # a drive is nearer
        ([(0, 3, 3.0)], (3,), 0.0, (-1, False)),
    ],
)
def test_the_clearest_street(
    away: list[tuple[int, int, float]], known: tuple[int, ...], error_m: float, found: tuple[int, bool]
) -> None:
    """Thing, line and metres; of the second of two things nothing is near."""
    thing, line, metres = (np.array(column) for column in zip(*away, strict=True))
    sure = np.array([n not in known for n in range(4)])
    first, clear = frontage_module._clearest(thing, line, metres.astype(float), sure, np.array([error_m, 0.0]))
    assert (int(first[0]), bool(clear[0]) and first[0] >= 0) == found
    assert first[1] == -1


@pytest.mark.parametrize("far_m", [199, -200])
def test_a_frontier_is_reached_to_the_ends_of_the_map(far_m: int) -> None:
    """Along a corridor three cells wide, with one unknown cell beside its end."""
    start: Pose = (0.5, 0.5, 5.0, 0.0, 0.0, 0.0)
    known = FrontierMap(start)
    known.cells[:] = SOLID
    columns = range(200, 199 + far_m) if far_m > 0 else range(202 + far_m, 201)
    known.cells[199:202, list(columns)] = FREE
    known.cells[200, 199 + far_m if far_m > 0 else 201 + far_m] = UNKNOWN
    path, look = known.way(start, np.random.default_rng(0)) or pytest.fail("there is one")
    assert len(path) == len(columns) - 1
    assert look == (90.0 if far_m > 0 else 270.0)


@pytest.mark.parametrize(
    ("ahead", "yaw_deg"),
    [((0, 1), 0.0), ((1, 0), 90.0), ((0, -1), 180.0), ((-1, 0), 270.0), ((-1, 1), 315.0), ((2, 1), 63.4)],
)
def test_who_follows_a_path_looks_along_it(ahead: tuple[int, int], yaw_deg: float) -> None:
    """From the middle of an empty city, as far as 10 m and not to the end."""
    walk = Walkway(FreeSpace(city()), (50.0, 50.0, 5.0, 0.0, 0.0, 12.0))
    step = np.array([*ahead, 0.0]) / np.hypot(*ahead)
    path = np.array([50.0, 50.0, 5.0]) + 3.0 * np.arange(1, 6)[:, None] * step
    assert walk.follow(path, 77.0) is None
    assert walk.pose[:3] == pytest.approx(tuple(path[2]))
    assert walk.pose[3:] == (0.0, 0.0, yaw_deg)
    assert walk.length_m == pytest.approx(9.0)
    assert walk.follow(path[3:4], 77.0) is None
    assert walk.pose[5] == 77.0


def test_of_things_in_the_north_west_and_south_west_of_a_junction() -> None:
    """Elm Street to the east and the west, Mill Avenue to the north: corners are on both sides of it."""
    found = frontage(
        house("nw", -16.0, 58.0, 8, 8), house("sw", -16.0, 34.0, 8, 8), house("ne", 8.0, 58.0, 8, 8),
        streets=(ELM, MILL),
    )  # fmt: skip
    assert found.corner.tolist() == [True, False, True]
    assert found.corner_maybe.tolist() == [True, False, True]
