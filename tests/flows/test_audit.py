"""The command `scan2qa audit` for questions that are examined alone; against metadata: tests/flows/test_cli.py."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.audit import CHECKS, examine
from pipeline.questions.audited import Basis, Examined
from tests.benchmarks.cityeqa.cities import task, written
from tests.benchmarks.urbanvideo.test_score import question
from tests.builds import Cli, rows_of
from tests.scoring.made import file_of


def test_tables_and_rows(scan2qa: Cli, tmp_path: Path) -> None:
    file = written(tmp_path / "q.json", task(1, split="a"), task(2, hop="north", split="b"))
    run = scan2qa("audit", "cityeqa", "--questions", file, "--out", tmp_path / "a.csv", "--split-column", "split")
    assert (run.code, run.err) == (0, "")
    for part in ("hop 1 is where the start looks", "2 of 2", "--verbose also shows: ", "Leaks of the split, by target"):
        assert part in run.out
    assert "target_is_unique" not in run.out, "a detail"
    assert "target_is_unique" in scan2qa("audit", "cityeqa", "--questions", file, "--verbose").out
    with (tmp_path / "a.csv").open() as rows:
        assert [row["status"] for row in csv.DictReader(rows)] == ["unsupported"] * 2  # no other row says it
    run = scan2qa("audit", "cityeqa", "--questions", file, "--out", tmp_path / "a.parquet")
    assert [row["id"] for row in rows_of(tmp_path / "a.parquet")] == ["1", "2"]


def test_rows_left_out_are_named_word_for_word_and_end_with_3(scan2qa: Cli, tmp_path: Path) -> None:
    odd = task(2, answer="[/b]\n<i>x</i>", category="[bold]Counting")
    file = written(
        tmp_path / "q.json",
        task(1, question_id="[/red]", question="[red]?"),
        odd,
        task(3, initial_pose=[1, 2, 3, 4, 5]),
    )
    run = scan2qa("audit", "cityeqa", "--questions", file)
    assert (run.code, run.err) == (3, "")
    assert f"Left out of {file}: 2" in run.out
    assert "- row 2 (question 2): unknown_category: category is '[bold]Counting'. Remedy: give one of Object" in run.out
    assert "- row 3 (question 3): pose_not_six_numbers: initial_pose has 5 numbers. Remedy: give [x, y, z, " in run.out
    assert "[/red]" in run.out, "a wording that is not recognised"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--meta", "here"], "questions of cityeqa are examined alone: leave --meta out"),
        (["--profile", "strict"], "questions of cityeqa are examined alone: leave --profile out"),
        (["--out", "a.xlsx"], "tables are written as .parquet or .csv"),
    ],
)
def test_wrong_calls(more: list[str], said: str, scan2qa: Cli, tmp_path: Path) -> None:
    run = scan2qa("audit", "cityeqa", "--questions", written(tmp_path / "q.json", task()), *more)
    assert run.code == 2
    assert said in run.err


def test_metadata_that_are_needed(scan2qa: Cli, tmp_path: Path) -> None:
    run = scan2qa("audit", "vsi", "--questions", written(tmp_path / "q.json", task()))
    assert run.code == 2
    assert "questions of vsi are answered again from metadata: give their folder with --meta" in run.err
    run = scan2qa("coverage", "cityeqa", "--meta", tmp_path, "--questions", tmp_path / "q.json")
    assert run.code == 2
    assert "examined alone" in run.err


# ---- `scan2qa audit urbanvideo`: rows by hand, each with one fault


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
