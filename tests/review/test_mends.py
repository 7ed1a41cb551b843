"""Mended questions: which words may change, and where a question stands after it."""

from __future__ import annotations

import pytest

from pipeline.review.mends import Mend, mended_item, mended_row, problem_of, read_mend
from pipeline.review.review_bundle import content_of
from pipeline.review.reviewed import Reviewed, review
from pipeline.review.verdicts import verdicts_of
from tests.review.made import SALT, event, item_of, question, truth_of

TEXT = "Of these, which stands nearest to the stool within 2 m of the lamp?"
OPTIONS = ["A. bed", "B. chair", "C. desk", "D. sofa"]
ROW = question(4, text=TEXT, options=OPTIONS, ground_truth="A")
ITEM, TRUTH = item_of(ROW), truth_of(ROW, ("lamp", "sofa"))
BETTER = "Which of these stands nearest to the stool, within 2 m of the lamp?"


def changed(options: list[str]) -> Mend:
    return Mend(TEXT, tuple(options))


@pytest.mark.parametrize(
    ("mend", "said"),
    [
        (Mend(BETTER, tuple(OPTIONS)), None),
        (changed(["A. bed", "B. bench", "C. desk", "D. sofa"]), None),
        (changed(OPTIONS), "Nothing is changed"),
        (Mend("", tuple(OPTIONS)), "empty"),
        (Mend(f"{BETTER}\n", tuple(OPTIONS)), "line breaks"),
        (Mend(f"{BETTER}\u202e", tuple(OPTIONS)), "line breaks"),
        (Mend(BETTER.replace("the lamp", "a light"), tuple(OPTIONS)), "no longer names lamp"),
        (Mend(BETTER.replace("2 m", "3 m"), tuple(OPTIONS)), "other numbers"),
        (Mend(f"{BETTER[:-1]}, in metres?", tuple(OPTIONS)), "another unit"),
        (Mend(BETTER.replace("nearest to", "farthest from"), tuple(OPTIONS)), "says nearest or farthest:"),
        (Mend(BETTER.replace("nearest", "closest"), tuple(OPTIONS)), None),
        (Mend(BETTER.replace("the lamp", "the lampshade"), tuple(OPTIONS)), "no longer names lamp"),
        (Mend(BETTER.replace("Which of these", "Which of these three"), tuple(OPTIONS)), "says three"),
        (changed(OPTIONS[:3]), "letters of the options"),
        (changed([*OPTIONS[:3], "Z. sofa"]), "letters of the options"),
        (changed(["A. bed", "B. 3.1 m", "C. 3.10 m", "D. sofa"]), "say the same"),
        (changed(["A. bed", "B. ", "C. desk", "D. sofa"]), "option is empty"),
        (changed(["A. bed", "B.  BED", "C. desk", "D. sofa"]), "say the same"),
        (changed(["A. cot", "B. chair", "C. desk", "D. sofa"]), "Option A is the reference answer"),
    ],
)
def test_what_is_true_stays(mend: Mend, said: str | None) -> None:
    found = problem_of(ITEM, TRUTH, mend)
    assert found is None if said is None else found is not None and said in found
    assert read_mend(mend.written()) == mend


@pytest.mark.parametrize("raw", ["", "[]", '{"text": 3, "options": null}', '{"text": "a", "options": [1]}'])
def test_what_is_no_mend_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match=r"no mended question|Expecting"):
        read_mend(raw)


def test_a_mended_question_stands_by_the_verdicts_on_its_new_words() -> None:
    mend = Mend(BETTER, tuple(OPTIONS))
    after = mended_item(SALT, ITEM, TRUTH, mend)
    assert after.content == content_of(SALT, mended_row(ROW, mend)) != ITEM.content
    events = [
        event(ITEM, "ann", "answer", answer="A"),
        event(ITEM, "ann", "flag", reason="invalid_wording"),
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
