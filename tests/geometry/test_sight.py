"""Lines of sight against prisms: hand-computed, and against a plain march along the line."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.geometry import sight
from pipeline.geometry.sight import _may_meet, is_clear, own_buildings, walls
from pipeline.geometry.tracks import NO_BUILDINGS, NO_TRACK, Buildings

SQUARE = np.array([[0.0, 0], [10, 0], [10, 10], [0, 10]])
ELL = np.array([[0.0, 0], [20, 0], [20, 5], [5, 5], [5, 20], [0, 20]])


def buildings(*prisms) -> Buildings:
    outlines, base, top = zip(*prisms, strict=True)
    return Buildings(tuple(outlines), np.array(base, float), np.array(top, float))


def clear(eye, target, *prisms) -> bool:
    return bool(is_clear(np.array([eye], float), np.array([target], float), walls(buildings(*prisms)))[0])


@pytest.mark.parametrize(
    ("eye", "target", "expected"),
    [
        ((-10, 5, 5), (30, 5, 5), False),  # through both walls
        ((5, -10, 5), (5, 30, 5), False),  # through the other two
        ((-10, 2, 5), (12, 14, 5), False),  # across a corner
        ((-10, 8, 5), (4, 14, 5), True),  # past it
        ((-10, 5, 20.01), (30, 5, 20.01), True),  # over the roof
        ((-10, 5, 20), (30, 5, 20), False),  # along the roof: touching counts
        ((-10, 5, 30), (30, 5, 0), False),  # over the first wall (22.5), through the second (15)
        ((-10, 5, 50), (30, 5, 30), True),
        ((-10, 10.01, 5), (30, 10.01, 5), True),  # beside it
        ((5, 5, 50), (5, 5, 10), False),  # straight down onto the roof, and below it
        ((5, 5, 50), (5, 5, 20.5), True),
        ((0, 5, 50), (0, 5, 10), False),  # straight down along its western wall
        ((10, 5, 50), (10, 5, 10), True),  # along its eastern one, which is that of a neighbour
        ((5, 5, 50), (40, 5, 30), True),
        ((5, 5, 10), (40, 5, 10), False),  # the eye is inside
        ((-10, 5, 5), (-1, 5, 5), True),  # ends before it
        ((5, 5, 30), (40, 5, 0), True),  # from above it down past the wall, where it is at 25.7
        ((5, 5, 22), (40, 5, 0), False),  # at 18.9 there: through the roof
    ],
)
def test_one_square_building_of_20_m(eye, target, expected):
    assert clear(eye, target, (SQUARE, 0, 20)) is expected
    assert clear(target, eye, (SQUARE, 0, 20)) is expected


def test_the_notch_of_an_ell_is_open():
    assert clear((10, 30, 3), (10, 6, 3), (ELL, 0, 10))
    assert clear((30, 10, 3), (6, 19, 3), (ELL, 0, 10))
    assert not clear((30, 10, 3), (-5, 10, 3), (ELL, 0, 10))


def test_straight_down_onto_a_ridge_of_corners():
    """Two corners of the diamond lie exactly east and west of the line."""
    diamond = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    assert not clear((0, 0, 9), (0, 0, 1), (diamond, 0, 5))
    assert clear((2, 0, 9), (2, 0, 1), (diamond, 0, 5))


def test_between_the_teeth_of_a_comb_is_open():
    comb = np.array(
        [[0.0, 0], [25, 0], [25, 20], [20, 20], [20, 5], [15, 5], [15, 20], [10, 20], [10, 5], [5, 5], [5, 20], [0, 20]]
    )
    found = [clear((x, 10, 9), (x, 10, 1), (comb, 0, 5)) for x in (-3, 2, 7, 12, 17, 22, 28)]
    assert found == [True, False, True, False, True, False, True]


@pytest.mark.parametrize(("gap_m", "near"), [(0.0005, True), (0.0015, False)])
def test_lines_that_end_a_millimetre_before_a_building_are_not_looked_at(gap_m: float, near: bool):
    ends, city = np.array([[-5.0, 5], [-gap_m, 5]]), walls(buildings((SQUARE, 0, 20)))
    for line in (ends, ends[:, ::-1], 10 - ends):
        assert _may_meet(line[:, None], (np.array([9.0]), np.array([9.0])), 0.0, city).tolist() == [near]


def test_a_raised_building_is_open_below():
    assert clear((-10, 5, 2), (30, 5, 2), (SQUARE, 5, 20))
    assert not clear((-10, 5, 2), (30, 5, 12), (SQUARE, 5, 20))


def test_an_unknown_top_hides_all_that_stands_behind_it():
    assert not clear((-10, 5, 500), (30, 5, 400), (SQUARE, 0, np.nan))
    assert not clear((5, 5, 500), (30, 5, 400), (SQUARE, np.nan, np.nan))
    assert clear((-10, 15, 5), (30, 15, 5), (SQUARE, 0, np.nan))


def test_an_unknown_foot_reaches_down():
    assert not clear((-10, 5, -50), (30, 5, -50), (SQUARE, np.nan, 20))
    assert clear((-10, 5, 21), (30, 5, 21), (SQUARE, np.nan, 20))


def test_an_unknown_place_is_not_clear_and_an_empty_city_is():
    assert not clear((np.nan, 0, 0), (1, 1, 1), (SQUARE, 0, 20))
    assert is_clear(np.zeros((2, 3)), np.ones((2, 3)), walls(NO_BUILDINGS)).all()
    assert is_clear(np.empty((0, 3)), np.empty((0, 3)), walls(buildings((SQUARE, 0, 1)))).shape == (0,)


def test_only_the_chosen_buildings_hide():
    two = buildings((SQUARE, 0, 20), (SQUARE + 100, 0, 20))
    eye, target = np.array([[-10.0, 5, 5]]), np.array([[30.0, 5, 5]])
    assert not is_clear(eye, target, walls(two))[0]
    assert is_clear(eye, target, walls(two).of(np.array([1])))[0]


spot = st.tuples(st.floats(-20, 40), st.floats(-20, 40), st.floats(-5, 40))


@given(spot, spot, st.sampled_from([SQUARE, ELL, ELL[::-1]]), st.floats(-2, 10), st.floats(0.5, 20))
def test_it_agrees_with_shapely(eye, target, outline, base, tall):
    """The line over the footprint, cut out by shapely, is compared with the heights at the ends of each piece."""
    eye, target = np.round(eye, 2), np.round(target, 2)
    polygon = shapely.Polygon(outline)
    length = np.hypot(*(target - eye)[:2])
    if length < 0.1:
        return
    least = np.inf  # clearance of height: positive where the line misses the prism
    line = shapely.LineString([eye[:2], target[:2]])
    within = shapely.intersection(line, polygon)
    if shapely.intersection(line, polygon.exterior).length > 0 or (within.length == 0 and not within.is_empty):
        return  # along a wall, or at a corner alone
    for piece in shapely.get_parts(within):
        if piece.is_empty:
            continue
        corners = shapely.get_coordinates(piece)
        share = np.hypot(*(corners - eye[:2]).T) / length
        z = eye[2] + share * (target[2] - eye[2])
        least = min(least, max(z.min() - (base + tall), base - z.max()))
    if abs(least) < 1e-6 or 0 < polygon.exterior.distance(line) < 1e-6:
        return  # a touch, which rounding decides
    both_inside = polygon.contains(shapely.Point(eye)) and polygon.contains(shapely.Point(target))
    if both_inside and base < min(eye[2], target[2]) and max(eye[2], target[2]) < base + tall:
        return  # wholly inside: not asked about
    assert clear(eye, target, (outline, base, base + tall)) is bool(least > 0)


def test_many_lines_in_chunks_are_as_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sight, "_CHUNK", 1 << 14)  # 273 lines
    rng = np.random.default_rng(5)
    city = buildings(*((SQUARE + rng.uniform(-200, 200, 2), 0, rng.uniform(5, 40)) for _ in range(60)))
    eyes, targets = rng.uniform(-200, 200, (1000, 3)), rng.uniform(-200, 200, (1000, 3))
    eyes[:, 2], targets[:, 2] = rng.uniform(20, 60, 1000), rng.uniform(0, 20, 1000)
    all_walls = walls(city)
    found = is_clear(eyes, targets, all_walls)
    assert 0.05 < found.mean() < 0.95
    some = rng.choice(1000, 50)
    assert [bool(is_clear(eyes[i : i + 1], targets[i : i + 1], all_walls)[0]) for i in some] == found[some].tolist()


def test_a_thing_is_hidden_by_others_and_not_by_itself():
    city = buildings((SQUARE, 0, 20), (SQUARE + np.array([30, 0]), 0, 20), (np.array([[0.0, 0], [1, 1]]), 0, 5))
    assert own_buildings(city, np.array([5.0, 5]), None).tolist() == [True, False, False]
    assert own_buildings(city, np.array([60.0, 60]), SQUARE + np.array([31, 1])).tolist() == [False, True, False]
    park = np.array([[-100.0, -100], [100, -100], [100, 100], [-100, 100]])
    assert own_buildings(city, np.array([-50.0, -50]), park).tolist() == [False, False, False]
    assert own_buildings(city, np.array([60.0, 60]), SQUARE[:2]).tolist() == [False, False, False], "without extent"
    assert own_buildings(NO_BUILDINGS, np.zeros(2), park).shape == (0,)


def test_a_building_of_three_corners_may_be_the_thing_itself():
    triangle = buildings((np.array([[0.0, 0], [4, 0], [0, 4]]), 0, 5))
    assert own_buildings(triangle, np.array([1.0, 1.0]), None).tolist() == [True]
    assert own_buildings(triangle, np.array([3.0, 3.0]), None).tolist() == [False]


@pytest.mark.parametrize(("reach_m", "own"), [(4.99, False), (5.0, True), (10.0, True)])
def test_what_covers_half_of_a_thing_is_the_thing_itself(reach_m: float, own: bool):
    covering = buildings((np.array([[0.0, 0], [reach_m, 0], [reach_m, 10], [0, 10]]), 0, 20))
    assert own_buildings(covering, np.array([60.0, 60]), SQUARE).tolist() == [own]


def test_where_no_track_is_there_are_no_rows_of_any_table():
    assert len(NO_TRACK) == 0
    shapes = [table.shape for table in (NO_TRACK.enu_m, NO_TRACK.lat_lon_deg, NO_TRACK.quat_wxyz, NO_TRACK.part)]
    assert shapes == [(0, 3), (0, 2), (0, 4), (0,)]


def test_the_extent_of_footprints_by_hand() -> None:
    rings = (np.array([(1.0, 2), (5, 3), (4, 9)]), np.array([(-1.0, -2), (0, -8), (-4, 0), (-2, 1)]))
    middle, half = walls(Buildings(rings, np.zeros(2), np.ones(2))).box
    assert middle.tolist() == [[3.0, 5.5], [-2.0, -3.5]]
    assert half.tolist() == [[2.0, 3.5], [2.0, 4.5]]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_many_lines_among_many_buildings_are_as_clear_as_each_line_past_each_building(seed: int) -> None:
    """Whichever pairs are looked at: whole numbers, so that lines touch corners, walls and roofs, or run along them."""
    rng, lines, prisms = np.random.default_rng(seed), 20, 4
    rings = [SQUARE, ELL, ELL[::-1], SQUARE / 5]
    outlines = tuple(rings[int(rng.integers(4))] + rng.integers(-4, 4, 2) * 5 for _ in range(prisms))
    base, top = rng.choice([0.0, -5.0, 5.0, np.nan], prisms), rng.choice([5.0, 10.0, 20.0, np.nan], prisms)
    city = walls(Buildings(outlines, base, top, None if seed % 2 else np.full(prisms, 30.0)))
    eyes = np.cumsum(rng.integers(-3, 4, (lines, 3)), axis=0) + rng.choice([-20.0, 0.0, 20.0], 3)
    near = eyes + rng.integers(-20, 20, (lines, 3))
    targets = np.where(rng.random((lines, 1)) < 0.5, rng.integers(-4, 4, 3) * 5.0, near)
    each = [
        [is_clear(eyes[k : k + 1], targets[k : k + 1], city.of(np.array([b])))[0] for b in range(prisms)]
        for k in range(lines)
    ]
    assert is_clear(eyes, targets, city).tolist() == np.all(each, axis=1).tolist()
