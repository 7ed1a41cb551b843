"""Noise, spikes, resampling and fits: against known noise and hand-computed lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.worlds.flight.observe.motion import (
    MotionConfig,
    despiked,
    fitted,
    paths,
    rate_error,
    resampled,
    white_noise,
    window_s,
)
from tests.worlds.flight.observe.planted import Phase, fly


def starts(n: int, *others: int) -> np.ndarray:
    out = np.zeros(n, dtype=bool)
    out[[0, *others]] = True
    return out


@pytest.mark.parametrize("sigma", [0.05, 0.5, 2.0])
def test_white_noise_is_measured_on_a_moving_drone(sigma):
    rng = np.random.default_rng(1)
    t = np.arange(0, 200, 0.2)
    path = np.stack([30 * np.cos(t / 6), 4 * t], axis=1)  # a wide curve at 6 m/s
    assert white_noise(t, path + rng.normal(0, sigma, path.shape), starts(len(t))) == pytest.approx(sigma, rel=0.15)
    assert white_noise(t, path, starts(len(t))) < 0.01


def test_noise_is_not_measured_over_gaps_and_needs_samples():
    t = np.concatenate([np.arange(50.0), 60 + np.arange(50.0)])
    leap = np.where(t < 55, 0.0, 1000.0)[:, None]
    assert white_noise(t, leap, starts(100, 50)) == 0
    assert white_noise(np.arange(3.0), np.array([[0.0], [5], [0]]), starts(3)) == 0
    assert white_noise(np.empty(0), np.empty((0, 2)), starts(1)[:0]) == 0


@pytest.mark.parametrize(("longer", "even"), [(1.25, True), (1.26, False), (0.75, True), (0.74, False)])
def test_noise_is_measured_where_steps_differ_by_a_quarter_at_most(longer, even):
    t = np.cumsum([0, *[1, 1, longer] * 5])
    assert (white_noise(t, (np.arange(16) % 2)[:, None], starts(16)) > 0) == even


def test_only_the_spike_is_left_out():
    t = np.arange(20.0)
    position = np.stack([5 * t, np.zeros(20)], axis=1)
    position[7] += (0, 60)
    keep = despiked(t, position, 0.1)
    assert np.flatnonzero(~keep).tolist() == [7]


def test_a_reversal_at_full_speed_is_no_spike():
    t = np.arange(20.0)
    there_and_back = np.minimum(10 * t, 200 - 10 * t)[:, None]  # 20 m/s of change within two seconds
    assert despiked(t, there_and_back, 0.0).all()


def test_noise_is_no_spike():
    t = np.arange(0, 100, 0.1)
    assert despiked(t, np.random.default_rng(0).normal(0, 0.5, (1000, 2)), 0.5).all()


def test_slow_logs_are_joined_by_lines_and_fast_ones_averaged():
    grid = np.arange(0, 4.01, 0.2)
    slow = resampled(np.array([0.0, 1, 4]), np.array([[0.0], [2], [8]]), grid)
    assert slow[:, 0] == pytest.approx(2 * grid)
    t = np.arange(0, 4.01, 0.02)
    staircase = 2 * t + 0.5 * np.cos(t * 2 * np.pi / 0.04)  # one up, one down
    fast = resampled(t, staircase[:, None], grid)
    assert fast[:, 0] == pytest.approx(2 * grid, abs=0.1)


def test_the_window_grows_with_noise_and_leaves_the_error_asked_for():
    width = window_s(0.5, 0.1, 0.3, 5.0)
    assert width == pytest.approx((12 * 0.25 * 0.1 / 0.09) ** (1 / 3))
    assert rate_error(0.5, 0.1, width) == pytest.approx(0.3)
    assert window_s(50, 0.1, 0.3, 5.0) == 5.0
    assert window_s(0, 1.0, 0.3, 5.0) == pytest.approx(1.4)  # between two samples nothing is known
    rng = np.random.default_rng(2)
    _, rate = fitted(rng.normal(0, 0.5, (20_000, 1)), 10.0, width)
    assert rate.std() == pytest.approx(0.3, rel=0.25)


def test_a_line_and_a_parabola_come_back():
    t = np.arange(0, 10, 0.2)[:, None]
    smooth, rate = fitted(3 * t + 1, 5.0, 1.0)
    assert smooth == pytest.approx(3 * t + 1)
    assert rate == pytest.approx(np.full_like(t, 3))
    smooth, rate = fitted(t**2, 5.0, 1.0)
    assert smooth == pytest.approx(t**2)
    assert rate[3:-3] == pytest.approx(2 * t[3:-3])


@pytest.mark.parametrize("window", [0.6, 1.0, 2.2, 5.0])
def test_smoothing_does_not_move_the_middle_of_a_ramp(window):
    t = np.arange(0, 20, 0.2)
    position = np.where(t < 10, 0.0, 4 * (t - 10))[:, None]
    _, rate = fitted(position, 5.0, window)
    assert np.interp(2.0, rate[:, 0], t) == pytest.approx(10, abs=0.02)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_values_have_no_rate(n):
    smooth, rate = fitted(np.ones((n, 2)), 5.0, 1.0)
    assert smooth.shape == rate.shape == (n, 2)
    assert np.isnan(rate).all()


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_a_window_longer_than_the_part_is_cut(n):
    _, rate = fitted(np.arange(n, dtype=float)[:, None], 5.0, 5.0)
    assert rate == pytest.approx(np.full((n, 1), 5.0))


def test_a_step_of_the_log_makes_no_movement_by_hand() -> None:
    """It slopes by 1.5 steps a window: that is a start's speed, at most 5 s long, and a quarter of it the error.

    0.4 m in 1.2 s are 0.5 m/s, the climb's start; 11.1 m in 5 s are 3.33 m/s, and a coarser log's climbs likewise.
    """
    track, _ = fly([Phase(60, forward=5.0)], [])
    _, fits = paths(track, MotionConfig(), 0.0, (11.1, 0.4))
    assert (fits.move.window_s, fits.move.error) == pytest.approx((5.0, 3.33 / 4))
    assert (fits.climb.window_s, fits.climb.error) == pytest.approx((1.2, 0.5 / 4))
    assert (fits.turn.window_s, fits.turn.error) == pytest.approx((0.6, 0.0))
    _, exact = paths(track, MotionConfig(), 0.0, (0.0, 0.0))
    assert [(fit.window_s, fit.error) for fit in (exact.move, exact.climb)] == [pytest.approx((0.6, 0.0))] * 2


@pytest.mark.parametrize(("noise_m", "kept"), [((1.0, 0.01), True), ((0.01, 1.0), False)])
def test_spikes_over_ground_are_held_against_the_noise_over_ground(noise_m: tuple[float, float], kept: bool) -> None:
    """15 m, a second from either neighbour: 10 m are what a drone could do, and 8 m eight times the noise."""
    track, _ = fly([Phase(100)], [])
    seconds = track.t_s % 1 == 0
    track = replace(track, **{name: value[seconds] for name, value in vars(track).items() if value is not None})
    noise = np.random.default_rng(0).normal(size=track.enu_m.shape) * (noise_m[0], noise_m[0], noise_m[1])
    noise[50, 0] = 15.0
    (path,), _ = paths(replace(track, enu_m=track.enu_m + noise), MotionConfig())
    assert (path.enu_m[path.t_s == track.t_s[50], 0].max() > 4) == kept
