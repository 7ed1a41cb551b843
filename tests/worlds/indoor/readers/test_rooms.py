"""The room as a reader measures it: area, outline, centre, and what is said where it cannot be measured."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.core.findings import Findings
from pipeline.worlds.indoor.readers.meshes import HOLES_MAX, measure_room


def floor(hole_m: float = 0.0) -> np.ndarray:
    """Vertices of a floor of 4 x 4 m, every 5 cm, with a square hole amid it, and four lamps above."""
    x, y = np.meshgrid(np.linspace(0, 4, 81), np.linspace(0, 4, 81))
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    inside = (np.abs(points[:, :2] - 2) < hole_m / 2).all(axis=1)
    lamps = [[x, y, 2.5] for x in (0.0, 4.0) for y in (0.0, 4.0)]
    return np.concatenate([points[~inside], lamps])


def test_area_outline_and_centre() -> None:
    findings = Findings()
    room = measure_room(floor(), findings)
    assert room.area_m2 == pytest.approx(16.0)
    assert room.center == pytest.approx((2.0, 2.0, 1.25))
    assert room.floor is not None
    (ring,) = room.floor
    assert ring[0] == ring[-1]
    assert (min(ring), max(ring)) == ((0.0, 0.0), (4.0, 4.0))
    assert (room.area_failure, findings.items) == (None, [])


def test_the_centre_is_that_of_the_minimal_box_not_of_the_extent() -> None:
    """A room on a right triangle of legs 4 and 3 m, 2 m high, turned by 30 degrees: the box has the legs as sides."""
    c, s = np.cos(np.radians(30.0)), np.sin(np.radians(30.0))
    turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    corners = np.array([[x, y, z] for x, y in ((0, 0), (4, 0), (0, 3)) for z in (0, 2)], dtype=float)
    room = measure_room(corners @ turn, Findings())
    assert room.center == pytest.approx(np.array([2.0, 1.5, 1.0]) @ turn)


@pytest.mark.parametrize(("hole_m", "doubtful"), [(1.9, False), (2.2, True)])  # 23 % and 30 % of the floor
def test_a_floor_with_much_left_out_is_doubtful(hole_m: float, doubtful: bool) -> None:
    findings = Findings()
    room = measure_room(floor(hole_m), findings)
    assert room.area_m2 == pytest.approx(16.0)  # as the package alphashape has it: holes are filled
    assert [(f.name, f.severity, f.subject, f.limit) for f in findings.items] == (
        [("incomplete_floor", "doubt", "room", HOLES_MAX)] if doubtful else []
    )


def test_a_room_without_area_says_why() -> None:
    findings = Findings()
    wall = np.array([[x, 0.0, z] for x in np.linspace(0, 3, 31) for z in (0.0, 1.0)])
    room = measure_room(wall, findings)
    assert room.area_m2 is None
    assert room.area_failure == "points_collinear: 31"
    assert room.center == pytest.approx((1.5, 0.0, 0.5))
    assert [(f.name, f.severity, f.subject, f.measured) for f in findings.items] == [
        ("room_not_measured", "doubt", "room", 31.0)
    ]
