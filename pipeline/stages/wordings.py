"""The templates of a build's tasks, as settings of the stages that word questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.core.identity import digest_of
from pipeline.core.templates import load_template

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.questions.task import Task


def wordings(config: BuildConfig) -> dict[str, str]:
    """Task -> digest of its template, and of those that its texts are put together from, where there are any."""
    tasks = config.of_benchmark().by_name()
    return {name: _digest(tasks[name]) for name in config.generate.tasks}


def _digest(task: Task[Any]) -> str:
    own = load_template(task.template).digest
    return digest_of([own, *(load_template(part).digest for part in task.parts)]) if task.parts else own
