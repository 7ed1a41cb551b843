"""Twins: what is asked of frames without the evidence, and how replies to them count."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.vsi.card import COLUMNS
from pipeline.benchmarks.vsi.score import HALLUCINATED, SCORE
from pipeline.core.identity import question_ids
from pipeline.core.tables import TWINS
from pipeline.questions.twins import WORDS, says_no_answer, twins_of
from pipeline.release.tables import twin_tables
from pipeline.scoring.score import scored


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("cannot be told", True),
        ("Cannot be told.", True),
        ("It can't be determined from these frames", True),
        ("The lamp is not visible", True),
        ("I am unable to see the bed", True),
        ("3", False),
        ("I can tell that there are 3", False),
        ("about 2.5 m", False),
        ("B", False),
    ],
)
def test_words_that_say_so(reply: str, says: bool) -> None:
    assert says_no_answer(reply) == says


def twin(number: int, task: str, options: list[str] | None, truth: str) -> dict[str, object]:
    row = dict.fromkeys(TWINS.names) | {"id": number, "of": 100 + number, "scene": "made/room", "task": task}
    return row | {
        "operands": ["bed"],
        "text": "?",
        "options": options,
        "ground_truth": truth,
        "hidden": "bed",
        "frames": [1],
    }


CHOICES = ["A. left", "B. right", "C. cannot be told"]


def test_the_rate_of_hallucination_counts_what_is_answered_as_if_seen(tmp_path: Path) -> None:
    choices = [twin(n, "object_rel_direction_easy", CHOICES, "C") for n in (1, 2, 3, 4)]
    numbers = [twin(n, "object_counting", None, "cannot be told") for n in (5, 6, 7, 8)]
    refused = dict.fromkeys(TWINS.names) | {
        "id": 9,
        "of": 109,
        "scene": "made/room",
        "reason": "evidence_fills_the_video",
    }
    table = pa.Table.from_pylist([*choices, *numbers, refused], schema=TWINS)
    asked = pa.table({"id": pa.array([101, 102, 103, 104, 105, 106, 107, 108, 109, 110], pa.int64())})
    found = twin_tables(asked, table, COLUMNS.table)
    assert found["twins"]["of"].to_pylist() == [101, 102, 103, 104, 105, 106, 107, 108]
    assert found["twins_rejected"]["of"].to_pylist() == [109]
    pq.write_table(found["twins"], tmp_path / "twins.parquet")
    # A letter of an option, the right one, its words, nothing; a count, none, words, words.
    replies = ["A", "C", "cannot be told", "", "3", "0", "I cannot tell", "It is not shown."]
    said = pa.table({"id": found["twins"]["id"].cast(pa.string()), "answer": replies})
    pq.write_table(said, tmp_path / "said.parquet")
    result = scored(SCORE, tmp_path / "twins.parquet", [tmp_path / "said.parquet"], SCORE.settings())
    assert {row.metric for row in result.rows} == {HALLUCINATED}
    rates = {row.figure.name: row.value for row in result.rows}
    assert (rates["object_rel_direction_easy"], rates["object_counting"]) == (0.25, 0.25)


def test_a_question_that_is_not_released_has_no_twin() -> None:
    table = pa.Table.from_pylist([twin(1, "object_counting", None, "cannot be told")], schema=TWINS)
    assert twin_tables(pa.table({"id": pa.array([5], pa.int64())}), table, COLUMNS.table) == {}


def row_of_twin(free: int, options: list[str] | None) -> dict[str, Any]:
    """The twin of a question about a bed of a video of which so many frames, the odd ones, are free of it."""
    task = SimpleNamespace(twin_frames=lambda view, operands: ("bed", 1 + 2 * np.arange(free)))
    row = {"scene": "made/room", "task": "t", "operands": ["bed"], "id": 7, "text": "How wide? ", "options": options}
    (found,) = twins_of([row], {"t": task}, None).to_pylist()
    return found


def test_a_twin_is_asked_of_sixteen_frames_from_the_first_free_one_to_the_last() -> None:
    found = row_of_twin(31, None)
    assert found["frames"] == list(range(1, 62, 4))
    assert (found["id"], found["of"], found["hidden"]) == (
        question_ids("made/room", "t", "twin", [("bed",)])[0],
        7,
        "bed",
    )
    assert (found["ground_truth"], found["text"]) == (WORDS["answer"], f"How wide? {WORDS['say']}")
    found = row_of_twin(16, ["A. wide", "B. narrow"])
    assert found["frames"] == list(range(1, 32, 2))
    assert (found["ground_truth"], found["options"][2:]) == ("C", [f"C. {WORDS['answer']}"])
    assert found["text"] == f"How wide? {WORDS['choose']}"
    refused = row_of_twin(15, None)
    assert (refused["reason"], refused["measured"], refused["limit"]) == ("evidence_fills_the_video", 15, 16)
    assert refused["frames"] is None
