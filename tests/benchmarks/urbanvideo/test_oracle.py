"""Every question of random flights has exactly one right option, by the oracle that judges the sample flights."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.benchmarks.urbanvideo.flights import random_flight, rows, words_of
from tests.oracles.flight_answers import JUDGES, judge
from tests.oracles.made_flights import truth_of_made

FLIGHTS = range(20)


@pytest.mark.slow
def test_one_option_is_right_and_none_is_arguable() -> None:
    asked: Counter[str] = Counter()
    for seed in FLIGHTS:
        scene = random_flight(seed)
        truth = truth_of_made(scene)
        for row in rows(scene):
            if row["reason"] is None:
                options = [row["answer"], *row["wrong"]]
                verdicts = judge(truth, row["task"], words_of(row), options)
                assert verdicts == ["right", *["wrong"] * len(row["wrong"])], (seed, row["task"], row["operands"])
                assert len(set(options)) == len(options) >= 3
                asked[row["task"]] += 1
    assert set(asked) == set(JUDGES), "the oracle has had something to say about every task that facts answer"
    assert min(asked.values()) >= 5, asked
