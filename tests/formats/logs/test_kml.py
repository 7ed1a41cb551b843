"""KML tracks with times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.registry import detect
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.formats.logs.fuzzing import check_damaged, check_track
from tests.formats.logs.written import kml, line

ROWS = line()
LINE = (
    '<kml xmlns="http://www.opengis.net/kml/2.2"><Placemark><LineString><coordinates>7.25,46.5,1 7.26,46.5,1'
    "</coordinates></LineString></Placemark></kml>"
)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_timed_track(tmp_path: Path) -> None:
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


def test_a_cut_file_gives_its_whole_points(tmp_path: Path) -> None:
    text = kml(ROWS)
    whole = read_tracks(write(tmp_path / "a.kml", text))[0][1].track
    for cut in range(text.index("</gx:coord>") + 11, len(text) - 8, 97):
        ((_, a),) = read_tracks(write(tmp_path / "b.kml", text[:cut]))
        n = text[:cut].count("</gx:coord>")
        assert a.track.lat_lon_deg.tolist() == whole.lat_lon_deg[:n].tolist()
        assert ("unpaired" in {f.name for f in a.findings}) == (n < len(ROWS))


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (LINE, "no_times"),
        (kml(ROWS[:0]), "no_track"),
        (kml(ROWS).replace("<when>", "<when>x"), "no_fix"),
        (kml(ROWS).replace("7.25000000 46.5", "0 0"), "no_fix"),
        (kml(ROWS).replace("<kml", '<!DOCTYPE kml [<!ENTITY a SYSTEM "file:///etc/passwd">]><kml'), "document_type"),
    ],
)
def test_bad_files(text: str, finding: str, tmp_path: Path) -> None:
    with pytest.raises(RawDataError) as error:
        read_tracks(write(tmp_path / "a.kml", text))
    assert error.value.finding == finding
    assert error.value.remedy


@pytest.mark.slow
def test_500_mutations_give_an_error_of_ours_or_a_track(tmp_path: Path) -> None:
    assert check_damaged(tmp_path / "a.kml", kml(ROWS).encode(), "kml", 17, 86_400.0) > 150
