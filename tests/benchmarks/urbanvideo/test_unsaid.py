"""Landmarks without words of their own, and words that would tell an answer."""

from __future__ import annotations

import re

import pytest

from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.core.schema import Rejection
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import finding, flight, judged, mark, motion, row

MOVES = [("fly forward", 10, 100), ("turn left", 5, 90), ("fly forward", 10, 100)]
MOVED = motion(MOVES, views={i: [(0, 25)] for i in range(4)})
ALIKE = Rejection(reason="looks_like_another", measured=3, limit=1, unit="things")


@pytest.mark.parametrize("task", ["Landmark Position", "Object Recall", "Proximity"])
def test_a_landmark_without_a_label_is_refused_by_name_and_with_its_number(task: str) -> None:
    shop = mark("Shop", 20, 50).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    far = mark("Inn", 20, 5000).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    found = judged(flight(MOVED, [mark("the park", 30, 30), shop, far]), task)
    refused = [(r["operands"], r["measured"], r["limit"], r["unit"]) for r in found if r["reason"] == ALIKE.reason]
    assert refused == [(["Shop"], 3.0, 1.0, "things")]


def test_what_is_told_by_something_else_is_asked_about_once_that_is_shown() -> None:
    """The shop is shown from the start, the park that it stands beside from 12 s on, in another flight never."""
    marks = [mark("the park", 20, 50), mark("the pink building beside the park", 35, 50), mark("the tower", 0, 300)]
    for first, firsts in ((12.0, {"not_seen_yet"}), (None, set())):
        views = {0: [] if first is None else [(first, 25)], 1: [(0, 25)], 2: [(0, 25)]}
        found = judged(flight(motion(MOVES, views=views), marks), "Landmark Position")
        asked = [r for r in found if r["operands"][0].startswith("the pink")]
        assert {r["reason"] for r in asked if r["until_s"] < 12} == firsts
        assert all(r["reason"] != "not_seen_yet" for r in asked if r["until_s"] >= 12)


def test_without_any_label_the_task_says_so() -> None:
    shop = mark("Shop", 20, 50).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    scene = flight(MOVED, [shop], goal="shop")
    assert {r["reason"] for r in judged(scene, "Proximity")} == {"no_landmark_described"}
    park = flight(MOVED, [mark("the park", 30, 30), shop], goal="shop")
    assert {r["reason"] for r in judged(park, "High-level Planning")} == {"goal_not_described"}


def test_words_that_say_what_stands_beside_what_do_not_answer_that() -> None:
    """A shop that is said to stand beside the park is no answer to what is next to it, and the other way round."""
    park = mark("the park", 20, 50)
    others = [mark("the red church", 120, 50), mark("the blue tower", -120, 80)]
    scene = flight(MOVED, [park, mark("the pink building beside the park", 35, 50), *others])
    for place in ("the park", "the pink building beside the park"):
        assert row(scene, "Object Recall", place)["reason"] == "label_tells_answer"
    plain = flight(MOVED, [park, mark("the pink building", 35, 50), *others])
    assert row(plain, "Object Recall", "the park")["answer"] == "the pink building"


def test_a_model_is_not_told_names_that_no_video_shows() -> None:
    shop = mark("Shop", 20, 50).model_copy(update={"label": None, "unnameable_reason": ALIKE})
    marks = [mark("the park", 30, 30, name="Green", look={"noun": "park"}, kind="common"), shop]
    unseen = finding("route_names_unseen", "route")
    given = flight(MOVED, marks, goal="shop", route=["fly to the Shop"], findings=[unseen])
    told = ObservedFacts(FlightView(given, UrbanRules()))
    assert (told.names, told.kinds) == (("the park",), ("park",))
    assert not re.search("shop|Green|common", told.text(), re.IGNORECASE)
    plain = ObservedFacts(FlightView(flight(MOVED, marks, goal="green", route=["fly on"]), UrbanRules()))
    assert plain.names == ("the park", "green", "fly on")
