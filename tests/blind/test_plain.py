"""Attackers once more, one question at a time in plain Python; what they read in texts and clips, by hand."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from math import inf, isfinite, log, nan
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.blind import attack, config, features, filtering, forecast, forest, items, priors, prune, rule
from pipeline.blind.attack import CHANCE, FOREST, attack_in
from pipeline.blind.forest import GUESSES, FittedForest, guesses_of, score_fold
from pipeline.blind.items import BlindItem, make_item
from pipeline.blind.shortcut_attackers import (
    SHORTCUT_ATTACKERS,
    _clock_s,
    _shared,
    _steps,
    best_guess,
    by_traits,
    elsewhere,
    mentions,
)
from pipeline.metrics.mra import mean_relative_accuracies

FOLDS = np.arange(48) % 4
Slots = Sequence[float]


def numbers() -> list[BlindItem]:
    """Of three wordings, by twos with numbers of which one may be 0, some of a clip, of three names."""
    random, items = np.random.default_rng(8), []
    for n in range(48):
        first, second, truth = (int(v) for v in random.integers((0 if n % 3 else 1, 1, 1), 9))
        text = ("It took {} s at {} m/s: how far?", "Of {} rooms {} are dark: how many are not?", "How long is it?")[
            n % 3
        ]
        item = make_item(n, "t", f"s{n % 4}", text.format(first, second), None, str(max(first * second, 1) + truth))
        seconds = None if n % 7 == 0 and n % 3 == 2 else float(first + second)
        items.append(about(replace(item, seconds=seconds), "abc"[int(random.integers(3))]))
    return items


def about(item: BlindItem, name: str) -> BlindItem:
    """A question that names a thing, as those of a template do."""
    item.__dict__["names"] = {"x": name}
    return item


def choices() -> list[BlindItem]:
    """Three of six options, of which some names are right more often, beside one of two things."""
    random, items = np.random.default_rng(9), []
    for n in range(48):
        options = [
            str(word) for word in random.permutation(["red sofa", "sofa", "tall lamp", "tv", "lamp", "door"])[:3]
        ]
        right = int(np.argmax([len(option) * random.random() for option in options]))
        item = make_item(n, "t", f"s{n % 4}", f"Is it by the {'bed' if n % 2 else 'big bed'}?", options, "ABC"[right])
        items.append(about(item, "bed" if random.random() < 0.5 else "rug"))
    return items


def others(items: Sequence[BlindItem], n: int) -> list[BlindItem]:
    """The questions of other folds."""
    return [item for item, fold in zip(items, FOLDS.tolist(), strict=True) if fold != FOLDS[n]]


def truth_of(item: BlindItem) -> float:
    return float(item.number or nan)


def earned(guess: float, item: BlindItem) -> float:
    return float(mean_relative_accuracies(np.array(guess), np.array(truth_of(item))))


def shared(worths: Sequence[float], right: int) -> float:
    """Score of the option of most worth; equals share the point."""
    best = [n for n, worth in enumerate(worths) if abs(worth - max(worths)) < 1e-9]
    return (right in best) / len(best)


def slots(item: BlindItem) -> Slots:
    told = [float(number) for number in re.findall(r"\d+", item.text)]
    return [1.0, nan if item.seconds is None else item.seconds, *told, *(1 / v if v else nan for v in told)]


def as_multiple(items: Sequence[BlindItem], n: int) -> float:
    """Of what stands in the text, in all questions of these words, the best multiple; else the median."""

    def words(item: BlindItem) -> str:
        return re.sub(r"\d+", "#", item.text)

    alike = [item for item in others(items, n) if words(item) == words(items[n])]
    if not alike:
        return median(map(truth_of, others(items, n)))
    asked = [item for item, fold in zip(items, FOLDS.tolist(), strict=True) if fold == FOLDS[n]]
    asked = [item for item in asked if words(item) == words(items[n])]
    guess, best = median(map(truth_of, alike)), -1.0
    for slot, own in enumerate(slots(items[n])):
        known = [slots(item)[slot] for item in alike]
        if not all(isfinite(v) and v > 0 for v in known) or not all(isfinite(slots(item)[slot]) for item in asked):
            continue
        factor = median(truth_of(item) / value for item, value in zip(alike, known, strict=True))
        worth = fmean(earned(value * factor, item) for item, value in zip(alike, known, strict=True))
        if worth - best > 5e-10:
            guess, best = own * factor, worth
    return guess


def by_key(items: Sequence[BlindItem], n: int, key: Callable[[BlindItem], Hashable], least: int) -> float:
    alike = [truth_of(item) for item in others(items, n) if key(item) == key(items[n])]
    return median(alike if len(alike) >= least else map(truth_of, others(items, n)))


def most_frequent(items: Sequence[BlindItem], n: int) -> float:
    known = [truth_of(item) for item in others(items, n)]
    return min(set(known), key=lambda value: (-known.count(value), value))


NUMBER_GUESSES: dict[str, tuple[Callable[..., Any], Callable[[Sequence[BlindItem], int], float]]] = {
    "by number": (priors.by_number, as_multiple),
    "most frequent": (priors.most_frequent, most_frequent),
    "median": (priors.task_median, lambda items, n: by_key(items, n, lambda item: 0, 1)),
    "by name": (priors.by_name, lambda items, n: by_key(items, n, lambda item: item.names["x"], 1)),
    "by words": (priors.by_words, lambda items, n: by_key(items, n, lambda item: re.sub(r"\d+", "#", item.text), 3)),
}


@pytest.mark.parametrize("name", NUMBER_GUESSES)
def test_numbers_are_guessed_as_in_plain_python(name: str) -> None:
    items, (ours, plain) = numbers(), NUMBER_GUESSES[name]
    assert ours(items, FOLDS) == pytest.approx([earned(plain(items, n), item) for n, item in enumerate(items)])


def test_words_of_which_the_other_folds_have_one_are_guessed_like_any() -> None:
    """One question of other words in each of two folds, and one in a single fold."""
    items = numbers()
    for n, text in ((0, "How high is 2?"), (1, "How high is 3?"), (2, "How deep?")):
        items[n] = replace(items[n], text=text)
    for name in ("by number", "by words"):
        ours, plain = NUMBER_GUESSES[name]
        assert ours(items, FOLDS)[:3] == pytest.approx([earned(plain(items, n), items[n]) for n in range(3)])


def test_chance_of_a_number_is_what_any_answer_of_another_fold_earns() -> None:
    items = numbers()
    plain = fmean(fmean(earned(truth_of(other), item) for other in others(items, n)) for n, item in enumerate(items))
    assert priors.chance(items, FOLDS) == pytest.approx([plain] * len(items))
    assert priors.chance(choices(), FOLDS) == pytest.approx([1 / 3] * 48)


def odds(items: Sequence[BlindItem], n: int) -> list[float]:
    def won(one: str, other: str, names: dict[str, str] | None) -> int:
        known = (item for item in others(items, n) if {one, other} <= {*item.options})
        return sum(item.options[item.right or 0] == one and names in (None, item.names) for item in known)

    item = items[n]
    return [
        sum(
            weight * log((won(one, other, names) + 1) / (won(other, one, names) + 1))
            for other in item.options
            for weight, names in ((0.5, None), (1.0, item.names))
        )
        for one in item.options
    ]


def told(items: Sequence[BlindItem], n: int, codes: Callable[[BlindItem, int], list[Hashable]]) -> list[float]:
    """Log of the usual share by the first code, and of how much more the others say; two more at the usual share."""
    rows = [(item, place) for item in others(items, n) for place in range(3)]
    found = [(codes(item, place), place == item.right) for item, place in rows]

    def share(code: Hashable, usual: float) -> float:
        known = [right for own, right in found for one in own if one == code]
        return (sum(known) + 2 * usual) / (len(known) + 2)

    worths = []
    for place in range(3):
        first, *more = codes(items[n], place)
        usual = share(first, 1 / 3)
        worths.append(log(usual) + sum(log(share(code, usual) / usual) for code in more))
    return worths


def beside(item: BlindItem, place: int) -> list[Hashable]:
    words = sorted(set(re.findall(r"[a-z]+", item.text.lower())))
    return [(word, item.options[place]) for word in ("", *words)]


def against(item: BlindItem, place: int) -> list[Hashable]:
    own = [set(option.split()) for option in item.options]
    rivals = sorted(set().union(*own) - own[place])
    return [(), *((word, rival) for word in sorted(own[place]) for rival in ("", *rivals))]


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        (priors.by_name, odds),
        (priors.by_words, lambda items, n: told(items, n, beside)),
        (priors.by_rivals, lambda items, n: told(items, n, against)),
        (
            priors.most_frequent,
            lambda items, n: [
                sum(other.options[other.right or 0] == option for other in others(items, n))
                for option in items[n].options
            ],
        ),
    ],
)
def test_options_are_guessed_as_in_plain_python(
    ours: Callable[..., Any], plain: Callable[[Sequence[BlindItem], int], list[float]]
) -> None:
    items = choices()
    expected = [shared(plain(items, n), item.right or 0) for n, item in enumerate(items)]
    assert ours(items, FOLDS) == pytest.approx(expected)


def test_a_trait_is_worth_its_share_and_one_more_at_that_of_any() -> None:
    """Three options of each question: the longest, one as long, and one that is shorter."""
    items = choices()
    traits = [[len(option) > 4 for option in item.options] for item in items]
    expected, least = [], []
    for n, item in enumerate(items):
        known = [
            (own, place == other.right)
            for other in others(items, n)
            for place, own in enumerate(len(option) > 4 for option in other.options)
        ]
        worth = {
            trait: (sum(right for own, right in known if own == trait) + 1 / 3)
            / (sum(own == trait for own, _ in known) + 1)
            for trait in (True, False)
        }
        expected.append(shared([worth[trait] for trait in traits[n]], item.right or 0))
        least.append(shared([-worth[trait] for trait in traits[n]], item.right or 0))
    assert by_traits(items, FOLDS, traits) == pytest.approx(expected)
    assert by_traits(items, FOLDS, traits, sign=-1) == pytest.approx(least)
    assert SHORTCUT_ATTACKERS["by length"](numbers(), FOLDS) is None


def asked(text: str, options: Sequence[str] = ("a", "b")) -> BlindItem:
    return make_item(0, "t", "s", text, [*options], "A")


def test_what_a_text_lists_and_the_last_time_that_it_tells() -> None:
    assert _clock_s(asked("From 01:05 to 12:34 and 3:7, what?")) == 12 * 60 + 34
    assert _clock_s(asked("At noon?")) is None
    assert [*_steps(asked("The steps are: go up; turn left; land. What now?"))] == ["go up", "turn left", "land"]
    assert [*_steps(asked("What now?"))] == []


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [("turn left", "turns to the left", 1), ("turn left", "turn right", 0.5), ("go", "stop", 0), ("", "go", 0)],
)
def test_texts_are_as_like_as_the_shorter_has_words_of_the_other(one: str, other: str, share: float) -> None:
    assert _shared(one, other) == _shared(other, one) == share


def test_others_are_followed_only_where_more_than_half_of_the_words_are_the_same() -> None:
    """Of two words one is not enough to be what is asked about, nor to be an option."""
    item = replace(asked("What comes after going up?", ["turn left", "land there"]), company=(
        (0, ("going up, then land there",)),  # the question itself tells nothing
        (8, ("go up, then turn right",)),
        (9, ("go down, then land there",)),
    ))  # fmt: skip
    assert [after for _, after, _ in elsewhere(item)] == [0, 0]
    item = replace(item, company=(*item.company, (10, ("go up, then turn left there",))))
    assert [after for _, after, _ in elsewhere(item)] == [0, 1]


def test_how_often_others_say_an_option_and_in_which_order() -> None:
    orders = ["bed, sofa, tv", "tv, sofa, bed", "sofa, bed, tv"]
    item = replace(make_item(0, "obj_appearance_order", "s", "In which order?", orders, "A"), company=(
        (8, ("?", "bed, sofa, tv")), (9, ("?", "bed, sofa, door")),
    ))  # fmt: skip
    # bed before sofa twice, each of these before tv once: 4 pairs for the first, as many against the second, and 0.
    assert [agrees for _, _, agrees in elsewhere(item)] == [0, 2, 1]
    assert [often for often, _, _ in elsewhere(item)] == [0, 0, 0], "all three have the words of the first text"


def test_mentions_are_fifths_of_how_many_others_say_a_word_of_ones_own() -> None:
    """The question of number n has a thing of its own that n others name; "today", said by half, tells nothing."""
    items = [
        replace(
            make_item(n, "t", "s", f"How many x{n}x{' today' * (n % 2)}?", None, "1"),
            company=[
                *((id, (f"Is x{n}x here?" if id < n else "Today?",)) for id in range(11) if id != n),
                (n, (f"Is x{n}x here?",)),
            ],
        )
        for n in range(10)
    ]
    assert mentions(items).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_a_scene_has_five_fifths_and_its_last_moment_is_in_the_last() -> None:
    """Of each fifth another option is right: who knows the fifth is always right."""
    items = []
    for n in range(60):
        second = (10, 30, 50, 70, 100)[n % 5]
        item = make_item(n, "t", f"s{n % 2}", f"At 00:{second // 2:02}?", ["a", "b", "c", "d", "e"], "ABCDE"[n % 5])
        items.append(replace(item, seconds=float(second)))
    fold = np.arange(60) // 5 % 4
    for name in ("by time", "by clip"):
        assert SHORTCUT_ATTACKERS[name](items, fold).tolist() == [1.0] * 60


def test_the_best_guess_is_told_in_words() -> None:
    assert best_guess({"by letter": 0.25, "by text": 0.42, "median": 0.9}) == "0.420 by text"
    assert best_guess({"median": 0.9}) == ""
    assert "by text" in SHORTCUT_ATTACKERS


@pytest.mark.parametrize("attacker", ["by time", "interpolated", "by clip", "clip interpolated"])
def test_a_time_is_a_share_of_the_latest_of_its_scene(attacker: str) -> None:
    """Of ten steps that the text lists, the right one is that of the time: half of 100 s is the sixth.

    In another scene all is four times as long; the last moment is still the last step. A scene in which only time 0 is
    told begins.
    """
    words = ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii", "jj"]
    items = []
    for n in range(48):
        step, of = n % 10, 400 if n % 2 else 100
        seconds = of if step == 9 else of * step // 10 + 1
        text = f"It does this: {'; '.join(words)}. What now, at {seconds // 60}:{seconds % 60:02}?"
        options = [words[step], words[(step + 3) % 10], words[(step + 5) % 10]]
        item = make_item(n, "t", f"s{n % 2}", text, options, "A")
        items.append(replace(item, seconds=float(seconds)))
    found = SHORTCUT_ATTACKERS[attacker](items, FOLDS)
    assert found is not None
    if "interpolated" in attacker:
        assert found.tolist() == [1.0] * 48
        lost = [replace(items[0], text="What now?"), replace(items[1], text=items[1].text[:-9], seconds=None)]
        assert SHORTCUT_ATTACKERS[attacker]([*lost, *items[2:]], FOLDS)[:2].tolist() == pytest.approx([1 / 3] * 2)
    else:
        assert fmean(found.tolist()) > 0.9
    assert SHORTCUT_ATTACKERS[attacker]([replace(i, text="What?", seconds=None) for i in items], FOLDS) is None


def test_as_many_numbers_are_tried_as_ranks_between_the_first_and_the_last() -> None:
    assert guesses_of(np.arange(10.0 * GUESSES + 11)).tolist() == list(range(10, 10 * GUESSES + 1, 10))
    assert guesses_of(np.array([3.0, 3, 3])).tolist() == [3]


def test_figures_of_one_release_compare_with_those_of_the_next_while_these_stay() -> None:
    """Whoever changes one measures anew what docs and earlier releases tell, and says so in the log of changes."""
    assert (items.FOLDS, items.UNSEEN, items.SHARD, items.MAX_NAME_WORDS) == (
        5, ("unseen 1", "unseen 2", "unseen 3"), 50_000, 6,
    )  # fmt: skip
    assert (forest.TREES, forest.MIN_LEAF, forest.MOST_ROWS, forest.GUESSES) == (50, 5, 8_000, 32)
    assert (features.SMOOTHING, features.SCALE, attack.FEW) == (2, 50, 5_000)
    assert (prune.FLOOR, prune.FEWEST_NUMBERS, prune.LIMIT, prune.CLEAR) == (10, 5, 1, 2.5)
    assert (prune.DRAWS, prune.STEP, prune.SHARE) == (5, 0.5, 10)
    assert (filtering.MAX_MORE, filtering.ERRORS, filtering.FLOOR) == (0.01, 2, 10)
    assert (rule.MIN_VOTERS, rule.MOST_DROPPED, rule.DRAWS, rule.SIGNIFICANCE) == (2, 0.5, 1_000, 0.01)
    assert (rule.CLOSED, rule.CONSTANT) == (10, 0.95)
    assert (config.NUMBER_THRESHOLD, config.MAX_FAILED, config.SAMPLE, config.BATCH) == (0.5, 0.05, 48, 50)
    assert (forecast.PROMPT_TOKENS, forecast.ORDERS) == (160, 5), "of a plan before there are questions"


@pytest.mark.parametrize("kind", [numbers, choices])
def test_forests_guess_as_in_plain_python(kind: Callable[[], list[BlindItem]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of options the mean of the trees, as a share of the question's; of numbers what earns most in the same leaves."""
    monkeypatch.setattr(forest, "TREES", 4)
    items = kind()
    rows, truth = features.rows_of(items), np.array([float(item.number or 0) for item in items])
    fit = FittedForest(rows, truth, FOLDS, 2, seed=5)
    bias, earned_ = score_fold(fit)
    train, columns = FOLDS[rows.question] != 2, features.encode(rows, FOLDS, 2)
    known, asked = columns[train].astype(np.float32), columns[~train].astype(np.float32)
    tested = [n for n in range(48) if FOLDS[n] == 2]
    if rows.choice:
        right = np.array([place == item.right for item in items for place in range(3)])
        trees = forest._grown(columns[train], right[train].astype(float), int(columns.shape[1] ** 0.5), 5)
        worths = (sum(tree.predict(asked)[:, 0] for tree in trees) / 4).reshape(-1, 3).round(9) + 1e-6
        places = [items[n].right or 0 for n in tested]
        assert bias == pytest.approx([own[place] / own.sum() for own, place in zip(worths, places, strict=True)])
        assert earned_.tolist() == [shared(own.tolist(), place) for own, place in zip(worths, places, strict=True)]
        return
    trees = forest._grown(columns[train], rows.target[train], columns.shape[1], 5)
    guesses, others_ = guesses_of(truth[train]), [items[n] for n in range(48) if FOLDS[n] != 2]
    for place, n in enumerate(tested):
        worth = np.zeros(len(guesses))
        for tree in trees:
            leaf, leaves = tree.apply(asked)[place], tree.apply(known)
            beside = [item for item, own in zip(others_, leaves, strict=True) if own == leaf]
            worth += [fmean(earned(guess, item) for item in beside) for guess in guesses]
        assert earned_[place] == bias[place] == pytest.approx(earned(guesses[worth.round(9).argmax()], items[n]))


def assessed(*, choice: bool, numbers: Sequence[int] = (1, 2, 3, 40), **earned: Sequence[Sequence[float]]) -> Any:
    """Of four questions in groups of their own; scores of each dealing, and the forest's bias of each."""
    items = [make_item(n, "t", f"s{n}", "?", None, str(number)) for n, number in enumerate(numbers)]
    tested = SimpleNamespace(rows=SimpleNamespace(choice=choice), items=items)
    names = [name for name in earned if name != "bias"]
    drawn = [
        ({name.replace("_", " "): np.array(earned[name][n]) for name in names}, np.array(earned["bias"][n]))
        for n in range(len(earned["bias"]))
    ]
    return prune._assess(tested, drawn)  # type: ignore[arg-type]


def test_the_strongest_attacker_of_a_task_by_hand() -> None:
    """The mean of two dealings: 0.625 with an error of √(0.6875 · 4 / 3) / 4; what has no guess is none."""
    chance, bias = [[0.25] * 4] * 2, [[0.2, 0.4, 0.6, 0.8], [0.4, 0.2, 0.2, 0.8]]
    by_text = [[1, 1, 0, 1], [1, 0, 0, 1]]
    unsure, unknown = [[1, 1, 0, 0]] * 2, [[1, 1, 1, nan]] * 2
    found = assessed(choice=True, chance=chance, bias=bias, by_text=unsure, by_name=unknown, forest=[[0.3] * 4] * 2)
    assert found.points == pytest.approx(4 * 0.05), "the forest is surely above chance, if by less"
    assert found.bias == pytest.approx([0.05, 0.05, 0.15, 0.55])
    assert found.errors > 1e6
    found = assessed(choice=True, chance=chance, bias=bias, by_text=by_text, forest=[[0.25] * 4] * 2)
    assert (found.points, found.room) == (pytest.approx(4 * 0.375), 0.75)
    assert found.errors == pytest.approx(0.375 / (np.sqrt(0.6875 * 4 / 3) / 4))
    assert found.bias == pytest.approx([(1 + 0.3) / 2 - 0.25, (0.5 + 0.3) / 2 - 0.25, 0.2 - 0.25, (1 + 0.8) / 2 - 0.25])


def test_numbers_are_told_by_more_than_the_best_constant_says() -> None:
    """2 for 1, 2, 3 and 40 earns 0, 1, 0.4 and 0; constants themselves are no attackers, and luck is always left."""
    constant = (1 + 0.4) / 4
    found = assessed(
        choice=False, chance=[[0.1] * 4], bias=[[0.5] * 4], median=[[1.0] * 4], most_frequent=[[1.0] * 4],
        by_name=[[0.5] * 4], forest=[[0.4] * 4],
    )  # fmt: skip
    assert (found.points, found.room) == (pytest.approx(4 * (0.5 - constant)), pytest.approx(1 - constant))
    sure = assessed(choice=False, numbers=(7, 7, 7, 7), chance=[[0.1] * 4], bias=[[1.0] * 4], by_name=[[1.0] * 4])
    assert (sure.points, sure.errors, sure.room) == (0, 0, 0.25)
    high = assessed(choice=False, chance=[[0.6] * 4], bias=[[1.0] * 4], by_name=[[1.0] * 4])
    assert high.points == pytest.approx(4 * 0.4), "chance may be above the best constant"


def test_a_budget_takes_the_most_biased_of_all_tasks_by_hand() -> None:
    def task(name: str, first: int, bias: Sequence[float], quota: int) -> Any:
        items = [SimpleNamespace(id=first + n) for n in range(len(bias) + 1)]
        tested = SimpleNamespace(task=name, items=items)
        return SimpleNamespace(tested=tested, bias=np.array(bias), left=np.arange(1, len(bias) + 1), quota=quota)

    tasks = [task("a", 10, [0.1, 0.5, 0.5, 0.2], 3), task("b", 0, [0.5, 0.9, 0.3], 2)]

    def chosen(budget: float, batch: int) -> dict[str, list[int]]:
        found = prune._chosen(tasks, budget, config.PruneConfig(batch=batch))
        return {name: own.tolist() for name, own in found.items()}

    assert chosen(inf, 1) == {"a": [1, 2, 3], "b": [1, 0]}
    assert chosen(4, 9) == {"a": [1, 2], "b": [1, 0]}, "of equals the lowest id"
    assert chosen(2, 9) == {"a": [], "b": [1, 0]}
    assert chosen(9, 3) == {"a": [1], "b": [1, 0]}


def test_what_attackers_earn_in_given_folds_is_put_in_the_place_of_its_question() -> None:
    """Two tasks, mixed: each has the scores that it has alone."""
    one = numbers()
    other = [replace(item, id=100 + int(item.id), task="u") for item in choices()]
    for item, plain in zip(other, choices(), strict=True):
        about(item, plain.names["x"])
    mixed = [item for pair in zip(other, one, strict=True) for item in pair]
    fold = np.repeat(FOLDS, 2)
    scores = attack.ForestScores(*(np.random.default_rng(n).random(96) for n in range(3)))
    found = attack_in(mixed, fold, scores)
    assert found[FOREST].tolist() == scores.earned.tolist()
    assert found[CHANCE].tolist() == scores.chance.tolist()
    assert found["by name"][1::2].tolist() == priors.by_name(one, FOLDS).tolist()
    assert found["by name"][::2].tolist() == priors.by_name(other, FOLDS).tolist()
    assert np.isnan(found["median"][::2]).all()
    median_ = priors.task_median(one, FOLDS)
    assert median_ is not None
    assert found["median"][1::2].tolist() == median_.tolist()
    assert np.isnan(found["by other questions"]).all(), "none of a group has another"
