"""GPX tracks, and KML tracks with times."""

import gzip
import re
import zipfile
from pathlib import Path

import gpxpy
import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.registry import detect
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.environment import REAL_DATA
from tests.formats.logs.fuzzing import check_damaged, check_track
from tests.formats.logs.written import gpx, kml, line

ROWS = line()
EXTERNAL = '<!DOCTYPE kml [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
BILLION = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
LINE = (
    '<kml xmlns="http://www.opengis.net/kml/2.2"><Placemark><LineString><coordinates>7.25,46.5,1 7.26,46.5,1'
    "</coordinates></LineString></Placemark></kml>"
)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("segments", [1, 3])
def test_segments_are_parts(segments: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.gpx", gpx(ROWS, segments))
    ((log, a),) = read_tracks(path)
    assert detect(path).name == "gpx"
    assert log.clock == "utc"
    check_track(a.track, 20)
    assert a.track.t_s == pytest.approx(ROWS[:, 0])
    assert a.track.part[-1] + 1 == segments
    assert a.track.enu_m == pytest.approx(np.outer(ROWS[:, 0], [0.0, 4.0, 0.5]), abs=0.01)
    assert a.track.height_m == pytest.approx(ROWS[:, 4], abs=2e-3)
    assert a.origin.alt_m == 540.0


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + gpx(ROWS).encode(),
        gpx(ROWS).replace("\n", "\r\n").encode(),
        gpx(ROWS).replace("UTF-8", "ISO-8859-1").replace("<trk>", "<trk><name>Zürich</name>").encode("latin-1"),
        gpx(ROWS).replace("1/1", "1/0").encode(),
        re.sub(r"<(/?)(?=\w)", r"<\1g:", gpx(ROWS)).replace("xmlns=", "xmlns:g=").encode(),
        gpx(ROWS).replace("Z</time>", "+00:00</time>").encode(),
        gpx(ROWS).replace("T10:", "T12:").replace("Z</time>", "+02:00</time>").encode(),
    ],
    ids=["mark", "crlf", "latin-1", "1.0", "prefix", "offset", "zone"],
)
def test_the_same_track_in_other_clothes(raw: bytes, tmp_path: Path) -> None:
    ((log, a),) = read_tracks(write(tmp_path / "a.gpx", raw))
    assert a.track.enu_m[-1] == pytest.approx(19.5 * np.array([0, 4.0, 0.5]), abs=0.01)
    assert log.t_s[0] == 1714557600.0, "2024-05-01T10:00:00Z"


def test_a_cut_file_gives_its_whole_points(tmp_path: Path) -> None:
    text = gpx(ROWS)
    whole = read_tracks(write(tmp_path / "a.gpx", text))[0][1].track
    for cut in range(text.index("</trkpt>") + 8, len(text) - 8, 97):
        ((_, a),) = read_tracks(write(tmp_path / "b.gpx", text[:cut]))
        assert "cut" in {f.name for f in a.findings}
        assert a.track.lat_lon_deg.tolist() == whole.lat_lon_deg[: text[:cut].count("</trkpt>")].tolist()


def test_a_timed_track_of_kml(tmp_path: Path) -> None:
    path = write(tmp_path / "a.kml", kml(ROWS))
    ((_, a),) = read_tracks(path)
    assert detect(path).name == "kml"
    check_track(a.track, 20)
    assert a.track.t_s == pytest.approx(ROWS[:, 0])
    assert a.track.enu_m == pytest.approx(np.outer(ROWS[:, 0], [0.0, 4.0, 0.5]), abs=0.01)
    assert a.track.heading_deg == pytest.approx((350 + ROWS[:, 0]) % 360)
    assert a.origin.alt_m == 540.0


def test_altitudes_above_ground_are_heights_in_doubt(tmp_path: Path) -> None:
    ((_, a),) = read_tracks(write(tmp_path / "a.kml", kml(ROWS, "relativeToGround")))
    assert a.track.height_m == pytest.approx(ROWS[:, 4])
    assert a.origin.alt_m is None
    assert "altitude_reference" in {f.name for f in a.findings if f.severity == "doubt"}


def test_altitudes_clamped_to_the_ground_are_none(tmp_path: Path) -> None:
    ((_, a),) = read_tracks(write(tmp_path / "a.kml", kml(ROWS, "clampToGround")))
    assert np.isnan(a.track.height_m).all()
    assert "no_altitude" in {f.name for f in a.findings}


def test_each_track_is_a_part(tmp_path: Path) -> None:
    one, two = (kml(rows).split("<gx:Track>")[1].split("</gx:Track>")[0] for rows in (ROWS[:20], ROWS[20:]))
    text = kml(ROWS).split("<gx:Track>")[0]
    text += f"<gx:MultiTrack><gx:Track>{one}</gx:Track><gx:Track>{two}</gx:Track></gx:MultiTrack>"
    text += "</Placemark></Document></kml>"
    ((_, a),) = read_tracks(write(tmp_path / "a.kml", text))
    assert a.track.part.tolist() == [0] * 20 + [1] * 20
    assert a.track.enu_m[-1, 1] == pytest.approx(78.0, abs=0.01)


def test_a_cut_kml_gives_its_whole_points(tmp_path: Path) -> None:
    text = kml(ROWS)
    whole = read_tracks(write(tmp_path / "a.kml", text))[0][1].track
    for cut in range(text.index("</gx:coord>") + 11, len(text) - 8, 97):
        ((_, a),) = read_tracks(write(tmp_path / "b.kml", text[:cut]))
        n = text[:cut].count("</gx:coord>")
        assert a.track.lat_lon_deg.tolist() == whole.lat_lon_deg[:n].tolist()
        assert ("unpaired" in {f.name for f in a.findings}) == (n < len(ROWS))


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("a.gpx", gpx(ROWS, times=False), "no_times"),
        ("a.gpx", gpx(ROWS[:0]), "no_track"),
        ("a.gpx", gpx(ROWS).replace("trkpt", "rtept"), "no_track"),
        ("a.gpx", gpx(ROWS).replace("<trk>", "<trk"), "no_track"),
        ("a.gpx", gpx(ROWS).replace("<gpx", BILLION + "<gpx"), "document_type"),
        ("a.gpx", gpx(ROWS).replace('lat="', 'lat="x'), "no_fix"),
        ("a.gpx", gpx(ROWS).replace("46.5", "0.0").replace("7.25", "0.0"), "no_fix"),
        ("a.gpx", "", "empty"),
        ("a.gpx", "<xml/>", "unknown_format"),
        ("a.kml", LINE, "no_times"),
        ("a.kml", kml(ROWS).replace("<kml", EXTERNAL + "<kml"), "document_type"),
        ("a.kml", kml(ROWS[:0]), "no_track"),
        ("a.kml", kml(ROWS).replace("<when>", "<when>x"), "no_fix"),
        ("a.kml", kml(ROWS).replace("7.25000000 46.5", "0 0"), "no_fix"),
        (
            "a.kml",
            kml(ROWS).replace("<kml", '<!DOCTYPE kml [<!ENTITY a SYSTEM "file:///etc/passwd">]><kml'),
            "document_type",
        ),
    ],
)
def test_bad_files(name: str, text: str, finding: str, tmp_path: Path) -> None:
    with pytest.raises(RawDataError) as error:
        read_tracks(write(tmp_path / name, text))
    assert error.value.finding == finding
    assert error.value.remedy


@pytest.mark.real_data
def test_a_real_track_is_what_gpxpy_reads() -> None:
    path = REAL_DATA / "flights" / "gpx" / "cerknicko-jezero.gpx"
    theirs = gpxpy.parse(path.read_text(encoding="utf-8"))
    segments = [segment.points for track in theirs.tracks for segment in track.segments]
    points = [point for segment in segments for point in segment]
    ((log, a),) = read_tracks(path)
    assert log.lat_lon_alt.tolist() == [[p.latitude, p.longitude, p.elevation] for p in points]
    assert log.t_s.tolist() == [p.time.timestamp() for p in points if p.time]
    assert log.begins.sum() == sum(1 for segment in segments if segment)
    check_track(a.track, 7200)
    gaps = np.diff(a.track.t_s) > 5
    assert (np.diff(a.track.part)[gaps] == 1).all(), "no line over a gap"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "text", "seed", "least"), [("gpx", gpx(ROWS, 2), 13, 0.4), ("kml", kml(ROWS), 17, 0.3)]
)
def test_mutations_give_an_error_of_ours_or_a_track(
    form: str, text: str, seed: int, least: float, tmp_path: Path
) -> None:
    assert check_damaged(tmp_path / f"a.{form}", text.encode(), form, seed, 86_400.0) > least


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("log.kmz", "unzip it and give the doc.kml"),
        ("log.kml.gz", "gunzip it"),
        ("DJIFlightRecord_2024-05-17_[10-00-00].txt", "CSV with Airdata or PhantomHelp"),
        ("FLY042.DAT", "CSV with Airdata or PhantomHelp"),
    ],
)
def test_what_is_packed_or_encrypted_is_told_with_what_helps(name: str, says: str, tmp_path: Path) -> None:
    """Also where an archive holds its KML unpacked, so that it looks like one."""
    path = tmp_path / name
    if name.endswith(".kmz"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("doc.kml", kml(ROWS))
    else:
        path.write_bytes(gzip.compress(b"<kml>") if name.endswith(".gz") else bytes(range(256)) * 20)
    with pytest.raises(RawDataError) as caught:
        detect(path)
    assert caught.value.finding == "unknown_format"
    assert says in caught.value.remedy


@pytest.mark.parametrize(("says_mps", "severity"), [(4.0, None), (40.0, "doubt"), (None, None)])
def test_speeds_of_a_gpx_are_held_against_its_places(
    says_mps: float | None, severity: str | None, tmp_path: Path
) -> None:
    more = "" if says_mps is None else f"<extensions><x:speed>{says_mps}</x:speed></extensions>"
    text = gpx(ROWS).replace("</trkpt>", f"{more}</trkpt>").replace("<gpx ", '<gpx xmlns:x="urn:x" ', 1)
    ((_, assembled),) = read_tracks(write(tmp_path / "a.gpx", text))
    assert {f.name: f.severity for f in assembled.findings}.get("speed_differs") == severity
