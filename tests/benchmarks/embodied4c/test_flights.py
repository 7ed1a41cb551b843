"""Questions about flights made by hand, answered again from their poses in plain arithmetic."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks.registry import EXAM_TASKS
from pipeline.benchmarks.embodied4c.view import exam
from pipeline.reading.maps.looks import Look
from pipeline.worlds.flight.facts import FlightScene
from tests.benchmarks.urbanvideo.flights import finding, flight, mark, motion

COMPASS = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"]
EIGHTHS = ["ahead", "ahead on the right", "on the right", "behind on the right", "behind", "behind on the left"]
EIGHTHS += ["on the left", "ahead on the left"]
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
    church = Look(noun="church")
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


class Poses:
    """Where the drone was, looked up by time."""

    def __init__(self, made: FlightScene) -> None:
        moved = made.facts.motion
        assert moved is not None
        self.t, self.place, self.nose = moved.t_s, moved.enu_m, moved.heading_deg
        self.places = {one.label: one for one in made.facts.landmarks}

    def at(self, t_s: float) -> int:
        return min(range(len(self.t)), key=lambda n: abs(self.t[n] - t_s))

    def gap(self, name: str, n: int) -> float:
        one = self.places[name]
        return math.dist(one.center, self.place[n][:2]) - one.radius_m

    def bearing(self, name: str, n: int) -> float:
        east, north = (a - b for a, b in zip(self.places[name].center, self.place[n], strict=False))
        return (math.degrees(math.atan2(east, north)) - (self.nose[n] or 0.0)) % 360

    def velocity(self, t_s: float) -> list[float]:
        a, b = self.at(t_s - 0.5 + 0.01), self.at(t_s + 0.5 - 0.01)
        return [(v - u) / (self.t[b] - self.t[a]) for u, v in zip(self.place[a], self.place[b], strict=True)]

    def way(self, first: int, last: int) -> float:
        return sum(math.dist(self.place[n], self.place[n + 1]) for n in range(first, last))

    def answer(self, kind: str, t_s: float, *more: str) -> str | float | None:
        known = getattr(self, kind, None)
        return None if known is None else known(t_s, self.at(t_s), *more)

    def air_dt(self, t_s: float, n: int, name: str) -> float:
        return self.gap(name, n)

    def air_dt_home(self, t_s: float, n: int) -> float:
        return math.dist(self.place[n][:2], self.place[0][:2])

    def air_dt_height(self, t_s: float, n: int) -> float:
        return self.place[n][2]

    def air_cs_down(self, t_s: float, n: int, rate: str) -> float:
        return self.place[n][2] / float(rate)

    def air_or(self, t_s: float, n: int) -> float:
        return self.nose[n] or 0.0

    def air_or_compass(self, t_s: float, n: int) -> str:
        return COMPASS[round((self.nose[n] or 0.0) / 45) % 8]

    def air_lc(self, t_s: float, n: int, name: str) -> str:
        return EIGHTHS[round(self.bearing(name, n) / 45) % 8]

    def air_rd(self, t_s: float, n: int, *names: str) -> str:
        return ", ".join(sorted(names, key=lambda name: self.gap(name, n)))

    def air_rs(self, t_s: float, n: int, *names: str) -> str:
        return max(names, key=lambda name: self.places[name].top_m or 0.0)

    def air_rp(self, t_s: float, n: int, *names: str) -> str:
        east, north = (a - b for a, b in zip(*(self.places[name].center for name in names), strict=True))
        return COMPASS[round(math.degrees(math.atan2(east, north)) / 45) % 8]

    def air_at_height(self, t_s: float, n: int, name: str) -> float:
        return self.places[name].top_m or 0.0

    def air_lm(self, t_s: float, n: int) -> float:
        return self.way(0, n)

    def air_sm(self, t_s: float, n: int, seconds: str) -> float:
        return self.way(self.at(t_s - float(seconds)), n)

    def air_sm_height(self, t_s: float, n: int, seconds: str) -> str:
        change = self.place[n][2] - self.place[self.at(t_s - float(seconds))][2]
        return "it stayed the same" if abs(change) < 1 else "it climbed" if change > 0 else "it descended"

    def air_mt(self, t_s: float, n: int) -> float:
        return math.hypot(*self.velocity(t_s)[:2]) * 3.6

    def air_cs_home(self, t_s: float, n: int) -> float:
        return self.air_dt_home(t_s, n) / math.hypot(*self.velocity(t_s)[:2])

    def air_st_height(self, t_s: float, n: int) -> str:
        up = self.velocity(t_s)[2]
        return "keeping its height" if abs(up) < 0.3 else "climbing" if up > 0 else "descending"


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
    assert all("modality: state" in row["flags"] for row in questions)
    (unobserved,) = {row["reason"] for row in rows(flight(None)) if row["task"] == "DT"}
    assert unobserved == "motion_not_observed"
