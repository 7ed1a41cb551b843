"""What texts say: movements, things, directions, and whether two of them say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.urbanvideo.authoring.meaning import Asks, of_form
from pipeline.benchmarks.urbanvideo.authoring.words import (
    absolute,
    covered,
    things,
    tokens,
    without,
)


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Why did the drone turn left instead of right?", "why"),
        ("What made the drone hover?", "why"),
        ("If the drone had turned right, would it arrive?", "if"),
        ("Instead of climbing, could it fly around the tower?", "if"),
        ("What does the drone see during the descent?", "what"),
    ],
)
def test_the_form_of_a_question(question: str, form: Asks) -> None:
    forms: tuple[Asks, ...] = ("what", "why", "if")
    assert [asks for asks in forms if of_form(question, asks)] == [form]


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
