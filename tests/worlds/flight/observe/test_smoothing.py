"""Noise, spikes, resampling and fits: against known noise and hand-computed lines."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 24), st.sampled_from([(0.2, 3), (1.0, 5), (1.1, 5), (1.3, 7), (2.6, 13)]))
def test_fits_are_those_of_a_plain_least_squares_fit(seed: int, count: int, window: tuple[float, int]) -> None:
    """At 5 Hz: a parabola for the value, a line for the rate; at the ends those of the last full window."""
    width_s, samples = window
    samples = min(samples, count if count % 2 else count - 1)
    values = np.random.default_rng(seed).normal(0, 3, (count, 2))
    smooth, rate = fitted(values, 5.0, width_s)
    for n in range(count):
        first = min(max(n - samples // 2, 0), count - samples)
        t_s, own = (np.arange(first, first + samples) - n) / 5.0, values[first : first + samples]
        for column in range(2):
            assert smooth[n, column] == pytest.approx(np.polyfit(t_s, own[:, column], 2)[2], abs=1e-6)
            assert rate[n, column] == pytest.approx(np.polyfit(t_s, own[:, column], 1)[0], abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(30, 60))
def test_fast_logs_are_averaged_about_each_moment(seed: int, count: int) -> None:
    """From 3 s on, five times a second: the mean of the times and values nearest to each moment, joined by lines."""
    rng = np.random.default_rng(seed)
    t_s = np.sort(rng.uniform(2.95, 5.05, count))
    values, grid = rng.normal(0, 5, (count, 2)), 3.0 + np.arange(11) / 5
    found = resampled(t_s, values, grid)
    means = [(t_s[own].mean(), values[own].mean(0)) for own in (np.round((t_s - 3.0) * 5) == k for k in range(11))
             if own.any()]  # fmt: skip
    at, mean = np.array([one[0] for one in means]), np.array([one[1] for one in means])
    for moment, got in zip(grid, found, strict=True):
        right = int(np.clip(np.searchsorted(at, moment), 1, len(at) - 1))
        share = (moment - at[right - 1]) / (at[right] - at[right - 1])
        inside = at[0] <= moment <= at[-1] or moment in (grid[0], grid[-1])
        if inside:
            assert got == pytest.approx(mean[right - 1] + share * (mean[right] - mean[right - 1]), abs=1e-9)


@pytest.mark.parametrize(("count", "averaged"), [(13, False), (14, True)])
def test_logs_a_fifth_faster_than_the_grid_are_averaged(count: int, averaged: bool) -> None:
    """11 moments: more than 13.2 samples. Of samples that alternate a mean is between them."""
    t_s, grid = np.linspace(1.0, 3.0, count), np.linspace(1.0, 3.0, 11)
    found = resampled(t_s, (np.arange(count) % 2)[:, None].astype(float), grid)
    plain = np.interp(grid, t_s, np.arange(count) % 2)
    assert (found[:, 0] == pytest.approx(plain)) is not averaged
    one = resampled(t_s, np.arange(count)[:, None].astype(float), np.array([2.0]))
    assert one[0, 0] == pytest.approx((count - 1) / 2), "a single moment has no step"


@pytest.mark.parametrize(("before_s", "after_s"), [(1.0, 1.0), (0.5, 1.5)])
@pytest.mark.parametrize(("sigma", "limit_m"), [(0.0, 10.0), (0.25, 12.0)])
def test_spikes_at_their_limit(before_s: float, after_s: float, sigma: float, limit_m: float) -> None:
    """2 s from neighbour to neighbour: 20 m/s2 * 4 s2 / 8 are 10 m, and eight times the noise more."""
    t_s = 7.0 + np.cumsum([0.0, 2.0, 2.0, before_s, after_s, 2.0, 2.0])
    line = np.column_stack([3.0 * t_s, -2.0 * t_s])
    for off_m, kept in ((limit_m - 0.1, True), (limit_m + 0.1, False), (-limit_m - 0.1, False)):
        position = line.copy()
        position[3, 1] += off_m
        assert despiked(t_s, position, sigma).tolist() == [True] * 3 + [kept] + [True] * 3
    assert despiked(t_s[:2], line[:2] * 99, 0.0).all()


def test_noise_by_hand() -> None:
    """Third differences of 0, 1, 0, 1 ... are 4: 1.4826 * 4 / root of 20; of two columns the noisier counts."""
    t_s, zigzag = np.arange(5.0, 15.0), np.arange(10) % 2
    assert white_noise(t_s, np.column_stack([zigzag, 3 * zigzag]), starts(10)) == pytest.approx(3 * 1.3261, abs=1e-3)
    parts = starts(10, 5)  # two runs of two third differences each
    assert white_noise(t_s, zigzag[:, None], parts) == pytest.approx(1.3261, abs=1e-3)
    assert white_noise(t_s[:6], zigzag[:6, None], starts(6, 3)) == 0.0, "no four samples of one part"
    assert white_noise(t_s[:4], zigzag[:4, None], starts(4)) == pytest.approx(1.3261, abs=1e-3)
    assert white_noise(t_s[:4], zigzag[:4, None], starts(4, 1, 2, 3)) == 0.0
    assert white_noise(t_s, (t_s**2)[:, None], starts(10)) == pytest.approx(0.0, abs=1e-12), "of a wide curve none"


@pytest.mark.parametrize(("hidden_s", "known"), [(1.9, True), (2.1, False)])
def test_what_is_unknown_for_two_seconds_is_unknown_in_its_part(hidden_s: float, known: bool) -> None:
    """Within the part, at its begin and at its end; other values and other parts stay."""
    track, _ = fly([Phase(20, forward=4.0, yaw=3.0)], [], 80.0)
    track = replace(track, t_s=track.t_s + 3.0, part=(track.t_s > 10.0).astype(np.intp))
    for begin in (13.2, 17.0, 23.0 - hidden_s):  # 13.005 is the second part's first moment
        own = (track.t_s >= begin - (0.2 if begin == 13.2 else 0.0)) & (track.t_s < begin + hidden_s)
        (first, second), _ = paths(replace(track, heading_deg=np.where(own, np.nan, track.heading_deg)), MotionConfig())
        assert np.isfinite(first.heading_deg).all()
        assert np.isfinite(second.heading_deg).all() == known or begin == 13.2
        assert np.isfinite(second.gimbal_deg).all()
    assert (first.t_s[0], first.t_s[-1]) == (3.0, 13.0)
    assert (second.t_s[0], second.t_s[-1]) == (13.2, 23.0)
    assert first.speed == pytest.approx(np.full(len(first), 4.0), abs=0.02)
    assert second.turn[5:-5] == pytest.approx(np.full(len(second) - 10, 3.0), abs=0.02) if known else True


def test_moments_are_cut_out_of_a_path() -> None:
    track, _ = fly([Phase(10, forward=4.0, up=1.0)], [], 80.0)
    (path,), _ = paths(track, MotionConfig())
    cut = path.within(2.2, 4.0)
    assert cut.t_s.tolist() == pytest.approx([2.2, 2.4, 2.6, 2.8, 3.0, 3.2, 3.4, 3.6, 3.8, 4.0])
    assert cut.height_m == pytest.approx(cut.t_s)
    assert len(path.within(2.3, 2.3)) == 0
    assert len(path.within(11.0, 12.0)) == 0
    assert cut.level_m is cut.height_m
    bare = replace(cut, height_m=np.full(len(cut), np.nan), enu_m=cut.enu_m + np.array([0, 0, 7]))
    assert bare.level_m == pytest.approx(cut.t_s + 7)
    assert cut.turned_deg is cut.heading_deg
    turned = replace(cut, turn_error=1.0, turn=np.r_[9.0, 5.0, np.nan, 5.0, np.full(6, -10.0)]).turned_deg
    assert turned == pytest.approx([0, 1, 1, 2, 0, -2, -4, -6, -8, -10])


@pytest.mark.parametrize(("late_s", "first_s"), [(0.9e-6, 1.0), (1.2e-6, 1.2)])
def test_times_are_exact_to_the_microsecond(late_s: float, first_s: float) -> None:
    """A log that begins a little after a moment of the grid has that moment; its end likewise."""
    track, _ = fly([Phase(4, forward=4.0)], [])
    (begun,), _ = paths(replace(track, t_s=track.t_s + 1.0 + late_s), MotionConfig())
    assert (begun.t_s[0], begun.t_s[-1]) == (first_s, 5.0)
    (ended,), _ = paths(replace(track, t_s=track.t_s + 1.0 - late_s), MotionConfig())
    assert (ended.t_s[0], ended.t_s[-1]) == (1.0, 5.0 if first_s == 1.0 else 4.8)
    assert ended.within(1.0 + late_s, 4.0 - late_s).t_s[[0, -1]].tolist() == (
        [1.0, 4.0] if first_s == 1.0 else [1.2, 3.8]
    )


@pytest.mark.parametrize(("hidden", "known"), [(2, True), (3, False)])
@pytest.mark.parametrize("at_end", [True, False])
def test_what_a_slow_log_lacks_at_either_end(hidden: int, known: bool, at_end: bool) -> None:
    """At 1 Hz: two samples are missing for 2 s, three for 3 s."""
    track, _ = fly([Phase(20, forward=4.0)], [])
    slow = track.t_s % 1 == 0
    track = replace(track, **{name: value[slow] for name, value in vars(track).items() if value is not None})
    lost = np.arange(len(track)) >= len(track) - hidden if at_end else np.arange(len(track)) < hidden
    (path,), _ = paths(replace(track, heading_deg=np.where(lost, np.nan, track.heading_deg)), MotionConfig())
    assert bool(np.isfinite(path.heading_deg).all()) is known
    assert np.isfinite(path.gimbal_deg).all()


def test_of_no_samples_nothing_is_known() -> None:
    track, _ = fly([Phase(4)], [])
    nothing = replace(track, **{name: value[:0] for name, value in vars(track).items() if value is not None})
    found, fits = paths(nothing, MotionConfig())
    assert (found, {(fit.error, fit.window_s) for fit in vars(fits).values()}) == ([], {(0.0, 0.0)})
