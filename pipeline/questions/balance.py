"""Balances over all scenes what one would have to guess: how many questions of each class of a task stay.

Each scene chooses by itself, rare classes first (`selection.choose`). Of it a `ClassTally` of each task is kept,
nothing else. From all of them `balance_of` finds how many stay: the most frequent classes are cut down to one size that
is little above an even share, as far as a tenth of the task's questions, by a lot of each place that a class has in a
scene. Numbers of which a name tells something (sizes, counts) are cut within names instead, until who knows the other
numbers of each name earns little more than the best constant, over all names together.

Lots belong to places, and a scene depends on `Balance.of` it alone. So one more scene changes few others.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from itertools import count
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import digest
from pipeline.metrics.mra import mean_relative_accuracies
from pipeline.questions.task import OF_NAME

CLASSES_MAX: Final = 16  # a task with more (captions, names) has answers that hardly repeat: nothing to balance
ONE_IN: Final = 10  # of a task's questions goes at most
ABOVE_EVEN: Final = 0.04  # of a task's questions may be in a class, above an even share
TOLD_BY_NAMES: Final = 0.03  # more than the best constant may be earned by who knows numbers of names
TENTHS: Final = 10
NEAR: Final = 5  # tenths that a number earns at least where one near to it is right
QUESTIONS_MIN: Final = 40  # of a task; of fewer, chance moves the shares more than any balance
MEASURED_MIN: Final = 4  # numbers of a kind that tell what is usual; of fewer who knows the world guesses best
USUAL_AT: Final = np.linspace(1 / 64, 63 / 64, 17)  # quantiles of a kind of numbers that its options are drawn from
DIGITS: Final = 5
NARROW: Final = 1.2  # of the largest number to the smallest; who estimates well takes closer ones for one
Classes = Mapping[str, Mapping[str, float]]  # task -> class -> a number


TOO_COMMON: Final = "answer_too_common"


@dataclass(frozen=True)
class ClassTally:
    """A task in a scene.

    Attributes:
        scene: its id.
        classes: class -> questions that are asked; of more than `CLASSES_MAX` classes one more than these.
        once: whether each class is asked of one scene alone; then all that could be are counted.
        by_name: whether the classes are numbers of names (`task.of_names`), balanced within these.
        numbers: kind -> number -> how many are asked, where what is usual of a kind is measured (`Number.by_kind`).
    """

    scene: str
    classes: Mapping[str, int]
    once: bool = False
    by_name: bool = False
    numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Balance:
    """What a build knows of all its scenes.

    Attributes:
        limits: of classes of which not all stay: the places of a lower lot (`lot_of`) do.
        owners: of classes that are asked of one scene alone, the scene: of those that offer it that of the lowest lot.
        usual: task -> kind -> numbers in ascending order: between any two neighbours lie equally many of the kind.
    """

    limits: Classes = field(default_factory=dict)
    owners: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    usual: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)

    def of(self, tallies: Mapping[str, ClassTally]) -> Balance:
        """The part that changes what one scene asks, from its tallies by task.

        A limit is the roundest number that leaves the same places.
        """
        limits: dict[str, dict[str, float]] = {}
        for task, tally in tallies.items():
            if others := [
                n for n, owner in self.owners.get(task, {}).items() if n in tally.classes and owner != tally.scene
            ]:
                limits[task] = dict.fromkeys(others, 0.0)
            for name, limit in self.limits.get(task, {}).items():
                gone = [lot for lot in _lots(task, name, [tally]) if lot >= limit]
                if gone:
                    limits.setdefault(task, {})[name] = _roundest(limit, min(gone))
        usual = {
            task: own
            for task, tally in tallies.items()
            if (own := {kind: n for kind, n in self.usual.get(task, {}).items() if kind in tally.numbers})
        }
        return Balance(limits, usual=usual)


UNBALANCED: Final = Balance()


def drawn(*identity: str | int) -> float:
    """A number in [0, 1) that depends on nothing but the identity."""
    return int.from_bytes(digest(*map(str, identity))[:4], "big") / 2**32


def tallies_in(raw: bytes) -> dict[str, ClassTally]:
    """The tallies of a scene by task, from JSON."""
    return {task: ClassTally(**found) for task, found in json.loads(raw).items()}


def lot_of(scene: str, task: str, name: str, place: int) -> float:
    """The lot of a place (0, 1, …) of a class among what a scene asks of a task."""
    return drawn(scene, task, name, TOO_COMMON, place)


def _roundest(low: float, high: float) -> float:
    """The number between two of [0, 1] that takes the fewest binary digits."""
    return next(found for n in count() if (found := math.ceil(low * 2**n) / 2**n) <= high)


def balance_of(scenes: Iterable[Mapping[str, ClassTally]]) -> Balance:
    """The balance of a build, from the tallies of each scene by task, in any order."""
    tasks: dict[str, list[ClassTally]] = defaultdict(list)
    for tallies in scenes:
        for task, tally in tallies.items():
            tasks[task].append(tally)
    limits, owners, usual = {}, {}, {}
    for task, own in sorted(tasks.items()):
        if own[0].once:
            lots = sorted((drawn(tally.scene, task, n), tally.scene, n) for tally in own for n in tally.classes)
            owners[task] = {name: scene for _, scene, name in reversed(lots)}
        elif found := (_limits_by_name if own[0].by_name else _limits)(task, own):
            limits[task] = found
        if measured := _usual(task, own, limits.get(task, {})):
            usual[task] = measured
    return Balance(limits, owners, usual)


def _usual(task: str, tallies: Sequence[ClassTally], limits: Mapping[str, float]) -> dict[str, list[float]]:
    """Quantiles of the numbers of each kind that stay, in `DIGITS` binary digits: one more scene changes few."""
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for tally in tallies:
        for kind, numbers in tally.numbers.items():
            asked[kind].update(numbers)
    stay = {name: np.mean([lot < limit for lot in _lots(task, name, tallies)]) for name, limit in limits.items()}
    usual: dict[str, list[float]] = {}
    for kind, counted in sorted(asked.items()):
        left = [round(n * stay.get(number, 1.0)) for number, n in counted.items()]
        own = np.repeat(np.array([*counted], dtype=float), left)
        if len(own) >= MEASURED_MIN:
            usual[kind] = [_in_digits(number) for number in np.quantile(_widened(own), USUAL_AT).tolist()]
    return usual


def _widened(numbers: FloatArray) -> FloatArray:
    """Numbers (n,) and one beyond each end, by the mean ratio of those above 0: else ends that are offered are true."""
    low, high = numbers[numbers > 0].min(initial=np.inf), numbers.max()
    if low > high:
        return numbers
    ratio = max(high / low, NARROW) ** (1 / (len(numbers) - 1))
    return np.array([low / ratio, *numbers, high * ratio])


def _in_digits(number: float) -> float:
    part, power = math.frexp(number)
    return math.ldexp(round(part * 2**DIGITS), power - DIGITS)


def _lots(task: str, name: str, tallies: Iterable[ClassTally]) -> list[float]:
    """Those of all places that a class has in some scenes."""
    return [lot_of(t.scene, task, name, place) for t in tallies for place in range(t.classes.get(name, 0))]


def _limits(task: str, tallies: Sequence[ClassTally]) -> dict[str, float]:
    """Limits below which the lots of places stay, by class."""
    sizes: Counter[str] = Counter()
    for tally in tallies:
        sizes.update(tally.classes)
    if not 1 < len(sizes) <= CLASSES_MAX or sizes.total() < QUESTIONS_MIN:
        return {}
    total = sizes.total()

    def is_above(level: int) -> bool:
        """Whether classes are to be smaller than a size."""
        return (
            level > total * (1 / len(sizes) + ABOVE_EVEN)
            and sum(max(0, n - level + 1) for n in sizes.values()) <= total // ONE_IN
            and sum(n for n in sizes.values() if n < level) >= total / ONE_IN  # else no share would be lower
        )

    level = bisect_left(range(1, max(sizes.values()) + 1), True, key=is_above)
    found = {name: sorted(_lots(task, name, tallies)) for name, n in sorted(sizes.items()) if n > level}
    return {name: (lots[level - 1] + lots[level]) / 2 for name, lots in found.items()}


def _limits_by_name(task: str, tallies: Sequence[ClassTally]) -> dict[str, float]:
    """Limits below which the lots of places stay, by class, such that names tell little more than the best constant.

    What names tell is earned by who says, of each place, the number that earns most of the other places of its name,
    the mean of the task counting as one more. Until that is little enough of all places together, one place goes of the
    name of which most is told beyond it: the one of the highest lot among numbers near to the one that earns most.
    """
    lots: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for tally in tallies:
        for of in tally.classes:
            name, _, number = of.rpartition(OF_NAME)
            lots[name][number] += _lots(task, of, [tally])
    numbers = sorted({number for own in lots.values() for number in own})
    left = {name: [sorted(own.get(number, ())) for number in numbers] for name, own in sorted(lots.items())}
    places = {name: np.array([*map(len, own)]) for name, own in left.items()}
    total, known = sum(int(n.sum()) for n in places.values()), _tenths(numbers)
    if total < QUESTIONS_MIN:
        return {}
    usual = known @ np.sum([*places.values()], axis=0) / total
    most = usual.max() + TENTHS * TOLD_BY_NAMES
    earned = {name: _earned(known, usual, n) for name, n in places.items()}
    earned_by_all, limits = sum(earned.values()), dict[str, float]()
    beyond = [(most * n.sum() - earned[name], name) for name, n in places.items() if n.sum() > 1]
    heapify(beyond)
    while earned_by_all > most * total and beyond and beyond[0][0] < 0:
        _, name = beyond[0]
        own, n = left[name], places[name]
        best = np.where(n > 0, known @ n + usual, -1).argmax()
        at = max(np.flatnonzero((n > 0) & (known[best] >= NEAR)).tolist(), key=lambda number: own[number][-1])
        gone = own[at].pop()
        limits[f"{name}{OF_NAME}{numbers[at]}"] = (max(own[at], default=0.0) + gone) / 2
        n[at] -= 1
        before, earned[name] = earned[name], _earned(known, usual, n)
        earned_by_all, total = earned_by_all + earned[name] - before, total - 1
        if n.sum() > 1:
            heapreplace(beyond, (most * n.sum() - earned[name], name))
        else:
            heappop(beyond)
    return limits


def _earned(known: IntArray, usual: FloatArray, places: IntArray) -> int:
    """Tenths that are earned of a name's places of each number (d,); see `_limits_by_name`.

    Args:
        known: (d, d) what each number earns where each is right.
        usual: (d,) what each earns on average over the task.
        places: (d,) of each number.
    """
    own = np.flatnonzero(places)
    best = ((known @ places + usual)[:, None] - known[:, own]).argmax(0)
    return int(known[best, own] @ places[own])


def _tenths(numbers: Iterable[str]) -> IntArray:
    """(d, d) mean relative accuracy of each number where each is right, in tenths: whole, so that sums are exact."""
    known = np.array([*numbers], dtype=float)
    return np.rint(TENTHS * mean_relative_accuracies(known[:, None], known)).astype(np.intp)
