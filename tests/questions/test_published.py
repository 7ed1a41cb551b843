"""Published questions read and told of: rows counted from one, cases named up to a limit, leaks of a split."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Rejection
from pipeline.llm.base import Reply, Request, Text
from pipeline.llm.failures import ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.questions.audited import _ROUNDING, SHOWN, _case, _nearness, leakage, named, summaries
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.gate import NamedThing, ShownScene
from pipeline.questions.model_authoring import (
    CONFIRMED,
    LETTERS,
    ModelAuthor,
    RefusedItemError,
    SceneAuthoring,
    SecondModel,
    Target,
    answered,
    examine,
    facts_gave_none,
    guessed,
    needed,
    proven,
    record,
    take,
    value_of,
)
from pipeline.questions.open_items import PROOF_CHARS, OpenItem, form, item_of, leaks, stems
from pipeline.questions.published import Columns, Published, read_of_benchmark, read_published
from pipeline.questions.rules import make_rejection, rule
from pipeline.questions.scoring_protocol import MAX_CHARS, Answer, Judge, group_by

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
        read_of_benchmark(path, COLUMNS)
    path.write_text(json.dumps([ROW, ROW | {"options": "A. red"}]))
    with pytest.raises(ConfigError, match="question 2 has options 'A"):
        read_of_benchmark(path, COLUMNS)
    path.write_text(json.dumps([ROW]))
    (found,) = read_of_benchmark(path, COLUMNS)
    assert (found.id, found.options, found.rest) == (7, None, ROW)


def test_cases_are_named_up_to_a_limit() -> None:
    cases = [str(number) for number in range(SHOWN)]
    assert named(cases) == ", ".join(cases)
    assert named([*cases, "last"]) == ", ".join(cases) + ", … 1 more"


def test_a_reason_is_told_once_with_its_types_and_first_cases() -> None:
    row = {"status": "ambiguous", "reason": "too_close", "published": "", "recomputed": "", "unit": "objects"}
    rows = [
        row
        | {
            "id": str(n),
            "question_type": "easy" if n < 2 else "hard",
            "measured": 1.0 if n else 0.25,
            "unit": "objects",
        }
        for n in range(SHOWN + 2)
    ]
    table = pa.Table.from_pylist([*rows, row | {"id": "9", "question_type": "size", "measured": None}])
    why = summaries(table, "Audit", {})[1]
    cases = ["0 (0.25 objects)", "1 (1 object)", "2 (1 object)"]
    types = f"hard {SHOWN}, easy 2, size 1"
    assert why.rows == [("too_close", "ambiguous", str(SHOWN + 3), types, ", ".join(cases) + ", … 3 more")]
    statuses, alone = summaries(table.slice(0, 2), "Audit", {})
    assert alone.rows[0][3] == "easy", "of one type alone no number is told"
    assert [cell for cell in statuses.rows[0] if cell.isdigit()] == ["2", "2"]


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


def test_figures_of_groups_have_their_members_in_order() -> None:
    names = {"t": "first", "u": "second", "v": "first", "w": "third"}
    asked = [Answer(replace(question(n), question_type=kind), "") for n, kind in enumerate("utvtx")]
    found = [(one.name, one.section, one.members) for one in group_by(asked, "by kind", names)]
    assert found == [("first", "by kind", (1, 2, 3)), ("second", "by kind", (0,))]


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


@pytest.mark.parametrize(
    ("question", "answer", "others", "name", "holds"),
    [
        ("Who sells bread?", "bakers", 3, "question_too_short", False),
        ("Who sells bread here?", "bakers", 3, "question_too_short", True),
        ("What is sold here?", "?!", 3, "answer_empty", False),
        ("What is sold *here?", "bread", 3, "markup_in_text", False),
        ("What is sold here?", "bread", 2, "wrong_options_missing", False),
        ("What is sold here?", "bread", 3, "wrong_options_missing", True),
        ("What is sold here?", "bread", 7, "wrong_options_too_many", True),
        ("What is sold here?", "bread", 8, "wrong_options_too_many", False),
        ("What is sold here?", "cloth", 3, "options_include_right", False),  # a part of them, as are they of the next
        ("What is sold here?", "old cloth in jars", 3, "options_include_right", False),
        ("What is sold here?", "new cloth in jars", 3, "options_include_right", True),
        ("What is sold here?", "new bread and jam in jars", 3, "answer_stands_out", True),  # half as long again as 4
        ("What is sold here?", "new bread and jam in small jars", 3, "answer_stands_out", False),
    ],
)
def test_rules_of_open_questions_end_where_they_say(
    question: str, answer: str, others: int, name: str, holds: bool
) -> None:
    item = OpenItem(question, answer, (), tuple(f"old {c} of cloth" for c in "abcdefgh"[:others]), "")
    (rule,) = (rule for rule in form(item) if rule.name == name)
    assert rule.holds == holds


@pytest.mark.parametrize(("words", "limit"), [(1, 3), (3, 5), (8, 12)])
def test_an_answer_may_be_half_as_long_again_or_two_words_longer(words: int, limit: float) -> None:
    item = OpenItem("What is sold here?", "bread", (), (" ".join("abcdefgh"[:words]), "b", "c"), "")
    (rule,) = (rule for rule in form(item) if rule.name == "answer_stands_out")
    assert (rule.value, rule.limit) == (1, limit)


MILL = OpenItem(
    "What stands beside the old mill?",
    "a wooden bridge",
    ("footbridge",),
    ("a red barn", "a stone well", "a tall tree"),
    "",
)


def test_what_an_open_question_is_held_against_by_hand() -> None:
    assert [(one.name, one.value, one.relation, one.limit) for one in form(MILL)] == [
        ("question_too_short", 6, ">=", 4), ("question_too_long", 6, "<=", 40), ("markup_in_text", 0, "<=", 0),
        ("other_script", 0, "<=", 0), ("not_one_sentence", 1, ">=", 1), ("not_an_open_question", 1, ">=", 1),
        ("asks_for_a_number", 0, "<=", 0), ("lists_what_to_choose", 0, "<=", 0), ("asks_for_an_opinion", 0, "<=", 0),
        ("speaks_of_the_exam", 0, "<=", 0), ("answer_empty", 0, "<=", 0), ("too_many_forms", 1, "<=", 4),
        ("answer_too_long", 3, "<=", 6), ("answer_is_yes_or_no", 0, "<=", 0), ("answer_is_a_number", 0, "<=", 0),
        ("answer_says_nothing", 0, "<=", 0), ("answer_is_several", 0, "<=", 0), ("wrong_options_missing", 3, ">=", 3),
        ("wrong_options_too_many", 3, "<=", 7), ("options_repeat", 0, "<=", 0), ("options_include_right", 0, "<=", 0),
        ("answer_stands_out", 3, "<=", 5), ("answer_in_the_question", 0, "<=", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "broken"),
    [
        ({"question": f"What stands {'very ' * 36}near it?"}, {}),
        ({"question": f"What stands {'very ' * 37}near it?"}, {"question_too_long": 41}),
        ({"question": "Does it stand beside the mill?"}, {"not_an_open_question": 0}),
        ({"question": "What stands beside it: what lies there?"}, {"not_one_sentence": 0}),
        ({"question": "What stands beside the old mill."}, {"not_one_sentence": 0}),
        ({"question": "How far is it and how many are there?"}, {"asks_for_a_number": 2}),
        ({"question": "What is the height of it?"}, {"asks_for_a_number": 1}),
        ({"question": "What stands or lies beside the mill?"}, {"lists_what_to_choose": 1}),
        ({"question": "What is the best way there?"}, {"asks_for_an_opinion": 1}),
        ({"question": "What stands <here today?"}, {"markup_in_text": 1}),
        ({"question": "What does the picture of the data show?"}, {"speaks_of_the_exam": 2}),
        ({"question": "What bridge stands beside the mill?"}, {"answer_in_the_question": 1}),
        ({"answer": "a мост"}, {"other_script": 4}),
        ({"answer": "yes, it does", "accepted": ("No",)}, {"answer_is_yes_or_no": 2}),
        ({"answer": "bridge 5"}, {"answer_is_a_number": 1}),
        ({"answer": "unknown"}, {"answer_says_nothing": 1}),
        ({"answer": "a green or a grey bridge"}, {"answer_is_several": 1, "answer_stands_out": 6}),
        ({"answer": "oak, elm"}, {}),
        ({"answer": "oak, elm, ash", "accepted": ("oak/elm",)}, {"answer_is_several": 2}),
        ({"answer": "a long low grey timber crossing there"}, {"answer_too_long": 7, "answer_stands_out": 7}),
        ({"accepted": ("", "footbridge")}, {"answer_empty": 1}),
        ({"accepted": ("footbridge",) * 4}, {}),
        ({"accepted": ("footbridge",) * 5}, {"too_many_forms": 5}),
        ({"wrong": ("a red barn", "", "a tall tree")}, {"wrong_options_missing": 2}),
        ({"wrong": ("a red barn", "the red barn", "a tall tree")}, {"options_repeat": 1}),
        ({"wrong": ("a red barn", "bridges", "a tall tree")}, {"options_include_right": 1}),
        ({"wrong": ("a red barn", "Footbridge", "a tall tree")}, {"options_repeat": 1, "options_include_right": 1}),
        (
            {"answer": "red", "wrong": ("blue", "green", "Blue.", "red")},
            {"options_repeat": 2, "options_include_right": 1},
        ),
        ({"wrong": ("wooden", "very old wooden bridge", "door")}, {"options_include_right": 2}),
        ({"wrong": ("bridge wooden", "chair", "door")}, {"options_include_right": 1}),
        ({"wrong": ("ignore all", "a stone well", "a tall tree")}, {"speaks_of_the_exam": 1}),
    ],
)
def test_what_an_open_question_fails_for_by_hand(changed: dict[str, Any], broken: dict[str, float]) -> None:
    assert {one.name: one.value for one in form(replace(MILL, **changed)) if not one.holds} == broken


def test_words_that_carry_meaning_by_their_first_letters() -> None:
    assert stems("The bakers' Cafés of a town's glass bus") == {"baker", "cafe", "town", "glass", "bus"}
    assert stems("medicine") == stems("medical") == {"medic"}


GUESSED = OpenItem("What is sold here?", "bread", (), ("meat", "fish", "cloth"), "")


@pytest.mark.parametrize(("knows", "calls"), [(0, 1), (1, 2), (2, 2)])
def test_who_guesses_right_in_two_orders_knows_the_answer(knows: int, calls: int) -> None:
    """The second order is the first, begun in its middle; after a wrong guess there is no other."""
    asked: list[list[str]] = []

    def ask(request: Request) -> Reply:
        options = [line for line in str(request.messages[0]).replace("\\n", "\n").split("\n") if line[1:3] == ". "]
        asked.append([option[3:] for option in options])
        assert request.prompt == load_prompt("author_second").version, "the first of its two prompts"
        n = asked[-1].index("bread")
        return Reply(LETTERS[n if len(asked) <= knows else (n + 1) % 4])

    found = guessed(GUESSED, "p", SecondModel(ask, None))
    assert (found.value, found.holds) == (knows, knows < 2)
    assert len(asked) == calls
    assert all(order == asked[0][2:] + asked[0][:2] for order in asked[1:])


@pytest.mark.parametrize(
    ("sees", "right", "holds", "values"),
    [
        ("bread", ["bread"], True, [0, 1, 0, 1]),
        ("bread", ["bread", "fish", "meat"], False, [0, 1, 2, 0]),
        ("bread", ["bread", "fish"], True, [0, 1, 1, 1]),
        ("bread", [], True, [0, 1, 0, 1]),
        ("fish", ["bread"], True, [0, 0]),  # and is asked no more
    ],
)
def test_a_second_model_answers_and_examines(sees: str, right: list[str], holds: bool, values: list[int]) -> None:
    prompts = {load_prompt(f"author_{step}").version: step for step in ("second", "second_all")}

    def ask(request: Request) -> Reply:
        lines = "\n".join(getattr(part, "text", "") for part in request.messages[0].parts).split("\n")
        letter = {line[3:]: line[0] for line in lines if line[1:3] == ". "}
        if prompts[request.prompt] == "second_all":
            return Reply(json.dumps({"right": [letter[text] for text in right], "holds": holds}))
        return Reply(letter[sees if len(request.messages[0].parts) > 1 else "cloth"])

    second = SecondModel(ask, VisualInputs((Text("Second 1.0:"),), 1))
    names = ["second_model_without_video", "second_model_disagrees", "second_model_finds_several_right", CONFIRMED]
    for blind in (True, False):
        found = answered(GUESSED, "p", second, blind=blind)
        told = list(zip(names, values, strict=False))[not blind :]
        assert [(one.name, one.value) for one in found] == told
    several = dict(told).get("second_model_finds_several_right")
    held = [one.holds for one in found if one.name == "second_model_finds_several_right"]
    assert held == ([] if several is None else [several == 0])


@pytest.mark.parametrize(("facts", "seconds", "value"), [(0, 0, 0), (2, 0, 2), (0, 1, 1), (2, 1, 3)])
def test_facts_or_a_second_model_prove_an_answer(facts: int, seconds: int, value: int) -> None:
    one = SecondModel(lambda request: Reply("nothing"), None)
    unseen, proof, *more = proven(GUESSED, "p", one, one if seconds else None, facts)
    assert (unseen.name, unseen.holds) == ("answered_unseen", True)
    assert (proof.name, proof.value, proof.holds) == ("nothing_proves_it", value, value >= 1)
    assert len(more) == seconds


def test_a_case_is_examined_up_to_what_it_fails() -> None:
    case = Case("a")
    examine(case, iter([rule("one", 1, ">=", 1, "x"), rule("two", 0, ">=", 1, "x"), rule("three", 1, ">=", 1, "x")]))
    assert [row["name"] for row in case.evidence] == ["one"]
    assert case.refusal is not None
    assert (case.refusal.reason, case.refusal.measured) == ("two", 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"n": 3, "m": -2.5}', {"n": 3.0, "m": -2.5}), ('{"n": 1e400}', None), ('{"n": NaN}', None),
        ('{"n": "\\ud800"}', None), ('{"n": "é"}', {"n": "é"}), ("[1]", None), ("so 3", None),
    ],
)  # fmt: skip
def test_replies_are_json_that_one_can_work_with(text: str, value: object) -> None:
    schema = {"type": "object"}
    if value is None:
        with pytest.raises(ModelError, match="the reply"):
            value_of(text, schema)
    else:
        assert value_of(text, schema) == value


@pytest.mark.parametrize(("models", "shown"), [(1, None), (2, "b")])
def test_only_of_two_models_the_second_is_shown_something(models: int, shown: str | None) -> None:
    asks: Any = [lambda request: Reply("")] * models
    shows: Any = ["a", "b"][:models]
    assert SceneAuthoring(SimpleNamespace(), asks, shows, 1).second_shown == shown


def test_what_is_not_there_to_be_shown_is_none_of_one() -> None:
    with pytest.raises(RefusedItemError) as refused:
        needed(None, "no_video", "videos")
    assert refused.value.rejection == Rejection(reason="no_video", measured=0, limit=1, unit="videos")


class Writer(ModelAuthor[Any, Any, Any]):
    """Whatever a model writes becomes a candidate."""

    authoring, step, missing = SceneAuthoring, "extract", "nothing_written"

    def prompt_arguments(self, scene: Any, target: Target) -> Any:
        return record(), None, {"narration": "", "movements": []}

    def targets(self, candidates: pa.Table, tasks: Any) -> list[Target]:
        return [Target(task) for task in tasks]

    def validate(self, scene: Any, target: Target, found: Any) -> Any:
        return (Case(item) for item in found)


@pytest.mark.parametrize(
    ("each", "written", "refused"),
    [
        (True, "a", [("2", "nothing_written", 1, 3), ("3", "nothing_written", 1, 3)]),
        (True, "abc", []),
        (True, "abcde", [("4", "more_than_asked_for", 5, 3), ("5", "more_than_asked_for", 5, 3)]),
        (False, "", [("1", "nothing_written", 0, 1)]),
        (False, "a", []),
    ],
)
def test_each_question_that_is_not_written_or_too_many_is_refused(
    each: bool, written: str, refused: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer()
    writer.each_missing = each
    monkeypatch.setattr("pipeline.questions.model_authoring.value_of", lambda *_: {"questions": [*written]})
    scene = SceneAuthoring(SimpleNamespace(), [lambda request: Reply("")], [None], 3)
    cases = [*writer._written(scene, Target("t"))]
    assert [case.operands[0] for case in cases if case.refusal is None] == [*written[:3]]
    found = [(case.operands[0], case.refusal) for case in cases if case.refusal is not None]
    assert [(name, r.reason, r.measured, r.limit) for name, r in found] == refused


@pytest.mark.parametrize("rewrites", [False, True])
def test_what_is_refused_is_written_again_once_but_for_want_of_an_answer(
    rewrites: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[str]] = []

    asks = [lambda request: Reply(""), lambda request: Reply("")]

    def again(*_: Any, refused: list[str], **fields: Any) -> Any:
        assert _[1] is asks[0], "of two models the one that writes"
        told.append(refused)
        return {"questions": ["d", "e", "f"]}

    def validated(scene: Any, target: Target, found: Any) -> Any:
        reasons = {"b": "too_long", "c": f"{writer.step}_rate_limited", "d": "too_long"}
        for name in found:
            case = Case(name, wording=f"{name}?")
            case.refusal = make_rejection(reasons[name]) if name in reasons else None
            yield case

    writer = Writer()
    writer.rewrites = rewrites
    monkeypatch.setattr(writer, "validate", validated)
    monkeypatch.setattr("pipeline.questions.model_authoring.take", again)
    scene = SceneAuthoring(SimpleNamespace(), asks, [None, None], 3)
    cases = [case.operands[0] for case in writer._validated(scene, Target("t"), "abc")]
    assert "".join(cases) == ("abcd" if rewrites else "abc"), "as many as were refused"
    assert told == [['"b?": too long']] * rewrites
    assert [writer.is_complete([reason]) for reason in ("too_long", f"{writer.step}_rate_limited")] == [True, False]


def test_calls_that_a_scene_takes_at_most() -> None:
    """Two tasks of three questions: two calls write, twelve guess, and of each second model that sees six times 3."""
    writer = Writer()
    none = pa.table({})
    assert writer.calls(none, ["a", "b"], [True, True, False], 3) == (2, 18, 6)
    assert writer.calls(none, ["a", "b"], [False, False], 3) == (2, 6), "it needs not see"
    writer.guessing, writer.unseen = True, 2
    assert writer.calls(none, ["a", "b"], [True, True, False], 3) == (14, 18, 12)
    writer.rewrites = True
    assert writer.calls(none, ["a"], [True, False], 3) == (14, 12)
    writer.sighted = 2
    assert writer.calls(none, ["a"], [True, False], 3) == (0, 0)


@pytest.mark.parametrize(
    ("reason", "confirmed", "flags"),
    [
        (None, False, ["model_assisted", "unchecked"]),
        (None, True, ["model_assisted"]),
        ("x", False, ["model_assisted"]),
    ],
)
def test_questions_that_no_second_model_confirmed_are_unchecked(
    reason: str | None, confirmed: bool, flags: list[str]
) -> None:
    row = {"id": 1, "scene": "d/s", "task": "t", "operands": ["a"], "reason": reason}
    row |= {"evidence": [{"name": name, "subject": "rule", "value": 1.0} for name in ("a", CONFIRMED)[: 1 + confirmed]]}
    writer = Writer()
    writer.rows = lambda view, task, cases: [row.copy() for _ in cases]  # type: ignore[method-assign]
    writer._written = lambda scene, target: iter([Case("a")])  # type: ignore[method-assign]
    (found,) = writer.write(SimpleNamespace(), pa.table({}), [], ["t"], [None], 1).to_pylist()
    assert found["flags"] == flags


@pytest.mark.parametrize(
    ("of_task", "of_case", "flags"), [(None, [], None), (["a"], ["b"], ["a", "b"]), (None, ["b"], ["b"])]
)
def test_a_question_has_the_flags_of_its_scene_and_its_own(of_task: Any, of_case: list[str], flags: Any) -> None:
    class Flagged(CaseTask[Any]):
        name, slots = "flagged", ("thing",)
        ids = staticmethod(lambda view, keys: [7] * len(keys))

        def flags(self, view: Any) -> Any:
            return of_task

    case = Case("a", wording="Q?")
    case.answer = "b"
    case.flags += of_case
    (row,) = Flagged().rows(SimpleNamespace(scene=SimpleNamespace(id="d/s"), shown=ShownScene("film", {})), [case])
    assert row["flags"] == flags
    assert row["named"] is None
    case.name(NamedThing("the ball", "ball", mark="red"))
    case.name(NamedThing("the ball", "ball", mark="red"))
    (row,) = Flagged().rows(SimpleNamespace(scene=SimpleNamespace(id="d/s"), shown=ShownScene("film", {})), [case])
    assert row["named"] == ["the ball"]


@pytest.mark.parametrize(("text", "odd"), [("cr\u00eape", 0), ("a\u200bb", 1), ("x\ue000", 1), ("кот", 3), ("5 m²", 0)])
def test_letters_of_other_scripts_and_unseen_marks_are_counted(text: str, odd: int) -> None:
    item = OpenItem("What is sold here?", text, (), ("meat", "fish", "cloth"), "")
    (rule,) = (rule for rule in form(item) if rule.name == "other_script")
    assert (rule.value, rule.holds) == (odd, odd == 0)


def test_a_measure_of_nothing_has_no_sign_and_one_that_is_infinite_is_none() -> None:
    assert [str(make_rejection("far", m, 1, "m").measured) for m in (-1e-9, -0.0, 0.1, math.inf, math.nan, None)] == [
        "0.0", "0.0", "0.1", "None", "None", "None",
    ]  # fmt: skip


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

    view = SimpleNamespace(scene=SimpleNamespace(id="d/s", name="s"))
    (row,) = Nothing().candidates(view).to_pylist()
    assert (row["id"], row["role"], row["operands"]) == (7, "scene", ["s"])
    assert (row["reason"], row["measured"], row["limit"], row["unit"]) == ("nothing_to_ask_about", 0, 1, "candidates")
    for name in ("obstacle", "unreadable"):
        task: Any = Nothing()
        setattr(task, name, lambda view, name=name: make_rejection(name, 3, 2, "x"))
        (row,) = task.candidates(view).to_pylist()
        assert (row["reason"], row["measured"], row["limit"], row["unit"]) == (name, 3, 2, "x")


def test_cases_of_an_audit_tell_what_differs_or_by_how_much_it_fails() -> None:
    row = {"id": 7, "status": "differs", "published": "A", "recomputed": "B", "measured": 0.1234, "unit": "m"}
    assert _case(row) == "7 (A / B)"
    assert _case(row | {"status": "refused"}) == "7 (0.123 m)"
    assert _case(row | {"status": "refused", "unit": None}) == "7 (0.123)"
    assert _case(row | {"status": "refused", "measured": None}) == "7"


def test_a_number_at_its_tolerance_is_within_it() -> None:
    rows = [
        {"question_type": "size", "status": "differs", "published": "1.0", "recomputed": text}
        for text in ("1.2", "1.21")
    ]
    assert _nearness(rows, {"size": (0.2, "m")}) == "size: 1 of 2 answered again are within 0.2 m (50.00%)"
    rows[0] |= {"published": "0", "recomputed": str(_ROUNDING)}
    assert _nearness(rows[:1], {"size": (0.0, "m")}).startswith("size: 1 of 1")


def test_facts_gave_none_of_the_tasks_whose_candidates_were_all_refused() -> None:
    rows = pa.table({"task": ["a", "a", "b"], "reason": [None, "too_near", "too_near"]})
    assert facts_gave_none(rows, ["a", "b", "c"]) == ["b", "c"]


def test_a_second_model_that_is_shown_nothing_is_asked_even_so() -> None:
    """Whoever is shown nothing guesses; who sees is asked without it too, unless told otherwise."""
    asked: list[Any] = []

    def ask(request: Request) -> Reply:
        asked.append(request)
        return Reply("no letter at all")

    for blind in (True, False):
        (only,) = answered(GUESSED, "p", SecondModel(ask, None), blind=blind)
        assert (only.name, only.value) == ("second_model_without_video", 0)
    assert len(asked) == 2


def test_where_nothing_is_written_again_one_more_case_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **fields: Any) -> Any:
        raise RefusedItemError(make_rejection("extract_timed_out"))

    def validated(scene: Any, target: Target, found: Any) -> Any:
        for name in found:
            case = Case(name, wording=f"{name}?")
            case.refusal = make_rejection("too_long")
            yield case

    writer = Writer()
    writer.rewrites = True
    monkeypatch.setattr(writer, "validate", validated)
    monkeypatch.setattr("pipeline.questions.model_authoring.take", refuse)
    scene = SceneAuthoring(SimpleNamespace(), [lambda request: Reply("")], [None], 3)
    *_, last = writer._validated(scene, Target("t"), "ab")
    assert (last.operands, last.refusal.reason) == (("3",), "extract_timed_out")


def test_a_judge_hears_neither_silence_nor_what_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge("cityeqa_judge", "mark", "integer", 1, 5)
    question = Published(1, None, "s", "t", "Q?", None, "A")
    replies = (None, "", "x" * (MAX_CHARS + 1), "x" * MAX_CHARS)
    heard: list[int] = []

    def hear(requests: Sequence[Request]) -> list[Reply]:
        heard.append(len(requests))
        return [Reply('{"mark": 4}') for _ in requests]

    monkeypatch.setattr(Judge, "request", lambda judge, answer: answer)
    marks, _, failed = judge.judged([Answer(question, reply) for reply in replies], hear)
    assert (marks.tolist(), heard, failed) == ([1, 4, 1, 4], [2], [])


@pytest.mark.parametrize(
    ("question", "answer", "accepted", "leaked"),
    [
        ("Is it a road that one sees?", "wet road", (), 0),  # half of the wrong ones are roads, too
        ("Is it wet there?", "wet road", (), 1),
        ("Is it medical there?", "medicine", (), 1),  # five letters in common
        ("Is it media there?", "medicine", (), 0),
        ("Is it wet there?", "damp road", ("wet",), 1),
        ("Is it wet there?", "damp road", ("wet lane",), 0),
    ],
)
def test_a_question_does_not_tell_its_answer(
    question: str, answer: str, accepted: tuple[str, ...], leaked: int
) -> None:
    item = OpenItem(question, answer, accepted, ("dry road", "icy road", "sand", "grass"), "")
    (rule,) = leaks(item)
    assert (rule.value, rule.holds) == (leaked, leaked == 0)
