"""Every question of random flights has exactly one right option by an oracle written by other means."""

from __future__ import annotations

from collections import Counter

from pipeline.benchmarks.urbanvideo.benchmark import URBAN_TASKS
from tests.benchmarks.urbanvideo.flights import random_flight, rows
from tests.oracles.urban_tasks import right

FLIGHTS = range(40)


def test_one_option_is_right() -> None:
    asked: Counter[str] = Counter()
    for seed in FLIGHTS:
        scene = random_flight(seed)
        for row in rows(scene):
            if row["reason"] is None:
                options = [row["answer"], *row["wrong"]]
                found = [option for option in options if right(scene, row, option)]
                assert found == [row["answer"]], (seed, row["task"], row["operands"], options)
                assert len(set(options)) == len(options) >= 3
                asked[row["task"]] += 1
    # The oracle has had something to say about every task that facts answer.
    assert set(asked) == {name for name, task in URBAN_TASKS.items() if task.facts}
    assert min(asked.values()) >= 5, asked
