"""What must not be asked of an arm, nor of a flight: made-up logs that break one rule each, the value by hand."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.embodied4c.case import ExamCase
from pipeline.benchmarks.embodied4c.drive.refs import RADII_M, needs_gap, radii_counted
from pipeline.benchmarks.embodied4c.drive.temporal import seen_lately
from pipeline.benchmarks.embodied4c.flight import landmarks
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.core.findings import doubt, note
from pipeline.core.quantized_series import pack
from pipeline.questions.gate import TOO_COARSE
from pipeline.reading.maps.appearance import Appearance
from pipeline.worlds.drive import facts as drives
from tests.benchmarks.embodied4c import logs
from tests.benchmarks.embodied4c.planted import (
    LINES,
    actor,
    drive,
    episode,
    item,
    lane,
    of_kind,
    outline,
    refusal,
    times,
    turning,
)
from tests.benchmarks.embodied4c.test_author import FILM
from tests.benchmarks.urbanvideo.flights import Move, flight, mark, motion
from tests.oracles.exam_check import open_exam

CUBE = (0.05, 0.05, 0.05)
TRAY = item("tray", (0.3, 0.3, 0.02), (0.3, 0.0, 0.01))  # its top is 2 cm high


@pytest.mark.parametrize(("lasts_s", "asked"), [(1.2, False), (1.3, True)])
def test_a_second_before_a_question_about_an_arm_and_a_quarter_after_it(lasts_s: float, asked: bool) -> None:
    scene = episode(item("cube", CUBE, (0.3, 0.2, 0.025), lasts_s=lasts_s), lasts_s=lasts_s)
    assert of_kind(scene, "DT cm", "arm_dt").keys() == ({("1.00", "the cube")} if asked else set())
    told = [refusal(row) for row in of_kind(scene, "DT cm", "episode").values()]
    assert told == ([] if asked else [("no_moment", 0, 1, "times")])


def test_several_things_on_one() -> None:
    """A cube of 5 cm on a tray that is 2 cm high has its middle at 4.5 cm."""
    cube, ball = item("cube", CUBE, (0.25, 0.0, 0.045)), item("ball", CUBE, (0.35, 0.0, 0.045))
    both = of_kind(episode(TRAY, cube, ball), "TP", "arm_tp")["1.00", "the tray"]
    assert refusal(both) == ("several_on_it", 2, 1, "things")
    beside = item("bowl", CUBE, (0.6, 0.3, 0.025))
    alone = episode(TRAY, cube, beside)
    assert of_kind(alone, "TP", "arm_tp")["1.00", "the tray"]["answer"] == "the cube"
    told = {key[1:]: refusal(row) for key, row in of_kind(alone, "R/P", "arm_rp").items()}
    named = {pair: one for pair, one in told.items() if "the tray" in pair}
    assert set(named.values()) == {("tells_another_answer", 1, 0, "things")}, "its words would tell what lies there"
    assert {told[pair][0] for pair in told.keys() - named.keys()} == {None}


def test_what_lies_on_a_thing_is_guessed_among_things_of_which_other_questions_tell_as_much() -> None:
    """The cube on the tray is the nearest to the gripper, but for a while that of a ball that flies by; no bowl is."""
    things = [
        item(kind, size, place, lasts_s=3.0)
        for kind, size, place in (
            ("tray", (0.3, 0.3, 0.02), (0.3, 0.0, 0.01)),
            ("cube", CUBE, (0.3, 0.0, 0.045)),
            ("bowl", CUBE, (0.6, 0.3, 0.025)),
        )
    ]
    ball = item("ball", CUBE, (0.3, -1.5, 0.5), moves_m=(0.0, 3.0, 0.0), lasts_s=3.0)
    without, with_ball = episode(*things, lasts_s=3.0), episode(*things, ball, lasts_s=3.0)
    assert of_kind(without, "TP", "arm_tp")["1.00", "the tray"]["wrong"] == ["the bowl"]
    told = {refusal(row) for row in of_kind(without, "CL", "arm_cl").values()}
    assert told == {("tells_another_answer", 1, 0, "things")}, "it would be the cube, and never the bowl"
    assert of_kind(with_ball, "TP", "arm_tp")["1.00", "the tray"]["wrong"] == ["the ball"]
    kinds = {key[0]: row["answer"] for key, row in of_kind(with_ball, "CL", "arm_cl").items()}
    assert kinds == {"1.00": "cube", "1.50": "ball", "2.00": "cube", "2.50": "cube"}


def test_a_flat_thing_does_not_lie_on_itself() -> None:
    """A mat of 4 mm: its bottom is as near to its own top as that of what lies on it may be."""
    mat, cube = item("mat", (0.3, 0.3, 0.004), (0.3, 0.0, 0.002)), item("cube", CUBE, (0.3, 0.0, 0.029))
    found = of_kind(episode(mat, cube, item("bowl", CUBE, (0.6, 0.3, 0.025))), "TP", "arm_tp")
    assert {(row["operands"][2], row["reason"], row["answer"]) for row in found.values()} == {
        ("the mat", None, "the cube")
    }


def test_what_may_be_held() -> None:
    """The gripper is 3 cm above the middle of the cube."""
    scene = episode(TRAY, item("cube", CUBE, (0.3, 0.0, 0.045)), gripper=(0.3, 0.0, 0.075))
    assert refusal(of_kind(scene, "TP", "arm_tp")["1.00", "the tray"]) == ("held", 3, 6, "cm")


def test_several_that_moved() -> None:
    """In all 20 cm and 8 cm; after half of the time they are 10 cm and 4 cm away."""
    cube = item("cube", CUBE, (0.3, 0.0, 0.025), moves_m=(0.0, 0.2, 0.0))
    still, pushed = (item("ball", CUBE, (0.4, -0.2, 0.025), moves_m=(0.0, -y, 0.0)) for y in (0.0, 0.08))
    both = of_kind(episode(cube, pushed), "L/M cm", "arm_lm_moved")["1.00",]
    assert refusal(both) == ("several_moved", pytest.approx(4), pytest.approx(0.3), "cm")
    assert of_kind(episode(cube, still), "L/M cm", "arm_lm_moved")["1.00",]["answer"] == "10"


def test_a_colour_that_names_say_is_not_asked_for() -> None:
    """Two boxes are named by their colours. Of three other things one has that of a box; the two others are offered."""
    colours = {"cube": "red", "can": "green", "book": "white"}
    things = [
        item(kind, CUBE, (0.3, 0.1 * n, 0.025), colour=colour) for n, (kind, colour) in enumerate(colours.items())
    ]
    boxes = [item("box", CUBE, (0.5, y, 0.025), colour=colour) for y, colour in ((0.0, "red"), (0.2, "blue"))]
    rows = {row["operands"][2]: row for row in of_kind(episode(*things, *boxes), "AT words", "arm_at").values()}
    assert refusal(rows["red cube"]) == ("tells_another_answer", 1, 0, "names")
    asked = {row["answer"]: row["wrong"] for row in rows.values() if row["reason"] is None}
    assert asked == {"green": ["white"], "white": ["green"]}
    near = item("jar", CUBE, (0.3, 0.0, 0.5), colour="black")  # at the gripper: options of other questions say so
    rows = of_kind(episode(*things, *boxes, near), "AT words", "arm_at")
    assert {row["answer"]: row["wrong"] for row in rows.values() if row["reason"] is None} == asked
    assert next(row["reason"] for row in rows.values() if row["operands"][2] == "black jar") is not None


@pytest.mark.parametrize(
    ("base_from", "reach_m", "told"),
    [
        ("forward kinematics", 0.85, ("foot_in_doubt", 0, 1, "declared")),
        ("declared", 0.853, ("limits_round_badly", pytest.approx(0.3), 0.05, "cm")),
        ("declared", 0.85, (None, None, None, None)),
    ],
)
def test_how_far_an_arm_reaches(base_from: str, reach_m: float, told: tuple[Any, ...]) -> None:
    arm = turning(0.0, 0.0, None, None, base_m=(0.0, 0.0, 0.0), base_from=base_from, reach_m=reach_m)
    row = of_kind(episode(item("cube", CUBE, (0.3, 0.4, 0.025)), arm=arm), "CS cm", "arm_cs_reach")["1.00", "the cube"]
    assert refusal(row) == told
    assert row["answer"] == (None if told[0] else "35.0"), "of 85 cm are 50 cm taken, by 30 and 40"


@pytest.mark.parametrize(
    ("task", "kind", "about"),
    [
        ("MD rate", "arm_md_rate", ("1.00", "shoulder")),
        ("MD degrees", "arm_md", ("1.00", "shoulder", "1")),
    ],
)
def test_a_joint_in_doubt(task: str, kind: str, about: tuple[str, ...]) -> None:
    found = doubt("beyond_limit", "shoulder", "", "", 0.2, 0.01, "rad")
    arm = turning(-20.0, 20.0, None, 60.0)
    doubted = of_kind(episode(TRAY, arm=arm, findings=(found,)), task, kind)[about]
    assert refusal(doubted) == ("in_doubt", 1, 0, "doubts")
    assert of_kind(episode(TRAY, arm=arm), task, kind)[about]["answer"] == "20"


MOVES: list[Move] = [("ascend", 4.0, 12.0), ("fly forward", 4.0, 40.0), ("hover", 4.0, 0.0)]


@pytest.mark.parametrize("margin", [1.2, 1.4])
def test_movements_that_one_may_overlook(margin: float) -> None:
    scene = flight(motion(MOVES, margin=margin), filmed=False)
    told = ("barely_a_movement", 1.2, 1.3, "ratio") if margin < 1.3 else (None, None, None, None)
    steps = of_kind(scene, "L/M words", "air_lm_steps")["6.00", "2"]
    assert refusal(steps) == told
    assert steps["answer"] == (None if told[0] else "ascending; flying forward")


@pytest.mark.parametrize(
    ("move", "answer"),
    [
        (("ascend", 20.0, 40.0), "climbing without turning"),
        (("descend+turn left", 20.0, (25.0, 300.0)), "descending while turning left"),
        (("turn left", 20.0, 300.0), None),  # on the spot: it neither hovers nor flies
    ],
)
def test_who_climbs_straight_up_does_not_stand(move: Move, answer: str | None) -> None:
    row = of_kind(flight(motion([move]), filmed=False), "MD", "air_md")["10.00",]
    assert row["answer"] == answer
    assert row["reason"] == (None if answer else "between_standing_and_moving")


@pytest.mark.parametrize("pitch", [20.0, 5.0])
def test_a_camera_that_looks_up(pitch: float) -> None:
    row = of_kind(flight(motion(MOVES, pitch=pitch), filmed=False), "ST", "air_st_camera")["6.00",]
    assert refusal(row) == (("looks_up", 20, 10, "deg") if pitch > 10 else (None, None, None, None))
    assert row["answer"] == (None if pitch > 10 else "straight ahead")


@pytest.mark.parametrize("known", [True, False])
def test_a_height_above_a_take_off_that_the_log_does_not_tell(known: bool) -> None:
    doubts = () if known else (note("height_from_first_fix", "log", "heights are above its first position", "none"),)
    scene = flight(motion([("ascend", 6.0, 12.0), *MOVES]), filmed=False, findings=doubts)
    height = of_kind(scene, "DT", "air_dt_height")["9.00",]
    told = (None, None, None, None) if known else ("takeoff_unknown", 1, 0, "logs")
    assert refusal(height) == told


def test_a_landmark_of_a_kind_that_the_log_does_not_tell() -> None:
    """The drone hovers over 0, 40; the thing without a kind is 10 m from there, the others are 55 and 75 m away."""

    def nearest(look: Appearance | None) -> Any:
        marks = [
            mark("the first thing", 0.0, 55.0, appearance=look),
            mark("the red church", 60.0, 40.0, appearance=Appearance(noun="church")),
            mark("the white tower", -80.0, 40.0, appearance=Appearance(noun="tower")),
        ]
        scene = flight(motion([*MOVES, ("hover", 6.0, 0.0)], views={n: [(0.0, 18.0)] for n in range(3)}), marks)
        return of_kind(scene, "CL", "air_cl")["17.00",]

    assert refusal(nearest(None)) == ("kind_unnamed", 0, 1, "names")
    assert nearest(Appearance(noun="statue"))["answer"] == "statue"


@pytest.mark.parametrize(
    ("sort", "filmed", "away_m", "asked"),
    [
        ("church", True, 54.0, False),
        ("church", True, 56.0, True),
        ("statue", True, 30.0, True),  # by whatever name, a statue is nearest
        ("statue", False, 30.0, False),  # no drawing tells that it is one
    ],
)
def test_what_has_no_name_is_there_all_the_same(sort: str, filmed: bool, away_m: float, asked: bool) -> None:
    """The drone hovers over 0, 40, 50 m from the red statue; another thing must be a tenth farther away."""
    marks = [
        mark("the red statue", 0.0, 95.0, appearance=Appearance(noun="statue")),
        mark("the white tower", -120.0, 40.0, appearance=Appearance(noun="tower")),
        mark("unnamed", away_m + 5.0, 40.0, appearance=Appearance(noun=sort)).model_copy(update={"label": None}),
    ]
    moved = motion([*MOVES, ("hover", 6.0, 0.0)], views={n: [(0.0, 18.0)] for n in range(2)})
    row = of_kind(flight(moved, marks, filmed=filmed), "CL", "air_cl")["17.00",]
    told = ("another_as_near", pytest.approx(min(away_m - 50.0, 65.0)), 5, "m")
    assert refusal(row) == ((None, None, None, None) if asked else told)


def test_what_has_left_the_drawn_map_is_not_measured_to() -> None:
    """At 17 s the drone is over 0, 190; the map ends 158 m south of it and the barn stands 160 or 150 m south."""

    def far(north: float) -> Any:
        marks = [mark("the red barn", 0.0, north), mark("the grey church", 60.0, 60.0)]
        moved = motion([("fly forward", 10.0, 150.0), ("hover", 10.0, 0.0)], start=(0.0, 40.0, 30.0))
        scene = flight(moved, marks, filmed=False)
        rows = of_kind(scene, "DT", "air_dt"), of_kind(scene, "CS seconds", "air_cs_reach")
        return [refusal(rows[0]["17.00", "the red barn"]), refusal(rows[1]["17.00", "the red barn", "4"])]

    assert far(30.0) == [("not_in_picture", 0, 1, "things")] * 2
    assert far(40.0) == [(None, None, None, None)] * 2


def test_what_a_name_puts_beside_another_is_no_answer_of_what_is_next_to_it() -> None:
    """The car park is 20 m from the pond, the mill 40 m and the barn 60 m."""
    places = {"the pond": 0.0, "the car park beside the pond": 30.0, "the mill": -50.0, "the barn": -70.0}
    marks = [mark(label, east, 60.0) for label, east in places.items()]
    rows = of_kind(flight(motion([("hover", 20.0, 0.0)]), marks, filmed=False), "TP", "air_tp")
    asked = {row["operands"][2]: (row["answer"], set(row["wrong"])) for row in rows.values() if row["reason"] is None}
    assert asked["the pond"] == ("the mill", {"the barn"})
    assert asked["the car park beside the pond"] == ("the mill", {"the barn"})


@pytest.mark.parametrize(("lasts_s", "asked"), [(2.4, False), (2.6, True)])
def test_two_seconds_before_a_question_about_a_flight(lasts_s: float, asked: bool) -> None:
    scene = flight(motion([("fly forward", lasts_s, 30.0)]), filmed=False)
    assert ("2.00" in {time for time, *_ in of_kind(scene, "DT", "air_dt_home")}) == asked
    told = [refusal(row) for row in of_kind(scene, "DT", "one").values()]
    assert told == ([] if asked else [("no_moment", 0, 1, "times")])


AHEAD = "ahead of the ego vehicle"
OURS = lane("ours", -10, 80, 0.0, left_mark="dashed white", right_mark="solid white")


@pytest.mark.parametrize(("lasts_s", "asked"), [(2.4, 0), (2.5, 1)])
def test_two_seconds_before_a_question_and_half_a_second_after_it(lasts_s: float, asked: int) -> None:
    scene = drive(actor("car", 20, 0, lasts_s=lasts_s), lasts_s=lasts_s)
    assert len(of_kind(scene, "DT", "dt_near")) == 2 * asked, "the nearest car, and that ahead"
    if not asked:
        (row,) = of_kind(scene, "DT", "drive").values()
        assert row["role"] == "scene"
        assert refusal(row) == ("no_moment", 0, 1, "times")


def test_a_vehicle_of_a_kind_that_the_log_does_not_tell() -> None:
    def kind(nearest: str) -> Any:
        scene = drive(actor(nearest, 10, 0, name="a"), actor("bus", 25, 0, name="b"))
        return of_kind(scene, "CL", "cl_side")["2.00", AHEAD]

    assert refusal(kind("vehicle")) == ("kind_unnamed", 0, 1, "names")
    assert kind("car")["answer"] == "car"


@pytest.mark.parametrize(
    ("y", "others", "told"),
    [
        (0.0, (), (None, None, None, None)),
        # The lane ends 1.75 m to the left of its middle: 1.75 - 1.6 are left.
        (1.6, (), ("near_lane_border", 0.15, 0.3, "m")),
        (-3.0, (), ("in_no_lane", 0, 1, "lanes")),
        # Another lane, as in a junction, from -0.75 to 2.75 m: our car is in both. One that comes towards us is none.
        (0.0, (lane("crossing", -10, 80, 1.0),), ("several_lanes", 2, 1, "lanes")),
        (0.0, (lane("towards us", 80, -10, 1.0),), (None, None, None, None)),
    ],
)
def test_the_lane_of_our_car(y: float, others: tuple[drives.Lane, ...], told: tuple[Any, ...]) -> None:
    scene = drive(actor("car", 20, 0), start=(0.0, y), lanes=(OURS, *others))
    kind = of_kind(scene, "CL", "cl_lane")["2.00",]
    marked = of_kind(scene, "AT words", "at_marking")["2.00", "left"]
    assert refusal(kind) == refusal(marked) == told
    assert (kind["answer"], marked["answer"]) == ((None, None) if told[0] else ("vehicle lane", "dashed white line"))


def test_the_lane_of_another() -> None:
    """Our lane forks at 100 m. The left one of the two that it goes on in is ours as well as the one to the left."""
    fork = (
        lane("ours", -50, 100, 0.0, successors=("on", "left")),
        lane("on", 100, 200, 0.0, predecessors=("ours",), left_neighbour="left"),
        lane("left", 100, 200, 3.5, predecessors=("ours",)),
    )

    def of(x: float, y: float, *lanes: drives.Lane) -> Any:
        scene = drive(actor("car", x, y), start=(60.0, 0.0), speeds=5.0, lanes=lanes)
        return of_kind(scene, "LC", "lc_lane")["2.00", "car"]

    assert refusal(of(110, 3.5, *fork)) == ("several_lanes", 2, 1, "lanes")
    assert of(110, 0, *fork)["answer"] == "in the same lane"
    # Of its 2 m of width 1.6 and 1.58 are left of the border at -1.75 m; and in two lanes of which one is not ours.
    assert of(110, -1.15, *fork)["answer"] == "in the same lane"
    assert refusal(of(110, -1.17, *fork)) == ("between_lanes", 0.79, 0.8, "share")
    assert of(100.1, 0, *fork)["answer"] == "in the same lane", "where its next part begins there is no border"
    assert refusal(of(85, 0, *fork, lane("joining", 80, 100, 1.0))) == ("several_lanes", 2, 1, "lanes")


@pytest.mark.parametrize(("yaw_deg", "told"), [(44.0, (None,) * 4), (46.0, ("other_lane", 0, 1, "lanes"))])
def test_who_crosses_our_way_is_not_in_our_lane(yaw_deg: float, told: tuple[Any, ...]) -> None:
    """Our lane turns off to the left at 100 m, and goes on aslant where the car is: it drives along that."""
    along = np.array([np.cos(np.radians(yaw_deg)), np.sin(np.radians(yaw_deg)), 0.0])
    start, aside = np.array([100.0, 0.0, 0.0]), np.array([-along[1], along[0], 0.0])
    lines = {part: tuple(tuple(start + off * aside + far * along) for far in (0, 60)) for part, off in LINES.items()}
    onward = drives.Lane.model_validate({"id": "onward", "kind": "vehicle", "predecessors": ("ours",), **lines})
    one = actor("car", *(start + 20 * along)[:2].tolist())
    turned = one.track.model_copy(update={"yaw_deg": pack(np.full(len(times(3.0)), yaw_deg), drives.YAW_STEP_DEG)})
    scene = drive(
        one.model_copy(update={"track": turned}),
        start=(60.0, 0.0),
        speeds=5.0,
        lanes=(lane("ours", -50, 100, 0.0, successors=("onward",)), onward),
    )
    found = of_kind(scene, "LC", "lc_lane")["2.00", "car"]
    assert refusal(found) == told
    assert found["answer"] == (None if told[0] else "in the same lane")


def test_on_the_border_of_the_road() -> None:
    """The road is 10 m wide: one is surely off it 0.3 m beside it, or if drawn, where the dot of 2 m is beside it."""

    def ground(y: float, filmed: bool = True) -> Any:
        crossing = drives.Crossing(id="1", outline=outline(60, 64, -5, 5))
        scene = drive(actor("pedestrian", 20, y), drivable=(outline(-10, 80, -5, 5),), crossings=(crossing,))
        scene = scene.model_copy(update={"video": FILM if filmed else None})
        return of_kind(scene, "TP", "tp_ground")["2.00", "pedestrian"]

    def under(first_x: float, last_x: float) -> Any:
        """A crossing under or beside a car from 18 to 22 m."""
        crossing = drives.Crossing(id="1", outline=outline(first_x, last_x, -5, 5))
        scene = drive(actor("car", 20, 0), drivable=(outline(-10, 80, -5, 5),), crossings=(crossing,))
        return of_kind(scene, "TP", "tp_ground")["2.00", "car"]

    assert refusal(under(19, 21)) == ("near_ground_border", 0, 0.3, "m"), "its middle alone is on it"
    assert under(17, 23)["answer"] == "on a pedestrian crossing"
    assert under(23, 27)["answer"] == "on the roadway"
    assert refusal(ground(5.2)) == ("near_ground_border", 0.2, 0.3, "m")
    assert ground(5.4)["answer"] == "off the roadway"
    assert refusal(ground(5.9, filmed=False)) == ("near_ground_border", 0.9, 1.0, "m")
    assert ground(6.1, filmed=False)["answer"] == "off the roadway"
    assert ground(0.0)["answer"] == "on the roadway"


def test_what_is_largely_hidden() -> None:
    def distance(level: int) -> Any:
        hidden = pack(np.full(len(times(3.0)), float(level)), 1.0)
        return of_kind(drive(actor("car", 20, 0, occluded=hidden)), "DT", "dt_near")["2.00", "car"]

    assert refusal(distance(2)) == ("occluded", 2, 1, "level")
    assert distance(1)["answer"] == "16.0", "20 m less half of both cars"


def test_several_lamps_at_once() -> None:
    def lamps(*lit: drives.Lamp) -> Any:
        scene = drive(actor("car", 20, 0, lamps=(drives.Lamps(index=0, lit=lit),)))
        return of_kind(scene, "ST", "st_lamps")["2.00", "car"]

    assert refusal(lamps("low beam", "brake", "left blinker")) == ("several_lamps", 2, 1, "lamps")
    assert lamps("low beam", "left blinker")["answer"] == "the left blinker"


@pytest.mark.parametrize("count", [20, 21])
def test_more_than_people_count(count: int) -> None:
    """Three rows of cones 1.5 m apart from 4 m on, the last 13 m ahead: no mark in the film covers half of another."""
    cones = [actor("traffic cone", 4 + n // 3 * 1.5, 2.5 * (n % 3 - 1), name=f"{n:02}") for n in range(count)]
    row = of_kind(drive(*cones), "CT", "ct_near")["2.00", "traffic cone", "15"]
    assert refusal(row) == ((None,) * 4 if count == 20 else ("too_many", 21, 20, "things"))


@pytest.mark.parametrize(("even_answers", "radii"), [(True, (25, 30, 35, 40, 45, 50)), (False, RADII_M)])
def test_a_kind_is_counted_within_the_radii_that_hold_four_at_some_time_and_three_other_counts(
    even_answers: bool, radii: Sequence[int]
) -> None:
    """One at 22 m at first, one more at each time; within 20 m there is never any."""
    view: Any = SimpleNamespace(rules=ExamRules(even_answers=even_answers))
    assert radii_counted(view, np.where(np.tri(4, dtype=bool).T, 22.0, np.inf)) == [*radii]


def test_the_kinds_on_a_side_are_what_the_nearest_may_be() -> None:
    """A van ahead and a truck behind it; what is behind us is no option, and alone there is not asked about."""
    others = (
        actor("van", 20.0, 0.0, name="v"),
        actor("truck", 40.0, 0.0, name="t"),
        actor("bus", -20.0, 0.0, name="b"),
    )
    found = of_kind(drive(*others), "CL", "cl_side")
    assert (found["2.00", AHEAD]["answer"], found["2.00", AHEAD]["wrong"]) == ("van", ["truck"])
    assert refusal(found["2.00", "behind the ego vehicle"]) == ("too_few_options", 0, 1, "wrong options")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((0.0, 0.0), (0.0, 0.0), "standing still"),
        ((4.0, 0.0), (4.0, 0.0), "moving in the same direction as the ego vehicle"),
        # A metre and a half in the second around the moment, all of it after the film's end.
        ((0.0, 0.0), (3.0, 0.0), ("between_standing_and_moving", 0, 1, "m/s")),
        # 2 m ahead and 4 m to the left in that second, 63 degrees off our way; the film shows the first 2 m alone.
        ((4.0, 0.0), (0.0, 8.0), ("near_heading_border", 0, 10, "deg")),
    ],
)
def test_a_car_moves_as_the_film_shows_it(before: tuple[float, float], after: tuple[float, float], told: Any) -> None:
    t = times(3.0)[:, None]
    place = np.array([20.0, 6.0]) + np.minimum(t, 2.0) * before + np.maximum(t - 2.0, 0.0) * after
    one = actor("car", 20, 6)
    track = one.track.model_copy(update={"place_m": pack(np.pad(place, ((0, 0), (0, 1))), drives.PLACE_STEP_M)})
    row = of_kind(drive(one.model_copy(update={"track": track})), "ST", "st_motion")["2.00", "car"]
    assert (refusal(row) if row["reason"] else row["answer"]) == told


def test_of_an_answer_that_is_usual_there_is_none_without_another() -> None:
    """A car stands: half as many may do so as have another answer, and there is none of these."""
    row = of_kind(drive(actor("car", 20, 6)), "ST", "st_motion", even_answers=True)["2.00", "car"]
    assert refusal(row) == ("answer_too_frequent", 1, 0, "candidates")


@pytest.mark.parametrize(("ahead_m", "asked"), [(-2.1, "1"), (-1.9, None), (1.9, None), (2.1, "2")])
def test_a_car_beside_us_of_which_a_part_is_ahead_and_a_part_behind_is_on_neither_side(
    ahead_m: float, asked: str | None
) -> None:
    """Cars are 4 m long. The one beside us is 12 m away, so that its middle is 9 degrees off the border."""
    scene = drive(actor("car", ahead_m, 12.0, name="beside"), actor("car", 25.0, 8.0, name="far"))
    row = of_kind(scene, "CT", "ct_ahead")["2.00", "car", "30"]
    assert row["answer"] == asked
    assert asked or refusal(row) == ("near_side_border", 1, 0, "things")


@pytest.mark.parametrize("later", [0, 1])
def test_whoever_is_in_doubt_until_a_moment_may_have_come_near(later: int) -> None:
    """In doubt at one time alone: it counts from that time on while the video shows it, for 8 s."""
    view: Any = open_exam(logs.drive(3), ExamRules(even_answers=False))
    moment = len(view.moments) // 2
    view.__dict__["unsure"] = np.zeros(view.present.shape, dtype=bool)
    view.unsure[view.present.any(1), view.moments[moment] + later] = True
    found = {case.operands[1]: case.refusal for case in seen_lately(view)}
    since_s = {second: float(second) - view.second(moment) for second in found}
    doubted = {second for second, refusal in found.items() if refusal and refusal.reason == "another_in_doubt"}
    assert doubted == {second for second, gone_s in since_s.items() if 0.01 * later <= gone_s <= 8}


@pytest.mark.parametrize(("gap_m", "share"), [(0.0, np.inf), (0.5, 1.0), (4.0, 0.125)])
def test_a_dot_is_half_a_metre_wider_than_a_thing_of_a_metre(gap_m: float, share: float) -> None:
    marks = SimpleNamespace(is_dot=np.array([False, True]))
    scene = SimpleNamespace(video=None)
    view: Any = SimpleNamespace(
        scene=scene, moments=np.array([7]), drawn_marks=lambda index: marks, size_m=np.array([[4.0, 2.0], [1.5, 1.0]])
    )
    one, refs = ExamCase("dt"), [SimpleNamespace(actor=number) for number in (0, 1)]
    needs_gap(view, one, 0, gap_m, *refs)  # type: ignore[arg-type]
    assert one.refusal
    assert (one.refusal.reason, one.refusal.measured) == (TOO_COARSE, share if np.isfinite(share) else None)


def test_landmarks_are_within_or_beyond_from_a_tenth_of_the_radius_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """But three metres from 25 m."""
    told = {}

    def listing(*asked: Any, radius: str) -> Any:
        told[radius] = asked[4:]
        return SimpleNamespace(operands=()), 0, 0

    monkeypatch.setattr(landmarks, "_listing", listing)
    monkeypatch.setattr(landmarks, "number", lambda *_: None)
    gaps = np.array([22.0, 22.1, 27.9, 28.0, 90.0, 90.1, 109.9, 110.0])
    places = [SimpleNamespace(label=str(number)) for number in range(8)]
    known = SimpleNamespace(pool=[*range(8)], places=places, distance_m=gaps[:, None], seen_by=lambda *_: True)
    view: Any = SimpleNamespace(flight=known, moments=[(5, 0)])
    assert list(landmarks.near(view)) == [None] * len(landmarks.RADII_M)
    assert told["25"] == ([0], [3, 4, 5, 6, 7])
    assert told["100"] == ([0, 1, 2, 3, 4], [7])
