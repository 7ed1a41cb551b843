"""The drawings of the exam's questions about flights and arms that stand at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from pipeline.benchmarks.benchmark import Drawings, Footage
from pipeline.benchmarks.embodied4c.drawings import arm, flight
from pipeline.benchmarks.embodied4c.drawings.marks import notes
from pipeline.benchmarks.embodied4c.kinds import AERIAL, MANIPULATION
from pipeline.benchmarks.embodied4c.tasks.base import ExamTask
from pipeline.benchmarks.embodied4c.tasks.registry import EXAM_TASKS
from pipeline.benchmarks.embodied4c.view import Exam
from pipeline.drawing.sheet import Part, Sheet, Still

PARTS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], list[Part]]]] = {
    AERIAL: flight.parts,
    MANIPULATION: arm.parts,
}


def draw(view: Exam, questions: Iterable[Mapping[str, Any]], footage: Footage | None) -> Iterator[tuple[int, Sheet]]:
    """Question -> what is drawn of it; what people or models wrote has no operands to draw."""
    for row in questions:
        if view.domain not in PARTS or row["until_s"] is None or not isinstance(EXAM_TASKS.get(row["task"]), ExamTask):
            continue
        second = float(row["until_s"])
        stills = [Still(second, footage(second), f"{second:.1f} s")] if footage else []
        found = PARTS[view.domain](view, row)
        if found:
            yield int(row["id"]), Sheet(f"{row['task']}: {row['text']}", found, notes(row), stills)


DRAWINGS: Final = Drawings(module=__name__, draw=draw)
