from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeline.benchmarks.cityeqa.score import JUDGE
from pipeline.core.identity import rng_for
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import MAX_CHARS, Answer, Figure, group_by, is_too_long
from pipeline.scoring.figures import SAMPLES, rows_of
from tests.environment import pace

NAN = float("nan")


def test_figures_by_hand() -> None:
    figures = [
        Figure("both", parts=("few", "many")),
        Figure("few", "task", (0, 1)),
        Figure("many", "task", (2, 3, 4, 5)),
        Figure("none", "task", (6,)),
    ]
    marks = np.array([1, 0, 1, 1, 0, 1, NAN])
    priors = np.array([0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.1])
    both, few, many, none = rows_of(figures, "score", marks, list("aabbccd"), priors)
    assert (few.value, many.value, both.value, none.value) == (0.5, 0.75, 0.625, None)
    assert (few.n, many.n, both.n, none.n) == (2, 4, 6, 0)
    assert few.deviation == pytest.approx(0.5**0.5)
    assert (few.prior, many.prior, both.prior, none.prior) == (0.5, 0.25, 0.375, None)
    assert (both.above, none.above) == (0.25, None)
    assert none.low is None
    (unknown,) = rows_of(figures[1:2], "score", marks, list("aabbccd"), np.full(7, NAN))
    assert (unknown.prior, unknown.above) == (None, None)


def test_intervals_are_those_of_a_plain_loop() -> None:
    """Scene by scene, draw by draw; of samples that lack a part the rest counts."""
    rng = np.random.default_rng(4)
    scenes = [f"s{n}" for n in rng.integers(0, 9, 60)]
    names = sorted(set(scenes))
    marks = rng.random(60)
    figures = [
        Figure("one", "", tuple(range(20))),
        Figure("two", "", tuple(range(20, 60))),
        Figure("rare", "", (7,)),
        Figure("mean", "", parts=("one", "two", "rare")),
    ]
    drawn = rng_for("bootstrap", len(names)).multinomial(len(names), np.full(len(names), 1 / len(names)), size=SAMPLES)
    means: dict[str, list[float]] = {figure.name: [] for figure in figures}
    for counts in drawn:
        own = {}
        for figure in figures[:3]:
            weights = np.array([counts[names.index(scenes[i])] for i in figure.members])
            own[figure.name] = float(np.average(marks[list(figure.members)], weights=weights)) if weights.any() else NAN
            means[figure.name].append(own[figure.name])
        means["mean"].append(float(np.nanmean(list(own.values()))))
    for row in rows_of(figures, "score", marks, scenes):
        low, high = np.nanquantile(means[row.figure.name], [0.025, 0.975])
        assert (row.low, row.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_one_scene_has_no_interval() -> None:
    (row,) = rows_of([Figure("all", "", (0, 1))], "score", np.array([0.0, 1.0]), ["a", "a"])
    assert (row.value, row.low, row.high) == (0.5, None, None)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Scenes differ by 0.2, questions by 0.1: an interval over questions would hold it far less often."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(60):
        level = rng.normal(0.5, 0.2, 40)
        marks = np.repeat(level, 10) + rng.normal(0, 0.1, 400)
        (row,) = rows_of([Figure("all", "", tuple(range(400)))], "score", marks, [str(n // 10) for n in range(400)])
        held += row.low <= 0.5 <= row.high
    assert 52 <= held <= 60


def test_many_questions_take_a_moment() -> None:
    n = 100_000
    marks, scenes = np.random.default_rng(0).random(n), [str(i % 1000) for i in range(n)]
    figures = [Figure(str(t), "task", tuple(range(t, n, 8))) for t in range(8)]
    start = time.process_time()
    rows_of([*figures, Figure("all", parts=tuple(f.name for f in figures))], "score", marks, scenes)
    assert time.process_time() - start < 3 * pace()


# ---- figures by question type, replies that are too long, and what a judge makes of the others


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
