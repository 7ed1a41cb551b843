"""The replies of a panel as votes: one per model and question, whatever the orders that its options were shown in.

Questions are taken apart task by task; what is kept of one are numbers and codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.blind.attack import tasks_of
from pipeline.blind.items import LETTERS, BlindItem, codes_of, item_of, question_rows
from pipeline.core.arrays import BoolArray, IntArray
from pipeline.metrics.mra import mean_relative_accuracies

CLOSED: Final = 10  # questions with the same set of options, from which on they are a closed set (left, right, back)
CONSTANT: Final = 0.95  # share of its answers that are one and the same, from which on a model answers a constant


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
        ids: (n,)
        dataset: (n,) name.
        offered: (n,) code of the set of its options.
        truth: (n,) code of the text of its right option.
        kind: (n,) questions of one kind could have one another's truth: the same closed set of options, as many
            options of an open one, or a number.
        closed: (n,) whether its options are those of others too.
    """

    task: str
    ids: IntArray
    dataset: NDArray[np.str_]
    offered: IntArray
    truth: IntArray
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


def votes_of(questions: pa.Table, replies: pa.Table, threshold: float) -> Iterator[Votes]:
    """The votes of each task, in alphabetical order, one at a time.

    Args:
        questions: those that were asked (`core.tables.QUESTIONS`).
        replies: `blind.ask.REPLIES`.
        threshold: mean relative accuracy from which a number is right.
    """
    models = pc.unique(replies["model"]).to_pylist()
    for task in sorted(pc.unique(questions["task"]).to_pylist()):
        rows = questions.filter(pc.equal(questions["task"], task)).sort_by("id")
        items = [item_of(row) for row in question_rows(rows)]
        tasks_of(items)  # refuses a task of which only some have options
        kinds, closed = _kinds(items)
        own = replies.filter(pc.is_in(replies["id"], rows["id"].combine_chunks()))
        letters = [
            choice if item.right is None else LETTERS[item.right]
            for item, choice in zip(items, rows["choice"].to_pylist(), strict=True)
        ]
        ballots = {}
        for model in models:
            found = own.filter(pc.equal(own["model"], model))
            form = "/".join(sorted(pc.unique(found["form"]).to_pylist()))
            ballots[model] = _ballot(items, closed, letters, form, _said(found, rows), threshold)
        yield Votes(
            task,
            rows["id"].to_numpy(),
            np.array([item.group.partition("/")[0] for item in items], dtype=np.str_),
            codes_of([tuple(sorted(item.options)) for item in items])[1],
            codes_of([item.options[item.right] if item.right is not None else "" for item in items])[1],
            kinds,
            closed,
            ballots,
        )


def _kinds(items: Sequence[BlindItem]) -> tuple[IntArray, BoolArray]:
    """Kind (n,) of each question, and whether its options are a closed set."""
    sets = [tuple(sorted(item.options)) for item in items]
    seen = Counter(sets)
    closed = np.array([bool(options) and seen[options] >= CLOSED for options in sets])
    kinds: list[Hashable] = [o if c else len(o) for o, c in zip(sets, closed.tolist(), strict=True)]
    return codes_of(kinds)[1], closed


def _said(replies: pa.Table, questions: pa.Table) -> pa.Table:
    """Per question what a model said of it in all orders (``said``, null for several answers); nulls: not asked."""
    found = replies.group_by("id").aggregate(
        [
            ([], "count_all"),
            ("answer", "count"),
            ("answer", "min"),
            ("answer", "max"),
            ("right", "all"),
            ("unread", "count"),
            ("failure", "count"),
        ]
    )
    one = pc.and_(
        pc.equal(found["count_all"], found["answer_count"]), pc.equal(found["answer_min"], found["answer_max"])
    )
    found = found.append_column("said", pc.if_else(one, found["answer_min"], None))
    return found.take(pc.index_in(questions["id"], found["id"].combine_chunks()))


def _ballot(
    items: Sequence[BlindItem],
    closed: BoolArray,
    letters: Sequence[str | None],
    form: str,
    found: pa.Table,
    threshold: float,
) -> ModelPredictions:
    number = form == "number"
    said = found["said"].to_pylist()
    if number:
        answers: list[Hashable | None] = [None if answer is None else float(answer) for answer in said]
        truths: list[Hashable] = [float(item.number or 0) for item in items]
    else:
        told = list(zip(items, closed.tolist(), strict=True))
        answers = [None if a is None else _meant(*one, a) for one, a in zip(told, said, strict=True)]
        truths = [_meant(*one, letter or "") for one, letter in zip(told, letters, strict=True)]
    known, truth_codes = codes_of(truths)
    given_codes = {value: code for code, value in enumerate(dict.fromkeys(a for a in answers if a is not None))}
    if number:
        scores = mean_relative_accuracies(np.array([*given_codes, np.nan])[:, None], np.array(known)[None])
        is_right: BoolArray = scores >= threshold
    else:
        is_right = np.array([[a == t for t in known] for a in [*given_codes, None]], dtype=np.bool_)
    return ModelPredictions(
        said=tuple(said),
        answer=np.array([given_codes[a] if a is not None else len(given_codes) for a in answers], dtype=np.intp),
        truth=truth_codes,
        is_right=is_right,
        right=pc.fill_null(found["right_all"], False).to_numpy(),
        asked=pc.is_valid(found["id"]).to_numpy(),
        form=form,
        unread=pc.sum(found["unread_count"]).as_py() or 0,
        failed=pc.sum(found["failure_count"]).as_py() or 0,
    )


def _meant(item: BlindItem, by_text: bool, letter: str) -> Hashable:
    """The meaning of a letter: in a closed set the option's text, else its place."""
    return item.options[LETTERS.index(letter)] if by_text else letter
