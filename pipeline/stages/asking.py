"""What the stages of a build that ask models would ask now."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from pipeline.blind.forecast import Forecast, forecasts, mean_forecast
from pipeline.core.parquet import read_table
from pipeline.core.tables import all_asked, pictures_in
from pipeline.engine.config import BuildConfig
from pipeline.engine.manifest import read_manifest
from pipeline.engine.rerun import last_outputs
from pipeline.engine.stage import REPLIES_FILE, STORE
from pipeline.engine.store import Store
from pipeline.llm.budget import Money
from pipeline.llm.visual_inputs import takes_visuals
from pipeline.stages.author import AUTHOR, asks
from pipeline.stages.look import LOOK
from pipeline.worlds.registry import WORLDS, read_scene

CALLS_OF_LOOK: Final = 2  # of each thing, in a scene that is not observed yet


def look_forecast(config: BuildConfig, folder: Path, due: Collection[str]) -> list[Forecast]:
    """What looking at the videos of some scenes will take at most, by the last build's results."""
    model = config.look.model
    if not due or model is None or not model.is_hosted or not LOOK.is_wanted(config):
        return []
    observed, store = last_outputs(read_manifest(folder)).get("observe", {}), Store(folder / STORE)
    calls = 0
    for unit in due:
        scene = read_scene(store.get(observed[unit])) if unit in observed else None
        looker = WORLDS[scene.facts.world].looker if scene else None
        calls += looker.calls(scene, config.look.things) if scene and looker else CALLS_OF_LOOK * config.look.things
    return [mean_forecast(LOOK.name, model, calls, folder / REPLIES_FILE, Money(limit_cost=config.limit_cost))]


def forecast_of(config: BuildConfig, folder: Path, due: Collection[str] = ()) -> list[Forecast] | None:
    """What asking hosted models will take, by the last build's results; None where there are none yet.

    ``due`` are the scenes of which stage `author` must run.
    """
    last = last_outputs(read_manifest(folder))
    store, money = Store(folder / STORE), Money(limit_cost=config.limit_cost)
    found = []
    author, writers = config.of_benchmark().author, asks(config)
    if author is not None and any(model.is_hosted for model in writers):
        facts = last.get("generate", {})
        if not facts:
            return None
        tables = [read_table(store.get(facts[unit])) for unit in sorted(due) if unit in facts]
        sees, count = (
            [config.video and takes_visuals(model.inputs) for model in writers],
            config.author.questions_per_task,
        )
        calls = [author.calls(table, config.generate.tasks, sees, count) for table in tables]
        for model, made in zip(writers, zip(*calls, strict=True) if calls else [()] * len(writers), strict=True):
            if model.is_hosted:  # at most: if all that is written passes the rules
                found.append(mean_forecast(AUTHOR.name, model, sum(made), folder / REPLIES_FILE, money))
    if any(voter.is_hosted for voter in config.blind.models):
        selected = last.get("select", {})
        if not selected:
            return None
        questions = all_asked(read_table(store.get(result)) for _, result in sorted(selected.items()))
        drawn = pictures_in(read_table(store.get(result)) for _, result in sorted(last.get("legend", {}).items()))
        found += forecasts(questions, config.blind.models, folder / REPLIES_FILE, config.blind, money, drawn)
    return found
