"""Distances among many landmarks, against every one of them measured."""

import re

import numpy as np
import pytest
import shapely

from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.core.schema import Rejection
from pipeline.worlds.flight.facts import Flight, FlightMotion, Landmark, Shot, Sighting
from pipeline.worlds.flight.places import by_name, nameable
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import finding, flight, judged, mark, motion, row


def landmarks(seed: int, n: int) -> list[Landmark]:
    """Points, discs and turned rectangles, some of them long, that do not cross."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        x, y = rng.uniform(-400, 400, 2)
        long, wide, turn = rng.uniform(2, 80), rng.uniform(2, 10), rng.uniform(0, np.pi)
        corners = np.array([[-long, -wide], [long, -wide], [long, wide], [-long, wide]]) / 2
        spun = corners @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + [x, y]
        if i % 3 == 0:
            outline = tuple((float(a), float(b)) for a, b in spun)
            found.append(mark(f"place {i:03}", x, y, float(np.hypot(long, wide) / 2), outline=outline))
        else:
            found.append(mark(f"place {i:03}", x, y, 0.0 if i % 3 == 1 else float(rng.uniform(1, 10))))
    return found


def shape(mark: Landmark) -> shapely.Geometry:
    return shapely.Polygon(mark.outline) if mark.outline else shapely.Point(mark.center)


def measured(a: Landmark, b: Landmark) -> float:
    rounds = sum(m.radius_m for m in (a, b) if not m.outline)
    return max(shapely.distance(shape(a), shape(b)) - rounds, 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_are_measured_exactly(seed: int) -> None:
    marks = landmarks(seed, 150)
    places = nameable(marks, ())
    assert [place.label for place in places] == sorted(m.label or "" for m in marks)
    point = mark("here", 10.0, 20.0, 0.0)
    away = [measured(point, m) for m in marks]
    near, distance, ratio = places.nearest(places.approach_m(np.array([[10.0, 20.0]])))
    assert (near, distance) == (int(np.argmin(away)), pytest.approx(min(away)))
    assert ratio == pytest.approx(sorted(away)[1] / max(min(away), 1.0))
    for i in (0, 1, 2):
        gaps = [np.inf if i == j else measured(marks[i], other) for j, other in enumerate(marks)]
        near, distance, ratio = places.nearest(places.gaps_m(i))
        if shapely.crosses(shapely.boundary(shape(marks[i])), shapely.boundary(shape(marks[near]))):
            continue  # two footprints that cross are not in the source
        assert (near, distance) == (int(np.argmin(gaps)), pytest.approx(min(gaps)))
        assert min(ratio, 4.0) == pytest.approx(min(sorted(gaps)[1] / max(min(gaps), 1.0), 4.0))


def test_names() -> None:
    marks = [mark("b", 0, 0), mark("a", 1, 0, name="First"), mark("B", 2, 0), mark("c", 3, 0, name="Dom")]
    places = nameable([*marks, mark("d", 4, 0).model_copy(update={"label": None}), mark("two  spaces", 5, 0)], {"Dom"})
    assert [place.label for place in places] == ["a"]
    assert places.named(" FIRST ") == places.named("a") == 0
    assert places.named("c") is None


def test_what_stands_beside_something_doubted_is_doubted() -> None:
    marks = [mark("the park", 0, 0, name="Green"), mark("the hut beside the park", 9, 0), mark("the mill", 30, 0)]
    assert [place.label for place in nameable(marks, {"Green"})] == ["the mill"]
    assert nameable(marks, ()).anchor(0) == 2
    assert [nameable(marks, ()).tied(*pair) for pair in ((0, 2), (2, 0), (0, 1))] == [True, True, False]


MOVES = [("fly forward", 10, 100), ("turn left", 5, 90), ("fly forward", 10, 100)]
MOVED = motion(MOVES, views={0: [(0, 25)], 1: [(0, 25)]})
MARKS = [mark("the park", 30, 30), mark("the red church", 120, 50)]


@pytest.mark.parametrize("name", ["route_by_compass", "route_names_unseen"])
@pytest.mark.parametrize("task", ["Progress Evaluation", "Action Generation"])
def test_a_route_that_cannot_be_told_is_not_asked_about(name: str, task: str) -> None:
    route = ["fly north to the park", "turn left"]
    told = flight(MOVED, MARKS, goal="the park", route=route, findings=[finding(name, "route")])
    assert {(r["reason"], r["measured"], r["limit"]) for r in judged(told, task)} == {(name, 1.0, 0.0)}
    plain = flight(MOVED, MARKS, goal="the park", route=route)
    assert name not in {r["reason"] for r in judged(plain, task)}


def untracked(moved: FlightMotion, start_s: float, end_s: float) -> FlightMotion:
    """The same flight, of which nobody knows where it was for a while."""
    t_s = np.array(moved.t_s)
    kept = np.flatnonzero((t_s < start_s) | (t_s > end_s)).tolist()
    lists = ("t_s", "enu_m", "height_m", "heading_deg", "course_deg", "pitch_deg", "part")
    return moved.model_copy(update={name: tuple(getattr(moved, name)[i] for i in kept) for name in lists})


def test_a_movement_must_be_tracked_to_bring_a_goal_nearer() -> None:
    """The way to a goal 500 m ahead: at 25 s, where the last movement ends, nobody knows where the drone was."""
    moves = [("fly forward", 10, 100), ("ascend", 5, 20), ("fly forward", 10, 100), ("hover", 5, 0)]
    goal = mark("the park", 0, 500)
    for moved, lost in ((motion(moves), False), (untracked(motion(moves), 24.0, 26.0), True)):
        scene = flight(moved, [goal], goal="the park")
        found = {r["operands"][0]: r["reason"] for r in judged(scene, "Action Generation", routes_told=0.0)}
        assert ("step_not_tracked" in found.values()) is lost, found


FLOWN_MOVES = [("fly forward", 10, 100), ("turn left", 5, 90), ("fly forward", 10, 100)]
FLOWN = motion(FLOWN_MOVES, views={i: [(0, 25)] for i in range(4)})
ALIKE = Rejection(reason="looks_like_another", measured=3, limit=1, unit="things")


@pytest.mark.parametrize("task", ["Landmark Position", "Object Recall", "Proximity"])
def test_a_landmark_without_a_label_is_refused_by_name_and_with_its_number(task: str) -> None:
    shop = mark("Shop", 20, 50).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    far = mark("Inn", 20, 5000).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    found = judged(flight(FLOWN, [mark("the park", 30, 30), shop, far]), task)
    refused = [(r["operands"], r["measured"], r["limit"], r["unit"]) for r in found if r["reason"] == ALIKE.reason]
    assert refused == [(["Shop"], 3.0, 1.0, "things")]


def test_what_is_told_by_something_else_is_asked_about_once_that_is_shown() -> None:
    """The shop is shown from the start, the park that it stands beside from 12 s on, in another flight never."""
    marks = [mark("the park", 20, 50), mark("the pink building beside the park", 35, 50), mark("the tower", 0, 300)]
    for first, firsts in ((12.0, {"not_seen_yet"}), (None, set())):
        views = {0: [] if first is None else [(first, 25)], 1: [(0, 25)], 2: [(0, 25)]}
        found = judged(flight(motion(FLOWN_MOVES, views=views), marks), "Landmark Position")
        asked = [r for r in found if r["operands"][0].startswith("the pink")]
        assert {r["reason"] for r in asked if r["until_s"] < 12} == firsts
        assert all(r["reason"] != "not_seen_yet" for r in asked if r["until_s"] >= 12)


def test_without_any_label_the_task_says_so() -> None:
    shop = mark("Shop", 20, 50).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    scene = flight(FLOWN, [shop], goal="shop")
    assert {r["reason"] for r in judged(scene, "Proximity")} == {"no_landmark_described"}
    park = flight(FLOWN, [mark("the park", 30, 30), shop], goal="shop")
    assert {r["reason"] for r in judged(park, "High-level Planning")} == {"goal_not_described"}


def test_words_that_say_what_stands_beside_what_do_not_answer_that() -> None:
    """A shop that is said to stand beside the park is no answer to what is next to it, and the other way round."""
    park = mark("the park", 20, 50)
    others = [mark("the red church", 120, 50), mark("the blue tower", -120, 80)]
    scene = flight(FLOWN, [park, mark("the pink building beside the park", 35, 50), *others])
    for place in ("the park", "the pink building beside the park"):
        assert row(scene, "Object Recall", place)["reason"] == "label_tells_answer"
    plain = flight(FLOWN, [park, mark("the pink building", 35, 50), *others])
    assert row(plain, "Object Recall", "the park")["answer"] == "the pink building"


def test_a_model_is_not_told_names_that_no_video_shows() -> None:
    shop = mark("Shop", 20, 50).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    marks = [mark("the park", 30, 30, name="Green", appearance={"noun": "park"}, kind="common"), shop]
    unseen = finding("route_names_unseen", "route")
    given = flight(FLOWN, marks, goal="shop", route=["fly to the Shop"], findings=[unseen])
    told = ObservedFacts(FlightView(given, UrbanRules()))
    assert (told.names, told.kinds) == (("the park",), ("park",))
    assert not re.search("shop|Green|common", told.text(), re.IGNORECASE)
    plain = ObservedFacts(FlightView(flight(FLOWN, marks, goal="green", route=["fly on"]), UrbanRules()))
    assert plain.names == ("the park", "green", "fly on")


# ---- landmarks by their names: those that a picture introduces, and why the others are not


def shown(*marks: tuple[Landmark, Shot | None], **more: object) -> Flight:
    """A flight of 10 s that shows landmarks from its start to its end, best in these pictures."""
    span = ((0.0, 10.0),)
    views = tuple(Sighting(landmark=i, intervals=span, possible=span, shot=s) for i, (_, s) in enumerate(marks))
    moved = motion([("fly forward", 10, 100)]).model_copy(update={"views": views})
    return flight(moved, [m for m, _ in marks], **more).facts  # type: ignore[arg-type]


def large(second: float = 5.0, side: float = 0.3) -> Shot:
    return Shot(second=second, box=(0.5, 0.5, 0.5 + side, 0.6))


def test_names_with_a_picture_are_labels_and_the_others_say_why() -> None:
    facts = shown(
        (mark("the red mill", 0, 100, name="Saint Anna"), large()),
        (mark("the inn", 0, 100, name="Far Inn"), Shot(second=5.0, box=(0.5, 0.5, 0.55, 0.58))),
        (mark("the barn", 0, 100, name="Twin"), large()),
        (mark("the shed", 0, 100, name="twin"), large()),
        (mark("the house", 0, 100, name=None), large()),
        (mark("the park", 0, 100, name="Hidden Park"), None),
        (mark("the end", 0, 100, name="Beyond the End"), large(second=10.0)),
        goal="the red mill",
        route=("Fly to the red mill", "Turn left at the inn"),
    )
    named = by_name(facts, 10.0, 0.1)
    assert [m.label for m in named.landmarks] == ["Saint Anna", None, None, None, None, None, None]
    assert [
        m.unnameable_reason and (m.unnameable_reason.reason, m.unnameable_reason.measured) for m in named.landmarks
    ] == [
        None,
        ("too_small_in_picture", 0.08),
        ("name_not_unique", 2),
        ("name_not_unique", 2),
        ("no_name", None),
        ("no_good_picture", 0),
        ("no_good_picture", 0),
    ]
    assert (named.goal, named.route) == ("Saint Anna", ("Fly to Saint Anna", "Turn left at the inn"))
