"""All ways in which a text may end: its hops after the first, backwards from the target to where they may begin.

An end is good from a landmark that surely leads over it to the target and can lead nowhere else, and bad from one that
may lead elsewhere. A first hop with a good landmark and no bad one makes a text that leads to one thing (`query`
asks the same of one text at a time, forwards).
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pipeline.benchmarks.cityeqa.query import Hop
from pipeline.benchmarks.cityeqa.raw import RawQuestion
from pipeline.benchmarks.cityeqa.relations import FARTHER
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import RELATIONS, Phrase
from pipeline.core.arrays import BoolArray, IntArray


class HopSuffixes(NamedTuple):
    """Ends of one length.

    Attributes:
        legs: (K,) the hops of each.
        good: (L, K) sparse; see above. Landmarks that the question speaks of are none.
        bad: (L, K) sparse.
        over: (L, K) sparse: landmarks of the second hop over which it surely goes on; None for shorter ends.
    """

    legs: tuple[tuple[Hop, ...], ...]
    good: Any
    bad: Any
    over: Any = None


class AllHopSuffixes:
    """The ends of the texts of a raw task.

    Args:
        view: the city.
        raw: the task.
        reach_m: from the target to where texts begin, at most.
        goes_on: whether there is a way on to where the answer is seen, by a landmark's index and a relation's.
    """

    def __init__(self, view: CityView, raw: RawQuestion, reach_m: float, goes_on: Callable[[int, int], bool]) -> None:
        self.view, self.raw, self.goes_on = view, raw, goes_on
        rules = view.rules
        # Beyond their reach relations are still possible.
        slack_m = 2 * view.query.relations.slack_m
        far_m = reach_m + FARTHER * (rules.first_reach_m + rules.next_reach_m) + slack_m
        self.local: IntArray = view.query.near(raw.target, far_m)
        self.place = {int(i): n for n, i in enumerate(self.local)}
        self.banned = {raw.target, *raw.about, *raw.shown}

    def of(self, hops: int) -> HopSuffixes:
        """The ends of texts with so many hops: 1, 2 or 3."""
        return (self._none, self._one, self._two)[hops - 1]

    @cached_property
    def _none(self) -> HopSuffixes:
        """The first hop leads to the target: good is that alone, and all else is bad."""
        is_target = (self.local == self.raw.target)[:, None]
        return HopSuffixes(((),), _sparse(is_target), _sparse(~is_target))

    @cached_property
    def _one(self) -> HopSuffixes:
        view, target = self.view, self.raw.target
        legs, good, bad = [], [], []
        for d, landmarks in enumerate(view.query.into(target)):
            leads = self._rows([i for i in landmarks if i not in self.banned and self.goes_on(i, d)])
            if not leads.any():
                continue
            maybe = view.query.steps(d)[1][self.local][:, self.local]
            for phrase in self.raw.phrases:
                surely, fits = view.query.fit(phrase, self.local)
                if not surely[self.place[target]] or not phrase.is_sayable:
                    continue
                elsewhere = np.asarray(maybe @ (fits & (self.local != target)), dtype=bool)
                legs.append((Hop(d, phrase),))
                good.append(leads & ~elsewhere)
                bad.append(elsewhere)
        return self._ends(legs, good, bad)

    @cached_property
    def _two(self) -> HopSuffixes:
        from scipy.sparse import csr_array, hstack  # takes a moment, which builds of other benchmarks need not spend

        view, after = self.view, self._one
        legs, over, astray = [], [], []
        good, bad = after.good.toarray(), after.bad.toarray()
        for k, (last,) in enumerate(after.legs):
            for phrase in self.phrases(good[:, k]):
                if phrase != last.phrase:
                    surely, fits = view.query.fit(phrase, self.local)
                    legs.append((phrase, last))
                    over.append(surely & good[:, k])
                    astray.append(fits & bad[:, k])
        if not legs:
            return HopSuffixes((), after.good[:, :0], after.bad[:, :0], after.good[:, :0])
        unbanned = self._rows([i for i in self.local.tolist() if i not in self.banned and view.query.is_landmark[i]])
        through, lost = (_sparse(_columns(own, len(self.local))) for own in (over, astray))
        found: list[HopSuffixes] = []
        for d in range(len(RELATIONS)):
            sure, maybe = (matrix[self.local][:, self.local] for matrix in view.query.steps(d))
            elsewhere = maybe @ lost
            leads = without(csr_array((sure @ through).multiply(unbanned[:, None])), elsewhere)
            keep = np.flatnonzero(np.diff(leads.tocsc().indptr))
            own = tuple((Hop(d, legs[k][0]), legs[k][1]) for k in keep.tolist())
            found.append(HopSuffixes(own, leads[:, keep], elsewhere[:, keep], through[:, keep]))
        parts = [hstack([getattr(one, name) for one in found], "csr") for name in ("good", "bad", "over")]
        return HopSuffixes(tuple(own for one in found for own in one.legs), *parts)

    def phrases(self, chosen: BoolArray) -> list[Phrase]:
        """All phrases for any of some landmarks (L,)."""
        called = {p for n in np.flatnonzero(chosen).tolist() for p in self.view.landmark_phrases(int(self.local[n]))}
        return sorted(called, key=str)

    def _rows(self, things: Sequence[int]) -> BoolArray:
        found = np.zeros(len(self.local), dtype=bool)
        found[[self.place[i] for i in things if i in self.place]] = True
        return found

    def _ends(
        self, legs: Sequence[tuple[Hop, ...]], good: Sequence[BoolArray], bad: Sequence[BoolArray]
    ) -> HopSuffixes:
        keep = [k for k, own in enumerate(good) if own.any()]
        matrices = (_sparse(_columns([own[k] for k in keep], len(self.local))) for own in (good, bad))
        return HopSuffixes(tuple(legs[k] for k in keep), *matrices)


def _columns(vectors: Sequence[BoolArray], rows: int) -> BoolArray:
    return np.stack(vectors, axis=1) if vectors else np.zeros((rows, 0), dtype=bool)


def _sparse(matrix: BoolArray) -> Any:
    from scipy.sparse import csr_array

    return csr_array(matrix)


def without(matrix: Any, other: Any) -> Any:
    """Where a boolean matrix is true and another is not."""
    rows = (np.repeat(np.arange(one.shape[0]), np.diff(one.indptr)) for one in (matrix, other))
    cells, excluded = (row * one.shape[1] + one.indices for row, one in zip(rows, (matrix, other), strict=True))
    found = with_entries(matrix, matrix.data & ~np.isin(cells, excluded))
    found.sort_indices()
    return found


def with_entries(matrix: Any, keep: BoolArray) -> Any:
    """A boolean matrix by rows with some of its entries (k,) and no others."""
    from scipy.sparse import csr_array

    before = np.concatenate([[0], np.cumsum(keep)])
    return csr_array((matrix.data[keep], matrix.indices[keep], before[matrix.indptr]), shape=matrix.shape)
