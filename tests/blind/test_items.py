from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

from pipeline.blind import items
from pipeline.blind.items import FOLDS, folds_of, item_of, make_item, shards_of
from pipeline.core.errors import ConfigError
from pipeline.core.templates import load_template
from pipeline.questions.published import Published

OPTIONS = ["A. chair", "B. table"]


def test_a_question_with_options() -> None:
    item = make_item(7, "object_rel_distance", "scene1", "?", OPTIONS, " b ")
    assert (item.options, item.right, item.number) == (("chair", "table"), 1, None)


@pytest.mark.parametrize(
    "options", [["chair", "table"], ["(A) chair", "(B) table"], ["A: chair", "B) table "], ["B. table", "A. chair"]]
)
def test_options_are_in_the_order_of_their_letters(options: list[str]) -> None:
    assert make_item(7, "t", "s", "?", options, "B").options == ("chair", "table")


def test_a_number() -> None:
    item = make_item("q7", "object_counting", "scene1", "How many chair(s) are in this room?", None, "3")
    assert (item.options, item.right, item.number) == ((), None, Decimal(3))
    assert item.names == {"category": "chair"}


@pytest.mark.parametrize(
    ("options", "truth", "said"),
    [
        (OPTIONS, "C", "'C' is none of the letters A, B"),
        (OPTIONS, "AB", "none of the letters"),
        (OPTIONS, "", "none of the letters"),
        (["A. chair", "A. table"], "A", "do not have the letters A, B, once each"),
        (["A. chair", "C. table"], "A", "do not have the letters"),
        ([f"option {n}" for n in range(11)], "A", "11 options; at most 10"),
        (None, "B", "'B' is no number"),
        ([], "", "'' is no number"),
        (None, "NaN", "is no number"),
        (None, "inf", "is no number"),
        (None, "1e400", "is no number"),
    ],
)
def test_an_answer_that_cannot_be_read_is_an_error(options: list[str] | None, truth: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"question 7 .*{said}"):
        make_item(7, "task", "scene1", "?", options, truth)


def test_names_and_lists_come_from_the_wording() -> None:
    text = "If I am standing by the bed and facing the tv, is the sofa to the left or the right of the tv?"
    easy = make_item(1, "object_rel_direction_easy", "s", text, ["A. left", "B. right"], "A")
    assert easy.names == {"standing": "bed", "facing": "tv", "asked": "sofa"}
    text = load_template("vsi/questions/object_rel_distance").render({"choices": ("chair", "table"), "primary": "tv"})
    near = make_item(1, "object_rel_distance", "s", text, OPTIONS, "A")
    assert (near.names, near.listed, near.words) == ({"primary": "tv"}, ("chair", "table"), ())


def test_an_unknown_wording_or_task_is_known_by_its_words() -> None:
    for task in ("object_rel_distance", "landmark_position", "../vsi/object_counting", "*"):
        item = make_item(1, task, "s", "Where is the red tower?", OPTIONS, "A")
        assert (item.fields, item.names) == (None, {})
        assert item.words == ("is", "red", "the", "tower", "where")
        assert item.option_words == (("chair",), ("table",))


@pytest.mark.real_data
def test_the_steps_of_a_route_are_no_name(real_questions: list[Published]) -> None:
    route = next(q for q in real_questions if q.question_type == "route_planning")
    item = make_item(route.id, route.question_type, "s", route.question, route.options, route.ground_truth)
    assert sorted(item.names) == ["destination", "facing", "start"]


GROUPS = [f"scene{n % 23}" for n in range(200)]


def test_a_group_is_in_one_fold_and_folds_are_even() -> None:
    fold = folds_of(GROUPS).tolist()
    of_group = {group: {f for g, f in zip(GROUPS, fold, strict=True) if g == group} for group in GROUPS}
    assert all(len(folds) == 1 for folds in of_group.values())
    counts = Counter(folds.pop() for folds in of_group.values())
    assert sorted(counts) == list(range(FOLDS))
    assert set(counts.values()) <= {4, 5}


def test_folds_come_from_the_names_alone() -> None:
    turned = GROUPS[::-1]
    assert dict(zip(GROUPS, folds_of(GROUPS).tolist(), strict=True)) == dict(
        zip(turned, folds_of(turned).tolist(), strict=True)
    )


def test_folds_are_not_the_order_of_the_names() -> None:
    assert folds_of([f"scene{n}" for n in range(10)]).tolist() != [n % FOLDS for n in range(10)]


def test_fewer_groups_than_folds() -> None:
    assert sorted(folds_of(["a", "b", "c"]).tolist()) == [0, 1, 2]


def test_many_questions_are_dealt_by_their_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = pa.table({"scene": [f"s{n // 2}" for n in range(40)], "id": range(40)})
    monkeypatch.setattr(items, "SHARD", 40)
    assert shards_of(questions) == [questions]
    monkeypatch.setattr(items, "SHARD", 20)
    one, other = shards_of(questions)
    assert not set(one["scene"].to_pylist()) & set(other["scene"].to_pylist())
    assert sorted(one["id"].to_pylist() + other["id"].to_pylist()) == list(range(40))


@pytest.mark.parametrize(
    ("from_s", "until_s", "seconds"), [(4.0, 12.0, 8.0), (None, 12.0, 12.0), (None, None, None), (4.0, None, None)]
)
def test_a_clip_is_as_long_as_it_is(from_s: float | None, until_s: float | None, seconds: float | None) -> None:
    row = {
        "id": 1, "task": "t", "scene": "s", "group": None, "text": "How long?", "options": None, "ground_truth": "3",
        "choices": ["2", "3"], "choice": "B", "from_s": from_s, "until_s": until_s,
    }  # fmt: skip
    assert item_of(row).seconds == seconds
    assert (item_of(row).group, item_of(row | {"group": "g"}).group) == ("s", "s#g")
    assert (item_of(row).options, item_of(row, among_choices=True).options) == ((), ("2", "3"))
    assert item_of(row, among_choices=True).right == 1
