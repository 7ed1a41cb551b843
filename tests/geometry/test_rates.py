"""How fast sampled values change."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.geometry.angles import rate, turn_rate_dps

TIMES_S = np.arange(31) / 10


def test_even_and_growing_speeds_are_exact() -> None:
    moved = np.stack([4 * TIMES_S, TIMES_S**2], axis=-1)
    found = rate(TIMES_S, moved, 1.0)
    assert np.allclose(found[:, 0], 4)
    assert np.allclose(found[5:-5, 1], 2 * TIMES_S[5:-5])  # a central difference of a parabola is its slope
    assert found[0, 1] == pytest.approx(0.5)  # from 0 s to 0.5 s: there is nothing before


def test_what_is_not_known_makes_no_speed() -> None:
    moved = 4 * TIMES_S[:, None]
    moved[10] = np.nan
    assert np.flatnonzero(np.isnan(rate(TIMES_S, moved, 1.0)[:, 0])).tolist() == [5, 15]
    assert np.isnan(rate(TIMES_S[:1], moved[:1], 1.0)).all()
    assert rate(TIMES_S[:0], moved[:0], 1.0).shape == (0, 1)


def test_turns_go_the_short_way_round() -> None:
    yaw_deg = (175 + 30 * TIMES_S + 180) % 360 - 180
    assert np.allclose(turn_rate_dps(TIMES_S, yaw_deg, 0.4), 30)
    assert np.allclose(turn_rate_dps(TIMES_S, np.stack([yaw_deg, -yaw_deg]), 0.4), [[30], [-30]])
