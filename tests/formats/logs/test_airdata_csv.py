"""Airdata, Litchi and PhantomHelp tables."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.registry import detect
from pipeline.worlds.flight.tracks.assemble import AssembledTrack
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.formats.logs.fuzzing import check_damaged, check_track
from tests.formats.logs.written import airdata, line

ROWS = line()
PHANTOMHELP = (
    "CUSTOM.date [local],CUSTOM.updateTime [local],OSD.flyTime,OSD.flyTime [s],OSD.latitude,OSD.longitude,"
    "OSD.height [ft],OSD.altitude [ft],OSD.pitch,OSD.roll,OSD.yaw,OSD.yaw [360],OSD.gpsNum,GIMBAL.pitch,CAMERA.isVideo"
)


def phantomhelp(header: str = PHANTOMHELP, first: str = "sep=,\n") -> str:
    rows = [
        f"5/1/2024,{'11:59' if t < 5 else '12:00'}:{(55 + t) % 60:05.2f} {'AM' if t < 5 else 'PM'},0m {int(t)}s,"
        f"{t:.1f},{lat:.8f},{lon:.8f},{height / 0.3048:.3f},{alt / 0.3048:.3f},10.0,0.0,-90.0,270.0,14,-45.0,{t >= 3}"
        for t, lat, lon, alt, height in ROWS.tolist()
    ]
    return first + "\n".join([header, *rows]) + "\n"


def read(path: Path, text: str | bytes) -> AssembledTrack:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ((_, assembled),) = read_tracks(path)
    return assembled


def measured(assembled: AssembledTrack) -> dict[str, float | None]:
    return {f.name: f.measured for f in assembled.findings}


def check_line(assembled: AssembledTrack) -> None:
    """The flight of `line`: north at 4 m/s, climbing 0.5 m/s."""
    track = assembled.track
    check_track(track, 20)
    assert track.t_s == pytest.approx(ROWS[:, 0])
    assert track.enu_m == pytest.approx(np.outer(ROWS[:, 0], [0.0, 4.0, 0.5]), abs=0.01)
    assert track.height_m == pytest.approx(ROWS[:, 4], abs=1e-3)
    assert assembled.origin.alt_m == pytest.approx(540.0, abs=1e-3)


def test_airdata_in_feet(tmp_path: Path) -> None:
    a = read(tmp_path / "a.csv", airdata(ROWS))
    check_line(a)
    assert a.track.heading_deg == pytest.approx((350 + ROWS[:, 0]) % 360)
    assert a.track.gimbal_pitch_deg == pytest.approx(-30.0)
    assert measured(a)["filming"] == 3.0


@pytest.mark.parametrize(
    ("title", "says", "told"),
    [
        ("speed(mph)", 4 / 0.44704, None),
        ("speed(m/s)", 4.0, None),
        ("OSD.hSpeed [km/h]", 14.4, None),
        ("speed(furlongs)", 4.0, None),  # of an unknown unit it is not compared
        ("speed(m/s)", 40.0, "doubt"),
    ],
)
def test_speed_is_held_against_the_positions(title: str, says: float, told: str | None, tmp_path: Path) -> None:
    head, *rows = airdata(ROWS).splitlines()
    text = "\n".join([f"{head},{title}", *(f"{row},{says}" for row in rows)]) + "\n"
    found = {f.name: f.severity for f in read(tmp_path / "a.csv", text).findings}
    assert found.get("speed_differs") == told


def test_two_columns_of_times_must_pass_at_one_pace(tmp_path: Path) -> None:
    head = "time(millisecond),datetime(utc),latitude,longitude,height_above_takeoff(m)"
    for scale, told in ((1000, False), (1, True), (1100, True)):
        rows = [f"{t * scale},2024-05-01 10:00:{t:02d},{46.5 + t * 1e-5},7.25,{t}" for t in range(40)]
        assert ("pace" in measured(read(tmp_path / "a.csv", "\n".join([head, *rows]) + "\n"))) is told


def test_phantomhelp_in_feet(tmp_path: Path) -> None:
    a = read(tmp_path / "a.csv", phantomhelp())
    check_line(a)
    assert a.track.heading_deg == pytest.approx(270.0)
    assert a.track.gimbal_pitch_deg == pytest.approx(-45.0)
    w, x, y, z = a.track.quat_wxyz[0]
    assert 2 * (x * z - w * y) == pytest.approx(np.sin(np.radians(10.0))), "the nose is up by 10°"
    assert measured(a)["filming"] == 3.0


def test_clocks_of_the_wall_count_across_noon(tmp_path: Path) -> None:
    """Without a column of seconds the time of day serves: 11:59:55 AM to 12:00:14 PM."""
    without = PHANTOMHELP.replace("OSD.flyTime [s]", "OSD.other")
    a = read(tmp_path / "a.csv", phantomhelp(without))
    check_line(a)
    assert "local_clock" in measured(a)


def test_midnight_is_no_jump_back(tmp_path: Path) -> None:
    rows = ["datetime(utc),latitude,longitude,height_above_takeoff(m)"]
    rows += [f"2024-05-01 23:59:{55 + i},46.5,{7.25 + i * 1e-5:.7f},{i}" for i in range(5)]
    rows += [f"2024-05-02 00:00:0{i},46.5,{7.25005 + i * 1e-5:.7f},{5 + i}" for i in range(5)]
    a = read(tmp_path / "a.csv", "\n".join(rows) + "\n")
    assert a.track.t_s.tolist() == list(range(10))
    assert set(a.track.part) == {0}


@pytest.mark.parametrize(
    "raw",
    [
        airdata(ROWS, unit="meters").encode(),
        airdata(ROWS).replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + airdata(ROWS).encode(),
        airdata(ROWS).replace("Take off", "Décollage").encode("latin-1"),
        airdata(ROWS).encode("utf-16"),
        airdata(ROWS, separator=";").encode(),
        airdata(ROWS, separator="\t").encode(),
        airdata(ROWS, separator="\t").replace(".", ",").encode(),
        airdata(ROWS).replace("latitude", "Latitude").replace("datetime(utc)", '"datetime(utc)"').encode(),
    ],
    ids=["metres", "crlf", "mark", "latin-1", "utf-16", "semicolons", "tabs", "decimal commas", "quoted"],
)
def test_the_same_flight_in_other_clothes(raw: bytes, tmp_path: Path) -> None:
    check_line(read(tmp_path / "a.csv", raw))


def test_an_altitude_of_unknown_reference_is_a_doubt(tmp_path: Path) -> None:
    text = airdata(ROWS).replace("height_above_takeoff(feet)", "altitude(feet)")
    a = read(tmp_path / "a.csv", text.replace("altitude_above_seaLevel", "other"))
    assert a.track.height_m == pytest.approx(ROWS[:, 4], abs=1e-3)
    assert "altitude_reference" in {f.name for f in a.findings if f.severity == "doubt"}


def test_a_length_without_unit_is_left_out(tmp_path: Path) -> None:
    text = airdata(ROWS).replace("height_above_takeoff(feet)", "height_above_takeoff")
    a = read(tmp_path / "a.csv", text)
    assert "no_unit" in {f.name for f in a.findings if f.severity == "doubt"}
    assert a.track.height_m == pytest.approx(ROWS[:, 4], abs=1e-3), "from the altitude, which has one"


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("(feet)", "(yards)", "unknown_unit"),
        ("(feet)", "(feets)", "unknown_unit"),
        ("heading(degrees)", "heading(radians)", "unknown_unit"),
        ("time(millisecond)", "time(ticks)", "unknown_unit"),
        ("latitude", "breadth", "unknown_format"),
        ("\n", "", "no_rows"),
        ("time(millisecond),datetime(utc)", "one,two", "no_times"),
        ("7.25000000", "0.0", "no_fix"),
    ],
)
def test_bad_tables(old: str, new: str, finding: str, tmp_path: Path) -> None:
    text = airdata(ROWS).replace(old, new)
    if finding == "no_fix":
        text = text.replace("46.5", "0.0 ")
    with pytest.raises(RawDataError) as error:
        read(tmp_path / "a.csv", text)
    assert error.value.finding == finding
    assert error.value.remedy


def test_two_columns_of_one_name_must_agree(tmp_path: Path) -> None:
    header, *lines = airdata(ROWS).splitlines()
    place = header.split(",").index("latitude")
    for shift_deg, empty, agrees in ((0.0, 0, True), (0.0, 3, True), (0.0, len(lines), True), (0.01, 3, False)):
        others = [""] * empty + [f"{float(row.split(',')[place]) + shift_deg:.8f}" for row in lines[empty:]]
        rows = [f"{row},{other}\n" for row, other in zip(lines, others, strict=True)]
        text = "".join([f"{header},latitude\n", *rows])
        if agrees:
            assert len(read(tmp_path / "log.csv", text).track.t_s) == len(ROWS)
        else:
            with pytest.raises(RawDataError, match="duplicate_key: two columns are named 'latitude', and differ"):
                read(tmp_path / "log.csv", text)


def test_broken_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = airdata(ROWS).split("\n")
    lines[5] = lines[5][:40]
    lines[9] = ",".join(lines[9].split(",")[:2] + lines[9].split(",")[3:])
    a = read(tmp_path / "a.csv", "\n".join(lines))
    assert measured(a)["broken_lines"] == 2
    assert len(a.track) == len(ROWS) - 2
    assert a.track.enu_m[-1] == pytest.approx(19.5 * np.array([0, 4.0, 0.5]), abs=0.01)


def test_a_cut_table_gives_its_whole_lines(tmp_path: Path) -> None:
    text = airdata(ROWS[:6])
    whole = read(tmp_path / "a.csv", text).track
    for cut in range(text.index("\n") + 130, len(text), 7):
        track = read(tmp_path / "b.csv", text[:cut]).track
        assert track.lat_lon_deg.tolist() == whole.lat_lon_deg[: len(track)].tolist()


def test_it_is_known_by_its_header(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(phantomhelp(), encoding="utf-8")
    assert detect(tmp_path / "a.txt").name == "airdata_csv"
    (tmp_path / "b.csv").write_text("name,latitude\nhouse,1\n", encoding="utf-8")
    with pytest.raises(RawDataError, match="unknown_format"):
        detect(tmp_path / "b.csv")


@pytest.mark.slow
@pytest.mark.parametrize("text", [airdata(ROWS), phantomhelp()], ids=["airdata", "phantomhelp"])
def test_mutations_give_an_error_of_ours_or_a_track(text: str, tmp_path: Path) -> None:
    assert check_damaged(tmp_path / "a.csv", text.encode(), "airdata_csv", 11, 86_400.0) > 0.6
