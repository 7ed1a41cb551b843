import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeline.blind import priors
from pipeline.blind.items import BlindItem, OptionRows, folds_of, make_item, with_company
from pipeline.blind.priors import PRIORS, by_frequency, chance
from pipeline.core.arrays import FloatArray, IntArray
from tests.blind.panel import nearest_item, number_item

OPTIONS = ["lamp", "sofa", "tv", "door"]


def test_frequency_is_the_best_constant_or_the_commonest_answer_or_letter() -> None:
    # 4 for 4, 4 and 5: 4 is off from 5 by a fifth, within seven of the ten tolerances.
    assert by_frequency(None, ["4", "4", "5"]) == pytest.approx((1 + 1 + 0.7) / 3)
    assert by_frequency(None, ["2.0"]) == 1
    assert by_frequency(["A", "A", "B", "C"], ["left", "back", "back", "back"]) == 0.75
    assert by_frequency(["A", "A", "A", "C"], ["one", "two", "three", "four"]) == 0.75


def test_the_random_option_is_one_of_k() -> None:
    items = [nearest_item(0, "bed", OPTIONS, "tv"), make_item(1, "t", "s", "?", ["left", "right"], "A")]
    assert priors.chance(items, np.array([0, 1])).tolist() == [0.25, 0.5]


def test_medians_by_name_and_of_all_where_the_name_is_new() -> None:
    rows = [("bed", 200), ("bed", 210), ("bed", 190), ("lamp", 40), ("bed", 200), ("lamp", 195)]
    items = [number_item(id, t, [name], task="object_size_estimation") for id, (name, t) in enumerate(rows)]
    fold = np.array([0, 0, 0, 0, 1, 1])
    # The bed of fold 1 is guessed 200, its lamp 40. In fold 0 beds are guessed 200 and the lamp 195.
    assert priors.by_name(items, fold).tolist() == [1, 1, 0.9, 0, 1, 0]
    items[3] = number_item(3, 40, ["tv"], task="object_size_estimation")
    assert priors.by_name(items, fold)[5] == 1.0, "no lamp in fold 0: the median of 200, 210, 190 and 40 is 195"
    told = [*[("bed", 10)] * 3, *[("lamp", 40)] * 2, *[("tv", 100)] * 5, ("bed", 10), ("lamp", 40)]
    items = [number_item(id, t, [name]) for id, (name, t) in enumerate(told)]
    found = priors.by_median(items, np.array([0] * 10 + [1] * 2), priors._names, 3)
    assert found[10:].tolist() == [1, 0], "three beds have a median of their own; for two lamps that of all, 70"


def test_the_usual_size_of_a_thing_is_known_whatever_the_release_holds() -> None:
    rows = [("bed", 200), ("bed", 100), ("Sofa", 200), ("lamp", 55), ("ghost", 55)]
    items = [number_item(id, t, [name], task="object_size_estimation") for id, (name, t) in enumerate(rows)]
    fold = np.array([0, 0, 1, 1, 1])
    # A bed and a sofa of 200 cm, a lamp of 55 cm; the ghost is guessed as by name, 150.
    assert PRIORS["by usual size"](items, fold).tolist() == [1, 0, 1, 1, 0]
    metres = [replace(item, number=item.number / 100) for item in items]
    assert PRIORS["by usual size"](metres, fold).tolist() == [1, 0, 1, 1, 0], "in the unit of the other folds"
    mixed = [number_item(id, t, ["bed"], task="object_size_estimation") for id, t in enumerate((200, 200, 2, 2))]
    assert PRIORS["by usual size"](mixed, np.array([0, 0, 1, 1])).tolist() == [0, 0, 0, 0], "of those alone"
    assert PRIORS["by usual size"](items[3:], fold[3:]) is None, "of half of the things it knows nothing"
    assert PRIORS["by usual size"]([nearest_item(0, "bed", OPTIONS, "tv")], fold[:1]) is None
    nothing = [number_item(id, t, ["bed"], task="object_size_estimation") for id, t in enumerate((0, 0, 200, 200))]
    assert PRIORS["by usual size"](nothing, np.array([0, 0, 0, 1]))[3] == 1, "of a bed of no size no unit is learned"
    assert priors._values(nothing).tolist() == [0, 0, 200, 200]


def test_the_usual_count_of_a_thing_is_known_whatever_the_release_holds() -> None:
    rows = [("chair", 5), ("chair", 10), ("Window", 3), ("ghost", 5)]
    items = [number_item(id, t, [name]) for id, (name, t) in enumerate(rows)]
    fold = np.array([0, 0, 1, 1])
    assert PRIORS["by usual count"](items, fold).tolist() == [1, 0.1, 1, 0.1], (
        "5 chairs, 3 windows; the ghost 7.5, by name"
    )
    assert PRIORS["by usual count"](items[1:], np.array([0, 1, 1]))[0] == 0.1, "5 for 10, whatever else is known"


def test_what_usually_stands_beside_a_thing_is_nearest() -> None:
    others = ["toilet", "sofa", "stove"]
    items = [
        *(nearest_item(n, "bed", ["pillow", *others], "pillow") for n in range(5)),
        nearest_item(5, "the desk", ["tv", "bathtub", "sofa", "the wide monitor"], "the wide monitor"),
        nearest_item(6, "desk", ["tv", "bathtub", "sofa", "monitor"], "tv"),
        nearest_item(7, "desk", ["tv", "bathtub", "sofa", "toilet"], "tv"),
    ]
    fold = np.array([0] * 5 + [1] * 3)
    assert priors.by_usual_nearness(items, fold)[5:].tolist() == [1, 0, 0.25], "it never saw a desk or a monitor"
    assert priors.by_usual_nearness(items[7:], fold[7:]) is None, "of nothing it knows that it is near"
    rows = [("desk", "monitor", 0.5), ("desk", "keyboard", 0.5), ("desk", "toilet", 4), ("bed", "pillow", 0.5)]
    numbers = [number_item(n, t, [a, b], task="object_abs_distance") for n, (a, b, t) in enumerate(rows)]
    assert priors.by_usual_nearness(numbers, np.array([0, 0, 0, 1]))[3] == 1, "as things that share a list"


def test_how_much_a_scene_is_asked_tells_the_answer() -> None:
    """Scenes of one question have another answer than those of three; of numbers all questions of a scene count."""
    sides, areas = [], []
    for n in range(40):
        many = 1 + 2 * (n % 2)
        sides += [make_item(f"{n} {k}", "side", f"s{n}", "Where?", ["front", "back"], "BA"[n % 2]) for k in range(many)]
        areas.append(make_item(f"{n} m2", "area", f"s{n}", "How large?", None, f"{10 * many}"))
    told = with_company(sides + areas)
    for task in ("side", "area"):
        own = [item for item in told if item.task == task]
        assert PRIORS["by many"](own, folds_of([item.group for item in own])).mean() == 1
    assert PRIORS["by many"](sides, folds_of([item.group for item in sides])) is None, "nothing is known of others"


def test_options_never_seen_share_the_point() -> None:
    items = [
        nearest_item(0, "bed", OPTIONS, "lamp"),
        nearest_item(1, "bed", ["chair", "table", "tv", "window"], "table"),
    ]
    fold = np.array([0, 1])
    assert priors.most_frequent(items, fold).tolist() == [0.25, 0.25]
    assert priors.by_name(items, fold).tolist() == [0.25, 0.25]


def test_nothing_is_known_where_all_is_in_one_fold() -> None:
    items = [number_item(id, 2, group="one") for id in range(3)]
    fold = folds_of([item.group for item in items])
    assert priors.chance(items, fold).tolist() == priors.by_name(items, fold).tolist() == [0, 0, 0]


def test_equal_worths_share_the_point() -> None:
    items = [nearest_item(id, "bed", list("abcd"), "abcd"[id]) for id in range(4)]
    assert OptionRows.of(items).score(np.array([2.0, 1, 2, 0] * 4)).tolist() == [0.5, 0, 0.5, 0]


KINDS = ("pedestrian", "car", "cyclist", "bus")
GROUNDS = ("on the roadway", "on a crossing", "off the roadway")
Made = Callable[[np.random.Generator], tuple[str, Sequence[str], int]]


def made(make: Made, n: int = 300) -> list[BlindItem]:
    """Questions, five to a scene."""
    rng = np.random.default_rng(0)
    items = []
    for number in range(n):
        text, options, right = make(rng)
        order = rng.permutation(len(options)).tolist()
        lettered = [options[i] for i in order]
        items.append(make_item(number, "task", f"scene{number // 5}", text, lettered, "ABCDE"[order.index(right)]))
    return items


def folds(items: Sequence[BlindItem]) -> IntArray:
    """The scenes dealt to five folds."""
    return np.arange(len(items)) // 5 % 5


def mean(name: str, items: list[BlindItem]) -> float:
    scores: FloatArray | None = PRIORS[name](items, folds(items))
    return float(scores.mean())


def where_a_kind_usually_is(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    kind = int(rng.integers(4))
    usual = kind % 3 if rng.random() < 0.8 else int(rng.integers(3))
    return f"On what part of the street is the nearest {KINDS[kind]}?", list(GROUNDS), usual


def where_nobody_knows(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    return (
        f"On what part of the street is the nearest {KINDS[int(rng.integers(4))]}?",
        list(GROUNDS),
        int(rng.integers(3)),
    )


def larger(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    """A bus is longer than all else; beside it the colours tell nothing."""
    one, other = rng.choice(4, 2, replace=False).tolist()
    colours = rng.choice(["red", "green", "blue", "white"], 2).tolist()
    right = 0 if one == 3 else 1 if other == 3 else int(rng.integers(2))
    return "Which is longer?", [f"the {colours[0]} {KINDS[one]}", f"the {colours[1]} {KINDS[other]} there"], right


@pytest.mark.parametrize(("name", "make", "least"), [
    ("by words", where_a_kind_usually_is, 0.7), ("by rivals", larger, 0.7),
])  # fmt: skip
def test_words_tell(name: str, make: Made, least: float) -> None:
    assert mean(name, made(make)) >= least


@pytest.mark.parametrize("name", ["by words", "by rivals"])
def test_words_tell_nothing_where_answers_are_even(name: str) -> None:
    assert mean(name, made(where_nobody_knows)) == pytest.approx(1 / 3, abs=0.06)


@pytest.mark.parametrize(("wrong", "score"), [(6, 1.0), (7, 0.5), (8, 0.0)])
def test_what_is_known_beside_any_names_counts_half(wrong: int, score: float) -> None:
    """By hand: the lamp, right once beside a bed, is as likely as a sofa that is right 2^(1 + 1 / 0.5) - 1 times."""
    beds = [nearest_item(n, "bed", OPTIONS, "lamp") for n in range(2)]
    desks = [nearest_item(n, "desk", OPTIONS, "sofa") for n in range(2, 2 + wrong)]
    assert priors.by_name([*beds, *desks], np.array([0, 1, *[1] * wrong]))[0] == score


def test_a_number_of_the_text_tells_a_number() -> None:
    rng = np.random.default_rng(2)
    items = []
    for number in range(200):
        friction, speed = rng.choice([0.3, 0.5, 0.8]), rng.normal(12, 0.8)
        text = f"How long does it take to stop at a friction of {friction}?"
        items.append(
            make_item(number, "task", f"scene{number // 5}", text, None, str(round(speed / friction / 9.81, 2)))
        )
    assert mean("by number", items) > mean("median", items) + 0.2
    shuffled = [replace(item, number=items[-n - 1].number) for n, item in enumerate(items)]
    assert mean("by number", shuffled) < mean("median", shuffled) + 0.05


def test_the_length_of_a_clip_tells_a_way() -> None:
    rng = np.random.default_rng(3)
    items = []
    for number in range(200):
        seconds = float(rng.uniform(2, 30))
        item = make_item(number, "task", f"scene{number // 5}", "How far did it drive?", None, f"{seconds * 10:.1f}")
        items.append(replace(item, seconds=seconds))
    assert mean("by number", items) > 0.95 > mean("by words", items) + 0.3


def test_options_have_no_multiple_and_numbers_no_rivals() -> None:
    fold = np.arange(40) // 5 % 5
    assert PRIORS["by number"](made(larger, 40), fold) is None
    numbers = [make_item(n, "task", f"scene{n // 5}", "How many?", None, str(n + 1)) for n in range(40)]
    assert PRIORS["by rivals"](numbers, fold) is None
    assert PRIORS["by number"](numbers[:2], np.array([0, 0])) is not None, "of one fold nothing is learnt"


ROUTE = ("climb to 30 metres", "fly to the river", "turn left", "hover over the bridge", "land beside it")


def longest(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    words = ["word " * int(n) for n in rng.choice(np.arange(1, 12), 4, replace=False)]
    return "Which?", [w.strip() for w in words], int(np.argmax([len(w) for w in words]))


def variants_of_the_right_one(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    right = rng.choice(list("abcdefgh"), 3, replace=False).tolist()
    wrong = [[c if i != j else f"not{c}" for i, c in enumerate(right)] for j in range(3)]
    return "Which?", [" ".join(option) for option in (right, *wrong)], 0


def not_of_the_route(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    """Only the right option is a step of the printed route."""
    step = int(rng.integers(5))
    return f"Route: {'; '.join(ROUTE)}. What is next?", [ROUTE[step], "go back", "speed up", "dance"], 0


def after_the_missing_one(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    """The step in progress is no option: what follows on it is right."""
    now = int(rng.integers(4))
    options = [step for i, step in enumerate(ROUTE) if i != now]
    return f"Route: {'; '.join(ROUTE)}. What is next?", options, options.index(ROUTE[now + 1])


def step_of_the_time(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    now = int(rng.integers(5))
    t = 20 * now + 10
    return f"Route: {'; '.join(ROUTE)}. At {t // 60}:{t % 60:02d}, which step?", ROUTE, now


def late_yes(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    t = int(rng.integers(0, 100))
    return f"At {t // 60}:{t % 60:02d}, is it in view?", ["yes", "no", "perhaps"], 0 if t > 50 else 1


def as_clip(item: BlindItem) -> BlindItem:
    """The time of the text as the length of a clip instead."""
    minutes, seconds = re.findall(r"(\d+):(\d\d)", item.text)[-1]
    return replace(item, text=re.sub(r"At \d+:\d\d", "Here", item.text), seconds=60.0 * int(minutes) + int(seconds))


def even(rng: np.random.Generator) -> tuple[str, Sequence[str], int]:
    now = int(rng.integers(5))
    return f"Route: {'; '.join(ROUTE)}. Which step is it?", ROUTE, now


@pytest.mark.parametrize(
    ("name", "make", "least"),
    [
        ("by length", longest, 0.95),
        ("by likeness", variants_of_the_right_one, 0.95),
        ("by text", not_of_the_route, 0.95),
        ("by text", after_the_missing_one, 0.95),
        ("interpolated", step_of_the_time, 0.7),
        ("by time", late_yes, 0.75),
    ],
)
def test_a_planted_shortcut_is_found(name: str, make: Made, least: float) -> None:
    assert mean(name, made(make)) >= least


@pytest.mark.parametrize(
    ("name", "make", "least"), [("clip interpolated", step_of_the_time, 0.7), ("by clip", late_yes, 0.75)]
)
def test_the_length_of_a_clip_is_a_time(name: str, make: Made, least: float) -> None:
    items = made(make)
    assert mean(name, [as_clip(item) for item in items]) >= least
    alike = mean(name, [replace(as_clip(item), seconds=20.0) for item in items])
    assert alike <= float(chance(items, folds(items)).mean()) + 0.2, "of one length they tell nothing"
    assert PRIORS[name](items, folds(items)) is None


@pytest.mark.parametrize("name", ["by length", "by letter", "by likeness", "by text"])
def test_even_options_earn_chance(name: str) -> None:
    items = made(even)
    assert mean(name, items) == pytest.approx(float(chance(items, folds(items)).mean()), abs=0.06)


def test_a_letter_that_is_always_right() -> None:
    items = [make_item(n, "task", f"scene{n}", "Which?", [f"{n}{c}" for c in "wxyz"], "C") for n in range(10)]
    scores = PRIORS["by letter"](items, np.arange(10) % 5)
    assert scores.tolist() == [1] * 10


@pytest.mark.parametrize("name", ["by length", "by letter", "by likeness", "by text", "by time", "interpolated"])
def test_numbers_and_texts_without_a_time_have_no_such_guess(name: str) -> None:
    numbers = [number_item(id, 2) for id in range(4)]
    assert PRIORS[name](numbers, np.array([0, 0, 1, 1])) is None
    if name in {"by time", "interpolated"}:
        items = made(even)
        assert PRIORS[name](items, folds(items)) is None
