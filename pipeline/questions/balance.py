"""Balances over all scenes what one would have to guess: which classes of a task go first, and how many stay.

Of each scene a `ClassTally` of each task is kept, nothing else. From all of them `balance_of` finds how much more often
a scene asks a class that is rare elsewhere: its candidates of a class take the turns (rank + start) / weight, in which
start, in [0, 1), is drawn by scene, task and class. Whoever is still more frequent than the next class is cut down to
it by a limit, as far as a tenth of the task's questions: by a lot of each place that a class has in a scene.

Weights are steps on a ladder, and a step is gone only where it gains enough; lots belong to places; and a scene depends
on `Balance.of` it alone. So one more scene changes few others.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import digest

CLASSES_MAX: Final = 16  # a task with more (captions, names) has answers that hardly repeat: nothing to balance
ONE_IN: Final = 10  # of a task's questions goes at most
QUESTIONS_MIN: Final = 40  # of a task; of fewer, chance moves the shares more than any balance
_QUARTERS: Final = (1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429)  # 2 ** (n / 4), on any machine
LADDER: Final = tuple(math.ldexp(_QUARTERS[n % 4], n // 4) for n in range(-48, 49))
_APART_MAX: Final = 48  # steps between two classes
MOVES: Final = (1, 2, 4)  # steps at once, since one alone need not change what any scene asks
STEP_GAIN: Final = 0.002  # each, of the sum of squares of the classes' sizes
UINT32: Final = 2**32
_LIMIT_STEPS: Final = 64  # limits are rounded up to such: a scene more moves few

Classes = Mapping[str, Mapping[str, float]]  # task -> class -> a number


TOO_COMMON: Final = "answer_too_common"


@dataclass(frozen=True)
class ClassTally:
    """A task in a scene.

    Attributes:
        scene: its id.
        classes: class -> candidates; of more than `CLASSES_MAX` classes one more than these.
        reach: how many of them can be asked.
        once: whether each class is asked of one scene alone.
    """

    scene: str
    classes: Mapping[str, int]
    reach: int
    once: bool = False

    @property
    def is_free(self) -> bool:
        """Whether weights change what is asked: elsewhere all are."""
        return len(self.classes) > 1 and sum(self.classes.values()) > self.reach


@dataclass(frozen=True)
class Balance:
    """What a build knows of all its scenes.

    Attributes:
        weights: of classes that do not go as often as the others of their task.
        limits: of classes of which not all stay: the places of a lower lot (`lot_of`) do.
        owners: of classes that are asked of one scene alone, the scene: of those that offer it that of the lowest lot.
    """

    weights: Classes = field(default_factory=dict)
    limits: Classes = field(default_factory=dict)
    owners: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, tallies: Mapping[str, ClassTally]) -> Balance:
        """The part that changes what one scene asks, from its tallies by task.

        A limit is the roundest number that leaves the same places.
        """
        weights: dict[str, dict[str, float]] = {}
        limits: dict[str, dict[str, float]] = {}
        for task, tally in tallies.items():
            if others := [
                n for n, owner in self.owners.get(task, {}).items() if n in tally.classes and owner != tally.scene
            ]:
                limits[task] = dict.fromkeys(others, 0.0)
            own = {name: self.weights.get(task, {}).get(name, 1.0) for name in tally.classes}
            if tally.is_free and len(set(own.values())) > 1:
                weights[task] = own
            if not (limited := self.limits.get(task, {}).keys() & own.keys()):
                continue
            names = sorted(own)
            (asked,) = _Tallied(names, [tally]).asked(task, np.array([own[name] for name in names])).tolist()
            for name in sorted(limited):
                limit = self.limits[task][name]
                lots = (lot_of(tally.scene, task, name, place) for place in range(asked[names.index(name)]))
                gone = [lot for lot in lots if lot >= limit]
                if gone:
                    limits.setdefault(task, {})[name] = _roundest(limit, min(gone))
        return Balance(weights, limits)


UNBALANCED: Final = Balance()


def drawn(*identity: str | int) -> float:
    """A number in [0, 1) that depends on nothing but the identity."""
    return int.from_bytes(digest(*map(str, identity))[:4], "big") / UINT32


def tallies_in(raw: bytes) -> dict[str, ClassTally]:
    """The tallies of a scene by task, from JSON."""
    return {task: ClassTally(**found) for task, found in json.loads(raw).items()}


def lot_of(scene: str, task: str, name: str, place: int) -> float:
    """The lot of a place (0, 1, …) of a class among what a scene asks of a task."""
    return drawn(scene, task, name, TOO_COMMON, place)


def _roundest(low: float, high: float) -> float:
    """The number between two of [0, 1] that takes the fewest binary digits."""
    return next(found for n in range(54) if (found := math.ceil(low * 2**n) / 2**n) <= high)


def balance_of(scenes: Iterable[Mapping[str, ClassTally]]) -> Balance:
    """The balance of a build, from the tallies of each scene by task, in any order."""
    tasks: dict[str, list[ClassTally]] = defaultdict(list)
    for tallies in scenes:
        for task, tally in tallies.items():
            tasks[task].append(tally)
    weights, limits, owners = {}, {}, {}
    for task, own in sorted(tasks.items()):
        if own[0].once:
            lots = sorted((drawn(tally.scene, task, n), tally.scene, n) for tally in own for n in tally.classes)
            owners[task] = {name: scene for _, scene, name in reversed(lots)}
            continue
        names = sorted(set(chain.from_iterable(tally.classes for tally in own)))
        if not 1 < len(names) <= CLASSES_MAX or sum(tally.reach for tally in own) < QUESTIONS_MIN:
            continue
        tallied = _Tallied(names, sorted(own, key=lambda tally: tally.scene))
        weight = _weights(task, tallied)
        if len(set(weight.tolist())) > 1:
            weights[task] = dict(zip(names, weight.tolist(), strict=True))
        if found := _limits(task, tallied, tallied.asked(task, weight)):
            limits[task] = found
    return Balance(weights, limits, owners)


class _Tallied:
    """Tallies of one task.

    Attributes:
        names: of C classes.
        scenes: ids of S scenes.
    """

    def __init__(self, names: Sequence[str], tallies: Sequence[ClassTally]) -> None:
        self.names, self.scenes = names, [tally.scene for tally in tallies]
        self._there = np.array([[tally.classes.get(name, 0) for name in names] for tally in tallies])
        self._free = np.array([tally.is_free for tally in tallies])
        self._reach = np.array([tally.reach for tally in tallies])[self._free]
        self._start: FloatArray | None = None

    def asked(self, task: str, weight: FloatArray) -> IntArray:
        """How many of each class every scene asks (S, C), by weights of the classes (C,)."""
        there = self._there[self._free]
        if self._start is None:
            free = compress(self.scenes, self._free.tolist())
            start = [[drawn(scene, task, name) for name in self.names] for scene in free]
            self._start = np.array(start).reshape(there.shape)
        taken = np.zeros_like(there)
        for place in range(int(self._reach.max(initial=0))):
            due = np.where(taken < there, (taken + self._start) / weight, np.inf)
            rows = np.flatnonzero(self._reach > place)
            taken[rows, due[rows].argmin(1)] += 1
        asked = self._there.copy()
        asked[self._free] = taken
        return asked


def _weights(task: str, tallied: _Tallied) -> FloatArray:
    """Steps up and down the ladder, each the best one, while it makes the classes more even over all scenes."""
    ladder, middle = np.array(LADDER), len(LADDER) // 2

    def unevenness(steps: IntArray) -> int:
        return int((tallied.asked(task, ladder[middle + steps]).sum(0) ** 2).sum())

    steps = np.zeros(len(tallied.names), dtype=np.intp)
    before = unevenness(steps)
    one = np.eye(len(steps), dtype=np.intp)
    moves = [(size, sign * size * row) for size in MOVES for sign in (1, -1) for row in one]
    while True:
        tried = [(size, _centred(at)) for size, move in moves if np.ptp(at := steps + move) <= _APART_MAX]
        losses = [unevenness(at) + before * STEP_GAIN * size for size, at in tried]
        best = min(range(len(tried)), key=losses.__getitem__)
        if losses[best] >= before:
            return np.asarray(ladder[middle + steps])
        steps = tried[best][1]
        before = unevenness(steps)


def _centred(steps: IntArray) -> IntArray:
    """The same weights beside one another, with 1 in the middle: their sizes alone say nothing."""
    return np.asarray(steps - np.sort(steps)[(len(steps) - 1) // 2])


def _limits(task: str, tallied: _Tallied, asked: IntArray) -> dict[str, float]:
    """Limits below which the lots of places stay, by class, of (S, C) questions that are asked."""
    sizes = asked.sum(0)
    second, first = np.sort(sizes)[-2:].tolist()
    most, found = max(second, first - int(sizes.sum()) // ONE_IN), {}
    for name, size, own in zip(tallied.names, sizes.tolist(), asked.T.tolist(), strict=True):
        if size > most:
            places = zip(tallied.scenes, own, strict=True)
            lots = sorted(lot_of(scene, task, name, place) for scene, n in places for place in range(n))
            found[name] = math.ceil((lots[most - 1] + lots[most]) / 2 * _LIMIT_STEPS) / _LIMIT_STEPS
    return found
