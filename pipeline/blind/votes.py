"""The replies of a panel as votes: one per model and question, whatever the orders that its options were shown in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.blind.attack import tasks_of
from pipeline.blind.items import LETTERS, BlindItem, items_of
from pipeline.core.arrays import BoolArray, IntArray
from pipeline.metrics.mra import mean_relative_accuracies

CLOSED: Final = 10  # questions with the same set of options, from which on they are a closed set (left, right, back)
CONSTANT: Final = 0.95  # share of its answers that are one and the same, from which on a model answers a constant
_COLUMNS: Final = ("id", "model", "form", "answer", "right", "unread", "failure")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ModelPredictions:
    """One model's answers to n questions, and the truths, as codes.

    Attributes:
        said: (n,) the letter or number that it gave in all orders; None: none.
        answer: (n,) what that means; the last row of ``is_right`` where it gave none.
        truth: (n,)
        is_right: (answers + 1, truths) whether an answer is right where a truth holds.
        right: (n,) whether it was right in all orders.
        asked: (n,) whether it was asked; the embedded model is asked a sample.
    """

    said: tuple[str | None, ...]
    answer: IntArray
    truth: IntArray
    is_right: BoolArray
    right: BoolArray
    asked: BoolArray
    form: str
    unread: int
    failed: int

    @property
    def is_constant(self) -> bool:
        """Whether nearly all its answers are the same one."""
        given = self.answer[self.answer < len(self.is_right) - 1]
        return len(given) > 0 and int(np.bincount(given).max()) >= CONSTANT * len(given)


@dataclass(frozen=True)
class Votes:
    """A panel's answers to the n questions of one task, in the order of their ids.

    Attributes:
        kind: (n,) questions of one kind could have one another's truth: the same closed set of options, as many
            options of an open one, or a number.
        closed: (n,) whether its options are those of others too.
    """

    task: str
    items: tuple[BlindItem, ...]
    kind: IntArray
    closed: BoolArray
    ballots: dict[str, ModelPredictions]

    @property
    def agreement(self) -> float | None:
        """Share of pairs of models with the same answer to a question, of those where both answer in one form."""
        same = [
            one == other
            for a, b in combinations(self.ballots.values(), 2)
            if a.form == b.form
            for one, other in zip(a.said, b.said, strict=True)
            if one is not None and other is not None
        ]
        return sum(same) / len(same) if same else None


def votes_of(questions: pa.Table, replies: pa.Table, threshold: float) -> list[Votes]:
    """The votes of each task, in alphabetical order.

    Args:
        questions: those that were asked (`core.tables.QUESTIONS`).
        replies: `blind.ask.REPLIES`.
        threshold: mean relative accuracy from which a number is right.
    """
    items = items_of(questions)
    choice = dict(zip(questions["id"].to_pylist(), questions["choice"].to_pylist(), strict=True))
    said: dict[str, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in replies.select(_COLUMNS).to_pylist():
        said[row["model"]][row["id"]].append(row)
    votes = []
    for task, index in tasks_of(items).items():
        members = tuple(items[i] for i in index)
        kinds, closed = _kinds(members)
        ballots = {
            model: _ballot(members, closed, choice, [rows.get(int(item.id), []) for item in members], threshold)
            for model, rows in said.items()
        }
        votes.append(Votes(task, members, kinds, closed, ballots))
    return votes


def _kinds(items: Sequence[BlindItem]) -> tuple[IntArray, BoolArray]:
    """Kind (n,) of each question, and whether its options are a closed set."""
    sets = [tuple(sorted(item.options)) for item in items]
    seen = Counter(sets)
    closed = np.array([bool(options) and seen[options] >= CLOSED for options in sets])
    kinds: list[Hashable] = [o if c else len(o) for o, c in zip(sets, closed.tolist(), strict=True)]
    codes = {kind: code for code, kind in enumerate(dict.fromkeys(kinds))}
    return np.array([codes[kind] for kind in kinds], dtype=np.intp), closed


def _ballot(
    items: Sequence[BlindItem],
    closed: BoolArray,
    choice: Mapping[int | str, str | None],
    said: Sequence[Sequence[Row]],
    threshold: float,
) -> ModelPredictions:
    rows = [row for of_one in said for row in of_one]
    forms = {row["form"] for row in rows}
    number = forms == {"number"}
    given: list[str | None] = []
    answers: list[Hashable | None] = []
    truths: list[Hashable] = []
    for item, by_text, replies in zip(items, closed.tolist(), said, strict=True):
        found = {row["answer"] for row in replies}
        answer = found.pop() if len(found) == 1 else None
        given.append(answer)
        if number:
            answers.append(None if answer is None else float(answer))
            truths.append(float(item.number or 0))
        else:
            letter = LETTERS[item.right] if item.right is not None else choice[item.id]
            truths.append(_meant(item, by_text, letter or ""))
            answers.append(None if answer is None else _meant(item, by_text, answer))
    known, truth_codes = _codes(truths)
    given_codes = {value: code for code, value in enumerate(dict.fromkeys(a for a in answers if a is not None))}
    if number:
        scores = mean_relative_accuracies(np.array([*given_codes, np.nan])[:, None], np.array(known)[None])
        is_right: BoolArray = scores >= threshold
    else:
        is_right = np.array([[a == t for t in known] for a in [*given_codes, None]], dtype=np.bool_)
    return ModelPredictions(
        said=tuple(given),
        answer=np.array([given_codes[a] if a is not None else len(given_codes) for a in answers], dtype=np.intp),
        truth=truth_codes,
        is_right=is_right,
        right=np.array([bool(replies) and all(row["right"] for row in replies) for replies in said]),
        asked=np.array([bool(replies) for replies in said]),
        form="/".join(sorted(forms)),
        unread=sum(row["unread"] is not None for row in rows),
        failed=sum(row["failure"] is not None for row in rows),
    )


def _meant(item: BlindItem, by_text: bool, letter: str) -> Hashable:
    """The meaning of a letter: in a closed set the option's text, else its place."""
    return item.options[LETTERS.index(letter)] if by_text else letter


def _codes(values: Sequence[Hashable]) -> tuple[list[Hashable], IntArray]:
    codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return list(codes), np.array([codes[value] for value in values], dtype=np.intp)
