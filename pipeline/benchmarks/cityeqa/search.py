"""Exhaustive search for starts and chains of landmarks, for raw tasks of which too few drawn starts qualify.

Places are those that were drawn and those of a grid over the city (`view.GRID_M`), as far from the target as starts may
be. Of each, every text of one to three hops that landmarks and their names allow is proven (`AllHopSuffixes`), and
followed by the oracle until it succeeds with one. So a reason for which a task is rejected holds at all these places,
and no place is examined once there are starts enough.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.benchmarks.cityeqa.extra_starts import Start, StartChain, in_view, made, spread, turned, worded
from pipeline.benchmarks.cityeqa.oracle import Oracle, SolvedPath, steps_rules
from pipeline.benchmarks.cityeqa.query import Hop, RouteQuery
from pipeline.benchmarks.cityeqa.raw import RawQuestion
from pipeline.benchmarks.cityeqa.relations import FARTHER, Pairs
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import DIRECTIONS, MOSTS, RELATIONS, Phrase
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.identity import rng_for
from pipeline.questions.rules import Measure, first_broken, rule
from pipeline.reading.maps.city_thing import BUILDING


@dataclass(frozen=True)
class HopSuffixes:
    """Ends of one length.

    Attributes:
        legs: (K,) the hops of each.
        good: (L, K) sparse; see below. Landmarks that the question speaks of are none.
        bad: (L, K) sparse.
        over: (L, K) sparse: landmarks of the second hop over which it surely goes on; None for shorter ends.
    """

    legs: tuple[tuple[Hop, ...], ...]
    good: Any
    bad: Any
    over: Any = None

    @cached_property
    def bad_bits(self) -> npt.NDArray[np.uint64]:
        """The landmarks from which each end is bad (W, K)."""
        return _bits(self.bad.toarray().T)

    def saying(self, phrases: Sequence[Phrase]) -> BoolArray:
        """Which ends say some phrases (P, K): two things of one text are never called the same."""
        found = np.zeros((len(phrases), len(self.legs)), dtype=bool)
        for n, phrase in enumerate(phrases):
            found[n, self._by_phrase.get(phrase, ())] = True
        return found

    @cached_property
    def _by_phrase(self) -> dict[Phrase, list[int]]:
        found: dict[Phrase, list[int]] = {}
        for number, legs in enumerate(self.legs):
            for leg in legs:
                found.setdefault(leg.phrase, []).append(number)
        return found


class AllHopSuffixes:
    """All ends of the texts of a raw task: hops after the first, backwards from the target to where they may begin.

    An end is good from a landmark that surely leads over it to the target and can lead nowhere else, and bad from one
    that may lead elsewhere. A first hop with a good landmark and no bad one makes a text that leads to one thing
    (`query` asks the same of one text at a time, forwards).

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
        self.at = np.full(len(view.things), -1, dtype=np.intp)  # of each thing among these
        self.at[self.local] = np.arange(len(self.local))
        self.banned = {raw.target, *raw.about, *raw.shown}

    def of(self, hops: int) -> HopSuffixes:
        """The ends of texts with so many hops: 1, 2 or 3."""
        return (self._no_hops, self._one_hop, self._two_hops)[hops - 1]

    @cached_property
    def _no_hops(self) -> HopSuffixes:
        """The first hop leads to the target: good is that alone, and all else is bad."""
        is_target = (self.local == self.raw.target)[:, None]
        return HopSuffixes(((),), _sparse(is_target), _sparse(~is_target))

    @cached_property
    def _one_hop(self) -> HopSuffixes:
        view, target = self.view, self.raw.target
        legs, good, bad = [], [], []
        for d, landmarks in enumerate(view.query.into(target)):
            leads = self._rows([i for i in landmarks if i not in self.banned and self.goes_on(i, d)])
            if not leads.any():
                continue
            maybe = view.query.steps(d)[1][self.local][:, self.local]
            for phrase in self.raw.phrases:
                surely, fits = view.query.fit(phrase, self.local)
                if not surely[self.at[target]] or not phrase.is_sayable:
                    continue
                elsewhere = np.asarray(maybe @ (fits & (self.local != target)), dtype=bool)
                legs.append((Hop(d, phrase),))
                good.append(leads & ~elsewhere)
                bad.append(elsewhere)
        return self._ends(legs, good, bad)

    @cached_property
    def _two_hops(self) -> HopSuffixes:
        from scipy.sparse import csr_array, hstack  # takes a moment, which builds of other benchmarks need not spend

        view, after = self.view, self._one_hop
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
        found[[self.at[i] for i in things if self.at[i] >= 0]] = True
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
    from scipy.sparse import csr_array

    rows = (np.repeat(np.arange(one.shape[0]), np.diff(one.indptr)) for one in (matrix, other))
    cells, excluded = (row * one.shape[1] + one.indices for row, one in zip(rows, (matrix, other), strict=True))
    keep = matrix.data & ~np.isin(cells, excluded)
    before = np.concatenate([[0], np.cumsum(keep)])
    found = csr_array((matrix.data[keep], matrix.indices[keep], before[matrix.indptr]), shape=matrix.shape)
    found.sort_indices()
    return found


def _bits(matrix: BoolArray) -> npt.NDArray[np.uint64]:
    """The columns of a matrix (m, L) as words (W, m) of 64 of them."""
    padded = np.pad(np.ascontiguousarray(matrix), ((0, 0), (0, -matrix.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


# Hops of texts, and whether they begin with a superlative, in the order in which they are looked for: the released ones
# have two and none.
STAGES: Final = ((2, False), (1, False), (3, False), (2, True), (1, True), (3, True))
_AT_ONCE: Final = (32, 128, 512)  # places; the last for all that follow


@dataclass(frozen=True)
class SolvedTask:
    """One task: a raw task from a start over a chain, and what an agent did to solve it."""

    raw: RawQuestion
    start: Start
    chain: StartChain
    solved: SolvedPath


class FirstHops(NamedTuple):
    """First hops one way from n places, in P wordings.

    Attributes:
        legs: (P,) the wordings.
        sure: (n, L) what surely lies that way from each place, whatever it is called.
        maybe: (n, L) what may.
        is_one: (P, L) what surely is called so.
        may_be: (P, L) what may be.
    """

    legs: Sequence[Hop]
    sure: BoolArray
    maybe: BoolArray
    is_one: BoolArray
    may_be: BoolArray

    def texts(self, ends: HopSuffixes) -> IntArray:
        """Place, wording and end (3, m) of all texts that lead to the target alone."""
        from scipy.sparse import csr_array

        place, thing = np.nonzero(self.sure)
        nth, called = np.nonzero(self.is_one.T[thing])
        shape = len(self.sure) * len(self.legs), self.sure.shape[1]
        rows = place[nth] * len(self.legs) + called, thing[nth]
        led = csr_array((np.ones(len(nth), dtype=bool), rows), shape=shape) @ ends.good
        led.sort_indices()
        row, end = led.tocoo().coords
        place, called = np.divmod(row.astype(np.intp), len(self.legs))
        lost = ends.saying([leg.phrase for leg in self.legs])[called, end]
        for there, fits, bad in zip(_bits(self.maybe), _bits(self.may_be), ends.bad_bits, strict=True):
            lost |= (there[place] & fits[called] & bad[end]) != 0
        return np.stack([place, called, end])[:, ~lost]


class UniqueHopTexts(NamedTuple):
    """Texts that lead to the target alone: place, number of the first hop (which of which), and of the end (m,)."""

    firsts: Sequence[tuple[FirstHops, int]]
    place: IntArray
    first: IntArray
    end: IntArray


class Search:
    """Looks for the starts of a raw task.

    Args:
        view: the city.
        oracle: goes the chains.
        raw: the task.
        pose: where its answer is seen.
        drawn: (n, 6) places that were drawn, and led nowhere.
        had: starts that were found before.
    """

    def __init__(
        self,
        view: CityView,
        oracle: Oracle,
        raw: RawQuestion,
        pose: FloatArray,
        drawn: FloatArray,
        had: Sequence[SolvedTask],
    ) -> None:
        self.view, self.oracle, self.raw, self.pose = view, oracle, raw, pose
        rules, z = view.rules, float(pose[2])
        places = np.concatenate([drawn[view.is_open(drawn)], view.open_places(raw.target, rules.start_max_m, z)])
        away = np.hypot(*(places[:, :2] - view.centers[raw.target]).T)
        places = np.unique(places[(away >= rules.start_min_m) & (away <= rules.start_max_m)], axis=0)
        taken = np.array([one.start.pose[:2] for one in had]).reshape(-1, 1, 2)
        places = places[~(places[:, :2] == taken).all(2).any(0)]
        length = view.ways(z).lengths(pose[:3], places[:, :3])
        there = np.isfinite(length)
        self.found: list[SolvedTask] = []
        for one in had:
            if self._is_taken(one.start):
                self.found.append(one)
        self.free, self.reached = len(had) + len(places), len(had) + int(there.sum())
        self.hidden = self.led = self.solved = len(had)
        self.starts = made(view, raw, places[there], length[there])
        self.ends = AllHopSuffixes(view, raw, rules.start_max_m, self._goes_on)

    def run(self) -> Measure | None:
        """Looks until there are starts enough; else what refuses the task, of which all places were counted."""
        rules = self.view.rules
        rng = rng_for(self.view.scene.id, *self.raw.key, "search")
        mixed = [self.starts[k] for k in rng.permutation(len(self.starts)).tolist()]
        order = [mixed[k] for k in spread(mixed)]
        begin, turn = 0, 0
        while begin < len(order):
            count = _AT_ONCE[min(turn, len(_AT_ONCE) - 1)]
            for found in self._from([one for one in order[begin : begin + count] if self._is_of_use(one)]):
                self.solved += 1
                if self._is_taken(found.start):
                    self.found.append(found)
                if len(self.found) >= rules.starts_max:
                    return None
            begin, turn = begin + count, turn + 1
        counted = {
            "starts_free": self.free,
            "starts_with_a_path": self.reached,
            "starts_with_a_chain": self.led,
            "starts_without_a_view": self.hidden,
            "starts": self.solved,
        }
        measures = [rule(name, n, ">=", rules.starts_min, "starts") for name, n in counted.items()]
        measures.append(rule("sides", len(self._sides), ">=", rules.sides_min, "eighths"))
        return first_broken(measures)

    @property
    def _sides(self) -> set[int]:
        return {found.start.side for found in self.found}

    def _is_taken(self, start: Start) -> bool:
        """Whether a start may be taken: unless those that still may are needed for other sides."""
        rules = self.view.rules
        missing = rules.sides_min - len(self._sides | {start.side})
        return rules.starts_max - len(self.found) - 1 >= missing

    def _is_of_use(self, start: Start) -> bool:
        """Whether a place has to be looked at: to be taken, or as long as there are not enough, to be counted."""
        return len(self.found) < self.view.rules.starts_min or self._is_taken(start)

    def _goes_on(self, landmark: int, direction: int) -> bool:
        """Whether there is a way from beside a landmark to where the answer is seen."""
        z = float(self.pose[2])
        place = self.oracle.place_beside(landmark, direction, z)
        return place is not None and bool(np.isfinite(self.view.ways(z).lengths(self.pose[:3], place[None])[0]))

    def _from(self, starts: Sequence[Start]) -> Iterator[SolvedTask]:
        """Those of some starts from which the task can be solved, as soon as a chain of theirs can be gone."""
        poses = np.array([start.pose for start in starts]).reshape(-1, 6)
        left = np.arange(len(starts))
        led, hidden = (np.zeros(len(starts), dtype=bool) for _ in range(2))
        for hops, most in STAGES:
            texts = self.texts(poses[left], hops, most)
            own = np.unique(texts.place)
            new = left[own][~led[left[own]]]
            led[new] = True
            if len(new):
                hidden[new] = not self.view.rules.hidden_at_start or ~in_view(self.view, poses[new], self.raw.target)
            solved = led[left] & ~hidden[left]  # from where the target is seen nothing starts
            for n in own[hidden[left[own]]].tolist():
                start = starts[left[n]]
                if not self._is_of_use(start):
                    continue
                for chain in self.chains(start, texts, n, hops):
                    ready = turned(self.view, self.raw, start, chain.way)
                    way = self.oracle.solve(ready, chain, self.pose, self.raw.pixels_min)
                    if way is not None and first_broken(steps_rules(self.view.rules, way)) is None:
                        solved[n] = True
                        yield SolvedTask(self.raw, ready, chain, way)
                        break
            left = left[~solved]
            if not len(left):
                break
        self.led += int(led.sum())
        self.hidden += int(hidden.sum())

    def texts(self, poses: FloatArray, hops: int, most: bool) -> UniqueHopTexts:
        """All texts of so many hops that lead from places (n, 6) to the target alone, with a superlative or without."""
        ends = self.ends.of(hops)
        firsts: list[tuple[FirstHops, int]] = []
        found = [np.empty((3, 0), dtype=np.intp)]
        good = np.diff(ends.good.indptr) > 0
        if len(poses) and good.any():
            for way in self._superlatives(poses, good) if most else self._plain_hops(poses, ends, hops):
                place, first, end = way.texts(ends)
                found.append(np.stack([place, first + len(firsts), end]))
                firsts += [(way, n) for n in range(len(way.legs))]
        return UniqueHopTexts(firsts, *np.concatenate(found, axis=1))

    def _plain_hops(self, poses: FloatArray, ends: HopSuffixes, hops: int) -> Iterator[FirstHops]:
        """First hops from places (n, 6) in each direction."""
        query, local = self.view.query, self.ends.local
        good, bad = (np.diff(matrix.indptr) > 0 for matrix in (ends.good, ends.bad))
        phrases = self.ends.phrases(good) if hops > 1 else self._called
        fits = np.array([query.fit(phrase, local) for phrase in phrases], dtype=bool).reshape(-1, 2, len(local))
        is_one, may_be = fits.swapaxes(0, 1)
        useful = good & is_one.any(0)
        pairs = query.first_pairs(poses[:, :2], local[useful], local[(good | bad) & may_be.any(0) & ~useful])
        for d in range(len(DIRECTIONS)):
            sure, maybe = (self._matrix(len(poses), pairs, hit) for hit in query.holds(pairs, d))
            yield FirstHops([Hop(d, phrase) for phrase in phrases], sure, maybe, is_one, may_be)

    def _superlatives(self, poses: FloatArray, good: BoolArray) -> Iterator[FirstHops]:
        """As `_plain_hops`: to the tallest, the largest, the nearest building, if that may be a good landmark (L,)."""
        query, local = self.view.query, self.ends.local
        building = Phrase(BUILDING)
        surely, fits = query.fit(building, local)
        if not (surely & good).any():
            return
        pairs = query.first_pairs(poses[:, :2], local[surely & good], local[fits & ~(surely & good)])
        houses = surely[self.ends.at[pairs.other]]
        any_of_them = np.ones((1, len(local)), dtype=bool)
        for d in range(len(DIRECTIONS)):
            sure, maybe = query.holds(pairs, d)
            own = np.flatnonzero(maybe)
            for word in MOSTS:
                hits = query.most(word, pairs, own, (sure & houses)[own])
                may, is_it = (self._matrix(len(poses), pairs, own[hit]) for hit in hits)
                yield FirstHops([Hop(d, building, word)], is_it, may, any_of_them, any_of_them)

    def _matrix(self, places: int, pairs: Pairs, hit: IntArray | BoolArray) -> BoolArray:
        """Some of the pairs of so many places and landmarks as a matrix (places, L)."""
        found = np.zeros((places, len(self.ends.local)), dtype=bool)
        found[pairs.one[hit], self.ends.at[pairs.other[hit]]] = True
        return found

    @property
    def _called(self) -> list[Phrase]:
        target = np.array([self.raw.target])
        return [p for p in self.raw.phrases if p.is_sayable and self.view.query.fit(p, target)[0].all()]

    def chains(self, start: Start, texts: UniqueHopTexts, n: int, hops: int) -> Iterator[StartChain]:
        """The chains of a place, drawn among its texts, over each landmark that they surely lead over."""
        ends, local = self.ends.of(hops), self.ends.local
        own = np.flatnonzero(texts.place == n)
        rng = rng_for(self.view.scene.id, *self.raw.key, *(f"{v:.1f}" for v in start.pose[:2]), "search")
        for k in own[rng.permutation(len(own))].tolist():
            (first, nth), end = texts.firsts[texts.first[k]], int(texts.end[k])
            way = RouteQuery(float(start.pose[0]), float(start.pose[1]), (first.legs[nth], *ends.legs[end]))
            text = worded(way, self.raw)
            if text is None:
                continue
            good = ends.good[:, [end]].toarray()[:, 0]
            for one in np.flatnonzero(first.sure[n] & first.is_one[nth] & good).tolist():
                if hops < 3:
                    yield StartChain(way, (self.raw.target,) if hops == 1 else (int(local[one]), self.raw.target), text)
                    continue
                on = self.view.query.steps(way.legs[1].direction)[0][[int(local[one])]][:, local]
                for two in _of_row(on, 0, ends.over[:, [end]].toarray()[:, 0]):
                    yield StartChain(way, (int(local[one]), int(local[two]), self.raw.target), text)


def _of_row(matrix: Any, row: int, chosen: BoolArray) -> list[int]:
    """Columns in which a row of a sparse matrix is true, of those that are chosen."""
    own: IntArray = np.sort(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]])
    found: list[int] = own[chosen[own]].tolist()
    return found
