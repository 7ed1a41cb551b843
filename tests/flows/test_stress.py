"""`scan2qa stress-test`, on made files and on the released one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from flows.cli.app import app
from pipeline.blind.items import BlindItem
from pipeline.core.errors import ConfigError
from tests.blind.panel import nearest_items, size_items

COLUMNS = ["id", "question_type", "bias_score", "chance", "fold", "removed_in_round"]

Row = dict[str, Any]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["stress-test", *map(str, arguments)], catch_exceptions=False)


def released(items: Sequence[BlindItem], first_id: int = 0) -> list[Row]:
    """Rows in the released columns."""
    return [
        {
            "id": first_id + number,
            "dataset": "made",
            "scene_name": item.group,
            "building": f"building {number % 7}",
            "question_type": item.task,
            "question": item.text,
            "options": [f"{letter}. {option}" for letter, option in zip("ABCD", item.options, strict=False)] or None,
            "ground_truth": "ABCD"[item.right] if item.right is not None else str(item.number),
        }
        for number, item in enumerate(items)
    ]


ROWS = [*released(nearest_items(60, shortcut=True)), *released(size_items(60, spread=0.3), first_id=60)]


def write_lines(path: Path, rows: list[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_list(path: Path, rows: list[Row]) -> None:
    path.write_text(json.dumps(rows), encoding="utf-8")


def write_parquet(path: Path, rows: list[Row]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


FORMATS: dict[str, Callable[[Path, list[Row]], None]] = {
    ".jsonl": write_lines,
    ".json": write_list,
    ".parquet": write_parquet,
}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    write_lines(path, ROWS)
    return path


def told(folder: Path, *arguments: str) -> tuple[Path, str]:
    """What the command writes and says about the questions as they are."""
    write_lines(folder / "questions.jsonl", ROWS)
    return folder / "out.parquet", run(folder / "questions.jsonl", "--out", folder / "out.parquet", *arguments).output


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return told(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def by_building(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return told(tmp_path_factory.mktemp("by_building"), "--group", "building")


@pytest.mark.slow
def test_one_row_per_question(plain: tuple[Path, str]) -> None:
    out, said = plain
    table = pq.read_table(out)
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert {row["removed_in_round"] for row in rows} == {None}
    assert all(0 <= row["bias_score"] <= 1 for row in rows)
    for words in ("folds by scene_name", "most frequent", "by name, mixed", "object_rel_distance", "1.000 ± 0.000"):
        assert words in said
    assert "pruning" not in said


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_format_row_order_and_a_second_run_make_no_difference(
    suffix: str, by_building: tuple[Path, str], tmp_path: Path
) -> None:
    FORMATS[suffix](tmp_path / f"again{suffix}", ROWS[::-1])
    run(tmp_path / f"again{suffix}", "--out", tmp_path / "again.parquet", "--group", "building")
    assert (tmp_path / "again.parquet").read_bytes() == by_building[0].read_bytes()


@pytest.mark.long
def test_row_order_makes_no_difference_to_pruning(questions: Path, tmp_path: Path) -> None:
    arguments = ["--group", "building", "--budget", 60]
    write_lines(tmp_path / "again.jsonl", ROWS[::-1])
    run(questions, "--out", tmp_path / "one.parquet", *arguments)
    run(tmp_path / "again.jsonl", "--out", tmp_path / "two.parquet", *arguments)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


@pytest.mark.slow
def test_pruning_to_a_budget_of_each_answer_format(questions: Path, tmp_path: Path) -> None:
    result = run(questions, "--out", tmp_path / "out.parquet", "--budget", 20)
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    removed = Counter(row["question_type"] for row in rows if row["removed_in_round"])
    assert removed == {"object_rel_distance": 20, "object_size_estimation": 20}
    assert "rounds of pruning, on folds that pruning never saw" in result.output


@pytest.mark.slow
def test_pruning_to_a_limit(questions: Path, tmp_path: Path) -> None:
    """The lamp is always right: 0.75 above chance, to the last ten, which leave together. Above that nothing can be."""
    gone = {}
    for tau in (0.6, 0.76):
        run(questions, "--out", tmp_path / "out.parquet", "--tau", tau)
        rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
        removed = Counter(row["question_type"] for row in rows if row["removed_in_round"])
        gone[tau] = removed["object_rel_distance"]
    assert gone == {0.6: 60, 0.76: 0}


@pytest.mark.slow
def test_folds_keep_the_column_together_or_nothing(
    plain: tuple[Path, str], by_building: tuple[Path, str], tmp_path: Path
) -> None:
    folds = {}
    for name, (out, said) in {
        "scene_name": plain,
        "building": by_building,
        "none": told(tmp_path, "--ungrouped"),
    }.items():
        folds[name] = pq.read_table(out)["fold"].to_pylist()
        assert ("folds mix scenes" if name == "none" else f"folds by {name}") in said
    for name in ("scene_name", "building"):
        pairs = {(row[name], fold) for row, fold in zip(ROWS, folds[name], strict=True)}
        assert len(pairs) == len({row[name] for row in ROWS})
    assert len({(row["scene_name"], fold) for row, fold in zip(ROWS, folds["none"], strict=True)}) > 60


@pytest.mark.slow
def test_ids_may_be_texts(tmp_path: Path) -> None:
    write_lines(tmp_path / "q.jsonl", [row | {"id": f"q{row['id']}"} for row in ROWS])
    run(tmp_path / "q.jsonl", "--out", tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").field("id").type == pa.string()


def test_other_tasks_are_known_by_their_words(tmp_path: Path) -> None:
    """In a benchmark without templates here, an option that says "always" is right."""
    rows = [
        {
            "id": n,
            "scene_name": f"flight{n // 2}",
            "question_type": "landmark",
            "question": f"What stands beside tower {n}?",
            "options": [
                f"A. {'always' if n % 2 else 'never'} a tree {n}",
                f"B. {'never' if n % 2 else 'always'} a house",
            ],
            "ground_truth": "A" if n % 2 else "B",
        }
        for n in range(60)
    ]
    write_lines(tmp_path / "q.jsonl", rows)
    run(tmp_path / "q.jsonl", "--out", tmp_path / "out.parquet")
    scores = pq.read_table(tmp_path / "out.parquet")["bias_score"].to_pylist()
    assert min(scores) > 0.5


@pytest.mark.parametrize(
    ("rows", "arguments", "said"),
    [
        ([], [], "there is none; name another with --group, or give --ungrouped"),
        (ROWS[:2], [], "folds need two values of scene_name, and there is 1"),
        (ROWS, ["--group", "street"], "question 0 has no street; name another column"),
        (ROWS, ["--group", "building", "--ungrouped"], "exclude each other; leave one out"),
        (
            [ROWS[0] | {"ground_truth": "E"}, *ROWS[1:]],
            [],
            "q.jsonl: question 0 .*'E' is none of the letters A, B, C, D",
        ),
        ([ROWS[60] | {"ground_truth": "large"}, *ROWS], [], "question 60 .*'large' is no number"),
        ([ROWS[0] | {"options": None, "ground_truth": "1"}, *ROWS[1:]], [], "question 0 and others have no options"),
        ([ROWS[0] | {"question": None}, *ROWS[1:]], [], "question 1 has no question"),
    ],
)
def test_wrong_input_is_one_line_that_says_what_to_do(
    rows: list[Row], arguments: list[str], said: str, tmp_path: Path
) -> None:
    write_lines(tmp_path / "q.jsonl", rows)
    with pytest.raises(ConfigError, match=said):
        run(tmp_path / "q.jsonl", "--out", tmp_path / "out.parquet", *arguments)
    assert not (tmp_path / "out.parquet").exists()


def test_wrong_limits_are_refused(questions: Path, tmp_path: Path) -> None:
    for arguments in (["--budget", -1], ["--tau", 2]):
        assert run(questions, "--out", tmp_path / "out.parquet", *arguments).exit_code == 2
