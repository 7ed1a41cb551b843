"""When landmarks are in view: hand-computed, above a small city."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import shapely

from pipeline.geometry.bearings import picture_xy
from pipeline.geometry.tracks import NO_BUILDINGS, Buildings
from pipeline.reading.maps.appearance import Appearance
from pipeline.worlds.flight.facts import FlightCamera, Landmark
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.observe.views import (
    PosesAt,
    ViewInputs,
    _foot,
    _height_seen_m,
    _intervals,
    _is_large,
    _is_read,
    _outline,
    best_shot,
    may_be_noticed,
    range_m,
    steady,
    views,
)

CAMERA = FlightCamera(horizontal_fov_deg=90, width=1600, height=900)
EMPTY = ViewInputs(CAMERA, 0.0, NO_BUILDINGS, MotionConfig())
SQUARE = ((-10.0, -10.0), (10.0, -10.0), (10.0, 10.0), (-10.0, 10.0))


def block(north: float, east: float = 0.0) -> tuple[tuple[float, float], ...]:
    return tuple((x + east, y + north) for x, y in SQUARE)


def tower(north: float = 100.0, east: float = 0.0, **more: object) -> Landmark:
    known = {"base_m": 0.0, "top_m": 40.0, "radius_m": 14.0, "outline": block(north, east)}
    return Landmark.model_validate({"name": "Tower", "center": (east, north), **known, **more})


@dataclass(frozen=True)
class Shot:
    """Ten seconds of hovering at a place."""

    east: float = 0.0
    north: float = 0.0
    up: float = 40.0
    heading: float = 0.0
    pitch: float = -10.0
    ground: float = 0.0
    relief_m: float = 10.0
    error: float = 0.0

    def sees(self, landmark: Landmark, buildings: Buildings = NO_BUILDINGS, camera: FlightCamera = CAMERA) -> bool:
        t = np.arange(0, 10.01, 0.2)
        full = np.ones(len(t))
        at = np.column_stack([self.east * full, self.north * full, self.up * full])
        poses = PosesAt(t, at, self.heading * full, self.pitch * full, np.zeros(len(t), dtype=np.intp))
        setting = ViewInputs(camera, self.ground, buildings, MotionConfig(relief_m=self.relief_m), self.error)
        found = views(poses, [landmark], setting)
        if not found or not found[0].intervals:
            return False
        assert found[0].landmark == 0
        assert found[0].possible == ((-0.2, 10.2),), "what is surely in view may be in view"
        assert found[0].intervals == ((0.0, 10.0),)
        return True


@pytest.mark.parametrize(
    ("heading", "seen"), [(0, True), (44, True), (46, False), (316, True), (314, False), (180, False)]
)
def test_it_is_in_view_within_the_horizontal_field(heading, seen):
    assert Shot(heading=heading).sees(tower()) is seen


@pytest.mark.parametrize(
    ("pitch", "seen"), [(-11.3, True), (17, True), (19, False), (-40, True), (-42, False), (-90, False)]
)
def test_it_is_in_view_within_the_vertical_field(pitch, seen):
    # Half of the picture's height is 29.36 degrees; the tower's middle, 20 m lower and 100 m ahead, is at -11.31
    assert Shot(pitch=pitch).sees(tower()) is seen


@pytest.mark.parametrize(
    ("thing", "north", "seen"),
    [
        # 15 times its height of 40 m is 600 m, to its nearest part; a block of 100 m is seen at 1.5 km.
        ({}, 613, True),
        ({}, 615, False),
        ({"radius_m": 12.0, "top_m": 100.0}, 1490, True),
        ({"radius_m": 12.0, "top_m": 100.0}, 1515, False),
        ({"radius_m": 4.0, "top_m": 100.0}, 1490, False),  # a chimney 2 pixels wide,
        # A house of 14 x 6 m: any such thing is seen up to 300 m.
        ({"radius_m": 7.0, "top_m": 6.0}, 295, True),
        ({"radius_m": 7.0, "top_m": 6.0}, 310, False),
    ],
)
def test_it_is_in_view_as_far_as_its_size_allows(thing, north, seen):
    assert Shot().sees(tower(north, outline=None, **thing)) is seen


@pytest.mark.parametrize(("radius", "seen"), [(0.31, False), (0.33, True), (0.0, True)])
def test_a_thin_line_is_not_seen_but_a_point_has_no_width(radius, seen):
    """1.25% of a picture of 204 m, at 102 m, is 2.55 m: of a pole of 40 m a quarter of that."""
    assert Shot().sees(tower(radius_m=radius, outline=None)) is seen


@pytest.mark.parametrize(("height", "seen"), [(2.9, True), (2.7, False), (None, False)])
def test_a_point_is_seen_by_its_height(height, seen):
    """2.5% of a picture of 112.5 m, at 100 m, is 2.81 m; a bench of unknown height is not seen."""
    top = {"top_m": None, "rise_m": (0.0, 3.0)} if height is None else {"top_m": 40 + height / 2}
    assert Shot().sees(tower(radius_m=0.0, outline=None, base_m=40 - (height or 3.0) / 2, **top)) is seen


def test_a_place_without_a_footprint_is_a_circle() -> None:
    ring = _outline(Landmark(center=(1.0, 2.0), radius_m=3.0))
    assert np.hypot(*(ring - [1.0, 2.0]).T) == pytest.approx(3.0)
    assert ring.mean(0) == pytest.approx([1.0, 2.0]), "all around"


def test_what_is_clear_of_a_thing_takes_8_pixels_of_640():
    """At 100 m, in a picture of 200 by 112.5 m, 2.5 by 1.41 m: a disc of 8 by 0.42 m, and its top from above."""
    for height, seen in ((0.43, True), (0.41, False)):
        disc = tower(radius_m=4.0, outline=None, base_m=40.0 - height / 2, top_m=40.0 + height / 2)
        assert Shot().sees(disc) is seen, height


@pytest.mark.parametrize(("most", "seen"), [(23, True), (25, False), (np.inf, False)])
def test_a_building_of_unknown_height_hides_as_much_as_it_may(most, seen):
    """On ground that may be 10 m higher, before 30 m of 40, seen from 40 m: 34 m up over its far side, 60 m away."""
    before = replace(city((50, np.nan)), most_m=np.array([float(most)]))
    assert Shot().sees(tower(), before) is seen


def test_of_an_unknown_height_the_least_is_seen_and_the_most_may_be():
    house = tower(top_m=None, rise_m=(3.0, 60.0))
    poses = PosesAt(np.zeros(1), np.array([[0.0, 0.0, 200.0]]), np.zeros(1), np.zeros(1), np.zeros(1, np.intp))
    assert Shot(up=100, pitch=-44.7).sees(house)
    assert not Shot(up=100, pitch=-15.0).sees(house), "its foot is out of the picture, which its top may be in"
    assert not may_be_noticed(poses, tower(100, top_m=None, rise_m=(3.0, 5.0)), EMPTY)
    assert may_be_noticed(poses, tower(100, top_m=None, rise_m=(3.0, 160.0)), EMPTY)


@pytest.mark.parametrize(("radius", "noticed"), [(2.4, False), (2.6, True), (0.0, True)])
def test_what_is_two_fifths_as_large_as_what_is_seen_may_be_noticed(radius, noticed):
    """A cube 500 m off, whatever stands before it; of a point nobody knows how large it is."""
    at = np.array([[0.0, 0.0, 0.0]])
    poses = PosesAt(np.zeros(1), at, np.zeros(1), np.zeros(1), np.zeros(1, np.intp))
    cube = tower(500 + radius, radius_m=radius, outline=None, base_m=-radius * 9 / 16, top_m=radius * 9 / 16)
    assert may_be_noticed(poses, cube, EMPTY) is noticed
    assert not may_be_noticed(replace(poses, heading_deg=np.array([180.0])), cube, EMPTY)


def city(*blocks: tuple[float, float]) -> Buildings:
    """Blocks of 20 x 20 m: north of the origin, and height."""
    return Buildings(
        tuple(np.array(block(north)) for north, _ in blocks),
        np.zeros(len(blocks)),
        np.array([top for _, top in blocks]),
    )


def test_what_is_clear_of_it_is_in_the_picture():
    """Half of the picture's height is 29.36 degrees. Of a tower of 80 m, 100 m away, over a block of 47 m that begins
    40 m away, one sees what is above 57.5 m: the upper quarter, whose middle is at 16.7 degrees."""
    high = tower(top_m=80.0)
    assert Shot(pitch=-20).sees(high), "nothing hides its foot"
    assert not Shot(pitch=-20).sees(high, city((50, 47)))
    assert Shot(pitch=-12).sees(high, city((50, 47)))


@pytest.mark.parametrize(("top", "seen"), [(33, True), (35, False), (39, False), (np.nan, False)])
def test_a_building_between_hides_its_upper_quarter(top, seen):
    """The line from 40 m to 30 m of 40, 100 m away, is 34 m up over the far side of what stands between."""
    assert Shot().sees(tower(), city((50, top))) is seen


@pytest.mark.parametrize("lift", [-30, 50])
def test_a_world_that_is_lifted_shows_the_same(lift: float) -> None:
    """At the same height over the houses; the line to 30 m of 40 is 34 m up over what stands between."""
    for top, seen in ((33, True), (35, False)):
        before = city((50, top))
        raised = replace(before, base_m=before.base_m + lift, top_m=before.top_m + lift)
        assert Shot(up=40 + lift, ground=lift).sees(tower(base_m=lift, top_m=40.0 + lift), raised) is seen


def test_of_a_foot_that_is_not_known_the_lowest_top_is_looked_at() -> None:
    """20 m over ground that may be 10 m lower: up to 10 m. The line to its upper quarter is 19 m up over the house."""
    mark = tower(base_m=None, top_m=None, rise_m=(20.0, 30.0))
    assert Shot().sees(mark, city((50, 18)))
    assert not Shot().sees(mark, city((50, 20)))


@pytest.mark.parametrize(("east", "seen"), [(15.0, False), (-15.0, True)])
def test_what_lies_aside_of_its_middle_is_looked_at_where_it_is(east: float, seen: bool) -> None:
    """A wing to the east alone, 40 m wide: half way to its end is 20 m aside, 12 m where the house before it stands."""
    wing = tower(outline=((0.0, 95.0), (40.0, 95.0), (40.0, 105.0), (0.0, 105.0)), radius_m=20.0)
    aside = Buildings((np.array(block(50, east)) * [0.4, 1.0] + [0.6 * east, 0.0],), np.zeros(1), np.array([200.0]))
    assert Shot().sees(wing, aside) is seen


@pytest.mark.parametrize("top", [10, 40, 80, np.nan])
def test_it_does_not_hide_itself_and_nothing_behind_it_does(top):
    assert Shot().sees(tower(), city((100, top), (150, 200)))


# The lines to half way to its sides, 5 m east and west of its middle, pass the block's far side 3 m off.
@pytest.mark.parametrize(("east", "seen"), [(30, True), (13.1, True), (12.9, False), (-13.1, True), (-12.9, False)])
def test_a_building_aside_hides_nothing_until_it_leaves_a_strip(east, seen):
    aside = Buildings((np.array(block(50, east)),), np.zeros(1), np.array([200.0]))
    assert Shot().sees(tower(), aside) is seen


# A wall of 20 m at 90 m: its middle 18 m are 64 of 640 pixels wide. A block of 36 m hides three quarters and more.
@pytest.mark.parametrize(
    ("sign", "shot", "before", "read"),
    [
        ("S" * 12, Shot(), (), True),
        ("S" * 13, Shot(), (), False),
        ("CAFE", Shot(heading=38), (), True),
        ("CAFE", Shot(heading=41), (), False),  # its left end is beyond the edge
        ("CAFE", Shot(), ((50, 33),), True),
        ("CAFE", Shot(), ((50, 36),), False),
    ],
)
def test_what_is_named_by_its_sign_is_seen_where_that_can_be_read(sign, shot, before, read):
    signed = {"appearance": Appearance(noun="building", sign=sign), "label": f'the building with the sign "{sign}"'}
    assert shot.sees(tower(**signed), city(*before)) is read
    assert shot.sees(tower(**signed | {"label": "the red building"}), city(*before)) is (before != ((50, 36),))


@pytest.mark.parametrize("turns", [1, -1])
def test_signs_are_read_on_walls_that_face_the_camera_wall_by_wall(turns: int) -> None:
    """Of houses of five corners anywhere, from anywhere: a wall faces who stands on the other side of it."""
    rng = np.random.default_rng(12)
    read = 0
    for _ in range(150):
        angles = np.sort(rng.uniform(0, 2 * np.pi, 5))
        ring = np.array([40.0, -70.0]) + rng.uniform(8, 20) * np.column_stack([np.cos(angles), np.sin(angles)])
        sign = Appearance(noun="building", sign="INN")
        house = tower(outline=ring[::turns].tolist(), appearance=sign, label='the building with the sign "INN"')
        eye, heading, pitch = np.array([*rng.uniform(-80, 80, 2), 35.0]), rng.uniform(0, 360), rng.uniform(-20, 5)
        inside = shapely.Polygon(ring)
        legible = False
        for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            ends = np.array([[*(a + share * (b - a)), z] for share in (0.05, 0.95) for z in (30.0, 40.0)])
            xy = picture_xy(eye, np.array(heading), np.array(pitch), ends, 90.0, 16 / 9)
            middle, off = (a + b) / 2, eye[:2] - (a + b) / 2
            faces = not inside.contains(shapely.Point(middle + 1e-3 * off / np.hypot(*off)))
            wide = abs(xy[1, 0] - xy[3, 0]) / 2 * 640 / len("INN")  # of their upper ends
            legible |= faces and bool((np.abs(xy) <= 1).all()) and wide >= MotionConfig().letter_min_px
        poses = PosesAt(np.zeros(1), eye[None], np.array([heading]), np.array([pitch]), np.zeros(1, np.intp))
        assert _is_read(poses, np.zeros(1, np.intp), house, EMPTY.others(house), EMPTY).tolist() == [legible]
        read += legible
    assert 20 < read < 130


def test_an_unknown_foot_counts_for_every_height_of_the_ground():
    park = tower(base_m=None, top_m=None)
    # Level ground is at -21.8 degrees; 10 m higher and lower at -16.7 and -26.6; half of the picture is 29.36
    assert Shot(pitch=-21.8).sees(park)
    assert Shot(pitch=2.5).sees(park)
    assert not Shot(pitch=3.5).sees(park)  # out of the picture if the ground is low
    assert Shot(pitch=3.5, relief_m=0).sees(park)
    assert not Shot(pitch=-21.8, ground=np.nan).sees(park)
    assert Shot(pitch=-21.8, ground=np.nan).sees(tower())


def test_the_ground_is_that_of_take_off():
    park = tower(base_m=None, top_m=None)
    assert not Shot(pitch=3.5, ground=-10).sees(park)
    assert Shot(pitch=3.5, ground=5).sees(park)


def test_unknown_poses_see_nothing():
    assert not replace(Shot(), heading=np.nan).sees(tower())
    assert not replace(Shot(), pitch=np.nan).sees(tower())


def test_views_are_intervals_of_parts_in_the_order_of_landmarks():
    t = np.arange(0, 30.01, 0.2)
    heading = np.where((t > 5) & (t < 12), 0.0, 180.0)
    heading[(t > 20) & (t < 20.7)] = 0  # too short a glance
    part = (t > 8.5).astype(np.intp)
    poses = PosesAt(t, np.tile([0.0, 0, 40], (len(t), 1)), heading, np.full(len(t), -10.0), part)
    found = views(poses, [tower(-100), tower(), tower(0, 700)], EMPTY)
    assert [view.landmark for view in found] == [0, 1]
    assert found[1].intervals == ((5.2, 8.4), (8.6, 11.8))
    assert found[0].intervals == ((0.0, 5.0), (12.0, 20.0), (20.8, 30.0))


def test_nothing_to_see():
    empty = np.empty(0)
    poses = PosesAt(empty, np.empty((0, 3)), empty, empty, empty.astype(np.intp))
    assert views(poses, [tower()], EMPTY) == ()


def possible(shot: Shot, landmark: Landmark) -> bool:
    """Whether the landmark may be in view, as far as the flight and the map tell."""
    t = np.arange(0, 10.01, 0.2)
    full = np.ones(len(t))
    at = np.column_stack([shot.east * full, shot.north * full, shot.up * full])
    way, tilt, part = shot.heading * full, shot.pitch * full, np.zeros(len(t), dtype=np.intp)
    found = views(PosesAt(t, at, way, tilt, part), [landmark], replace(EMPTY, ground_m=shot.ground))
    assert len(found) <= 1
    return bool(found)


# The picture's corners lie 48.92 degrees off its middle: tan 45 and tan 29.36 taken together. The sphere about the
# tower has a radius of hypot(14, 20) = 24.4 m, which is 14.1 degrees at 100 m.
@pytest.mark.parametrize(("heading", "may"), [(0, True), (46, True), (60, True), (66, False), (180, False)])
def test_it_may_be_in_view_where_any_part_of_it_may_be(heading, may):
    assert possible(Shot(heading=heading, up=20, pitch=0), tower()) is may


def test_range_and_walls_rule_nothing_out():
    assert possible(Shot(), tower(2000))


def test_what_is_not_known_rules_nothing_out():
    assert possible(replace(Shot(), heading=np.nan), tower())
    assert possible(replace(Shot(), pitch=np.nan), tower())
    assert possible(replace(Shot(), ground=np.nan), tower(base_m=None, top_m=None))
    # With a top that is not known it may be 100 m high: seen from high above, looking up.
    assert possible(Shot(up=60, pitch=30), tower(base_m=0.0, top_m=None))
    assert not possible(Shot(up=300, pitch=30), tower(base_m=0.0, top_m=None))


def test_a_lawn_is_not_seen_from_the_lawn():
    lawn = {"base_m": 0.0, "top_m": 0.1}
    assert not Shot(up=0.05, pitch=0).sees(tower(**lawn))
    assert Shot(up=30, pitch=-15).sees(tower(**lawn))


def test_the_range_is_reached_where_it_is_exact():
    assert Shot(up=20).sees(tower(314))  # its middle at the eye's height, 300 m to its nearest part


@pytest.mark.parametrize(("north", "may"), [(10, True), (11, False)])
def test_who_stands_on_the_sphere_about_it_may_see_it_whichever_way_they_look(north, may):
    disc = tower(north, base_m=40.0, top_m=40.0, radius_m=10.0, outline=None)
    assert possible(Shot(heading=180, pitch=0), disc) is may


@pytest.mark.parametrize(("end", "seen"), [(2, True), (1, False)])
def test_a_view_lasts_at_least_as_long_as_it_must(end, seen):
    """Moments of half of the least time: three of them last as long, two do not."""
    least = MotionConfig().min_view_s
    t = np.arange(12) * least / 2
    heading = np.where(np.arange(12) <= end, 0.0, 180.0)
    poses = PosesAt(t, np.tile([0.0, 0, 40], (12, 1)), heading, np.full(12, -10.0), np.zeros(12, dtype=np.intp))
    (found,) = views(poses, [tower()], EMPTY)
    assert bool(found.intervals) is seen


def test_what_is_seen_in_two_parts_is_seen_twice_and_a_glance_not_at_all() -> None:
    t_s, part = np.arange(8) / 3, np.array([0, 0, 0, 1, 1, 1, 1, 1])
    poses = PosesAt(t_s, np.zeros((8, 3)), np.zeros(8), np.zeros(8), part)
    seen = np.array([0, 1, 1, 1, 1, 0, 1, 0], dtype=bool)
    assert _intervals(poses, seen, 0.3) == ((0.333, 0.667), (1.0, 1.333))
    assert _intervals(poses, seen, 1 / 3, 0.1) == ((0.233, 0.767), (0.9, 1.433))
    assert _intervals(poses, seen, 0.34) == ()
    assert _intervals(poses, seen & (part == 9), 0.0) == ()


def rectangle(x: float, y: float, wide: float, deep: float) -> tuple[tuple[float, float], ...]:
    return (x, y), (x + wide, y), (x + wide, y + deep), (x, y + deep)


def thing(name: str, x: float, y: float, wide: float, deep: float, **more: object) -> Landmark:
    known = {"base_m": 1.0, "radius_m": float(np.hypot(wide, deep) / 2), "outline": rectangle(x, y, wide, deep)}
    return Landmark.model_validate({"name": name, "center": (x + wide / 2, y + deep / 2), **known, **more})


INN = {"appearance": Appearance(noun="building", sign="INN"), "label": 'the building with the sign "INN"'}
TOWN = (
    thing("hall", -25, 120, 30, 18, top_m=16.0),
    thing("spire", 10, 150, 6, 6, top_m=62.0),
    thing("park", -60, 60, 40, 50, base_m=None, rise_m=(0.0, 8.0)),
    Landmark.model_validate({"name": "pond", "center": (40, 110), "radius_m": 12.0, "base_m": 1.0, "top_m": 1.0}),
    thing("inn", -60, 10, 14, 10, top_m=12.0, **INN),
    thing("far", -100, 420, 50, 30, top_m=35.0),
    Landmark.model_validate({"name": "kiosk", "center": (-5, 95), "radius_m": 0.0, "base_m": 1.0, "top_m": 4.0}),
)
IN_TOWN = Buildings(
    tuple(np.array(rectangle(*at)) for at in ((-20, 100, 16, 8), (0, 140, 9, 5), (-45, 5, 6, 20), (-25, 120, 30, 18))),
    np.array([1.0, 0.0, np.nan, 1.0]),
    np.array([22.0, np.nan, 9.0, 16.0]),
    most_m=np.array([np.inf, 28.0, np.inf, np.inf]),
)


@pytest.mark.parametrize(
    ("error_deg", "seen"),
    [
        (0.0, {
            "hall": ((26.8, 28.0),),  # over the house of 22 m before it
            "spire": ((3.0, 17.0), (17.2, 22.2)),  # then it is above the picture
            "park": ((3.0, 17.0), (17.2, 21.4)),
            "pond": ((3.0, 17.0), (17.2, 28.0)),
            "inn": ((3.0, 5.4),),
            "far": ((3.0, 17.0), (17.2, 28.0)),
            "kiosk": ((7.6, 17.0), (17.2, 25.0)),
        }),
        (6.0, {
            "hall": ((26.8, 28.0),),
            "spire": ((3.0, 17.0), (17.2, 22.2)),
            "park": ((3.0, 17.0), (17.2, 21.0)),
            "pond": ((3.0, 17.0), (17.2, 19.8)),
            "inn": ((3.0, 4.4),),
            "far": ((3.0, 17.0), (17.2, 28.0)),
            "kiosk": ((7.6, 17.0), (17.2, 24.8)),
        }),
    ],
)  # fmt: skip
def test_a_flight_over_a_small_town_in_full(error_deg: float, seen: dict[str, tuple[tuple[float, float], ...]]) -> None:
    """From 30, -80 and 25 m up to the north-north-west, climbing, the nose swinging; a gap of the log at 17.1 s."""
    t = np.arange(126) / 5
    at = np.column_stack([30 - 2.0 * t, -80 + 6 * t, 25 + 0.8 * t])
    heading = (340 + 1.5 * t + 12 * np.sin(t / 4)) % 360
    poses = PosesAt(t + 3.0, at, heading, -8 - 0.6 * t, np.where(t > 14.1, 4, 0))
    camera = FlightCamera(horizontal_fov_deg=70, width=1280, height=720)
    setting = ViewInputs(camera, 2.0, IN_TOWN, MotionConfig(), error_deg)
    found = views(poses, TOWN, setting)
    assert {TOWN[view.landmark].name: view.intervals for view in found} == seen
    may = {TOWN[view.landmark].name: view.possible for view in found}
    assert may.pop("inn") == ((2.8, 7.8 if not error_deg else 9.4),)
    assert set(may.values()) == {((2.8, 17.2), (17.0, 28.2))}
    shots = {TOWN[v.landmark].name: best_shot(poses, TOWN[v.landmark], v.intervals, setting) for v in found}
    assert {name: (shot.second, shot.box) for name, shot in shots.items() if shot} == ({} if error_deg else {
        "spire": (21.8, pytest.approx((0.644, 0.0, 0.72, 0.487), abs=0.002)),
        "pond": (22.2, pytest.approx((0.847, 0.624, 1.0, 0.81), abs=0.002)),
        "far": (27.6, pytest.approx((0.09, 0.007, 0.233, 0.161), abs=0.002)),
        "kiosk": (24.6, pytest.approx((0.571, 0.936, 0.572, 0.989), abs=0.002)),
    })  # fmt: skip
    ranges = [range_m(mark, _foot(mark, setting), setting.config) for mark in TOWN]
    # 15 times 34.99 m, 61 m, 64.03 m, 24 m, 17.2 m, 58.31 m and 3 m; at least 300 m.
    assert ranges == pytest.approx([524.8, 915.0, 960.5, 360.0, 300.0, 874.6, 300.0], abs=0.1)


def test_a_range_ends_in_the_haze() -> None:
    huge = tower(outline=None, radius_m=200.0)
    assert range_m(huge, np.zeros(2), MotionConfig()) == 5000.0
    assert range_m(huge, np.zeros(2), MotionConfig(view_sizes=12.0)) == 4800.0
    assert range_m(tower(top_m=None, rise_m=(30.0, 90.0)), np.array([-4.0, 5.0]), MotionConfig()) == 450.0


def test_feet_that_are_not_known_lie_about_the_ground_at_take_off() -> None:
    setting = replace(EMPTY, ground_m=7.0, config=MotionConfig(relief_m=4.0))
    assert _foot(tower(base_m=2.0), setting).tolist() == [2.0, 2.0]
    assert _foot(tower(base_m=None), setting).tolist() == [3.0, 11.0]


def test_heights_seen_by_hand() -> None:
    """Half of a wall of 6 m, and a flat roof of 10 m to either side, 50 m away, from 30 m above it."""
    mark = tower(radius_m=10.0)
    eyes = np.array([[0.0, 0, 42], [0, 0, 12], [0, 0, 11], [0, 0, 4], [0, 0, 13]])
    foot, top = np.array([5.0, 6.0]), np.array([11.0, 12.0])
    found = _height_seen_m(eyes, mark, foot, top, np.full(5, 50.0))
    assert found == pytest.approx([3 + 10 * 30 / 50, 3.0, 3.0, 3 + 10 * 7 / 50, 3 + 10 * 1 / 50])
    assert _height_seen_m(eyes[:1], mark, top, foot, np.full(1, 50.0)) == pytest.approx([10 * 36 / 50]), "no height"


@pytest.mark.parametrize(
    ("radius_m", "tall_m", "large"),
    [
        (1.26, 0.71, True),  # 1.25% of 200 m, half: 1.25 m by 0.703 m
        (1.24, 0.70, False),
        (0.32, 2.82, True),  # a quarter as wide, four times as tall
        (0.31, 2.90, False),
        (5.10, 0.177, True),
        (5.10, 0.174, False),
    ],
)
def test_what_is_large_enough_by_hand(radius_m: float, tall_m: float, large: bool) -> None:
    assert _is_large(radius_m, np.array([tall_m]), np.array([100.0]), 0.0125, EMPTY).tolist() == [large]
    assert _is_large(radius_m * 2, np.array([tall_m * 2]), np.array([100.0]), 0.025, EMPTY).tolist() == [large]


def test_each_nth_of_the_known_poses() -> None:
    numbers = np.arange(7.0)
    heading, pitch = numbers.copy(), numbers.copy()
    heading[1], pitch[4] = np.nan, np.nan
    poses = PosesAt(numbers, np.column_stack([numbers] * 3), heading, pitch, np.arange(7))
    assert [poses.known(n).t_s.tolist() for n in (1, 2, 3)] == [[0, 2, 3, 5, 6], [0, 3, 6], [0, 5]]
    assert poses.known(2).enu_m.tolist() == [[0, 0, 0], [3, 3, 3], [6, 6, 6]]
    assert poses.known(2).part.tolist() == [0, 3, 6]


def test_moments_that_are_steady_by_a_plain_search() -> None:
    """Swings of up to 9 degrees across north, a part that ends, moments a fifth of a second apart."""
    rng = np.random.default_rng(4)
    heading, part = np.cumsum(rng.choice([-4.0, 0.0, 0.0, 4.0, 5.0], 60)) % 360, np.repeat([0, 1], [37, 23])
    t = 2.0 + np.arange(60) / 5
    for within_s in (0.05, 0.4, 1.0):
        reach = max(1, round(within_s * 5))
        plain = []
        for n in range(60):
            others = range(max(n - reach, 0), min(n + reach, 59) + 1)
            turns = [abs((heading[m] - heading[n] + 180) % 360 - 180) if part[m] == part[n] else 180 for m in others]
            plain.append(max(turns) <= 5.0)
        assert steady(t, heading, part, within_s).tolist() == plain
        assert 0 < sum(plain) < 60
    assert steady(t[:1], heading[:1], part[:1], 1.0).tolist() == [True]
