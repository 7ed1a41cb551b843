"""Operands by the tuple: all there are, or, where these are too many, so many that are drawn by what they name.

Sets of four out of n things grow with the fourth power of n: of 60 categories there are 27 million relative distances,
where six are asked. Beyond `MOST` each thing is therefore combined with some others alone, those with the lowest digest
beside it: so a thing more displaces few, and nothing is left out altogether.
"""

from __future__ import annotations

from itertools import chain, combinations, permutations
from math import comb, perm
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import IntArray, StrArray
from pipeline.core.identity import digest
from pipeline.core.schema import Rejection

MOST: Final = 100_000  # of one task and scene; a gigabyte holds those of all tasks


class CandidateSampler(NamedTuple):
    """What tuples are formed of.

    Attributes:
        scope: of the digests: the scene and the task.
        names: of all things.
        firsts: what may come first.
        others: what may follow, each once.
        size: how many follow.
        ordered: whether their order matters.
        most: tuples that are formed.
    """

    scope: tuple[str, ...]
    names: StrArray
    firsts: IntArray
    others: IntArray
    size: int
    ordered: bool = False
    most: int = MOST

    @property
    def total(self) -> int:
        """How many tuples there are."""
        return sum(self._ways(len(self._beside(first))) for first in self.firsts)

    @property
    def formed(self) -> int:
        """How many of them `tuples` forms."""
        kept = self._kept()
        return sum(self._ways(min(kept, len(self._beside(first)))) for first in self.firsts)

    def tuples(self) -> IntArray:
        """At most ``most`` tuples (n, 1 + size), in canonical order; more only where one other each is too many."""
        rows = [np.empty((0, 1 + self.size), dtype=np.intp)]
        kept = self._kept()
        for first in self.firsts:
            beside = self.drawn(first, kept)
            rest = beside[_places(len(beside), self.size, ordered=self.ordered)]
            rows.append(np.column_stack([np.full(len(rest), first, dtype=np.intp), rest]))
        return np.concatenate(rows)

    def drawn(self, first: np.intp, kept: int) -> IntArray:
        """At most so many others of a first (k,), in ascending order: those with the lowest digests."""
        beside, name = self._beside(first), str(self.names[first])
        if len(beside) <= kept:
            return beside
        by_digest = sorted(beside, key=lambda other: digest(*self.scope, name, str(self.names[other])))
        return np.sort(np.array(by_digest[:kept], dtype=np.intp))

    def _beside(self, first: np.intp) -> IntArray:
        return self.others[self.others != first]

    def _ways(self, others: int) -> int:
        return (perm if self.ordered else comb)(others, self.size)

    def _kept(self) -> int:
        """How many others each first is combined with."""
        kept = len(self.others)
        if self.total > self.most:
            while kept > self.size and len(self.firsts) * self._ways(kept) > self.most:
                kept -= 1
        return kept


def sets(scope: tuple[str, ...], names: StrArray, of: IntArray, size: int, most: int = MOST) -> IntArray:
    """Sets of things (n, size), each in ascending order: all, or those that are drawn for each of its things."""
    if comb(len(of), size) <= most:
        return of[_places(len(of), size, ordered=False)]
    return np.unique(np.sort(CandidateSampler(scope, names, of, of, size - 1, most=most).tuples(), axis=1), axis=0)


def untried(total: int, formed: int) -> Rejection | None:
    """Says how many there are where these are more than were formed."""
    if total <= formed:
        return None
    return Rejection(reason="more_than_are_tried", measured=float(total), limit=float(formed), unit="candidates")


def _places(n: int, size: int, *, ordered: bool) -> IntArray:
    """Indices (m, size) of every selection of ``size`` out of n, in lexicographic order."""
    found = permutations(range(n), size) if ordered else combinations(range(n), size)
    return np.fromiter(chain.from_iterable(found), dtype=np.intp).reshape(-1, size)
