"""`scan2qa track`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from flows.cli.app import app
from pipeline.core.errors import ConfigError
from tests.conftest import REAL_DATA
from tests.formats.logs.written import airdata, gpx, kml, line

ROWS = line()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["track", *map(str, arguments)], catch_exceptions=False)


def written(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
def test_parquet_json_picture_and_summary(tmp_path: Path) -> None:
    log = tmp_path / "hill.csv"
    log.write_text(airdata(ROWS), encoding="utf-8")
    result = run(log, "--out", tmp_path / "out", "--plot")
    assert result.exit_code == 0
    assert written(tmp_path / "out") == ["hill.json", "hill.parquet", "hill.png"]
    table = pq.read_table(tmp_path / "out" / "hill.parquet")
    assert table.num_rows == 40
    assert table["north_m"].to_pylist()[-1] == pytest.approx(78.0, abs=0.01)
    said = json.loads((tmp_path / "out" / "hill.json").read_text(encoding="utf-8"))
    assert said["sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()
    assert (said["file"], said["format"], said["samples"], said["parts"]) == ("hill.csv", "airdata_csv", 40, 1)
    assert said["duration_s"] == 19.5
    assert said["extent_m"] == pytest.approx([0.0, 78.0, 9.75], abs=0.01)
    assert said["origin"]["lat_deg"] == 46.5
    assert {finding["name"] for finding in said["findings"]} == {"filming"}
    assert list(said) == sorted(said)
    assert str(tmp_path) not in json.dumps(said)
    assert "0.0 × 78.0 × 9.8" in result.output
    with Image.open(tmp_path / "out" / "hill.png") as picture:
        assert picture.width > 1000
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 50, "the path bears the colours of time"


def test_times_begin_at_0_and_the_facts_say_where_in_the_log(tmp_path: Path) -> None:
    rows = "\n".join(
        f"{1000 * i},{0 if i < 4 else 46.5 + i * 1e-5},{0 if i < 4 else 7.25},{50 if i < 4 else 540 + i}"
        for i in range(20)
    )
    log = tmp_path / "late.csv"
    log.write_text(f"time(millisecond),latitude,longitude,altitude_above_seaLevel(meters)\n{rows}\n", encoding="utf-8")
    run(log, "--out", tmp_path / "out")
    times = pq.read_table(tmp_path / "out" / "late.parquet")["t_s"].to_pylist()
    assert times == [float(i) for i in range(16)]
    facts = json.loads((tmp_path / "out" / "late.json").read_text(encoding="utf-8"))
    assert (facts["begins_s"], facts["duration_s"]) == (4.0, 15.0)


@pytest.mark.slow
def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    log = tmp_path / "hill.gpx"
    log.write_text(gpx(ROWS, 2), encoding="utf-8")
    for out in ("one", "two"):
        run(log, "--out", tmp_path / out, "--plot")
    for name in written(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_broken_file_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("", encoding="utf-8")
    (tmp_path / "b.gpx").write_text(gpx(ROWS), encoding="utf-8")
    result = run(tmp_path / "a.csv", tmp_path / "missing.srt", tmp_path / "b.gpx", "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert written(tmp_path / "out") == ["b.json", "b.parquet"]
    assert "a.csv: empty" in result.output
    assert "missing.srt: unreadable" in result.output
    assert "2 of 3 files could not be read" in result.output


def test_equal_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for folder, rows in (("one", ROWS), ("two", ROWS[:10])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.gpx").write_text(gpx(rows), encoding="utf-8")
    (tmp_path / "one" / "LOG.kml").write_text(kml(ROWS[:20]), encoding="utf-8")
    run(*sorted(tmp_path.glob("*/*")), "--out", tmp_path / "out")
    assert written(tmp_path / "out") == [
        "one.LOG.json",
        "one.LOG.parquet",
        "one.log-2.json",
        "one.log-2.parquet",
        "two.log.json",
        "two.log.parquet",
    ]
    rows = [pq.read_table(path).num_rows for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert rows == [20, 40, 10]


def test_the_format_can_be_said(tmp_path: Path) -> None:
    log = tmp_path / "hill.dat"
    log.write_text(gpx(ROWS), encoding="utf-8")
    assert run(log, "--out", tmp_path / "out", "--format", "gpx").exit_code == 0
    assert "unexpected_suffix" in (tmp_path / "out" / "hill.json").read_text(encoding="utf-8")
    assert run(log, "--out", tmp_path / "kml", "--format", "kml").exit_code == 3
    with pytest.raises(ConfigError, match="there is no format 'gpz'; choose one of"):
        run(log, "--out", tmp_path / "none", "--format", "gpz")


@pytest.mark.real_data
def test_every_flight_of_a_file_has_its_own_name(tmp_path: Path) -> None:
    episodes = REAL_DATA / "flights" / "openfly" / "first_40_episodes.json"
    said = run(episodes, "--out", tmp_path).output
    assert f"… and 28 flights, 0 of them with a doubt: {tmp_path}/*.json" in said
    assert sum(line.startswith("first_40_episodes.") for line in said.splitlines()) == 12
    tables = sorted(tmp_path.glob("*.parquet"))
    assert len(tables) == 40
    assert all(path.name.startswith("first_40_episodes.") for path in tables)
    assert "label" in pq.read_schema(tables[0]).names
