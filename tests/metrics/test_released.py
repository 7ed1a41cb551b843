from __future__ import annotations

from decimal import Decimal

import pytest

from tests.oracles.released_scores import accuracy, first_word, relative_accuracy

# reply: what the released scorer takes for the answer, good or bad
FIRST_WORDS = {
    "B": "B",
    "B.": "B",
    "B...": "B",
    "B. chair": "B",
    "b\n": "b",
    "B\nchair": "B\nchair",  # only a blank parts words
    "(D)": "(D)",
    "The answer is B.": "The",
    " B": "",
    "": "",
    "答案是B": "答案是B",
    "2.5 meters": "2.5",
    "about 2.5 meters": "about",
}


@pytest.mark.parametrize(("reply", "word"), FIRST_WORDS.items())
def test_the_first_word_is_the_answer(reply: str, word: str) -> None:
    assert first_word(reply) == word


@pytest.mark.parametrize(
    ("reply", "score"), [("B", 1), ("b.", 1), ("B. chair", 1), ("A", 0), ("(B)", 0), ("The answer is B.", 0), ("", 0)]
)
def test_accuracy_heeds_no_case(reply: str, score: float) -> None:
    assert accuracy(reply, "B") == score


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("2", 1.0),
        ("2.", 1.0),
        ("2.0 m", 1.0),
        ("3", 0.1),
        ("2m", 0.0),
        ("nan", 0.0),
        ("inf", 0.0),
        ("none", 0.0),
        ("", 0.0),
    ],
)
def test_numbers_are_graded_by_their_first_word(reply: str, score: float) -> None:
    assert relative_accuracy(reply, Decimal(2)) == score
