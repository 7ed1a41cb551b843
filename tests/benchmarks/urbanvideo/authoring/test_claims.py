"""What texts claim of a flight, on both sides of each limit; the numbers follow from `flights` and `made`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.urbanvideo.authoring.check import only_right
from pipeline.benchmarks.urbanvideo.authoring.claims import claims, described, side_off_deg, supposed_instead
from pipeline.benchmarks.urbanvideo.authoring.meaning import Asks, content, nearly_same, of_form, says_all_of
from pipeline.benchmarks.urbanvideo.authoring.timing import spans, timing
from pipeline.benchmarks.urbanvideo.authoring.words import (
    absolute,
    covered,
    movements,
    normalized,
    sides,
    stories,
    things,
    tokens,
    without,
)
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from tests.benchmarks.urbanvideo.authoring.made import FLIGHTS

KEPT = None


@pytest.mark.parametrize(
    ("flight", "text", "broken"),
    [
        # East: up 20 m, 100 m forward, left by 90 degrees, forward and down by 10 m.
        ("east", "It ascended before it turned left", KEPT),
        ("east", "It turned left before it ascended", ("invalid_or_ambiguous_order", 1)),
        ("east", "It turned left after it had ascended", KEPT),
        ("east", "It turned left, since it had ascended", KEPT),  # a reason says nothing of the order
        ("east", "It climbed by 22 metres", KEPT),
        ("east", "It climbed by 26 metres", ("hallucination_number", 0.3)),
        ("east", "It climbed by sixty metres", ("hallucination_number", 2.0)),
        ("east", "It climbed by 66 feet", KEPT),
        ("east", "It turned left by 75 degrees", KEPT),
        ("east", "It turned left by 60 degrees", ("hallucination_number", 1 / 3)),
        ("east", "It is there at 0:50", KEPT),  # 50 s of 44 s: 14% over
        ("east", "It is there at 1:50", ("hallucination_number", 1.5)),
        ("east", "It turned left once", KEPT),
        ("east", "It turned left twice", ("invalid_or_ambiguous_times", 1)),
        ("river", "It turned right twice", KEPT),
        ("river", "At the end it hovers", KEPT),
        ("river", "At the beginning it hovers", ("invalid_or_ambiguous_when", 69 - 75 / 3)),
        ("east", "It passed two towers", ("hallucination_count", 1)),
        ("harbour", "It passed three sailing boats", KEPT),
        ("harbour", "It passed four sailing boats", ("hallucination_count", 1)),
        ("harbour", "It passed three boats moored there", KEPT),
        ("harbour", "It passed five boats moored there", ("hallucination_count", 2)),
        ("east", "It flew towards the Blue Tower", KEPT),
        ("east", "It flew away from the Old Mill", KEPT),
        ("east", "It flew towards the Old Mill", ("invalid_or_ambiguous_not_approached", 0)),
        ("east", "It did not fly towards the Old Mill", KEPT),
        ("east", "It flew over the Blue Tower", ("invalid_or_ambiguous_not_over", 90)),  # 200 - 100 - 10 m
        ("river", "It rose above the Saint Anna Church", KEPT),  # 40 m and 35 m
        ("harbour", "It rose above the lighthouse", ("invalid_or_ambiguous_not_above", 10)),  # 50 m and 60 m
        ("river", "It sank below the church", KEPT),  # 0 m at first
        ("river", "It flew below the bridge", KEPT),
        ("harbour", "It flew below the ferry terminal", ("invalid_or_ambiguous_not_below", 5)),  # 20 m and 15 m
    ],
)
def test_a_claim_is_measured(flight: str, text: str, broken: tuple[str, float] | None) -> None:
    facts, known = FLIGHTS[flight]
    found = next((rule for rule in claims([text], facts, known) if not rule.holds), None)
    assert (found and found.name) == (broken and broken[0])
    if found and broken:
        assert found.value == pytest.approx(broken[1], abs=0.01)


def test_a_landmark_is_known_by_what_it_is_where_one_alone_is_that() -> None:
    facts, _ = FLIGHTS["river"]
    assert described("the church and the park", facts) == [0, 1]
    assert described("the stadium", facts) == []


def test_a_side_is_that_of_the_landmark_in_its_clause() -> None:
    facts, _ = FLIGHTS["harbour"]
    assert side_off_deg("The lighthouse is ahead and the terminal to the left of the drone", "", facts, 4.0) == 0
    off = side_off_deg("The lighthouse is to the left and the terminal to the right of the drone", "", facts, 4.0)
    assert off > 90
    assert side_off_deg("It moves on with a movement to the left", "the lighthouse", facts, 4.0) is None


@pytest.mark.parametrize(
    ("one", "other", "all_of_it"),
    [
        ("The tower blocked its way", "Its path was obstructed by the tower", True),
        ("To get above the roofs around it", "To get above the roofs", True),
        ("To get above the roofs", "To get above the roofs around it", False),
        ("The red tower", "The tower", True),
        ("The tower", "The red tower", False),
        ("The three towers", "The towers", False),
        ("The 3 towers", "The towers", False),
        ("The park beside the tower", "The tower", False),
        ("The park beside the tower", "The tower beside the park", False),
        ("It turned left twice", "It turned left", True),
        ("It cannot reach the park", "It can reach the park", False),
        ("It did not land on the roof", "It landed on the roof", False),
        ("It ascends and then turns left", "It ascends", False),
        ("To search for the shopping mall", "To look for the shopping centre", True),
        ("On the left-hand side", "To the left of the drone", True),
        ("To the left", "To the right", False),
    ],
)
def test_a_text_that_says_all_of_another(one: str, other: str, all_of_it: bool) -> None:
    assert says_all_of(one, other) is all_of_it


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
    ("question", "answer", "wrong", "time_s", "true"),
    [
        ("Which landmark is in view at the start?", "The lighthouse", "The ferry terminal", None, 1),
        ("Which landmark is in view at the start?", "The lighthouse", "The ferry terminal", 12, 0),  # it is until 8 s
        ("Which landmark is in view at the start?", "The lighthouse", "A park by the terminal", None, 0),
        ("What is in view?", "The lighthouse", "A red barge", None, 0),
        ("What is to the left of the drone?", "The ferry terminal", "The lighthouse", 4, 0),
        ("What is to the left of the drone?", "The lighthouse", "The ferry terminal", 4, 1),
        ("Where is the terminal?", "To the left of the drone", "Ahead of the drone", 4, 0),
        ("Where is the terminal?", "Ahead of the drone", "To the left of the drone", 4, 1),
    ],
)
def test_wrong_options_that_are_true(question: str, answer: str, wrong: str, time_s: float | None, true: int) -> None:
    facts, known = FLIGHTS["harbour"]
    (measure,) = only_right(DraftItem(question, answer, (wrong,), (), time_s), facts, known)
    assert (measure.value, measure.holds) == (true, not true)


def test_what_texts_say() -> None:
    assert stories("It turned left because it had ascended") == [["turn left"], ["ascend"]]
    assert stories("The tower rises ahead, and the drone ascends") == [["ascend"]]
    assert supposed_instead("Instead of ascending, could it turn left?") == ["ascending"]
    assert content("The drone avoids collisions") == content("To evade the crash")
    assert content("It is tagging the tower") == content("It tags the tower")
    assert sides("a shift to the left") == []


# Up 0-12 s, camera down, forward 15-35, right, forward 39-55, right, down 59-69, hover 69-75.
FACTS, KNOWN = FLIGHTS["river"]


@pytest.mark.parametrize(
    ("question", "answer", "broken"),
    [
        ("Why did the drone turn right immediately after it had taken off?", "", "invalid_or_ambiguous_not_directly"),
        ("Why did the drone hover immediately after it had descended?", "", None),
        ("Why does the drone descend after the first turn to the right?", "", None),
        ("Why does the drone ascend after the first turn to the right?", "", "invalid_or_ambiguous_not_then"),
        ("Why does the drone descend after the third turn?", "", "invalid_or_ambiguous_not_then"),
        ("Why does the drone tilt the camera down before the first turn?", "", None),
        ("Why does the drone ascend after it has passed Saint Anna Church?", "", "invalid_or_ambiguous_not_then"),
        ("How many times does the drone turn?", "Twice", None),
        ("How many times does the drone hover?", "Once", None),
        ("How many times does the drone turn?", "Three times", "hallucination_how_often"),
        ("What is visible while the drone ascends?", "Saint Anna Church", None),
        ("What is visible while the drone ascends?", "The Long Bridge", "hallucination_not_in_view_then"),
        ("What comes into view after the descent?", "The Long Bridge", None),
        ("What is visible at the end?", "Saint Anna Church", "hallucination_not_in_view_then"),
        ("What is visible during the flight?", "Saint Anna Church", None),
    ],
)
def test_what_is_said_of_time_holds(question: str, answer: str, broken: str | None) -> None:
    item = DraftItem(question, answer, ())
    asks = "why" if question.startswith("Why") else "what"
    assert next((m.name for m in timing(item, FACTS, KNOWN, asks) if not m.holds), None) == broken


def test_questions_name_stretches_of_the_flight() -> None:
    assert spans(normalized("What is seen while the drone descends?"), FACTS) == [(59, 69)]
    assert spans(normalized("What is seen before the descent?"), FACTS) == [(0.0, 59)]
    assert spans(normalized("What is seen at the start?"), FACTS) == [(0.0, 25.0)]
    assert spans(normalized("What is seen during the second turn to the right?"), FACTS) == [(35, 39), (55, 59)]
    assert spans(normalized("What is seen in the flight?"), FACTS) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("To keep away from the power lines", "To maintain a distance from the electric cables", True),
        ("A big ferris wheel by the sea", "A large giant wheel by the sea", True),
        ("A tower that comes nearer", "A lake that comes nearer", False),
        ("The bridge seen from above", "The bridge seen from below", False),
        ("It flies three rounds over the park", "It flies two rounds over the park", False),
    ],
)
def test_most_of_what_two_options_say(one: str, other: str, same: bool) -> None:
    assert nearly_same(one, other) is same


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
