"""Shortest paths: by hand, and with a plain search over the cells as the oracle."""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.arrays import BoolArray
from pipeline.worlds.city import paths as module
from pipeline.worlds.city.paths import FreeSpace, Paths, Slab
from tests.worlds.city.cities import city, house


def slab_of(*rows: str) -> Slab:
    """The first row is the north."""
    return Slab(5.0, np.array([[c == "." for c in row] for row in rows[::-1]]), np.zeros(2))


def searched(free: BoolArray, start: tuple[int, int]) -> dict[tuple[int, int], float]:
    """Lengths from a cell to all others, cell by cell."""
    found: dict[tuple[int, int], float] = {}
    queue = [(0.0, start)]
    while queue:
        length, (r, c) = heapq.heappop(queue)
        if (r, c) in found:
            continue
        found[r, c] = length
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                to = (r + dr, c + dc)
                ends = (to, (r + dr, c), (r, c + dc))
                inside = all(0 <= a < free.shape[0] and 0 <= b < free.shape[1] for a, b in ends)
                if (dr or dc) and inside and all(free[a, b] for a, b in ends):
                    heapq.heappush(queue, (length + float(np.hypot(dr, dc)), to))
    return found


def test_around_a_wall_and_not_between_two_that_touch() -> None:
    slab = slab_of(
        "....",
        ".##.",
        "#...",
        "....",
    )
    paths = Paths(slab)
    start, goals = np.array([0.5, 0.5]), np.array([[0.5, 2.5], [3.5, 0.5], [1.5, 2.5]])
    lengths = paths.lengths(start, goals)
    assert lengths[1:].tolist() == [3.0, np.inf]  # the last is a wall
    # The two walls touch by a corner, so the way goes around in the east, with one diagonal that no wall is beside.
    assert lengths[0] == pytest.approx(8 + np.sqrt(2))
    way = paths.path(start, goals[0])
    assert way is not None
    assert way[0].tolist() == [0.5, 0.5, 5.0]
    assert way[-1].tolist() == [0.5, 2.5, 5.0]


def test_ends_that_are_not_free_and_ways_that_are_too_long() -> None:
    slab = slab_of("." * 30)
    assert Paths(slab, reach_m=10).lengths(np.array([0.5, 0.5]), np.array([[10.5, 0.5], [11.5, 0.5]])).tolist() == [
        10.0,
        np.inf,
    ]
    assert Paths(slab, reach_m=10).path(np.array([0.5, 0.5]), np.array([20.5, 0.5])) is None
    assert Paths(slab).lengths(np.array([-3.0, 0.5]), np.array([[1.5, 0.5]])).tolist() == [np.inf]
    assert Paths(slab).path(np.array([0.5, 0.5]), np.array([40.5, 0.5])) is None
    assert Paths(slab).lengths(np.array([0.5, 0.5]), np.empty((0, 2))).shape == (0,)


def test_from_one_side_of_a_house_to_the_other() -> None:
    paths = Paths(FreeSpace(city(house("h", 20, 20, 40, 10))).slab(5.0))
    length = paths.lengths(np.array([40.5, 15.5]), np.array([[40.5, 34.5]]))[0]
    assert 19.0 + 2 * 10 < length < 19.0 + 2 * 20.5  # around an end
    way = paths.path(np.array([40.5, 15.5]), np.array([40.5, 34.5]))
    assert way is not None
    assert np.hypot(*np.diff(way[:, :2], axis=0).T).sum() == pytest.approx(length)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 5, 256]))
def test_as_a_plain_search_says(seed: int, tile: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.random((11, 13)) < 0.7
    free[4, 6] = True
    slab = Slab(5.0, free, np.zeros(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TILE", tile)
        paths = Paths(slab)
        cells = np.argwhere(np.ones_like(free))
        lengths = paths.lengths(np.array([6.5, 4.5]), slab.middles(cells))
        oracle = searched(free, (4, 6))
        expected = [oracle.get((r, c), np.inf) for r, c in cells.tolist()]
        assert lengths == pytest.approx(expected)
        for (r, c), length in list(oracle.items())[::9]:
            way = paths.path(np.array([6.5, 4.5]), np.array([c + 0.5, r + 0.5]))
            assert way is not None
            assert all(np.hypot(*(b - a)[:2]) < 1.5 for a, b in pairwise(way))
            assert slab.is_free(way).all()
            assert np.hypot(*np.diff(way[:, :2], axis=0).T).sum() == pytest.approx(length)
