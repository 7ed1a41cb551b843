"""What must not be asked of a drive: made-up drives that break one rule each, the measured value by hand.

Our car is 4 m long and 2 m wide, questions stand at whole seconds from the second one on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipeline.core.quantized_series import pack
from pipeline.worlds.drive import facts as drives
from tests.benchmarks.embodied4c.planted import STEP_S, actor, drive, lane, of_kind, outline, refusal, times

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
    # 1.75 - 1.5 from the border of its lane; and in two lanes of which one is not ours.
    assert refusal(of(110, -1.5, *fork)) == ("near_lane_border", 0.25, 0.3, "m")
    assert refusal(of(85, 0, *fork, lane("joining", 80, 100, 1.0))) == ("several_lanes", 2, 1, "lanes")


def test_on_the_border_of_the_road() -> None:
    """The road is 10 m wide: at 5.2 m from its middle one stands 0.2 m beside it, at 5.4 m surely off it."""

    def ground(y: float) -> Any:
        crossing = drives.Crossing(id="1", outline=outline(60, 64, -5, 5))
        scene = drive(actor("pedestrian", 20, y), drivable=(outline(-10, 80, -5, 5),), crossings=(crossing,))
        return of_kind(scene, "TP", "tp_ground")["2.00", "pedestrian"]

    assert refusal(ground(5.2)) == ("near_ground_border", 0.2, 0.3, "m")
    assert ground(5.4)["answer"] == "off the roadway"
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


def test_a_car_that_stood_nearly_all_the_time() -> None:
    """It stands for 6 s, then drives 10 m/s: 6 s of 7 are 0.857 of the log so far, of 9 they are 0.667."""
    stands = np.where(times(10.0) < 6.0 - STEP_S / 2, 0.0, 10.0)
    found = of_kind(drive(actor("car", 20, 9, lasts_s=10.0), lasts_s=10.0, speeds=stands), "M/T seconds", "mt_standing")
    assert refusal(found["7.00",]) == ("stood_all_along", pytest.approx(6 / 7, abs=1e-6), 0.75, "share")
    assert found["9.00",]["answer"] == "6"


@pytest.mark.parametrize("count", [20, 21])
def test_more_than_people_count(count: int) -> None:
    """Cones half a metre apart from 5 m on: 2 m of our car and 0.2 m of a cone less, all are within 12.8 m."""
    cones = [actor("traffic cone", 5 + n / 2, 0, name=f"{n:02}") for n in range(count)]
    row = of_kind(drive(*cones), "CT", "ct_near")["2.00", "traffic cone", "20"]
    assert refusal(row) == ((None,) * 4 if count == 20 else ("too_many", 21, 20, "things"))


def test_of_an_answer_that_is_usual_there_is_none_without_another() -> None:
    """A car stands: half as many may do so as have another answer, and there is none of these."""
    row = of_kind(drive(actor("car", 20, 6)), "ST", "st_motion", even_answers=True)["2.00", "car"]
    assert refusal(row) == ("answer_too_frequent", 1, 0, "candidates")
