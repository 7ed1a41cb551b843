"""What models cost: before a build, and after it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from pipeline.blind.forecast import Forecast
from pipeline.engine.config import BuildConfig
from pipeline.engine.given import REPLIES_FILE
from pipeline.llm.base import ModelSpec
from pipeline.llm.cache import spent_in
from pipeline.llm.prices import load_prices, price_of

UNKNOWN = "unknown"


def forecast_table(rows: Sequence[Forecast], caps: str) -> Table:
    """What the stages that ask would ask, in their order."""
    title = f"Models asked (dry run; prices of {load_prices().as_of}; {caps})"
    table = Table("model", "stage", title=title, title_justify="left")
    for name in ("requests", "kept", "to ask", "tokens\nread", "tokens\nwritten", "USD", "USD\nat most"):
        table.add_column(name, justify="right")
    for row in rows:
        writes = UNKNOWN if row.output_tokens is None else f"~{row.output_tokens:,}"
        reads = UNKNOWN if row.input_tokens is None else f"~{row.input_tokens:,}"
        counts = (f"{row.requests:,}", f"{row.kept:,}", f"{row.asked:,}", reads, writes)
        table.add_row(row.model, row.stage, *counts, _usd(row.likely_usd), _usd(row.most_usd))
    return table


def spending_table(config: BuildConfig, folder: Path) -> Table | None:
    """What was paid in all builds of a folder; None where no hosted model was asked."""
    models = {model.name: model for model in models_of(config) if model.is_hosted}
    spent = spent_in(folder / REPLIES_FILE)
    prices = load_prices()
    title = f"Spent on models in all runs (USD at prices of {prices.as_of}; {caps_of(config)})"
    table = Table("model", title=title, title_justify="left")
    for name in ("replies paid", "tokens read", "written", "USD", "of it assumed"):
        table.add_column(name, justify="right")
    for name, model in models.items():
        rows = [row for row in spent if row.name == name]
        if not rows:
            continue
        known = price_of(model, prices) is not None
        usd, assumed = sum(row.usd for row in rows), sum(row.usd for row in rows if not row.reported)
        read, written = (sum(getattr(row.usage, f"{kind}_tokens") for row in rows) for kind in ("input", "output"))
        money = (_usd(usd), _usd(assumed) if assumed else "") if known else (UNKNOWN, "")
        table.add_row(name, f"{sum(row.requests for row in rows):,}", f"{read:,}", f"{written:,}", *money)
    return table if table.row_count else None


def models_of(config: BuildConfig) -> list[ModelSpec]:
    """All models that a build asks."""
    others = (config.look.model, config.author.model, config.author.second)
    return [*config.blind.models, *(model for model in others if model)]


def caps_of(config: BuildConfig) -> str:
    """The caps of a build, in words."""
    own = [f"{model.name} {model.limit_cost:g}" for model in models_of(config) if model.limit_cost is not None]
    whole = [] if config.limit_cost is None else [f"all {config.limit_cost:g}"]
    return f"limit in USD: {', '.join([*own, *whole])}" if own or whole else "no limit: see --limit-cost"


def _usd(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}" if value >= 1 or value == 0 else f"{value:.4f}"
