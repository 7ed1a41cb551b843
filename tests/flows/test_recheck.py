"""Replies that people mark beside a judge, or label by error: what is drawn, what they see, and how they agree."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.cli.recheck import compare, recheck
from pipeline.core.errors import ConfigError

POSE = [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Twelve tasks of a city, as released."""
    rows = [
        {"question_id": n, "question": f"What is sign {n}?", "answer": f"sign {n}", "category": "Object Recognition"}
        | dict.fromkeys(("observation_pose", "target_pose", "initial_pose"), POSE)
        for n in range(12)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "tasks.parquet")
    return tmp_path / "tasks.parquet"


def scored(path: Path, marks: dict[int, float | None]) -> Path:
    """As `score --rows` writes them; None: not judged."""
    rows = [{"id": n, "ground_truth": f"sign {n}", "reply": f"reply {n}", "qaa": mark, "match": float(mark == 5),
             "judged": None if mark is None else "{}"} for n, mark in marks.items()]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def filled(path: Path, marks: list[str]) -> None:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(row | {"mark": mark} for row, mark in zip(rows, marks, strict=True))


def words_of(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed, without the lines of tables."""
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_people_mark_blind_and_are_correlated_with_the_judge(
    questions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = [scored(tmp_path / f"{m}.parquet", dict(enumerate([1, 2, 3, 4, 5, None]))) for m in ("one", "two")]
    out = tmp_path / "out"
    recheck("cityeqa", "judge", models, questions, 8, out)
    sheets = [(out / f"person_{n}.csv").read_text(encoding="utf-8") for n in (1, 2)]
    assert sheets[0] == sheets[1]
    assert not {"one", "two", "reply 5"} & set(sheets[0].replace("\n", ",").split(",")), "no model, nothing unjudged"
    judge = [row["mark"] for row in csv.DictReader((out / "key.csv").read_text(encoding="utf-8").splitlines())]
    assert len(judge) == 8
    filled(out / "person_1.csv", judge)
    filled(out / "person_2.csv", [str(6 - int(mark)) for mark in judge])
    compare("cityeqa", out)
    told = words_of(capsys)
    assert "judge and person 1 8 1.000" in told
    assert "judge and person 2 8 -1.000" in told
    filled(out / "person_2.csv", ["3"] * 8)
    compare("cityeqa", out)
    assert "judge and person 2 8 n/a n/a" in words_of(capsys)
    filled(out / "person_2.csv", ["good", *["3"] * 7])
    with pytest.raises(ConfigError, match=r"person 2, number 1: 'good' is no mark"):
        compare("cityeqa", out)


def test_wrong_replies_get_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "one.parquet", tmp_path / "out"
    questions = tmp_path / "questions.parquet"
    asked = {"scene_name": "a", "dataset": "scannet", "question_type": "object_rel_direction_easy", "ground_truth": "A"}
    rows = [asked | {"id": n, "question": f"Where is chair {n}?", "options": ["A. left", "B. right"]} for n in range(5)]
    pq.write_table(pa.Table.from_pylist(rows), questions)
    marked = [{"id": n, "ground_truth": "A", "reply": "B", "score": float(n in {1, 3})} for n in range(5)]
    pq.write_table(pa.Table.from_pylist(marked), file)
    recheck("vsi", "errors", [file], questions, 100, out)
    assert len((out / "key.csv").read_text(encoding="utf-8").splitlines()) == 1 + 3, "below half of the highest mark"
    with pytest.raises(ConfigError, match=r"person_1\.csv: no mark is filled in"):
        compare("vsi", out)
    filled(out / "person_1.csv", ["perception", "relations", "perception"])
    filled(out / "person_2.csv", ["perception", "", "frames"])
    compare("vsi", out)
    told = words_of(capsys)
    assert all(share in told for share in ("67% of 3", "50% of 2", "1 of 2")), told
    filled(out / "person_1.csv", ["bad", "", ""])
    with pytest.raises(ConfigError, match="'bad' is no error; one of perception, language"):
        compare("vsi", out)
    with pytest.raises(ConfigError, match="'bad' is no error; one of elements, motion, egocentric"):
        compare("urbanvideo", out)
    right = tmp_path / "right.parquet"
    pq.write_table(pa.Table.from_pylist([marked[1]]), right)
    with pytest.raises(ConfigError, match="no wrong reply"):
        recheck("vsi", "errors", [right], questions, 1, out)
    for do in (lambda: recheck("cityeqa", "errors", [file], questions, 1, out), lambda: compare("cityeqa", out)):
        with pytest.raises(ConfigError, match="its paper names no kinds of errors; --errors is for vsi and urbanvideo"):
            do()
