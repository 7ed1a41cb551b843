from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.cityeqa.audit import UNSUPPORTED, examine
from pipeline.benchmarks.cityeqa.raw import answer_type
from pipeline.benchmarks.cityeqa.released import CATEGORIES, read_released
from pipeline.benchmarks.cityeqa.wording import HopText, parse
from pipeline.core.errors import ConfigError
from pipeline.core.tables import ReleaseListing
from pipeline.metrics.number_words import normalised
from pipeline.questions.audited import Basis, Examined
from tests.benchmarks.cityeqa.cities import task, written
from tests.conftest import REAL_DATA

RELEASED = REAL_DATA / "cityeqa" / "CityEQA_EC_200.json"


def listing(examined: Examined, title: str) -> ReleaseListing:
    return next(found for found in examined.listings if found.title.startswith(title))


def column(found: ReleaseListing, head: str) -> dict[str, str]:
    return {row[0]: row[list(found.heads).index(head)] for row in found.rows}


# The released file


@pytest.fixture(scope="module")
def released() -> Examined:
    return examine(RELEASED, Basis())


@pytest.mark.real_data
def test_every_released_start_looks_where_hop_1_leads(released: Examined) -> None:
    """Held against the text by plain search, not by the code's own grammar."""
    yaws = {"north": 0, "east": 90, "south": 180, "west": 270}
    rows = json.loads(RELEASED.read_text())
    told = [next(yaw for name, yaw in yaws.items() if f"building to the {name} of you" in r["question"]) for r in rows]
    assert told == [r["initial_pose"][5] for r in rows]
    assert column(listing(released, "Audit"), "holds")["hop 1 is where the start looks"] == "200 of 200"
    assert set(released.table["hop_1_off_deg"].to_pylist()) == {0.0}
    assert set(released.table["status"].to_pylist()) == {"reproduced"}
    assert not released.left_out


@pytest.mark.real_data
def test_released_starts_lie_within_200_m(released: Examined) -> None:
    rows = json.loads(RELEASED.read_text())
    far = [abs(complex(*r["initial_pose"][:2]) - complex(*r["target_pose"][:2])) for r in rows]
    assert released.table["start_to_target_m"].to_pylist() == pytest.approx(far)
    assert max(far) <= 146  # cityeqa.md, of all 1,412


@pytest.mark.real_data
def test_released_answer_types_fit_into_table_4(released: Examined) -> None:
    paper = {
        "Object Recognition": (0, 0, 191, 144),
        "Attribute Recognition": (0, 0, 199, 5),
        "Counting": (0, 205, 0, 0),
        "Existence Judgement": (275, 0, 0, 0),
        "Spatial Reasoning": (52, 0, 83, 68),
        "World Knowledge": (184, 0, 6, 0),
    }
    found = listing(released, "Answer types")
    for name, *cells, n in found.rows:
        counts = [int(cell or 0) for cell in cells]
        assert sum(counts) == int(n)
        assert all(ours <= theirs for ours, theirs in zip(counts, paper[name], strict=True)), name
    assert [int(cell) for cell in found.totals[1:]] == [72, 29, 60, 39, 200]


@pytest.mark.real_data
def test_groups_and_priors_of_the_released_file(released: Examined) -> None:
    rows = json.loads(RELEASED.read_text())
    groups = column(listing(released, "Groups"), "groups")
    assert int(groups["targets"]) == len({str(r["target_pose"][:3]) for r in rows})
    raw = {str([r["target_pose"], r["observation_pose"], r["answer"]]) for r in rows}
    assert int(groups["raw tasks: target, observation, answer"]) == len(raw)
    usual = column(listing(released, "Priors"), "always so")
    for category in CATEGORIES:
        answers = Counter(r["answer"].lower() for r in rows if r["category"] == category)
        assert usual[category].split()[0] == str(answers.most_common(1)[0][1])
    leaking = column(listing(released, "Priors"), "and leaking")
    assert leaking["Counting"] == "29 (100%)", "a random split gives every answer away"


@pytest.mark.real_data
def test_what_their_city_would_show_is_unsupported_by_name(released: Examined) -> None:
    assert column(listing(released, "Not checked"), "n") == dict.fromkeys(UNSUPPORTED, "200")


# By hand


def examined(tmp_path: Path, *rows: Any, split: str | None = None) -> Examined:
    return examine(written(tmp_path / "tasks.json", *rows), Basis(split=split))


@pytest.mark.parametrize(
    ("yaw", "reason"),
    [
        (224, None),
        (136, None),
        (225, "start_looks_elsewhere"),
        (-170, None),
        (0, "start_looks_elsewhere"),
        (360, "start_looks_elsewhere"),
    ],
)
def test_the_sector_of_hop_1(yaw: float, reason: str | None, tmp_path: Path) -> None:
    found = examined(tmp_path, task(initial_pose=[0, 100, 9, 0, 0, yaw]))
    assert found.table["reason"].to_pylist() == [reason]


@pytest.mark.parametrize(("x", "reason"), [(230, None), (230.1, "start_too_far")])
def test_the_distance_of_the_start(x: float, reason: str | None, tmp_path: Path) -> None:
    found = examined(tmp_path, task(initial_pose=[x, 40, 60, 0, 0, 180]))
    assert found.table["reason"].to_pylist() == [reason]


def test_same_question_and_start_with_another_answer(tmp_path: Path) -> None:
    rows = [task(1), task(2, answer="9"), task(3, initial_pose=[1, 100, 9, 0, 0, 180], answer="9")]
    assert examined(tmp_path, *rows).table["reason"].to_pylist() == ["answers_contradict", "answers_contradict", None]
    rows = [task(1, answer="8"), task(2, answer="Eight.")]
    assert examined(tmp_path, *rows).table["findings"].to_pylist() == ["asked_twice", "asked_twice"]


def test_wording_of_another_form_is_unsupported(tmp_path: Path) -> None:
    found = examined(tmp_path, task(question="Where\nam I?"), task(2))
    assert found.table["status"].to_pylist() == ["unsupported", "reproduced"]
    assert column(listing(found, "Audit"), "holds")["hop 1 is where the start looks"] == "1 of 1"


@pytest.mark.parametrize(
    ("bad", "finding"),
    [
        ({"initial_pose": [0, 100, 9, 0, 180]}, "pose_not_six_numbers"),
        ({"target_pose": [0, 100, 9, 0, 0, 180, 1]}, "pose_not_six_numbers"),
        ({"target_pose": "0 100 9"}, "pose_not_six_numbers"),
        ({"initial_pose": [0, 100, 9, 0, 0, 450]}, "angle_out_of_range"),
        ({"initial_pose": [0, 100, 9, 0, 90.5, 0]}, "angle_out_of_range"),
        ({"initial_pose": [0, 100, 9, 180.5, 0, 0]}, "angle_out_of_range"),
        ({"initial_pose": [0, 100, 9, 0, 0, round(math.pi, 4)]}, "yaw_in_radians"),
        ({"observation_pose": [0, 100, math.nan, 0, 0, 0]}, "pose_not_finite"),
        ({"observation_pose": [0, 100, True, 0, 0, 0]}, "pose_not_numbers"),
        ({"observation_pose": [0, 100, "9", 0, 0, 0]}, "pose_not_numbers"),
        ({"answer": ""}, "answer_empty"),
        ({"answer": " \n"}, "answer_empty"),
        ({"answer": ["8"]}, "answer_not_text"),
        ({"answer": None}, "column_missing"),
        ({"question": 7}, "question_not_text"),
        ({"category": "Geography"}, "unknown_category"),
        ({"question_id": 1.5}, "id_unusable"),
        ({"question_id": 2, "answer": "9"}, "id_taken"),
        ({"question_id": 2}, "repeated_row"),
    ],
)
def test_a_bad_row_is_left_out_alone(bad: dict[str, Any], finding: str, tmp_path: Path) -> None:
    found = examined(tmp_path, task(2), task(**{"number": 3} | bad), task(4, initial_pose=[0, 90, 9, 0, 0, 180]))
    (row,) = found.left_out
    assert (row.row, row.finding) == (2, finding)
    assert row.remedy
    assert found.table["status"].to_pylist() == ["reproduced", "left_out", "reproduced"]
    assert found.table["id"].to_pylist()[::2] == ["2", "4"]


def test_a_row_that_is_none(tmp_path: Path) -> None:
    assert [row.finding for row in examined(tmp_path, task(), 7, None).left_out] == ["not_a_row"] * 2


@pytest.mark.parametrize(("text", "message"), [("{", "cannot be read"), ("{}", "not a list"), ("[]", "holds no tasks")])
def test_a_file_without_tasks(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_released(tmp_path / "tasks.json")


def test_what_a_split_leaks(tmp_path: Path) -> None:
    """Target t1 is in both splits, t2 in one."""
    apart = {"target_pose": [60, 40, 5, 0, 0, 0]}
    rows = [
        task(1, split="train"),
        task(2, hop="north", split="test"),
        task(3, split="test", **apart),
        task(4, hop="east", split="test", **apart),
    ]
    found = listing(examined(tmp_path, *rows, split="split"), "What the split leaks, by target")
    assert [tuple(row) for row in (*found.rows, found.totals)] == [
        ("test", "3", "2", "1", "1", "33.3%"),
        ("train", "1", "1", "1", "1", "100.0%"),
        ("all", "4", "2", "1", "2", "50.0%"),
    ]
    with pytest.raises(ConfigError, match="question 1 has no fold; its columns are answer, category"):
        examined(tmp_path, *rows, split="fold")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("A sedan.", "sedan", True),
        ("one", "1", True),
        ("Twenty-one", "21", True),
        ("FamilyMart", "family mart", False),
        ("2.5", "25", False),
        ("YES!", "yes", True),
        ("no", "not", False),
    ],
)
def test_answers_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same


@pytest.mark.parametrize(
    ("asked", "answer", "kind"),
    [
        ("Is it open? (yes or no)", "No", "yes/no"),
        ("How many?", "one", "number"),
        ("What color is the sign?", "green", "closed text"),
        ("What's the name of the shop?", "Cheesspod", "open text"),
        ("What does the sign say?", "BOOKS", "open text"),
    ],
)
def test_answer_types(asked: str, answer: str, kind: str) -> None:
    assert answer_type(asked, answer) == kind


@pytest.mark.real_data
def test_the_grammar_reads_every_released_question_in_full(released: Examined) -> None:
    """Against a plain pattern of the released form."""
    form = re.compile(
        r"There is a building to the (.*) of you. To the (.*) of the building, there is (.*). Please tell me (.*)"
    )
    for row in json.loads(RELEASED.read_text()):
        match, told = form.fullmatch(row["question"]), parse(row["question"])
        assert match
        assert told
        assert told.hops == (HopText(match[1], "a building"), HopText(match[2], match[3]))
        assert told.question == match[4]
