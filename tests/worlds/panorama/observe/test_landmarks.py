"""Landmarks of a planted map: by hand, and refused where map, position or heading do not decide."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from shapely import Point, Polygon

from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.geometry.sight import walls
from pipeline.reading.maps import surroundings
from pipeline.reading.maps.city_thing import CityThing
from pipeline.reading.maps.gazetteer import stamped
from pipeline.reading.maps.surroundings import MapSurroundings
from pipeline.worlds.panorama.facts import PanoramaConfig, PanoramaLandmark, PanoramaScene
from pipeline.worlds.panorama.observe import landmarks
from pipeline.worlds.panorama.observe.landmarks import (
    RAYS,
    _buildings,
    _eyes,
    _front,
    _height_m,
    _interval,
    _is_landmark,
    _may_be_meant,
    _open,
    _Street,
    _targets,
    landmarks_of,
)
from tests.benchmarks.ergeobench.made import scene

HERE = Origin(lat_deg=50.0, lon_deg=8.0, alt_m=None)
CONFIG = PanoramaConfig(position_error_m=1.0)
EVERYWHERE = shapely.box(-900, -900, 900, 900)
SPATIAL = ("Yaw Estimation", "2D Positioning", "Left/Right Relative", "Front/Back Relative", "Cross View")


def _lon_lat(points: list[tuple[float, float]]) -> list[list[float]]:
    enu = np.column_stack([np.array(points, dtype=np.float64), np.zeros(len(points))])
    return to_lat_lon_alt(enu, HERE)[:, [1, 0]].round(9).tolist()


def _box(x: float, y: float, wide: float, deep: float, **tags: str) -> dict[str, Any]:
    ring = _lon_lat([(x, y), (x + wide, y), (x + wide, y + deep), (x, y + deep), (x, y)])
    return {"type": "Feature", "properties": tags, "geometry": {"type": "Polygon", "coordinates": [ring]}}


def _point(x: float, y: float, **tags: str) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": tags,
        "geometry": {"type": "Point", "coordinates": _lon_lat([(x, y)])[0]},
    }


def _street(*points: tuple[float, float], name: str) -> dict[str, Any]:
    line = {"type": "LineString", "coordinates": _lon_lat(list(points))}
    return {"type": "Feature", "properties": {"highway": "residential", "name": name}, "geometry": line}


HOUSES = [
    _box(x, y, 18.0, 12.0, building="yes", height="9")
    for y, gap in ((10.0, (-9,)), (-22.0, (11, 31, 51)))
    for x in range(-109, 110, 20)
    if x not in gap
]
NUMBERS = [
    _point(x, y, **{"addr:housenumber": "1"})
    for y, gap in ((12.0, (-12, 12)), (-12.0, (10, 70)))
    for x in range(-105, 110, 10)
    if not gap[0] < x < gap[1]
]
CHURCH = _box(-8, 50, 16, 16, building="church", name="St Mary", height="20")
BAKERY = _point(15, 12, shop="bakery", name="Kern")
EDGE_ON = _point(40, 12, shop="butcher", name="Bock")
BEHIND = _box(-40, -60, 6, 6, building="tower", name="Old Tower")
HOTEL = _box(50, -20, 14, 9, building="yes", tourism="hotel", name="Birch Hotel", height="9")
MAP = [*HOUSES, *NUMBERS, CHURCH, HOTEL, BAKERY, EDGE_ON, BEHIND, _street((-150, 0), (150, 0), name="Main Street")]


def _seen(folder: Path, features: list[dict[str, Any]], **facts: Any) -> PanoramaScene:
    (path := folder / "here.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    around = surroundings.surroundings_of((stamped(path),), HERE.lat_deg, HERE.lon_deg)[0]
    made = scene(**({"position": HERE, "heading_deg": 90.0, "accuracy_m": 1.0} | facts))
    update = landmarks_of(made.facts, around, CONFIG)
    return made.model_copy(update={"facts": made.facts.model_copy(update=update)})


def _reasons(found: PanoramaScene, task: str, **rules: Any) -> dict[str, str | None]:
    rows = ERGEO_TASKS[task].candidates(ErgeoView(found, ErgeoRules(**rules))).to_pylist()
    return {row["operands"][0].removeprefix("map "): row["reason"] for row in rows}


def _named(found: PanoramaScene) -> dict[str, PanoramaLandmark]:
    return {own.name: own for own in found.facts.landmarks}


@pytest.mark.parametrize(("eye", "axis", "wall"), [((60, 5), 0, -50), ((-130, 5), 0, -70), ((-60, -90), 1, 0)])
def test_of_a_house_its_near_walls_are_seen(eye: tuple[int, int], axis: int, wall: int) -> None:
    """A house of 20 x 10 m at -70, 0: across all of the wall that looks here, wherever the map has its zero."""
    ring = ((-70.0, 0.0), (-50.0, 0.0), (-50.0, 10.0), (-70.0, 10.0))
    house = CityThing(id="h", kind="building", noun="building", center=(-60.0, 5.0), radius_m=11.2, outline=ring)
    targets = _targets(house, Polygon(ring), np.array(eye, dtype=float))
    assert targets[:, axis] == pytest.approx(np.full(RAYS, wall))
    assert np.ptp(targets[:, 1 - axis]) == pytest.approx((10, 20)[axis], rel=2 / RAYS)


def test_by_hand(tmp_path: Path) -> None:
    found = _seen(tmp_path, MAP)
    own = _named(found)
    church, bakery = own["St Mary"], own["Kern"]
    assert (church.distance_m, church.error_m) == (pytest.approx(50.0, abs=0.02), 1.0)
    assert church.bearing_deg % 360 == pytest.approx(0.0, abs=0.05) or church.bearing_deg > 359.95
    assert church.width_deg == pytest.approx(2 * np.degrees(np.arctan2(8, 50)), abs=0.05)
    assert church.error_deg == pytest.approx(np.degrees(np.arctan2(1, 50)), abs=0.01)
    assert church.top_deg == pytest.approx(np.degrees(np.arctan2(17.5, 50)), abs=0.05)
    # The bakery's point stands 2 m behind its wall, a palm's width before which it is put.
    assert bakery.error_m == pytest.approx(3.0, abs=0.02)
    assert bakery.bearing_deg == pytest.approx(
        np.degrees(np.arctan2(12.5, 9.85) + np.arctan2(17.5, 9.85)) / 2, abs=0.05
    )
    assert (church.visible_share, own["Bock"].visible_share, own["Old Tower"].visible_share) == (1.0, 0.0, 0.0)
    assert found.facts.street_deg == 90.0
    assert (church.side, bakery.side, own["Birch Hotel"].side) == (1, 1, -1)  # looking east, north is left
    assert found.facts.map_coverage == pytest.approx((len(NUMBERS) + 2) / (len(NUMBERS) + 2 + 2.7055), abs=1e-3)


@pytest.mark.parametrize(("way", "street_deg"), [(1, 30.0), (-1, 210.0)])
def test_sides_are_those_of_who_walks_the_street_as_the_map_draws_it(
    way: int, street_deg: float, tmp_path: Path
) -> None:
    """One church lies to its west, another to its east, whether it is drawn to the north-north-east or back."""
    street = _street((-100 * way, -173.2 * way), (100 * way, 173.2 * way), name="Skew Lane")
    churches = [_box(x, y, 8, 8, building="church", name=name) for x, y, name in ((-64, 6, "West"), (56, -14, "East"))]
    found = _seen(tmp_path, [street, *churches])
    assert found.facts.street_deg == pytest.approx(street_deg, abs=0.1)
    assert {name: landmark.side for name, landmark in _named(found).items()} == {"West": way, "East": -way}


def test_questions_hold_from_any_heading(tmp_path: Path) -> None:
    """Where the camera looked changes the yaw, and neither bearing nor side."""
    for heading in (0.0, 90.0, 233.0):
        found = _seen(tmp_path, MAP, heading_deg=heading)
        view = ErgeoView(found, ErgeoRules())
        yaw = {own.name: own.yaw_deg for own in view.objects}
        assert (yaw["St Mary"] + heading + 180) % 360 - 180 == pytest.approx(0.0, abs=0.05)
        asked = [row for row in ERGEO_TASKS["Side of the Street"].candidates(view).to_pylist() if not row["reason"]]
        ids = {f"map {own.id}": own.name for own in found.facts.landmarks}
        answers = {ids[row["operands"][0]]: row["answer"] for row in asked}
        assert answers == {"Birch Hotel": "on the right", "Kern": "on the left"}  # both are seen to the east


def test_what_is_not_decided_is_refused(tmp_path: Path) -> None:
    found = _seen(tmp_path, MAP)
    ids = {own.name: own.id for own in found.facts.landmarks}
    for task in SPATIAL:
        reasons = _reasons(found, task)
        assert reasons[ids["Old Tower"]] == reasons[ids["Bock"]] == "occluded"
    assert _reasons(found, "2D Positioning")[ids["St Mary"]] == "pitch_unknown"
    assert _reasons(found, "Yaw Estimation")[ids["St Mary"]] is None
    assert _reasons(found, "Yaw Estimation")[ids["Kern"]] == "bearing_unsure"  # 9.5 and 3 degrees
    assert _reasons(found, "Front/Back Relative")[ids["Kern"]] is None
    assert _reasons(found, "Yaw Estimation", heading_error_deg=9.0)[ids["St Mary"]] == "bearing_unsure"
    no_numbers = _seen(tmp_path, [own for own in MAP if own not in NUMBERS])
    assert _reasons(no_numbers, "Yaw Estimation")[ids["St Mary"]] == "map_coverage_low"
    assert _reasons(no_numbers, "Nearest Landmark")[ids["Kern"]] == "map_coverage_low"
    no_heading = _seen(tmp_path, MAP, heading_deg=None)
    assert ErgeoView(no_heading, ErgeoRules()).objects == ()
    assert set(_reasons(no_heading, "Side of the Street").values()) == {"heading_unknown"}
    alike = _seen(tmp_path, [*MAP, _box(-60, 40, 8, 8, building="church", height="12")])
    assert _reasons(alike, "Front/Back Relative")[ids["St Mary"]] == "double_in_picture"
    forked = _seen(tmp_path, [*MAP, _street((-60, 40), (60, 40), name="Back Lane")])
    assert _reasons(forked, "Side of the Street")[ids["St Mary"]] == "side_of_street_unsure"
    bare = _seen(tmp_path, [*HOUSES, *NUMBERS])
    assert _reasons(bare, "Nearest Landmark") == {"p1": "no_objects_known"}


def test_where_no_building_has_room_the_map_need_not_have_all(tmp_path: Path) -> None:
    """From the road to the church lies a square; to the bakery 5.9 m of pavement, which the sight crosses aslant."""
    bare = [own for own in MAP if own not in NUMBERS]
    assert {own.open_share for own in _named(_seen(tmp_path, bare)).values()} == {0.0}
    for deep, share in ((46.0, 1.0), (39.5, 0.0)):  # before the church up to 6.5 m of it are left
        found = _seen(tmp_path, [*bare, _box(-12, 4, 24, deep, place="square")])
        own = _named(found)
        assert own["St Mary"].open_share == share
        asked = _reasons(found, "Yaw Estimation")[own["St Mary"].id]
        assert asked == (None if share else "map_coverage_low")


def test_the_nearest_needs_no_heading(tmp_path: Path) -> None:
    features = [*MAP, _point(-14, 12, shop="books", name="Lese"), _box(3, 80, 2, 2, man_made="tower", name="Kiel")]
    features.append(_box(-30, -8, 0.5, 0.5, historic="memorial", memorial="statue", name="Goethe", height="4"))
    found = _seen(tmp_path, features, heading_deg=None)
    rows = ERGEO_TASKS["Nearest Landmark"].candidates(ErgeoView(found, ErgeoRules(apparent_min_deg=0.8))).to_pylist()
    own = {f"the {o.noun} named {o.name}": o for o in found.facts.landmarks}
    asked = [row for row in rows if row["reason"] is None]
    assert asked
    for row in asked:
        far = [own[option].distance_m for option in row["wrong"]]
        away = own[row["answer"]].distance_m
        assert away < min(far) if "nearest" in row["wording"] else away > max(far)


def test_an_extract_that_is_too_large_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "FILE_MAX", 10)
    (path := tmp_path / "here.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": MAP}))
    around, (told,) = surroundings.surroundings_of((stamped(path),), HERE.lat_deg, HERE.lon_deg)
    assert (around.things, told.name, told.limit) == ((), "map_too_large", 10.0)
    assert landmarks_of(scene(position=HERE).facts, around, CONFIG) == {
        "landmarks": (),
        "map_coverage": 0.0,
        "street_deg": None,
    }


def _thing(
    key: str, x: float, y: float, kind: str = "building", wide: float = 0, deep: float = 0, **own: Any
) -> CityThing:
    """A thing whose south-west corner is at x, y; a point if it has no sides."""
    ring = ((x, y), (x + wide, y), (x + wide, y + deep), (x, y + deep)) if wide else None
    center, radius = (x + wide / 2, y + deep / 2), float(np.hypot(wide, deep)) / 2
    made = {"noun": kind, "center": center, "radius_m": radius, "outline": ring} | own
    return CityThing(id=key, kind=kind, **made)


def _around(*things: CityThing, streets: Any = (), covered: Any = EVERYWHERE) -> MapSurroundings:
    lines = tuple((name, np.array(line, dtype=float), sure) for name, line, sure in streets)
    return MapSurroundings(HERE, things, lines, (), covered)


@pytest.mark.parametrize(
    ("thing", "height_m"),
    [
        (_thing("a", 0, 0, wide=9, deep=4, height_m=7.0, levels=5), 7.0),
        (_thing("a", 0, 0, wide=9, deep=4, levels=3), 7.5),  # 2.5 m a storey is sure
        (_thing("a", 0, 0, wide=9, deep=4), 2.5),
        (_thing("a", 0, 0, "signboard"), 4.0),  # 1 m high, 3 m up
        (_thing("a", 0, 0, "statue"), 3.0),
        (_thing("a", 0, 0, "sculpture"), 2.5),
    ],
)
def test_heights_that_are_sure(thing: CityThing, height_m: float) -> None:
    assert _height_m(thing) == height_m


def test_fronts_of_points() -> None:
    """A shop is 5 m wide, across its facing, the left end of who looks out of it last; a statue 1.5 m all around."""
    assert _front(_thing("s", 3, -4, "shop", facing_deg=90.0)) == pytest.approx(
        np.array([[3, -1.5], [3, -4], [3, -6.5]])
    )
    at, half = np.array([3, -4]), 2.5 * np.array([np.cos(np.radians(30)), -np.sin(np.radians(30))])
    skew = _front(_thing("s", 3, -4, "shop", facing_deg=30.0))
    assert skew == pytest.approx(np.array([at - half, at, at + half]))
    around = _front(_thing("s", 3, -4, "statue"))
    assert around[[0, 2, 4, 6]] == pytest.approx(np.array([[3, -3.25], [3.75, -4], [3, -4.75], [2.25, -4]]))
    assert np.hypot(*(around - [3, -4]).T) == pytest.approx([0.75] * 8)


@pytest.mark.parametrize(
    ("at", "bearing", "width"),
    [
        # A house from 10 to 18 east and from 20 to 26 north. From the origin its corners lie at 26.57, 41.99, 34.70
        # and 21.04 degrees; from the north of it they lie about the south, on both sides of 180 degrees.
        ((0.0, 0.0), (21.04 + 41.99) / 2, 41.99 - 21.04),
        ((14.0, 30.0), 180.0, 90.0),
        ((16.0, 30.0), (180 - 26.57 + 180 + 56.31) / 2, 26.57 + 56.31),
        ((40.0, 23.0), 270.0, 2 * 7.77),
        ((12.0, 0.0), (-5.71 + 16.70) / 2, 5.71 + 16.70),
    ],
)  # fmt: skip
def test_bearings_and_widths_of_a_house(at: tuple[float, float], bearing: float, width: float) -> None:
    if at == (40.0, 23.0):  # its near wall, 22 m off and 6 m wide
        width = 2 * float(np.degrees(np.arctan2(3, 22)))
    found, wide = _interval(_thing("h", 10, 20, wide=8, deep=6), np.array(at))
    assert (found - bearing + 180) % 360 - 180 == pytest.approx(0.0, abs=0.01)
    assert wide == pytest.approx(width, abs=0.02)


@pytest.mark.parametrize(
    ("own", "other", "may"),
    [
        ({}, {"id": "b", "name": "kern"}, True),  # one name, whatever it is
        ({}, {"id": "b", "name": "Kern", "noun": "bank", "kind": "bank"}, True),
        ({}, {"id": "b", "name": "Lese"}, False),  # a sign tells the two apart
        ({}, {"id": "b", "name": None}, True),
        ({}, {"id": "b", "name": None, "noun": "coffee shop"}, True),  # a baker's may be called so
        ({}, {"id": "b", "name": None, "noun": "bank"}, False),
        ({}, {"id": "b", "name": None, "noun": "bank", "also": ("bakery",)}, True),
        ({}, {"id": "a", "name": "Kern"}, False),  # itself
        ({}, {"id": "a", "name": "Other"}, False),
        ({"on": "b"}, {"id": "b", "name": "Other"}, False),  # the house that it is in
        ({"on": "b"}, {"id": "b", "name": "Kern", "noun": "house", "kind": "building"}, True),
        ({"kind": "building", "noun": "church"}, {"id": "b", "name": "St Paul", "noun": "church"}, True),  # no sign
        ({"kind": "building", "noun": "church"}, {"id": "b", "name": None, "noun": "church"}, True),
        ({"kind": "building", "noun": "church"}, {"id": "b", "name": "St Paul", "noun": "stadium"}, False),
        ({"kind": "building", "noun": "hotel", "also": ("shop",)}, {"id": "b", "name": "Inn", "noun": "hotel"}, False),
    ],
)
def test_what_may_be_meant_by_the_words_of_a_thing(own: dict[str, Any], other: dict[str, Any], may: bool) -> None:
    usual = {"id": "a", "name": "Kern", "kind": "shop", "noun": "bakery", "center": (0.0, 0.0), "radius_m": 0.0}
    assert _may_be_meant(CityThing(**(usual | own)), CityThing(**(usual | other))) is may


@pytest.mark.parametrize(
    ("thing", "is_landmark"),
    [
        (_thing("a", 0, 0, wide=9, deep=4, name="A"), True),
        (_thing("a", 0, 0, wide=9, deep=4), False),
        (_thing("a", 0, 0, "square", wide=9, deep=4, name="A"), False),
        (_thing("a", 0, 0, "statue", name="A"), True),
        (_thing("a", 0, 0, "sculpture", name="A"), False),  # a point whose size nobody knows
        (_thing("a", 0, 0, "sculpture", wide=1, deep=1, name="A"), True),
    ],
)
def test_what_is_a_landmark(thing: CityThing, is_landmark: bool) -> None:
    assert _is_landmark(thing) is is_landmark


def test_eyes_are_outside_of_buildings() -> None:
    at = np.array([3.0, -2.0])
    assert [eye.tolist() for eye in _eyes(at, 2.0, [])] == [[3, -2], [5, -2], [1, -2], [3, 0], [3, -4]]
    houses = [shapely.box(4.5, -3, 6, -1), shapely.box(2, -9, 4, -4)]  # the second is touched
    assert [eye.tolist() for eye in _eyes(at, 2.0, houses)] == [[3, -2], [1, -2], [3, 0]]


@pytest.mark.parametrize(("turned_deg", "count"), [(59.9, RAYS), (60.1, 0), (-59.9, RAYS), (-60.1, 0), (180.0, 0)])
def test_fronts_are_seen_up_to_edge_on(turned_deg: float, count: int) -> None:
    """A shop at 3, -4 that faces 30 degrees, from 20 m off."""
    way = np.radians(30.0 + turned_deg)
    shop = _thing("s", 3, -4, "shop", facing_deg=30.0)
    targets = _targets(shop, Point(3, -4), np.array([3, -4]) + 20 * np.array([np.sin(way), np.cos(way)]))
    assert targets.shape == (count, 2)
    if count:
        ends = _front(shop)[[0, -1]]
        assert targets == pytest.approx(np.linspace(*ends, RAYS))
        assert _targets(_thing("s", 3, -4, "statue"), Point(3, -4), np.zeros(2)).tolist() == [[3, -4]]


@pytest.mark.parametrize(
    ("wall", "height_m", "share"),
    [
        ((-2.5, 20, 2.5, 1), 9.0, 7 / 15),  # hides the left half, the middle included
        ((-2.5, 20, 2.4, 1), 9.0, 8 / 15),
        ((-2.5, 20, 5.0, 1), 9.0, 0.0),
        ((-2.5, 20, 5.0, 1), 3.5, 1.0),  # the eye is at 2.5 m: over it the upper part is seen, at 8.1 m
        ((-2.5, 20, 5.0, 1), 5.6, 0.0),  # at 21 m the line to 8.1 m, 39.8 m off, is at 5.46 m
        ((-2.5, 20, 5.0, 1), 5.2, 1.0),
        ((-2.5, 39.7, 5.0, 0.05), 9.0, 0.0),  # nearer than the last 20 cm
        ((-2.5, 39.85, 5.0, 0.05), 9.0, 1.0),
        ((-2.5, 20, 5.0, 1), None, 0.0),  # it may be as high as any
    ],
)
def test_shares_that_buildings_hide(wall: tuple[float, ...], height_m: float | None, share: float) -> None:
    """Of a hall 9 m high, 40 m to the north and 10 m wide, all of whose rays pass a wall half as far."""
    hall = _thing("h", -5, 40, wide=10, deep=8, height_m=9.0)
    among = walls(_buildings([_thing("w", *wall[:2], wide=wall[2], deep=wall[3], height_m=height_m)]))
    if wall[1] > 39:
        among = walls(_buildings([_thing("w", -9, wall[1], wide=18, deep=wall[3], height_m=height_m)]))
    found = landmarks._seen_share(hall, Polygon(hall.outline), np.zeros(2), 2.5, among)
    assert found == pytest.approx(share, abs=1e-9)


def test_what_is_low_is_seen_below_half_its_height() -> None:
    """A bench of 0.9 m: at 0.45 m and at 0.81 m, over a kerb of 0.6 m that stands 1 m before it."""
    bench = _thing("b", -1, 10, "bench", wide=2, deep=1, height_m=0.9)
    for kerb_m, share in ((0.7, 1.0), (0.99, 0.0)):  # from 2.5 m, 9.8 m off, to 0.81 m: 0.98 m high at 8.9 m
        among = walls(_buildings([_thing("w", -9, 8.8, wide=18, deep=0.1, height_m=kerb_m)]))
        assert landmarks._seen_share(bench, Polygon(bench.outline), np.zeros(2), 2.5, among) == share


@pytest.mark.parametrize(
    ("ground", "share"),
    [
        (shapely.box(-9, -9, 9, 34.1), 1.0),  # 5.9 m are left, and aslant hardly more
        (shapely.box(-9, -9, 9, 33.9), 0.0),
        (shapely.union(shapely.box(-9, 5.5, 9, 20), shapely.box(-9, 25.5, 9, 35)), 1.0),  # three gaps, each too short
        (shapely.box(0, -9, 9, 40), 8 / 15),
        (shapely.Polygon(), 0.0),
    ],
)
def test_shares_before_which_no_building_has_room(ground: Any, share: float) -> None:
    hall = _thing("h", -5, 40, wide=10, deep=8)
    assert _open(hall, Polygon(hall.outline), np.zeros(2), ground) == pytest.approx(share)
    assert _open(_thing("s", 0, 20, "shop", facing_deg=90.0), Point(0, 20), np.zeros(2), ground) == 0.0, "edge-on"


@pytest.mark.parametrize(
    ("here", "others", "street_deg"),
    [
        ((0, 14.9), (), 90.0),
        ((0, -15.1), (), None),
        ((0, 3), (("Back Lane", [(-50, 8.1), (50, 8.1)], True),), 90.0),  # 2.1 m farther
        ((0, 3), (("Back Lane", [(-50, 7.9), (50, 7.9)], True),), None),
        ((0, 3), (("Main Street", [(50, 0), (90, 40)], True),), 90.0),  # one line with the other
        ((0, 3), ((None, [(-50, 4), (50, 4)], True),), None),  # what is nearest has no name
        ((0, 3), (("Drive", [(-50, 4), (50, 4)], False),), None),
        ((-49, 3), (), 90.0),
    ],
)
def test_the_street_that_one_surely_stands_in(here: Any, others: Any, street_deg: float | None) -> None:
    around = _around(streets=(("Main Street", [(-50, 0), (50, 0)], True), *others))
    assert _Street(around, Point(here)).bearing_deg == street_deg
    assert _Street(_around(), Point(here)).bearing_deg is None


def test_the_street_bends_where_it_bends() -> None:
    """To the north for 20 m, then to the east: within 5 m of the bend between the two."""
    bent = _around(streets=(("Elbow", [(0, 0), (0, 20), (30, 20)], True),))
    bearings = [_Street(bent, Point(at)).bearing_deg for at in ((1, 10), (10, 19), (0, 20), (1, 2))]
    assert bearings == [0.0, 90.0, 45.0, 0.0]


@pytest.mark.parametrize(
    ("shape", "others", "error_m", "side"),
    [
        (shapely.box(5, 3.1, 9, 9), (), 1.0, 1),
        (shapely.box(5, 2.9, 9, 9), (), 1.0, 0),  # 2 m and its error
        (shapely.box(5, -9, 9, -3.1), (), 1.0, -1),
        (shapely.box(5, 4, 9, 9), (("Back Lane", [(-50, 17.6), (50, 17.6)], True),), 1.0, 1),  # 8.6 - 1 > 1.5 (4 + 1)
        (shapely.box(5, 4, 9, 9), (("Back Lane", [(-50, 17.4), (50, 17.4)], True),), 1.0, 0),
        (shapely.box(49.4, 4, 60, 9), (), 1.0, 1),
        (shapely.box(49.6, 4, 60, 9), (), 1.0, 0),  # at its end
        (shapely.box(49.5, 4, 60, 9), (), 1.0, 0),
        (shapely.box(-60, 4, -49.5, 9), (), 1.0, 0),
        (shapely.box(-60, 4, -49.6, 9), (), 1.0, 0),
        (shapely.box(-60, 4, -49.4, 9), (), 1.0, 1),
    ],
)
def test_sides_at_their_limits(shape: Any, others: Any, error_m: float, side: int) -> None:
    around = _around(streets=(("Main Street", [(-50, 0), (50, 0)], True), *others))
    assert _Street(around, Point(0, -1)).side(shape, error_m) == side
    assert _Street(_around(), Point(0, 1)).side(shape, error_m) == 0


def test_sides_of_a_street_that_bends() -> None:
    """To the north, then to the east: what lies within the bend is on the right of both legs."""
    bent = _Street(_around(streets=(("Elbow", [(0, 0), (0, 20), (30, 20)], True),)), Point(0, 10))
    places = ((8, 10), (-8, 10), (20, 12), (20, 28), (-6, 26))
    assert [bent.side(Point(at), 1.0) for at in places] == [-1, 1, -1, 1, 1]


def test_landmarks_of_a_small_map_by_hand() -> None:
    """The camera stands at 12, -7 and 1.8 m up; its place may be 2.5 m off. Statues are seen from 45 degrees a step."""
    bell = _thing("bell", 12, 43, wide=8, deep=10, height_m=20.0, name="Bell", noun="church", error_m=0.5)
    shop = _thing("shop", 12, -27, "shop", name="Kern", noun="bakery", facing_deg=0.0, on="low", doubt="moved")
    low = _thing("low", 2, -40, wide=20, deep=12.8, levels=2.0)
    twin = _thing("twin", 12, 212, "shop", name="KERN", noun="bank", facing_deg=180.0)  # 219 m off: may be meant
    far = _thing("far", 12, 224, "shop", name="Kern", noun="bank", facing_deg=180.0)  # 231 m
    edge = _thing("edge", 161.98, -7, "statue", name="Edge")
    beyond = _thing("beyond", 162.02, -7, "statue", name="Beyond")
    square = _thing("square", 0, -4, "square", wide=30, deep=45, name="Square")
    wall = _thing("wall", 100, -20, wide=2, deep=30)
    around = _around(bell, shop, low, twin, far, edge, beyond, square, wall)
    ((lat, lon, _),) = to_lat_lon_alt(np.array([[12.0, -7.0, 0.0]]), HERE)
    facts = scene(position=Origin(lat_deg=lat, lon_deg=lon, alt_m=None), accuracy_m=2.5, camera_height_m=1.8).facts
    update = landmarks_of(facts, around, CONFIG)
    rows = [tuple(own.model_dump().values()) for own in update["landmarks"]]
    degrees = lambda x, y: round(float(np.degrees(np.arctan2(x, y))), 2)  # noqa: E731
    assert rows == [
        ("bell", "church", "Bell", False, 50.0, 3.0, 4.55, degrees(8, 50), degrees(3, 50), degrees(20 - 1.8, 50),
         1.0, 1.0, 0, 0, None),
        ("edge", "statue", "Edge", False, 149.98, 2.5, 90.0, 0.57, degrees(2.5, 149.98),
         degrees(3 - 1.8, 149.98), 0.0, 0.0, 1, 0, None),
        ("shop", "bakery", "Kern", True, 20.0, 2.5, 180.0, round(2 * float(np.degrees(np.arctan2(2.5, 20))), 2),
         degrees(2.5, 20), degrees(3 - 1.8, 20), 1.0, 0.0, 1, 0, "moved"),
    ]  # fmt: skip
    assert (update["map_coverage"], update["street_deg"]) == (0.0, None)
    sure = facts.model_copy(update={"accuracy_m": 0.4, "camera_height_m": None})
    again = {own.id: own for own in landmarks_of(sure, around, CONFIG)["landmarks"]}
    assert (again["bell"].error_m, again["bell"].top_deg) == (1.5, degrees(17.5, 50)), "1 m, and eyes 2.5 m up"
    assert landmarks_of(facts.model_copy(update={"position": None}), around, CONFIG) == {}


def test_a_church_before_which_one_stands_and_one_in_which_one_stands() -> None:
    """Within the walls nothing is seen; a metre off, a top lies as high as it is above the eye."""
    inside = _thing("in", -10, -10, wide=20, deep=20, height_m=9.0, name="In")
    near = _thing("near", 0.5, -4, "statue", name="Near")
    facts = scene(position=HERE, accuracy_m=1.0).facts
    (own,) = landmarks_of(facts, _around(inside), CONFIG)["landmarks"]
    assert (own.distance_m, own.visible_share, own.open_share, own.error_deg) == (0.0, 0.0, 0.0, 90.0)
    assert own.top_deg == pytest.approx(np.degrees(np.arctan2(6.5, 1.0)), abs=0.01)
    assert landmarks_of(facts, _around(near, covered=shapely.box(1, 1, 2, 2)), CONFIG)["map_coverage"] == 0.0


def test_premises_are_seen_in_their_own_house_and_not_in_another() -> None:
    """A shop 2 m behind the wall of a house, which it is in; a house that is a point on the map hides nothing."""
    house, spot = _thing("h", -10, 18, wide=20, deep=12, height_m=9.0), _thing("p", 0, 10)
    facts = scene(position=HERE, accuracy_m=1.0).facts
    for on, share in (("h", 1.0), ("other", 0.0)):
        shop = _thing("s", 0, 20, "shop", name="Kern", noun="bakery", facing_deg=180.0, on=on)
        (own,) = landmarks_of(facts, _around(house, spot, shop), CONFIG)["landmarks"]
        assert own.visible_share == share


@pytest.mark.parametrize(
    ("raw", "told"), [(359.994, 359.99), (359.996, 0.0), (-0.001, 0.0), (361.234, 1.23), (-90, 270)]
)
def test_bearings_are_within_a_turn(raw: float, told: float) -> None:
    assert landmarks._compass(raw) == told


def test_the_bearing_of_a_street_that_bends_where_it_begins() -> None:
    """A metre to the north, then to the east: from its begin to 5 m beyond the bend."""
    street = _Street(_around(streets=(("Elbow", [(0, 0), (0, 1), (30, 1)], True),)), Point(0, 1))
    assert street.bearing_deg == round(float(np.degrees(np.arctan2(5, 1))), 2)
