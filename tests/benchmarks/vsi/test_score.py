import random
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.vsi.score import SCORE, VsiScoreSettings
from pipeline.core.errors import ConfigError
from pipeline.questions.published import read_rows
from pipeline.scoring.figures import ScoreRow
from pipeline.scoring.score import ScoreResults, scored
from tests.conftest import REAL_DATA
from tests.oracles.reply_parsers import lmms
from tests.scoring.made import all_tasks, file_of, said, vsi


def score(tmp_path: Path, rows: list[dict[str, Any]], replies: dict[int, Any], parse: str = "released") -> ScoreResults:
    questions, answers = file_of(tmp_path / "q.jsonl", rows), said(tmp_path / "p.jsonl", replies)
    return scored(SCORE, questions, [answers], VsiScoreSettings.model_validate({"parse": parse}))


def figures(found: ScoreResults) -> dict[str, ScoreRow]:
    return {row.figure.name: row for row in found.rows}


def by_lmms_eval(rows: list[dict[str, Any]], replies: dict[int, Any]) -> dict[str, float]:
    """The harness's own functions, on documents as it has them."""
    docs = [lmms.vsibench_process_results(dict(row), [replies[row["id"]]])["vsibench_overall"] for row in rows]
    return lmms._compute_all_subscores(docs)


def shuffled(rows: list[dict[str, Any]], seed: int) -> dict[int, str]:
    """Each reply the truth of another question of the task."""
    rng, replies = random.Random(seed), {}  # noqa: S311
    for task in {row["question_type"] for row in rows}:
        own = [row for row in rows if row["question_type"] == task]
        truths = [row["ground_truth"] for row in own]
        rng.shuffle(truths)
        replies |= {row["id"]: truth for row, truth in zip(own, truths, strict=True)}
    return replies


@pytest.mark.parametrize("parse", ["released", "lmms_eval", "careful"])
def test_gold_answers_score_1(parse: str, tmp_path: Path) -> None:
    rows = all_tasks()
    found = score(tmp_path, rows, {row["id"]: row["ground_truth"] for row in rows}, parse)
    assert {row.value for row in found.rows} == {1.0}
    assert list(figures(found))[-1] == "mean of 8"
    assert (found.found, found.marks.notes) == ({}, [])


def test_replies_without_the_scenes_stand_beside_those_with_them(tmp_path: Path) -> None:
    rows = all_tasks()
    questions = file_of(tmp_path / "q.jsonl", rows)
    gold = {row["id"]: row["ground_truth"] for row in rows}
    half = {row["id"]: row["ground_truth"] for row in rows if row["question_type"] == "object_counting"}
    with_scenes, without = said(tmp_path / "p.jsonl", gold), said(tmp_path / "b.jsonl", half)
    found = scored(SCORE, questions, [with_scenes], VsiScoreSettings(), unseen=[without])
    above = {row.figure.name: (row.prior, row.above) for row in found.rows}
    assert (above["object_counting"], above["route_planning"]) == ((1, 0), (0, 1))
    assert above["mean of 8"] == (pytest.approx(1 / 8), pytest.approx(7 / 8))
    assert above["configurational"] == (pytest.approx(1 / 4), pytest.approx(3 / 4))
    assert {"without_scene", "above_without_scene"} < set(found.figures()[0])


def test_people_stand_beside_a_model_on_what_they_answered(tmp_path: Path) -> None:
    rows = all_tasks()
    questions = file_of(tmp_path / "q.jsonl", rows)
    truth = {row["id"]: row["ground_truth"] for row in rows}
    own = {
        task: [row["id"] for row in rows if row["question_type"] == task]
        for task in ("route_planning", "obj_appearance_order")
    }
    (route, *_), (order, *_) = own.values()
    first = said(tmp_path / "a.jsonl", {route: truth[route], order: truth[order]})
    second = said(tmp_path / "b.jsonl", {route: "none of these"})
    model = said(tmp_path / "m.jsonl", {**truth, order: "none of these"})
    found = scored(SCORE, questions, [model], VsiScoreSettings(), people=[first, second])
    beside = {row.figure.name: (row.n, row.value, row.prior, row.above) for row in found.rows}
    assert beside["route_planning"] == (1, 1.0, 0.5, 0.5)
    assert beside["obj_appearance_order"] == (1, 0.0, 1.0, -1.0)
    assert "object_counting" not in beside or beside["object_counting"][:2] == (0, None)
    assert {"people", "above_people"} < set(found.figures()[0])


def test_the_three_types_of_tasks_are_means_of_tasks(tmp_path: Path) -> None:
    rows = all_tasks()
    right = {"object_counting", "room_size_estimation", "object_rel_direction_easy"}
    replies = {row["id"]: row["ground_truth"] for row in rows if row["question_type"] in right}
    found = figures(score(tmp_path, rows, replies))
    assert found["configurational"].value == pytest.approx((1 + 1 / 3) / 4)
    assert found["measurement estimation"].value == pytest.approx(1 / 3)
    assert found["spatiotemporal"].value == 0


@pytest.mark.parametrize("parse", ["released", "lmms_eval"])
@pytest.mark.parametrize("seed", range(5))
def test_shuffled_answers_score_as_in_lmms_eval(parse: str, seed: int, tmp_path: Path) -> None:
    rows = all_tasks()
    replies = shuffled(rows, seed)
    found, theirs = figures(score(tmp_path, rows, replies, parse)), by_lmms_eval(rows, replies)
    assert found["mean of 8"].value == pytest.approx(theirs["overall"], abs=1e-9)
    assert found["object_rel_direction"].value == pytest.approx(theirs["object_rel_direction_accuracy"], abs=1e-9)
    for task, value in theirs.items():
        name = task.removesuffix("_accuracy").removesuffix("_MRA:.5:.95:.05")
        if name in found:
            assert found[name].value == pytest.approx(value, abs=1e-9), name
    assert len(theirs) == 9


def test_replies_in_words_score_as_in_lmms_eval(tmp_path: Path) -> None:
    rows, rng = all_tasks(), random.Random(3)  # noqa: S311
    forms = ["{}", "{}.", "The answer is {}.", "{} chairs", "about {}", "({})", "", "it is hard to say", "three"]
    replies = {row["id"]: rng.choice(forms).format(row["ground_truth"]) for row in rows}
    found = figures(score(tmp_path, rows, replies, "lmms_eval"))
    assert found["mean of 8"].value == pytest.approx(by_lmms_eval(rows, replies)["overall"], abs=1e-9)


@pytest.mark.real_data
def test_all_released_questions_shuffled(tmp_path: Path) -> None:
    rows = read_rows(REAL_DATA / "vsi" / "questions.jsonl")
    replies = shuffled(rows, 1)
    found, theirs = figures(score(tmp_path, rows, replies)), by_lmms_eval(rows, replies)
    assert found["mean of 8"].value == pytest.approx(theirs["overall"], abs=1e-9)
    assert found["mean of 8"].n == len(rows) == 2203


def test_directions_are_one_task_of_three_levels(tmp_path: Path) -> None:
    """Levels count the same, however many questions each has; so do tasks."""
    levels = {"easy": [1, 1, 1], "medium": [0], "hard": [0, 1]}
    rows = [
        vsi(10 * number + n, f"object_rel_direction_{level}", "B" if right else "A", f"room{n}")
        for number, (level, marks) in enumerate(levels.items(), start=1)
        for n, right in enumerate(marks)
    ]
    rows.append(vsi(1, "object_counting", "4"))
    found = figures(score(tmp_path, rows, {row["id"]: "B" if row["options"] else "8" for row in rows}))
    assert found["object_rel_direction"].value == pytest.approx((1 + 0 + 0.5) / 3)
    assert found["object_counting"].value == 0.0
    assert found["mean of 2 of 8"].value == pytest.approx(0.25)
    assert found["object_rel_direction"].n == 6


@pytest.mark.parametrize(
    ("reply", "truth", "released", "lmms_eval", "careful", "unread"),
    [
        ("B", "B", 1, 1, 1, None),
        ("The answer is B.", "B", 0, 0, 1, None),
        ("B. right", "B", 1, 1, 1, None),
        ("right", "B", 0, 0, 1, None),
        ("A or B", "B", 0, 0, 0, "several_letters"),
        ("There are 4 chairs.", "4", 0, 1, 1, None),
        ("four", "4", 0, 1, 1, None),
        ("4 or 5", "4", 1, 1, 0, "several_numbers"),
        ("5", "4", 0.6, 0.6, 0.6, None),
        ("no idea", "4", 0, 0, 0, "no_number"),
    ],
)
def test_readings(
    reply: str, truth: str, released: float, lmms_eval: float, careful: float, unread: str | None, tmp_path: Path
) -> None:
    rows = [vsi(1, "route_planning" if truth == "B" else "object_counting", truth)]
    marks = {p: score(tmp_path, rows, {1: reply}, p).marks for p in ("released", "lmms_eval", "careful")}
    assert {p: found.values["score"][0] for p, found in marks.items()} == {
        "released": pytest.approx(released),
        "lmms_eval": pytest.approx(lmms_eval),
        "careful": pytest.approx(careful),
    }
    assert list(marks["careful"].unread) == [unread]


def test_what_another_reading_would_earn_is_said(tmp_path: Path) -> None:
    rows = [vsi(1, "route_planning", "B"), vsi(2, "route_planning", "A")]
    found = score(tmp_path, rows, {1: "The answer is B.", 2: "A"})
    assert figures(found)["route_planning"].value == 0.5
    assert found.marks.notes == ["Read as parse=careful: 1 marks differ, by +0.5000 in the mean of all questions."]


def test_no_answer_earns_nothing_and_a_megabyte_is_not_read(tmp_path: Path) -> None:
    rows = [vsi(n, "route_planning", "B") for n in (1, 2, 3)]
    found = score(tmp_path, rows, {1: "B", 3: "perhaps B " * 100_000}, "careful")
    assert figures(found)["route_planning"].value == pytest.approx(1 / 3)
    assert found.found == {"unanswered": ["2"]}
    assert found.unread() == [None, None, "too_long"]


@pytest.mark.parametrize("truth", ["four", "nan", ""])
def test_truths_that_are_no_numbers_are_refused(truth: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"q.jsonl: question 1 has no options, and its answer .* is no number"):
        score(tmp_path, [vsi(1, truth=truth)], {1: "4"})
