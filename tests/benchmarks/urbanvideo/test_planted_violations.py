"""Flights of which a question would name what their film does not show so: each is refused, and for that reason."""

from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.core.schema import Rejection
from pipeline.worlds.flight.facts import FlightScene, Landmark, Shot, Sighting
from tests.benchmarks.urbanvideo.flights import flight, judged, mark, motion

MOVES = [("fly forward", 10, 100), ("turn left", 5, 90), ("fly forward", 10, 100), ("ascend", 6, 20)]
ALWAYS = [(0.0, 31.0)]
CHURCH = mark("the red church", -60, 150, name="A")
PARK = mark("the park beside the red church", -40, 130, name="B")
TOWER = mark("the tower", 60, 60, name="T", top=30.0)
LOOK, NEXT, NEAR = "Landmark Position", "Object Recall", "Proximity"
GOAL, MAP, ENDS, LINK = "Goal Detection", "Cognitive Map", "Start/End Position", "Association"
WHOLE = (0, 31)
EARLY: dict[str, Any] = {"views": [[(0.0, 6.0)], ALWAYS], "complete": None}
NEVER: dict[str, Any] = {"views": [[], ALWAYS], "complete": None, "goal": "the tower"}
ENTERS: dict[str, Any] = {"views": [[(6.0, 31.0)], ALWAYS], "complete": None, "goal": "the tower"}
MAYBE: dict[str, Any] = NEVER | {"maybe": (0.0, 9.0)}
BLIND: dict[str, Any] = {"views": None, "complete": None}
UNLOGGED = ("others_not_logged", 0.0, 1.0)


def film(
    *marks: Landmark,
    views: Sequence[Sequence[tuple[float, float]]] | None = (),
    complete: Sequence[str] | None = (),
    moves: Any = MOVES,
    heading: float | None = 0.0,
    maybe: tuple[float, float] | None = None,
    **more: Any,
) -> FlightScene:
    """A film of landmarks, all in the picture from beginning to end, of a log that knows what it has alone."""
    moved = motion(
        moves, views=None if views is None else dict(enumerate(views or [ALWAYS] * len(marks))), heading=heading
    )
    if maybe:  # some of the first of them may be in the picture then
        first = moved.views[0].model_copy(update={"possible": (maybe,)})  # type: ignore[index]
        moved = moved.model_copy(update={"views": (first, *moved.views[1:])})  # type: ignore[index]
    return flight(moved, marks, sight=False, **more).with_facts(complete=complete)


def as_noun(label: str, **more: Any) -> Landmark:
    return mark(label, 60, 60, name="T", top=30.0, **more)


def small_shot() -> FlightScene:
    """A named mill whose best picture takes an 18th of the frame."""
    scene = film(mark("the red mill", 60, 60, name="Saint Anna"), CHURCH)
    shot = Shot(second=5.0, box=(0.5, 0.5, 0.55, 0.55))
    views = tuple(Sighting(landmark=i, intervals=ALWAYS, possible=ALWAYS, shot=shot) for i in (0, 1))
    assert scene.facts.motion
    return scene.with_facts(motion=scene.facts.motion.model_copy(update={"views": views}))


SAME = mark("the tower", 60, 60, name="T", top=30.0).model_copy(
    update={"label": None, "unnameable_reason": Rejection(reason="looks_like_another", measured=3, limit=1, unit="")}
)
ALL: dict[str, Any] = {"complete": None}
LATE = {"views": [[(20.0, 31.0)], ALWAYS], "complete": None}
UP = mark("the tower", 0, 60, name="T", top=30.0)

# What is planted: a flight, a task that would ask of it, words that would be in the question or in its options, the
# reason, its measured value and limit; and the seconds within which nothing may be asked.
PLANTED: dict[str, tuple[FlightScene, str, str, tuple[Any, ...], tuple[float, float]]] = {
    "a tower that may be one of two": (film(TOWER, CHURCH), LOOK, "the tower", UNLOGGED, WHOLE),
    "a noun of two words": (film(as_noun("the storage tank"), CHURCH), NEAR, "the storage tank", UNLOGGED, WHOLE),
    "a kind of its own": (film(as_noun("the inn yard", kind="inn yard"), CHURCH), LOOK, "yard", UNLOGGED, WHOLE),
    "tallest of those logged": (film(as_noun("the tallest building"), CHURCH), LOOK, "tallest", UNLOGGED, WHOLE),
    "all churches known, not towers": (film(TOWER, CHURCH, complete=["church"]), NEAR, "tower", UNLOGGED, WHOLE),
    "beside one of two": (film(TOWER, mark("the inn beside the tower", 70, 70), CHURCH), LOOK, "inn", UNLOGGED, WHOLE),
    "an option that may be two": (film(TOWER, CHURCH, PARK), NEXT, "the tower", UNLOGGED, WHOLE),
    "a goal that may be two": (film(UP, CHURCH, goal="the tower"), GOAL, "tower", ("goal_not_described",), WHOLE),
    "a map of what may be two": (film(UP, CHURCH), MAP, "tower", ("too_few_landmarks", 1, 2), WHOLE),
    "one of three alike": (film(SAME, CHURCH, **ALL), LOOK, "tower", ("looks_like_another", 3, 1), WHOLE),
    "shown later": (film(TOWER, CHURCH, **LATE), LOOK, "tower", ("not_seen_yet", 20, 12), (0, 19)),
    "beside what is shown later": (film(CHURCH, PARK, **LATE), LOOK, "park", ("not_seen_yet", 20, 12), (0, 19)),
    "shown before the clip": (film(TOWER, CHURCH, **EARLY), LOOK, "tower", ("not_seen_in_clip", 0, 1), (16, 31)),
    "a goal never shown": (film(TOWER, CHURCH, **NEVER), LINK, "tower", ("never_visible", 0, 1), WHOLE),
    "a goal that comes into view": (film(UP, CHURCH, **ENTERS), GOAL, "tower", ("view_just_changed", 0, 1), (6, 6)),
    "a goal that is maybe shown": (film(UP, CHURCH, **MAYBE), GOAL, "tower", ("may_be_in_view", 0, 1), (0, 9)),
    "sight not known": (film(TOWER, CHURCH, **BLIND), LOOK, "tower", ("views_unknown",), WHOLE),
    "no nose": (film(TOWER, CHURCH, heading=None, **ALL), LOOK, "tower", ("no_heading",), WHOLE),
    "too small in its best picture": (small_shot(), LOOK, "Anna", ("no_landmark_described",), WHOLE),
    "not filmed": (film(TOWER, filmed=False), LOOK, "tower", ("missing_video",), WHOLE),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_question_that_the_film_does_not_bear_is_refused_for_that(name: str) -> None:
    scene, task, words, reason, (first_s, last_s) = PLANTED[name]
    legend = {"landmarks": "legend"} if "picture" in name else {}
    clips = {"clip_share": 0.3} if "clip" in name else {}
    found = judged(scene, task, **legend, **clips)
    for row in found:
        text = " ".join([*row["operands"], row["answer"] or "", *(row["wrong"] or ())])
        within = first_s <= (row["until_s"] or 0.0) <= last_s
        assert row["reason"] or not within or words not in text, row
    assert reason in {(r["reason"], r["measured"], r["limit"])[: len(reason)] for r in found}
