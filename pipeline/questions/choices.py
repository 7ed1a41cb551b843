"""Options: letters as even as possible, and four choices for numeric questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.core.identity import rng_for
from pipeline.questions.task import Number

LETTERS: Final = "ABCDEFGHIJ"
NUMERIC_CHOICES: Final = 4
MARGIN: Final = 0.2  # of the truth, between any two numeric choices (VSI-Bench B.1: a threshold; the size is ours)
FREEDOM: Final = 1.25  # of the room that the numeric choices on one side of the truth need at least


def balanced_letters(scene: str, task: str, choices: Sequence[int]) -> list[int]:
    """Position of the right option for each question of one scene and task, in order of their ids.

    ``choices[i]`` is the number of options of question i. Every block of k questions with k options gets each
    position once, in an order drawn from (scene, task, block): even within the task, and unpredictable.
    """
    rank: dict[int, int] = {}
    positions = []
    for k in choices:
        block, place = divmod(rank.get(k, 0), k)
        rank[k] = rank.get(k, 0) + 1
        positions.append(int(rng_for(scene, task, "letters", k, block).permutation(k)[place]))
    return positions


def draw_options(question: int, truth: str, labels: Sequence[str], most: int = 4) -> tuple[str, ...]:
    """At most ``most`` of the labels, the truth among them; which of the others is drawn from the question's id."""
    if len(labels) <= most:
        return tuple(labels)
    others = [label for label in labels if label != truth]
    drawn = rng_for(question, "distractors").choice(len(others), most - 1, replace=False)
    return (truth, *(others[i] for i in sorted(drawn)))


def order_options(question: int, truth: str, labels: Sequence[str], position: int) -> tuple[str, ...]:
    """The options with the truth at ``position`` and the others in an order drawn from the question's id."""
    others = [label for label in labels if label != truth]
    shuffled = [others[i] for i in rng_for(question, "option_order").permutation(len(others))]
    return (*shuffled[:position], truth, *shuffled[position:])


def lettered(options: Sequence[str]) -> tuple[str, ...]:
    """The options as released: "A. …", "B. …"."""
    return tuple(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def numeric_choices(question: int, truth: str, number: Number) -> tuple[str, ...]:
    """Four numbers in ascending order, the truth among them, drawn from the question's id.

    As in the paper the others lie between a lower and an upper factor of the truth, no two within a margin. How many
    of them lie below the truth is drawn first, evenly among what is possible: else the middle options would be right
    most of the time. Where that leaves no freedom (three below 0.4 and 1.0 of a size) or no room (small counts), the
    range is extended.
    """
    rng = rng_for(question, "choices")
    value = float(truth)
    step = 10.0**-number.decimals
    gap = max(MARGIN * value, step)
    reach = math.ceil(gap / step - 1e-9) * step  # what one more choice takes up at least
    room_below = max(0, math.floor((value - step) / reach + 1e-9))
    n_below = int(rng.integers(0, min(room_below, NUMERIC_CHOICES - 1) + 1))
    n_above = NUMERIC_CHOICES - 1 - n_below
    lowest = max(step, min(number.lower * value, value - FREEDOM * reach * n_below))
    highest = max(number.upper * value, value + FREEDOM * reach * n_above)
    below = _spaced(rng, _lattice(lowest, value - gap, step), n_below, gap, step)
    above = _spaced(rng, _lattice(value + gap, highest, step), n_above, gap, step)
    return tuple(f"{v:.{number.decimals}f}" for v in (*below, value, *above))


def _lattice(low: float, high: float, step: float) -> np.ndarray:
    """Multiples of ``step`` in [low, high]."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return np.arange(first, last + 1) * step


def _spaced(rng: np.random.Generator, lattice: np.ndarray, n: int, gap: float, step: float) -> list[float]:
    """N values of a lattice, ascending and at least ``gap`` apart, all such choices equally likely."""
    spare = math.ceil(gap / step - 1e-9) - 1  # lattice points that must be left out between two neighbours
    chosen = np.sort(rng.choice(len(lattice) - spare * (n - 1), n, replace=False)) if n else np.empty(0, dtype=int)
    return [float(v) for v in lattice[chosen + spare * np.arange(n)]]
