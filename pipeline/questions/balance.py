"""Balances over all scenes what one would have to guess: which classes of a task go first, and how many stay.

Of each scene a `ClassTally` is kept, nothing else. From all of them `weights` finds how much more often a scene asks a
class that is rare elsewhere: its candidates of a class take the turns (rank + start) / weight, in which start, in
[0, 1), is drawn by scene, task and class. Whoever is still more frequent than the next class is cut down to it by
`limits`, as far as a tenth of the task's questions: by a lot of each question.

Weights are steps on a ladder, and a step is gone only where it gains enough; lots belong to questions. So one more
scene changes few questions of others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import digest

CLASSES_MAX: Final = 16  # a task with more (captions, names) has answers that hardly repeat: nothing to balance
ONE_IN: Final = 10  # of a task's questions goes at most
QUESTIONS_MIN: Final = 40  # of a task; of fewer, chance moves the shares more than any balance
_QUARTERS: Final = (1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429)  # 2 ** (n / 4), on any machine
LADDER: Final = tuple(math.ldexp(_QUARTERS[n % 4], n // 4) for n in range(-24, 25))
MOVES: Final = (1, 2, 4)  # steps at once, since one alone need not change what any scene asks
STEP_GAIN: Final = 0.002  # each, of the sum of squares of the classes' sizes
UINT32: Final = 2**32
_LIMIT_STEPS: Final = 64  # limits are rounded up to such: a scene more moves few, and `select` has nothing to do then

Classes = Mapping[str, Mapping[str, float]]  # task -> class -> a number


@dataclass(frozen=True)
class Balance:
    """What a build knows of all its scenes.

    Attributes:
        weights: of classes that do not go as often as the others of their task.
        limits: of classes of which not all stay: questions with a lower lot do.
    """

    weights: Classes = field(default_factory=dict)
    limits: Classes = field(default_factory=dict)


UNBALANCED: Final = Balance()


@dataclass(frozen=True)
class ClassTally:
    """A task in a scene.

    Attributes:
        scene: its id.
        classes: class -> candidates.
        reach: how many of them can be asked.
    """

    scene: str
    classes: Mapping[str, int]
    reach: int


def drawn(*identity: str | int) -> float:
    """A number in [0, 1) that depends on nothing but the identity."""
    return int.from_bytes(digest(*map(str, identity))[:4], "big") / UINT32


def weights(tallies: Mapping[str, Sequence[ClassTally]]) -> dict[str, dict[str, float]]:
    """Weights of the classes of each task, of which there are tallies by scene; equal ones are left out."""
    found = {task: _weights(task, own) for task, own in sorted(tallies.items())}
    return {task: own for task, own in found.items() if len(set(own.values())) > 1}


def _weights(task: str, tallies: Iterable[ClassTally]) -> dict[str, float]:
    """Steps up and down the ladder, each the best one, while it makes the classes more even over all scenes."""
    scenes = sorted(tallies, key=lambda tally: tally.scene)
    names = sorted(set(chain.from_iterable(tally.classes for tally in scenes)))
    if not 1 < len(names) <= CLASSES_MAX or sum(tally.reach for tally in scenes) < QUESTIONS_MIN:
        return {}
    there = np.array([[tally.classes.get(name, 0) for name in names] for tally in scenes])
    reach = np.array([tally.reach for tally in scenes])
    start = np.array([[drawn(tally.scene, task, name) for name in names] for tally in scenes])
    free = there.sum(1) > reach  # elsewhere all are asked, whatever the weights
    fixed = there[~free].sum(0)
    ladder, steps = np.array(LADDER), np.full(len(names), len(LADDER) // 2)

    def unevenness(at: IntArray) -> int:
        return int(((fixed + _taken(there[free], reach[free], start[free], ladder[at])) ** 2).sum())

    before = unevenness(steps)
    one = np.eye(len(names), dtype=np.intp)
    moves = [(size, sign * size * row) for size in MOVES for sign in (1, -1) for row in one]
    while True:
        tried = [(size, at) for size, move in moves if (at := steps + move).min() >= 0 and at.max() < len(ladder)]
        losses = [unevenness(at) + before * STEP_GAIN * size for size, at in tried]
        best = min(range(len(tried)), key=losses.__getitem__)
        if losses[best] >= before:
            return dict(zip(names, ladder[steps].tolist(), strict=True))
        steps = tried[best][1]
        before = unevenness(steps)


def _taken(there: IntArray, reach: IntArray, start: FloatArray, weight: FloatArray) -> IntArray:
    """How many of each class (C,) scenes ask that have (S, C) candidates and reach (S,) questions."""
    taken = np.zeros_like(there)
    for place in range(int(reach.max(initial=0))):
        due = np.where(taken < there, (taken + start) / weight, np.inf)
        rows = np.flatnonzero(reach > place)
        taken[rows, due[rows].argmin(1)] += 1
    return np.asarray(taken.sum(0))


def limits(lots: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, float]]:
    """Limits below which the lots of the questions stay, by task and class, of the lots of all questions."""
    found: dict[str, dict[str, float]] = {}
    for task, classes in sorted(lots.items()):
        sizes = sorted(map(len, classes.values()), reverse=True)
        if not 1 < len(sizes) <= CLASSES_MAX or sum(sizes) < QUESTIONS_MIN:
            continue
        most = max(sizes[1], sizes[0] - sum(sizes) // ONE_IN)
        ranked = {name: sorted(own) for name, own in sorted(classes.items()) if len(own) > most}
        middle = {name: (own[most - 1] + own[most]) / 2 for name, own in ranked.items()}
        found[task] = {name: math.ceil(at * _LIMIT_STEPS) / _LIMIT_STEPS for name, at in middle.items()}
    return {task: own for task, own in found.items() if own}
