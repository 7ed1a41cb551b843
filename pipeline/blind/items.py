"""A question as someone without the video sees it, with its answer and the group that folds keep together."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.errors import ConfigError
from pipeline.core.identity import digest, shard_of, shards_for
from pipeline.core.tables import GUESSED
from pipeline.core.templates import LIST_SEPARATOR, Operands, templates_of
from pipeline.questions.choices import number_of, offered

LETTERS: Final = "ABCDEFGHIJ"
_AT_ONCE: Final = 10_000  # rows taken apart at once
MAX_NAME_WORDS: Final = 6  # a longer field is free text (the steps of a route), not the name of something
_LETTERED: Final = re.compile(r"\s*\(?([A-J])[.:)]\s*(.*?)\s*", re.DOTALL)


@dataclass(frozen=True)
class BlindItem:
    """One question.

    Attributes:
        options: without their letters, in the order of these; empty for a number.
        right: index of the right option; None for a number.
        number: the right number; None for multiple choice.
        seconds: length of the part of the video that goes with it; None: all of it, or not known.
        company: of its group, itself included: id, text and options of each; see `with_company`.
        of_task: how many of these are of its task.
    """

    id: int | str
    task: str
    group: str
    text: str
    options: tuple[str, ...]
    right: int | None
    number: Decimal | None
    seconds: float | None = None
    company: Sequence[tuple[int | str, tuple[str, ...]]] = field(default=(), compare=False, repr=False)
    of_task: int = field(default=1, compare=False, repr=False)

    @cached_property
    def fields(self) -> Operands | None:
        """The values of its template's fields; None where the wording is of no template of the task's name."""
        return next((found for t in templates_of(self.task) if (found := t.parse(self.text)) is not None), None)

    @cached_property
    def names(self) -> dict[str, str]:
        """Field -> name of what is asked about; fields of free text and lists are left out."""
        fields = self.fields or {}
        return {k: v for k, v in fields.items() if isinstance(v, str) and len(v.split()) <= MAX_NAME_WORDS}

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The names that the question lists, in its order."""
        return next((v for v in (self.fields or {}).values() if isinstance(v, tuple)), ())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The different words of a question of unknown wording, in alphabetical order."""
        return _words(self.text) if self.fields is None else ()

    @cached_property
    def option_words(self) -> tuple[tuple[str, ...], ...]:
        """The different words of each option of a question of unknown wording."""
        return tuple(_words(option) if self.fields is None else () for option in self.options)

    @cached_property
    def elements(self) -> tuple[tuple[str, ...], ...]:
        """Each option taken apart at its commas."""
        return tuple(tuple(option.split(LIST_SEPARATOR)) for option in self.options)


def make_item(
    id: int | str, task: str, group: str, text: str, options: Sequence[str] | None, ground_truth: str
) -> BlindItem:
    """An item from the columns of a released benchmark. Raises ConfigError where the answer cannot be read."""
    truth = ground_truth.strip()
    if not options:
        number = number_of(truth)
        if number is None:
            raise ConfigError(f"question {id} ({task}): it has no options, and its answer {truth!r} is no number")
        return BlindItem(id, task, group, text, (), None, number)
    letters = LETTERS[: len(options)]
    if len(options) > len(LETTERS):
        raise ConfigError(f"question {id} ({task}): {len(options)} options; at most {len(LETTERS)} have letters")
    if truth.upper() not in tuple(letters):
        raise ConfigError(f"question {id} ({task}): its answer {truth!r} is none of the letters {', '.join(letters)}")
    lettered = [match for option in options if (match := _LETTERED.fullmatch(option))]
    texts = {match[1]: match[2] for match in lettered}
    if len(lettered) < len(options):
        texts = dict(zip(letters, map(str.strip, options), strict=True))
    elif sorted(texts) != list(letters):
        raise ConfigError(
            f"question {id} ({task}): its options do not have the letters {', '.join(letters)}, once each"
        )
    return BlindItem(
        id, task, group, text, tuple(texts[letter] for letter in letters), letters.index(truth.upper()), None
    )


def items_of(questions: pa.Table) -> list[BlindItem]:
    """The items of a table (`pipeline.core.tables.QUESTIONS`), grouped by scene or by their own groups."""
    return with_company(map(item_of, question_rows(questions)))


def question_rows(questions: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table in the columns `tables.GUESSED`, one at a time."""
    for batch in questions.select(GUESSED).to_batches(_AT_ONCE):
        yield from batch.to_pylist()


def with_company(items: Iterable[BlindItem]) -> list[BlindItem]:
    """The items, each with all questions of its group, so that attackers may read them."""
    items = list(items)
    company: dict[str, list[tuple[int | str, tuple[str, ...]]]] = defaultdict(list)
    for item in items:
        company[item.group].append((item.id, (item.text, *item.options)))
    of_task = Counter((item.group, item.task) for item in items)
    return [replace(item, company=company[item.group], of_task=of_task[item.group, item.task]) for item in items]


def item_of(row: Mapping[str, Any], *, among_choices: bool = False) -> BlindItem:
    """The item of a row in the columns `tables.GUESSED`.

    Words of one's own are guessed among the choices: what questions of the kind are answered with, at worst for us.
    With ``among_choices`` numbers are too.
    """
    group = row["scene"] if row["group"] is None else f"{row['scene']}#{row['group']}"
    shown = offered(row)
    options, truth = shown["options"], shown["ground_truth"]
    if among_choices and not options and row["choices"]:
        options, truth = row["choices"], row["choice"]
    item = make_item(row["id"], row["task"], group, row["text"], options, truth)
    seconds = None if row["until_s"] is None else row["until_s"] - (row["from_s"] or 0.0)
    return replace(item, seconds=seconds)


def codes_of(values: Sequence[Hashable]) -> tuple[list[Hashable], IntArray]:
    """The different values in the order in which they come, and the place (n,) there of each value."""
    codes: dict[Hashable, int] = {}
    places = np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.intp)
    return list(codes), places


@dataclass(frozen=True)
class OptionRows:
    """The options of n questions of one task, one after the other.

    Attributes:
        question: (r,) the question of each option, from 0 on.
        right: (r,) whether it is the right one.
    """

    question: IntArray
    right: BoolArray

    @classmethod
    def of(cls, items: Sequence[BlindItem]) -> OptionRows:
        """Those of some questions, all of which have options."""
        count = np.array([len(item.options) for item in items], dtype=np.intp)
        right = np.zeros(int(count.sum()), dtype=np.bool_)
        right[np.cumsum(count) - count + np.array([item.right or 0 for item in items], dtype=np.intp)] = True
        return cls(np.repeat(np.arange(len(items)), count), right)

    @cached_property
    def begin(self) -> IntArray:
        """(n,) the row of each question's first option."""
        return np.flatnonzero(np.diff(self.question, prepend=-1))

    def score(self, worth: FloatArray | IntArray) -> FloatArray:
        """Score (n,) of who takes the option of the highest worth (r,): 1 if it is right; equals share the point."""
        top = worth == np.maximum.reduceat(worth, self.begin)[self.question]
        return (top & self.right)[self.right] / np.bincount(self.question, top)


def sums_elsewhere(code: IntArray, own: IntArray, weight: FloatArray | BoolArray | None = None) -> IntArray:
    """How many rows (m,) of the other folds have the same code, or the sum of their weights.

    Args:
        code: (m,) from 0 on.
        own: (m,) the fold of each row.
        weight: (m,) ones and zeros.
    """
    folds = int(own.max()) + 1
    cell = code * folds + own
    found = np.bincount(cell, weight).astype(np.intp)
    all_ = np.bincount(code, weight).astype(np.intp)
    return all_[code] - found[cell]


def _words(text: str) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"\w+", text.lower()))))


FOLDS: Final = 5  # arXiv 2511.04655
UNSEEN: Final = ("unseen 1", "unseen 2", "unseen 3")  # dealings for figures to be published; nothing is chosen by them


def folds_of(groups: Sequence[str], folds: int = FOLDS, dealing: str = "") -> IntArray:
    """Fold (n,) of each question: the groups in the order of their hashes, dealt out in turn.

    So the order of the questions does not matter, folds are equal to within one group, and none is empty where there
    are as many groups as folds. Another name of ``dealing`` gives folds that have nothing to do with these.
    """
    ranked = sorted(set(groups), key=lambda group: digest("fold", dealing, group))
    fold = {group: rank % folds for rank, group in enumerate(ranked)}
    return np.array([fold[group] for group in groups], dtype=np.intp)


SHARD: Final = 50_000  # questions that attackers are fitted on: more teach them nothing, and take memory


def shards_of(questions: pa.Table) -> list[pa.Table]:
    """A table of questions in tables of at most some `SHARD`, by the hash of the scene; one that is small as it is.

    Each is a sample of all, drawn by lot. Their number is a power of two, so that a scene more moves no other one.
    """
    of = shards_for(len(questions) / SHARD)
    if of == 1:
        return [questions]
    scenes = questions["scene"].combine_chunks().dictionary_encode()
    shard = np.array([shard_of(one, of) for one in scenes.dictionary.to_pylist()])[scenes.indices.to_numpy()]
    return [questions.filter(pa.array(shard == number)) for number in range(of)]
