"""Totals of all replies of a model, independent of when they were asked: the same on every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

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
    told = once.filter(pc.is_valid(once["input_tokens_max"]))
    usage = Usage(*(pc.sum(told[name]).as_py() or 0 for name in ("input_tokens_max", "output_tokens_max")))
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
        unreported_usage=len(once) - len(told),
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
