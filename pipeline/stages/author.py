"""Stage `author`: a model writes questions where the facts gave none; each is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.engine.stage import Stage, StageContext
from pipeline.llm.visual_inputs import picture_inputs, takes_visuals, visual_inputs
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.llm.base import ModelSpec
    from pipeline.reading.reader import Reader


def run(context: StageContext) -> bytes:
    """The candidates from facts, and what a model wrote where the facts gave no question."""
    given = context.settings
    benchmark, names = BENCHMARKS[given["benchmark"]], given["tasks"]
    if not context.models or benchmark.author is None:
        raise ValueError("this stage asks a model")
    view = benchmark.view_of(read_scene(context.needed("describe")), given)
    film = context.bytes_of("video")
    filmed = json.loads(film)["video"] if film else None
    shows = [visual_inputs(context.folder / filmed, *terms) if filmed and terms else None for terms in given["shows"]]
    declared = context.bytes_of("author_views")
    if declared:
        paths = [context.folder / facts["picture"] for facts in json.loads(declared)["pictures"]]
        shows = [picture_inputs(paths) if terms and "image" in terms[0] else None for terms in given["shows"]]
    facts = benchmark.author.checked(view, read_table(context.needed("generate")), context.models, shows)
    count = given["author"]["questions_per_task"]
    written = benchmark.author.write(view, facts, context.models, names, shows, count)
    return arrow_bytes(pa.concat_tables([facts, written]))


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether every call had an answer: those that had none are made again in the next build."""
    reasons = {reason for reason in read_table(result)["reason"].unique().to_pylist() if reason}
    return all(benchmark.author.is_complete(reasons) for benchmark in BENCHMARKS.values() if benchmark.author)


def settings(config: BuildConfig) -> dict[str, Any]:
    """Tasks, the model and what it is shown."""
    (model, second), author = (config.author.model, config.author.second), config.of_benchmark().author
    return {
        "benchmark": config.benchmark,
        "rules": config.generate.resolved_rules().model_dump(),
        "tasks": list(config.generate.tasks),
        "author": config.author.model_dump(mode="json")
        | {"model": model.identity() if model else None, "second": second.identity() if second else None},
        "shows": [
            [list(m.inputs), m.frames, m.fps] if config.video and takes_visuals(m.inputs) else None
            for m in models_of(config)
        ],
        "prompts": author.prompts() if author else {},
        "templates": config.wordings(),
    }


def is_blindfolded(config: BuildConfig) -> bool:
    """Whether the model would be shown videos, but the build makes none: it would only guess, and is not asked."""
    return not config.video and config.author.model is not None and takes_visuals(config.author.model.inputs)


def is_too_small(config: BuildConfig) -> bool:
    """Whether the model is the embedded one, whose every question would be refused after hours: it is not asked."""
    model = config.author.model
    return model is not None and model.provider == "embedded" and model.weights is None


def is_wanted(config: BuildConfig) -> bool:
    """Whether there is a model that may write, and the benchmark has questions for it."""
    wanted = config.author.model is not None and config.of_benchmark().author is not None
    return wanted and not is_blindfolded(config) and not is_too_small(config)


def models_of(config: BuildConfig) -> tuple[ModelSpec, ...]:
    """The model that writes, and the second one, if there is one."""
    if config.author.model is None or not is_wanted(config):
        return ()
    return (config.author.model, *([config.author.second] if config.author.second else []))


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The benchmark's author, and the view that it looks at."""
    benchmark = config.of_benchmark()
    return benchmark.view_modules(benchmark.author)


AUTHOR: Final = Stage(
    name="author",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("generate", "describe"),
    optional=("video", "author_views"),
    settings=settings,
    uses=uses,
    is_wanted=is_wanted,
    fallback="generate",
    is_complete=is_complete,
    models=models_of,
)
