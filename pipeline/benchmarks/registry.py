"""All benchmarks."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.urbanvideo.benchmark import URBAN_TASKS
from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.benchmarks.vsi.benchmark import TASKS
from pipeline.questions.arrays import Task

ALL_TASKS: Final[dict[str, Task | UrbanTask]] = {**TASKS, **URBAN_TASKS}
