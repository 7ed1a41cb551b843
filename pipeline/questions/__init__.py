"""The tasks, by the question type they answer."""

from __future__ import annotations

from typing import Final

from pipeline.questions.abs_distance import AbsDistance
from pipeline.questions.appearance import AppearanceOrder
from pipeline.questions.base import Task
from pipeline.questions.counting import ObjectCounting
from pipeline.questions.rel_direction import LEVELS, RelDirection
from pipeline.questions.rel_distance import RelDistance
from pipeline.questions.room import RoomSize
from pipeline.questions.route import RoutePlanning
from pipeline.questions.size import ObjectSize
from pipeline.questions.urban import URBAN_TASKS, UrbanTask

_ALL: Final[tuple[Task, ...]] = (
    ObjectCounting(),
    ObjectSize(),
    RoomSize(),
    AbsDistance(),
    RelDistance(),
    *(RelDirection(level) for level in LEVELS),
    AppearanceOrder(),
    RoutePlanning(),
)
TASKS: Final[dict[str, Task]] = {task.name: task for task in _ALL}  # of scans
ALL_TASKS: Final[dict[str, Task | UrbanTask]] = {**TASKS, **URBAN_TASKS}
