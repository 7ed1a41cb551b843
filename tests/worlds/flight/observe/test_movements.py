"""Movement segments: planted movements are found, and nothing else is."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from pipeline.geometry.tracks import FlightTrack
from pipeline.samples.flight import pilot
from pipeline.samples.flight.logs import recording, subtitles, with_estimator, with_receiver
from pipeline.samples.flight.pilot import PLANS, FlightPlan
from pipeline.samples.flight.write import planted_moves
from pipeline.worlds.flight.facts import Segment
from pipeline.worlds.flight.observe.motion import MotionConfig, MotionThresholds, paths
from pipeline.worlds.flight.observe.movements import (
    Kind,
    MotionChannel,
    MotionPiece,
    RateRun,
    _is_pause,
    _measured,
    _neighbours,
    _threshold,
    runs_of,
    segments,
    snapped,
)
from pipeline.worlds.flight.steps import covers, opposed, phrase, quartered, stilled
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.worlds.flight.observe.planted import Phase, Planted, fly, logged, random_phases

CONFIG = MotionConfig()
SEEDS = range(20)


def observed(track: FlightTrack, step_m: tuple[float, float] = (0.0, 0.0)) -> list[Segment]:
    found, fits = paths(track, CONFIG, 0.0, step_m)
    return [segment for path in found for segment in segments(path, fits, CONFIG, step_m)]


def flight(seed: int, rate_hz: float, least_s: float = 3.0, **noise: float) -> tuple[FlightTrack, list[Planted]]:
    rng = np.random.default_rng(seed)
    phases = random_phases(rng, 12, least_s)
    track, planted = fly(phases, list(rng.uniform(0.5, 1.0, len(phases) - 1)), rng.uniform(0, 360))
    return logged(track, rate_hz, rng, **noise), planted


def simple(phases: list[Phase], rate_hz: float = 10.0, **noise: float) -> list[Segment]:
    track, _ = fly(phases, [0.8] * (len(phases) - 1), 30.0)
    return observed(logged(track, rate_hz, np.random.default_rng(0), **noise))


def actions(found: list[Segment]) -> list[tuple[str, ...]]:
    return [segment.actions for segment in found]


def overlap(a: Segment | Planted, b: Segment | Planted) -> float:
    shared = min(a.end_s, b.end_s) - max(a.start_s, b.start_s)
    return max(shared, 0.0) / (max(a.end_s, b.end_s) - min(a.start_s, b.start_s))


@pytest.mark.slow
@pytest.mark.parametrize(("rate_hz", "turn_limit"), [(1, 15.0), (5, 3.0), (10, 3.0), (50, 3.0)])
def test_every_planted_movement_is_found_and_no_other(rate_hz, turn_limit):
    for seed in SEEDS:
        log, planted = flight(seed, rate_hz)
        found = observed(log)
        assert [frozenset(s.actions) for s in found] == [p.actions for p in planted], seed
        for k, (segment, truth) in enumerate(zip(found, planted, strict=True)):
            assert k == 0 or abs(segment.start_s - truth.start_s) <= 0.4, (seed, segment)
            assert k == len(found) - 1 or abs(segment.end_s - truth.end_s) <= 0.4, (seed, segment)
            assert abs(segment.turn_deg - truth.turn_deg) <= turn_limit, (seed, segment, truth)
            assert rate_hz < 5 or abs(segment.climb_m - truth.climb_m) <= 0.2, (seed, segment, truth)


@pytest.mark.slow
@pytest.mark.parametrize(("rate_hz", "least_s"), [(1, 5.0), (2, 3.0), (5, 3.0), (10, 3.0), (50, 3.0)])
def test_noise_and_lost_samples_hide_few_movements(rate_hz, least_s):
    right = total = 0
    for seed in SEEDS:
        log, planted = flight(seed, rate_hz, least_s, over_ground_m=0.5, height_m=0.3, dropped=0.1)
        found = observed(log)
        right += sum(any(frozenset(s.actions) == p.actions and overlap(s, p) >= 0.5 for s in found) for p in planted)
        total += len(found) + len(planted)
    assert 2 * right / total >= 0.95


def turned(track: FlightTrack, degrees: float) -> FlightTrack:
    a = np.radians(degrees)
    x, y, z = track.enu_m.T
    enu = np.stack([x * np.cos(a) + y * np.sin(a), y * np.cos(a) - x * np.sin(a), z], axis=1)
    return replace(track, enu_m=enu, heading_deg=(track.heading_deg + degrees) % 360)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 360))
def test_turning_the_world_changes_nothing(seed, degrees):
    log, _ = flight(seed, 10.0)
    before, after = observed(log), observed(turned(log, degrees))
    assert actions(after) == actions(before)
    for a, b in zip(after, before, strict=True):
        assert (a.start_s, a.end_s, a.turn_deg) == pytest.approx((b.start_s, b.end_s, b.turn_deg), abs=0.02)


MIRROR = {"fly left": "fly right", "turn left": "turn right"}
MIRROR |= {b: a for a, b in MIRROR.items()}


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_a_mirror_swaps_left_and_right(seed):
    log, _ = flight(seed, 10.0)
    mirrored = replace(log, enu_m=log.enu_m * (-1, 1, 1), heading_deg=-log.heading_deg % 360)
    swapped = [tuple(MIRROR.get(a, a) for a in names) for names in actions(observed(log))]
    assert actions(observed(mirrored)) == swapped


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.5, 1.0, 3.0, 10.0, 30.0]),
    st.floats(0, 3),
    st.floats(0, 0.5),
    st.booleans(),
)
def test_segments_are_in_order_apart_and_within_the_flight_whatever_the_noise(seed, rate_hz, noise, dropped, headed):
    log, _ = flight(seed, rate_hz, over_ground_m=noise, height_m=noise, dropped=dropped)
    if not headed:
        log = replace(log, heading_deg=np.full(len(log), np.nan))
    found = observed(log)
    assert all(s.end_s > s.start_s and s.margin >= 1 for s in found)
    assert all(a.end_s <= b.start_s for a, b in pairwise(found))
    assert all(log.t_s[0] - 1e-3 <= s.start_s and s.end_s <= log.t_s[-1] + 1e-3 for s in found)
    assert all(len(set(s.actions)) == len(s.actions) for s in found)
    assert all(s.actions == ("hover",) or "hover" not in s.actions for s in found)
    if not headed:
        said = {a for s in found for a in s.actions}
        assert said <= {"ascend", "descend", "fly horizontally", "stay in place", "gimbal up", "gimbal down"}
        assert all(s.turn_deg is None for s in found)


def test_without_a_heading_a_drone_flies_horizontally_and_stays_in_place():
    track, _ = fly([Phase(4), Phase(5, up=2), Phase(6, up=2, forward=5), Phase(6, forward=5), Phase(4)], [0.8] * 4)
    found = observed(replace(track, heading_deg=np.full(len(track), np.nan)))
    flies, stays = "fly horizontally", "stay in place"
    assert actions(found) == [(stays,), ("ascend",), (flies, "ascend"), (flies,), (stays,)]
    assert sum(s.climb_m for s in found[1:3]) == pytest.approx(22, abs=0.2)
    assert found[2].distance_m == pytest.approx(30, abs=2.5)
    assert found[3].distance_m == pytest.approx(30, abs=2.5)


def test_without_a_heading_a_turn_on_the_spot_is_a_stay():
    track, _ = fly([Phase(4), Phase(6, yaw=30), Phase(4)], [0.8] * 2)
    found = observed(replace(track, heading_deg=np.full(len(track), np.nan)))
    assert actions(found) == [("stay in place",)]


def test_the_main_action_is_first():
    found = simple([Phase(4), Phase(6, forward=6, up=2), Phase(4), Phase(6, up=3, forward=1.5, yaw=20), Phase(4)])
    assert actions(found)[1] == ("fly forward", "ascend")
    assert actions(found)[3] == ("ascend", "fly forward", "turn right")


@pytest.mark.parametrize(("left", "said"), [(1.5, ("fly forward",)), (3.5, ("fly forward", "fly left"))])
def test_drift_beside_forward_flight_is_not_spoken_of(left, said):
    # The limit is tan 22.5 degrees of 6 m/s: 2.49 m/s
    assert actions(simple([Phase(4), Phase(8, forward=6, left=left), Phase(4)]))[1] == said


@pytest.mark.parametrize(("left", "said"), [(2.0, ("turn left",)), (2.7, ("fly left", "turn left"))])
def test_drift_beside_a_turn_is_not_spoken_of(left, said):
    """From 30 m a turn of 180 degrees hides a tenth of its arc: 9.4 m; of 4 s."""
    flown = simple([Phase(4), Phase(10, up=3), Phase(4), Phase(4, left=left, yaw=-45), Phase(4)])
    assert actions(flown)[3] == said


@pytest.mark.parametrize(("kind", "least"), [("climb", 0.1), ("along", 0.05), ("turn", 0.0)])
def test_what_is_noticed_grows_with_the_height(kind: Kind, least: float) -> None:
    """At 30 m: ten seconds of three metres up, then on."""
    track, _ = fly([Phase(4), Phase(10, up=3), Phase(20)], [0.8, 0.8], 30.0)
    (path,), _ = paths(logged(track, 10.0, np.random.default_rng(0)), CONFIG, 0.0, (0.0, 0.0))
    piece = MotionPiece(20.0, 30.0, ())
    assert _threshold(path, piece, kind, CONFIG) == pytest.approx(
        least * np.median(path.within(20, 30).height_m), abs=1e-9
    )
    assert np.median(path.within(20, 30).height_m) > 25
    unknown = replace(path, height_m=np.full(len(path), np.nan))
    assert _threshold(unknown, piece, kind, CONFIG) == _threshold(path, MotionPiece(90.0, 99.0, ()), kind, CONFIG) == 0


@pytest.mark.parametrize(
    ("phase", "least"),
    [
        (Phase(20, forward=0.75), Phase(20, forward=0.85)),
        (Phase(20, up=-0.45), Phase(20, up=-0.55)),
        (Phase(20, yaw=5), Phase(20, yaw=7)),
        (Phase(20, tilt=3.5), Phase(20, tilt=4.5)),
        (Phase(0.8, up=1.1), Phase(1.2, up=1.1)),
        (Phase(0.5, yaw=14), Phase(0.8, yaw=14)),
        (Phase(1.5, tilt=4.7), Phase(1.5, tilt=5.4)),
        (Phase(1, yaw=7.2), Phase(1, yaw=8.2)),
        (Phase(1, forward=1.4), Phase(1, forward=1.65)),
        (Phase(1, up=0.9), Phase(1, up=1.1)),
    ],
)
def test_a_movement_begins_at_its_thresholds(phase, least):
    def middle(p):
        track, _ = fly([Phase(5), p, Phase(5)], [0.3, 0.3])
        return [names for names in actions(observed(track)) if names != ("hover",)]

    assert middle(phase) == []
    assert [set(names) for names in middle(least)] == [least.actions]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("rate", "least", "found"),
    [
        # Above 1 from 3 s on; half of its level of 3 is passed between 2 s and 3 s. It is 14 m from 2 s to 8 s.
        ([0, 0, 1, 2, 3, 3, 3, 2, 1, 0, 0], 14.0, [(2.5, 7.5, 2.0, 8.0)]),
        ([0, 0, 1, 2, 3, 3, 3, 2, 1, 0, 0], 14.1, []),
        ([0, 0, 1, 2, 2.9, 2.9, 2.9, 2, 1, 0, 0], 1.0, []),  # too slow
        ([0, 0, 5, 0, 0], 1.0, []),  # one moment
        # The flight begins in it, and it ends past 0: at 3/5 of the second, half of its level at 0.9/1.5 of that.
        ([3, 3, 3, -2, -2], 6.0, [(0.0, 2.3, 0.0, 2.6)]),
        ([-2, -2, 3, 3, 3], 6.0, [(1.7, 4.0, 1.4, 4.0)]),
        ([2, 2, 4, 4, 4, 0], 1.0, [(0.0, 4.5, 0.0, 5.0)]),
        # Four fifths of the way from 2, 2, to 3 are 2.6; before 3, 2, 2, 2 it was 1, half of that already.
        ([1, 1, 2, 3, 2, 1, 1], 1.0, [(1.3, 4.7, 1.0, 5.0)]),
        ([1, 1, 2, 2, 2, 2, 3, 0], 1.0, [(2.0, 6.6, 1.0, 7.0)]),
        # What it rises to later than 3 s after its start is not its level: that is 2, and at its end 8.
        ([0, 2, 2, 2, 2, 8, 8, 8, 8, 0], 1.0, [(0.5, 8.5, 0.0, 9.0)]),
        ([0, 3, 3, 0, 0, 4, 4, 0], 1.0, [(0.5, 2.5, 0.0, 3.0), (4.5, 6.5, 4.0, 7.0)]),
    ],
)
def test_a_run_is_from_half_of_its_level_to_half_of_it_by_hand(
    rate: list[float], least: float, found: list[tuple[float, ...]], sign: int
) -> None:
    """A moment a second; from 1 m/s it goes on, and it reaches 3 m/s."""
    track, _ = fly([Phase(len(rate) - 1.0)], [])
    (path,), _ = paths(track, CONFIG.model_copy(update={"rate_hz": 1.0}))
    speed = np.array(rate, dtype=float)
    total = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2)])
    runs = runs_of(
        path, MotionChannel("along", sign * speed, sign * total, MotionThresholds(start=3, stop=1, least=least), 1.0)
    )
    named = "fly forward" if sign > 0 else "fly backward"
    moved = [run for run in runs if run.action == named]
    assert [(r.start_s, r.end_s, r.rise_s, r.fade_s) for r in moved] == [pytest.approx(times) for times in found]
    assert moved == runs


def test_neighbours_and_pauses_by_hand() -> None:
    channel = MotionChannel("climb", np.empty(0), np.empty(0), CONFIG.climb, 1.0)
    up, down = ((RateRun(channel, sign, 0.0, 9.0, 0.0, 9.0),) for sign in (1, -1))

    def pieces(*told: tuple[float, tuple[RateRun, ...]]) -> list[MotionPiece]:
        ends = np.cumsum([0.0, *(seconds for seconds, _ in told)]).tolist()
        return [MotionPiece(*span, runs) for span, (_, runs) in zip(pairwise(ends), told, strict=True)]

    three = pieces((4, up), (1, ()), (4, down))
    assert [_neighbours(three, n) for n in range(3)] == [[], [0, 2], []]
    assert _neighbours(pieces((4, up), (1, down)), 1) == [0]
    assert _neighbours(pieces((4, up), (1, down)), 0) == [1]
    assert [_is_pause(three, n) for n in range(3)] == [False, False, False]
    assert _is_pause(pieces((4, up), (1, ()), (4, up)), 1), "it goes on as before"
    assert _is_pause(pieces((4, up), (1, ()), (10, down)), 1), "a tenth of what follows"
    assert _is_pause(pieces((10, up), (1, ()), (4, down)), 1)
    assert not _is_pause(pieces((9.9, up), (1, ()), (9.9, down)), 1)
    assert not _is_pause(pieces((10, up), (1, ()), (10, ())), 1), "nothing follows"
    assert not _is_pause(pieces((10, ()), (1, ()), (10, up)), 1)


@pytest.mark.parametrize(
    ("rates", "until_s", "amount", "ratio"),
    [
        ([9, 9, 3, 4, 6, 9], 4.0, 8.5, 1.5),  # 6 in the last moment, of 4 that start one
        ([9, 9, 6, 4, 3, 9], 4.0, 8.5, 1.5),  # and in the first one
        ([9, 9, 3, 3, 3, 6], 4.5, 8.25, 1.5),  # in the one that it ends before
        ([9, 9, 9, 9, 9, 9], 4.0, 18.0, 1.6),  # 2 s, of 1.25 s at least
        ([9, 9, 8, 3, 8, 9], 4.0, 11.0, 1.6),
        ([9, 9, 8, 1, 2, 9], 4.0, 6.0, 1.5),  # 6 of 4
    ],
)
def test_a_movement_is_measured_from_its_first_moment_to_its_last(
    rates: list[float], until_s: float, amount: float, ratio: float
) -> None:
    """From 2 s on; the least of what its amount, its fastest moment and its length are of what they need to be."""
    track, _ = fly([Phase(5)], [])
    config = CONFIG.model_copy(update={"rate_hz": 1.0, "min_movement_s": 1.25})
    (path,), _ = paths(track, config)
    rate = np.array(rates, dtype=float)
    total = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2)])
    for sign in (1, -1):
        channel = MotionChannel("climb", sign * rate, sign * total, MotionThresholds(start=4, stop=1, least=4), 1.0)
        piece = MotionPiece(2.0, until_s, (RateRun(channel, sign, 1.0, 5.0, 1.0, 5.0),))
        (found,) = _measured(path, piece, config)
        assert (found.kind, found.action) == ("climb", "ascend" if sign > 0 else "descend")
        assert (found.amount, found.ratio) == pytest.approx((amount, ratio))


def test_a_brief_movement_is_part_of_the_longer_one_be_that_the_first() -> None:
    """1.4 s, 3 m on and 2 m up, that are half like what was before them and half like what follows."""
    found = simple([Phase(8, forward=2), Phase(1.4, forward=2, up=1.4), Phase(5, up=1.4)])
    assert actions(found) == [("fly forward",), ("ascend",)]
    assert found[0].end_s == found[1].start_s == pytest.approx(9.4, abs=0.1)


def test_the_way_of_who_climbs_is_the_one_over_ground_from_end_to_end() -> None:
    track, _ = fly([Phase(4), Phase(10, up=3), Phase(4)], [0.8, 0.8])
    drift = np.outer(np.clip((track.t_s - 4) / 10, 0, 1), [-1.2, 1.6, 0.0])  # 0.2 m/s: no movement
    (ascent,) = [s for s in observed(replace(track, enu_m=track.enu_m + drift)) if s.actions == ("ascend",)]
    assert ascent.distance_m == pytest.approx(2.0, abs=0.02)
    assert ascent.climb_m == pytest.approx(30.0, abs=0.1)


def test_a_rate_that_wavers_about_the_start_is_one_movement():
    track, _ = fly([Phase(5), *(Phase(1, up=u) for u in (0.7, 0.4, 0.7, 0.4, 0.7)), Phase(5)], [0.3] * 6)
    assert actions(observed(track)) == [("hover",), ("ascend",), ("hover",)]


def test_slow_drift_is_neither_a_movement_nor_a_hover():
    assert simple([Phase(30, forward=0.3)]) == []


@pytest.mark.parametrize("noise", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("rate_hz", [1, 10, 50])
def test_noise_alone_is_no_movement(rate_hz, noise):
    found = simple([Phase(60)], rate_hz, over_ground_m=noise, height_m=noise / 2, dropped=0.1)
    assert {a for s in found for a in s.actions} <= {"hover"}


def test_wandering_of_the_receiver_is_no_movement():
    """Satellite positions drift: noise of 1 m that is forgotten over 30 s."""
    track, _ = fly([Phase(120)], [])
    log = logged(track, 10, np.random.default_rng(0), over_ground_m=0.02, height_m=0.02)
    rng, keep = np.random.default_rng(1), np.exp(-0.1 / 30)
    steps = rng.normal(size=(len(log), 3)) * np.sqrt(1 - keep**2)
    drift = lfilter([1.0], [1.0, -keep], steps, axis=0)
    found = observed(replace(log, enu_m=log.enu_m + drift * (1, 1, 0.3), height_m=log.height_m + 0.3 * drift[:, 2]))
    assert {a for s in found for a in s.actions} <= {"hover"}


def test_parts_are_never_joined():
    track, _ = fly([Phase(6), Phase(12, forward=8), Phase(6)], [0.8, 0.8])
    log = logged(track, 10, np.random.default_rng(0))
    kept = (log.t_s < 10) | (log.t_s > 16)
    arrays = {name: value[kept] for name, value in vars(log).items() if value is not None}
    parts = replace(log, **arrays)
    parts = replace(parts, part=(parts.t_s > 13).astype(np.intp))
    found = observed(parts)
    assert actions(found) == [("hover",), ("fly forward",), ("fly forward",), ("hover",)]
    assert found[1].end_s <= 10
    assert found[2].start_s >= 16
    assert found[1].distance_m == pytest.approx((9.8 - 6) * 8, abs=0.5)


@pytest.mark.parametrize("way", ["forward", "left"])
def test_nothing_is_claimed_below_the_steps_of_the_log(way: str):
    moves = [Phase(4, **{way: 3}), Phase(20), Phase(20, **{way: 8})]
    track, _ = fly([Phase(6), *moves, Phase(6)], [0.8] * 4, 90)
    log = logged(track, 10, np.random.default_rng(0))
    step = 11.1
    coarse = replace(log, enu_m=np.column_stack([np.round(log.enu_m[:, :2] / step) * step, log.enu_m[:, 2]]))
    found = observed(coarse, (step, 0.0))
    assert actions(found) == [(f"fly {way}",)]  # 160 m; 12 m are one step, and a hover may hide as much
    assert found[0].start_s == pytest.approx(30, abs=2)


def test_a_spike_of_the_receiver_is_no_movement():
    track, _ = fly([Phase(30)], [])
    log = logged(track, 5, np.random.default_rng(0), over_ground_m=0.1)
    enu = log.enu_m.copy()
    enu[70] += (40, -25, 0)
    assert actions(observed(replace(log, enu_m=enu))) == [("hover",)]


def test_values_that_the_log_now_and_then_lacks_are_bridged():
    log, planted = flight(3, 10.0)
    rng = np.random.default_rng(0)
    lacking = {
        name: np.where(rng.uniform(size=len(log)) < 0.04, np.nan, getattr(log, name))
        for name in ("height_m", "heading_deg", "gimbal_pitch_deg")
    }
    enu = np.where(rng.uniform(size=(len(log), 1)) < 0.04, np.nan, log.enu_m)
    assert [frozenset(s.actions) for s in observed(replace(log, enu_m=enu, **lacking))] == [p.actions for p in planted]


def test_a_heading_that_is_long_unknown_is_unknown_in_its_part():
    track, _ = fly([Phase(6), Phase(12, forward=8), Phase(6)], [0.8, 0.8])
    log = logged(track, 10, np.random.default_rng(0))
    hidden = {
        seconds: np.where((log.t_s > 10) & (log.t_s < 10 + seconds), np.nan, log.heading_deg) for seconds in (1, 3)
    }
    assert ("fly forward",) in actions(observed(replace(log, heading_deg=hidden[1])))
    assert actions(observed(replace(log, heading_deg=hidden[3]))) == [
        ("stay in place",),
        ("fly horizontally",),
        ("stay in place",),
    ]


def test_a_log_without_heights_above_take_off_climbs_by_its_altitude():
    log, planted = flight(3, 10.0)
    found = observed(replace(log, height_m=np.full(len(log), np.nan)))
    assert [frozenset(s.actions) for s in found] == [p.actions for p in planted]


def test_a_turn_through_north_is_a_small_one():
    track, _ = fly([Phase(5), Phase(3, yaw=-20), Phase(5)], [0.6, 0.6], heading_deg=20)
    (turn,) = [s for s in observed(logged(track, 1, np.random.default_rng(3))) if s.actions != ("hover",)]
    assert turn.actions == ("turn left",)
    assert turn.turn_deg == pytest.approx(-60, abs=5)


def test_margins_are_the_least_ratio():
    found = simple([Phase(5), Phase(5, up=1), Phase(5)])
    # 5 m of 1 m, 1 m/s of 0.5 m/s, 5 s of 0.5 s: the speed is nearest to its limit
    assert found[1].margin == pytest.approx(2.0, abs=0.05)
    assert found[0].margin == pytest.approx(5 / 2, abs=0.2)  # of the two seconds of a hover


@pytest.mark.parametrize("samples", [0, 1, 2, 3])
def test_a_log_of_few_samples_says_nothing(samples):
    track, _ = fly([Phase(5, forward=5)], [])
    arrays = {name: value[:samples] for name, value in vars(track).items() if value is not None}
    assert observed(replace(track, **arrays)) == []


@pytest.mark.parametrize(
    ("general", "special", "holds"),
    [
        ({"fly horizontally"}, {"fly left"}, True),
        ({"fly left"}, {"fly horizontally"}, False),
        ({"fly horizontally", "ascend"}, {"fly left", "turn left", "ascend"}, True),
        ({"fly horizontally"}, {"ascend"}, False),
        ({"stay in place"}, {"hover"}, True),
        ({"stay in place"}, {"turn left", "gimbal up"}, True),
        ({"stay in place"}, {"turn left", "fly forward"}, False),
        ({"stay in place"}, {"turn left", "ascend"}, False),
        ({"ascend"}, {"ascend", "turn left"}, True),
    ],
)
def test_what_may_be_said_of_a_movement(general, special, holds):
    assert covers(frozenset(general), frozenset(special)) is holds


def test_the_four_ways_of_flying_come_of_one_another():
    ways = {frozenset({f"fly {way}"}) for way in ("forward", "backward", "left", "right")}
    for way in ways:
        assert {way, opposed(way), quartered(way), quartered(opposed(way))} == ways
        assert quartered(opposed(way)) == opposed(quartered(way))


def test_without_a_heading_the_words_are_those_of_the_others():
    assert phrase({"ascend", "fly horizontally"}, "third") == "flies horizontally while ascending"
    assert phrase({"stay in place"}, "ing") == "staying in place"
    assert stilled(frozenset({"stay in place"})) == {"fly horizontally"}
    assert stilled(frozenset({"fly horizontally", "ascend"})) == {"fly horizontally", "ascend"}


def test_three_moments_are_enough():
    track, _ = fly([Phase(2, forward=5)], [])
    found, fits = paths(track, CONFIG.model_copy(update={"rate_hz": 1.0}))
    assert [len(path) for path in found] == [3]
    (segment,) = segments(found[0], fits, CONFIG)
    assert (segment.actions, segment.distance_m) == (("fly forward",), pytest.approx(10))


@pytest.mark.parametrize(("begin_s", "is_one"), [(10.4, True), (10.9, True), (11.1, False)])
def test_of_changes_that_mean_one_the_sharper_says_when_it_was(begin_s, is_one):
    """Changes within half a second, or half of the 2 s that blurred one."""

    def run(window_s, start_s, end_s):
        return RateRun(
            MotionChannel("climb", np.empty(0), np.empty(0), CONFIG.climb, window_s), 1, start_s, end_s, 0.0, 0.0
        )

    first, second = snapped([run(1.0, 0.0, 10.0), run(2.0, begin_s, 20.0)], 0.5)
    assert (first.start_s, second.end_s) == (0.0, 20.0)
    both = pytest.approx((10.0 / 1 + begin_s / 4) / (1 + 1 / 4))
    assert (first.end_s, second.start_s) == ((both, both) if is_one else (10.0, begin_s))


def test_a_turn_while_the_camera_tilts_is_told_before_it_and_each_by_how_much():
    (found,) = (s for s in simple([Phase(6), Phase(6, yaw=20, tilt=5), Phase(6)]) if s.actions != ("hover",))
    assert found.actions == ("turn right", "gimbal up")
    assert (found.turn_deg, found.gimbal_deg) == (pytest.approx(120, abs=1), pytest.approx(30, abs=0.5))


# 25 m ahead and 7.5 m up; 9 m right; 4.8 m up; 9 m left, through 75 degrees; a rest; 16 m back, the camera up by 24
# degrees; 64 degrees left; 8 m down, the camera down by 28.
ASKEW = [
    Phase(4),
    Phase(5, forward=5, up=1.5),
    Phase(3, left=-3),
    Phase(1.2, up=4),
    Phase(3, left=3, yaw=25),
    Phase(2.6),
    Phase(4, forward=-4, tilt=6),
    Phase(1.6, yaw=-40),
    Phase(4, up=-2, tilt=-7),
    Phase(3),
]


def parted(log: FlightTrack) -> FlightTrack:
    """A part 2 up to 8.3 s, a part 5 from 11.9 s on, and no heights above take-off."""
    kept = (log.t_s < 8.3) | (log.t_s > 11.9)
    log = replace(log, **{name: value[kept] for name, value in vars(log).items() if value is not None})
    return replace(log, part=np.where(log.t_s > 10, 5, 2), height_m=np.full(len(log), np.nan))


GOLDEN = {
    "the log starts 0.87 s before the video": (
        {}, {"t_s": 2.37}, 1.5, (0.0, 0.0), (0.6, 0.6, 0.6), [0.0, 0.0], (
            ("1.0 4.871 hover", 0.007, 0.002, 0.0, 0.0, 1.935),
            ("4.871 9.879 fly forward, ascend", 25.916, 7.486, 0.0, 0.0, 3.0),
            ("9.879 12.848 fly right", 10.671, 0.017, 0.0, 0.0, 3.75),
            ("12.848 14.086 ascend", 0.02, 4.794, 0.03, 0.0, 2.475),
            ("14.086 17.071 fly left, turn right", 8.918, 0.0, 74.97, 0.0, 3.742),
            ("17.071 19.671 hover", 0.024, 0.0, 0.0, 0.1, 1.3),
            ("19.671 23.668 fly backward, gimbal up", 15.972, 0.0, -0.06, 23.85, 1.5),
            ("23.668 25.274 turn left", 0.0, -0.003, -63.94, -0.07, 3.213),
            ("25.274 29.271 descend, gimbal down", 0.0, -7.997, 0.0, -27.83, 1.75),
            ("29.271 32.2 hover", 0.0, 0.0, 0.0, -0.06, 1.465),
        )),
    "with noise, and 3.1 s after it": (
        {"over_ground_m": 0.4, "height_m": 0.25, "dropped": 0.1}, {}, -3.1, (0.0, 0.0), (1.4015, 1.1145, 0.6),
        [0.3, 0.2], (
            ("3.2 7.086 hover", 0.062, -0.083, 0.0, 0.0, 1.943),
            ("7.086 12.117 fly forward, ascend", 25.598, 7.846, 0.0, 0.0, 2.311),
            ("12.117 15.083 fly right", 10.609, -0.212, 0.0, 0.0, 2.867),
            ("15.083 16.303 ascend", 0.106, 4.887, 0.01, 0.0, 2.439),
            ("16.303 19.295 fly left, turn right", 9.198, -0.064, 74.99, 0.0, 2.883),
            ("19.295 21.917 hover", 0.754, -0.133, 0.0, 0.38, 1.311),
            ("21.917 25.902 fly backward, gimbal up", 15.901, 0.099, -0.03, 23.56, 1.5),
            ("25.902 27.491 turn left", 0.129, 0.26, -63.97, -0.01, 3.177),
            ("27.491 31.551 descend, gimbal down", 0.343, -8.371, 0.0, -27.86, 1.75),
            ("31.551 34.4 hover", 0.413, 0.358, 0.0, -0.07, 1.424),
        )),
    "in steps of 2 m and 0.5 m": (
        {}, {"t_s": 5.0}, 0.0, (2.0, 0.5), (3.75, 1.5, 0.6), [0.2, 0.125], (
            ("5.2 8.983 hover", 0.15, 0.003, 0.0, 0.0, 1.892),
            ("8.983 13.999 fly forward, ascend", 27.0, 7.494, 0.0, 0.0, 3.0),
            ("13.999 16.881 fly right", 12.19, -0.007, 0.0, 0.0, 2.025),
            ("16.881 18.219 ascend", 0.061, 4.82, 0.06, 0.0, 2.676),
            ("18.219 21.204 fly left, turn right", 7.789, -0.01, 74.9, 0.0, 1.909),
            ("21.204 23.798 hover", 0.055, 0.0, 0.03, 0.17, 1.297),
            ("23.798 27.8 fly backward, gimbal up", 15.773, 0.0, -0.1, 23.65, 1.5),
            ("27.8 29.401 turn left", 0.084, 0.01, -63.85, -0.03, 3.203),
            ("29.401 33.4 descend, gimbal down", 0.063, -8.021, -0.06, -27.6, 1.75),
            ("33.4 36.2 hover", 0.0, 0.011, 0.0, -0.2, 1.4),
        )),
    "without a heading": (
        {}, {"heading_deg": np.nan}, 0.0, (0.0, 0.0), (0.6, 0.6, 0.6), [0.0, 0.0], (
            ("0.2 4.0 stay in place", 0.012, 0.004, None, 0.0, 1.9),
            ("4.0 9.0 fly horizontally, ascend", 24.434, 7.494, None, 0.0, 3.0),
            ("9.0 11.985 fly horizontally", 8.842, 0.002, None, 0.0, 3.75),
            ("11.985 13.215 ascend", 0.003, 4.8, None, 0.0, 2.458),
            ("13.215 16.201 fly horizontally", 8.937, 0.0, None, 0.0, 3.743),
            ("16.201 18.8 stay in place", 0.011, 0.0, None, 0.17, 1.3),
            ("18.8 22.8 fly horizontally, gimbal up", 15.934, 0.0, None, 23.65, 1.5),
            ("24.4 28.4 descend, gimbal down", 0.0, -7.992, None, -27.6, 1.75),
            ("28.4 31.2 stay in place", 0.0, -0.003, None, -0.2, 1.4),
        )),
    "in two parts": (
        {}, {}, 0.0, (0.0, 0.0), (0.6, 0.6, 0.6), [0.0, 0.0], (
            ("0.2 4.0 hover", 0.012, 0.004, 0.0, 0.0, 1.9),
            ("4.0 8.2 fly forward, ascend", 20.958, 6.296, 0.0, 0.0, 3.0),
            ("12.0 16.2 fly left, turn right", 8.937, 4.385, 74.9, 0.0, 3.743),
            ("16.2 18.8 hover", 0.011, 0.0, 0.03, 0.17, 1.3),
            ("18.8 22.799 fly backward, gimbal up", 15.934, 0.0, -0.1, 23.65, 1.5),
            ("22.799 24.401 turn left", 0.006, -0.005, -63.85, -0.03, 3.204),
            ("24.401 28.4 descend, gimbal down", 0.0, -7.992, -0.06, -27.6, 1.75),
            ("28.4 31.2 hover", 0.0, -0.003, 0.0, -0.2, 1.4),
        )),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_a_flight_askew_in_full(name: str) -> None:
    """Each line was read against what was planted: times, metres flown and climbed, degrees turned and tilted, margin.

    The way to the right is 1.7 m longer than planted, by the ramp of the flight before it.
    """
    noise, changes, offset_s, step_m, windows, errors, lines = GOLDEN[name]
    track, _ = fly(ASKEW, [0.8] * (len(ASKEW) - 1), 310.0)
    log = logged(track, 10.0, np.random.default_rng(7), **noise)
    log = replace(log, **{field: getattr(log, field) + value for field, value in changes.items()})
    found, fits = paths(parted(log) if name == "in two parts" else log, CONFIG, offset_s, step_m)
    assert (fits.move.window_s, fits.climb.window_s, fits.turn.window_s) == pytest.approx(windows, abs=1e-3)
    assert [fits.move.error, fits.climb.error] == pytest.approx(errors, abs=1e-3)
    assert [path.number for path in found] == ([2, 5] if name == "in two parts" else [0])
    told = [segment for path in found for segment in segments(path, fits, CONFIG, step_m)]
    assert [" ".join((f"{s.start_s} {s.end_s}", ", ".join(s.actions))) for s in told] == [line[0] for line in lines]
    for segment, (_, *numbers) in zip(told, lines, strict=True):
        values = (segment.distance_m, segment.climb_m, segment.turn_deg, segment.gimbal_deg, segment.margin)
        for value, number in zip(values, numbers, strict=True):
            assert value is number or value == pytest.approx(number, abs=0.002)


@pytest.mark.parametrize(("step_m", "is_told"), [((1.9, 0.0), True), ((2.6, 0.0), False), ((0.0, 2.6), True)])
def test_without_a_heading_a_way_of_two_steps_over_ground_is_told(step_m: tuple[float, float], is_told: bool) -> None:
    """5 m within 2.5 s, after a rest and before one."""
    track, _ = fly([Phase(8), Phase(2.5, forward=2.0), Phase(8)], [0.3, 0.3])
    headless = replace(track, heading_deg=np.full(len(track), np.nan))
    assert (("fly horizontally",) in actions(observed(headless, step_m))) is is_told


# ---- every planted movement of the sample flights is found in their logs


LOGS = {
    "px4": ("log.ulg", with_estimator),
    "px4_gps": ("log.ulg", with_receiver),
    "airsim": ("log.txt", recording),
}
NAMED_WITHOUT_HEADING = {"ascend", "descend", "gimbal up", "gimbal down"}


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.id)
def test_planted_movements(plan: FlightPlan, tmp_path: Path):
    pose = pilot.fly(plan.moves, plan.start_xy, plan.heading_deg, plan.camera.pitch_deg or 0.0)
    name, write = LOGS.get(plan.log, ("log.SRT", subtitles))
    (tmp_path / name).write_bytes(write(plan, pose)[0])
    ((_, assembled),) = read_tracks(tmp_path / name)
    config = MotionConfig()
    parts, fits = paths(assembled.track, config)
    found = [s for part in parts for s in segments(part, fits, config)]
    # A receiver with noise of 0.5 m leaves changes in doubt for half a window.
    slack_s, slack_m = (0.5, 0.2) if fits.move.error < 0.25 else (0.8, 0.8)
    headed = all(s.turn_deg is not None for s in found)
    for move in planted_moves(plan, pose):
        if not headed and not set(move.actions) <= NAMED_WITHOUT_HEADING:
            continue
        if any(move.start_s < b.t_s[0] and a.t_s[-1] < move.end_s for a, b in pairwise(parts)):
            continue  # it goes on through a gap of the log
        same = [s for s in found if set(s.actions) == set(move.actions)]
        best = min(same, key=lambda s: abs(s.start_s - move.start_s) + abs(s.end_s - move.end_s))
        if move.start_s > parts[0].t_s[0] + 0.2:
            assert best.start_s == pytest.approx(move.start_s, abs=slack_s)
        assert best.end_s == pytest.approx(move.end_s, abs=slack_s)
        assert best.climb_m == pytest.approx(move.climb_m, abs=slack_m)
        assert not headed or best.turn_deg == pytest.approx(move.turn_deg, abs=5)
