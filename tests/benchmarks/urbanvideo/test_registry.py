"""The registry, what a flight lacks or is in doubt about, names that cannot be used, and the cost."""

import numpy as np
import pytest

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS, Assisted
from pipeline.benchmarks.urbanvideo.tasks.sequence import actions_of
from pipeline.core.tables import CANDIDATES
from pipeline.core.templates import load_template
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import finding, flight, judged, mark, motion, random_flight, refusal, row, rows
from tests.tables import candidates

RELEASED = (
    "Trajectory Captioning", "Sequence Recall", "Object Recall", "Scene Recall", "Start/End Position", "Proximity",
    "Duration", "Landmark Position", "Goal Detection", "Cognitive Map", "Causal", "Counterfactual", "Association",
    "Progress Evaluation", "High-level Planning", "Action Generation",
)  # fmt: skip
ASSISTED = ("Scene Recall", "Causal", "Counterfactual")
MOVES = [("ascend", 6, 20), ("fly forward", 10, 100), ("turn left", 5, 90), ("fly left", 9, 50)]
PLACES = [mark("the inn", 30, 60, top=10.0), mark("the mill", -60, 130), mark("the barn", 90, 10)]
VIEWS = {0: [(0, 20)], 1: [(0, 30)], 2: [(0, 10)]}
ROUTE = ("Ascend to 50 m", "Fly to the crossing", "Turn left", "Move to the left")


def whole(**more: object) -> FlightScene:
    given = {"goal": "the mill", "route": ROUTE} | more
    return flight(motion(MOVES, views=VIEWS), PLACES, **given)  # type: ignore[arg-type]


def test_all_tasks_by_their_released_names() -> None:
    assert tuple(URBAN_TASKS) == RELEASED
    assert tuple(name for name, task in URBAN_TASKS.items() if isinstance(task, Assisted)) == ASSISTED
    for task in URBAN_TASKS.values():
        assert load_template(task.template).version == 1
        assert bool(task.definition) == bool(task.example) == task.model_assisted
        assert task.labels((), "") == ()
    assert {name for name, task in URBAN_TASKS.items() if task.model_assisted} == {
        *ASSISTED,
        "Object Recall",
        "Association",
    }


GOLDEN = {
    "Trajectory Captioning": (
        ("during the latest four movements", "0:55"),
        "How does the drone move during the latest four movements?",
    ),
    "Sequence Recall": (("turning left",), "What is the drone's next step after turning left?"),
    "Object Recall": (("the cafe",), "What is located closest to the cafe?"),
    "Scene Recall": (("at the start",), "What scene does the drone observe at the start?"),
    "Start/End Position": (
        ("0:42",),
        "Where are the starting point and the end point of the drone's movement so far, judged by the landmark nearest "
        "to each?",
    ),
    "Proximity": (
        ("the cafe", "over the flight so far", "1:05"),
        "How does the distance between the drone and the cafe change over the flight so far?",
    ),
    "Duration": (("ascending", "hovering"), "Which takes the drone longer, ascending or hovering?"),
    "Landmark Position": (
        ("the cafe", "0:42", "Navigation goal: the inn"),
        "Navigation goal: the inn. At the current position, where is the cafe relative to the drone: ahead of its "
        "nose, to the right, behind or to the left, each within 45 degrees?",
    ),
    "Goal Detection": (
        ("the cafe", "0:42"),
        "Navigation goal: the cafe. At the current position, is the goal in the field of view, and if so, where in it?",
    ),
    "Cognitive Map": (
        ("0:42", "the cafe", "the inn"),
        "Which of these maps, drawn from above, shows the drone's flight so far? The rows of a map run from top to "
        "bottom and are separated by slashes, and the direction in which the drone first flies is up. S is the start, "
        "E the current position, * the path; 1 = the cafe; 2 = the inn.",
    ),
    "Causal": (("ascend at the tower",), "Why does the drone ascend at the tower?"),
    "Counterfactual": (
        ("ascending at first", "flies lower"),
        "Instead of ascending at first, if the drone flies lower, can it still complete its task, and how is the "
        "alternative route?",
    ),
    "Association": (
        ("the cafe", "0:42", "Which element in view"),
        "Navigation goal: the cafe. At the current position the goal is not in view. Which element in view is the "
        "most spatially related to it, that is, nearest to it?",
    ),
    "Progress Evaluation": (
        ("0:42", "Turn left", "Fly forward"),
        "Navigation route: Turn left; Fly forward. Which step of the route is the drone performing at the current "
        "position?",
    ),
    "High-level Planning": (
        ("the cafe", "0:42"),
        "Navigation goal: the cafe. To reach the goal in a straight line from the current position, what should "
        "the drone approach next?",
    ),
    "Action Generation": (
        ("0:42", "Navigation route", "Turn left", "Fly forward"),
        "Navigation route: Turn left; Fly forward. Once the drone has finished the movement that it is making at the "
        "current position, what is its best next action?",
    ),
}


@pytest.mark.parametrize("name", RELEASED)
def test_golden_wording(name: str) -> None:
    operands, text = GOLDEN[name]
    task = URBAN_TASKS[name]
    template = load_template(task.template)
    fields = task.fields(operands, None)
    assert template.render(fields) == text
    assert template.parse(text) == fields
    drawn = {template.drawn(question) for question in range(40)}
    assert sorted(number for _, number in drawn) == list(range(1 + len(template.wordings))) != [0]
    assert all(template.parse(worded.render(fields)) == fields for worded, _ in drawn)


def test_answers_of_one_flight() -> None:
    """What the tasks say of one flight, by hand."""
    scene = whole()
    assert row(scene, "Trajectory Captioning", "over the flight so far", "0:30")["answer"] == (
        "It ascends, then flies forward, then turns left, then flies left."
    )
    assert row(scene, "Sequence Recall", "turning left")["answer"] == "Fly left"
    (ascending,) = (r for r in rows(scene, "Sequence Recall") if r["operands"] == ["ascending"])
    assert (ascending["answer"], set(ascending["wrong"])) == ("Fly forward", {"Turn left", "Fly left"})
    # Each movement is asked about within the one before it, and all of them are options.
    next_ones = {r["answer"]: r for r in rows(scene, "Action Generation")}
    assert set(next_ones) == {"Fly forward", "Turn left", "Fly left"}
    assert all(set(r["wrong"]) == {*next_ones} - {answer} for answer, r in next_ones.items())
    assert 6 < next_ones["Turn left"]["until_s"] < 16
    # Two in five steps of the route, drawn by lot, are asked about; all are options. Next actions ask for the others.
    now = rows(scene, "Progress Evaluation")
    assert [r["answer"] for r in now] == [ROUTE[0], None, None, ROUTE[3]]
    assert {refusal(r) for r in now[1:3]} == {("route_tells_other_answers", 4, 2)}
    assert 6 < now[1]["until_s"] < 16 < now[2]["until_s"] < 20 < now[3]["until_s"]
    assert set(now[3]["wrong"]) == {*ROUTE[:3]}
    assert candidates(FlightView(scene, UrbanRules()), list(URBAN_TASKS.values())).schema == CANDIDATES


def test_a_route_does_not_speak_of_every_pause() -> None:
    moves = [("hover", 4, 0), ("ascend", 6, 20), ("gimbal down", 5, 20), ("hover", 3, 0), ("turn left", 6, 90)]
    scene = flight(motion(moves), route=["take off", "look down", "turn left"])
    left, *asked = rows(scene, "Progress Evaluation")
    assert refusal(left) == ("route_tells_other_answers", 3, 2)
    assert [(r["answer"], {*r["wrong"]}) for r in asked] == [
        ("look down", {"take off", "turn left"}),
        ("turn left", {"take off", "look down"}),
    ]
    assert 4 < left["until_s"] < 10 < asked[0]["until_s"] < 15
    assert 18 < asked[1]["until_s"] < 24


def test_a_route_that_was_not_flown() -> None:
    turned = whole(route=("Ascend", "Fly on", "Turn right", "Move to the left"))
    assert refusal(rows(turned, "Progress Evaluation")[0]) == ("route_disagrees_with_flight", 0, 1)
    short = whole(route=("Ascend", "Fly on", "Turn left"))
    assert refusal(rows(short, "Progress Evaluation")[0]) == ("route_disagrees_with_flight", 0, 1)
    twice = flight(motion([("hover", 5, 0), ("gimbal down", 5, 20), ("hover", 5, 0)]), route=["Hover"])
    assert refusal(rows(twice, "Progress Evaluation")[0]) == ("route_fits_in_several_ways", 2, 1)
    vague = whole(route=("Ascend", "Have a look around", "Turn left", "Move to the left"))
    assert refusal(rows(vague, "Progress Evaluation")[0]) == ("route_steps_unclear", 1, 0)


@pytest.mark.parametrize(
    ("words", "actions"),
    [
        ("Fly forward to the red house", {"fly forward"}),
        ("proceed along the road", {"fly forward"}),
        ("Raise the altitude", {"ascend"}),
        ("take off", {"ascend"}),
        ("fly up to 30 m", {"ascend"}),
        ("Land by the lake", {"descend"}),
        ("Fly towards the landmark", {"fly forward"}),
        ("turn slightly left", {"turn left"}),
        ("Turn to the right", {"turn right"}),
        ("move to the right", {"fly right"}),
        ("fly straight back", {"fly backward"}),
        ("Hover for a while", {"hover"}),
        ("descend while flying forward", {"descend", "fly forward"}),
        ("Tilt the camera down", {"gimbal down"}),
        ("look up again", {"gimbal up"}),
        ("take off from the Central Park and climb to 36 metres", {"ascend"}),
        ("fly a curve to the left", {"fly forward", "turn left"}),
        ("turn left and fly to the bridge", set()),  # one after another
        ("turn back", set()),
        ("look at the tower", set()),
    ],
)
def test_steps_of_routes(words: str, actions: set[str]) -> None:
    assert set(actions_of(words)) == actions


@pytest.mark.parametrize(
    ("lacking", "refused"),
    [
        ({"goal": None}, {"Goal Detection", "Association", "High-level Planning"}),
        ({"goal": "some other place"}, {"Goal Detection", "Association", "High-level Planning"}),
        ({"route": ()}, {"Progress Evaluation"}),
        ({"goal": None, "route": ()}, {
            "Goal Detection", "Association", "High-level Planning", "Progress Evaluation", "Action Generation"}),
        ({"findings": [finding("clock_jump")]}, {*RELEASED} - {*ASSISTED}),
        ({"findings": [finding("clock_jump", severity="note")]}, set()),
        ({"findings": [finding("unheard_of")]}, {*RELEASED} - {*ASSISTED}),
        ({"findings": [finding("step_clock", severity="note")]}, {"Duration"}),
        *(({"findings": [finding(doubt)]}, {
            "Object Recall", "Start/End Position", "Proximity", "Landmark Position", "Goal Detection", "Cognitive Map",
            "Association", "High-level Planning"}) for doubt in ("altitude_reference", "picture_shape_differs")),
    ],
)  # fmt: skip
def test_what_a_flight_lacks(lacking: dict[str, object], refused: set[str]) -> None:
    found = rows(whole(**lacking))
    lacks = [r for r in found if r["role"] == "scene" and r["reason"] != "nothing_to_ask_about"]
    assert {r["task"] for r in lacks} == refused
    assert all(r["reason"] and r["operands"] == ["one"] for r in found if r["role"] == "scene")
    assert {r["task"] for r in found if r["role"] is None}.isdisjoint(refused)


def test_without_heading_nothing_is_said_of_turning() -> None:
    moves = [("ascend", 6, 20), ("stay in place", 5, 0), ("descend", 6, 20), ("fly forward", 9, 90)]
    found = rows(flight(motion(moves, heading=None), PLACES, goal="the mill"))
    refused = {r["task"]: r["reason"] for r in found if r["role"] == "scene"}
    assert refused["Landmark Position"] == "no_heading"
    asked = [r for r in found if r["reason"] is None]
    sequences = {r["operands"][0]: r["answer"] for r in asked if r["task"] == "Sequence Recall"}
    assert sequences == {"ascending": "Stay in place", "staying in place": "Descend"}, "of the four that are known"
    # What is flown over ground is not known to be forward, and should a log say so it is not believed.
    assert refusal(row(flight(motion(moves, heading=None)), "Sequence Recall", "descending"))[0] == "heading_unknown"
    said = " ".join(text for r in asked if r["task"] != "Cognitive Map" for text in (r["answer"], *r["wrong"]))
    assert "urn" not in said.lower()
    assert " left" not in said


def test_without_motion_nothing_is_asked() -> None:
    assert {r["reason"] for r in rows(flight(None))} == {"motion_not_observed"}
    assert {r["reason"] for r in rows(flight(motion([])))} == {"track_too_short"}


def test_a_doubt_about_one_landmark_leaves_out_that_one() -> None:
    found = rows(whole(findings=[finding("clock_jump", subject="the barn")]))
    assert any(r["reason"] is None for r in found)
    assert not any("the barn" in [*r["operands"], r["answer"], *(r["wrong"] or [])] for r in found)


def test_names_that_cannot_be_used() -> None:
    odd = ["a change from b", 'the "Old" inn, left', "two\nlines", "same", "Same", "北京路"]
    places = [*PLACES, *(mark(name, 20 + 12 * i, 70) for i, name in enumerate(odd))]
    found = rows(flight(motion(MOVES), places), landmarks_max=20)
    named = {word for r in found if r["reason"] is None for word in (r["answer"], *r["operands"])}
    assert {'the "Old" inn, left', "北京路"} <= named
    assert not {"two\nlines", "same", "Same"} & named
    alone = judged(flight(motion(MOVES), places), "Proximity", landmarks_max=20)
    reasons = {r["reason"] for r in alone if r["operands"][:1] == ["a change from b"]}
    assert "reads_in_two_ways" in reasons


def test_a_landmark_that_is_seen_later_is_not_asked_about_yet() -> None:
    scene = flight(motion([("hover", 10, 0), ("hover", 20, 0)], views={0: [(6, 9)]}), [mark("the inn", 0, 50)])
    assert refusal(row(scene, "Landmark Position", "the inn", "0:05")) == ("not_seen_yet", 6, 5)
    assert row(scene, "Landmark Position", "the inn", "0:20")["reason"] is None


def test_times_that_round_to_one_second_are_asked_about_once() -> None:
    moves = [("ascend", 3, 10), ("turn left", 3, 45), ("fly forward", 3, 30), ("turn right", 3, 45), ("hover", 0.6, 0)]
    found = [r for r in rows(flight(motion(moves)), "Trajectory Captioning") if "four" in r["operands"][0]]
    assert [(r["operands"][1], *refusal(r)) for r in found] == [("0:12", "reads_in_two_ways", 2, 1)]


def test_one_landmark_alone() -> None:
    scene = flight(motion(MOVES), [mark("the inn", 30, 60)], goal="the inn")
    found = {r["task"]: r["reason"] for r in rows(scene)}
    assert found["Object Recall"] == "nothing_beside"
    assert found["Start/End Position"] == "start_not_near"
    assert found["Cognitive Map"] == "too_few_landmarks"
    unseen = flight(motion(MOVES, views={}), [mark("the inn", 30, 60)])
    assert {r["reason"] for r in rows(unseen, "Proximity", "Cognitive Map")} == {"nothing_to_ask_about"}


def test_the_same_bytes_again() -> None:
    tasks = list(URBAN_TASKS.values())
    first, second = (candidates(FlightView(random_flight(3), UrbanRules()), tasks) for _ in range(2))
    assert first.equals(second)


def test_a_long_flight_in_a_city_asks_a_bounded_number() -> None:
    rng = np.random.default_rng(0)
    kinds = [("fly forward", 10, 40), ("turn left", 5, 60), ("ascend", 5, 4), ("fly right+descend", 10, (20, 4))]
    moved = motion([kinds[i % 4] for i in range(60)])
    places = [mark(f"house {i}", *rng.uniform(-300, 300, 2).tolist()) for i in range(2000)]
    scene = flight(moved, places, goal="house 7", route=["Fly forward"] * 60)
    found = candidates(FlightView(scene, UrbanRules()), list(URBAN_TASKS.values()))
    assert 100 < len(found) < 5000


def test_a_single_flight_over_ground_may_have_gone_any_of_four_ways() -> None:
    for way in ("forward", "backward", "left", "right"):
        found = row(
            flight(motion([(f"fly {way}", 20, 100)])), "Trajectory Captioning", "over the flight so far", "0:20"
        )
        assert found["answer"] == f"It flies {way}."
        assert {found["answer"], *found["wrong"]} == {
            f"It flies {w}." for w in ("forward", "backward", "left", "right")
        }


def test_movements_that_hang_together_are_captioned_where_others_do_not() -> None:
    moves = [("ascend", 5, 20), ("gap", 5, 0), ("fly left", 5, 30), ("descend", 5, 10), ("gap", 5, 0), ("ascend", 5, 9)]
    found = row(flight(motion(moves)), "Trajectory Captioning", "during the latest two movements", "0:20")
    assert found["answer"] == "It flies left, then descends."
    pairs = ({"flies left", "flies right"}, {"descends", "ascends"})
    for wrong in found["wrong"]:
        told = wrong.removeprefix("It ").removesuffix(".").split(", then ")
        assert any(told[0] in first and told[1] in second for first, second in (pairs, pairs[::-1])), wrong


def test_the_next_movement_of_a_flight_of_few_is_one_of_a_fixed_set() -> None:
    hop = flight(motion([("ascend", 5, 20), ("descend", 5, 20)]))
    (found,) = rows(hop, "Sequence Recall")
    assert (found["answer"], found["reason"]) == ("Descend", None)
    assert found["wrong"] == ["Fly forward", "Fly left", "Fly right", "Turn left", "Turn right"]
    (found,) = rows(flight(motion([("ascend", 5, 20), ("stay in place", 5, 0)], heading=None)), "Sequence Recall")
    assert (found["answer"], found["wrong"]) == ("Stay in place", ["Descend", "Fly horizontally"])
