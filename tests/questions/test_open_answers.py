"""Answers in words of one's own: no options are shown, and who guesses chooses among what is usually answered."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.blind.items import item_of
from pipeline.questions.choices import is_number, offered

ROW: dict[str, Any] = {
    "id": 1, "task": "t", "scene": "a/b", "group": "shop 3", "text": "Is it open?", "options": None, "from_s": None,
    "ground_truth": "no", "choices": ["A. yes", "B. no"], "choice": "B", "until_s": None,
}  # fmt: skip


def test_words_are_chosen_among_the_choices() -> None:
    item = item_of(ROW)
    assert (item.options, item.right, item.number) == (("yes", "no"), 1, None)
    assert item.group == "a/b#shop 3"
    assert offered(ROW)["ground_truth"] == "B"


def test_numbers_stay_numbers_unless_choices_are_wanted() -> None:
    row = ROW | {"ground_truth": "2.5", "choices": ["A. 2.0", "B. 2.5"], "group": None}
    assert item_of(row).number is not None
    assert item_of(row).group == "a/b"
    assert item_of(row, among_choices=True).options == ("2.0", "2.5")
    assert offered(row) == row


def test_options_stay_options() -> None:
    row = ROW | {"options": ["A. left", "B. right"], "ground_truth": "A", "choices": None, "choice": None}
    assert item_of(row).options == ("left", "right")
    assert offered(row) == row


@pytest.mark.parametrize(
    ("text", "number"), [("2.5", True), (" 3 ", True), ("three", False), ("NaN", False), ("", False)]
)
def test_what_is_a_number(text: str, number: bool) -> None:
    assert is_number(text) is number
