"""Events to verdicts, verdicts to where a question stands, and who is given what next."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.video_spec import video_file
from pipeline.review.checks import category_fix, check_row, fix_of
from pipeline.review.mends import QuestionEdit, mended_item, mended_row, problem_of, read_mend
from pipeline.review.review_bundle import CATEGORY_CHECK, SCENE_CHECK, ReviewItem, content_of, make_review_bundle
from pipeline.review.review_queue import LEASE_S, Board
from pipeline.review.reviewed import Reviewed, read_verdicts, review, states_of, verdicts_table
from pipeline.review.verdicts import COMMON, REVIEWERS, ReviewVerdict, consensus_of, matches, read_answer, verdicts_of
from pipeline.worlds.world import CategoryShown
from tests.review.made import AT, OPTIONS, ROOM, SALT, event, item_of, question, rooms, truth_of

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


@given(st.lists(st.tuples(NAMES, st.sampled_from(["next", "answer", "accept", "flag", "wait"])), max_size=60))
def test_the_next_item_is_the_one_of_a_plain_reference_and_none_waits_for_more_than_two(
    steps: list[tuple[str, str]],
) -> None:
    items = {row["id"]: item_of(row) for row in rooms(6)}
    board, now = Board(list(items.values()), []), 0.0
    last, held = dict[str, int](), dict[tuple[int, str], float]()
    answered, decided = set[tuple[int, str]](), set[tuple[int, str]]()

    def due(name: str) -> list[int]:
        """All that are left for a reviewer: what was looked at last at the end, the most urgent first."""
        urgent = dict[int, int]()
        for item in items:
            others = {
                n for n in ("ann", "bo", "cy", "dee") if n != name and ((item, n) in decided or (item, n) in held)
            }
            if (item, name) in decided:
                continue
            if (item, name) in answered or (item, name) in held:
                urgent[item] = 0 if (item, name) in answered else 1
            elif len(others) < 2:
                urgent[item] = 3 - len(others)
        start = last.get(name, 0)
        return sorted(urgent, key=lambda item: (item == start, urgent[item], (item - start - 1) % 6))

    for name, step in steps:
        if step == "wait":
            now += 450.0
            held = {at: until for at, until in held.items() if until > now}
        elif step == "next" or name not in last:
            expected = due(name)
            assert board.left_for(name, now) == len(expected)
            assert board.next_item(name, now, last.get(name)) == (expected or [None])[0]
            if expected:
                last[name] = expected[0]
                held[last[name], name] = now + 900.0
        elif step != "answer" or board.answer(last[name], name) is None:
            at = last[name], name
            answer = "A" if step == "answer" else None
            board.apply(event(items[at[0]], name, step, answer=answer, reason=None))  # type: ignore[arg-type]
            (answered if answer else decided).add(at)
            if not answer:
                held.pop(at, None)
    assert {(item, name) for item in items for name in last if board.answer(item, name)} == answered
    if "wait" not in {step for _, step in steps}:  # no lease has ended
        assert all(len(board.reviews(item)) <= REVIEWERS for item in items)


def test_who_has_answered_the_raw_task_of_a_question_is_asked_last_and_of_a_rejected_one_nobody_is() -> None:
    check, made, other = (item_of(question(n)) for n in (1, 2, 4))
    answered = event(check, "ann", "answer", answer="A")
    board = Board([check, made, other], [answered, event(check, "ann", "accept")], raw={2: (1,)})
    assert [board.next_item("ann", 0.0), board.next_item("ann", 0.0, after=4)] == [4, 2]
    assert board.next_item("bo", 0.0, after=1) == 2
    board = Board(
        [check, made], [event(check, name, "flag", reason="direction") for name in ("ann", "bo")], raw={2: (1,)}
    )
    assert (board.standing(1).state, board.left_for("cy", 0.0)) == ("rejected", 0)


def test_a_bundle_has_checks_then_doubts_then_scenes_in_rounds_of_their_groups() -> None:
    told = {"operands": ["lamp"], "evidence": [], "proof": None, "choices": None}
    scenes = {50: "b", 40: "z", 7: "a", 3: "a", 9: "a", 1: "b"}
    rows = [question(n, scene=scene, group="g" if n in {3, 7} else None, **told) for n, scene in scenes.items()]
    rows[0]["task"], rows[1]["until_s"], rows[1]["from_s"] = CATEGORY_CHECK, 4.0, 2.0
    doubt = {"name": "flagged", "subject": "lamp", "value": 1.0, "relation": None, "limit": None, "unit": ""}
    maps, videos = dict.fromkeys("abz?", ROOM), {"a.mp4", video_file("z", 4.0, 2.0)}
    layers = {"object_rel_distance": ("path",)}
    found = make_review_bundle(rows, maps, videos, layers, SALT, {9: ("x.jpg",)}, {40: (doubt,)})
    assert [(i.id, i.scene, i.video, i.pictures, i.map) for i in found.items] == [
        (50, "b", None, (), ()),
        (40, "z", video_file("z", 4.0, 2.0), (), ("path",)),
        (3, "a", "a.mp4", (), ("path",)),
        (9, "a", "a.mp4", ("x.jpg",), ("path",)),
        (7, "a", "a.mp4", (), ("path",)),
        (1, "b", None, (), ("path",)),
    ]
    truth = found.truths[40]
    assert (truth.truth, truth.operands, truth.evidence, truth.from_s, truth.until_s) == (
        "A",
        ("lamp",),
        (doubt,),
        2,
        4,
    )
    assert list(found.maps) == ["a", "b", "z"]


def test_the_screen_of_a_category_says_what_its_pictures_have_and_its_verdicts_become_a_fix() -> None:
    shown = CategoryShown("lamp", 3, "d", (b"1", b"2"), (b"3",), ())
    row = check_row("made/room0", shown)
    assert row["text"] == (
        "Is everything right that is annotated as “lamp” (2 of 3 are shown alone)? Pictures 1 to 2 have a box around "
        "one thing that is annotated as “lamp”. Picture 3 has all boxes of “lamp”, also of what is hidden there."
    )
    assert row["evidence"] == [
        truth_of(row | {"from_s": None}).evidence[0] | {"name": "boxes", "value": 3.0, "unit": "objects"}
    ]
    every = shown._replace(boxes=2, marked=(), unmarked=(b"4", b"5"))
    assert check_row("made/room0", every)["text"] == (
        "Is everything right that is annotated as “lamp”? Pictures 1 to 2 have a box around one thing that is "
        "annotated as “lamp”. Pictures 3 to 4 have no “lamp” at all, by the annotation."
    )
    item, made = item_of(row), {"target": "seen", "of": "lamp", "expect": 3, "set": "others_in_view"}
    scene = replace(item, task=SCENE_CHECK)

    def fixed(of: ReviewItem, *told: tuple[str, str | None]) -> dict[str, object] | None:
        events = [event(of, name, "flag" if right else "accept", answer=right, at=AT) for name, right in told]
        return fix_of(of, lambda letter: category_fix("lamp", 3, letter), verdicts_of(events))

    named = {"id": f"review-{item.id}", "scene": "room0", "why": "said on the review page, by pictures"}
    assert fixed(item, ("ann", "C"), ("bo", "C")) == named | made | {"who": "2 reviewers", "date": "2026-01-01"}
    assert fixed(item, ("ann", "C"), ("bo", None)) is None
    assert fixed(item, ("ann", "C")) is None
    for right, told in (("C", "others_in_view"), (None, "right")):  # of a whole scene one is enough
        assert fixed(scene, ("ann", right)) == named | made | {"set": told, "who": "a reviewer", "date": "2026-01-01"}
    assert fixed(scene, ("ann", "C"), ("bo", None)) is None


def test_reasons_are_those_of_the_plan() -> None:
    assert len(COMMON) == 10, "each has a digit as its key"


# ---- mended questions: which words may change, and where a question stands after it


TEXT = "Of these, which stands nearest to the stool within 2 m of the lamp?"
LETTERED = ["A. bed", "B. chair", "C. desk", "D. sofa"]
ROW = question(4, text=TEXT, options=LETTERED, ground_truth="A")
ASKED, TRUTH = item_of(ROW), truth_of(ROW, ("lamp", "sofa"))
BETTER = "Which of these stands nearest to the stool, within 2 m of the lamp?"


def changed(options: list[str]) -> QuestionEdit:
    return QuestionEdit(TEXT, tuple(options))


@pytest.mark.parametrize(
    ("mend", "said"),
    [
        (QuestionEdit(BETTER, tuple(LETTERED)), None),
        (changed(["A. bed", "B. bench", "C. desk", "D. sofa"]), None),
        (changed(LETTERED), "Nothing is changed"),
        (QuestionEdit("", tuple(LETTERED)), "empty"),
        (QuestionEdit(f"{BETTER}\n", tuple(LETTERED)), "line breaks"),
        (QuestionEdit(f"{BETTER}\u202e", tuple(LETTERED)), "line breaks"),
        (QuestionEdit(BETTER.replace("the lamp", "a light"), tuple(LETTERED)), "no longer names lamp"),
        (QuestionEdit(BETTER.replace("2 m", "3 m"), tuple(LETTERED)), "other numbers"),
        (QuestionEdit(f"{BETTER[:-1]}, in metres?", tuple(LETTERED)), "another unit"),
        (QuestionEdit(BETTER.replace("nearest to", "farthest from"), tuple(LETTERED)), "says nearest or farthest:"),
        (QuestionEdit(BETTER.replace("nearest", "closest"), tuple(LETTERED)), None),
        (QuestionEdit(BETTER.replace("the lamp", "the lampshade"), tuple(LETTERED)), "no longer names lamp"),
        (QuestionEdit(BETTER.replace("Which of these", "Which of these three"), tuple(LETTERED)), "says three"),
        (QuestionEdit(f"{TEXT} {'o' * (999 - len(TEXT))}", tuple(LETTERED)), None),
        (QuestionEdit(f"{TEXT} {'o' * (1000 - len(TEXT))}", tuple(LETTERED)), "too long"),
        (changed(["A. bed", f"B. {'o' * 200}", "C. desk", "D. sofa"]), None),
        (changed(["A. bed", f"B. {'o' * 201}", "C. desk", "D. sofa"]), "too long"),
        (changed(LETTERED[:3]), "letters of the options"),
        (changed([*LETTERED[:3], "Z. sofa"]), "letters of the options"),
        (changed(["A. bed", "B. 3.1 m", "C. 3.10 m", "D. sofa"]), "say the same"),
        (changed(["A. bed", "B. ", "C. desk", "D. sofa"]), "option is empty"),
        (changed(["A. bed", "B.  BED", "C. desk", "D. sofa"]), "say the same"),
        (changed(["A. cot", "B. chair", "C. desk", "D. sofa"]), "Option A is the reference answer"),
    ],
)
def test_what_is_true_stays(mend: QuestionEdit, said: str | None) -> None:
    found = problem_of(ASKED, TRUTH, mend)
    assert found is None if said is None else found is not None and said in found
    assert read_mend(mend.written()) == mend


@pytest.mark.parametrize("raw", ["", "[]", '{"text": 3, "options": null}', '{"text": "a", "options": [1]}'])
def test_what_is_no_mend_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match=r"no mended question|Expecting"):
        read_mend(raw)


def test_a_mended_question_stands_by_the_verdicts_on_its_new_words() -> None:
    mend = QuestionEdit(BETTER, tuple(LETTERED))
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
    board = Board([ASKED], events, lambda item, raw: mended_item(SALT, item, TRUTH, read_mend(raw)))
    assert (board.item(ASKED.id), board.standing(ASKED.id).state) == (after, "waiting")
    assert board.verdict_of(ASKED.id, "ann", "review") == verdicts_of(events)[-1]
    assert (board.next_item("ann", 0.0), board.left_for("bo", 0.0)) == (None, 1)
    known, other = event(ASKED, "bo", "answer", answer="B"), item_of(question(5))
    board = Board([ASKED, other], [known, *events], lambda item, raw: mended_item(SALT, item, TRUTH, read_mend(raw)))
    assert [board.next_item(name, 0.0) for name in ("bo", "cy")] == [5, 4], "bo knows what the question was"
    board = Board([ASKED], events, lambda item, raw: item)  # the build has made another question of it since
    assert board.item(ASKED.id) == ASKED
    elsewhere = review([{**ROW, "choices": None, "ground_truth": "B"}], verdicts_of(events), SALT)
    assert elsewhere.stands[0].state == "stale"  # the build has another truth now
