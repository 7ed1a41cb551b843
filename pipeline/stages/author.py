"""Stage `author`: questions that a model writes where the facts gave none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.benchmarks.urbanvideo.authoring.author import author
from pipeline.benchmarks.urbanvideo.authoring.step import PROMPTS
from pipeline.benchmarks.urbanvideo.benchmark import URBAN_TASKS
from pipeline.core.parquet import read_table, table_bytes
from pipeline.engine.given import Given
from pipeline.engine.stage import Stage
from pipeline.llm.failures import UNANSWERED
from pipeline.llm.prompts import load_prompt
from pipeline.stages.generate import wordings
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.llm.base import ModelSpec


def run(given: Given) -> bytes:
    """The candidates from facts, and what a model wrote where the facts gave no question."""
    if given.ask is None:
        raise ValueError("this stage asks a model")
    scene = read_scene(given.needed("observe"))
    tasks = [task for name in given.settings["tasks"] if (task := URBAN_TASKS.get(name)) and task.model_assisted]
    film = given.bytes_of("film")
    filmed = json.loads(film)["video"] if film else None
    shown = given.folder / filmed if filmed and given.settings["sees_video"] else None
    facts = read_table(given.needed("generate"))
    written = author(scene, facts, given.ask, tasks, shown, given.settings["author"]["questions_per_task"])
    return table_bytes(pa.concat_tables([facts, written]))


def is_whole(result: bytes, folder: Path) -> bool:
    """Whether every call had an answer: those that had none are made again in the next build."""
    reasons = {reason for reason in read_table(result)["reason"].unique().to_pylist() if reason}
    return not any(reason == f"{step}_{kind}" for reason in reasons for step in PROMPTS for kind in UNANSWERED)


def settings(config: BuildConfig) -> dict[str, Any]:
    """Tasks, the model and what it is shown."""
    model = config.author.model
    return {
        "tasks": list(config.generate.tasks),
        "author": config.author.model_dump(mode="json") | {"model": model.identity() if model else None},
        "sees_video": config.video and model is not None and "video" in model.inputs,
        "prompts": {step: load_prompt(name).version for step, name in PROMPTS.items()},
        "templates": wordings(config),
    }


def asks(config: BuildConfig) -> tuple[ModelSpec, ...]:
    """The one model that writes."""
    return (config.author.model,) if config.author.model else ()


AUTHOR: Final = Stage(
    name="author",
    suffix=".parquet",
    module=__name__,
    run=run,
    takes=("generate", "observe"),
    may_take=("film",),
    settings=settings,
    is_wanted=lambda config: config.author.model is not None,
    passes_on="generate",
    is_whole=is_whole,
    asks=asks,
)
