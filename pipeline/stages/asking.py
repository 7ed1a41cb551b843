"""What the stages of a build that ask models would ask now."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pipeline.blind.forecast import Forecast, author_forecast, forecasts
from pipeline.core.parquet import read_table
from pipeline.core.tables import all_asked
from pipeline.engine.again import last_outputs
from pipeline.engine.config import BuildConfig
from pipeline.engine.given import REPLIES_FILE, STORE
from pipeline.engine.manifest import read_manifest
from pipeline.engine.store import Store
from pipeline.llm.till import Money
from pipeline.stages.author import AUTHOR, sees_video


def forecast_of(config: BuildConfig, folder: Path, due: Collection[str] = ()) -> list[Forecast] | None:
    """What asking hosted models will take, by the last build's results; None where there are none yet.

    ``due`` are the scenes of which stage `author` must run.
    """
    last = last_outputs(read_manifest(folder))
    store, money = Store(folder / STORE), Money(limit_cost=config.limit_cost)
    found = []
    model, author = config.author.model, config.of_benchmark().author
    if AUTHOR.is_wanted(config) and model is not None and author is not None and model.is_hosted:
        facts = last.get("generate", {})
        if not facts:
            return None
        tables = [read_table(store.get(facts[unit])) for unit in sorted(due) if unit in facts]
        calls = sum(author.calls(table, config.generate.tasks, sees_video(config)) for table in tables)
        found.append(author_forecast(model, calls, folder / REPLIES_FILE, money))
        second = config.author.second
        if second is not None and second.is_hosted:  # with and without the video, if all that is written passes
            unwritten = calls - len(tables) * (1 + sees_video(config))
            answers = 2 * config.author.questions_per_task * max(0, unwritten)
            found.append(author_forecast(second, answers, folder / REPLIES_FILE, money))
    if any(voter.is_hosted for voter in config.blind.models):
        selected = last.get("select", {})
        if not selected:
            return None
        questions = all_asked(read_table(store.get(result)) for _, result in sorted(selected.items()))
        found += forecasts(questions, config.blind.models, folder / REPLIES_FILE, config.blind, money)
    return found
