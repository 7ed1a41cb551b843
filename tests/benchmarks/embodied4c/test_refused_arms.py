"""What must not be asked of an arm, nor of a flight: made-up logs that break one rule each, the value by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.core.findings import doubt
from pipeline.reading.maps.appearance import Appearance
from tests.benchmarks.embodied4c.planted import episode, item, of_kind, refusal, turning
from tests.benchmarks.urbanvideo.flights import Move, flight, mark, motion

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
    assert of_kind(episode(TRAY, cube), "TP", "arm_tp")["1.00", "the tray"]["answer"] == "the cube"


def test_a_flat_thing_does_not_lie_on_itself() -> None:
    """A mat of 4 mm: its bottom is as near to its own top as that of what lies on it may be."""
    mat, cube = item("mat", (0.3, 0.3, 0.004), (0.3, 0.0, 0.002)), item("cube", CUBE, (0.3, 0.0, 0.029))
    found = of_kind(episode(mat, cube), "TP", "arm_tp")
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
    both = of_kind(episode(cube, pushed), "L/M words", "arm_lm_moved")["1.00",]
    assert refusal(both) == ("several_moved", pytest.approx(4), pytest.approx(0.3), "cm")
    assert of_kind(episode(cube, still), "L/M words", "arm_lm_moved")["1.00",]["answer"] == "the cube"


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
    ("high_deg", "told", "answer"),
    [
        # From -20 at 20 degrees a second it is at 0 after a second. A limit of 30.4 is told as 30: 0.4 off, of which
        # a hundredth of the way, 0.304, would do.
        (30.4, ("limits_round_badly", pytest.approx(0.4, abs=1e-4), pytest.approx(0.304, abs=1e-5), "deg"), None),
        (30.0, (None, None, None, None), "1.5"),
        # Just there: no way is left.
        (0.0, ("angle_too_small", pytest.approx(0, abs=1e-4), 20, "deg"), None),
    ],
)
def test_when_a_joint_is_at_its_limit(high_deg: float, told: tuple[Any, ...], answer: str | None) -> None:
    scene = episode(TRAY, arm=turning(-20.0, 20.0, None, high_deg))
    row = of_kind(scene, "CS limit", "arm_cs_time")["1.00", "shoulder", "upper"]
    assert refusal(row) == told
    assert row["answer"] == answer


@pytest.mark.parametrize(
    ("task", "kind", "about"),
    [
        ("MD rate", "arm_md_rate", ("1.00", "shoulder")),
        ("MD degrees", "arm_md", ("1.00", "shoulder", "1")),
        ("CS limit", "arm_cs_time", ("1.00", "shoulder", "upper")),
    ],
)
def test_a_joint_in_doubt(task: str, kind: str, about: tuple[str, ...]) -> None:
    found = doubt("beyond_limit", "shoulder", "", "", 0.2, 0.01, "rad")
    arm = turning(-20.0, 20.0, None, 60.0)
    doubted = of_kind(episode(TRAY, arm=arm, findings=(found,)), task, kind)[about]
    assert refusal(doubted) == ("in_doubt", 1, 0, "doubts")
    assert of_kind(episode(TRAY, arm=arm), task, kind)[about]["answer"] in {"20", "3.0"}


MOVES: list[Move] = [("ascend", 4.0, 12.0), ("fly forward", 4.0, 40.0), ("hover", 4.0, 0.0)]


@pytest.mark.parametrize("margin", [1.2, 1.4])
def test_movements_that_one_may_overlook(margin: float) -> None:
    scene = flight(motion(MOVES, margin=margin), filmed=False)
    told = ("barely_a_movement", 1.2, 1.3, "ratio") if margin < 1.3 else (None, None, None, None)
    climbs = of_kind(scene, "CT", "air_ct_moves")["6.00", "climbed"]
    steps = of_kind(scene, "L/M words", "air_lm_steps")["6.00", "2"]
    assert refusal(climbs) == refusal(steps) == told
    assert (climbs["answer"], steps["answer"]) == ((None, None) if told[0] else ("1", "ascending; flying forward"))


@pytest.mark.parametrize("pitch", [20.0, 5.0])
def test_a_camera_that_looks_up(pitch: float) -> None:
    row = of_kind(flight(motion(MOVES, pitch=pitch), filmed=False), "ST", "air_st_camera")["6.00",]
    assert refusal(row) == (("looks_up", 20, 10, "deg") if pitch > 10 else (None, None, None, None))
    assert row["answer"] == (None if pitch > 10 else "straight ahead")


def test_a_landmark_of_a_kind_that_the_log_does_not_tell() -> None:
    """The drone hovers over 0, 40; the thing without a kind is 10 m from there, the others are 55 and 75 m away."""

    def nearest(look: Appearance | None) -> Any:
        marks = [
            mark("the first thing", 0.0, 55.0, look=look),
            mark("the red church", 60.0, 40.0, look=Appearance(noun="church")),
            mark("the white tower", -80.0, 40.0, look=Appearance(noun="tower")),
        ]
        scene = flight(motion([*MOVES, ("hover", 6.0, 0.0)], views={n: [(0.0, 18.0)] for n in range(3)}), marks)
        return of_kind(scene, "CL", "air_cl")["17.00",]

    assert refusal(nearest(None)) == ("kind_unnamed", 0, 1, "names")
    assert nearest(Appearance(noun="statue"))["answer"] == "statue"


@pytest.mark.parametrize(("lasts_s", "asked"), [(2.4, False), (2.6, True)])
def test_two_seconds_before_a_question_about_a_flight(lasts_s: float, asked: bool) -> None:
    scene = flight(motion([("fly forward", lasts_s, 30.0)]), filmed=False)
    assert ("2.00" in {time for time, *_ in of_kind(scene, "DT", "air_dt_home")}) == asked
    told = [refusal(row) for row in of_kind(scene, "DT", "one").values()]
    assert told == ([] if asked else [("no_moment", 0, 1, "times")])
