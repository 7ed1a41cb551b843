"""Priors, attackers that guess without a model: chance, the most frequent answer, medians, names, words and numbers.

All are fitted on the other folds, so that with folds by scene nothing is known of the question's own scene. Every
function takes the questions of one task with their folds (n,) and gives the score (n,) of its guess: right or not for
options, with equal guesses sharing the point, and mean relative accuracy for numbers; None where it has no guess for
questions of this kind. `PRIORS` holds those that are tried on every task: a rule that answers a family of tasks from
its text alone is one more entry.

`WORDS` holds the guesses from words and numbers. They know no template: a word beside which an option was right more
often than elsewhere speaks for it, and so does a word of the option itself against the words of its rivals. For numbers
they guess the median beside the same words, or a fixed multiple of a number in the text, or of the length of the clip.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial
from itertools import zip_longest
from typing import Final

import numpy as np

from pipeline.blind import shortcut_attackers
from pipeline.blind.items import BlindItem, OptionRows, codes_of, sums_elsewhere
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.metrics.mra import mean_relative_accuracies
from pipeline.questions.usual import USUAL, nearness

_KEPT: Final = 1 << 16  # items whose words are remembered: all of a shard (`items.SHARD`), round after round
_WORD: Final = re.compile(r"[^\W\d_]+(?:'s)?")
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w]|\.\d)")
_SMOOTHING: Final = 2.0
_DECIMALS: Final = 9
_LEAST: Final = 3  # answers beside the same words that make a median of their own


def by_words(items: Sequence[BlindItem], fold: IntArray) -> FloatArray | None:
    """Options by the words of the question; numbers by the median beside the same words."""
    if items[0].options:
        return _by_codes(items, fold, _option_word_codes)
    return by_median(items, fold, lambda item: _sort(item)[0], _LEAST)


def by_rivals(items: Sequence[BlindItem], fold: IntArray) -> FloatArray | None:
    """Options by their own words against those of the others."""
    return _by_codes(items, fold, _option_pair_codes) if items[0].options else None


def by_number(items: Sequence[BlindItem], fold: IntArray) -> FloatArray | None:
    """Numbers as a multiple of a number in the text, of its inverse, or of the clip's length, whichever does best."""
    if items[0].options:
        return None
    truth, (known_sorts, sort) = _values(items), codes_of([_sort(item) for item in items])
    sorts = len(known_sorts)
    known = [_numbers(item) for item in items]
    numbers = np.array(list(zip_longest(*known, fillvalue=np.nan)))
    guess = np.full(len(items), np.nan)
    for test in range(int(fold.max()) + 1):
        train, there = fold != test, fold == test
        usual, best = _medians(truth[train], sort[train], sorts), np.full(sorts, -1.0)
        guess[there] = usual[sort[there]]
        for own in numbers:
            lacking = np.where(train, ~(np.isfinite(own) & (own > 0)), ~np.isfinite(own))
            fits = (np.bincount(sort, lacking, sorts) == 0) & np.isfinite(usual)
            mine = train & fits[sort]
            factor = _medians(truth[mine] / own[mine], sort[mine], sorts)
            earned = np.bincount(sort[mine], mean_relative_accuracies(own * factor[sort], truth)[mine], sorts)
            better = fits & (np.round(earned - best, _DECIMALS) > 0)
            best[better], mine = earned[better], there & better[sort]
            guess[mine] = own[mine] * factor[sort[mine]]
        rest = there & np.isnan(guess)
        if rest.any() and train.any():
            guess[rest] = np.median(truth[train])
    return np.asarray(mean_relative_accuracies(guess, truth))


@lru_cache(_KEPT)
def _sort(item: BlindItem) -> tuple[str, int]:
    """The text without its numbers, and how many they are."""
    return _NUMBER.sub("#", item.text), len(_NUMBER.findall(item.text))


@lru_cache(_KEPT)
def _numbers(item: BlindItem) -> tuple[float, ...]:
    """One, the clip's length, the numbers and their inverses."""
    found = [float(number) for number in _NUMBER.findall(item.text)]
    inverse = [1 / value if value else np.nan for value in found]
    return (1.0, item.seconds if item.seconds is not None else np.nan, *found, *inverse)


@lru_cache(_KEPT)
def _words(text: str) -> tuple[str, ...]:
    return tuple(sorted(set(_WORD.findall(text.casefold()))))


def _code(*parts: str) -> int:
    return zlib.crc32("\0".join(parts).encode())


@lru_cache(_KEPT)
def _option_word_codes(item: BlindItem) -> tuple[IntArray, IntArray]:
    """Rows (m,) of options and codes (m,): of the option, and of it beside each word of the question."""
    words = ("", *_words(item.text))
    codes = [_code(word, option) for option in item.options for word in words]
    return np.repeat(np.arange(len(item.options)), len(words)), np.array(codes, dtype=np.int64)


@lru_cache(_KEPT)
def _option_pair_codes(item: BlindItem) -> tuple[IntArray, IntArray]:
    """Rows (m,) of options and codes (m,): of any option, of each of its words, and of these against the others'."""
    own = [frozenset(_words(option)) for option in item.options]
    rows, codes = [], []
    for row, mine in enumerate(own):
        rows.append(row)
        codes.append(_code())
        rivals = sorted(set().union(*own) - mine)
        for word in sorted(mine):
            found = [_code(word, rival) for rival in ("", *rivals)]
            rows += [row] * len(found)
            codes += found
    return np.array(rows, dtype=np.int64), np.array(codes, dtype=np.int64)


def _by_codes(
    items: Sequence[BlindItem], fold: IntArray, of: Callable[[BlindItem], tuple[IntArray, IntArray]]
) -> FloatArray:
    """Score (n,) of the option for which its codes speak most in the other folds; its first code tells what is usual.

    What each of the others says is the logarithm of how much oftener than usual it was right; they add up.
    """
    rows, found = OptionRows.of(items), [of(item) for item in items]
    row = np.concatenate([own + first for (own, _), first in zip(found, rows.begin.tolist(), strict=True)])
    _, code = np.unique(np.concatenate([codes for _, codes in found]), return_inverse=True)
    first, own = np.concatenate([[True], row[1:] != row[:-1]]), fold[rows.question[row]]
    n, won = sums_elsewhere(code, own), sums_elsewhere(code, own, rows.right[row])
    usual = ((won + _SMOOTHING * float(rows.right.mean())) / (n + _SMOOTHING))[first]
    likelihood = (won + _SMOOTHING * usual[row]) / (n + _SMOOTHING)
    worth = np.where(first, np.log(usual[row]), np.log(likelihood / usual[row]))
    return rows.score(np.round(np.bincount(row, worth, len(rows.right)), _DECIMALS))


WORDS: Final[dict[str, Callable[[Sequence[BlindItem], IntArray], FloatArray | None]]] = {
    "by words": by_words,
    "by rivals": by_rivals,
    "by number": by_number,
}


WEIGHT_OF_ANY: Final = 0.5  # what is known of two options beside any names, against beside the same names


def chance(items: Sequence[BlindItem], fold: IntArray) -> FloatArray:
    """Options: 1/k. Numbers: what the answer of a random question of the other folds earns, the mean over the task.

    The mean, since per question it would be high for frequent answers, and those are the bias to be found.
    """
    if items[0].options:
        return np.array([1 / len(item.options) for item in items])
    values = _values(items)
    earned = np.zeros(len(items))
    for test in range(int(fold.max()) + 1):
        guesses, count = np.unique(values[fold != test], return_counts=True)
        if len(guesses):
            scores = mean_relative_accuracies(guesses[:, None], values[None, fold == test])
            # Written out: the kernels of BLAS round differently from one processor to another.
            earned[fold == test] = (count[:, None] * scores).sum(0) / count.sum()
    return np.full(len(items), earned.mean())


def by_frequency(letters: Sequence[str] | None, answers: Sequence[str]) -> float:
    """What is told as chance by frequency in papers: the commonest answer or letter, or the constant that earns most.

    It is chosen on the very questions that it is marked on, so that it bounds every constant from above.

    Args:
        letters: of the right options, one per question; None for numbers.
        answers: in words, or the numbers.
    """
    if letters is not None:
        return max(max(Counter(labels).values()) for labels in (letters, answers)) / len(answers)
    values, count = np.unique(np.array(answers, dtype=np.float64), return_counts=True)
    earned = (mean_relative_accuracies(values[:, None], values[None]) * count).sum(1)
    return float(earned.max() / count.sum())


def most_frequent(items: Sequence[BlindItem], fold: IntArray) -> FloatArray:
    """Numbers: the most frequent one, the smallest of equals. Options: the one that was right most often."""
    if items[0].options:
        rows, (_, option) = OptionRows.of(items), codes_of([option for item in items for option in item.options])
        return rows.score(sums_elsewhere(option, fold[rows.question], rows.right))
    values, guesses = _values(items), np.full(len(items), np.nan)
    for test in range(int(fold.max()) + 1):
        found, count = np.unique(values[fold != test], return_counts=True)
        if len(found):
            guesses[fold == test] = found[count.argmax()]
    return np.asarray(mean_relative_accuracies(guesses, values))


def task_median(items: Sequence[BlindItem], fold: IntArray) -> FloatArray | None:
    """Numbers: the median. Options have none."""
    return None if items[0].options else by_median(items, fold)


def by_name(items: Sequence[BlindItem], fold: IntArray) -> FloatArray:
    """Numbers: the median for the same names (category medians). Options: the most often right beside the same names.

    That is, against each of the others offered: a name is right less often beside strong rivals. Names that the other
    folds never have are guessed like any.
    """
    if items[0].options:
        return _by_odds(items, fold)
    return by_median(items, fold, _names)


def by_many(items: Sequence[BlindItem], fold: IntArray) -> FloatArray | None:
    """Options: by how many questions of the task the group has. Numbers: the median of groups with as many questions.

    A scene in which little can be asked has other answers than one that offers all. None where all have as many.
    """
    many = [item.of_task if item.options else len(item.company) for item in items]
    if len(set(many)) == 1:
        return None
    fifth = np.searchsorted(np.quantile(many, shortcut_attackers.FIFTHS), many).tolist()
    if not items[0].options:
        key = {item.id: own for item, own in zip(items, fifth, strict=True)}
        return by_median(items, fold, lambda item: key[item.id])
    traits = [[(option, own) for option in item.options] for item, own in zip(items, fifth, strict=True)]
    return shortcut_attackers.by_traits(items, fold, traits)


def by_usual_nearness(items: Sequence[BlindItem], fold: IntArray) -> FloatArray | None:
    """Options: by which usually stands nearest to what is asked about. Numbers: the median of things as near.

    None where the tables know of at most a tenth of the questions that anything is near anything.
    """
    found = [_nearness(item) for item in items]
    if np.mean([max(levels, default=0) > 0 for levels in found]) <= 0.1:
        return None
    if not items[0].options:
        return by_median(items, fold, _nearness)
    return shortcut_attackers.by_trait(items, fold, lambda item: shortcut_attackers.ranks(_nearness(item)))


@lru_cache(_KEPT)
def _nearness(item: BlindItem) -> tuple[int, ...]:
    """How near each option usually is to what is asked about; of a number how near two things are to each other."""
    names = [*item.names.values()]
    if not item.options:
        return (nearness(*names),) if len(names) == 2 else ()
    return tuple(sum(nearness(option, name) for name in names) for option in item.options)


def _by_usual(items: Sequence[BlindItem], fold: IntArray, table: str) -> FloatArray | None:
    """Numbers: what is usual of a thing, its length in centimetres or how many a room has, in the unit that fits best.

    Nothing but the unit, a power of ten, is learned from the other folds: so what pruning took from the questions about
    a thing is not forgotten. Things that are not in the table are guessed as by name. None where at most half are.
    """
    usual = np.array([_usual(item, table) for item in items])
    if items[0].options or np.isfinite(usual).mean() <= 0.5:
        return None
    values, scores = _values(items), by_name(items, fold)
    for test in range(int(fold.max()) + 1):
        train = (fold != test) & np.isfinite(usual) & (values > 0)
        there = (fold == test) & np.isfinite(usual)
        unit = 10.0 ** round(math.log10(np.median(values[train] / usual[train]))) if train.any() else 1.0
        scores[there] = mean_relative_accuracies(usual[there] * unit, values[there])
    return scores


@lru_cache(_KEPT)
def _usual(item: BlindItem, table: str) -> float:
    """What is usual of the only thing that a question names; NaN where it names none, several, or an unknown one."""
    names = tuple(item.names.values())
    return float(USUAL[table].get(names[0].casefold(), math.nan)) if len(names) == 1 else math.nan


def by_median(
    items: Sequence[BlindItem], fold: IntArray, key: Callable[[BlindItem], Hashable] = lambda item: (), least: int = 1
) -> FloatArray:
    """Scores of the median beside the same key; keys with fewer answers than ``least`` get the median of all."""
    values, (keys, code) = _values(items), codes_of([key(item) for item in items])
    guesses = np.full(len(items), np.nan)
    for test in range(int(fold.max()) + 1):
        train, there = fold != test, fold == test
        if train.any():
            few = np.bincount(code[train], minlength=len(keys)) < least
            found = np.where(few, np.median(values[train]), _medians(values[train], code[train], len(keys)))
            guesses[there] = found[code[there]]
    return np.asarray(mean_relative_accuracies(guesses, values))


def _medians(values: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """The median (groups,) of the values (n,) of each group (n,); NaN where it has none."""
    count = np.bincount(group, minlength=groups)
    ordered, end = np.append(values[np.lexsort((values, group))], np.nan), np.cumsum(count)
    middle = (ordered[end - count + (count - 1) // 2] + ordered[end - count + count // 2]) / 2
    return np.where(count, middle, np.nan)


def _names(item: BlindItem) -> tuple[str, ...]:
    return tuple(sorted(item.names.values()))


def _by_odds(items: Sequence[BlindItem], fold: IntArray) -> FloatArray:
    """Score (n,) of the option that won most often against its rivals in the other folds.

    That is by the sum of the log odds that it is right and the rival is not, beside these names and any.
    """
    rows, (known, option) = OptionRows.of(items), codes_of([option for item in items for option in item.options])
    _, names = codes_of([_names(item) for item in items])
    count = np.bincount(rows.question)[rows.question]
    one = np.repeat(np.arange(len(option)), count)  # every option against every one of its question
    start, begin = np.cumsum(count) - count, rows.begin[rows.question]
    other = begin[one] + np.arange(len(one)) - start[one]
    turned = start[other] + one - begin[one]  # the same pair the other way round
    own, worth = fold[rows.question][one], np.zeros(len(one))
    _, pair = np.unique(option[one] * len(known) + option[other], return_inverse=True)
    beside = names[rows.question][one] * (int(pair.max()) + 1) + pair
    for code, weight in ((pair, WEIGHT_OF_ANY), (np.unique(beside, return_inverse=True)[1], 1.0)):
        won = sums_elsewhere(code, own, rows.right[one])
        worth += weight * np.log((won + 1) / (won[turned] + 1))
    return rows.score(np.round(np.bincount(one, worth), _DECIMALS))  # rounded: what is as well known is equal


def _values(items: Sequence[BlindItem]) -> FloatArray:
    return np.array([float(item.number or 0) for item in items])


Prior = Callable[[Sequence[BlindItem], IntArray], FloatArray | None]
PRIORS: Final[dict[str, Prior]] = {
    "most frequent": most_frequent,
    "median": task_median,
    "by name": by_name,
    "by many": by_many,
    "by usual size": partial(_by_usual, table="size_cm"),
    "by usual count": partial(_by_usual, table="count"),
    "by usual nearness": by_usual_nearness,
    **shortcut_attackers.SHORTCUT_ATTACKERS,
    **WORDS,
}
CONSTANTS: Final = ("most frequent", "median")  # of them, those that give every number the same answer
