"""Events to verdicts, verdicts to where a question stands, and who is given what next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.review.mends import Mend, mended_item, mended_row, problem_of, read_mend
from pipeline.review.review_bundle import content_of
from pipeline.review.review_queue import LEASE_S, Board
from pipeline.review.reviewed import Reviewed, read_verdicts, review, states_of, verdicts_table
from pipeline.review.verdicts import (
    COMMON,
    REVIEWERS,
    ReviewVerdict,
    consensus_of,
    matches,
    read_answer,
    verdicts_of,
)
from tests.review.made import OPTIONS, SALT, event, item_of, question, rooms, truth_of

ITEM = item_of(question(1))


def said(reviewer: str, decision: str | None, correction: str | None = None, **more: str) -> ReviewVerdict:
    return ReviewVerdict(1, "now", reviewer, decision=decision, correction=correction, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "state", "answer"),
    [
        ([], "waiting", None),
        ([said("ann", "accept")], "waiting", None),
        ([said("ann", "accept"), said("bo", "accept")], "accepted", None),
        ([said("ann", "flag"), said("bo", "flag")], "rejected", None),
        ([said("ann", "flag", "C"), said("bo", "flag", "C")], "corrected", "C"),
        ([said("ann", "flag", "C"), said("bo", "flag", "D")], "disputed", None),
        ([said("ann", "accept"), said("bo", "flag")], "disputed", None),
        ([said("ann", None), said("bo", None)], "answered", None),
        ([said("ann", "accept"), said("bo", None)], "answered", None),
        ([said("ann", "accept"), said("bo", None), said("cy", "accept")], "accepted", None),
        ([said("ann", "accept"), said("bo", "flag"), said("cy", "accept", role="adjudicate")], "accepted", None),
        ([said("ann", "accept"), said("bo", "flag"), said("cy", "flag", "B", role="adjudicate")], "corrected", "B"),
        ([said("ann", "accept"), said("bo", "flag"), said("cy", None, role="adjudicate")], "disputed", None),
        ([ReviewVerdict(1, "before", "ann", decision="accept")], "stale", None),
        ([ReviewVerdict(1, "before", "ann", decision="accept"), said("ann", "accept")], "waiting", None),
    ],
)
def test_where_a_question_stands(verdicts: list[ReviewVerdict], state: str, answer: str | None) -> None:
    found = consensus_of(verdicts, "now")
    assert (found.state, found.answer) == (state, answer)


def test_a_later_decision_of_the_same_reviewer_holds_and_the_answer_stays() -> None:
    events = [
        event(ITEM, "ann", "answer", answer="B"),
        event(ITEM, "ann", "accept"),
        event(ITEM, "ann", "flag", reason="direction", note="!", answer="C"),
        event(ITEM, "ann", "accept", "adjudicate"),
    ]
    reviewed, settled = verdicts_of(events)
    assert (reviewed.answer, reviewed.decision, reviewed.correction, reviewed.reason) == ("B", "flag", "C", "direction")
    assert (settled.role, settled.answer, settled.decision) == ("adjudicate", "B", "accept")
    assert read_verdicts(verdicts_table([reviewed, settled])) == [settled, reviewed]


def test_undo_takes_back_one_decision_after_the_other_and_no_answer() -> None:
    flag, undo = event(ITEM, "ann", "flag", reason="direction", note="!"), event(ITEM, "ann", "undo")
    answer, accept = event(ITEM, "ann", "answer", answer="B"), event(ITEM, "ann", "accept")
    told = [
        [(v.answer, v.decision, v.reason, v.note) for v in verdicts_of(events)]
        for events in ([flag, undo], [flag, answer, undo], [answer, accept, flag, undo], [accept, flag, undo, undo])
    ]
    assert told == [[], [("B", None, None, None)], [("B", "accept", None, None)], []]
    board = Board([ITEM], [flag, undo])
    assert (board.reviews(1), board.next_item("ann", 0.0)) == ([], 1)


def test_answers_are_kept_in_one_form() -> None:
    assert [read_answer(a, OPTIONS, "?") for a in ("b", "B.", "sofa", "E", "")] == ["B", "B", "B", None, None]
    asked = "How far is it (in meters)?"
    assert [read_answer(a, None, asked) for a in ("2.50", "250 cm", "1e1", "far")] == ["2.5", "2.5", "10", None]


def test_an_estimate_matches_within_30_percent_and_a_count_only_itself() -> None:
    asked = "How far is it (in meters)?"
    assert [matches(a, "4", None, asked) for a in ("2.8", "5.2", "2.7", "5.3")] == [True, True, False, False]
    assert [matches(a, "4", None, "How many chairs are there?") for a in ("4.0", "5")] == [True, False]
    assert matches("A", "A", OPTIONS, "?")
    assert not matches("B", "A", OPTIONS, "?")


def test_what_reviewers_judge_is_what_a_verdict_is_bound_to() -> None:
    row = question(1)
    same = content_of(SALT, row)
    for changes in ({"text": "?"}, {"ground_truth": "D"}, {"options": [*OPTIONS, "E. rug"]}, {"until_s": 2.0}):
        assert content_of(SALT, row | changes) != same
    assert content_of(SALT, row | {"evidence": 1, "template_version": 9}) == same
    assert content_of(b"other", row) != same  # who knows the question but not the secret cannot try the answers


def test_after_a_rebuild_changed_questions_are_stale_and_return_to_the_queue() -> None:
    rows = [question(1), question(2), question(4)]
    items = [item_of(row) for row in rows]
    events = [event(item, name, "accept") for item in items for name in ("ann", "bo")]
    rows[1] = question(2, ground_truth="D")
    found = review([*rows[:2], question(5)], verdicts_of(events), SALT)
    assert states_of(found) == {"accepted": 1, "stale": 1}
    assert (found.gone, found.reviewers) == (2, 2)
    board = Board([items[0], item_of(rows[1])], events)
    assert [board.next_item("ann", 0.0), board.standing(2).state] == [2, "stale"]


def test_two_look_at_each_question_and_what_one_has_begun_comes_back() -> None:
    items = [item_of(question(n)) for n in (1, 2, 4)]
    board = Board(items, [])
    assert [board.next_item(name, 0.0) for name in ("ann", "bo", "cy")] == [1, 1, 2]
    assert board.next_item("ann", 1.0) == 1  # not left yet
    board.apply(event(items[0], "ann", "answer", answer="A"))
    assert (board.answer(1, "ann"), board.answer(1, "bo"), board.answer(2, "ann")) == ("A", None, None)
    assert board.next_item("ann", 1.0) == 1  # answered otherwise than the truth, and not decided
    assert board.next_item("ann", 1.0, after=1) == 2  # who goes on goes on: cy's needs a second
    board.apply(event(items[0], "ann", "accept"))
    assert board.next_item("dee", 1.0) == 4  # both others are taken
    assert board.next_item("dee", 2.0 + LEASE_S) == 1  # after a while they are free again


def test_who_answers_and_leaves_keeps_nobody_waiting_and_may_come_back() -> None:
    item = item_of(question(1))
    board = Board([item], [])
    for name in ("ann", "bo"):
        assert board.next_item(name, 0.0) == 1
        board.apply(event(item, name, "answer", answer="A"))
    assert (board.standing(1).state, board.disputed("cy", 1.0), board.next_item("cy", 1.0)) == ("answered", [], None)
    assert board.next_item("cy", LEASE_S + 1.0) == 1
    for name in ("bo", "cy"):
        board.apply(event(item, name, "accept"))
    assert (board.standing(1).state, board.next_item("ann", 2.0 * LEASE_S + 2.0)) == ("accepted", 1)
    assert [tuple(row) for row in board.progress()] == [
        ("ann", 0, 0, 0, 1, 0),
        ("bo", 1, 1, 0, 0, 0),
        ("cy", 1, 1, 0, 0, 0),
    ]


def test_progress_and_disputes() -> None:
    items = [item_of(question(n)) for n in (1, 2)]
    board = Board(items, [event(items[0], "ann", "accept"), event(items[0], "bo", "flag", reason="other", note="?")])
    assert board.disputed("cy", 0.0) == [1]
    board.lease(1, "dee", 0.0)
    assert (board.disputed("cy", 1.0), board.disputed("dee", 1.0)) == ([], [1])
    board.apply(event(items[0], "cy", "answer", "adjudicate", answer="B"))
    board.apply(event(items[0], "cy", "accept", "adjudicate"))
    assert (board.disputed("cy", 1.0), board.standing(1).state) == ([], "accepted")
    assert [tuple(row) for row in board.progress()] == [
        ("ann", 1, 1, 0, 0, 0),
        ("bo", 1, 0, 1, 0, 0),
        ("cy", 0, 0, 0, 0, 1),
    ]
    assert board.states() == {"object_rel_distance": {"accepted": 1, "waiting": 1}}


NAMES = st.sampled_from(["ann", "bo", "cy", "dee"])


@given(st.lists(st.tuples(NAMES, st.sampled_from(["next", "answer", "accept", "flag"])), max_size=60))
def test_whatever_happens_no_item_waits_for_more_than_two(steps: list[tuple[str, str]]) -> None:
    rows = rooms(6)
    items = {row["id"]: item_of(row) for row in rows}
    board, open_item = Board(list(items.values()), []), dict[str, int]()
    for name, step in steps:
        if step == "next" or name not in open_item:
            chosen = board.next_item(name, 0.0)
            if chosen is None:
                continue
            open_item[name] = chosen
        elif step != "answer" or board.answer(open_item[name], name) is None:
            answer = "A" if step == "answer" else None
            board.apply(event(items[open_item[name]], name, step, answer=answer, reason=None))  # type: ignore[arg-type]
    for item in items:
        assert len(board.reviews(item)) <= REVIEWERS


def test_reasons_are_those_of_the_plan() -> None:
    assert len(COMMON) == 10, "each has a digit as its key"


# ---- mended questions: which words may change, and where a question stands after it


TEXT = "Of these, which stands nearest to the stool within 2 m of the lamp?"
LETTERED = ["A. bed", "B. chair", "C. desk", "D. sofa"]
ROW = question(4, text=TEXT, options=LETTERED, ground_truth="A")
ASKED, TRUTH = item_of(ROW), truth_of(ROW, ("lamp", "sofa"))
BETTER = "Which of these stands nearest to the stool, within 2 m of the lamp?"


def changed(options: list[str]) -> Mend:
    return Mend(TEXT, tuple(options))


@pytest.mark.parametrize(
    ("mend", "said"),
    [
        (Mend(BETTER, tuple(LETTERED)), None),
        (changed(["A. bed", "B. bench", "C. desk", "D. sofa"]), None),
        (changed(LETTERED), "Nothing is changed"),
        (Mend("", tuple(LETTERED)), "empty"),
        (Mend(f"{BETTER}\n", tuple(LETTERED)), "line breaks"),
        (Mend(f"{BETTER}\u202e", tuple(LETTERED)), "line breaks"),
        (Mend(BETTER.replace("the lamp", "a light"), tuple(LETTERED)), "no longer names lamp"),
        (Mend(BETTER.replace("2 m", "3 m"), tuple(LETTERED)), "other numbers"),
        (Mend(f"{BETTER[:-1]}, in metres?", tuple(LETTERED)), "another unit"),
        (Mend(BETTER.replace("nearest to", "farthest from"), tuple(LETTERED)), "says nearest or farthest:"),
        (Mend(BETTER.replace("nearest", "closest"), tuple(LETTERED)), None),
        (Mend(BETTER.replace("the lamp", "the lampshade"), tuple(LETTERED)), "no longer names lamp"),
        (Mend(BETTER.replace("Which of these", "Which of these three"), tuple(LETTERED)), "says three"),
        (changed(LETTERED[:3]), "letters of the options"),
        (changed([*LETTERED[:3], "Z. sofa"]), "letters of the options"),
        (changed(["A. bed", "B. 3.1 m", "C. 3.10 m", "D. sofa"]), "say the same"),
        (changed(["A. bed", "B. ", "C. desk", "D. sofa"]), "option is empty"),
        (changed(["A. bed", "B.  BED", "C. desk", "D. sofa"]), "say the same"),
        (changed(["A. cot", "B. chair", "C. desk", "D. sofa"]), "Option A is the reference answer"),
    ],
)
def test_what_is_true_stays(mend: Mend, said: str | None) -> None:
    found = problem_of(ASKED, TRUTH, mend)
    assert found is None if said is None else found is not None and said in found
    assert read_mend(mend.written()) == mend


@pytest.mark.parametrize("raw", ["", "[]", '{"text": 3, "options": null}', '{"text": "a", "options": [1]}'])
def test_what_is_no_mend_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match=r"no mended question|Expecting"):
        read_mend(raw)


def test_a_mended_question_stands_by_the_verdicts_on_its_new_words() -> None:
    mend = Mend(BETTER, tuple(LETTERED))
    after = mended_item(SALT, ASKED, TRUTH, mend)
    assert after.content == content_of(SALT, mended_row(ROW, mend)) != ASKED.content
    events = [
        event(ASKED, "ann", "answer", answer="A"),
        event(ASKED, "ann", "flag", reason="invalid_wording"),
        event(after, "ann", "answer", answer="A"),
        event(after, "ann", "mend", answer=mend.written()),
    ]

    def stands(*more: object) -> Reviewed:
        row = {**ROW, "choices": None}
        return review([row], verdicts_of([*events, *more]), SALT)  # type: ignore[list-item]

    assert (stands().stands[0].state, stands().stands[0].reviewers) == ("waiting", 1)
    answered = event(after, "bo", "answer", answer="A")
    confirmed = stands(answered, event(after, "bo", "accept"))
    assert confirmed.stands[0].state == "mended"
    assert read_mend(confirmed.stands[0].mend or "") == mend
    assert confirmed.stands[0].reasons == ("invalid_wording",)
    assert all(not row.items for row in confirmed.agreements)  # who proposed it agrees with nobody
    disputed = stands(answered, event(after, "bo", "flag", reason="several_right"))
    assert disputed.stands[0].state == "disputed"
    elsewhere = review([{**ROW, "choices": None, "ground_truth": "B"}], verdicts_of(events), SALT)
    assert elsewhere.stands[0].state == "stale"  # the build has another truth now
