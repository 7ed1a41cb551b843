"""How movers of sample drives move: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.samples.drive.plan import Pace, Path, Shift, move


def test_a_quarter_circle_ends_where_compasses_draw_it() -> None:
    path = Path((0.0, 0.0), 0.0, ((10.0, 0.0), (np.pi, 90.0), (1e9, 0.0)))  # 10 m ahead, then a radius of 2 m
    place, yaw = path.at(np.array([0.0, 10.0, 10.0 + np.pi / 2, 10.0 + np.pi, 15.0 + np.pi, -3.0]))
    expected = [[0, 0], [10, 0], [10 + np.sqrt(2), 2 - np.sqrt(2)], [12, 2], [12, 7], [-3, 0]]
    assert np.allclose(place, expected)
    assert np.allclose(np.degrees(yaw), [0, 0, 45, 90, 90, 0])


def test_who_brakes_to_a_stop_stands() -> None:
    pace = Pace(5.0, 10.0, ((2.0, 0.0), (8.0, -2.0), (2.0, 1.0)))  # stops after 5 s of the 8
    along, speed, acceleration = pace.at(np.array([0.0, 2.0, 4.0, 7.0, 9.0, 11.0, 20.0]))
    assert along.tolist() == [5.0, 25.0, 41.0, 50.0, 50.0, 50.5, 68.0]
    assert speed.tolist() == [10.0, 10.0, 6.0, 0.0, 0.0, 1.0, 2.0]
    assert acceleration.tolist() == [0.0, -2.0, -2.0, 0.0, 0.0, 1.0, 0.0]


def test_a_change_of_lane_ends_beside_where_it_began() -> None:
    times_s = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    found = move(Path((0.0, 0.0), 90.0), Pace(0.0, 10.0), (Shift(1.0, 3.0, 4.0),), times_s)
    assert np.allclose(found.place_m, [[0, 0], [0, 10], [-2, 20], [-4, 30], [-4, 40]])
    assert np.allclose(found.velocity_mps[2], [-np.pi, 10])
    assert found.yaw_deg[2] == pytest.approx(90 + np.degrees(np.arctan2(np.pi, 10)))
    assert found.yaw_deg[[0, 4]].tolist() == [90.0, 90.0]
