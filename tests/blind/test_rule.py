"""The rule: on both sides of each of its limits, who has a vote, and what failures may and may not do."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.blind.ask import REPLIES
from pipeline.blind.config import BlindConfig
from pipeline.blind.filtering import filtered
from pipeline.blind.items import make_item
from pipeline.blind.rule import (
    VERDICTS,
    ModelPredictions,
    TaskVerdict,
    _kinds,
    balanced,
    beats_chance,
    pending,
    removed_by_chance,
    rule,
    verdict_table,
    votes_of,
)
from tests.blind.panel import directions, knowing, meaning, panel, question, questions_table, replies_table, reply

EVEN = {"left": 60, "right": 60, "back": 60}
SKEWED = {"left": 186, "right": 189, "back": 60}
OPEN = ("bed", "lamp", "sofa", "tv")


def judged(rows: list[dict[str, Any]], config: BlindConfig, orders: int = 1, **models: Any) -> TaskVerdict:
    (verdict,) = rule(questions_table(rows), replies_table(rows, orders, **models), config)
    return verdict


def removed(verdict: TaskVerdict, reason: str = "answered_blind") -> set[int]:
    return {
        id
        for id, why in zip(verdict.votes.ids.tolist(), verdict.reasons, strict=True)
        if why is not None and why[0] == reason
    }


def right_of(verdict: TaskVerdict, *models: str) -> set[int]:
    """Ids that all the models have right."""
    right = np.logical_and.reduce([verdict.votes.ballots[model].right for model in models])
    return set(verdict.votes.ids[right].tolist())


def open_questions(n: int = 90) -> list[dict[str, Any]]:
    """Questions whose options are all different."""
    return [
        question(i, [f"{name} {i}" for name in OPEN], f"{OPEN[i % 4]} {i}", "object_rel_distance") for i in range(n)
    ]


def test_what_all_voters_answer_right_is_removed_and_no_more() -> None:
    verdict = judged(open_questions(), panel("a", "b", "c"), a=knowing(0.7), b=knowing(0.7), c=knowing(0.7))
    assert set(verdict.standing.values()) == {"votes"}
    assert verdict.voters == ["a", "b", "c"]
    assert verdict.needed == 3
    assert removed(verdict) == right_of(verdict, "a", "b", "c")
    assert 10 < len(removed(verdict)) < 60


@pytest.mark.parametrize(("remove", "needed"), [("all_correct", 3), ("majority", 2), ("any", 1), ("none", 4)])
def test_the_rule_says_how_many_must_be_right(remove: str, needed: int) -> None:
    config = panel("a", "b", "c", remove=remove)
    verdict = judged(open_questions(), config, a=knowing(0.7), b=knowing(0.7), c=knowing(0.7))
    assert verdict.needed == needed
    votes = dict(zip(verdict.votes.ids.tolist(), verdict.right.tolist(), strict=True))
    assert removed(verdict) == {i for i, n in votes.items() if n >= needed}


def test_the_default_is_urbanvideo_benchs_rule() -> None:
    assert (BlindConfig().remove, BlindConfig().number_threshold) == ("all_correct", 0.5)


def test_a_guesser_and_a_constant_have_no_vote() -> None:
    """Constants agree, and "right" is right in 189 of 435: nothing of that is knowledge."""
    constant = {"a": meaning("right"), "b": meaning("right"), "c": knowing(0.0)}
    verdict = judged(directions(SKEWED), panel("a", "b", "c"), **constant)
    assert verdict.standing == {"a": "constant", "b": "constant", "c": "no better than luck"}
    assert verdict.chance_accuracy["a"] == pytest.approx(189 / 435), "shuffled truths are right as often"
    assert (removed(verdict), verdict.by_luck, verdict.needed) == (set(), 0.0, None)
    assert verdict.voters == []


def test_a_model_that_answers_a_letter_is_a_constant_too() -> None:
    rows = open_questions()
    assert judged(rows, panel("a"), a=lambda row, rng: "A").standing == {"a": "constant"}


def test_one_voter_alone_removes_nothing() -> None:
    verdict = judged(open_questions(), panel("a", "b"), a=knowing(0.9), b=knowing(0.0))
    assert verdict.standing == {"a": "votes", "b": "no better than luck"}
    assert removed(verdict) == set()


def test_the_embedded_model_is_only_reported() -> None:
    config = panel("a", "b", embedded="small")
    verdict = judged(open_questions(), config, a=knowing(0.8), b=knowing(0.8), small=knowing(0.0))
    assert verdict.standing["small"] == "reported only"
    assert verdict.needed == 2
    alone = judged(open_questions(), panel(embedded="small"), small=knowing(0.9))
    assert removed(alone) == set()


def test_right_is_right_in_all_orders() -> None:
    rows = open_questions(40)
    table = replies_table(rows, 4, a=knowing(1.0), b=knowing(1.0)).to_pylist()
    wrong = {row["id"] for row in rows[:10]}
    for row in table:
        if row["id"] in wrong and row["model"] == "b" and row["rotation"] == row["id"] % 4:
            other = "A" if row["answer"] != "A" else "B"
            row.update(answer=other, right=False)
    replies = replies_table(rows[:0]).from_pylist(table, schema=replies_table(rows[:0]).schema)
    (verdict,) = rule(questions_table(rows), replies, panel("a", "b"))
    assert removed(verdict) == {row["id"] for row in rows} - wrong


def test_an_unread_reply_keeps_a_question_and_a_missing_one_leaves_it_without_a_verdict() -> None:
    """The others have the verdicts that they would have without it, whatever became of it."""
    rows = open_questions(40)

    def failing(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        return {0: None, 1: "?"}.get(row["id"], row["ground_truth"])

    replies = replies_table(rows, a=knowing(1.0), b=failing)
    (verdict,) = rule(questions_table(rows), replies, panel("a", "b"))
    assert removed(verdict) == set(range(2, 40))
    assert (verdict.votes.ballots["b"].failed, verdict.votes.ballots["b"].unread) == (0, 1)
    waiting = pending(replies, panel("a", "b"))
    assert waiting.schema.equals(VERDICTS)
    (held,) = waiting.to_pylist()
    assert (held["id"], held["reason"], held["voters"], held["right"]) == (0, "awaits_replies", 0, 0)
    assert (held["measured"], held["limit"], held["unit"]) == (1.0, 2.0, "models")
    table = filtered(questions_table(rows), [verdict], waiting)
    assert table["id"].to_pylist() == list(range(40))
    assert [row["id"] for row in table.to_pylist() if row["asked"] is None] == [0]
    assert rule(questions_table(rows[1:]), replies, panel("a", "b"))[0].reasons == verdict.reasons


@pytest.mark.parametrize(
    ("failure", "waits"),
    [("no_options", 0), ("refused", 0), ("cut", 0), ("too_long", 0), ("timeout", 1), ("unauthorized", 1)],
)
def test_the_embedded_model_and_what_will_not_be_answered_hold_nothing_back(failure: str, waits: int) -> None:
    rows = open_questions(2)
    found = replies_table(rows, a=knowing(1.0), tiny=lambda row, rng: None).to_pylist()
    found[0] |= {"failure": failure}
    replies = pa.Table.from_pylist(found, REPLIES)
    assert pending(replies, panel("a", embedded="tiny")).num_rows == waits


def test_numbers_are_judged_by_their_score() -> None:
    rows = [question(n, None, str(n % 7 + 2), "object_counting") for n in range(80)]
    table = replies_table(rows, a=knowing(1.0), b=knowing(1.0))
    (verdict,) = rule(questions_table(rows), table, panel("a", "b"))
    assert removed(verdict) == set(range(80))
    constant = judged(rows, panel("a"), a=lambda row, rng: "2")
    assert constant.standing == {"a": "constant"}


@pytest.mark.parametrize(("threshold", "right"), [(0.49, True), (0.5, True), (0.51, False)])
def test_a_number_is_right_where_its_score_is_at_the_threshold(threshold: float, right: bool) -> None:
    """13 for 10 is off by 0.3, within five of the ten tolerances; no answer is right of nothing."""
    rows = [question(n, None, text, "object_counting") for n, text in enumerate(("10", "10", "90"))]
    replies = [reply(rows[0], "a", "13"), reply(rows[1], "a", "?"), reply(rows[2], "a", "90")]
    (votes,) = votes_of(questions_table(rows), pa.Table.from_pylist(replies, REPLIES), threshold)
    found = votes.ballots["a"]
    assert found.is_right.tolist() == [[right, False], [False, True], [False, False]]
    assert (found.answer.tolist(), found.truth.tolist()) == ([0, 2, 1], [0, 0, 1])


def test_agreement_is_of_answers_and_not_of_being_right() -> None:
    rows = open_questions(4)
    a, b = ["A", "B", None, "?"], ["A", "C", "A", "A"]
    replies = [reply(r, m, said[i]) for i, r in enumerate(rows) for m, said in (("a", a), ("b", b))]
    table = replies_table(rows[:0])
    (votes,) = votes_of(questions_table(rows), table.from_pylist(replies, schema=table.schema), 0.5)
    assert votes.agreement == 0.5
    (alone,) = votes_of(questions_table(rows), replies_table(rows, a=knowing(1.0)), 0.5)
    assert alone.agreement is None


def test_luck_is_what_shuffled_truths_give() -> None:
    """Against a permutation written anew: truths of all questions dealt out again, a hundred times ten."""
    rows = directions(SKEWED)
    verdict = judged(rows, panel("a", "b"), a=skilled("right"), b=skilled("right"))
    assert set(verdict.standing.values()) == {"votes"}
    rng = np.random.default_rng(5)
    truths = np.array([row["answer"] for row in rows])
    given = [np.array([answer_of(row, m) for row in rows]) for m in (0, 1)]
    draws = []
    for _ in range(1000):
        shuffled = rng.permutation(truths)
        draws.append(int(((given[0] == shuffled) & (given[1] == shuffled)).sum()))
    error = np.std(draws) / np.sqrt(len(draws))
    assert abs(verdict.by_luck - np.mean(draws)) < 3 * error
    assert len(removed_by_chance(verdict.votes, ["a", "b"], 2)) == 1000


@pytest.mark.parametrize(
    ("draws", "better", "beats"), [(99, 0, True), (98, 0, False), (199, 1, True), (198, 1, False), (199, 2, False)]
)
def test_a_hundredth_of_the_draws_may_have_as_many_right(draws: int, better: int, beats: bool) -> None:
    """Its own draw counts as one of both."""
    by_luck = np.where(np.arange(draws) < better, 7, 6)
    assert beats_chance(7, by_luck) == beats


def skilled(favourite: str) -> Any:
    """A model that knows a third of the answers and says its favourite elsewhere."""

    def answer(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        return str(row["ground_truth"]) if rng.random() < 1 / 3 else meaning(favourite)(row, rng)

    return answer


def answer_of(row: dict[str, Any], place: int) -> str:
    """The text that the model at a place of the panel means."""
    letter = skilled("right")(row, np.random.default_rng((row["id"], place)))
    return str(row["options"]["ABC".index(letter)][3:])


def test_the_same_share_of_every_answer_stays() -> None:
    """Two of three rights are answered, of the others a quarter: so lefts and backs are dropped too."""
    rows = directions(SKEWED)
    verdict = judged(rows, panel("a", "b"), a=knowing_rights, b=knowing_rights)
    gone = removed(verdict) | removed(verdict, "blind_balance")
    stays = {a: sum(row["answer"] == a and row["id"] not in gone for row in rows) / n for a, n in SKEWED.items()}
    assert 0.3 < min(stays.values()) < 0.6
    assert max(stays.values()) - min(stays.values()) < 0.02
    answered = right_of(verdict, "a", "b")
    assert 0 < len(removed(verdict, "blind_balance")) <= 0.5 * len(answered) + 3
    reasons = [why for why in verdict.reasons if why is not None and why[0] == "blind_balance"]
    assert all(measured > limit and unit == "share of answers" for _, measured, limit, unit in reasons)


def test_of_an_answer_that_is_only_liked_some_stay() -> None:
    """All rights are answered and no left: to remove them all would make left the answer."""
    rows = directions({"left": 60, "right": 60})

    def likes(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        return meaning("right" if row["answer"] == "right" or rng.random() < 0.7 else "left")(row, rng)

    verdict = judged(rows, panel("a", "b"), a=likes, b=likes)
    gone = removed(verdict) | removed(verdict, "blind_balance")
    left = [sum(row["answer"] == a and row["id"] not in gone for row in rows) for a in ("left", "right")]
    assert abs(left[0] - left[1]) <= 1
    assert left[0] > 20


def test_answers_are_balanced_within_a_data_set() -> None:
    rows = [row | {"scene": f"{'one' if row['id'] % 2 else 'two'}/s{row['id']}"} for row in directions(EVEN)]

    def answer(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        known = row["scene"].startswith("one") and row["answer"] == "right" and rng.random() < 0.9
        return str(row["ground_truth"]) if known or rng.random() < 0.4 else meaning("back")(row, rng)

    verdict = judged(rows, panel("a", "b"), a=answer, b=answer)
    scene = {row["id"]: row["scene"][:3] for row in rows}
    gone = removed(verdict) | removed(verdict, "blind_balance")
    for name in ("one", "two"):
        mine = [row for row in rows if scene[row["id"]] == name]
        shares = [
            sum(row["id"] not in gone for row in mine if row["answer"] == a) / sum(row["answer"] == a for row in mine)
            for a in EVEN
        ]
        assert max(shares) - min(shares) < 0.05


def knowing_rights(row: dict[str, Any], rng: np.random.Generator) -> str | None:
    """A model that finds two of three rights, and else says left or back."""
    if row["answer"] == "right":
        return str(row["ground_truth"]) if row["id"] % 3 else meaning("back")(row, rng)
    return meaning("left" if rng.random() < 0.5 else "back")(row, rng)


def test_an_even_panel_drops_next_to_nothing_for_balance() -> None:
    verdict = judged(directions(EVEN), panel("a", "b"), a=knowing(0.5), b=knowing(0.5))
    assert len(removed(verdict, "blind_balance")) <= 0.1 * 180


def test_the_table_is_by_id_and_holds_measured_value_and_limit() -> None:
    rows = open_questions(40)
    verdict = judged(rows[::-1], panel("a", "b"), a=knowing(0.9), b=knowing(0.9))
    table = verdict_table([verdict])
    assert table.schema == VERDICTS
    assert table["id"].to_pylist() == list(range(40))
    for row in table.to_pylist():
        if row["reason"]:
            assert (row["measured"], row["limit"], row["unit"]) == (2.0, 2.0, "right answers")


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.1])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="number_threshold"):
        BlindConfig(number_threshold=threshold)


def test_shares_of_answers_are_rounded_and_half_of_what_is_removed_may_be_dropped() -> None:
    """Four of ten lefts are answered: of 28 others two may go, so that 26 of 28 stay, as do 9.3 of the lefts."""
    sizes = {0: 10, 1: 10, 2: 18}
    truth = [answer for answer, size in sizes.items() for _ in range(size)]
    n = len(truth)
    votes = SimpleNamespace(
        task="t", ids=pa.array(range(n)), truth=truth, closed=np.ones(n, dtype=bool), dataset=["d"] * n, offered=[0] * n
    )
    dropped, kept = balanced(votes, np.arange(n) < 4)
    assert sorted(truth[i] for i in dropped) == [1, 2]
    assert all(found == (1.0, pytest.approx(26 / 28, abs=5e-4)) for found in dropped.values())
    assert len(kept) == 3
    assert kept <= {0, 1, 2, 3}
    apart = SimpleNamespace(**vars(votes) | {"dataset": ["d"] * 10 + ["e"] * 28})
    assert balanced(apart, np.arange(n) < 4) == ({}, set()), "each data set is one of its own"
    assert balanced(votes, np.zeros(n, dtype=bool)) == ({}, set())


@pytest.mark.parametrize(
    ("answers", "constant"),
    [([0] * 10 + [2] * 10, True), ([0] * 19 + [1], True), ([0] * 18 + [1] * 2, False), ([2] * 20, False)],
)
def test_who_says_one_thing_whenever_it_says_something_is_a_constant(answers: list[int], constant: bool) -> None:
    """Of two answers; the third number stands for none."""
    nothing = np.zeros(20, dtype=bool)
    truth, rights = np.zeros(20, dtype=int), np.zeros((3, 2), dtype=bool)
    made = ModelPredictions((), np.array(answers), truth, rights, nothing, nothing, "", 0, 0)
    assert made.is_constant == constant


def test_from_ten_questions_on_the_same_options_are_a_closed_set() -> None:
    """In whatever order; of the others those with as many options are of one kind."""
    same = [make_item(n, "t", "s", "?", ["b", "a"] if n % 2 else ["a", "b"], "A") for n in range(10)]
    odd = [make_item(10 + n, "t", "s", "?", [f"{n} a", f"{n} b"], "A") for n in range(9)]
    kinds, closed = _kinds([*same, *odd])
    assert closed.tolist() == [True] * 10 + [False] * 9
    assert len({*kinds[:10]}) == len({*kinds[10:]}) == 1
    assert kinds[0] != kinds[10]
    kinds, closed = _kinds([*same[:9], *odd])
    assert not closed.any()
    assert len({*kinds}) == 1
