"""From logs to tracks: made logs whose tracks are known."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import RawDataError
from pipeline.core.parquet import read_table, table_bytes
from pipeline.formats.logs.log import Log, Series
from pipeline.reading.files import SceneFiles
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.flight.tracks.assemble import AssembledTrack, assemble
from pipeline.worlds.flight.tracks.fixes import distinct, is_place, leaps, quantum_m, strays
from pipeline.worlds.flight.tracks.read import never_flew, track_table
from tests.conftest import REAL_DATA
from tests.formats.logs.fuzzing import check_track

PATH = Path("flight.log")
LAT, LON = 46.5, 7.25
DEG = 1 / 111_163.0  # of a metre to the north at 46.5°
NORTH = 4.0  # m/s


def fly(t: Any, north: Any = None, alt: Any = None, **more: Any) -> Log:
    """A log at times ``t`` that flies north (metres; 4 m/s unless given)."""
    t = np.asarray(t, dtype=float)
    north = np.broadcast_to(NORTH * (t - t[0]) if north is None else np.asarray(north, dtype=float), t.shape)
    alt = np.broadcast_to(540.0 if alt is None else np.asarray(alt, dtype=float), t.shape)
    place = np.column_stack([LAT + north * DEG, np.full(len(t), LON), alt])
    return Log(**{"name": "", "dialect": "made", "clock": "boot", "t_s": t, "lat_lon_alt": place} | more)


def local(t: Any, enu: Any, **more: Any) -> Log:
    return Log(
        **{"name": "", "dialect": "made", "clock": "boot", "t_s": np.asarray(t, float), "enu_m": np.asarray(enu, float)}
        | more
    )


def findings(assembled: AssembledTrack) -> dict[str, tuple[str, float | None]]:
    """Severity and measured value by name."""
    return {f.name: (f.severity, f.measured) for f in assembled.findings}


def named(assembled: AssembledTrack) -> set[str]:
    """Names of the findings that not every made log has."""
    return set(findings(assembled)) - {"no_heading", "no_gimbal", "height_from_first_fix"}


def test_a_line_to_the_north() -> None:
    a = assemble(PATH, fly(np.arange(20) * 0.5 + 100.0, alt=540 + np.arange(20) * 0.25))
    track = a.track
    assert track.t_s.tolist() == (np.arange(20) * 0.5).tolist()
    assert track.enu_m[:, 0] == pytest.approx(0.0, abs=1e-6)
    assert track.enu_m[-1] == pytest.approx([0.0, 38.0, 4.75], abs=5e-3)
    assert track.height_m == pytest.approx(np.arange(20) * 0.25)
    assert track.speed_mps == pytest.approx(np.hypot(4.0, 0.5), rel=1e-3)
    assert np.isnan(track.quat_wxyz).all()
    assert np.isnan(track.heading_deg).all()
    assert set(track.part) == {0}
    assert (a.origin.lat_deg, a.origin.lon_deg, a.origin.alt_m) == (LAT, LON, 540.0)
    assert set(findings(a)) == {"no_heading", "no_gimbal", "height_from_first_fix"}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ((0.0, 0.0), "zero"),
        ((LAT, 0.0), "zero"),
        ((0.0, LON), "zero"),
        ((1e-5, -2e-5), "zero"),
        ((np.nan, LON), "no position"),
        ((np.inf, LON), "outside WGS84"),
        ((91.0, LON), "outside WGS84"),
        ((LAT, 180.5), "outside WGS84"),
        ((LAT + 0.95, LON), "farther than 100 km"),
    ],
)
def test_what_is_no_fix_is_refused_and_counted(bad: tuple[float, float], why: str) -> None:
    log = fly(np.arange(40) * 0.5)
    log.lat_lon_alt[[0, 7], :2] = bad
    a = assemble(PATH, log)
    assert findings(a)["refused_fixes"] == ("note", 0.05)
    assert why in next(f.message for f in a.findings if f.name == "refused_fixes")
    assert len(a.track) == 38
    assert a.track.t_s[0] == 0.5, "time counts from the first sample of the log"
    assert a.track.enu_m[0] == pytest.approx([0, 0, 0], abs=1e-6)
    assert a.track.lat_lon_deg[:, 0].min() >= LAT


def test_a_coordinate_of_0_is_none_where_those_that_are_known_lie_elsewhere() -> None:
    assert is_place(np.array([[0.0, LON]] * 3 + [[LAT, LON]] * 2)).tolist() == [False] * 3 + [True] * 2
    assert is_place(np.array([[0.0, LON], [0.009, LON], [0.009, LON]])).all(), "on the equator"
    assert is_place(np.array([[LAT, 0.0], [LAT, 0.02], [np.nan, np.nan]])).tolist() == [False, True, False]
    assert is_place(np.array([[0.0009, -0.0009], [0.001, 0.001], [0.0009, 0.0011]])).tolist() == [False, True, True]
    assert is_place(np.array([[90.0, 180.0], [-90.1, 0.0], [90.0, -180.1]])).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("way_m", "wait_s", "step_m", "leap"),
    [
        ((310.0, 0.0, 0.0), 2.0, 0.0, False),  # 10 m and 150 m/s
        ((311.0, 0.0, 0.0), 2.0, 0.0, True),
        ((-200.0, 240.0, 0.0), 2.0, 0.0, True),  # 312 m
        ((313.0, 0.0, 0.0), 2.0, 1.0, False),  # and three steps
        ((314.0, 0.0, 0.0), 2.0, 1.0, True),
        ((0.0, 0.0, -110.0), 2.0, 1.0, False),  # up or down 10 m and 50 m/s
        ((0.0, 0.0, -111.0), 2.0, 1.0, True),
        ((0.0, 0.0, 111.0), 2.0, 1.0, True),
    ],
)
def test_no_drone_flies_so_far_by_hand(way_m: tuple[float, ...], wait_s: float, step_m: float, leap: bool) -> None:
    enu_m, t_s = np.array([(5.0, 5, 5), (5.0, 5, 5), np.add(way_m, 5.0)]), np.array([0.0, 1.0, 1.0 + wait_s])
    part = np.zeros(3, dtype=np.intp)
    assert leaps(enu_m, t_s + np.array([1.0, 0, 0]), part, step_m, lag=2).tolist() == [leap], (
        "from the first to the third"
    )
    assert leaps(enu_m, t_s, np.array([0, 0, 1]), step_m, lag=2).tolist() == [False], "of two parts nothing is known"


def test_who_is_alone_far_from_both_is_stray_and_who_goes_on_from_there_is_not() -> None:
    def off(*places_m: float) -> list[int]:
        enu_m = np.zeros((len(places_m), 3))
        enu_m[:, 1] = places_m
        t_s, part = np.arange(len(places_m), dtype=float), np.zeros(len(places_m), dtype=np.intp)
        return np.flatnonzero(strays(enu_m, t_s, part, 0.0)).tolist()

    assert off(0, 0, 900, 0, 0) == [2]
    assert off(0, 900, 0) == [1]
    assert off(900, 0, 0, 0) == [0]
    assert off(0, 0, 0, 900) == [3]
    assert off(0, 0, 900, 900) == [], "it was carried off, and stayed there"
    assert off(0, 900, 0, 900) == [1, 2], "each agrees with the one after the next"
    assert off(0, 900) == []


@pytest.mark.parametrize(("decimals", "step_m"), [(3, 111.2), (4, 11.12), (5, 1.112), (6, 0.0), (2, 111.2)])
def test_the_step_of_coordinates_by_hand(decimals: int, step_m: float) -> None:
    places = np.array([[46.1234567, 7.7654321], [46.2234568, 7.8654322]])
    assert quantum_m(places.round(decimals)) == pytest.approx(step_m, rel=2e-3)
    single = places.astype(np.float32).astype(float)
    assert quantum_m(single) == pytest.approx(2.0**-18 * 111_195, rel=2e-3), "of 24 bits, from 32 degrees on"
    assert quantum_m(np.where(np.arange(2) == 0, single, places)) == 0.0


def test_the_levels_of_two_heights_are_those_of_the_first_5_s() -> None:
    """Six samples, of which the other height is 22 m higher in three: their middle is 11 m off from either half."""
    t_s = np.arange(9.0)
    other = Series(t_s, np.where(np.isin(t_s, (3, 4, 5)), 32.0, 10.0))
    a = assemble(PATH, fly(t_s, height_m=np.full(9, 10.0), heights={"the barometer": other}))
    (told,) = (f for f in a.findings if f.name == "heights_disagree")
    assert (told.measured, told.stretches) == (11.0, ((0.0, 8.0),))


def test_a_fix_the_log_itself_doubts_is_refused() -> None:
    """As an altitude spike from a GPS without a fix."""
    alt = np.full(20, 540.0)
    alt[:4] = 9000.0
    a = assemble(PATH, fly(np.arange(20) * 0.2, alt=alt, usable=np.arange(20) >= 4))
    assert findings(a)["refused_fixes"] == ("note", 0.2)  # nothing of the track lies before its first fix
    assert np.abs(a.track.enu_m[:, 2]).max() < 0.01


@pytest.mark.parametrize(("lost", "share"), [(range(33, 39), 6 / 40), ((0, *range(33, 38), 39), 5 / 38)])
def test_the_share_of_fixes_refused_in_flight_is_that_between_usable_ones(lost: Sequence[int], share: float) -> None:
    a = assemble(PATH, fly(np.arange(40) * 0.5, usable=~np.isin(np.arange(40), lost)))
    assert findings(a)["refused_fixes"] == ("doubt", pytest.approx(share))


def test_fixes_refused_in_flight_cast_doubt_on_their_stretch_alone() -> None:
    lost = np.isin(np.arange(40), (0, 1, 2, 20, 21, 22, 23))
    (finding,) = (f for f in assemble(PATH, fly(np.arange(40) * 0.5, usable=~lost)).findings if "refused" in f.name)
    assert (finding.severity, finding.measured) == ("doubt", pytest.approx(4 / 37))  # from the first fix on
    assert finding.stretches == ((9.5, 12.0),)  # from the fix before to the one after


@pytest.mark.parametrize("column", [True, False])
@pytest.mark.parametrize(("times", "told"), [(2.07, True), (0.96, True), (0.98, False), (1.02, False)])
def test_speeds_that_are_not_those_of_the_positions(column: bool, times: float, told: bool) -> None:
    """One AirSim recording had 2.07 times the speed of its positions, one Karma 1.04 times."""
    t = np.arange(20) * 0.5
    stated = np.full(20, times * NORTH)
    speed = {"speed_mps": stated} if column else {"velocity_mps": np.column_stack([np.zeros(20), stated, np.ones(20)])}
    assembled = assemble(PATH, fly(t, **speed))
    assert ("speed_differs" in findings(assembled)) == told
    if told:
        assert findings(assembled)["speed_differs"] == ("note", pytest.approx(1 / times, rel=1e-2))
    np.testing.assert_allclose(assembled.track.stated_mps, stated)  # over ground, whatever it climbs
    still = findings(assemble(PATH, fly(t, north=np.zeros(20), speed_mps=np.full(20, 1.5))))
    assert "speed_differs" not in still  # of what hardly moves, noise hides the ratio


@pytest.mark.parametrize("said", [0.0, 4 / 100, 3.28 * NORTH, 100 * NORTH])
def test_a_speed_of_another_scale_puts_positions_and_times_in_doubt_and_is_not_the_drones(said: float) -> None:
    velocity = np.column_stack([np.zeros(20), np.full(20, said), np.zeros(20)])
    assembled = assemble(PATH, fly(np.arange(20) * 0.5, velocity_mps=velocity))
    limit = round(2.5 * said, 3)
    (finding,) = (f for f in assembled.findings if f.name == "speed_differs")
    assert (finding.severity, finding.measured, finding.limit) == ("doubt", pytest.approx(4, abs=1e-2), limit)
    assert assembled.track.speed_mps == pytest.approx(4, abs=1e-2)


def test_noise_of_a_few_samples_is_no_scale() -> None:
    t = np.arange(200) * 0.5
    north = np.where(np.isin(np.arange(200), [50, 52, 54, 56, 58]), 6.0, 0.0)  # a receiver on the spot
    found = findings(assemble(PATH, fly(t, north=north, velocity_mps=np.full((200, 3), 0.1))))
    assert found.get("speed_differs", ("note",))[0] == "note"


def test_times_in_another_unit_make_the_path_too_fast() -> None:
    """Seconds under a header that says milliseconds: 4 m each."""
    assert findings(assemble(PATH, fly(np.arange(40) / 1000, north=4.0 * np.arange(40))))["speed_differs"] == (
        "doubt",
        pytest.approx(4000, rel=1e-2),
    )
    assert "speed_differs" not in findings(assemble(PATH, fly(np.arange(40) * 0.5, north=50.0 * np.arange(40))))


@pytest.mark.parametrize(
    ("step_s", "jump_m", "leaps"),
    [(0.1, 4.9, False), (0.1, 5.2, True), (1.0, 9.9, False), (1.0, 10.1, True), (2.0, 39.0, False), (2.0, 41.0, True)],
)
@pytest.mark.parametrize("climb_mps", [0.0, 3.0])
def test_a_change_of_the_altitudes_level_is_no_climb(
    step_s: float, jump_m: float, climb_mps: float, leaps: bool
) -> None:
    """Another kind of fix, or another level of altitudes: 5 m or more at once, at 4 jump / wait² above 40 m/s²."""
    t = np.arange(30) * step_s
    for sense in (1, -1):
        assembled = assemble(PATH, fly(t, alt=540 + climb_mps * t + sense * jump_m * (np.arange(30) >= 15)))
        assert ("reset" in findings(assembled)) is leaps
        assert len(set(assembled.track.part.tolist())) == 1 + leaps


def test_a_hard_brake_is_no_leap() -> None:
    """From 20 m/s to 0 in a second, once a second."""
    north = np.cumsum(np.concatenate([np.full(10, 20.0), [10.0], np.zeros(10)]))
    assert named(assemble(PATH, fly(np.arange(21.0), north=north))) == set()


def test_pitches_beyond_any_gimbals_are_left_out() -> None:
    t = np.arange(20) * 0.5
    for pitch, told in ((np.full(20, -300.0), "gimbal_frame"), (np.where(t == 5, -300.0, -30.0), "gimbal_gaps")):
        assembled = assemble(PATH, fly(t, gimbal_pitch=Series(t, pitch)))
        assert told in findings(assembled)
        assert set(assembled.track.gimbal_pitch_deg[np.isfinite(assembled.track.gimbal_pitch_deg)]) <= {-30.0}


@pytest.mark.parametrize(
    "log", [fly([0, 1], usable=np.zeros(2, bool)), fly([np.nan, np.nan]), fly([0.0], north=np.nan)]
)
def test_no_fix_at_all_is_an_error(log: Log) -> None:
    with pytest.raises(RawDataError) as error:
        assemble(PATH, log)
    assert error.value.finding == "no_fix"
    assert error.value.remedy


def test_null_island_alone_is_an_error() -> None:
    with pytest.raises(RawDataError, match=r"no_fix.*2 × zero"):
        assemble(PATH, fly([0, 1], lat_lon_alt=np.zeros((2, 3))))


@pytest.mark.parametrize(("wait", "parts"), [(4.9, 1), (5.0, 1), (5.1, 2), (400.0, 2)])
def test_a_gap_of_more_than_5_s_parts_the_track(wait: float, parts: int) -> None:
    t = np.concatenate([np.arange(10) * 0.5, 4.5 + wait + np.arange(10) * 0.5])
    a = assemble(PATH, fly(t))
    assert a.track.part[-1] + 1 == parts
    assert a.track.t_s.tolist() == t.tolist()
    assert ("gap" in findings(a)) == (parts == 2)
    if parts == 2:
        assert findings(a)["gap"] == ("note", pytest.approx(wait))
        assert a.track.speed_mps == pytest.approx(NORTH, rel=2e-3), "speeds stop at the gap, on both sides"


def test_refused_fixes_leave_a_gap_that_is_not_bridged() -> None:
    t = np.arange(60) * 0.25
    a = assemble(PATH, fly(t, usable=(t < 3) | (t > 9)))
    assert a.track.part.tolist() == [0] * 12 + [1] * 23
    assert findings(a)["gap"][1] == pytest.approx(6.5)


def test_a_clock_that_jumps_back_parts_the_track_and_time_goes_on() -> None:
    t = np.concatenate([np.arange(10) * 0.5, 1.0 + np.arange(10) * 0.5])
    a = assemble(PATH, fly(t, north=np.arange(20.0)))
    assert (np.diff(a.track.t_s) > 0).all()
    assert a.track.t_s[-1] == pytest.approx(19 * 0.5)
    assert a.track.part.tolist() == [0] * 10 + [1] * 10
    assert findings(a)["clock_jump"] == ("doubt", pytest.approx(3.5))


@pytest.mark.parametrize("before", [0.0, 12.0])
@pytest.mark.parametrize("day", [1_700_000_000.0, 315_964_800.0, 90_000.0])
def test_a_leap_from_epoch_0_makes_no_track_of_50_years(before: float, day: float) -> None:
    t = np.concatenate([before + np.arange(4) * 0.5, day + np.arange(20) * 0.5])
    a = assemble(PATH, fly(t, north=np.arange(24.0)))
    assert a.track.t_s[-1] == pytest.approx(23 * 0.5)
    assert a.track.part.tolist() == [0] * 4 + [1] * 20
    assert findings(a)["epoch_leap"][0] == "doubt"


def test_one_time_out_of_line_is_left_out() -> None:
    t = np.arange(20) * 0.5
    t[7], t[12] = 3000.0, 0.1
    a = assemble(PATH, fly(t, north=np.arange(20.0)))
    assert a.track.t_s.tolist() == [0.5 * i for i in range(20) if i not in (7, 12)]
    assert named(a) == {"stray_times"}
    assert set(a.track.part) == {0}


def test_a_time_that_comes_twice_is_used_once() -> None:
    a = assemble(PATH, fly([0, 1, 1, 1, 2], north=[0, 4, 5, 6, 8]))
    assert a.track.t_s.tolist() == [0, 1, 2]
    assert findings(a)["repeated_times"] == ("note", 2)


def test_a_part_begins_where_the_reader_says_so_even_at_a_refused_fix() -> None:
    begins = np.zeros(10, bool)
    begins[4] = True
    usable = np.ones(10, bool)
    usable[4] = False
    a = assemble(PATH, fly(np.arange(10.0), begins=begins, usable=usable))
    assert a.track.part.tolist() == [0] * 4 + [1] * 5


def test_50_hz_cues_over_7_hz_fixes_have_no_staircase() -> None:
    t = np.arange(3000) / 50
    fixed = np.floor(t * 7 + 1e-9) / 7
    a = assemble(PATH, fly(t, north=NORTH * fixed))
    assert findings(a)["repeated_fixes"] == ("note", pytest.approx(1 - 7 / 50, abs=0.01))
    assert "7.1 Hz" in next(f.message for f in a.findings if f.name == "repeated_fixes")
    assert len(a.track) == pytest.approx(420, abs=2)
    # A fix is known to the cue, 20 ms; over a second that is at most 4% of the speed.
    assert a.track.speed_mps == pytest.approx(NORTH, rel=0.045)
    naive = np.abs(np.diff(NORTH * fixed)) * 50
    assert naive.max() > 25, "differences of cues would have said 28 m/s, or 0"
    assert a.track.t_s[-1] > t[-1] - 1 / 7


def test_a_hover_is_kept_and_the_turn_in_it_too() -> None:
    t = np.arange(0, 30, 0.1)
    north = NORTH * np.clip(t, 0, 10)
    turned = Series(t, np.clip((t - 15) * 18, 0, 90))
    a = assemble(PATH, fly(t, north=north, heading=turned))
    hover = a.track.t_s > 10.5
    assert np.diff(a.track.t_s).max() <= 0.3
    assert a.track.t_s[-1] == pytest.approx(29.9)
    assert a.track.speed_mps[hover & (a.track.t_s < 29.5)] == pytest.approx(0.0, abs=1e-6)
    at_17 = np.argmin(np.abs(a.track.t_s - 17.0))
    assert a.track.heading_deg[at_17] == pytest.approx(18 * (a.track.t_s[at_17] - 15))


def test_of_a_stillness_five_moments_a_second_are_kept_from_its_first_on() -> None:
    """Three seconds at 10 Hz on one spot, on a clock that began elsewhere, then a move: every other, and the last."""
    enu_m = np.zeros((32, 3))
    enu_m[31, 1] = 5
    t_s = 100.05 + np.arange(32) / 10
    keep, rate_hz = distinct(enu_m, t_s, np.zeros(32, dtype=np.intp), 0.1)
    assert np.flatnonzero(keep).tolist() == [*range(0, 31, 2), 31]
    assert np.isnan(rate_hz), "there was no move between two moves"


def test_steps_that_were_taken_on_the_spot_are_kept() -> None:
    label = np.array(["turn left"] * 3 + ["fly forward", ""], dtype=object)
    a = assemble(PATH, local(range(5), [[0, 0, 0]] * 4 + [[0, 9, 0]], label=label, clock="step"))
    assert a.track.label.tolist() == label.tolist()
    assert "step_clock" in findings(a)


@pytest.mark.parametrize(("decimals", "step_m", "severity"), [(4, 11.1, "doubt"), (5, 1.11, "note")])
def test_coarse_coordinates_are_said(decimals: int, step_m: float, severity: str) -> None:
    t = np.arange(600) * 0.1
    log = fly(t)
    log.lat_lon_alt[:, :2] = np.round(log.lat_lon_alt[:, :2], decimals)
    a = assemble(PATH, log)
    assert findings(a)["quantised"] == (severity, pytest.approx(step_m, rel=0.01))
    inside = (a.track.t_s > 6) & (a.track.t_s < 53)
    assert a.track.speed_mps[inside] == pytest.approx(NORTH, abs=1.5)


def test_what_was_logged_leaves_no_gap() -> None:
    """Coordinates of four decimals at 1 m/s stay the same for 11 s, and the track does not wait so long."""
    log = fly(np.arange(60.0), north=np.arange(60.0))
    log.lat_lon_alt[:, :2] = np.round(log.lat_lon_alt[:, :2], 4)
    a = assemble(PATH, log)
    assert np.diff(a.track.t_s).max() <= 5
    assert set(a.track.part) == {0}


def test_seven_decimals_are_no_finding() -> None:
    assert "quantised" not in findings(assemble(PATH, fly(np.arange(20) * 0.5)))


def test_a_position_reset_parts_the_track() -> None:
    t = np.arange(40) * 0.1
    a = assemble(PATH, fly(t, north=NORTH * t + 500 * (t > 1.95)))
    assert a.track.part.tolist() == [0] * 20 + [1] * 20
    assert findings(a)["reset"] == ("doubt", pytest.approx(500, abs=2))
    assert a.track.speed_mps == pytest.approx(NORTH, rel=0.01)


@pytest.mark.parametrize("at", [0, 17, 39])
def test_one_position_far_off_is_left_out(at: int) -> None:
    t = np.arange(40) * 0.1
    spike = np.zeros(40)
    spike[at] = 3000.0
    for log in (fly(t, north=NORTH * t + spike), fly(t, alt=540 + spike / 10)):
        a = assemble(PATH, log)
        assert len(a.track) == 39
        assert findings(a)["stray_fixes"] == ("note", 1)
        assert np.abs(a.track.enu_m[0]).max() < 1e-6, "the frame begins at the first fix that is left"
        assert a.track.speed_mps == pytest.approx(NORTH, rel=0.01)


def test_headings_turn_the_short_way_and_reach_1_s() -> None:
    heading = Series(np.array([0.0, 1.0, 2.0, 8.0]), np.array([350.0, 10.0, 20.0, 90.0]))
    a = assemble(PATH, fly([0, 0.5, 1.0, 2.9, 3.1, 6.9, 7.2, 8.5], heading=heading))
    expected = [350.0, 0.0, 10.0, 20.0, np.nan, np.nan, 90.0, 90.0]
    assert a.track.heading_deg == pytest.approx(expected, nan_ok=True)
    assert findings(a)["heading_gaps"] == ("note", 0.25)


def test_attitudes_are_interpolated_and_give_the_heading() -> None:
    """Body FLU to ENU: the unit quaternion faces east; a turn of 90° about up faces north."""
    half = np.sqrt(0.5)
    attitude = Series(np.array([0.0, 1.0]), np.array([[1.0, 0, 0, 0], [-half, 0, 0, -half]]))
    a = assemble(PATH, fly([0.0, 0.5, 1.0], attitude=attitude))
    assert a.track.heading_deg == pytest.approx([90.0, 45.0, 0.0])
    assert np.abs(a.track.quat_wxyz[1]) == pytest.approx([np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])


def test_a_nose_that_points_up_has_no_heading() -> None:
    half = np.sqrt(0.5)
    up = Series(np.array([0.0, 1.0]), np.array([[half, 0, -half, 0]] * 2))
    assert np.isnan(assemble(PATH, fly([0.0, 1.0], attitude=up)).track.heading_deg).all()


@pytest.mark.parametrize(("lies", "left_out"), [(1, False), (2, True)])
def test_attitudes_on_the_back_are_left_out(lies: int, left_out: bool) -> None:
    """In one of three samples, or in two: [w, x, y, z] as [z, w, x, y] of a drone that is upright."""
    attitude = Series(np.arange(3.0), np.array([[0.0, 1.0, 0.0, 0.0]] * lies + [[1.0, 0.0, 0.0, 0.0]] * (3 - lies)))
    a = assemble(PATH, fly([0.0, 1.0, 2.0], attitude=attitude))
    assert np.isnan(a.track.heading_deg).all() == left_out
    assert (findings(a).get("attitude_leans") == ("doubt", pytest.approx(180.0))) == left_out


def test_after_a_clock_jump_attitudes_belong_to_their_own_run() -> None:
    t = np.array([0.0, 1, 2, 3, 0, 1, 2, 3])
    heading = Series(t, np.array([10.0] * 4 + [200.0] * 4))
    a = assemble(PATH, fly(t, north=np.arange(8.0) * 3, heading=heading))
    assert a.track.heading_deg == pytest.approx([10.0] * 4 + [200.0] * 4)


def test_gimbal_and_logged_velocity() -> None:
    velocity = np.array([[3.0, 0, 4.0], [np.nan] * 3, [0, 0, 0]])
    gimbal = Series(np.array([0.0, 2.0]), np.array([-90.0, -30.0]))
    a = assemble(PATH, fly([0, 1, 2], velocity_mps=velocity, gimbal_pitch=gimbal))
    assert a.track.speed_mps == pytest.approx([5.0, NORTH, 0.0], rel=1e-3)
    assert a.track.gimbal_pitch_deg == pytest.approx([-90, -60, -30])
    assert "no_gimbal" not in findings(a)


def test_local_positions_make_the_path_and_wgs84_places_it() -> None:
    t = np.arange(20) * 0.5
    noise = np.where(np.arange(20) % 2, 1.5, -1.5)
    enu = np.column_stack([np.full(20, 7.0), 100 + NORTH * t, 30 + 0 * t])
    a = assemble(PATH, fly(t, north=NORTH * t + noise, enu_m=enu))
    assert a.track.enu_m[:, 1] == pytest.approx(NORTH * t)
    assert a.track.enu_m[:, [0, 2]] == pytest.approx(0.0)
    assert a.origin.lat_deg == pytest.approx(LAT - 1.5 * DEG)
    assert a.track.height_m == pytest.approx(0.0)


def test_local_positions_alone_have_no_origin() -> None:
    a = assemble(PATH, local([0, 1, 2], [[5, 5, 5], [5, 9, 5], [5, 13, 6]]))
    assert a.origin is None
    assert a.track.enu_m.tolist() == [[0, 0, 0], [0, 4, 0], [0, 8, 1]]
    assert np.isnan(a.track.lat_lon_deg).all()


def test_wgs84_wins_where_local_positions_part_from_it() -> None:
    t = np.arange(40) * 0.5
    enu = np.column_stack([0 * t, 3 * NORTH * t, 0 * t])
    a = assemble(PATH, fly(t, enu_m=enu))
    assert findings(a)["positions_disagree"][0] == "doubt"
    assert a.track.enu_m[-1, 1] == pytest.approx(NORTH * t[-1], rel=1e-3)


def test_heights() -> None:
    """As logged; else above the first fix; without altitudes the path is flat and the height is not known."""
    t = np.arange(5.0)
    logged = assemble(PATH, fly(t, alt=540 + t, height_m=10 + t))
    assert logged.track.height_m.tolist() == [10, 11, 12, 13, 14]
    assert "height_from_first_fix" not in findings(logged)
    barometer = assemble(PATH, fly(t, alt=np.nan, height_m=10 + t))
    assert barometer.track.enu_m[:, 2] == pytest.approx(t, abs=1e-4)
    assert barometer.origin.alt_m is None
    flat = assemble(PATH, fly(t, alt=0.0))
    assert findings(flat)["no_altitude"][0] == "doubt"
    assert np.isnan(flat.track.height_m).all()
    assert flat.track.enu_m[:, 2] == pytest.approx(0.0, abs=1e-4)
    alt = 540 + t
    alt[2] = np.nan
    holed = assemble(PATH, fly(t, alt=alt))
    assert holed.track.t_s.tolist() == [0, 1, 3, 4]
    (refused,) = (f for f in holed.findings if f.name == "refused_altitudes")
    assert (refused.measured, refused.limit, refused.unit) == (pytest.approx(0.2), 0.0, "share")


def test_a_local_clock_is_said() -> None:
    assert findings(assemble(PATH, fly([0, 1], clock="local")))["local_clock"][0] == "note"


@pytest.mark.slow
def test_an_hour_at_50_hz_takes_less_than_a_second() -> None:
    t = np.arange(180_000) / 50
    quat = np.tile([1.0, 0, 0, 0], (len(t), 1))
    log = fly(t, north=1000 * np.sin(t / 300), attitude=Series(t, quat), gimbal_pitch=Series(t, -30 + 0 * t))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        assert len(assemble(PATH, log).track) == len(t)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1.0


numbers = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.floats(-200, 200), st.just(0.0))


@pytest.mark.slow
@given(
    st.lists(st.tuples(numbers, numbers, numbers, numbers, numbers, st.booleans(), st.booleans()), max_size=12),
    st.booleans(),
)
def test_any_numbers_give_a_track_or_no_fix(rows: list[tuple[Any, ...]], near: bool) -> None:
    values = np.array([row[:5] for row in rows], dtype=float).reshape(-1, 5)
    if near:
        values[:, 1:3] = np.array([LAT, LON]) + np.clip(np.nan_to_num(values[:, 1:3]), -1, 1) * 1e-3
    t = values[:, 0]
    log = fly(
        np.append(t, 1.0),
        north=0.0,
        lat_lon_alt=np.vstack([values[:, 1:4], [LAT, LON, 5.0]]),
        usable=np.array([row[5] for row in rows] + [True]),
        begins=np.array([row[6] for row in rows] + [False]),
        heading=Series(t, values[:, 4]) if len(t) else None,
    )
    try:
        a = assemble(PATH, log)
    except RawDataError:
        pass  # the last row may be refused with the others, as too far from them
    else:
        check_track(a.track, 12 * 6 * 3600.0)


def test_the_table_has_null_for_what_is_not_known_and_the_same_bytes_each_time() -> None:
    quat = Series(np.array([0.0]), np.array([[1.0, 0, 0, 0]]))
    track = assemble(PATH, fly([0, 3, 6], attitude=quat)).track
    table = track_table(track)
    assert table.column_names == [
        "t_s",
        "east_m",
        "north_m",
        "up_m",
        "lat_deg",
        "lon_deg",
        "height_m",
        "speed",
        "quat_wxyz",
        "heading_deg",
        "gimbal_pitch_deg",
        "part",
    ]
    raw = table_bytes(table)
    assert raw == table_bytes(track_table(track))
    back = read_table(raw)
    assert back["quat_wxyz"].to_pylist() == [[1.0, 0.0, 0.0, 0.0], None, None]
    assert back["heading_deg"].to_pylist() == [90.0, None, None]
    assert back["gimbal_pitch_deg"].null_count == 3
    assert str(back.schema.field("part").type) == "int32"
    assert back.schema.field("up_m").metadata[b"unit"] == b"m"


def test_times_of_the_table_count_from_the_first_sample_to_the_microsecond() -> None:
    track = assemble(PATH, local([0, 1], [[0, 0, 0], [0, 3, 0]])).track
    later = replace(track, t_s=np.array([5.0, 6.12345678]))
    assert track_table(later)["t_s"].to_pylist() == [0.0, 1.123457]


def test_the_table_has_labels_where_the_log_has() -> None:
    label = np.array(["turn left", ""], dtype=object)
    track = assemble(PATH, local([0, 1], [[0, 0, 0], [0, 3, 0]], label=label)).track
    assert track_table(track)["label"].to_pylist() == ["turn left", ""]


T = np.arange(20) * 0.5


@pytest.mark.parametrize(
    ("more", "grounded"),
    [
        ({"height_m": np.linspace(0.0, 0.9, 20)}, True),
        ({"height_m": np.linspace(0.0, 1.1, 20)}, False),
        ({"height_m": np.linspace(-4.7, -2.4, 20)}, False),  # flown below the place of take-off
        ({}, False),  # heights from the first position: it may hover
        ({"height_m": np.linspace(0.0, 50.0, 20), "grounded": "it is a rover"}, True),  # on a hill
    ],
)
def test_height_and_kind_tell(more: dict[str, Any], grounded: bool) -> None:
    log = fly(T, **more)
    assert (never_flew(log, assemble(PATH, log).track) is not None) == grounded


@pytest.mark.real_data
def test_the_real_drone_that_was_never_armed_is_left_out_by_name(tmp_path: Path) -> None:
    log = REAL_DATA / "flights" / "tlog" / "flight_first_600kB.tlog"
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "log.tlog").write_bytes(log.read_bytes())
    (ref,) = Flights().scenes(tmp_path).scenes
    with pytest.raises(RawDataError) as error:
        Flights().read(SceneFiles(tmp_path, ref))
    assert error.value.finding == "never_flew"
    assert "233 heartbeats" in error.value.message


def test_a_clock_that_is_none_is_refused_as_the_log_is_made() -> None:
    with pytest.raises(ValueError, match="the clock of a log is 'unix', none of boot, utc, local"):
        Log(name="", dialect="plain", clock="unix", t_s=np.arange(3.0))  # type: ignore[arg-type]
