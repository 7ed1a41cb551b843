"""The command `scan2qa audit` for questions that are examined alone; against metadata: tests/flows/test_cli.py."""

import csv
from pathlib import Path

import pytest

from tests.benchmarks.cityeqa.cities import task, written
from tests.builds import Cli, rows_of


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
    assert "q.json holds questions of cityeqa, not of vsi: write cityeqa in place of vsi" in run.err
    run = scan2qa("audit", "vsi", "--questions", written(tmp_path / "none.json"))
    assert run.code == 2
    assert "questions of vsi are answered again from metadata: give their folder with --meta" in run.err
    run = scan2qa("coverage", "cityeqa", "--meta", tmp_path, "--questions", tmp_path / "q.json")
    assert run.code == 2
    assert "examined alone" in run.err
