from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.audit import CHECKS, examine
from pipeline.benchmarks.urbanvideo.score import JUDGE, SCORE, UrbanScoreSettings, mark
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.llm.base import Reply
from pipeline.llm.failures import ModelError
from pipeline.questions.audited import ExaminationInputs, Examined
from pipeline.questions.scoring_protocol import Answer
from pipeline.scoring.score import ScoreResults, scored
from tests.scoring.made import file_of, said


def question(number: int, task: str, truth: str, video: str = "v1.mp4") -> dict[str, Any]:
    """A row as released."""
    options = "\n".join(f"{letter}. option {letter.lower()}" for letter in "ABCDE")
    text = f"Question: Which? Choices:\n{options}"
    return {"Question_id": number, "video_id": video, "question_category": task, "question": text, "answer": truth}


def score(tmp_path: Path, rows: list[dict[str, Any]], replies: dict[int, Any]) -> ScoreResults:
    return scored(
        SCORE, file_of(tmp_path / "q.json", rows), [said(tmp_path / "p.jsonl", replies)], UrbanScoreSettings()
    )


def test_the_categories_are_those_of_the_tasks() -> None:
    sizes = Counter(task.category for task in URBAN_TASKS.values())
    assert list(sizes.items()) == [("Recall", 5), ("Perception", 5), ("Reasoning", 3), ("Navigation", 3)]


def test_figures_by_hand(tmp_path: Path) -> None:
    rows = [question(n, "Causal", "A") for n in (1, 2, 3, 4)]
    rows += [question(5, "Association", "B", "AerialVLN_1.mp4"), question(6, "Proximity", "E", "flights/v2.mp4")]
    found = score(tmp_path, rows, {1: "A", 2: "Answer: A", 3: "B", 5: "Perhaps", 6: "option e"})
    values = {row.figure.name: (row.n, row.value) for row in found.rows}
    assert values == {
        "Proximity": (1, 1.0),
        "Causal": (4, 0.5),
        "Association": (1, 0.0),
        "Perception": (1, 1.0),
        "Reasoning": (5, pytest.approx(0.4)),
        "AerialVLN": (1, 0.0),
        "flights": (1, 1.0),
        "other videos": (4, 0.5),
        "all": (6, pytest.approx(0.5)),  # of all questions, as in the paper, and not the mean of tasks
    }
    assert found.found == {"unanswered": ["4"]}
    assert found.unread() == [None, None, None, None, "no_letter", None]


def test_gold_answers_score_1(tmp_path: Path) -> None:
    rows = [question(n, task, "ABCDE"[n % 5], f"v{n % 4}") for n, task in enumerate(list(URBAN_TASKS) * 3, start=1)]
    found = score(tmp_path, rows, {row["Question_id"]: row["answer"] for row in rows})
    assert {row.value for row in found.rows} == {1.0}
    assert len(found.rows) == 16 + 4 + 1


def test_a_judge_hears_unclear_replies_alone_and_is_counted_apart(tmp_path: Path) -> None:
    questions = SCORE.read(file_of(tmp_path / "q.json", [question(n, "Causal", "A") for n in range(1, 7)]))
    replies = ("A", "B", "the first of them", "who knows", "as you say", None)
    asked: list[str] = []

    def ask(requests: Any) -> list[Reply | ModelError]:
        asked.extend(str(request) for request in requests)
        return [Reply(text='{"mark": 1}'), Reply(text='{"mark": 0}'), ModelError("unreachable", "offline")]

    marks = mark(list(map(Answer, questions, replies)), UrbanScoreSettings(), ask)
    assert marks.values["accuracy"].tolist() == [1, 0, 0, 0, 0, 0]
    assert marks.values["judged"].tolist() == pytest.approx([1, 0, 1, 0, float("nan"), 0], nan_ok=True)
    assert ["the first" in text for text in asked] == [True, False, False]
    assert marks.left_out == {"not_judged": ["5 (unreachable)"]}
    assert marks.notes == ["Judged: 2 of 6 replies, 1 right."]
    assert "E. option e\nRight option: A" in JUDGE.request(Answer(questions[0], "x")).messages[0].text


# ---- `scan2qa audit urbanvideo`: rows by hand, each with one fault


GOOD = question(1, "Causal", "A", "a_1.mp4")
FIVE = "\n".join(f"{letter}. option {letter.lower()}" for letter in "ABCDE")


def told(tmp_path: Path, *rows: dict[str, Any]) -> Examined:
    numbered = [row | {"Question_id": n} for n, row in enumerate(rows, start=1)]
    return examine(file_of(tmp_path / "q.json", numbered), ExaminationInputs())


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
