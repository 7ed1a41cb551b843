"""Operands by the tuple: all of few, a drawn part of many, and how many are left out is known."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.questions.arrays import CandidateSampler, sets, untried

SCOPE = ("scene", "task")


def names(n: int) -> np.ndarray:
    return np.array([f"thing {i:03d}" for i in range(n)], dtype=object)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 3), st.booleans())
def test_of_few_all_are_formed_in_order(firsts: int, others: int, size: int, ordered: bool) -> None:
    """Firsts need not be among the others."""
    found = CandidateSampler(SCOPE, names(6), np.arange(firsts), np.arange(6 - others, 6), size, ordered)
    select = permutations if ordered else combinations
    expected = [
        (first, *rest)
        for first in range(firsts)
        for rest in select([i for i in range(6 - others, 6) if i != first], size)
    ]
    assert [tuple(row) for row in found.tuples().tolist()] == expected
    assert found.total == found.formed == len(expected)
    assert untried(found.total, found.formed) is None


@pytest.mark.parametrize("ordered", [False, True])
def test_of_many_each_thing_has_its_share(ordered: bool) -> None:
    everything = np.arange(30)
    among = CandidateSampler(SCOPE, names(30), everything, everything, 2, ordered, most=600)
    found = among.tuples()
    assert len(found) == among.formed <= 600 < among.total == 30 * comb(29, 2) * (2 if ordered else 1)
    assert len(np.unique(found, axis=0)) == len(found)
    assert (np.bincount(found[:, 0]) == len(found) // 30).all()
    assert len(np.unique(found)) == 30
    rejection = untried(among.total, among.formed)
    assert (rejection.reason, rejection.measured, rejection.limit) == ("more_than_are_tried", among.total, len(found))


def test_one_thing_more_displaces_few() -> None:
    """Of what each of forty is combined with, at most one other changes; nothing hangs on the order of the things."""
    before = CandidateSampler(SCOPE, names(40), np.arange(40), np.arange(40), 1, most=400)
    after = CandidateSampler(SCOPE, names(41), np.arange(41), np.arange(41), 1, most=410)
    for first in np.arange(40):
        kept = set(before.drawn(first, 10).tolist())
        assert len(kept - set(after.drawn(first, 10).tolist())) <= 1
    turned = CandidateSampler(SCOPE, names(40)[::-1], np.arange(40), np.arange(40), 1, most=400)
    assert {(39 - a, 39 - b) for a, b in turned.tuples().tolist()} == {(a, b) for a, b in before.tuples().tolist()}


def test_sets_of_many_hold_each_thing() -> None:
    assert sets(SCOPE, names(5), np.arange(5), 4).tolist() == [list(row) for row in combinations(range(5), 4)]
    found = sets(SCOPE, names(60), np.arange(60), 4, most=2000)
    assert len(found) <= 2000 < comb(60, 4)
    assert len(np.unique(found, axis=0)) == len(found)
    assert (np.diff(found, axis=1) > 0).all()
    assert len(np.unique(found)) == 60
