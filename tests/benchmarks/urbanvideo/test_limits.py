"""Hand-computed flights on both sides of every limit."""

import math
import re
from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.landmarks import on_the_way
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.tables import selected_questions
from pipeline.questions.selection import SAME_FACT, select
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import flight, judged, mark, motion, refusal, row, rows, rules
from tests.tables import candidates

SO_FAR = "over the flight so far"
HOVER = [("hover", 10, 0)]
SECTORS = ("Ahead of the drone", "To the right of the drone", "Behind the drone", "To the left of the drone")


def at(bearing: float, distance: float, label: str = "the tower", **more: Any) -> Landmark:
    """A landmark at a compass bearing from the origin."""
    way = math.radians(bearing)
    return mark(label, distance * math.sin(way), distance * math.cos(way), **more)


@pytest.mark.parametrize(
    ("first", "second", "reason", "answer"),
    [
        (10, 13.8, "durations_alike", None),
        (10, 14.2, None, "Turning left, but less than twice as long"),
        (4.4, 6.2, "durations_alike", None),  # 41% longer, but 1.8 s
        (5, 7.2, None, "Turning left, but less than twice as long"),
        (7.2, 5, None, "Turning right, but less than twice as long"),
        # By 15%: at 17.4 and 23 s.
        (20, 34.4, None, "Turning left, but less than twice as long"),
        (20, 35.2, "near_twice", None),
        (20, 45.6, "near_twice", None),
        (20, 46.4, None, "Turning left, more than twice as long"),
        # By 2.4 s of twice the shorter, since the ends may be off.
        (6, 9.4, None, "Turning left, but less than twice as long"),
        (6, 9.8, "near_twice", None),
        (6, 14.2, "near_twice", None),
        (6, 14.6, None, "Turning left, more than twice as long"),
    ],
)
def test_durations(first: float, second: float, reason: str | None, answer: str | None) -> None:
    scene = flight(motion([("turn right", first, 90), ("turn left", second, 90)]))
    found = row(scene, "Duration", "turning right", "turning left")
    assert (found["reason"], found["answer"]) == (reason, answer)
    if reason is None:
        # Either movement, by either: that both take as long is never sure enough to be offered.
        words = ("more than twice as long", "but less than twice as long")
        assert {answer, *found["wrong"]} == {f"{m}, {by}" for m in ("Turning right", "Turning left") for by in words}


NEARER, AWAY, SAME = (
    "It comes closer throughout",
    "It moves farther away throughout",
    "The distance stays about the same",
)
DIP, PEAK = "It first comes closer, then moves farther away", "It first moves farther away, then comes closer"
SMALL = "distance_changes_too_little"


@pytest.mark.parametrize(
    ("moves", "place", "reason", "answer"),
    [
        # From 100 m: by 21, 19, 5.1 and 4.9%.
        ([("fly forward", 10, 21)], (0, 100), None, NEARER),
        ([("fly forward", 10, 19)], (0, 100), SMALL, None),
        ([("fly forward", 10, 5.1)], (0, 100), SMALL, None),
        ([("fly forward", 10, 4.9)], (0, 100), None, SAME),
        # To 126.6 and 124 m: by 21 and 19% of that.
        ([("fly forward", 10, 26.6)], (0, -100), None, AWAY),
        ([("fly forward", 10, 24.0)], (0, -100), SMALL, None),
        # Past it: 58.3, 30 and 58.3 m; then 50, 100 and 50 m.
        ([("fly forward", 10, 100)], (30, 50), None, DIP),
        ([("fly forward", 5, 50), ("fly backward", 5, 50)], (0, -50), None, PEAK),
        # There and back and there again is none of these.
        (
            [("fly forward", 3, 50), ("fly backward", 3, 50), ("fly forward", 4, 50)],
            (0, -50),
            "distance_changes_irregularly",
            None,
        ),
    ],
)
def test_courses_of_a_distance(
    moves: list[Any], place: tuple[float, float], reason: str | None, answer: str | None
) -> None:
    scene = flight(motion(moves, start=(0, 0, 0)), [mark("the tower", *place, radius=0)])
    found = row(scene, "Proximity", "the tower", SO_FAR, "0:10")
    assert (found["reason"], found["answer"]) == (reason, answer)
    if answer:
        assert {answer, *found["wrong"]} == {NEARER, AWAY, SAME, DIP, PEAK}


@pytest.mark.parametrize(
    ("when", "until", "refused"),
    [
        (SO_FAR, "0:10", (None, None, None)),
        (SO_FAR, "0:32", ("track_interrupted", 1, 0)),
        ("during the latest movement", "0:32", (None, None, None)),
    ],
)
def test_a_break_of_the_track_costs_what_it_lies_within(
    when: str, until: str, refused: tuple[str | None, float | None, float | None]
) -> None:
    moved = motion([("fly forward", 10, 80), ("gap", 2, 0), ("fly left", 10, 40), ("fly forward", 10, 80)])
    moved = moved.model_copy(update={"part": tuple(int(t > 11) for t in moved.t_s)})
    assert refusal(row(flight(moved, [mark("the tower", 0, 300)]), "Proximity", "the tower", when, until)) == refused


@pytest.mark.parametrize(
    ("start", "flown", "reason", "answer"),
    [
        # Past the tower and away, from 6.5 m, where one is not there yet, and from 4.9 m.
        (-6.5, 40, None, DIP),
        (-4.9, 40, "depends_on_where_measured", None),
        (0, 40, None, AWAY),
        # To 6.2 or 6.3 m from 5 m: by 19 and 21%.
        (3, 3.2, SMALL, None),
        (3, 3.4, None, AWAY),
    ],
)
def test_how_near_one_is_where_one_is_there(start: float, flown: float, reason: str | None, answer: str | None) -> None:
    scene = flight(motion([("fly forward", 10, flown)], start=(0, start, 0)), [mark("the tower", 0, 0, radius=0)])
    found = row(scene, "Proximity", "the tower", SO_FAR, "0:10")
    assert (found["reason"], found["answer"]) == (reason, answer)


def test_the_numbers_behind_a_course() -> None:
    # 50 m to a tower 40 m ahead and 30 m aside: from 50 to 30 m and on to 31.6 m.
    scene = flight(motion([("fly forward", 10, 50)], start=(0, 0, 0)), [mark("the tower", 30, 40, radius=0)])
    found = row(scene, "Proximity", "the tower", SO_FAR, "0:10", change_min=0.05, still_max=0.01)
    told = {e["name"]: e["value"] for e in found["evidence"] if e["name"].startswith("distance_") and not e["relation"]}
    expected = {"start": 50, "end": 31.623, "least": 30, "most": 50}
    assert told == {f"distance_{name}": pytest.approx(value, abs=1e-3) for name, value in expected.items()}


def test_what_is_measured_to_must_not_matter() -> None:
    # 20 to 15 m from the edge is closer by a quarter, 220 to 215 m from the centre is the same.
    wide = flight(motion([("fly forward", 10, 5)], start=(0, 0, 0)), [mark("the park", 0, 220, radius=200)])
    assert refusal(row(wide, "Proximity", "the park", SO_FAR, "0:10")) == ("depends_on_where_measured", 2, 1)
    # Rising beside it: over ground the same, from its foot five times as far.
    rising = flight(motion([("ascend", 10, 100)], start=(0, 0, 10)), [mark("the park", 20, 0, radius=0)])
    assert refusal(row(rising, "Proximity", "the park", SO_FAR, "0:10")) == ("depends_on_where_measured", 2, 1)
    # Level with its foot: over ground and in space the same.
    level = flight(motion([("fly forward", 10, 21)], start=(0, 0, 60)), [mark("the fort", 0, 100, radius=0, base_m=60)])
    assert row(level, "Proximity", "the fort", SO_FAR, "0:10")["answer"] == NEARER


@pytest.mark.parametrize("heading", [0.0, 100.0, 359.0])
@pytest.mark.parametrize(
    ("bearing", "answer"),
    [
        (29, "Ahead of the drone"),
        (-29, "Ahead of the drone"),
        (31, None),
        (-31, None),
        (59, None),
        (61, "To the right of the drone"),
        (119, "To the right of the drone"),
        (121, None),
        (149, None),
        (151, "Behind the drone"),
        (180, "Behind the drone"),
        (-151, "Behind the drone"),
        (-149, None),
        (-119, "To the left of the drone"),
        (-61, "To the left of the drone"),
        (-59, None),
    ],
)
def test_sectors(bearing: float, answer: str | None, heading: float) -> None:
    scene = flight(motion(HOVER, heading=heading), [at(heading + bearing, 100)])
    found = row(scene, "Landmark Position", "the tower", "0:05")
    assert found["answer"] == answer
    if answer is None:
        distance = min(abs(abs(bearing) - 45), abs(abs(bearing) - 135))
        assert refusal(found) == ("near_sector_boundary", pytest.approx(distance), 15)


@pytest.mark.parametrize(
    ("height", "more", "reason", "answer"),
    [
        (30, {"radius": 49}, None, "Ahead of the drone"),  # asin 0.49 = 29.3 degrees
        (30, {"radius": 51}, "too_wide_from_here", None),  # 30.7
        (30, {"radius": 0, "top": 3.1}, None, "Ahead of the drone and below it"),  # -15.06 degrees
        (30, {"radius": 0, "top": 3.3}, None, "Ahead of the drone"),  # -14.95
        (30, {"radius": 10, "top": 3.1}, None, "Ahead of the drone"),  # -13.7 from its far side
        (30, {"radius": 0, "top": 56.9}, None, "Ahead of the drone and reaching higher than it"),  # 15.05
        (30, {"radius": 0, "top": 56.7}, None, "Ahead of the drone"),  # 14.95
        (30, {"radius": 10, "top": 56.9}, None, "Ahead of the drone"),  # 13.7
        (173, {"radius": 0}, None, "Ahead of the drone"),  # 59.97 degrees down
        (174, {"radius": 0}, "nearly_below", None),  # 60.11
    ],
)
def test_heights_and_widths(height: float, more: dict[str, Any], reason: str | None, answer: str | None) -> None:
    scene = flight(motion(HOVER, start=(0, 0, height)), [at(0, 100, **more)])
    found = row(scene, "Landmark Position", "the tower", "0:05")
    assert (found["reason"], found["answer"]) == (reason, answer)
    if answer:
        height = answer.removeprefix("Ahead of the drone")
        assert {answer, *found["wrong"]} == {sector + height for sector in SECTORS}


@pytest.mark.parametrize(("turn", "reason"), [(95, None), (105, "heading_unsteady")])
def test_the_nose_is_steady(turn: float, reason: str | None) -> None:
    # A tenth of the turn lies within the second before and after the middle of ten.
    scene = flight(motion([("turn left", 10, turn)]), [at(-turn / 2, 90)])
    assert row(scene, "Landmark Position", "the tower", "0:05")["reason"] == reason


LEFT, MIDDLE, RIGHT, OUT = (
    "Yes, in the left third of the view",
    "Yes, in the middle of the view",
    "Yes, in the right third of the view",
    "No, it is not in view",
)


@pytest.mark.parametrize(
    ("bearing", "answer"), [(-24, LEFT), (-23, None), (-14, None), (-13, MIDDLE), (13, MIDDLE), (14, None), (24, RIGHT)]
)
def test_thirds(bearing: float, answer: str | None) -> None:
    # At 90 degrees from edge to edge the thirds meet at atan 1/3 = 18.4; 0.1 to either side is 13.1 and 23.4.
    scene = flight(motion(HOVER, views={0: [(0, 10)]}), [at(bearing, 100, radius=1)], goal="the tower")
    found = row(scene, "Goal Detection", "the tower", "0:05")
    assert (found["answer"], found["reason"]) == (answer, None if answer else "near_third_boundary")
    if answer:
        assert {answer, *found["wrong"]} == {LEFT, MIDDLE, RIGHT, OUT}


@pytest.mark.parametrize(
    ("bearing", "low", "high", "answer"),
    [
        (0, 25, 35, "Yes, in the centre of the view"),
        (-24, 25, 35, "Yes, at the centre left of the view"),
        (24, 70, 75, "Yes, at the top right of the view"),
        (0, -20, -15, "Yes, at the bottom centre of the view"),
        (0, 35, 60, None),  # its middle is in the centre, its upper half is not
    ],
)
def test_where_a_goal_of_known_height_is_in_the_picture(
    bearing: float, low: float, high: float, answer: str | None
) -> None:
    # From 30 m up, 90 degrees from edge to edge, level: 25 m up or down at 100 m are a third of 640 x 480.
    goal = at(bearing, 100, radius=1, base_m=low, top=high)
    found = row(
        flight(motion(HOVER, views={0: [(0, 10)]}), [goal], goal="the tower"), "Goal Detection", "the tower", "0:05"
    )
    assert (found["answer"], found["reason"]) == (answer, None if answer else "near_third_boundary")
    if answer:
        assert len({answer, *found["wrong"]}) == 10


@pytest.mark.parametrize(
    ("interval", "radius", "reason", "answer"),
    [
        ((3.9, 10), 1, None, MIDDLE),
        ((4.1, 10), 1, "view_just_changed", None),
        ((0, 5.9), 1, "view_just_changed", None),
        ((0, 6.1), 1, None, MIDDLE),
        ((6.1, 10), 1, None, OUT),
        ((5.9, 10), 1, "view_just_changed", None),
        ((0, 10), 33, None, MIDDLE),  # 0.66 half widths
        ((0, 10), 34, "too_wide_in_view", None),
    ],
)
def test_views(interval: tuple[float, float], radius: float, reason: str | None, answer: str | None) -> None:
    scene = flight(motion(HOVER, views={0: [interval]}), [at(0, 100, radius=radius)], goal="the tower")
    found = row(scene, "Goal Detection", "the tower", "0:05")
    assert (found["reason"], found["answer"]) == (reason, answer)


@pytest.mark.parametrize(
    ("nearest", "second", "reason"),
    [
        (10, 15.1, None),
        (10, 14.9, None),  # but not offered
        (10, 12.1, None),
        (10, 11.9, "second_nearest"),
        (2, 6.1, None),  # as from 5 m
        (2, 5.9, "second_nearest"),
        (29, 200, None),
        (31, 200, "nothing_beside"),
    ],
)
def test_what_is_next_to_a_landmark(nearest: float, second: float, reason: str | None) -> None:
    places = [mark(n, 0, y, radius=0) for n, y in (("the mill", 0), ("the inn", nearest), ("the barn", -second))]
    places += [mark("the lake", 0, 500, radius=0), mark("the fort", 0, 700, radius=0)]
    found = row(flight(motion(HOVER), places), "Object Recall", "the mill")
    assert found["reason"] == reason
    if reason is None:
        clearly_farther = {"the barn"} if second >= 1.5 * max(nearest, 5) else set()
        assert (found["answer"], set(found["wrong"])) == ("the inn", {"the lake", "the fort", *clearly_farther})


@pytest.mark.parametrize(
    ("north", "reason", "asked", "answer"),
    [
        (4, "one_inside_the_other", "the obelisk", None),
        (4, None, "the park", "the inn"),
        (6, None, "the obelisk", "the park"),
        (6, None, "the park", "the obelisk"),
    ],
)
def test_what_lies_in_a_landmark_is_not_next_to_it(
    north: float, reason: str | None, asked: str, answer: str | None
) -> None:
    # A park of 20 m by 10 m; an obelisk in it, or a metre beside it.
    corners = ((-10.0, -5.0), (10.0, -5.0), (10.0, 5.0), (-10.0, 5.0))
    places = [mark("the park", 0, 0, 11.2, outline=corners), mark("the obelisk", 0, north, 0)]
    places += [mark("the inn", 30, 0, 0), mark("the barn", 0, 70, 0), mark("the mill", 0, -70, 0)]
    found = row(flight(motion(HOVER), places), "Object Recall", asked)
    assert (found["reason"], found["answer"]) == (reason, answer)
    assert answer != "the inn" or set(found["wrong"]) == {"the barn", "the mill"}


def test_houses_that_touch_are_next_to_each_other() -> None:
    def house(label: str, east: float) -> Landmark:
        corners = ((east - 5, -5.0), (east + 5, -5.0), (east + 5, 5.0), (east - 5, 5.0))
        return mark(label, east, 0, 7.1, outline=corners)

    scene = flight(motion(HOVER), [house("a", 0), house("b", 10), house("c", 40), house("d", 80)])
    assert row(scene, "Object Recall", "a")["answer"] == "b"


def test_extents_count_for_what_is_next_to_a_landmark() -> None:
    # The lake's middle is far away, its shore is not: which is nearer depends on how one measures.
    places = [mark("the mill", 0, 0, 0), mark("the inn", 0, 40, 0), mark("the lake", 0, -200, 190)]
    scene = flight(motion(HOVER), [*places, mark("the barn", 500, 0, 0)])
    assert row(scene, "Object Recall", "the mill")["reason"] == "centers_disagree"


@pytest.mark.parametrize(
    ("start", "end", "second", "reason"),
    [
        (59, 10, 300, None),
        (61, 10, 300, "start_not_near"),
        (10, 61, 300, "end_not_near"),
        (20, 10, 24.5, None),
        (20, 10, 23.5, "second_nearest"),
        (2, 10, 6.1, None),  # as from 5 m
        (2, 10, 5.9, "second_nearest"),
    ],
)
def test_ends(start: float, end: float, second: float, reason: str | None) -> None:
    places = [mark("the mill", -start, 0, 0), mark("the inn", end, 600, 0), mark("the barn", 0, -second, 0)]
    places += [mark("the lake", 400, 300, 0), mark("the fort", 400, 350, 0)]
    scene = flight(motion([("fly forward", 60, 600)]), places)
    found = row(scene, "Start/End Position", "1:00", near_max_m=60)
    assert found["reason"] == reason
    if reason is None:
        assert found["answer"] == "It starts near the mill and ends near the inn"
        told = [re.fullmatch("It starts near (.+) and ends near (.+)", option) for option in found["wrong"]]
        pairs = [match.groups() for match in told if match]
        (x,) = {start for start, _ in pairs} - {"the mill"}
        (y,) = {end for _, end in pairs} - {"the inn"}
        assert set(pairs) == {("the mill", y), (x, "the inn"), (x, y)}
        assert x != y
        assert x != "the barn" or second >= 1.5 * max(start, 5)  # what is nearly as near is not offered


@pytest.mark.parametrize(("aside", "passed"), [(203, True), (205, False)])
def test_ends_offer_what_is_not_on_the_way_to_the_goal(aside: float, passed: bool) -> None:
    # At 1 s, 10 m on, the way to the goal by the gate is 1.0992 or 1.1009 times as long; the pond lies 20 m beyond it.
    on_way = [mark("the goal", 0, 900), mark("the gate", aside, 450), mark("the arch", 0, 250)]
    off_way = [mark("the lake", 400, 300), mark("the pond", 0, 920)]
    ends = [mark("the mill", -10, 0, 0), mark("the inn", 10, 600, 0)]
    scene = flight(motion([("fly forward", 60, 600)]), [*on_way, *off_way, *ends], goal="the goal")
    told = {"the arch", "the inn", "the mill"} | ({"the gate"} if passed else set())
    assert on_the_way(FlightView(scene, UrbanRules())) == told
    if passed:
        offered = " ".join(row(scene, "Start/End Position", "1:00")["wrong"])
        assert sum(name in offered for name in ("the goal", "the lake", "the pond")) == 2
        assert not any(name in offered for name in ("the gate", "the arch"))
    without = flight(motion([("fly forward", 60, 600)]), [*on_way, *off_way, *ends])
    assert on_the_way(FlightView(without, UrbanRules())) == frozenset()
    for away, told in ((19.9, frozenset()), (20.1, {"the gate"})):  # twice what a landmark on the way is away at least
        near = flight(motion(HOVER), [mark("the goal", 0, away), mark("the gate", 0, 12)], goal="the goal")
        assert on_the_way(FlightView(near, UrbanRules())) == told


@pytest.mark.parametrize(("shown", "reason"), [(12.2, "end_not_tracked"), (11.8, "start_is_end")])
def test_the_track_reaches_the_end_of_the_question(shown: float, reason: str | None) -> None:
    # Without a movement the question ends with the last second of the video: 2 s and 1 s after the track.
    places = [mark("the mill", 10, 0, 0), mark("the inn", 0, 110, 0), mark("the barn", 90, 90, 0)]
    scene = flight(motion([("gap", 10, 0)]), places, video_s=shown)
    assert row(scene, "Start/End Position", f"0:{int(shown)}")["reason"] == reason


@pytest.mark.parametrize(
    ("aside", "ahead", "later", "reason"),
    [
        # By (40, 150) it is 1.0962 times as far, by (42, 150) 1.1053 times; their edges are 13 and 14 degrees aside.
        (40, 150, None, None),
        (42, 150, None, "nothing_on_the_way"),
        # The edge at (21, 60) is seen 14.8 degrees beside the goal, at (23, 60) 16.5; by both it is hardly farther.
        (21, 60, None, None),
        (23, 60, None, "beside_the_way"),
        # Its outline begins 5 m before its middle.
        (0, 14.9, None, "already_there"),
        (0, 15.1, None, None),
        (0, 190.1, None, "nearly_the_goal"),
        (0, 60, 69, "next_one_too_near"),
        (0, 60, 71, None),
    ],
)
def test_the_straight_way(aside: float, ahead: float, later: float | None, reason: str | None) -> None:
    places = [mark("the goal", 0, 200), mark("the inn", aside, ahead), mark("the mill", 84, 100), mark("a", 82, 100)]
    places += [mark("the barn", -90, 90), *([mark("the lake", 0, later)] if later else [])]
    scene = flight(motion(HOVER), places, goal="the goal")
    found = row(scene, "High-level Planning", "the goal", "0:05")
    assert found["reason"] == reason
    if reason is None:
        # At (84, 100) 1.306 times as far, at (82, 100) 1.293 times: neither on the way nor clearly off it.
        assert (found["answer"], set(found["wrong"])) == ("the inn", {"the mill", "the barn"})


@pytest.mark.parametrize(("away", "reason"), [(19, "goal_too_near"), (21, None)])
def test_the_goal_lies_ahead(away: float, reason: str | None) -> None:
    places = [mark("the goal", 0, away, 0), mark("the inn", 0, away / 2, 0)]
    places += [mark(f"far {i}", 100 * i, -50, 0) for i in (1, 2, 3)]
    scene = flight(motion(HOVER), places, goal="the goal")
    assert row(scene, "High-level Planning", "the goal", "0:05")["reason"] == reason


@pytest.mark.parametrize(
    ("first", "second", "heading", "reason"),
    [
        (99, 200, 0, None),
        (101, 200, 180, "related_too_far"),
        (101, 200, 0, "answer_too_frequent"),  # all about the goal is behind: nothing in view is related to it
        (40, 61, 0, None),
        (40, 59, 0, "second_nearest"),
    ],
)
def test_what_is_near_the_goal(first: float, second: float, heading: float, reason: str | None) -> None:
    places = [mark("the goal", 0, -300, 0), mark("the inn", first, -300, 0), mark("the mill", -second, -300, 0)]
    views = {0: [(0, 2), (7, 10)], 1: [(0, 10)], 2: [(0, 10)], 3: [(0, 1), (8, 9)]}
    moved = motion(HOVER, heading=heading, views=views)
    scene = flight(moved, [*places, mark("the barn", 0, 0, 0)], goal="the goal")
    found = row(scene, "Association", "the goal", "0:05")
    assert found["reason"] == reason
    if reason is None:
        assert found["answer"] == "the inn"
        assert set(found["wrong"]) == {"the mill", "the barn"}


@pytest.mark.parametrize(("length", "reason"), [(29, "path_too_short"), (31, None)])
def test_maps_of_short_flights(length: float, reason: str | None) -> None:
    places = [mark("the inn", 15, 0), mark("the mill", -15, length), mark("the barn", 15, length)]
    scene = flight(motion([("fly forward", 10, length)]), places)
    assert row(scene, "Cognitive Map", "0:10", "the barn", "the inn", "the mill")["reason"] == reason


def test_a_map_by_hand() -> None:
    # 60 m east, then 60 m north. The first way goes up, so the second goes left, and north is left.
    # From -60 to 14 m across and 0 to 60 m up: a square of 74 m about (-23, 30), cells of 10.57 m.
    moves = [("fly forward", 12, 60), ("turn left", 4, 90), ("fly forward", 12, 60)]
    places = [mark("the inn", 0, 35), mark("the mill", 35, 35), mark("the barn", 30, -14), mark("the lake", 20, 60)]
    scene = flight(motion(moves, heading=90), places)
    found = row(scene, "Cognitive Map", "0:28", "the barn", "the inn", "the lake", "the mill")
    right = ["E*****.", ".....*.", ".....*.", "..4..*1", "3....*.", ".....*.", "..2..S."]
    assert found["answer"] == " / ".join(right)
    plain = ["E*****.", ".....*.", ".....*.", "..#..*#", "#....*.", ".....*.", "..#..S."]
    assert right[::-1] not in [wrong.split(" / ") for wrong in found["wrong"]]  # on it the first way would go down
    # Two pairs of landmarks are exchanged, and left and right: of the seven wrong maps four are offered.
    assert len(found["wrong"]) == 4
    for wrong in found["wrong"]:
        rows = wrong.split(" / ")
        rows = rows if rows[0].startswith("E") else [line[::-1] for line in rows]
        assert [re.sub(r"\d", "#", line) for line in rows] == plain
        swapped = dict(zip("4132", re.findall(r"\d", "".join(rows)), strict=True))
        assert all(swapped[swapped[digit]] == digit for digit in "1234")


def test_a_map_that_is_its_own_mirror_image() -> None:
    # Straight up the middle: mirrored it is the map with the landmarks in each other's place, and with both the same.
    places = [mark("the inn", 30, 0), mark("the mill", -30, 0)]
    scene = flight(motion([("fly forward", 12, 60)]), places)
    assert refusal(row(scene, "Cognitive Map", "0:12", "the inn", "the mill")) == ("too_few_options", 2, 3)


COLUMNS = ("t_s", "enu_m", "height_m", "heading_deg", "course_deg", "pitch_deg", "part")
STEPS = [("ascend", 5, 10), ("fly forward", 5, 50), ("turn left", 5, 90), ("fly left", 5, 30)]
FLOWN = [name for name, *_ in STEPS]  # as a route tells it


@pytest.mark.parametrize(("margin", "reason"), [(1.19, "step_unclear"), (1.21, None)])
def test_movements_are_clear(margin: float, reason: str | None) -> None:
    scene = flight(motion(STEPS, margin=margin), route=FLOWN)
    tasks = ("Trajectory Captioning", "Sequence Recall", "Action Generation")
    assert {r["reason"] for task in tasks for r in judged(scene, task)} == {reason}


@pytest.mark.parametrize(("pause", "reason"), [(0.8, None), (1.0, None), (1.2, "steps_apart")])
def test_nothing_lies_between_two_movements(pause: float, reason: str | None) -> None:
    scene = flight(motion([STEPS[0], ("gap", pause, 0), *STEPS[1:]]), goal="somewhere")
    assert row(scene, "Sequence Recall", "ascending")["reason"] == reason
    assert rows(scene, "Trajectory Captioning")[0]["reason"] == reason


@pytest.mark.parametrize(("shown", "reason"), [(19.6, None), (19.4, "step_cut_off")])
def test_movements_end_within_the_video(shown: float, reason: str | None) -> None:
    scene = flight(motion(STEPS), route=FLOWN, video_s=shown)
    assert row(scene, "Sequence Recall", "turning left")["reason"] == reason
    assert row(scene, "Sequence Recall", "ascending")["reason"] is None
    (turning,) = (r for r in judged(scene, "Action Generation") if 10 < r["until_s"] < 15)
    assert turning["reason"] == reason


def test_a_movement_is_known_by_its_name() -> None:
    moves = [("turn left", 5, 90), ("ascend", 5, 20), ("fly forward+turn left", 5, (20, 45)), ("hover", 5, 0)]
    scene = flight(motion(moves))
    # Flying forward while turning left is turning left as well; but not the other way round.
    assert refusal(row(scene, "Sequence Recall", "turning left")) == ("step_not_unique", 1, 0)
    assert row(scene, "Sequence Recall", "flying forward while turning left")["answer"] == "Hover"


def test_a_movement_that_occurs_again_is_told_by_which_time_it_is() -> None:
    ahead, left, up = ("fly forward", 5, 50), ("turn left", 5, 90), ("ascend", 5, 20)
    scene = flight(motion([ahead, left, ahead, up, ahead, ("hover", 5, 0)]))
    after = {r["operands"][0]: r["answer"] for r in judged(scene, "Sequence Recall")}
    assert after == {
        "flying forward for the first time": "Turn left",
        "turning left": "Fly forward",
        "flying forward for the second time": "Ascend",
        "ascending": "Fly forward",
        "flying forward for the third time": "Hover",
    }
    # Whether the second flight forward was one is not sure, so that nobody can tell which is the third.
    unsure = motion([ahead, left, ahead, up, ahead, ("hover", 5, 0)])
    second = unsure.segments[2].model_copy(update={"margin": 1.1})
    unsure = unsure.model_copy(update={"segments": (*unsure.segments[:2], second, *unsure.segments[3:])})
    refused = row(flight(unsure), "Sequence Recall", "flying forward for the third time")
    assert refusal(refused) == ("step_unclear", 1.1, 1.2)


def test_one_question_is_asked_of_what_follows_from_another() -> None:
    """A caption tells which movement comes after which; two of three durations in pairs tell the third."""
    ahead, left, right, up = ("fly forward", 5, 50), ("turn left", 5, 90), ("turn right", 5, 90), ("ascend", 5, 20)
    scene = flight(motion([up, ahead, left, ("descend", 5, 10), right, ("hover", 5, 0)]))
    captions = {r["operands"][0]: facts_of(r) for r in judged(scene, "Trajectory Captioning")}
    after = {r["operands"][0]: facts_of(r) for r in judged(scene, "Sequence Recall")}
    assert captions["over the flight so far"] == {f"order {n}" for n in range(5)}
    assert after == {
        r: {f"order {n}"}
        for n, r in enumerate(("ascending", "flying forward", "turning left", "descending", "turning right"))
    }
    asked = selected_questions(select(candidates(FlightView(scene, rules("Sequence Recall")), TWO), URBAN_TASKS, 100))
    told = [fact for r in asked.to_pylist() for fact in facts_of(r)]
    assert len(told) == len(set(told)) > 0
    longer = [("turn left", seconds, 90) for seconds in (3, 10, 30)]
    pairs = rows(flight(motion([longer[0], up, longer[1], ahead, longer[2]])), "Duration")
    assert sorted(map(sorted, map(facts_of, pairs))) == [["seconds of movement 2"], *[["seconds of movement 4"]] * 2]


TWO = [URBAN_TASKS["Trajectory Captioning"], URBAN_TASKS["Sequence Recall"]]


def facts_of(row: dict[str, Any]) -> set[str]:
    """The facts that a question follows from."""
    return {flag.partition(": ")[2] for flag in row["flags"] or () if flag.startswith(SAME_FACT)}


@pytest.mark.parametrize(
    ("aside", "words"),
    [(14, "It flies forward towards the inn, then ascends."), (16, "It flies forward, then ascends.")],
)
def test_towards_a_landmark(aside: float, words: str) -> None:
    views = {0: [(2, 8)]}
    scene = flight(
        motion([("fly forward", 10, 50), ("ascend", 5, 20)], views=views), [at(aside, 100, "the inn", radius=0)]
    )
    assert row(scene, "Trajectory Captioning", SO_FAR, "0:15")["answer"] == words


@pytest.mark.parametrize(("flown", "toward"), [(19, ""), (21, " towards the inn")])
def test_nearer_to_a_landmark(flown: float, toward: str) -> None:
    views = {0: [(2, 8)]}
    scene = flight(
        motion([("fly forward", 10, flown), ("ascend", 5, 20)], views=views), [at(0, 100, "the inn", radius=0)]
    )
    assert row(scene, "Trajectory Captioning", SO_FAR, "0:15")["answer"] == f"It flies forward{toward}, then ascends."


@pytest.mark.parametrize(
    ("views", "toward"),
    [({0: [(12, 14)]}, True), ({0: [(2, 4)]}, False), ({0: [(16, 17)]}, False), (None, False)],
)
def test_towards_what_is_in_the_picture_meanwhile(views: Any, toward: bool) -> None:
    """The drone flies from the 5th to the 15th second; what it saw before that may lie below it, or behind."""
    moved = motion([("hover", 5, 0), ("fly forward", 10, 50), ("ascend", 5, 20)], views=views)
    scene = flight(moved, [at(0, 100, "the inn")], sight=False)
    assert ("towards the inn" in row(scene, "Trajectory Captioning", SO_FAR, "0:20")["answer"]) == toward


def test_long_flights_are_captioned_by_stretches() -> None:
    kinds = [("ascend", 5, 10), ("turn left", 5, 90), ("fly forward", 5, 40)]
    for n, stretches in ((2, 1), (4, 1), (5, 3), (6, 4), (7, 4)):
        scene = flight(motion([kinds[i % 3] for i in range(n)]))
        assert len(rows(scene, "Trajectory Captioning")) == stretches, n


@pytest.mark.parametrize(("late", "reason"), [(1.9, None), (2.1, "movements_unknown")])
def test_a_movement_may_hide_where_there_is_no_track(late: float, reason: str | None) -> None:
    whole = motion([("hover", 4, 0), *STEPS])
    kept = [i for i, t in enumerate(whole.t_s) if t >= late]
    cut = {name: tuple(getattr(whole, name)[i] for i in kept) for name in COLUMNS}
    scene = flight(whole.model_copy(update=cut), [mark("the inn", 40, 0)], route=["hover", *(s[0] for s in STEPS)])
    assert row(scene, "Sequence Recall", "ascending")["reason"] == reason
    assert rows(scene, "Progress Evaluation")[0]["reason"] == reason
    # From its begin on the movement itself is tracked; the flight as a whole is not.
    assert row(scene, "Proximity", "the inn", "during the latest movement", "0:09")["reason"] != "stretch_not_tracked"
    assert refusal(row(scene, "Proximity", "the inn", SO_FAR, "0:24"))[0] == "stretch_not_tracked"


@pytest.mark.parametrize(
    ("farther_m", "called"), [(12, "flying forward towards the tower"), (20, "flying forward for the first time")]
)
def test_what_may_lead_to_a_landmark_too_leaves_it_without_that_name(farther_m: float, called: str) -> None:
    """From 150 m to 138 m is no way towards the tower; to 130 m may be one: over a tenth, half of what is asked."""
    moves = [
        ("fly forward", 5, 50),
        ("turn left", 5, 90),
        ("turn right", 5, 90),
        ("fly forward", 5, farther_m),
        ("ascend", 5, 20),
    ]
    scene = flight(motion(moves), [mark("the tower", 0, 200)])
    assert called in {r["operands"][0] for r in judged(scene, "Sequence Recall")}
