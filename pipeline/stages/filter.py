"""Stage `filter`: removes questions that models answer without the video, and measures attackers before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pipeline.core.parquet import arrow_bytes
from pipeline.core.tables import all_asked
from pipeline.engine.stage import Stage, StageContext

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig


def run(context: StageContext) -> bytes:
    """Why each question is removed or not, and what attackers earn on it (`blind.filtering.FILTERED`)."""
    from pipeline.blind.filtering import filtered  # scikit-learn takes a second to start
    from pipeline.blind.fine_tuned import fine_tuned
    from pipeline.blind.rule import pending, rule

    questions, config = all_asked(context.tables("select")), context.config.blind
    tuned = partial(fine_tuned, folder=config.finetune, progress=context.progress) if config.finetune else None
    replies = context.table("blind")
    if replies is None:
        return arrow_bytes(filtered(questions, [], tuned=tuned))
    return arrow_bytes(filtered(questions, rule(questions, replies, config), pending(replies, config), tuned))


def settings(config: BuildConfig) -> dict[str, Any]:
    """The rule, and the model that is fine-tuned."""
    from pipeline.llm.lora import identity_of

    rule = {"remove": config.blind.remove, "number_threshold": config.blind.number_threshold}
    return rule | ({"finetune": identity_of(config.blind.finetune)} if config.blind.finetune else {})


FILTER: Final = Stage(
    name="filter",
    suffix=".zst",
    module=__name__,
    run=run,
    unit="build",
    requires=("select",),
    optional=("blind",),
    settings=settings,
    is_wanted=lambda config: bool(config.blind.models or config.prune or config.blind.finetune),
)
