"""Every rule on both sides of its limit."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.authoring.check import measures
from pipeline.benchmarks.urbanvideo.authoring.meaning import Asks
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from tests.benchmarks.urbanvideo.authoring.made import GOOD, facts

FACTS = facts()
KNOWN = (*FACTS.names, "red brick building")
WRONG = GOOD["wrong"]


def item(**changes: Any) -> DraftItem:
    raw = {k: v for k, v in (GOOD | changes).items() if k != "proof"}
    return DraftItem(**(raw | {"wrong": tuple(raw["wrong"]), "objects": tuple(raw["objects"])}))


def refusal(
    item: DraftItem, facts: Any = FACTS, known: tuple[str, ...] = KNOWN, asks: Asks = "why"
) -> tuple[str, float, float, str] | None:
    broken = next((m for m in measures(item, facts, known, asks) if not m.holds), None)
    return broken and (broken.name, broken.value, broken.limit, broken.unit)


def test_a_good_question_passes_with_every_rule_measured() -> None:
    passed = list(measures(item(), FACTS, KNOWN))
    assert all(m.holds for m in passed)
    assert len({m.name for m in passed}) == len(passed) >= 15


CASES: list[tuple[dict[str, Any], tuple[str, float, float, str] | None]] = [
    ({"wrong": WRONG[:3]}, ("choices_too_few", 4, 5, "options")),
    ({"wrong": []}, ("choices_too_few", 1, 5, "options")),
    ({"wrong": [*WRONG, "It was late"]}, ("choices_too_many", 6, 5, "options")),
    ({"wrong": [*WRONG[:3], "  "]}, ("choices_empty", 1, 0, "options")),
    ({"wrong": [*WRONG[:3], "None of the above"]}, ("choices_not_one_right", 1, 0, "options")),
    (
        {"wrong": [*WRONG[:3], "the way straight on is closed by Blue Tower!"]},
        ("choices_right_among_wrong", 1, 0, "options"),
    ),
    (
        {"wrong": [*WRONG[:2], "It turned to the left twice", "Turns left twice."]},
        ("choices_same_meaning", 1, 0, "pairs of options"),
    ),
    ({"answer": "A green bridge closed the way"}, ("hallucination_unknown_object", 1, 0, "objects")),
    ({"answer": "A red brick building closed the way"}, None),
    ({"answer": "A blue building closed the way"}, ("hallucination_unknown_object", 1, 0, "objects")),
    (
        {"question": "Why did the drone turn left at the Golden Fork?"},
        ("hallucination_unknown_object", 2, 0, "objects"),
    ),
    ({"objects": ["flock of sheep"]}, ("hallucination_unknown_object", 1, 0, "objects")),
    ({"wrong": [*WRONG[:3], "A bridge that nobody saw"]}, None),  # a wrong option may be made up
    ({"wrong": [*WRONG[:3], "It went north"]}, ("direction_absolute", 1, 0, "directions")),
    ({"question": "Why does the drone turn left at the West Gate Mall?", "objects": []}, None),
    ({"answer": "B", "wrong": ["A", "C", "D", "E"]}, ("choices_letter", 5, 0, "options")),
    ({"answer": "Option (c)."}, ("choices_letter", 1, 0, "options")),
    ({"answer": "B. It was late"}, ("choices_letter", 1, 0, "options")),
    ({"answer": "Because it was late"}, None),
    (
        {"question": "Why, since the way straight on is closed by the Blue Tower, did it turn left?"},
        ("invalid_or_ambiguous_answer_in_question", 1, 0, "answers"),
    ),
    (
        {
            "question": "Was it late, or was it early, when the drone turned left?",
            "answer": "It was late",
            "wrong": ["It was early", *WRONG[:3]],
        },
        None,
    ),
    (
        {"question": "Why did it turn left? A. It was late B. It was early"},
        ("invalid_or_ambiguous_options_in_question", 1, 0, "lists of options"),
    ),
    ({"question": "Say why the drone turned left"}, ("invalid_or_ambiguous_no_question", 0, 1, "question marks")),
    ({"question": "why " * 150}, ("invalid_or_ambiguous_no_question", 0, 1, "question marks")),
    ({"question": "Why turn left?"}, ("invalid_or_ambiguous_too_short", 3, 4, "words")),
    ({"question": "Why turn left there?"}, None),
    ({"question": "why? " * 151}, ("invalid_or_ambiguous_too_long", 151, 150, "words")),
    ({"wrong": [*WRONG[:3], "late " * 41]}, ("choices_too_long", 41, 40, "words")),
    ({"answer": "late " * 16}, ("choices_right_stands_out", 16, 1.5 * 8 + 3, "words")),
    ({"answer": "late " * 15}, None),
]


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_each_rule_with_its_measure(changes: dict[str, Any], expected: tuple[str, float, float, str] | None) -> None:
    forms: dict[str, Asks] = {"If": "if", "Was": "what"}
    found = refusal(item(**changes), asks=forms.get(str(changes.get("question")).split()[0], "why"))
    if expected is None:
        assert found is None
    else:
        assert (found[0], found[2:]) == (expected[0], expected[2:])
        assert found[1] == pytest.approx(expected[1], abs=0.01)


def test_the_first_rule_that_is_broken_is_the_reason() -> None:
    everything = item(question="Why north?", answer="B", wrong=["A", "A", "north", "E"])
    assert (refusal(everything) or ("",))[0] == "choices_same_meaning"
