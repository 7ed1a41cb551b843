"""The templates of a build's tasks, as settings of the stages that word questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.templates import load_template

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig


def wordings(config: BuildConfig) -> dict[str, str]:
    """Task -> digest of its template."""
    tasks = config.of_benchmark().by_name()
    return {name: load_template(tasks[name].template).digest for name in config.generate.tasks}
