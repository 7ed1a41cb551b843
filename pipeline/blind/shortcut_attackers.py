"""Attackers that guess from the form of a question: its options, its text, its time, or the length of its clip.

A *trait* is a property of an option that can be seen without understanding it: it is the longest, it occurs in the
text, it is the step of a printed route at the time of the question. The share of options with a trait that were
right in the other folds is its worth; so nobody has to state beforehand whether the longest is right or the shortest.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, combinations, pairwise
from operator import attrgetter
from typing import Final

import numpy as np

from pipeline.blind.items import BlindItem, OptionRows, codes_of, sums_elsewhere
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.templates import LIST_SEPARATOR

Trait = Callable[[BlindItem], Sequence[Hashable]]  # of every option of an item
When = Callable[[BlindItem], float | None]  # a time that an item tells, seconds since the start of its scene
_KEPT: Final = 1 << 17  # traits of so many items are remembered: pruning asks for them in every round
_BINS: Final = 5  # of a scene's time
FIFTHS: Final = (0.2, 0.4, 0.6, 0.8)
_ORDER_MIN: Final = 3  # of fewer things an order is no more than an option
_LIKE: Final = 0.5  # words that an option and a listed step have in common: more, and they are the same
_CLOCK: Final = re.compile(r"\b(\d{1,3}):([0-5]\d)\b")
_LIST: Final = re.compile(r"(?:[^.:?]*: )?([^.?:]*; [^.?]*)")
_ORDERED: Final = re.compile(r",? then |[;,.] ?")
_FILLERS: Final = frozenset(("a", "an", "the", "it", "then", "and", "drone"))
_ENDING: Final = re.compile(r"(?:ing|es|s|ed)$")


def elsewhere(item: BlindItem) -> Sequence[Hashable]:
    """Per option its rank by how often other questions of the group say it, and say it right after what is asked about.

    Movements and names that are told in order ("…, then …; …") are one after the other. Options that are orders of the
    same things have a rank by how well they agree with the orders that are options elsewhere.
    """
    others = [text for id, texts in item.company if id != item.id for text in texts]
    asked, options = _stems(item.text), [_stems(option) - _FILLERS for option in item.options]
    counts = Counter(map(_stems, others))
    often = [sum(times for text, times in counts.items() if option <= text) for option in options]
    next_ = Counter(b for text in others for a, b in _steps_in_turn(text) if len(a & asked) > _LIKE * len(a))
    after = [
        sum(times for b, times in next_.items() if len(b & option) > _LIKE * min(len(b), len(option)))
        for option in options
    ]
    return tuple(zip(ranks(often), ranks(after), ranks(_agreements(item, others)), strict=True))


@lru_cache(_KEPT)
def _steps_in_turn(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """The words of each movement or name that a text tells in order, and of the one that follows it."""
    own = [_stems(step) - _FILLERS for step in _ORDERED.split(text)]
    return tuple((a, b) for a, b in pairwise(own) if a and b)


def mentions(items: Sequence[BlindItem]) -> IntArray:
    """Fifth (n,) of the questions of a task by how many others of the group say a word that less than half of it says.

    The more things of a kind a scene has, the more of its questions are about one.
    """
    said_by = Counter(chain.from_iterable(_said_words(item.text) for item in items))
    own = [{word for word in _said_words(item.text) if said_by[word] < len(items) / 2} for item in items]
    count = [
        sum(not mine.isdisjoint(_said_words(texts[0])) for id, texts in item.company if id != item.id)
        for item, mine in zip(items, own, strict=True)
    ]
    return np.searchsorted(np.quantile(count, FIFTHS), count)


@lru_cache(_KEPT)
def _said_words(text: str) -> frozenset[str]:
    return frozenset(stem for stem in _stems(text) - _FILLERS if not stem.isdigit())


def _agreements(item: BlindItem, others: Sequence[str]) -> Sequence[int]:
    """How many pairs each option has in the order in which texts have them, less those that it has the other way."""
    if len(set(item.elements[0])) < _ORDER_MIN or len({frozenset(own) for own in item.elements}) > 1:
        return [0] * len(item.options)
    before = Counter(chain.from_iterable(combinations(text.split(LIST_SEPARATOR), 2) for text in others))
    return [sum(before[a, b] - before[b, a] for a, b in combinations(own, 2)) for own in item.elements]


def _by_share(items: Sequence[BlindItem], fold: IntArray, when: When) -> FloatArray | None:
    """By its words and the fifth of the scene's time in which the question is; None where no question has a time."""
    last = _last(items, when)
    if not last:
        return None

    def trait(item: BlindItem) -> Sequence[Hashable]:
        share = _share(item, last, when)
        part = -1 if share is None else min(int(share * _BINS), _BINS - 1)
        return [(part, option) for option in item.options]

    return by_trait(items, fold, trait)


def _by_place(items: Sequence[BlindItem], fold: IntArray, when: When) -> FloatArray | None:
    """By how far it is from the step of a printed list that the time tells; None where no question has a time."""
    last = _last(items, when)
    if not last:
        return None

    def trait(item: BlindItem) -> Sequence[Hashable]:
        share, steps = _share(item, last, when), _steps(item)
        if share is None or not steps:
            return [None] * len(item.options)
        now = min(int(share * len(steps)), len(steps) - 1)
        alike = [[_shared(option, step) for step in steps] for option in item.options]
        return [int(np.argmax(found)) - now if max(found) >= _LIKE else None for found in alike]

    return by_trait(items, fold, trait)


def by_trait(items: Sequence[BlindItem], fold: IntArray, trait: Trait, sign: int = 1) -> FloatArray | None:
    """As `by_traits`; None for numbers."""
    return by_traits(items, fold, [trait(item) for item in items], sign) if items[0].options else None


def by_traits(
    items: Sequence[BlindItem], fold: IntArray, traits: Sequence[Sequence[Hashable]], sign: int = 1
) -> FloatArray:
    """Score (n,) of the option whose trait was right most often in the other folds; equals share the point.

    With ``sign`` -1 least often: who has other answers of a task that was made even lacks those that are used less.
    """
    rows, (_, code) = OptionRows.of(items), codes_of(list(chain.from_iterable(traits)))
    own, same = fold[rows.question], np.zeros_like(code)
    chance = sums_elsewhere(same, own, rows.right) / np.maximum(sums_elsewhere(same, own), 1)
    right, offered = sums_elsewhere(code, own, rows.right), sums_elsewhere(code, own)
    return rows.score(sign * np.round((right + chance) / (offered + 1), 9))


@lru_cache(_KEPT)
def _length(item: BlindItem) -> tuple[int, ...]:
    """The place that each option has among the others, the longest first."""
    return ranks([len(option) for option in item.options])


def _letter(item: BlindItem) -> Sequence[Hashable]:
    return range(len(item.options))


@lru_cache(_KEPT)
def _likeness(item: BlindItem) -> tuple[int, ...]:
    """By how much each is like the other options: wrong ones are often made from the right one."""
    return ranks([sum(_shared(option, other) for other in item.options) for option in item.options])


@lru_cache(_KEPT)
def _mentioned_in_question(item: BlindItem) -> tuple[tuple[int, bool], ...]:
    """How much of each the question says, and whether it follows in a printed list on a step that is no option."""
    text = _stems(item.text)
    shares = ranks([len(_stems(option) & text) / max(len(_stems(option)), 1) for option in item.options])
    missing = [after for step, after in pairwise(_steps(item)) if max(_shared(o, step) for o in item.options) < _LIKE]
    follows = [any(_shared(option, after) >= _LIKE for after in missing) for option in item.options]
    return tuple(zip(shares, follows, strict=True))


def ranks(values: Sequence[float]) -> tuple[int, ...]:
    """How many of the values are greater than each."""
    rounded = [round(value, 9) for value in values]
    return tuple(sum(other > value for other in rounded) for value in rounded)


def _steps(item: BlindItem) -> Sequence[str]:
    """The items that the text lists with semicolons."""
    found = _LIST.search(item.text)
    return found[1].split("; ") if found else ()


@lru_cache(_KEPT)
def _stems(text: str) -> frozenset[str]:
    return frozenset(_ENDING.sub("", re.sub("ies$", "y", word)) for word in re.findall(r"\w+", text.casefold()))


def _shared(a: str, b: str) -> float:
    """Share of the shorter text's words that the other has too."""
    one, other = _stems(a), _stems(b)
    return len(one & other) / max(min(len(one), len(other)), 1)


def _clock_s(item: BlindItem) -> int | None:
    """The last time that a text tells, as minutes and seconds."""
    found = _CLOCK.findall(item.text)
    return 60 * int(found[-1][0]) + int(found[-1][1]) if found else None


def _clip_s(item: BlindItem) -> float | None:
    """The length of what of the video goes with it, which anybody sees before watching."""
    return item.seconds


def _last(items: Sequence[BlindItem], when: When) -> dict[str, float]:
    """The latest time that any question of a group tells."""
    last: dict[str, float] = {}
    for item in items:
        second = when(item)
        if second is not None:
            last[item.group] = max(last.get(item.group, 0.0), second)
    return last


def _share(item: BlindItem, last: dict[str, float], when: When) -> float | None:
    second = when(item)
    return None if second is None else second / max(last[item.group], 1.0)


LEAST: Final = "least frequent"
SHORTCUT_ATTACKERS: Final[dict[str, Callable[[Sequence[BlindItem], IntArray], FloatArray | None]]] = {
    "by length": partial(by_trait, trait=_length),
    "by letter": partial(by_trait, trait=_letter),
    "by likeness": partial(by_trait, trait=_likeness),
    "by text": partial(by_trait, trait=_mentioned_in_question),
    "by time": partial(_by_share, when=_clock_s),
    "interpolated": partial(_by_place, when=_clock_s),
    "by clip": partial(_by_share, when=_clip_s),
    "clip interpolated": partial(_by_place, when=_clip_s),
    LEAST: partial(by_trait, trait=attrgetter("options"), sign=-1),
}


def best_guess(earned: Mapping[str, float]) -> str:
    """The best of these guesses among what attackers earn, in words: "0.420 by text"; "" where there is none."""
    found = {name: earned[name] for name in SHORTCUT_ATTACKERS if name in earned}
    best = max(found, key=lambda name: found[name], default=None)
    return "" if best is None else f"{found[best]:.3f} {best}"
