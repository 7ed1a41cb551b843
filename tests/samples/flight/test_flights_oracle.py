"""The oracle of the sample flights against a flight that is worked out by hand."""

from __future__ import annotations

import pytest

from pipeline.samples.flight.write import FlightTruth
from tests.oracles.sample_flights import (
    landmarks_named,
    oracle_bearing,
    oracle_distance,
    oracle_in_view,
    oracle_intervals,
    oracle_next,
    oracle_pixel,
    oracle_pose,
    oracle_segments,
    oracle_side,
    oracle_step,
)

# East of north by 10 m, at 20 m; the video begins 2 s into the log.
NORTH, EAST_HIGH, POINT = range(3)


def box(x: float, y: float, half: float, top: float) -> dict[str, object]:
    corners = [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
    return {"corners": corners, "base_m": 0.0, "top_m": top}


def landmark(
    name: str, solid: dict[str, object], shown: tuple[tuple[float, int], ...] = (), is_point: bool = False
) -> dict[str, object]:
    return {"name": name, "kind": "k", "is_point": is_point, "solid": solid, "color": (1, 2, 3), "shown": shown}


def move(start: float, end: float, actions: tuple[str, ...], metres: float, turn: float) -> dict[str, object]:
    ends = {"start_s": start, "end_s": end, "actions": actions, "distance_m": metres}
    return {**ends, "climb_m": 0.0, "turn_deg": turn, "gimbal_deg": 0.0}


@pytest.fixture
def truth() -> FlightTruth:
    """North at 5 m/s for 10 s at a height of 20 m, then a turn on the spot from north to west within 2 s."""
    forward = [(i / 5, (0.0, float(i), 20.0), 0.0) for i in range(51)]
    turn = [(10 + i / 5, (0.0, 50.0, 20.0), (-9.0 * i) % 360) for i in range(1, 11)]
    t, enu, heading = zip(*forward, *turn, strict=True)
    return FlightTruth.model_validate(
        {
            "id": "made",
            "log": "log.txt",
            "log_format": "airsim",
            "origin": {"lat_deg": 52.0, "lon_deg": 4.0, "alt_m": 0.0},
            "camera": {"horizontal_fov_deg": 90.0, "width": 200, "height": 100},
            "has_heading": True,
            "has_buildings": True,
            "goal": "North",
            "route": [
                {"text": "fly", "start_s": 0.0, "end_s": 10.0},
                {"text": "turn left", "start_s": 10.0, "end_s": 12.0},
            ],
            "duration_s": 12.0,
            "video_offset_s": 2.0,
            "frames": 40,
            "fps": 4,
            "noise_m": 0.0,
            "dropped": 0.0,
            "gap_s": None,
            "no_fix_s": 0.0,
            "moves": [move(0, 10, ("fly forward",), 50, 0), move(10, 12, ("turn left",), 0, -90)],
            "poses": {"t_s": t, "enu_m": enu, "heading_deg": heading, "pitch_deg": [0.0] * len(t)},
            "landmarks": [
                landmark("North", box(0, 100, 10, 15), ((2.0, 30), (2.5, 25), (3.0, 19), (4.0, 400), (12.0, 20))),
                landmark("East", box(40, 50, 5, 60)),
                landmark("East", box(-30, 20, 2, 10), is_point=True),
            ],
            "buildings": [],
            "examined_s": [2.0 + i / 2 for i in range(21)],
        }
    )


def test_the_pose_is_between_the_planted_ones(truth: FlightTruth) -> None:
    assert oracle_pose(truth, 0.0) == pytest.approx((0, 10, 20, 0, 0))
    assert oracle_pose(truth, 0.1) == pytest.approx((0, 10.5, 20, 0, 0))
    assert oracle_pose(truth, 8.1).heading_deg == pytest.approx(355.5)  # between 0 and 351: not halfway around
    with pytest.raises(ValueError, match="outside"):
        oracle_pose(truth, 10.1)


def test_segments_are_in_the_time_of_the_video(truth: FlightTruth) -> None:
    first, second = oracle_segments(truth)
    assert (first.start_s, first.end_s, first.distance_m) == (-2.0, 8.0, 50.0)
    assert (second.actions, second.turn_deg) == (("turn left",), -90.0)
    assert oracle_next(truth, 0.0) == second
    assert oracle_next(truth, 8.5) is None
    assert [oracle_step(truth, t) for t in (0.0, 7.9, 8.0, 10.0)] == [0, 0, 1, None]


def test_bearings_are_from_the_nose(truth: FlightTruth) -> None:
    """At 8 s it is at (0, 50) and still looks north; at 10 s it looks west."""
    assert oracle_bearing(truth, 8.0, NORTH) == pytest.approx(0.0)
    assert oracle_bearing(truth, 8.0, EAST_HIGH) == pytest.approx(90.0)
    assert oracle_bearing(truth, 10.0, NORTH) == pytest.approx(90.0)
    assert oracle_bearing(truth, 8.0, POINT) == pytest.approx(-135.0)
    assert oracle_side(truth, 10.0, NORTH) == ("right", pytest.approx(45.0))
    assert oracle_side(truth, 10.0, EAST_HIGH).side == "behind"
    assert oracle_side(truth, 8.0, NORTH) == ("ahead", pytest.approx(45.0))
    assert oracle_side(truth, 4.0, POINT) == ("left", pytest.approx(45 - 18.4349, abs=1e-3))  # at (0, 30)


def test_distances_end_at_the_footprint(truth: FlightTruth) -> None:
    assert oracle_distance(truth, 8.0, NORTH) == pytest.approx(40.0)
    assert oracle_distance(truth, 8.0, NORTH, "center") == pytest.approx(50.0)
    assert oracle_distance(truth, 0.0, EAST_HIGH) == pytest.approx((35**2 + 35**2) ** 0.5)  # its corner, from (0, 10)
    assert oracle_distance(truth, 2.0, POINT) == pytest.approx(30.0)  # a point has no footprint
    assert landmarks_named(truth, "East") == [EAST_HIGH, POINT]


def test_above_a_landmark_the_distance_is_0(truth: FlightTruth) -> None:
    below = truth.landmarks[NORTH].model_copy(
        update={
            "solid": truth.landmarks[NORTH].solid.model_copy(
                update={"corners": ((-1.0, 45.0), (9.0, 45.0), (9.0, 55.0), (-1.0, 55.0))}
            )
        }
    )
    moved = truth.model_copy(update={"landmarks": (below,)})
    assert oracle_distance(moved, 8.0, 0) == 0.0
    assert oracle_distance(moved, 0.0, 0) == pytest.approx(35.0)


def test_what_is_in_view_is_counted_in_pixels(truth: FlightTruth) -> None:
    assert [oracle_in_view(truth, t, NORTH) for t in (0.0, 0.2, 0.5, 1.0, 2.0)] == [True, True, True, False, True]
    assert not oracle_in_view(truth, 0.0, EAST_HIGH)
    assert oracle_in_view(truth, 1.0, NORTH, least_pixels=19)
    assert oracle_intervals(truth, NORTH) == [(0.0, 0.5), (2.0, 2.0), (10.0, 10.0)]
    with pytest.raises(ValueError, match="no frame"):
        oracle_in_view(truth, 11.0, NORTH)


def test_pixels_are_those_of_a_pinhole(truth: FlightTruth) -> None:
    """A field of view of 90 degrees over 200 pixels is a focal length of 100; the drone is at (0, 50, 20)."""
    assert oracle_pixel(truth, 8.0, (0, 100, 20)) == pytest.approx((100, 50, 50))
    assert oracle_pixel(truth, 8.0, (25, 100, 10)) == pytest.approx((150, 70, 50))
    assert oracle_pixel(truth, 8.0, (0, 49, 20)) is None  # behind
    assert oracle_pixel(truth, 8.0, (51, 100, 20)) is None  # beyond the right edge
    down = truth.model_copy(update={"poses": truth.poses.model_copy(update={"pitch_deg": (-90.0,) * 61})})
    assert oracle_pixel(down, 8.0, (4, 52, 0)) == pytest.approx((120, 40, 20))  # north is up, east is right
