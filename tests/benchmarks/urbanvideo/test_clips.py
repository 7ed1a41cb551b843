"""Neither the length of a clip nor another question of the flight tells an answer."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.benchmarks.urbanvideo.cases import FlightCase
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.benchmarks.urbanvideo.tasks.sequence import prints_route
from pipeline.core.tables import CANDIDATES, selected_questions
from pipeline.core.video_spec import video_file
from pipeline.questions.selection import select
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import flight, judged, mark, motion, random_flight, rows
from tests.tables import candidates

WINDOWED = ("Landmark Position", "Goal Detection", "Progress Evaluation", "Action Generation")
TOLD = {"Trajectory Captioning", "Sequence Recall"}
# Seconds 0-10, 10-15, 15-25, 25-30, 30-40, 40-45, 45-55.
MOVES = [
    ("ascend", 10, 20),
    ("turn left", 5, 90),
    ("fly forward", 10, 100),
    ("turn right", 5, 90),
    ("fly left", 10, 50),
    ("turn left", 5, 90),
    ("fly forward", 10, 100),
]
ROUTE = (
    "Ascend",
    "Turn left",
    "Fly to the mill",
    "Turn right",
    "Move to the left",
    "Turn left again",
    "Fly to the inn",
)


def of(seed: int, tasks: Collection[str] = URBAN_TASKS) -> list[dict[str, Any]]:
    view = FlightView(random_flight(seed), UrbanRules())
    chosen = [URBAN_TASKS[name] for name in tasks]
    return [r for r in candidates(view, chosen).to_pylist() if r["reason"] is None]


def test_clips_whose_time_tells_are_of_one_length() -> None:
    seen: set[str] = set()
    for seed in range(8):
        asked = of(seed, WINDOWED)
        seen |= {r["task"] for r in asked}
        assert len({r["until_s"] - r["from_s"] for r in asked}) <= 1
        assert all(r["from_s"] >= 0 for r in asked)
    assert seen == {*WINDOWED}


def test_a_clip_is_a_share_of_the_video_within_limits() -> None:
    scene = flight(motion(MOVES, views={0: [(0, 55)]}), [mark("the mill", 0, 90)], route=ROUTE)
    for share, least, length in ((0.2, 8, 11), (0.1, 8, 8), (0.9, 8, 40)):
        found = judged(scene, "Progress Evaluation", clip_share=share, clip_min_s=least, clip_max_s=40)
        assert {r["until_s"] - r["from_s"] for r in found if r["reason"] is None} == {length}
        assert [r["reason"] == "clip_too_short" for r in found] == [r["until_s"] < length for r in found]
        near = judged(scene, "Proximity", clip_share=share, clip_min_s=least, clip_max_s=40)
        three = [r for r in near if "three" in r["operands"][1] and r["until_s"] > length]  # of 20 and 25 s
        short = {(r["reason"] == "clip_too_short", r["measured"] == length) for r in three}
        assert short == {(length < 20, length < 20)}
        steps = [(e["value"], r["answer"]) for r in found for e in r["evidence"] or () if e["unit"] == "of the route"]
        assert set(steps[:1]) < set(steps) <= set(enumerate(ROUTE, start=1))


@pytest.mark.parametrize(("from_s", "places"), [(44, 2), (39.5, 2), (38, 1), (30, 1)])
def test_what_a_clip_shows_happens_once(from_s: float, places: int) -> None:
    """Of "turn left, fly forward" alone nobody can tell the first from the second; a second of "fly left" tells it."""
    view = FlightView(flight(motion(MOVES)), UrbanRules())
    case = FlightCase(until_s=52, from_s=from_s)
    case.recognised(view)
    assert (1 if case.refusal is None else case.refusal.measured) == places


def test_a_landmark_is_seen_in_the_clip() -> None:
    views = {0: [(0, 20)], 1: [(0, 55)]}
    scene = flight(motion(MOVES, views=views), [mark("the mill", 0, 90), mark("the inn", 400, 0)])
    found = judged(scene, "Landmark Position", clip_share=0.2)
    late = {r["reason"] for r in found if r["operands"][0] == "the mill" and r["until_s"] > 31}
    assert "not_seen_in_clip" in late
    assert late <= {"not_seen_in_clip", "never_visible"}
    seen = {r["reason"] for r in found if r["operands"][0] == "the mill" and 11 <= r["until_s"] <= 30}
    assert not seen & {"not_seen_in_clip", "never_visible"}


def test_the_name_of_a_clip_tells_no_time() -> None:
    names = [video_file("flights/one", until_s, from_s) for until_s in (5.0, 25.0) for from_s in (None, 2.0)]
    assert len(set(names)) == 4
    assert all(name.startswith("flights/one/") and len(name) == len(names[0]) for name in names)
    assert video_file("flights/one", 5.0, 0.0) == names[0]
    assert video_file("flights/one") == "flights/one.mp4"


@pytest.mark.parametrize("seed", range(4))
def test_a_printed_route_answers_no_other_question(seed: int) -> None:
    asked = of(seed)
    printed = {r["task"] for r in asked if "Navigation route" in r["operands"] or r["task"] == "Progress Evaluation"}
    assert not (printed and TOLD & {r["task"] for r in asked})


def test_some_routes_are_told_and_some_are_not() -> None:
    """Three in five, whatever the flight."""
    scene = flight(motion(MOVES), route=ROUTE)
    told = [prints_route(FlightView(scene.model_copy(update={"id": f"made/{n}"}), UrbanRules())) for n in range(100)]
    assert 45 <= sum(told) <= 75


def test_what_a_route_tells_is_refused_by_name() -> None:
    scene = flight(motion(MOVES), route=ROUTE)
    (found,) = rows(scene, "Sequence Recall", routes_told=1.0)
    assert found["reason"] == "told_by_the_route"
    (found,) = rows(scene, "Progress Evaluation", routes_told=0.0)
    assert found["reason"] == "route_tells_other_answers"
    # Where no question prints the route (it is not flown as it says, all movements are short), it tells nothing.
    short = [(name, 1.5, amount) for name, _, amount in MOVES]
    assert rows(flight(motion(short), route=ROUTE[1:]), "Sequence Recall", routes_told=1.0)[0]["role"] is None


def test_of_a_flight_captions_are_asked_or_what_comes_next() -> None:
    """Half of 40 have either: no caption has the order that is asked for, so what it says would be what is wrong."""
    scenes = [flight(motion(MOVES), name=str(n)) for n in range(40)]
    captions, after = (
        [all(found["reason"] for found in rows(scene, task, captioned=0.5)) for scene in scenes]
        for task in ("Trajectory Captioning", "Sequence Recall")
    )
    assert captions == [not is_refused for is_refused in after]
    assert 12 <= sum(captions) <= 28


@pytest.mark.parametrize("seed", range(3))
def test_no_flight_is_asked_the_same_with_the_same_answer_twice(seed: int) -> None:
    tasks = URBANVIDEO.by_name()
    table = candidates(FlightView(random_flight(seed), UrbanRules()), tasks.values()).select(CANDIDATES.names)
    asked = selected_questions(select(table, tasks, 1000, URBANVIDEO.shares)).to_pylist()
    said = Counter((r["task"], r["text"], r["answer"]) for r in asked)
    assert max(said.values()) == 1
