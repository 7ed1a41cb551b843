"""Options: letters as even as possible, and four choices for numeric questions."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain, islice, pairwise
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.core.templates import LIST_SEPARATOR
from pipeline.questions.task import Number

LETTERS: Final = "ABCDEFGHIJ"
NUMERIC_CHOICES: Final = 4
RATIO: Final = 1.4  # between numbers of which nothing is known; closer than 1.2 who estimates well takes them for one
_POWERS: Final = (1.0, RATIO, RATIO * RATIO, RATIO * RATIO * RATIO, RATIO * RATIO * RATIO * RATIO)


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


def number_of(text: str) -> Decimal | None:
    """The finite number that a text is in digits; None where it is none."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return value if math.isfinite(float(value)) else None


def is_number(text: str) -> bool:
    """Whether an answer is a finite number in digits."""
    return number_of(text) is not None


def offered(row: Mapping[str, Any]) -> dict[str, Any]:
    """A question (`tables.QUESTIONS`) as who chooses sees it: words of one's own are chosen among its ``choices``."""
    if row["options"] or not row["choices"] or is_number(row["ground_truth"]):
        return dict(row)
    return {**row, "options": row["choices"], "ground_truth": row["choice"]}


def draw_options(
    question: int, truth: str, labels: Sequence[str], most: int = 4, also: Sequence[str] = ()
) -> tuple[str, ...]:
    """At most ``most`` of the labels, the truth among them; which of the others is drawn from the question's id.

    ``also``: labels that are offered before any that is drawn, as many as fit.
    """
    if len(labels) <= most:
        return tuple(labels)
    fixed = (truth, *also)[:most]
    others = [label for label in labels if label not in fixed]
    drawn = rng_for(question, "distractors").choice(len(others), most - len(fixed), replace=False)
    return (*fixed, *(others[i] for i in sorted(drawn)))


def draw_orders(
    question: int, truth: str, orders: Sequence[str], most: int, also: Sequence[str] = ()
) -> tuple[str, ...]:
    """As `draw_options`, of orders of the same things, each beside its reverse: as far as ``most`` goes.

    So of any two things each is the first in half of the options, and options tell nothing of other orders of the same
    scene: of those drawn alone the right ones would agree with one another more than the others.
    """
    found = dict.fromkeys((truth, *also)[:most])
    mirrored = [LIST_SEPARATOR.join(reversed(order.split(LIST_SEPARATOR))) for order in found]
    others = [order for order in orders if order not in found and order not in mirrored]
    for place in rng_for(question, "distractors").permutation(len(others)).tolist():
        mirrored += others[place], LIST_SEPARATOR.join(reversed(others[place].split(LIST_SEPARATOR)))
    return tuple(dict.fromkeys((*found, *mirrored)))[:most]


def order_options(question: int, truth: str, labels: Sequence[str], position: int) -> tuple[str, ...]:
    """The options with the truth at ``position`` and the others in an order drawn from the question's id."""
    others = [label for label in labels if label != truth]
    shuffled = [others[i] for i in rng_for(question, "option_order").permutation(len(others))]
    return (*shuffled[:position], truth, *shuffled[position:])


def lettered(options: Sequence[str]) -> tuple[str, ...]:
    """The options as released: "A. …", "B. …"."""
    return tuple(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def stepped(value: float, step: float) -> str:
    """A number rounded to a step, with as many decimals as the step has."""
    decimals = max(0, -(Decimal(f"{step:g}").normalize().as_tuple().exponent))  # type: ignore[operator]
    return f"{round(value / step) * step:.{decimals}f}" if step not in (0.01, 0.1, 1.0) else f"{value:.{decimals}f}"


def numeric_choices(
    question: int,
    truth: str,
    number: Number,
    step: float | None = None,
    most: float = math.inf,
    usual: Sequence[float] = (),
) -> tuple[str, ...]:
    """Four numbers in ascending order, the truth among them, drawn from the question's id by quantiles (`_spread`).

    Numbers that are written alike are moved apart by one step, and none is below one step, or above what is possible.

    (The paper draws them between 0.25 and 1.75 of the truth, no two within a share of it: there the largest whose share
    fits into the smallest gap is true in 83% of the rooms.)

    Args:
        question: its id.
        truth: the answer.
        number: its form.
        step: to which it is asked for; None: one unit of the form's last decimal.
        most: the largest number that is possible, at least the truth.
        usual: numbers in ascending order, between any two neighbours of which equally many answers of its kind lie
            (`balance.Balance.usual`, `Number.quantiles`); none: where nothing is known, the truth may have any place
            among four numbers each `RATIO` times the one below.
    """
    rng = rng_for(question, "choices")
    step = step or 10.0**-number.decimals
    units = round(float(truth) / step)
    last = most if most == math.inf else math.floor(most / step + 1e-9)
    lot = float(rng.random())
    if not usual:
        below, part = divmod(NUMERIC_CHOICES * float(rng.random()), 1)
        lowest = units * step / (_POWERS[int(below)] * (1 + (RATIO - 1) * part))
        usual = [lowest * power for power in _POWERS]
    return tuple(stepped(n * step, step) for n in _spread(units, [n / step for n in usual], last, lot))


def _spread(truth: int, usual: Sequence[float], most: float, lot: float) -> list[int]:
    """Four whole numbers, the truth among them, such that answers alike to these are each as often right.

    Systematic sampling: a number that is more than a quarter of all answers is always offered; the others are
    those that stand at equal distances from the truth, in shares of the answers below them, round from the largest to
    the smallest. So the same four are offered whichever of them is true. The truth's own share is where its lot falls.

    Args:
        truth: at least 0.
        usual: `numeric_choices`, in steps.
        most: that is possible.
        lot: in [0, 1).
    """
    mass = _shares([max(1, round(n)) for n in usual], truth, most)
    always: list[int] = []
    while len(always) < NUMERIC_CHOICES and mass.any() and mass.max() * (NUMERIC_CHOICES - len(always)) >= mass.sum():
        always.append(int(mass.argmax()))
        mass[always[-1]] = 0.0
    found, left = set(always), NUMERIC_CHOICES - len(always)
    if left and mass.any():
        upto = np.cumsum(mass) / mass.sum()
        first = lot / left if truth in found else (upto[truth] - (1 - lot) * mass[truth] / mass.sum()) % (1 / left)
        drawn = np.searchsorted(upto, first + np.arange(left) / left, side="right")
        drawn = np.minimum(drawn, np.flatnonzero(mass)[-1])
        if truth not in found:
            drawn[np.abs(drawn - truth).argmin()] = truth  # already, but for the last digit of a share
        found |= {*drawn.tolist()}
    top = max(found)
    others = chain(range(top + 1, 1 + int(min(most, top + NUMERIC_CHOICES))), range(top - 1, 0, -1))
    return sorted({*found, *islice((n for n in others if n not in found), NUMERIC_CHOICES - len(found))})


def _shares(knots: Sequence[int], truth: int, most: float) -> FloatArray:
    """(n,) how many answers each number from 0 on is, up to a factor; the truth has its own or that of the nearest."""
    mass = np.zeros(max(knots[-1], truth) + 1)
    for low, high in pairwise(knots):
        part = np.ones(high - low + 1)
        part[[0, -1]] = 0.5
        mass[low : high + 1] += part / part.sum()
    mass = mass[: int(min(most, len(mass) - 1)) + 1]
    known = np.flatnonzero(mass)
    if not len(known):
        return np.asarray(np.arange(len(mass)) == truth, dtype=np.float64)
    if not mass[truth]:
        near = known[np.abs(known - truth).argmin()]
        mass[truth], mass[near] = mass[near], 0.0
    return mass
