"""Dialogues of prompting methods, with replies by hand."""

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest
import yaml

from pipeline.benchmarks.vsi.card import COLUMNS
from pipeline.llm.base import Request, user
from pipeline.llm.cache import request_digest
from pipeline.questions.asking import METHODS, Asking, PromptTurn, QuestionPrompt
from pipeline.questions.harness import Harness, Marking
from tests.scoring.made import OPTIONS, vsi


def held(method: str, replies: Sequence[str]) -> tuple[str, list[PromptTurn]]:
    """The answer of a dialogue that gets these replies, and what it asked."""
    dialogue = METHODS[method].dialogue("Q?")
    turns = [next(dialogue)]
    for reply in replies[:-1]:
        turns.append(dialogue.send(reply))
    with pytest.raises(StopIteration) as ended:
        dialogue.send(replies[-1])
    return ended.value.value, turns


def test_self_consistency_is_the_most_frequent_of_five_runs() -> None:
    answer, turns = held("self_consistency", [part for said in ("A", "b.", "B", "A", "C") for part in ("so", said)])
    assert answer == "A", "of A and B, which are as frequent, the first"
    assert [turn.run for turn in turns] == [run for run in range(5) for _ in range(2)]
    assert turns[0].said == ("Q?\nLet's think step by step.",)
    assert turns[1].said[:2] == (*turns[0].said, "so")
    assert held("self_consistency", [part for said in "ABCBC" for part in ("so", said)])[0] == "B"


def test_a_tree_of_thoughts_votes_for_a_plan_and_for_an_answer() -> None:
    replies = ["1. x 2. y 3. z", "1 or 2", "1, or 3", "no idea", "a", "4", "b", "5", "c", "6", "3", "1", "answer 3"]
    answer, turns = held("tree_of_thoughts", replies)
    assert answer == "6"
    assert "Follow plan 2," in turns[4].said[0]
    assert "1. 4\n2. 5\n3. 6" in turns[-1].said[0]
    assert held("tree_of_thoughts", ["p", "?", "", "none", *"aAbBcC", "12", "", ""])[0] == "A", "no vote: the first"


def test_a_map_is_drawn_first_of_what_the_question_names() -> None:
    answer, turns = held("map_first", ['{"bed": [(1, 2)]}', "B"])
    assert answer == "B"
    assert "10x10 grid" in turns[0].said[0]
    assert "categories to care about in this scene: those that this question names: Q?" in turns[0].said[0]
    assert turns[1].said[1] == '{"bed": [(1, 2)]}'
    assert turns[1].said[2].endswith("Q?")


def test_only_methods_of_several_runs_draw_at_random() -> None:
    """VSI-Bench, appendix: at 0.7 where runs are to differ."""
    assert {name: method.temperature for name, method in METHODS.items() if method.temperature} == {
        "self_consistency": 0.7,
        "tree_of_thoughts": 0.7,
    }


def test_runs_of_one_request_have_replies_of_their_own() -> None:
    digests = {request_digest(Request((user("Q?"),), run=run)) for run in range(3)}
    assert len(digests) == 3


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_what_a_harness_is_given_of_a_question(temperature: float) -> None:
    """Those that it words itself come with their parts; above a temperature of 0 it samples."""
    own = Marking("letter", marked_as="vsibench")
    marks = {"object_counting": Marking("mra", family="how many"), "route_planning": own}
    asking = Asking("here", temperature, 16, lambda question, of: QuestionPrompt(f"Look. {question.question}"))
    rows = pa.Table.from_pylist([vsi(1), vsi(2, "route_planning", "A"), vsi(3, "route_planning") | {"options": None}])
    harness = Harness(lambda question, split: marks[question.question_type])
    files = harness.files("made", asking, "test", rows, COLUMNS, ())
    told = [json.loads(line) for line in files["eval/scan2qa_made_test.jsonl"].splitlines()]
    assert [(row["question"], row["candidates"]) for row in told] == [(None, []), ("What?", OPTIONS), ("What?", [])]
    assert [row["prompt"] for row in told[:2]] == ["Look. How many chair(s) are in this room?", "Look. What?"]
    task = files["eval/lmms_eval/scan2qa_made_test.yaml"].decode().replace("!function", "")
    assert yaml.safe_load(task)["generation_kwargs"]["do_sample"] is (temperature > 0)
    metrics = [metric["metric"] for metric in yaml.safe_load(task)["metric_list"]]
    assert metrics == ["score", "how many", "route_planning"], "of each family, or type"
    assert {metric["higher_is_better"] for metric in yaml.safe_load(task)["metric_list"]} == {True}
    assert {(row["frames"], row["legend"]) for row in told} == {(None, None)}


def test_of_a_twin_sixteen_frames_are_shown_and_less_is_better() -> None:
    said = QuestionPrompt("Look.", legend="legends/1.png")
    asking = Asking("here", 0.0, 16, lambda question, of: said)
    harness = Harness(lambda question, split: Marking("twin"))
    for split, frames, present in (("twins", 16, ["legends/1.png"]), ("32_frame", 32, []), ("test", None, ["b.png"])):
        files = harness.files("made", asking, split, pa.Table.from_pylist([vsi(1)]), COLUMNS, present)
        (row,) = map(json.loads, files[f"eval/scan2qa_made_{split}.jsonl"].splitlines())
        assert (row["frames"], row["legend"]) == (frames, "legends/1.png" if split == "twins" else None)
        task = files[f"eval/lmms_eval/scan2qa_made_{split}.yaml"].decode().replace("!function", "")
        assert {metric["higher_is_better"] for metric in yaml.safe_load(task)["metric_list"]} == {False}
