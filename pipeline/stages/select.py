"""Stage `select`: of the candidates of a scene the questions that are asked, with their wording and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.registry import ALL_TASKS
from pipeline.core.parquet import read_table, table_bytes
from pipeline.engine.given import Given
from pipeline.engine.stage import Stage
from pipeline.questions.selection import select
from pipeline.stages.generate import wordings

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig


def run(given: Given) -> bytes:
    """Questions and rejections of a scene (`core.tables.SELECTED`)."""
    return table_bytes(select(read_table(given.needed("author")), ALL_TASKS, given.settings["per_scene_and_task"]))


def settings(config: BuildConfig) -> dict[str, Any]:
    """The caps and the wording."""
    return config.select.model_dump() | {"templates": wordings(config)}


SELECT: Final = Stage(name="select", suffix=".parquet", module=__name__, run=run, takes=("author",), settings=settings)
