"""Guesses by words find what the words tell, and nothing where they tell nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pipeline.blind.items import BlindItem, make_item
from pipeline.blind.priors import PRIORS
from pipeline.core.arrays import FloatArray

KINDS = ("pedestrian", "car", "cyclist", "bus")
GROUNDS = ("on the roadway", "on a crossing", "off the roadway")
Made = Callable[[np.random.Generator], tuple[str, list[str], int]]


def mean(name: str, items: list[BlindItem]) -> float:
    scores: FloatArray | None = PRIORS[name](items, np.arange(len(items)) // 5 % 5)
    return float(scores.mean())


def choices(make: Made, n: int = 400) -> list[BlindItem]:
    rng = np.random.default_rng(1)
    items = []
    for number in range(n):
        text, options, right = make(rng)
        order = rng.permutation(len(options)).tolist()
        shown = [options[i] for i in order]
        items.append(make_item(number, "task", f"scene{number // 5}", text, shown, "ABCD"[order.index(right)]))
    return items


def where_a_kind_usually_is(rng: np.random.Generator) -> tuple[str, list[str], int]:
    kind = int(rng.integers(4))
    usual = kind % 3 if rng.random() < 0.8 else int(rng.integers(3))
    return f"On what part of the street is the nearest {KINDS[kind]}?", list(GROUNDS), usual


def where_nobody_knows(rng: np.random.Generator) -> tuple[str, list[str], int]:
    return (
        f"On what part of the street is the nearest {KINDS[int(rng.integers(4))]}?",
        list(GROUNDS),
        int(rng.integers(3)),
    )


def larger(rng: np.random.Generator) -> tuple[str, list[str], int]:
    """A bus is longer than all else; beside it the colours tell nothing."""
    one, other = rng.choice(4, 2, replace=False).tolist()
    colours = rng.choice(["red", "green", "blue", "white"], 2).tolist()
    right = 0 if one == 3 else 1 if other == 3 else int(rng.integers(2))
    return "Which is longer?", [f"the {colours[0]} {KINDS[one]}", f"the {colours[1]} {KINDS[other]} there"], right


@pytest.mark.parametrize(("name", "make", "least"), [
    ("by words", where_a_kind_usually_is, 0.7), ("by rivals", larger, 0.7),
])  # fmt: skip
def test_words_tell(name: str, make: Made, least: float) -> None:
    assert mean(name, choices(make)) >= least


@pytest.mark.parametrize("name", ["by words", "by rivals"])
def test_words_tell_nothing_where_answers_are_even(name: str) -> None:
    assert mean(name, choices(where_nobody_knows)) == pytest.approx(1 / 3, abs=0.06)


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
    assert PRIORS["by number"](choices(larger, 40), fold) is None
    numbers = [make_item(n, "task", f"scene{n // 5}", "How many?", None, str(n + 1)) for n in range(40)]
    assert PRIORS["by rivals"](numbers, fold) is None
    assert PRIORS["by number"](numbers[:2], np.array([0, 0])) is not None, "of one fold nothing is learnt"
