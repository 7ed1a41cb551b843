"""The command `scan2qa leaderboard`: models side by side, paired, and in four forms."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.builds import Cli, rows_of
from tests.flows.test_score import release_of
from tests.scoring.made import said, vsi

# Two scenes, each with four routes: B is right in all.
ROWS = [vsi(n, "route_planning", "B", f"room{n % 2}") for n in range(1, 9)]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return release_of(tmp_path / "release", ROWS, {"route_planning": 0.4})


def replies(folder: Path, name: str, wrong: set[int]) -> str:
    return f"{name}={said(folder / f'{name[:1]}.jsonl', {n: 'A' if n in wrong else 'B' for n in range(1, 9)})}"


def test_models_are_ranked_and_compared_question_by_question(scan2qa: Cli, release: Path, tmp_path: Path) -> None:
    # In both scenes "second" loses one question to "first": the difference is sure, the totals' intervals meet.
    given = [replies(tmp_path, "second", {1, 2, 3, 4}), replies(tmp_path, "first", {1, 2})]
    run = scan2qa("leaderboard", "vsi", release, *given, "--json")
    assert run.code == 0, run.err
    first, second = json.loads(run.out)["standings"]
    assert (first["rank"], first["model"], first["mean of 1 of 8"]) == (1, "first", 0.75)
    assert (second["rank"], second["model"], second["mean of 1 of 8"]) == (2, "second", 0.5)
    assert first["behind"] is None
    assert (second["behind"], second["behind_low"], second["behind_high"]) == (0.25, 0.25, 0.25)


def test_it_is_written_in_four_forms(scan2qa: Cli, release: Path, tmp_path: Path) -> None:
    given = [replies(tmp_path, "<b>a_1</b>", {1}), replies(tmp_path, "c|d & 5%", {1, 2, 3})]
    other = said(tmp_path / "o.jsonl", {1: "B"})
    people = said(tmp_path / "p.jsonl", {1: "B", 2: "A"})
    out = [word for form in ("html", "md", "tex", "csv") for word in ("--out", tmp_path / f"l.{form}")]
    more = [f"<b>a_1</b>@debiased={other}", "--people", people, *out, "--difficulty", tmp_path / "d.parquet"]
    run = scan2qa("leaderboard", "vsi", release, *given, *more)
    assert run.code == 0, run.err
    html = (tmp_path / "l.html").read_text()
    assert "<b>" not in html
    assert "&lt;b&gt;a_1&lt;/b&gt;" in html
    assert html.count("<circle") == 3, "two models and people"
    assert "guessing</text>" in html
    assert "prefers-color-scheme: dark" in html
    markdown = (tmp_path / "l.md").read_text()
    assert "| &lt;b&gt;a_1&lt;/b&gt; | 8 | **0.875** | " in markdown
    assert "| c\\|d &amp; 5% | 8 | 0.625 | " in markdown
    latex = (tmp_path / "l.tex").read_text()
    assert r"c|d \& 5\% & 8 & 0.625 & " in latex
    assert r"a\_1" in latex
    with (tmp_path / "l.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["debiased"], row["answered"]) for row in rows] == [
        ("<b>a_1</b>", "1", "8"),
        ("c|d & 5%", "", "8"),
        ("people", "", "2"),
    ]
    assert float(rows[2]["route_planning"]) == 0.5, "of what they answered"
    marks = {row["id"]: row for row in rows_of(tmp_path / "d.parquet")}
    assert [marks[n]["failed_by_all"] for n in (1, 2, 4)] == [True, False, False]
    assert [marks[n]["mean_mark"] for n in (1, 2, 4)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["FILE"], "say MODEL=FILE"),
        (["a=FILE", "a=FILE"], "a has other replies already"),
        (["a@debiased=FILE"], "no model has replies to the split test"),
        (["a=FILE", "b@debiased=FILE"], "b has replies to another split alone, and is ranked on test: give b=FILE too"),
        (["a@nope=FILE"], "has no split 'nope'"),
        (["a=FILE", "--out", "l.pdf"], "is written as .html, .md, .tex, .csv"),
        (["a=nothing.jsonl"], "nothing.jsonl"),
    ],
)
def test_wrong_calls(given: list[str], told: str, scan2qa: Cli, release: Path, tmp_path: Path) -> None:
    file: Any = said(tmp_path / "r.jsonl", {1: "B", 2: "A"})
    run = scan2qa("leaderboard", "vsi", release, *(word.replace("FILE", str(file)) for word in given))
    assert run.code == 2
    assert told in run.err
