"""Replies in words: what they state, and the names that they name."""

import pytest

from pipeline.metrics.replies import json_objects
from pipeline.metrics.words import is_named, is_stated


@pytest.mark.parametrize(
    ("reply", "answer", "right"),
    [
        ("a sedan.", "A sedan", True),
        ('{"answer": "Green"}', "green", True),
        ("<answer>8</answer>", "8", True),
        ("<think>9?</think> eight", "8", True),
        ("green and red", "green", False),
        ("8 cars", "8", True),
        ("3 + 5 = 8", "8", True),
        ("7 or 8", "8", False),
        ("The answer is green.", "green", True),
        ("green\nFinal answer: **blue**", "green", False),
        ("I looked around.\nGreen.", "green", True),
        ("It is not green", "green", False),
        ("答案是green", "green", True),
        ("Yes, it is.", "yes", True),
        ("No, yes", "yes", False),
        ("Yes, no doubt.", "yes", True),
        ("x" * 600_000, "8", False),
    ],
)
def test_a_reply_states_an_answer(reply: str, answer: str, right: bool) -> None:
    assert is_stated(reply, [answer]) is right


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("LUNA", True), ("It is the Hôtel Real.", True), ("The answer is: hotel", True), ("hotel reall", True),
        ("HOTEL REAL or CINE LUNA", False), ("Hotel Real, Cine Luna", False), ("", False), ("real estate", False),
        ("Hotel Real; hotel", True), ("One two three four five six seven HOTEL REAL", False),
    ],
)  # fmt: skip
def test_a_name_is_matched_loosely_and_alone(reply: str, is_right: bool) -> None:
    forms = ["LUNA"] if reply == "LUNA" else ["HOTEL REAL", "hotel"]
    assert is_named(reply, forms) is is_right


@pytest.mark.parametrize(("letters", "is_right"), [("abcdefgh12", True), ("abcdefg123", False)])
def test_a_letter_in_five_may_differ(letters: str, is_right: bool) -> None:
    assert is_named(letters, ["abcdefghij"]) is is_right
    assert is_named(letters * 24, ["abcdefghij" * 24]) is is_right, "however long the name is"


def test_accents_do_not_count_and_six_words_may_stand_beside_a_name() -> None:
    assert is_named("Café Über", ["cafe uber"])
    assert is_named("1 2 3 4 5 6 HOTEL", ["hotel"])
    assert not is_named("1 2 3 4 5 6 7 HOTEL", ["hotel"])


def test_objects_of_a_reply_are_read_whatever_stands_between_them() -> None:
    found = json_objects('{oops {"a": 1} {{"b": [2]} [3] {"c": {"d": "4\n"}} {"e": ')
    assert list(found) == [{"a": 1}, {"b": [2]}, {"c": {"d": "4\n"}}]
