"""What a log states twice: each doubt for the corruption that it names, none for the flight as it is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt
from pipeline.formats.logs.frames import flu_to_enu, quaternion
from pipeline.formats.logs.log import Log, Series
from pipeline.worlds.flight.tracks.assemble import assemble
from pipeline.worlds.flight.tracks.clock import GAP_S, LEAP_S, about, straighten, timed
from pipeline.worlds.flight.tracks.consistency import _explained, _means, _steadied, velocity_axes

TIMES_S: FloatArray = np.arange(120, dtype=np.float64) * 0.5  # s
YAW = np.radians(
    np.where(TIMES_S < 20, 30.0, np.where(TIMES_S < 40, 30 + 18 * (TIMES_S - 20), 30.0))
)  # a full turn in the middle


def flight(off_deg: float = 0.0) -> Log:
    """A drone that flies a leg, a circle and a leg at 6 m/s, its nose ``off_deg`` left of its course, and climbs 30 m.

    It leans 0.01 rad for each m/s and 1/g for each m/s².
    """
    speed = 6.0 * np.column_stack([np.sin(YAW), np.cos(YAW)])
    change = np.gradient(speed, 0.5, axis=0)
    lean = 0.01 * speed + change / 9.81
    nose = YAW - np.radians(off_deg)
    ahead = lean[:, 0] * np.sin(nose) + lean[:, 1] * np.cos(nose)
    right = lean[:, 0] * np.cos(nose) - lean[:, 1] * np.sin(nose)
    up = np.minimum(TIMES_S, 30.0)
    way = np.column_stack([np.cumsum(speed, axis=0) * 0.5, up])
    velocity = np.column_stack([speed, (TIMES_S < 30).astype(float)])
    frd = quaternion(np.arctan(right), -np.arctan(ahead), nose)
    return Log(
        "", "made", "boot", TIMES_S, enu_m=way, height_m=up, velocity_mps=velocity, attitude=Series(TIMES_S, frd)
    )


def written(log: Log, to: Callable[[FloatArray], FloatArray] = flu_to_enu) -> Log:
    assert log.attitude is not None
    return replace(log, attitude=Series(TIMES_S, to(log.attitude.value)))


def doubts(log: Log) -> set[str]:
    return {f.name for f in assemble(Path("flight.log"), log).findings if f.severity == "doubt"}


@pytest.mark.parametrize("off_deg", [0.0, 90.0, 180.0, -40.0])
def test_a_flight_as_it_is_written_is_in_no_doubt_whichever_way_the_nose_points(off_deg: float) -> None:
    assert doubts(written(flight(off_deg))) == set()


def exchanged(frd: FloatArray) -> FloatArray:
    """Attitudes whose roll and pitch stand in one another's column."""
    yaw, pitch, roll = Rotation.from_quat(frd, scalar_first=True).as_euler("ZYX").T
    return flu_to_enu(quaternion(pitch, roll, yaw))


def anticlockwise(frd: FloatArray) -> FloatArray:
    """Attitudes whose yaw was counted from north to the west."""
    yaw, pitch, roll = Rotation.from_quat(frd, scalar_first=True).as_euler("ZYX").T
    return flu_to_enu(quaternion(roll, pitch, -yaw))


@pytest.mark.parametrize("off_deg", [0.0, 180.0])
@pytest.mark.parametrize("wrong", [exchanged, anticlockwise])
def test_angles_in_another_column_or_sense_lean_elsewhere(
    off_deg: float, wrong: Callable[[FloatArray], FloatArray]
) -> None:
    assert "leans_elsewhere" in doubts(written(flight(off_deg), wrong))


@pytest.mark.parametrize(("pitch_deg", "told"), [(-20.0, False), (4.0, False), (20.0, True)])
def test_a_camera_that_only_looks_up_counts_downwards(pitch_deg: float, told: bool) -> None:
    log = replace(written(flight()), gimbal_pitch=Series(TIMES_S, np.full(len(TIMES_S), pitch_deg)))
    assert ("gimbal_frame" in doubts(log)) == told
    sweep = np.where(TIMES_S < 10, -pitch_deg, pitch_deg)  # what looks down for a while may look up
    assert "gimbal_frame" not in doubts(replace(log, gimbal_pitch=Series(TIMES_S, sweep)))


@pytest.mark.parametrize("off_deg", [0.0, 90.0])
def test_conjugate_quaternions_turn_the_nose_and_the_lean_the_wrong_way(off_deg: float) -> None:
    found = doubts(written(flight(off_deg), lambda frd: flu_to_enu(frd * (1, -1, -1, -1))))
    assert {"heading_mirrored", "leans_elsewhere"} & found


@pytest.mark.parametrize(
    ("order", "sign", "words"),
    [
        ([1, 0, 2], (1, 1, 1), "x and y swapped"),
        ([0, 1, 2], (-1, 1, 1), "east turned round"),
        ([0, 1, 2], (1, -1, 1), "north turned round"),
    ],
)
def test_positions_with_swapped_or_turned_axes(order: list[int], sign: tuple[int, int, int], words: str) -> None:
    log = written(flight())
    assert log.enu_m is not None
    other = replace(log, enu_m=log.enu_m[:, order] * sign)
    assert "velocity_against_path" in doubts(other)
    found = assemble(Path("flight.log"), replace(other, velocity_mps=None)).findings
    (leans,) = (f for f in found if f.name == "leans_elsewhere")
    assert leans.message.startswith(f"with {words} the path explains 99% of how the drone leans; as written ")
    assert 0.0 <= leans.measured < 0.03 < leans.limit == pytest.approx(0.49, abs=0.01)


def test_z_up_in_a_frame_that_counts_from_the_start() -> None:
    log = replace(written(flight()), height_m=None)
    assert log.enu_m is not None
    down = replace(log, enu_m=log.enu_m * (1, 1, -1))
    assert {"velocity_against_path", "below_its_zero"} <= doubts(down)
    assert doubts(replace(down, velocity_mps=None)) == {"below_its_zero"}
    from_above = log.enu_m * (1, 1, -1) + np.array([0, 0, 40])  # a descent above the zero
    assert doubts(replace(log, velocity_mps=None, enu_m=from_above)) == set()


@pytest.mark.parametrize(
    ("times", "told"), [(1.4, False), (1.6, True), (0.7, False), (0.6, True), (-1.0, True), (3.281, True)]
)
def test_a_height_in_feet_or_turned_over(times: float, told: bool) -> None:
    log = replace(written(flight()), velocity_mps=None)
    assert log.height_m is not None
    assert ("height_scale" in doubts(replace(log, height_m=log.height_m * times))) == told


def test_a_drift_of_less_than_5_m_shows_no_scale() -> None:
    log = written(flight())
    assert log.height_m is not None
    assert log.enu_m is not None
    low = log.enu_m * (1, 1, 0.1)
    assert "height_scale" not in doubts(replace(log, height_m=log.height_m * 0.4, enu_m=low, velocity_mps=None))


@pytest.mark.parametrize(("sense", "told"), [(1, False), (-1, True)])
def test_a_heading_counted_the_other_way_round(sense: int, told: bool) -> None:
    compass = Series(TIMES_S, sense * np.degrees(YAW) % 360)
    log = replace(flight(), velocity_mps=None, attitude=None, heading=compass)
    assert doubts(log) == ({"heading_mirrored"} if told else set())


def test_means_over_a_second_by_hand() -> None:
    t_s = np.arange(0, 4.1, 0.5)
    series = np.column_stack([3 * t_s + 1, np.where(t_s > 2, 8.0, 0.0)])
    found = _means(t_s, series, np.array([1.0, 2.0, 3.0]))
    assert found[:, 0] == pytest.approx([4.0, 7.0, 10.0])
    assert found[:, 1] == pytest.approx([0.0, 2.0, 8.0]), "half of a second's half is on its way up to 8"


def test_leans_are_explained_by_what_a_drone_leans_to_and_never_against_it() -> None:
    """Two causes at right angles in time: 0.1 and 0.2 radians of the one, 0.3 of the other, each turned as well."""
    speed = np.array([[1.0, 0], [-1, 0], [0, 0], [0, 0]])
    change = np.array([[0.0, 0], [0, 0], [1, 0], [-1, 0]])
    assert _explained(0.1 * speed + 0.2 * change + 5.0, speed, change) == pytest.approx(1.0)
    assert _explained(0.1 * speed - 0.2 * change, speed, change) == pytest.approx(0.01 / 0.05), "of 0.02 and 0.08"
    assert _explained(0.2 * change - 0.1 * speed, speed, change) == pytest.approx(0.04 / 0.05)
    assert _explained(-0.1 * speed - 0.2 * change, speed, change) == 0.0
    across = np.array([[0.0, 1], [0, -1], [0, 0], [0, 0]])
    assert _explained(0.1 * speed + 0.3 * across, speed, change) == pytest.approx(0.1)
    assert _explained(0.1 * speed, speed, 0 * change) == 0.0, "a drone that never speeds up"
    assert _explained(0.014 * speed, speed, change) == 0.0, "0.0099 radians are noise"
    assert _explained(0.015 * speed, speed, change) == pytest.approx(1.0)


def test_no_lean_is_longer_than_three_times_the_middle_one() -> None:
    leans = np.array([[1.0, 2, 9], [0, 2, 9], [1, 1, 9], [2, 2, 9], [1, 3, 9], [1, -6, 29]])
    found = _steadied(leans)  # about (1, 2, 9): lengths of 0 and 1, and 8, which becomes 3
    assert found[:5].tolist() == leans[:5].tolist()
    assert found[5] == pytest.approx([1.0, -1.0, 9 + 20 * 3 / 8])


EVEN = np.arange(40) * 2 * np.pi / 40
WAVES = np.sqrt(2) * np.column_stack(
    [np.sin(EVEN), np.cos(EVEN), np.sin(2 * EVEN), np.cos(2 * EVEN)]
)  # of mean square 1


def told(stated: FloatArray, placed: FloatArray) -> list[tuple[str, float | None, float | None]]:
    return [(f.name, f.measured, f.limit) for f in velocity_axes(stated, placed)]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("alike", "wrong"), [(-0.91, True), (-0.89, False), (0.5, False), (1.0, False)])
def test_an_axis_that_goes_the_other_way_by_hand(axis: int, alike: float, wrong: bool) -> None:
    """Three waves that have nothing in common; along one axis the positions have so much of it, the rest is another."""
    stated, placed = WAVES[:, :3].copy(), WAVES[:, :3].copy()
    placed[:, axis] = alike * WAVES[:, axis] + np.sqrt(1 - alike**2) * WAVES[:, 3]
    assert told(stated, placed) == ([("velocity_against_path", alike, -0.9)] if wrong else [])
    placed[1] = np.nan
    assert bool(told(stated, placed)) == wrong
    assert told(stated[:9], placed[:9]) == []
    slow = np.where(np.arange(3) == axis, 0.29, 1.0)
    assert told(stated * slow, placed) == told(stated, placed * slow) == []
    if wrong:
        assert told(stated * (slow + 0.02), placed)
        assert told(stated, placed * (slow + 0.02))


@pytest.mark.parametrize(("times", "wrong"), [(3.28, True), (2.51, True), (2.49, False), (0.41, False), (0.39, True)])
def test_climbs_are_those_of_the_stated_velocity(times: float, wrong: bool) -> None:
    """Heights in feet climb 3.28 times as fast; over ground another doubt tells."""
    assert told(WAVES[:, :3], WAVES[:, :3] * (times, times, 1.0)) == []
    assert told(WAVES[:, :3], WAVES[:, :3] * (1.0, 1.0, times)) == (
        [("velocity_against_path", times, 2.5)] if wrong else []
    )


@pytest.mark.parametrize(("axis", "other"), [(0, 1), (1, 2), (2, 0)])
@pytest.mark.parametrize(("alike", "wrong"), [(0.91, True), (0.89, False), (-0.91, True)])
def test_an_axis_that_is_another_ones_by_hand(axis: int, other: int, alike: float, wrong: bool) -> None:
    stated, placed = WAVES[:, :3].copy(), WAVES[:, :3].copy()
    placed[:, axis] = alike * WAVES[:, other] + np.sqrt(1 - alike**2) * WAVES[:, 3]
    assert told(stated, placed) == ([("velocity_against_path", abs(alike), 0.9)] if wrong else [])
    assert told(stated * np.where(np.arange(3) == other, 0.29, 1.0), placed) == [], "it does not show along that one"
    assert told(stated, placed * np.where(np.arange(3) == axis, 0.29, 1.0)) == []


@pytest.mark.parametrize(("shared", "wrong"), [(0.7, True), (0.8, False), (-0.7, True), (-0.8, False), (1.0, False)])
def test_axes_along_which_it_flies_alike_tell_nothing(shared: float, wrong: bool) -> None:
    """East and north of a way aslant share so much: a path with them swapped is then almost as like as one without."""
    stated, placed = WAVES[:, :3].copy(), WAVES[:, :3].copy()
    stated[:, 1] = shared * WAVES[:, 0] + np.sqrt(1 - shared**2) * WAVES[:, 1]
    placed[:, 0] = stated[:, 1]
    placed[:, 1] = stated[:, 0]
    assert bool(told(stated, placed)) == wrong


@pytest.mark.parametrize(
    ("up_m", "told"),
    [([-5.0] * 10, 5.0), ([-4.99] * 10, None), ([-9.0] * 9 + [1.0], 9.0), ([-9.0] * 8 + [1.0] * 2, None)],
)
def test_who_is_always_below_the_zero_by_hand(up_m: list[float], told: float | None) -> None:
    t_s = np.arange(10.0)
    log = Log("", "made", "boot", t_s, enu_m=np.column_stack([4 * t_s, 0 * t_s, up_m]))
    found = [f.measured for f in assemble(Path("flight.log"), log).findings if f.name == "below_its_zero"]
    assert found == ([] if told is None else [told])
    stepped = replace(log, label=np.array(["fly"] * 10, dtype=object), clock="step")
    assert "below_its_zero" not in doubts(stepped)


# ---- clocks, by hand

NOW = 1.7e9
DAY = 86_400.0


@pytest.mark.parametrize(
    ("clock", "kept", "strays"),
    [
        ([3.0, 4.0, 5.0], [0, 1, 2], 0),
        ([3.0, np.nan, 5.0, np.inf, 7.0, 1e11, 1.1e11], [0, 2, 4, 5], 0),
        ([-1e11, 0.0, 1e11], [0, 1, 2], 0),
        ([3.0, 99.0, 5.0, 6.0], [0, 2, 3], 1),  # alone after those about it
        ([3.0, -99.0, 5.0, 6.0], [0, 2, 3], 1),
        ([3.0, 99.0, 8.0], [0, 2], 1),
        ([3.0, 99.0, 8.1], [0, 1, 2], 0),  # what is about it does not follow on each other
        ([3.0, 99.0, 2.9], [0, 1, 2], 0),
        ([3.0, 3.0, 3.0], [0, 1, 2], 0),
        ([3.0, 9.0, 3.0, 9.0, 3.0], [0, 2, 3, 4], 1),  # of a run that disagrees the first alone
        ([3.0, 99.0, 5.0, 98.0, 6.0], [0, 2, 4], 2),
        ([9.0, 3.0], [0, 1], 0),
        ([], [], 0),
    ],
)
def test_samples_with_a_time(clock: list[float], kept: list[int], strays: int) -> None:
    index, alone = timed(np.array(clock))
    assert (index.tolist(), alone) == (kept, strays)


@pytest.mark.parametrize(
    ("clock", "t_s", "breaks", "run", "told"),
    [
        ([3.0, 3.5, 4.0, 9.0], [0, 0.5, 1, 6], [], [0] * 4, []),
        # It jumps back by 2 s: half a second, the usual step, after the last sample.
        ([3.0, 3.5, 4.0, 2.0, 2.5, 3.5], [0, 0.5, 1, 1.5, 2, 3], [3], [0, 0, 0, 1, 1, 1], [("clock_jump", 2.0, 0.0)]),
        # Twice, the second time by more.
        (
            [5.0, 6.0, 4.0, 5.0, 1.0],
            [0, 1, 2, 3, 4],
            [2, 4],
            [0, 0, 1, 1, 2],
            [("clock_jump", 4.0, 0.0)],
        ),
        # Set from 0 to the day; steps of 2 s and 4 s are usual by 3 s in the middle.
        (
            [0.0, 2.0, NOW, NOW + 4.0],
            [0, 2, 5, 9],
            [2],
            [0] * 4,
            [("epoch_leap", NOW - 2.0, LEAP_S)],
        ),
        ([0.0, 1.0, 1.0 + LEAP_S, 2.0 + LEAP_S], [0, 1, 1 + LEAP_S, 2 + LEAP_S], [], [0] * 4, []),
        ([0.0, 1.0, 2.0 + LEAP_S], [0, 1, 2], [2], [0] * 3, [("epoch_leap", 1.0 + LEAP_S, LEAP_S)]),
        # A repeated time is no step.
        ([0.0, 0, 0, 0, 1, 2, 0, 1], [0, 0, 0, 0, 1, 2, 3, 4], [6], [0] * 6 + [1, 1], [("clock_jump", 2.0, 0.0)]),
        ([0.0, DAY], [0, 1], [1], [0, 0], [("epoch_leap", DAY, LEAP_S)]),  # no usual step: a second
        ([7.0, np.nan, 8.0], [0, 1], [], [0, 0], [("untimed", 1, 0)]),
        ([7.0, 99.0, 8.0, 9.0], [0, 1, 2], [], [0, 0, 0], [("stray_times", 1, 0)]),
        ([], [], [], [], []),
        ([7.0], [0], [], [0], []),
    ],
)
def test_clocks_are_made_straight(
    clock: list[float], t_s: list[float], breaks: list[int], run: list[int], told: list[tuple[str, float, float]]
) -> None:
    found = straighten(np.array(clock))
    assert found.t_s.tolist() == pytest.approx(t_s)
    assert np.flatnonzero(found.breaks).tolist() == breaks
    assert len(found.breaks) == len(found.samples) == len(t_s)
    assert found.run.tolist() == run
    assert [(one.name, one.measured, one.limit) for one in found.findings] == told
    for one in found.findings:
        after = breaks and one.severity == "doubt"
        assert one.stretches == (((t_s[breaks[0] - 1], t_s[-1]),) if after else None)


def test_usual_steps_are_those_without_a_gap() -> None:
    """Steps of 1 s, 6 s and 5 s, and one back: the middle of 1 and 5 is 3 s."""
    assert GAP_S == 5.0
    found = straighten(np.array([0.0, 1.0, 7.0, 12.0, 2.0]))
    assert found.t_s.tolist() == [0, 1, 7, 12, 15]


def test_stretches_reach_from_the_sample_before_to_the_one_after() -> None:
    t_s = np.array([0.0, 1.5, 2.0004, 4.0, 5.0, 7.0])
    found = doubt("made", "log", "", "none")
    for marked, stretches in (
        ([0, 0, 1, 0, 0, 0], ((1.5, 4.0),)),
        ([1, 0, 0, 0, 1, 1], ((0.0, 1.5), (4.0, 7.0))),
        ([0, 1, 0, 1, 0, 0], ((0.0, 2.0), (2.0, 5.0))),
        ([0] * 6, ()),
    ):
        assert about(found, t_s, np.array(marked, dtype=bool)).stretches == stretches
