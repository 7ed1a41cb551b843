"""Questions about drives, answered again by an oracle of their own; their wording, their rules."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.even import least_of
from pipeline.benchmarks.embodied4c.kinds import DRIVING
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks.base import ExamTask
from pipeline.benchmarks.embodied4c.tasks.registry import EXAM_TASKS
from pipeline.benchmarks.embodied4c.view import exam
from pipeline.questions.task import Number
from pipeline.reading.files import SceneFiles
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.samples.write import write_drives
from tests.conftest import REAL_DATA
from tests.oracles.exam_answers import Log


def candidates(root: Path, **rules: Any) -> dict[str, list[dict[str, Any]]]:
    """Folder of a log -> all rows of all tasks."""
    reader, found = Argoverse2(), {}
    for ref in reader.scenes(root).scenes:
        view = exam(reader.read(SceneFiles(root, ref)), ExamRules(**rules))
        tables = [task.candidates(view) for task in EXAM_TASKS.values()]
        found[ref.files[0]] = pa.concat_tables(tables).to_pylist()
    return found


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample drives."""
    folder = tmp_path_factory.mktemp("drives")
    write_drives(folder)
    return folder / "argoverse2"


@pytest.fixture(scope="module")
def rows(drives: Path) -> dict[str, list[dict[str, Any]]]:
    return candidates(drives)


def wrong_answers(log: Log, rows: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """How many questions the oracle answered, and what it says otherwise: beyond rounding, of a number."""
    wrong, asked = [], 0
    for row in rows:
        if row["reason"] is not None or row["task"] == "GEN" or row["task"].startswith("written"):
            continue
        kind, t_s, *more = row["operands"]
        found = log.answer(kind, float(t_s), *more)
        asked += found is not None
        if isinstance(found, str):
            is_right = found == row["answer"]
        else:
            decimals = len(row["answer"].partition(".")[2])
            # Half a unit of rounding, and what a tenth of a millimetre in a place may change in a rate.
            is_right = found is not None and abs(float(row["answer"]) - found) <= 0.5 * 10**-decimals + SLACK * abs(
                found
            )
        if not is_right:
            wrong.append(f"{row['operands']}: {row['answer']}, the oracle has {found}")
    return asked, wrong


SLACK = 1e-4


@pytest.mark.slow
def test_an_oracle_answers_all_questions_about_the_sample_drives_alike(drives: Path) -> None:
    asked, wrong = 0, []
    for folder, found in candidates(drives, even_answers=False).items():
        n, own = wrong_answers(Log(drives / folder), found)
        asked, wrong = asked + n, wrong + own
    assert not wrong, f"{len(wrong)} of {asked}: {wrong[:10]}"
    assert asked >= 3000


@pytest.mark.slow
@pytest.mark.real_data
def test_an_oracle_answers_questions_about_a_real_log_alike() -> None:
    root = REAL_DATA / "driving" / "av2"
    ((folder, found),) = candidates(root, exam_moments_max=5, even_answers=False).items()
    asked, wrong = wrong_answers(Log(root / folder), found)
    assert not wrong, f"{len(wrong)} of {asked}: {wrong[:10]}"
    assert asked >= 600


def test_the_oracle_would_notice(drives: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Answers that are off by one unit of their last decimal, or that another question has, are found wrong."""
    folder, found = next(iter(rows.items()))
    asked = [row for row in found if row["reason"] is None and row["task"] in ("DT", "LC", "CT", "R/D")]
    spoilt = [
        row | {"answer": row["wrong"][0] if row["wrong"] else f"{float(row['answer']) * 1.02 + 0.2:.1f}"}
        for row in asked
    ]
    n, wrong = wrong_answers(Log(drives / folder), spoilt)
    assert n == len(wrong) > 100


def test_questions_are_worded_whole_and_stand_within_their_log(rows: dict[str, list[dict[str, Any]]]) -> None:
    asked = [row for found in rows.values() for row in found if row["reason"] is None]
    for row in asked:
        assert re.fullmatch(r"[A-Z].*[.?]", row["wording"]), row["wording"]
        assert not re.search(r"[{}]|  | ,|nan", row["wording"]), row["wording"]
        assert row["answer"] not in row["wrong"]
    wanted = {name for name, task in EXAM_TASKS.items() if isinstance(task, ExamTask) and DRIVING in task.asks}
    assert {row["task"] for row in asked} >= wanted - {"M/T seconds"}, "on few of the roads one stands long"
    moments = {float(row["operands"][1]) for row in asked if row["until_s"] is not None}
    assert min(moments) >= 2.0
    numeric = [row for row in asked if row["task"] in ("DT", "CS", "M/T")]
    for row in numeric:
        (value,) = [fact["value"] for fact in row["evidence"] if fact["name"] == "answer"]
        assert f"{value:.1f}" == row["answer"]
        assert "one decimal" in row["wording"]
    kinds = Counter(row["operands"][0] for row in asked if row["task"] != "GEN")
    assert len(kinds) >= 35


def test_numbers_name_their_reference_points(rows: dict[str, list[dict[str, Any]]]) -> None:
    for row in (row for found in rows.values() for row in found if row["reason"] is None):
        if row["task"] in ("DT", "CT"):
            assert "nearest surface" in row["wording"], row["wording"]


@pytest.mark.parametrize(
    ("sizes", "least"),
    [
        ((58, 10, 1), 10),
        ((3, 3, 1, 1), 1),
        ((5,), 1),
        ((4, 4), 4),
        ((9, 1), 1),
        ((30, 20, 20, 2), 20),
        ((100, 3, 2), 2),
    ],
)
def test_answers_are_evened_so_that_most_stay(sizes: tuple[int, ...], least: int) -> None:
    assert least_of(sizes) == least


def test_no_answer_in_words_is_given_over_twice_as_often_as_another(rows: dict[str, list[dict[str, Any]]]) -> None:
    for found in rows.values():
        for name, task in EXAM_TASKS.items():
            if isinstance(task.form, Number) and task.form.unit:
                continue
            kinds: dict[str, Counter[str]] = {}
            for row in found:
                if row["task"] == name and row["reason"] is None and name != "GEN":
                    kinds.setdefault(row["operands"][0], Counter())[row["answer"]] += 1
            for kind, counts in kinds.items():
                assert max(counts.values()) <= 2 * min(counts.values()), (name, kind, counts)
                assert len(counts) > 1 or counts.total() == 1, (kind, counts)
