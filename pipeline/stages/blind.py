"""Stage `blind`: asks all models the questions without the video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.blind.config import NO_OPTIONS
from pipeline.core.errors import RawDataError
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.tables import all_asked, pictures_in
from pipeline.engine.stage import REPLIES_FILE, Stage, StageContext

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.llm.base import ModelSpec

_REMEDY: Final = "run again: only what failed is asked; or raise limit_cost or blind.max_failed, or leave the model out"


def run(context: StageContext) -> bytes:
    """Every reply of every model (`blind.ask.REPLIES`).

    Raises RawDataError where a model failed for too many questions: the replies that came are kept, but there is no
    verdict, and the release is written as one that nobody was asked for.
    """
    from pipeline.blind.ask import ask  # model packages take a second to start
    from pipeline.blind.totals import no_verdict
    from pipeline.llm.budget import Money

    config = context.config.blind
    asked = ask(
        all_asked(context.tables("select")),
        config.models,
        context.folder / REPLIES_FILE,
        context.keys,
        config,
        lambda model, done, total: context.progress(f"blind {model}", done, total),
        money=Money(limit_cost=context.config.limit_cost),
        pictures=pictures_in(context.tables("landmark_pictures")),
    )
    why = no_verdict(asked.totals, config.max_failed)
    if why is not None:
        raise RawDataError(context.folder / REPLIES_FILE, "models_missing", why, _REMEDY)
    return table_bytes(asked.replies)


def is_whole(result: bytes, folder: Path) -> bool:
    """Whether no request failed: those that did are sent again in the next build."""
    failures = set(read_table(result)["failure"].unique().to_pylist())
    return failures <= {None, NO_OPTIONS}


def settings(config: BuildConfig) -> dict[str, Any]:
    """Who is asked, and how."""
    from pipeline.blind.ask import PROMPTS
    from pipeline.llm.prompts import load_prompt

    prompts = {form: load_prompt(name).version for form, name in sorted(PROMPTS.items())}
    models = [model.identity() for model in config.blind.models]
    return config.blind.model_dump(mode="json", exclude={"remove", "models", "max_failed"}) | {
        "models": models,
        "prompts": prompts,
    }


def asks(config: BuildConfig) -> tuple[ModelSpec, ...]:
    """The panel."""
    return tuple(config.blind.models)


BLIND: Final = Stage(
    name="blind",
    suffix=".parquet",
    module=__name__,
    run=run,
    unit="build",
    takes=("select",),
    may_take=("landmark_pictures",),
    settings=settings,
    is_wanted=lambda config: bool(config.blind.models),
    is_whole=is_whole,
    asks=asks,
)
