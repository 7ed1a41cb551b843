from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.questions.choices import (
    FREEDOM,
    MARGIN,
    balanced_letters,
    draw_options,
    lettered,
    numeric_choices,
    order_options,
)
from pipeline.questions.task import Number

COUNT, CM, METRES = Number(0, "objects"), Number(0, "cm", 0.4, 1.8), Number(1, "m")
ids = st.integers(0, 2**53 - 1)
truths = st.one_of(
    st.tuples(st.integers(1, 60).map(str), st.just(COUNT)),
    st.tuples(st.integers(1, 900).map(str), st.just(CM)),
    st.tuples(st.integers(1, 9999).map(lambda n: f"{n / 10:.1f}"), st.just(METRES)),
)


def test_the_numbers_here_are_those_of_the_tasks() -> None:
    used = {TASKS[t].form for t in ("object_counting", "object_size_estimation", "object_abs_distance")}
    assert used == {COUNT, CM, METRES}


@given(ids, truths)
def test_four_positive_numbers_apart_in_the_format_of_the_truth(question: int, truth: tuple[str, Number]) -> None:
    text, number = truth
    choices = numeric_choices(question, text, number)
    values = [float(c) for c in choices]
    assert len(set(choices)) == 4
    assert choices.count(text) == 1
    assert all(c == f"{v:.{number.decimals}f}" for c, v in zip(choices, values, strict=True))
    assert min(values) > 0
    apart = max(MARGIN * float(text), 10.0**-number.decimals)
    assert min(b - a for a, b in pairwise(values)) >= apart - 1e-9  # ascending, too
    assert numeric_choices(question, text, number) == choices


@given(ids, truths)
def test_within_the_factors_of_the_truth_up_to_rounding(question: int, truth: tuple[str, Number]) -> None:
    """Each of three choices on one side takes up at most one step more than the margin, and a quarter of freedom."""
    text, number = truth
    value, step = float(text), 10.0**-number.decimals
    values = [float(c) for c in numeric_choices(question, text, number)]
    reach = 3 * FREEDOM * (MARGIN * value + step)
    assert min(values) > min(number.lower * value, value - reach) - 1e-9
    assert max(values) < max(number.upper * value, value + reach) + 1e-9


def test_three_choices_below_a_size_are_not_always_the_same() -> None:
    drawn = {numeric_choices(i, "120", CM) for i in range(400)}
    lowest = {choices[0] for choices in drawn if choices[3] == "120"}
    assert len(lowest) > 15


@pytest.mark.parametrize(
    ("text", "number", "ranks"),
    [
        ("1", COUNT, 1),
        ("2", COUNT, 2),
        ("3", COUNT, 3),
        ("4", COUNT, 4),
        ("5", COUNT, 4),
        ("23", COUNT, 4),
        ("62", CM, 4),
        ("0.1", METRES, 1),
        ("0.2", METRES, 2),
        ("2.1", METRES, 4),
        ("26.4", METRES, 4),
    ],
)
def test_the_rank_of_the_truth_is_even_among_the_possible_ones(text: str, number: Number, ranks: int) -> None:
    """Else "take the smallest" would be a good guess. Five standard deviations of 1,200 draws."""
    n = 1200
    found = Counter(numeric_choices(question, text, number).index(text) for question in range(n))
    assert sorted(found) == list(range(ranks))
    share = 1 / ranks
    assert all(abs(c - n * share) <= 5 * (n * share * (1 - share)) ** 0.5 for c in found.values())


def test_the_count_two_has_room_for_one() -> None:
    assert {numeric_choices(q, "2", COUNT) for q in range(50)} == {("1", "2", "3", "4"), ("2", "3", "4", "5")}


@pytest.mark.parametrize(("text", "number"), [("0", COUNT), ("0", CM), ("0.0", METRES)])
def test_zero_has_choices_too(text: str, number: Number) -> None:
    """Reachable with ``min_count: 0`` and ``abs_distance_min_m: 0``."""
    choices = numeric_choices(5, text, number)
    assert choices[0] == text
    assert len(set(choices)) == 4


def test_choices_are_not_the_same_for_every_question() -> None:
    assert len({numeric_choices(question, "12.0", METRES) for question in range(200)}) > 190


@given(st.text(min_size=1, max_size=8), st.lists(st.sampled_from([2, 3, 4]), max_size=40))
def test_every_block_has_every_letter_once(scene: str, sizes: list[int]) -> None:
    positions = balanced_letters(scene, "task", sizes)
    for k in (2, 3, 4):
        mine = [p for p, size in zip(positions, sizes, strict=True) if size == k]
        for start in range(0, len(mine), k):
            block = mine[start : start + k]
            assert len(set(block)) == len(block)
            assert set(block) <= set(range(k))
    assert balanced_letters(scene, "task", sizes) == positions
    assert balanced_letters(scene, "task", [*sizes, 4])[:-1] == positions


def test_letters_are_even_over_scenes_and_at_every_place() -> None:
    n = 2000
    drawn = [balanced_letters(f"scene{i}", "task", [4] * 3) for i in range(n)]
    for place in range(3):
        counts = Counter(positions[place] for positions in drawn)
        assert all(abs(c - n / 4) < 5 * (n * 3 / 16) ** 0.5 for c in counts.values())


def test_every_block_has_an_order_of_its_own() -> None:
    positions = balanced_letters("scene", "task", [4] * 40)
    assert len({tuple(positions[start : start + 4]) for start in range(0, 40, 4)}) > 5


def test_letters_depend_on_scene_and_task() -> None:
    base = balanced_letters("scene", "task", [4] * 40)
    assert base != balanced_letters("other", "task", [4] * 40)
    assert base != balanced_letters("scene", "other", [4] * 40)


labels = st.lists(st.text("abcdefgh ", min_size=1, max_size=6), min_size=2, max_size=5, unique=True)


@given(ids, labels, st.data())
def test_options_are_the_labels_with_the_truth_in_its_place(
    question: int, names: list[str], data: st.DataObject
) -> None:
    truth = data.draw(st.sampled_from(names))
    position = data.draw(st.integers(0, len(names) - 1))
    options = order_options(question, truth, names, position)
    assert sorted(options) == sorted(names)
    assert options[position] == truth
    assert order_options(question, truth, names, position) == options


def test_the_order_of_the_others_is_drawn() -> None:
    orders = Counter(order_options(q, "a", ("a", "b", "c", "d"), 0) for q in range(1200))
    assert len(orders) == 6
    assert all(abs(n - 200) < 5 * (1200 * 5 / 36) ** 0.5 for n in orders.values())


@given(ids, st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=1, max_size=12, unique=True), st.data())
def test_at_most_four_labels_are_offered_and_the_truth_among_them(
    question: int, names: list[str], data: st.DataObject
) -> None:
    truth = data.draw(st.sampled_from(names))
    offered = draw_options(question, truth, names)
    assert len(offered) == min(4, len(names))
    assert offered.count(truth) == 1
    assert set(offered) <= set(names)
    assert draw_options(question, truth, names) == offered


def test_letters_in_front() -> None:
    assert lettered(("left", "right")) == ("A. left", "B. right")
