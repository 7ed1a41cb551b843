"""What the checks read out of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.urbanvideo.authoring.words import absolute, covered, movements, sides, things, tokens, without


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("The drone ascends, then turned to the left and flies forward while descending", "A L F D"),
        ("Fly forward while descend", "F D"),
        ("It descended after turning right.", "R D"),
        ("After climbing up 20 m the drone hovers", "A H"),
        ("It took off, then after a left turn it came down", "A L D"),
        ("It would turn left to see more", ""),
        ("It never ascends", ""),
        ("It climbs because it could not turn left", "A"),
        ("It pauses, in order to slowly descend", ""),
        ("It turns back", "U"),
        ("The camera tilts downwards", "G"),
        ("It flies to the left of the tower", "l"),
        ("It passes the landmark and the Highland hotel", ""),
        ("", ""),
    ],
)
def test_movements_in_the_order_of_their_making(text: str, made: str) -> None:
    letters = {
        "A": "ascend", "D": "descend", "F": "fly forward", "L": "turn left", "R": "turn right", "H": "hover",
        "U": "turn around", "G": "gimbal down", "l": "fly left",
    }  # fmt: skip
    assert movements(text) == [letters[letter] for letter in made.split()]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The drone turns to the left.", "turn left", True),
        ("A red building", "the red buildings", True),
        ("Two towers", "2 towers", True),
        ("Ascend and then turn right", "climbs, turning right", True),
        ("next to the street", "Next to the ROAD!", True),
        ("It turns left", "It turns right", False),
        ("Ascend, then turn right", "Turn right, then ascend", False),
        ("a red building", "a blue building", False),
        ("It is visible", "It is not visible", False),
        ("2 towers", "3 towers", False),
        ("東京タワー", "東京駅", False),
    ],
)
def test_texts_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert (tokens(one) == tokens(other)) is same


@pytest.mark.slow
@given(st.text(), st.sampled_from(["", " ", ".", "!"]))
def test_case_spaces_and_a_full_stop_mean_nothing(text: str, end: str) -> None:
    assert tokens(f"  {text} {end}") == tokens(text.casefold())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the tower is to the left of the drone", ["left"]),
        ("the tower in front of the drone", ["ahead"]),
        ("the park in front of the tower", []),
        ("to the left of the tower", []),
        ("the lake lies behind.", ["behind"]),
        ("behind the mall", []),
        ("it turns to the left at the mall", []),
        ("on its right-hand side", ["right"]),
        ("ahead of the UAV, not to the drone's right", ["ahead", "right"]),
    ],
)
def test_sides_of_the_drone_alone(text: str, found: list[str]) -> None:
    assert sides(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("north of the tower", ["north"]),
        ("heads North-East, the southern part", ["north-east", "southern"]),
        ("eastwards", ["eastwards"]),
        ("at the West Gate", []),
        ("at the west gate, west of it", ["west"]),
        ("the Norther Lights, a seastar and the easter egg", []),
    ],
)
def test_points_of_the_compass_but_not_in_names(text: str, found: list[str]) -> None:
    assert absolute(text, ["West Gate", "West"] if "easter" in text else ["West Gate"]) == found


def test_things_are_nouns_with_colours_and_proper_names() -> None:
    text = "What is next to the Central ALL-STAR cafe and the red buildings? Yes, the Mill by the old oak."
    assert things(text, ["Central"]) == ["ALL-STAR", "cafe", "red buildings", "mill"]
    assert things("The UAV ascends", []) == []


def test_a_thing_is_covered_by_a_name_with_all_its_words() -> None:
    assert covered("the towers", ["Blue Tower"])
    assert covered("skyscraper", ["glass tower"])
    assert not covered("red tower", ["Blue Tower", "red building"])
    assert not covered("tower", [])


def test_names_are_blotted_out_as_they_stand() -> None:
    assert without("a.b AxB a.bc", ["a.b", ""]) == "___ AxB a.bc"
    assert without("West Gate Mall", ["West", "West Gate"]) == "_________ Mall"
