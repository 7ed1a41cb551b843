"""Streets and areas of maps: which ways are any, what is wrong with lines, which are near a place and which hold it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.findings import Findings
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_plane
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.maps.areas import OTHERS_MAX, Area, area_of
from pipeline.reading.maps.feature import EVERYWHERE, Feature, PlacedFeature, box_around, circle_about
from pipeline.reading.maps.gazetteer import BORDER_MAX_M, Gazetteer, Stamped, maps_in, read_gazetteer, stamped
from pipeline.reading.maps.streets import Road, read_streets_of_osm, road_of, streets_of_geojson
from pipeline.reading.maps.surroundings import FILE_MAX, surroundings_of
from tests.conftest import REAL_DATA
from tests.worlds.city.cities import block, feature, lon_lat, spot

OSM = """<?xml version="1.0"?><osm version="0.6">
<node id="1" lat="50" lon="8"/><node id="2" lat="50" lon="8.001"/><node id="3" lat="50.001" lon="8.001"/>
{}</osm>"""


def ways(*tags: str) -> str:
    """Ways of two nodes with tags such as "highway=primary;name=A"."""
    out = []
    for n, words in enumerate(tags, start=10):
        pairs = "".join('<tag k="{}" v="{}"/>'.format(*pair.split("=")) for pair in words.split(";"))
        out.append(f'<way id="{n}"><nd ref="1"/><nd ref="2"/>{pairs}</way>')
    return OSM.format("".join(out))


def read(folder: Path, text: str) -> dict[str, tuple[str | None, bool]]:
    path = folder / "map.osm"
    path.write_text(text, encoding="utf-8")
    found = read_streets_of_osm(SceneFiles(folder, SceneRef("city/map", (".", "map.osm"), "")), path, EVERYWHERE)
    return {street.id: (street.name, street.sure) for street in found}


def test_which_ways_are_streets(tmp_path: Path) -> None:
    text = ways(
        "highway=residential;name=Elm  Street", "highway=service", "highway=footway", "highway=primary;bridge=yes",
        "highway=primary;tunnel=yes", "highway=pedestrian;area=yes", "highway=tertiary;layer=-1", "building=yes",
        "highway=unclassified;name=A\u202eB", "highway=residential;demolished=yes", "highway=disused;name=P",
        "highway=residential;location=underground", "highway=residential;covered=yes",
        "highway=residential;opening_date=2031",
    )  # fmt: skip
    assert read(tmp_path, text) == {
        "way/10": ("Elm Street", True),
        "way/11": (None, False),  # a drive
        "way/13": (None, False),  # above what lies below
        "way/16": (None, False),
        "way/18": (None, True),  # its name turns the text about
        "way/22": (None, False),  # an arcade
        "way/23": (None, False),  # or not yet
    }


def test_ways_without_nodes_are_none(tmp_path: Path) -> None:
    text = OSM.format('<way id="9"><nd ref="1"/><nd ref="77"/><tag k="highway" v="primary"/></way>')
    assert read(tmp_path, text) == {}


def line(kind: str, coordinates: Any, **facts: Any) -> dict[str, Any]:
    properties = {"kind": kind, **facts}
    return {"type": "Feature", "properties": properties, "geometry": {"type": "LineString", "coordinates": coordinates}}


@pytest.mark.parametrize(
    "broken", [None, [], [[8.0, 50.0]], [[8.0, 50.0], "x"], [[8.0, 50.0], [8.0, True]], [[8, 99]] * 2]
)
def test_broken_lines_are_named(broken: Any) -> None:
    findings = Findings()
    sound = line("street", [[8.0, 50.0], [8.001, 50.0]], name="Elm", id="e")
    found = streets_of_geojson(
        {"features": [sound, line("street", broken), line("river", [])]}, "map.geojson", findings
    )
    assert [(street.id, street.name) for street in found] == [("e", "Elm")]
    (finding,) = findings.items
    assert (finding.name, finding.subject) == ("broken_streets", "map.geojson")
    assert "1 streets" in finding.message
    assert "street 1" in finding.message


@pytest.mark.real_data
def test_the_streets_of_monaco() -> None:
    folder = REAL_DATA / "city"
    files = SceneFiles(folder, SceneRef("city/monaco", (".", "monaco.osm.gz"), ""))
    found = read_streets_of_osm(files, folder / "monaco.osm.gz", EVERYWHERE)
    assert len(found) > 400
    assert any(street.name == "Boulevard Albert 1er" and street.sure for street in found)


# ---- roads and areas about a place


POINTS = st.tuples(st.integers(-20, 20), st.integers(-20, 20))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.lists(POINTS, min_size=2, max_size=5), st.booleans()), max_size=6),
    st.sampled_from([0.0, 52.0, -80.0]), st.sampled_from([8.0, 180.0, -179.999]), st.sampled_from([30.0, 111.0, 900.0]),
)  # fmt: skip
def test_roads_near_a_place_are_those_of_a_plain_search(
    drawn: list[tuple[list[tuple[int, int]], bool]], lat: float, lon: float, radius_m: float
) -> None:
    """Lines and squares of corners up to 2 km off, wherever the meridian of 180 degrees lies."""
    roads, expected = [], []
    for n, (corners, is_square) in enumerate(drawn):
        ring = [*corners, corners[0]] if is_square else corners
        at = np.array(ring) * [1e-3, 1e-3] + [lat, lon]
        at[:, 1] = (at[:, 1] + 180.0) % 360.0 - 180.0
        is_area = is_square and len(ring) > 3
        roads.append(Road(f"r{n}", (), ("road",), f"r{n}", "map", at, (0,) * len(at), is_area))
        plane = to_plane(at, Origin(lat_deg=lat, lon_deg=lon, alt_m=None))
        away = shapely.LineString(plane).distance(shapely.Point(0.0, 0.0))
        if is_area and away > 1e-6:  # even-odd, as rings are drawn that cross themselves
            x, y = plane[:-1].T
            after_x, after_y = np.roll(x, -1), np.roll(y, -1)
            crosses = (y > 0) != (after_y > 0)
            right = [
                a - b * (c - a) / (d - b) > 0
                for a, b, c, d, k in zip(x, y, after_x, after_y, crosses, strict=True)
                if k
            ]
            away = 0.0 if sum(right) % 2 else away
        if away <= radius_m:
            expected.append((away, f"r{n}"))
    found = Gazetteer(roads, ()).near(lat, lon, radius_m)
    assert sorted(near.road.id for near in found) == sorted(name for _, name in expected)
    assert [near.distance_m for near in found] == pytest.approx([away for away, _ in sorted(expected)], abs=1e-6)


def square(west: float, south: float, side: float) -> shapely.Polygon:
    return shapely.box(west, south, west + side, south + side)


def test_areas_that_hold_a_place_come_the_smallest_first_with_the_way_to_their_borders() -> None:
    """A hundredth of a degree is 1,113 m along the equator, 1,106 m across it; what is over 100 km off is not told."""
    held = {"large": square(8.0, -2.0, 4.0), "small": square(9.99, -1.0, 2.0), "other": square(20.0, 0.0, 1.0)}
    areas = [Area("country", name, None, (), shape, name) for name, shape in held.items()]
    known = Gazetteer((), [*areas, Area("city", "city", None, (), held["small"], "city")])
    assert [(one.area.name, round(one.border_m)) for one in known.within(0.0, 10.0, "country")] == [
        ("small", 1113),
        ("large", BORDER_MAX_M),
    ]
    assert [one.area.name for one in known.within(0.0, 9.99, "city")] == ["city"], "on its border"
    assert known.within(0.0, 50.0, "city") == []
    assert (known.knows("city"), Gazetteer((), areas).knows("city")) == (True, False)


@pytest.mark.parametrize(
    ("tags", "kind", "found"),
    [
        ({"admin_level": "2", "name": "Nederland", "name:en": "Netherlands"}, None, ("country", "Netherlands", None)),
        ({"kind": "country", "ISO3166-1": "AE", "name": "Emirates"}, None, ("country", "United Arab Emirates", "AE")),
        ({"id": "AE-DU1", "name": "Dubai"}, "country", ("country", "United Arab Emirates", "AE")),
        ({"ISO_A2": "-99", "iso_a2": "FR"}, "country", ("country", "France", "FR")),
        ({"ISO_A2": "XX", "ADMIN": " Atlantis \n"}, "country", None),
        ({"ISO_A2": "XX", "ADMIN": "  Atlantis  City"}, "country", ("country", "Atlantis City", None)),
        ({"admin_level": "8", "name": "Delft", "id": "AE"}, None, ("city", "Delft", None)),
        ({"admin_level": "4", "name": "Berlin", "linked_place": "city"}, None, ("city", "Berlin", None)),
        ({"admin_level": "4", "kind": "city", "name": "Berlin"}, None, ("city", "Berlin", None)),
        ({"admin_level": "4", "name": "Utrecht", "place": "state"}, None, None),
        ({"admin_level": 8, "name": "Delft"}, None, None),
        ({"place": "town", "name": "A\u202eB"}, None, None),
    ],
)
def test_which_polygons_are_countries_and_cities(tags: dict[str, Any], kind: Any, found: Any) -> None:
    area = area_of(tags, None, "map 1", kind)
    assert (area and (area.kind, area.name, area.code)) == found


def test_the_other_names_of_an_area() -> None:
    names = {"name": "Köln", "name:en": "Cologne", "alt_name": "Colonia;  Coellen ;A\u200fB;", "short_name": "Cologne"}
    area = area_of({"place": "city", **names}, None, "map 1")
    assert area is not None
    assert (area.name, area.others, area.by) == ("Cologne", ("Coellen", "Colonia", "Köln"), "map 1")
    many = area_of({"place": "city", "name": "0", "alt_name": ";".join(map(str, range(100, 140)))}, None, "")
    assert many is not None
    assert many.others == tuple(map(str, range(100, 100 + OTHERS_MAX)))


def test_all_that_a_geojson_map_tells_of_roads_and_areas(tmp_path: Path) -> None:
    def entry(kind: str, at: Any, **facts: Any) -> dict[str, Any]:
        return {"type": "Feature", "properties": facts, "geometry": {"type": kind, "coordinates": at}}

    ring = [[8.0, 50.0], [8.1, 50.0], [8.1, 50.1], [8.0, 50.0]]
    features = [
        entry("LineString", [[8.0, 50.0], [8.5, 50.25]], highway="road; path", name="Elm  St", alt_name="Old")
        | {"id": 7},
        entry("LineString", ring, highway="pedestrian", name="Market", area="yes", lanes=2, **{"@id": "way/3"}),
        entry("LineString", ring, highway="primary", name="Ring"),
        entry("LineString", ring, highway="primary", name="Tube", tunnel="yes"),
        entry("LineString", ring, highway="bus_stop", name="Stop"),
        entry("Polygon", [ring], name="Null"),
        entry("MultiPolygon", [[ring]], name="One"),
        entry("Point", [8.0, 50.0], name="Mark"),
        entry("Polygon", []),
        {"type": "Feature"},
        entry("Polygon", [[1]]),
    ]
    for name in ("cities.geojson", ".hidden.geojson", "notes.txt", "empty.GeoJSON"):
        told = [] if name.startswith("empty") else features
        (tmp_path / name).write_text(json.dumps({"features": told}), encoding="utf-8")
    assert [path.name for path in maps_in(tmp_path)] == ["cities.geojson", "empty.GeoJSON"]
    assert maps_in(tmp_path / "nowhere") == ()
    found, findings = read_gazetteer(tuple(stamped(path) for path in maps_in(tmp_path)))
    assert [(r.name, r.others, r.classes, r.id, r.by, r.is_area, len(r.nodes)) for r in found.roads] == [
        ("Elm St", ("Old",), ("road", "path"), "7", "cities.geojson", False, 2),
        ("Market", (), ("pedestrian",), "way/3", "cities.geojson", True, 4),
        ("Ring", (), ("primary",), "2", "cities.geojson", False, 4),
    ]
    assert found.roads[0].lat_lon.tolist() == [[50.0, 8.0], [50.25, 8.5]]
    assert [(a.kind, a.name, a.by, round(a.polygon.area, 6)) for a in found.areas] == [
        ("city", "Null", "cities.geojson 5", 0.005),
        ("city", "One", "cities.geojson 6", 0.005),
    ]
    assert [(one.name, one.severity, one.measured, one.message) for one in findings] == [
        ("broken_features", "note", 2, "cities.geojson: 2 of 11 features have no usable geometry and were left out"),
        ("map_without_places", "note", None, "empty.GeoJSON has no roads with names, no countries and no cities"),
    ]


def test_a_closed_line_of_two_points_is_no_square() -> None:
    tags, there_and_back = (
        {"highway": "road", "name": "A", "area": "yes"},
        np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
    )
    road = road_of(tags, "1", "map", there_and_back)
    assert road is not None
    assert not road.is_area
    assert road_of(tags, "1", "map", there_and_back[:1]) is None


def test_all_that_an_extract_tells_of_roads_and_areas(tmp_path: Path) -> None:
    """A way, a square that is one, and one that is a relation; a city and a country; a river is neither."""

    def tags(words: str) -> str:
        return "".join('<tag k="{}" v="{}"/>'.format(*pair.split("=")) for pair in words.split(";") if pair)

    ways = {
        10: ((1, 2), "highway=residential;name=Elm"), 12: ((1, 2, 3, 1), "highway=pedestrian;area=yes;name=Market"),
        11: ((1, 2, 3, 4, 1), "boundary=administrative;admin_level=8;name=Null"), 13: ((1, 2, 3, 4, 1), ""),
        14: ((2, 3), "waterway=river;name=Rhine"), 15: ((1, 2), "highway=service"),
    }  # fmt: skip
    relations = {
        20: "type=multipolygon;highway=pedestrian;name=Square",
        21: "type=boundary;boundary=administrative;admin_level=2;ISO3166-1=FR",
    }
    corners = [(50, 8), (50, 8.01), (50.01, 8.01), (50.01, 8)]
    lines = [f'<node id="{n}" lat="{lat}" lon="{lon}"/>' for n, (lat, lon) in enumerate(corners, start=1)]
    for number, (nodes, words) in sorted(ways.items()):
        lines.append(f'<way id="{number}">{"".join(f"""<nd ref="{n}"/>""" for n in nodes)}{tags(words)}</way>')
    for number, words in relations.items():
        lines.append(f'<relation id="{number}"><member type="way" ref="13" role="outer"/>{tags(words)}</relation>')
    path = tmp_path / "m.osm"
    path.write_text(f'<?xml version="1.0"?><osm version="0.6">{"".join(lines)}</osm>', encoding="utf-8")
    found, findings = read_gazetteer((stamped(path),))
    assert findings == ()
    assert [(road.name, road.id, road.by, road.nodes, road.is_area) for road in found.roads] == [
        ("Elm", "way/10", "m.osm", (1, 2), False),
        ("Market", "way/12", "m.osm", (1, 2, 3, 1), True),
        ("Square", "relation/20", "m.osm", (0, 0, 0, 0, 0), True),
    ]
    assert [road.lat_lon.tolist() for road in found.roads[:2]] == [
        [[50.0, 8.0], [50.0, 8.01]],
        [[50.0, 8.0], [50.0, 8.01], [50.01, 8.01], [50.0, 8.0]],
    ]
    assert [(area.kind, area.name, area.code, area.by) for area in found.areas] == [
        ("city", "Null", None, "m.osm way/11"),
        ("country", "France", "FR", "m.osm relation/21"),
    ]
    assert [area.polygon.area for area in found.areas] == [pytest.approx(1e-4)] * 2


def test_all_that_maps_have_around_a_place(tmp_path: Path) -> None:
    """Of the tile of 0.02 degrees about 50, 8 and 600 m beyond: 1,715 m to the north, and 1,320 m to the east."""
    trees = {"north": (0, 1710), "far north": (0, 1722), "east": (1312, 0), "far east": (1328, 0)}
    numbers = [{"type": "Point", "coordinates": at} for at in lon_lat((16, 19), (18, 19))]
    street = {"type": "LineString", "coordinates": lon_lat((0, 10), (50, 10))}
    made = [
        block(10, 20, 12, 8, id="house", height_m=9.5),
        spot("bakery", 16, 18, id="shop"),
        *(spot("tree", x, y, id=name) for name, (x, y) in trees.items()),
        *(feature(number, {"addr:housenumber": "7"}) for number in numbers),
        feature(street, {"kind": "street", "name": "Elm"}),
    ]
    for name, text in (("map", json.dumps({"type": "FeatureCollection", "features": made})), ("bad", "{")):
        (tmp_path / f"{name}.geojson").write_text(text, encoding="utf-8")
    (tmp_path / "cities.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": made[-2:]}))
    big = Stamped("nowhere/big.osm", FILE_MAX + 1, 0)
    found, findings = surroundings_of([*(stamped(path) for path in maps_in(tmp_path)), big], 50.009, 7.991)
    assert (found.origin.lat_deg, found.origin.lon_deg, found.origin.alt_m) == (50.0, 8.0, None)
    assert [(one.id, one.on, one.error_m) for one in found.things] == [
        ("east", None, 0.0), ("house", None, 0.0), ("north", None, 0.0), ("shop", "house", 2.0),
    ]  # fmt: skip
    assert (found.things[1].base_m, found.things[1].top_m) == (None, 9.5)
    ((name, line, sure),) = found.streets
    assert (name, sure) == ("Elm", True)
    assert line == pytest.approx(np.array([[0.0, 10.0], [50.0, 10.0]]), abs=0.01)
    assert [(row.kind, row.area, row.told, row.found) for row in found.coverage] == [
        ("building", None, 3, 3), ("building", (0, 0), 3, 3), ("shop", None, 2, 2), ("shop", (0, 0), 2, 2),
    ]  # fmt: skip
    corners = [(10, 20), (16, 19.85), (1312, 0), (0, 1710)]
    assert found.covered.symmetric_difference(shapely.MultiPoint(corners).convex_hull).area < 50.0
    assert [(one.name, one.measured, one.limit) for one in findings] == [("map_too_large", FILE_MAX + 1, FILE_MAX)]


# ---- features placed about an origin


def test_a_box_about_a_track_holds_it_and_what_is_near() -> None:
    """110,574 m a degree; at 60 degrees and a bit half as many along a parallel."""
    track = np.array([[0.0, 0.0, 9.0], [-200.0, 400.0, 900.0]])
    box = box_around(Origin(lat_deg=-60.0, lon_deg=8.0, alt_m=None), track, 100.0)
    assert (box.lat_deg, box.lon_deg) == (-60.0, 8.0)
    assert box.half_lat_deg == pytest.approx(500 / 110_574)
    assert box.half_lon_deg == pytest.approx(300 / 110_574 / np.cos(np.radians(60 + 500 / 110_574)))
    assert box_around(Origin(lat_deg=89.99, lon_deg=8.0, alt_m=None), track, 1e6).half_lon_deg == 180.0
    inside = np.array([[-60.0, 8.0 + box.half_lon_deg], [-60.0 - box.half_lat_deg, 8.0], [-60.0, 368.0]])
    assert box.holds(inside).all()
    assert not box.holds(inside[:2] + np.array([[0.0, 1e-7], [-1e-7, 0.0]])).any()


def test_features_stand_on_the_sea_or_on_the_ground_of_the_start() -> None:
    corner = np.array([[50.0, 8.0], [50.0, 8.001], [50.0003, 8.0]])
    made = [
        Feature((corner,), None, None, True, 20.0),
        Feature((corner[1:2], corner[2:]), None, None, True, 20.0, foot_m=3.0),
        Feature((corner,), None, None, True, np.nan, foot_m=120.0, datum="sea"),
    ]
    known = PlacedFeature(made, Origin(lat_deg=50.0, lon_deg=8.0, alt_m=100.0), -2.0)
    assert known.foot_m.tolist()[1:] == [1.0, 20.0]
    assert known.assumed.tolist() == [True, False, False]
    assert known.ground_m.tolist() == [-2.0, 1.0, 20.0]
    assert known.top_m.tolist()[:2] == [18.0, 21.0]
    assert np.isnan([known.foot_m[0], known.top_m[2]]).all()
    assert known.distance_m == pytest.approx([0.0, 33.37, 0.0], abs=0.01)
    assert [len(own) for own in known.outlines] == [1, 2, 1]
    assert known.outlines[0][0] == pytest.approx(np.array([[0.0, 0.0], [71.7, 0.0], [0.0, 33.37]]), abs=0.01)
    nowhere = PlacedFeature(made, Origin(lat_deg=50.0, lon_deg=8.0, alt_m=None), np.nan)
    assert nowhere.assumed.all()
    assert PlacedFeature((), Origin(lat_deg=50.0, lon_deg=8.0, alt_m=None), 0.0).outlines == []


def test_the_smallest_circle_about_corners() -> None:
    assert circle_about(np.array([[3.0, 4.0]])) == ((3.0, 4.0), 0.0)
    middle, radius = circle_about(np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 8.0], [1.0, 1.0]]))
    assert (*middle, radius) == pytest.approx((3.0, 4.0, 5.0), abs=1e-6)
