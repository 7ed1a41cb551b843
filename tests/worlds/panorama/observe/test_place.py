"""What a place is called: against hand-made files, and a plain search over the streets of Monaco."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyproj
import pytest
import shapely

from pipeline.core.findings import Findings
from pipeline.core.schema import Origin
from pipeline.reading.maps.gazetteer import Gazetteer, maps_in, read_gazetteer, stamped
from pipeline.worlds.panorama.facts import Panorama, PanoramaConfig, PanoramaObject, PanoramaPicture, Place, SphereCrop
from pipeline.worlds.panorama.observe import place as module
from pipeline.worlds.panorama.observe.place import (
    SAMPLES,
    _distance_of,
    _measured,
    _placed,
    _ring,
    countries_near,
    disputed,
    find_place,
    level_distances,
    measure_objects,
)
from tests.conftest import REAL_DATA
from tests.environment import times

POINTS = times(50, 200)
CONFIG = PanoramaConfig()


def line(name: str, *points: tuple[float, float], **properties: Any) -> dict[str, Any]:
    geometry = {"type": "LineString", "coordinates": [list(point) for point in points]}
    return {
        "type": "Feature",
        "properties": {"highway": "residential", "name": name} | properties,
        "geometry": geometry,
    }


def square(west: float, south: float, side: float, **properties: Any) -> dict[str, Any]:
    ring = [[west, south], [west + side, south], [west + side, south + side], [west, south + side], [west, south]]
    return {"type": "Feature", "properties": properties, "geometry": {"type": "Polygon", "coordinates": [ring]}}


def gazetteer(folder: Path, *features: dict[str, Any], name: str = "map.geojson") -> Gazetteer:
    (folder / name).write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    found, wrong = read_gazetteer(tuple(stamped(path) for path in maps_in(folder)))
    assert wrong == ()
    return found


def place(known: Gazetteer | None, lat: float, lon: float, **facts: Any) -> tuple[Place, dict[str, Any]]:
    """The place of a panorama there, and its findings by name."""
    picture = PanoramaPicture(path="p.jpg", width=256, height=128, sha256="0")
    panorama = Panorama(picture=picture, position=Origin(lat_deg=lat, lon_deg=lon, alt_m=None), **facts)
    findings = Findings()
    found = find_place(panorama, known, CONFIG, findings)
    assert found is not None
    return found, {finding.name: finding for finding in findings.items}


@pytest.mark.parametrize(
    ("lat", "lon", "country", "doubt"),
    [
        (51.27, -0.55, "GB", None),
        (-16.8, 180.0, "FJ", None),
        (-16.8, -179.99, "FJ", None),
        (64.18, -51.7, "GL", None),  # a harbour that lies off the coast of the coarse map
        (43.739, 7.427, "MC", "country_border_near"),
        (47.56, 7.59, "CH", "country_border_near"),
        (44.95, 34.1, "RU", "several_countries"),
        (9.56, 44.06, None, "several_countries"),
        (30.0, -40.0, None, "no_country"),
    ],
)
def test_countries_without_a_map(lat: float, lon: float, country: str | None, doubt: str | None) -> None:
    found, findings = place(None, lat, lon)
    assert (found.country_code, found.city, found.street) == (country, None, None)
    assert set(findings) == ({doubt} if doubt else set())
    assert all("pano.yaml" in one.remedy and "maps/" in one.remedy for one in findings.values())


def test_countries_of_a_map_and_stated_ones_come_before_those_of_the_world(tmp_path: Path) -> None:
    known = gazetteer(tmp_path, line("First Street", (7.427, 43.7), (7.427, 43.8)))
    found, findings = place(known, 43.739, 7.427)
    assert (found.country, found.street, set(findings)) == ("Monaco", "First Street", {"country_border_near"})
    found, findings = place(known, 43.739, 7.427, place=Place(country="Monaco", country_code="MC"))
    assert (found.country, findings) == ("Monaco", {})
    known = gazetteer(tmp_path, square(7.4, 43.7, 0.1, kind="country", name="Monaco"))
    found, findings = place(known, 43.739, 7.427)
    assert (found.country_code, set(findings)) == (None, {"street_far"})


@pytest.mark.real_data
def test_countries_of_the_world_are_those_of_openstreetmap() -> None:
    """Of 300 places that lie 20 km from all other countries by the coarse map, all are held by that country alone."""
    features = json.loads((REAL_DATA / "city" / "countries.geojson").read_text())["features"]
    shapes = [
        (one["properties"]["id"][:2], shapely.from_geojson(json.dumps(one["geometry"])))
        for one in features
        if one["geometry"]
    ]
    tree = shapely.STRtree([shape for _, shape in shapes])
    rng, checked = np.random.default_rng(5), 0
    for lat, lon in np.column_stack(
        [np.degrees(np.arcsin(rng.uniform(-0.9, 0.95, 1500))), rng.uniform(-180, 180, 1500)]
    ):
        near = countries_near(lat, lon)
        if len(near) == 1 and near[0].code and not near[0].distance_m and disputed(lat, lon) is None:
            held = {shapes[i][0] for i in tree.query(shapely.Point(lon, lat), predicate="covered_by").tolist()}
            codes = {code for code in held if len(code) == 2 and code.isalpha()}
            assert not codes or near[0].code in codes, (lat, lon, near, held)
            checked += bool(codes)
    assert checked >= 200


def test_the_nearest_street_and_the_gap_to_the_next(tmp_path: Path) -> None:
    """Two streets along meridians 0.001 degrees apart, at the equator: 111.3 m. The place is 11.1 m off one."""
    known = gazetteer(
        tmp_path,
        line("First Street", (8.0, -0.01), (8.0, 0.01), alt_name="Old Street;Main Street"),
        line("first street", (8.0, 0.01), (8.01, 0.01)),
        line("Second Street", (8.001, -0.01), (8.001, 0.01)),
        line("Under Ground", (8.0001, -0.01), (8.0001, 0.01), tunnel="yes"),
        line("Not Yet", (8.0001, -0.01), (8.0001, 0.01), highway="proposed"),
        square(7.9, -0.1, 0.2, kind="country", name="Nowhere"),
        square(7.95, -0.05, 0.1, kind="city", name="Null"),
    )
    found, findings = place(known, 0.0, 8.0001)
    assert findings == {}
    assert (found.street, found.next_street) == ("First Street", "Second Street")
    assert found.street_m == pytest.approx(11.13, abs=0.01)
    assert found.gap_m == pytest.approx(89.06, abs=0.02)
    assert found.gap_m == round(found.gap_m, 2), "centimetres"
    assert found.other_names["street"] == ("Main Street", "Old Street")
    assert (found.country, found.country_code, found.city) == ("Nowhere", None, "Null")
    assert found.city_border_m == pytest.approx(0.0499 * 111_320, rel=2e-3)
    assert found.source_tags["street"] == "map.geojson 0"


def test_a_place_in_the_sea_and_one_in_two_countries(tmp_path: Path) -> None:
    known = gazetteer(
        tmp_path,
        square(0, 0, 2, id="CN"),
        square(1, 1, 0.5, id="HK"),
        square(5, 0, 1, id="NL-BQ1"),
        name="countries.geojson",
    )
    assert place(known, 9.0, 9.0)[1].keys() == {"no_country", "street_far"}
    found, findings = place(known, 1.2, 1.2)
    assert (found.country, found.country_code) == ("Hong Kong", "HK")
    assert findings["several_countries"].measured == 2.0
    assert place(known, 0.5, 0.5)[0].country == "China"
    assert place(known, 0.5, 5.5)[0].country_code == "NL"
    assert place(known, 0.5, 0.0005)[1]["country_border_near"].measured == pytest.approx(55.7, abs=0.2)


def test_what_people_state_holds_and_differences_are_told(tmp_path: Path) -> None:
    known = gazetteer(tmp_path, line("A", (8.0, -0.01), (8.0, 0.01)))
    stated = Place(street="B", city="Null", source_tags={"street": "pano.yaml", "city": "pano.yaml"})
    found, findings = place(known, 0.0, 8.0, place=stated)
    assert (found.street, found.city, found.source_tags["street"]) == ("B", "Null", "pano.yaml")
    assert findings["place_disagrees"].subject == "street"


def test_names_in_other_scripts_and_names_that_are_none(tmp_path: Path) -> None:
    known = gazetteer(
        tmp_path,
        line("شارع الحمرا", (8.0, -0.01), (8.0, 0.01), **{"name:en": "Hamra Street"}),
        line("Bad\x07Name", (8.0, -0.01), (8.0, 0.01)),
        line("  ", (8.0, -0.01), (8.0, 0.01)),
    )
    found, _ = place(known, 0.0, 8.0)
    assert found.street == "شارع الحمرا"
    assert found.other_names["street"] == ("Hamra Street",)
    assert len(known.roads) == 1


@pytest.mark.parametrize("raw", [b"", b"{", b'{"type": "Topology"}', b"[" * 100_000, b"\xff\xfe"])
def test_a_broken_map_is_left_out_alone(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "bad.geojson").write_bytes(raw)
    (tmp_path / "bad.osm.pbf").write_bytes(raw)
    (tmp_path / "good.geojson").write_text(
        json.dumps({"features": [line("A", (8.0, -0.01), (8.0, 0.01)), {"type": "Feature"}]})
    )
    known, findings = read_gazetteer(tuple(stamped(path) for path in maps_in(tmp_path)))
    assert [road.name for road in known.roads] == ["A"]
    assert [f.name for f in findings if f.severity == "doubt"] == ["map_unreadable", "map_unreadable"]
    assert "broken_features" in {f.name for f in findings}


@pytest.mark.slow
@pytest.mark.real_data
def test_streets_of_monaco_against_a_plain_search() -> None:
    """Every named road's distance from 200 places, in a projection about each: the same street, refused alike."""
    extract = REAL_DATA / "city" / "monaco.osm.gz"
    known, wrong = read_gazetteer((stamped(extract),))
    assert wrong == ()
    names, lines = _plain_roads(extract)
    assert {shape.geom_type for shape in lines} == {"LineString", "Polygon"}
    rng = np.random.default_rng(3)
    asked = 0
    for lat, lon in np.column_stack([rng.uniform(43.727, 43.749, POINTS), rng.uniform(7.411, 7.437, POINTS)]).tolist():
        plane = pyproj.Transformer.from_crs(4326, f"+proj=aeqd +lat_0={lat} +lon_0={lon}", always_xy=True)
        flat = shapely.transform(lines, lambda at, to=plane: np.column_stack(to.transform(*at.T)))
        away = shapely.distance(flat, shapely.Point(0, 0))
        order = np.argsort(away, kind="stable")
        first = order[0]
        second = next(i for i in order if names[i] != names[first])
        gap = float(away[second] - away[first])
        found, findings = place(known, lat, lon)
        if away[first] > CONFIG.street_search_m:
            assert found.street is None
            continue
        assert found.street_m == pytest.approx(away[first], abs=0.02)
        if gap > 0.02:
            assert found.street == names[first]
        if away[second] <= CONFIG.street_search_m:
            assert found.gap_m == pytest.approx(gap, abs=0.02)
        if abs(gap - CONFIG.street_gap_min_m) > 0.02:
            assert ("street_ambiguous" in findings) == (gap < CONFIG.street_gap_min_m)
        asked += not {"street_ambiguous", "street_far"} & findings.keys()
    assert asked > POINTS // 8


def _plain_roads(extract: Path) -> tuple[list[str], np.ndarray]:
    """Names and lines of the roads of an extract, as its XML has them."""
    root = ElementTree.fromstring(gzip.decompress(extract.read_bytes()))  # noqa: S314 - ours
    at = {node.get("id"): (float(node.get("lon", "")), float(node.get("lat", ""))) for node in root.iter("node")}
    names, lines = [], []
    for way in root.iter("way"):
        tags = {tag.get("k"): tag.get("v", "") for tag in way.iter("tag")}
        places = [at[nd.get("ref")] for nd in way.iter("nd") if nd.get("ref") in at]
        if "highway" in tags and "name" in tags and tags.get("tunnel") not in {"yes", "covered"} and len(places) > 1:
            names.append(tags["name"])
            is_square = tags.get("area") == "yes" and places[0] == places[-1]
            lines.append(shapely.Polygon(places) if is_square else shapely.LineString(places))
    return names, np.array(lines)


def test_a_map_without_places_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "map.geojson"
    path.write_text('{"type": "FeatureCollection", "features": []}')
    _, told = read_gazetteer(tuple(stamped(one) for one in maps_in(tmp_path)))
    assert [one.name for one in told] == ["map_without_places"]


def test_a_distance_by_depth_is_told_in_centimetres() -> None:
    assert _distance_of(np.full(50, 3.14159)) == 3.14


@pytest.mark.parametrize(
    ("near", "at_limit", "at", "behind", "distance_m"),
    [
        (3, 10, 60, 27, 4.0),  # 70 of 100 alike, and 3 nearer
        (4, 10, 60, 26, None),
        (3, 10, 59, 28, None),
        (0, 0, 9, 0, 4.0),
        (0, 0, 8, 0, None),
    ],
)
def test_a_distance_by_depth_at_its_limits(
    near: int, at_limit: int, at: int, behind: int, distance_m: float | None
) -> None:
    """Of a thing 4 m away, all within a metre is alike, that at a metre too."""
    assert _distance_of(np.repeat([2.9, 3.0, 4.0, 9.0], [near, at_limit, at, behind])) == distance_m


@pytest.mark.parametrize(
    ("beyond_m", "names"),
    [(29.9, set()), (30.1, {"street_far"}), (199.0, {"street_far"}), (201.0, {"street_far"})],
)
def test_streets_at_their_limits(tmp_path: Path, beyond_m: float, names: set[str]) -> None:
    """One street to the west, at the equator; none of another name."""
    known = gazetteer(tmp_path, line("A", (8.0, -0.01), (8.0, 0.01)), square(7, -1, 2, kind="country", name="Nowhere"))
    found, findings = place(known, 0.0, 8.0 + beyond_m / 111_319.5)
    assert set(findings) == names
    assert all(one.subject == "street" for one in findings.values())
    if beyond_m > 200:
        assert (found.street, found.searched_m, findings["street_far"].measured) == (None, 200.0, 200.0)
        assert findings["street_far"].limit == 30.0
        return
    assert (found.street, found.street_m, found.searched_m) == ("A", pytest.approx(beyond_m, abs=0.02), 200.0)
    assert (found.next_street, found.next_street_m, found.gap_m) == (None, None, None)
    assert found.street_m == round(beyond_m, 2) or found.street_m == round(found.street_m or 0.0, 2)
    assert all((one.measured, one.limit) == (pytest.approx(beyond_m, abs=0.02), 30.0) for one in findings.values())


@pytest.mark.parametrize(
    ("gap_m", "accuracy_m", "limit"),
    [(10.1, None, None), (9.9, None, 10.0), (10.1, 5.0, None), (10.1, 5.1, 10.2), (9.9, 1.0, 10.0)],
)
def test_gaps_to_the_next_street_at_their_limits(
    tmp_path: Path, gap_m: float, accuracy_m: float | None, limit: float | None
) -> None:
    """3 m from one street, and so much farther from another; of a third nothing is said."""
    degree = 1 / 111_319.5
    lines = [line(name, (8 + x * degree, -0.01), (8 + x * degree, 0.01)) for name, x in
             (("A", 3), ("B", -3 - gap_m), ("C", 90))]  # fmt: skip
    found, findings = place(
        gazetteer(tmp_path, *lines, square(7, -1, 2, kind="country", name="Nowhere")), 0.0, 8.0, accuracy_m=accuracy_m
    )
    assert (found.street, found.next_street) == ("A", "B")
    assert found.next_street_m == pytest.approx(3 + gap_m, abs=0.02)
    assert found.gap_m == pytest.approx(gap_m, abs=0.02)
    assert found.next_street_m == round(found.next_street_m or 0.0, 2), "centimetres"
    told = findings.get("street_ambiguous")
    assert (told and (told.subject, told.limit)) == (limit and ("street", limit))


@pytest.mark.parametrize(("inside_m", "names"), [(101.0, set()), (99.0, {"country_border_near", "city_border_near"})])
def test_borders_at_their_limits(tmp_path: Path, inside_m: float, names: set[str]) -> None:
    own = {"name:fr": "Nulle part", "name:de": "Nirgends", "name": "Nowhere"}
    known = gazetteer(
        tmp_path,
        square(8, -1, 2, kind="country", **own),
        square(8, -0.5, 1, kind="city", name="Null"),
        line("A", (8.0, -0.01), (8.0, 0.01)),
    )
    found, findings = place(known, 0.0, 8.0 + inside_m / 111_319.5)
    assert {name for name in findings if name != "street_far"} == names
    assert found.country_border_m == found.city_border_m == pytest.approx(inside_m, abs=0.06)
    assert found.country_border_m == round(found.country_border_m or 0, 1), "decimetres"
    assert all(findings[name].limit == 100.0 for name in names)
    assert found.other_names.get("country", ()) == tuple(sorted(found.other_names.get("country", ())))
    assert "Nowhere" not in found.other_names.get("country", ())
    assert set(found.source_tags) >= {"country", "city", "street"}


def test_statements_that_agree_with_another_name_are_no_difference(tmp_path: Path) -> None:
    known = gazetteer(tmp_path, line("Rue du Port", (8.0, -0.01), (8.0, 0.01), alt_name="Hafen"))
    for said, differs in (("rue du port", False), ("HAFEN", False), ("Quai", True)):
        found, findings = place(known, 0.0, 8.0, place=Place(street=said, source_tags={"street": "pano.yaml"}))
        assert (found.street, "place_disagrees" in findings) == (said, differs)
    nowhere = Panorama(picture=PanoramaPicture(path="p", width=2, height=1, sha256="0"), place=Place(city="Null"))
    assert find_place(nowhere, known, CONFIG, Findings()) == Place(city="Null")


def test_countries_that_lie_near_are_told_in_order_and_how_far() -> None:
    """In Geneva by the coarse map; 18 km and 25 km from the land of a country on a coast that runs north and south."""
    near = countries_near(46.2, 6.15)
    assert [one.code for one in near][:1] == ["CH"] or near[0].distance_m == 0.0
    assert [one.distance_m for one in near] == sorted(one.distance_m for one in near)
    assert all(0 <= one.distance_m < 20_000 for one in near)
    assert {one.code for one in near} == {"CH", "FR"}
    land = shapely.box(8.0, -5.0, 12.0, 5.0), shapely.box(-180.0, 60.0, -179.9, 62.0), shapely.box(8.0, 5.0, 9.0, 6.0)
    names = (("East", "EE"), ("Far", None), ("North", "NN"))
    with pytest.MonkeyPatch.context() as patch:
        made = [(*name, shape) for name, shape in zip(names, land, strict=True)]
        patch.setattr(module, "_world", lambda: (made, shapely.STRtree(land)))
        metres = 111_319.5
        (one,) = countries_near(0.0, 8.0 - 18_000 / metres)
        assert (one.name, one.code, one.distance_m) == ("East", "EE", pytest.approx(18_000, rel=1e-3))
        assert countries_near(0.0, 8.0 - 20_100 / metres) == []
        assert [own.name for own in countries_near(0.0, 9.0)] == ["East"]
        both = countries_near(5.0 + 6_000 / metres, 8.0 - 8_000 / metres)
        assert [own.name for own in both] == ["North", "East"]
        assert [own.distance_m for own in both] == [pytest.approx(8_000, rel=1e-2), pytest.approx(10_000, rel=1e-2)]
        # At 61 degrees a degree of longitude is 54 km; across the 180th meridian it is 11 km to the land.
        (far,) = countries_near(61.0, 179.8)
        assert (far.name, far.code) == ("Far", None)
        assert far.distance_m == pytest.approx(0.2 * metres * np.cos(np.radians(61)), rel=1e-2)
        assert countries_near(61.0, 179.6) == []
        degree = metres * float(np.cos(np.radians(61)))
        assert len(countries_near(61.0, 180 - 19_950 / degree)) == 1, "the box is as wide as its narrow end asks for"


@pytest.mark.parametrize(
    ("at", "is_disputed"),
    [((45.0, 34.0), True), ((43.0, 41.0), True), ((50.0, 8.0), False), ((45.0, 44.0), False), ((9.5, 34.0), False)],
)
def test_disputed_land_is_within_its_box(at: tuple[float, float], is_disputed: bool) -> None:
    assert (disputed(*at) is not None) is is_disputed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DISPUTED", {"Rock": [10.0, -4.0, 12.0, 3.0]})
        corners = [(-4.0, 10.0), (3.0, 12.0), (0.0, 11.0)]
        assert [disputed(*corner) for corner in corners] == ["Rock"] * 3
        assert [disputed(*out) for out in ((-4.1, 11.0), (3.1, 11.0), (0.0, 9.9), (0.0, 12.1))] == [None] * 4


def test_rings_are_made_of_arcs_forwards_and_backwards() -> None:
    """Arc 0 leads from a to c, arc 1, backwards, from c to a; the corner where two meet is there once."""
    arcs = [np.array([[0.0, 0], [2, 0], [2, 1]]), np.array([[0.0, 0], [0, 1], [2, 1]])]
    assert _ring(arcs, [0, -2]).tolist() == [[0, 0], [2, 0], [2, 1], [0, 1], [0, 0]]
    over = [np.array([[179.0, 1], [180, 1], [-179, 2], [-178.5, 2.5]])]
    assert _ring(over, [0])[:, 0].tolist() == [179, 180, 181, 181.5]
    pole = [np.array([[179.0, -80], [-179, -85], [-180, -90]])]
    assert _ring(pole, [0])[:, 0].tolist() == [179, -179, -180], "about a pole it stands as it is"
    assert _ring([own * [1, 89.8 / 90] for own in pole], [0])[:, 0].tolist() == [179, 181, 180]


def _seen(**own: Any) -> PanoramaObject:
    usual = {
        "id": "a",
        "label": "bench",
        "yaw_deg": 0.0,
        "width_deg": 9.0,
        "pitch_low_deg": -9.0,
        "pitch_high_deg": 0.0,
    }
    return PanoramaObject(**(usual | own))


@pytest.mark.parametrize(
    ("own", "known", "changes"),
    [
        ({}, [4.0] * 9, {"distance_m": 4.0, "visible_share": 1.0}),
        ({}, [4.0] * 8, {}),
        ({}, [4.0] * 9 + [np.nan] * 40, {"distance_m": 4.0, "visible_share": 1.0}),
        ({"distance_m": 20.0}, [17.0, 23.0] * 5 + [16.9] * 5 + [23.1] * 99, {"visible_share": 0.667}),  # 15% of 20 m
        ({"distance_m": 20.0}, [20.0] * 4 + [5.0] * 4, {}),  # too few samples of it and before it
        ({"distance_m": 20.0}, [20.0] * 4 + [5.0] * 5, {"visible_share": 0.444}),
        ({"distance_m": 20.0}, [5.0] * 9, {"doubt": True}),
        ({"distance_m": 20.0, "doubt": "of its own"}, [5.0] * 9, {"visible_share": 0.0}),
        ({"distance_m": 20.0, "visible_share": 0.25}, [20.0] * 9, {}),
        ({"visible_share": 0.25}, [4.0] * 9, {"distance_m": 4.0}),
        ({"distance_m": 20.0}, [50.0] * 90, {}),  # what lies behind tells nothing
    ],
)
def test_what_depth_tells_of_an_object(own: dict[str, Any], known: list[float], changes: dict[str, Any]) -> None:
    seen = _seen(**own, source_tags={"label": "Ada"})
    found = _measured(seen, np.array(known))
    told = {name: getattr(found, name) for name in ("distance_m", "visible_share", "doubt")}
    assert told == {name: getattr(seen, name) for name in told} | {
        name: found.doubt if name == "doubt" else value for name, value in changes.items()
    }
    assert (found.doubt is None) == ("doubt" not in changes and "doubt" not in own)
    tags = {"label": "Ada"} | {name: "depth" for name in changes if name != "doubt"}
    assert found.source_tags == tags


@pytest.mark.parametrize(
    ("heading", "yaw", "distance", "at"),
    [
        (90.0, 0.0, 10.0, (10.0, 0.0)),
        (90.0, 90.0, 10.0, (0.0, -10.0)),
        (350.0, 40.0, 20.0, (10.0, 17.32)),
        (0.0, -90.0, 5.0, (-5.0, 0.0)),
        (None, 0.0, 10.0, None),
        (90.0, 0.0, None, None),
    ],
)
def test_places_about_the_camera(heading: float | None, yaw: float, distance: float | None, at: Any) -> None:
    place = _placed(_seen(yaw_deg=yaw, distance_m=distance), heading).place
    assert place == at
    assert place is None or str(place).count("-0.0") == 0


def test_objects_that_depth_belies_are_counted_once_for_all() -> None:
    """At 8 degrees a pixel, 10 m all around: two are said to be 60 m away, one has a doubt of its own."""
    facts = Panorama(
        picture=PanoramaPicture(path="p.jpg", width=45, height=22, sha256="0"),
        heading_deg=0.0,
        objects=tuple(
            _seen(id=key, distance_m=away, pitch_low_deg=-20.0, pitch_high_deg=20.0, doubt=own)
            for key, away, own in (("a", 60.0, None), ("b", 60.0, "mine"), ("c", 10.0, None), ("d", 61.0, None))
        ),
    )
    told = Findings()
    found = measure_objects(facts, np.full((22, 45), 10.0), told)
    (belied,) = told.items
    assert (belied.measured, belied.limit, belied.severity) == (2.0, 0.0, "doubt")
    assert [own.doubt is not None for own in found] == [True, True, False, True]
    assert [own.place for own in found] == [(0.0, away) for away in (60.0, 60.0, 10.0, 61.0)]
    none = Findings()
    assert [own.doubt for own in measure_objects(facts, None, none)] == [None, "mine", None, None]
    assert not none.items


def test_tolerances_are_a_share_of_the_distance_and_a_metre_at_least() -> None:
    assert [module._tolerance_m(away) for away in (0.5, 6.0, 20.0)] == pytest.approx([1.0, 1.0, 3.0])


def test_a_border_of_the_world_is_that_of_the_nearest_other_country() -> None:
    """Of three within 20 km of a place: itself, one 8 km off, one 15 km off."""
    metres = 111_319.5
    land = [shapely.box(8.0, -2, 9, 2), shapely.box(7.0, -2, 8 - 4_000 / metres, 2), shapely.box(7.0, 2.0, 9.0, 3.0)]
    made = [(name, name[:2], shape) for name, shape in zip(("Own", "West", "North"), land, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_world", lambda: (made, shapely.STRtree(land)))
        found, findings = place(None, 2.0 - 15_000 / 110_600, 8.0 + 4_000 / metres)
    assert (found.country, found.country_code) == ("Own", "Ow")
    assert findings["country_border_near"].measured == pytest.approx(8_000, rel=1e-2)
    assert findings["country_border_near"].limit == 20_000.0


@pytest.mark.parametrize("seed", range(10))
def test_distances_are_those_of_a_plain_search(seed: int) -> None:
    """Of parts of spheres and of whole ones, with depth of other sizes, also beyond each edge of the picture."""
    rng = np.random.default_rng(seed)
    full, left, top = int(rng.integers(40, 90)) * 2, int(rng.integers(0, 40)), int(rng.integers(0, 20))
    crop = SphereCrop(full_width=full, full_height=full // 2, left=left, top=top)
    width, height = int(rng.integers(8, full // 2)), int(rng.integers(4, full // 4))
    if seed >= 6:
        left, top, width, height = 0, 0, full, full // 2
        crop = SphereCrop(full_width=full, full_height=height, left=left, top=top)
    depth = rng.uniform(1, 90, (height // 2, width // 2) if seed >= 8 else (height * 2, width * 3))
    tall, wide = depth.shape[0] / height, depth.shape[1] / width
    yaw, pitch = float(rng.uniform(-180, 180)), float(rng.uniform(-40, 40))
    yaw = ((left + width / 2) / full - 0.5) * 360 if seed % 2 else yaw
    pitch = (0.5 - (top + height / 2) / (full // 2)) * 180 if seed % 2 else pitch
    low, high = max(pitch - 40, -90), min(pitch + 40, 90)
    seen = SimpleNamespace(yaw_deg=yaw, width_deg=70.0, pitch_high_deg=high, pitch_low_deg=low)
    facts = SimpleNamespace(picture=SimpleNamespace(width=width, height=height))
    got = level_distances(seen, depth, facts, crop)
    inside = 0
    for n in range(SAMPLES):
        for m in range(SAMPLES):
            at = high + (n + 0.5) / SAMPLES * (low - high)
            turn = (yaw + ((m + 0.5) / SAMPLES - 0.5) * 70.0 + 180.0) % 360.0
            row, column = (90.0 - at) / 180 * (full // 2) - crop.top, turn / 360 * full - crop.left
            y, x = int(np.floor(row * tall)), int(np.floor(column * wide))
            if 0 <= y < len(depth) and 0 <= x < depth.shape[1]:
                assert got[n, m] == pytest.approx(depth[y, x] * np.cos(np.radians(at)))
                inside += 1
            else:
                assert np.isnan(got[n, m])
    assert inside > 0 or not seed % 2
