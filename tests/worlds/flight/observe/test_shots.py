"""Where a landmark is shown best: by hand, on a flight straight towards it."""

import numpy as np
import pytest

from pipeline.geometry.tracks import NO_BUILDINGS, Buildings
from pipeline.worlds.flight.facts import FlightCamera, Landmark, Shot
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.observe.views import PosesAt, ViewInputs, best_shot
from tests.benchmarks.urbanvideo.flights import mark

# At 30 m, north at 10 m/s for 10 s; a level camera of 90 degrees, 16:9: w metres at d metres take w / 2d of the width.
CAMERA = FlightCamera(horizontal_fov_deg=90.0, width=1280, height=720)


def cube(north: float, size: float = 20.0, **more: object) -> Landmark:
    """On the ground, straight ahead."""
    half = size / 2
    outline = tuple((east, north + n) for east, n in ((-half, -half), (half, -half), (half, half), (-half, half)))
    return mark("the mill", 0, north, half * 2**0.5, size, outline=outline, **more)


def shot(
    landmark: Landmark,
    views: tuple[tuple[float, float], ...] = ((0.0, 10.0),),
    buildings: Buildings = NO_BUILDINGS,
    turn_from_s: float = 99.0,
    error_deg: float = 0.0,
) -> Shot | None:
    t_s = np.arange(0, 10.01, 0.2)
    enu = np.column_stack([np.zeros(len(t_s)), 10 * t_s, np.full(len(t_s), 30.0)])
    heading = np.where(t_s >= turn_from_s, 10 * (t_s - turn_from_s), 0.0)
    poses = PosesAt(t_s, enu, heading, np.zeros(len(t_s)), np.zeros(len(t_s), dtype=np.intp))
    return best_shot(poses, landmark, views, ViewInputs(CAMERA, 0.0, buildings, MotionConfig(), error_deg))


def test_where_a_landmark_is_shown_best() -> None:
    found = shot(cube(160))
    assert found.second == 9.6  # the last that is clear of the end of the view
    away = 160 - 96 - 10  # of the nearer wall
    # Its foot lies 30 m below the camera, its top 10 m, farther off at its back.
    expected = (0.5 - 5 / away, 0.5 + 5 / (away + 20) * 16 / 9, 0.5 + 5 / away, 0.5 + 15 / away * 16 / 9)
    assert found.box == pytest.approx(expected, abs=1e-3)
    assert found.share == pytest.approx(expected[3] - expected[1], abs=2e-3)


@pytest.mark.parametrize(
    ("views", "second"), [(((0.0, 4.0),), 3.6), (((0.0, 4.0), (6.0, 7.0)), 6.6), (((5.0, 5.6),), None), ((), None)]
)
def test_only_while_it_is_surely_in_view(views: tuple[tuple[float, float], ...], second: float | None) -> None:
    found = shot(cube(160), views)
    assert (found and found.second) == second


def test_not_while_the_nose_turns() -> None:
    """From 6 s on by 10 degrees a second: half a second before, it has turned by 5 within a second."""
    found = shot(cube(160), turn_from_s=6.0)
    assert found.second == pytest.approx(5.4)


def test_what_lies_mostly_outside_or_at_no_known_height_is_not_shown() -> None:
    assert shot(cube(100, 60.0), ((6.0, 10.0),)) is None  # the most of it lies below the picture, or behind
    assert shot(cube(160).model_copy(update={"base_m": None, "top_m": None, "rise_m": (2.5, 60.0)})) is None
    assert shot(cube(160), error_deg=15.0) is None


def test_what_may_be_a_little_higher_is_shown_with_all_that_it_may_fill() -> None:
    """A cube of 20 m whose foot may lie 10 m lower fills at most half as much again."""
    known, open_foot = shot(cube(160)), shot(cube(160).model_copy(update={"base_m": None}))
    assert open_foot.box[1] == pytest.approx(known.box[1])
    assert open_foot.box[3] > known.box[3]


@pytest.mark.parametrize(("top_m", "second"), [(8.0, 9.6), (28.0, None)])
def test_what_is_hidden_is_not_shown(top_m: float, second: float | None) -> None:
    """A wall before it: from 30 m one sees over a low one; a high one hides all but the top."""
    wall = np.array([(-40.0, 140.0), (40.0, 140.0), (40.0, 145.0), (-40.0, 145.0)])
    found = shot(cube(160), buildings=Buildings((wall,), np.zeros(1), np.array([top_m])))
    assert (found and found.second) == second


def test_what_stands_in_a_row_is_shown_between_its_neighbours() -> None:
    north = np.array([150.0, 150.0, 170.0, 170.0])
    row = tuple(np.column_stack([east + np.array([-10, 10, 10, -10]), north]) for east in (-20.1, 20.1))
    assert shot(cube(160), buildings=Buildings(row, np.zeros(2), np.full(2, 20.0))) == shot(cube(160))


@pytest.mark.parametrize(("top_m", "shown"), [(10.1, True), (9.9, False)])
def test_a_box_takes_at_most_twice_what_it_takes_at_least(top_m: float, shown: bool) -> None:
    """A foot that may lie 10 m lower doubles what is 10 m high, seen from 5 m, so by its front."""
    t_s = np.arange(0, 10.01, 0.2)
    flat = np.zeros(len(t_s))
    poses = PosesAt(t_s, np.column_stack([flat, 10 * t_s, flat + 5.0]), flat, flat, flat.astype(np.intp))
    low = cube(160).model_copy(update={"base_m": None, "top_m": top_m})
    found = best_shot(poses, low, ((0.0, 10.0),), ViewInputs(CAMERA, 0.0, NO_BUILDINGS, MotionConfig()))
    assert (found is not None) == shown


@pytest.mark.parametrize(("turned_deg", "second"), [(5.0, 6.8), (5.1, 5.8)])
def test_a_turn_of_five_degrees_within_a_second_is_steady_and_more_is_not(turned_deg: float, second: float) -> None:
    """All of the turn lies between 6.8 s and 7 s, the view ends at 7.2 s: its last picture, or one a second before."""
    t_s = np.arange(0, 10.01, 0.2)
    enu = np.column_stack([np.zeros(len(t_s)), 10 * t_s, np.full(len(t_s), 30.0)])
    heading = np.where(t_s >= 6.9, turned_deg, 0.0)
    poses = PosesAt(t_s, enu, heading, np.zeros(len(t_s)), np.zeros(len(t_s), dtype=np.intp))
    found = best_shot(poses, cube(160), ((0.0, 7.2),), ViewInputs(CAMERA, 0.0, NO_BUILDINGS, MotionConfig()))
    assert found.second == pytest.approx(second)


def test_one_moment_alone_shows_nothing() -> None:
    one = np.zeros(1)
    poses = PosesAt(one, np.array([[0.0, 0.0, 30.0]]), one, one, one.astype(np.intp))
    assert best_shot(poses, cube(60), ((0.0, 0.0),), ViewInputs(CAMERA, 0.0, NO_BUILDINGS, MotionConfig())) is None
