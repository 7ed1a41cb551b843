"""Telemetry in GoPro's films: real ones against their makers' numbers, made ones by hand, and hostile ones."""

import json
import struct
import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.film_tracks import _first_picture_s
from pipeline.formats.logs.gpmf import Gpmf
from pipeline.formats.logs.klv import STREAMS_MAX, read_payload
from pipeline.formats.logs.log import Log
from pipeline.formats.logs.registry import detect
from pipeline.worlds.flight.tracks.assemble import assemble
from tests.conftest import REAL_DATA
from tests.environment import pace, times
from tests.formats.logs.made_films import SUBTITLE, device, film, gps5, gps9, karma, klv, nested, stream
from tests.formats.logs.made_logs import read_log, survives

CAPTURES = REAL_DATA / "captures"
KARMA = CAPTURES / "gpmf_karma" / "karma.mp4"
RAW = CAPTURES / "gpmf_raw"


read = partial(read_log, Gpmf(), name="film.mp4")


def names(log: Log) -> dict[str, float | None]:
    return {finding.name: finding.measured for finding in log.findings}


def north(first: int, count: int, fix_rate: int = 10) -> list[tuple[float, ...]]:
    """Positions to the north, 1.11 m each, 30 m above the ellipsoid."""
    return [(52.0 + 1e-5 * (first + i), 4.0, 30.0 + 0.1 * (first + i), 11.1, 11.1) for i in range(count)]


# Real


@pytest.mark.real_data
def test_a_karma_flight_is_told_on_the_clock_of_its_film() -> None:
    (log,) = Gpmf().read(KARMA)
    assert (log.dialect, log.clock) == ("GoPro Karma v1.0: GLPI, ATTD, LNED, GPRI, SYST", "video")
    assert len(log.t_s) == 47
    # Boot time 146.071 s; packets leave 7 ms of play between the two clocks.
    assert log.t_s[0] == pytest.approx(146.071 - 145.8375, abs=0.004)
    assert np.diff(log.t_s) == pytest.approx(0.252, abs=0.006)
    assert log.t_s[-1] < 12.079  # not the 13.013 s that its packets claim
    np.testing.assert_allclose(log.lat_lon_alt[0], (33.1253688, -117.3310668, 15.711), atol=1e-7)
    assert log.height_m[[0, -1]].tolist() == [2.003, 2.515]
    track = assemble(KARMA, log).track
    assert track.heading_deg[0] == pytest.approx(331.561, abs=0.01)  # ATTD, as GLPI's own 331.56
    # A second way: the nose points along the path, 81 m of it, within 5 degrees once it is fast.
    course = np.degrees(np.arctan2(*np.diff(track.enu_m[15:, :2], axis=0).T)) % 360.0
    assert np.abs(course - track.heading_deg[16:]).max() < 5.0
    assert np.hypot(*np.diff(track.enu_m[:, :2], axis=0).T).sum() == pytest.approx(81.1, abs=0.1)
    assert {"telemetry_in_film"} == set(names(log))
    assert "2017-04-17 19:27:57" in log.findings[0].message  # the film's own creation_time


@pytest.mark.real_data
def test_every_real_payload_is_read_or_refused_for_its_reason() -> None:
    told = {}
    for path in [*sorted(RAW.glob("*.raw")), RAW / "gopro2gpx_hero13.bin"]:
        assert detect(path).name == "gpmf"
        try:
            (log,) = Gpmf().read(path)
            told[path.name] = (len(log.t_s), log.clock, None if log.usable is None else int(log.usable.sum()))
        except RawDataError as error:
            told[path.name] = error.finding
    assert told == {
        "consecutive1.raw": (41, "utc", 0),
        "consecutive2.raw": (59, "utc", 0),
        "gopro2gpx_hero13.bin": (407, "utc", 407),
        "hero5.raw": (18, "none", 18),
        "hero6+ble.raw": (18, "none", 0),
        "hero6.raw": (17, "none", 0),
        "hero7.raw": (308, "utc", 308),
        "mp4header.raw": "no_position",
    }


@pytest.mark.real_data
def test_values_are_those_of_gopro_telemetry() -> None:
    merged = json.loads((RAW / "expected" / "mergedGps.json").read_text())["1"]["streams"]["GPS5"]["samples"]
    (log,) = Gpmf().read(RAW / "hero5.raw")
    np.testing.assert_allclose(log.lat_lon_alt, [sample["value"][:3] for sample in merged], atol=1e-9)
    np.testing.assert_allclose(log.speed_mps, [sample["value"][3] for sample in merged], atol=1e-9)
    assert log.ellipsoidal
    assert names(log)["poor_fix"] == pytest.approx(6.06)
    oracle = json.loads((RAW / "expected" / "interpreted.json").read_text())["1"]["DEVC"][0]["STRM"][0]["ACCL"]
    payload = read_payload((RAW / "hero6+ble.raw").read_bytes(), frozenset({"ACCL", "acc1"}))
    (accelerations,) = (one.values for one in payload.streams if one.key == "ACCL")
    # Its axes are put in the order z, x, y; one of them is turned round.
    np.testing.assert_allclose(accelerations[:, [2, 1, 0]] * (1, -1, 1), oracle, atol=1e-9)
    assert not payload.damages


@pytest.mark.real_data
def test_a_hero13_has_a_time_for_each_position_and_heights_above_the_sea() -> None:
    (log,) = Gpmf().read(RAW / "gopro2gpx_hero13.bin")
    assert not log.ellipsoidal
    assert log.t_s[0] == pytest.approx(1739099652.799, abs=1e-3)  # 2025-02-09 11:14:12.799 UTC
    assert log.lat_lon_alt[0].tolist() == pytest.approx([48.8079112, 9.3539981, 258.046])
    # 2 Hz over 203 s, as the camera's own stamps say; a path of 317 m beside 304 m by its speeds.
    assert np.median(np.diff(log.t_s)) == pytest.approx(0.5, abs=1e-6)
    assert np.ptp(log.t_s) == pytest.approx(202.6, abs=1e-3)
    assert float((log.speed_mps[1:] * np.diff(log.t_s)).sum()) == pytest.approx(304, abs=1)


@pytest.mark.slow
@pytest.mark.real_data
def test_no_damage_to_real_payloads_is_too_much(tmp_path: Path) -> None:
    counts = survives(Gpmf(), (RAW / "hero7.raw").read_bytes()[:26000], tmp_path)
    assert counts["track"] > 300
    assert counts["refused"] > 20


# Made


def test_a_cameras_samples_are_spread_over_their_packets(tmp_path: Path) -> None:
    log = read(film([device("Hero7", gps5(north(10 * k, 10))) for k in range(4)]), tmp_path)
    assert log.t_s == pytest.approx(np.arange(40) / 10)
    assert log.clock == "video"
    track = assemble(tmp_path, log).track
    assert track.height_m[-1] == pytest.approx(3.9)  # an altitude above the ellipsoid still tells a climb
    assert assemble(tmp_path, log).origin.alt_m is None


def test_the_last_packet_claims_more_time_than_it_has_samples(tmp_path: Path) -> None:
    packets = [device("Hero7", gps5(north(10 * k, 10))) for k in range(3)] + [device("Hero7", gps5(north(30, 2)))]
    assert read(film(packets), tmp_path).t_s[-2:] == pytest.approx([3.0, 3.1])


def test_what_an_edit_takes_from_the_beginning_is_before_the_film(tmp_path: Path) -> None:
    log = read(film([device("Hero7", gps5(north(10 * k, 10))) for k in range(4)], skipped_s=0.5), tmp_path)
    assert log.t_s[[0, -1]] == pytest.approx([-0.5, 3.4])


def test_an_aircrafts_clock_is_put_where_all_its_samples_fit_their_packets(tmp_path: Path) -> None:
    # Switched on 100 s before the film; samples at 0.10, 0.35, 0.60, 0.85 s of each second: the play is 0.25 s.
    log = read(film([karma([100.1 + k + 0.25 * i for i in range(4)]) for k in range(4)]), tmp_path)
    assert log.t_s == pytest.approx(np.arange(16) / 4 + 0.125)
    assert "clocks_apart" not in names(log)


def test_an_aircrafts_clock_that_leaves_its_packets_is_in_doubt(tmp_path: Path) -> None:
    log = read(film([karma([100.1 + 3 * k + 0.25 * i for i in range(4)]) for k in range(4)]), tmp_path)
    assert names(log)["clocks_apart"] > 0.5


def test_positions_without_a_fix_are_refused_and_poor_ones_doubted(tmp_path: Path) -> None:
    packets = [device("Hero6", gps5(north(10 * k, 10), fix=fix, dop=dop)) for k, (fix, dop) in enumerate(
        [(0, 9999), (3, 150), (3, 606), (2, 150)]
    )]  # fmt: skip
    log = read(film(packets), tmp_path)
    assert log.usable.tolist() == [False] * 10 + [True] * 20 + [False] * 10
    assert names(log)["poor_fix"] == pytest.approx(6.06)  # not the 99.99 of what is refused anyway
    assert np.flatnonzero(log.marks["poor_fix"]).tolist() == list(range(20, 30))


def test_gps9_follows_its_own_clock_while_the_film_runs_as_fast(tmp_path: Path) -> None:
    def rows(k: int, pace: float) -> list[tuple[float, ...]]:
        return [(*row, 9000, 100.0 + pace * (k + 0.05 + i / 4), 1.5, 3) for i, row in enumerate(north(4 * k, 4))]

    log = read(film([device("Hero11", gps9(rows(k, 1.0))) for k in range(12)], length_s=12.0), tmp_path)
    assert np.diff(log.t_s) == pytest.approx(0.25)
    assert not log.ellipsoidal
    assert "pace" not in names(log)
    lapse = read(film([device("Hero11", gps9(rows(k, 10.0))) for k in range(12)], length_s=12.0), tmp_path)
    assert names(lapse)["pace"] == pytest.approx(10.0, rel=0.01)
    assert lapse.t_s[-1] < 12.0


@pytest.mark.parametrize(("pace", "told"), [(1.0, None), (8.0, 8.0)])
def test_a_film_that_runs_faster_than_its_receiver_is_in_doubt(pace: float, told: float | None, tmp_path: Path) -> None:
    packets = [device("Hero7", gps5(north(0, 10), fix=0, dop=9999, utc="150101000000.000"))]  # its clock is not set yet
    for k in range(1, 13):
        utc = (
            f"2405171011{10 + pace * k % 40:06.3f}" if pace == 1.0 else f"24051710{10 + k * 8 // 60}{k * 8 % 60:06.3f}"
        )
        packets.append(device("Hero7", gps5(north(10 * k, 10), utc=utc)))
    found = names(read(film(packets, length_s=13.0), tmp_path))
    assert found.get("pace") == (told if told is None else pytest.approx(told, rel=0.01))


def test_a_clock_without_a_fix_counts_for_nothing(tmp_path: Path) -> None:
    rows = [(*row, 9000, 100.05 + i / 4, 1.5, 3) for i, row in enumerate(north(0, 32))]
    rows[:4] = [(*row[:5], 0, 7.0, 99.0, 0) for row in rows[:4]]
    log = read(film([device("Hero11", gps9(rows[4 * k : 4 * k + 4])) for k in range(8)], length_s=8.0), tmp_path)
    assert np.isnan(log.t_s[:4]).all()
    assert np.diff(log.t_s[4:]) == pytest.approx(0.25)
    assert log.t_s[4] == pytest.approx(1.125)  # within the play of its packet
    assert len(assemble(tmp_path, log).track) == 28


def test_two_films_of_one_flight_each_count_from_their_own_beginning(tmp_path: Path) -> None:
    for first in (0, 40):
        log = read(film([device("Hero7", gps5(north(first + 10 * k, 10))) for k in range(4)]), tmp_path)
        assert log.t_s[0] == 0.0


def test_the_device_with_most_samples_counts_and_the_aircraft_before_the_camera(tmp_path: Path) -> None:
    packets = [device("A", gps5(north(10 * k, 3))) + device("B", gps5(north(10 * k, 10))) for k in range(4)]
    assert read(film(packets), tmp_path).dialect == "B: GPS5"
    both = [device("A", gps5(north(10 * k, 10))) + karma([9.1 + k + 0.25 * i for i in range(4)]) for k in range(4)]
    assert read(film(both), tmp_path).dialect.startswith("GoPro Karma v1.0: GLPI")


def test_a_film_without_telemetry_names_its_tracks_and_what_helps(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    for title, remedy in (("DJI meta", "djmd"), ("Timed Metadata Media Handler", "Sony"), ("other", "log.*")):
        path.write_bytes(film([b"\x0a\x10made of something else"] * 3, title=title))
        with pytest.raises(RawDataError) as caught:
            detect(path)
        assert caught.value.finding == "no_telemetry"
        assert title in caught.value.message
        assert remedy in caught.value.remedy
    path.write_bytes(film([]) + b"8db42d694ccc418790edff439fe026bf")
    with pytest.raises(RawDataError, match="Insta360"):
        detect(path)


# Hostile

PLACE = gps5(north(0, 10))


def test_deep_nesting_is_no_recursion() -> None:
    raw = PLACE
    for _ in range(2000):
        raw = nested("DEVC", raw)[:65543] if len(raw) < 60000 else raw
    payload = read_payload(raw, frozenset({"GPS5"}))
    assert not payload.streams
    assert payload.damages


def test_damage_ends_the_stream_it_is_in_and_no_other() -> None:
    wrong = {
        "a length beyond the end": struct.pack(">4scBH", b"GPS5", b"l", 20, 60000),
        "no FourCC": b"\xff\x01\x02\x03" + bytes(12),
        "a structure of no bytes": klv("SCAL", "l", 4, struct.pack(">i", 1)) + klv("GPS5", "l", 0, b""),
        "a type that there is not": klv("GPS5", "z", 20, bytes(20)),
        "a scale for other columns": klv("SCAL", "l", 4, bytes(8)) + klv("GPS5", "l", 20, bytes(20)),
        "a type longer than its structure": klv("TYPE", "c", 1, b"l[999]") + klv("GPS5", "?", 20, bytes(20)),
        "a type that is no text": klv("TYPE", "c", 1, b"\xff[") + klv("GPS5", "?", 20, bytes(20)),
    }
    for what, items in wrong.items():
        payload = read_payload(device("Hero7", nested("STRM", items), PLACE), frozenset({"GPS5"}))
        assert [len(one.values) for one in payload.streams] == [10], what
        assert len(payload.damages) == 1, what


def test_a_scale_of_zero_gives_no_number() -> None:
    rows = [(52.0, 4.0, 30.0, 1.0, 1.0)]
    raw = stream("GPS5", "lllll", (10**7, 10**7, 1000, 1000, 100), rows).replace(struct.pack(">i", 1000), bytes(4), 1)
    (one,) = read_payload(device("Hero7", raw), frozenset({"GPS5"})).streams
    assert np.isnan(one.values[0, 2])
    assert one.values[0, 0] == pytest.approx(52.0)


def test_many_small_streams_cost_no_more_than_they_may() -> None:
    one = nested("STRM", klv("GPS5", "l", 20, bytes(20)))
    start = time.process_time()
    payload = read_payload(nested("DEVC", *[one] * 1700) * 40, frozenset({"GPS5"}))
    assert len(payload.streams) == STREAMS_MAX
    assert time.process_time() - start < 5 * pace()


def test_a_packet_larger_than_any_cameras_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.formats.logs.film_tracks.PACKET_BYTES_MAX", 100)
    with pytest.raises(RawDataError, match="track_too_large"):
        read(film([device("Hero7", PLACE)]), tmp_path)


def test_a_film_begins_with_its_first_picture() -> None:
    """Two seconds after its container's clock; 0 where there is none, or it does not say."""
    told = SimpleNamespace(start_time=1024, time_base=Fraction(1, 512), frames=9, disposition=0)
    unsaid = SimpleNamespace(start_time=None, time_base=Fraction(1, 512), frames=9, disposition=0)
    found = [_first_picture_s(SimpleNamespace(streams=SimpleNamespace(video=own))) for own in ([told], [unsaid], [])]
    assert found == [2.0, 0.0, 0.0]


CUES = [f"[latitude: {52 + 1e-5 * k:.6f}] [longitude: 4.360000] [rel_alt: {5 + k}.0 abs_alt: 20.0]" for k in range(9)]
FILMS = {
    "gpmf": lambda: film([device("Hero7", gps5(north(10 * k, 10))) for k in range(2)], length_s=0.3),
    "dji_film": lambda: film(
        [len(cue).to_bytes(2, "big") + cue.encode() for cue in CUES], track=SUBTITLE, length_s=0.3
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILMS)
def test_no_damage_to_a_film_is_too_much(name: str, tmp_path: Path) -> None:
    whole = FILMS[name]()
    rng, path = np.random.default_rng(7), tmp_path / "film.mp4"
    refused = 0
    for number in range(times(20, 200)):
        changed = bytearray(whole)
        if number % 2:
            changed = changed[: int(rng.integers(1, len(whole)))]
        for at in rng.integers(0, len(changed), 1 + 7 * (number % 2 == 0)):
            changed[at] = int(rng.integers(0, 256))
        path.write_bytes(changed)
        try:
            logs = detect(path).read(path)
            assert all(np.isfinite(assemble(path, log).track.enu_m).all() for log in logs)
        except RawDataError as error:
            refused += bool(error.finding and error.remedy)
    assert times(8, 100) < refused < times(20, 200)
