from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.benchmarks.vsi import score as released
from pipeline.metrics.mra import mean_relative_accuracy
from tests.oracles.reply_parsers import lmms

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
WORDS = st.sampled_from(
    [*lmms._NUMBER_WORDS, "and", "a", "chairs", "-", "3", "2.50", "-7", ".", "room", "Three", "1,5"]
)
REPLIES = st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=12)


@pytest.mark.parametrize(("reply", "word"), FIRST_WORDS.items())
def test_the_first_word_is_the_answer(reply: str, word: str) -> None:
    assert released.first_word(reply) == word


@pytest.mark.parametrize(
    ("reply", "score"), [("B", 1), ("b.", 1), ("B. chair", 1), ("A", 0), ("(B)", 0), ("The answer is B.", 0), ("", 0)]
)
def test_accuracy_heeds_no_case(reply: str, score: float) -> None:
    assert released.accuracy(reply, "B") == score


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
    assert released.relative_accuracy(released.number_of_first_word(reply), 2.0) == score


def test_the_released_arithmetic_is_that_of_doubles() -> None:
    """4 for 5 is off by a fifth; 1 - 0.8 is a little less in doubles, so that the released code counts one less."""
    assert released.relative_accuracy(4.0, 5.0) == lmms.mean_relative_accuracy(4.0, 5.0, 0.5, 0.95, 0.05) == 0.6
    assert mean_relative_accuracy(Decimal(4), 5) == 0.7
    assert released.relative_accuracy(0.0, 0.0) == 1.0, "where the released code fails"


@given(st.floats(-1e6, 1e6), st.floats(0.01, 1e6))
def test_relative_accuracy_is_that_of_lmms_eval(guess: float, truth: float) -> None:
    assert released.relative_accuracy(guess, truth) == lmms.mean_relative_accuracy(guess, truth, 0.5, 0.95, 0.05)


@given(REPLIES)
@example("one apple, room 2")
@example("hundred and one")
@example("two thousand hundred")
@example("three. and four")
def test_the_first_number_is_that_of_lmms_eval(reply: str) -> None:
    assert released.first_number(reply) == lmms.extract_number(reply)


def test_hundreds_of_hundreds_are_a_number_too_large_and_no_failure() -> None:
    assert released.relative_accuracy(released.first_number("hundred " * 1000), 4.0) == 0.0


@given(st.text(max_size=12), st.sampled_from("ABCD"))
def test_letters_are_marked_as_by_lmms_eval(reply: str, truth: str) -> None:
    assert released.accuracy(reply, truth) == lmms.exact_match(lmms.fuzzy_matching(reply), truth)
