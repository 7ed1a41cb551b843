"""Which candidates of a scene are asked where one answer would give away another: spread over the things they name.

Who stands by the door and faces the bed, with the tv to the left, needs no video to know on which side the bed is for
one who faces the tv. So no two questions of one leak group share three of the things that they name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, IntArray

SHARED_MAX: Final = 2  # things that two questions of a leak group may both name


@dataclass(frozen=True)
class SpreadInput:
    """The n askable candidates of one leak group of tasks, in order of their ids.

    Attributes:
        task: (n,) number of the task.
        guess: (n,) number of what one would have to guess (`Task.guess_classes`), those to be asked first lowest.
        things: (n, k) number of each thing that the candidate names.
    """

    task: IntArray
    guess: IntArray
    things: IntArray


@dataclass(frozen=True)
class Spread:
    """What is asked of n candidates, and why others are not.

    Attributes:
        chosen: rows, in the order in which they were chosen.
        shared: (n,) most things that one question chosen for good names as well; 0 for the chosen.
    """

    chosen: IntArray
    shared: IntArray


def spread(offered: SpreadInput, caps: Sequence[int]) -> Spread:
    """Chooses at most ``caps[t]`` candidates of task t, one after the other.

    The task with the fewest chosen goes first, of equals that with the fewest candidates left. Of its candidates that
    share at most `SHARED_MAX` things with each question chosen before, the first by these is taken: it names the
    fewest things that were named before, so that everything is asked about before anything twice; what one would have
    to guess was right least often in this task, and has the lowest number of those; its pairs of things were named
    together least often; its things were named least often; its id is the lowest.
    """
    state = _State(offered)
    free, shared = np.ones(len(offered.task), dtype=bool), np.zeros(len(offered.task), dtype=np.intp)
    tasks = np.unique(offered.task)
    asked = dict.fromkeys(tasks.tolist(), 0)
    chosen: list[int] = []
    while rows := {t: found for t in asked if asked[t] < caps[t] and len(found := _rows(free, offered.task, t))}:
        task = min(rows, key=lambda t: (asked[t], len(rows[t]), t))
        best = state.best(rows[task])
        state.ask(best)
        chosen.append(best)
        asked[task] += 1
        shared = np.maximum(shared, np.isin(offered.things, offered.things[best]).sum(1))
        free = shared <= SHARED_MAX
        free[chosen] = False
    shared[chosen] = 0
    return Spread(np.array(chosen, dtype=np.intp), shared)


def _rows(free: BoolArray, of: IntArray, task: int) -> IntArray:
    return np.flatnonzero(free & (of == task))


class _State:
    """How often things, pairs of them and answers were asked for."""

    def __init__(self, offered: SpreadInput) -> None:
        self._offered = offered
        things = int(offered.things.max(initial=-1)) + 1
        self._named = np.zeros(things, dtype=np.intp)
        self._together = np.zeros((things, things), dtype=np.intp)
        self._guesses = int(offered.guess.max(initial=-1)) + 1
        self._right = np.zeros((int(offered.task.max(initial=-1)) + 1, self._guesses), np.intp)
        pairs = list(combinations(range(offered.things.shape[1]), 2))
        self._one, self._other = (np.array(column, dtype=np.intp) for column in zip(*pairs, strict=True))

    def best(self, rows: IntArray) -> int:
        """The first of some rows by the order that `spread` tells."""
        burdens = (self._again, self._guessed, self._paired, self._used)
        for burden in burdens:
            value = burden(rows)
            rows = rows[value == value.min()]
        return int(rows[0])

    def ask(self, row: int) -> None:
        """Counts a row as asked."""
        things = self._offered.things[row]
        self._named[things] += 1
        self._together[things[self._one], things[self._other]] += 1
        self._together[things[self._other], things[self._one]] += 1
        self._right[self._offered.task[row], self._offered.guess[row]] += 1

    def _again(self, rows: IntArray) -> IntArray:
        return np.asarray((self._named[self._offered.things[rows]] > 0).sum(1))

    def _guessed(self, rows: IntArray) -> IntArray:
        guess = self._offered.guess[rows]
        return np.asarray(self._right[self._offered.task[rows], guess] * self._guesses + guess)

    def _paired(self, rows: IntArray) -> IntArray:
        things = self._offered.things[rows]
        return np.asarray(self._together[things[:, self._one], things[:, self._other]].sum(1))

    def _used(self, rows: IntArray) -> IntArray:
        return np.asarray(self._named[self._offered.things[rows]].sum(1))
