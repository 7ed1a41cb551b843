"""Blind filtering: decides which questions are too easy without the video.

UrbanVideo-Bench removes questions that all models answer right; so does the default here. A model votes in a task only
if it has more right answers than it would have with shuffled truths, and does not give nearly always the same answer.
With fewer than two such models nothing is removed: one model alone is right about every fourth question by chance, and
removing these makes the rest guessable. An unreadable, cut or refused reply counts as wrong and is counted: it can keep
a question in, never remove one.

Balance (`balanced`): filtering removes the same share of every answer of a closed set (left, right, back), per task and
data set, so that none becomes the safe guess. A panel is not right equally often: of 186 left, 189 right and 60 back, a
panel that prefers "right" would remove the rights. Where a panel answers more questions of one answer, questions of the
other answers are rejected too, at most half as many as it answered; beyond that, answered questions stay.

Rejected questions are not replaced: `select` comes before `blind`, and a candidate that a cap displaced would have to
be worded, lettered and asked of the whole panel, again and again until none is answered.

Chance (`right_by_chance`, `removed_by_chance`): the panel's answers stay, and the truths are shuffled among questions
of one kind. Independent guesses would be no reference: models that all answer "left" agree, and remove as many
questions as there are lefts, whether they know anything or not.

Pending (`pending`): a question that a model of the panel has not answered yet, since its server failed or money ran
out, has no verdict. It is held back from the release, and counts for no other question: what has all its replies has
the verdict that it would have without those that have not.

Replies of a panel are votes: one per model and question, whatever the orders that its options were shown in. Questions
are taken apart task by task; what is kept of one are numbers and codes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.blind.attack import tasks_of
from pipeline.blind.config import AWAITS_REPLIES, FINAL, BlindConfig
from pipeline.blind.items import LETTERS, BlindItem, codes_of, item_of, question_rows
from pipeline.core.arrays import BoolArray, FloatArray, IntArray, chunks
from pipeline.core.groups import grouped
from pipeline.core.identity import digest, rng_for
from pipeline.core.tables import CANDIDATES, fields_of
from pipeline.metrics.mra import mean_relative_accuracies

MIN_VOTERS: Final = 2  # in a task; one alone does not make a panel
ANSWERED: Final = "answered_blind"
BALANCE: Final = "blind_balance"
EMBEDDED_PROVIDER: Final = "embedded"
Standing = Literal["votes", "constant", "no better than luck", "reported only"]

VERDICTS: Final = pa.schema(
    [
        *fields_of(CANDIDATES, "id", "task"),
        pa.field("voters", pa.int32()),  # models with a vote
        pa.field("right", pa.int32()),  # of them
        pa.field("needed", pa.int32()),  # right answers that remove it; null: too few have a vote
        *fields_of(CANDIDATES, "reason", "measured", "limit", "unit"),  # null: it stays
    ]
)


@dataclass(frozen=True)
class TaskVerdict:
    """The verdict on one task.

    Attributes:
        standing: of each model.
        chance_accuracy: model -> share of the questions asked that it would have right if truths were shuffled.
        by_luck: how many questions would be removed then, the mean of the draws.
        reasons: (n,) why each is removed, and measured value, limit and unit; None for those that stay.
        right: (n,) how many models with a vote have it right; ``needed`` of them remove it, None: nothing is removed.
    """

    votes: Votes
    standing: dict[str, Standing]
    chance_accuracy: dict[str, float]
    by_luck: float
    reasons: tuple[tuple[str, float, float, str] | None, ...]
    right: IntArray
    needed: int | None

    @property
    def voters(self) -> list[str]:
        """The models that have a vote."""
        return [model for model, standing in self.standing.items() if standing == "votes"]


def rule(questions: pa.Table, replies: pa.Table, config: BlindConfig) -> list[TaskVerdict]:
    """The verdict on each task, from the questions that were asked and `blind.ask.REPLIES`, pending ones left out."""
    silent = {model.name for model in config.models if model.provider == EMBEDDED_PROVIDER}
    lacking = pa.array(pending(replies, config)["id"], pa.int64())
    questions = questions.filter(pc.invert(pc.is_in(questions["id"], lacking)))
    return [_judge(votes, silent, config) for votes in votes_of(questions, replies, config.number_threshold)]


def pending(replies: pa.Table, config: BlindConfig) -> pa.Table:
    """The questions that lack replies of the panel, as rows of `VERDICTS`, by id.

    The embedded model is not of the panel, and a question that a model refuses, or that cannot be put to it, lacks no
    reply of it.
    """
    panel = pa.array([model.name for model in config.models if model.provider != EMBEDDED_PROVIDER], pa.string())
    mine = replies.filter(pc.is_in(replies["model"], panel))
    is_final = pc.is_in(mine["failure"], pa.array(sorted(FINAL)))
    mine = mine.append_column("lacks", pc.and_not(pc.is_valid(mine["failure"]), is_final))
    of_models = mine.group_by(["id", "task", "model"]).aggregate([("lacks", "max")])
    of_questions = of_models.group_by(["id", "task"]).aggregate([("lacks_max", "sum"), ([], "count_all")])
    rows = [
        {"id": row["id"], "task": row["task"], "voters": 0, "right": 0, "reason": AWAITS_REPLIES, "unit": "models"}
        | {"measured": row["count_all"] - row["lacks_max_sum"], "limit": row["count_all"]}
        for row in of_questions.to_pylist()
        if row["lacks_max_sum"]
    ]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: int(row["id"])), schema=VERDICTS)


def verdict_table(verdicts: Sequence[TaskVerdict]) -> pa.Table:
    """All questions (`VERDICTS`), by id."""
    parts = [VERDICTS.empty_table()]
    for verdict in verdicts:
        n = len(verdict.reasons)
        shown = (verdict.votes.task, len(verdict.voters), verdict.needed)
        task, voters, needed = (
            pa.repeat(pa.scalar(one, VERDICTS.field(name).type), n)
            for one, name in zip(shown, ("task", "voters", "needed"), strict=True)
        )
        reasons = zip(*(reason or (None,) * 4 for reason in verdict.reasons), strict=True)
        parts.append(pa.table([verdict.votes.ids, task, voters, verdict.right, needed, *reasons], VERDICTS))
    return pa.concat_tables(parts).sort_by("id").combine_chunks()


def _judge(votes: Votes, silent: set[str], config: BlindConfig) -> TaskVerdict:
    models = list(votes.ballots)
    n = len(votes.ids)
    by_luck = right_by_chance(votes, models)
    standing: dict[str, Standing] = {}
    for model, drawn in zip(models, by_luck, strict=True):
        ballot = votes.ballots[model]
        if model in silent:
            standing[model] = "reported only"
        elif ballot.is_constant:
            standing[model] = "constant"
        else:
            standing[model] = "votes" if beats_chance(int(ballot.right.sum()), drawn) else "no better than luck"
    voters = [model for model in models if standing[model] == "votes"]
    needed = config.needed(len(voters)) if len(voters) >= MIN_VOTERS else None
    right = np.array([votes.ballots[model].right for model in voters], dtype=np.intp).reshape(-1, n).sum(axis=0)
    reasons: list[tuple[str, float, float, str] | None] = [None] * n
    expected = 0.0
    if needed is not None:
        expected = float(removed_by_chance(votes, voters, needed).mean())
        dropped, kept = balanced(votes, right >= needed)
        for index in set(np.flatnonzero(right >= needed).tolist()) - kept:
            reasons[index] = (ANSWERED, float(right[index]), float(needed), "right answers")
        for index, (share, limit) in dropped.items():
            reasons[index] = (BALANCE, share, limit, "share of answers")
    luck = {
        model: float(drawn.mean() / max(1, votes.ballots[model].was_asked.sum()))
        for model, drawn in zip(models, by_luck, strict=True)
    }
    return TaskVerdict(votes, standing, luck, expected, tuple(reasons), right, needed)


MOST_DROPPED: Final = 0.5  # questions dropped for balance, of those that are answered


def balanced(votes: Votes, answered: BoolArray) -> tuple[dict[int, tuple[float, float]], set[int]]:
    """Questions that filtering drops or keeps for balance, besides removing what is answered.

    Args:
        votes: the questions of one task.
        answered: (n,) those that the rule would remove.

    Returns:
        The questions dropped, with the share of their answer that would stay and the share that does, and those that
        are answered and stay. Both are indices, and chosen by hash.
    """
    dropped: dict[int, tuple[float, float]] = {}
    kept: set[int] = set()
    cells = grouped(np.flatnonzero(votes.closed).tolist(), lambda i: (votes.dataset[i], votes.offered[i]))
    for members in cells.values():
        if answered[members].any():
            _balance(votes, members, answered, dropped, kept)
    return dropped, kept


def _balance(
    votes: Votes, members: Sequence[int], answered: BoolArray, dropped: dict[int, tuple[float, float]], kept: set[int]
) -> None:
    """One data set and one set of options."""
    drawn = sorted(members, key=lambda i: digest("balance", votes.task, str(votes.ids[i])))
    by_answer = grouped(drawn, lambda i: votes.truth[i])
    offered = np.array([len(found) for found in by_answer.values()])
    stay = np.array([sum(not answered[i] for i in found) for found in by_answer.values()])
    share = _share(offered, stay)
    for found, n, unanswered in zip(by_answer.values(), offered.tolist(), stay.tolist(), strict=True):
        target = math.floor(share * n + 0.5)
        dropped |= dict.fromkeys([i for i in found if not answered[i]][target:], (unanswered / n, share))
        kept |= set([i for i in found if answered[i]][: max(target - unanswered, 0)])


def _share(offered: IntArray, stay: IntArray) -> float:
    """The smallest share of each answer that can stay without too many being dropped.

    Down to the share of the most answered one no answered question has to stay; the number dropped grows evenly between
    the shares at which one more answer has some to drop.
    """
    most = MOST_DROPPED * float((offered - stay).sum())
    lowest = float((stay / offered).min())
    if np.maximum(stay - lowest * offered, 0).sum() <= most:
        return lowest
    shares = np.linspace(lowest, 1.0, 1001)
    dropping = np.maximum(stay[:, None] - shares * offered[:, None], 0).sum(axis=0)
    return float(shares[dropping <= most][0])


DRAWS: Final = 1_000
SIGNIFICANCE: Final = 0.01  # of ten tasks and three models, one in three builds has a voter that is only lucky
_AT_ONCE: Final = 1_000_000  # questions drawn at once; memory for all draws of a large task is not needed


def right_by_chance(votes: Votes, models: Sequence[str]) -> IntArray:
    """How many questions each model (m, `DRAWS`) would have right."""
    found = [right.sum(axis=2) for right in _shuffled(votes, models)]
    return np.concatenate(found, axis=1) if found else np.zeros((len(models), 0), dtype=np.intp)


def removed_by_chance(votes: Votes, models: Sequence[str], needed: int) -> FloatArray:
    """How many questions (`DRAWS`,) at least so many of the models would have right together."""
    return np.concatenate([(right.sum(axis=0) >= needed).sum(axis=1) for right in _shuffled(votes, models)])


def beats_chance(right: int, by_luck: IntArray) -> bool:
    """Whether so many right answers are more than all but a hundredth of the draws (d,) give."""
    return bool((1 + (by_luck >= right).sum()) / (1 + len(by_luck)) <= SIGNIFICANCE)


def _shuffled(votes: Votes, models: Sequence[str]) -> Iterator[BoolArray]:
    """Whether each model (m, d, n) is right, for some draws at a time; the same draws whatever the models."""
    rng = rng_for("luck", votes.task)
    place = np.argsort(votes.kind, kind="stable")
    for part in chunks(DRAWS, len(votes.kind), _AT_ONCE):
        keys = votes.kind + rng.random((part.stop - part.start, len(votes.kind)))
        truth_of = np.empty(keys.shape, dtype=np.intp)
        truth_of[:, place] = np.argsort(keys, axis=1)
        ballots = [votes.ballots[model] for model in models]
        yield np.array([b.is_right[b.answer[None], b.truth[truth_of]] for b in ballots]).reshape(
            len(models), *keys.shape
        )


CLOSED: Final = 10  # questions with the same set of options, from which on they are a closed set (left, right, back)
CONSTANT: Final = 0.95  # share of its answers that are one and the same, from which on a model answers a constant


@dataclass(frozen=True)
class ModelPredictions:
    """One model's answers to n questions, and the truths, as codes.

    Attributes:
        answers: (n,) the letter or number that it gave in all orders; None: none.
        answer: (n,) what that means; the last row of ``is_right`` where it gave none.
        truth: (n,)
        is_right: (answers + 1, truths) whether an answer is right where a truth holds.
        right: (n,) whether it was right in all orders.
        was_asked: (n,) whether it was asked; the embedded model is asked a sample.
    """

    answers: tuple[str | None, ...]
    answer: IntArray
    truth: IntArray
    is_right: BoolArray
    right: BoolArray
    was_asked: BoolArray
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
            for one, other in zip(a.answers, b.answers, strict=True)
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
            ballots[model] = _ballot(items, closed, letters, form, _replied(found, rows), threshold)
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


def _replied(replies: pa.Table, questions: pa.Table) -> pa.Table:
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
    said_letters = found["said"].to_pylist()
    if number:
        answers: list[Hashable | None] = [None if answer is None else float(answer) for answer in said_letters]
        truths: list[Hashable] = [float(item.number or 0) for item in items]
    else:
        pairs = list(zip(items, closed.tolist(), strict=True))
        answers = [None if a is None else _meaning_of(*one, a) for one, a in zip(pairs, said_letters, strict=True)]
        truths = [_meaning_of(*one, letter or "") for one, letter in zip(pairs, letters, strict=True)]
    known, truth_codes = codes_of(truths)
    given_codes = {value: code for code, value in enumerate(dict.fromkeys(a for a in answers if a is not None))}
    if number:
        scores = mean_relative_accuracies(np.array([*given_codes, np.nan])[:, None], np.array(known)[None])
        is_right: BoolArray = scores >= threshold
    else:
        is_right = np.array([[a == t for t in known] for a in [*given_codes, None]], dtype=np.bool_)
    return ModelPredictions(
        answers=tuple(said_letters),
        answer=np.array([given_codes[a] if a is not None else len(given_codes) for a in answers], dtype=np.intp),
        truth=truth_codes,
        is_right=is_right,
        right=pc.fill_null(found["right_all"], False).to_numpy(),
        was_asked=pc.is_valid(found["id"]).to_numpy(),
        form=form,
        unread=pc.sum(found["unread_count"]).as_py() or 0,
        failed=pc.sum(found["failure_count"]).as_py() or 0,
    )


def _meaning_of(item: BlindItem, by_text: bool, letter: str) -> Hashable:
    """The meaning of a letter: in a closed set the option's text, else its place."""
    return item.options[LETTERS.index(letter)] if by_text else letter
