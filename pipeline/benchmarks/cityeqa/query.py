"""Runs the wording of tasks as queries against the map: which things it may lead to, and which it surely does.

Every landmark that fits counts, not the nearest: "a building to the north of you" is each building there within reach.
Tasks are answered together, as sparse matrices (tasks x things); memory and time grow with their number alone.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.benchmarks.cityeqa.relations import Pairs, Relations, Streetwise
from pipeline.benchmarks.cityeqa.wording import (
    ANCHORS,
    BEHIND,
    BUSINESS,
    COLOURS,
    DIRECTIONS,
    FRONT,
    LANDMARKS,
    MOSTS,
    RELATIONS,
    SIGNBOARD,
    STREETWISE,
    Phrase,
)
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.groups import grouped
from pipeline.reading.maps.city_thing import BUILDING, SHOP, CityThing
from pipeline.reading.maps.map_quality import alike, errors_m, shapes_of
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.occluders import height_bounds_m
from pipeline.worlds.city.street_frontage import StreetFrontage, lines_of, street_frontage

OVER_M: Final = 3.0  # from the middle of a shop's front to that of its signboard
# How many times as tall, as large on the ground, or as near it must be as all others there.
MOST_TIMES: Final = {"tallest": 1.2, "largest": 1.5, "nearest": 1.4}
BATCH: Final = 2_000  # tasks at a time
FACTS: Final = ("kind", "noun", "colour", "sign", "name")  # that phrases call things by
UNTOLD: Final = 0  # number of a fact that is not told
UNKNOWN: Final = -1  # of a word that nothing in the city is called by


class Hop(NamedTuple):
    """One hop of a task as a query: where to look, and for what.

    Attributes:
        direction: index among `wording.RELATIONS`; of the first hop among `wording.DIRECTIONS`.
        most: see `wording.Hop`.
    """

    direction: int
    phrase: Phrase
    most: str = ""


class RouteQuery(NamedTuple):
    """A task as a query: where it begins, and its hops; the last leads to the target."""

    x_m: float
    y_m: float
    legs: tuple[Hop, ...]


class RouteLimits(NamedTuple):
    """Limits that define the relations.

    Attributes:
        margin_deg: see `relations.Pairs.holds`.
        first_m: how far what lies in a direction of the agent may be.
        next_m: how far what lies in a direction of a landmark may be.
    """

    margin_deg: float
    first_m: float
    next_m: float


class MatchedTargets(NamedTuple):
    """The targets of n wordings: matrices (n, T) of things that surely fit, and of those that may."""

    sure: Any
    maybe: Any


class Query:
    """A city, ready to be asked where wordings lead.

    Args:
        city: its facts.
        limits: what relations mean.
    """

    def __init__(self, city: City, limits: RouteLimits) -> None:
        self.city, self.limits = city, limits
        self.shapes, error_m = shapes_of(city.things), errors_m(city.things)
        self.is_building: BoolArray = np.array([t.kind == BUILDING for t in city.things], dtype=bool)
        kinds = [t.kind for t in city.things]
        self.is_landmark: BoolArray = np.isin(kinds, sorted(LANDMARKS)) & ~self.doubted
        anchors = np.flatnonzero(np.isin(kinds, sorted(ANCHORS)))
        self.relations = Relations(self.shapes, anchors, limits.next_m, error_m)
        self.lines = lines_of(city)
        self._worn: dict[str, tuple[BoolArray, BoolArray]] = {}
        self._called: dict[str, BoolArray] = {}

    def near(self, i: int, reach_m: float) -> IntArray:
        """Indices of the things within a reach of a thing, itself included, ascending."""
        return np.sort(self.relations.tree.query(self.shapes[i], predicate="dwithin", distance=reach_m))

    def lead(self, ways: Sequence[RouteQuery]) -> MatchedTargets:
        """Where wordings lead."""
        from scipy.sparse import vstack  # takes a moment, which builds of other benchmarks need not spend

        parts = [self._lead(ways[i : i + BATCH]) for i in range(0, len(ways), BATCH)] or [self._lead([])]
        return MatchedTargets(vstack([p.sure for p in parts], "csr"), vstack([p.maybe for p in parts], "csr"))

    def first_pairs(self, places: FloatArray, useful: IntArray, others: IntArray) -> Pairs:
        """Pairs of places (n, 2) and things within reach of a first hop.

        Of each place those with useful things (u,), and if one of these surely lies in some direction also those with
        others (k,): from elsewhere no text leads anywhere, and others are many more.
        """
        reach_m = self.limits.first_m
        found = self.relations.of_points(places, reach_m, useful)
        sure = [self.holds(found, d)[0] for d in range(len(DIRECTIONS))]
        led = np.unique(found.one[np.any(sure, axis=0)])
        rest = self.relations.of_points(places[led], reach_m, others)
        rest = rest._replace(one=led[rest.one])
        return Pairs(*(np.concatenate(both) for both in zip(found, rest, strict=True)))

    def holds(self, pairs: Pairs, direction: int) -> tuple[BoolArray, BoolArray]:
        """Whether the things of pairs (n,) surely lie in one of `DIRECTIONS` of places, and whether they may."""
        return pairs.holds(direction, self.limits.margin_deg, self.limits.first_m)

    def most(self, word: str, pairs: Pairs, own: IntArray, sure: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Which of some pairs (k,) may be the most of those of their places, and which surely are.

        Args:
            word: of `MOSTS`; the nearest is worth the most.
            pairs: of places and things.
            own: (k,) indices of those that a first hop may lead to.
            sure: (k,) whether it surely does.
        """
        if word == "nearest":
            far, error = pairs.distance_m[own], pairs.error_m[own]
            low, high = 1.0 / np.maximum(far + error, 0.1), 1.0 / np.maximum(far - error, 0.1)
        else:
            low, high = (worth[pairs.other[own]] for worth in self.worth[word])
        return clearly_most(pairs.one[own], low, high, sure, MOST_TIMES[word])

    def steps(self, direction: int) -> tuple[Any, Any]:
        """Matrices (T, T): what has surely, and what has possibly, one of `RELATIONS` to each landmark."""
        return self._steps[direction]

    def into(self, thing: int) -> list[list[int]]:
        """Per relation the landmarks to which a thing surely has it."""
        found = []
        for d in range(len(RELATIONS)):
            columns = self._columns[d]
            own = columns.indices[columns.indptr[thing] : columns.indptr[thing + 1]]
            found.append(own[self.is_landmark[own]].tolist())
        return found

    @cached_property
    def _columns(self) -> list[Any]:
        return [self._steps[d][0].tocsc() for d in range(len(RELATIONS))]

    @cached_property
    def fronts(self) -> StreetFrontage:
        """On which streets its things lie, and where they have their fronts."""
        return street_frontage(self.city, self.shapes, self.lines)

    @cached_property
    def streetwise(self) -> Streetwise:
        """Relations about streets: in front of a thing, across the street from it and so on."""
        return Streetwise(self.shapes, self.lines, self.fronts, self.limits.margin_deg, self.limits.next_m)

    @cached_property
    def worth(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """By superlative that all things have: the least and the greatest value (T,) that each may have."""
        tall = [height_bounds_m(t) if t.kind == BUILDING else (0.0, np.inf) for t in self.city.things]
        low, high = np.array(tall, dtype=np.float64).reshape(-1, 2).T
        area = np.asarray(shapely.area(self.shapes), dtype=np.float64)
        return {"tallest": (low, high), "largest": (area, area)}

    @cached_property
    def _steps(self) -> list[tuple[Any, Any]]:
        pairs, n = self.relations.pairs, len(self.city.things)
        found = []
        for direction in range(len(DIRECTIONS)):
            hits = pairs.holds(direction, self.limits.margin_deg, self.limits.next_m)
            found.append(tuple(_matrix(pairs.one[hit], pairs.other[hit], (n, n)) for hit in hits))
        for relation in STREETWISE:
            hits = self.streetwise.holds(relation, pairs)
            if relation in (FRONT, BEHIND):  # a square has neither
                hits = (hits[0] & self.is_building[pairs.one], hits[1])
            found.append(tuple(_matrix(pairs.one[hit], pairs.other[hit], (n, n)) for hit in hits))
        return found

    def _lead(self, ways: Sequence[RouteQuery]) -> MatchedTargets:
        things = len(self.city.things)
        starts = np.array([way[:2] for way in ways], dtype=np.float64).reshape(-1, 2)
        pairs = self.relations.of_points(starts, self.limits.first_m)
        direction = np.array([way.legs[0].direction for way in ways], dtype=np.intp)
        sure, maybe = (np.zeros(len(pairs.one), dtype=bool) for _ in range(2))
        for d in range(len(DIRECTIONS)):
            own = direction[pairs.one] == d
            holds = self.holds(pairs, d)
            sure |= own & holds[0]
            maybe |= own & holds[1]
        first = [way.legs[0] for way in ways]
        for which, hit in enumerate((sure, maybe)):
            hit[hit] = self._fits(pairs.one[hit], pairs.other[hit], first, which)
        asked = np.array([leg.most for leg in first], dtype=str)[pairs.one]
        for word in MOSTS:
            own = np.flatnonzero(maybe & (asked == word))
            maybe[own], sure[own] = self.most(word, pairs, own, sure[own])
        now = [_matrix(pairs.one[hit], pairs.other[hit], (len(ways), things)) for hit in (sure, maybe)]
        for hop in range(1, max((len(way.legs) for way in ways), default=0)):
            here = [way.legs[hop] if hop < len(way.legs) else None for way in ways]
            for which, matrix in enumerate(now):
                row, column = self._step(matrix, here, which).tocoo().coords
                stays = self._fits(row, column, here, which)
                now[which] = _matrix(row[stays], column[stays], matrix.shape)
        return MatchedTargets(*now)

    def _step(self, now: Any, here: Sequence[Hop | None], which: int) -> Any:
        """Things in the direction of each task's leg of any landmark; tasks without a leg stay where they are."""
        direction = np.array([-1 if leg is None else leg.direction for leg in here])
        out = _rows(now, direction == -1)
        for d in range(len(RELATIONS)):
            if (direction == d).any():
                from_here = _rows(now, direction == d)
                out = out + (from_here @ self._steps[d][which])
        return out

    def _fits(self, row: IntArray, column: IntArray, here: Sequence[Hop | None], which: int) -> BoolArray:
        """Whether things (k,) fit, surely or possibly, the phrases of their tasks' legs; without a leg all do."""
        phrases = sorted({leg.phrase for leg in here if leg is not None}, key=str)
        number = {p: i for i, p in enumerate(phrases)}
        of = np.array([-1 if leg is None else number[leg.phrase] for leg in here], dtype=np.intp)[row]
        stays: BoolArray = of < 0
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(phrases) + 1))
        for phrase, first, end in zip(phrases, ends[:-1], ends[1:], strict=True):
            own = order[first:end]
            stays[own] = self.fit(phrase, column[own])[which]
        return stays

    def fit(self, phrase: Phrase, things: IntArray) -> tuple[BoolArray, BoolArray]:
        """Whether some things (n,) surely fit a phrase, and whether they may.

        A colour or a noun may be untold, another tag may say the word, and people use some words one for another.
        """
        code, words = self._vocabulary, {fact: codes[things] for fact, codes in self._words.items()}
        called_by = SHOP if phrase.noun == BUSINESS else phrase.noun
        kind, noun, asked = words["kind"], words["noun"], code.get(called_by, UNKNOWN)
        called = (kind == asked) | (noun == asked)
        sure = called & ~self.doubted[things]
        # A thing that is only known by its kind may be anything of that kind.
        unsorted = (noun == kind) & np.isin(kind, [asked, *self._kinds_of.get(asked, ())])
        maybe = called | unsorted | self._may_be_called(called_by)[things]
        if phrase.colour is not None:
            colour = code.get(phrase.colour, UNKNOWN)
            sure &= words["colour"] == colour
            maybe &= (words["colour"] == colour) | (words["colour"] == UNTOLD)
        if phrase.sign is not None:
            only, may = self._wearing(phrase.sign)
            sure &= only[things]
            maybe &= may[things]
        if phrase.name is not None:
            name = code.get(phrase.name.casefold(), UNKNOWN)
            named = (words["sign"] == name) | (words["name"] == name)
            sure &= named
            maybe &= named
        if phrase.corner:
            sure &= self.fronts.corner[things]
            maybe &= self.fronts.corner_maybe[things]
        return sure, maybe

    def _may_be_called(self, noun: str) -> BoolArray:
        """Which things (T,) have another tag that says a noun, or a noun that people use for it."""
        if noun not in self._called:
            words = alike(noun)
            self._called[noun] = np.array([t.noun in words or noun in t.also for t in self.city.things], dtype=bool)
        return self._called[noun]

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        """A number for each word that is told of any thing."""
        told = {_folded(thing, fact) for thing in self.city.things for fact in FACTS} - {""}
        return {"": UNTOLD} | {word: n for n, word in enumerate(sorted(told), start=UNTOLD + 1)}

    @cached_property
    def _words(self) -> dict[str, IntArray]:
        """The words for each thing (T,), as numbers."""
        code, things = self._vocabulary, self.city.things
        return {fact: np.array([code[_folded(t, fact)] for t in things], dtype=np.intp) for fact in FACTS}

    @cached_property
    def _kinds_of(self) -> dict[int, set[int]]:
        """The kinds of the things that have a noun."""
        found: dict[int, set[int]] = {}
        pairs = np.unique(np.stack([self._words["noun"], self._words["kind"]], axis=1), axis=0)
        for noun, kind in pairs.tolist():
            found.setdefault(noun, set()).add(kind)
        return found

    def _wearing(self, colour: str) -> tuple[BoolArray, BoolArray]:
        """Over which things (T,) hang signboards of a colour and no other, and over which one may hang."""
        if colour not in self._worn:
            worn = [self.signs.get(thing.id) for thing in self.city.things]
            only = np.array([own == {colour} for own in worn], dtype=bool)
            self._worn[colour] = only, np.array([not own or colour in own for own in worn], dtype=bool)
        return self._worn[colour]

    @cached_property
    def doubted(self) -> BoolArray:
        """Of which things (T,) nothing is said."""
        return np.array([t.doubt is not None for t in self.city.things], dtype=bool)

    @cached_property
    def signs(self) -> dict[str, set[str]]:
        """Colours of the signboards that hang over shops, by the shops' ids."""
        return {shop: {str(board.colour) for board in own.values()} for shop, own in self.boards.items()}

    @cached_property
    def boards(self) -> dict[str, dict[str, CityThing]]:
        """Signboards of a colour that hang over shops, by the ids of both: of the same building, and so near."""
        boards = (t for t in self.city.things if t.kind == SIGNBOARD and t.on is not None and t.colour in COLOURS)
        on = grouped(boards, lambda board: board.on)
        found: dict[str, dict[str, CityThing]] = {}
        for shop in (t for t in self.city.things if t.kind == SHOP and t.on is not None):
            for board in on.get(shop.on, ()):
                if math.dist(board.center, shop.center) <= OVER_M:
                    found.setdefault(shop.id, {})[board.id] = board
        return found


def _folded(thing: CityThing, fact: str) -> str:
    """A word for a thing, names in small letters; "" where there is none."""
    word: str = getattr(thing, fact) or ""
    return word.casefold() if fact in ("name", "sign") else word


def clearly_most(
    row: IntArray, low: FloatArray, high: FloatArray, sure: BoolArray, times: float
) -> tuple[BoolArray, BoolArray]:
    """Which of some candidates may be the greatest of their row, and which surely is.

    Args:
        row: (k,) of each.
        low: (k,) its least value.
        high: (k,) its greatest.
        sure: (k,) whether it is among the candidates for sure.
        times: how many times as great it must be as every other.
    """
    count = int(row.max(initial=-1)) + 1
    best = np.zeros(count)
    np.maximum.at(best, row[sure], low[sure])
    may = high * times >= best[row]
    order = np.lexsort((-high, row))
    begin = np.flatnonzero(np.diff(row[order], prepend=-1))
    first, second = np.full(count, -1, dtype=np.intp), np.zeros(count)
    first[row[order][begin]] = order[begin]
    after = begin[begin + 1 < len(order)] + 1
    after = after[row[order][after] == row[order][after - 1]]
    second[row[order][after]] = high[order][after]
    greatest = np.zeros(count)
    greatest[row[order][begin]] = high[order][begin]
    other = np.where(first[row] == np.arange(len(row)), second[row], greatest[row])
    return may, sure & (low >= times * other)


def _matrix(row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    """A boolean matrix that is true at some places."""
    from scipy.sparse import csr_array

    rows, columns = np.divmod(np.unique(np.asarray(row, dtype=np.int64) * shape[1] + column), shape[1])
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return csr_array((np.ones(len(rows), dtype=bool), columns, ends), shape=shape)


def _rows(matrix: Any, keep: BoolArray) -> Any:
    """The matrix with all other rows empty."""
    found = matrix.tocoo()
    row, column = found.coords
    return _matrix(row[keep[row]], column[keep[row]], matrix.shape)
