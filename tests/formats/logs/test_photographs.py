"""Photographs of a flight as its log: real ones of a DJI drone, and made ones."""

import io
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.registry import detect
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.conftest import REAL_DATA
from tests.environment import times
from tests.formats.logs.made_logs import damaged

REAL = REAL_DATA / "captures"


def photograph(number: int, xmp: str | None = None, where: bool = True) -> bytes:
    """A picture, each 2 s and 11.1 m further north than the one before, 198 m above the sea."""
    image, exif = Image.new("RGB", (16, 16)), Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = f"2016:06:23 16:32:{2 * number:02d}"
    if where:
        minutes = Fraction(6 * number, 1000)
        exif.get_ifd(0x8825).update(
            {1: "N", 2: (46, minutes, 0), 3: "W", 4: (91, Fraction(59), 0), 5: b"\0", 6: Fraction(198)}
        )  # fmt: skip
    told = f'drone-dji:RelativeAltitude="+{40 + number}.00" drone-dji:AbsoluteAltitude="+198.41" ' + (xmp or "")
    packet = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description xmlns:drone-dji="http://www.dji.com/drone-dji/1.0/" {told}/></rdf:RDF></x:xmpmeta>'
    )
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif, xmp=packet.encode())
    return buffer.getvalue()


def write(folder: Path, *pictures: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for number, raw in enumerate(pictures):
        (folder / f"DJI_{9 - number:04d}.JPG").write_bytes(raw)  # the names run against the times
    return folder


@pytest.mark.real_data
def test_real_photographs_tell_height_heading_and_gimbal() -> None:
    assert detect(REAL / "dji_photos").name == "photographs"
    ((log, assembled),) = read_tracks(REAL / "dji_photos")
    assert log.clock == "local"
    assert log.height_m.tolist() == [39.9, 40.0, 40.1]
    track = assembled.track
    assert track.heading_deg[0] == pytest.approx(221.3, abs=0.05)  # FlightYaw -138.70
    assert track.gimbal_pitch_deg[0] == pytest.approx(-89.9)
    assert assembled.origin.alt_m == pytest.approx(198.41)  # EXIF has it, and XMP's absolute one
    assert track.t_s.tolist() == [0.0, 7.0, 35.0]


@pytest.mark.real_data
def test_a_table_of_an_app_without_altitudes_is_a_track_laid_out_flat() -> None:
    (path,) = (REAL / "dji_csv").glob("*.csv")
    ((log, assembled),) = read_tracks(path)
    assert (detect(path).name, log.clock, len(log.t_s)) == ("airdata_csv", "boot", 92)
    assert "no_altitude" in {finding.name for finding in assembled.findings}
    np.testing.assert_allclose(log.lat_lon_alt[0, :2], (-44.69009395, 170.42456545))


def test_pictures_go_by_their_times(tmp_path: Path) -> None:
    flown = 'drone-dji:FlightYawDegree="+10.0" drone-dji:FlightPitchDegree="-5.0" drone-dji:FlightRollDegree="+2.0"'
    folder = write(
        tmp_path / "flight", *(photograph(n, f'{flown} drone-dji:GimbalPitchDegree="-45"') for n in range(4))
    )
    ((_, assembled),) = read_tracks(folder)
    track = assembled.track
    assert track.t_s.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert np.diff(track.enu_m[:, 1]) == pytest.approx(11.1, abs=0.1)
    assert track.height_m.tolist() == [40.0, 41.0, 42.0, 43.0]
    assert track.heading_deg == pytest.approx(10.0)
    assert track.gimbal_pitch_deg == pytest.approx(-45.0)


def test_a_folder_without_positions_is_refused_and_broken_pictures_are_counted(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match="no_position"):
        read_tracks(write(tmp_path / "none", photograph(0, where=False)))
    folder = write(tmp_path / "some", photograph(0), photograph(1), b"no picture")
    (broken,) = (one for one in read_tracks(folder)[0][1].findings if one.name == "broken_pictures")
    assert broken.measured == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(RawDataError, match="unreadable"):
        detect(tmp_path / "empty")


@pytest.mark.slow
def test_no_damage_is_too_much(tmp_path: Path) -> None:
    for number, (_, raw) in enumerate(damaged(photograph(1), "photographs", times(20, 200))):
        folder = write(tmp_path / f"{number}", photograph(0), raw, photograph(2), photograph(3))
        track = read_tracks(folder)[0][1].track
        assert len(track) in (3, 4)
        assert track.enu_m[-1, 1] == pytest.approx(33.4, abs=0.3) or len(track) == 4
        assert np.isfinite(track.enu_m).all()
