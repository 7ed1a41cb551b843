"""Published questions read and told of: rows counted from one, cases named up to a limit, leaks of a split."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Rejection
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.questions.audited import SHOWN, leakage, named
from pipeline.questions.model_authoring import RefusedItemError, record, take
from pipeline.questions.open_items import ACCEPTED, PROOF_CHARS, OpenItem, form, item_of
from pipeline.questions.published import Columns, Published, read_own, read_published

ROW = {"id": 7, "scene_name": "s", "question_type": "t", "question": "Q?", "ground_truth": "A"}
COLUMNS = Columns(
    pa.schema([(name, pa.string()) for name in ROW]),
    lambda questions, pruned: questions,
    lambda row: row if ROW.keys() <= row.keys() else None,
    {},
)


def test_a_faulty_row_is_named_by_its_number_from_one(tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([ROW, {"id": 8}]))
    with pytest.raises(ConfigError, match="question 2 has no scene_name, question_type, question, ground_truth"):
        read_published(path, [COLUMNS])
    with pytest.raises(ConfigError, match="question 2 is none of this benchmark"):
        read_own(path, COLUMNS)
    path.write_text(json.dumps([ROW, ROW | {"options": "A. red"}]))
    with pytest.raises(ConfigError, match="question 2 has options 'A"):
        read_own(path, COLUMNS)
    path.write_text(json.dumps([ROW]))
    (found,) = read_own(path, COLUMNS)
    assert (found.id, found.options, found.rest) == (7, None, ROW)


def test_cases_are_named_up_to_a_limit() -> None:
    cases = [str(number) for number in range(SHOWN)]
    assert named(cases) == ", ".join(cases)
    assert named([*cases, "last"]) == ", ".join(cases) + ", … 1 more"


def question(id: int, **rest: object) -> Published:
    return Published(id, None, "s", "t", "Q?", None, "A", rest)


def test_what_a_split_leaks_by_hand() -> None:
    splits = ("test", "test", "train", "train", "train")
    rows = [question(number, split=split) for number, split in enumerate(splits)]
    found = leakage(Path("q.json"), "split", rows, "room", ["a", "b", "b", "c", "c"])
    # Room b is in both: one question of two, one of three, two of five.
    assert found.rows == [
        ("test", "2", "2", "1", "1", "50.0%"),
        ("train", "3", "2", "1", "1", "33.3%"),
    ]
    assert found.totals == ("all", "5", "3", "1", "2", "40.0%")


@pytest.mark.parametrize("rest", [{}, {"split": ""}, {"split": None}, {"split": 0.5}])
def test_a_question_without_a_split_is_named(rest: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="question 3 has no split"):
        leakage(Path("q.json"), "split", [question(3, **rest)], "room", ["a"])
    assert leakage(Path("q.json"), "split", [question(3, split=0)], "room", ["a"]).rows[0][0] == "0"


def test_a_call_that_fails_refuses_the_item() -> None:
    def down(request: Request) -> Reply:
        raise ModelError("timeout", "no reply")

    fields = {"narration": "", "movements": []}
    with pytest.raises(RefusedItemError) as refused:
        take("extract", down, record(), None, **fields)
    assert refused.value.rejection == Rejection(reason="extract_timeout", measured=1, limit=0, unit="failed calls")
    with pytest.raises(RefusedItemError, match="extract_malformed"):
        take("extract", lambda request: Reply("no JSON"), record(), None, **fields)


@pytest.mark.parametrize(("length", "kept"), [(599, 599), (600, 600), (601, 600)])
def test_a_long_proof_is_cut(length: int, kept: int) -> None:
    raw = {"question": "Q?", "answer": "a.", "accepted": [], "wrong": [], "proof": "x" * length}
    assert (len(item_of(raw).proof), PROOF_CHARS, item_of(raw).answer) == (kept, 600, "a")


@pytest.mark.parametrize(("forms", "passes"), [(4, True), (5, False)])
def test_an_answer_has_at_most_four_other_forms(forms: int, passes: bool) -> None:
    item = OpenItem("What is sold here?", "bread", ("loaf",) * forms, ("meat", "fish", "cloth"), "")
    (rule,) = (rule for rule in form(item) if rule.name == "too_many_forms")
    assert (rule.value, rule.limit, rule.holds) == (forms, ACCEPTED, passes)
    assert ACCEPTED == 4
