import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.benchmarks.cityeqa.columns import CARD
from pipeline.benchmarks.cityeqa.score import JUDGE, SCORE, CityScoreSettings
from pipeline.core.errors import ConfigError
from pipeline.questions.scoring_protocol import Answer
from pipeline.scoring.score import ScoreResults, scored
from tests.benchmarks.cityeqa.cities import task
from tests.conftest import REAL_DATA
from tests.scoring.made import file_of, said

START = [0, 100, 9, 0, 0, 180]  # of `task`; its target lies at [30, 40, 5], and is seen from [10, 40, 9]


def score(tmp_path: Path, rows: list[dict[str, Any]], lines: list[dict[str, Any]], **settings: Any) -> ScoreResults:
    files = file_of(tmp_path / "q.json", rows), file_of(tmp_path / "p.jsonl", lines)
    return scored(SCORE, files[0], [files[1]], CityScoreSettings.model_validate(settings))


def values(found: ScoreResults, name: str = "all") -> dict[str, float | None]:
    return {row.metric: row.value for row in found.rows if row.figure.name == name}


def test_an_agent_that_goes_straight_to_the_target(tmp_path: Path) -> None:
    """From (0, 100) to (30, 60) is 50 m; there it stands 20 m before the target, and 28.3 m from where it is seen."""
    steps = [START, [0, 100, 9, 0, 0, 150], [15, 80, 9, 0, 0, 150], [30, 60, 9, 0, 0, 150]]
    lines = [{"id": 1, "steps": steps, "answer": "8"}]
    found = score(tmp_path, [task(1, path_m=40.0)], lines, within_m=28.3)
    assert values(found) == {
        "match": 1.0,
        "ne_euclid3d": pytest.approx(math.hypot(20, 4)),
        "ne_euclid2d": pytest.approx(20.0),
        "ne_l1": pytest.approx(20.0),
        "mts": 3.0,
        "success": 1.0,
        "spl": pytest.approx(40 / 50),
    }
    cut = score(tmp_path, [task(1, path_m=40.0)], lines, within_m=28.3, steps_max=2)
    assert (values(cut)["mts"], values(cut)["ne_l1"], values(cut)["success"]) == (2.0, pytest.approx(15 + 40), 0.0)
    assert any("Longer than 2 steps, and cut there: 1" in note for note in cut.marks.notes)
    assert values(score(tmp_path, [task(1, path_m=40.0)], lines, within_m=28.2))["spl"] == 0.0
    assert values(score(tmp_path, [task(1, path_m=60.0)], lines, within_m=28.3))["spl"] == 1.0, "shorter than shortest"


def test_three_agents_by_hand(tmp_path: Path) -> None:
    """One stops 20 m before the target, 4 m above it; one goes round a corner to it; one stays where it begins."""
    rows = [task(1, path_m=40.0), task(2, "north", path_m=80.0), task(3, "east", path_m=50.0)]
    north, east = [*START[:5], 0], [*START[:5], 90]
    lines = [
        {"id": 1, "steps": [START, [30, 60, 9, 0, 0, 150]], "answer": "8"},
        {"id": 2, "steps": [north, [0, 40, 9, 0, 0, 0], [30, 40, 5, 0, 0, 0]], "answer": "eight"},
        {"id": 3, "steps": [east], "answer": "none"},
    ]
    found = score(tmp_path, rows, lines, within_m=21.0)
    stopped, stayed = math.sqrt(20**2 + 4**2), math.sqrt(30**2 + 60**2 + 4**2)
    gone = 60 + math.hypot(30, 4)
    assert values(found) == {
        "match": pytest.approx(2 / 3),
        "ne_euclid3d": pytest.approx((stopped + 0 + stayed) / 3),
        "ne_euclid2d": pytest.approx((20 + 0 + math.hypot(30, 60)) / 3),
        "ne_l1": pytest.approx((20 + 0 + 90) / 3),
        "mts": pytest.approx((1 + 2 + 0) / 3),
        "success": pytest.approx(1 / 3),
        "spl": pytest.approx((0 + 80 / gone + 0) / 3),
    }
    (row,) = [row for row in found.rows if row.metric == "mts" and not row.figure.section]
    assert (row.n, row.deviation) == (3, pytest.approx(1.0))  # of 1, 2 and 0


def test_success_is_where_the_answer_is_seen_and_the_oracle_s_share_is_told(tmp_path: Path) -> None:
    """From the edge of a place 60 m wide: the target is its middle, which lies beyond any radius of success."""
    rows = [task(n, target_pose=[40, 40, 5, 0, 0, 0], oracle_steps=n) for n in (50, 51)]
    lines = [{"id": 50, "steps": [START, [10, 40, 9, 0, 0, 135]]}, {"id": 51, "steps": [START, [40, 40, 5, 0, 0, 0]]}]
    found = score(tmp_path, rows, lines)
    assert values(found)["success"] == 0.5
    assert found.answers[0].question.id == 50
    assert found.marks.values["success"].tolist() == [1.0, 0.0]
    assert "Within 50 steps the oracle solves: Counting 0.50 of 2." in found.marks.notes


BROKEN_STEPS: dict[str, Any] = {
    "none at all": [],
    "not a number": [START, [math.nan, 1, 2, 0, 0, 0]],
    "infinite": [START, [math.inf, 1, 2, 0, 0, 0]],
    "a word": [START, ["1", 1, 2, 0, 0, 0]],
    "true": [START, [True, 1, 2, 0, 0, 0]],
    "five numbers": [START, [1, 1, 2, 0, 0]],
    "seven numbers": [START, [1, 1, 2, 0, 0, 0, 0]],
    "one pose alone": START,
    "a table": {"0": START},
}


@pytest.mark.parametrize("steps", BROKEN_STEPS.values(), ids=BROKEN_STEPS)
def test_broken_trajectories_are_named_and_not_measured(steps: Any, tmp_path: Path) -> None:
    """What they answered counts; where they went does not."""
    found = score(tmp_path, [task(1)], [{"id": 1, "steps": steps, "answer": "8"}])
    assert values(found) == {"match": 1.0}
    assert found.found == {"bad_steps": ["1"]}
    assert found.left_out


def test_trajectories_of_unknown_tasks_and_of_one_task_twice(tmp_path: Path) -> None:
    once = {"id": 1, "steps": [START], "answer": "8"}
    found = score(tmp_path, [task(1)], [once, {"id": 99, "steps": [START], "answer": "8"}])
    assert found.found == {"unknown_id": ["99"]}
    assert values(found)["mts"] == 0
    with pytest.raises(ConfigError, match=r"row 2: question 1 has another reply in .*row 1; delete one"):
        score(tmp_path, [task(1)], [once, once | {"steps": [START, START]}])
    assert score(tmp_path, [task(1)], [once, once]).found == {"said_twice": ["1"]}


def test_the_metric_on_the_ground_and_the_released_one(tmp_path: Path) -> None:
    found = score(tmp_path, [task(1)], [{"id": 1, "steps": [START], "answer": ""}])
    assert values(found)["ne_euclid2d"] == pytest.approx(math.hypot(30, 60))
    assert values(found)["ne_l1"] == pytest.approx(90)
    assert values(found)["mts"] == 0
    assert "spl" not in values(found)
    assert any("SPL is unsupported: the questions have no path_m" in note for note in found.marks.notes)


def test_only_what_moved_is_measured(tmp_path: Path) -> None:
    rows = [task(1), task(2, hop="north"), task(3, hop="east")]
    lines = [
        {"id": 1, "steps": [START, [30, 40, 5, 0, 0, 0]], "answer": "nine"},
        {"id": 2, "answer": "Eight."},
        {"id": 3, "steps": [START], "answer": "8"},  # which begins as task 1 does
    ]
    found = score(tmp_path, rows, lines, within_m=20.4)
    assert values(found) == {
        "match": pytest.approx(2 / 3),
        "ne_euclid3d": 0.0,
        "ne_euclid2d": 0.0,
        "ne_l1": 0.0,
        "mts": 1.0,
        "success": 1.0,
    }
    assert found.found == {"other_start": ["3"]}
    assert found.left_out


def test_answers_alone_are_matched_and_never_called_qaa(tmp_path: Path) -> None:
    rows = [task(1), task(2, "north", "Is it open? (yes or no)", answer="yes", category="World Knowledge")]
    found = score(tmp_path, rows, [{"id": 1, "answer": "8"}, {"id": 2, "answer": "Maybe yes."}])
    assert values(found) == {"match": 0.5}
    assert values(found, "Counting") == {"match": 1.0}
    assert values(found, "yes/no") == {"match": 0.0}, "maybe is not yes"
    assert "QAA needs a judge" in found.marks.notes[0]


@pytest.mark.real_data
def test_gold_answers_of_the_released_file(tmp_path: Path) -> None:
    file = REAL_DATA / "cityeqa" / "CityEQA_EC_200.json"
    rows = json.loads(file.read_text())
    found = scored(
        SCORE, file, [said(tmp_path / "p.jsonl", {r["question_id"]: r["answer"] for r in rows})], CityScoreSettings()
    )
    assert {row.value for row in found.rows} == {1.0}
    assert {row.figure.section for row in found.rows} == {"category", "answer type", ""}
    (whole,) = [row for row in found.rows if not row.figure.section]
    assert (whole.n, whole.deviation) == (200, 0.0)


@pytest.mark.real_data
def test_constant_answers_earn_their_share_and_agents_that_stay_their_distance(tmp_path: Path) -> None:
    file = REAL_DATA / "cityeqa" / "CityEQA_EC_200.json"
    rows = json.loads(file.read_text())
    lines = [{"id": r["question_id"], "steps": [r["initial_pose"]], "answer": "yes"} for r in rows]
    found = scored(SCORE, file, [file_of(tmp_path / "p.jsonl", lines)], CityScoreSettings())
    assert values(found)["match"] == sum(r["answer"].lower() == "yes" for r in rows) / 200
    away = [math.dist(r["initial_pose"][:3], r["target_pose"][:3]) for r in rows]
    mean = sum(away) / 200
    assert values(found)["ne_euclid3d"] == pytest.approx(mean, abs=1e-9)
    spread = math.sqrt(sum((d - mean) ** 2 for d in away) / 199)
    (row,) = [row for row in found.rows if row.metric == "ne_euclid3d" and not row.figure.section]
    assert row.deviation == pytest.approx(spread, abs=1e-9)


def test_bad_questions_are_refused_with_the_way_to_list_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"row 2: angle_out_of_range: yaw .* is 450. scan2qa audit cityeqa"):
        score(tmp_path, [task(1), task(2, initial_pose=[0, 0, 0, 0, 0, 450])], [{"id": 1, "answer": "8"}])


def test_the_judge_is_asked_as_in_the_paper(tmp_path: Path) -> None:
    (question,) = SCORE.read(file_of(tmp_path / "q.json", [task(1)]))
    text = JUDGE.request(Answer(question, "8 or {{ 9 }}")).messages[0].text
    assert text.startswith(
        "You are an AI assistant who will help me to evaluate the response given the question and the"
    )
    assert text.endswith(
        "Your Turn:\nQuestion: There is a building to the south of you. To the east of the building, there is a "
        "parking lot. Please tell me How many cars in the parking lot?\nAnswer: 8\nResponse: 8 or {{ 9 }}"
    )


def test_the_card_tells_what_the_oracle_solves() -> None:
    steps = [("Counting", 50.0), ("Counting", 51.0), ("Object Recognition", 7.0)]
    rows = [
        {"task": task, "evidence": [{"name": "oracle_steps", "subject": "all", "value": value}], "flags": ["number"]}
        for task, value in steps
    ]
    assert CARD.remarks(CARD.counts(pa.Table.from_pylist(rows)))[0] == (
        "Within 50 steps the oracle solves: Object Recognition 1.00 of 1, Counting 0.50 of 2."
    )
