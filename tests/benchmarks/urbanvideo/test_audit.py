"""`scan2qa audit urbanvideo`: rows by hand, each with one fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.audit import CHECKS, examine
from pipeline.questions.audited import Basis, Examined
from tests.benchmarks.urbanvideo.test_score import question
from tests.scoring.made import file_of

GOOD = question(1, "Causal", "A", "a_1.mp4")
FIVE = "\n".join(f"{letter}. option {letter.lower()}" for letter in "ABCDE")


def told(tmp_path: Path, *rows: dict[str, Any]) -> Examined:
    numbered = [row | {"Question_id": n} for n, row in enumerate(rows, start=1)]
    return examine(file_of(tmp_path / "q.json", numbered), Basis())


@pytest.mark.parametrize(
    ("finding", "changed"),
    [
        ("options_missing", {"question": "Question: Which?"}),
        ("options_out_of_order", {"question": "Question: Which? Choices:\nA. one\nC. two", "answer": "A"}),
        ("options_repeated", {"question": "Question: Which? Choices:\nA. One.\nB. one", "answer": "A"}),
        ("answer_not_offered", {"answer": "F"}),
        ("category_unknown", {"question_category": "Something"}),
        ("compass_direction", {"question": f"Question: Is it to the north? Choices:\n{FIVE}"}),
    ],
)
def test_one_fault_of_a_row(tmp_path: Path, finding: str, changed: dict[str, Any]) -> None:
    found = told(tmp_path, GOOD, GOOD | {"video_id": "a_2.mp4"} | changed)
    assert found.table["findings"].to_pylist() == ["", finding]
    assert [(row[1], row[2], row[3]) for row in found.listings[0].rows if row[0] == CHECKS[finding]] == [
        ("1", "1", "2")
    ]


def test_maps_that_differ_by_a_sign_are_not_the_same(tmp_path: Path) -> None:
    maps = {"question": "Question: Which map? Choices:\nA. S**/..E\nB. S*./.*E", "answer": "A"}
    assert told(tmp_path, GOOD | maps).table["findings"].to_pylist() == [""]


def test_a_question_that_is_there_twice_and_what_is_guessed(tmp_path: Path) -> None:
    long = question(2, "Proximity", "B", "a_2.mp4")
    long["question"] = "Question: Which? Choices:\nA. one\nB. the longest\nC. two"
    found = told(tmp_path, GOOD, GOOD, long)
    assert found.table["findings"].to_pylist() == ["asked_twice", "asked_twice", ""]
    assert found.table["options"].to_pylist() == [5, 5, 3]
    # Chance is 1/5 and 1/3; A is right twice; of options of one length the first counts as the longest.
    assert found.listings[2].rows == [
        ("Proximity", "1", "33.3%", "B 100.0%", "100.0%"),
        ("Causal", "2", "20.0%", "A 100.0%", "100.0%"),
        ("all", "3", "24.4%", "A 66.7%", "100.0%"),
    ]
