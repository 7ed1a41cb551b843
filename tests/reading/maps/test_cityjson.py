"""CityJSON: cubes written here, the real block of Delft, and broken files."""

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import RawDataError
from pipeline.reading.maps import cityjson
from pipeline.reading.maps.feature import Feature
from tests.conftest import REAL_DATA
from tests.reading.maps.opened import DELFT, EVERYWHERE, fault_of, fault_of_value, names_of, read_file, read_value
from tests.reading.maps.test_geojson import JSON

RD_NAP = "https://www.opengis.net/def/crs/EPSG/0/7415"
CORNER = (84_900.0, 447_500.0, 2.0)  # in Delft: easting, northing, height above sea level
FACES = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]


def block(width: float = 10.0, depth: float = 20.0, height: float = 8.0) -> list[list[int]]:
    """Corners in millimetres from `CORNER`."""
    plan = [(0, 0), (width, 0), (width, depth), (0, depth)]
    return [[round(x * 1000), round(y * 1000), round(z * 1000)] for z in (0.0, height) for x, y in plan]


def solid(faces: list[list[int]] = FACES, lod: Any = "1") -> dict[str, Any]:
    return {"type": "Solid", "lod": lod, "boundaries": [[[ring] for ring in faces]]}


def city(**more: Any) -> dict[str, Any]:
    return {
        "type": "CityJSON",
        "version": "2.0",
        "metadata": {"referenceSystem": RD_NAP},
        "transform": {"scale": [0.001] * 3, "translate": list(CORNER)},
        "vertices": block(),
        "CityObjects": {"b1": {"type": "Building", "attributes": {"name": "Oude Kerk"}, "geometry": [solid()]}},
        **more,
    }


def rd_to_wgs84(x: float, y: float) -> tuple[float, float]:
    """Schreutelkamp and Strang van Hees' published polynomials, good to a metre; not what the reader uses."""
    e, n = (x - 155_000) * 1e-5, (y - 463_000) * 1e-5
    lat = 3235.65389 * n - 32.58297 * e**2 - 0.2475 * n**2 - 0.84978 * e**2 * n - 0.0655 * n**3
    lat += -0.01709 * e**2 * n**2 - 0.00738 * e + 0.0053 * e**4
    lon = 5260.52916 * e + 105.94684 * e * n + 2.45656 * e * n**2 - 0.81885 * e**3 + 0.05594 * e * n**3
    lon += -0.05607 * e**3 * n + 0.01199 * n - 0.00256 * e**3 * n**2
    return 52.1551744 + lat / 3600, 5.38720621 + lon / 3600


def check_block(found: Feature) -> None:
    """The feature is the block of 10 m x 20 m x 8 m that stands on 2 m above the sea."""
    assert (found.name, found.kind, found.solid, found.datum) == ("Oude Kerk", "building", True, "sea")
    assert (found.height_m, found.foot_m) == (pytest.approx(8.0), pytest.approx(2.0))
    (outline,) = found.outlines
    expected = np.array([rd_to_wgs84(CORNER[0] + x, CORNER[1] + y) for x, y in [(0, 0), (10, 0), (10, 20), (0, 20)]])
    assert len(outline) == 4
    nearest = np.abs(outline[:, None] - expected).max(-1).min(1)
    assert nearest.max() < 2e-5  # degrees, about 2 m


def test_a_block_lies_where_it_should(tmp_path: Path) -> None:
    (found,), findings = read_value(tmp_path, city(), DELFT)
    check_block(found)
    assert findings.items == []


@pytest.mark.parametrize("stated", ["urn:ogc:def:crs:EPSG::7415", "EPSG:7415", "urn:ogc:def:crs:EPSG:6.9:7415"])
@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0"])
def test_versions_and_spellings_of_reference_systems(tmp_path: Path, version: str, stated: str) -> None:
    (found,), _ = read_value(tmp_path, city(version=version, metadata={"referenceSystem": stated}), DELFT)
    check_block(found)


def test_vertices_without_a_transform_are_coordinates(tmp_path: Path) -> None:
    value = city(vertices=[[c / 1000 + o for c, o in zip(v, CORNER, strict=True)] for v in block()])
    del value["transform"]
    (found,), _ = read_value(tmp_path, value, DELFT)
    check_block(found)


def test_the_finest_level_of_detail_counts(tmp_path: Path) -> None:
    """The finer one here is a block of one metre less; the coarse one and the outline would be higher or flat."""
    vertices = [*block(), *block(height=7.0)]
    finer = solid([[i + 8 for i in ring] for ring in FACES], lod="2.2")
    flat = {"type": "MultiSurface", "lod": "0", "boundaries": [[FACES[0]]]}
    thing = {"type": "Building", "geometry": [flat, finer, solid(lod=1)]}
    (found,), _ = read_value(tmp_path, city(vertices=vertices, CityObjects={"b": thing}), DELFT)
    assert found.height_m == pytest.approx(7.0)
    for lods, height in (((1, 1), 7.0), ((1, "x"), 7.0), ((0, 1), 8.0)):  # of equal ones the first
        shapes = [finer | {"lod": lods[0]}, solid(lod=lods[1])]
        objects = {"b": {"type": "Building", "geometry": shapes}}
        (found,), _ = read_value(tmp_path, city(vertices=vertices, CityObjects=objects), DELFT)
        assert found.height_m == pytest.approx(height)


def test_faces_are_triangles_at_least(tmp_path: Path) -> None:
    """A tetrahedron of 6 m; with a face of two corners nothing of it is sound."""
    corners = [[0, 0, 0], [10_000, 0, 0], [0, 10_000, 0], [0, 0, 6000]]
    for last, heights in (([1, 2, 3], [pytest.approx(6.0)]), ([1, 2], [])):
        thing = {"type": "Building", "geometry": [solid([[0, 2, 1], [0, 1, 3], [0, 3, 2], last])]}
        found, _ = read_value(tmp_path, city(vertices=corners, CityObjects={"b": thing}), DELFT)
        assert [one.height_m for one in found] == heights


@pytest.mark.parametrize(
    ("epsg", "middle_lon", "half_lon"),
    [(28992, (3.2 + 7.22) / 2, (7.22 - 3.2) / 2), (3460, 179.33, 5.04 / 2), (4326, 0.0, 180.0)],
)
def test_a_system_is_meant_for_its_area_and_a_degree_beyond(epsg: int, middle_lon: float, half_lon: float) -> None:
    """Of the Netherlands, of Fiji, which lies across the 180th meridian, and of the earth."""
    system = pyproj.CRS.from_epsg(epsg)
    area = cityjson._area(system)
    assert (area.lon_deg + 180) % 360 - 180 == pytest.approx(middle_lon, abs=0.02)
    assert area.half_lon_deg == pytest.approx(half_lon + 1, abs=0.02)
    use = system.area_of_use
    assert use is not None
    assert (area.lat_deg, area.half_lat_deg) == ((use.south + use.north) / 2, (use.north - use.south) / 2 + 1)


def test_an_outline_alone_has_no_height(tmp_path: Path) -> None:
    flat = {"type": "MultiSurface", "lod": "0", "boundaries": [[FACES[0]]]}
    (found,), _ = read_value(tmp_path, city(CityObjects={"b": {"type": "Building", "geometry": [flat]}}), DELFT)
    assert np.isnan(found.height_m)
    assert np.isnan(found.foot_m)
    assert len(found.outlines[0]) == 4


def test_parts_stand_each_for_itself_and_bear_the_name_of_the_whole(tmp_path: Path) -> None:
    objects = {
        "whole": {"type": "Building", "attributes": {"name": "Station"}, "children": ["part"]},
        "part": {"type": "BuildingPart", "parents": ["whole"], "geometry": [solid()]},
        "tree": {"type": "SolitaryVegetationObject", "attributes": {"name": "Oak"}, "geometry": [solid()]},
    }
    (found,), _ = read_value(tmp_path, city(CityObjects=objects), DELFT)
    assert found.name == "Station"


RED, GREY = {"name": "Brick", "diffuseColor": [0.8, 0.0, 0.2]}, {"name": "Slate", "diffuseColor": [0.5, 0.5, 0.5]}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        # Faces are the ground, the roof and four walls.
        ([[1, 1, 0, 0, 0, 0]], {"building:colour": "#cc0033", "building:material": "brick",
                                "roof:colour": "#808080", "roof:material": "slate"}),
        ([[1, 1, 0, 0, 0, 1]], {"roof:colour": "#808080", "roof:material": "slate"}),  # walls of two materials
        ([[1, None, 0, 0, 0, 0]], {"building:colour": "#cc0033", "building:material": "brick"}),
        ([[1, 7, 0, 0, 0, True]], {}),  # no such materials
        ([[0]], {}),
    ],
)  # fmt: skip
def test_materials_tell_what_walls_and_roofs_look_like_in_the_model(
    tmp_path: Path, values: Any, told: dict[str, str]
) -> None:
    semantics = {
        "surfaces": [{"type": t} for t in ("GroundSurface", "RoofSurface", "WallSurface")],
        "values": [[0, 1, 2, 2, 2, 2]],
    }
    one = solid() | {"semantics": semantics, "material": {"visual": {"values": values}, "noise": {"value": 1}}}
    facts = {"name": "Oude Kerk", "roofType": "Gable roof", "storeysAboveGround": 2}
    objects = {"b1": {"type": "Building", "attributes": facts, "geometry": [one]}}
    (found,), _ = read_value(tmp_path, city(CityObjects=objects, appearance={"materials": [RED, GREY]}))
    assert {k: v for k, v in found.tags.items() if k.startswith("model:")} == {
        f"model:{k}": v for k, v in {**told, "roof:shape": "gabled", "building:levels": "2"}.items()
    }


def test_what_lies_outside_the_box_is_not_given(tmp_path: Path) -> None:
    value = city()
    assert len(read_value(tmp_path, value, DELFT)[0]) == 1
    value["transform"]["translate"][0] += 20_000
    assert read_value(tmp_path, value, DELFT)[0] == ()


def test_heights_that_are_not_above_the_sea_are_not_taken_for_it(tmp_path: Path) -> None:
    """EPSG:4979 has ellipsoidal heights, EPSG:28992 none at all."""
    spread = [[v[0] / 1e5, v[1] / 1e5, v[2]] for v in block()]
    ellipsoidal = city(metadata={"referenceSystem": "EPSG:4979"}, vertices=spread)
    ellipsoidal["transform"]["translate"] = [4.36, 52.01, 45.0]
    (found,), _ = read_value(tmp_path, ellipsoidal, DELFT)
    assert found.height_m == pytest.approx(8.0)
    assert np.isnan(found.foot_m)
    assert found.outlines[0].mean(0) == pytest.approx([52.01, 4.36], abs=2e-4)
    (found,), _ = read_value(tmp_path, city(metadata={"referenceSystem": "EPSG:28992"}), DELFT)
    assert np.isnan(found.height_m)


def test_heights_in_feet_become_metres(tmp_path: Path) -> None:
    """EPSG:7407 is NAD27 / Texas North with heights above NGVD29, all in US survey feet."""
    value = city(metadata={"referenceSystem": "EPSG:7407"}, vertices=block(100.0, 100.0, 30.0))
    value["transform"]["translate"] = [2_000_000.0, 500_000.0, 100.0]
    (found,), _ = read_value(tmp_path, value)
    assert found.height_m == pytest.approx(30.0 * 1200 / 3937)
    assert found.foot_m == pytest.approx(100.0 * 1200 / 3937)
    (outline,) = found.outlines
    assert np.ptp(outline[:, 0]) * 111_000 == pytest.approx(30.48, rel=0.05)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "old version": ({"version": "0.9"}, "unknown_version"),
    "no version": ({"version": None}, "unknown_version"),
    "no objects": ({"CityObjects": None}, "missing_key"),
    "no metadata": ({"metadata": None}, "no_reference_system"),
    "no reference system": ({"metadata": {"title": "x"}}, "no_reference_system"),
    "words": ({"metadata": {"referenceSystem": "Amersfoort"}}, "unknown_reference_system"),
    "number": ({"metadata": {"referenceSystem": 7415}}, "unknown_reference_system"),
    "no such system": ({"metadata": {"referenceSystem": "EPSG:999999"}}, "unknown_reference_system"),
    "only a height system": ({"metadata": {"referenceSystem": "EPSG:5709"}}, "unknown_reference_system"),
    "no vertices": ({"vertices": None}, "bad_vertices"),
    "two coordinates": ({"vertices": [[1, 2]]}, "bad_vertices"),
    "words for numbers": ({"vertices": [["a", 2, 3]]}, "bad_vertices"),
    "half a transform": ({"transform": {"scale": [1, 1, 1]}}, "bad_vertices"),
    "short transform": ({"transform": {"scale": [1, 1], "translate": [0, 0, 0]}}, "bad_vertices"),
    "infinite": ({"transform": {"scale": [1e308] * 3, "translate": [1e308] * 3}}, "bad_vertices"),
    "other units": ({"transform": {"scale": [1e9] * 3, "translate": [0, 0, 0]}}, "outside_reference_system"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_city_that_cannot_be_placed_is_refused(tmp_path: Path, case: str) -> None:
    spoilt, expected = BROKEN[case]
    assert fault_of_value(tmp_path, city(**spoilt)).finding == expected


@pytest.mark.parametrize(
    ("scale", "told"), [((0.001, 0.001, 0.001), False), ((0.0011,) * 3, True), ((0.001, -0.001, 0.001), True)]
)
def test_vertices_lie_within_the_extent_that_the_file_states(tmp_path: Path, scale: Any, told: bool) -> None:
    """The block is 20 m long: it may reach 0.2 m beyond. Less than the extent may be there."""
    low = np.array(CORNER)
    extent = [*low, *(low + np.array([10.0, 20.0, 10.0]))]
    value = city(metadata={"referenceSystem": RD_NAP, "geographicalExtent": extent})
    value["transform"]["scale"] = list(scale)
    if told:
        error = fault_of_value(tmp_path, value)
        assert (error.finding, "geographicalExtent" in error.message) == ("bad_vertices", True)
    else:
        assert len(read_value(tmp_path, value, DELFT)[0]) == 1
        value["metadata"]["geographicalExtent"] = [*extent[:2], 0.0, *extent[3:5], 0.0]  # no heights
        assert len(read_value(tmp_path, value, DELFT)[0]) == 1
    for odd in ([10**400] * 6, [float("nan")] * 6, [float("inf")] * 6, [True] * 6, ["1"] * 6, [0.0] * 5, {}):
        value["metadata"]["geographicalExtent"] = odd
        assert len(read_value(tmp_path, value, DELFT)[0]) == 1


@pytest.mark.parametrize(
    "boundaries",
    [
        None,
        [],
        [[[[0, 1, 99]]]],
        [[[[0, 1]]]],
        [[[[0, 1, -1]]]],
        [[[[0, 1, True]]]],
        [[["a"]]],
        [[[]]],
        [[[[0, 1, 5, 4]]]],
    ],
)
def test_a_broken_building_costs_itself_alone(tmp_path: Path, boundaries: Any) -> None:
    """The last one is a wall, which covers no ground."""
    value = city()
    value["CityObjects"]["b2"] = {"type": "Building", "geometry": [{"type": "Solid", "boundaries": boundaries}]}
    found, findings = read_value(tmp_path, value, DELFT)
    assert [f.name for f in found] == ["Oude Kerk"]
    assert names_of(findings) == ["unusable_outline"]
    assert "1 of 2 features" in findings.items[0].message
    assert "'b2'" in findings.items[0].message


PLACES = [
    ("CityObjects", "b1"),
    ("CityObjects", "b1", "geometry"),
    ("CityObjects", "b1", "geometry", 0),
    ("CityObjects", "b1", "geometry", 0, "lod"),
    ("CityObjects", "b1", "geometry", 0, "boundaries", 0),
    ("CityObjects", "b1", "geometry", 0, "boundaries", 0, 1),
    ("CityObjects", "b1", "attributes"),
    ("CityObjects", "b1", "attributes", "name"),
    ("CityObjects", "b1", "parents"),
    ("vertices",),
    ("vertices", 3),
    ("vertices", 3, 1),
    ("transform",),
    ("transform", "scale"),
    ("metadata",),
]
REFUSALS = {"", "bad_vertices", "no_reference_system", "unknown_reference_system", "outside_reference_system"}


@pytest.mark.long
@given(st.sampled_from(PLACES), JSON)
def test_anything_anywhere_gives_features_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[Any, ...], junk: Any
) -> None:
    value: Any = copy.deepcopy(city())
    inner = value
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = junk
    refused, found = "", ()
    try:
        found, _ = read_value(tmp_path_factory.getbasetemp(), value, EVERYWHERE)
    except RawDataError as error:
        refused = error.finding
    assert refused in REFUSALS
    assert all(np.isfinite(outline).all() for f in found for outline in f.outlines)


CITY = REAL_DATA / "city" / "delft.json"


@pytest.mark.slow
@pytest.mark.real_data
def test_the_real_city() -> None:
    """The file states each building's height and lowest point beside its geometry."""
    everything, findings = read_file(CITY, DELFT)
    kinds = Counter((f.kind, f.solid) for f in everything)
    assert kinds == {("building", True): 160, ("bridge", False): 3, ("water", False): 3}
    found = [f for f in everything if f.solid]
    assert findings.items == []
    stated = [t["attributes"] for t in json.loads(CITY.read_text())["CityObjects"].values()]
    stated = [s for s in stated if "measuredHeight" in s]
    assert len(stated) == 160
    off = [f.foot_m + f.height_m - s["measuredHeight"] for f, s in zip(found, stated, strict=True)]
    assert np.abs(off).max() < 0.6  # of a block model
    assert np.median(np.abs(off)) < 0.01
    assert [f.foot_m for f in found] == pytest.approx([s["min-height-surface"] for s in stated], abs=0.01)
    low = np.array([rd_to_wgs84(84616.468, 447422.999)])
    corners = np.concatenate([outline for f in found for outline in f.outlines])
    assert (corners >= low - 2e-5).all()
    assert (corners <= np.array(rd_to_wgs84(85140.839, 447750.636)) + 2e-5).all()


@pytest.mark.slow
@pytest.mark.real_data
def test_a_cut_city_is_refused(tmp_path: Path) -> None:
    raw = CITY.read_bytes()
    path = tmp_path / "cut.city.json"
    for share in (0.01, 0.3, 0.9, 0.999):
        path.write_bytes(raw[: int(len(raw) * share)])
        assert fault_of(path).finding == "truncated_json"
