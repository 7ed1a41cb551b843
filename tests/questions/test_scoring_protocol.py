"""Figures by question type, replies that are too long, and what a judge makes of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipeline.benchmarks.cityeqa.score import JUDGE
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import MAX_CHARS, Answer, Figure, group_by, is_too_long


def answer(number: int, reply: str | None = None, kind: str = "a") -> Answer:
    return Answer(Published(number, None, "scene", kind, "Q?", None, "truth"), reply)


def test_a_figure_for_each_name_that_occurs_in_the_order_of_the_names() -> None:
    answers = [answer(number, kind=kind) for number, kind in enumerate("abacd")]
    found = group_by(answers, "task", {"b": "B", "a": "A", "d": "A", "x": "none"})
    assert found == [Figure("B", "task", (1,), (), inset=False), Figure("A", "task", (0, 2, 4), (), inset=False)]


def test_a_judge_is_asked_about_replies_that_somebody_reads() -> None:
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> Sequence[Reply | ModelError]:
        asked.extend(requests)
        return [Reply('{"score": 4}'), ModelError("refused", "no"), Reply('{"score": 2}')]

    replies = ["four", None, "silence", "x" * MAX_CHARS, "x" * (MAX_CHARS + 1)]
    assert [is_too_long(reply) for reply in replies] == [False, False, False, False, True]
    judge = replace(JUDGE, mark="score", lowest=1)
    marks, words, failed = judge.judged([answer(number, reply) for number, reply in enumerate(replies)], ask)
    for reply, request in zip((replies[0], replies[2], replies[3]), asked, strict=True):
        assert str(reply) in str(request.messages)
    np.testing.assert_array_equal(marks, [4, 1, np.nan, 2, 1])
    assert words == {"0": '{"score": 4}', "3": '{"score": 2}'}
    assert failed == ["2 (refused)"]
