"""Stage `blind`: models answer without the video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.blind.config import NO_OPTIONS
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.tables import QUESTIONS, asked_in
from pipeline.engine.given import REPLIES_FILE, Given
from pipeline.engine.stage import Stage

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.llm.base import ModelSpec


def run(given: Given) -> bytes:
    """Every reply of every model and prior (`blind.ask.REPLIES`)."""
    from pipeline.blind.ask import ask  # model packages and scikit-learn take a second to start
    from pipeline.blind.voters import prior_replies

    config = given.config.blind
    questions = pa.concat_tables([QUESTIONS.empty_table(), *map(asked_in, given.tables("select"))])
    asked = ask(
        questions,
        config.models,
        given.folder / REPLIES_FILE,
        given.keys,
        config,
        lambda model, done, total: given.progress(f"blind {model}", done, total),
    )
    replies = [asked.replies]
    if config.priors_vote and questions.num_rows:
        replies.append(prior_replies(questions, config.number_threshold))
    # Stable, so that the models of a question stay in their order.
    rows = sorted((row for table in replies for row in table.to_pylist()), key=lambda row: int(row["id"]))
    return table_bytes(pa.Table.from_pylist(rows, schema=asked.replies.schema))


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
    return config.blind.model_dump(mode="json", exclude={"remove", "models"}) | {"models": models, "prompts": prompts}


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
    settings=settings,
    is_wanted=lambda config: bool(config.blind.models or config.blind.priors_vote),
    is_whole=is_whole,
    asks=asks,
)
