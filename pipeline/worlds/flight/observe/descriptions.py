"""Descriptions of the landmarks of a flight by their appearance, worded so that they fit one thing alone.

All rules of ambiguity stand here. Words are a noun and what is told of it: colour, roof, height, size, a sign, or what
it stands beside. Of each thing it is asked whether they surely fit, and whether they may fit: what a map does not tell
of a thing may be anything, and what is near a limit may be on either side. A landmark has a label where the words
surely fit it and may fit nothing else near the flight, nor anything farther off that the video may show. What is a
landmark to nobody, a nameless house, counts too, and so does what a map has as a point.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from pydantic import Field

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.schema import Evidence, Limits, Metres, Ratio, Rejection
from pipeline.geometry.colours import WORDS, margins
from pipeline.reading.maps.appearance import COLOURED, POINTS, SLIM, TOWER, may_be
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.places import BESIDE, NEAREST_TO, NamedLandmark, place_of

_ROOFS: Final = {"pitched": "a pitched roof", "pointed": "a pointed roof", "domed": "a dome", "rounded": "a round roof"}
# Roofs that may be taken for one another.
_LIKE: Final = {"pitched": "pointed", "pointed": "pitched", "domed": "rounded", "rounded": "domed"}
NOT_NEAR: Final = "not_near_the_flight"
_MAX_LABEL: Final = 200  # characters; schema.Name
_DECIMALS: Final = 3


class DescriptionConfig(Limits):
    """By how much words must fit a landmark, and miss everything else. Limits are ours."""

    around_m: Metres = Field(
        default=500.0,
        gt=0,
        description="words fit one thing alone among those so near to the path, in view or not",
    )
    colour_margin: float = Field(
        default=10.0,
        le=1000,
        gt=0,
        description="CIELAB: nearer to the colour's word than to any other, or than to the word",
    )
    height_ratio_min: Ratio = Field(default=1.3, gt=1, description="tallest or lowest: over the next")
    height_gap_min_m: Metres = Field(default=3.0, description="the same, in metres: about a storey")
    area_ratio_min: Ratio = Field(default=2.0, gt=1, description="largest: over the next")
    beside_max_m: Metres = Field(default=20.0, gt=0, description="to the neighbour: about a street's width")
    apart_min_m: Metres = Field(default=60.0, gt=0, description="from there to the nearest thing that looks like it")
    nearest_max_m: Metres = Field(default=100.0, gt=0, description="to what a thing is the nearest of its kind to")
    nearest_ratio_min: Ratio = Field(
        default=2.0, gt=1, description="the next one of its kind is so many times as far from there"
    )
    nearest_gap_min_m: Metres = Field(default=30.0, gt=0, description="the same, in metres: about a street")
    extent_m: Metres = Field(
        default=50.0, description="about a point that stands for something large, as a car park: how far it may reach"
    )


class ReferringExpression(NamedTuple):
    """The outcome for one landmark: a label with its proof, or why there is none."""

    label: str | None
    proof: tuple[Evidence, ...] = ()
    unnameable_reason: Rejection | None = None


_NO_EXTENT: Final = ReferringExpression(
    None, unnameable_reason=Rejection(reason="looks_unknown", measured=None, limit=None, unit=None)
)


class NounPhrase(NamedTuple):
    """A noun and what is told of it.

    Attributes:
        noun: "building".
        paint: where there is colour ("all", "walls" or "roof") and which.
        roof: its shape.
    """

    noun: str
    paint: tuple[str, str] | None = None
    roof: str | None = None

    def text(self, first: str = "", last: str = "") -> str:
        """For example "the tallest red building with a dome"."""
        where, colour = self.paint or ("", "")
        article = "an" if colour[:1] in "aeiou" else "a"
        more = {"walls": [f"{colour} walls"], "roof": [f"{article} {colour} roof"]}.get(where, [])
        more += [_ROOFS[self.roof]] if self.roof else []
        before = [word for word in (first, colour if where == "all" else "") if word]
        addition = f" with {' and '.join(more)}" if more else ""
        return " ".join(["the", *before, self.noun]) + addition + last


def describe(
    landmarks: Sequence[Landmark], path: FloatArray, config: DescriptionConfig, noticed: BoolArray | None = None
) -> tuple[ReferringExpression, ...]:
    """The referring expression of each landmark.

    Args:
        landmarks: all that the maps have about a flight.
        path: (N, 2 or 3) where it flies, ENU metres; what lies farther than ``config.around_m`` from it is no rival.
        config: margins.
        noticed: which landmarks the video may show, however far off: they are rivals too; None: not known.
    """
    around = _seen_from_path(landmarks, path, config.around_m)
    if noticed is not None:
        seen = [i for i, mark in enumerate(landmarks) if mark.appearance is not None and noticed[i]]
        around = np.union1d(around, np.array(seen, dtype=np.intp))
    things = SceneThings([landmarks[i] for i in around.tolist()], config)
    found = {around[row]: label for row, label in enumerate(things.descriptions())}
    hidden = Rejection(reason="looks_unknown", measured=None, limit=None, unit=None)
    far = Rejection(reason=NOT_NEAR, measured=None, limit=config.around_m, unit="m")
    return tuple(
        found.get(i, ReferringExpression(None, unnameable_reason=hidden if mark.appearance is None else far))
        for i, mark in enumerate(landmarks)
    )


def _seen_from_path(landmarks: Sequence[Landmark], path: FloatArray, within_m: float) -> IntArray:
    """Indices of the landmarks with a look that may be seen from a path."""
    seen = np.array([i for i, mark in enumerate(landmarks) if mark.appearance is not None], dtype=np.intp)
    if not len(path) or not len(seen):
        return seen[:0]
    center = np.array([landmarks[i].center for i in seen])
    radius = np.array([landmarks[i].radius_m for i in seen])
    near = np.zeros(len(seen), dtype=bool)
    for point in path[:, :2]:
        near |= np.hypot(*(center - point).T) - radius <= within_m
    return seen[near]


class SceneThings:
    """All that may be seen from a flight, of which each has a look; arrays are of their number n.

    Attributes:
        height_m: least and greatest height (n, 2); NaN: not known.
    """

    def __init__(self, marks: Sequence[Landmark], config: DescriptionConfig) -> None:
        self.marks, self.config = marks, config
        self._looks = [mark.appearance for mark in marks if mark.appearance is not None]
        heights = [look.height_m or (np.nan, np.nan) for look in self._looks]
        self.height_m: FloatArray = np.array(heights, dtype=np.float64).reshape(-1, 2)
        self._noun = np.array([look.noun for look in self._looks])
        self._roof = np.array([look.roof_shape or "" for look in self._looks])
        self._center = np.array([mark.center for mark in marks]).reshape(-1, 2)
        self._radius_m = np.array([mark.radius_m for mark in marks])
        large = (self._radius_m <= 0) & ~np.isin(self._noun, sorted(POINTS))
        self._reach_m = np.where(large, config.extent_m, self._radius_m)  # at most, from its centre
        self._area_m2 = np.array([look.area_m2 or np.nan for look in self._looks], dtype=np.float64)
        self._signs = Counter(look.sign.casefold() for look in self._looks if look.sign)
        # By word: which things (n,) no picture shows in that colour, and by how much it fits; NaN: not known.
        self._unlike = {word: np.array([word in look.unlike for look in self._looks], dtype=bool) for word in WORDS}
        self._paint = {
            "walls": _fit([look.walls for look in self._looks]),
            "roof": _fit([look.roof for look in self._looks]),
        }
        self._fitting: dict[NounPhrase, BoolArray] = {}  # what `may_fit` has answered: many things are alike

    def descriptions(self) -> list[ReferringExpression]:
        """First what looks tell, then what stands beside something that they tell."""
        alone = [self._by_look(i) if self._extent_known(i) else _NO_EXTENT for i in range(len(self.marks))]
        anchors = [place_of(i, self.marks[i], one.label) for i, one in enumerate(alone) if one.label]
        return [
            one if one.label or one is _NO_EXTENT else self._by_thing(i, anchors) or self._nearest(i, anchors) or one
            for i, one in enumerate(alone)
        ]

    def _extent_known(self, i: int) -> bool:
        """Whether a thing is surely there, and has an outline or is slim: a point that is a park is somewhere in it."""
        return self.marks[i].doubt is None and (bool(self._radius_m[i] > 0) or str(self._noun[i]) in POINTS)

    # What fits

    def fits(self, words: NounPhrase) -> BoolArray:
        """Which things some words surely fit (n,)."""
        sure = self._noun == words.noun
        if words.paint:
            where, colour = words.paint
            least = self.config.colour_margin
            sure &= np.all([self._paint[w][colour] >= least for w in _surfaces(where)], axis=0)  # NaN is not
        return sure & (self._roof == words.roof) if words.roof else sure

    def may_fit(self, words: NounPhrase) -> BoolArray:
        """Which things some words may fit (n,)."""
        if words in self._fitting:
            return self._fitting[words]
        may = np.isin(self._noun, sorted(may_be(words.noun)))
        if words.noun == TOWER:
            slim = ~(self.height_m[:, 1] < SLIM * 2 * self._radius_m)  # also what has no known height
            may |= slim & np.isin(self._noun, sorted(may_be("building")))
        if words.paint:
            where, colour = words.paint
            least = self.config.colour_margin
            # Of a thing with a red roof and grey walls somebody says that it is red.
            not_so = [self._paint[w][colour] <= -least for w in _surfaces(where)]
            may &= ~np.all(not_so, axis=0) & ~self._unlike[colour]
        if words.roof:
            may &= np.isin(self._roof, ["", words.roof, _LIKE[words.roof]])
        self._fitting[words] = may
        return may

    # Words

    def _words(self, i: int) -> Iterator[NounPhrase]:
        """The traits that may be told of a thing, first that by which it is recognised best."""
        noun = str(self._noun[i])
        paint, roof = self._paint_of(i) if noun in COLOURED else None, str(self._roof[i])
        full = NounPhrase(noun, paint, roof if roof in _ROOFS and noun in COLOURED else None)
        yield from dict.fromkeys([NounPhrase(noun, paint), NounPhrase(noun, None, full.roof), NounPhrase(noun), full])

    def _paint_of(self, i: int) -> tuple[str, str] | None:
        least = self.config.colour_margin
        fitting = (
            (where, colour)
            for where in ("all", "walls", "roof")
            for colour in WORDS
            if all(self._paint[w][colour][i] >= least for w in _surfaces(where))
        )
        return next(fitting, None)

    def _by_look(self, i: int) -> ReferringExpression:
        """A label from what is seen of a thing itself."""
        tried = [(words, np.flatnonzero(self.may_fit(words))) for words in self._words(i)]
        for words, may in tried:
            if len(may) == 1:
                return _refer(words.text(), self._proof(i, words))
        for words, may in tried:
            rank = self._height_word(i, may[may != i]) or self._area_word(i, may[may != i])
            if rank is not None:
                return _refer(words.text(first=rank[0]), (*self._proof(i, words), rank[1]))
        sign = self._looks[i].sign  # that can be read on no other
        if sign and self._signs[sign.casefold()] == 1:
            return _refer(next(self._words(i)).text(last=f' with the sign "{sign}"'), ())
        fewest = min(len(may) for _, may in tried)
        return ReferringExpression(
            None, unnameable_reason=Rejection(reason="looks_like_another", measured=fewest, limit=1, unit="things")
        )

    def _height_word(self, i: int, others: IntArray) -> tuple[str, Evidence] | None:
        """The word "tallest" or "lowest" among others of which every height is known, by a margin."""
        (low, high), rivals = self.height_m[i], self.height_m[others]
        if np.isnan(low) or np.isnan(rivals).any():
            return None
        for word, more, less in (("tallest", low, rivals[:, 1].max()), ("lowest", rivals[:, 0].min(), high)):
            if more >= less * self.config.height_ratio_min and more - less >= self.config.height_gap_min_m:
                limit = self.config.height_ratio_min
                return word, _fact("height_ratio", word, float(more / less), ">=", limit, "ratio")
        return None

    def _area_word(self, i: int, others: IntArray) -> tuple[str, Evidence] | None:
        """The word "largest" among others of which every outline is known, by a margin."""
        next_m2, limit = self._area_m2[others].max(), self.config.area_ratio_min
        if not self._area_m2[i] >= limit * next_m2:  # also where one is not known
            return None
        return "largest", _fact("area_ratio", "largest", float(self._area_m2[i] / next_m2), ">=", limit, "ratio")

    def _by_thing(self, i: int, anchors: Sequence[NamedLandmark]) -> ReferringExpression | None:
        """A label from what a thing stands beside, and nothing like it does; None where there is no such thing."""
        most, apart = self.config.beside_max_m, self.config.apart_min_m
        return self._by_anchor(i, anchors, BESIDE, most, lambda _: apart)

    def _nearest(self, i: int, anchors: Sequence[NamedLandmark]) -> ReferringExpression | None:
        """A label from what a thing is the nearest of its kind to, by far; None where there is no such thing."""
        config = self.config

        def apart(gap_m: float) -> float:
            return max(config.nearest_ratio_min * gap_m, gap_m + config.nearest_gap_min_m)

        return self._by_anchor(i, anchors, NEAREST_TO, config.nearest_max_m, apart)

    def _by_anchor(
        self, i: int, anchors: Sequence[NamedLandmark], relation: str, most: float, apart: Callable[[float], float]
    ) -> ReferringExpression | None:
        """A label by the place of something else, at most so far; what looks like it is at least ``apart(gap)`` off."""
        own = place_of(i, self.marks[i], "")
        near = sorted(((own.gap_m(a), a.label, a) for a in anchors if own.bound_m(a) <= most), key=lambda n: n[:2])
        for words in reversed(list(self._words(i))):
            rivals = np.flatnonzero(self.may_fit(words))
            rivals = rivals[rivals != i]
            for gap, label, anchor in near:
                if gap > most or anchor.index in rivals:
                    continue
                least = apart(gap)
                away = self._least_gap_m(rivals, anchor, least)
                if away >= least:
                    proof = _fact("gap", label, gap, "<=", most), _fact("gap_of_others", label, away, ">=", least)
                    return _refer(words.text(last=f"{relation}{label}"), proof)
        return None

    def _least_gap_m(self, rivals: IntArray, anchor: NamedLandmark, enough_m: float) -> float:
        """Distance of the nearest of some things to an anchor, as far as it is less than enough."""
        bound = np.hypot(*(self._center - anchor.center).T)[rivals] - self._reach_m[rivals] - anchor.radius_m
        least = float(bound[bound >= enough_m].min(initial=np.inf))
        for j in rivals[bound < enough_m].tolist():
            beyond = float(self._reach_m[j] - self._radius_m[j])  # of a point that stands for something large
            least = min(least, max(place_of(j, self.marks[j], "").gap_m(anchor) - beyond, 0.0))
            if least < enough_m:
                break
        return least

    def _proof(self, i: int, words: NounPhrase) -> tuple[Evidence, ...]:
        """By how much the colour fits this thing, and others that are like it but for the colour do not."""
        if not words.paint:
            return ()
        where, colour = words.paint
        fits = min(float(self._paint[w][colour][i]) for w in _surfaces(where))
        rivals = np.flatnonzero(self.may_fit(words._replace(paint=None)) & ~self.may_fit(words))
        off = [float(max(-self._paint[w][colour][j] for w in _surfaces(where))) for j in rivals.tolist()]
        limit = self.config.colour_margin
        measures = [("colour_fits", fits), *([("colour_fits_no_other", min(off))] if off else [])]
        return tuple(_fact(name, colour, value, ">=", limit, "Lab") for name, value in measures)


def _fit(colours: Sequence[tuple[int, int, int] | None]) -> dict[str, FloatArray]:
    """By how much each word for a colour fits some colours (n,)."""
    return margins(np.array([rgb or (np.nan,) * 3 for rgb in colours], dtype=np.float64).reshape(-1, 3))


def _refer(text: str, proof: tuple[Evidence, ...]) -> ReferringExpression:
    if len(text) <= _MAX_LABEL:
        return ReferringExpression(text, proof)
    too_long = Rejection(reason="label_too_long", measured=len(text), limit=_MAX_LABEL, unit="characters")
    return ReferringExpression(None, unnameable_reason=too_long)


def _fact(
    name: str, subject: str, value: float, relation: Literal[">=", "<="], limit: float, unit: str = "m"
) -> Evidence:
    value = round(value, _DECIMALS)
    return Evidence(name=name, subject=subject, value=value, relation=relation, limit=limit, unit=unit)


def _surfaces(where: str) -> tuple[str, ...]:
    return ("walls", "roof") if where == "all" else (where,)
