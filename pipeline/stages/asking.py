"""What stage `blind` of a build would ask now."""

from __future__ import annotations

from pathlib import Path

from pipeline.blind.forecast import Forecast, forecasts
from pipeline.core.parquet import read_table
from pipeline.core.tables import all_asked
from pipeline.engine.again import last_outputs
from pipeline.engine.config import BuildConfig
from pipeline.engine.given import REPLIES_FILE, STORE
from pipeline.engine.manifest import read_manifest
from pipeline.engine.store import Store
from pipeline.llm.till import Money


def forecast_of(config: BuildConfig, folder: Path) -> list[Forecast] | None:
    """What asking the panel about the last build's questions will take; None where there are no questions yet."""
    selected = last_outputs(read_manifest(folder)).get("select", {})
    if not selected:
        return None
    store = Store(folder / STORE)
    questions = all_asked(read_table(store.get(result)) for _, result in sorted(selected.items()))
    money = Money(max_usd=config.max_usd)
    return forecasts(questions, config.blind.models, folder / REPLIES_FILE, config.blind, money)
