"""Stages `blind`, `filter` and `prune`: what can be answered without the video.

`blind` asks models, `filter` removes what they answer and measures what can be guessed, `prune` makes the split
`debiased`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.blind.config import NO_OPTIONS
from pipeline.core.errors import RawDataError
from pipeline.core.identity import digest_of
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
        pictures=pictures_in(context.tables("legend")),
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
    from pipeline.blind.wording import PROMPTS
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
    may_take=("legend",),
    settings=settings,
    is_wanted=lambda config: bool(config.blind.models),
    is_whole=is_whole,
    asks=asks,
)


def run_filter(context: StageContext) -> bytes:
    """Why each question is removed or not, and what attackers earn on it (`blind.filtering.FILTERED`)."""
    from pipeline.blind.filtering import filtered  # scikit-learn takes a second to start
    from pipeline.blind.rule import rule

    questions = all_asked(context.tables("select"))
    replies = context.table("blind")
    verdicts = [] if replies is None else rule(questions, replies, context.config.blind)
    return table_bytes(filtered(questions, verdicts))


def filter_settings(config: BuildConfig) -> dict[str, Any]:
    """The rule."""
    return {"remove": config.blind.remove, "number_threshold": config.blind.number_threshold}


FILTER: Final = Stage(
    name="filter",
    suffix=".parquet",
    module=__name__,
    run=run_filter,
    unit="build",
    takes=("select",),
    may_take=("blind",),
    settings=filter_settings,
    is_wanted=lambda config: bool(config.blind.models or config.prune),
)


def run_prune(context: StageContext) -> bytes:
    """Per question its bias, and the round in which it leaves `debiased`."""
    from pipeline.blind.prune import ROUNDS_FILE, Rounds, debiased  # scikit-learn takes a second to start
    from pipeline.engine.code import code_digest

    config, filtered = context.config.prune, context.table("filter")
    if config is None or filtered is None:
        raise ValueError("no pruning is configured")
    questions = all_asked(context.tables("select"))
    key = digest_of([digest_of(table_bytes(table)) for table in (questions, filtered)])
    rounds = Rounds(context.folder / ROUNDS_FILE, digest_of([key, dict(context.settings), code_digest((__name__,))]))
    pruned = debiased(questions, filtered, config, lambda done, of: context.progress("prune", done, of), rounds)
    rounds.end()
    return table_bytes(pruned)


def prune_settings(config: BuildConfig) -> dict[str, Any]:
    """How much is pruned."""
    return {"prune": digest_of(config.model_dump(mode="json")["prune"])}


PRUNE: Final = Stage(
    name="prune",
    suffix=".parquet",
    module=__name__,
    run=run_prune,
    unit="build",
    takes=("select",),
    may_take=("filter",),
    settings=prune_settings,
    is_wanted=lambda config: config.prune is not None,
)
