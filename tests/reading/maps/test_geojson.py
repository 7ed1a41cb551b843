"""GeoJSON: what is read, and what is refused with which words."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import RawDataError
from tests.conftest import REAL_DATA
from tests.reading.maps.opened import fault_of, fault_of_value, names_of, read_file, read_value

SQUARE = [[4.0, 52.0], [4.001, 52.0], [4.001, 52.001], [4.0, 52.001], [4.0, 52.0]]


def feature(geometry: dict[str, Any] | None = None, **facts: Any) -> dict[str, Any]:
    shape = geometry or {"type": "Polygon", "coordinates": [SQUARE]}
    return {"type": "Feature", "properties": facts, "geometry": shape}


def collection(*features: Any, **more: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features), **more}


def test_a_polygon_keeps_its_corners_name_kind_and_heights(tmp_path: Path) -> None:
    value = collection(feature(name="City Hall", kind="building", height_m=40, base_m=-2.5, colour="red"))
    (found,), findings = read_value(tmp_path, value)
    assert findings.items == []
    assert (found.name, found.kind, found.height_m, found.foot_m, found.datum) == (
        "City Hall",
        "building",
        40.0,
        -2.5,
        "takeoff",
    )
    assert found.solid
    (outline,) = found.outlines
    assert outline.tolist() == [[lat, lon] for lon, lat in SQUARE[:-1]]


def test_a_point_is_no_wall_and_heights_it_does_not_state_are_unknown(tmp_path: Path) -> None:
    (found,), findings = read_value(
        tmp_path, collection(feature({"type": "Point", "coordinates": [4.5, 52.5, 7]}, name="Mast")), walls=True
    )
    assert found.outlines[0].tolist() == [[52.5, 4.5]]
    assert not found.solid
    assert np.isnan(found.height_m)
    assert np.isnan(found.foot_m)
    assert findings.items == []


@pytest.mark.parametrize(
    ("facts", "walls", "solid"),
    [
        ({"name": "Park", "kind": "park"}, False, False),
        ({"kind": "building"}, False, True),
        ({"height_m": 3}, False, True),
        ({}, True, True),
    ],
)
def test_what_is_a_wall(tmp_path: Path, facts: dict[str, Any], walls: bool, solid: bool) -> None:
    (found,), _ = read_value(tmp_path, collection(feature(**facts)), walls=walls)
    assert found.solid is solid


def test_a_multipolygon_keeps_all_its_polygons(tmp_path: Path) -> None:
    other = [[lon + 0.01, lat] for lon, lat in SQUARE]
    (found,), _ = read_value(
        tmp_path, collection(feature({"type": "MultiPolygon", "coordinates": [[SQUARE], [other]]}))
    )
    assert [len(outline) for outline in found.outlines] == [4, 4]


NAMES = ['The "Globe"', "Saint Mary's, Tower; B", "Rue\nNeuve", "東京タワー", "قلعة حلب", "  Inn  ", "🏰", "A. Option?"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_kept_letter_by_letter(tmp_path: Path, name: str) -> None:
    (found,), findings = read_value(tmp_path, collection(feature(name=name)))
    assert found.name == name
    assert findings.items == []


@pytest.mark.parametrize("name", ["a\x07b", "a\tb", "a\x00", "x" * 201, 12, ["a"], "a\u2028b", "\x1b[31mred"])
def test_a_name_that_cannot_be_spoken_leaves_a_nameless_wall_and_a_finding(tmp_path: Path, name: Any) -> None:
    (found,), findings = read_value(tmp_path, collection(feature(name=name, height_m=9)))
    assert found.name is None
    assert found.solid
    (finding,) = findings.items
    assert (finding.name, finding.severity, finding.measured) == ("unusable_name", "doubt", 1.0)
    assert finding.message.isprintable()


@pytest.mark.parametrize("name", [None, "", "   "])
def test_no_name_is_no_finding(tmp_path: Path, name: Any) -> None:
    (found,), findings = read_value(tmp_path, collection(feature(name=name)))
    assert found.name is None
    assert findings.items == []


@pytest.mark.parametrize(
    "facts",
    [
        {"height_m": "12 m"},
        {"height_m": 0},
        {"height_m": -3},
        {"height_m": 1e9},
        {"height_m": True},
        {"base_m": [1]},
        {"height_m": float("nan")},
        {"base_m": float("inf")},
    ],
)
def test_a_height_that_is_none_is_unknown_and_said(tmp_path: Path, facts: dict[str, Any]) -> None:
    (found,), findings = read_value(tmp_path, collection(feature(name="X", **facts)))
    assert np.isnan(found.height_m)
    assert np.isnan(found.foot_m)
    assert names_of(findings) == ["unusable_height"]
    assert "'X'" in findings.items[0].message


def test_a_height_without_unit_is_not_taken_for_metres(tmp_path: Path) -> None:
    (found,), findings = read_value(tmp_path, collection(feature(height=30)))
    assert np.isnan(found.height_m)
    assert names_of(findings) == ["height_without_unit"]


BROKEN_SHAPES: dict[str, tuple[Any, str]] = {
    "line": ({"type": "LineString", "coordinates": SQUARE}, "unsupported_geometry"),
    "none": ({}, "unsupported_geometry"),
    "open": ({"type": "Polygon", "coordinates": [SQUARE[:-1]]}, "unusable_outline"),
    "two corners": ({"type": "Polygon", "coordinates": [[[4, 52], [4.1, 52], [4, 52]]]}, "unusable_outline"),
    "no ring": ({"type": "Polygon", "coordinates": []}, "unusable_outline"),
    "flat": ({"type": "Polygon", "coordinates": [[[4, 52], [4.1, 52], [4.2, 52], [4, 52]]]}, "unusable_outline"),
    "bow tie": (
        {"type": "Polygon", "coordinates": [[[4, 52], [4.1, 52.1], [4.1, 52], [4, 52.1], [4, 52]]]},
        "unusable_outline",
    ),
    "words": ({"type": "Point", "coordinates": ["4.0", "52.0"]}, "unusable_outline"),
    "null": ({"type": "Point", "coordinates": None}, "unusable_outline"),
    "not a number": ({"type": "Point", "coordinates": [float("nan"), 52.0]}, "unusable_outline"),
    "one number": ({"type": "Point", "coordinates": [4.0]}, "unusable_outline"),
    "broken part": ({"type": "MultiPolygon", "coordinates": [[SQUARE], [SQUARE[:2]]]}, "unusable_outline"),
    "no parts": ({"type": "MultiPolygon", "coordinates": 3}, "unusable_outline"),
}


@pytest.mark.parametrize("case", BROKEN_SHAPES)
def test_a_broken_shape_costs_its_feature_alone(tmp_path: Path, case: str) -> None:
    shape, reason = BROKEN_SHAPES[case]
    broken = {"type": "Feature", "properties": {"name": "Broken"}, "geometry": shape}
    found, findings = read_value(tmp_path, collection(broken, feature(name="Sound")))
    assert [f.name for f in found] == ["Sound"]
    (finding,) = findings.items
    assert (finding.name, finding.measured) == (reason, 1.0)
    assert "1 of 2 features" in finding.message
    assert "'Broken'" in finding.message


def test_a_finding_counts_all_and_names_the_first(tmp_path: Path) -> None:
    _, findings = read_value(tmp_path, collection(*(feature(name=f"N{i}", height_m=-1) for i in range(9))))
    (finding,) = findings.items
    assert finding.measured == 9.0
    assert "'N4' and 4 more" in finding.message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "Feature"}, "not_a_feature_collection"),
        ({"type": "FeatureCollection"}, "not_a_feature_collection"),
        ({"type": "FeatureCollection", "features": {}}, "not_a_feature_collection"),
        ({"type": "CityJSONFeature"}, "not_a_feature_collection"),
        ([1], "not_an_object"),
        (collection(feature({"type": "Point", "coordinates": [84616.4, 447422.9]})), "not_wgs84"),
        (collection(feature({"type": "Point", "coordinates": [52.0, 104.0]})), "not_wgs84"),
        (collection(crs={"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::28992"}}), "not_wgs84"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, value: Any, expected: str) -> None:
    assert fault_of_value(tmp_path, value).finding == expected


def test_a_crs_that_is_wgs84_is_fine(tmp_path: Path) -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    found, _ = read_value(tmp_path, collection(feature(), crs=crs))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", "empty_file"),
        (b'{"type": "FeatureCollection", "features": [', "truncated_json"),
        (b'{"type": \xff\xfe}', "not_utf8"),
        (b"{nonsense}", "bad_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"type": "FeatureCollection", "features": [], "features": []}', "duplicate_key"),
    ],
)
def test_bytes_that_are_no_json_are_refused(tmp_path: Path, raw: bytes, expected: str) -> None:
    path = tmp_path / "map.geojson"
    path.write_bytes(raw)
    assert fault_of(path).finding == expected


@pytest.mark.parametrize("depth", range(900, 1000, 9))
def test_a_name_of_lists_in_lists_breaks_nothing(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "map.geojson"
    text = json.dumps(collection(feature(name="DEEP")))
    path.write_text(text.replace('"DEEP"', "[" * depth + "]" * depth))
    try:
        (found,), findings = read_file(path)
    except RawDataError as error:
        outcome = error.finding
    else:
        outcome = "read" if found.name is None and names_of(findings) == ["unusable_name"] else "wrong"
    assert outcome in {"too_deep", "read"}


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert fault_of(tmp_path / "map.geojson").finding == "missing_file"


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "map.geojson"
    path.write_text("\ufeff" + json.dumps(collection(feature(name="Zoë"))), encoding="utf-8")
    (found,), _ = read_file(path)
    assert found.name == "Zoë"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
PLACES = [
    ("features",),
    ("features", 0),
    ("features", 0, "properties"),
    ("features", 0, "properties", "name"),
    ("features", 0, "properties", "height_m"),
    ("features", 0, "properties", "kind"),
    ("features", 0, "geometry"),
    ("features", 0, "geometry", "type"),
    ("features", 0, "geometry", "coordinates"),
    ("features", 0, "geometry", "coordinates", 0),
    ("features", 0, "geometry", "coordinates", 0, 1),
    ("features", 0, "geometry", "coordinates", 0, 1, 0),
    ("crs",),
]


@pytest.mark.slow
@given(st.sampled_from(PLACES), JSON)
def test_anything_anywhere_gives_features_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[Any, ...], junk: Any
) -> None:
    value = copy.deepcopy(collection(feature(name="X", height_m=3), crs=None))
    inner: Any = value
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = junk
    refused, found = "", ()
    try:
        found, _ = read_value(tmp_path_factory.getbasetemp(), value)
    except RawDataError as error:
        refused = error.finding
    assert refused in {"", "not_wgs84", "not_a_feature_collection"}
    assert all(np.isfinite(outline).all() for f in found for outline in f.outlines)


def house(nth: int, side_m: float = 8.0, *, swapped: bool = False, **facts: Any) -> dict[str, Any]:
    """A square house, turned by 30 degrees, at 50 degrees north and 8 degrees east."""
    turn = np.radians(30 + 90 * np.arange(5))
    north = 50.0 + (side_m / np.sqrt(2) * np.sin(turn)) / 111_200
    east = 8.0 + 0.001 * nth + (side_m / np.sqrt(2) * np.cos(turn)) / (111_200 * np.cos(np.radians(50.0)))
    places = np.column_stack([north, east] if swapped else [east, north]).tolist()
    return feature({"type": "Polygon", "coordinates": [places]}, kind="building", **facts)


@pytest.mark.parametrize(
    ("swapped", "sound", "side_m", "refused"),
    [(5, 0, 8, True), (4, 0, 8, False), (6, 3, 8, True), (6, 4, 8, False), (0, 9, 8, False), (5, 0, 3.1, True),
     (5, 0, 2.9, False)],
)  # fmt: skip
def test_houses_that_are_square_with_the_axes_swapped(
    tmp_path: Path, swapped: int, sound: int, side_m: float, refused: bool
) -> None:
    """Four corners each: 20 of them must be square when swapped, and twice as many as there are as read."""
    turned = (house(i, side_m, swapped=True) for i in range(swapped))
    value = collection(*turned, *(house(i, id=str(i)) for i in range(sound)))
    if not refused:
        assert len(read_value(tmp_path, value)[0]) == swapped + sound
        return
    error = fault_of_value(tmp_path, value)
    assert error.finding == "axes_swapped"
    assert f"{4 * sound} are right angles, and {4 * swapped} with" in error.message


@pytest.mark.parametrize(
    ("houses", "measured", "unit"),
    [
        # of three with storeys: feet in two; in one
        ([(8, 10.0 * n, 3) for n in (3, 3, 1)], 0.667, "share"),
        ([(8, 10.0 * n, 3) for n in (3, 1, 1)], None, ""),
        ([(8, 30.0, 3)] * 2, None, ""),  # two with storeys are too few to tell
        # sheds of 25 square metres, a little more, and too few
        ([(4.9, 6.1, None)] * 10, 6.1, "m"),
        ([(4.9, 5.9, None)] * 10, None, ""),
        ([(5.1, 6.1, None)] * 10, None, ""),
        ([(4.9, 6.1, None)] * 9, None, ""),
        # of 20 houses of 50 square metres two are too low for a door; one; of 19 two
        ([(8, h, None) for h in (1.9, 1.9, *[3.0] * 18)], 0.1, "share"),
        ([(8, h, None) for h in (1.9, 2.1, *[3.0] * 18)], None, ""),
        ([(8, h, None) for h in (1.9, 1.9, *[3.0] * 28)], 0.067, "share"),
        ([(8, h, None) for h in (1.9, 1.9, *[3.0] * 17)], None, ""),
    ],
)
def test_heights_of_a_file_that_are_no_metres(
    tmp_path: Path, houses: list[tuple[float, float, int | None]], measured: float | None, unit: str
) -> None:
    told = [house(i, side, height_m=h, **({"levels": n} if n else {})) for i, (side, h, n) in enumerate(houses)]
    found, findings = read_value(
        tmp_path, collection(*told, feature({"type": "Point", "coordinates": [8.0, 50.0]}, height_m=40.0))
    )
    if measured is None:
        assert findings.items == []
        assert not np.isnan([f.height_m for f in found]).any()
        return
    (finding,) = findings.items
    assert (finding.name, finding.measured, finding.unit) == ("heights_of_another_unit", measured, unit)
    assert np.isnan([f.height_m for f in found]).all()


@pytest.mark.real_data
@pytest.mark.parametrize("swapped", [False, True])
def test_swapped_buildings_of_a_real_town(tmp_path: Path, swapped: bool) -> None:
    """2,170 outlines of OpenStreetMap: 99% of their corners are square, and 2% with the axes swapped."""
    outlines = [f.outlines[0] for f in read_file(REAL_DATA / "city" / "test.osm.pbf")[0] if f.solid]
    rings = [np.vstack([ring, ring[:1]])[:, :: 1 if swapped else -1].tolist() for ring in outlines]
    value = collection(*(feature({"type": "Polygon", "coordinates": [ring]}, kind="building") for ring in rings))
    if swapped:
        assert fault_of_value(tmp_path, value).finding == "axes_swapped"
    else:
        assert len(read_value(tmp_path, value)[0]) == len(rings)
