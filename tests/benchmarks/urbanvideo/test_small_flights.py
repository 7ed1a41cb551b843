"""Every task on flights of which little is known: none of them costs the flight, and what is not asked has a reason."""

from __future__ import annotations

from itertools import product

import pytest

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.tables import asked_in
from pipeline.questions.selection import select
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import Move, flight, mark, motion
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
    for (heading, pitch), seen, filmed, (goal, route) in product(
        ((None, None), (0.0, None), (0.0, -30.0)), (None, True), (True, False), told
    ):
        views = None if seen is None else {i: [(0.0, 2.0)] for i in range(n)}
        moved = None if flown is None else motion(FLOWN[flown], heading=heading, pitch=pitch, views=views)
        scene = flight(moved, marks, goal, route, filmed=filmed)
        found = candidates(FlightView(scene, UrbanRules()), list(URBAN_TASKS.values()))
        assert set(found["task"].to_pylist()) == set(URBAN_TASKS) - WRITTEN
        asked = asked_in(select(found, URBAN_TASKS, 6))
        if not filmed or flown in {None, "nothing"}:
            assert asked.num_rows == 0
