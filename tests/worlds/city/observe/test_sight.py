"""Things that poses show: areas by an independent projection, hidden things, borders, doubtful heights; pictures."""

import numpy as np
import pytest
import shapely

from pipeline.benchmarks.cityeqa.agent import SHOWN_M, SIDE_M
from pipeline.core.arrays import FloatArray
from pipeline.drawing.fonts import font
from pipeline.geometry.bearings import picture_xy
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city import render
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.occluders import (
    GLASS,
    Occluders,
    Prism,
    _convex,
    _prisms,
    _roofed,
    _triangles,
    box_ring,
    height_bounds_m,
    prism_mesh,
)
from pipeline.worlds.city.pictures import LONG_SIDE
from pipeline.worlds.city.render import CityRenderer, RenderedSign, RenderedView, _chequer, _is_window, captioned
from pipeline.worlds.city.visibility import (
    FOV_DEG,
    HEIGHT,
    MOST_RAYS,
    SEARCH_STEP,
    WIDTH,
    CitySight,
    camera_axes,
    pixel_rays,
)
from pipeline.worlds.city.walk import MOVE_M, MOVES, PITCH_MAX_DEG, TURN_DEG, TURNS
from tests.worlds.city.cities import city, house, point


def pose(x: float, y: float, z: float, yaw: float, pitch: float = 0.0, roll: float = 0.0) -> FloatArray:
    return np.array([[x, y, z, roll, pitch, yaw]])


def projected_px(here: City, thing: int, at: FloatArray) -> float:
    """Area of a box in the picture, in pixels, by the projection of flights."""
    one = here.things[thing]
    corners = np.array([[*xy, z] for xy in one.outline or () for z in (0.0, one.height_m or 0.0)])
    xy = picture_xy(at[:, :3], at[:, 5], at[:, 4], corners, 90.0, WIDTH / HEIGHT)
    pixels = (xy * [1, -1] + 1) / 2 * [WIDTH, HEIGHT]
    frame = shapely.box(0, 0, WIDTH, HEIGHT)
    return float(shapely.MultiPoint(pixels).convex_hull.intersection(frame).area)


@pytest.mark.parametrize(
    "at",
    [pose(45, 10, 5, 0), pose(20, 15, 9, 20, -10), pose(90, 80, 30, 230, -25), pose(45, 95, 2, 180, 5)],
    ids=["from the south", "from the south-west, a little down", "from above", "from the north"],
)
def test_pixels_are_those_of_the_projected_box(at: FloatArray) -> None:
    here = city(house("h", 40, 40, 10, 8, 6.0))
    sight = CitySight(here)
    expected = projected_px(here, 0, at)
    assert expected > 1000
    exact = sight.shown(at, np.array([0]), most=None)
    assert exact.pixels[0] == pytest.approx(expected, rel=0.01)
    assert sight.shown(at, np.array([0])).pixels[0] == pytest.approx(expected, rel=0.05)
    assert exact.possible[0] == exact.pixels[0]
    assert not exact.touches_border[0]
    assert sight.seen(at, step=1).pixels[0, 0] == exact.pixels[0]
    assert sight.seen(at).pixels[0, 0] == pytest.approx(expected, rel=0.15)
    far = at + pose(*(80 * (at[0, :2] - [45, 44]) / np.linalg.norm(at[0, :2] - [45, 44])), 0, 0)  # 80 m farther off
    small = [sight.shown(far, np.array([0]), most=most).pixels[0] for most in (None, 100_000)]
    assert 0 < small[0] == small[1], "all rays where they are few"
    thinned = sight.shown(at, np.array([0]), most=500)
    assert thinned.pixels[0] == pytest.approx(expected, rel=0.1)


def test_a_picture_that_rolls_turns_with_its_camera() -> None:
    """Seen with the head on the right shoulder, the east lies above."""
    here = city(house("east", 60, 45, 5, 10, 20.0))
    sight = CitySight(here)
    upright = sight.shown(pose(20, 50, 10, 90), np.array([0])).pixels[0]
    for roll in (90.0, 180.0, -90.0):
        assert sight.shown(pose(20, 50, 10, 90, roll=roll), np.array([0])).pixels[0] == pytest.approx(upright, rel=0.02)
    # To its left when it looks south; with the left shoulder up it is above, so that pitching up keeps it in view.
    assert sight.shown(pose(55, 90, 10, 180, roll=90), np.array([0])).pixels[0] > 0


def test_what_stands_before_hides_what_is_behind() -> None:
    here = city(house("far", 40, 60, 10, 8, 6.0), house("near", 30, 40, 30, 4, 12.0), point("c", "car", 45, 30))
    sight = CitySight(here)
    views = sight.seen(pose(45, 10, 2, 0), step=1)
    assert views.pixels[0, 0] == views.possible[0, 0] == 0
    assert views.pixels[0, 1] > 10_000
    # A car of 1.8 x 1.5 m seen from behind at 17.8 m: 32 x 27 pixels; its roof adds little.
    assert views.pixels[0, 2] == pytest.approx(1.8 * 1.5 * (320 / 17.8) ** 2, rel=0.25)
    assert sight.seen(pose(45, 10, 2, 180), step=1).pixels.sum() == 0
    assert sight.seen(pose(45, 10, 2, 0), things=np.array([2])).pixels.shape == (1, 1)


def test_what_reaches_beyond_the_picture_touches_its_border() -> None:
    here = city(house("h", 40, 40, 10, 8, 6.0))
    sight = CitySight(here)
    whole, cut, beside = pose(45, 10, 5, 0), pose(45, 10, 5, 45), pose(45, 39, 5, 0)
    shown = sight.shown(np.concatenate([whole, cut, beside]), np.zeros(3, dtype=np.intp))
    assert shown.touches_border.tolist() == [False, True, True]
    assert (shown.pixels > 0).all()
    assert sight.seen(cut).touches_border.tolist() == [[True]]
    away = sight.shown(pose(45, 10, 5, 180), np.zeros(1, dtype=np.intp))
    assert not away.touches_border[0]
    assert away.pixels[0] == 0


def test_a_house_of_unknown_height_hides_all_and_shows_its_foot() -> None:
    here = city(house("tower", 40, 70, 10, 8, 40.0), house("unknown", 40, 40, 10, 4, None), house("low", 70, 40, 5, 5))
    sight = CitySight(here)
    at = pose(45, 10, 5, 0)
    pixels, possible, _ = sight.shown(np.concatenate([at, at]), np.array([0, 1]))
    assert pixels[0] == 0  # the house before it may be higher still
    assert possible[0] > 5000  # or not
    # Of the house 2.5 m of storey are sure: 10 m wide at 30 m, and its roof from above.
    assert pixels[1] == pytest.approx(10 * 2.5 * (320 / 30) ** 2, rel=0.3)
    assert possible[1] > 5 * pixels[1]


def test_storeys_bound_what_is_sure() -> None:
    here = city(house("h", 40, 40, 10, 4, None, levels=2.0))
    shown = CitySight(here).shown(pose(45, 10, 5, 0), np.array([0]))
    assert shown.pixels[0] < shown.possible[0]
    assert shown.possible[0] / shown.pixels[0] == pytest.approx(15 / 5, rel=0.1)  # 2 x 2.5 m to 3 x 5 m


@pytest.mark.slow
def test_many_pairs_at_once_are_as_one_by_one() -> None:
    things = [house(f"h{i}", 10 + 12 * i, 40 + 5 * (i % 3), 8, 8, 4.0 + i) for i in range(6)]
    sight = CitySight(city(*things))
    rng = np.random.default_rng(3)
    places, heights = rng.uniform(0, 100, (14, 2)), rng.uniform(2, 30, 14)
    inward = np.degrees(np.arctan2(*(45 - places).T)) + rng.uniform(-40, 40, 14)
    poses = np.column_stack([places, heights, np.zeros(14), rng.uniform(-30, 10, 14), inward])
    chosen = rng.integers(0, 6, 14)
    together = sight.shown(poses, chosen, most=None)
    views = sight.seen(poses, step=1)
    assert np.array_equal(together.pixels, views.pixels[np.arange(14), chosen])
    assert (together.pixels > 0).sum() > 5
    assert np.array_equal(together.touches_border, views.touches_border[np.arange(14), chosen])


def test_of_nothing_nothing_is_seen() -> None:
    views = CitySight(city()).seen(pose(45, 10, 5, 0))
    assert views.pixels.shape == (1, 0)
    assert CitySight(city(point("s", "shop", 50, 50))).shown(pose(45, 10, 5, 0), np.array([0])).possible.tolist() == [0]


def test_prisms_are_closed_and_the_ground_is_whole() -> None:
    """By the volume that their triangles enclose, seen from outside: of a house, an L, and a tree's trunk and crown."""
    corner = house("l", 60, 60, 10, 10, 3.0).model_copy(
        update={"outline": ((60.0, 60.0), (70.0, 60.0), (70.0, 65.0), (65.0, 65.0), (65.0, 70.0), (60.0, 70.0))}
    )
    low, high = point("low", "tree", 20, 20, height_m=3.0), point("high", "tree", 80, 20, height_m=7.0)
    solids = Occluders(city(house("h", 40, 40, 10, 8, 6.0), corner, low, high))
    assert [(p.base_m, p.top_m) for p in solids.prisms[2:]] == [(0, 1.5), (1.5, 3), (0, 2), (2, 7)], "half, or 2 m"
    mesh = prism_mesh(solids, 50.0)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    volume = np.bincount(mesh.prism, (a * np.cross(b, c)).sum(1) / 6)
    assert volume[:2] == pytest.approx([480, 225])
    assert volume[2:-1] == pytest.approx(
        [(p.top_m - p.base_m) * shapely.Polygon(p.ring).area for p in solids.prisms[2:]]
    )
    ground = mesh.prism == len(solids.prisms)
    np.testing.assert_allclose(np.cross(b - a, c - a)[ground] / 2, [[0, 0, 5000]] * 2)
    np.testing.assert_allclose((a + b + c)[ground].sum(0), 0, atol=1e-9, err_msg="one to each side of the middle")


HERE = city(
    house("h", 40, 40, 10, 8, 6.0, rgb=(150, 25, 25)),
    point("c", "car", 45, 30, rgb=(40, 80, 180), facing_deg=0.0),
    point("s", "signboard", 45, 39.8, facing_deg=180.0, sign="BAKERY", rgb=(245, 215, 50)),
    point("t", "tree", 60, 30),
)
POSE = np.array([45.0, 12.0, 5.0, 0.0, 0.0, 0.0])


def test_pixels_and_colours() -> None:
    shot = CityRenderer(HERE).shoot(POSE)
    counts = [int((shot.thing == i).sum()) for i in range(len(HERE.things))]
    assert counts == CitySight(HERE).seen(POSE[None], step=1).pixels[0].tolist()
    assert min(counts) > 100
    red, green, blue = shot.color[shot.thing == 0].astype(int).mean(0)
    assert red > 2 * max(green, blue)
    red, green, blue = shot.color[shot.thing == 1].astype(int).mean(0)
    assert blue > red
    assert shot.color[0].mean() > 150  # sky
    assert (shot.thing[0] == -1).all()


@pytest.mark.slow  # Open3D is loaded
def test_signs_are_read_from_near_by_alone() -> None:
    renderer = CityRenderer(HERE)
    (sign,) = renderer.shoot(POSE).signs
    assert sign.words == "BAKERY"
    assert abs(sign.column - 320) <= 1
    assert renderer.shoot(np.array([45.0, 0.5, 5, 0, 0, 0])).signs == ()  # 39 m off: under 9 pixels high


def test_words_of_signs_are_dark_on_paper_around_their_place() -> None:
    black = np.zeros((60, 90, 3), dtype=np.uint8)
    found = captioned(RenderedView(black, black[..., 0], black[..., 0], (RenderedSign("BAKERY", 45, 30),)))
    row, column = np.nonzero(found.any(2))
    left, top, right, bottom = font(12).getbbox("BAKERY", anchor="mm")
    assert (column.min() - 45, row.min() - 30) == (left - 2, top - 1)
    assert (column.max() - 45, row.max() - 30) == (right + 2, bottom + 1)
    assert {tuple(found[at]) for at in ((row.min(), column.min()), (row.max(), column.max()))} == {(250, 250, 246)}
    assert (found == (20, 20, 24)).all(2).any()


@pytest.mark.slow  # Open3D is loaded
def test_a_shop_shows_its_name_once_and_its_type() -> None:
    """What a map alone states, nobody can see: of a shop called CALLOWAY, that it sells books; of a box, its kind."""
    board = point("b", "signboard", 45, 39.8, facing_deg=180.0, sign="Éclair", base_m=3.5)
    for more in ({"name": "Éclair"}, {"sign": "Éclair"}):
        front = point("f", "shop", 45, 39.8, noun="bakery", facing_deg=180.0).model_copy(update=more)
        for things in ((front,), (front, board)):
            signs = CityRenderer(city(house("h", 40, 40, 10, 8, 9.0), *things)).shoot(POSE).signs
            assert [sign.words for sign in signs] == ["Éclair", "bakery"]
            assert signs[0].row < signs[1].row - 10
    for kind, noun, words in (("statue", "monument", ["monument"]), ("bench", "bench", ["bench"]), ("car", "jeep", [])):
        box = point("b", kind, 45, 20, noun=noun)
        assert [sign.words for sign in CityRenderer(city(box)).shoot(POSE).signs] == words
    plain = point("f", "shop", 45, 39.8, facing_deg=180.0).model_copy(update={"name": "Éclair"})
    assert [sign.words for sign in CityRenderer(city(plain)).shoot(POSE).signs] == ["Éclair"]


@pytest.mark.slow  # Open3D is loaded
@pytest.mark.parametrize(("height_m", "levels"), [(12.0, 4), (12.0, 3), (7.0, 2), (9.6, None)])
def test_a_wall_has_as_many_rows_of_windows_as_storeys(height_m: float, levels: int | None) -> None:
    home = house("h", 35, 40, 20, 8, height_m).model_copy(update={"levels": levels})
    shot = CityRenderer(city(home)).shoot(np.array([45.0, 12.0, 5.0, 0.0, 0.0, 0.0]))
    wall = shot.color.astype(int).sum(2) * (shot.thing == 0)
    dark = [(column > 0) & (column < 0.8 * column.max()) for column in wall.T[200:440]]
    rows = max(int((np.diff(column.astype(int)) == 1).sum()) for column in dark)
    assert rows == (levels or 3)


def test_windows_stand_every_four_metres_in_each_storey() -> None:
    """Two metres wide, and half of a storey of 3 m high: from 0.3 of it on. The wall looks south and stands at 10 m."""
    x, z = np.meshgrid([0.9, 1.1, 2.9, 3.1, 5.1], [11.5, 13.8, 14.0, 15.3, 15.5, 17.0])
    points = np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3)
    normals, feet, storeys = np.tile([0.0, -1.0, 0.0], (30, 1)), np.full(30, 10.0), np.full(30, 3.0)
    found = _is_window(points, normals, feet, storeys).reshape(6, 5)
    assert found.all(0).tolist() == [False] * 5
    assert found.any(0).tolist() == [False, True, True, False, True]
    assert found[:, 1].tolist() == [True, False, True, True, False, True]


def test_windows_end_at_a_quarter_of_their_field() -> None:
    """1 m and 3 m along the wall, and at the foot of the first storey: on the edge is beside it."""
    points = np.array([[1.0, 0, 14.75], [1.001, 0, 14.75], [2.999, 0, 14.75], [3.0, 0, 14.75], [2, 0, 12.999]])
    found = _is_window(points, np.tile([0.0, -1.0, 0.0], (5, 1)), np.full(5, 10.0), np.full(5, 3.0))
    assert found.tolist() == [False, True, True, False, False]


def test_rings_that_turn_to_the_left_alone_and_once_are_convex() -> None:
    square = np.array([[0.0, 0], [4, 0], [4, 4], [0, 4], [0, 2]])
    notched = np.array([[0.0, 0], [4, 0], [2, 2], [4, 4], [0, 4]])
    star = np.array([[np.cos(a), np.sin(a)] for a in np.radians(144 * np.arange(5))])
    assert _convex(np.stack([square, notched, star, square[::-1]])).tolist() == [True, False, False, False]
    a, b, c = (notched[_triangles(notched, shapely.Polygon(notched))[:, k]] for k in range(3))
    doubled = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    assert (doubled > 0).all(), "counter-clockwise"
    assert doubled.sum() / 2 == 12


@pytest.mark.parametrize(
    ("shape", "across", "along"),
    [("pitched", 1, 0), ("pointed", 1, 1), ("domed", 2, 2), ("rounded", 2, 0)],
)
def test_a_roof_narrows_in_layers_from_the_eaves_to_the_ridge(shape: str, across: int, along: int) -> None:
    """Of a house of 8 by 20 m, 9 m high: a third is roof, in 8 layers. Straight sides lose what the height gains (1);
    round ones are half circles (2).
    """
    home = house("h", 40, 40, 8, 20, 9.0, roof_shape=shape)
    plain = Prism(0, np.array(home.outline), 0.0, 9.0, True)
    walls, *layers = _roofed(plain, home)
    assert (walls.base_m, walls.top_m) == (0.0, 6.0)
    assert [layer.base_m for layer in layers] == pytest.approx([6 + 3 * n / 8 for n in range(8)])
    assert [layer.top_m for layer in layers] == pytest.approx([6 + 3 * n / 8 for n in range(1, 9)])
    up = (np.arange(8) + 0.5) / 8
    left = np.array([np.ones(8), 1 - up, np.cos(np.arcsin(up))])
    sides = np.array([np.ptp(layer.ring, axis=0) for layer in layers])
    np.testing.assert_allclose(sides, np.column_stack([8 * left[across], 20 * left[along]]))
    assert [one.top_m for one in _roofed(plain, home.model_copy(update={"roof_shape": None}))] == [9.0]


@pytest.mark.parametrize(("thing", "away_m", "has_some"), [(0, 100.0, True), (0, 150.0, False), (1, 100.0, False)])
def test_walls_of_houses_near_by_have_windows_and_nothing_else_has(thing: int, away_m: float, has_some: bool) -> None:
    renderer = CityRenderer(HERE)
    of = np.append(renderer._solids.thing, -1)[renderer._mesh.prism]
    face = np.flatnonzero((of == thing) & (renderer._normal[:, 1] < -0.9))[[0, 0]]
    window, wall = renderer._solid(np.array([[2.0, 40, 5], [0, 40, 5]]), face, np.full(2, away_m))
    assert (window < wall).tolist() == [has_some] * 3


def test_a_smaller_picture_shows_the_same() -> None:
    renderer = CityRenderer(HERE)
    large, small = renderer.shoot(POSE).thing, renderer.shoot(POSE, 160, 120).thing
    assert (large[2::4, 2::4] == small).mean() > 0.98


def test_what_may_stand_above_a_house_is_drawn_as_a_chequer() -> None:
    shot = CityRenderer(city(house("h", 40, 40, 10, 8, None))).shoot(POSE)
    colours = {tuple(c) for c in (shot.color[shot.thing == 0] // 32).tolist()}
    assert len(colours) > 1
    cubes = np.array([[1, 1, 1], [3, 1, 1], [3, 3, 1], [3, 3, 3], [-1, 1, 1], [-1, -1, 1]], dtype=np.float64)
    assert _chequer(cubes).tolist() == [True, False, True, False, False, True], "cubes of 2 m"


def test_the_corners_of_a_box_that_faces_east() -> None:
    """4 m wide from north to south, 2 m deep from east to west; counter-clockwise."""
    ring = box_ring(np.array([10.0, 20.0]), 4.0, 2.0, 90.0)
    assert ring == pytest.approx(np.array([[9.0, 22.0], [9.0, 18.0], [11.0, 18.0], [11.0, 22.0]]))


def test_pictures_of_one_release_are_those_of_the_next_while_these_stay() -> None:
    """Whoever changes one says so in the log of changes: agents and models see other pictures, and other ways."""
    colours = [render._GROUND, render._OUTSIDE, render._TRUNK, render._HIDDEN, render._MARK, render._OTHER, GLASS]
    assert [tuple(colour) for colour in colours] == [
        (150, 149, 143), (122, 130, 104), (104, 78, 54), (206, 200, 212), (236, 236, 232), (160, 160, 160),
        (44, 54, 66),
    ]  # fmt: skip
    assert render._SKY.tolist() == [[216, 226, 236], [104, 156, 214]]
    assert render._SUN.tolist() == pytest.approx([0.45, -0.55, 0.7]), "in the south-east"
    assert (render._HAZE_M, render._WINDOW_M, render._STOREY_M, render._DETAIL_M) == (700, 4, 3.2, 140)
    assert (render._STONE_M, render._JOINT_M, render._GRAIN_M, render._SHADE) == (0.8, 0.1, 0.2, 0.84)
    assert (render.GUESSED_M, render.READABLE_PX, render._MARK_M, render._LINE) == (12, 9, 0.12, 0.93)
    assert (WIDTH, HEIGHT, FOV_DEG, SEARCH_STEP, MOST_RAYS, LONG_SIDE) == (640, 480, 90, 8, 4096, 1024)
    assert (MOVE_M, TURN_DEG, PITCH_MAX_DEG, SIDE_M, SHOWN_M) == (10, 30, 60, 400, 30), "CityEQA"
    assert MOVES == {"forward": (10, 0), "back": (-10, 0), "right": (0, 10), "left": (0, -10)}
    assert TURNS == {"turn right": (30, 0), "turn left": (-30, 0), "look up": (0, 30), "look down": (0, -30)}


def lot(kind: str, **facts: object) -> CityThing:
    """A thing with an outline of 5 by 4 m, from 1, 2 on."""
    ring = ((1.0, 2.0), (6.0, 2.0), (6.0, 6.0), (1.0, 6.0))
    return CityThing(id="a", kind=kind, noun=kind, center=(3.5, 4.0), radius_m=3.2, outline=ring, **facts)


LOT = ((3.5, 4.0), (5.0, 4.0))  # middle and sides
AT = (10.0, 20.0)


@pytest.mark.parametrize(
    ("thing", "prisms"),
    [
        (lot("building", height_m=9.0), [(0, 9, True, None, *LOT)]),
        (lot("building", height_m=9.0, base_m=2.0), [(0, 11, True, None, *LOT)]),  # below its foot is the slope
        (lot("building", height_m=9.0, base_m=2.0, top_m=10.0), [(0, 10, True, None, *LOT)]),
        (lot("building", levels=3.0, base_m=-1.0), [(-1, 6.5, True, None, *LOT), (6.5, 19, False, None, *LOT)]),
        (lot("building"), [(0, 2.5, True, None, *LOT), (2.5, 300, False, None, *LOT)]),
        (lot("building", height_m=9.0, parts=2), [(0, 2.5, True, None, *LOT), (2.5, 9, False, None, *LOT)]),
        (lot("building", height_m=2.0, parts=2), [(0, 2, True, None, *LOT)]),
        (lot("building", height_m=9.0, base_m=2.0, parts=1),
         [(0, 4.5, True, None, *LOT), (4.5, 11, False, None, *LOT)]),
        (lot("building", base_m=400.0), [(0, 402.5, True, None, *LOT)]),
        (point("a", "tree", *AT), [(0, 2, True, None, AT, (0.4, 0.4)), (2, 7, True, None, AT, (4, 4))]),
        (point("a", "tree", *AT, height_m=3.0, base_m=1.0),
         [(1, 2.5, True, None, AT, (0.4, 0.4)), (2.5, 4, True, None, AT, (4, 4))]),
        (lot("square", height_m=3.0), [(0, 0.05, True, None, *LOT)]),
        (lot("parking space", base_m=1.0), [(1, 1.08, True, None, *LOT)]),
        (lot("fountain"), [(0, 1.5, True, None, *LOT)]),
        (lot("bus stop", base_m=0.5), [(0.5, 2.9, True, None, *LOT)]),
        (lot("wall", height_m=2.0, base_m=0.5), [(0.5, 2.5, True, None, *LOT)]),
        (lot("wall"), []),
        (point("a", "car", *AT, facing_deg=90.0),
         [(0, 0.75, True, None, AT, (4.4, 1.8)), (0.75, 1.245, True, GLASS, AT, (4.4, 1.8)),
          (1.245, 1.365, True, None, AT, (4.4, 1.8))]),
        (point("a", "car", *AT, noun="pickup", facing_deg=0.0),
         [(0, 0.9, True, None, AT, (1.8, 4.4)), (0.9, 1.605, True, GLASS, (10, 20.44), (1.62, 1.32)),
          (1.605, 1.725, True, None, (10, 20.44), (1.62, 1.32))]),  # its cab is before its middle
        (point("a", "car", *AT, noun="taxi", facing_deg=180.0, base_m=1.0),
         [(1, 1.9, True, None, AT, (1.8, 4.4)), (1.9, 2.38, True, GLASS, (10, 20.264), (1.53, 2.288)),
          (2.38, 2.5, True, None, (10, 20.264), (1.53, 2.288)),
          (2.5, 2.725, True, (250, 205, 40), (10, 20.264), (0.63, 0.352))]),
        (point("a", "signboard", *AT, facing_deg=180.0), [(3, 4, True, None, AT, (4, 0.2))]),
        (point("a", "signboard", *AT), []),  # nobody knows where it is seen
        (point("a", "shop", *AT, facing_deg=270.0, base_m=2.0, height_m=4.0), [(2, 6, True, None, AT, (0.2, 5))]),
        (point("a", "bench", *AT), [(0, 0.9, True, None, AT, (1.6, 0.6))]),
        (point("a", "sculpture", *AT), []),
    ],
)  # fmt: skip
def test_prisms_of_all_kinds_of_things(thing: CityThing, prisms: list[tuple[object, ...]]) -> None:
    """From and to which height, whether for sure, its own colour, the middle of its ring and how far that reaches."""
    found = _prisms(7, thing, 300.0)
    assert {own.thing for own in found} <= {7}
    assert len(found) == len(prisms)
    for own, (base, top, sure, rgb, middle, sides) in zip(found, prisms, strict=True):
        assert (own.base_m, own.top_m) == pytest.approx((base, top))
        assert (own.sure, own.rgb) == (sure, rgb)
        assert own.ring.mean(0) == pytest.approx(np.array(middle), abs=1e-3)
        assert np.ptp(own.ring, axis=0) == pytest.approx(np.array(sides), abs=1e-3)


@pytest.mark.parametrize(
    ("facts", "bounds"),
    [
        ({"top_m": 7.0, "height_m": 3.0}, (7, 7)),
        ({"height_m": 3.0, "base_m": 2.0}, (5, 5)),
        ({"levels": 2.0}, (5, 15)),
        ({"levels": 2.0, "base_m": 3.0}, (8, 18)),
        ({}, (2.5, 50)),
        ({"base_m": 60.0}, (62.5, 62.5)),
    ],
)
def test_bounds_of_heights(facts: dict[str, float], bounds: tuple[float, float]) -> None:
    assert height_bounds_m(lot("building", **facts), 50.0) == bounds


SCENE = city(
    house("hut", 60, 10, 8, 6, 9.0, levels=3.0, rgb=(100, 110, 120), roof_rgb=(200, 40, 50)),
    house("unknown", 80, 10, 8, 6, None),
    lot("park", rgb=(60, 120, 50)),
    lot("square", traits={"surface": "paving stones"}),
    lot("square", traits={"surface": "gravel"}),
    lot("parking space"),
    point("car", "car", 30, 30, facing_deg=0.0, rgb=(40, 80, 180)),
    point("tree", "tree", 40, 30),
    lot("crossing"),
)
UP, SOUTH, EAST, NORTH, WEST = (0, 0, 1), (0, -1, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 0)
GROUND = 13  # after the last prism


@pytest.fixture(scope="module")
def renderer() -> CityRenderer:
    return CityRenderer(SCENE)


@pytest.mark.parametrize(
    ("prism", "way", "at", "away_m", "rgb"),
    [
        # Red of 200 in a light of 0.62 + 0.38 * 0.7 / 0.9975 is 177.3, of which 93% come through 50 m of haze.
        (0, UP, (64, 13, 9), 50, (180.0, 48.6, 57.5)),
        (0, UP, (64, 13, 9), 350, (192.5, 110.4, 119.7)),
        (0, SOUTH, (61, 10, 1), 50, (92.1, 100.5, 108.9)),
        (0, SOUTH, (62, 10, 4.6), 50, (62.8, 68.3, 73.7)),  # a window
        (0, SOUTH, (62, 10, 4.6), 139, (81.1, 87.1, 93.1)),
        (0, SOUTH, (62, 10, 4.6), 141, (107.2, 115.8, 124.4)),  # too far for one
        (0, EAST, (68, 11, 1), 50, (88.6, 96.6, 104.7)),
        (0, NORTH, (68, 16, 1), 50, (72.6, 79.1, 85.5)),  # away from the sun
        (0, WEST, (60, 11, 1), 50, (72.6, 79.1, 85.5)),
        (1, SOUTH, (81, 10, 1), 50, (158.5, 154.6, 147.6)),
        (2, SOUTH, (81, 10, 5), 50, (158.1, 154.6, 163.6)),  # the chequer of what may be there
        (2, SOUTH, (82, 10, 5), 50, (174.0, 170.0, 180.0)),
        (2, SOUTH, (81, 10, 7), 50, (174.0, 170.0, 180.0)),
        (3, UP, (15, 65, 0.05), 50, (64.4, 114.6, 57.5)),
        (4, UP, (12.05, 80.5, 0.05), 50, (123.1, 116.8, 112.0)),  # joints every 0.8 m, 0.1 m wide
        (4, UP, (12.5, 80.83, 0.05), 50, (123.1, 116.8, 112.0)),
        (4, UP, (12.5, 80.5, 0.05), 50, (143.7, 136.1, 130.2)),
        (4, UP, (12.05, 80.5, 0.05), 139, (134.2, 129.9, 126.8)),
        (4, UP, (12.05, 80.5, 0.05), 141, (152.5, 147.1, 143.1)),
        (5, UP, (41.1, 80.1, 0.05), 50, (156.9, 149.3, 133.5)),
        (5, UP, (41.3, 80.1, 0.05), 50, (134.2, 127.9, 114.7)),
        (5, UP, (41.5, 80.1, 0.05), 50, (156.9, 149.3, 133.5)),
        (5, UP, (41.1, 80.3, 0.05), 50, (134.2, 127.9, 114.7)),
        (5, UP, (41.1, 80.5, 0.05), 50, (156.9, 149.3, 133.5)),
        (6, UP, (1.11, 4, 0.08), 50, (209.7, 210.4, 207.8)),  # its white line is 0.12 m wide
        (6, UP, (1.13, 4, 0.08), 50, (95.8, 96.5, 102.1)),
        (7, SOUTH, (30, 27.8, 0.3), 50, (45.8, 77.4, 155.3)),
        (8, SOUTH, (30, 27.8, 0.9), 50, (48.9, 57.3, 67.2)),
        (9, UP, (30, 30, 1.3), 50, (47.9, 81.6, 164.9)),
        (10, SOUTH, (40, 29.8, 1), 50, (95.2, 75.8, 58.0)),
        (11, UP, (40, 30, 7), 50, (66.1, 113.0, 59.2)),
        (12, UP, (50.5, 31, 0.05), 50, (80.9, 81.6, 85.6)),
        (12, UP, (51.1, 31, 0.05), 50, (213.0, 213.7, 211.1)),  # stripes of 0.6 m
        (GROUND, UP, (33, 44, 0), 50, (138.7, 138.6, 134.3)),
        (GROUND, UP, (40.1, 44, 0), 50, (130.1, 130.0, 126.1)),  # a line every ten metres
        (GROUND, UP, (40.13, 44, 0), 50, (138.7, 138.6, 134.3)),
        (GROUND, UP, (33, 39.9, 0), 50, (130.1, 130.0, 126.1)),
        (GROUND, UP, (40.1, 44, 0), 141, (148.1, 149.2, 146.7)),
        (GROUND, UP, (-3, 44, 0), 50, (115.6, 122.9, 102.1)),
        (GROUND, UP, (-10, 44, 0), 50, (108.6, 115.4, 96.1)),
    ],
)
def test_colours_of_points_on_all_kinds_of_things(
    renderer: CityRenderer,
    prism: int,
    way: tuple[int, int, int],
    at: tuple[float, ...],
    away_m: float,
    rgb: tuple[float, ...],
) -> None:
    normal = renderer._normal @ np.array(way, dtype=float)
    face = np.flatnonzero((renderer._mesh.prism == prism) & (normal > 0.9))[:1]
    found = renderer._solid(np.array([at], dtype=float), face, np.array([float(away_m)]))[0]
    assert found == pytest.approx(np.array(rgb, dtype=float), abs=0.15)


def plain_window(corners: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Columns and rows from and to, and whether all lies within the picture, corner by corner."""
    right, down, ahead = camera_axes(at[None])[0]
    off = [corner - at[:3] for corner in corners]
    depth = [float(o @ ahead) for o in off]
    if all(d <= 0 for d in depth):
        return np.zeros(2), np.zeros(2), False
    if any(d <= 0 for d in depth):
        return np.zeros(2), np.array([WIDTH, HEIGHT]), False
    xy = np.array([[o @ right / d, o @ down / d] for o, d in zip(off, depth, strict=True)]) * 320 + [320, 240]
    low, high = xy.min(0), xy.max(0)
    inside = bool((low >= 0).all() and high[0] <= WIDTH and high[1] <= HEIGHT)
    return np.clip(np.floor(low), 0, [WIDTH, HEIGHT]), np.clip(np.ceil(high), 0, [WIDTH, HEIGHT]), inside


def test_windows_are_those_of_the_corners_one_by_one() -> None:
    """Of houses of other sides, a tree of two prisms and a shop that stands nowhere, from 200 poses."""
    things = (
        house("a", 40, 40, 10, 8, 6.0),
        point("t", "tree", 60, 30),
        point("s", "shop", 1, 1),
        house("b", 10, 70, 4, 9, None),
    )
    sight, rng = CitySight(city(*things)), np.random.default_rng(6)
    at, up, tilts = rng.uniform(0, 100, (200, 2)), rng.uniform(1, 40, 200), rng.uniform(-40, 40, (200, 2))
    poses = np.column_stack([at, up, tilts, rng.uniform(0, 360, 200)])
    own = rng.integers(0, 4, 200)
    found = sight._windows(poses, camera_axes(poses), own)
    solids, kinds = sight.solids, set()
    for n, (at, thing) in enumerate(zip(poses, own.tolist(), strict=True)):
        corners = [[x, y, z] for p in solids.prisms if p.thing == thing for z in (p.base_m, p.top_m) for x, y in p.ring]
        low, high, whole = plain_window(np.array(corners), at) if corners else (np.zeros(2), np.zeros(2), False)
        away = [(np.array(corner) - at[:3]) @ camera_axes(at[None])[0, 2] for corner in corners]
        if not any(0 < one < 0.2 for one in away):  # as near as that it is anywhere in the picture
            told = found.low[n].tolist(), found.high[n].tolist(), bool(found.whole[n])
            assert told == (low.tolist(), high.tolist(), whole)
        kinds.add((bool(high.any()), whole, bool((high == [WIDTH, HEIGHT]).all())))
    assert len(kinds) >= 4


def test_rays_of_smaller_pictures_are_those_through_their_pixels() -> None:
    """A picture of 4 by 2 pixels, looking north: columns at -3/4, -1/4, 1/4 and 3/4 of what lies a unit ahead."""
    rays = pixel_rays(np.array([1.0, 2, 3, 0, 0, 0]), 4, 2)
    assert rays[:, :3].tolist() == [[1, 2, 3]] * 8
    assert rays[:4, 3:] == pytest.approx(np.array([[x, 1, 0.25] for x in (-0.75, -0.25, 0.25, 0.75)]), abs=1e-6)
    assert rays[4:, 5] == pytest.approx(np.full(4, -0.25), abs=1e-6)


@pytest.mark.parametrize(
    ("roll", "pitch", "yaw", "axes"),
    [
        (0, 0, 0, ((1, 0, 0), (0, 0, -1), (0, 1, 0))),
        (0, 0, 90, ((0, -1, 0), (0, 0, -1), (1, 0, 0))),
        (0, 30, 0, ((1, 0, 0), (0, 0.5, -0.866), (0, 0.866, 0.5))),
        (90, 0, 0, ((0, 0, -1), (-1, 0, 0), (0, 1, 0))),
        (30, 0, 90, ((0, -0.866, -0.5), (0, 0.5, -0.866), (1, 0, 0))),
        (0, -30, 60, ((0.5, -0.866, 0), (-0.433, -0.25, -0.866), (0.75, 0.433, -0.5))),
    ],
)
def test_axes_of_cameras(roll: float, pitch: float, yaw: float, axes: tuple[tuple[float, ...], ...]) -> None:
    found = camera_axes(np.array([[9.0, 9, 9, roll, pitch, yaw]]))[0]
    assert found == pytest.approx(np.array(axes), abs=1e-3)


@pytest.mark.parametrize(
    ("toward", "share"), [((0, 1, 0), 0.0), ((0, 2, -1), 0.0), ((3, 4, 2.5), 0.5), ((0, 1, 1), 1.0), ((0, 0, 1), 1.0)]
)
def test_the_sky_grows_blue_up_to_45_degrees(toward: tuple[float, ...], share: float) -> None:
    low, high = np.array([216.0, 226, 236]), np.array([104.0, 156, 214])
    assert render._sky(np.array([toward], dtype=np.float32))[0] == pytest.approx(low + share * (high - low), abs=0.01)


def test_roofs_have_layers_in_pictures_alone() -> None:
    """Walls and eight layers; as what hides the view a house is as high all over."""
    here = city(house("h", 40, 40, 8, 20, 9.0, roof_shape="pitched"), house("flat", 10, 10, 8, 8, 9.0))
    assert len(Occluders(here).prisms) == 2
    roofed = Occluders(here, has_roofs=True)
    assert roofed.thing.tolist() == [0] * 9 + [1]
    assert roofed.top_m.tolist() == pytest.approx([6.0, *(6 + 3 * n / 8 for n in range(1, 9)), 9.0])
    assert Occluders(city(house("u", 0, 0, 5, 5, None))).top_m.tolist() == [2.5, 300.0]
    assert Occluders(city(house("u", 0, 0, 5, 5, None)), 12.0).top_m.tolist() == [2.5, 12.0]
