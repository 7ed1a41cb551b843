"""A log without a heading, of a drone that was flown nose first: what is said of it, and with what margin."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.worlds.flight.facts import Segment
from pipeline.worlds.flight.observe.motion import COURSE_ERROR_DEG, FlightPath, MotionConfig, RateFit, by_course, paths
from pipeline.worlds.flight.observe.movements import segments
from tests.benchmarks.urbanvideo.flights import flight, mark, motion, row, rows
from tests.worlds.flight.observe.planted import Phase, fly, logged
from tests.worlds.flight.observe.test_views import Shot, tower

CONFIG = MotionConfig()
STILL = Phase(4.0)


def told(phases: list[Phase], nose_first: bool = True, headed: bool = False, **noise: float) -> list[Segment]:
    track, _ = fly(phases, [0.8] * (len(phases) - 1), 30.0)
    log = logged(track, 10.0, np.random.default_rng(0), **noise)
    if not headed:
        log = replace(log, heading_deg=np.full(len(log), np.nan))
    found, fits = paths(log, CONFIG, nose_first=nose_first)
    return [s for path in found for s in segments(path, fits, CONFIG)]


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_forward_and_wide_turns_are_those_of_a_log_with_a_heading(noise: float) -> None:
    phases = [STILL, Phase(8, forward=6), Phase(9, forward=6, yaw=10), Phase(8, forward=6), STILL]
    found, headed = told(phases, over_ground_m=noise), told(phases, headed=True)
    stays = [("stay in place",) if s.actions == ("hover",) else s.actions for s in headed]
    assert [s.actions for s in found] == stays
    turn, truth = (next(s for s in some if "turn right" in s.actions) for some in (found, headed))
    assert turn.turn_deg == pytest.approx(truth.turn_deg, abs=COURSE_ERROR_DEG)
    assert turn.start_s == pytest.approx(truth.start_s, abs=1.0)


def test_a_heading_of_the_log_stays_as_it_is() -> None:
    phases = [STILL, Phase(8, left=6), STILL]
    assert told(phases, headed=True) == told(phases, nose_first=False, headed=True)


def test_turns_within_the_margin_are_not_claimed() -> None:
    assert "turn right" not in {a for s in told([Phase(8, forward=6), Phase(4, forward=6, yaw=6)]) for a in s.actions}


def test_of_a_rest_it_is_not_said_how_the_nose_turned() -> None:
    found = told([Phase(8, forward=6), STILL, Phase(6, yaw=30), STILL, Phase(8, forward=6)])
    assert [s.actions for s in found] == [("fly forward",), ("stay in place",), ("fly forward",)]
    assert found[1].turn_deg is None


def test_a_turn_that_is_not_seen_parts_what_is_flown() -> None:
    """It slows down to 1 m/s, turns right about, and flies on: not 20 seconds of flying forward."""
    phases = [Phase(8, forward=6), Phase(2, forward=1), Phase(4, forward=1, yaw=44), Phase(2, forward=1)]
    found = told([*phases, Phase(8, forward=6)])
    flown = [s for s in found if "fly forward" in s.actions]
    assert len(flown) == 2
    assert flown[1].start_s - flown[0].end_s > 2.0


def test_a_landmark_is_surely_in_view_only_with_the_margin() -> None:
    """The picture is 90 degrees wide: 40 off its axis a tower is in it, but not if the nose may be 15 off."""
    sure = Shot(heading=-25.0)
    assert sure.sees(tower())
    edge = Shot(heading=-40.0)
    assert edge.sees(tower())
    assert not replace(edge, error=COURSE_ERROR_DEG).sees(tower())
    assert replace(sure, error=COURSE_ERROR_DEG).sees(tower())


def test_questions_keep_the_margin_and_name_it() -> None:
    # 20 and 40 degrees to the right of the nose; the edge of "ahead" is at 45, and 15 + 15 are to be kept.
    marks = [mark("the mill", 100 * np.sin(a), 100 * np.cos(a), 1.0) for a in np.radians([20.0])]
    moved = motion([("fly forward", 4, 0.1), ("ascend", 4, 9)])
    course = moved.model_copy(update={"heading_error_deg": COURSE_ERROR_DEG})
    plain, doubtful = (row(flight(m, marks), "Landmark Position", "the mill", "0:02") for m in (moved, course))
    assert plain["reason"] is None
    assert (doubtful["reason"], doubtful["limit"]) == ("near_sector_boundary", 30.0)
    asked = [r for r in rows(flight(course), "Sequence Recall", "Trajectory Captioning") if r["reason"] is None]
    assert asked
    for found in asked:
        assert ("heading_of_course", COURSE_ERROR_DEG) in [(e["name"], e["value"]) for e in found["evidence"]]
        assert "heading_of_course" in found["flags"]


def flown(speed: list[float], course_deg: list[float], error: float = 0.0) -> FlightPath:
    """A path at 5 Hz under `by_course`."""
    n = len(speed)
    way = np.radians(course_deg)
    velocity = np.column_stack([np.array(speed) * np.sin(way), np.array(speed) * np.cos(way), np.zeros(n)])
    flat = np.zeros(n)
    path = FlightPath(0, np.arange(n) / 5, np.zeros((n, 3)), velocity, flat, flat, flat, flat, flat, flat, flat)
    return by_course(path, RateFit(error, 0.6), CONFIG)


@pytest.mark.parametrize(
    ("slow", "change_deg", "bridged", "unseen"),
    [
        (0, 170.0, True, False),  # from one moment to the next it is a turn, however sharp
        (9, 90.0, True, False),  # 2 s from the last fast moment to the next
        (10, 90.0, False, True),
        (10, 29.0, False, False),  # on as before, within the margin
        (10, 31.0, False, True),
        (1, 149.0, True, False),
        (1, 151.0, False, True),  # near a half turn: either way
        (1, -149.0, True, False),
        (1, -151.0, False, True),
    ],
)
def test_what_is_known_of_a_slow_stretch_by_hand(slow: int, change_deg: float, bridged: bool, unseen: bool) -> None:
    path = flown([4.0] * 20 + [1.9] * slow + [4.0] * 20, [350.0] * (20 + slow) + [350.0 + change_deg] * 20)
    known = np.isfinite(path.heading_deg)
    assert known.tolist() == [True] * 20 + [bridged] * slow + [True] * 20
    assert path.turned_unseen.tolist() == [False] * 20 + [unseen] * slow + [False] * 20
    assert path.heading_deg[0] % 360 == pytest.approx(350.0)
    assert path.heading_deg[-1] % 360 == pytest.approx((350.0 + change_deg) % 360)
    assert (np.nansum(path.turn) / 5 == pytest.approx(change_deg, abs=3.0)) == bridged


def test_a_course_is_known_from_2_mps_or_as_fast_as_noise_asks_for() -> None:
    """15 degrees are what twice the error turns it by: of 0.5 m/s at 3.73 m/s."""
    speed = [1.99, 2.0, 2.0, 2.0, 3.7, 3.8, 3.8, 3.8]
    assert np.isfinite(flown(speed, [0.0] * 8).heading_deg).tolist() == [False] + [True] * 7
    assert np.isfinite(flown(speed, [0.0] * 8, 0.5).heading_deg).tolist() == [False] * 5 + [True] * 3
    nothing = flown([1.0] * 8, [0.0] * 8)
    assert np.isnan(nothing.heading_deg).all()
    assert np.isnan(nothing.turn).all()
    assert (nothing.turn_error, nothing.turned_unseen.any()) == (0.0, False)


@pytest.mark.parametrize(("error", "of_turn"), [(0.01, 0.3376), (0.1, 1.5), (0.35, 1.5), (0.5, 2.026)])
def test_the_error_of_a_turn_by_course_by_hand(error: float, of_turn: float) -> None:
    """At 4 m/s: degrees of two courses over the window, which is 0.6 s at least, 5 s at most, and leaves 1.5 between.

    0.01 / 4 are 0.1432 degrees, times the root of 2 0.2026: over 0.6 s. Of 0.5 m/s 10.13: over 5 s.
    """
    assert flown([4.0] * 20, [0.0] * 20, error).turn_error == pytest.approx(of_turn, rel=1e-3)
