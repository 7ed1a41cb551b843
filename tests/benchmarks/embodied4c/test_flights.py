"""Questions about flights made by hand, answered again from their poses in plain arithmetic."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks.registry import EXAM_TASKS
from pipeline.benchmarks.embodied4c.view import exam
from pipeline.reading.maps.appearance import Appearance
from pipeline.worlds.flight.facts import FlightScene
from tests.benchmarks.embodied4c.planted import limits_of, limits_stated
from tests.benchmarks.urbanvideo.flights import finding, flight, mark, motion
from tests.oracles.exam_flights import Poses

MOVES = [
    ("ascend", 8.0, 24.0),
    ("fly forward", 10.0, 80.0),
    ("turn left", 6.0, 90.0),
    ("fly forward", 9.0, 54.0),
    ("hover", 5.0, 0.0),
    ("fly forward+descend", 8.0, (48.0, 16.0)),
    ("turn right", 5.0, 45.0),
    ("fly right", 8.0, 40.0),
    ("hover", 4.0, 0.0),
]


def marks() -> list[Any]:
    church = Appearance(noun="church")
    found = [
        mark("the red church", 60.0, 140.0, 12.0, 38.0, look=church),
        mark("the brown house", -90.0, 60.0, 8.0, 14.0),
    ]
    return [*found, mark("the white tower", 30.0, -50.0, 5.0, 70.0), mark("the park", -40.0, 150.0, 30.0)]


def rows(scene: FlightScene, **rules: Any) -> list[dict[str, Any]]:
    view = exam(scene, ExamRules(far_per_log=0, exam_moments_max=80, moments_max=80, even_answers=False, **rules))
    return pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()]).to_pylist()


def scene(start: tuple[float, float, float] = (0.0, 0.0, 30.0), heading: float = 20.0) -> FlightScene:
    views = {n: [(0.0, 70.0)] for n in range(4)}
    return flight(motion(MOVES, start, heading, views=views), marks())


@pytest.mark.parametrize(("start", "heading"), [((0, 0, 30), 20.0), ((35, -20, 12), 200.0), ((-60, 90, 55), 300.0)])
def test_answers_of_flights_follow_from_their_poses(start: tuple[float, float, float], heading: float) -> None:
    made = scene(start, heading)
    poses, checked = Poses(made), 0
    for row in (row for row in rows(made) if row["reason"] is None):
        kind, t_s, *more = row["operands"]
        found = poses.answer(kind, float(t_s), *more)
        checked += found is not None
        if isinstance(found, str):
            assert row["answer"] == found, row
        elif found is not None:
            decimals = len(row["answer"].partition(".")[2])
            assert abs(float(row["answer"]) - found) <= 0.5 * 10**-decimals + 0.002 * abs(found), row
    assert checked > 350


def test_states_and_sequences_by_hand() -> None:
    found = {tuple(row["operands"]): row for row in rows(scene()) if row["reason"] is None}
    assert found["air_md", "13.00"]["answer"] == "flying level without turning"
    assert found["air_md", "42.00"]["answer"] == "descending without turning"
    assert found["air_md", "35.00"]["answer"] == "hovering"
    assert found["air_lm_steps", "14.00", "2"]["answer"] == "ascending; flying forward"
    assert found["air_lm_steps", "22.00", "3"]["answer"] == "ascending; flying forward; turning left"
    assert found["air_sm", "14.00", "5"]["answer"] == "40.0"
    assert found["air_cs_down", "14.00", "2"]["answer"] == "27.0"
    assert ("air_md", "21.00") not in found, "it turns on the spot: neither hovering nor flying"
    assert len([key for key in found if key[0] == "air_at_height"]) == 3, "at one time each; the park has no height"
    assert len({row["until_s"] for row in found.values()}) > 40


def test_candidates_are_held_against_the_limits_of_the_table() -> None:
    assert limits_of(rows(scene())) == limits_stated("air_")


def test_doubts_gaps_and_unknown_noses() -> None:
    doubted = scene().model_copy(update={"findings": (finding("heading_drifts"),)})
    assert not [row for row in rows(doubted) if row["reason"] is None and row["operands"][0] == "air_or"]
    blind = flight(motion(MOVES, heading=None), marks())
    asked = {row["operands"][0] for row in rows(blind) if row["reason"] is None}
    assert not asked & {"air_or", "air_or_compass", "air_lc"}
    assert {"air_dt_home", "air_mt", "air_lm"} <= asked
    unfilmed = flight(motion(MOVES), marks(), filmed=False)
    questions = [row for row in rows(unfilmed) if row["reason"] is None]
    assert len(questions) > 100
    assert all("modality: drawn" in row["flags"] for row in questions)
    (unobserved,) = {row["reason"] for row in rows(flight(None)) if row["task"] == "DT"}
    assert unobserved == "motion_not_observed"
