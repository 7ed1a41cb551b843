"""Drives, flights and arms of which a question would name or read what is not shown so: each is refused for that."""

from typing import Any

import numpy as np
import pytest

from pipeline.core.quantized_series import pack
from pipeline.core.schema import AnyScene, Video
from pipeline.questions.gate import MOST
from pipeline.worlds.arm.facts import JOINT_STEP, SHARE_STEP, Arm, Gripper, Joint
from pipeline.worlds.drive import facts as drives
from tests.benchmarks.embodied4c.planted import actor, drive, episode, every, item, times, turning
from tests.benchmarks.embodied4c.test_shown import BALL, filmed
from tests.benchmarks.urbanvideo.flights import flight, mark, motion
from tests.oracles.exam_check import asked_of

# Ahead, level, 90 degrees wide and 62 high.
FRONT = drives.DriveCamera(
    name="front",
    width=1000,
    height=600,
    focal_px=(500.0, 500.0),
    centre_px=(500.0, 300.0),
    place_m=(0.0, 0.0, 1.5),
    ego_from_camera=((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
)
EVERYBODY = tuple(sorted(drives.CATEGORIES))


def road(*actors: drives.Actor, complete: tuple[str, ...] = EVERYBODY, **more: Any) -> AnyScene:
    """A drive before its front camera."""
    scene = drive(*actors, cameras=(FRONT,), complete=complete, **more)
    return scene.model_copy(update={"video": Video(path="front.mp4", fps=10.0, frames=31, width=1000, height=600)})


def air(*marks: Any, complete: tuple[str, ...] = (), seen: bool = True, **more: Any) -> AnyScene:
    """A flight over landmarks that are all in the picture from beginning to end, or of which that is not known."""
    views = {number: [(0.0, 26.0)] for number in range(len(marks))} if seen else None
    moves = [("fly forward", 10, 100), ("turn left", 5, 90), ("fly forward", 11, 100)]
    moved = motion(moves, views=views, **more)
    return flight(moved, marks, sight=seen).with_facts(complete=complete)


def thing(category: str, y: float, colour: str | None = None, **more: Any) -> Any:
    """Something on the table, so far to the robot's left."""
    found = item(category, BALL, (0.3, y, 0.3), **more)
    return found.model_copy(update={"attributes": {"colour": colour} if colour else {}, "id": f"{category} {y}"})


AHEAD = actor("car", 20.0, 0.0)
TRUCK = actor("truck", 30.0, 6.0, name="other")
FAINT = actor("car", 20.0, 0.0, points=pack(every(3.0, 5.0), 1.0))
SOME = ("car", "truck", "vehicle")  # which is no full list of all that is called a vehicle
WALKERS = (actor("pedestrian", 8.0, 6.0, name="one"), actor("car", 3.0, 12.0, name="other"))
TWO = (actor("pedestrian", 14.0, 3.0), actor("car", 20.0, 6.0, name="other"))
# At -166 and -127 degrees: who turns round has the car to the left, a map from above shows it to the right.
COUPLE = (actor("pedestrian", 14.0, 3.0), actor("pedestrian", 14.0, 3.0, name="other"))
BEHIND = (actor("pedestrian", -6.0, 8.0), actor("car", -20.0, 5.0, name="other"))
RED = mark("the red tower", 60, 60, top=30.0, kind="tower")
CHURCH = mark("the grey church", -60, 80, kind="church")
OUTSIDE = thing("ball", 1.1, colour="red")  # 1.088 m to a side is in the picture
CUBE = thing("cube", 1.9, colour="blue")
BALLS = (OUTSIDE, thing("ball", 1.9))
# Nearer than the cube until a second has passed, and until a third of one.
FLEES, FLED = (thing("ball", 1.1, colour="red", moves_m=(0, y, 0)) for y in (1.5, 4.0))
TURNS = turning(0.0, 30.0, -90.0, 120.0)
OPEN = Gripper(point="its tip", opening=pack(every(2.0, 1.0), SHARE_STEP))
EIGHT = Arm(
    joints=tuple(Joint(name=name, unit="rad") for name in "abcdefgh"),
    position=pack(np.tile(np.radians(30.0 * times(2.0))[:, None], 8), JOINT_STEP),
)
UNLOGGED, UNSEEN, UNREAD = ("others_not_logged", 0, 1), ("not_in_picture", 0, 1), ("not_shown", 0, 1)
DOUBLE = ("double_in_picture", 1, 0)

SHORT = drives.VehicleBox(size_m=(1.6, 0.6, 1.7))
CONE_PX = 500 * (0.4 / 39.8 * (1.85 / 39.8 - 1.15 / 40.2)) ** 0.5  # its nearest side is at 39.8 m, its farthest at 40.2
HIDDEN, SMALL = ("hidden_in_picture", 1, 0.5), ("too_small_in_picture", CONE_PX, 12)
# What is planted: a log, the kind of question that would ask of it, what it is about, the reason, its value and limit.
PLANTED: dict[str, tuple[AnyScene, str, str, tuple[Any, ...]]] = {
    "a car of which there may be a nearer": (road(AHEAD, complete=()), "dt_near", "car", UNLOGGED),
    "a family known in part": (road(AHEAD, TRUCK, complete=SOME), "dt_near", "motor", UNLOGGED),
    "a kind of which others may be nearer": (road(AHEAD, TRUCK, complete=("car",)), "cl_side", "", UNLOGGED),
    "a neighbour that no log may have": (road(*TWO, complete=("pedestrian",)), "tp_next", "ped", UNLOGGED),
    "a car behind a front camera": (road(actor("car", -20.0, 0.0)), "dt_near", "car", UNSEEN),
    "what is behind it": (
        road(actor("car", -20.0, 0.0), actor("truck", -40.0, 0.0, name="t")),
        "cl_side",
        "behind",
        UNSEEN,
    ),
    "a neighbour beside the picture": (road(*WALKERS), "tp_next", "ped", UNSEEN),
    "a car behind a truck": (road(AHEAD, actor("truck", 10.0, 0.0, name="t")), "dt_near", "car", HIDDEN),
    "a car of few lidar points in a film": (road(FAINT), "dt_near", "car", ("hardly_measured", 5, 15)),
    "a cone of five pixels by nine": (road(actor("traffic cone", 40.0, 0.0)), "lc_sector", "cone", SMALL),
    "cars all around counted in a film": (road(AHEAD), "ct_near", "car", UNREAD),
    "half a metre of six": (road(actor("car", 7.0, 0.0)), "dt_near", "car", ("read_too_coarsely", 1 / 6, 0.1)),
    "a sign below a bollard in a drawn film": (
        drive(actor("sign", 20.0, 0.0), actor("bollard", 20.0, 0.0, name="over")),
        "dt_near",
        "sign",
        HIDDEN,
    ),
    "lamps of what is a dot in a drawn film": (
        drive(actor("cyclist", 20.0, 0.0, box=SHORT, lamps=(drives.Lamps(index=0, lit=("brake",)),))),
        "st_lamps",
        "cyclist",
        UNREAD,
    ),
    "two on one spot of a drawn film, counted": (drive(*COUPLE), "ct_near", "pedestrian", HIDDEN),
    "two who were on one spot all along": (
        drive(*(actor("pedestrian", 14.0, 3.0, name=name, lasts_s=9.0) for name in ("one", "other")), lasts_s=9.0),
        "lm_seen",
        "pedestrian",
        HIDDEN,
    ),
    "a neighbour below another": (drive(*COUPLE, actor("car", 20.0, 6.0, name="c")), "tp_next", "car", HIDDEN),
    "a car below the words of a drawn film": (drive(actor("car", -53.0, 20.0)), "dt_near", "car", UNSEEN),
    "beyond a drawn map": (drive(actor("car", 62.0, 0.0)), "dt_near", "car", UNSEEN),
    "the landmark nearest of some": (air(RED, CHURCH), "air_cl", "", UNLOGGED),
    "landmarks of which no view is known": (
        air(RED, CHURCH, seen=False),
        "air_rs",
        "red",
        ("views_unknown", None, None),
    ),
    "a side of two things behind": (
        drive(*BEHIND),
        "rp_place",
        "pedestrian",
        ("behind_the_ego_vehicle", 165.963757, 90),
    ),
    "a side that a picture from above shows otherwise": (
        drive(actor("pedestrian", 10.0, 20.0), actor("car", 0.5, 5.0, name="other")),
        "rp_place",
        "pedestrian",
        ("sides_disagree", -15, 1),
    ),
    "a name of which a drawn film shows empty boxes": (
        flight(motion([("fly forward", 26, 200)]), [mark("北京路 3", 60, 60), RED], filmed=False),
        "air_dt",
        "北京",
        ("name_not_drawn", 3, 0),
    ),
    "a compass in a film": (air(RED, heading=90.0), "air_or", "", UNREAD),
    "the ball of a target's log": (filmed(thing("ball", 0.3)), "arm_dt", "ball", UNLOGGED),
    "a ball beside the picture": (filmed(OUTSIDE, complete=True), "arm_dt", "ball", UNSEEN),
    "the colour of two balls": (filmed(thing("ball", 0.3, "green"), OUTSIDE, complete=True), "arm_at", "ball", DOUBLE),
    "balls counted, not shown": (filmed(*BALLS, complete=True), "arm_ct", "ball", UNSEEN),
    "red things counted, none shown": (
        filmed(OUTSIDE, thing("cube", 1.9, "red"), complete=True),
        "arm_ct_colour",
        "red",
        UNSEEN,
    ),
    "the nearest in space, and another from above": (
        episode(item("can", BALL, (0.5, 0.0, 0.3)), item("tray", (0.2, 0.2, 0.02), (0.4, 0.0, 0.01))),
        "arm_cl",
        "",
        ("another_as_near", -10, 2),
    ),
    "the nearest, beside the picture": (filmed(FLEES, CUBE, complete=True), "arm_cl", "", UNSEEN),
    "its colour": (filmed(FLEES, CUBE, complete=True), "arm_at_near", "", UNSEEN),
    "it was nearest before": (filmed(FLED, CUBE, complete=True), "arm_sm_nearest", "", UNSEEN),
    "it was moved": (filmed(thing("ball", 1.1, moves_m=(0, 0.2, 0)), CUBE, complete=True), "arm_lm_moved", "", UNSEEN),
    "a ball in a crate of a drawn film": (
        episode(item("ball", BALL, (0.5, 0.2, 0.3)), item("crate", (0.2, 0.2, 0.2), (0.5, 0.2, 0.3))),
        "arm_dt",
        "ball",
        HIDDEN,
    ),
    "a thing of whose name a drawn film shows empty boxes": (
        episode(item("杯子", BALL, (0.5, 0.2, 0.3))),
        "arm_dt",
        "杯子",
        ("name_not_drawn", 2, 0),
    ),
    "what has left the maps of a drawn film": (
        episode(item("ball", BALL, (0.5, 0.2, 0.3), moves_m=(0.0, 20.0, 0.0))),
        "arm_dt",
        "ball",
        UNSEEN,
    ),
    "a gripper that a drawn film cannot place": (
        episode(item("ball", BALL, (0.5, 0.2, 0.3))).with_facts(gripper=OPEN),
        "arm_st",
        "",
        UNSEEN,
    ),
    "a ball that a crate hides from the side": (
        episode(item("ball", BALL, (0.5, 0.2, 0.3)), item("crate", (0.2, 0.2, 0.2), (0.5, -0.1, 0.3))),
        "arm_dt",
        "ball",
        ("hidden_on_a_map", 1, 0.5),
    ),
    "a cube that a crate hides from the side, beside another cube": (
        episode(
            item("cube", BALL, (0.5, 0.2, 0.3), colour="red"),
            item("cube", (0.2, 0.2, 0.2), (0.2, 0.2, 0.3), colour="blue"),
            item("crate", (0.2, 0.2, 0.2), (0.5, -0.1, 0.3)),
        ),
        "arm_rs",
        "taller",
        ("hidden_on_a_map", 1, 0.5),
    ),
    "an eighth joint, whose dial has no room": (episode(arm=EIGHT), "arm_md", "h", UNSEEN),
    "a joint's rate in a film": (filmed(thing("ball", 0.3), arm=TURNS), "arm_md_rate", "", UNREAD),
}


def words(row: dict[str, Any]) -> str:
    return " ".join(row["operands"][2:]).replace("the ego vehicle", "us")


@pytest.mark.parametrize("name", PLANTED)
def test_a_question_that_what_is_shown_does_not_bear_is_refused_for_that(name: str) -> None:
    scene, kind, about, reason = PLANTED[name]
    rows = [row for row in asked_of(scene) if row["operands"][0] == kind and about in words(row)]
    assert not [row["wording"] for row in rows if row["reason"] is None]
    assert reason in [
        (row["reason"], pytest.approx(row["measured"], abs=1e-5), row["limit"]) for row in rows if row["reason"]
    ]


def test_a_drawn_film_shows_what_few_lidar_points_tell_of_and_who_is_nearer_by_a_twentieth() -> None:
    for x, told in ((-20.9, (None, "16.0")), (-20.7, ("another_as_near", None))):
        rows = asked_of(drive(FAINT, actor("car", x, 0.0, name="other")))
        found = {(row["reason"], row["answer"]) for row in rows if row["operands"][::2] == ["dt_near", "car"]}
        assert found == {told}


def test_a_list_names_nothing_that_a_drawn_film_cannot_write() -> None:
    marks = [mark(label, 60.0, y) for label, y in (("北京路", 60), ("red house", 330))]
    moved = motion([("fly forward", 26, 200)], views={0: [(0.0, 26.0)], 1: [(9.0, 26.0)]})
    named = {filmed: asked_of(flight(moved, marks, filmed=filmed)) for filmed in (True, False)}
    listed = {
        filmed: {name for row in rows if row["operands"][0] == "air_ct_shown" for name in row["operands"][2:]}
        for filmed, rows in named.items()
    }
    assert listed == {True: {"北京路", "red house"}, False: {"red house"}}


def test_a_count_is_whole_however_coarsely_what_is_counted_is_read() -> None:
    """Of a film distances are read to 5 m: of three landmarks one or two are near.

    As many of three as a lot says are within 100 m of the drone, which is 60 m beside the first two.
    """
    near = [mark(f"the {colour} house", 60.0, y, top=9.0) for colour, y in (("red", 70.0), ("blue", 20.0))]
    far = [mark(f"the {colour} house", 60.0, y, top=9.0) for colour, y in (("white", 800.0), ("grey", 900.0))]
    rows = asked_of(air(*near, *far))
    found = [row for row in rows if row["operands"][0::2][:2] == ["air_ct_near", "100"] and row["answer"]]
    for row in found:
        assert row["answer"] == str(len({"the red house", "the blue house"}.intersection(row["operands"]))), row
        assert len(row["operands"][3:]) == 3
        assert [fact["value"] for fact in row["evidence"] if fact["name"] == MOST] == [3.0], "no more are offered"
    assert {row["answer"] for row in found} == {"1", "2"}
