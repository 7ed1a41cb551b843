"""The tasks, by the question type they answer."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.benchmarks.vsi.tasks.appearance import AppearanceOrder
from pipeline.benchmarks.vsi.tasks.measures import AbsDistance, ObjectCounting, ObjectSize, RoomSize
from pipeline.benchmarks.vsi.tasks.relations import LEVELS, RelDirection, RelDistance
from pipeline.benchmarks.vsi.tasks.route import RoutePlanning
from pipeline.questions.arrays import ArrayTask

_ALL: Final[tuple[ArrayTask[ScanView], ...]] = (
    ObjectCounting(),
    ObjectSize(),
    RoomSize(),
    AbsDistance(),
    RelDistance(),
    *(RelDirection(level) for level in LEVELS),
    AppearanceOrder(),
    RoutePlanning(),
)
TASKS: Final[dict[str, ArrayTask[ScanView]]] = {task.name: task for task in _ALL}
