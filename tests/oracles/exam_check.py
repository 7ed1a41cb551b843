"""Answers of exams held against oracles: how many were answered again, and which otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from pipeline.benchmarks.embodied4c.benchmark import exam
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS
from pipeline.core.schema import AnyScene

SLACK = 1e-4  # what a tenth of a millimetre in a place may change in a rate


def every_question(scene: AnyScene, **rules: Any) -> list[dict[str, Any]]:
    """All that can be asked of a log, whether its answer is frequent or not."""
    view = exam(scene, ExamRules(**({"far_per_log": 0, "even_answers": False} | rules)))
    rows = pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()]).to_pylist()
    return [row for row in rows if row["reason"] is None]


def answered_again(
    rows: Iterable[Mapping[str, Any]], answer: Callable[..., str | float | None], slack: float = SLACK
) -> tuple[int, list[str]]:
    """How many questions an oracle answered, and what it says otherwise: of a number beyond rounding."""
    wrong, asked = [], 0
    for row in rows:
        kind, t_s, *more = row["operands"]
        found = answer(kind, float(t_s), *more)
        asked += found is not None
        if isinstance(found, str):
            is_right = found == row["answer"]
        elif found is not None:
            decimals = len(row["answer"].partition(".")[2])
            is_right = abs(float(row["answer"]) - found) <= 0.5 * 10**-decimals + slack * abs(found)
        else:
            continue
        if not is_right:
            wrong.append(f"{row['operands']}: {row['answer']}, the oracle has {found}")
    return asked, wrong
