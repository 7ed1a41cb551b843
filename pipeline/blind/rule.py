"""Which questions are too easy without the video.

UrbanVideo-Bench removes what all models answer right; so does the default here. A model has a vote in a task only where
it has more right than its answers would have if truths were shuffled, and less than nearly always the same answer. With
fewer than two such models nothing is removed: one alone is right about every fourth question by luck, and to remove
these makes the rest guessable. A failed or unreadable reply counts as wrong and is counted: it can keep a question in,
never take one out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pyarrow as pa

from pipeline.blind.balance import balanced
from pipeline.blind.chance_correction import beats_luck, removed_by_luck, right_by_luck
from pipeline.blind.config import BlindConfig
from pipeline.blind.votes import Votes, votes_of
from pipeline.core.arrays import IntArray

MIN_VOTERS: Final = 2  # in a task; one alone does not make a panel
ANSWERED: Final = "answered_blind"
BALANCE: Final = "blind_balance"
EMBEDDED_PROVIDER: Final = "embedded"
Standing = Literal["votes", "constant", "no better than luck", "reported only"]

VERDICTS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("task", pa.string()),
        pa.field("voters", pa.int32()),  # models with a vote
        pa.field("right", pa.int32()),  # of them
        pa.field("needed", pa.int32()),  # right answers that remove it; null: too few have a vote
        pa.field("reason", pa.string()),  # null: it stays
        pa.field("measured", pa.float64()),
        pa.field("limit", pa.float64()),
        pa.field("unit", pa.string()),
    ]
)


@dataclass(frozen=True)
class Verdict:
    """What became of one task.

    Attributes:
        standing: of each model.
        luck: model -> share of the questions that it would have right if truths were shuffled.
        by_luck: how many questions would be removed then, the mean of the draws.
        reasons: (n,) why each is removed, and measured value, limit and unit; None for those that stay.
        right: (n,) how many models with a vote have it right; ``needed`` of them remove it, None: nothing is removed.
    """

    votes: Votes
    standing: dict[str, Standing]
    luck: dict[str, float]
    by_luck: float
    reasons: tuple[tuple[str, float, float, str] | None, ...]
    right: IntArray
    needed: int | None

    @property
    def voters(self) -> list[str]:
        """The models that have a vote."""
        return [model for model, standing in self.standing.items() if standing == "votes"]


def rule(questions: pa.Table, replies: pa.Table, config: BlindConfig) -> list[Verdict]:
    """The verdict on each task, from the questions that were asked and `blind.ask.REPLIES`."""
    silent = {model.name for model in config.models if model.provider == EMBEDDED_PROVIDER}
    return [_judge(votes, silent, config) for votes in votes_of(questions, replies, config.number_threshold)]


def verdict_table(verdicts: Sequence[Verdict]) -> pa.Table:
    """All questions (`VERDICTS`), by id."""
    rows = [
        {
            "id": item.id,
            "task": verdict.votes.task,
            "voters": len(verdict.voters),
            "right": right,
            "needed": verdict.needed,
        }
        | dict(zip(("reason", "measured", "limit", "unit"), reason or (None,) * 4, strict=True))
        for verdict in verdicts
        for item, right, reason in zip(verdict.votes.items, verdict.right.tolist(), verdict.reasons, strict=True)
    ]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: int(row["id"])), schema=VERDICTS)


def _judge(votes: Votes, silent: set[str], config: BlindConfig) -> Verdict:
    models = list(votes.ballots)
    n = len(votes.items)
    by_luck = right_by_luck(votes, models)
    standing: dict[str, Standing] = {}
    for model, drawn in zip(models, by_luck, strict=True):
        ballot = votes.ballots[model]
        if model in silent:
            standing[model] = "reported only"
        elif ballot.is_constant:
            standing[model] = "constant"
        else:
            standing[model] = "votes" if beats_luck(int(ballot.right.sum()), drawn) else "no better than luck"
    voters = [model for model in models if standing[model] == "votes"]
    needed = config.needed(len(voters)) if len(voters) >= MIN_VOTERS else None
    right = np.array([votes.ballots[model].right for model in voters], dtype=np.intp).reshape(-1, n).sum(axis=0)
    reasons: list[tuple[str, float, float, str] | None] = [None] * n
    expected = 0.0
    if needed is not None:
        expected = float(removed_by_luck(votes, voters, needed).mean())
        dropped, kept = balanced(votes, right >= needed)
        for index in set(np.flatnonzero(right >= needed).tolist()) - kept:
            reasons[index] = (ANSWERED, float(right[index]), float(needed), "right answers")
        for index, (share, limit) in dropped.items():
            reasons[index] = (BALANCE, share, limit, "share of answers")
    luck = {model: float(drawn.mean() / n) for model, drawn in zip(models, by_luck, strict=True)}
    return Verdict(votes, standing, luck, expected, tuple(reasons), right, needed)
