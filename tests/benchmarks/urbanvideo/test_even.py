"""Options are the flight's own answers, each right equally often: who reads the question alone is right by chance."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.benchmarks.urbanvideo.cases import ANSWERS_MIN, FlightCase, even
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.landmarks import may_bring_nearer
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.blind.attack import attack, summarise
from pipeline.blind.forest import run_here
from pipeline.blind.items import UNSEEN
from pipeline.core.tables import CANDIDATES, selected_questions
from pipeline.core.templates import load_template
from pipeline.questions.selection import select
from pipeline.worlds.flight.facts import Action
from pipeline.worlds.flight.view import FlightView
from tests.bench.leaks import items_of, questions
from tests.benchmarks.urbanvideo.flights import flight, judged, mark, motion, random_flight, row, rows
from tests.tables import candidates

CLOCK = r"\d:\d\d"


def text_of(found: dict[str, Any]) -> str:
    task = URBAN_TASKS[found["task"]]
    return load_template(task.template).render(task.fields(tuple(found["operands"]), None))


def group_of(answers: Iterable[str]) -> dict[str, list[FlightCase]]:
    """Candidates with these answers."""
    group: dict[str, list[FlightCase]] = defaultdict(list)
    for second, answer in enumerate(answers):
        case = FlightCase(str(second), until_s=second)
        case.answer = answer
        group[answer].append(case)
    return dict(group)


def kept(answers: Sequence[str], clashes: Sequence[set[str]] = ()) -> Counter[str]:
    found = even(group_of(answers), "made", lambda a, b: {a, b} in clashes)
    return Counter(str(case.answer) for case, _ in found if case.refusal is None)


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ("abc", {"a": 1, "b": 1, "c": 1}),
        ("ab" * 9, {}),  # of two answers one is right half of the time
        ("aaabbbccc", {"a": 3, "b": 3, "c": 3}),
        ("aaaabbbccd", {"a": 1, "b": 1, "c": 1, "d": 1}),  # of four options, rather than six of three
        ("aaabbbccdd", {"a": 2, "b": 2, "c": 2, "d": 2}),
        ("aaaaaaabcdefg", {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}),
    ],
)
def test_every_answer_is_right_as_often_as_any_other(answers: str, asked: dict[str, int]) -> None:
    assert kept(answers) == asked


def test_what_may_be_called_right_too_is_not_offered() -> None:
    # "b" says a part of "a": the one with fewer candidates is left out, in all questions alike.
    assert kept("aaabbccdd", [{"a", "b"}]) == {"a": 2, "c": 2, "d": 2}


@given(st.lists(st.sampled_from("abcdef"), max_size=30))
@settings(max_examples=40)
def test_all_of_a_group_have_the_same_options(answers: list[str]) -> None:
    found = even(group_of(answers), "made", lambda a, b: False) if answers else []
    asked = [(case, options) for case, options in found if case.refusal is None]
    assert len({tuple(options) for _, options in asked}) <= 1
    count = Counter(str(case.answer) for case, _ in asked)
    assert len(set(count.values())) <= 1
    assert not asked or set(count) == set(asked[0][1])
    assert not asked or len(count) >= ANSWERS_MIN
    for case, _ in found:  # what is not asked says why
        assert case.refusal is None or case.refusal.reason in {
            "too_few_answers",
            "answer_too_rare",
            "answer_too_frequent",
        }


@pytest.mark.parametrize("seed", range(6))
def test_questions_that_read_alike_have_each_answer_equally_often(seed: int) -> None:
    """What follows from the text alone is the same for all of them, and so right as often as a random guess."""
    for task in ("Goal Detection", "Progress Evaluation", "Action Generation"):
        answers: dict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
        for found in rows(random_flight(seed), task):
            if found["reason"] is None:
                options = tuple(sorted([found["answer"], *found["wrong"]]))
                answers[text_of(found), options][found["answer"]] += 1
        for (_, options), count in answers.items():
            # Of the steps of a route two in five are drawn, the last as often as any, and next actions ask for others.
            here = math.ceil(len(options) * 763 / (763 + 1171)) if task == "Progress Evaluation" else len(options)
            assert len(count) in {here, len(options)}
            assert set(count) <= set(options)
            assert len(set(count.values())) == 1


def test_no_landmark_that_planning_offers_is_recalled() -> None:
    """It has something beside it, as what is on the way has oftener than other options."""
    plans, refused = 0, []
    for seed in range(24):
        scene = random_flight(seed)
        plan = [found for found in rows(scene, "High-level Planning") if found["reason"] is None]
        offered = {option for found in plan for option in (found["answer"], *found["wrong"])}
        for found in rows(scene, "Object Recall"):
            assert found["reason"] or found["operands"][0] not in offered
            refused += [found["measured"]] if found["reason"] == "tells_another_answer" else []
        plans += bool(plan)
    assert plans > 5
    assert set(refused) == {1}


@pytest.mark.parametrize("seed", range(4))
def test_no_question_says_a_time_of_the_video(seed: int) -> None:
    asked = [found for found in rows(random_flight(seed)) if found["reason"] is None]
    assert asked
    assert not [text for text in map(text_of, asked) if re.search(CLOCK, text)]
    for found in asked:  # what rests on a moment knows which
        whole = found["task"] in {"Duration", "Object Recall", "Sequence Recall"}
        assert (found["until_s"] is None) == whole


def test_the_cut_lies_anywhere_in_a_movement() -> None:
    places = [
        (found["until_s"] - start) / (end - start)
        for seed in range(12)
        for found in judged(random_flight(seed), "Action Generation")
        if found["reason"] is None
        for start, end in [[e["value"] for e in found["evidence"] if e["name"] in {"start", "end"}][:2]]
    ]
    assert min(places) < 0.3
    assert max(places) > 0.7
    assert 0.4 < sum(place < 0.5 for place in places) / len(places) < 0.6


@pytest.fixture(scope="module")
def of_random_flights() -> list[dict[str, Any]]:
    return questions(range(45))


@pytest.mark.long
def test_no_attacker_beats_chance(of_random_flights: list[dict[str, Any]]) -> None:
    """On 45 random flights; before, time and printed route gave 62% of the actions and 75% of the progress."""
    for task, found in summarise(items := items_of(of_random_flights), attack(items, run_here, UNSEEN[:1])).items():
        luck = 3 * (found.chance * (1 - found.chance) / found.n) ** 0.5  # the best of a dozen is above it by luck
        best = max(found.earned, key=lambda name: found.earned[name])
        assert found.n < 45 or found.earned[best] <= found.chance + max(0.08, luck), (task, best, found)


@pytest.mark.long
def test_random_flights_have_the_shares_of_the_paper(of_random_flights: list[dict[str, Any]]) -> None:
    found = Counter(row["task"] for row in of_random_flights)
    facts = [task for task in URBAN_TASKS if task not in {"Scene Recall", "Causal", "Counterfactual"}]
    for task in facts:
        share = found[task] / found.total() / (URBAN_TASKS[task].share / sum(URBAN_TASKS[name].share for name in facts))
        assert 1 / 3 <= share <= 3.5, (task, share)


# Goals alone

HILL = [mark("the mill", 0, 300)]


def test_with_a_goal_alone_the_next_action_brings_it_nearer() -> None:
    # The goal lies 300 m ahead. East of the way it lies at 104 degrees to the left, and after the turn ahead again.
    moves = [
        ("ascend", 5, 20),
        ("fly forward", 10, 100),
        ("turn right", 5, 90),
        ("fly forward", 10, 50),
        ("turn left", 5, 90),
        ("fly forward", 10, 100),
        ("hover", 5, 0),
    ]
    scene = flight(motion(moves, views={0: [(0, 50)]}), HILL, goal="the mill")
    found = [(r["answer"], r["reason"]) for r in judged(scene, "Action Generation")]
    assert found == [
        ("Fly forward", None),
        (None, "goal_not_nearer"),
        (None, "goal_not_nearer"),
        ("Turn left", None),
        ("Fly forward", None),
        (None, "goal_not_nearer"),
    ]


@pytest.mark.parametrize(
    ("actions", "heading", "nearer"),
    [
        ({"fly forward"}, 0, True),
        ({"fly forward"}, 180, False),
        ({"fly backward"}, 180, True),
        ({"fly left"}, 90, True),
        ({"fly right"}, 90, False),
        ({"turn left"}, 90, True),
        ({"turn right"}, 90, False),
        ({"turn left"}, 0, False),  # it lies ahead
        ({"turn right"}, 180, True),  # either way
        ({"fly backward", "turn left"}, 0, False),
        ({"ascend"}, 0, False),
        ({"hover"}, 0, False),
    ],
)
def test_what_may_be_said_to_bring_a_goal_nearer(actions: set[Action], heading: float, nearer: bool) -> None:
    scene = flight(motion([("hover", 10, 0)], heading=heading, views={0: [(0, 10)]}), HILL, goal="the mill")
    view = FlightView(scene, UrbanRules())
    assert view.goal is not None
    assert may_bring_nearer(view, frozenset(actions), 5.0, view.goal) == nearer


def test_a_goal_without_a_place_brings_no_action() -> None:
    scene = flight(motion([("ascend", 5, 20), ("fly forward", 5, 50), ("hover", 5, 0)]), HILL, goal="home")
    (found,) = rows(scene, "Action Generation")
    assert found["reason"] == "goal_is_no_landmark"


# What was not shown


@pytest.mark.parametrize(("spans", "reason"), [([], "never_visible"), ([(7, 10)], "not_seen_yet"), ([(0, 2)], None)])
def test_nothing_is_asked_about_a_goal_that_was_not_shown(spans: list[tuple[float, float]], reason: str | None) -> None:
    places = [mark("the goal", 0, 200), mark("the inn", 0, 100), mark("the mill", 90, 100), mark("the barn", -90, 90)]
    views = {0: spans, 1: [(0, 10)], 2: [(0, 10)], 3: [(0, 10)]}
    scene = flight(motion([("hover", 10, 0)], views=views), places, goal="the goal")
    assert row(scene, "High-level Planning", "the goal", "0:05")["reason"] == reason
    near = [mark("the goal", 0, -300, 0), mark("the inn", 40, -300, 0), mark("the mill", -90, -300, 0)]
    scene = flight(motion([("hover", 10, 0)], views=views), [*near, mark("the barn", 0, 0, 0)], goal="the goal")
    assert row(scene, "Association", "the goal", "0:05")["reason"] == reason


def test_of_two_landmarks_on_one_spot_the_smaller_lies_in_the_larger() -> None:
    places = [mark("the park", 0, 0, 40), mark("the obelisk", 0, 0, 2), mark("the inn", 55, 0, 2)]
    places += [mark("the barn", 0, 120, 2), mark("the mill", 0, -120, 2)]
    scene = flight(motion([("hover", 10, 0)]), places)
    assert row(scene, "Object Recall", "the obelisk")["reason"] == "one_inside_the_other"
    found = row(scene, "Object Recall", "the park")
    assert (found["answer"], set(found["wrong"])) == ("the inn", {"the barn", "the mill"})


@pytest.mark.parametrize("seed", [25, *range(10)])
def test_nothing_is_asked_about_what_lies_in_another_landmark(seed: int) -> None:
    scene = random_flight(seed)
    marks = {m.label: m for m in scene.facts.landmarks}
    for found in rows(scene, "Object Recall"):
        if found["reason"] is None:
            here = marks[found["operands"][0]]
            around = [m for m in marks.values() if m != here and math.dist(m.center, here.center) <= m.radius_m]
            assert all(m.radius_m < here.radius_m for m in around)


# Distances that stand still


@pytest.mark.parametrize(("still_s", "reason"), [(3, None), (4, "distance_constant_for_long")])
def test_a_distance_that_is_constant_for_long_does_not_change_throughout(still_s: int, reason: str | None) -> None:
    moves = [("hover", still_s, 0), ("fly forward", 10 - still_s, 50)]
    scene = flight(motion(moves, start=(0, 0, 0)), [mark("the tower", 0, 100, radius=0)])
    found = row(scene, "Proximity", "the tower", "over the flight so far", "0:10")
    assert (found["reason"], found["measured"]) == (reason, reason and pytest.approx(still_s / 10))


def test_turning_in_place_is_no_way_to_move_away_throughout() -> None:
    """Half of the time the drone only turns, while its track drifts away at 1 m/s."""
    flown = motion([("fly forward", 5, 50), ("turn left", 5, 90)], start=(0, 0, 0))
    drift = [max(0.0, t - 5) for t in flown.t_s]
    drifted = tuple((x, y + d, z) for (x, y, z), d in zip(flown.enu_m, drift, strict=True))
    scene = flight(flown.model_copy(update={"enu_m": drifted}), [mark("the tower", 0, -50, radius=0)])
    found = row(scene, "Proximity", "the tower", "over the flight so far", "0:10")
    assert (found["reason"], found["measured"]) == ("distance_constant_for_long", pytest.approx(0.5))


def test_no_related_element_is_right_once_where_two_others_offer_it() -> None:
    """The goal is behind throughout: whatever stands about it is out of the picture, on the map or not."""
    marks = [mark("the goal", 0, -300, 0)] + [mark(f"the {n}", e, -300) for n, e in (("inn", 25), ("mill", -25))]
    marks += [mark(f"the {n}", e, 300) for n, e in (("barn", 0), ("lake", 200), ("pier", -200))]
    spans = [[(0, 1)], [(10, 20)], [(30, 40)], [(0, 60)], [(0, 60)], [(0, 60)]]
    scene = flight(motion([("hover", 60, 0)], views=dict(enumerate(spans))), marks, goal="the goal")
    asked = [r for r in judged(scene, "Association") if r["reason"] is None]
    none = "No related element: nothing in view is within 60 metres of the goal"
    assert {r["answer"].partition(",")[0] for r in asked} == {"the inn", "the mill", none}
    assert sum(r["answer"] == none for r in asked) == 1
    assert all(none in (r["answer"], *r["wrong"]) for r in asked)


# What the questions of a flight tell together


def test_a_map_shows_landmarks_near_and_far_alike() -> None:
    """What is on the way to a goal is mostly near the path: it would be known by the nearest four on every map."""
    names = ("inn", "mill", "barn", "lake", "pier", "tower", "dome", "park")
    places = [mark(f"the {name}", 20 + 15 * i, 40 + 5 * i) for i, name in enumerate(names)]
    moved = motion([("fly forward", 20, 120)])
    maps = [rows(flight(moved, places, name=f"flight {n}"), "Cognitive Map") for n in range(60)]
    shown = Counter(label for (found,) in maps for label in found["operands"][1:])
    assert set(shown) == {f"the {name}" for name in names}
    assert all(18 <= n <= 42 for n in shown.values())  # half of 60; three standard errors


def test_one_question_of_a_flight_is_about_what_is_near_its_goal() -> None:
    """Of two, what one has for an answer is not offered by the other: all that both offer would be wrong."""
    tasks = {name: URBAN_TASKS[name] for name in ("Association", "High-level Planning")}
    offered, asked = [], []
    for seed in (2, 11, 17):
        table = candidates(FlightView(random_flight(seed), UrbanRules()), tasks.values()).select(CANDIDATES.names)
        offered.append(table["reason"].null_count)
        asked.append(len(selected_questions(select(table, tasks, 1000, URBANVIDEO.shares))))
    assert min(offered) >= 2
    assert asked == [1, 1, 1]
