"""Totals of all replies of a model, independent of when they were asked: the same on every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.blind.config import FINAL
from pipeline.core.schema import Model
from pipeline.llm.base import ModelSpec, Usage
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
    columns = ["model", "request", "right", "unread", "failure", "input_tokens", "output_tokens"]
    rows: dict[str, list[dict[str, Any]]] = {model.name: [] for model in models}
    for row in replies.select(columns).to_pylist():
        if row["model"] in rows:
            rows[row["model"]].append(row)
    return tuple(_totals(model, rows[model.name], money) for model in models)


def _totals(model: ModelSpec, rows: Sequence[Mapping[str, Any]], money: Money) -> ModelTotals:
    once = {row["request"]: row for row in rows if row["failure"] is None}.values()
    told = [row for row in once if row["input_tokens"] is not None]
    usage = Usage(sum(row["input_tokens"] for row in told), sum(row["output_tokens"] for row in told))
    price = money.price_of(model)
    return ModelTotals(
        model=model.name,
        provider=model.provider,
        questions=len(rows),
        right=sum(row["right"] for row in rows),
        unread=dict(sorted(Counter(row["unread"] for row in rows if row["unread"]).items())),
        failed=dict(sorted(Counter(row["failure"] for row in rows if row["failure"]).items())),
        requests=len(once),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        unreported_usage=len(once) - len(told),
        cost_usd=None if price is None else price.cost_usd(usage),
    )


def unanswered(totals: Sequence[ModelTotals]) -> list[str]:
    """Which models failed for how many of their rows, and why, one a text; empty where none did."""
    return [
        f"{t.model} gave no reply to {t.lost} of {t.questions} requests "
        f"({', '.join(f'{n} {kind}' for kind, n in t.failed.items() if kind not in FINAL)})"
        for t in totals
        if t.lost
    ]
