"""The 16 tasks of UrbanVideo-Bench, by their released names."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.benchmarks.urbanvideo.tasks.assisted import Causal, Counterfactual, SceneRecall
from pipeline.benchmarks.urbanvideo.tasks.captions import TrajectoryCaptioning
from pipeline.benchmarks.urbanvideo.tasks.duration import Duration
from pipeline.benchmarks.urbanvideo.tasks.ends import ObjectRecall, StartEndPosition
from pipeline.benchmarks.urbanvideo.tasks.goal import Association, GoalDetection
from pipeline.benchmarks.urbanvideo.tasks.maps import CognitiveMap
from pipeline.benchmarks.urbanvideo.tasks.planning import HighLevelPlanning
from pipeline.benchmarks.urbanvideo.tasks.position import LandmarkPosition
from pipeline.benchmarks.urbanvideo.tasks.progress import ProgressEvaluation
from pipeline.benchmarks.urbanvideo.tasks.proximity import Proximity
from pipeline.benchmarks.urbanvideo.tasks.sequence import ActionGeneration, SequenceRecall

# In the order of table 1: recall, perception, reasoning, navigation.
_ALL: Final[tuple[UrbanTask, ...]] = (
    TrajectoryCaptioning(),
    SequenceRecall(),
    ObjectRecall(),
    SceneRecall(),
    StartEndPosition(),
    Proximity(),
    Duration(),
    LandmarkPosition(),
    GoalDetection(),
    CognitiveMap(),
    Causal(),
    Counterfactual(),
    Association(),
    ProgressEvaluation(),
    HighLevelPlanning(),
    ActionGeneration(),
)
URBAN_TASKS: Final[dict[str, UrbanTask]] = {task.name: task for task in _ALL}
