"""Stage `prune`: chooses the questions that leave the split `debiased`, each with its round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pipeline.core.identity import digest_of
from pipeline.core.parquet import arrow_bytes
from pipeline.core.tables import all_asked
from pipeline.engine.stage import Stage, StageContext

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig


def run(context: StageContext) -> bytes:
    """Per question its bias, and the round in which it leaves `debiased`."""
    from pipeline.blind.prune import ROUNDS_FILE, PruneLog, debiased  # scikit-learn takes a second to start
    from pipeline.engine.code import code_digest

    config, filtered = context.config.prune, context.table("filter")
    if config is None or filtered is None:
        raise ValueError("no pruning is configured")
    questions = all_asked(context.tables("select"))
    of = {stage: [result.digest for _, result in found] for stage, found in context.results.items()}
    rounds = PruneLog(context.folder / ROUNDS_FILE, digest_of([of, dict(context.settings), code_digest((__name__,))]))
    pruned = debiased(questions, filtered, config, lambda done, of: context.progress("prune", done, of), rounds)
    rounds.end()
    return arrow_bytes(pruned)


def settings(config: BuildConfig) -> dict[str, Any]:
    """How much is pruned."""
    return {"prune": digest_of(config.model_dump(mode="json")["prune"])}


PRUNE: Final = Stage(
    name="prune",
    suffix=".zst",
    module=__name__,
    run=run,
    unit="build",
    requires=("select",),
    optional=("filter",),
    settings=settings,
    is_wanted=lambda config: config.prune is not None,
)
