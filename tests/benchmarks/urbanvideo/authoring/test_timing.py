"""When and how often something is said to be, on both sides of what was observed."""

from __future__ import annotations

import pytest

from pipeline.benchmarks.urbanvideo.authoring.meaning import nearly_same
from pipeline.benchmarks.urbanvideo.authoring.timing import spans, timing
from pipeline.benchmarks.urbanvideo.authoring.words import plain
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from tests.benchmarks.urbanvideo.authoring.flights import FLIGHTS

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
        ("How many times does the drone turn?", "Twice", None),
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
    assert spans(plain("What is seen while the drone descends?"), FACTS) == [(59, 69)]
    assert spans(plain("What is seen before the descent?"), FACTS) == [(0.0, 59)]
    assert spans(plain("What is seen at the start?"), FACTS) == [(0.0, 25.0)]
    assert spans(plain("What is seen during the second turn to the right?"), FACTS) == [(35, 39), (55, 59)]
    assert spans(plain("What is seen in the flight?"), FACTS) == []


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
