"""What a film does not show is not asked of it: a ball that is one of three, a thing beside the picture."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import exam
from pipeline.core.findings import note
from pipeline.core.schema import Video
from pipeline.drawing.raster import Raster
from pipeline.questions.selection import SAME_FACT
from pipeline.worlds.arm import facts as arms
from pipeline.worlds.arm.bev_video import _ArmVideo
from pipeline.worlds.drive import facts as drives
from pipeline.worlds.drive.bev_video import _DriveVideo
from pipeline.worlds.flight.bev_video import _FlightVideo
from tests.benchmarks.embodied4c import logs
from tests.benchmarks.embodied4c.planted import actor, drive, episode, item, pack, turning
from tests.benchmarks.urbanvideo.flights import finding, flight, mark, motion
from tests.oracles.exam_check import asked_of

VIDEO = Video(path="front_rgb", fps=10.0, frames=21, width=128, height=128)
# Two metres ahead of the robot's foot, level, looking back at it: right in the picture is the robot's left.
CAMERA = arms.ArmCamera(
    name="front",
    width=128,
    height=128,
    focal_px=(100.0, 100.0),
    centre_px=(64.0, 64.0),
    place_m=(2.0, 0.0, 0.3),
    world_from_camera=((0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
    moves=False,
    pictures=True,
)
BALL = (0.1, 0.1, 0.1)


def filmed(*items: arms.SceneItem, complete: bool = False, **more: Any) -> Any:
    """An episode before a camera."""
    scene = episode(*items, **more).with_facts(cameras=(CAMERA,), items_complete=complete)
    return scene.model_copy(update={"video": VIDEO})


def refused(scene: Any, kind: str) -> set[tuple[Any, ...]]:
    """Why questions of a kind are refused: reason, measured, limit; (None, None, None) for one that is asked."""
    rows = asked_of(scene)
    return {(row["reason"], row["measured"], row["limit"]) for row in rows if row["operands"][0] == kind}


def ball(y: float = 0.3, **more: Any) -> arms.SceneItem:
    return item("ball", BALL, (0.3, y, 0.5), **more)


def test_the_ball_is_not_asked_for_where_the_log_knows_the_target_alone() -> None:
    assert refused(filmed(ball()), "arm_dt") == {("others_not_logged", 0, 1)}
    assert refused(filmed(ball(), complete=True), "arm_dt") == {(None, None, None)}
    red = ball().model_copy(update={"attributes": {"colour": "red"}})
    assert refused(filmed(red), "arm_dt") == {(None, None, None)}, "its colour tells it from others"
    blue = ball(-0.3).model_copy(update={"attributes": {"colour": "blue"}, "id": "other"})
    assert refused(filmed(red, blue, complete=True), "arm_at") == {("double_in_picture", 1, 0)}


@pytest.mark.parametrize(("y", "reason"), [(1.08, None), (1.1, "not_in_picture"), (-1.1, "not_in_picture")])
def test_a_thing_beside_the_picture_is_not_asked_for(y: float, reason: str | None) -> None:
    """At 1.7 m a picture of 128 pixels and a focal length of 100 shows 1.088 m to each side."""
    assert {row[0] for row in refused(filmed(ball(y), complete=True), "arm_dt")} == {reason}


@pytest.mark.parametrize(("z", "reason"), [(1.33, None), (1.35, "not_in_picture"), (1.5, "not_in_picture")])
def test_the_gripper_must_be_in_the_picture_with_half_a_hand(z: float, reason: str | None) -> None:
    """At 1.7 m the picture goes up to 1.388 m; with less than 5 cm below that, finger tips are all that is seen."""
    assert {row[0] for row in refused(filmed(ball(), gripper=(0.3, 0.0, z), complete=True), "arm_dt")} == {reason}


def test_the_way_of_the_gripper_is_asked_from_when_it_is_seen() -> None:
    """It comes down in four seconds: from 2.9 s on it is lower than 1.338 m and seen."""
    scene = filmed(ball(), complete=True)
    down = np.linspace((0.3, 0.0, 2.2), (0.3, 0.0, 1.0), len(scene.facts.times_s))
    gripper = scene.facts.gripper.model_copy(update={"place_m": pack(down, arms.PLACE_STEP_M)})
    scene = scene.with_facts(gripper=gripper, seconds=pack(2 * scene.facts.times_s, arms.TIME_STEP_S))
    seen = {kind: {row[0] for row in refused(scene, kind)} for kind in ("arm_mt", "arm_sm_net")}
    assert None in seen["arm_mt"]
    assert seen["arm_sm_net"] == {"not_in_picture"}


def test_joints_are_read_on_dials_alone_and_lengths_to_what_a_picture_shows() -> None:
    arm = turning(0.0, 30.0, -90.0, 120.0)
    assert {row[0] for row in refused(filmed(ball(), arm=arm), "arm_md_rate")} == {"not_shown"}
    (row,) = {row[0] for row in refused(episode(ball(), arm=arm), "arm_md_rate")}
    assert row is None
    slow = turning(0.0, 20.0, -90.0, 120.0)  # half of five degrees a second is an eighth of it
    assert refused(episode(ball(), arm=slow), "arm_md_rate") == {("read_too_coarsely", 0.125, 0.1)}
    told = [row for row in asked_of(filmed(ball(), complete=True)) if row["operands"][0] == "arm_dt"]
    assert {row["answer"] for row in told} == {"30"}
    assert all("nearest multiple of 5" in row["wording"] for row in told)
    near = filmed(ball(0.2), complete=True)  # half of five centimetres is an eighth of it
    assert refused(near, "arm_dt") == {("read_too_coarsely", 0.125, 0.1)}


def test_what_a_thing_is_made_of_is_asked_where_people_state_it_and_a_film_shows_it() -> None:
    stated = ball().model_copy(update={"attributes": {"material": "rubber"}})
    (row,) = [row for row in asked_of(filmed(stated, complete=True)) if row["operands"][0] == "arm_mp"]
    assert (row["answer"], row["reason"]) == ("rubber", None)
    assert "wood" in row["wrong"]
    assert refused(filmed(ball(), complete=True), "arm_mp") == set()
    assert {reason for reason, *_ in refused(episode(stated).with_facts(items_complete=True), "arm_mp")} == {
        "not_shown"
    }


def test_a_drive_from_above_is_read_to_half_a_metre_as_far_as_the_map_goes() -> None:
    near, far = actor("car", 12.0, 0.0), actor("car", 62.0, 0.0)
    (row,) = [row for row in asked_of(drive(near)) if row["operands"][0] == "dt_near" and row["operands"][2] == "car"][
        :1
    ]
    assert (row["answer"], "nearest multiple of 0.5" in row["wording"]) == ("8.0", True)
    assert ("not_in_picture", 0, 1) in refused(drive(far), "dt_near")


@pytest.mark.parametrize(("length_m", "reason"), [(1.8, "not_shown"), (2.9, None)])
def test_what_is_drawn_as_a_dot_has_no_heading(length_m: float, reason: str | None) -> None:
    """Three pixels a metre: what is shorter than six of them along either side of the picture is a dot."""
    box = drives.VehicleBox(size_m=(length_m, 0.6, 1.7))
    found = refused(drive(actor("bicycle", 12.0, 0.0, vx=-1.0, box=box)), "or_heading")
    assert {row[0] for row in found} == {reason}


@pytest.mark.parametrize(("x_m", "told"), [(9.25, ("read_too_coarsely", 0.107, 0.1)), (9.85, (None, None, None))])
def test_the_distance_to_a_dot_is_asked_where_its_size_hardly_matters(x_m: float, told: tuple[Any, ...]) -> None:
    """A dot reaches 1 m about a pedestrian of 25 cm: 75 cm are a tenth of 7.5 m; our front is 2 m ahead."""
    found = refused(drive(actor("pedestrian", x_m, 0.0)), "dt_near")
    assert {(reason, measured and round(measured, 3), limit) for reason, measured, limit in found} == {told}


def test_the_way_since_the_video_began_is_one_fact_in_each_of_its_guises() -> None:
    """First fast, then slow: of 20 s before, at 20 to 35 s, it is 140 to 68 m away; many questions, two facts."""
    moves = motion([("fly forward", 15.6, 124.8), ("fly forward", 20.0, 66.0)])
    rows = asked_of(flight(moves, filmed=False), even_answers=False)
    guises = {"air_dt_home", "air_lm"}
    told = [row for row in rows if row["reason"] is None and row["operands"][0] in guises]
    facts = {flag for row in told for flag in row["flags"] if flag.startswith(SAME_FACT)}
    assert len(told) >= 8
    assert {row["operands"][0] for row in told} == guises
    assert all(row["from_s"] == row["until_s"] - 20 for row in told)
    away = [float(row["answer"]) for row in told if row["operands"][0] == "air_dt_home"]
    assert 68 <= min(away) < max(away) <= 140
    every_30_s = {f"{SAME_FACT}: 30 s, part {part}: {kind}" for kind in guises for part in (0, 1)}
    assert every_30_s < facts
    assert len(facts - every_30_s) == 2


@pytest.mark.parametrize(
    ("moves", "log", "reason"),
    [
        ([("fly forward", 20.0, 200.0)], "gpx", "not_known_to_fly"),
        ([("ascend", 10.0, 20.0), ("fly forward", 10.0, 100.0)], "gpx", None),
        ([("fly forward+ascend", 20.0, (200.0, 40.0))], "gpx", "not_known_to_fly"),  # a steep road
        ([("fly forward", 20.0, 200.0)], "dji_srt", None),
    ],
)
def test_the_log_of_a_car_is_not_asked_about_as_a_drone(moves: Any, log: str, reason: str | None) -> None:
    first = note("height_from_first_fix", "log", "heights count from the first position", "none needed")
    scene = flight(motion(moves), filmed=False).with_facts(log=log).model_copy(update={"findings": (first,)})
    rows = [row for row in asked_of(scene) if row["task"] == "DT"]
    assert {row["reason"] for row in rows if row["role"] == "scene"} == ({reason} if reason else set())


def test_a_side_is_said_with_its_width_and_the_sense_of_a_turn_with_its_dial() -> None:
    rows = asked_of(drive(actor("car", 0.0, 12.0)))
    (text,) = {row["wording"] for row in rows if row["operands"][0] == "st_motion" and "left" in row["operands"][2]}
    assert "the nearest car to the left of the ego vehicle (within 45° of straight left)" in text
    turned = asked_of(episode(ball(), arm=turning(0.0, 30.0, -90.0, 120.0)))
    assert any("in the positive sense (counter-clockwise on its dial)" in (row["wording"] or "") for row in turned)


def test_what_needs_a_clock_is_not_asked_of_steps_and_no_landmark_where_places_are_in_steps() -> None:
    flown = motion([("fly forward", 20, 200), ("ascend", 10, 30)])
    house = mark("the red house", 40.0, 120.0)
    steps = flight(flown, filmed=False).model_copy(update={"findings": (finding("step_clock", severity="note"),)})
    for kind in ("air_mt", "air_sm", "air_sm_height"):
        assert {reason for reason, *_ in refused(steps, kind)} == {"step_clock"}, kind
        assert "step_clock" not in {reason for reason, *_ in refused(flight(flown, filmed=False), kind)}
    assert (None, None, None) in refused(steps, "air_lm")
    coarse = flight(flown, [house], findings=(finding("quantised"),))
    assert {reason for reason, *_ in refused(coarse, "air_dt")} == {"quantised"}
    high = flight(flown, [house], findings=(finding("altitude_reference"),))
    assert {reason for reason, *_ in refused(high, "air_dt")} == {"altitude_reference"}, "what the film shows of it"
    assert (None, None, None) in refused(flight(flown, [house]), "air_dt")


def test_of_positions_in_steps_no_way_is_asked_and_no_number_finer_than_two_of_them() -> None:
    """Steps of 1 m: a speed is read to 7.2 km/h, so 36 km/h within a tenth; a way along stairs is none."""
    note = finding("quantised", severity="note")
    drawn = flight(motion([("fly forward", 24, 240)]), findings=(note,), filmed=False)
    assert {reason for reason, *_ in refused(drawn, "air_lm")} == {"not_shown", "clip_too_short"}
    rows = [row for row in asked_of(drawn) if row["operands"][0] == "air_mt" and row["reason"] is None]
    assert {row["answer"] for row in rows} == {"40"}


def told_at(scene: Any, second: str) -> dict[str, tuple[Any, ...]]:
    """Kind -> what becomes of its question at a second of a log: reason, measured, limit."""
    rows = [row for row in asked_of(scene) if row["operands"][1:2] == [second]]
    return {row["operands"][0]: (row["reason"], row["measured"], row["limit"]) for row in rows}


def test_what_begins_as_the_video_ends_is_not_asked_for() -> None:
    """All goes on as it was until a time, and then otherwise, of which no video that ends at this time shows anything.

    The mean of half a second before and after would be: we gain 3 m/s2, the drone rises at 2 m/s.
    """
    speeds = 5.0 + np.maximum(0.0, np.arange(61) * 0.1 - 3.0) * 6.0
    told = told_at(drive(lasts_s=6.0, speeds=speeds), "3.00")
    assert told["md_state"] == ("between_states", 0, 0.7)
    assert told["md_acceleration"] == ("speed_jumps", 1, 0.1)
    rises = motion([("fly forward", 8.0, 24.0), ("fly forward+ascend", 4.0, (12.0, 16.0))])
    told = told_at(flight(rises, filmed=False), "8.00")
    assert told["air_st_height"] == told["air_md"] == ("between_states", 0, 0.5)


def test_a_gripper_that_sets_off_as_the_video_ends_has_no_speed() -> None:
    """At 1.5 s, to one side at 40 cm/s: 20 cm/s in the tenths of a second before and after that."""
    scene = episode(item("ball", BALL, (0.3, 0.3, 0.5), lasts_s=3.0), lasts_s=3.0)
    place = np.tile([0.3, 0.0, 0.5], (31, 1))
    place[:, 1] = np.maximum(0.0, np.arange(31) * 0.1 - 1.5) * 0.4
    gripper = scene.facts.gripper.model_copy(update={"place_m": pack(place, arms.PLACE_STEP_M)})
    moves = scene.with_facts(gripper=gripper)
    assert told_at(moves, "1.50")["arm_mt"] == ("speed_jumps", 1, 0.1)
    assert told_at(moves, "2.00")["arm_mt"][0] is None


@pytest.mark.parametrize(("metres", "filmed", "asked"), [(30.0, False, False), (32.0, False, True), (30.0, True, True)])
def test_a_change_of_height_that_the_gauge_hardly_shows(metres: float, filmed: bool, asked: bool) -> None:
    """In 20 s: within the 2 s that the film shows 3 m are 4.8 of the gauge's pixels of 0.625 m, 3.2 m are 5.1."""
    rows = told_at(flight(motion([("ascend", 20.0, metres)]), filmed=filmed), "10.00")
    share = pytest.approx(0.625 / 2 / (metres / 10), abs=1e-6)
    told = [row and row[0] for row in (rows["air_st_height"], rows["air_md"])]
    assert told == [None if asked else "read_too_coarsely"] * 2
    assert asked or rows["air_md"] == ("read_too_coarsely", share, 0.1)


def without_actor(scene: Any, who: str | None, t_s: float) -> Iterator[Any]:
    """The picture of a drive at a time, without one of its actors."""
    film = _DriveVideo(scene.with_facts(actors=tuple(one for one in scene.facts.actors if one.id != who)))
    yield film.at(film.view.index(t_s), t_s)


def without_item(scene: Any, who: str | None, t_s: float) -> Iterator[Any]:
    """The picture of an episode at a time, without the things of a name; its maps are as wide as before."""
    film, names = _ArmVideo(scene), exam(scene, ExamRules()).names
    called = [names.get(row, f"the {one.category}") for row, one in enumerate(scene.facts.items)]
    film.view.item_m[[name == who for name in called]] = np.nan
    yield film.at(film.view.index(t_s), t_s)


def without_landmark(scene: Any, who: str | None, t_s: float) -> Iterator[Any]:
    """The pictures of a flight at each second until a time, the latest first, without a landmark."""
    film = _FlightVideo([one for one in scene.facts.landmarks if one.label != who], scene.facts.motion)
    for second in range(int(t_s), 0, -1):
        yield film.at(int(np.searchsorted(film.t_s, second + 1e-6, side="right")) - 1, second)


@pytest.mark.slow
@pytest.mark.parametrize(("made", "without", "told", "least"), [
    (lambda: map(logs.drive, range(700, 702)), without_actor, "hidden_in_picture", 100),
    (lambda: logs.episodes(range(700, 702)), without_item, "hidden_in_picture", 100),
    (lambda: map(logs.flight, (310, 700, 701)), without_landmark, "not_seen_yet", 50),
])  # fmt: skip
def test_what_questions_name_is_drawn(
    made: Any, without: Any, told: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the picture is another one, by 15 pixels on the map at least, names apart; of a flight once before."""
    monkeypatch.setattr(Raster, "label", lambda *_, **__: None)
    checked = 0
    for scene in made():
        asked = [(row, float(row["operands"][1])) for row in asked_of(scene) if row["reason"] is None]
        facts = {(fact["subject"], t_s) for row, t_s in asked for fact in row["evidence"] or () if fact["name"] == told}
        named = sorted((who, t_s) for who, t_s in facts if who != "rule")
        for who, t_s in named:
            pairs = zip(without(scene, who, t_s), without(scene, None, t_s), strict=True)
            assert any((a != b)[:, :520].any(2).sum() >= 15 for a, b in pairs), (scene.id, who, t_s)
        checked += len(named)
    assert checked >= least
