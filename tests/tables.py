"""Short forms of what many tests do with tables of candidates and files of questions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.tables import CANDIDATES
from pipeline.questions.published import Published, read_published
from pipeline.questions.task import Task


def candidates(view: Any, tasks: Iterable[Task[Any]]) -> pa.Table:
    """Every candidate of every task, in the order of the tasks."""
    return pa.concat_tables([CANDIDATES.empty_table(), *(task.candidates(view) for task in tasks)])


def read_questions(path: Path) -> list[Published]:
    """The questions of a published file of any benchmark."""
    return read_published(path, [columns for benchmark in BENCHMARKS.values() for columns in benchmark.all_columns])
