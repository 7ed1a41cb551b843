"""Short forms of what many tests do with tables of candidates and files of questions."""

import hashlib
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


def digest_of_rows(rows: Iterable[Any]) -> str:
    """Of all columns of some rows; of numbers four digits count, since processors may differ beyond."""

    def shown(value: Any) -> str:
        if isinstance(value, dict):
            return repr([(key, shown(one)) for key, one in value.items()])
        if isinstance(value, list):
            return repr([shown(one) for one in value])
        return f"{value:.4g}" if isinstance(value, float) else repr(value)

    return hashlib.sha256("\n".join(map(shown, rows)).encode()).hexdigest()[:12]
