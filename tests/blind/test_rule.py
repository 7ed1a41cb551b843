"""The rule: on both sides of each of its limits, and what failures may and may not do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.blind.ask import REPLIES
from pipeline.blind.config import Removal, RuleConfig
from pipeline.blind.rule import BY_TASK, RULED, by_task, rule


def replies(*questions: str, chance: float = 0.25) -> pa.Table:
    """Per question a string of replies: r right, w wrong, u unread, f failed."""
    rows: list[dict[str, Any]] = []
    for number, question in enumerate(questions):
        for model, kind in enumerate(question):
            rows.append(
                {
                    "id": number,
                    "task": "colour",
                    "model": f"m{model}",
                    "form": "letter",
                    "reply": None if kind == "f" else kind,
                    "answer": {"r": "A", "w": "B"}.get(kind),
                    "unread": "no_letter" if kind == "u" else None,
                    "failure": "timeout" if kind == "f" else None,
                    "score": float(kind == "r"),
                    "right": kind == "r",
                    "chance": chance,
                }
            )
    return pa.Table.from_pylist(rows, schema=REPLIES)


@pytest.mark.parametrize(
    ("remove", "removed", "kept"),
    [
        ("all_correct", ["r", "rrr"], ["w", "rrw", "rru", "rrf", "fff", "uuu", "rf"]),
        ("majority", ["r", "rr", "rrw", "rrf", "rru", "rrrww"], ["w", "rw", "rf", "rww", "rff", "rrww", "rruu"]),
        ("any", ["r", "rww", "rff"], ["w", "www", "ffu"]),
    ],
)
def test_the_rule_removes_what_it_says_and_no_more(remove: Removal, removed: list[str], kept: list[str]) -> None:
    config = RuleConfig(remove=remove)
    for pattern in removed + kept:
        (verdict,) = rule(replies(pattern), config).to_pylist()
        assert verdict["removed"] == (pattern in removed), pattern
        assert verdict["models"] == len(pattern)
        assert (verdict["right"], verdict["unread"], verdict["failed"]) == tuple(pattern.count(c) for c in "ruf")


def test_the_default_is_urbanvideo_benchs_rule() -> None:
    assert (RuleConfig().remove, RuleConfig().number_threshold) == ("all_correct", 0.5)


@pytest.mark.parametrize(
    ("remove", "models", "by_luck"),
    [
        ("all_correct", 3, 0.25**3),
        ("any", 3, 1 - 0.75**3),
        ("majority", 3, 3 * 0.25**2 * 0.75 + 0.25**3),
        ("majority", 2, 0.25**2),
    ],
)
def test_what_guessing_would_remove(remove: Removal, models: int, by_luck: float) -> None:
    (verdict,) = rule(replies("w" * models), RuleConfig(remove=remove)).to_pylist()
    assert verdict["by_luck"] == pytest.approx(by_luck)


def test_a_failure_never_makes_a_removal_likelier() -> None:
    for remove in ("all_correct", "majority", "any"):
        config = RuleConfig.model_validate({"remove": remove})
        for pattern in ("rrr", "rrw", "rww", "www"):
            before = rule(replies(pattern), config)["removed"].to_pylist()[0]
            for place in range(3):
                for failure in "fu":
                    worse = pattern[:place] + failure + pattern[place + 1 :]
                    assert rule(replies(worse), config)["removed"].to_pylist()[0] <= before


def test_nothing_asked_is_nothing_removed() -> None:
    ruled = rule(replies(), RuleConfig())
    assert ruled.schema == RULED
    assert ruled.num_rows == 0
    assert by_task(replies(), ruled).num_rows == 0


def test_the_summary_counts_per_task_and_model() -> None:
    asked = replies("rr", "rw", "wf", "uw")
    summary = by_task(asked, rule(asked, RuleConfig()))
    assert summary.schema == BY_TASK
    one, two, both = summary.to_pylist()
    assert (one["model"], one["questions"], one["right"], one["unread"], one["failed"]) == ("m0", 4, 0.5, 1, 0)
    assert (two["model"], two["questions"], two["right"], two["unread"], two["failed"]) == ("m1", 4, 0.25, 0, 1)
    assert both["model"] is None
    assert (both["questions"], both["right"], both["removed"], both["unread"], both["failed"]) == (4, 0.375, 1, 1, 1)
    assert both["agreement"] == 0.5  # the first question's two answers agree, the second's do not
    assert both["by_luck"] == pytest.approx(4 * 0.25**2)
    assert both["chance"] == 0.25


def test_one_model_has_nobody_to_agree_with() -> None:
    asked = replies("r", "w")
    assert by_task(asked, rule(asked, RuleConfig())).to_pylist()[-1]["agreement"] is None


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.1])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="number_threshold"):
        RuleConfig(number_threshold=threshold)
