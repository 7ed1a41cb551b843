"""Each guess finds the way of making questions that it is for, and earns chance where the options are even."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeline.blind.items import BlindItem, make_item
from pipeline.blind.priors import PRIORS, chance
from pipeline.core.arrays import FloatArray
from tests.blind.made import number_item

ROUTE = ("climb to 30 metres", "fly to the river", "turn left", "hover over the bridge", "land beside it")
Made = Callable[[np.random.Generator], tuple[str, Sequence[str], int]]


def made(make: Made, n: int = 300) -> tuple[list[BlindItem], FloatArray]:
    """Questions, five to a scene, the scenes dealt to five folds."""
    rng = np.random.default_rng(0)
    items = []
    for number in range(n):
        text, options, right = make(rng)
        order = rng.permutation(len(options)).tolist()
        lettered = [options[i] for i in order]
        items.append(make_item(number, "task", f"scene{number // 5}", text, lettered, "ABCDE"[order.index(right)]))
    return items, np.arange(n) // 5 % 5


def earned(name: str, make: Made) -> float:
    items, fold = made(make)
    scores = PRIORS[name](items, fold)
    return float(scores.mean())


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
    assert earned(name, make) >= least


@pytest.mark.parametrize(
    ("name", "make", "least"), [("clip interpolated", step_of_the_time, 0.7), ("by clip", late_yes, 0.75)]
)
def test_the_length_of_a_clip_is_a_time(name: str, make: Made, least: float) -> None:
    items, fold = made(make)
    scores = PRIORS[name]([as_clip(item) for item in items], fold)
    assert float(scores.mean()) >= least
    alike = PRIORS[name]([replace(as_clip(item), seconds=20.0) for item in items], fold)
    assert float(alike.mean()) <= float(chance(items, fold).mean()) + 0.2, "of one length they tell nothing"
    assert PRIORS[name](items, fold) is None


@pytest.mark.parametrize("name", ["by length", "by letter", "by likeness", "by text"])
def test_even_options_earn_chance(name: str) -> None:
    items, fold = made(even)
    assert earned(name, even) == pytest.approx(float(chance(items, fold).mean()), abs=0.06)


def test_a_letter_that_is_always_right() -> None:
    items = [make_item(n, "task", f"scene{n}", "Which?", [f"{n}{c}" for c in "wxyz"], "C") for n in range(10)]
    scores = PRIORS["by letter"](items, np.arange(10) % 5)
    assert scores.tolist() == [1] * 10


@pytest.mark.parametrize("name", ["by length", "by letter", "by likeness", "by text", "by time", "interpolated"])
def test_numbers_and_texts_without_a_time_have_no_such_guess(name: str) -> None:
    numbers = [number_item(id, 2) for id in range(4)]
    assert PRIORS[name](numbers, np.array([0, 0, 1, 1])) is None
    if name in {"by time", "interpolated"}:
        items, fold = made(even)
        assert PRIORS[name](items, fold) is None
