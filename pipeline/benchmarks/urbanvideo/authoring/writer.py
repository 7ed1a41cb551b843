"""The author of UrbanVideo-Bench, as stage `author` calls it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import pyarrow as pa

from pipeline.benchmarks.urbanvideo.authoring.author import author, unanswered
from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.llm.prompts import load_prompt
from pipeline.llm.shown import Shown
from pipeline.questions.asking import Ask, was_answered
from pipeline.questions.second import SECOND, SECOND_ALL, Second, calls_of_second

PROMPTS: Final = {step: f"author_{step}" for step in ("narrate", "extract", "compose", SECOND, SECOND_ALL)}


class Writer:
    """The `benchmark.Author` of flights."""

    module = __name__

    def prompts(self) -> dict[str, str]:
        """Version of each prompt, by its step."""
        return {step: load_prompt(name).version for step, name in PROMPTS.items()}

    def write(
        self,
        view: UrbanView,
        candidates: pa.Table,
        ask: Sequence[Ask],
        tasks: Sequence[str],
        shown: Sequence[Shown | None],
        questions_per_task: int,
    ) -> pa.Table:
        """Candidates of those of the tasks that a model may write; a second model answers them, if there is one."""
        first, *others = ask
        second = Second(others[0], shown[1]) if others else None
        return author(view, candidates, first, _assisted(tasks), shown[0], questions_per_task, second)

    def calls(
        self, candidates: pa.Table, tasks: Sequence[str], sees: Sequence[bool], questions_per_task: int
    ) -> tuple[int, ...]:
        """One to narrate, one to extract what was seen, and one for each task that is to be written."""
        left = len(unanswered(candidates, _assisted(tasks)))
        first = 1 + sees[0] + left if left else 0
        return first, *(calls_of_second(questions_per_task * left, sees=own) for own in sees[1:])

    def is_whole(self, reasons: Collection[str]) -> bool:
        """Whether no call was left without an answer: those are made again in the next build."""
        return was_answered(reasons, PROMPTS)


def _assisted(tasks: Sequence[str]) -> list[UrbanTask]:
    return [task for name in tasks if (task := URBAN_TASKS[name]).model_assisted]
