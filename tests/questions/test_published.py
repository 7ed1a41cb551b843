"""Published questions read and told of: rows counted from one, cases named up to a limit, leaks of a split."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Rejection
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.questions.audited import SHOWN, leakage, named, summaries
from pipeline.questions.cases import CaseTask
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


@pytest.mark.parametrize(("text", "odd"), [("cr\u00eape", 0), ("a\u200bb", 1), ("x\ue000", 1), ("кот", 3), ("5 m²", 0)])
def test_letters_of_other_scripts_and_unseen_marks_are_counted(text: str, odd: int) -> None:
    item = OpenItem("What is sold here?", text, (), ("meat", "fish", "cloth"), "")
    (rule,) = (rule for rule in form(item) if rule.name == "other_script")
    assert (rule.value, rule.holds) == (odd, odd == 0)


def test_an_audit_tells_how_near_numbers_are() -> None:
    """Differences of 0.1, 0.2 and 0.5 m: two of three within 0.2; what was not answered again does not count."""
    cases = [("1.0", "1.1", "reproduced"), ("2.0", "1.8", "reproduced"), ("3.0", "3.5", "differs")]
    cases += [("4.0", None, "unsupported"), ("5.0", "5.0", "unsupported")]
    columns = ("published", "recomputed", "status")
    rows = [
        dict(zip(columns, case, strict=True), id=n, question_type="size", reason=None) for n, case in enumerate(cases)
    ]
    listing, *_ = summaries(pa.Table.from_pylist(rows), "Audit", {"size": (0.2, "m"), "room": (1.0, "m")})
    assert listing.note == "size: 2 of 3 answered again are within 0.2 m (66.67%)"


def test_a_scene_without_a_case_says_so_in_one_row() -> None:
    class Nothing(CaseTask[Any]):
        name = "nothing"
        obstacle = unreadable = staticmethod(lambda view: None)
        cases = staticmethod(lambda view: iter(()))
        flags = staticmethod(lambda view: None)
        ids = staticmethod(lambda view, keys: [7] * len(keys))

    (row,) = Nothing().candidates(SimpleNamespace(scene=SimpleNamespace(id="d/s", name="s"))).to_pylist()
    assert (row["id"], row["role"], row["operands"]) == (7, "scene", ["s"])
    assert (row["reason"], row["measured"], row["limit"], row["unit"]) == ("nothing_to_ask_about", 0, 1, "candidates")
