"""Totals of a panel: of its replies, the same whenever they were asked, and of accuracy without the video, per task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, FiniteFloat

from pipeline.blind.config import FINAL
from pipeline.core.schema import Model
from pipeline.llm.base import ModelSpec, Usage

if TYPE_CHECKING:
    from pipeline.llm.budget import Money


class ModelTotals(Model):
    """One model's replies. A question counts once per rotation of its options.

    Attributes:
        unread: replies without an answer, by reason.
        failed: rows without a reply, by kind.
        requests: that were answered; questions that read the same are one.
        unreported_usage: of them those whose tokens the server did not tell.
        cost_usd: of the tokens told; None: the price is not known. What failed or came malformed was paid besides.
    """

    model: str
    provider: str
    questions: int
    right: int
    unread: dict[str, int]
    failed: dict[str, int]
    requests: int
    input_tokens: int
    output_tokens: int
    unreported_usage: int
    cost_usd: float | None

    @property
    def usage(self) -> Usage:
        """The tokens told."""
        return Usage(self.input_tokens, self.output_tokens)

    @property
    def lost(self) -> int:
        """Rows without a reply that might have had one."""
        return sum(n for kind, n in self.failed.items() if kind not in FINAL)


def totals_of(models: Sequence[ModelSpec], replies: pa.Table, money: Money) -> tuple[ModelTotals, ...]:
    """The totals of each model (`pipeline.blind.ask.REPLIES`), in order of the models."""
    return tuple(_totals(model, replies.filter(pc.equal(replies["model"], model.name)), money) for model in models)


def _totals(model: ModelSpec, rows: pa.Table, money: Money) -> ModelTotals:
    answered = rows.filter(pc.is_null(rows["failure"])).group_by("request")
    once = answered.aggregate([("input_tokens", "max"), ("output_tokens", "max")])
    reported = once.filter(pc.is_valid(once["input_tokens_max"]))
    usage = Usage(*(pc.sum(reported[name]).as_py() or 0 for name in ("input_tokens_max", "output_tokens_max")))
    price = money.price_of(model)
    return ModelTotals(
        model=model.name,
        provider=model.provider,
        questions=len(rows),
        right=pc.sum(rows["right"]).as_py() or 0,
        unread=_counted(rows["unread"]),
        failed=_counted(rows["failure"]),
        requests=len(once),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        unreported_usage=len(once) - len(reported),
        cost_usd=None if price is None else price.cost_usd(usage),
    )


def _counted(reasons: pa.ChunkedArray) -> dict[str, int]:
    found = pc.value_counts(reasons.drop_null()).to_pylist()
    return dict(sorted((one["values"], one["counts"]) for one in found))


def unanswered(totals: Sequence[ModelTotals]) -> list[str]:
    """Which models failed for how many of their rows, and why, one a text; empty where none did."""
    return [
        f"{t.model} gave no reply to {t.lost} of {t.questions} requests "
        f"({', '.join(f'{n} {kind}' for kind, n in t.failed.items() if kind not in FINAL)})"
        for t in totals
        if t.lost
    ]


FINE_TUNED: Final = "LoRA fine-tuned"  # the name of such an attacker, before that of its model


class GuessScores(Model):
    """Scores of guessing on one task of one split: accuracy for options, mean relative accuracy for numbers."""

    n: int = Field(ge=1, description="questions")
    chance: FiniteFloat = Field(description="of a random answer")
    earned: dict[str, FiniteFloat] = Field(
        description="attacker (a prior or the forest) -> mean score, on other scenes"
    )
    frequency: FiniteFloat | None = Field(
        default=None, description="of the commonest answer, or the best constant, of these very questions"
    )
    errors: dict[str, FiniteFloat] = Field(description="attacker -> standard error of its score; none of one scene")


class ModelVotes(Model):
    """A model's right answers on one task. A question counts where it was right in all orders it was asked in."""

    asked: int = Field(ge=1, description="questions that it was asked: all, or of the embedded model a sample")
    right: FiniteFloat = Field(description="share of the questions asked")
    right_released: FiniteFloat | None = Field(description="share of those that stay; None: none stays")
    luck: FiniteFloat = Field(description="share that its answers would have right if truths were shuffled")
    standing: str = Field(description="votes, constant, no better than luck, or reported only")
    unanswered: int = Field(ge=0, description="requests without a reply")
    unread: int = Field(ge=0, description="replies in which no answer was found")


class TextOnly(Model):
    """One task without its videos, before and after what was removed for it."""

    task: str
    asked: GuessScores = Field(description="all questions that were selected")
    released: GuessScores | None = Field(description="what blind filtering left; None: nothing")
    debiased: GuessScores | None = Field(description="what pruning left; None: it did not run")
    choices: GuessScores | None = Field(
        default=None, description="released numbers whose choices are offered; None: it has options or words"
    )
    voters: dict[str, ModelVotes]
    agreement: FiniteFloat | None = Field(description="share of pairs of models with the same answer")
    answered: int = Field(ge=0, description="removed, since the panel answered them")
    balanced: int = Field(ge=0, description="removed besides, so that no answer became more frequent")
    by_luck: FiniteFloat = Field(description="how many the panel's answers would remove if truths were shuffled")
