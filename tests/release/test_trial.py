"""Trials: spread over tasks and scenes, nothing of the truth in what is handed out, marked as the benchmark scores."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from pipeline.benchmarks.vsi.card import COLUMNS
from pipeline.core.errors import ConfigError
from pipeline.questions.published import Published
from pipeline.release.trial import TrialMedia, answer_sheet, choose, key_sheet, marked, page, scene_of, video_of

TURN = "left & <b>right</b>"


def asked(number: int, task: str, scene: str, truth: str, options: tuple[str, ...] | None = None) -> Published:
    text = "What is the distance (in meters)?" if options is None else f"Where to: {TURN}?"
    return Published(number, "made", scene, task, text, options, truth)


CHOICES = ("A. left", "B. right", "C. back")
QUESTIONS = [
    *(asked(n, "distance", f"room{n % 3}", str(n)) for n in range(1, 31)),
    *(asked(n, "turn", f"room{n % 3}", "B", CHOICES) for n in range(31, 35)),
]


def test_tasks_share_alike_and_scenes_within_them() -> None:
    chosen = choose(QUESTIONS, 10)
    assert Counter(q.question_type for q in chosen) == {"distance": 6, "turn": 4}  # there are four turns only
    assert set(Counter(q.scene_name for q in chosen if q.question_type == "distance").values()) == {2}
    assert [scene_of(q) for q in chosen] == sorted(scene_of(q) for q in chosen)
    assert choose(QUESTIONS[::-1], 10) == chosen, "ids decide, not their order"
    assert len(choose(QUESTIONS, 100)) == len(QUESTIONS)


def test_what_is_handed_out_holds_no_truth_and_no_markup_of_its_own() -> None:
    chosen = choose(QUESTIONS, 12)
    rows = list(csv.DictReader(io.StringIO(answer_sheet(chosen).decode())))
    assert [row["number"] for row in rows] == [str(n) for n in range(1, 13)]
    assert {row["answer"] for row in rows} == {""}
    assert rows[0]["video"] == f"{scene_of(chosen[0])}.mp4"
    assert {row["options"] for row in rows} == {"", " | ".join(CHOICES)}
    shown = page(chosen, [TrialMedia(f"../videos/{video_of(q)}") for q in chosen]).decode()
    assert shown.count("<fieldset>") == 12
    assert shown.count("<video") == 3
    assert "../videos/made/room0.mp4" in shown
    assert "<b>" not in shown
    assert "&lt;b&gt;right" in shown


def test_answers_are_marked_as_the_benchmark_scores_them() -> None:
    chosen = [asked(7, "distance", "room", "2.0"), asked(8, "distance", "room", "3.0"), *QUESTIONS[30:33]]
    answers = b'number,answer\n1,"2.4 m"\n3,b\n4,A\n'
    scores = [m.score for m in marked(answers, key_sheet(chosen), QUESTIONS + chosen)]
    assert scores == [0.7, None, 1.0, 0.0, None]  # 20% off: within 0.5, 0.45, ... 0.2, seven of ten tolerances


@pytest.mark.parametrize(
    ("answers", "key", "message"),
    [
        (b"number,answer\n9,A\n", key_sheet(QUESTIONS[:2]), "question 9"),
        (b"number\n1\n", key_sheet(QUESTIONS[:2]), "the answers: no column answer"),
        (b"number,answer\n1,A\n", key_sheet(QUESTIONS[1:3]), "question 3, which is not in this release"),
        (b"\xff\xfe", key_sheet(QUESTIONS[:2]), "cannot be read as CSV"),
    ],
)
def test_sheets_of_something_else_are_refused(answers: bytes, key: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        marked(answers, key, QUESTIONS[:2])


def test_the_command_writes_and_marks(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert "build first" in str(run(app, ["trial", str(tmp_path)]).exception)
    rows = [vars(q) | {"options": None if q.options is None else list(q.options), "pruned": False} for q in QUESTIONS]
    (tmp_path / "release" / "data").mkdir(parents=True)
    pq.write_table(
        pa.Table.from_pylist(rows, schema=COLUMNS.schema), tmp_path / "release" / "data" / "test-00000.parquet"
    )
    assert "Their raw data hold none" in str(run(app, ["trial", str(tmp_path)]).exception)
    (tmp_path / "videos" / "made").mkdir(parents=True)
    for room in range(3):
        (tmp_path / "videos" / "made" / f"room{room}.mp4").touch()
    early = str(run(app, ["trial", str(tmp_path), "--answers", __file__]).exception)
    assert early.endswith("; write the sheet first, without --answers")
    written = run(app, ["trial", str(tmp_path), "--questions", "5"])
    assert written.exit_code == 0, written.output
    gone = str(run(app, ["trial", str(tmp_path), "--answers", "gone.csv"]).exception)
    assert gone == "gone.csv: cannot be read (No such file or directory); check the path"
    sheet = tmp_path / "trial" / "answers.csv"
    sheet.write_text(sheet.read_text().replace(f'{CHOICES[-1]}",', f'{CHOICES[-1]}",B').replace("back,\n", "back,B\n"))
    shown = run(app, ["trial", str(tmp_path), "--answers", str(sheet)])
    assert shown.exit_code == 0, shown.output
    turns = next(line for line in shown.output.splitlines() if "turn " in line)
    assert "1.000" in turns


def test_of_flights_the_clips_are_shown() -> None:
    """Each question is of its own part of the video; scenes are told apart all the same."""
    names = ["city/mill.mp4", "city/mill/25.mp4", "city/barn/31.mp4", "city/mill/25.mp4"]
    chosen = choose([Published(n, None, name, "goal", "?", CHOICES, "B") for n, name in enumerate(names)], 4)
    assert [scene_of(q) for q in chosen] == ["city/barn", *["city/mill"] * 3]
    shown = page(chosen, [TrialMedia(f"../videos/{video_of(q)}") for q in chosen]).decode()
    assert shown.count("<video") == 3  # two questions are of one clip
    assert all(f'"../videos/{name}"' in shown for name in names)


def test_pictures_of_a_question_stand_with_it_and_what_nobody_can_mark_is_not_asked() -> None:
    open_one = Published(9, "made", "square", "gps", "Where is it?", None, '{"lat": 1.0}')
    chosen = choose([Published(1, "made", "square", "turn", "?", CHOICES, "B"), open_one], 4)
    assert [q.id for q in chosen] == [1]
    shown = page(chosen, [TrialMedia(None, ("../release/views/a.jpg", '../release/views/".jpg'))]).decode()
    assert "<video controls" not in shown
    assert '<img src="../release/views/a.jpg" alt="picture 1 of question 1">' in shown
    assert "views/&#34;.jpg" in shown
