"""What comes of a model's reply: a refusal with what was measured, and items within their limits."""

from __future__ import annotations

import pytest

from pipeline.core.schema import Rejection
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.questions.model_authoring import RefusedItemError, record, take
from pipeline.questions.open_items import ACCEPTED, PROOF_CHARS, OpenItem, form, item_of


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
