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
# Questions of the released benchmark (UrbanVideo-Bench, 5,250 in all).
SHARES: Final[dict[str, int]] = {
    "Trajectory Captioning": 411,
    "Sequence Recall": 112,
    "Object Recall": 120,
    "Scene Recall": 111,
    "Start/End Position": 142,
    "Proximity": 117,
    "Duration": 132,
    "Landmark Position": 859,
    "Goal Detection": 317,
    "Cognitive Map": 265,
    "Causal": 110,
    "Counterfactual": 132,
    "Association": 230,
    "Progress Evaluation": 763,
    "High-level Planning": 258,
    "Action Generation": 1171,
}
URBAN_TASKS: Final[dict[str, UrbanTask]] = {task.name: task for task in _ALL}
