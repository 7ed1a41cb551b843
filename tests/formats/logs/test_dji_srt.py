"""DJI subtitles in all their dialects."""

import re
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.registry import LOGS, detect
from pipeline.worlds.flight.tracks.assemble import AssembledTrack
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.conftest import REAL_DATA
from tests.formats.logs.fuzzing import check_damaged, check_track
from tests.formats.logs.made_films import SUBTITLE, film
from tests.formats.logs.written import LAT0, LON0, NORTH_DEG, srt

SAMPLES = REAL_DATA / "flights" / "dji_srt"
STEPS = range(12)
LAT = [LAT0 + 4 * i * NORTH_DEG for i in STEPS]
HOME = f"{LON0 - 300 * NORTH_DEG / np.cos(np.radians(LAT0)):.7f}, {LAT0:.7f}"  # 300 m to the west


def bracketed(i: int, more: str = "", lat: str = "latitude", lon: str = "longitude") -> str:
    return (
        f'<font size="28">FrameCnt: {i}, DiffTime: 1000ms\n2024-05-01 10:00:{i:02d}.000\n[iso: 100] [ev: 0] [ct: 5500] '
        f"[{lat}: {LAT[i]:.7f}] [{lon}: {LON0:.7f}] [rel_alt: {i / 2:.3f} abs_alt: {540 + i / 2:.3f}] {more}</font>"
    )


def pro(i: int) -> str:
    """Mavic Pro, Inspire."""
    return (
        f"HOME({LON0:.4f},{LAT0:.4f}) 2017.08.05 14:11:{i:02d}\nGPS({LON0:.7f},{LAT[i]:.7f},16) BAROMETER:{i / 2:.1f}\n"
        "ISO:100 Shutter:60 EV: Fnum:2.2"
    )


def phantom(i: int, height: str = "H {:.2f}m") -> str:
    return (
        f"F/3.2, SS 160, ISO 100, EV 0, GPS ({LON0:.7f}, {LAT[i]:.7f}, 18), D {30 + 4 * i:.2f}m, "
        f"{height.format(i / 2)}, H.S 4.00m/s, V.S 0.50m/s"
    )


def rtk(i: int) -> str:
    distance_m = np.hypot(300, 4 * i)
    return (
        f"F/5.6, SS 400, ISO 100, EV 0, GPS ({LON0:.7f}, {LAT[i]:.7f}, 15), HOME ({HOME}, -57.98m), "
        f"D {distance_m:.2f}m, H {i / 2:.2f}m, H.S 4.00m/s, F.PRY (10.0°, 0.0°, -90.0°), G.PRY (-24.4°, 0.0°, -90.0°)"
    )


def enterprise(i: int) -> str:
    """M300, Avata 2."""
    return f"GPS({LAT[i]:.7f},{LON0:.7f},{540 + i / 2:.3f}M) BAROMETER({i / 2:.1f}) HOME({LAT0},{LON0})"


DIALECTS = {
    "bracketed": [bracketed(i) for i in STEPS],
    "spaced": [bracketed(i, lat="latitude ", lon="longtitude ") for i in STEPS],
    "gimbal": [bracketed(i, "[gb_yaw: -10.0 gb_pitch: -45.0 gb_roll: 0.0]") for i in STEPS],
    "altitude": [
        f"[iso : 100] [latitude: {LAT[i]:.7f}] [longitude: {LON0}] [altitude: {i / 2}] </font>" for i in STEPS
    ],
    "pro": [pro(i) for i in STEPS],
    "phantom": [phantom(i) for i in STEPS],
    "equals": [phantom(i, "H={:.2f}m") for i in STEPS],
    "rtk": [rtk(i) for i in STEPS],
    "enterprise": [enterprise(i) for i in STEPS],
}


def read(path: Path, text: str | bytes, log_format: str | None = None) -> AssembledTrack:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ((_, assembled),) = read_tracks(path, log_format)
    return assembled


def named(assembled: AssembledTrack, severity: str | None = None) -> set[str]:
    return {f.name for f in assembled.findings if severity in (None, f.severity)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_tells_the_same_flight(dialect: str, tmp_path: Path) -> None:
    """North at 4 m/s, climbing 0.5 m/s."""
    track = read(tmp_path / "DJI_0001.SRT", srt(DIALECTS[dialect])).track
    check_track(track, 12)
    assert track.t_s.tolist() == list(STEPS)
    assert track.enu_m[:, 0] == pytest.approx(0.0, abs=0.01)
    assert track.enu_m[:, 1] == pytest.approx([4.0 * i for i in STEPS], abs=0.02)
    assert track.enu_m[:, 2] == pytest.approx([i / 2 for i in STEPS], abs=0.11)
    assert track.height_m == pytest.approx([i / 2 for i in STEPS], abs=0.06)
    assert track.lat_lon_deg[0] == pytest.approx([LAT0, LON0])


def test_decimal_commas_make_no_whole_degrees(tmp_path: Path) -> None:
    """Of 47,123 the part before the comma is no position, nor 12 of 12,5 a height."""
    text = srt([bracketed(i) for i in STEPS])
    with pytest.raises(RawDataError) as caught:
        read(tmp_path / "a.srt", re.sub(r"(: -?\d+)\.(\d)", r"\1,\2", text))
    assert caught.value.finding == "no_positions"
    low = read(tmp_path / "b.srt", re.sub(r"(_alt: -?\d+)\.(\d)", r"\1,\2", text)).track
    assert np.isnan(low.height_m).all()


def test_minutes_and_seconds_make_no_whole_degrees(tmp_path: Path) -> None:
    """Of 46°7'22.8" the part before the minutes is no position; the message quotes what stands there."""
    text = srt([re.sub(r"(tude: \d+)\.\d+", r"""\g<1>°7'22.8\"""", bracketed(i)) for i in STEPS])
    with pytest.raises(RawDataError, match=r"the first is .*latitude: 46°7.{1,2}22") as caught:
        read(tmp_path / "a.srt", text)
    assert caught.value.finding == "no_positions"


@pytest.mark.parametrize(("north", "east"), [(" N", " E"), ("° S", "°W"), ("S", "E"), ("", "")])
def test_a_side_of_the_equator_or_of_greenwich_is_no_ornament(north: str, east: str, tmp_path: Path) -> None:
    text = srt([re.sub(r"(latitude: [\d.]+)", rf"\1{north}", bracketed(i)) for i in STEPS])
    track = read(tmp_path / "a.srt", re.sub(r"(longitude: [\d.]+)", rf"\1{east}", text)).track
    assert track.lat_lon_deg[0] == pytest.approx([-LAT0 if "S" in north else LAT0, -LON0 if "W" in east else LON0])


def test_satellites_are_never_an_altitude(tmp_path: Path) -> None:
    for dialect in ("pro", "phantom", "rtk"):
        a = read(tmp_path / "a.srt", srt(DIALECTS[dialect]))
        assert a.origin.alt_m is None
        assert a.track.enu_m[:, 2].max() < 6


def test_attitude_heading_and_camera(tmp_path: Path) -> None:
    rtk_track = read(tmp_path / "a.srt", srt(DIALECTS["rtk"])).track
    assert rtk_track.heading_deg == pytest.approx(270.0)
    assert rtk_track.gimbal_pitch_deg == pytest.approx(-24.4)
    w, x, y, z = rtk_track.quat_wxyz[0]
    nose_up = 2 * (x * z - w * y)
    assert nose_up == pytest.approx(np.sin(np.radians(10.0)))
    gimbal = read(tmp_path / "b.srt", srt(DIALECTS["gimbal"]))
    assert gimbal.track.heading_deg == pytest.approx(350.0)
    assert gimbal.track.gimbal_pitch_deg == pytest.approx(-45.0)
    assert "heading_of_gimbal" in named(gimbal, "doubt")


def test_the_order_of_gps_is_told_by_what_only_one_order_allows(tmp_path: Path) -> None:
    """The same numbers in the other order, given away by a longitude above 90 or by the distance from home."""
    usual = read(tmp_path / "a.srt", srt(DIALECTS["rtk"]))
    assert "known by its distance" in next(f.message for f in usual.findings if f.name == "gps_order")
    far_east = [f"GPS({LAT[i]:.7f}, 140.1234567, 12) BAROMETER:{i / 2}" for i in STEPS]
    swapped = read(tmp_path / "b.srt", srt(far_east))
    assert swapped.track.lat_lon_deg[0] == pytest.approx([LAT0, 140.1234567])
    assert "gps_order" in named(swapped, "doubt")
    guessed = read(tmp_path / "c.srt", srt([f"GPS({LON0 + i * 1e-5:.7f}, {LAT0:.7f})" for i in STEPS]))
    assert "gps_order" in named(guessed, "doubt")
    assert guessed.track.lat_lon_deg[0] == pytest.approx([LAT0, LON0])


def test_feet_become_metres(tmp_path: Path) -> None:
    track = read(tmp_path / "a.srt", srt([phantom(i, "H {:.2f}ft") for i in STEPS])).track
    assert track.height_m[-1] == pytest.approx(5.5 * 0.3048)


def test_two_dialects_in_one_file_are_two_parts(tmp_path: Path) -> None:
    cues = DIALECTS["bracketed"][:6] + DIALECTS["pro"][6:]
    a = read(tmp_path / "a.srt", srt(cues))
    assert a.track.part.tolist() == [0] * 6 + [1] * 6
    assert "mixed_dialects" in named(a, "doubt")


def test_absent_fixes_are_refused(tmp_path: Path) -> None:
    cues = list(DIALECTS["bracketed"])
    cues[0] = "[latitude: 0.000000] [longitude: 0.000000] [rel_alt: 0.000 abs_alt: 0.000]"
    a = read(tmp_path / "a.srt", srt(cues))
    assert len(a.track) == 11
    assert a.track.t_s[0] == 1.0
    weak = [cue.replace(",16)", ",3)") if i < 4 else cue for i, cue in enumerate(DIALECTS["pro"])]
    assert read(tmp_path / "b.srt", srt(weak)).track.t_s[0] == 4.0


def test_marks_line_ends_and_encodings_make_no_difference(tmp_path: Path) -> None:
    text = srt(DIALECTS["rtk"])
    plain = read(tmp_path / "a.srt", text).track
    for raw in (
        b"\xef\xbb\xbf" + text.encode(),
        text.replace("\n", "\r\n").encode(),
        text.encode("latin-1"),
        text.encode("utf-16"),
        text.upper().encode(),
    ):
        other = read(tmp_path / "b.srt", raw).track
        assert other.t_s.tolist() == plain.t_s.tolist(), "the first cue is not lost behind a mark"
        assert other.enu_m.tolist() == plain.enu_m.tolist()
        assert other.gimbal_pitch_deg.tolist() == plain.gimbal_pitch_deg.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["bracketed", "altitude", "pro", "rtk", "enterprise"])
def test_a_cut_file_gives_what_is_whole(dialect: str, tmp_path: Path) -> None:
    """Cut at any byte, no position moves and no height changes: a shortened number is none."""
    text = srt(DIALECTS[dialect][:2])
    whole = read(tmp_path / "a.srt", text).track
    for cut in range(text.index("\n\n2\n"), len(text)):
        track = read(tmp_path / "b.srt", text[:cut], "dji_srt").track
        n = len(track)
        assert track.lat_lon_deg.tolist() == whole.lat_lon_deg[:n].tolist()
        known = np.isfinite(track.height_m)
        assert track.height_m[known].tolist() == whole.height_m[:n][known].tolist()


def test_slow_motion_is_said(tmp_path: Path) -> None:
    cues = [bracketed(i) for i in STEPS]
    assert "pace" in named(read(tmp_path / "a.srt", srt(cues, step_s=4.0)), "doubt")
    assert "pace" not in named(read(tmp_path / "b.srt", srt(cues)))


def with_pause(i: int) -> str:
    """Twelve seconds of video; the recording was paused for 15 s before the sixth."""
    return bracketed(i).replace(f"10:00:{i:02d}", f"10:00:{i + (15 if i >= 5 else 0):02d}")


def test_a_pause_of_the_recording_begins_a_part_and_is_no_slow_motion(tmp_path: Path) -> None:
    a = read(tmp_path / "a.srt", srt([with_pause(i) for i in STEPS]))
    assert a.track.part.tolist() == [0] * 5 + [1] * 7
    assert next(f.measured for f in a.findings if f.name == "interrupted") == 15.0
    assert "pace" not in named(a)
    whole = read(tmp_path / "b.srt", srt([bracketed(i) for i in STEPS]))
    assert whole.track.part.max() == 0
    assert "interrupted" not in named(whole)


@pytest.mark.parametrize("text", ["\n\n".join(bracketed(i) for i in STEPS), srt([bracketed(i) for i in STEPS], 0.0)])
def test_without_cue_times_the_wall_clock_counts(text: str, tmp_path: Path) -> None:
    a = read(tmp_path / "a.srt", text)
    assert a.track.t_s.tolist() == list(STEPS)
    assert a.track.enu_m[:, 1] == pytest.approx([4.0 * i for i in STEPS], abs=0.02)
    assert {"wall_clock", "local_clock"} <= named(a, "note")
    assert named(a, "doubt") == set()


def test_a_late_first_cue_is_said(tmp_path: Path) -> None:
    a = read(tmp_path / "a.srt", srt(DIALECTS["pro"], first_s=1.0))
    assert a.track.t_s[0] == 0.0
    assert next(f.measured for f in a.findings if f.name == "starts_late") == 1.0


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("a.srt", "", "empty"),
        ("a.srt", "hello", "unknown_format"),
        ("a.srt", srt(["Ladies and gentlemen"]), "no_positions"),
        ("a.srt", srt(["[iso : 100] [shutter : 1/240.0]"]), "no_positions"),
        ("a.srt", srt(["GPS(0.0000,0.0000,0) BAROMETER:1.2"]), "no_positions"),
        ("a.srt", srt(["[latitude: 99.0] [longitude: 7.0]"]), "no_fix"),
        ("a.srt", srt(["[latitude: 45.0] [longitude: "]), "no_fix"),
    ],
)
def test_bad_files(name: str, text: str, finding: str, tmp_path: Path) -> None:
    with pytest.raises(RawDataError) as error:
        read(tmp_path / name, text)
    assert error.value.finding == finding
    assert error.value.path == tmp_path / name
    assert error.value.remedy


def test_another_suffix_is_read_and_said(tmp_path: Path) -> None:
    assert "unexpected_suffix" in named(read(tmp_path / "a.csv", srt(DIALECTS["pro"])), "note")


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "samples", "seconds", "heights"),
    [
        ("air2s.srt", 17, 0.533, (117.0, 117.1)),
        ("avata2.SRT", 2, 0.033, (91.2, 91.2)),
        ("broken_incomplete.SRT", 20, 18.0, (7.7, 20.3)),
        ("mavic3_first_60s.srt", 3000, 59.98, (-4.7, -2.4)),
        ("mavic_air2.srt", 25, 0.4, (27.3, 29.2)),
        ("mavic_pro.SRT", 468, 467.0, (-1.7, 118.7)),
        ("mini4pro.SRT", 2, 0.033, (1.0, 2.0)),
        ("mini5pro.SRT", 5, 0.16, (6.0, 6.0)),
        ("p4_rtk.SRT", 55, 54.0, (85.48, 86.07)),
        ("p4p_sample.SRT", 5, 4.0, (45.6, 45.6)),
    ],
)
def test_real_files(file: str, samples: int, seconds: float, heights: tuple[float, float]) -> None:
    path = real(file)
    ((log, a),) = read_tracks(path)
    assert detect(path).name == "dji_srt"
    assert len(log.t_s) == samples
    check_track(a.track, seconds + 1e-6)
    assert a.track.t_s[-1] == pytest.approx(seconds, abs=0.15)
    assert (a.track.height_m.min(), a.track.height_m.max()) == heights


@pytest.mark.real_data
@pytest.mark.parametrize(("file", "finding"), [("broken_empty.SRT", "empty"), ("mavic_air.SRT", "no_positions")])
def test_real_files_without_positions(file: str, finding: str) -> None:
    with pytest.raises(RawDataError) as error:
        read_tracks(real(file))
    assert error.value.finding == finding


@pytest.mark.real_data
def test_speeds_of_the_50_hz_flight_have_no_staircase() -> None:
    ((log, a),) = read_tracks(real("mavic3_first_60s.srt"))
    naive = np.abs(np.diff(log.lat_lon_alt[:, 0])) * 111_320 * 50
    assert naive.max() > 50, "cue by cue it would be 0 or 55 m/s and more"
    moving = a.track.t_s > 20
    assert np.nanmax(a.track.speed_mps) < 10
    change = np.abs(np.diff(a.track.speed_mps[moving])) / np.diff(a.track.t_s[moving])
    assert np.quantile(change, 0.99) < 10, "m/s²; a staircase of 55 m/s in 20 ms would be 2,750"
    assert np.nanmax(a.track.speed_mps[a.track.t_s < 9]) == 0.0, "it stands for the first 10 s"


@pytest.mark.real_data
def test_the_rtk_flight_is_as_fast_as_its_log_says() -> None:
    """H.S is 13.3 m/s near the end."""
    ((_, a),) = read_tracks(real("p4_rtk.SRT"))
    assert a.track.speed_mps[-5:] == pytest.approx(13.3, abs=0.3)
    assert a.track.heading_deg[0] == pytest.approx(110.1)
    assert a.track.gimbal_pitch_deg[0] == pytest.approx(-24.4)


def real(file: str) -> Path:
    return SAMPLES / file


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["bracketed", "rtk"])
def test_mutations_give_an_error_of_ours_or_a_track(dialect: str, tmp_path: Path) -> None:
    share = check_damaged(tmp_path / "a.srt", srt(DIALECTS[dialect]).encode(), "dji_srt", 7, 86_400.0)
    assert share > 0.6


def test_the_reader_is_registered() -> None:
    assert LOGS["dji_srt"].suffixes == (".srt",)


def test_a_file_without_a_subtitle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.srt"
    path.write_text("[latitude: 46.5] [longitude: 7.2]\n")
    with pytest.raises(RawDataError, match="no_cues"):
        LOGS["dji_srt"].read(path)


def test_subtitles_within_a_film_tell_the_same_flight_on_the_films_clock(tmp_path: Path) -> None:
    texts = [bracketed(i).encode() for i in STEPS]
    packets = [len(text).to_bytes(2, "big") + text for text in texts]
    path = tmp_path / "DJI_0001.MP4"
    path.write_bytes(film([b"\0\0", *packets], track=SUBTITLE, title="DJI.Subtitle", length_s=13.0))
    assert detect(path).name == "dji_film"
    ((log, assembled),) = read_tracks(path)
    assert log.t_s == pytest.approx(np.arange(1.0, 13.0))  # an empty one comes first
    assert assembled.track.enu_m[-1, 1] == pytest.approx(44.0, abs=0.1)
    found = {finding.name for finding in assembled.findings}
    assert "telemetry_in_film" in found
    assert "starts_late" not in found


def test_an_arrow_in_a_films_subtitle_begins_no_other(tmp_path: Path) -> None:
    texts = [f"{bracketed(i)} 00:00:00,000 --> 00:00:09,000".encode() for i in STEPS]
    path = tmp_path / "DJI_0001.MP4"
    path.write_bytes(film([len(t).to_bytes(2, "big") + t for t in texts], track=SUBTITLE, length_s=12.0))
    assert read_tracks(path)[0][0].t_s == pytest.approx(np.arange(12.0))
