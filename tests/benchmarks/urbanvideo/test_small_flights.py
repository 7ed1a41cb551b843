"""Every task on flights of which little is known: none of them costs the flight, and what is not asked has a reason."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.tables import asked_in
from pipeline.questions.selection import select
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.view import FlightView
from tests.bench.real_flights import MOVEMENT, observed, write
from tests.benchmarks.urbanvideo.flights import Move, flight, mark, motion, random_flight, rows, words_of
from tests.environment import LONG, REAL_DATA
from tests.oracles.flight_answers import JUDGES, judge
from tests.oracles.made_flights import truth_of_made
from tests.tables import candidates

MARKS = (
    mark("the red church", 0.0, 60.0, top=30.0),
    mark("the park", 60.0, 0.0),
    mark("the blue tower", 200.0, 0.0, top=80.0),
)
FLOWN: dict[str, list[Move]] = {
    "nothing": [],
    "one movement": [("fly forward", 10, 80)],
    "three": [("ascend", 5, 20), ("fly forward", 10, 80), ("hover", 6, 0)],
}


WRITTEN = {"Causal", "Counterfactual", "Scene Recall"}  # by a model alone


@pytest.mark.slow
@pytest.mark.parametrize("flown", [None, *FLOWN])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_few_landmarks_and_movements_cost_questions_and_nothing_else(n: int, flown: str | None) -> None:
    marks: tuple[Landmark, ...] = MARKS[:n]
    told: list[tuple[str | None, tuple[str, ...]]] = [(None, ()), (marks[0].label if marks else "x", ("Fly ahead",))]
    every = list(product(((None, None), (0.0, None), (0.0, -30.0)), (None, True), (True, False), told))
    for (heading, pitch), seen, filmed, (goal, route) in every if LONG else every[n::5]:
        views = None if seen is None else {i: [(0.0, 2.0)] for i in range(n)}
        moved = None if flown is None else motion(FLOWN[flown], heading=heading, pitch=pitch, views=views)
        scene = flight(moved, marks, goal, route, filmed=filmed)
        found = candidates(FlightView(scene, UrbanRules()), list(URBAN_TASKS.values()))
        assert set(found["task"].to_pylist()) == set(URBAN_TASKS) - WRITTEN
        asked = asked_in(select(found, URBAN_TASKS, 6))
        if not filmed or flown in {None, "nothing"}:
            assert asked.num_rows == 0


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
                # Where in the picture a goal is, depends on how high that is; else nothing is cut off.
                levelled = row["task"] == "Association" and re.search(", (at the|in the centre)", row["answer"])
                own = {"camera": scene.facts.camera} if row["task"] == "Goal Detection" or levelled else {}
                verdicts = judge(truth.model_copy(update=own), row["task"], words_of(row), options)
                assert verdicts == ["right", *["wrong"] * len(row["wrong"])], (seed, row["task"], row["operands"])
                assert len(set(options)) == len(options) >= 3
                asked[row["task"]] += 1
    assert set(asked) == set(JUDGES), "the oracle has had something to say about every task that facts answer"
    assert min(asked.values()) >= 5, asked


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("log", "least"),
    [
        ("airsim/airsim_rec.txt", 4),
        ("dji_srt/mavic3_first_60s.srt", 6),  # no heading
        ("dji_srt/mavic_pro.SRT", 4),  # no heading, positions in steps of 11 m
        ("dji_srt/p4_rtk.SRT", 1),  # one movement alone
        ("ulog/sample_px4_events.ulg", 1),  # two
    ],
)
def test_a_log_alone_gives_questions_of_its_movements(log: str, least: int, tmp_path: Path) -> None:
    path = REAL_DATA / "flights" / log
    asked = [row for row in rows(observed(tmp_path, write(tmp_path, path, "")), *MOVEMENT) if row["reason"] is None]
    assert len(asked) >= least
    if log.startswith("dji_srt/mavic"):
        said = " ".join(text for row in asked for text in (row["answer"], *row["wrong"])).lower()
        assert "flies horizontally" in said
        assert not any(word in said for word in ("forward", "left", "turn", "hover"))
