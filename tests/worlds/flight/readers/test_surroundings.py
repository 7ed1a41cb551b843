"""Landmarks and buildings of a flight: where they stand, how high, and which are left out."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.findings import Findings
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.reading.maps.appearance import look_of
from pipeline.reading.maps.feature import Feature, MapBounds, PlacedFeature, box_around
from pipeline.reading.maps.things import PART
from pipeline.worlds.flight.facts import FlightScene, Landmark
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.readers.surroundings import (
    GROUND_DIFFERENCE_M,
    buildings,
    check_heights,
    check_path,
    in_parts,
    landmarks,
    others,
    rises_m,
)
from pipeline.worlds.flight.view import FlightRules, FlightView
from tests.conftest import REAL_DATA
from tests.reading.maps.test_cityjson import city, rd_to_wgs84
from tests.worlds.flight.readers.tiny_flights import (
    ALT,
    EAST_M,
    LAT,
    LON,
    NORTH_M,
    SECONDS,
    box_feature,
    fault_of,
    finding,
    names,
    place,
    point_feature,
    read,
    srt,
    write_flight,
    write_map,
)

LEVEL_M = 1e-3  # the earth falls away from the frame of the first fix, by 0.03 mm in 20 m: the ground is a median

MAP = {"landmarks": "landmarks.geojson"}


def test_heights_stand_on_the_ground_of_take_off(tmp_path: Path) -> None:
    """The log begins 10 m above take-off: ground is at -10 in the flight's frame."""
    folder = write_flight(tmp_path, MAP)
    write_map(
        folder / "landmarks.geojson",
        box_feature((50, 20), name="Hill House", height_m=30, base_m=2),
        box_feature((80, 20), name="Tower", height_m=40),
        box_feature((20, 40), 10.0, name="Park", kind="park"),
        box_feature((20, 80), name="Well", base_m=-3),
    )
    scene, flight, geometry = read(tmp_path)
    assert [(m.name, m.base_m, m.top_m) for m in flight.landmarks] == [
        ("Hill House", pytest.approx(-8.0, abs=LEVEL_M), pytest.approx(22.0, abs=LEVEL_M)),
        ("Tower", None, pytest.approx(30.0, abs=LEVEL_M)),
        ("Park", None, None),
        ("Well", pytest.approx(-13.0, abs=LEVEL_M), None),
    ]
    assumed = finding(scene, "ground_assumed_flat")
    assert (assumed.severity, assumed.measured) == ("note", 1.0)
    assert geometry.buildings.base_m == pytest.approx([-8.0, -10.0], abs=LEVEL_M)
    assert geometry.buildings.top_m == pytest.approx([22.0, 30.0], abs=LEVEL_M)
    square = np.array([[45, 15], [55, 15], [55, 25], [45, 25]])
    assert geometry.buildings.outlines[0] == pytest.approx(square, abs=0.05)
    assert flight.landmarks[0].center == pytest.approx((50, 20), abs=0.05)
    assert flight.landmarks[0].radius_m == pytest.approx(np.sqrt(50), abs=0.01)
    assert np.array(flight.landmarks[2].outline) == pytest.approx(
        np.array([[10, 30], [30, 30], [30, 50], [10, 50]]), abs=0.05
    )


@pytest.mark.parametrize("said", [{}, {"begins_on_ground": True}])
def test_a_log_without_heights_may_begin_in_the_air(said: dict[str, bool], tmp_path: Path) -> None:
    """Only who knows that it does not can place a house of 30 m, whose foot the map lacks, about its first position."""
    told = re.sub(r"rel_alt: \S+ ", "", srt())
    write_map(
        write_flight(tmp_path, MAP | said, log=told) / "landmarks.geojson",
        box_feature((50, 20), name="Tower", height_m=30),
    )
    scene, flight, geometry = read(tmp_path)
    assert ("height_from_first_fix" in names(scene)) is not bool(said)
    tops = [*(mark.top_m for mark in flight.landmarks), geometry.ground_m]
    assert tops == (
        [pytest.approx(30.0, abs=1e-3), pytest.approx(0.0, abs=1e-3)]
        if said
        else [None, pytest.approx(np.nan, nan_ok=True)]
    )


def test_the_nameless_hide_and_the_names_may_repeat(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, MAP)
    write_map(
        folder / "landmarks.geojson",
        box_feature((50, 20), height_m=30),
        box_feature((80, 20), name="Kiosk"),
        box_feature((90, 20), name="Kiosk"),
    )
    scene, flight, geometry = read(tmp_path)
    assert [m.name for m in flight.landmarks] == [None, "Kiosk", "Kiosk"]
    assert [m.appearance and m.appearance.noun for m in flight.landmarks] == ["building", None, None]
    assert finding(scene, "looks_unknown").measured == 2.0
    assert geometry.buildings.top_m == pytest.approx([20.0], abs=LEVEL_M)


NAMES = ['"De Waag"', "Sint-Jan, Oude", "Rue\nNeuve", "東京タワー", "قلعة", "A. Yes"]


def test_names_survive_the_whole_way(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, MAP)
    write_map(folder / "landmarks.geojson", *(point_feature(place(10 * i, 5), name=n) for i, n in enumerate(NAMES)))
    scene, flight, _ = read(tmp_path)
    assert [m.name for m in flight.landmarks] == NAMES
    assert FlightScene.model_validate_json(scene.model_dump_json()) == scene


def test_landmarks_beyond_50_km_are_refused_counted_and_named(tmp_path: Path) -> None:
    """The antipode lies at 0, 0 in east and north; swapped coordinates are the usual mistake."""
    folder = write_flight(tmp_path, MAP)
    swapped, antipode = [LAT, LON], [LON - 180.0, -LAT]
    near, far = place(0, 49_900), place(0, 50_200)
    write_map(
        folder / "landmarks.geojson",
        *(
            point_feature(position, name=name)
            for name, position in (("Swapped", swapped), ("Antipode", antipode), ("Near", near), ("Far", far))
        ),
    )
    scene, flight, _ = read(tmp_path)
    assert [m.name for m in flight.landmarks] == ["Near"]
    found = finding(scene, "landmark_too_far")
    assert found.severity == "doubt"
    assert found.limit == 50.0
    assert found.measured == pytest.approx(12_730, rel=0.01)  # the diameter of the earth
    assert "3 of 4" in found.message
    assert all(name in found.message for name in ("'Swapped'", "'Antipode'", "'Far'"))


def test_buildings_beyond_a_mile_of_the_track_are_left_out(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, {**MAP, "buildings": "walls.geojson"})
    write_map(folder / "landmarks.geojson", point_feature(place(0, 5_000), name="Hill"))
    write_map(
        folder / "walls.geojson",
        box_feature((1530, 0), height_m=9),  # the track ends at 40 m
        box_feature((-1600, 0), height_m=8, name="no landmark: there is a file of those"),
        box_feature((0, 1400)),
    )
    scene, flight, geometry = read(tmp_path)
    assert [m.name for m in flight.landmarks] == ["Hill", None, None], "the houses are no rivals of it, but there"
    assert geometry.buildings.top_m == pytest.approx([-1.0, np.nan], abs=LEVEL_M, nan_ok=True)
    assert finding(scene, "heights_unknown").measured == 1.0
    assert finding(scene, "nothing_near").subject == "landmarks.geojson"


def test_names_of_the_buildings_serve_where_there_are_no_landmarks(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, {"buildings": "walls.geojson"})
    write_map(folder / "walls.geojson", box_feature((30, 30), name="Mill", height_m=12))
    _, flight, geometry = read(tmp_path)
    assert [(m.name, m.top_m) for m in flight.landmarks] == [("Mill", pytest.approx(2.0, abs=LEVEL_M))]
    assert len(geometry.buildings.outlines) == 1


def test_a_map_of_another_place_is_doubted(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, {"buildings": "walls.geojson"})
    write_map(folder / "walls.geojson", box_feature((30_000, 0), height_m=12))
    scene, _, _ = read(tmp_path)
    assert finding(scene, "nothing_near").severity == "doubt"


def cityjson_here(height_of_ground_m: float) -> dict[str, Any]:
    """A block of 10 m x 20 m near the flight, in RD New, on some height above the sea."""
    value = city()
    value["transform"]["translate"] = [84_290.0, 446_240.0, height_of_ground_m]
    return value


def test_heights_above_the_sea_are_taken_from_the_flights_altitude(tmp_path: Path) -> None:
    """Altitude 25 m at the origin; a building from 13 m to 21 m is from -12 m to -4 m in the flight's frame."""
    folder = write_flight(tmp_path, {"buildings": "city.json"})
    (folder / "city.json").write_text(json.dumps(cityjson_here(13.0)))
    scene, flight, geometry = read(tmp_path)
    assert geometry.buildings.base_m == pytest.approx([-12.0])
    assert geometry.buildings.top_m == pytest.approx([-4.0])
    lat, lon = rd_to_wgs84(84_295.0, 446_250.0)
    assert flight.landmarks[0].center == pytest.approx(((lon - LON) * EAST_M, (lat - LAT) * NORTH_M), abs=2.0)
    assert "ground_differs" not in names(scene)
    (folder / "city.json").write_text(json.dumps(cityjson_here(36.5)))
    assert finding(read(tmp_path)[0], "ground_differs").measured == pytest.approx(21.5, abs=LEVEL_M)


def test_without_an_altitude_a_city_stands_on_the_ground_of_take_off(tmp_path: Path) -> None:
    log = srt()
    for k in range(SECONDS * 2 + 1):
        log = log.replace(f" abs_alt: {ALT + k / 4:.3f}", "")
    folder = write_flight(tmp_path, {"buildings": "city.json"}, log=log)
    (folder / "city.json").write_text(json.dumps(cityjson_here(13.0)))
    scene, flight, geometry = read(tmp_path)
    assert flight.origin.alt_m is None
    assert geometry.buildings.top_m - geometry.buildings.base_m == pytest.approx([8.0], abs=LEVEL_M)
    ground = geometry.track.enu_m[0, 2] - geometry.track.height_m[0]
    assert geometry.buildings.base_m == pytest.approx([ground], abs=LEVEL_M)
    assert finding(scene, "ground_assumed_flat").measured == 1.0


@pytest.mark.slow
@pytest.mark.real_data
def test_a_real_flight_over_a_real_extract(tmp_path: Path) -> None:
    """PX4's simulated hop, over buildings that lie in another country."""
    log, extract = REAL_DATA / "flights/ulog/sample_px4_events.ulg", REAL_DATA / "city/test.osm.pbf"
    folder = tmp_path / "hop"
    folder.mkdir()
    (folder / "log.ulg").write_bytes(log.read_bytes())
    (tmp_path / "city.osm.pbf").write_bytes(extract.read_bytes())
    (folder / "flight.yaml").write_text("buildings: city.osm.pbf")
    scene, flight, geometry = read(tmp_path)
    assert flight.log == "px4_ulog"
    assert flight.landmarks == ()
    assert finding(scene, "nothing_near").severity == "doubt"
    assert np.nanmax(geometry.track.height_m) == pytest.approx(2.2, abs=0.3)


FIJI = Origin(lat_deg=-17.0, lon_deg=179.9995, alt_m=3.0)
EQUATOR_DEGREE_M = 111_319.49  # of longitude: 2 pi 6,378,137 m / 360
SQUARE = ((0.0, 0.0), (0.0, 30.0), (40.0, 30.0), (40.0, 0.0))


def feature(origin: Origin, *east_north: tuple[float, float], **facts: Any) -> Feature:
    """A feature with its corners in metres about an origin."""
    places = to_lat_lon_alt(np.column_stack([np.array(east_north), np.zeros(len(east_north))]), origin)
    lon = (places[:, 1] + 180.0) % 360.0 - 180.0
    values: dict[str, Any] = {"name": "X", "kind": None, "solid": True, **facts}
    return Feature((np.column_stack([places[:, 0], lon]),), **values)


def marks(placed: PlacedFeature) -> Any:
    return landmarks(placed, "map.geojson", Findings())


def test_a_landmark_across_the_date_line_lies_beside_the_flight() -> None:
    """A thousandth of a degree at 17° south is 106.5 m."""
    beyond = Feature((np.array([[-17.0, -179.9995]]),), "Reef", None, solid=False)
    (mark,) = marks(PlacedFeature([beyond], FIJI, 0.0))
    assert mark.center == pytest.approx((106.5, 0.0), abs=0.2)


def test_the_smallest_circle_about_a_rectangle() -> None:
    (mark,) = marks(PlacedFeature([feature(FIJI, *SQUARE)], FIJI, 0.0))
    assert mark.center == pytest.approx((20.0, 15.0), abs=1e-3)
    assert mark.radius_m == pytest.approx(25.0, abs=1e-3)
    assert np.array(mark.outline) == pytest.approx(np.array(SQUARE), abs=1e-3)


def test_a_landmark_of_two_polygons_shows_the_larger_and_hides_with_both() -> None:
    small, large = feature(FIJI, (0, 0), (0, 10), (10, 0)), feature(FIJI, (90, 0), (90, 30), (120, 0))
    both = Feature((*small.outlines, *large.outlines), "Halls", None, solid=True, height_m=5.0)
    placed = PlacedFeature([both], FIJI, -2.0)
    (mark,) = marks(placed)
    assert mark.outline is not None
    assert np.array(mark.outline) == pytest.approx(np.array([[90, 0], [90, 30], [120, 0]]), abs=1e-3)
    assert mark.center[0] == pytest.approx(60.0, abs=1.0)
    found = buildings(placed)
    assert [len(outline) for outline in found.outlines] == [3, 3]
    assert found.top_m == pytest.approx([3.0, 3.0])


@pytest.mark.parametrize(
    ("alt_m", "ground_m", "datum", "foot_m", "expected"),
    [
        (3.0, -10.0, "takeoff", 2.0, (-8.0, 22.0, -8.0)),
        (3.0, -10.0, "takeoff", np.nan, (None, 20.0, -10.0)),
        (3.0, -10.0, "sea", 5.0, (2.0, 32.0, 2.0)),
        (None, -10.0, "sea", 5.0, (None, 20.0, -10.0)),
        (3.0, np.nan, "takeoff", 2.0, (None, None, np.nan)),
        (3.0, np.nan, "takeoff", np.nan, (None, None, np.nan)),
        (3.0, np.nan, "sea", 5.0, (2.0, 32.0, 2.0)),
    ],
)
def test_feet_and_tops(
    alt_m: float | None, ground_m: float, datum: str, foot_m: float, expected: tuple[Any, Any, float]
) -> None:
    """A height of 30 m, above what is known of its foot; nothing unknown becomes a 0."""
    origin = FIJI.model_copy(update={"alt_m": alt_m})
    placed = PlacedFeature([feature(origin, *SQUARE, datum=datum, foot_m=foot_m, height_m=30.0)], origin, ground_m)
    (mark,) = marks(placed)
    assert (mark.base_m, mark.top_m) == (expected[0], expected[1])
    found = buildings(placed)
    assert found.base_m == pytest.approx([expected[2]], nan_ok=True)
    assert found.top_m == pytest.approx([np.nan if expected[1] is None else expected[1]], nan_ok=True)


def test_heights_are_ranges_by_storeys_kind_width_and_neighbours() -> None:
    def house(east: float, side: float = 20.0, height_m: float = np.nan, **tags: str) -> Feature:
        corners = ((east, 0), (east + side, 0), (east + side, side), (east, side))
        return feature(FIJI, *corners, height_m=height_m, tags={"building": "yes", **tags})

    known = [house(25.0 * i, height_m=12.0) for i in range(9)]
    asked = [house(0, building="garage"), house(60, 5.0), house(90), house(100, **{"building:levels": "2"})]

    def rises(among: int, east: float = 0.0) -> list[list[float]]:
        placed = PlacedFeature([*asked, *known[:among], house(east + 100, height_m=70.0)], FIJI, 0.0)
        return rises_m(placed, [look_of(f) for f in placed.features])[: len(asked)].round(1).tolist()

    # A kind's own; eight times a width of 5 m; any building's; two storeys with a roof. Seven known neighbours, one of
    # them by its storeys, say nothing; eight do: twice the highest of 70 m, or where that is far off at least 20 m.
    assert rises(5) == [[2, 8], [2.5, 40], [2.5, 60], [5, 15]]
    assert rises(6) == [[2, 8], [2.5, 40], [2.5, 140], [5, 15]]
    assert rises(7, east=900) == [[2, 8], [2.5, 30], [2.5, 30], [5, 15]]


@pytest.mark.parametrize(
    ("own_m", "parts_m", "rise_m"),
    [
        (np.nan, (60.0, 20.0), (20.0, 60.0)),  # a church with its tower
        (60.0, (20.0,), (20.0, 60.0)),
        (20.0, (60.0,), (60.0, 60.0)),  # a part that is higher than the whole
        (20.0, (12.0, np.nan), (2.5, 20.0)),
        (np.nan, (60.0, np.nan), None),  # as of any building without a height
        (20.0, (), None),
    ],
)
def test_a_building_of_parts_is_not_so_high_all_over(own_m: float, parts_m: tuple[float, ...], rise_m: Any) -> None:
    """It hides as far as its highest part may, and is in view where its lowest is."""
    whole = feature(FIJI, *SQUARE, height_m=own_m, tags={"building": "church"})
    corner = ((1.0, 1.0), (1.0, 9.0), (9.0, 9.0), (9.0, 1.0))
    parts = [feature(FIJI, *corner, solid=False, height_m=high, tags={PART: "yes"}) for high in parts_m]
    aside = feature(FIJI, (90, 0), (90, 9), (99, 9), solid=False, height_m=90.0, tags={PART: "yes"})
    placed = PlacedFeature(in_parts([whole, *parts, aside]), FIJI, 0.0)
    mark, found = marks(placed)[0], buildings(placed)
    assert (mark.rise_m if placed.in_parts[0] else None) == (None if rise_m is None else pytest.approx(rise_m))
    if rise_m is not None:
        assert mark.top_m is None
        assert mark.appearance.height_m == (rise_m[1], rise_m[1])
        assert (np.isnan(found.top_m[0]), found.most_m[0]) == (True, rise_m[1])


@pytest.mark.parametrize(
    ("facts", "path", "found"),
    [
        ({}, (20, 15, 5.9), True),
        ({}, (20, 15, 6.1), False),  # heights are off by 3 m
        ({}, (7.9, 15, 2), False),  # positions by 8 m
        ({}, (8.1, 15, 2), True),
        ({"height_m": np.nan}, (20, 15, 2), False),  # it may be so low
        ({"hollow": True}, (20, 15, 2), False),  # or in a courtyard
        ({"tags": {"building": "roof"}}, (20, 15, 2), False),
        ({"solid": False}, (20, 15, 2), False),
        ({"doubt": "end_date=2018"}, (20, 15, 2), False),
        ({"height_m": 20.0, "low_m": 9.0}, (20, 15, 9), False),  # above the lower part
    ],
)
def test_no_flight_leads_through_a_building(facts: dict[str, Any], path: tuple[float, ...], found: bool) -> None:
    whole = feature(FIJI, *SQUARE, **{"height_m": 9.0, "tags": {"building": "yes"}} | facts)
    findings = Findings()
    check_path(PlacedFeature([whole], FIJI, 0.0), np.array([[-50.0, 0, 0], path, [-50, 0, 0]]), findings)
    assert [(one.name, one.measured) for one in findings.items] == ([("path_through_buildings", 1)] if found else [])


@pytest.mark.parametrize(("height_m", "ground_m"), [(9.0, 0.0), (np.nan, 0.0), (9.0, np.nan)])
def test_a_flight_from_a_roof_lifts_all_buildings(height_m: float, ground_m: float) -> None:
    """The ground at take-off counts as that of the buildings, so that its first position is at their feet."""
    placed = PlacedFeature([feature(FIJI, *SQUARE, height_m=height_m, tags={"building": "yes"})], FIJI, ground_m)
    findings = Findings()
    check_path(placed, np.array([[20.0, 15.0, 0.0], [20.0, 15.0, 30.0]]), findings)
    assert [one.severity for one in findings.items] == ["note"] * (ground_m == 0.0)


def test_what_may_not_stand_there_has_no_name_and_still_hides() -> None:
    placed = PlacedFeature([feature(FIJI, *SQUARE, height_m=9.0, doubt="building=construction")], FIJI, 0.0)
    (mark,) = marks(placed)
    assert (mark.name, mark.doubt, buildings(placed).top_m.tolist()) == (None, "building=construction", [9.0])


def test_no_features_are_no_landmarks_and_no_buildings() -> None:
    placed = PlacedFeature([], FIJI, 0.0)
    assert marks(placed) == ()
    assert buildings(placed).outlines == ()
    assert len(buildings(placed).top_m) == 0


COORDINATES = st.floats(-3000.0, 3000.0)


@given(st.floats(-85.0, 85.0), st.floats(-180.0, 180.0), COORDINATES, COORDINATES, st.floats(0.0, 360.0))
def test_a_box_holds_all_within_its_radius(lat: float, lon: float, east: float, north: float, bearing: float) -> None:
    origin = Origin(lat_deg=lat, lon_deg=lon, alt_m=0.0)
    path = np.array([[0.0, 0.0, 0.0], [east, north, 50.0]])
    away = path[1, :2] + 999.0 * np.array([np.sin(np.radians(bearing)), np.cos(np.radians(bearing))])
    place = to_lat_lon_alt(np.array([[*away, 0.0]]), origin)[:, :2]
    assert box_around(origin, path, 1000.0).holds(place).all()


def test_a_box_ends_soon_after_its_radius() -> None:
    """At the equator a degree is 111,319 m of longitude and 110,574 m of latitude."""
    box = box_around(Origin(lat_deg=0.0, lon_deg=180.0, alt_m=None), np.zeros((1, 3)), 1000.0)
    east = np.array([1000.0, 1020.0, -1000.0, -1020.0]) / EQUATOR_DEGREE_M
    places = np.column_stack([np.zeros(4), (180.0 + east + 180.0) % 360.0 - 180.0])
    assert box.holds(places).tolist() == [True, False, True, False]
    north = np.array([[999.0 / 110_574, 180.0], [1001.0 / 110_574, -180.0]])
    assert box.holds(north).tolist() == [True, False]


@given(st.floats(-89.0, 89.0), st.floats(-180.0, 180.0), st.floats(1e-4, 0.1))
def test_a_box_holds_its_corners_however_they_are_rounded(south: float, west: float, side: float) -> None:
    south, west, north, east = (round(v, 7) for v in (south, west, south + side, west + side))
    box = MapBounds((south + north) / 2, (west + east) / 2, (north - south) / 2, (east - west) / 2)
    assert box.holds(np.array([[south, west], [south, east], [north, west], [north, east]])).all()


def test_a_box_of_the_whole_world_holds_its_corners() -> None:
    assert MapBounds(0.0, 0.0, 90.0, 180.0).holds(np.array([[90.0, 180.0], [-90.0, -180.0], [0.0, 0.0]])).all()


@pytest.mark.parametrize(
    ("east", "height", "finding"),
    [(44, 2.0, None), (46, 2.0, "bad_setting"), (46, 28.0, "bad_setting"), (46, 35.0, None)],
)
def test_a_goal_in_words_of_its_own_is_a_landmark_before_a_wall_or_on_a_roof(
    east: float, height: float, finding: str | None, tmp_path: Path
) -> None:
    """The house is from 45 to 55 m east, and 30 m high on ground that is at -10 in the flight's frame."""
    lon, lat = place(east, 20)
    words = "the main entrance with the stone"
    folder = write_flight(tmp_path, MAP | {"goal": {"words": words, "at": [lat, lon, height]}})
    write_map(folder / "landmarks.geojson", box_feature((50, 20), name="House", height_m=30, base_m=0))
    if finding is not None:
        assert fault_of(tmp_path).finding == finding
        return
    scene, flight, geometry = read(tmp_path)
    goal = flight.landmarks[-1]
    assert (flight.goal, goal.name, goal.label, goal.appearance) == (words, words, words, None)
    assert (*goal.center, goal.base_m, goal.top_m) == pytest.approx((east, 20, height - 10.5, height - 9.5), abs=0.05)
    view = FlightView(observe_flight(scene, geometry, MotionConfig()), FlightRules())
    assert view.goal is not None
    assert view.places[view.goal].label == words


@pytest.mark.parametrize(
    ("radius_m", "east_m", "is_another"),
    [
        (10.0, 2.5, False),  # as large, a quarter of its radius away
        (10.0, 2.6, True),
        (7.0, 0.0, False),  # seven tenths as large
        (6.9, 0.0, True),  # a kiosk in its yard
        (100.0, 40.0, True),  # about it, and much larger
    ],
)
def test_a_landmark_of_another_map_is_the_same_thing_by_its_place_and_size(
    radius_m: float, east_m: float, is_another: bool
) -> None:
    marks = [Landmark(center=(0, 0), radius_m=10), Landmark(center=(500, 0), radius_m=0)]
    more = Landmark(center=(east_m, 0), radius_m=radius_m)
    assert others(marks, [more]) == ((more,) if is_another else ())


def test_a_point_on_a_map_is_whatever_stands_about_it() -> None:
    point, house = Landmark(center=(0, 0), radius_m=0), Landmark(center=(2, 0), radius_m=8)
    assert others([point], [house]) == ()
    assert others([point], [house.model_copy(update={"center": (2.1, 0)})]) != ()


@pytest.mark.parametrize(("foot_m", "told"), [(19.0, False), (21.0, True), (-21.0, True)])
def test_only_feet_that_a_map_states_are_held_against_the_take_off(foot_m: float, told: bool) -> None:
    """Two of five buildings state theirs; the others, which were put there, and a park would hide that they differ."""
    placed = SimpleNamespace(
        features=[SimpleNamespace(solid=n < 5) for n in range(8)],
        assumed=np.arange(8) > 1,
        in_parts=np.zeros(8, dtype=bool),
        foot_m=np.array([foot_m + 3, foot_m + 3, *[3.0] * 6]),
        top_m=np.array([40.0, 40, 40, np.nan, 40, np.nan, np.nan, 40]),
    )
    findings = Findings()
    check_heights(placed, 3.0, findings)
    found = {one.name: (one.measured, one.limit) for one in findings.items}
    assert found.pop("heights_unknown") == (1, 0)
    assert found.pop("ground_assumed_flat") == (3, 0)
    assert found == ({"ground_differs": (abs(foot_m), GROUND_DIFFERENCE_M)} if told else {})
    findings = Findings()
    check_heights(placed, np.nan, findings)
    assert "ground_differs" not in {one.name for one in findings.items}
