import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier

from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.blind.items import item_of
from pipeline.core.identity import rng_for
from pipeline.questions.balance import ClassTally, balance_of
from pipeline.questions.choices import (
    _shares,
    _spread,
    balanced_letters,
    draw_options,
    draw_orders,
    is_number,
    lettered,
    numeric_choices,
    offered,
    order_options,
    stepped,
)
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import MAX_CHARS, Answer, find_option
from pipeline.questions.task import Number
from pipeline.questions.usual import USUAL
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.sizes import TYPICAL
from tests.bench.builds import profile_tasks
from tests.bench.leaks import _built

COUNT = Number(0, "objects")
CM, METRES, SQUARE_METRES = (
    TASKS[name].form for name in ("object_size_estimation", "object_abs_distance", "room_size_estimation")
)
ids = st.integers(0, 2**53 - 1)
truths = st.one_of(
    st.tuples(st.integers(1, 60).map(str), st.just(COUNT)),
    st.tuples(st.integers(1, 900).map(str), st.just(CM)),
    st.tuples(st.integers(1, 9999).map(lambda n: f"{n / 10:.1f}"), st.sampled_from([METRES, SQUARE_METRES])),
)
MEASURED = ("object_counting", "object_size_estimation", "room_size_estimation", "object_abs_distance")
SETS = 1000


@given(ids, truths)
def test_four_positive_numbers_apart_in_the_format_of_the_truth(question: int, truth: tuple[str, Number]) -> None:
    text, number = truth
    choices = numeric_choices(question, text, number)
    values = [float(c) for c in choices]
    step = 10.0**-number.decimals
    assert len(set(choices)) == 4
    assert choices.count(text) == 1
    assert all(c == f"{v:.{number.decimals}f}" for c, v in zip(choices, values, strict=True))
    assert min(values) > 0
    assert min(b - a for a, b in pairwise(values)) >= step - 1e-9  # ascending, too
    assert numeric_choices(question, text, number) == choices


def right_of_a_forest(values: np.ndarray, place: np.ndarray, fold: np.ndarray) -> float:
    """Share of the truths that a forest finds by the four numbers, their ratios and their differences."""
    logs = np.log(values)
    features = np.hstack([values, logs, np.diff(logs, axis=1), np.diff(values, axis=1)])
    right = 0
    for test in np.unique(fold):
        forest = ExtraTreesClassifier(100, min_samples_leaf=5, random_state=0).fit(
            features[fold != test], place[fold != test]
        )
        right += int((forest.predict(features[fold == test]) == place[fold == test]).sum())
    return right / len(place)


class StrictVsi:
    """VSI-Bench as its default profile asks it."""

    shares, view, by_name = VSI.shares, staticmethod(VSI.view), staticmethod(lambda: profile_tasks("strict"))


def smallest_gap_fits(values: np.ndarray) -> np.ndarray:
    """The largest option of which a fifth fits into the smallest gap: the guess that was right in 83% of the rooms."""
    fits = 0.2 * values <= np.diff(values, axis=1).min(1)[:, None] + 1e-9
    return np.where(fits.any(1), 3 - fits[:, ::-1].argmax(1), 0)


@pytest.mark.slow
@pytest.mark.real_data
def test_the_choices_alone_do_not_tell_the_truth(real_scenes: list[IndoorScene]) -> None:
    """Of what `strict` asks of 122 scans: by no place, no usual number, and no gap more than 8 points above chance."""
    asked: dict[str, list[dict[str, Any]]] = {}
    for row in _built(StrictVsi, PROFILES["strict"], 6, real_scenes):
        asked.setdefault(row["task"], []).append(row)
    for task in MEASURED:
        values = np.array([[float(choice[3:]) for choice in row["choices"]] for row in asked[task]])
        truth = np.array([float(row["ground_truth"]) for row in asked[task]])
        values.sort(axis=1)
        place = np.abs(values - truth[:, None]).argmin(1)
        names = [row["operands"][0] if row["operands"] else "" for row in asked[task]]
        kind = {"object_counting": "count", "object_size_estimation": "size_cm"}.get(task)
        usual = {"median": np.full(len(truth), np.median(truth))}
        if kind:
            usual["people"] = np.array([USUAL[kind].get(name, np.nan) for name in names])
        if kind == "size_cm":
            usual["boxes"] = np.array([100 * TYPICAL[name].median_m if name in TYPICAL else np.nan for name in names])
        guesses = {n: np.abs(np.log(values / u[:, None])).argmin(1) for n, u in usual.items()}
        guesses |= {f"place {n}": np.full(len(truth), n) for n in range(4)} | {"gap": smallest_gap_fits(values)}
        told = {n: float((guess == place).mean()) for n, guess in guesses.items()}
        assert max(told.values()) <= 0.25 + 0.08, (task, told)


def quantiles(truths: Sequence[str]) -> list[float]:
    numbers = {"kind": Counter(truths)}
    return [*balance_of([{"task": ClassTally("scene", {}, numbers=numbers)}]).usual["task"]["kind"]]


@pytest.mark.slow
def test_where_a_build_knows_what_is_usual_of_a_kind_options_tell_little() -> None:
    """A thousand distances around 30 cm as wide as those of an arm: else the nearest to 30 is right by 15 points."""
    truths = [f"{np.exp(x):.1f}" for x in rng_for("distances").normal(np.log(30), 0.46, SETS)]
    for known, near_least, near_most, most in (((), 0.4, 0.6, 1.0), (quantiles(truths), 0.2, 0.3, 0.35)):
        sets = [numeric_choices(n, truth, Number(1, "cm"), usual=known) for n, truth in enumerate(truths)]
        values, place = np.array(sets, float), np.array([s.index(t) for s, t in zip(sets, truths, strict=True)])
        near = np.abs(np.log(values / 30)).argmin(1) == place
        assert near_least <= near.mean() <= near_most
        assert right_of_a_forest(values, place, np.arange(SETS) % 5) <= most
    assert np.abs(np.bincount(place, minlength=4) / SETS - 0.25).max() <= 0.05


@pytest.mark.parametrize(("text", "number"), [("120", CM), ("26.4", METRES)])
def test_of_what_nothing_is_known_the_truth_may_lie_anywhere_among_numbers_each_1_4_times_the_one_below(
    text: str, number: Number
) -> None:
    for question in range(40):
        _, at = rng_for(question, "choices").random(2) * 4
        lowest = float(text) / 1.4 ** int(at) / (1 + 0.4 * (at % 1))
        usual = [lowest * 1.4**n for n in range(5)]
        assert numeric_choices(question, text, number) == numeric_choices(question, text, number, usual=usual)


def test_the_same_numbers_are_offered_whichever_of_them_is_true() -> None:
    """By hand: of 1 to 41 evenly those that are ten apart."""
    for lot in (0.25, 0.75):
        found = {tuple(_spread(truth, [1.0, 41.0], math.inf, lot)) for truth in (5, 15, 25, 35)}
        assert found == {(5, 15, 25, 35)}
    # 2 to 4 are a quarter each, and of 1 and 5 an eighth is one or the other.
    assert [_spread(3, [1.0, 5.0], math.inf, lot) for lot in (0.25, 0.75)] == [[1, 2, 3, 4], [2, 3, 4, 5]]


def test_what_is_more_than_a_quarter_of_all_answers_is_always_offered() -> None:
    """By hand: 2 is half of all counts, and the others are drawn in three shares of the rest."""
    assert _shares([2, 4, 4, 6], 3, math.inf).tolist() == [0, 0, 0.25, 0.5, 1.5, 0.5, 0.25]
    usual = [2.0, 2.0, 2.0, 2.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    sets = [numeric_choices(n, str(2 + n % 9), COUNT, usual=usual) for n in range(900)]
    assert all("2" in offered and len(offered) == 4 for offered in sets)
    assert all(str(2 + n % 9) in offered for n, offered in enumerate(sets))
    assert len({offered for n, offered in enumerate(sets) if n % 9 == 0}) > 1


@given(st.integers(0, 60), st.lists(st.floats(0, 50), min_size=9, max_size=9).map(sorted), st.integers(0, 60), ids)
def test_any_usual_numbers_give_four_that_can_be(truth: int, usual: list[float], more: int, question: int) -> None:
    """Whatever was measured: the truth among them, ascending, none below 1 but a truth of 0, none above the most."""
    most = truth + more
    offered = [int(text) for text in numeric_choices(question, str(truth), Number(0, ""), None, most, usual)]
    assert offered == sorted(set(offered))
    assert truth in offered
    assert min(offered) >= min(truth, 1)
    assert max(offered) <= most
    assert len(offered) == min(4, most + (truth == 0))


@pytest.mark.parametrize(("text", "number"), [("12", CM), ("120", CM), ("540", CM), ("0.8", METRES), ("26.4", METRES)])
def test_every_measured_number_may_take_every_place(text: str, number: Number) -> None:
    assert {numeric_choices(question, text, number).index(text) for question in range(2000)} == {0, 1, 2, 3}


@pytest.mark.parametrize(("text", "number"), [("0", COUNT), ("0", CM), ("0.0", METRES)])
def test_zero_has_choices_too(text: str, number: Number) -> None:
    """Reachable with ``min_count: 0`` and ``abs_distance_min_m: 0``."""
    choices = numeric_choices(5, text, number)
    assert choices[0] == text
    assert len(set(choices)) == 4


@pytest.mark.slow
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


def test_letters_are_drawn_block_by_block_of_those_with_as_many_options() -> None:
    rank, expected = Counter[int](), []
    for k in (sizes := [4, 3, 4, 4, 2, 3, 4, 4, 3, 3, 4, 4, 4, 4]):
        drawn = rng_for("s", "t", "letters", k, rank[k] // k).permutation(k)
        expected.append(int(drawn[rank[k] % k]))
        rank[k] += 1
    assert balanced_letters("s", "t", sizes) == expected


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
    assert len({*offered}) == len(offered)


@given(ids, st.integers(2, 4), st.integers(2, 6), st.data())
def test_orders_are_offered_each_beside_its_reverse(question: int, things: int, most: int, data: st.DataObject) -> None:
    orders = [", ".join(order) for order in permutations("abcd"[:things])]
    truth = data.draw(st.sampled_from(orders))
    also = data.draw(st.lists(st.sampled_from(orders), max_size=1))
    offered = draw_orders(question, truth, orders, most, also)
    assert len({*offered}) == len(offered) == min(most, len(orders))
    assert offered[0] == truth
    assert {*also} <= {*offered}
    if len(offered) % 2 == 0 and len({truth, *also}) <= len(offered) // 2:
        assert {", ".join(order.split(", ")[::-1]) for order in offered} == {*offered}
    assert draw_orders(question, truth, orders, most, also) == offered


def test_numbers_are_rounded_to_the_decimals_or_the_multiple_of_their_step() -> None:
    """Those of a decimal as they are written: half of a step that is a little more than a half goes up."""
    written = {(0.05, 0.1): "0.1", (0.35, 0.1): "0.3", (0.015, 0.01): "0.01", (2.5, 1.0): "2", (1.3, 0.5): "1.5",
               (7.4, 5.0): "5", (7.6, 5.0): "10", (0.37, 0.25): "0.25", (3.0, 0.2): "3.0"}  # fmt: skip
    assert {given: stepped(*given) for given in written} == written


def test_no_choice_is_above_what_is_possible() -> None:
    for truth in range(13, 22):
        for most in range(truth, truth + 9):
            offered = [numeric_choices(question, str(truth), Number(0, ""), None, most) for question in range(9)]
            assert all(int(own[-1]) <= most and str(truth) in own for own in offered)


def test_letters_in_front() -> None:
    assert lettered(("left", "right")) == ("A. left", "B. right")


ROW: dict[str, Any] = {
    "id": 1, "task": "t", "scene": "a/b", "group": "shop 3", "text": "Is it open?", "options": None, "from_s": None,
    "ground_truth": "no", "choices": ["A. yes", "B. no"], "choice": "B", "until_s": None,
}  # fmt: skip


def test_words_are_chosen_among_the_choices() -> None:
    item = item_of(ROW)
    assert (item.options, item.right, item.number) == (("yes", "no"), 1, None)
    assert item.group == "a/b#shop 3"
    assert offered(ROW)["ground_truth"] == "B"


def test_numbers_stay_numbers_unless_choices_are_wanted() -> None:
    row = ROW | {"ground_truth": "2.5", "choices": ["A. 2.0", "B. 2.5"], "group": None}
    assert item_of(row).number is not None
    assert item_of(row).group == "a/b"
    assert item_of(row, among_choices=True).options == ("2.0", "2.5")
    assert offered(row) == row


def test_options_stay_options() -> None:
    row = ROW | {"options": ["A. left", "B. right"], "ground_truth": "A", "choices": None, "choice": None}
    assert item_of(row).options == ("left", "right")
    assert offered(row) == row


@pytest.mark.parametrize(
    ("text", "number"), [("2.5", True), (" 3 ", True), ("three", False), ("NaN", False), ("", False)]
)
def test_what_is_a_number(text: str, number: bool) -> None:
    assert is_number(text) is number


@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 2**53 - 1))
def test_no_number_is_offered_that_cannot_be(truth: int, more: int, question: int) -> None:
    """Of six landmarks nobody counts seven: four numbers up to the most, fewer where there are no four."""
    most = truth + more
    offered = numeric_choices(question, str(truth), Number(0, ""), None, most)
    numbers = [int(text) for text in offered]
    assert numbers == sorted(set(numbers))
    assert truth in numbers
    assert numbers[0] >= 1
    assert numbers[-1] <= most
    assert len(numbers) == min(4, most)


@given(st.integers(5, 400), st.sampled_from([0.5, 2.0, 5.0]), st.integers(0, 2**53 - 1))
def test_what_is_offered_beside_a_stepped_number_has_its_steps(units: int, step: float, question: int) -> None:
    offered = numeric_choices(question, stepped(units * step, step), Number(1, "m"), step)
    assert stepped(units * step, step) in offered
    assert all(float(text) % step == 0 for text in offered)
    assert len({len(text.partition(".")[2]) for text in offered}) == 1


def test_an_option_is_found_by_its_words_which_may_hold_a_point() -> None:
    asked = Published(1, "d", "s", "t", "Which church?", ("A. St. Mary", "B. Mt. Mary"), "A")
    assert find_option(Answer(asked, "St. Mary")).value == "A"
    long = "B" + " " * (MAX_CHARS - 1)
    assert [find_option(Answer(asked, reply)).value for reply in (long, f"{long} ")] == ["B", None]
    bare = Published(1, "d", "s", "t", "Which way?", ("left", "right"), "A")
    assert find_option(Answer(bare, "right")).value == "B"


@pytest.mark.parametrize(
    ("options", "choices", "truth", "shown"),
    [
        (["A. left", "B. right"], None, "A", (["A. left", "B. right"], "A")),
        (None, ["A. a cat", "B. a dog"], "a dog", (["A. a cat", "B. a dog"], "B")),
        (None, ["A. 2", "B. 3"], "3", (None, "3")),  # a number is said
        (None, None, "a dog", (None, "a dog")),
    ],
)
def test_words_are_chosen_among_the_choices_where_there_are_some(
    options: list[str] | None, choices: list[str] | None, truth: str, shown: tuple[list[str] | None, str]
) -> None:
    row = {"options": options, "choices": choices, "ground_truth": truth, "choice": "B" if choices else None}
    found = offered(row)
    assert (found["options"], found["ground_truth"]) == shown
