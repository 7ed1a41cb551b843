"""`scan2qa places`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from flows.cli.app import app
from pipeline.core.errors import ConfigError
from tests.conftest import REAL_DATA
from tests.worlds.panorama.panoramas import SIDECAR, jpeg, texture, write

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
        ("panoramas/quay", "yes"), ("panoramas/blurred", "blurred"), ("", "no panorama")
    ]  # fmt: skip
    assert float(rows[0]["away_m"]) == pytest.approx(20.0, abs=0.1)
    for text, told in (("a,b\n1,2\n", "no column lat_deg"), ("lat_deg,lon_deg\nx,2\n", "table of places")):
        table.write_text(text)
        with pytest.raises(ConfigError, match=told):
            run(table, "--check", root, "--out", tmp_path / "out")
