"""Stage `blind`: asks all models the questions without the video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.blind.config import FINAL
from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.core.tables import all_asked, pictures_in
from pipeline.engine.stage import REPLIES_FILE, Stage, StageContext

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.llm.base import ModelSpec


def run(context: StageContext) -> bytes:
    """Every reply of every model (`blind.ask.REPLIES`); a failed request is a row without one."""
    from pipeline.blind.ask import ask  # model packages take a second to start
    from pipeline.llm.budget import Money

    config = context.config.blind
    seeing = any("image" in model.inputs for model in config.models)
    asked = ask(
        all_asked(context.tables("select")),
        config.models,
        context.folder / REPLIES_FILE,
        context.keys,
        config,
        lambda model, done, total: context.progress(f"blind {model}", done, total),
        money=Money(limit_cost=context.config.limit_cost),
        pictures=pictures_in(context.tables("landmark_pictures")) if seeing else {},
    )
    return arrow_bytes(asked.replies)


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether no request failed that may be answered when it is sent again, which the next build does."""
    failures = set(read_table(result)["failure"].unique().to_pylist())
    return failures <= {None, *FINAL}


def settings(config: BuildConfig) -> dict[str, Any]:
    """The models that are asked, and how."""
    from pipeline.blind.ask import PROMPTS
    from pipeline.llm.prompts import load_prompt

    prompts = {form: load_prompt(name).version for form, name in sorted(PROMPTS.items())}
    models = [model.identity() for model in config.blind.models]
    return config.blind.model_dump(mode="json", exclude={"remove", "models", "max_failed", "finetune"}) | {
        "models": models,
        "prompts": prompts,
    }


def models_of(config: BuildConfig) -> tuple[ModelSpec, ...]:
    """The panel."""
    return tuple(config.blind.models)


BLIND: Final = Stage(
    name="blind",
    suffix=".zst",
    module=__name__,
    run=run,
    unit="build",
    requires=("select",),
    optional=("landmark_pictures",),
    settings=settings,
    is_wanted=lambda config: bool(config.blind.models),
    is_complete=is_complete,
    models=models_of,
)
