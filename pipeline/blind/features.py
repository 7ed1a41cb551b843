"""Features of a question for the stress test: numbers made of its text and options, and of answers in other folds.

A question with options gives one row per option, since letters are shuffled and most options are a name or an order
that no classifier has as a class; a number gives one row. Every row has *keys*: the names in it alone and in pairs
("table", "table | nearest: lamp", "lamp against sofa"); for an order its places and who comes before whom; the words,
where the wording is of no known template. A key becomes the share of rows it was seen in and the mean (numbers: also
the spread) of what was right then. Beside the keys stand *plain* columns, which need no answers: place, length,
likeness to the other options, steps of a route.

A training row is encoded from the training folds without its own: with its own answer in it, it would teach the forest
to trust a mean of one (measured: two of three directions then fall to or below chance). A test row is encoded as the
training rows are, each training fold left out in turn, and gets the average: from more answers at once its counts and
spreads would be of another size than those the forest was trained on.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from pipeline.blind.items import BlindItem
from pipeline.core.arrays import FloatArray, IntArray

SMOOTHING: Final = 2.0  # a key's mean counts this many answers of the mean of all
_DECIMALS: Final = 9  # of logarithms: processors differ in their last bit, and then other trees grow
SCALE: Final = 50.0  # asinh(50 x): the logarithm of a length or an area from a centimetre on, but defined for all
_STEP: Final = re.compile(r"(?:^|\s)\d+\.\s")
_NUMERIC: Final = re.compile(r"[-+]?\d+(?:\.\d+)?")

Keys = list[tuple[Hashable, ...]]


@dataclass(frozen=True)
class TaskRows:
    """One task as rows, in the order of its questions.

    Attributes:
        question: (r,) index of the question.
        keys: (r, m) each: codes of a row's keys of one kind, -1 for none.
        answer_free: (r, p) columns that depend on no answer.
        target: (r,) what a key's mean is of: right or not minus 1/k, or asinh(50 x) of a number.
        choice: whether a row is an option.
    """

    question: IntArray
    keys: tuple[IntArray, ...]
    answer_free: FloatArray
    target: FloatArray
    choice: bool

    def of(self, questions: IntArray) -> TaskRows:
        """The rows of some questions, given by their indices (m,) in ascending order, which are counted anew."""
        place = np.full(int(self.question.max(initial=-1)) + 1, -1, dtype=np.intp)
        place[questions] = np.arange(len(questions))
        mine = place[self.question] >= 0
        return TaskRows(
            place[self.question[mine]],
            tuple(codes[mine] for codes in self.keys),
            self.answer_free[mine],
            self.target[mine],
            self.choice,
        )


def rows_of(items: Sequence[BlindItem]) -> TaskRows:
    """The rows of all questions of one task."""
    return _option_rows(items) if items[0].options else _number_rows(items)


def encode(rows: TaskRows, fold: IntArray, test: int) -> FloatArray:
    """Features (r, f) of all rows for the model that is tested on one fold. ``fold`` (n,) is that of each question."""
    own = fold[rows.question]
    columns = [rows.answer_free]
    for codes in rows.keys:
        columns.append(_encode_keys(codes, rows, own, test))
    if not rows.choice:
        return np.column_stack(columns)
    absolute = np.column_stack(columns)
    count = np.bincount(rows.question, minlength=len(fold))
    sums = np.stack([np.bincount(rows.question, column, len(fold)) for column in absolute.T], axis=1)
    mean = sums / np.maximum(count, 1)[:, None]
    return np.column_stack([absolute, absolute - mean[rows.question]])


def _encode_keys(codes: IntArray, rows: TaskRows, own: IntArray, test: int) -> FloatArray:
    """Share, mean and, for numbers, spread (r, 2 or 3) of keys of one kind, the average of a row's."""
    folds, size = int(own.max()) + 1, int(codes.max(initial=-1)) + 1
    row, _ = np.nonzero(codes >= 0)
    cell = codes[codes >= 0] * folds + own[row]
    target = rows.target[row]
    sums = np.stack([np.bincount(cell, weight, size * folds) for weight in (np.ones(len(row)), target, target**2)])
    sums = sums.reshape(3, size, folds)
    training = [fold for fold in np.unique(own).tolist() if fold != test]
    # One more key at the end, of nothing, which -1 points at.
    tables = np.zeros((len(training), size + 1, 2 if rows.choice else 3))
    encoded = np.zeros((len(codes), tables.shape[2]))
    present = np.maximum((codes >= 0).sum(axis=1), 1)[:, None]
    for table, fold in zip(tables, training, strict=True):
        seen = [other for other in training if other != fold]
        table[:-1] = _means(sums[:, :, seen].sum(axis=2), rows.target[(own != fold) & (own != test)], rows.choice)
        mine = own == fold
        encoded[mine] = table[codes[mine]].sum(axis=1) / present[mine]
    if training:
        mine = own == test
        encoded[mine] = tables.mean(axis=0)[codes[mine]].sum(axis=1) / present[mine]
    return encoded


def _means(sums: FloatArray, target: FloatArray, choice: bool) -> FloatArray:
    """Columns (keys, 2 or 3) from each key's count, sum and sum of squares, and the target of all rows behind them."""
    count, total, square = sums
    center, spread = (0.0, 0.0) if choice or not len(target) else (float(target.mean()), float(target.var()))
    mean = (total + SMOOTHING * center) / (count + SMOOTHING)
    columns = [np.round(np.log((count + 1) / (len(target) + 1)), _DECIMALS), mean]
    if not choice:
        second = (square + SMOOTHING * (spread + center**2)) / (count + SMOOTHING)
        columns.append(np.sqrt(np.maximum(second - mean**2, 0.0)))
    return np.stack(columns, axis=1)


def _number_rows(items: Sequence[BlindItem]) -> TaskRows:
    names = [tuple(name for _, name in _name_features(item)) for item in items]
    keys: list[Keys] = [
        list(names),
        [tuple(combinations(sorted(row), 2)) for row in names],
        [item.words for item in items],
    ]
    return TaskRows(
        question=np.arange(len(items)),
        keys=tuple(codes for codes in map(_codes, keys) if codes.size),
        answer_free=np.array([[len(item.text.split()), _steps(item)] for item in items], dtype=np.float64),
        target=np.arcsinh(SCALE * np.array([float(item.number or 0) for item in items])).round(_DECIMALS),
        choice=False,
    )


def _option_rows(items: Sequence[BlindItem]) -> TaskRows:
    pairs = [(item, place) for item in items for place in range(len(item.options))]
    sizes = np.array([len(item.options) for item in items])
    right = np.array([place == item.right for item, place in pairs], dtype=np.float64)
    return TaskRows(
        question=np.repeat(np.arange(len(items)), sizes),
        keys=tuple(
            codes for codes in map(_codes, zip(*(_option_keys(*pair) for pair in pairs), strict=True)) if codes.size
        ),
        answer_free=np.array([_option_columns(*pair) for pair in pairs], dtype=np.float64),
        target=right - np.repeat(1 / sizes, sizes),
        choice=True,
    )


def _option_keys(item: BlindItem, place: int) -> tuple[tuple[Hashable, ...], ...]:
    """The keys of one option, kind by kind."""
    option, elements, named = item.options[place], item.elements[place], _name_features(item)
    rivals = [rival for index, rival in enumerate(item.options) if index != place]
    parts = elements if len(elements) > 1 else ()
    return (
        (option,),
        tuple((name, option) for name in named),
        tuple((*sorted((name, option)),) for _, name in named),  # in either role
        tuple((pair, option) for pair in combinations(named, 2)),
        tuple((option, rival) for rival in rivals),
        tuple((name, option, rival) for name in named for rival in rivals),
        tuple(enumerate(parts)),
        parts[:1],
        tuple(combinations(parts, 2)),  # who comes before whom
        item.option_words[place],
    )


def _option_columns(item: BlindItem, place: int) -> list[float]:
    """Numbers of an option beside the others, and of the question."""
    option, elements = item.options[place], item.elements[place]
    others = [other for index, other in enumerate(item.elements) if index != place]
    alike = sum(a == b for other in others for a, b in zip(elements, other, strict=False))
    rank = {name: index for index, name in enumerate(item.listed)}
    moved = sum(abs(rank[name] - index) for index, name in enumerate(elements) if name in rank)
    return [
        place,
        len(option),
        len(elements),
        alike / max(len(others) * len(elements), 1),
        float(elements == item.listed),
        moved,
        _number_rank(item, place),
        len(item.options),
        len(item.text.split()),
        _steps(item),
    ]


def _number_rank(item: BlindItem, place: int) -> float:
    """How many options are smaller numbers; 0 where they are no numbers."""
    if not all(_NUMERIC.fullmatch(option) for option in item.options):
        return 0.0
    return float(sum(float(other) < float(item.options[place]) for other in item.options))


def _name_features(item: BlindItem) -> list[tuple[str, str]]:
    return sorted(item.names.items())


def _steps(item: BlindItem) -> int:
    return len(_STEP.findall(item.text))


def _codes(keys: Iterable[Sequence[Hashable]]) -> IntArray:
    """Keys (r, m) as small integers, -1 where a row has fewer than others."""
    code: dict[Hashable, int] = {}
    rows = [[code.setdefault(key, len(code)) for key in row] for row in keys]
    width = max(map(len, rows), default=0)
    return np.array([row + [-1] * (width - len(row)) for row in rows], dtype=np.intp).reshape(len(rows), width)
