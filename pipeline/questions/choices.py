"""Options: letters as even as possible, and four choices for numeric questions."""

from __future__ import annotations

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
FEW: Final = 12  # of so many possible numbers at most, ratios would tell that the truth is a large one
# Between neighbouring numeric choices. Ours: the closer, the less a typical value tells which is true; and closer than
# 1.2 a person who estimates well could not tell them apart.
RATIO: Final = (1.25, 1.6)


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
    """Four numbers in ascending order, the truth among them, drawn from the question's id.

    Each is the one before it times a ratio of `RATIO`, drawn alike whichever of them is true; so no distance between
    them tells which is. (The paper draws them between 0.25 and 1.75 of the truth, no two within a share of it: there
    the largest whose share fits into the smallest gap is true in 83% of the rooms.) Which place the truth takes is
    drawn too. Where answers gather around a usual one, the truth would often be the option nearest to that; so of the
    places those that bring the four towards the usual are drawn more often (`_weight`): over the answers of a
    task, each place and each option is then right as often as the others, whatever the four numbers are.

    Where quantiles of the answers are known (``number.by_kind``), the others are drawn from these instead (`_spread`).

    Numbers that are written alike are moved apart by one step, and none is below one step, or above what is possible.

    Args:
        question: its id.
        truth: the answer.
        number: its form.
        step: to which it is asked for; None: one unit of the form's last decimal.
        most: the largest number that is possible, at least the truth.
        usual: numbers in ascending order, between any two neighbours of which equally many answers of its kind lie
            (`balance.Balance.usual`); none: those of its form, where it has some.
    """
    rng = rng_for(question, "choices")
    step = step or 10.0**-number.decimals
    units = round(float(truth) / step)
    if known := usual or number.quantiles:
        last = most if most == math.inf else math.floor(most / step + 1e-9)
        spread = _spread(units, [n / step for n in known], last, float(rng.random()))
        return tuple(stepped(n * step, step) for n in spread)
    ratios = [RATIO[0] + (RATIO[1] - RATIO[0]) * float(u) for u in rng.random(NUMERIC_CHOICES - 1)]
    rows = [row for place in range(NUMERIC_CHOICES) if (row := _row(units, place, ratios)) is not None]
    if most < math.inf:
        last = math.floor(most / step + 1e-9)
        possible = [row for row in rows if row[-1] <= last] if last > FEW else []
        rows = possible or _windows(units, last)
    weights = [_weight([n * step for n in row], number) for row in rows]
    at, drawn = float(rng.random()) * sum(weights), 0
    while drawn < len(rows) - 1 and at >= weights[drawn]:
        at -= weights[drawn]
        drawn += 1
    return tuple(stepped(n * step, step) for n in rows[drawn])


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
        part = np.full(high - low + 1, 1.0 / max(high - low, 1))
        part[[0, -1]] /= 1.0 if low == high else 2.0
        mass[low : high + 1] += part
    mass = mass[: int(min(most, len(mass) - 1)) + 1]
    if not mass[truth]:
        known = np.flatnonzero(mass)
        near = known[np.abs(known - truth).argmin()] if len(known) else truth
        mass[truth], mass[near] = mass[near] or 1.0, 0.0
        mass[truth] = mass[truth] or 1.0
    return mass


def _windows(truth: int, most: int) -> list[list[int]]:
    """All runs of whole numbers from 1 to the most that is possible, the truth in each at another place."""
    width = min(NUMERIC_CHOICES, most)
    firsts = range(max(1, truth - width + 1), min(truth, most - width + 1) + 1)
    return [list(range(first, first + width)) for first in firsts]


def _row(truth: int, place: int, ratios: Sequence[float]) -> list[int] | None:
    """Four numbers in units of the last decimal with the truth at a place; None where there is no room below it."""
    row = [truth]
    factor = 1.0
    for ratio in reversed(ratios[:place]):
        factor /= ratio
        row.insert(0, min(round(truth * factor), row[0] - 1))
    factor = 1.0
    for ratio in ratios[place:]:
        factor *= ratio
        row.append(max(round(truth * factor), row[-1] + 1))
    return row if row[0] >= 1 or place == 0 else None


def _weight(row: Sequence[float], number: Number) -> float:
    """How often four numbers are offered: 1 / (m ** -below + m ** above), m their geometric mean over the usual answer.

    That is a bell over log m, without a logarithm, whose last digit would be the machine's. Four numbers that are
    offered so often contain, each at any place, the answers of a bell that is wider by their own spread: the slopes
    of a task are found by trying which give the answers at hand.
    """
    if number.usual is None:
        return 1.0
    ratio = math.sqrt(math.sqrt(math.prod(value / number.usual for value in row)))
    below, above = number.slopes
    return float(ratio**below / (1 + ratio ** (below + above)))
